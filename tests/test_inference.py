"""Marginals by variable elimination against the joint distribution, against closed forms and against samples."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brai.kinds.discrete import inference
from brai.kinds.discrete.network import Network, load_network
from test_network import joint, random_network

Setting = dict[str, object]


def brute_force(net: Network, variables: list[str], do: Setting, seen: Setting) -> np.ndarray | None:
    """The joint of the network with cut-off tables, added up over the rows that agree; None if there are none."""
    parents, cpts = list(net.parents), list(net.cpts)
    for name, label in do.items():
        i = net.names.index(name)
        parents[i], cpts[i] = (), np.array([[float(state == label) for state in net.states[i]]])
    table = np.zeros([len(net.states[net.names.index(name)]) for name in variables])
    for codes, p in joint(Network(net.names, net.states, tuple(parents), tuple(cpts))).items():
        row = {name: net.states[i][codes[i]] for i, name in enumerate(net.names)}
        if all(row[name] == label for name, label in seen.items()):
            table[tuple(codes[net.names.index(name)] for name in variables)] += p
    return table / table.sum() if table.sum() > 0 else None


def agrees(net: Network, variables: list[str], do: Setting, seen: Setting) -> bool:
    """Whether `marginal` gives what brute force gives; False if the evidence is impossible, which it must say."""
    expected = brute_force(net, variables, do, seen)
    if expected is None:
        with pytest.raises(ValueError, match="has probability 0"):
            net.marginal(variables, do=do, given=seen)
        return False
    found = net.marginal(variables, do=do, given=seen)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)
    return True


def sharp(net: Network, rng: np.random.Generator) -> Network:
    """The network with a third of its rows made certain, so that some events are impossible."""
    cpts = []
    for cpt in net.cpts:
        certain = np.eye(cpt.shape[1])[rng.integers(cpt.shape[1], size=len(cpt))]
        cpts.append(np.where(rng.random((len(cpt), 1)) < 1 / 3, certain, cpt))
    return Network(net.names, net.states, net.parents, tuple(cpts))


def random_setting(net: Network, rng: np.random.Generator, most: int) -> Setting:
    chosen = rng.permutation(len(net.names))[: rng.integers(0, most + 1)]
    return {net.names[i]: net.states[i][rng.integers(len(net.states[i]))] for i in chosen}


@given(st.integers(0, 2**32), st.integers(1, 5))
@settings(max_examples=300)
def test_random_networks(seed: int, d: int) -> None:
    """Query, intervention and evidence overlap at will."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, d)
    net = sharp(net, rng) if seed % 2 else net
    variables = [net.names[i] for i in rng.permutation(d)[: rng.integers(1, d + 1)]]
    do, seen = random_setting(net, rng, 2), random_setting(net, rng, 2)
    assert agrees(net, variables, do, seen) or seed % 2 or set(do) & set(seen)
    agrees(net, variables, do, {})


def test_asia() -> None:
    asia, rng = load_network("asia"), np.random.default_rng(0)
    possible = 0
    for name in asia.names:
        assert agrees(asia, [name], {}, {})
    for _ in range(60):
        variables = [asia.names[i] for i in rng.permutation(8)[: rng.integers(1, 4)]]
        possible += agrees(asia, variables, random_setting(asia, rng, 2), random_setting(asia, rng, 2))
    assert possible > 40


def test_seeing_is_not_doing() -> None:
    """Given dyspnoea, smoking is likely; made dyspnoeic, one smokes as before. Published: P(bronc | do smoke)."""
    asia = load_network("asia")
    assert asia.marginal("smoke", given={"dysp": "yes"})[0] > 0.6
    np.testing.assert_allclose(asia.marginal("smoke", do={"dysp": "yes"}), [0.5, 0.5])
    np.testing.assert_allclose(asia.marginal("bronc", do={"smoke": "yes"}), [0.6, 0.4])
    np.testing.assert_array_equal(asia.marginal("smoke", do={"smoke": "no"}), [0, 1])
    np.testing.assert_array_equal(asia.marginal("smoke", given={"smoke": "no"}), [0, 1])


def test_one_name_or_several() -> None:
    asia = load_network("asia")
    np.testing.assert_array_equal(asia.marginal("lung"), asia.marginal(["lung"]))
    both = asia.marginal(("lung", "smoke"))
    np.testing.assert_array_equal(both.T, asia.marginal(["smoke", "lung"]))
    np.testing.assert_allclose(both, [[0.05, 0.005], [0.45, 0.495]])
    both[:] = 0  # the caller's own
    assert asia.marginal("lung").sum() == pytest.approx(1)


def test_labels_that_are_no_text() -> None:
    cpts = (np.array([[0.25, 0.75]]), np.array([[0.5, 0.5], [0.9, 0.1]]))
    net = Network(("a", "b"), ((0, 1), ("0", "1")), ((), (0,)), cpts)
    np.testing.assert_array_equal(net.marginal("b", do={"a": 1}), [0.9, 0.1])
    np.testing.assert_array_equal(net.marginal("b", do={"a": np.int64(1)}), [0.9, 0.1])
    np.testing.assert_array_equal(net.marginal("b", do={"b": 1}), [0, 1])  # spelled "1"
    np.testing.assert_array_equal(net.marginal("b", do={"a": "1"}), [0.9, 0.1])
    with pytest.raises(ValueError, match=r"do: 'a' has no state '7', choose among \[0, 1\]"):
        net.marginal("b", do={"a": "7"})


def test_faults_are_named() -> None:
    asia = load_network("asia")
    for variables, options, what in [
        ("cough", {}, r"no variable 'cough': choose among \['asia', "),
        (["lung", "cough"], {}, "no variable 'cough'"),
        ("lung", {"do": {"cough": "yes"}}, "no variable 'cough'"),
        ("lung", {"do": {"smoke": "maybe"}}, r"do: 'smoke' has no state 'maybe', choose among \['yes', 'no'\]"),
        ("lung", {"given": {"smoke": None}}, "given: 'smoke' has no state None"),
        ("lung", {"given": ["smoke"]}, r"given is \['smoke'\]: give a dict"),
        (["lung", "lung"], {}, "each once"),
        ([], {}, "one or more variables"),
        (
            "smoke",
            {"given": {"lung": "yes", "either": "no"}},
            "given={'lung': 'yes', 'either': 'no'} has probability 0: leave",
        ),
        ("asia", {"do": {"lung": "yes"}, "given": {"either": "no"}}, "probability 0 under do={'lung': 'yes'}"),
        ("asia", {"do": {"lung": "yes"}, "given": {"lung": "no"}}, "probability 0 under do={'lung': 'yes'}"),
    ]:
        with pytest.raises(ValueError, match=what):
            asia.marginal(variables, **options)  # type: ignore[arg-type]


def test_a_chain_longer_than_the_alphabet() -> None:
    """Closed form by powers of the transition matrix: forward, after an intervention, and backward by Bayes."""
    d, start, step = 120, np.array([0.9, 0.1, 0.0]), np.array([[0.95, 0.05, 0], [0, 0.9, 0.1], [0.02, 0.0, 0.98]])
    names = tuple(f"t{i}" for i in range(d))
    parents = tuple((i - 1,) if i else () for i in range(d))
    net = Network(names, (("a", "b", "c"),) * d, parents, (start[None, :], *[step] * (d - 1)))

    def power(k: int) -> np.ndarray:
        return np.linalg.matrix_power(step, k)

    np.testing.assert_allclose(net.marginal("t119"), start @ power(119), rtol=1e-12)
    np.testing.assert_allclose(net.marginal("t90", do={"t60": "b"}), power(30)[1], rtol=1e-12)
    np.testing.assert_allclose(net.marginal("t30", do={"t60": "b"}), start @ power(30), rtol=1e-12)
    pair = (start @ power(10))[:, None] * power(30)
    np.testing.assert_allclose(net.marginal(["t40", "t10"]), pair.T, rtol=1e-12)
    np.testing.assert_allclose(net.marginal("t10", given={"t40": "c"}), pair[:, 2] / pair[:, 2].sum(), rtol=1e-12)


@pytest.mark.parametrize("leaf", [1e-6, 0.4])
def test_much_evidence_does_not_underflow(leaf: float) -> None:
    """Naive Bayes with 1500 leaves: more tables than einsum takes, and a probability far below 1e-308."""
    d, rng = 1500, np.random.default_rng(3)
    likely = leaf * rng.uniform(0.99, 1.01, size=(d, 2))
    cpts = [np.array([[0.3, 0.7]])]
    cpts += [np.stack([row, 1 - row], axis=1) for row in likely]
    names = ("class", *(f"x{i}" for i in range(d)))
    net = Network(names, (("u", "v"),) * (d + 1), ((), *[(0,)] * d), tuple(cpts))
    odds = np.log(0.3 / 0.7) + (np.log(likely[:, 0]) - np.log(likely[:, 1])).sum()
    found = net.marginal("class", given=dict.fromkeys(names[1:], "u"))
    assert found[0] == pytest.approx(1 / (1 + np.exp(-odds)), rel=1e-9)
    separate = Network(names, net.states, ((),) * (d + 1), (cpts[0], *(cpt[:1] for cpt in cpts[1:])))
    np.testing.assert_allclose(separate.marginal("class", given=dict.fromkeys(names[1:], "u")), [0.3, 0.7])


def test_the_order_keeps_tables_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A root, 40 middles, a leaf seen below each: the root must go last, or a table has 2 ** 40 cells."""
    k, rng = 40, np.random.default_rng(0)
    root, middle, leaf = (rng.dirichlet([1, 1], size=(k, 2)) for _ in range(3))
    names = ("root", *(f"m{i}" for i in range(k)), *(f"l{i}" for i in range(k)))
    parents = ((), *[(0,)] * k, *[(1 + i,) for i in range(k)])
    net = Network(names, (("u", "v"),) * (2 * k + 1), parents, (root[0][:1], *middle, *leaf))
    message = (middle * leaf[:, None, :, 0]).sum(axis=2)  # P(leaf = u | root), for each middle
    expected = root[0][0] * message[1:].prod(axis=0) @ middle[0] * leaf[0][:, 0]
    monkeypatch.setattr(inference, "MAX_CELLS", 4)
    found = net.marginal("m0", given={f"l{i}": "u" for i in range(k)})
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-12)


def grid(side: int) -> Network:
    names = [f"{i},{j}" for i, j in itertools.product(range(side), repeat=2)]
    parents, cpts = [], []
    for i, j in itertools.product(range(side), repeat=2):
        parents.append(((i - 1) * side + j,) * (i > 0) + (i * side + j - 1,) * (j > 0))
        ones = np.arange(2 ** len(parents[-1])) + 1.0
        cpts.append(np.stack([ones, 5 - ones], axis=1) / 5)
    return Network(tuple(names), (("u", "v"),) * side**2, tuple(parents), tuple(cpts))


def test_too_large_is_refused_before_the_work() -> None:
    large = grid(30)
    with pytest.raises(MemoryError, match=r"summing '.*' out needs a table of .*e\+.. cells, more than 1e\+08"):
        large.marginal("29,29")
    with pytest.raises(MemoryError, match=r"the result needs a table of 1\.3e\+08 cells"):
        large.marginal([f"0,{j}" for j in range(27)])
    # What is asked for decides, not the network: other nodes are barren or cut off.
    np.testing.assert_allclose(large.marginal("0,1"), grid(2).marginal("0,1"))
    around = {"28,29": "u", "29,28": "v"}
    np.testing.assert_allclose(large.marginal("29,29", do=around), large.cpts[-1][1])


def test_a_dense_network_within_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grid of 3 × 3 needs tables of 16 cells: all is well with a limit of 16, and refused with 15."""
    net = grid(3)
    monkeypatch.setattr(inference, "MAX_CELLS", 16)
    assert agrees(net, ["2,2"], {}, {})
    assert agrees(net, ["0,0"], {}, {"2,2": "v", "1,1": "u"})
    monkeypatch.setattr(inference, "MAX_CELLS", 15)
    with pytest.raises(MemoryError, match="16 cells"):
        net.marginal("2,2")


@pytest.mark.skipif(
    "BRAI_DATA" not in os.environ, reason="set BRAI_DATA to the folder that holds networks/*.bif.gz"
)
@pytest.mark.parametrize("name", ["alarm", "insurance", "hailfinder", "barley", "munin1", "link"])
def test_marginals_of_repository_networks_against_samples(name: str) -> None:
    """Every state of every variable within 6 standard errors, and 6 draws, of its frequency."""
    net, n = load_network(Path(os.environ["BRAI_DATA"], "networks", f"{name}.bif.gz")), 50_000
    data = net.sample(n, random_state=5)
    for i, variable in enumerate(net.names):
        exact = net.marginal(variable)
        seen = np.bincount(data.codes[i], minlength=len(exact)) / n
        assert (np.abs(seen - exact) <= 6 * np.sqrt(exact * (1 - exact) / n) + 6 / n).all(), variable
