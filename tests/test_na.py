"""Words that may mean missing: among numbers, among labels, in files and frames, on the command line."""

import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from brai import DataError, Dataset
from brai.cli.learn import learn
from brai.cli.options import in_options, read_words
from brai.data import text_files
from brai.data.incomplete import Incomplete
from brai.data.missing_words import MissingWordsError
from brai.data.na import USUAL, Words

WORDS = sorted(USUAL - {"<na>", "#n/a"})


def write(path, table):
    rows = zip(*table.values(), strict=True)
    path.write_text("\n".join(",".join(map(str, row)) for row in [table, *rows]) + "\n")
    return path


def frames(tmp_path, table):
    """The same cells of text in a dict, an array, three frames and two files."""
    import pandas
    import polars
    import pyarrow
    from pyarrow import parquet

    arrow = pyarrow.table(table)
    parquet.write_table(arrow, tmp_path / "t.parquet")
    return {
        "csv": write(tmp_path / "t.csv", table),
        "dict": table,
        "pandas": pandas.DataFrame(table),
        "pandas objects": pandas.DataFrame(table).astype(object),
        "polars": polars.DataFrame(table),
        "pyarrow": arrow,
        "parquet": tmp_path / "t.parquet",
        "arrays": {name: np.array(own, object) for name, own in table.items()},
    }


def quietly(X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Dataset.of(X, **options)


# --- among numbers ---


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("numbers", [["1", "2", "2"], ["1.5", "2.25", "9"], ["07", "12", "12"]])
def test_a_word_among_numbers_is_missing(word, numbers, tmp_path):
    table = {"a": [*numbers, word], "b": ["x", "y", "x", "y"]}
    for name, X in frames(tmp_path, table).items():
        data = quietly(X)
        assert isinstance(data, Incomplete), name
        assert data.missing.tolist() == [[False] * 3 + [True], [False] * 4], name
        assert data.signature() == quietly(write(tmp_path / "u.csv", table)).signature(), name


def test_a_frame_with_such_a_word_says_that_its_text_becomes_numbers(tmp_path):
    table = {"a": ["1", "2", "?"], "b": ["x", "y", "x"]}
    with pytest.warns(UserWarning, match=r"'\?' stands among the numbers of 'a': read as numbers"):
        assert Dataset.of(table).to_dict()["a"] == [1, 2, None]
    Dataset.from_file(write(tmp_path / "t.csv", table))  # a file has no types: no note
    mixed = {"a": [1.5, "?", 2.5, "3"], "b": ["x", "y", "x", "y"]}
    assert quietly(mixed).to_dict()["a"] == [1.5, None, 2.5, 3.0]


def test_decimal_commas(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n1,5;x\n?;y\n2,5;x\n3,25;y\n")
    with pytest.warns(UserWarning, match="decimal commas"):
        assert Dataset.from_file(path).to_dict()["a"] == [1.5, None, 2.5, 3.25]


@pytest.mark.parametrize("word", ["?", "nan", "NA", "-"])
def test_columns_of_very_many_numbers(word, tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "NUMBERS", 50)
    monkeypatch.setattr(text_files, "CELLS", 60)
    cells = [f"{i}.5" for i in range(200)]
    cells[10] = cells[150] = word
    table = {"a": cells, "b": [["x", word][i == 7] for i in range(200)]}
    with pytest.warns(UserWarning, match="among the labels of 'b': taken as missing"):
        data = Dataset.from_file(write(tmp_path / "t.csv", table))
    assert np.argwhere(data.missing).tolist() == [[0, 10], [0, 150], [1, 7]]
    table["a"][120] = "inf"
    with pytest.raises(DataError, match="holds 'inf' too: list such cells in na="):
        Dataset.from_file(write(tmp_path / "t.csv", table))
    with pytest.warns(UserWarning, match="among the labels of 'b': taken as a label"):
        data = Dataset.from_file(tmp_path / "t.csv", na="inf")
    assert np.argwhere(data.missing).tolist() == [[0, 10], [0, 120], [0, 150]]
    with pytest.raises(DataError, match="'a' holds numbers, but 'inf' in row 121 and 1 other"):
        Dataset.from_file(tmp_path / "t.csv", na=[])


# --- among labels ---


@pytest.mark.parametrize("word", WORDS)
def test_a_word_among_labels_is_asked_about_by_one_error(word, tmp_path):
    table = {"a": ["x", word, "y"], "b": [word, "u", "u"], "c": ["0", "1", "1"]}
    for name, X in frames(tmp_path, table).items():
        with pytest.raises(MissingWordsError) as told:
            Dataset.of(X)
        assert str(told.value) == (
            f"'{word}' in 'a', 'b': among labels this may mean missing, or be a label: give "
            f'Dataset.of(X, na=["{word}"]) if it is missing, Dataset.of(X, na=[]) if it is a label'
        ), name
        assert quietly(X, na=[word]).to_dict()["a"] == ["x", None, "y"], name
        assert quietly(X, na=[]).to_dict()["a"] == ["x", word, "y"], name


def test_several_words_and_those_that_are_missing_among_numbers_are_in_the_line_to_paste(tmp_path):
    table = {"a": ["x", "?", "NA"], "b": ["1", "n/a", "2"]}
    path = write(tmp_path / "t.csv", table)
    with pytest.raises(MissingWordsError) as told:
        Dataset.from_file(path)
    assert "'?' in 'a'; 'NA' in 'a': among labels these may mean missing, or be labels" in str(told.value)
    assert 'na=["n/a", "?", "NA"]) if they are missing, Dataset.of(X, na=["n/a"]) if they are labels' in str(
        told.value
    )
    assert quietly(path, na=["n/a"]).to_dict() == {"a": ["x", "?", "NA"], "b": [1, None, 2]}
    as_options = r"give --na 'n/a,\?,NA' if they are missing, --na n/a if they are labels"
    with pytest.raises(DataError, match=as_options), in_options():
        Dataset.from_file(path)


def test_the_same_word_among_numbers_answers_the_question(tmp_path):
    table = {"a": ["x", "?", "y", "x"], "b": ["1", "2", "?", "1"], "c": ["u", "u", "NA", "v"]}
    taken = r"'\?' stands among the labels of 'a': taken as missing"
    for X in frames(tmp_path, table).values():
        with pytest.raises(UserWarning, match=f"{taken}|stands among the numbers"):
            Dataset.of(X)
        with pytest.raises(MissingWordsError, match=r"^'NA' in 'c'.*na=\[\"\?\", \"NA\"\]"):
            quietly(X)
    table["c"] = ["u", "u", "v", "v"]
    with pytest.warns(UserWarning, match="na= decides"):
        data = Dataset.from_file(write(tmp_path / "t.csv", table))
    assert data.to_dict()["a"] == ["x", None, "y", "x"]


def test_words_that_are_not_listed_are_labels_with_a_note():
    table = {"a": ["x", "?", "NA"], "b": [0, 1, 1]}
    with pytest.warns(
        UserWarning, match="'NA' stands among the labels of 'a': taken as a label, since na= does not"
    ):
        assert Dataset.of(table, na="?").to_dict()["a"] == ["x", None, "NA"]


def test_declared_states_answer_the_question(tmp_path):
    table = {"a": ["x", "?", "y"], "b": ["u", "v", "v"]}
    for X in frames(tmp_path, table).values():
        assert Dataset.of(X, states={"a": ["x", "y", "?"]}).states[0] == ("x", "y", "?")
        with pytest.warns(UserWarning, match=r"'\?' is no declared state of 'a': taken as missing"):
            data = Dataset.of(X, states={"a": ["x", "y"]})
        assert data.to_dict()["a"] == ["x", None, "y"]
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(table).astype("category")
    assert Dataset.of(X).to_dict() == table  # a categorical type declares its states


def test_plus_and_minus_are_labels():
    table = {"rhesus": ["+", "-", "+"], "titre": ["++", "-", "+"], "b": [0, 1, 1]}
    assert Dataset.of(table).to_dict() == table
    with pytest.raises(MissingWordsError, match="'-' in 'c'"):
        Dataset.of({**table, "c": ["low", "-", "low"]})


def test_a_column_of_such_words_only_is_left_out():
    with pytest.warns(UserWarning, match="'a' holds no value: left out"):
        assert Dataset.of({"a": ["NA", "?", "NA"], "b": [0, 1, 1], "c": [1, 0, 1]}).names == ("b", "c")


def test_codes_of_missing_values():
    X = {"a": [1, -999, 3, 1], "b": [1.5, -999.0, 2.5, 3.5], "c": ["x", "y", "-999", "x"]}
    assert Dataset.of(X, na=[-999]).to_dict() == {
        "a": [1, None, 3, 1], "b": [1.5, None, 2.5, 3.5], "c": ["x", "y", None, "x"]}  # fmt: skip


def test_other_problems_are_told_with_the_question():
    table = {"a": [f"2020-01-{i:02d}" for i in range(1, 31)], "b": ["x", "?", "y"] * 10}
    with pytest.raises(DataError, match=r"'a' holds dates.*\. Besides, '\?' in 'b'.*na=\[\"\?\"\]"):
        Dataset.of(table)
    with pytest.raises(DataError, match=r"--drop a.*Besides, '\?' in 'b'.*--na '\?' if"), in_options():
        Dataset.of(table)


@pytest.mark.parametrize(("na", "message"), [(3, "na is 3"), ([None], "na holds None"), (b"NA", "na is b'NA'")])
def test_what_na_may_be(na, message):
    with pytest.raises(DataError, match=message):
        Dataset.of({"a": [0, 1]}, na=na)
    assert Words.of(["NA", " ? ", ""]).given == {"NA", "?"}
    assert Words.of("").only_empty


# --- the command line ---


def test_the_option(tmp_path):
    path = write(tmp_path / "t.csv", {"a": ["x", "?", "y"] * 20, "b": ["0", "1", "1"] * 20})
    found = CliRunner().invoke(learn, [str(path)])
    assert "--na '?' if it is missing, --na '' if it is a label" in str(found.exception)
    asked = [str(path), "--na", "?", "--posterior-from", "tree", "--json", "--quiet"]
    found = CliRunner().invoke(learn, asked)
    assert found.exit_code == 0, found.exception
    assert [read_words(given) for given in (None, "", "NA,?", " NA , ?,")] == [None, [], ["NA", "?"], ["NA", "?"]]
