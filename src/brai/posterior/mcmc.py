"""Markov chain over DAGs of any number of variables, on a table of scored parent sets; uniform prior over DAGs.

There are four kinds of moves:

- gibbs: the parents of a node are redrawn from the table, in proportion to their weights, among the sets that
  contain no descendant.
- reversal: an edge u → v is drawn. Both ends lose their parents; u gets new ones that include v, then v gets new
  ones that cause no cycle. The acceptance ratio contains the sums over parent sets in both directions and the
  numbers of edges (Grzegorczyk & Husmeier 2008).
- toggle: an ordered pair (i, j) is drawn. If i → j exists, it is deleted; if j → i exists, it is reversed;
  otherwise i → j is added. The new parents need not be in the table, so the chain can reach every DAG.
- pair: the parents of two nodes are redrawn together from the table, in proportion to their weights, among the
  pairs of sets that cause no cycle (as in Goudie & Mukherjee 2016). The pair is a node and one of its most
  promising candidate parents.

Only toggles change a node whose parents are not in the table. So the stationary distribution is the same for any
table; a poor table makes mixing slow. The "plus one" parent of BiDAG has the same purpose as toggles. A chain can
stay long at parents outside the table if better ones are several toggles away. Therefore such families are added
to the table during burn-in.

References: Geyer 1992, "Practical Markov chain Monte Carlo", Statistical Science 7. Goudie & Mukherjee 2016, "A
Gibbs sampler for learning DAGs", JMLR 17. Grzegorczyk & Husmeier 2008, "Improving the structure MCMC sampler for
Bayesian networks by introducing a new edge reversal move", Machine Learning 71. Vehtari et al. 2021,
"Rank-normalization, folding, and localization: an improved R-hat", Bayesian Analysis 16.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.graphs.pdag import PDAG, Family
from brai.kernels import mcmc_moves, mcmc_space
from brai.kernels.hill_climbing import Memo
from brai.kernels.interface import MUST, Evidence
from brai.posterior.chains import KINDS, MOVES, Draws
from brai.runtime.checks import check_count
from brai.runtime.jit import announce
from brai.runtime.seeds import RandomState, seed_sequence
from brai.runtime.workers import ALONE, Benches, Workers
from brai.search.family_table import LARGER, PAIRS, SET, FamilyTable
from brai.search.fixed_table import ScoredTable

PARTNERS = 10  # nodes with which a node can form a pair, for pair moves
BLOCKS = 10  # parts into which the draws are divided; time is checked between them
ROUNDS = 10  # parts into which burn-in is divided; the table grows between them
WHILE = 20_000_000  # steps times variables in one call of compiled code
NEEDLESS = 22.0  # largest penalty, in nats, of superfluous parents in sets that chains keep
_SLOTS = 2**18  # entries of the cache of local scores of families outside the table


class Space:
    """A copy of a table, prepared for chains; sets added to the table later are not included.

    A node has at most ``max_parents`` parents (default: that of the table) or, if larger, as many as its largest
    set in the table. ``most`` is the largest of these limits.
    """

    def __init__(
        self,
        table: FamilyTable | ScoredTable,
        seed: np.random.SeedSequence,
        max_parents: int | NDArray[np.int64] | None = None,
    ):
        self.names, self.d = table.scores.data.names, table.scores.data.n_variables
        self.scores, self.key = table.scores, secrets.token_hex(8)
        announce(mcmc_moves.run, table.scores.kind.compiled_for(table.scores.data))
        sets = table.arrays()
        most = np.full(self.d, table.max_parents if max_parents is None else max_parents, np.int64)
        np.maximum(most, np.maximum.reduceat(np.diff(sets.begin), sets.first[:-1]), out=most)
        np.minimum(most, self.d - 1, out=most)
        self.most = int(most.max())
        rng = np.random.Generator(np.random.PCG64(seed))
        keys = rng.integers(1, 2**64, (self.d, self.d), np.uint64)
        slots = 1 << int(2 * len(table)).bit_length()
        hashes, entries = np.zeros(slots, np.uint64), np.zeros(slots, np.int64)
        signatures, chances = np.zeros(len(table), np.uint64), np.zeros(len(table))
        mcmc_space.index_sets(sets, keys, hashes, entries, signatures, chances)
        partners = np.full((self.d, max(1, min(PARTNERS, self.d - 1))), -1, np.int64)
        for v, near in enumerate(table.near):
            partners[v, : len(near[:PARTNERS])] = near[:PARTNERS]
        self.arrays = mcmc_space.Space(
            sets,
            signatures,
            chances,
            hashes,
            entries,
            Memo(keys, np.zeros(0, np.uint64), np.zeros(0)),
            table.bounds,
            most,
            partners,
            np.zeros((4, 0), np.int64),
            np.zeros((4, 0)),
        )

    def bench(self) -> Bench:
        """Scratch memory for one chain."""
        room, arrays = (4, int(np.diff(self.arrays.sets.first).max())), self.arrays
        memo = Memo(arrays.memo.keys, np.zeros(_SLOTS, np.uint64), np.zeros(_SLOTS))
        arrays = arrays._replace(memo=memo, found=np.zeros(room, np.int64), weights=np.zeros(room))
        return Bench(self.scores.twin().evidence(self.most + 2), arrays)

    def checked(self, start: Sequence[Family]) -> Sequence[Family]:
        """The start graph itself; ValueError if it is no DAG, or breaks a limit of the table."""
        own = dict(start)
        if sorted(own) != list(range(self.d)):
            raise ValueError(f"a start has {len(own)} families for {self.d} variables: give one for each variable")
        PDAG.from_parents(self.names, [own[v] for v in range(self.d)])  # raises for a cycle
        for v, parents in start:
            if len(parents) > (most := int(self.arrays.most[v])):
                raise ValueError(
                    f"a start gives {self.names[v]!r} {len(parents)} parents, at most {most} are allowed: "
                    "add the family to the table or raise its max_parents"
                )
            if not self.arrays.allowed[list(parents), v].all():
                raise ValueError(f"a start gives {self.names[v]!r} a parent that the table does not allow")
            for p in np.flatnonzero(self.arrays.allowed[:, v] == MUST).tolist():
                if p not in parents:
                    raise ValueError(
                        f"a start lacks the required edge {self.names[p]!r} → {self.names[v]!r}: add it"
                    )
        return start


class Bench(NamedTuple):
    """Arguments of kernels: evidence, and the space with scratch memory."""

    evidence: Evidence
    arrays: mcmc_space.Space


class State(NamedTuple):
    """State of a chain, as plain arrays."""

    parents: NDArray[np.int32]
    n_parents: NDArray[np.int64]
    children: NDArray[np.int32]
    n_children: NDArray[np.int64]
    random: NDArray[np.uint64]
    tally: NDArray[np.int64]  # by kind of move: number made, and number that changed the graph

    @classmethod
    def at(cls, space: Space, start: Sequence[Family], seed: np.random.SeedSequence) -> State:
        """Initial state of a chain that starts from a DAG."""
        d = space.d
        state = cls(
            np.zeros((d, space.most), np.int32),
            np.zeros(d, np.int64),
            np.zeros((d, d), np.int32),
            np.zeros(d, np.int64),
            np.random.Generator(np.random.PCG64(seed)).integers(1, 2**64, 1, np.uint64),
            np.zeros((len(KINDS), 2), np.int64),
        )
        for v, parents in space.checked(start):
            for p in parents:
                state.parents[v, state.n_parents[v]] = p
                state.n_parents[v] += 1
                state.children[p, state.n_children[p]] = v
                state.n_children[p] += 1
        return state

    @property
    def families(self) -> tuple[Family, ...]:
        """The current DAG."""
        own, n = self.parents.tolist(), self.n_parents.tolist()
        return tuple((v, tuple(sorted(own[v][: n[v]]))) for v in range(len(own)))


_benches = Benches()


def graph_of(state: State) -> mcmc_moves.Graph:
    """The DAG of a state as kernels expect it, before `settle`. It shares the arrays of edges with the state."""
    d, most = state.parents.shape
    return mcmc_moves.Graph(
        state.parents,
        state.n_parents,
        state.children,
        state.n_children,
        np.zeros(d, np.int64),
        np.zeros(d),
        np.zeros(d, np.uint64),
        np.zeros(d, np.uint8),
        np.zeros(d, np.int64),
        np.zeros(most, np.int64),
    )


def walk(
    space: Space, shares: NDArray[np.float64], state: State, n: int, steps: int, noted: bool
) -> tuple[State, NDArray[np.int16], NDArray[np.float64]]:
    """Make n times ``steps`` steps. Returns the new state and, if ``noted``, the n DAGs with log scores."""
    state = State._make(np.array(part) for part in state)
    d, graph = space.d, graph_of(state)
    parents = np.empty((n, d, space.most) if noted else (n, 0, 0), np.int16)
    scores = np.empty(n)
    nothing, some = (np.empty((1, 0, 0), np.int16), np.empty(1)), max(1, WHILE // d)
    with _benches.one(space.key, space.bench) as bench:

        def run(steps: int, parents: NDArray[np.int16], scores: NDArray[np.float64]) -> None:
            noted = mcmc_moves.Noted(parents, scores)
            mcmc_moves.run(bench.evidence, bench.arrays, graph, shares, steps, noted, state.tally, state.random)

        mcmc_moves.settle(bench.evidence, bench.arrays, graph)
        at_once = max(1, some // max(1, steps))
        for t in range(0, n, at_once):  # compiled code checks no signals, so each call is short
            left = steps
            while left > some:
                run(some, *nothing)
                left -= some
            run(left, parents[t : t + at_once], scores[t : t + at_once])
    return state, parents, scores


def sample_dags(  # arguments: options of a public function, by keyword
    table: FamilyTable | ScoredTable,
    n: int,
    *,
    starts: Sequence[Sequence[Family]] = (),
    thin: int = 100,
    burn_in: int = 10_000,
    max_parents: int | NDArray[np.int64] | None = None,
    seed: RandomState = 0,
    shares: Sequence[float] = tuple(MOVES.values()),
    deadline: float = math.inf,
    blocks: int = BLOCKS,
    advance: Callable[[], None] = lambda: None,
    workers: Workers = ALONE,
) -> Draws:
    """Draw n DAGs from each of several chains, one every ``thin`` steps after ``burn_in`` steps.

    There is one chain for each of ``starts``, DAGs given as families. By default a single chain starts with the
    required edges only; these are in every DAG drawn. ``max_parents`` is that of the table by default, or an array
    with a limit for each variable; the largest set of a variable in the table raises its limit. ``shares`` are the
    probabilities of the kinds of moves, as in KINDS. During burn-in, families of the chains that are not in the
    table are added to it; later it does not change.

    ``advance`` is called after each of ``blocks`` parts of the draws. At ``deadline`` (`time.monotonic`) sampling
    stops: then there are fewer than n draws, equally many from each chain, and at least a tenth of n.

    >>> import brai
    >>> from brai.kinds.scores import FamilyScores
    >>> scores = FamilyScores(brai.load_network("cancer").sample(500, random_state=0))
    >>> found = sample_dags(FamilyTable(scores, slack=10.0), 100)
    >>> found.edge_frequencies().shape
    (1, 5, 5)
    """
    most = table.max_parents if max_parents is None else int(np.max(max_parents))
    for name, value, least in (("n", n, 1), ("burn_in", burn_in, 0), ("thin", thin, 1), ("max_parents", most, 0)):
        check_count(name, value, least)
    if not table.bounds.any():  # no edge is allowed, for example because all variables are constant
        return _without_edges(table, max(1, len(starts)), n, most)
    first, *seeds = seed_sequence(seed).spawn(1 + max(1, len(starts)))
    space = Space(table, first, max_parents)
    fewest: Sequence[Family] = table.least()
    states = [State.at(space, start, own) for start, own in zip(starts or [fewest], seeds, strict=True)]
    chances, turn = _cumulated(shares), 0

    def go(n: int, steps: int, noted: bool) -> list[tuple[NDArray[np.int16], NDArray[np.float64]]]:
        nonlocal states, turn
        keys, turn = [f"chain-{turn}-{c}" for c in range(len(states))], turn + 1
        tasks = [(state, n, steps, noted) for state in states]
        of = space.arrays.sets, space.most
        found = workers.run(walk, tasks, shared=(space, chances), keys=keys, of=of)
        states = [State(*own[0]) for own in found]
        return [(own[1], own[2]) for own in found]

    for steps in np.diff(np.linspace(0, burn_in, ROUNDS + 1).astype(int)).tolist() if burn_in else ():
        if time.monotonic() > deadline:
            break
        go(1, steps, False)
        if table.add(family for state in states for family in state.families):
            space = Space(table, first, max_parents)
    made: list[list[tuple[NDArray[np.int16], NDArray[np.float64]]]] = []
    for size in np.diff(np.linspace(0, n, blocks + 1).round().astype(int)).tolist():
        if made and time.monotonic() > deadline:
            break
        if size:
            made.append(go(size, thin, True))
        advance()
    _benches.clear()
    parents, scores = (
        np.stack([np.concatenate([block[c][part] for block in made]) for c in range(len(states))])
        for part in (0, 1)
    )
    tally = np.sum([state.tally for state in states], axis=0)
    proposed, changed = (dict(zip(KINDS, column, strict=True)) for column in tally.T.tolist())
    return Draws(space.names, parents, scores, proposed, changed)


def _without_edges(table: FamilyTable | ScoredTable, chains: int, n: int, most: int) -> Draws:
    """The draws of chains if the only possible DAG has no edges."""
    names, none = table.scores.data.names, dict.fromkeys(KINDS, 0)
    parents = np.full((chains, n, len(names), min(most, len(names) - 1)), -1, np.int16)
    return Draws(names, parents, np.full((chains, n), table.scores.total(table.least())), none, none)


def _cumulated(shares: Sequence[float]) -> NDArray[np.float64]:
    """Cumulative probabilities; exactly 1 from the last kind with a positive share on."""
    given = np.array(shares, float)
    if given.shape != (len(KINDS),) or not np.isfinite(given).all() or given.min() < 0 or given.sum() <= 0:
        raise ValueError(f"shares are {shares!r}: give a number, 0 or more, for each of {', '.join(KINDS)}")
    added: NDArray[np.float64] = np.cumsum(given) / given.sum()
    added[np.flatnonzero(given)[-1] :] = 1.0
    return added


def bytes_needed(n_rows: int, levels: NDArray[np.int64], max_parents: int, chains: int, draws: int) -> float:
    """Estimated bytes of the chains, and of the table of parent sets they use."""
    d = len(levels)
    each = d * d * 4 + 2.0 * draws * d * min(max_parents, d)
    return SET * sets_listed(n_rows, levels, max_parents) + chains * each + d * d * 8 + 4e6


def sets_listed(n_rows: int, levels: NDArray[np.int64], max_parents: int) -> float:
    """Estimated number of parent sets in the table of chains: those whose parameters have a small penalty."""
    d, price = len(levels), math.log(max(n_rows, 2)) / 2
    mean = math.exp(float(np.log(levels).mean()))
    total = 100.0 * d
    for states, times in zip(*np.unique(levels, return_counts=True), strict=True):
        for n in range(1, min(max_parents, max(2, LARGER)) + 1):
            sets = math.comb(min(d - 1, (d, PAIRS, LARGER)[min(n, 3) - 1]), n)
            if states > 1 and (states - 1) * (mean**n - 1) * price <= NEEDLESS:
                total += float(times) * sets
    return total
