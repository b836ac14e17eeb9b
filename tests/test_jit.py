"""Compiled code: never outdated, never in the way."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import brai
from brai.runtime.interrupts import interruptible

PACKAGE = Path(brai.__file__).parent


def run(code: str, **environment: str) -> str:
    env = {**os.environ, **environment}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def copy(tmp_path) -> Path:
    """A package of its own: the decorator and two kernels that call each other from different files."""
    package = tmp_path / "brai"
    (package / "kernels").mkdir(parents=True)
    (package / "runtime").mkdir()
    shutil.copy(PACKAGE / "runtime" / "jit.py", package / "runtime")
    (package / "__init__.py").touch()
    (package / "runtime" / "__init__.py").touch()
    (package / "kernels" / "__init__.py").touch()
    (package / "kernels" / "callee.py").write_text(
        "from brai.runtime.jit import njit\n\n@njit\ndef callee(x):\n    return x + 1\n"
    )
    (package / "kernels" / "caller.py").write_text(
        "from brai.runtime.jit import njit\nfrom brai.kernels.callee import callee\n\n"
        "@njit\ndef caller(x):\n    return 10 * callee(x)\n"
    )
    return tmp_path


CALL = "from brai.kernels.caller import caller; print(caller(1), sum(caller.stats.cache_hits.values()))"


@pytest.mark.slow
def test_a_changed_callee_compiles_its_caller_anew(copy):
    environment = {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(copy / "cache")}
    assert run(CALL, **environment) == "20 0"
    assert run(CALL, **environment) == "20 1"  # from disk
    callee = copy / "brai" / "kernels" / "callee.py"
    callee.write_text(callee.read_text().replace("x + 1", "x + 2"))
    assert run(CALL, **environment) == "30 0"


@pytest.mark.slow
def test_compiling_is_announced_once(copy):
    code = (
        "import sys; sys.stderr = sys.stdout\nimport numpy as np\nfrom brai.runtime.jit import announce\n"
        "from brai.kernels.caller import caller\n"
        "for _ in range(2): announce(caller, 'int64')\ncaller(np.ones(2, int))"
    )
    environment = {"PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(copy / "cache")}
    other = code + "\nannounce(caller, 'float64')"  # soon after
    later = code + "\nimport brai.runtime.jit\nbrai.runtime.jit.A_WHILE = 0.0\nannounce(caller, 'float64')"
    assert run(later, **{**environment, "NUMBA_CACHE_DIR": str(copy / "later")}).count("compiling") == 2
    assert run(other, **{**environment, "NUMBA_CACHE_DIR": str(copy / "other")}).count("compiling") == 1
    assert run(code, **environment).count("compiling") == 1
    assert run(code, **environment) == ""  # on disk by now


def test_without_a_place_for_the_cache_it_still_runs(copy):
    """Neither beside the source nor in the home folder can a cache be written."""
    code = (
        "import numba.core.caching as c\n"
        "for name in dir(c):\n"
        "    if name.endswith('CacheLocator'):\n"
        "        getattr(c, name).from_function = classmethod(lambda *a: None)\n"
    ) + CALL.replace("caller.stats.cache_hits", "{}")
    assert run(code, PYTHONPATH=str(copy)) == "20 0"


def test_importing_brai_loads_nothing_heavy():
    loaded = run("import sys, brai; print(sorted({m.split('.')[0] for m in sys.modules}))")
    for heavy in ("numpy", "numba", "scipy", "sklearn", "pandas", "rich"):
        assert f"'{heavy}'" not in loaded


def test_public_names_resolve():
    for name in brai.__all__:
        assert getattr(brai, name) is not None
    assert set(brai.__all__) <= set(dir(brai))
    with pytest.raises(AttributeError, match="nothing"):
        brai.nothing


def test_ctrl_c_while_a_kernel_returns_is_keyboard_interrupt():
    @interruptible
    def fit(cause):
        """What is fitted."""
        raise SystemError("returned a result with an exception set") from cause

    with pytest.raises(KeyboardInterrupt):
        fit(KeyboardInterrupt())
    with pytest.raises(SystemError, match="with an exception set"):
        fit(ValueError())
    assert fit.__doc__ == "What is fitted."
