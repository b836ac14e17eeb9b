"""Dataset: one table from every source, every refusal with column, value and cure, bootstrap weights."""

from __future__ import annotations

import builtins
import datetime
import gzip
import io
import pickle
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from brai.data.dataset import DataError, Dataset

TABLE = {"size": ["s", "l", "m", "s"], "n": [10, 9, -3, 10], "one": ["k", "k", "k", "k"]}
STATES = (("l", "m", "s"), (-3, 9, 10), ("k",))
CODES = [[2, 0, 1, 2], [2, 1, 0, 2], [0, 0, 0, 0]]
ROWS = [list(row) for row in zip(*TABLE.values(), strict=True)]
CSV = "size,n,one\ns,10,k\nl,9,k\nm,-3,k\ns,10,k\n"


def decoded(data: Dataset) -> dict[str, list[object]]:
    return {
        name: [states[code] for code in codes]
        for name, states, codes in zip(data.names, data.states, data.codes, strict=True)
    }


def assert_same(one: Dataset, other: Dataset) -> None:
    assert one.names == other.names
    assert one.states == other.states
    assert [list(map(type, s)) for s in one.states] == [list(map(type, s)) for s in other.states]
    assert one.codes.dtype == other.codes.dtype
    np.testing.assert_array_equal(one.codes, other.codes)


def write(path: Path, text: str | bytes) -> Path:
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def parquet_bytes(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def error(*parts: str) -> pytest.RaisesExc[DataError]:
    """A DataError of one sentence that holds these parts (column, value, cure), in this order."""
    return pytest.raises(DataError, match="^.*" + ".*".join(map(re.escape, parts)) + r".*(?<!\.)$")


# ---- the same table from every source ----


@pytest.mark.parametrize(
    "X",
    [
        TABLE,
        pd.DataFrame(TABLE),
        pd.DataFrame(TABLE).astype({"size": object, "n": float}),
        pd.DataFrame(TABLE, index=[7, 7, 1, 0]).astype({"size": "string", "n": "Int64"}),
        pl.DataFrame(TABLE),
        pl.LazyFrame(TABLE),
        pl.DataFrame(TABLE).cast({"size": pl.Categorical, "n": pl.Int8}),
        pa.table(TABLE),
        pa.table({**TABLE, "n": pa.array(TABLE["n"], pa.float32())}),
        {"size": np.array(TABLE["size"]), "n": pd.Series(TABLE["n"]), "one": tuple(TABLE["one"])},
        {
            "size": pl.Series(TABLE["size"]),
            "n": np.array(TABLE["n"], dtype=">i2"),
            "one": np.array(["k"] * 4, "T"),
        },
    ],
    ids=lambda X: type(X).__module__.split(".")[0],
)
def test_of_reads_every_kind_of_table_alike(X: object) -> None:
    data = Dataset.of(X)
    assert data.names == ("size", "n", "one")
    assert data.states == STATES
    assert [type(s[0]) for s in data.states] == [str, int, str]
    np.testing.assert_array_equal(data.codes, CODES)
    assert data.codes.dtype == np.uint8


@pytest.mark.parametrize("X", [ROWS, tuple(map(tuple, ROWS)), np.array(ROWS, dtype=object)], ids=["l", "t", "np"])
def test_tables_without_names(X: object) -> None:
    data = Dataset.of(X)
    assert data.names == ("x0", "x1", "x2")
    assert_same(Dataset.of(X, names=list(TABLE)), Dataset.of(TABLE))


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, np.float64, object])
def test_numpy_codes_of_any_type(dtype: type) -> None:
    X = np.array([[3, 0], [1, 0], [3, 1]], dtype=dtype)
    data = Dataset.of(X)
    assert data.states == ((1, 3), (0, 1))
    assert all(type(label) is int for states in data.states for label in states)
    np.testing.assert_array_equal(data.codes, [[1, 0, 1], [0, 0, 1]])


def test_numpy_text_and_bool() -> None:
    assert Dataset.of(np.array([["b", "x"], ["a", "x"]])).states == (("a", "b"), ("x",))
    (states,) = Dataset.of(np.array([[True], [False]])).states
    assert states == (False, True)
    assert all(type(label) is bool for label in states)


TEXTS = {
    "t.csv": CSV,
    "t.CSV": CSV.replace("\n", "\r\n"),
    "t.csv.gz": CSV,
    "t.2024.csv": CSV.replace(",", ";"),
    "t.tsv": CSV.replace(",", "\t"),
    "t.tsv.gz": CSV.replace(",", "\t"),
    "t.txt": CSV.replace(",", "|"),
    "u.txt": CSV.replace(",", " "),
    "t.txt.gz": CSV.replace(",", "\t"),
    "bom.csv": "\ufeff" + CSV,
    "spaces.csv": CSV.replace(",", " , "),
    "quoted.csv": CSV.replace("s,", '"s", ').replace("one", '"one"'),
    "blank.csv": CSV.replace("l,", "\nl,") + "\n\n",
    "noend.csv": CSV.rstrip(),
    "whole.csv": CSV.replace("10", "10.0"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_files(name: str, tmp_path: Path) -> None:
    path = write(tmp_path / name, TEXTS[name])
    assert_same(Dataset.from_file(path), Dataset.of(TABLE))
    assert_same(Dataset.of(str(path)), Dataset.of(TABLE))


@pytest.mark.parametrize("name", ["t.parquet", "t.parquet.gz"])
@pytest.mark.parametrize("without_pyarrow", [False, True])
def test_parquet(name: str, without_pyarrow: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / name, parquet_bytes(pa.table(TABLE)))
    if without_pyarrow:
        hide(monkeypatch, "pyarrow")
    assert_same(Dataset.from_file(path), Dataset.of(TABLE))


def hide(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    real = builtins.__import__

    def fake(name: str, *args: object, **kwargs: object) -> object:
        if name.split(".")[0] in modules:
            raise ImportError(name)
        return real(name, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", fake)


def test_parquet_needs_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t.parquet", parquet_bytes(pa.table(TABLE)))
    hide(monkeypatch, "pyarrow", "polars")
    with pytest.raises(ImportError, match=r"pyarrow or polars.*pip install"):
        Dataset.from_file(path)


@pytest.mark.parametrize("end", ["\n", "\n\n", "\n\n\n\n", "\r\n\r\n", ""])
def test_empty_lines_at_the_end_are_no_cells_of_one_column(end: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a\nx\n\ny" + end)
    assert Dataset.from_file(path, missing="label").to_dict() == {"a": ["x", "missing", "y"]}


def test_delimiter_given(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", CSV.replace(",", "#"))
    assert_same(Dataset.from_file(path, delimiter="#"), Dataset.of(TABLE))


def test_sniffing_takes_the_delimiter_that_cuts_evenly(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a;b,c,d\n1,5;x\n2;y,z,w\n")
    with pytest.warns(UserWarning, match="decimal commas in 'a': read as numbers, 1,5 as 1.5"):
        assert Dataset.from_file(path, kinds={"a": "continuous"}).names == ("a", "b,c,d")


def test_a_dataset_is_returned_as_is() -> None:
    data = Dataset.of(TABLE)
    assert Dataset.of(data) is data
    assert Dataset.of(data, names=["a", "b", "c"]).names == ("a", "b", "c")


def test_a_dataset_can_be_declared_anew() -> None:
    data = Dataset.of(TABLE, states={"n": [0, 10, 9, -3]})
    again = Dataset.of(data, states={"size": ["s", "m", "l", "xl"]}, names=["size", "n", "x"])
    assert again.names == ("size", "n", "x")
    assert again.states == (("s", "m", "l", "xl"), (0, 10, 9, -3), ("k",))
    assert list(decoded(again).values()) == list(TABLE.values())
    assert Dataset.of(data, states={"n": [10, 9, -3]}).states[1] == (10, 9, -3), "0 was never seen"
    with error("'n'", "-3", "add it to states="):
        Dataset.of(data, states={"n": [9, 10]})


# ---- states ----

DECLARED = ["z", "y", "x"]  # z is never seen


@pytest.mark.parametrize(
    "X",
    [
        pd.DataFrame({"a": pd.Categorical(["x", "y", "x"], categories=DECLARED)}),
        pd.DataFrame({"a": pd.Categorical(["x", "y", "x"], categories=DECLARED, ordered=True)}),
        pl.DataFrame({"a": pl.Series(["x", "y", "x"], dtype=pl.Enum(DECLARED))}),
        pa.table({"a": pa.DictionaryArray.from_arrays([2, 1, 2], DECLARED)}),
        {"a": pd.Series(["x", "y", "x"], dtype=pd.CategoricalDtype(DECLARED))},
    ],
    ids=["pandas", "ordered", "polars", "arrow", "series"],
)
def test_declared_categories_keep_order_and_unseen(X: object, tmp_path: Path) -> None:
    data = Dataset.of(X)
    assert data.states == (tuple(DECLARED),)
    np.testing.assert_array_equal(data.codes, [[2, 1, 2]])
    assert Dataset.of(X, states={"a": ["y", "w", "x"]}).states == (("y", "w", "x"),), "states= wins"
    if isinstance(X, pd.DataFrame):
        path = tmp_path / "t.parquet"
        X.to_parquet(path)
        assert_same(Dataset.of(path), data)


def test_categories_of_other_types() -> None:
    frame = pd.DataFrame(
        {
            "i": pd.Categorical([1, 2, 1], categories=[3, 2, 1]),
            "o": pd.Categorical([1, 2, 1], categories=[3, 2, 1], ordered=True),
            "b": pd.Categorical([True, False, True], categories=[True, False]),
            "cut": pd.cut([0.5, 3.5, 1.5], [0, 1, 2, 3, 4]),
        }
    )
    data = Dataset.of(frame)
    assert data.states[:3] == ((3, 2, 1), (3, 2, 1), (True, False))
    assert data.states[3] == ("(0, 1]", "(1, 2]", "(2, 3]", "(3, 4]")
    np.testing.assert_array_equal(data.codes, [[2, 1, 2], [2, 1, 2], [0, 1, 0], [0, 3, 1]])
    assert [type(s[0]) for s in data.states] == [int, int, bool, str]


def test_arrow_dictionary_in_chunks_that_differ() -> None:
    chunks = [pa.array(["y", "x"]).dictionary_encode(), pa.array(["z", "x"]).dictionary_encode()]
    data = Dataset.of(pa.table({"a": pa.chunked_array(chunks)}))
    assert data.states == (("y", "x", "z"),)
    assert decoded(data) == {"a": ["y", "x", "z", "x"]}


def test_polars_categorical_declares_nothing() -> None:
    frame = pl.DataFrame({"a": ["q", "b"], "b": ["z", "a"]}, schema={"a": pl.Categorical, "b": pl.Categorical})
    assert Dataset.of(frame).states == (("b", "q"), ("a", "z"))


def test_explicit_states_allow_any_numbers_and_identifiers() -> None:
    X = pd.DataFrame({"dose": [0.5, 1.0, 0.5] * 7, "id": range(21)})
    data = Dataset.of(X, states={"dose": [1.0, 0.5, 0.25], "id": np.arange(21)})
    assert data.states[0] == (1.0, 0.5, 0.25)
    assert type(data.states[1][0]) is int
    np.testing.assert_array_equal(data.codes[0, :3], [1, 0, 1])


@pytest.mark.parametrize(
    ("cells", "states"),
    [
        ("10 9 -3", (-3, 9, 10)),
        ("10 9 -3.0", (-3, 9, 10)),
        ("1e3 9 9", (9, 1000)),
        ("07 12 12", ("07", "12")),
        ("+3 1 1", ("+3", "1")),
        ("-0 1 1", ("-0", "1")),
        ("12345678901234567890 1 1", ("1", "12345678901234567890")),
        ("x 10 9", ("10", "9", "x")),
        ("True False True", ("False", "True")),
        ("1_0 2_0 1_0", ("1_0", "2_0")),
        ("123456789012345678.0 123456789012345679.0 1", (1, 123456789012345678, 123456789012345679)),
        ("9007199254740993.0 9007199254740992 1", (1, 2**53, 2**53 + 1)),
        ("1e23 1 1", (1, 10**23)),
        ("12345678901234567e1 123456789012345671.0 1", (1, 123456789012345670, 123456789012345671)),
        ("0e99999999999999999999 -0.0 1", (0, 1)),
        ("1e400 1 1", ("1", "1e400")),
        ("1e99999999999999999999 1e400 1", ("1", "1e400", "1e99999999999999999999")),
        ("inf 1 1", ("1", "inf")),
        ("Inf infinity -inf", ("-inf", "Inf", "infinity")),
        ("inf 1.5 inf", ("1.5", "inf")),
        ("١ ٢ ١", ("١", "٢")),
    ],
)
def test_typing_of_text_cells(cells: str, states: tuple[object, ...], tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a\n" + cells.replace(" ", "\n"))
    data = Dataset.from_file(path)
    assert data.states == (states,)
    assert all(type(label) is type(state) for label, state in zip(data.states[0], states, strict=True))


def test_declared_states_of_text_cells(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "i,f,n,e\n1,1.5,NA,\n0,2.0,3,x\n1,1.5,3,x\n")
    declared = {"i": ["2", "1", "0"], "f": [2, 1.5], "n": [3, "NA"], "e": ["x", ""]}
    data = Dataset.from_file(path, states=declared)
    assert data.states == (("2", "1", "0"), (2, 1.5), (3, "NA"), ("x", ""))
    np.testing.assert_array_equal(data.codes, [[1, 2, 1], [1, 0, 1], [1, 0, 0], [1, 0, 0]])
    with error("'i'", "holds 0", "add it to states="):
        Dataset.from_file(path, states={**declared, "i": [1, 2]})
    with error("'n'", "1 missing value", "row 1", 'missing="drop"'):
        Dataset.from_file(path, states={**declared, "n": [3, 4]}, missing="error")


@pytest.mark.parametrize(("n", "dtype"), [(256, np.uint8), (257, np.uint16), (65_536, np.uint16)])
def test_smallest_code_type(n: int, dtype: type) -> None:
    data = Dataset.of({"a": [0, 0], "b": [n - 1, 0]}, states={"b": range(n)})
    assert data.codes.dtype == dtype
    assert data.codes[1, 0] == n - 1


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[object]]:
    n = draw(st.integers(1, 20))
    kinds = st.sampled_from([st.integers(-(2**62), 2**62), st.booleans(), st.text(max_size=3)])
    names = draw(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=4, unique=True))
    return {name: draw(st.lists(draw(kinds), min_size=n, max_size=n)) for name in names}


@given(tables())
def test_codes_decode_to_the_values(table: dict[str, list[object]]) -> None:
    kinds = dict.fromkeys(table, "discrete")
    data = Dataset.of(table, kinds=kinds, na=[])
    assert decoded(data) == table
    for column, values in table.items():
        assert [type(v) for v in decoded(data)[column]] == [type(v) for v in values]
    assert [list(s) for s in data.states] == [sorted(set(v)) for v in table.values()]  # type: ignore[type-var]
    assert_same(
        Dataset.of([list(r) for r in zip(*table.values(), strict=True)], names=table, kinds=kinds, na=[]), data
    )
    assert_same(Dataset.of(pl.DataFrame(table), kinds=kinds, na=[]), data)
    assert_same(Dataset.of(pd.DataFrame(table), kinds=kinds, na=[]), data)


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=20), st.randoms())
def test_declared_states_decode_to_the_values(values: list[int], random: object) -> None:
    declared = list(range(-50, 51))
    random.shuffle(declared)  # type: ignore[attr-defined]
    data = Dataset.of(np.array(values)[:, None], states={"x0": declared})
    assert data.states == (tuple(declared),)
    assert decoded(data) == {"x0": values}


# ---- refusals: values ----

DATES = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2)]


@pytest.mark.parametrize(
    ("X", "number", "row"),
    [
        ({"ok": [1, 2, 3], "a": [1, None, 2]}, "1 missing value,", 2),
        ({"a": ["x", "y", None]}, "1 missing value,", 3),
        ({"a": [float("nan"), 1.0, float("nan")]}, "2 missing values,", 1),
        ({"a": [pd.NA, 1, None, float("nan"), pd.NaT]}, "4 missing values,", 1),
        (np.array([[1.0], [np.nan]]), "1 missing value,", 2),
        (np.ma.masked_equal([[1], [7]], 7), "1 missing value,", 2),
        ({"a": np.ma.masked_equal([1, 7], 7)}, "1 missing value,", 2),
        ([["x"], [None]], "1 missing value,", 2),
        (pd.DataFrame({"a": ["x", None]}), "1 missing value,", 2),
        (pd.DataFrame({"a": pd.array([1, None], "Int64")}), "1 missing value,", 2),
        (pd.DataFrame({"a": pd.array([True, None], "boolean")}), "1 missing value,", 2),
        (pd.DataFrame({"a": pd.Categorical(["x", None])}), "1 missing value,", 2),
        (pd.DataFrame({"a": pd.Categorical([1, None])}), "1 missing value,", 2),
        (pd.DataFrame({"a": pd.cut([0.5, 9], [0, 1])}), "1 missing value,", 2),
        (pl.DataFrame({"a": [1, None]}), "1 missing value,", 2),
        (pl.DataFrame({"a": [1.0, None, float("nan")]}), "2 missing values,", 2),
        (pl.DataFrame({"a": [True, None]}), "1 missing value,", 2),
        (pl.DataFrame({"a": pl.Series(["x", None], dtype=pl.Enum(["x"]))}), "1 missing value,", 2),
        (pl.DataFrame({"a": [None, None]}), "2 missing values,", 1),
        (pa.table({"a": pa.array([1, 2, None]).dictionary_encode()}), "1 missing value,", 3),
        (pa.table({"a": pa.DictionaryArray.from_arrays([0, 1], pa.array([1, None]))}), "1 missing value,", 2),
        (pa.table({"a": pa.array(["x", None])}), "1 missing value,", 2),
        (pa.table({"a": pa.nulls(2)}), "2 missing values,", 1),
    ],
)
def test_missing_values_are_refused(X: object, number: str, row: int) -> None:
    name = "'x0'" if isinstance(X, np.ndarray | list) else "'a'"
    with error(name, number, f"row {row}:", 'missing="drop"', 'missing="label"', "impute"):
        Dataset.of(X, missing="error")


@pytest.mark.parametrize(
    ("text", "number", "row"),
    [
        ("b,a\n1,x\n2,\n", "1 missing value,", 2),
        ("b,a\n1, \n2,\n", "2 missing values,", 1),
        ("b,a\n1,1\n2,NA\n3,nan\n4,\n", "3 missing values,", 2),
        ("b,a\n1,2.0\n2,N/A\n", "1 missing value,", 2),
        ('a\nx\n""\n', "1 missing value,", 2),
        ("a\nx\n\ny\n", "1 missing value,", 2),
        ("\na\n\n\nx\n\n", "2 missing values,", 1),
        ("a\r\nx\r\n\r\n \r\n\r\n", "2 missing values,", 2),
    ],
)
def test_missing_cells_are_refused(text: str, number: str, row: int, tmp_path: Path) -> None:
    with error("'a'", number, f"row {row}:", 'missing="drop"'):
        Dataset.from_file(write(tmp_path / "t.csv", text), missing="error")


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ([1.0, 2.5], "2.5"),
        ([0.0, np.inf], "inf"),
        ([1, 2.5], "2.5"),
        (np.array([1, -0.5], np.float32), "-0.5"),
    ],
)
def test_continuous_columns_are_not_discrete(column: object, value: str) -> None:
    for X in ({"a": column}, pd.DataFrame({"a": column}), pl.DataFrame({"a": column}, strict=False)):
        with error("'a'", value, "not an integer", "discretise", "states="):
            Dataset.of(X, kinds={"a": "discrete"})


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        ("1 1.5", "1.5"),
        ("07 1.5", "1.5"),
        ("1 -1e-3", "-0.001"),
        ("3 1e999 0.5", "0.5"),
        ("1 1.00000000000000000001", "1.00000000000000000001"),
        ("9007199254740993.5 9007199254740993", "9007199254740993.5"),
        ("0 1e-400", "1e-400"),
        ("0 1e-99999999999999999999", "1e-99999999999999999999"),
        (f"0 0.{'0' * 500}1", "0.000"),
    ],
)
def test_continuous_cells_are_not_discrete(cells: str, value: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a\n" + cells.replace(" ", "\n"))
    with error("'a'", f"holds {value}", "not an integer", "discretise"):
        Dataset.from_file(path, kinds={"a": "discrete"})


def test_numbers_that_are_one_as_floats_are_not_one_declared_state(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a\n0.1\n0.5\n0.10\n")
    np.testing.assert_array_equal(Dataset.from_file(path, states={"a": [0.1, 0.5]}).codes, [[0, 1, 0]])
    for cell, states in (("0.10000000000000000001", [0.1, 0.5]), ("1.00000000000000000001", [0.1, 1])):
        path = write(tmp_path / "t.csv", f"a\n{cell}\n0.1\n")
        with error("'a'", f"holds {cell} in row 1", "add it to states="):
            Dataset.from_file(path, states={"a": states})
        assert Dataset.from_file(path, states={"a": [cell, 0.1]}).states == ((cell, 0.1),)


LARGE = [2**53, 2**53 + 1, None, 2**53]


@pytest.mark.parametrize(
    "X",
    [
        {"a": LARGE},
        pd.DataFrame({"a": pd.array(LARGE, "Int64")}),
        pd.DataFrame({"a": pd.array(LARGE, "UInt64")}),
        pd.DataFrame({"a": pd.Series(LARGE, dtype=pd.ArrowDtype(pa.int64()))}),
        pl.DataFrame({"a": LARGE}),
        pa.table({"a": LARGE}),
    ],
    ids=["list", "Int64", "UInt64", "arrow in pandas", "polars", "arrow"],
)
def test_large_integers_beside_missing_ones_are_not_rounded(X: object) -> None:
    data = Dataset.of(X, missing="label")
    assert data.states == ((2**53, 2**53 + 1, "missing"),)
    np.testing.assert_array_equal(data.codes, [[0, 1, 2, 0]])


def test_numbers_beside_missing_ones() -> None:
    for X in (
        pl.DataFrame({"a": [2.0, None, float("nan"), 0.0], "b": [None, True, False, True]}),
        pa.table({"a": [2.0, None, float("nan"), 0.0], "b": [None, True, False, True]}),
        pd.DataFrame({"a": [2.0, None, float("nan"), 0.0], "b": pd.array([None, True, False, True], "boolean")}),
    ):
        data = Dataset.of(X, missing="label")
        assert data.states == ((0, 2, "missing"), (False, True, "missing"))
        np.testing.assert_array_equal(data.codes, [[1, 2, 2, 0], [2, 1, 0, 1]])
        assert [type(label) for label in data.states[1]] == [bool, bool, str]


@pytest.mark.parametrize(
    ("column", "one", "other"),
    [
        (["x", 1], "'x'", "1"),
        ([2, True], "2", "True"),
        ([1.5, "y", 1], "1.5", "'y'"),
        ([False, "n"], "False", "'n'"),
    ],
)
def test_mixed_types_are_refused(column: list[object], one: str, other: str) -> None:
    for X in ({"a": column}, pd.DataFrame({"a": pd.Series(column, dtype=object)})):
        with error("'a'", one, other, "convert all its values to one type"):
            Dataset.of(X)


@pytest.mark.parametrize(
    ("X", "kind"),
    [
        ({"a": DATES}, "date"),
        ({"a": [b"x", b"y"]}, "bytes"),
        ({"a": [[1], [2]]}, "list"),
        ({"a": [1j, 2j]}, "complex"),
        ({"a": np.array(["2024-01-01"], "M8[D]")}, "datetime64[D]"),
        ({"a": np.array([1j])}, "complex128"),
        ({"a": np.array([b"x"])}, "|S1"),
        (pd.DataFrame({"a": pd.to_datetime(["2024-01-01", None])}), "Datetime"),
        (pd.DataFrame({"a": pd.to_timedelta([1, 2])}), "Duration"),
        (pd.DataFrame({"a": pd.period_range("2024", periods=2, freq="D")}), "Period"),
        (pl.DataFrame({"a": DATES}), "Date"),
        (pl.DataFrame({"a": [[1], [2]]}), "List"),
        (pa.table({"a": pa.array([1, 2], pa.decimal128(5, 2))}), "Decimal"),
        (pa.table({"a": [b"x", b"y"]}), "bytes"),
    ],
)
def test_types_without_states_are_refused(X: object, kind: str) -> None:
    with error("'a'", kind, "convert it to text, integers or a category"):
        Dataset.of(X)


def test_identifiers_are_refused() -> None:
    with error("'a'", "21 different values in 21 rows", "from 0 on", "drop it, or name it in kinds="):
        Dataset.of({"a": list(range(21)), "b": [0.5] * 21})
    for values in (list(range(21)), [f"id{i:02}" for i in range(21)]):
        as_labels = {"kinds": {"a": "discrete"}}
        with error("'a'", "21 different values in 21 rows", repr(values[0]), "drop it, or declare it in states="):
            Dataset.of({"a": values}, **as_labels)
        assert Dataset.of({"a": values[:20]}, **as_labels).arities[0] == 20
        with pytest.warns(
            UserWarning, match=r"'a' \(21 different values in 22 rows\), which looks like an identifier: drop it"
        ):
            assert Dataset.of({"a": [*values, values[0]]}, **as_labels).arities[0] == 21
        assert Dataset.of({"a": values * 2}, **as_labels).arities[0] == 21
        assert Dataset.of(pd.DataFrame({"a": pd.Categorical(values)})).arities[0] == 21


def test_missing_values_of_many_columns_are_named_at_once() -> None:
    X = {f"c{i}": [0, 1, None, None] if i else [0, 1, 1, 1] for i in range(13)}
    X["c12"] = [0, None, 1, 1]
    with error("12 columns have missing values ('c1' 2, 'c2' 2,", "'c10' 2 and 2 more), the first in row 2:"):
        Dataset.of(X, missing="error")


def test_rows_with_missing_values_are_dropped() -> None:
    X = {"a": ["x", None, "y", "x"], "b": [1, 2, None, 1], "c": [0, 0, 1, 1]}
    with pytest.warns(UserWarning, match=r"2 of 4 rows dropped: 2 columns have missing values \('a' 1, 'b' 1\)"):
        data = Dataset.of(X, missing="drop")
    assert data.to_dict() == {"a": ["x", "x"], "b": [1, 1], "c": [0, 1]}
    assert data.states[0] == ("x",)
    with error("no row is complete", 'missing="label" makes missing a state'):
        Dataset.of({"a": [None, 1], "b": [0, None]}, missing="drop")


@pytest.mark.parametrize(
    ("X", "states"),
    [
        ({"a": [1.0, None, 0.0]}, (0, 1, "missing")),
        ({"a": ["x", None, "a"]}, ("a", "x", "missing")),
        ({"a": ["missing", "missing", "zebra"]}, ("missing", "zebra")),
        ({"a": pd.Series(pd.Categorical(["x", None], ["missing", "x"]))}, ("missing", "x")),
        ({"a": pd.Series(pd.Categorical(["x", None, "y"], ["y", "x", "z"]))}, ("y", "x", "z", "missing")),
        ({"a": [None, None]}, ("missing",)),
        ({"a": ["x", "y"]}, ("x", "y")),
    ],
)
def test_missing_is_a_state(X: dict[str, list[object]], states: tuple[object, ...]) -> None:
    data = Dataset.of(X, missing="label")
    assert data.states == (states,)
    wanted = ["missing" if pd.isna(value) else value for value in X["a"]]
    assert data.to_dict()["a"] == wanted
    assert Dataset.conforming(X, data).to_dict()["a"] == wanted  # so rows to be predicted may have them too


def test_missing_is_a_state_that_was_declared(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\n1,x\n,y\n")
    data = Dataset.from_file(path, states={"a": ["missing", 1]}, missing="label")
    assert data.states[0] == ("missing", 1)
    np.testing.assert_array_equal(data.codes[0], [1, 0])


BOTH = ["zebra", "missing", None, "missing"]


@pytest.mark.parametrize(
    "X",
    [
        {"a": BOTH},
        pd.DataFrame({"a": pd.Categorical(BOTH)}),
        pl.DataFrame({"a": BOTH}),
        pa.table({"a": pa.array(BOTH).dictionary_encode()}),
    ],
    ids=["list", "pandas", "polars", "arrow"],
)
def test_missing_values_do_not_join_a_label(X: object) -> None:
    with error("'a'", "'missing' in row 2", "1 missing value", "rename it in the data, or list it in states="):
        Dataset.of(X, missing="label")
    with error("'a'", "'missing' in row 2", "rename it"):
        Dataset.of(X, missing="label", states={"a": ["zebra"]})
    data = Dataset.of(X, missing="label", states={"a": ["missing", "zebra"]})
    np.testing.assert_array_equal(data.codes, [[1, 0, 0, 0]])
    np.testing.assert_array_equal(Dataset.conforming(X, data).codes, [[1, 0, 0, 0]])
    with pytest.warns(UserWarning, match="1 of 4 rows dropped"):
        assert Dataset.of(X, missing="drop").n_rows == 3


def test_missing_cells_do_not_join_a_label(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b\nmissing,1\n,2\nx,1\n")
    with error("'a'", "'missing' in row 1", "1 missing value", "rename it in the data, or list it in states="):
        Dataset.from_file(path, missing="label")


def test_what_to_do_with_missing_values_is_checked() -> None:
    with error("missing is 'ignore'", "choose 'impute', 'drop', 'label' or 'error'"):
        Dataset.of({"a": [1]}, missing="ignore")  # type: ignore[arg-type]


def test_a_column_that_was_meant() -> None:
    with error("no column 'ran'", "did you mean 'rain'?"):
        Dataset.of({"rain": [0, 1], "wet": [0, 1]}, states={"ran": [0, 1]})


def test_too_many_states_are_refused() -> None:
    values = [*range(65_537), 0]
    with error("'a'", "65537 states", "merge some or drop it"):
        Dataset.of({"a": values}, kinds={"a": "discrete"})
    with error("'a'", "65537 states", "merge some or drop it"):
        Dataset.of({"a": [1]}, states={"a": range(65_537)})
    with error("'x0'", "1000000000001 states", "merge some or drop it"):
        Dataset.from_codes([[10**12]])
    with error("'a'", "65537 states", "merge some or drop it"):
        wide = {"b": [0] * 65_538, "a": [*range(65_536), 0, None]}
        Dataset.of(wide, missing="label", kinds={"a": "discrete"})


def test_too_many_states_of_a_file_are_refused(tmp_path: Path) -> None:
    values = [f"v{i}" for i in (*range(65_537), 0)]
    paths = (
        write(tmp_path / "t.csv", "b,a\n" + "".join(f"0,{value}\n" for value in values)),
        write(tmp_path / "t.parquet", parquet_bytes(pa.table({"b": [0] * len(values), "a": values}))),
    )
    for path in paths:
        with error("'a'", "65537 states", "merge some or drop it"):
            Dataset.from_file(path)


# ---- refusals: shape, names, states ----


@pytest.mark.parametrize(
    ("X", "parts"),
    [
        (np.arange(3), ["1-D", "rows × columns"]),
        (np.zeros((2, 2, 2)), ["3-D", "rows × columns"]),
        (np.array(1), ["0-D", "rows × columns"]),
        (pd.Series([1, 2]), ["1-D", "to_frame()"]),
        (pl.Series([1, 2]), ["1-D", "to_frame()"]),
        ([1, 2], ["row 1 is 1", "1-D", "list of cells per row"]),
        (["ab", "cd"], ["row 1 is 'ab'", "1-D", "list of cells"]),
        ([[1, 2], [3]], ["row 2", "1 cell, but", "2", "complete it or drop it"]),
        ({"a": [1, 2], "b": [1]}, ["'b'", "1 row, but", "'a'", "2", "equal length"]),
        ({"a": "xy"}, ["'a'", "str", "give a list"]),
        ({"a": 3}, ["'a'", "int", "give a list"]),
        ({"a": pd.Categorical(["x"])}, ["'a'", "Categorical", "a series"]),
        ({"a": np.zeros((2, 2))}, ["'a'", "2-D", "one value per row"]),
        ([], ["no rows", "at least one"]),
        ({}, ["no columns", "at least one"]),
        ({"a": []}, ["no rows", "at least one"]),
        ([[], []], ["no columns", "at least one"]),
        (np.zeros((0, 2)), ["no rows", "at least one"]),
        (np.zeros((2, 0)), ["no columns", "at least one"]),
        (pd.DataFrame(), ["no columns", "at least one"]),
        (pl.DataFrame({"a": []}), ["no rows", "at least one"]),
        (pd.DataFrame({"a": pd.Categorical([], categories=["x"])}), ["no rows", "at least one"]),
        (pa.table({"a": pa.chunked_array([], pa.dictionary(pa.int8(), pa.string()))}), ["no rows"]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ["'a'", "rename or drop the repeated columns"]),
        (pd.DataFrame([[1, 2]], columns=["1", 1]), ["'1'", "rename or drop the repeated columns"]),
        (pa.table([[1], [2]], names=["a", "a"]), ["'a'", "rename or drop the repeated columns"]),
        ({"a": [1], "": [1]}, ["column 2", "empty name ('')", "name it, or drop it"]),
        (pl.DataFrame({"a": [1], " \t": [1]}), ["column 2", "empty name", "name it, or drop it"]),
        ({None: [1]}, ["column 1", "None", "rename it to a str"]),
        (pd.DataFrame([[1]], columns=pd.MultiIndex.from_tuples([("a", "b")])), ["('a', 'b')", "rename it"]),
    ],
)
def test_shapes_and_names_are_checked(X: object, parts: list[str]) -> None:
    with error(*parts):
        Dataset.of(X)


NOT_TEXT = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"x\xff")]
)


@pytest.mark.parametrize(
    ("X", "parts"),
    [
        (pa.table({"a": NOT_TEXT}), ["'a'", r"b'\xff', not UTF-8", "encode its text as UTF-8"]),
        (pa.table({"a": NOT_TEXT.dictionary_encode()}), ["'a'", r"b'\xff', not UTF-8", "encode its text"]),
        (
            pd.DataFrame({"a": pd.Series(NOT_TEXT, dtype=pd.ArrowDtype(pa.string()))}),
            ["'a' cannot be read (", "convert it to text"],
        ),
        (
            pa.table([[1, 2]], schema=pa.schema([pa.field(b"a\xff", pa.int64())])),
            [r"the name b'a\xff', which is not UTF-8", "rename it"],
        ),
    ],
    ids=["text", "category", "pandas", "name"],
)
def test_bytes_that_are_no_text_are_refused(X: object, parts: list[str]) -> None:
    with error(*parts):
        Dataset.of(X)


RED = "\x1b[31mred\x1b[0m\u202e"


class Coloured:
    def __repr__(self) -> str:
        return RED


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.of({RED: [1.5, np.inf], "b": ["x", "y"]}),
        lambda: Dataset.of({RED: [1, None], "b": [1, 1]}, missing="error"),
        lambda: Dataset.of({"a": [RED, None, 1]}, missing="label"),
        lambda: Dataset.of({"a": [RED]}, states={"a": [Coloured()], RED: [1]}),
        lambda: Dataset.of({"a": [RED]}, states={"a": pd.Series([RED, RED])}),
        lambda: Dataset.of({"a": [RED]}, states={"a": Coloured()}),
        lambda: Dataset.of([[1], Coloured()]),
        lambda: Dataset.of([[1]], names=[Coloured()]),
        lambda: Dataset.of({"a": [{RED: 1}]}),
        lambda: Dataset.of(pa.table({"a": [{RED: 1}]})),
        lambda: Dataset.of(pl.LazyFrame({"a": [1]}).select(RED)),
        lambda: Dataset.of({"a": [1]}, missing=RED),  # type: ignore[arg-type]
        lambda: Dataset.of({"a": [1]}).select(RED),
        lambda: Dataset.from_file(f"{RED}.csv"),
        lambda: Dataset.from_file(f"t.{RED}"),
        lambda: Dataset.from_file("t.csv", delimiter=RED),
        lambda: Dataset.from_codes([[1]], arities=[Coloured()]),  # type: ignore[list-item]
    ],
)
def test_messages_are_printable(make: Callable[[], object]) -> None:
    with pytest.raises((DataError, OSError)) as caught:
        make()
    assert str(caught.value).isprintable()


def test_messages_about_files_are_printable(tmp_path: Path) -> None:
    for content in (f'"{RED}",b\n0.5,x\n1\n', 'a\x1bb\n"x"y\x1bz\n', f"{RED},{RED}\n1,2\n", f"a,b\n{RED}\n"):
        with pytest.raises(DataError) as caught:
            Dataset.from_file(write(tmp_path / "t.csv", content), delimiter="\x1b" if '"x"' in content else ",")
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("X", [3, None, {1, 2}, object(), pa.array([1])])
def test_other_types_are_a_type_error(X: object) -> None:
    with pytest.raises(TypeError, match=rf"{type(X).__name__}.*pandas, polars or pyarrow table.*file path"):
        Dataset.of(X)


@pytest.mark.parametrize(
    ("states", "parts"),
    [
        ({"size": ["s", "m"]}, ["'size'", "'l'", "['s', 'm']", "add it to states= or drop those rows"]),
        ({"n": [9, -3, "10"]}, ["'n'", "10", "add it to states="]),
        ({"wide": ["s"]}, ["no column 'wide'", "choose among", "'size'"]),
        ({"size": ["s", "m", "l", "s"]}, ["'size'", "'s' 2 times", "list it once"]),
        ({"n": [10, 9, -3, 9.0]}, ["'n'", "9 2 times", "list it once"]),
        ({"size": "sml"}, ["'size'", "'sml'", "list of labels, in code order"]),
        ({"one": {"k"}}, ["'one'", "{'k'}", "list of labels, in code order"]),
        ({"one": 3}, ["'one'", "3", "list of labels, in code order"]),
        ({"one": ["k", None]}, ["'one'", "None", "give missing values a label"]),
        ({"one": ["k", np.nan]}, ["'one'", "nan", "give missing values a label"]),
        ([["k"]], ["list", "dict of column name"]),
    ],
)
def test_declared_states_are_checked(states: object, parts: list[str]) -> None:
    with error(*parts):
        Dataset.of(TABLE, states=states)  # type: ignore[arg-type]


def test_a_long_list_of_states_is_cut_in_the_message() -> None:
    with pytest.raises(DataError) as caught:
        Dataset.of({"a": [-1]}, states={"a": range(1000)})
    assert len(str(caught.value)) < 200


def test_names_are_checked() -> None:
    with error("2 names", "3 columns", "one name per column"):
        Dataset.of(TABLE, names=["a", "b"])
    with error("2 columns", "'a'", "rename"):
        Dataset.of(TABLE, names=["a", "b", "a"])


def test_integer_names_are_spelled_out() -> None:
    data = Dataset.of(pd.DataFrame([[1, 2]]), states={0: [2, 1]})  # type: ignore[dict-item]
    assert data.names == ("0", "1")
    assert data.states == ((2, 1), (2,))


# ---- refusals: files ----


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        (
            "t.csv",
            "a,b\n1,2\n\n3\n",
            ["line 4", "'t.csv'", "1 cell", "2 names", "complete or drop that line"],
        ),
        ("t.csv", "a,b\n1,2\n3,4,5\n", ["line 3", "3 cells", "2 names", "delimiter="]),
        ("t.csv", 'a,b\n"x\ny",2\n3\n', ["line 4", "1 cell"]),
        ("t.csv", 'a,b\n1,2\n3,"4\n', ["line 3", "not CSV", "fix its quotes"]),
        ("t.csv", 'a,b\n1,"2"x\n', ["line 2", "not CSV", "fix its quotes"]),
        ("t.csv", 'a,b\n1,"' + "2" * 140_000, ["line 2", "not CSV", "fix its quotes"]),
        ("t.csv", b"a,b\n1,\x002\n", ["'t.csv'", "NUL", "line 2", "UTF-8 text"]),
        ("t.csv", "a,b\n1,2\n".encode("utf-16"), ["NUL", "line 1", "UTF-8 text"]),
        ("t.csv", b"a,b\n1,2\n\xe9,2\n", ["'t.csv'", "0xe9", "line 3", "save it as UTF-8"]),
        ("t.csv", "", ["'t.csv'", "empty", "line of names"]),
        ("t.csv", "\ufeff", ["empty", "line of names"]),
        ("t.tsv", " \n\n", ["empty", "line of names"]),
        ("t.csv", "a,b\n", ["'t.csv'", "no rows", "at least one row"]),
        ("t.csv", "a,a\n1,2\n", ["2 columns", "'a'", "rename"]),
        ("t.csv", '"",a\n1,2\n', ["column 1", "empty name", "name it, or drop it"]),
        ("t.xlsx", "a", ["'t.xlsx'", ".csv", ".parquet"]),
        ("t.gz", "a", ["'t.gz'", ".csv", ".parquet"]),
        ("csv", "a", ["format", "'csv'", "name it .csv"]),
        ("t.parquet", b"PAR1 no more", ["'t.parquet'", "not a valid Parquet file", "write it again"]),
        ("t.parquet", b"", ["'t.parquet'", "not a valid Parquet file", "write it again"]),
    ],
)
def test_bad_files_are_refused(name: str, content: str | bytes, parts: list[str], tmp_path: Path) -> None:
    with error(*parts):
        Dataset.from_file(write(tmp_path / name, content))


def test_bad_parquet_is_refused_by_polars_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "t.parquet", b"PAR1 no more")
    hide(monkeypatch, "pyarrow")
    with error("'t.parquet'", "not a valid Parquet file", "write it again"):
        Dataset.from_file(path)


@pytest.mark.parametrize(
    "content",
    [b"a,b\n1,2\n", gzip.compress(CSV.encode())[:-9], gzip.compress(b"a")[:5], b""],
    ids=["plain", "cut", "head", "empty"],  # a gzip header holds the time of day
)
def test_broken_gzip_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    path.write_bytes(content)
    with error("'t.csv.gz'"):
        Dataset.from_file(path)


def test_paths_and_delimiters_are_checked(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no file '.*none\.csv': check the path$"):
        Dataset.from_file(tmp_path / "none.csv")
    (tmp_path / "dir.csv").mkdir()
    with error("dir.csv", "directory", "path of a file"):
        Dataset.from_file(tmp_path / "dir.csv")
    with error("';;'", "one character"):
        Dataset.from_file(write(tmp_path / "t.csv", CSV), delimiter=";;")
    with error("delimiter", "'\\n'", "one character"):
        Dataset.from_file(write(tmp_path / "t.csv", CSV), delimiter="\n")


def test_a_large_file(tmp_path: Path) -> None:
    cells = np.random.default_rng(0).integers(0, 4, (50_000, 40))
    path = tmp_path / "t.csv"
    pd.DataFrame(cells).to_csv(path, index=False)
    data = Dataset.from_file(path)
    np.testing.assert_array_equal(data.codes, cells.T)


# ---- codes ----


def test_from_codes() -> None:
    data = Dataset.from_codes([[0, 2], [1, 0]])
    assert data.names == ("x0", "x1")
    assert data.states == ((0, 1), (0, 1, 2))
    np.testing.assert_array_equal(data.codes, [[0, 1], [2, 0]])
    data = Dataset.from_codes([[0, 2], [1, 0]], arities=[2, 4], names=["a", "b"], states={"a": ["no", "yes"]})
    assert data.states == (("no", "yes"), (0, 1, 2, 3))
    data = Dataset.from_codes(np.zeros((30, 2), np.int8), states=[["k"], ("l", "m")])
    assert data.states == (("k",), ("l", "m"))


@pytest.mark.parametrize(
    ("codes", "options", "parts"),
    [
        ([[0, 2], [0, 0]], {"arities": [1, 2]}, ["'x1'", "code 2", "outside 0..1", "arities= or states="]),
        ([[0], [-1]], {}, ["'x0'", "code -1", "outside 0..0", "number codes from 0"]),
        ([[0, 1]], {"states": {"x1": ["k"]}}, ["'x1'", "code 1", "outside 0..0"]),
        ([[0, 1]], {"arities": [2]}, ["1 arities", "2 columns", "one per column"]),
        ([[0, 1]], {"names": ["a"]}, ["1 names", "2 columns", "one per column"]),
        ([[0, 1]], {"states": [["k"]]}, ["1 lists of states", "2 columns", "one per column"]),
        ([[0, 1]], {"states": {"b": ["k"]}}, ["'b'", "choose among"]),
        (
            [[0, 1]],
            {"arities": [1, 2], "states": {"x1": ["k"]}},
            ["'x1'", "arity 2", "1 states", "agree"],
        ),
        ([[0.0, 1.0]], {}, ["float64", "not integers", "Dataset.of"]),
        (np.ma.masked_equal([[0, 1]], 1), {}, ["object", "not integers", "Dataset.of"]),
        ([0, 1], {}, ["1-D", "rows × columns"]),
        (np.zeros((0, 1), int), {}, ["no rows"]),
    ],
)
def test_from_codes_checks(codes: object, options: dict[str, object], parts: list[str]) -> None:
    with error(*parts):
        Dataset.from_codes(codes, **options)  # type: ignore[arg-type]


def test_the_constructor_checks() -> None:
    with error("names and states", "one entry of each per variable"):
        Dataset(np.zeros((2, 3), np.uint8), ("a",), ((0,),))
    with error("names and states", "one entry of each per variable"):
        Dataset(np.zeros(1, np.uint8), ("a",), ((0,),))
    with error("'a'", "code 1", "outside 0..0"):
        Dataset(np.ones((1, 3), np.uint8), ("a",), ((0,),))
    with error("float64", "not integers", "Dataset.of"):
        Dataset(np.ones((1, 3)), ("a",), ((0, 1),))


# ---- the object ----


def test_it_is_immutable() -> None:
    data = Dataset.of(TABLE)
    again = pickle.loads(pickle.dumps(data))
    assert_same(again, data)
    for one in (data, again, data.select(["n"])):
        assert one.codes.flags.c_contiguous
        for array in (one.codes, one.arities):
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0
    with pytest.raises(AttributeError):
        data.names = ("a",)  # type: ignore[misc]


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (1, 5), (5, 1)])
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_the_callers_array_is_neither_changed_nor_kept(shape: tuple[int, int], dtype: type) -> None:
    X = np.arange(shape[0] * shape[1], dtype=dtype).reshape(shape) % 3
    before = X.copy()
    direct = Dataset(X, tuple(f"v{i}" for i in range(shape[0])), ((0, 1, 2),) * shape[0])
    for data in (Dataset.of(X), Dataset.from_codes(X), direct):
        codes = data.codes.copy()
        X[:] = 2 - X
        np.testing.assert_array_equal(data.codes, codes)
        X[:] = 2 - X
    np.testing.assert_array_equal(X, before)


def test_the_callers_frame_is_not_changed() -> None:
    frame = pd.DataFrame({**TABLE, "f": [1.0, 2.0, 1.0, 1.0], "c": pd.Categorical(TABLE["size"])})
    before = frame.copy(deep=True)
    Dataset.of(frame, states={"b": [-3, 9, 10, 11]}, names=list("abcde"))
    pd.testing.assert_frame_equal(frame, before)
    table = pa.table({"a": pa.array([1, 2, None]).dictionary_encode()})
    with pytest.raises(DataError):
        Dataset.of(table, missing="error")
    assert table["a"].to_pylist() == [1, 2, None]
    rows = [row.copy() for row in ROWS]
    Dataset.of(rows)
    assert rows == ROWS


def test_sizes_and_repr() -> None:
    data = Dataset.of(TABLE)
    assert (data.n_variables, data.n_rows) == (3, 4)
    assert data.arities.dtype == np.int64
    np.testing.assert_array_equal(data.arities, [3, 3, 1])
    assert repr(data) == "Dataset(4 rows, 3 variables, 1–3 states)"
    assert repr(Dataset.of({"a": [5]})) == "Dataset(1 row, 1 variable, 1 state)"
    assert repr(data.select(["size", "n"])) == "Dataset(4 rows, 2 variables, 3 states)"


def test_select() -> None:
    data = Dataset.of(TABLE, states={"n": [0, 10, 9, -3]})
    part = data.select(["n", "size"])
    assert part.names == ("n", "size")
    assert part.states == ((0, 10, 9, -3), ("l", "m", "s"))
    assert decoded(part) == {"n": TABLE["n"], "size": TABLE["size"]}
    assert data.select("one").names == ("one",)
    with error("no column 'x'", "choose among", "'size'"):
        data.select(["n", "x"])
    with error("2 columns", "'n'"):
        data.select(["n", "n"])
    with error("no columns"):
        data.select([])


@given(st.permutations(["b", "a", "B", "x10", "x2", "é"]))
def test_canonical_order_undoes_any_column_order(names: list[str]) -> None:
    data = Dataset.from_codes(np.zeros((1, 6), int), names=names)
    order = data.canonical_order()
    assert order.dtype == np.int64
    assert [names[i] for i in order] == ["B", "a", "b", "x10", "x2", "é"]


def test_bootstrap_weights() -> None:
    data = Dataset.from_codes(np.zeros((1000, 1), int))
    seeds = np.random.SeedSequence(3).spawn(200)
    weights = np.array([np.bincount(data.bootstrap_rows(seed), minlength=data.n_rows) for seed in seeds])
    assert weights.dtype == np.int64
    assert weights.shape == (200, 1000)
    assert (weights.sum(axis=1) == 1000).all()
    assert weights.min() == 0
    np.testing.assert_array_equal(
        weights[5],
        np.bincount(data.bootstrap_rows(np.random.SeedSequence(3, spawn_key=(5,))), minlength=data.n_rows),
    )
    drawn = np.random.Generator(np.random.PCG64(np.random.SeedSequence(3, spawn_key=(5,)))).integers(0, 1000, 1000)
    np.testing.assert_array_equal(weights[5], [np.count_nonzero(drawn == row) for row in range(1000)])
    # Multinomial: each weight has mean 1 and variance 1 - 1/N; two seeds are uncorrelated.
    assert abs(weights.var() - 0.999) < 0.02
    assert abs(weights.mean(axis=0) - 1).max() < 5 / np.sqrt(200)
    between = np.corrcoef(weights)[np.triu_indices(200, 1)]
    assert abs(between).max() < 6 / np.sqrt(1000)
    assert abs(between.mean()) < 0.002


def test_a_read_only_view_of_somebody_elses_array_is_copied():
    own = np.zeros((2, 3), np.uint8)
    view = own.view()
    view.setflags(write=False)
    data = Dataset(view, ("a", "b"), ((0, 1), (0, 1)))
    own[:] = 1
    assert not data.codes.any()


def test_back_to_labels():
    columns = {"a": ["x", "y", "x"], "n": [3, 1, 3]}
    data = Dataset.of(columns, states={"a": ["z", "y", "x"]})
    assert data.to_dict() == columns
    assert Dataset.of(data.to_dict(), states={"a": ["z", "y", "x"]}).codes.tolist() == data.codes.tolist()
