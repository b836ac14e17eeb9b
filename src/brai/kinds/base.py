"""What a kind of data is: the small part of a program that knows what a row is.

Algorithms know variables, families, graphs and numbers. They reach data by four functions in compiled code
(`brai.kernels.interface`) and, from Python, by the methods of a `Kind`. Each table says of which kind it is
(``data.kind``), and `brai.kinds.kind_of` has the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import PDAG, Family


@runtime_checkable
class Table(Protocol):
    """Data of any kind: named variables, rows, and the name of the kind. It never changes."""

    @property
    def kind(self) -> str:
        """The name of the kind, as `brai.kinds.register` has it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""

    @property
    def n_rows(self) -> int:
        """Number of rows, N."""

    @property
    def n_variables(self) -> int:
        """Number of variables, d."""

    def select(self, columns: Any) -> Any:
        """The table of these columns (names), in this order."""

    def signature(self) -> str:
        """A digest that tells tables apart, for checkpoints."""


class Sizes(NamedTuple):
    """Bytes that a kind takes for so many rows and variables."""

    data: float  # the table, once
    full: float  # the full sample, beyond the table
    drawn: float  # a bootstrap sample
    scratch: float  # scratch memory of one worker


class Kind(ABC):
    """One kind of data. Samples, terms and scratch memory are NamedTuples that its own kernels take."""

    name: str
    scores: tuple[str, ...]  # names of its family scores

    # --- tables ---

    @abstractmethod
    def conforming(self, X: Any, like: Any) -> Any:
        """X as a table over exactly the variables of ``like``, with their values: rows to be predicted."""

    @abstractmethod
    def resampled(self, data: Any, seed: np.random.SeedSequence) -> Any:
        """A table of N rows drawn with replacement."""

    @abstractmethod
    def stored(self, data: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """A table as plain JSON and arrays, for a file; names are stored elsewhere."""

    @abstractmethod
    def restored(self, names: tuple[str, ...], about: Any, arrays: Any) -> Any:
        """The way back; ``arrays.take(name, dtype, *shape)`` gives an array. ValueError if anything is wrong."""

    # --- for kernels ---

    @abstractmethod
    def sample(self, data: Any) -> Any:
        """All rows: the data D of the paper."""

    @abstractmethod
    def bootstrap_sample(
        self, data: Any, seed: np.random.SeedSequence, used: NDArray[np.int64] | None = None
    ) -> Any:
        """Rows drawn with replacement (Algorithm 1, line 10); with ``used`` of these variables only."""

    @abstractmethod
    def workspace(self, data: Any, depth: int) -> Any:
        """Scratch memory for condition sets of up to ``depth`` - 2 variables."""

    @abstractmethod
    def test_terms(self, data: Any, test: str, ess: float) -> Any:
        """What the statistic of a CI test (`brai.tree.independence`) is made of."""

    @abstractmethod
    def score_terms(self, data: Any, score: str, ess: float) -> Any:
        """What a family score is made of."""

    @abstractmethod
    def compiled_for(self, data: Any) -> str:
        """The type of arrays that kernels are compiled for, to announce compiling."""

    # --- what algorithms ask about variables ---

    @abstractmethod
    def levels(self, data: Any) -> NDArray[np.int64]:
        """How many values each variable has, 1 if that means nothing: ties go to variables with few."""

    @abstractmethod
    def constant(self, data: Any) -> NDArray[np.bool_]:
        """Which variables do not vary: data say nothing about their edges, so they have none."""

    def allowed(self, data: Any) -> NDArray[np.bool_] | None:
        """Edges (row to column) that the kind allows; None if it allows all."""
        return None

    @abstractmethod
    def sizes(self, n_rows: int, levels: NDArray[np.int64]) -> Sizes:
        """What so many rows of such variables take."""

    def common_share(self, data: Any) -> NDArray[np.float64]:
        """Share of rows that have the most common value of each variable; 0 if that means nothing."""
        return np.zeros(data.n_variables)

    def levels_seen(self, data: Any) -> NDArray[np.int64]:
        """The same as `levels`, where values that do not occur are left out: they take no memory."""
        return self.levels(data)

    # --- answers ---

    @abstractmethod
    def predictions(
        self, families: Sequence[Family], train: Any, test: Any, ess: float
    ) -> Iterator[NDArray[np.float64]]:
        """Log predictive probability of each family's child, (families, rows), a block of rows at a time."""

    @abstractmethod
    def parameters(self, dag: PDAG, data: Any, ess: float) -> Any:
        """A network: the DAG with its parameters learned from the data."""

    @abstractmethod
    def question(self, data: Any, x: int, y: int, change: Any, values: Any) -> Any:
        """What is asked about an effect of x on y; see `brai.posterior.effects`."""

    @abstractmethod
    def adjusted(self, data: Any, question: Any, given: Sequence[int] | None, ess: float) -> Any:
        """P(y | do(x)) by adjustment for ``given``; None if there is no directed path from x to y."""
