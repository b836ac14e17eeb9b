"""What is to be published works by itself: ``python .ci/check_dist.py dist``.

The wheel is installed into an empty environment in a temporary folder and runs the demo there; wheel and sdist
hold all that the package needs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMANDS = [
    ["--version"],
    ["demo", "-o", "out", "--quiet"],
    ["bench", "--help"],
    ["paper", "--help"],
]


def only(folder: Path, pattern: str) -> Path:
    """The one file of that name."""
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"{folder}: one {pattern} is expected, there are {len(found)}")
    return found[0]


def check_contents(wheel: Path, sdist: Path) -> None:
    """Every file of src/brai is in both."""
    source = ROOT / "src"
    files = {
        path.relative_to(source).as_posix()
        for path in (source / "brai").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    with zipfile.ZipFile(wheel) as archive:
        in_wheel = set(archive.namelist())
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    missing = sorted(files - in_wheel) + sorted({f"src/{name}" for name in files} - in_sdist)
    if missing:
        raise SystemExit(f"not packed: {', '.join(missing)}")
    foreign = sorted(name for name in in_wheel - files if ".dist-info/" not in name)
    if foreign:
        raise SystemExit(f"in the wheel, but not in src: {', '.join(foreign)}")
    print(f"{wheel.name} and {sdist.name} hold all {len(files)} files of the package")


def check_installed(wheel: Path) -> None:
    """The wheel works in an environment with nothing else in it, far from the source."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        venv.create(place / "venv", with_pip=True)
        scripts = place / "venv" / ("Scripts" if os.name == "nt" else "bin")
        clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        run = {"cwd": place, "env": clean, "check": True}
        install = [scripts / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
        subprocess.run(install, **run)
        for words in COMMANDS:
            print("brai", *words, flush=True)
            subprocess.run([scripts / "brai", *words], **run, stdout=subprocess.DEVNULL)
        for made in ("report.html", "model.brai"):
            if not (place / "out" / made).stat().st_size:
                raise SystemExit(f"brai demo wrote an empty {made}")
    print("the wheel works by itself")


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    check_contents(only(folder, "*.whl"), only(folder, "*.tar.gz"))
    check_installed(only(folder, "*.whl"))
