"""Everyday tables: decimal commas, dates, units, free text, identifiers; all problems of a table at once."""

from __future__ import annotations

import shlex
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from brai import Dataset
from brai.cli import cli

N = 60
LABELS = ["x", "y"] * (N // 2)


def written(path, columns, delimiter=",", quote=False):
    """A text file of columns of cells."""
    around = '"' if quote else ""
    rows = zip(*([f"{around}{cell}{around}" for cell in own] for own in columns.values()), strict=True)
    path.write_text("\n".join([delimiter.join(columns), *map(delimiter.join, rows)]) + "\n", encoding="utf-8")
    return path


def commas(values, form=".2f"):
    return [f"{own:{form}}".replace(".", ",") for own in values]


# --- decimal commas ---


@pytest.mark.parametrize(
    ("delimiter", "name", "quote"),
    [(";", "t.csv", False), ("\t", "t.tsv", False), (",", "t.csv", True), ("|", "t.txt", 0)],
)
def test_decimal_commas_of_text_files(tmp_path, rng, delimiter, name, quote):
    values = np.round(rng.normal(size=(2, N)) * 10, 2)
    table = {"a": commas(values[0]), "b": commas(values[1]), "t": LABELS}
    path = written(tmp_path / name, table, delimiter, quote)
    with pytest.warns(UserWarning, match="decimal commas in 'a', 'b': read as numbers"):
        data = Dataset.of(path)
    assert data.kinds == ("continuous", "continuous", "discrete")
    assert data.numbers.values == pytest.approx(values)


def test_integers_and_holes_beside_decimal_commas(tmp_path):
    cells = ["3", "-0,5", ",25", "NA", "", "1,5e2", "+2,0", *commas(np.arange(20) / 8, ".3f")]
    path = written(tmp_path / "t.csv", {"a": cells, "t": ["u"] * 14 + ["v"] * 13}, ";")
    with pytest.warns(UserWarning, match="decimal commas in 'a': read as numbers, -0,5 as -0.5"):
        data = Dataset.from_file(path, missing="impute")
    values = np.array(data.table.to_dict()["a"])
    assert values[[0, 1, 2, 5, 6]] == pytest.approx([3, -0.5, 0.25, 150, 2])


def test_a_comma_before_three_digits_is_not_guessed(tmp_path):
    """1,234 alone may be either; beside a column of decimal commas in a file of semicolons it is 1.234."""
    either = [f"1,{i:03d}" for i in range(N)]
    for delimiter, quote in ((";", False), (",", True)):
        path = written(tmp_path / "t.csv", {"a": either, "t": LABELS}, delimiter, quote)
        with pytest.raises(
            ValueError, match="'a' holds numbers with a comma for thousands or decimals, such as '1,000'"
        ):
            Dataset.of(path)
    clear = commas(np.arange(N) / 10)
    path = written(tmp_path / "t.csv", {"a": either, "b": clear, "t": LABELS}, ";")
    with pytest.warns(UserWarning, match="decimal commas in 'a', 'b'"):
        data = Dataset.of(path)
    assert data.numbers.values[0] == pytest.approx(1 + np.arange(N) / 1000)
    path = written(tmp_path / "t.csv", {"a": either, "b": clear, "t": LABELS}, ",", True)
    with (
        pytest.warns(UserWarning, match="decimal commas in 'b'"),
        pytest.raises(ValueError, match="'a' holds numbers with a comma for thousands or decimals"),
    ):
        Dataset.of(path)


def test_what_has_no_decimal_commas_stays(tmp_path):
    lists = ["1,2", "1,2,3", "2", "3,1"] * 15
    words = ["yes, often", "no"] * 30
    path = written(tmp_path / "t.csv", {"lists": lists, "words": words}, ";")
    data = Dataset.of(path)
    assert data.states == (("1,2", "1,2,3", "2", "3,1"), ("no", "yes, often"))
    mixed = written(tmp_path / "m.csv", {"a": ["1,5", "2.5", "3", "4,5"] * 15, "t": LABELS}, ";")
    assert Dataset.of(mixed).states[0] == ("1,5", "2.5", "3", "4,5")


def test_states_keep_decimal_commas_as_labels(tmp_path):
    path = written(tmp_path / "t.csv", {"a": ["0,5", "1,5"] * 30, "t": LABELS}, ";")
    with pytest.warns(UserWarning, match="list the cells in states= if they are labels"):
        data = Dataset.from_file(path, states={"a": ["0,5", "1,5"]})
    assert data.states == (("0,5", "1,5"), ("x", "y"))


def test_unquoted_decimal_commas_in_a_file_of_commas(tmp_path):
    path = written(tmp_path / "t.csv", {"a": commas(np.arange(N) / 10), "t": LABELS})
    with pytest.raises(ValueError, match=r"3 cells, but the header has 2 names: .*quote decimal commas"):
        Dataset.of(path)


def test_many_different_decimal_commas(tmp_path, monkeypatch):
    monkeypatch.setattr("brai.data.text_files.NUMBERS", 5)
    monkeypatch.setattr("brai.data.text_files.CELLS", 8)
    values = np.arange(N) / 7
    path = written(tmp_path / "t.csv", {"a": commas(values, ".5f"), "t": LABELS}, ";")
    with pytest.warns(UserWarning, match="decimal commas"):
        assert Dataset.of(path).numbers.values[0] == pytest.approx(values, abs=1e-5)


# --- columns of text that hold no labels ---

MONTHS = ("Jan", "Feb", "Mar")
ODD = {
    "date": ([f"2020-{1 + i % 2:02d}-{1 + i % 14:02d}" for i in range(N)], "dates, such as '2020-01-01'"),
    "day first": ([f"{1 + i % 28}.{1 + i % 12}.2020" for i in range(N)], "dates, such as '1.1.2020'"),
    "stamp": ([f"2020-01-{1 + i % 28:02d}T{i % 24:02d}:15:00Z" for i in range(N)], "such as '2020-01-01T00"),
    "month": ([f"{MONTHS[i % 3]} {1 + i % 20}, 2021" for i in range(N)], "dates, such as 'Jan 1, 2021'"),
    "time": ([f"{i % 24}:{i % 60:02d}" for i in range(N)], "times, such as '0:00'"),
    "thousands": ([f"{10**6 + 1017 * i:,}" for i in range(N)], "thousands separators, such as '1,000,000'"),
    "kilograms": ([f"{50 + i / 4:.1f} kg" for i in range(N)], "numbers with a unit or sign, such as '50.0 kg'"),
    "share": ([f"{i % 40}%" for i in range(N)], "numbers with a unit or sign, such as '0%'"),
    "price": ([f"$1,{i:03d}.50" for i in range(N)], "numbers with a unit or sign"),
    "infinite": (["inf" if i == 7 else str(i / 8) for i in range(N)], "numbers, but 'inf' in row 8"),
    "marks": ([["x", "!"][i % 2] if i < 5 else str(i) for i in range(N)], "numbers, but 'x' in row 1 and 1 other"),
    "comma": (commas(np.arange(N) / 8), "numbers with a decimal comma, such as '0,00'"),
    "note": ([f"was seen on day {i} again" for i in range(N)], "free text, such as 'was seen on day 0 again'"),
    "name": ([f"P{i}" for i in range(N)], "60 different values in 60 rows, such as 'P0', like an identifier"),
}  # fmt: skip


@pytest.mark.parametrize("beside", [LABELS, [i / 8 for i in range(N)]])
@pytest.mark.parametrize("name", list(ODD))
def test_what_a_column_holds_is_named(name, beside):
    cells, message = ODD[name]
    with pytest.raises(ValueError, match="drop it") as told:
        Dataset.of({name: cells, "z": beside})
    assert str(told.value).startswith(f"column {name!r} h")
    assert message in str(told.value)


def test_frames_and_files_tell_the_same(tmp_path):
    import pandas
    import polars

    for name in ("date", "kilograms", "note"):
        table = {name: ODD[name][0], "z": LABELS}
        path = written(tmp_path / "t.csv", table, quote=True)
        messages = set()
        for X in (table, pandas.DataFrame(table), polars.DataFrame(table), path):
            with pytest.raises(ValueError, match="holds") as told:
                Dataset.of(X)
            messages.add(str(told.value))
        assert len(messages) == 1


def test_labels_are_left_alone():
    """Few different cells may well be labels, and so may codes and words."""
    table = {
        "dose": ["10 mg", "20 mg", "50 mg"] * 20,
        "year": ["2019-01", "2020-01"] * 30,
        "code": [f"{'ABC'[i % 3]}{i % 15:02d}" for i in range(N)],
        "zero": [f"{i % 20:03d}" for i in range(N)],
        "town": [f"town of {'abcdefghijklmnop'[i % 16]}" for i in range(N)],
        "range": [f"{i % 14}-{i % 14 + 1}" for i in range(N)],
    }
    data = Dataset.of(table)
    assert [len(own) for own in data.states] == [3, 2, 15, 20, 16, 14]


def test_dates_can_be_taken_as_labels():
    days = ODD["date"][0]
    once = sorted(set(days))
    assert len(once) < N
    with pytest.raises(ValueError, match="or take it as labels with kinds="):
        Dataset.of({"day": days, "z": LABELS})
    assert Dataset.of({"day": days, "z": LABELS}, kinds={"day": "discrete"}).states[0] == tuple(once)
    assert Dataset.of({"day": days, "z": LABELS}, states={"day": once}).states[0] == tuple(once)


def test_halves_are_no_row_numbers():
    assert Dataset.of({"a": (np.arange(N) + 0.5).tolist(), "z": LABELS}).kinds == ("continuous", "discrete")
    with pytest.raises(ValueError, match="all integers from 0 on, like an identifier"):
        Dataset.of({"a": list(range(N)), "z": LABELS})


# --- all at once, with a command to paste ---


def table_of_problems():
    return {
        "id": list(range(N)),
        "visit day": ODD["date"][0],
        "weight": ODD["kilograms"][0],
        "note": ODD["note"][0],
        "m": [i / 8 for i in range(N)],
        "ill": LABELS,
    }


def test_all_problems_are_told_with_a_cure_in_python(tmp_path):
    import pandas

    frame = pandas.DataFrame(table_of_problems())
    with pytest.raises(ValueError, match="4 columns cannot be used") as told:
        Dataset.of(frame)
    message = str(told.value)
    for part in (
        "'id' has 60",
        "'visit day' holds dates",
        "'weight' holds numbers with",
        "'note' holds free text",
    ):
        assert part in message
    out = ["id", "visit day", "weight", "note"]
    assert sorted(told.value.columns) == sorted(out)
    assert f"X.drop(columns={list(told.value.columns)})" in message
    assert "kinds={'visit day': 'discrete', 'id': 'continuous'}" in message
    left = frame.drop(columns=list(told.value.columns))
    assert Dataset.of(left).names == ("m", "ill")
    kept = Dataset.of(frame.drop(columns=["weight", "note"]), kinds={"id": "continuous", "visit day": "discrete"})
    assert kept.kinds == ("continuous", "discrete", "continuous", "discrete")
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert f"drop={list(told.value.columns)}" in message
    assert Dataset.from_file(tmp_path / "t.csv", drop=list(told.value.columns)).names == ("m", "ill")


def test_all_problems_are_told_with_options_to_paste(tmp_path):
    path = written(tmp_path / "t.csv", table_of_problems())

    def run(*words):
        return CliRunner().invoke(cli, ["learn", str(path), "--quiet", *words])

    done = run()
    message = str(done.exception)
    assert "'visit day' holds dates" in message
    assert "(--drop 'visit day')" in message
    assert "--kind 'visit day=discrete' --kind id=continuous" in message
    pasted = shlex.split(message.rpartition("leave all out with ")[2])
    assert pasted[::2] == ["--drop"] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(*pasted).exit_code == 0
        kept = shlex.split(message.rpartition("keep some with ")[2].partition(", or")[0])
        assert "2 columns cannot be used" in str(run(*kept).exception)
        assert run(*kept, "--drop", "note", "--drop", "weight").exit_code == 0


def test_the_problem_of_one_column_has_its_option(tmp_path):
    path = written(tmp_path / "t.csv", {"visit day": ODD["date"][0], "ill": LABELS})
    done = CliRunner().invoke(cli, ["learn", str(path), "--quiet"])
    assert str(done.exception).endswith(
        "or leave it out (--drop 'visit day'), or take it as labels with --kind 'visit day'=discrete"
    )
    path = written(tmp_path / "t.csv", {"id": list(range(N)), "ill": LABELS})
    done = CliRunner().invoke(cli, ["learn", str(path), "--quiet"])
    assert str(done.exception).endswith("leave it out (--drop id), or give --kind id=continuous")
