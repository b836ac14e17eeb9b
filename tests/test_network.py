"""Networks: BIF and JSON, forward sampling and log probability against the exact distribution, fitting."""

import contextlib
import dataclasses
import gzip
import importlib.util
import itertools
import json
import math
import os
import re
import sys
import tracemalloc
import zlib
from collections.abc import Iterator
from fractions import Fraction
from importlib.machinery import ModuleSpec
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import brai
from brai import PDAG, DataError, Dataset
from brai import network as network_module
from brai.kinds.discrete import bif
from brai.kinds.discrete.bif import normalised, parse_bif
from brai.kinds.discrete.network import SHIPPED, BifError, Network, load_network
from brai.runtime import memory
from conftest import random_dag

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
        ("0.9 0.8 0.7 0.6;", "0.8 0.9 0.7 0.6;", 23, "child's state varies slowest"),
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


# ---------------------------------------------------------------- BIF that asks for much


@contextlib.contextmanager
def at_most(peak: float) -> Iterator[None]:
    """Fails if Python and numpy take more bytes inside."""
    tracemalloc.start()
    try:
        yield
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken < peak, f"{taken / 1e6:.0f} MB were taken"


def family(n_parents: int, block: str, labels: str = "x y") -> str:
    """A file in which the first variable has so many parents, each with these states."""
    names, n_states = [f"v{k}" for k in range(n_parents + 1)], len(labels.split())
    lines = [f"variable {name} {{ type discrete [ {n_states} ] {{ {labels} }}; }}" for name in names]
    lines += [f"probability ( {' '.join(names)} ) {{ {block} }}"]
    roots = f"{{ table {' '.join([str(1 / n_states)] * n_states)}; }}"
    return "\n".join(lines + [f"probability ( {name} ) {roots}" for name in names[1:]])


@pytest.mark.parametrize(
    ("n_parents", "block", "what"),
    [
        (
            28,
            "default 0.5 0.5;",
            r"'v0' given its 28 parents has 536870912 cells, \d+ words are left .*: give more",
        ),
        (
            28,
            "( x ) 0.5 0.5;",
            r"'v0' given its 28 parents has 536870912 cells, .*remove parents or merge states",
        ),
        (28, "table 0.5 0.5;", r"'v0' given its 28 parents has 536870912 cells"),
        (24, "( x ) 0.5 0.5;", r"has 33554432 cells, only \d+ words are left: give its rows or a default"),
        (60, "default 0.5 0.5;", r"60 parents has 2\.3e\+18 cells"),
        (2000, "default 0.5 0.5;", r"2000 parents has over 1e\+300 cells"),
    ],
)
def test_a_table_that_the_file_cannot_fill_is_not_made(n_parents: int, block: str, what: str) -> None:
    text = family(n_parents, block)
    with at_most(2e7), pytest.raises(BifError, match=rf"line {n_parents + 2}: the table of .*{what}"):
        parse_bif(text)


def test_memory_is_looked_at_before_a_default_fills_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    text = family(20, "default 0.25 0.75;")
    content = parse_bif(text)
    assert content.cpts[0].shape == (2**20, 2)
    assert (content.cpts[0] == [0.25, 0.75]).all()
    monkeypatch.setattr(memory, "available", lambda: 10**7)
    with at_most(1e7), pytest.raises(MemoryError, match=r"2097152 cells and needs .* GB .*: remove parents"):
        parse_bif(text)


def test_defaults_of_a_whole_file_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    text = family(3, "( x x x ) 1 0; default 0.5 0.5;")  # 14 cells by default
    text += "\nvariable w { type discrete [2] { x y }; }\nprobability ( w v1 ) { default 0 1; }"  # and 4
    monkeypatch.setattr(bif, "MAX_DEFAULT", 18)
    assert len(parse_bif(text).names) == 5
    monkeypatch.setattr(bif, "MAX_DEFAULT", 17)
    with pytest.raises(BifError, match=r"line 10: the table of 'w' has 4 cells, and 'default' may fill"):
        parse_bif(text)


def test_a_missing_row_among_many_constant_parents_is_named() -> None:
    with pytest.raises(BifError, match=r"1 of 1 rows of 'v0' are missing, as for v1=x, v2=x, .*v70=x$"):
        parse_bif(family(70, "", "x"))


def bomb(size: int) -> bytes:
    """So many spaces, compressed as gzip."""
    packer = zlib.compressobj(wbits=31)
    return b"".join([*(packer.compress(b" " * (1 << 16)) for _ in range(size >> 16)), packer.flush()])


def test_a_compressed_file_is_not_expanded_blindly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.bif.gz"
    path.write_bytes(bomb(1 << 26))
    monkeypatch.setattr(bif, "_PIECE", 1 << 16)
    with monkeypatch.context() as little:
        little.setattr(memory, "available", lambda: 10**8)
        with at_most(2e7), pytest.raises(MemoryError, match=r"x\.bif\.gz, 4 MB of text or more, .*: check that"):
            Network.read_bif(path)
    monkeypatch.setattr(bif, "HARMLESS", 1 << 20)
    with (
        at_most(6e7),
        pytest.raises(BifError, match=r"x\.bif\.gz: expands to more than 7 MB, .*: check .*gunzip"),
    ):
        Network.read_bif(path)
    path.write_bytes(gzip.compress(RAIN.encode() + b"\n" * (1 << 19)))  # below what is harmless
    assert same(Network.read_bif(path), network(RAIN, tmp_path))


def test_a_plain_file_that_leaves_no_room_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b" " * (1 << 20))
    monkeypatch.setattr(memory, "available", lambda: 10**7)
    for read in (Network.read_bif, load_network):
        with pytest.raises(MemoryError, match=r"x\.json, 1 MB of text or more, needs about 0\.026 GB"):
            read(path)


@pytest.mark.slow
def test_long_files_take_no_square_of_their_length() -> None:
    """Each of these took minutes while it was read in the square of its length."""
    with pytest.raises(BifError, match=r"found '/\*'"):
        parse_bif("/* " * 300_000)
    labels = " ".join(f"s{k}" for k in range(60_000))
    table = f"table {' '.join(['1', *['0'] * 59_999])};"
    rows = " ".join(f"( {label} ) 0.5 0.5;" for label in labels.split()[:20_000][::-1])
    text = f"""variable a {{ type discrete [60000] {{ {labels} }}; }}
        probability ( a ) {{ {table} }}
        variable b {{ type discrete [2] {{ x y }}; }}
        probability ( b a ) {{ default 1 0; {rows} }}"""
    assert parse_bif(text).cpts[1].tolist() == [[0.5, 0.5]] * 20_000 + [[1, 0]] * 40_000
    assert len(parse_bif(family(60_000, "default 1;", "x")).parents[0]) == 60_000


AS_PUBLISHED = re.compile(r'"[^"]*"|(?<!:)//[^\n]*|/\*.*?\*/', re.DOTALL)


@given(st.text(alphabet='"/*: \na', max_size=30))
@settings(max_examples=1000)
@example("/*/ // x\n*")
@example("http://* x */")
@example('/* "*/" // "')
@example("/**/ /*")
def test_comments_are_those_of_the_plain_pattern(text: str) -> None:
    plain = AS_PUBLISHED.sub(lambda m: m[0] if m[0][0] == '"' else " " + "\n" * m[0].count("\n"), text)
    assert bif._Tokens(text, "x").text == plain


def test_words_of_any_length_are_cut_in_messages() -> None:
    for text in (
        "x" * 10**6,
        f"variable {'x' * 10**6} {{ }}",
        f"variable a {{ type discrete [{'9' * 10**6}] {{ x }}",
    ):
        with pytest.raises(BifError) as caught:
            parse_bif(text)
        assert len(str(caught.value)) < 300


# ---------------------------------------------------------------- writing BIF


def reread(net: Network) -> Network:
    return Network(**parse_bif(net.to_bif())._asdict())


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("file", ["net.bif", "net.bif.gz", "NET.BIF.GZ"])
def test_written_bif_reads_back_exactly(name: str, file: str, tmp_path: Path) -> None:
    net, path = load_network(name), tmp_path / file
    net.write_bif(path)
    assert same(Network.read_bif(path), net)
    assert Network.read_bif(path).name == name
    first = path.read_bytes()
    assert (first[:2] == b"\x1f\x8b") == file.lower().endswith("gz")
    assert first[:2] != b"\x1f\x8b" or first[4:8] == bytes(4), "a time would make other bytes each time"
    net.write_bif(str(path))
    assert path.read_bytes() == first
    assert os.listdir(tmp_path) == [file]


ODD = [
    "<",
    ">=5",
    "0.5-2",
    "+",
    "-",
    ".",
    "a b",
    " ",
    "a/b",
    "//",
    "a//b",
    "/*",
    "*/",
    "http://x",
    "é",
    "日本",
    "'",
]
ODD += [
    "table",
    "default",
    "property",
    "type",
    "network",
    "variable",
    "probability",
    "discrete",
    "1",
    "0.5",
    "nan",
]
ODD += [
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    "|",
    "a,b",
    "\\",
    "\t",
    "\u2028",
    "\x85",
    "\ufeff",
    "🙂",
    "#",
    "=",
    "%",
]
words = st.sampled_from(ODD) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters='"\r\n') | st.sampled_from("/* |"), min_size=1
)


@given(st.integers(0, 2**32), st.integers(1, 5), st.data())
@settings(max_examples=200)
def test_odd_names_and_labels_read_back_exactly(seed: int, d: int, data: st.DataObject) -> None:
    net = random_network(np.random.default_rng(seed), d)
    names = data.draw(st.lists(words, min_size=d, max_size=d, unique=True))
    states = [data.draw(st.lists(words, min_size=len(s), max_size=len(s), unique=True)) for s in net.states]
    odd = Network(
        tuple(names), tuple(map(tuple, states)), net.parents, net.cpts, name=data.draw(words | st.just(""))
    )
    assert same(reread(odd), odd)
    assert reread(odd).name == odd.name


@given(st.lists(st.floats(0, 1e300, allow_subnormal=True), min_size=1, max_size=5).filter(any))
@example([5e-324, 1.0])
@example([0.1] * 10)
@example([1 + 1e-10, 1e-10])
def test_every_probability_reads_back_exactly(weights: list[float]) -> None:
    cpt = np.array([weights]) / max(weights)
    cpt /= cpt.sum()
    states = (tuple(f"s{k}" for k in range(len(weights))),)
    for off in (1, 1 + 1e-10, 1 - 1e-11):  # a network accepts, and mends, what is almost 1
        net = Network(("a",), states, ((),), (cpt * off,))
        assert same(reread(net), net)
        assert same(Network.from_json(net.to_json()), net)


def test_bif_is_quoted_only_where_it_must_be() -> None:
    """Foreign readers know few quotes; rows for variables with parents, a table for roots, as bnlearn has it."""
    half = np.array([[0.5, 0.5]])
    states = (("<5", "a/b"), ("a b", "no"))
    net = Network(("x-1", "y.2"), states, ((), (0,)), (half, np.array([[1e-05, 0.99999], [1, 0]])), name="n")
    assert net.to_bif().splitlines() == [
        "network n {",
        "}",
        "variable x-1 {",
        "  type discrete [ 2 ] { <5, a/b };",
        "}",
        "variable y.2 {",
        '  type discrete [ 2 ] { "a b", no };',
        "}",
        "probability ( x-1 ) {",
        "  table 0.5, 0.5;",
        "}",
        "probability ( y.2 | x-1 ) {",
        "  (<5) 1e-05, 0.99999;",
        "  (a/b) 1.0, 0.0;",
        "}",
    ]


def test_labels_that_are_not_text_are_spelled_in_bif() -> None:
    half = np.array([[0.5, 0.5]])
    net = Network(("a", "b"), ((0, 1), (False, 1.5)), ((), ()), (half, half))
    assert reread(net).states == (("0", "1"), ("False", "1.5"))
    with pytest.raises(ValueError, match="states 1 and '1' of 'a' are the same text"):
        Network(("a",), ((1, "1"),), ((),), (half,)).to_bif()


@pytest.mark.parametrize("wrong", ['5"', "a\nb", "\r", "", "\ud800"])
def test_what_bif_cannot_say_is_refused(wrong: str) -> None:
    half = np.array([[0.5, 0.5]])
    for names, labels, name, what in [
        ((wrong,), ("x", "y"), "", "variable name"),
        (("a",), ("x", wrong), "", "state of 'a'"),
        (("a",), ("x", "y"), wrong, "network name"),
    ]:
        if name == "" and what == "network name":
            continue
        with pytest.raises(ValueError, match=r"cannot be written as BIF.*: rename it") as caught:
            Network(names, (labels,), ((),), (half,), name=name).to_bif()
        assert f"the {what} {wrong!r} " in str(caught.value)
    with pytest.raises(ValueError, match="without variables"):
        Network((), (), (), ()).to_bif()
    with pytest.raises(ValueError, match=r"the variable name 1 is int: rename it to text"):
        Network((1,), (("x", "y"),), ((),), (half,)).to_bif()  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"the network name 1\.5 is float: rename it"):
        Network(("a",), (("x", "y"),), ((),), (half,), name=1.5).to_bif()  # type: ignore[arg-type]


def test_text_beyond_memory_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    half = np.array([[0.5, 0.5]])
    net = Network(("a", "b"), (("x", "y"),) * 2, ((), (0,)), (half, half.repeat(2, axis=0)))
    monkeypatch.setattr(memory, "available", lambda: 100)
    assert net.to_bif()  # so little is not looked at
    monkeypatch.setattr(bif, "SMALL", 1)
    with pytest.raises(MemoryError, match=r"the network as BIF text needs .*: remove parents or merge states"):
        net.to_bif()


@pytest.mark.parametrize(("where", "failing"), [(os, "fsync"), (Path, "replace")])
def test_a_failed_write_leaves_what_was_there(
    where: object, failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "net.bif"
    load_network("asia").write_bif(path)
    before = path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(where, failing, fail)
    with pytest.raises(OSError, match="no space left"):
        load_network("cancer").write_bif(path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["net.bif"]


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no folder '.*none': make it first"):
        load_network("asia").write_bif(tmp_path / "none" / "net.bif")
    with pytest.raises(OSError, match=str(tmp_path.name)):
        load_network("asia").write_bif(tmp_path)
    assert os.listdir(tmp_path) == []


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


def test_labels_of_any_plain_type() -> None:
    half = np.array([[0.5, 0.5]])
    net = Network(("a", "b", "c"), ((np.int64(0), 1), (False, True), (0.5, "x")), ((),) * 3, (half,) * 3)
    for one in (net, Network.from_json(net.to_json()), Network.from_dict(net.to_dict())):
        assert one.states == ((0, 1), (False, True), (0.5, "x"))
        assert [type(label) for labels in one.states for label in labels] == [int, int, bool, bool, float, str]
    assert net.sample(5, random_state=0).states == net.states
    with pytest.raises(ValueError, match=r"'a'.*nan.*give missing values a label"):
        Network(("a",), ((0, math.nan),), ((),), (half,))


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


def deep(n: int) -> object:
    found: object = 0.5
    for _ in range(n):
        found = [found]
    return found


ASIA = load_network("asia").to_dict()
JUNK = [None, False, 0, 1.5, math.nan, "", "ab", [], {}, [None], [[]], ["a", [1]], {"a": []}, 10**400, deep(500)]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: repr(junk)[:20])
def test_a_document_with_junk_in_it_is_refused(junk: object) -> None:
    """Junk is the whole, an entry of the whole, a variable, or an entry of a variable."""
    first, *others = ASIA["variables"]
    documents = [junk, *({**ASIA, key: junk} for key in ASIA)]
    documents += [{**ASIA, "variables": [junk, *others]}, {**ASIA, "variables": [*others, junk]}]
    for key in ("name", "states", "parents", "cpt"):
        changed = [{**first, key: value} for value in (junk, [junk], [first[key], junk], [[junk]])]
        documents += [{**ASIA, "variables": [own, *others]} for own in changed]
    legal = [{**ASIA, key: junk} for key in ("name", "citation") if isinstance(junk, str)]
    legal += [ASIA, {**ASIA, "variables": []}]
    for content in [own for own in documents if own not in legal]:
        with pytest.raises(ValueError, match=r".") as caught:
            Network.from_dict(content)  # type: ignore[arg-type]
        assert len(str(caught.value)) < 600


def test_faults_of_a_document_are_named_with_the_cure() -> None:
    first, *others = ASIA["variables"]
    for document, what in [
        ([], r"not a brai-network document: it is \[\]: write it with Network\.to_dict or to_json"),
        ({"format": "brai-network", "version": 1}, "variables of the network is None: give a list of variables"),
        ({**ASIA, "variables": {"a": 1}}, r"variables of the network is \{'a': 1\}: give a list"),
        ({**ASIA, "name": 3}, "name of the network is 3: give text"),
    ]:
        with pytest.raises(ValueError, match=what):
            Network.from_dict(document)  # type: ignore[arg-type]
    for change, what in [
        (5, "variable 1 is 5: give an object with name, states, parents and cpt"),
        ({**first, "name": 5}, "name of variable 1 is 5: give text"),
        ({**first, "states": "ab"}, "states of 'asia' is 'ab': give a list of labels"),
        ({**first, "states": ["a", ["b"]]}, r"a state of 'asia' is \['b'\]: give text or numbers"),
        ({**first, "parents": "tub"}, "parents of 'asia' is 'tub': give a list of names"),
        ({**first, "parents": [["tub"]]}, r"parent \['tub'\] of 'asia' is not a variable .*: correct the name"),
        ({**first, "cpt": [["0.5", "0.5"]]}, "CPT of 'asia': '0.5' is not a probability: give rows of numbers"),
        ({**first, "cpt": [[0.5], [0.5, 0.5]]}, "CPT of 'asia': .*: give rows of numbers, of equal length"),
        ({**first, "cpt": [[10**400, 0]]}, "CPT of 'asia': .*: give rows of numbers"),
        ({**first, "cpt": [[1e308, 1e308]]}, "CPT of 'asia': probabilities sum to inf instead of 1"),
        (
            {k: v for k, v in first.items() if k != "cpt"},
            "CPT of 'asia': cpt of the variable is None: give a list",
        ),
    ]:
        with pytest.raises(ValueError, match=what):
            Network.from_dict({**ASIA, "variables": [change, *others]})
    with pytest.raises(ValueError, match="not unique: 'tub' is given twice, rename one"):
        Network.from_dict({**ASIA, "variables": [first, *others, others[0]]})
    flat = {**first, "cpt": first["cpt"][0]}  # one row need not be a list of rows
    assert same(Network.from_dict({**ASIA, "variables": [flat, *others]}), load_network("asia"))


PLAIN = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.sampled_from(["asia", 1])
)
KEYS = st.sampled_from([*ASIA, "name", "states", "parents", "cpt"]) | st.text(max_size=3)
VALUES = st.recursive(PLAIN, lambda own: st.lists(own, max_size=3) | st.dictionaries(KEYS, own, max_size=5))


@given(VALUES, st.lists(st.tuples(st.integers(0, 7), KEYS, VALUES), max_size=3), st.data())
@settings(max_examples=500)
def test_junk_raises_nothing_but_value_error(
    junk: object, changes: list[tuple[int, str, object]], data: st.DataObject
) -> None:
    document = json.loads(json.dumps(ASIA))
    for i, key, value in changes:
        data.draw(st.sampled_from([document, document["variables"][i]]))[key] = value
        if not isinstance(document["variables"], list) or len(document["variables"]) != 8:
            break
    head = {key: ASIA[key] for key in ("format", "version")}
    for content in (junk, document, {**junk, **head} if isinstance(junk, dict) else {**head, "variables": junk}):
        with contextlib.suppress(ValueError):
            assert isinstance(Network.from_dict(content), Network)  # type: ignore[arg-type]
        with contextlib.suppress(ValueError):
            assert isinstance(Network.from_json(json.dumps(content)), Network)


def test_parents_beyond_number_are_refused() -> None:
    """2¹⁵⁰⁰⁰ configurations: Python does not even spell that."""
    half = [[0.5, 0.5]]
    roots = [{"name": f"v{k}", "states": [0, 1], "parents": [], "cpt": half} for k in range(15_000)]
    child = {**roots[0], "name": "c", "parents": [v["name"] for v in roots]}
    with pytest.raises(ValueError, match=r"CPT of 'c' has shape \(1, 2\), its family needs \(over 1e\+300, 2\)"):
        Network.from_dict({**ASIA, "variables": [*roots, child]})


DEEP = "[" * 100_000


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "cannot be read as JSON: .*: give a brai-network document"),
        ("{", "cannot be read as JSON"),
        (DEEP, "nested too deeply: give a brai-network document"),
        ('{"format": "brai-network", "version": ' + DEEP, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("1" * 5000, "cannot be read as JSON"),
        ("[]", r"it is \[\]"),
        ("null", "it is None"),
        ('{"format": "brai-graph"}', "its format is 'brai-graph'"),
    ],
    ids=range(9),
)
def test_json_that_is_no_network(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=what):
        Network.from_json(text)
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"x\.json: .*{what}"):
        load_network(path)


def test_a_json_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"{\n\xe6")
    with pytest.raises(ValueError, match=r"x\.json, line 2: not UTF-8 text .*; save it as UTF-8"):
        load_network(path)


def test_variables_are_found_by_an_index() -> None:
    class Searched(tuple):  # type: ignore[type-arg]
        def __contains__(self, one: object) -> bool:
            raise AssertionError("the names are searched")

        def index(self, *_: object) -> int:
            raise AssertionError("the names are searched")

    asia = load_network("asia")
    slow = dataclasses.replace(asia, names=Searched(asia.names))
    expected = asia.marginal(["lung", "smoke"], do={"tub": "no"})
    np.testing.assert_array_equal(slow.marginal(["lung", "smoke"], do={"tub": "no"}), expected)


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "parameters", "author"),
    [  # free parameters as listed by the bnlearn repository
        ("asia", 8, 8, 18, "Lauritzen"),
        ("cancer", 5, 4, 10, "Korb"),
        ("alarm", 37, 46, 509, "Beinlich"),
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
    monkeypatch.delitem(sys.modules, "pgmpy", raising=False)  # another test may have imported it
    assert load_network("Rain").names[0] == "rain"
    assert "pgmpy" not in sys.modules
    for unknown in ("sun", "../example_models/rain", str(tmp_path / "rain.bif")):
        with pytest.raises(ValueError, match="alarm, asia, cancer, earthquake, sachs, survey"):
            load_network(unknown)


def test_unknown_network_says_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"no network 'child'.*path of a \.bif.*pip install pgmpy"):
        load_network("child")


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


# ---------------------------------------------------------------- parameters from data


def random_table(rng: np.random.Generator, d: int, n: int) -> Dataset:
    arities = rng.integers(1, 4, size=d)
    codes = rng.integers(0, arities, size=(n, d))
    states = [list(range(10, 10 + r)) if rng.random() < 0.5 else [f"s{k}" for k in range(r)] for r in arities]
    return Dataset.from_codes(codes, arities=arities.tolist(), names=[f"v{i}" for i in range(d)], states=states)


def by_hand(dag: PDAG, data: Dataset, child: str, ess: float) -> list[list[float]]:
    """The formula, counted row by row, in fractions."""
    states = dict(zip(data.names, data.states, strict=True))
    rows = [
        {name: data.states[i][data.codes[i, r]] for i, name in enumerate(data.names)} for r in range(data.n_rows)
    ]
    own = [name for name in dag.names if name in dag.parents(child)]
    r, q = len(states[child]), math.prod(len(states[p]) for p in own)
    cpt = []
    for config in itertools.product(*(states[p] for p in own)):
        matching = [row[child] for row in rows if tuple(row[p] for p in own) == config]
        below = len(matching) + Fraction(ess) / q
        each = [matching.count(label) + Fraction(ess) / (q * r) for label in states[child]]
        cpt.append([float(n / below) if below else 1 / r for n in each])
    return cpt


@given(
    st.integers(0, 2**32),
    st.integers(1, 5),
    st.integers(1, 40),
    st.sampled_from([0, 0.0, 1, 1.0, 0.3, 50.0, np.float32(2.5), 5e-324, 1e308]) | st.floats(0, 100),
)
@settings(max_examples=200)
def test_fit_is_the_posterior_mean(seed: int, d: int, n: int, ess: float) -> None:
    rng = np.random.default_rng(seed)
    data = random_table(rng, d, n)
    names = tuple(data.names[i] for i in rng.permutation(d))  # another order than the columns
    dag = PDAG(names, random_dag(rng, d, 0.6))
    net = Network.fit(dag, data, ess=ess, name="mine")
    assert (net.names, net.name) == (names, "mine")
    assert net.pdag == dag
    for i, name in enumerate(names):
        assert net.states[i] == data.states[data.names.index(name)]
        np.testing.assert_allclose(net.cpts[i], by_hand(dag, data, name, float(ess)), rtol=1e-12, atol=1e-300)
    assert same(Network.from_json(net.to_json()), net)


def test_maximum_likelihood_and_unseen_configurations() -> None:
    """ess=0 is the relative frequency; no data, no opinion."""
    X = {"a": ["x", "x", "x", "y"], "b": [0, 0, 1, 1]}
    dag = PDAG.from_edges("ab", [("a", "b")])
    states = {"a": ["x", "y", "z"]}
    net = Network.fit(dag, Dataset.of(X, states=states), ess=0)
    np.testing.assert_array_equal(net.cpts[0], [[0.75, 0.25, 0]])
    np.testing.assert_array_equal(net.cpts[1], [[2 / 3, 1 / 3], [0, 1], [0.5, 0.5]])
    smooth = Network.fit(dag, Dataset.of(X, states=states))  # ess=1
    np.testing.assert_allclose(smooth.cpts[0], [[(3 + 1 / 3) / 5, (1 + 1 / 3) / 5, 1 / 15]])
    np.testing.assert_allclose(smooth.cpts[1][2], [0.5, 0.5])


def test_fit_recovers_the_network_it_was_sampled_from() -> None:
    sachs = load_network("sachs")
    found = Network.fit(sachs.pdag, sachs.sample(200_000, random_state=0))
    for name, own, theirs in zip(sachs.names, sachs.parents, found.parents, strict=True):
        i = sachs.names.index(name)
        assert set(own) == set(theirs)
        exact = sachs.marginal([sachs.names[p] for p in (*theirs, i)])
        np.testing.assert_allclose(found.marginal([sachs.names[p] for p in (*theirs, i)]), exact, atol=0.006)


@pytest.mark.parametrize("ess", [-1, -1e-9, math.nan, math.inf, True, False, "1", None, 1j, np.True_])
def test_ess_is_checked(ess: object) -> None:
    with pytest.raises(ValueError, match=r"ess is .*: give an equivalent sample size of 0 or more, or 'table'"):
        Network.fit(PDAG.from_edges("a"), {"a": [0, 1]}, ess=ess)  # type: ignore[arg-type]


def test_fit_needs_a_dag_over_the_columns() -> None:
    X = {"a": [0, 1], "b": [0, 1]}
    for graph in (
        PDAG.from_edges("ab", undirected=[("a", "b")]),
        PDAG.from_edges("abc", [("a", "b"), ("b", "c"), ("c", "a")]),
    ):
        with pytest.raises(ValueError, match=r"need a DAG, got <PDAG: .*graph\.to_dag\(\)"):
            Network.fit(graph, X)
    with pytest.raises(ValueError, match=r"\['c'\] are in the graph only, \['b'\] in the data only: give"):
        Network.fit(PDAG.from_edges("ac"), X)
    with pytest.raises(ValueError, match=r"\[\] are in the graph only, \['b'\] in the data only"):
        Network.fit(PDAG.from_edges("a"), X)
    with pytest.raises(DataError, match="'a' has 1 missing value"):
        Network.fit(PDAG.from_edges("ab"), {**X, "a": [0, None]})


def test_a_table_beyond_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"p{i}" for i in range(40)]
    X = Dataset.from_codes(np.zeros((3, 41), int), arities=[2] * 41, names=[*names, "child"])
    dag = PDAG.from_edges([*names, "child"], [(name, "child") for name in names])
    with pytest.raises(MemoryError, match=r"'child' given its parents \['p0'.* 2\.2e\+12 cells, .*5e\+07: remove"):
        Network.fit(dag, X)
    small = PDAG.from_edges("abc", [("a", "c"), ("b", "c")])
    Y = Dataset.from_codes(np.zeros((3, 3), int), arities=[2, 3, 4], names="abc")
    monkeypatch.setattr(network_module, "_MAX_CELLS", 24)
    assert Network.fit(small, Y).cpts[2].size == 24
    monkeypatch.setattr(network_module, "_MAX_CELLS", 23)
    with pytest.raises(MemoryError, match="24 cells"):
        Network.fit(small, Y)
    monkeypatch.undo()
    monkeypatch.setattr(memory, "available", lambda: 100)
    monkeypatch.setattr(bif, "SMALL", 23)
    with pytest.raises(MemoryError, match=r"'c' given its parents \['a', 'b'\] has 24 cells and needs .*: remove"):
        Network.fit(small, Y)


def test_a_table_beyond_every_number_is_refused() -> None:
    names = [f"p{i}" for i in range(1100)]
    X = Dataset.from_codes(np.zeros((3, 1101), int), arities=[2] * 1101, names=[*names, "child"])
    dag = PDAG.from_edges([*names, "child"], [(name, "child") for name in names])
    with pytest.raises(
        MemoryError, match=r"'child' given its parents .* would have over 1e\+300 cells, more than"
    ):
        Network.fit(dag, X)


def test_a_sample_beyond_memory_is_refused() -> None:
    with at_most(1e7), pytest.raises(MemoryError, match=r"a sample of 1000000000000 rows needs .*: draw fewer"):
        load_network("asia").sample(10**12)


# ---------------------------------------------------------------- log probability


@given(st.integers(0, 2**32), st.integers(1, 5))
@settings(max_examples=60)
def test_log_prob_is_the_log_of_the_joint_and_adds_up_to_one(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    net = random_network(rng, d)
    table = joint(net)
    rows = [[net.states[i][code] for i, code in enumerate(codes)] for codes in table]
    found = net.log_prob(rows)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, np.log(list(table.values())), rtol=1e-12, atol=1e-12)
    assert np.exp(found).sum() == pytest.approx(1, abs=1e-12)
    frame = pd.DataFrame(rows, columns=net.names)[[net.names[i] for i in rng.permutation(d)]]
    np.testing.assert_array_equal(net.log_prob(frame), found)


def test_log_prob_of_what_cannot_happen() -> None:
    asia = load_network("asia")
    row = {name: ["no"] for name in asia.names}
    assert asia.log_prob({**row, "lung": ["yes"]}).tolist() == [-math.inf]  # either = no
    assert -5 < asia.log_prob(row)[0] < 0


def test_log_prob_of_numbers_where_labels_are_text() -> None:
    half = np.array([[0.25, 0.75]])
    net = Network(("a", "b"), (("0", "1"), ("False", "True")), ((), ()), (half, half))
    expected = np.log([0.25 * 0.75, 0.75 * 0.25])
    for X in (
        {"b": [True, False], "a": [0, 1]},
        {"b": ["True", "False"], "a": [0.0, 1.0]},
        pl.DataFrame({"a": [0, 1], "b": [True, False]}),
        np.array([[0, True], [1, False]], dtype=object),
        Dataset.of({"a": [0, 1], "b": [True, False]}),
    ):
        np.testing.assert_allclose(net.log_prob(X), expected)


# ---------------------------------------------------------------- Dataset.conforming

LIKE = Dataset.of({"a": ["x", "y", "x"], "n": [3, 1, 2]}, states={"a": ["y", "x", "w"]})


def test_conforming_takes_names_states_and_order_of_the_other(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n,a\n2,x\n1.0,y\n")
    X = {"n": [2, 1], "a": ["x", "y"]}
    for table in (
        X,
        pd.DataFrame(X, index=[5, 5]),
        pl.LazyFrame(X),
        pd.DataFrame({"n": pd.Categorical([2, 1], categories=[7, 2, 1]), "a": X["a"]}),
        Dataset.of(X),
        Dataset.of(X, states={"n": [9, 2, 1]}),
        [["x", 2], ["y", 1]],
        (("x", 2.0), ("y", 1.0)),
        np.array([["x", 2], ["y", 1]], dtype=object),
        path,
        str(path),
    ):
        data = Dataset.conforming(table, LIKE)
        assert (data.names, data.states) == (LIKE.names, LIKE.states)
        np.testing.assert_array_equal(data.codes, [[1, 0], [1, 0]])
    assert Dataset.conforming(LIKE, LIKE) is LIKE
    again = Dataset.of({"a": ["y"], "n": [2]}, states={"a": LIKE.states[0], "n": LIKE.states[1]})
    assert Dataset.conforming(again, LIKE) is again
    numbered = Dataset.of(pd.DataFrame([["x", 1], ["y", 2]]))  # names "0" and "1"
    assert Dataset.conforming(pd.DataFrame({1: [2], 0: ["x"]}), numbered).codes.tolist() == [[0], [1]]
    turned = LIKE.select(["n", "a"])
    np.testing.assert_array_equal(Dataset.conforming(turned, LIKE).codes, LIKE.codes)


def test_conforming_matches_text_that_spells_a_value(tmp_path: Path) -> None:
    like = Dataset.of({"a": ["0", "1", "1.5", "(0, 1]", "True", "nan"]}, na=[])
    values = [0, 1.0, 1.5, "1", np.int64(1), pd.Interval(0, 1), True]
    found = Dataset.conforming({"a": values}, like)
    assert [like.states[0][code] for code in found.codes[0]] == ["0", "1", "1.5", "1", "1", "(0, 1]", "True"]
    cut = pd.DataFrame({"a": pd.cut([0.5], [0, 1, 2])})
    assert like.states[0][Dataset.conforming(cut, like).codes[0, 0]] == "(0, 1]"
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n0\n")
    assert [like.states[0][code] for code in Dataset.conforming(path, like).codes[0]] == ["1", "0"]
    numbers = Dataset.of({"a": [3, 5]})
    assert Dataset.conforming({"a": ["5", "3"]}, numbers).codes.tolist() == [[1, 0]]
    mixed = Dataset.of({"a": [1]}, states={"a": ["1", 1]})
    assert Dataset.conforming({"a": [1, "1"]}, mixed).codes.tolist() == [[1, 0]], (
        "equal comes before spelled alike"
    )


@pytest.mark.parametrize(
    ("X", "what"),
    [
        ({"a": ["x"]}, r"lacks \['n'\], its columns are \['a'\]: give a column"),
        ({"A": ["x"], "N": [1]}, r"lacks \['a', 'n'\], its columns are \['A', 'N'\]"),
        ({"a": ["x"], "n": [1], "z": [0], "b": [0]}, r"extra columns \['z', 'b'\], .*\['a', 'n'\]: drop"),
        (np.zeros((2, 3), int), r"3 columns without names for the 2 variables \['a', 'n'\]: give one each"),
        ([["x"]], r"1 column without names for the 2 variables"),
        (
            {"a": ["x", "x", "q", "q"], "n": [1, 1, 1, 1]},
            r"^column 'a' holds 'q' in row 3, which is not among its states \['y', 'x', 'w'\]: "
            r"fit on Dataset.of\(X, states=\{column: labels\}\) with all labels, or drop those rows$",
        ),
        (Dataset.of({"a": ["x"], "n": [9]}), r"'n' holds 9 in row 1, .*\[1, 2, 3\]: fit on"),
        ({"a": ["x"], "n": ["7"]}, r"'n' holds '7' in row 1, .*\[1, 2, 3\]"),
        ({"a": ["x", None], "n": [1, 1]}, "'a' has 1 missing value, the first in row 2: drop"),
        ({"a": ["x", "x"], "n": [1, math.nan]}, "'n' has 1 missing value, the first in row 2"),
        ({"a": ["x", "x"], "n": [1]}, "'n' has 1 row, but column 'a' has 2"),
        (pd.DataFrame([["x", "x", 1]], columns=["a", "a", "n"]), "'a'.*rename or drop"),
        (np.zeros((0, 2), int), "no rows"),
    ],
)
def test_conforming_names_what_does_not_fit(X: object, what: str) -> None:
    with pytest.raises(DataError, match=what):
        Dataset.conforming(X, LIKE)


def test_missing_is_missing_even_where_a_label_spells_it() -> None:
    like = Dataset.of({"a": ["nan", "None"]}, na=[])
    for value in (math.nan, None):
        with pytest.raises(DataError, match="1 missing value, the first in row 1"):
            Dataset.conforming({"a": [value]}, like)


def test_long_lists_are_cut() -> None:
    like = Dataset.from_codes(np.zeros((1, 500), int))
    with pytest.raises(DataError) as caught:
        Dataset.conforming({"b": [0]}, like)
    assert len(str(caught.value)) < 250


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


@pytest.mark.skipif(
    "BRAI_DATA" not in os.environ, reason="set BRAI_DATA to the folder that holds networks/*.bif.gz"
)
def test_repository_networks_are_written_and_read_back_exactly(tmp_path: Path) -> None:
    paths = sorted(Path(os.environ["BRAI_DATA"], "networks").glob("*.bif.gz"))
    assert paths
    for path in paths:
        net = Network.read_bif(path)
        net.write_bif(tmp_path / path.name)
        again = Network.read_bif(tmp_path / path.name)
        assert same(again, net), path.name
        assert same(dataclasses.replace(net), net), "the constructor changes nothing that was read"


def test_a_network_in_one_line() -> None:
    assert repr(load_network("asia")) == "Network('asia', 8 variables, 8 edges, 18 free parameters)"
