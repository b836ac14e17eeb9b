"""Memory is foreseen: what is free, what work takes, and refusals before it starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from brai import BRAI, Dataset
from brai.cli import main
from brai.data import text_files
from brai.kinds.discrete.samples import workspace
from brai.kinds.scores import FamilyScores
from brai.learners import memory
from brai.posterior import mcmc
from brai.runtime import memory as machine
from brai.search.family_table import FamilyTable

GB = 10**9
V1, V2 = "4:cpu,memory:/a/b\n0::/\n", "0::/a/b\n"
NO_LIMIT = "9223372036854771712"


def system(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    return root


def v2(folder: str, limit: str, used: int, stat: str = "") -> dict[str, str]:
    own = f"sys/fs/cgroup{folder}/memory."
    return {own + "max": limit + "\n", own + "current": f"{used}\n", own + "stat": stat}


def v1(folder: str, limit: str, used: int, stat: str = "") -> dict[str, str]:
    own = f"sys/fs/cgroup/memory{folder}/memory."
    return {own + "limit_in_bytes": limit + "\n", own + "usage_in_bytes": f"{used}\n", own + "stat": stat}


MACHINE = {"proc/meminfo": "MemTotal: 9000000 kB\nMemAvailable: 5000000 kB\nHugePages_Total: 0\n"}
INSIDE2, INSIDE1 = {"proc/self/cgroup": V2}, {"proc/self/cgroup": V1}


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, None),
        (MACHINE, 5_120_000_000),
        (INSIDE2 | v2("/a/b", str(3 * GB), GB), 2 * GB),
        (INSIDE2 | v2("/a/b", str(3 * GB), GB, "anon 7\ninactive_file 100\nactive_file 20\n"), 2 * GB + 120),
        (INSIDE2 | v2("/a/b", str(3 * GB), GB) | v2("/a", str(2 * GB), GB), GB),
        (INSIDE2 | v2("", str(3 * GB), GB), 2 * GB),
        (INSIDE2 | v2("/a/b", "max", GB), None),
        (INSIDE2 | v2("/c", str(3 * GB), GB), None),
        (INSIDE2 | v2("/a/b", str(3 * GB), 4 * GB), 0),
        (MACHINE | INSIDE2 | v2("/a/b", str(3 * GB), GB), 2 * GB),
        (MACHINE | INSIDE2 | v2("/a/b", str(90 * GB), GB), 5_120_000_000),
        (INSIDE1 | v1("/a/b", str(3 * GB), GB), 2 * GB),
        (INSIDE1 | v1("/a", str(3 * GB), 2 * GB), GB),
        (MACHINE | INSIDE1 | v1("/a/b", NO_LIMIT, GB), 5_120_000_000),
    ],
)
def test_what_is_free(files: dict[str, str], free: int | None, tmp_path: Path) -> None:
    assert memory.available(system(tmp_path, files)) == free


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it may be unknown")
def test_what_is_free_here() -> None:
    limited = "import resource; resource.setrlimit(resource.RLIMIT_AS, (10**10, 10**10));"
    code = "from brai import memory; print(memory.available())"
    free = int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
    assert 10**7 < free < 10**14
    within = int(subprocess.run([sys.executable, "-c", limited + code], capture_output=True, check=True).stdout)
    assert 0 < within < 10**10


def only(monkeypatch: pytest.MonkeyPatch, free: int | None) -> None:
    for module in (memory, machine):
        monkeypatch.setattr(module, "available", lambda: free)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_a_table_that_does_not_fit_is_refused(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, frame = tmp_path / f"t.{kind}", pd.DataFrame({name: [0, 1] * 500 for name in "abcd"})
    frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False)
    only(monkeypatch, 9000)
    assert Dataset.from_file(path).n_rows == 1000
    only(monkeypatch, 8000)
    words = r"reading 't.*', 100\d rows of 4 columns, needs about 8e-06 GB .* 8e-06 GB are free: drop columns"
    with pytest.raises(MemoryError, match=words):
        Dataset.from_file(path)
    only(monkeypatch, None)
    assert Dataset.from_file(path).n_rows == 1000


def test_columns_of_ever_new_values_are_refused_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,a\n" + "".join(f"v{i},{i % 2}\n" for i in range(20_000)))
    monkeypatch.setattr(text_files, "MANY", 2000)
    monkeypatch.setattr(text_files, "CELLS", 1000)
    only(monkeypatch, 1_500_000)
    with pytest.raises(MemoryError, match=r"with 4500 different values of 'x' in 4500 rows, .*drop such columns"):
        Dataset.from_file(path)
    assert Dataset.from_file(path, drop="x").n_rows == 20_000


def test_the_command_line_tells(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("a,b\n0,1\n1,0\n")
    only(monkeypatch, 3)
    monkeypatch.setattr(sys, "argv", ["brai", "learn", str(tmp_path / "t.csv")])
    with pytest.raises(SystemExit):
        main()
    err = capsys.readouterr().err
    assert err.startswith("brai: reading 't.csv', 4 rows of 2 columns, needs about")
    assert err.count("\n") == 1


def test_an_estimate_is_the_sum_of_its_parts() -> None:
    found = memory.estimate(10_000, 40)
    assert found.bytes == sum(found.parts.values())
    assert str(found).startswith(f"{found.bytes / 1e9:.2f} GB: program 0.34, data ")


@pytest.mark.parametrize(
    ("more", "part"),
    [
        ({"n_rows": 100_000}, "data"),
        ({"n_rows": 100_000}, "samples"),
        ({"n_rows": 100_000}, "scratch"),
        ({"states": 300}, "data"),
        ({"states": 300}, "scratch"),
        ({"n_variables": 80}, "graphs"),
        ({"n_variables": 80}, "search"),
        ({"s": 5}, "tree"),
        ({"states": 2}, "chains"),
        ({"chains": 8}, "chains"),
        ({"draws": 9000}, "chains"),
    ],
)
def test_more_takes_more(more: dict[str, Any], part: str) -> None:
    given: dict[str, Any] = {"n_rows": 1000, "n_variables": 40, "states": 3, "chains": 4}
    assert memory.estimate(**{**given, **more}).parts[part] > memory.estimate(**given).parts[part]


def test_parts_that_are_not_asked_for_are_left_out() -> None:
    assert not {"search", "chains"} & set(memory.estimate(1000, 40, polish=False).parts)


@pytest.mark.parametrize("states", [1, 2, 3])
def test_the_number_of_sets_for_chains_is_foreseen(states: int) -> None:
    rng = np.random.default_rng(0)
    data = Dataset.from_codes(rng.integers(0, states, (500, 40)), arities=[states] * 40)
    listed = len(FamilyTable(FamilyScores(data), slack=10.0))
    assert listed / 2 < mcmc.sets_listed(500, data.arities, 4) < max(4 * listed, 200 * 40)


def test_a_fit_is_refused_before_it_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    data = Dataset.of({"a": [0, 1] * 500, "b": [1, 0] * 500})
    model = BRAI()
    found = memory.foresee(data, model)
    more = found.bytes - found.parts["program"] - data.codes.nbytes
    only(monkeypatch, int(more / memory.SPARE) + 1)
    assert memory.foresee(data, model) == found
    only(monkeypatch, int(more / memory.SPARE) - 1)
    words = (
        r"learning from 1000 rows of 2 variables \(0.* GB: program .*\) needs about .* are free: give fewer rows"
    )
    with pytest.raises(MemoryError, match=words + ".*polish=False needs less"):
        memory.foresee(data, model)
    assert memory.foresee(data, BRAI(polish=False)).bytes < found.bytes
    assert memory.foresee(data, SimpleNamespace(polish=False)).bytes < found.bytes


def test_each_worker_takes_more() -> None:
    data = Dataset.from_codes(np.zeros((1000, 50), int), arities=[2] * 50)
    one, three = (memory.foresee(data, BRAI(n_jobs=n)) for n in (1, 3))
    assert three.bytes - one.bytes == three.parts["workers"] > 0
    assert three.parts["workers"] == 2 * memory.foresee(data, BRAI(n_jobs=2)).parts["workers"]


def test_chains_are_refused_before_they_start(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Dataset.from_codes([[0] * 3000, [1] * 3000])
    only(monkeypatch, 7 * GB)
    memory.foresee(few, BRAI())
    with pytest.raises(MemoryError, match=r"drawing DAGs by chains .* needs about .* posterior_from='tree'"):
        memory.foresee(few, BRAI(), chains=True)


def test_one_column_of_many_states_takes_little():
    """Its tables have no more cells than configurations of what it is tested with."""
    one = memory.estimate(200_000, 10, states=[2000, *[3] * 9], polish=False)
    assert one.bytes < 1.5e9  # 0.45 GB measured
    every = memory.estimate(200_000, 10, states=2000, polish=False)
    assert every.parts["scratch"] > 5 * one.parts["scratch"]


def test_a_variable_of_too_many_states_is_named():
    states = [tuple(range(60_000)), (0, 1)]
    data = Dataset(np.zeros((2, 500), np.uint16), ("zip code", "x"), tuple(states))
    with pytest.raises(MemoryError, match=r"'zip code' has 60000 states.*merge its rare states"):
        workspace(data, 4)
