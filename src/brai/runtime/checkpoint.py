"""Checkpoints: finished parts of a run are stored on disk, so that an interrupted run can be resumed.

A checkpoint is a folder. ``run.json`` describes the data and the settings. Each finished part is a separate file,
written atomically. A part depends only on data and settings, so a resumed run gives the same result as an
uninterrupted one. Files contain JSON and plain arrays; nothing in them is executed.

Only one run at a time uses the folder (`brai.runtime.lock`). Each part contains the digest of its run; parts of
other runs are refused.

A budget may end a step early, which changes the tasks of later steps. Keys of such steps contain a digest of the
task's input (`fingerprint`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import reprlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from brai import __version__
from brai.runtime.archive import FORMAT, VERSION, FormatError, read, write
from brai.runtime.atomic_files import write_text
from brai.runtime.lock import claimed

DESCRIPTION = "run.json"
LEFT_OUT = ("n_jobs", "checkpoint", "verbose", "budget", "random_state")  # settings that do not change any part


class OtherRunError(ValueError):
    """The folder contains the checkpoint of other data or settings."""


class Checkpoint:
    """Finished parts in a folder, by key. ``run`` is the digest of the run that they belong to."""

    def __init__(self, folder: Path, run: str = ""):
        self.folder, self.run = folder, run

    @classmethod
    @contextmanager
    def of(cls, learner: Any, data: Any, seed: np.random.SeedSequence) -> Iterator[Checkpoint | None]:
        """The checkpoint that a learner is configured with, or None; its folder is locked meanwhile."""
        if learner.checkpoint is None:
            yield None
            return
        if learner.random_state is None:
            raise ValueError("a checkpoint needs a random_state, or it could not be resumed: give one")
        settings = {k: described(v) for k, v in learner.get_params(deep=False).items() if k not in LEFT_OUT}
        run = {"brai": __version__, "learner": type(learner).__name__, "data": data.signature(), **settings}
        folder = _made(learner.checkpoint)
        with claimed(folder):
            yield cls._open(folder, {**run, "seed": repr(seed)})

    @classmethod
    def _open(cls, place: Path, run: Mapping[str, Any]) -> Checkpoint:
        """The checkpoint of this run. OtherRunError if the folder contains that of another run."""
        file, said = place / DESCRIPTION, json.loads(json.dumps(run))
        if file.exists():
            try:
                found = json.loads(file.read_text(encoding="utf-8"))
            except ValueError:
                found = None
            if not isinstance(found, dict):
                raise OtherRunError(f"{file} is damaged: delete the folder, or give another one")
            if found != said:
                raise OtherRunError(
                    f"{place} is the checkpoint of another run, with {', '.join(_differences(found, said))}: "
                    "give another folder, or delete this one"
                )
        elif any(place.glob("*.part.brai")):
            raise ValueError(
                f"{place} contains parts of a run and no {DESCRIPTION}: delete it, or give another folder"
            )
        else:
            _written(place, lambda: write_text(file, json.dumps(said, indent=1) + "\n"))
        return cls(place, fingerprint(json.dumps(said, sort_keys=True)))

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.part.brai"

    def __contains__(self, key: str) -> bool:
        return self._file(key).exists()

    def __len__(self) -> int:
        return len(list(self.folder.glob("*.part.brai")))

    def save(self, key: str, value: Any) -> None:
        """Store a finished part."""
        packer = _Packer()
        meta = {"format": FORMAT, "version": VERSION, "run": self.run, "part": key, "value": packer.plain(value)}
        stored = {name: _storable(array) for name, array in packer.arrays.items()}
        _written(self.folder, lambda: write(self._file(key), meta, stored))

    def load(self, key: str) -> Any:
        """Load a finished part. FormatError if the file is damaged or belongs to another run."""
        try:
            meta, arrays = read(self._file(key))
            if meta["run"] != self.run:
                raise FormatError("it is a part of another run")
            if meta["part"] != key:
                raise FormatError(f"it is the part {meta['part']!r}")
            return _Unpacker(arrays).value(meta["value"])
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise FormatError(
                f"{self._file(key)}: {error}. Delete this file, and its part is computed again"
            ) from None

    def clear(self) -> None:
        """Delete all parts, and the folder if it is then empty."""
        if not self.folder.is_dir():
            return
        for file in [*self.folder.glob("*.part.brai"), *self.folder.glob(".*.part"), self.folder / DESCRIPTION]:
            file.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()


def _made(folder: Any) -> Path:
    """The folder of a checkpoint, created if it does not exist."""
    if not isinstance(folder, str | os.PathLike) or not os.fspath(folder):
        raise ValueError(f"checkpoint is {folder!r}: give the name of a folder, or None")
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise NotADirectoryError(f"{place} is a file, and a checkpoint is a folder: give another name")
    place.mkdir(parents=True, exist_ok=True)
    return place


def _differences(found: Mapping[str, Any], said: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """The settings that differ, as text; nested settings have dotted names."""
    for name in {**said, **found}:
        then, now = found.get(name), said.get(name)
        if isinstance(then, dict) and isinstance(now, dict):
            yield from _differences(then, now, f"{above}{name}.")
        elif then != now:
            yield f"{above}{name} {reprlib.repr(then)} (now {reprlib.repr(now)})"


def _written(folder: Path, write: Callable[[], None]) -> None:
    """Call ``write``. If it fails, name the folder: the error of a full disk does not contain it."""
    try:
        write()
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror or error}: the checkpoint cannot be written; finished parts are kept, so free some "
            "space and run again",
            str(folder),
        ) from error


def fingerprint(value: Any) -> str:
    """Digest of a value of any type that a part can contain."""
    packer, digest = _Packer(), hashlib.blake2b(digest_size=8)
    digest.update(json.dumps(packer.plain(value)).encode())
    for array in packer.arrays.values():
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def described(value: Any) -> Any:
    """A setting as JSON that is equal in every process: it contains no addresses, and sets are sorted."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return described(value.item())
    if isinstance(value, np.ndarray):
        return {"array": fingerprint(value)} if value.dtype.kind in "biuf" else described(value.tolist())
    if isinstance(value, Mapping):
        return {str(k): described(v) for k, v in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(map(described, value), key=repr)
    if isinstance(value, list | tuple):
        return [described(item) for item in value]
    if hasattr(value, "get_params"):
        parts = {k: v for k, v in value.get_params(deep=False).items() if k not in ("n_jobs", "verbose")}
    elif dataclasses.is_dataclass(value):
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    elif hasattr(value, "__dict__"):
        parts = vars(value)
    else:
        return repr(value)
    return {"type": type(value).__name__, **described(parts)}


# --- values as JSON and arrays: numbers, text, None, arrays, tuples, lists, and registered records --------------

Record = TypeVar("Record")
_RECORDS: dict[str, type] = {}
_NAMES: dict[type, str] = {}


def storable(name: str) -> Callable[[type[Record]], type[Record]]:
    """Register a dataclass under this name, so that parts of a checkpoint can contain it.

    Identity is preserved for records that are compared by identity (``eq=False``): a record that occurs twice is
    loaded as one object.
    """

    def known(record: type[Record]) -> type[Record]:
        _RECORDS[name], _NAMES[record] = record, name
        return record

    return known


def _is_one(record: Any) -> bool:
    return bool(record.__eq__ is object.__eq__)


class _Packer:
    """Converts a value to JSON and arrays."""

    def __init__(self) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._seen: dict[int, int] = {}

    def plain(self, value: Any) -> Any:
        """The value as JSON; its arrays are collected in ``arrays``."""
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float | np.floating):
            return float(value) if np.isfinite(value) else ["float", repr(float(value))]
        if isinstance(value, np.integer | np.bool_):
            return value.item()
        if isinstance(value, np.ndarray):
            self.arrays[f"a{len(self.arrays)}"] = value
            return ["array", len(self.arrays) - 1, value.dtype.str]
        if type(value) in _NAMES:
            return self._record(value)
        if isinstance(value, tuple | list):
            return ["list" if type(value) is list else "tuple", *map(self.plain, value)]
        raise TypeError(f"a checkpoint cannot store a {type(value).__name__}")

    def _record(self, value: Any) -> Any:
        if id(value) in self._seen:
            return ["same", self._seen[id(value)]]
        parts = [self.plain(getattr(value, field.name)) for field in dataclasses.fields(value)]
        if _is_one(type(value)):
            self._seen[id(value)] = len(self._seen)
        return [_NAMES[type(value)], *parts]


class _Unpacker:
    """The inverse of `_Packer`."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]):
        self._arrays = arrays
        self._seen: list[Any] = []

    def value(self, plain: Any) -> Any:
        """The value that `_Packer.plain` converted."""
        if not isinstance(plain, list):
            return plain
        kind, *items = plain
        if kind == "array":
            array, dtype = self._arrays[f"a{int(items[0])}"], np.dtype(str(items[1]))
            return array.view(dtype) if dtype == np.uint64 else array.astype(dtype, copy=False)
        if kind == "same":
            return self._seen[int(items[0])]
        values = tuple(map(self.value, items))
        if kind not in _RECORDS:
            return _MAKERS[kind](*values)
        made = _RECORDS[kind](*values)
        if _is_one(_RECORDS[kind]):
            self._seen.append(made)
        return made


_MAKERS: dict[str, Callable[..., Any]] = {
    "tuple": lambda *items: items,
    "list": lambda *items: list(items),
    "float": float,
}


def _storable(array: NDArray[Any]) -> NDArray[Any]:
    """The array in a type that the file format supports."""
    if array.dtype == bool:
        return array.astype(np.uint8)
    return array.view(np.int64) if array.dtype == np.uint64 else array
