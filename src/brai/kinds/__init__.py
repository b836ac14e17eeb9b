"""Kinds of data. A kind is one folder here, and one line in `KINDS`.

`brai.kinds.base` says what a kind has to offer. Nothing outside this package asks which kind it has.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brai.kinds.base import Kind

KINDS = {"discrete": "brai.kinds.discrete.kind"}  # modules with an object KIND

_loaded: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Make a kind known by its name; for kinds that live in other packages."""
    _loaded[kind.name] = kind


def table_of(X: Any) -> Any:
    """X as a table: as it is if it is one, of whatever kind; else discrete, by `Dataset.of`."""
    from brai.data.dataset import Dataset
    from brai.kinds.base import Table

    return X if not isinstance(X, type) and isinstance(X, Table) else Dataset.of(X)


def kind_of(data: Any) -> Kind:
    """The kind of a table, by its attribute ``kind``."""
    return kind_named(data.kind)


def kind_named(name: str) -> Kind:
    """The kind of this name."""
    if name not in _loaded:
        if name not in KINDS:
            known = ", ".join(map(repr, {**KINDS, **_loaded}))
            raise ValueError(f"data of the kind {name!r} are not known: register it, or choose among {known}")
        register(import_module(KINDS[name]).KIND)
    return _loaded[name]
