"""Missing cells with their probabilities, from completed tables that were drawn.

>>> from brai import HillClimbing
>>> rows = {"rain": ["no", "yes"] * 30, "wet": ["no", "yes"] * 29 + ["no", None]}
>>> imputed = HillClimbing().fit(rows).impute()
>>> imputed.rows()[0]["column"], imputed.rows()[0]["value"]
('wet', 'yes')
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SHOWN = 10  # cells that are printed


class Cell(NamedTuple):
    """A missing cell: the most probable state and the probabilities, or the mean of a measurement with its sd."""

    row: int  # from 0
    column: str
    value: Any
    probability: float | None  # of ``value``; None for a measurement
    states: dict[Any, float] | None
    sd: float | None
    low: float | None  # 2.5 and 97.5 % quantile of a measurement
    high: float | None


@dataclass(frozen=True, eq=False, repr=False)
class Imputed:
    """The missing cells of a table, by column and then by row."""

    cells: tuple[Cell, ...]
    whole: Any  # the table with `Cell.value` in its missing cells

    @classmethod
    def of(cls, table: Any, missing: NDArray[np.bool_], drawn: Sequence[Any]) -> Imputed:
        """From completed tables."""
        cells: list[Cell] = []
        columns = {}
        for v in np.flatnonzero(missing.any(axis=1)).tolist():
            at = np.flatnonzero(missing[v])
            values = np.stack([own.columns()[v][at] for own in drawn])
            states = table.states_of(v)
            found = np.array(table.columns()[v])
            if states is None:
                low, high = np.quantile(values, [0.025, 0.975], axis=0)
                found[at] = values.mean(axis=0)
                sd = values.std(axis=0)
                for i, row in enumerate(at.tolist()):
                    cells.append(
                        Cell(
                            row,
                            table.names[v],
                            float(found[row]),
                            None,
                            None,
                            float(sd[i]),
                            float(low[i]),
                            float(high[i]),
                        )
                    )
            else:
                shares = np.stack([(values == k).mean(axis=0) for k in range(len(states))])
                best = shares.argmax(axis=0)
                found[at] = best
                for i, row in enumerate(at.tolist()):
                    own = {label: float(p) for label, p in zip(states, shares[:, i], strict=True) if p > 0}
                    cells.append(
                        Cell(
                            row, table.names[v], states[best[i]], float(shares[best[i], i]), own, None, None, None
                        )
                    )
            columns[v] = found
        return cls(tuple(cells), table.replaced(columns) if columns else table)

    def table(self) -> dict[str, list[Any]]:
        """All columns, with the most probable state or the mean in each missing cell."""
        found: dict[str, list[Any]] = self.whole.to_dict()
        return found

    def rows(self) -> list[dict[str, Any]]:
        """The cells as rows, for instance for pandas.DataFrame(imputed.rows())."""
        return [cell._asdict() for cell in self.cells]

    def __len__(self) -> int:
        return len(self.cells)

    def __repr__(self) -> str:
        lines = [f"Imputed({len(self)} missing cells)"]
        for cell in self.cells[:SHOWN]:
            if cell.probability is not None:
                sure = f"probability {cell.probability:.2f}"
            else:
                sure = f"sd {cell.sd:.3g}, 95 % from {cell.low:.4g} to {cell.high:.4g}"
            value = f"{cell.value:.4g}" if isinstance(cell.value, float) else cell.value
            lines.append(f"  row {cell.row + 1}, {cell.column}: {value} ({sure})")
        if len(self) > SHOWN:
            lines.append(f"  … and {len(self) - SHOWN} more: see rows()")
        return "\n".join(lines)
