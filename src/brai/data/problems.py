"""The problems of a table, all at once: one error instead of one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from brai.data.columns import DataError

TOLD = 8  # columns whose problems a message describes


class Problems:
    """The problems of single columns, to tell all of them at once."""

    def __init__(self) -> None:
        self._found: dict[str, DataError] = {}

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Keep the DataError that is raised inside."""
        try:
            yield
        except DataError as error:
            self._found.setdefault(name, error)

    def tell(self) -> None:
        """Raise what was found: the error of one column, or one error for all."""
        if not self._found:
            return
        if len(self._found) == 1:
            raise next(iter(self._found.values()))
        told = [str(error) for error in self._found.values()][:TOLD]
        more = f"; and {len(self._found) - TOLD} more" if len(self._found) > TOLD else ""
        names = list(self._found)
        error = DataError(f"{len(names)} columns cannot be used. {'; '.join(told)}{more}: or leave them all out")
        error.columns = tuple(names)
        raise error
