"""The record of a run: command, version, seed, machine, duration."""

from __future__ import annotations

import json
import os
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from brai import __version__
from brai.runtime.atomic_files import write_text

_FOLDERS = {"--data": "DATA", "-o": "OUT", "--output": "OUT"}


def machine() -> dict[str, Any]:
    """Processor and versions; nothing that identifies the machine."""
    return {
        "system": platform.system(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "scikit-learn")},
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()


def command() -> str:
    """The command as given, with placeholders for folders."""
    program = Path(sys.argv[0])
    called = ["python", f"benchmarks/{program.name}"] if program.parent.name == "benchmarks" else ["brai"]
    words = [*called, *sys.argv[1:]]
    for at, word in enumerate(words):
        option, equals, _ = word.partition("=")
        if option in _FOLDERS and equals:
            words[at] = f"{option}={_FOLDERS[option]}"
        elif option in _FOLDERS and at + 1 < len(words):
            words[at + 1] = _FOLDERS[option]
        elif word.startswith("-o"):
            words[at] = "-oOUT"
    return shlex.join(words)


def document(experiment: str, seed: int, seconds: float, content: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a run; ``seconds`` is the sum over its cells."""
    about = {"experiment": experiment, "brai": __version__, "command": command(), "seed": seed}
    return {**about, "machine": machine(), "seconds": round(seconds, 1), **content}


def check(experiment: str, content: Mapping[str, Any]) -> None:
    """Raise ValueError if a document does not match its schema."""
    import jsonschema

    schema = json.loads((files("brai.research.paper") / "schemas" / f"{experiment}.json").read_text())
    try:
        jsonschema.validate(content, schema)
    except jsonschema.ValidationError as error:
        raise ValueError(f"{experiment}: {error.json_path} does not match the schema: {error.message}") from error


def write(path: Path, content: str) -> None:
    """Write a file atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, content)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with one line per row of a list, which is readable and gives small diffs."""
    lines = []
    for key, value in content.items():
        if isinstance(value, Sequence) and not isinstance(value, str) and value:
            rows = ",\n".join(f"  {json.dumps(row, allow_nan=False)}" for row in value)
            lines.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value, allow_nan=False)}")
    write(path, "{\n" + ",\n".join(lines) + "\n}\n")
