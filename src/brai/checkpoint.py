"""Finished parts of a run on disk, so that a run that was killed goes on where it was.

A checkpoint is a folder: ``run.json`` says of which data and settings, and each finished part is a file of its
own, written whole or not at all. Each part is what it would be in any other run of these data and settings, so a
run that goes on gives the result of one that was never stopped. Files hold JSON and plain arrays; nothing in them
is executed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai._archive import FORMAT, VERSION, FormatError, read, write
from brai._files import write_text
from brai.data import Dataset
from brai.tree import BootstrapNode, Leaf

DESCRIPTION = "run.json"


class OtherRunError(ValueError):
    """The folder holds the checkpoint of other data or settings."""


class Checkpoint:
    """Finished parts in a folder, by their keys."""

    def __init__(self, folder: Path):
        self.folder = folder

    @classmethod
    def open(cls, folder: str | Path, run: Mapping[str, Any]) -> Checkpoint:
        """The checkpoint of this run; an OtherRunError if the folder holds that of another."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        file, said = place / DESCRIPTION, dict(run)
        if file.exists():
            try:
                found = json.loads(file.read_text(encoding="utf-8"))
            except ValueError:
                found = {}
            differs = sorted(k for k in {*found, *said} if found.get(k) != said.get(k))
            if differs:
                raise OtherRunError(
                    f"{place} holds the checkpoint of another run, it differs in {', '.join(differs)}: "
                    "give another folder, or delete this one"
                )
        elif any(place.glob("*.part.brai")):
            raise ValueError(
                f"{place} holds parts of a run and no {DESCRIPTION}: delete it, or give another folder"
            )
        else:
            write_text(file, json.dumps(said, indent=1) + "\n")
        return cls(place)

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.part.brai"

    def __contains__(self, key: str) -> bool:
        return self._file(key).exists()

    def __len__(self) -> int:
        return len(list(self.folder.glob("*.part.brai")))

    def save(self, key: str, value: Any) -> None:
        """Keep a finished part."""
        arrays: dict[str, NDArray[Any]] = {}
        meta = {"format": FORMAT, "version": VERSION, "part": key, "value": _plain(value, arrays)}
        write(self._file(key), meta, arrays)

    def load(self, key: str) -> Any:
        """A finished part; a FormatError if the file is damaged."""
        try:
            meta, arrays = read(self._file(key))
            return _value(meta["value"], arrays)
        except (FormatError, LookupError, TypeError) as error:
            raise FormatError(
                f"{self._file(key)}: {error}. Delete this file, and its part is made again"
            ) from None

    def clear(self) -> None:
        """Delete all parts, and the folder if nothing else is in it."""
        if not self.folder.is_dir():
            return
        for file in [*self.folder.glob("*.part.brai"), *self.folder.glob(".*.part"), self.folder / DESCRIPTION]:
            file.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()


def digest_of(data: Dataset) -> str:
    """What tells data sets apart."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((data.names, data.states, data.codes.shape, data.codes.dtype.str)).encode())
    digest.update(np.ascontiguousarray(data.codes).data)
    return digest.hexdigest()


# --- values as JSON and arrays: numbers, text, None, arrays, tuples, lists and the nodes of a tree -----------

_MAKERS: dict[str, Callable[..., Any]] = {
    "tuple": lambda *items: tuple(items),
    "list": lambda *items: list(items),
    "leaf": Leaf,
    "node": BootstrapNode,
    "inf": lambda sign: sign * np.inf,
}


def _plain(value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else ["inf", 1 if value > 0 else -1]
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, np.ndarray):
        arrays[f"a{len(arrays)}"] = value.astype(np.uint8) if value.dtype == bool else _signed(value)
        return ["array", len(arrays) - 1, value.dtype.str]
    if isinstance(value, Leaf):
        items: Any = (value.families, value.log_score, value.repaired, value.truncated)
        return ["leaf", *(_plain(item, arrays) for item in items)]
    if isinstance(value, BootstrapNode):
        return ["node", value.order, _plain(value.groups, arrays)]
    if isinstance(value, tuple | list):
        return [
            type(value).__name__ if type(value) in (tuple, list) else "tuple",
            *(_plain(v, arrays) for v in value),
        ]
    raise TypeError(f"{type(value).__name__} is no part of a checkpoint")


def _signed(array: NDArray[Any]) -> NDArray[Any]:
    return array.view(np.int64) if array.dtype == np.uint64 else array


def _value(plain: Any, arrays: Mapping[str, NDArray[Any]]) -> Any:
    if not isinstance(plain, list):
        return plain
    kind, *items = plain
    if kind == "array":
        array, dtype = arrays[f"a{int(items[0])}"], np.dtype(str(items[1]))
        return array.view(dtype) if dtype == np.uint64 else array.astype(dtype, copy=False)
    return _MAKERS[kind](*(_value(item, arrays) for item in items))
