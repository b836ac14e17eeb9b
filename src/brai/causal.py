"""Causal questions when the graph is not certain: P(y | do(x)) averaged over the DAGs of a posterior.

IDA (Maathuis, Kalisch & Bühlmann 2009) works out an effect for every DAG of an equivalence class by adjusting for
the parents of x; BIDA (Pensar et al. 2020) averages over a posterior. Here both are done for categorical
variables (`brai.adjustment`). In a DAG without a directed path from x to y the effect is exactly zero and
P(y | do(x)) = P(y); nothing is estimated there that is known.

Two kinds of uncertainty are told apart: how much graphs differ (``spread``), and how well the data determine the
answer within a graph (``parameter_sd``). Like any posterior the latter trusts its prior: with a small ess a cell
in which a handful of rows all agree is taken to be nearly certain. That no common cause is missing from the data
remains an assumption.

References: Maathuis, Kalisch & Bühlmann 2009, "Estimating high-dimensional intervention effects from
observational data", Annals of Statistics 37. Pensar, Talvitie, Hyttinen & Koivisto 2020, "A Bayesian approach for
estimating causal effects from observational data", AAAI.
"""

from __future__ import annotations

import math
import reprlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from brai._columns import as_label
from brai.adjacency import bits
from brai.adjustment import Floats, adjusted, unchanged
from brai.data import DataError, Dataset
from brai.posterior import Posterior, Share, frequency_variance
from brai.randomness import RandomState, generator


class GraphEffect(NamedTuple):
    """What the DAGs in which x has these parents say; ``causes``: a directed path leads from x to y."""

    parents: tuple[str, ...]
    causes: bool
    probability: float
    distribution: Floats
    effect: float


@dataclass(frozen=True, eq=False)
class Effect:
    """P(outcome | do(cause)) under structure uncertainty; states of the cause are rows, of the outcome columns.

    Standard errors are those of drawing DAGs from large classes, estimated from the draws: 0 if all DAGs were
    looked at (``exact``), and also if all that were drawn agree.
    """

    cause: str
    outcome: str
    cause_states: tuple[Any, ...]
    outcome_states: tuple[Any, ...]
    p_causes: float  # probability of a directed path from cause to outcome; without one there is no effect
    p_causes_standard_error: float
    distribution: Floats  # P(outcome | do(cause)), averaged over DAGs
    spread: Floats  # its standard deviation over DAGs
    parameter_sd: Floats  # root of its mean variance within a DAG
    standard_error: Floats
    change: tuple[Any, Any]  # the effect is that of the cause going from here to there
    effect: float  # change of the mean outcome, averaged over DAGs
    effect_spread: float
    effect_parameter_sd: float
    effect_standard_error: float
    p_flip: float  # probability of the DAGs in which the effect has the opposite sign
    support: Floats  # by state of the cause: share of the parents' configurations in which it was seen
    graphs: tuple[GraphEffect, ...]  # what different DAGs say, most probable first
    n_dags: int
    exact: bool

    @property
    def effect_sd(self) -> float:
        """Standard deviation of the effect, over graphs and parameters together."""
        return math.hypot(self.effect_spread, self.effect_parameter_sd)

    def __str__(self) -> str:
        width = max(len(str(state)) for state in (*self.cause_states, self.cause))
        head = "  ".join(f"{state!s:>16}" for state in self.outcome_states)
        lines = [f"P({self.outcome} | do({self.cause})), ± over graphs and parameters", f"  {'':{width}}  {head}"]
        for state, own, sd in zip(
            self.cause_states, self.distribution, np.hypot(self.spread, self.parameter_sd), strict=True
        ):
            cells = "  ".join(f"{p:8.4f} ±{s:.4f}" for p, s in zip(own, sd, strict=True))
            lines.append(f"  {state!s:{width}}  {cells}")
        lines += [
            f"P({self.cause} causes {self.outcome}) = {self.p_causes:.4f}",
            f"effect of {self.change[0]} → {self.change[1]}: {self.effect:+.4f} "
            f"±{self.effect_spread:.4f} over graphs ±{self.effect_parameter_sd:.4f} within; "
            f"graphs with the opposite sign {self.p_flip:.1%}",
        ]
        return "\n".join(lines)


def causal_effect(
    posterior: Posterior,
    data: Any,
    cause: str,
    outcome: str,
    *,
    change: tuple[Any, Any] | None = None,
    values: Mapping[Any, float] | None = None,
    ess: float = 1.0,
    n_dags: int | None = None,
    random_state: RandomState = 0,
) -> Effect:
    """P(outcome | do(cause)) averaged over the DAGs of the posterior.

    The effect is the change of the mean outcome when the cause goes from ``change[0]`` to ``change[1]``, by
    default from its first to its last state. ``values`` says what each state of the outcome counts, states left
    out 0; by default its labels if they are numbers, else 0, 1, 2, … in the order of states. So {"yes": 1} makes
    the effect P(yes | do(to)) - P(yes | do(from)). ``n_dags`` and ``random_state`` are as in `Posterior.paths`.
    """
    names = tuple(sorted(posterior.names))
    data = Dataset.of(data).select(names)
    x, y = (_place(names, name) for name in (cause, outcome))
    if x == y:
        raise ValueError(f"cause and outcome are both {cause!r}: name two variables")
    change = _change(data, x, change)
    weights = _weights(data, x, y, change, values)
    average, kinds = _kinds(posterior.shares(n_dags), x, y, generator(random_state))
    answers = [
        adjusted(data, x, y, tuple(bits(parents)), weights, ess) if causes else unchanged(data, x, y, ess)
        for parents, causes in kinds
    ]
    tables, effects = [one.mean for one in answers], [one.effect for one in answers]
    effect = float(average.mean(effects))
    graphs = [
        GraphEffect(tuple(names[i] for i in bits(parents)), causes, float(p), one.mean, one.effect)
        for (parents, causes), p, one in zip(kinds, average.mass, answers, strict=True)
    ]
    return Effect(
        cause=cause,
        outcome=outcome,
        cause_states=data.states[x],
        outcome_states=data.states[y],
        p_causes=float(average.mean([causes for _, causes in kinds])),
        p_causes_standard_error=average.frequency_error([causes for _, causes in kinds]),
        distribution=average.mean(tables),
        spread=average.spread(tables),
        parameter_sd=np.sqrt(average.mean([one.variance for one in answers])),
        standard_error=average.standard_error(tables),
        change=change,
        effect=effect,
        effect_spread=float(average.spread(effects)),
        effect_parameter_sd=math.sqrt(average.mean([one.effect_variance for one in answers])),
        effect_standard_error=float(average.standard_error(effects)),
        p_flip=float(average.mean([value * effect < 0 for value in effects])),
        support=average.mean([one.support for one in answers]),
        graphs=tuple(sorted(graphs, key=lambda g: (-g.probability, g.parents))),
        n_dags=average.n_dags,
        exact=average.exact,
    )


class _Average:
    """Averages over DAGs that fall into kinds; ``frequency`` has the classes in rows, the kinds in columns."""

    def __init__(self, shares: list[Share], frequency: Floats, in_doubt: Sequence[bool]):
        self._shares, self._frequency, self._in_doubt = shares, frequency, in_doubt
        self.mass = np.array([share.weight for share in shares]) @ frequency
        self.n_dags, self.exact = sum(share.n for share in shares), not any(share.drawn for share in shares)

    def mean(self, values: Sequence[Any]) -> Any:
        return np.tensordot(self.mass, np.asarray(values, np.float64), 1)

    def spread(self, values: Sequence[Any]) -> Any:
        return np.sqrt(self.mean((np.asarray(values) - self.mean(values)) ** 2))

    def standard_error(self, values: Sequence[Any]) -> Any:
        """Standard error of the mean, from the classes whose DAGs were drawn."""
        variance = np.zeros_like(self.mean(values))
        for share, own in zip(self._shares, self._frequency, strict=True):
            if share.drawn:
                off = np.asarray(values) - np.tensordot(own, np.asarray(values), 1)
                variance += share.weight**2 * np.tensordot(own, off**2, 1) / (share.n - 1)
        return np.sqrt(variance)

    def frequency_error(self, holds: Sequence[bool]) -> float:
        """Standard error of the probability of the kinds that hold, from the classes where it is in doubt."""
        classes = zip(self._shares, self._frequency @ np.array(holds), self._in_doubt, strict=True)
        drawn = [(share, own) for share, own, in_doubt in classes if share.drawn and in_doubt]
        return math.sqrt(sum(share.weight**2 * frequency_variance(own, share.n) for share, own in drawn))


def _change(data: Dataset, x: int, change: tuple[Any, Any] | None) -> tuple[Any, Any]:
    states = data.states[x]
    if change is None:
        return states[0], states[-1]
    if not (isinstance(change, tuple | list) and len(change) == 2):
        raise ValueError(f"change is {change!r}: give two states of {data.names[x]!r}, (from, to)")
    one, other = (states[_place(states, state, f"{data.names[x]!r} has no state")] for state in change)
    return one, other


def _weights(data: Dataset, x: int, y: int, change: tuple[Any, Any], values: Mapping[Any, float] | None) -> Floats:
    """Coefficients of the effect in P(y | do(x))."""
    known = data.states[y]
    if values is None:
        numbers = all(isinstance(label, int | float) for label in known)
        values = {label: label if numbers else i for i, label in enumerate(known)}
    elif not isinstance(values, Mapping):
        raise ValueError(f"values is {values!r}: give a dict of state of {data.names[y]!r} → number")
    outcome = np.zeros(len(known))
    for label, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"the value of {label!r} is {value}: give finite numbers")
        outcome[_place(known, label, f"{data.names[y]!r} has no state")] = value
    outcome -= outcome.mean()  # changes no difference, and large labels lose no digits
    weights = np.zeros((len(data.states[x]), len(known)))
    weights[data.states[x].index(change[0])] -= outcome
    weights[data.states[x].index(change[1])] += outcome
    return weights


_Kind: TypeAlias = tuple[int, bool]  # parents of x, and whether a directed path leads from x to y


def _kinds(shares: list[Share], x: int, y: int, rng: np.random.Generator) -> tuple[_Average, list[_Kind]]:
    """Sort the DAGs to look at into kinds that say the same."""
    bounds = [
        tuple(bool(own[y] >> x & 1) for own in (s.members.certain_ancestors(), s.members.possible_ancestors()))
        for s in shares
    ]
    counts = []
    for share, (always, ever) in zip(shares, bounds, strict=True):
        found: Counter[_Kind] = Counter()
        for order in share.orders(rng):
            parents = share.members.parents(order)
            found[parents[x], always or (ever and _reaches(parents, x, y))] += 1
        counts.append(found)
    kinds = list(dict.fromkeys(kind for own in counts for kind in own))
    frequency = [[own[kind] / share.n for kind in kinds] for own, share in zip(counts, shares, strict=True)]
    return _Average(shares, np.array(frequency), [ever and not always for always, ever in bounds]), kinds


def _reaches(parents: Sequence[int], x: int, y: int) -> bool:
    """Whether x is an ancestor of y."""
    above, edge = 0, parents[y]
    while edge and not edge >> x & 1:
        above |= edge
        up = 0
        for node in bits(edge):
            up |= parents[node]
        edge = up & ~above
    return bool(edge)


def _place(known: Sequence[Any], wanted: Any, problem: str = "there is no variable") -> int:
    if (label := as_label(wanted, known)) not in known:
        raise DataError(f"{problem} {wanted!r}: choose among {reprlib.repr(list(known))}")
    return known.index(label)
