"""The literal twin: Algorithms 1 and 2 of the B-RAI paper in plain Python, the oracle of the compiled ones.

Written from the paper (Rohekar, Gurwicz, Nisimov, Koren & Novik 2018, "Bayesian structure learning by
recursive bootstrap", NeurIPS) and from the written conventions, not from the implementation. "Alg. 1, line 6"
is the paper's own numbering. No step is clever: the only help is a memory of what was counted in a sample.

Conventions
- variables are 0..d-1, data is a list of rows of codes with declared arities, logarithms are natural;
- a graph is a set of ordered pairs: (a, b) without (b, a) is a → b, both are a – b;
- a set of heads holds (a, b) for a head at b on the edge between a and b; with none or two, no direction;
- a separating set is stored once, under the frozenset {x, y};
- a family is (child, (parents…)), sorted; "families" is a sorted tuple of them.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from math import ceil, exp, inf, lgamma, log, log2, prod

import numpy as np
from scipy.special import chdtri

SLACK = 1e-7  # nats: a statistic so little above its critical value is still no dependence

# ---------------------------------------------------------------- data and samples


@dataclass(frozen=True)
class Data:
    rows: list  # N rows of d codes
    arities: list  # declared, not seen

    @property
    def d(self):
        return len(self.arities)


@dataclass
class Sample:
    """A data set as one weight per row (line 10); memo keeps what was counted in it."""

    data: Data
    weights: list
    bootstrap: bool
    memo: dict = field(default_factory=dict)


def full(data):
    """The training data itself: what the root call is given for both D and D̃."""
    return Sample(data, [1] * len(data.rows), bootstrap=False)


def resample(data, entropy, key):
    """Alg. 1, line 10: N rows with replacement, always from the full data."""
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=key)))
    N = len(data.rows)
    return Sample(data, np.bincount(generator.integers(0, N, N), minlength=N).tolist(), bootstrap=True)


def remembered(count):
    """Let a function of (sample, …) count only once."""

    def once(sample, *question):
        if (count, question) not in sample.memo:
            sample.memo[count, question] = count(sample, *question)
        return sample.memo[count, question]

    return once


@remembered
def counts(sample, A):
    """Occupied cells of the table over the variables A, and the weight in each."""
    table = Counter()
    for row, weight in zip(sample.data.rows, sample.weights, strict=True):
        if weight > 0:
            table[tuple(row[a] for a in A)] += weight
    return table


# ---------------------------------------------------------------- conditional independence


@dataclass(frozen=True)
class CI:
    """Which test, and whether bootstrap samples get their correction."""

    kind: str  # cmi-c1, cmi, g2, bayes-factor
    correction: bool = True
    threshold: float | None = None  # cmi: nats; cmi-c1: multiple of C_1; no default here, it must be given
    alpha: float = 0.05
    ess: float = 10.0
    collider: bool = False  # whether the test is one of a v-structure


def scale(N):
    return 2 ** min(40, 62 - ceil(log2(128 * N)))


@remembered
def cell_sum(sample, ci, A):
    """F(A): the sum over the occupied cells of A of value(n), an integer in units of 1/scale nats."""
    unit = scale(len(sample.data.rows))
    total = 0
    for n in counts(sample, A).values():
        if ci.kind == "bayes-factor":
            share = ci.ess / prod((float(sample.data.arities[a]) for a in A), start=1.0)
            value = lgamma(n + share) - lgamma(share)
        else:
            value = n * log(n)
        total += int(np.rint(value * unit))
    return total


def information(sample, ci, x, y, Z):
    """F(xyZ) + F(Z) - F(xZ) - F(yZ): N · CMI(x, y | Z) of eq. 1, or the log Bayes factor; an integer."""

    def f(*A):
        return cell_sum(sample, ci, tuple(sorted(A)))

    return f(x, y, *Z) + f(*Z) - f(x, *Z) - f(y, *Z)


@remembered
def degrees_of_freedom(sample, x, y, Z):
    """Sum over the seen states z of Z of (states of x seen with z - 1)(states of y seen with z - 1)."""
    x_seen, y_seen = defaultdict(set), defaultdict(set)
    for state_x, state_y, *z in counts(sample, (x, y, *Z)):
        x_seen[tuple(z)].add(state_x)
        y_seen[tuple(z)].add(state_y)
    return sum((len(x_seen[z]) - 1) * (len(y_seen[z]) - 1) for z in x_seen)


def critical(sample, ci, df):
    """The value, in nats, that the statistic must pass; df/2 more on a bootstrap sample if corrected."""
    if ci.kind == "cmi-c1":  # C_1 of eq. 2, times N
        value = ci.threshold * df / 2
    elif ci.kind == "cmi":
        value = ci.threshold * len(sample.data.rows)
    elif ci.kind == "g2":
        value = float(chdtri(df, ci.alpha)) / 2 if df > 0 else 0.0
    else:
        value = 0.0
    return value + (df / 2 if sample.bootstrap and ci.correction else 0.0)


def independent(sample, ci, x, y, Z):
    """Whether x and y are independent given Z; x and y, and the members of Z, may come in any order."""
    x, y, Z = min(x, y), max(x, y), tuple(sorted(Z))
    statistic = information(sample, ci, x, y, Z) / scale(len(sample.data.rows))  # nats
    df = degrees_of_freedom(sample, x, y, Z)
    if df == 0:  # the data cannot tell: no edge is kept, and no v-structure refuted
        return not ci.collider
    return statistic - critical(sample, ci, df) - SLACK <= 0


def collider_test(ci):
    """The test that must find x and y dependent given S ∪ {z}: G² at 0.05, or the Bayes factor itself."""
    if ci.kind == "bayes-factor":
        return replace(ci, collider=True)
    return CI("g2", ci.correction, alpha=0.05, collider=True)


# ---------------------------------------------------------------- graphs


def adjacent(G, a, b):
    return (a, b) in G or (b, a) in G


def arrow(G, a, b):
    return (a, b) in G and (b, a) not in G


def undirected(G, a, b):
    return (a, b) in G and (b, a) in G


def potential_parents(G, v, scope):
    """π of line 2: parents and undirected neighbours of v in the scope X ∪ X_ex."""
    return {u for u in scope if (u, v) in G}


def meek(edges, heads, nodes, X):
    """Direct edges "by avoiding the creation of new v-structures and directed cycles" (Meek 1995, R1–R3).

    In rounds: all new heads of a round are found on one and the same graph, so no order of nodes matters.
    Only edges inside X without any head are directed. Changes heads in place.
    """

    def plain(a, b):
        return adjacent(edges, a, b) and (a, b) not in heads and (b, a) not in heads

    def strict(a, b):
        return adjacent(edges, a, b) and (a, b) in heads and (b, a) not in heads

    def r1(b, c):
        return any((a, b) in heads and a != c and not adjacent(edges, a, c) for a in nodes)

    def r2(b, c):
        return any(strict(b, a) and strict(a, c) for a in nodes)

    def r3(b, c):
        between = [a for a in nodes if plain(b, a) and strict(a, c)]
        return any(not adjacent(edges, a, e) for a, e in combinations(between, 2))

    while True:
        found = {(b, c) for b in X for c in X if b != c and plain(b, c) and (r1(b, c) or r2(b, c) or r3(b, c))}
        if not found:
            return
        heads |= found


def cpdag(families):
    """CPDAG of the DAG with these families: skeleton, v-structures, Meek's rules (Verma & Pearl 1990)."""
    nodes = sorted(child for child, _ in families)
    dag = {(parent, child) for child, parents in families for parent in parents}
    heads = {
        (parent, child)
        for child, parents in families
        for x, y in combinations(parents, 2)
        if not adjacent(dag, x, y)
        for parent in (x, y)
    }
    meek(dag, heads, nodes, nodes)
    return frozenset((a, b) for a in nodes for b in nodes if adjacent(dag, a, b) and (b, a) not in heads)


# ---------------------------------------------------------------- scores


def bdeu(data, child, parents, ess=1.0):
    """Log of the Dirichlet marginal likelihood of one family (Heckerman, Geiger & Chickering 1995)."""
    q = prod((float(data.arities[p]) for p in parents), start=1.0)
    r = data.arities[child]
    n_j, n_jk = Counter(), Counter()
    for row in data.rows:
        j = tuple(row[p] for p in parents)
        n_j[j] += 1
        n_jk[j, row[child]] += 1
    total = sum(lgamma(ess / q) - lgamma(ess / q + n) for n in n_j.values())
    return total + sum(lgamma(ess / (q * r) + n) - lgamma(ess / (q * r)) for n in n_jk.values())


# ---------------------------------------------------------------- Algorithm 1


@dataclass(frozen=True)
class Leaf:
    families: tuple
    log_score: float
    repaired: bool
    truncated: bool


@dataclass(frozen=True)
class Node:
    """A bootstrap node: groups[i][t] is the root of the sub-tree of group i (A_1 … A_K, D) in draw t."""

    order: int
    groups: tuple


@dataclass
class Run:
    """What all calls of one run share: Alg. 1's D and s, the test, and the count of tests by order."""

    data: Data
    ci: CI
    s: int
    entropy: int | None  # None: no bootstrap, the full data at every level (RAI)
    max_order: int | None = None
    n_ci_tests: Counter = field(default_factory=Counter)

    def __post_init__(self):
        sample, d = full(self.data), self.data.d
        self.association = {
            (a, b): information(sample, self.ci, a, b, ()) for a in range(d) for b in range(d) if a != b
        }

    def test(self, sample, ci, x, y, S):
        self.n_ci_tests[len(S)] += 1
        return independent(sample, ci, x, y, S)


def increase_resolution(run, G, sepsets, X, X_ex, n, sample):
    """Alg. 1, line 6: remove edges by tests of order n, first X_ex → X, then inside X; and then orient."""
    G, sepsets = set(G), dict(sepsets)
    scope = X | X_ex
    for phase in (1, 2):
        candidates = {v: potential_parents(G, v, scope) for v in X}  # frozen for the phase
        for y in sorted(X):
            targets = [x for x in sorted(X_ex if phase == 1 else X) if adjacent(G, x, y)]
            strongest_first = sorted(candidates[y], key=lambda v, y=y: (-run.association[v, y], v))
            for S in combinations(strongest_first, n):
                for x in targets:
                    if not adjacent(G, x, y) or x in S:
                        continue
                    if phase == 2 and x < y and set(S) <= candidates[x]:
                        continue  # tested when x had its turn
                    if run.test(sample, run.ci, x, y, S):
                        G -= {(x, y), (y, x)}
                        sepsets[frozenset((x, y))] = S
    return orient(run, G, sepsets, X, X_ex, sample), sepsets


def orient(run, G, sepsets, X, X_ex, sample):
    """Alg. 1, line 6, its second half: v-structures, then Meek's rules; only edges that end in X."""
    scope = sorted(X | X_ex)
    heads = {(x, z) for x in X_ex for z in X if adjacent(G, x, z)}
    for z in sorted(X):
        around = [x for x in scope if adjacent(G, x, z)]
        for x, y in combinations(around, 2):
            if adjacent(G, x, y) or ((x, z) in heads and (y, z) in heads):
                continue
            S = sepsets[frozenset((x, y))]
            if z not in S and not run.test(sample, collider_test(run.ci), x, y, (*S, z)):
                heads |= {(x, z), (y, z)}
    meek(G, heads, scope, sorted(X))
    oriented = {(a, b) for a, b in G if a not in X and b not in X}
    for a, b in combinations(scope, 2):
        if adjacent(G, a, b) and (a in X or b in X):
            if (a, b) not in heads or (b, a) in heads:  # not a → b alone
                oriented.add((b, a))
            if (b, a) not in heads or (a, b) in heads:
                oriented.add((a, b))
    return oriented


def split_autonomous(X, G):
    """Alg. 1, line 7: the groups X_A1 … X_AK, X_D, in this order.

    X_D, "the nodes having the lowest topological order": those from which every reachable node reaches back.
    The X_Ai are the connected parts of what is left, by smallest member.
    """

    def reached(v):
        seen, stack = {v}, [v]
        while stack:
            a = stack.pop()
            for b in X - seen:
                if (a, b) in G:
                    seen.add(b)
                    stack.append(b)
        return seen

    reach = {v: reached(v) for v in X}
    X_D = {v for v in X if all(v in reach[u] for u in reach[v])}
    left, ancestors = X - X_D, []
    while left:
        part, stack = set(), [min(left)]
        while stack:
            a = stack.pop()
            part.add(a)
            stack += [b for b in left - part if adjacent(G, a, b)]
        ancestors.append(part)
        left = left - part
    return [*ancestors, X_D]


def leaf(run, G, X, X_ex, truncated):
    """Alg. 1, lines 3–4: a DAG of the group's graph (Dor & Tarsi 1992, repaired) and its score on D."""
    left = X | {x for x in X_ex if any(arrow(G, x, v) for v in X)}
    to_go, parents, repaired = set(X), {}, False

    def out(v):
        return sum(arrow(G, v, u) for u in left)

    def new(v):
        return sum(
            undirected(G, u, v) and u != w and w != v and adjacent(G, w, v) and not adjacent(G, w, u)
            for u in left
            for w in left
        )

    while to_go:
        v = min(to_go, key=lambda v: (out(v), new(v), v))
        repaired = repaired or (out(v), new(v)) != (0, 0)
        left, to_go = left - {v}, to_go - {v}
        parents[v] = tuple(sorted(u for u in left if adjacent(G, u, v)))
    families = tuple(sorted(parents.items()))
    return Leaf(families, sum(bdeu(run.data, *family) for family in families), repaired, truncated)


def b_rai(run, G, sepsets, X, X_ex, n, sample, path):
    """Alg. 1: the root of the tree for the group X, given X_ex, from order n on."""
    resolved = max(len(potential_parents(G, v, X | X_ex)) - 1 for v in X) < n  # line 2
    if resolved or (run.max_order is not None and n > run.max_order):
        return leaf(run, G, X, X_ex, truncated=not resolved)  # lines 3–5
    G, sepsets = increase_resolution(run, G, sepsets, X, X_ex, n, sample)  # line 6
    groups = split_autonomous(X, G)  # line 7
    *ancestors, _ = groups
    outside = [X_ex] * len(ancestors) + [X_ex.union(*ancestors)]
    sub_trees = [[] for _ in groups]  # line 8
    for t in range(run.s):  # line 9
        drawn = sample if run.entropy is None else resample(run.data, run.entropy, (*path, t))  # line 10
        for i, (group, group_ex) in enumerate(zip(groups, outside, strict=True)):  # lines 11–15
            sub_trees[i].append(b_rai(run, G, sepsets, group, group_ex, n + 1, drawn, (*path, t, i)))
    return Node(n, tuple(map(tuple, sub_trees)))  # line 16


def grow(data, ci, s, entropy, max_order=None):
    """The tree from the complete graph, X all variables, n = 0, on the full data; and the tests by order."""
    run = Run(data, ci, s, entropy, max_order)
    X = set(range(data.d))
    complete = {(a, b) for a in X for b in X if a != b}
    return b_rai(run, complete, {}, X, set(), 0, full(data), ()), run.n_ci_tests


def rai(data, ci, max_order=None):
    """RAI (Yehezkel & Lerner 2009): the same recursion with one branch and the full data at every level."""
    tree, n_ci_tests = grow(data, ci, 1, None, max_order)
    [(families, _)] = routes(tree)
    return families, n_ci_tests


# ---------------------------------------------------------------- Algorithm 2


def merged(parts):
    """Alg. 2, lines 16–17: the union of the groups' graphs, and the sum of their scores."""
    families = tuple(sorted(family for part, _ in parts for family in part))
    *ancestors, descendant = [score for _, score in parts]
    return families, descendant + sum(ancestors)


def boltzmann(scores, temperature):
    """Eq. 4 up to a factor; all weight on the first maximum for γ = 0, the same for all for γ = ∞."""
    best = max(scores)
    if temperature == 0:
        return [float(t == scores.index(best)) for t in range(len(scores))]
    return [1.0 if temperature == inf else exp((score - best) / temperature) for score in scores]


def sample_cpdag(tree, temperature, rng):
    """Alg. 2: one draw, as (families, score)."""
    if isinstance(tree, Leaf):  # lines 2–4
        return tree.families, tree.log_score
    chosen = []
    for group in tree.groups:  # lines 5 and 11
        drawn = [sample_cpdag(sub_tree, temperature, rng) for sub_tree in group]  # lines 6–8, 11–13
        cumulated = np.cumsum(boltzmann([score for _, score in drawn], temperature)).tolist()
        u = rng.random()
        t = next(t for t, c in enumerate(cumulated) if u * cumulated[-1] < c)  # lines 9 and 14
        chosen.append(drawn[t])  # lines 10 and 15
    return merged(chosen)


def best_route(tree):
    """Alg. 2 with "sample" replaced by arg max: (families, score), the first on ties."""
    if isinstance(tree, Leaf):
        return tree.families, tree.log_score
    return merged([max(map(best_route, group), key=lambda result: result[1]) for group in tree.groups])


# ---------------------------------------------------------------- all routes, for exact answers


def n_routes(tree):
    """How many routes there are: one sub-tree for each group, at every bootstrap node on the way."""
    if isinstance(tree, Leaf):
        return 1
    return prod(sum(map(n_routes, group)) for group in tree.groups)


def routes(tree):
    """(families, score) of every route, one by one; many give the same graph."""
    if isinstance(tree, Leaf):
        yield tree.families, tree.log_score
        return
    each = [[route for sub_tree in group for route in routes(sub_tree)] for group in tree.groups]
    for parts in product(*each):
        yield merged(parts)


def outcomes(tree):
    """Each distinct DAG with its score and the number of routes that lead to it."""
    found = {}
    for families, score in routes(tree):
        found[families] = (score, found.get(families, (score, 0))[1] + 1)
    return found


def k_best(tree, k):
    """The k best distinct CPDAGs with their scores, by score."""
    best = {}
    for families, (score, _) in outcomes(tree).items():
        graph = cpdag(families)
        best[graph] = max(score, best.get(graph, -inf))
    return sorted(best.items(), key=lambda item: -item[1])[:k]


def exact_distribution(tree, temperature):
    """P(DAG) when a route is drawn with probability proportional to exp(score/γ)."""
    found = outcomes(tree)
    best = max(score for score, _ in found.values())
    weight = {}
    for families, (score, number) in found.items():
        if temperature == 0:
            weight[families] = number * (score > best - 1e-9)
        else:
            weight[families] = number * (1.0 if temperature == inf else exp((score - best) / temperature))
    total = sum(weight.values())
    return {families: w / total for families, w in weight.items() if w > 0}


def paper_distribution(tree, temperature):
    """P(DAG) for one call of Alg. 2: over all joint outcomes of the s recursive calls of each group."""

    def of(tree):  # {(families, score): probability}
        if isinstance(tree, Leaf):
            return {(tree.families, tree.log_score): 1.0}
        each = []
        for group in tree.groups:
            picked = defaultdict(float)
            for joint in product(*(of(sub_tree).items() for sub_tree in group)):
                weights = boltzmann([score for (_, score), _ in joint], temperature)
                for (result, _), weight in zip(joint, weights, strict=True):
                    picked[result] += prod(p for _, p in joint) * weight / sum(weights)
            each.append(picked)
        result = defaultdict(float)
        for parts in product(*(picked.items() for picked in each)):
            result[merged([part for part, _ in parts])] += prod(p for _, p in parts)
        return result

    total = defaultdict(float)
    for (families, _), p in of(tree).items():
        total[families] += p
    return {families: p for families, p in total.items() if p > 0}


def by_cpdag(distribution):
    """The same distribution over the distinct CPDAGs."""
    total = defaultdict(float)
    for families, p in distribution.items():
        total[cpdag(families)] += p
    return dict(total)
