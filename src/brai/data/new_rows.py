"""New rows with missing cells, over the variables of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brai.data.columns import DataError, aligned, factor
from brai.data.dataset import columns_of_any
from brai.data.incomplete import Incomplete
from brai.data.missing import missing_rows
from brai.data.states import MISSING


def conforming_with_holes(X: Any, like: Any, conforming: Callable[[Any], Any]) -> Any:
    """Rows over the variables of a complete table ``like``; `Incomplete` if cells are missing.

    ``conforming`` converts rows without missing cells. Missing cells are filled with the first state or the mean.
    """
    if isinstance(X, Incomplete):
        table = conforming(X.table)
        place = {name: i for i, name in enumerate(X.names)}
        return Incomplete(table, X.missing[[place[name] for name in table.names]])
    found = columns_with_holes(X, like)
    if found is None:
        return conforming(X)
    columns, missing = found
    return Incomplete(conforming(columns), missing)


def columns_with_holes(X: Any, like: Any) -> tuple[dict[str, Any], NDArray[np.bool_]] | None:
    """The columns of X that ``like`` has, missing cells filled, and where these are; None if none is missing.

    Also None if X does not have these columns, or holds what cannot be read: then errors are told elsewhere.
    """
    states = {} if like.kind == "gaussian" else dict(zip(*_states(like), strict=True))
    try:
        columns = aligned(X, columns_of_any(X), like.names)
        factors: dict[str, Any] = {}
        gone: list[NDArray[np.bool_]] = []
        for v, (name, column) in enumerate(zip(like.names, columns, strict=True)):
            own = factor(name, column)
            away = missing_rows(own)
            if MISSING in states.get(name, ()):
                away = np.zeros(len(away), bool)
            gone.append(away)
            value = states[name][0] if name in states else float(like.columns()[v].mean())
            factors[name] = replace(
                own,
                values=[*own.values, value],
                inverse=np.where(away, len(own.values), own.inverse),
                text=None if own.text is None else [*own.text, str(value)],
            )
    except (DataError, TypeError):
        return None
    if len({len(own) for own in gone}) > 1:
        return None
    missing = np.stack(gone)
    return (factors, missing) if missing.any() else None


def _states(table: Any) -> tuple[Sequence[str], Sequence[tuple[Any, ...]]]:
    """Names and states of the columns of a table that have states."""
    own = table if table.kind == "discrete" else table.labels
    return ((), ()) if own is None else (own.names, own.states)
