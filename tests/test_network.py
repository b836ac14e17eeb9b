"""Networks: reading BIF and JSON, and forward sampling against the exact distribution."""

import contextlib
import gzip
import importlib.util
import itertools
import json
import os
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brai
from brai._bif import normalised, parse_bif
from brai.network import SHIPPED, BifError, Network, load_network

# Every form the format knows: quoted names, comments, properties, rows in any order, default, table.
RAIN = """\
// the sprinkler, // twice commented
network "rain-and \\ more" { property author = "us; them {or} // others"; property url http://example.org/x; }
variable rain { /* comment over
   two lines */ type discrete [ 3 ] { <0.5, 0.5-2, 2+ }; property position = (7, 3) ;
}
variable "sprinkler" { type discrete[2] { "on" "off" }; }
variable grass { type discrete [ 2 ] { wet, Asy/Patchy }; }
variable mood { type discrete [ 2 ] { table, default }; }
probability ( sprinkler | rain ) {
  default 0.5, 0.5;   // no weather forecast
  (2+) 1e-2, .99;
  property nothing;
}
probability ( rain ) { table 0.7, 0.2, 0.1; }
probability ( grass | sprinkler, rain ) {
  (off, <0.5) 0.0, 1.0;
  (on, <0.5) 0.91, 0.09;
  (on, 0.5-2) 0.92, 0.08;
  (on, 2+) 0.93, 0.07;
  (off, 0.5-2) 0.94, 0.06;
  (off, 2+) 0.95, 0.05;
}
probability ( mood grass sprinkler ) { table 0.1 0.2 0.3 0.4 0.9 0.8 0.7 0.6; }
"""


def network(text: str, folder: Path) -> Network:
    path = folder / "test.bif"
    path.write_text(text, encoding="utf-8")
    return Network.read_bif(path)


def same(a: Network, b: Network) -> bool:
    heads = [(n.names, n.states, n.parents) for n in (a, b)]
    return heads[0] == heads[1] and all(map(np.array_equal, a.cpts, b.cpts))


def joint(net: Network) -> dict[tuple[int, ...], float]:
    """Probability of every joint configuration, multiplied out from the CPTs one by one."""
    table = {}
    for codes in itertools.product(*(range(len(s)) for s in net.states)):
        p = 1.0
        for i, own in enumerate(net.parents):
            row = 0
            for parent in own:
                row = row * len(net.states[parent]) + codes[parent]
            p *= net.cpts[i][row, codes[i]]
        table[codes] = p
    return table


def random_network(rng: np.random.Generator, d: int) -> Network:
    arity = rng.integers(1, 5, size=d)
    order = rng.permutation(d)
    parents: list[tuple[int, ...]] = [()] * d
    for k, i in enumerate(order):
        parents[i] = tuple(int(p) for p in rng.permutation(order[:k])[: rng.integers(0, 4)])
    cpts = []
    for i in range(d):
        cpt = rng.dirichlet(np.ones(arity[i]), size=int(np.prod(arity[list(parents[i])], dtype=int)))
        cpts.append(normalised(cpt))
    states = tuple(tuple(f"s{k}" for k in range(r)) for r in arity)
    return Network(tuple(f"v{i}" for i in range(d)), states, tuple(parents), tuple(cpts))


# ---------------------------------------------------------------- BIF


def test_bif_every_form(tmp_path: Path) -> None:
    net = network(RAIN, tmp_path)
    assert net.name == "rain-and \\ more"
    assert net.names == ("rain", "sprinkler", "grass", "mood")
    assert net.states == (("<0.5", "0.5-2", "2+"), ("on", "off"), ("wet", "Asy/Patchy"), ("table", "default"))
    assert net.parents == ((), (0,), (1, 0), (2, 1))
    np.testing.assert_array_equal(net.cpts[0], [[0.7, 0.2, 0.1]])
    np.testing.assert_array_equal(net.cpts[1], [[0.5, 0.5], [0.5, 0.5], [0.01, 0.99]])
    np.testing.assert_array_equal(net.cpts[2][:, 0], [0.91, 0.92, 0.93, 0.0, 0.94, 0.95])  # sprinkler slowest
    np.testing.assert_array_equal(net.cpts[3], [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]])
    assert not any(cpt.flags.writeable for cpt in net.cpts)


@pytest.mark.parametrize("name", ["net.bif.gz", "net.bif", "net"])  # the bytes decide, not the name
def test_bif_compressed_and_windows_lines(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + RAIN.replace("\n", "\r\n").encode()))
    assert same(Network.read_bif(path), network(RAIN, tmp_path))
    assert same(load_network(path), load_network(str(path)))


def test_rows_are_normalised_when_rounded_and_kept_when_exact(tmp_path: Path) -> None:
    rounded = network(RAIN.replace("0.7, 0.2, 0.1", "0.3333, 0.3333, 0.3333"), tmp_path).cpts[0]
    np.testing.assert_allclose(rounded, [[1 / 3] * 3], rtol=1e-15)
    np.testing.assert_array_equal(normalised(rounded), rounded)


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("0.7, 0.2, 0.1", "0.7, 0.2, 0.05", 14, r"sum to 0\.95 instead of 1"),
        ("0.91, 0.09", "0.91, 0.19", 17, r"sum to 1\.1 "),
        ("0.91, 0.09", "1.09, -0.09", 17, r"-0\.09 is not a probability"),
        ("0.91, 0.09", "nan, 0.09", 17, "nan is not a probability"),
        ("0.91, 0.09", "0.91", 17, "expected 2 probabilities, found 1"),
        ("0.91, 0.09", "0.91, zero", 17, "expected a number or ';', found 'zero'"),
        ("0.91, 0.09;", "0.91, 0.09", 18, r"expected ';', found '\('"),
        ("(on, <0.5)", "(on, <0.6)", 17, "rain has no state '<0.6', only <0.5, 0.5-2, 2\\+"),
        ("(on, <0.5)", "(on)", 17, "expected the states of 2 parents, found 1"),
        ("(on, <0.5)", "(off, <0.5)", 17, "second time"),
        (
            "(on, <0.5) 0.91, 0.09;",
            "",
            15,
            "1 of 6 rows of 'grass' are missing, as for sprinkler=on, rain=<0.5",
        ),
        ("{ table 0.7, 0.2, 0.1; }", "{ }", 14, "1 of 1 rows of 'rain' are missing"),
        ("0.9 0.8 0.7 0.6;", "0.8 0.9 0.7 0.6;", 23, "child's states slowest"),
        ("probability ( rain )", "probabilty ( rain )", 14, "found 'probabilty'"),
        ("probability ( rain )", "probability ( rain | rain )", 14, "appears twice"),
        ("probability ( rain )", "probability ( sprinkler )", 14, "a second block for 'sprinkler'"),
        ("probability ( rain )", "probability ( )", 14, "a variable is missing"),
        ("( grass | sprinkler", "( grass | hose", 15, "'hose' is not declared above"),
        ("discrete [ 3 ]", "discrete [ 4 ]", 4, "4 states announced, 3 listed"),
        ("wet, Asy", "wet, wet, Asy", 7, "2 states announced, 3 listed"),
        ("wet, Asy/Patchy", "wet, wet", 7, "state 'wet' is listed twice"),
        ("discrete[2]", "continuous[2]", 6, "expected 'discrete', found 'continuous'"),
        ("variable grass", "variable rain", 7, "'rain' is declared a second time"),
        ('type discrete[2] { "on" "off" };', "", 6, "'sprinkler' has no 'type discrete"),
        ("two lines */", "two lines", 3, r"expected .*, found '/\*'"),
        ("0.7 0.6; }", "0.7 0.6;", 23, "the file ends"),
        ("0.7 0.6; }", "0.7 0.6 ", 23, "the file ends"),
        ("probability ( mood", "// probability ( mood", 22, "no probability block for mood"),
    ],
)
def test_broken_bif_names_line_and_fault(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    assert RAIN.count(old) == 1
    with pytest.raises(BifError, match=rf"test\.bif, line {line}: .*{what}"):
        network(RAIN.replace(old, new), tmp_path)


def test_bif_that_is_no_bif(tmp_path: Path) -> None:
    with pytest.raises(BifError, match="line 1: no variable block"):
        parse_bif("")
    path = tmp_path / "x.bif.gz"
    path.write_bytes(gzip.compress(RAIN.encode())[:-20])
    with pytest.raises(BifError, match="gzip stream is damaged"):
        Network.read_bif(path)
    path.write_bytes(b"network a {}\nvariable \xe6 {}")
    with pytest.raises(BifError, match="line 2: not UTF-8"):
        Network.read_bif(path)
    cyclic = RAIN.replace("( rain ) { table 0.7, 0.2, 0.1; }", "( rain | mood ) { default 0.7, 0.2, 0.1; }")
    with pytest.raises(BifError, match=r"test\.bif: .*directed cycle: .*rain.* → "):
        network(cyclic, tmp_path)


@given(st.text(alphabet='{}()[];,| \n"/*ab0.5', max_size=80), st.integers(0, len(RAIN)))
@settings(max_examples=200, deadline=None)
def test_damaged_bif_raises_nothing_but_bif_error(noise: str, at: int) -> None:
    with contextlib.suppress(BifError):
        content = parse_bif(RAIN[:at] + noise + RAIN[at + len(noise) :])
        assert all(np.allclose(cpt.sum(axis=1), 1.0) for cpt in content.cpts)


# ---------------------------------------------------------------- Network, JSON, names


def test_network_refuses_what_is_not_a_network() -> None:
    half = np.array([[0.5, 0.5]])
    names, states = ("a", "b"), (("x", "y"), ("x", "y"))
    Network(names, states, ((), (0,)), (half, np.repeat(half, 2, axis=0)))
    for parents, cpts, what in [
        (((), (0,)), (half, half), r"shape \(1, 2\), its family needs \(2, 2\)"),
        (((), ()), (half, half * 0.9), "'b' has a row that is not a distribution"),
        (((), ()), (half, np.array([[np.nan, 1.0]])), "not a distribution"),
        (((), (2,)), (half, half), "distinct indices below 2"),
        (((), (0, 0)), (half, half), "distinct indices"),
        (((1,), (0,)), (half.repeat(2, axis=0),) * 2, "directed cycle: "),
        (((),), (half, half), "unequal lengths"),
    ]:
        with pytest.raises(ValueError, match=what):
            Network(names, states, parents, cpts)
    with pytest.raises(ValueError, match="not unique"):
        Network(("a", "a"), states, ((), ()), (half, half))
    with pytest.raises(ValueError, match="distinct labels"):
        Network(names, (("x", "x"), ("x", "y")), ((), ()), (half, half))


def test_network_keeps_its_own_copy() -> None:
    cpt = np.array([[0.25, 0.75]])
    net = Network(("a",), (("x", "y"),), ((),), (cpt,))
    cpt[:] = 0.5
    np.testing.assert_array_equal(net.cpts[0], [[0.25, 0.75]])
    with pytest.raises(ValueError, match="read-only"):
        net.cpts[0][0, 0] = 1.0


@given(st.integers(0, 2**32), st.integers(1, 8))
@settings(max_examples=30, deadline=None)
def test_json_round_trip_is_exact(seed: int, d: int) -> None:
    net = random_network(np.random.default_rng(seed), d)
    back = Network.from_json(net.to_json())
    assert same(net, back)
    assert json.loads(net.to_json()) == net.to_dict() == back.to_dict()


def test_json_faults_are_named() -> None:
    good = load_network("cancer").to_dict()
    for change, what in [
        ({"format": "other"}, "its format is 'other'"),
        ({"version": 2}, "version 2, this brai reads 1: install a newer brai"),
        ({"variables": good["variables"][1:]}, "parent 'Pollution' of 'Cancer' is not a variable"),
        ({"variables": [{**good["variables"][0], "cpt": [[0.9, 0.2]]}]}, "CPT of 'Pollution': .* sum to 1.1"),
    ]:
        with pytest.raises(ValueError, match=what):
            Network.from_dict({**good, **change})


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "parameters", "author"),
    [  # free parameters as listed by the bnlearn repository
        ("asia", 8, 8, 18, "Lauritzen"),
        ("cancer", 5, 4, 10, "Korb"),
        ("earthquake", 5, 4, 10, "Korb"),
        ("sachs", 11, 17, 178, "Sachs"),
        ("survey", 6, 6, 21, "Scutari"),
    ],
)
def test_shipped_networks(name: str, nodes: int, edges: int, parameters: int, author: str) -> None:
    net = load_network(name)
    assert net.name == name
    assert net.citation.startswith(author)
    assert len(net.names) == nodes
    assert len(net.pdag.directed_edges()) == sum(map(len, net.parents)) == edges
    assert sum(cpt.shape[0] * (cpt.shape[1] - 1) for cpt in net.cpts) == parameters
    assert same(load_network(name.upper()), net)


def test_shipped_list_is_the_folder() -> None:
    folder = Path(brai.__file__).parent / "networks"
    assert sorted(path.stem for path in folder.glob("*.json")) == sorted(SHIPPED)


def test_pdag_has_the_edges_row_to_column() -> None:
    net = load_network("earthquake")
    expected = np.zeros((5, 5))
    for tail, head in ["BA", "EA", "AJ", "AM"]:
        at = [[n[0] for n in net.names].index(letter) for letter in (tail, head)]
        expected[at[0], at[1]] = 1
    np.testing.assert_array_equal(net.pdag.adjacency, expected)


def test_published_probabilities() -> None:
    """P(lung cancer) in Asia is 0.055 (0.5·0.1 + 0.5·0.01), P(alarm) in Earthquake 0.0161 by hand."""
    asia, quake = load_network("asia"), load_network("earthquake")
    lung = sum(p for codes, p in joint(asia).items() if codes[asia.names.index("lung")] == 0)
    alarm = sum(p for codes, p in joint(quake).items() if codes[quake.names.index("Alarm")] == 0)
    assert lung == pytest.approx(0.055, abs=1e-12)
    by_hand = 0.01 * (0.02 * 0.95 + 0.98 * 0.94) + 0.99 * (0.02 * 0.29 + 0.98 * 0.001)
    assert alarm == pytest.approx(by_hand, abs=1e-12)


def test_names_of_an_installed_pgmpy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wheel's files are found without running the package, which here would fail."""
    folder = tmp_path / "pgmpy" / "utils" / "example_models"
    folder.mkdir(parents=True)
    (tmp_path / "pgmpy" / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "rain.bif.gz").write_bytes(gzip.compress(RAIN.encode()))
    spec = ModuleSpec("pgmpy", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path / "pgmpy")]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec if name == "pgmpy" else None)
    assert load_network("Rain").names[0] == "rain"
    assert "pgmpy" not in sys.modules
    for unknown in ("sun", "../example_models/rain", str(tmp_path / "rain.bif")):
        with pytest.raises(ValueError, match="asia, cancer, earthquake, sachs, survey"):
            load_network(unknown)


def test_unknown_network_says_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"no network 'alarm'.*path of a \.bif.*pip install pgmpy"):
        load_network("alarm")


def test_json_file_by_path(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(load_network("survey").to_json(), encoding="utf-8")
    assert same(load_network(path), load_network("survey"))


# ---------------------------------------------------------------- sampling


def test_asia_marginals_and_pairs_against_the_joint() -> None:
    """Frequencies of all single states and all pairs of states lie within 4 standard errors (256 checks)."""
    asia, n = load_network("asia"), 200_000
    codes = asia.sample(n, random_state=1).codes
    exact = joint(asia)
    for i, j in itertools.product(range(8), repeat=2):
        for a, b in itertools.product(range(2), repeat=2):
            p = sum(q for c, q in exact.items() if c[i] == a and c[j] == b)
            seen = np.mean((codes[i] == a) & (codes[j] == b))
            assert abs(seen - p) <= 4 * np.sqrt(p * (1 - p) / n), (asia.names[i], a, asia.names[j], b)


def test_joint_of_random_networks_by_chi_square() -> None:
    """Arities 1 to 4, parents in any order: χ² of the whole joint stays near its degrees of freedom."""
    for seed in range(5):
        net, n = random_network(np.random.default_rng(seed), 5), 100_000
        seen = np.zeros([len(s) for s in net.states])
        np.add.at(seen, tuple(net.sample(n, random_state=seed).codes.astype(int)), 1)
        expected = np.array(list(joint(net).values())).reshape(seen.shape) * n
        rare = expected < 5
        cells = np.append(expected[~rare], expected[rare].sum())
        counts = np.append(seen[~rare], seen[rare].sum())
        cells, counts = cells[cells > 0], counts[cells > 0]
        chi2, df = ((counts - cells) ** 2 / cells).sum(), len(cells) - 1
        assert abs(chi2 - df) <= 4 * np.sqrt(2 * df)


def test_impossible_states_are_never_drawn_and_stay_declared() -> None:
    cpt = np.array([[0.0, 0.7, 0.2, 0.1, 0.0, 0.0]])  # cumulates to 0.9999999999999999 in floating point
    net = Network(("a",), (tuple("uvwxyz"),), ((),), (cpt,))
    assert np.cumsum(cpt)[-1] < 1

    class Extreme(np.random.Generator):
        def random(self, size: int) -> np.ndarray:  # type: ignore[override]
            return np.tile([0.0, np.nextafter(1.0, 0.0)], size // 2)

    data = net.sample(4, random_state=Extreme(np.random.PCG64(0)))
    assert data.codes.tolist() == [[1, 3, 1, 3]]
    assert data.states == (tuple("uvwxyz"),)
    assert data.names == ("a",)


def test_more_than_256_states() -> None:
    cpt = np.zeros((1, 300))
    cpt[0, 299] = 1.0
    net = Network(("a",), (tuple(map(str, range(300))),), ((),), (cpt,))
    assert set(net.sample(10, random_state=0).codes[0].tolist()) == {299}


def test_random_state() -> None:
    asia = load_network("asia")
    draws = [
        asia.sample(50, random_state=s).codes for s in (7, np.random.SeedSequence(7), np.random.default_rng(7))
    ]
    assert all(np.array_equal(draws[0], other) for other in draws)
    assert not np.array_equal(draws[0], asia.sample(50, random_state=8).codes)
    rng = np.random.default_rng(7)
    first, second = asia.sample(50, rng).codes, asia.sample(50, rng).codes
    assert not np.array_equal(first, second)
    assert asia.sample(3).codes.shape == (8, 3)
    with pytest.raises(ValueError, match="1 or more, got 0"):
        asia.sample(0)


# ---------------------------------------------------------------- real files, where they are at hand


@pytest.mark.skipif(
    "BRAI_DATA" not in os.environ, reason="set BRAI_DATA to the folder that holds networks/*.bif.gz"
)
@pytest.mark.parametrize(
    ("name", "nodes", "edges", "largest"),
    [
        ("child", 20, 25, 6),
        ("insurance", 27, 52, 5),
        ("mildew", 35, 46, 100),
        ("alarm", 37, 46, 4),
        ("barley", 48, 84, 67),
        ("hailfinder", 56, 66, 11),
        ("munin1", 186, 273, 21),
        ("link", 724, 1125, 4),
        ("munin", 1041, 1397, 21),
    ],
)
def test_repository_networks(name: str, nodes: int, edges: int, largest: int) -> None:
    net = load_network(Path(os.environ["BRAI_DATA"], "networks", f"{name}.bif.gz"))
    assert (len(net.names), sum(map(len, net.parents))) == (nodes, edges)
    assert max(map(len, net.states)) == largest
    assert net.sample(1000, random_state=0).codes.shape == (nodes, 1000)


@pytest.mark.skipif(
    "BRAI_DATA" not in os.environ, reason="set BRAI_DATA to the folder that holds networks/*.bif.gz"
)
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_equals_repository(name: str) -> None:
    assert same(load_network(name), load_network(Path(os.environ["BRAI_DATA"], "networks", f"{name}.bif.gz")))
