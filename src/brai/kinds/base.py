"""The interface of a kind of data: the part of the package that depends on what a row is.

Algorithms work with variables, families, graphs and numbers. They access data by four functions in compiled code
(`brai.kernels.interface`) and, in Python, by the methods of a `Kind`. Each table names its kind (``data.kind``),
and `brai.kinds.kind_of` returns that kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import PDAG, Family


@runtime_checkable
class Table(Protocol):
    """Data of any kind: named variables, rows, and the name of the kind. A table is immutable."""

    @property
    def kind(self) -> str:
        """The name of the kind, as registered in `brai.kinds`."""

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
        """A digest of the table, for checkpoints."""


class Sizes(NamedTuple):
    """Bytes that a kind needs for given numbers of rows and variables."""

    data: float  # the table, once
    full: float  # the full sample, beyond the table
    drawn: float  # one bootstrap sample
    scratch: float  # the workspace of one worker


class Kind(ABC):
    """A kind of data. Samples, terms and workspaces are NamedTuples, the arguments of its own kernels."""

    name: str
    scores: tuple[str, ...]  # names of its family scores; the first is the marginal likelihood, the default
    ess_choices: tuple[float, ...] = (1.0,)  # what ess="auto" chooses from, rising; 1 is one of them
    test_level: float | None = None  # of the G-test, if that is the default instead of the paper's C1
    network_file = "network.json"  # the usual name of a file with parameters
    max_parents = 4  # usual limit on the parents of a variable
    slack = 10.0  # nats below a subset to which chains have parent sets in their table
    linear = False  # whether edges have coefficients
    per_table = False  # whether there is an ess="table"

    def score_named(self, name: str) -> str:
        """The name of a family score; "auto" is the marginal likelihood."""
        if name == "auto":
            return self.scores[0]
        if name not in self.scores:
            raise ValueError(
                f"unknown score {name!r} for {self.name} data: choose one of {', '.join(self.scores)}, or 'auto'"
            )
        return name

    # --- tables ---

    @abstractmethod
    def conforming(self, X: Any, like: Any) -> Any:
        """X as a table over exactly the variables of ``like``, with their values; for rows to predict."""

    @abstractmethod
    def resampled(self, data: Any, seed: np.random.SeedSequence) -> Any:
        """A table of N rows drawn with replacement."""

    @abstractmethod
    def halved(self, data: Any, seed: np.random.SeedSequence) -> Any:
        """A table of half of the rows, drawn without replacement."""

    @abstractmethod
    def stored(self, data: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """A table as plain JSON and arrays, for a file; names are stored elsewhere."""

    @abstractmethod
    def restored(self, names: tuple[str, ...], about: Any, arrays: Any) -> Any:
        """The inverse of `stored`. ``arrays.take(name, dtype, *shape)`` returns an array. ValueError if wrong."""

    # --- missing cells: see `brai.posterior.augmentation` ---

    def drawn_parameters(
        self, data: Any, families: Sequence[Family], ess: float | str, rng: np.random.Generator
    ) -> Any:
        """Parameters of a DAG, drawn from their posterior given a completed table."""
        raise NotImplementedError(f"missing cells of {self.name} data cannot be imputed: drop their rows")

    def refilled(
        self, data: Any, missing: NDArray[np.bool_], parameters: Any, sweeps: int, rng: np.random.Generator
    ) -> Any:
        """A completed table with its missing cells drawn anew, given the others and parameters."""
        raise NotImplementedError

    def log_weights(
        self, data: Any, missing: NDArray[np.bool_], parameters: Any, rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Log of an unbiased estimate of the probability of what is there in each row."""
        raise NotImplementedError

    def mean_network(self, networks: Sequence[Any]) -> Any:
        """The network whose parameters are the means of those of several networks of the same DAG."""
        raise NotImplementedError

    # --- for kernels ---

    @abstractmethod
    def sample(self, data: Any) -> Any:
        """The sample of all rows: the data D of the paper."""

    @abstractmethod
    def bootstrap_sample(
        self, data: Any, seed: np.random.SeedSequence, used: NDArray[np.int64] | None = None
    ) -> Any:
        """Rows drawn with replacement (Algorithm 1, line 10); if ``used`` is given, only of these variables."""

    @abstractmethod
    def workspace(self, data: Any, depth: int) -> Any:
        """A workspace for conditioning sets of up to ``depth`` - 2 variables."""

    @abstractmethod
    def test_terms(self, data: Any, test: str, ess: float) -> Any:
        """The terms from which the statistic of a CI test (`brai.tree.independence`) is computed."""

    @abstractmethod
    def score_terms(self, data: Any, score: str, ess: float | str) -> Any:
        """The terms from which a family score is computed; ``ess`` is a number or "table", here and below."""

    @abstractmethod
    def compiled_for(self, data: Any) -> str:
        """The array type that kernels are compiled for, for `brai.runtime.jit.announce`."""

    # --- properties of variables ---

    @abstractmethod
    def levels(self, data: Any) -> NDArray[np.int64]:
        """Number of values of each variable, 1 if not applicable. Ties favour variables with few values."""

    @abstractmethod
    def constant(self, data: Any) -> NDArray[np.bool_]:
        """Which variables are constant. They have no edges, since data contain no information about these."""

    def allowed(self, data: Any) -> NDArray[np.bool_] | None:
        """Edges (row to column) that the kind allows; None if all are allowed."""
        return None

    @abstractmethod
    def sizes(self, n_rows: int, levels: NDArray[np.int64]) -> Sizes:
        """Memory needed for ``n_rows`` rows of variables with these numbers of values."""

    def common_share(self, data: Any) -> NDArray[np.float64]:
        """Fraction of rows with the most common value of each variable; 0 if not applicable."""
        return np.zeros(data.n_variables)

    def levels_seen(self, data: Any) -> NDArray[np.int64]:
        """Like `levels`, but only values that occur are counted, since others need no memory."""
        return self.levels(data)

    # --- prediction, parameters, effects ---

    @abstractmethod
    def predictions(
        self, families: Sequence[Family], train: Any, test: Any, ess: float | str
    ) -> Iterator[NDArray[np.float64]]:
        """Yield log predictive probabilities of each family's child, (families, rows), by blocks of rows."""

    @abstractmethod
    def parameters(self, dag: PDAG, data: Any, ess: float | str) -> Any:
        """A network: the DAG with parameters estimated from the data."""

    def coefficients(self, data: Any, weights: Mapping[Family, float], ess: float | str) -> Any:
        """Mean and sd of the coefficient of each edge over weighted families; for ``linear`` kinds."""
        raise NotImplementedError

    def total_effects(self, data: Any, dags: Sequence[Sequence[Family]], ess: float | str, rng: Any) -> Any:
        """Total effects of all pairs, one draw of the parameters of each DAG; for ``linear`` kinds."""
        raise NotImplementedError

    @abstractmethod
    def question(self, data: Any, x: int, y: int, change: Any, values: Any) -> Any:
        """A checked query for an effect of x on y; see `brai.posterior.effects`."""

    @abstractmethod
    def adjusted(self, data: Any, question: Any, given: Sequence[int] | None, ess: float | str) -> Any:
        """P(y | do(x)) by adjustment for ``given``, which is None if there is no directed path from x to y."""
