"""Memory is foreseen: what is free, what a table or a fit takes, and a refusal before work starts.

Estimates are of the highest point, and meant to be on the safe side by less than a factor of two. Exact learners
have their own, `brai.exact.estimate`.
"""

from __future__ import annotations

from pathlib import Path

CELL = 400  # bytes of a different cell of a text file: the text, its number, its value
SPARE = 0.9  # of what is free that may be asked for


def available(root: Path = Path("/")) -> int | None:
    """Bytes that this process can still get: of the machine, its container and its limits; None if unknown."""
    return None


def check(needed: float, what: str, cure: str) -> None:
    """Raise MemoryError if there is less free than that."""
    free = available()
    if free is not None and needed > SPARE * free:
        raise MemoryError(
            f"{what} needs about {gigabytes(needed)} of memory where {gigabytes(free)} are free: {cure}"
        )


def gigabytes(n: float) -> str:
    """Return "1.2 GB"."""
    return f"{n / 1e9:.2g} GB"


def check_table(n_rows: int, n_columns: int, name: str) -> None:
    """Refuse to read a table whose codes do not fit."""
    check(2 * n_rows * n_columns, f"reading {name}, {n_rows} rows of {n_columns} columns,", "read fewer")
