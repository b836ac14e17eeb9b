"""Which cells of text mean that a value is missing.

By default an empty cell of a text file is missing in any column. NA, NaN, N/A, null, ?, a point and a dash
(`USUAL`) are missing where all other cells of their column are numbers; `brai.data.missing_words` says what they
are among labels. ``na=["NA", "?"]`` lists words that are missing in any column; with ``na=[]`` only empty cells
are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from brai.data.columns import DataError, shown

USUAL = frozenset({"na", "n/a", "nan", "null", "?", ".", "-", "<na>", "#n/a"})  # in any case


@dataclass(frozen=True)
class Words:
    """The words that mean missing."""

    given: frozenset[str] | None = None  # by the caller, as they are spelled; None if not given

    @classmethod
    def of(cls, na: Any) -> Words:
        """From the argument ``na``: None, a word, or several."""
        if na is None:
            return cls()
        if isinstance(na, bytes) or not isinstance(na, Iterable):
            raise DataError(f'na is {shown(na)}: give a list of words, such as na=["NA", "?"]')
        words = [na] if isinstance(na, str) else list(na)
        for word in words:
            if isinstance(word, bool) or not isinstance(word, str | int | float):
                raise DataError(f'na holds {shown(word)}: give words, such as na=["NA", "?"]')
        return cls(frozenset(str(word).strip() for word in words) - {""})

    @property
    def only_empty(self) -> bool:
        """Whether only empty cells are missing."""
        return self.given is not None and not self.given

    def usual(self, cell: str) -> bool:
        """Whether a cell is missing if it stands among numbers, but a question among labels."""
        return not self.only_empty and cell.casefold() in USUAL

    def among_numbers(self, cell: str) -> bool:
        """Whether a cell that stands among numbers is missing."""
        return not cell or self.usual(cell) or (self.given is not None and cell in self.given)


AUTO = Words()
