"""The problems of a table, all at once: one error instead of one after the other."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from numpy.typing import NDArray

from brai.data.columns import DataError, shown

Question: TypeAlias = Callable[[Collection[str]], DataError | None]  # about all columns but these

TOLD = 8  # columns whose problems a message describes


class Problems:
    """The problems of single columns, to tell all of them at once."""

    def __init__(self) -> None:
        self._found: dict[str, DataError] = {}
        self.question: Question = lambda _: None

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Keep the DataError that is raised inside."""
        try:
            yield
        except DataError as error:
            error.column = name
            self._found.setdefault(name, error)

    def tell(self) -> None:
        """Raise what was found: the error of one column, or one error for all."""
        question = self.question(self._found)
        if not self._found:
            if question is not None:
                raise question
            return
        if len(self._found) == 1 and question is None:
            raise next(iter(self._found.values()))
        parts, names = tuple(self._found.values()), list(self._found)
        asked = f". Besides, {question}" if question is not None else ""
        out = f": leave all out with X.drop(columns={names}), of a file with drop={names}{_kept(parts)}"
        cure = out if len(parts) > 1 else ""
        error = DataError(f"{described(parts, [str(own) for own in parts])}{cure}{asked}")
        error.columns, error.parts, error.question = tuple(names), parts, question
        raise error


def described(parts: tuple[DataError, ...], messages: list[str]) -> str:
    """How many columns have problems, and the messages of the first ones."""
    more = f"; and {len(parts) - TOLD} more" if len(parts) > TOLD else ""
    many = f"{len(parts)} columns cannot be used. " if len(parts) > 1 else ""
    return f"{many}{'; '.join(messages[:TOLD])}{more}"


def _kept(parts: tuple[DataError, ...]) -> str:
    """Advice to state the kinds of those that can be used then."""
    kinds = {own.column: own.kind for own in parts if own.kind}
    return f"; or keep some with kinds={kinds}" if kinds else ""


def check_range(codes: NDArray[Any], names: Sequence[str], states: Sequence[Sequence[Any]]) -> None:
    """Refuse codes (one row for each variable) that are no index of a label."""
    lows, highs = codes.min(axis=1).tolist(), codes.max(axis=1).tolist()
    for name, labels, low, high in zip(names, states, lows, highs, strict=True):
        if low < 0 or high >= len(labels):
            raise DataError(
                f"column {shown(name)} holds the code {low if low < 0 else high}, outside 0..{len(labels) - 1}: "
                "number codes from 0, and make arities= or states= cover all of them"
            )
