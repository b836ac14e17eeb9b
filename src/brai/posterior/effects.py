"""Causal effects when the graph is uncertain: P(y | do(x)) averaged over the DAGs of a posterior.

IDA (Maathuis, Kalisch & Bühlmann 2009) computes an effect for every DAG of an equivalence class; BIDA (Pensar et
al. 2020) averages over a posterior. This module does both for categorical variables
(`brai.kinds.discrete.adjustment`). In a DAG without a directed path from x to y the effect is exactly zero and
P(y | do(x)) = P(y). In the other DAGs P(y | do(x)) = Σ_z P(y | x, z) P(z), where the adjustment set z is

- ``"optimal"`` (default): the parents of the nodes on directed paths from x to y, without these nodes and x. Of
  all valid adjustment sets it has the least asymptotic variance (Henckel, Perković & Maathuis 2022). x varies more
  given this set than given its own parents.
- ``"parents"``: the parents of x, as in IDA and BIDA. If they nearly determine x, the estimate is poor.

Two kinds of uncertainty are reported: ``spread`` is the variation between graphs, ``parameter_sd`` is the
uncertainty of the parameters within a graph. The latter depends on the prior: with a small ess, a cell with a few
rows that all agree counts as nearly certain. Hidden common causes are assumed to be absent.

References: Henckel, Perković & Maathuis 2022, "Graphical criteria for efficient total effect estimation via
adjustment in causal linear models", JRSS B 84. Maathuis, Kalisch & Bühlmann 2009, "Estimating high-dimensional
intervention effects from observational data", Annals of Statistics 37. Pensar, Talvitie, Hyttinen & Koivisto 2020,
"A Bayesian approach for estimating causal effects from observational data", AAAI.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from brai.data.states import place_of
from brai.graphs.adjacency import bits
from brai.kinds import kind_of, table_of
from brai.posterior.weighted import Posterior, Share, frequency_variance
from brai.runtime.seeds import RandomState, generator

Floats: TypeAlias = NDArray[np.float64]
Adjustment: TypeAlias = Literal["parents", "optimal"]


class GraphEffect(NamedTuple):
    """The effect in the DAGs with this adjustment set, and the probability of these DAGs.

    ``causes`` says whether they have a directed path from x to y.
    """

    adjusted_for: tuple[str, ...]
    causes: bool
    probability: float
    distribution: Floats
    effect: float


@dataclass(frozen=True, eq=False, repr=False)
class Effect:
    """P(outcome | do(cause)) under structure uncertainty; print it for a summary.

    Attributes
    ----------
    cause, outcome : names of the two variables
    cause_states, outcome_states : their states, which are the rows and columns of the tables below
    p_causes : probability of a directed path from cause to outcome; DAGs without one have no effect
    distribution : P(outcome | do(cause)), averaged over DAGs
    spread : standard deviation of these probabilities over DAGs
    parameter_sd : root of their mean posterior variance within a DAG
    change, values : the cause is changed from change[0] to change[1]; ``values`` are numbers for outcome states
    effect : change of the mean of ``values``, averaged over DAGs
    effect_spread, effect_parameter_sd : standard deviation of the effect over DAGs, and by parameters within them
    effect_sd : both together
    p_flip : probability of the DAGs in which the effect has the opposite sign
    support : for each state of the cause, probability of those configurations of the adjustment set in which it
        was observed; where it is low, the estimate relies on the prior
    graphs : a GraphEffect for each adjustment set, most probable first
    n_dags, exact : number of DAGs examined, and whether these were all of them
    p_causes_standard_error, standard_error, effect_standard_error : Monte Carlo errors from drawing DAGs, 0 if
        exact. The last two are estimated from the draws, so they are also 0 if all drawn DAGs agree
    """

    cause: str
    outcome: str
    cause_states: tuple[Any, ...]
    outcome_states: tuple[Any, ...]
    p_causes: float
    p_causes_standard_error: float
    distribution: Floats
    spread: Floats
    parameter_sd: Floats
    standard_error: Floats
    change: tuple[Any, Any]
    values: Mapping[Any, float]
    effect: float
    effect_spread: float
    effect_parameter_sd: float
    effect_standard_error: float
    p_flip: float
    support: Floats
    graphs: tuple[GraphEffect, ...]
    n_dags: int
    exact: bool
    of_mean: bool = False  # the outcome is a measurement: tables hold its mean, rows are the values of ``change``

    @property
    def effect_sd(self) -> float:
        """Standard deviation of the effect, over graphs and parameters together."""
        return math.hypot(self.effect_spread, self.effect_parameter_sd)

    def __repr__(self) -> str:
        return (
            f"Effect({self.cause!r} on {self.outcome!r}: {self.effect:+.4f} ±{self.effect_sd:.4f}, "
            f"P(causes) = {self.p_causes:.4f})"
        )

    def __str__(self) -> str:
        sd, what = np.hypot(self.spread, self.parameter_sd), f"{'E' if self.of_mean else 'P'}({self.outcome}"
        width = max(len(_told(state)) for state in self.cause_states)
        columns = max(15, *(len(str(state)) for state in self.outcome_states))
        lines = [
            f"{what} | do({self.cause})), ± one standard deviation over graphs and parameters",
            " ".join(["", " " * width, *(f"{state!s:>{columns}}" for state in self.outcome_states)]),
        ]
        for state, own, own_sd in zip(self.cause_states, self.distribution, sd, strict=True):
            cells = (f"{f'{p:.4f} ±{s:.4f}':>{columns}}" for p, s in zip(own, own_sd, strict=True))
            lines.append(" ".join(["", f"{_told(state):{width}}", *cells]))
        named = [label for label, value in self.values.items() if value]
        single = len(named) == 1 and self.values[named[0]] == 1
        single = single and not self.of_mean
        what = f"P({self.outcome} = {named[0]})" if single else f"the mean of {self.outcome}"
        one, other = (_told(own) for own in self.change)
        lines += [
            f"{self.cause} from {one} to {other} changes {what} by {self.effect:+.4f}, "
            f"±{self.effect_spread:.4f} over graphs, ±{self.effect_parameter_sd:.4f} by parameters",
            f"graphs without an effect {1 - self.p_causes:.1%}, with the opposite sign {self.p_flip:.1%}",
        ]
        for state, seen in zip(self.cause_states, self.support, strict=True):
            if seen < 0.9 and state in self.change:
                where = "" if self.of_mean else f" in {1 - seen:.0%} of the adjustment strata"
                lines.append(f"{self.cause} = {_told(state)} was not observed{where}")
        return "\n".join(lines)


def _told(state: Any) -> str:
    """A state as text; fractions with six digits."""
    return f"{state:.6g}" if isinstance(state, float) else str(state)


def causal_effect(  # arguments: options of a public function, by keyword
    posterior: Posterior,
    data: Any,
    cause: str,
    outcome: str,
    *,
    change: tuple[Any, Any] | None = None,
    values: Mapping[Any, float] | None = None,
    ess: float | str = 1.0,
    adjustment: Adjustment = "optimal",
    n_dags: int | None = None,
    random_state: RandomState = 0,
) -> Effect:
    """P(outcome | do(cause)) averaged over the DAGs of the posterior.

    The effect is the change of the mean outcome when the cause goes from ``change[0]`` to ``change[1]``, by
    default from its first to its last state. ``values`` maps states of the outcome to numbers; other states have
    the value 0. With {"yes": 1} the effect is P(yes | do(to)) - P(yes | do(from)). By default the values are the
    labels if these are numbers, else 1 for the last state. ``adjustment`` is "optimal" or "parents", see above.
    ``n_dags`` and ``random_state`` are as in `Posterior.paths`.
    """
    names = tuple(sorted(posterior.names))
    data = table_of(data).select(names)
    x, y = (place_of(names, name) for name in (cause, outcome))
    if x == y:
        raise ValueError(f"cause and outcome are both {cause!r}: name two variables")
    if adjustment not in ("optimal", "parents"):
        raise ValueError(f"adjustment is {adjustment!r}: choose 'optimal' or 'parents'")
    kind = kind_of(data)
    question = kind.question(data, x, y, change, values)
    same = question.change[0] == question.change[1]
    if change is not None and same and change[0] != change[1]:
        where = f"{change[0]!r} and {change[1]!r} are in the same bin of {cause!r}, {question.change[0]!r}"
        raise ValueError(f"{where}: give values of two bins")
    average, kinds = _kinds(posterior.shares(n_dags), x, y, adjustment == "optimal", generator(random_state))
    answers = [
        kind.adjusted(data, question, tuple(bits(given)) if causes else None, ess) for given, causes in kinds
    ]
    tables, effects = [one.mean for one in answers], [one.effect for one in answers]
    effect = float(average.mean(effects))
    graphs = [
        GraphEffect(tuple(names[i] for i in bits(given)), causes, float(p), one.mean, one.effect)
        for (given, causes), p, one in zip(kinds, average.mass, answers, strict=True)
    ]
    return Effect(
        cause=cause,
        outcome=outcome,
        cause_states=question.cause_states,
        outcome_states=question.outcome_states,
        p_causes=float(average.mean([causes for _, causes in kinds])),
        p_causes_standard_error=average.frequency_error([causes for _, causes in kinds]),
        distribution=average.mean(tables),
        spread=average.spread(tables),
        parameter_sd=np.sqrt(average.mean([one.variance for one in answers])),
        standard_error=average.standard_error(tables),
        change=question.change,
        values=question.values,
        effect=effect,
        effect_spread=float(average.spread(effects)),
        effect_parameter_sd=math.sqrt(average.mean([one.effect_variance for one in answers])),
        effect_standard_error=float(average.standard_error(effects)),
        p_flip=float(average.mean([value * effect < 0 for value in effects])),
        support=average.mean([one.support for one in answers]),
        graphs=tuple(sorted(graphs, key=lambda g: (-g.probability, g.adjusted_for))),
        n_dags=average.n_dags,
        exact=average.exact,
        of_mean=getattr(question, "of_mean", False),
    )


class _Average:
    """Averages over DAGs that are grouped into kinds.

    ``frequency[c, k]`` is the share of kind k among the DAGs of class c. ``in_doubt[c]`` says whether a directed
    path from x to y exists in some DAGs of class c only.
    """

    def __init__(self, shares: list[Share], frequency: Floats, in_doubt: Sequence[bool]):
        self._shares, self._frequency, self._in_doubt = shares, frequency, in_doubt
        self.mass = np.array([share.weight for share in shares]) @ frequency
        self.n_dags, self.exact = sum(share.n for share in shares), not any(share.drawn for share in shares)

    def mean(self, values: Sequence[Any]) -> Any:
        return np.tensordot(self.mass, np.asarray(values, np.float64), 1)

    def spread(self, values: Sequence[Any]) -> Any:
        return np.sqrt(self.mean((np.asarray(values) - self.mean(values)) ** 2))

    def standard_error(self, values: Sequence[Any]) -> Any:
        """Monte Carlo error of the mean, from the classes whose DAGs were drawn."""
        variance = np.zeros_like(self.mean(values))
        for share, own in zip(self._shares, self._frequency, strict=True):
            if share.drawn:
                off = np.asarray(values) - np.tensordot(own, np.asarray(values), 1)
                variance += share.weight**2 * np.tensordot(own, off**2, 1) / (share.n - 1)
        return np.sqrt(variance)

    def frequency_error(self, holds: Sequence[bool]) -> float:
        """Monte Carlo error of the probability of the kinds in ``holds``, from the classes in doubt."""
        classes = zip(self._shares, self._frequency @ np.array(holds), self._in_doubt, strict=True)
        drawn = [(share, own) for share, own, in_doubt in classes if share.drawn and in_doubt]
        return math.sqrt(sum(share.weight**2 * frequency_variance(own, share.n) for share, own in drawn))


_Kind: TypeAlias = tuple[int, bool]  # adjustment set (bit mask), and whether there is a directed path from x to y


def _kinds(
    shares: list[Share], x: int, y: int, optimal: bool, rng: np.random.Generator
) -> tuple[_Average, list[_Kind]]:
    """Group DAGs by adjustment set and by the existence of a path, which determine the effect."""
    counts, in_doubt = [], []
    for share in shares:
        members = share.members
        in_doubt.append(bool((members.possible_ancestors()[y] & ~members.certain_ancestors()[y]) >> x & 1))
        found: Counter[_Kind] = Counter()
        for order in share.orders(rng):
            parents, ancestors = members.parents(order), members.ancestors(order)
            causes = bool(ancestors[y] >> x & 1)
            found[_optimal(parents, ancestors, x, y) if optimal and causes else parents[x], causes] += 1
        counts.append(found)
    kinds = list(dict.fromkeys(kind for own in counts for kind in own))
    frequency = [[own[kind] / share.n for kind in kinds] for own, share in zip(counts, shares, strict=True)]
    return _Average(shares, np.array(frequency), in_doubt), kinds


def _optimal(parents: Sequence[int], ancestors: Sequence[int], x: int, y: int) -> int:
    """Parents of the nodes on directed paths from x to y, without these nodes and x (Henckel et al. 2022)."""
    between = sum(1 << node for node in bits(ancestors[y] | 1 << y) if ancestors[node] >> x & 1)
    around = 0
    for node in bits(between):
        around |= parents[node]
    return around & ~between & ~(1 << x)
