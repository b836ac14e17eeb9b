"""Kinds of data. A kind is one sub-package here, and one entry of `KINDS`.

`brai.kinds.base` defines the interface of a kind. Code outside this package does not depend on the kind.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brai.kinds.base import Kind

KINDS = {
    "discrete": "brai.kinds.discrete.kind",
    "gaussian": "brai.kinds.gaussian.kind",
    "mixed": "brai.kinds.mixed.kind",
}  # modules that define KIND

PREFIX = "incomplete-"  # of the name of a kind: tables with missing cells (`brai.kinds.incomplete`)

_loaded: dict[str, Kind] = {}


def register(kind: Kind) -> None:
    """Register a kind under its name; for kinds that are defined in other packages."""
    _loaded[kind.name] = kind


def table_of(X: Any, missing: Any = "error") -> Any:
    """X as a table: unchanged if it is a table of any kind, else by `Dataset.of`; missing cells are an error."""
    from brai.data.dataset import Dataset
    from brai.kinds.base import Table

    return X if not isinstance(X, type) and isinstance(X, Table) else Dataset.of(X, missing=missing)


def kind_of(data: Any) -> Kind:
    """The kind of a table, by its attribute ``kind``."""
    return kind_named(data.kind)


def kind_named(name: str) -> Kind:
    """The kind of this name."""
    if name not in _loaded:
        if name.startswith(PREFIX) and name.removeprefix(PREFIX) in {**KINDS, **_loaded}:
            from brai.kinds.incomplete import IncompleteKind

            _loaded[name] = IncompleteKind(kind_named(name.removeprefix(PREFIX)))
            return _loaded[name]
        if name not in KINDS:
            known = ", ".join(map(repr, {**KINDS, **_loaded}))
            raise ValueError(f"unknown kind of data {name!r}: register it, or choose one of {known}")
        register(import_module(KINDS[name]).KIND)
    return _loaded[name]
