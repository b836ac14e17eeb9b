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
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from brai.adjacency import bits
from brai.adjustment import Adjusted, Floats, adjusted, unchanged
from brai.data import DataError, Dataset
from brai.posterior import Posterior, Share
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

    ``standard_error`` and ``effect_standard_error`` are those of drawing DAGs; 0 if all of them were looked at.
    """

    cause: str
    outcome: str
    cause_states: tuple[Any, ...]
    outcome_states: tuple[Any, ...]
    p_causes: float  # probability of a directed path from cause to outcome
    distribution: Floats  # P(outcome | do(cause)), averaged over DAGs
    spread: Floats  # its standard deviation over DAGs
    parameter_sd: Floats  # root of its mean variance within a DAG
    standard_error: Floats
    change: tuple[Any, Any]  # the effect is that of the cause going from here to there
    effect: float  # change of the mean outcome, averaged over DAGs
    effect_spread: float
    effect_parameter_sd: float
    effect_standard_error: float
    p_zero: float  # probability that there is no effect at all
    p_flip: float  # probability that its sign is the opposite of that of ``effect``
    support: Floats  # by state of the cause: share of the parents' configurations in which it was seen
    graphs: tuple[GraphEffect, ...]  # what different DAGs say, most probable first

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
            f"none {self.p_zero:.1%}, opposite sign {self.p_flip:.1%}",
        ]
        return "\n".join(lines)


def causal_effect(
    posterior: Posterior,
    data: Dataset,
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
    data = data.select(names)
    x, y = (_place(names, name) for name in (cause, outcome))
    if x == y:
        raise ValueError(f"cause and outcome are both {cause!r}: name two variables")
    change = (data.states[x][0], data.states[x][-1]) if change is None else change
    weights = _weights(data, x, y, change, values)
    shares, rng = posterior.shares(n_dags), generator(random_state)
    counts = [_count(share, x, y, rng) for share in shares]
    keys = list(dict.fromkeys(key for own in counts for key in own))
    answers = [
        adjusted(data, x, y, tuple(bits(parents)), weights, ess) if causes else unchanged(data, x, y, ess)
        for parents, causes in keys
    ]
    frequency = np.array([[own[key] / share.n for key in keys] for own, share in zip(counts, shares, strict=True)])
    average = _Average(shares, frequency)
    effects = [one.effect for one in answers]
    effect = average.mean(effects)
    graphs = [
        GraphEffect(tuple(names[i] for i in bits(parents)), causes, float(p), one.mean, one.effect)
        for (parents, causes), p, one in zip(keys, average.mass, answers, strict=True)
    ]
    return Effect(
        cause=cause,
        outcome=outcome,
        cause_states=data.states[x],
        outcome_states=data.states[y],
        p_causes=float(average.mean([causes for _, causes in keys])),
        **_spreads(average, answers),
        change=change,
        effect=float(effect),
        effect_spread=float(average.spread(effects)),
        effect_parameter_sd=math.sqrt(average.mean([one.effect_variance for one in answers])),
        effect_standard_error=float(average.standard_error(effects)),
        p_zero=float(average.mean([value == 0 for value in effects])),
        p_flip=float(average.mean([value * effect < 0 for value in effects])),
        support=average.mean([one.support for one in answers]),
        graphs=tuple(sorted(graphs, key=lambda g: (-g.probability, g.parents))),
    )


def _spreads(average: _Average, answers: list[Adjusted]) -> dict[str, Floats]:
    tables = [one.mean for one in answers]
    return {
        "distribution": average.mean(tables),
        "spread": average.spread(tables),
        "parameter_sd": np.sqrt(average.mean([one.variance for one in answers])),
        "standard_error": average.standard_error(tables),
    }


class _Average:
    """Averages over DAGs that fall into kinds; ``frequency`` has the classes in rows, the kinds in columns."""

    def __init__(self, shares: list[Share], frequency: Floats):
        self._shares, self._frequency = shares, frequency
        self.mass = np.array([share.weight for share in shares]) @ frequency

    def mean(self, values: Sequence[Any]) -> Any:
        return np.tensordot(self.mass, np.asarray(values, np.float64), 1)

    def spread(self, values: Sequence[Any]) -> Any:
        return np.sqrt(self.mean((np.asarray(values) - self.mean(values)) ** 2))

    def standard_error(self, values: Sequence[Any]) -> Any:
        """Standard error of the mean, from the classes whose DAGs were drawn."""
        variance = 0.0 * self.mean(values)
        for share, own in zip(self._shares, self._frequency, strict=True):
            if share.drawn:
                off = np.asarray(values) - np.tensordot(own, np.asarray(values), 1)
                variance += share.weight**2 * np.tensordot(own, off**2, 1) / (share.n - 1)
        return np.sqrt(variance)


def _weights(data: Dataset, x: int, y: int, change: tuple[Any, Any], values: Mapping[Any, float] | None) -> Floats:
    """Coefficients of the effect in P(y | do(x))."""
    known = data.states[y]
    if not (isinstance(change, tuple) and len(change) == 2):
        raise ValueError(f"change is {change!r}: give two states of {data.names[x]!r}, (from, to)")
    if values is None:
        numbers = all(isinstance(label, int | float) for label in known)
        values = {label: label if numbers else i for i, label in enumerate(known)}
    elif not isinstance(values, Mapping):
        raise ValueError(f"values is {values!r}: give a dict of state of {data.names[y]!r} → number")
    outcome = np.zeros(len(known))
    for label, value in values.items():
        outcome[_place(known, label, f"{data.names[y]!r} has no state")] = value
    weights = np.zeros((len(data.states[x]), len(known)))
    for state, sign in zip(change, (-1, 1), strict=True):
        weights[_place(data.states[x], state, f"{data.names[x]!r} has no state")] += sign * outcome
    return weights


_Kind: TypeAlias = tuple[int, bool]  # parents of x, and whether a directed path leads from x to y


def _count(share: Share, x: int, y: int, rng: np.random.Generator) -> Counter[_Kind]:
    """How many of the DAGs to look at have which parents of x, with or without a path to y."""
    members = share.members
    always, ever = (bool(own[y] >> x & 1) for own in (members.certain_ancestors(), members.possible_ancestors()))
    found: Counter[_Kind] = Counter()
    for order in share.orders(rng):
        parents = members.parents(order)
        found[parents[x], always or (ever and _reaches(parents, x, y))] += 1
    return found


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
    if wanted not in known:
        raise DataError(f"{problem} {wanted!r}: choose among {list(known)}")
    return known.index(wanted)
