"""A gallery of bad input: each is a clear error, with the value and the cure, or a right answer.

Files go through `brai learn`, tables through `Dataset.of` and three learners; nothing that was given is changed.
What the rules are, and more of their cases, is in test_data.py.
"""

from __future__ import annotations

import bz2
import copy
import datetime
import decimal
import enum
import fractions
import functools
import gzip
import io
import json
import os
import re
import sys
import uuid
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from pyarrow import parquet

import brai
from brai import DataError, Dataset
from brai.cli import main

CSV = "a,b\n" + "x,0\ny,1\n" * 5
TWO = (("a", "b"), (("x", "y"), (0, 1)))  # names and states of that file
LONG = "n" * 10_240
MISSING = 'Dataset.of(X, missing="drop") removes these rows, missing="label" makes missing a state, '
WITHOUT = "--missing drop removes these rows, --missing label makes missing a state, --missing impute"
NO_STATES = "which has no states: convert it to text, integers or a category"
NOT_WHOLE = "which is not an integer: discretise the column"
NO_NUMBER = "removes these rows, "
REPEATED = "rename or drop the repeated columns"
NOT_DATA = "give a pandas, polars or pyarrow table, a 2-D array, a dict of columns, a list of rows or a file path"


def arrow_file(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    parquet.write_table(table, sink)
    return sink.getvalue()


def zip_file() -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("t.csv", CSV)
    return sink.getvalue()


ZIPPED = gzip.compress(CSV.encode(), mtime=0)
PARQUET = arrow_file(pa.table({"a": ["x", "y"] * 5, "b": [0, 1] * 5}))
PARQUET_NAMED = arrow_file(pa.table({"name": ["cell", "y"] * 5, "b": [{"part": 1}, {"part": 2}] * 5}))


def rows(cells: list[str], head: str = "a,b") -> str:
    """A file with these cells in its first column, three times."""
    return f"{head}\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells * 3))


def says(parts: tuple[str, ...]) -> str:
    return "(?s)^.*" + ".*".join(map(re.escape, parts))


# ---- files that are refused ----

BAD_FILES: list[tuple[str, str, str | bytes, tuple[str, ...]]] = [
    ("empty", "t.csv", "", ("'t.csv' is empty", "give a file with a line of names")),
    ("only a byte order mark", "t.csv", b"\xef\xbb\xbf", ("'t.csv' is empty", "give a file")),
    ("only blank lines", "t.csv", "\r\n \r\n", ("'t.csv' is empty", "give a file")),
    ("only a header", "t.csv", "a,b\n", ("'t.csv'", "no rows", "give at least one row")),
    ("a header and blank lines", "t.csv", "a,b\n\n  \n\t\n\n", ("'t.csv'", "no rows", "give at least one row")),
    ("a header and blank DOS lines", "t.csv", "a,b\r\n\r\n\r\n", ("no rows", "give at least one row")),
    ("binary", "t.csv", bytes(range(256)) * 4, ("'t.csv'", "NUL byte in line 1", "save it as UTF-8 text")),
    ("a picture", "t.csv", b"\x89PNG\r\n\x1a\n\xff", ("'t.csv'", "0x89 in line 1", "save it as UTF-8")),
    ("a NUL byte", "t.csv", b"a,b\nx\0,0\n", ("NUL byte in line 2", "save it as UTF-8 text")),
    ("UTF-16", "t.csv", CSV.encode("utf-16"), ("'t.csv'", "line 1", "save it as UTF-8")),
    ("UTF-16 without a mark", "t.csv", CSV.encode("utf-16-be"), ("NUL byte in line 1", "save it as UTF-8")),
    ("UTF-16 without a zero", "t.csv", "身長".encode("utf-16"), ("0xff in line 1", "save it as UTF-8")),
    ("UTF-32", "t.csv", CSV.encode("utf-32"), ("line 1", "save it as UTF-8")),
    ("Latin-1", "t.csv", "a,b\nx,größe\n".encode("latin-1"), ("0xf6 in line 2", "save it as UTF-8")),
    ("zip named CSV", "t.csv", zip_file(), ("'t.csv' is a zip archive", "unpack it")),
    ("zip", "t.csv.zip", zip_file(), ("format of 't.csv.zip'", "name it .csv")),
    ("bzip2", "t.csv.bz2", bz2.compress(CSV.encode()), ("format of 't.csv.bz2'", "name it .csv")),
    ("a workbook", "t.xlsx", zip_file(), ("format of 't.xlsx'", "name it .csv")),
    ("no suffix", "table", CSV, ("format of 'table'", "name it .csv")),
    ("a name of two lines", "t\nu.csv", "", ("'t\\nu.csv' is empty", "give a file")),
    ("gzip named CSV", "t.csv", ZIPPED, ("'t.csv' is compressed by gzip", "add .gz to its name")),
    ("gzip in gzip", "t.csv.gz", gzip.compress(ZIPPED), ("'t.csv.gz'", "gzip, not text", "add .gz")),
    ("CSV named gzip", "t.csv.gz", CSV, ("'t.csv.gz' is not a complete gzip file", "compress it again")),
    ("gzip cut off", "t.csv.gz", ZIPPED[:-12], ("'t.csv.gz' is not a complete gzip", "compress it again")),
    ("gzip with a wrong sum", "t.csv.gz", ZIPPED[:-8] + bytes(8), ("not a complete gzip", "compress it again")),
    ("gzip and more", "t.csv.gz", ZIPPED + b"more", ("'t.csv.gz' is not a complete gzip", "compress it again")),
    ("gzip of nothing", "t.csv.gz", gzip.compress(b""), ("'t.csv.gz' is empty", "give a file")),
    ("Parquet named CSV", "t.csv", PARQUET, ("'t.csv' is a Parquet file", "name it .parquet")),
    ("CSV named Parquet", "t.parquet", CSV, ("'t.parquet' is not a valid Parquet file (", "write it again")),
    ("Parquet, first half", "t.parquet", PARQUET[: len(PARQUET) // 2], ("'t.parquet'", "write it again")),
    ("Parquet cut off", "t.parquet", PARQUET[:-20], ("'t.parquet' is not a valid Par", "write it again")),
    ("Parquet with bad bytes", "t.parquet", PARQUET[:20] + b"\xff" * 30 + PARQUET[50:], ("write it again",)),
    ("empty Parquet", "t.parquet", b"", ("'t.parquet' is not a valid Parquet file", "write it again")),
    (
        "Parquet, a name that is no text",
        "t.parquet",
        PARQUET_NAMED.replace(b"name", b"n\xff\xfee"),
        (
            "'t.parquet' has a column named b'n\\xff\\xfee', which is not UTF-8",
            "rename it, and write the file again",
        ),
    ),
    (
        "Parquet, a field that is no text",
        "t.parquet",
        PARQUET_NAMED.replace(b"part", b"p\xff\xfet"),
        ("'t.parquet' has a column named b'", "not UTF-8", "rename it, and write the file again"),
    ),
    (
        "Parquet, values that are no text",
        "t.parquet",
        PARQUET_NAMED.replace(b"cell", b"c\xff\xfel"),
        ("'name' holds b'c\\xff\\xfel', not UTF-8", "encode its text as UTF-8"),
    ),
    ("Parquet, no rows", "t.parquet", arrow_file(pa.table({"a": pa.array([], "int8")})), ("no rows: give",)),
    ("Parquet, no columns", "t.parquet", arrow_file(pa.table({})), ("no columns: give at least one",)),
    (
        "Parquet, repeated columns",
        "t.parquet",
        arrow_file(pa.table([[1, 2], [2, 1]], names=["a", "a"])),
        ("2 columns are named 'a'", REPEATED),
    ),
    (
        "Parquet, no name",
        "t.parquet",
        arrow_file(pa.table([[1]], names=[""])),
        ("column 1", "or leave it out (--drop"),
    ),
    ("Parquet of lists", "t.parquet", arrow_file(pa.table({"a": [[1], [2]]})), ("'a'", "List(Int64)", NO_STATES)),
    (
        "Parquet, null",
        "t.parquet",
        arrow_file(pa.table({"a": [1, None]})),
        ("'a'", "first in row 2", WITHOUT),
    ),
    ("commas in TSV", "t.tsv", CSV, ("'t.tsv'", "'a,b'", "',' would split into 2", "give the --delimiter ','")),
    ("hashes in CSV", "t.csv", CSV.replace(",", "#"), ("'a#b'", "'#' would split into 2", "give the --delimiter")),
    (
        "colons in text",
        "t.txt",
        CSV.replace(",", ":"),
        ("'a:b'", "':' would split into 2", "give the --delimiter"),
    ),
    ("a short row", "t.csv", CSV + "x\n", ("line 12", "1 cell, but", "2 names", "complete or drop that line")),
    ("a long row", "t.csv", CSV + "x,0,1\n", ("line 12", "3 cells, but", "2 names", "complete or drop")),
    ("a row too short of commas", "t.csv", "a,b,c\n,\n", ("line 2", "2 cells", "3 names", "complete or drop")),
    ("a long header", "t.csv", "a,b,c\nx,0\n", ("line 2", "2 cells, but", "3 names", "complete or drop")),
    ("a comma after each row", "t.csv", "a,b\nx,0,\ny,1,\n", ("line 2", "3 cells", "2 names")),
    (
        "a comma after each line",
        "t.csv",
        "a,b,\nx,0,\n",
        ("column 3 has an empty name", "or leave it out (--drop"),
    ),
    (
        "a comment above",
        "t.csv",
        "# by me\na,b\nx,0\n",
        ("line 2", "2 cells, but", "1 name", "or give the --delim"),
    ),
    ("a web page", "t.csv", "<html>\n<p>404, not found</p>\n", ("line 2", "2 cells", "1 name")),
    ("JSON", "t.csv", '{"a": [1, 2], "b": [3, 4]}\n', ("line 1", "not CSV", "fix its quotes")),
    ("an open quote", "t.csv", 'a,b\n"x,0\ny,1\n', ("line 3", "not CSV", "fix its quotes")),
    ("a cell of 200 kB", "t.csv", f"a,b\n{'x' * 200_000},0\n", ("line 2", "131072", "fix its quotes")),
    (
        "only commas",
        "t.csv",
        ",,\n,,\n",
        ("column 1 has an empty name ('')", "or leave it out (--drop"),
    ),
    ("row numbers", "t.csv", ",b\n0,x\n1,y\n", ("column 1 has an empty name", "row numbers?")),
    (
        "a blank name",
        "t.csv",
        "a,  \nx,0\n",
        ("column 2 has an empty name", "or leave it out (--drop"),
    ),
    ("repeated names", "t.csv", "a,b,a\n1,2,1\n", ("2 columns are named 'a'", REPEATED)),
    ("names that differ by spaces", "t.csv", "a, a ,b\n1,2,1\n", ("2 columns are named 'a'", REPEATED)),
    ("names of 10 kB, repeated", "t.csv", f"{LONG},{LONG}\n1,2\n", ("'nnn", "...", REPEATED)),
    (
        "10^5 columns of one name",
        "t.csv",
        "a," * 99_999 + "a\n" + "1," * 99_999 + "1\n",
        ("100000 columns", "'a'"),
    ),
    ("a name of 10 kB, labels", "t.csv", f"{LONG},b\n0.5,x\n,y\n", ("'nnn", "...", NO_NUMBER)),
    ("a name of two lines, labels", "t.csv", '"a\nb",c\n0.5,x\n,x\n', ("'a\\nb'", NO_NUMBER)),
    ("floats with holes, and labels", "t.csv", "a,b\n0.1,x\n,y\n1,x\n", ("'a'", "row 2", NO_NUMBER)),
    ("decimal commas", "t.csv", "a;b\n0,1;x\n0.2;y\n" * 3 + "a\n", ("line 10", "1 cell", "2 names")),
    ("nearly whole", "t.csv", rows(["1", f"1.{'0' * 30}1"]), ("'a'", f"1.{'0' * 30}1", NOT_WHOLE)),
    ("less than a float holds", "t.csv", rows(["0", "1e-400"]), ("'a'", "1e-400", NOT_WHOLE)),
    ("NaN", "t.csv", rows(["1", "NaN"]), ("'a' has 3 missing values, the first in row 2", WITHOUT)),
    ("NA, null, N/A", "t.csv", rows(["1", "NA", "null", "N/A"]), ("9 missing values", "row 2", WITHOUT)),
    ("empty fields", "t.csv", rows(["", "x"]), ("'a' has 3 missing values, the first in row 1", WITHOUT)),
    ("empty quoted fields", "t.csv", rows(['""', "x"]), ("3 missing values, the first in row 1", WITHOUT)),
    ("all empty", "t.csv", rows(["", ""]), ("'a' has 6 missing values", WITHOUT)),
    ("a blank cell, one column", "t.csv", "a\nx\n  \ny\n", ("'a' has 1 missing value", "row 2", WITHOUT)),
    ("an empty line, one column", "t.csv", "a\nx\n\ny\n", ("'a' has 1 missing value", "row 2", WITHOUT)),
    (
        "a date for each row",
        "t.csv",
        "when,b\n" + "".join(f"2024-01-{day:02},0\n" for day in range(1, 29)),
        ("'when'", "dates, such as '2024-01-01'", "--drop when"),
    ),
    ("10^5 identifiers", "t.csv", "id\n" + "\n".join(map(str, range(10**5))), ("'id'", "100000", "--drop id")),
    (
        "10^5 states",
        "t.csv",
        "id\na0\n" + "\n".join(f"a{i}" for i in range(10**5)),
        ("'id'", "100000 states", "merge some"),
    ),
]


def learn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of `brai learn`."""
    monkeypatch.setattr(sys, "argv", ["brai", "learn", *arguments, "--json", "--quiet"])
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)  # the command line replaces it
    code: Any = 0
    try:
        main()
    except SystemExit as error:
        code = error.code
    return (code, *capsys.readouterr())


def assert_refused(found: tuple[int, str, str], parts: tuple[str, ...]) -> None:
    code, out, err = found
    assert code == 1
    assert out == ""
    assert err.startswith("brai: ")
    assert "Traceback" not in err
    assert err.count("\n") == 1, "one line"
    assert len(err) < 400
    assert re.search(says(parts), err)


@pytest.mark.parametrize(("name", "content", "parts"), [pytest.param(*row[1:], id=row[0]) for row in BAD_FILES])
def test_files_that_are_refused(
    name: str,
    content: str | bytes,
    parts: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / name
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(content)
    refusing = ["--missing", "error"] if WITHOUT in parts or NO_NUMBER in parts else []
    assert_refused(learn(capsys, monkeypatch, str(path), *refusing), parts)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path], "nothing else is left behind"


def not_permitted(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(CSV)

    def refuse(self: Path, *_: object) -> bytes:  # root may read everything
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refuse)


def bad_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(CSV)

    def refuse(self: Path, *_: object) -> bytes:
        raise OSError(5, "Input/output error", str(self))

    monkeypatch.setattr(Path, "open", refuse)


@pytest.mark.parametrize(
    ("name", "make", "parts"),
    [
        ("none.csv", lambda path, _: None, ("no file", "none.csv'", "check the path")),
        ("no/folder/t.csv", lambda path, _: None, ("no file", "t.csv'", "check the path")),
        ("dir.csv", lambda path, _: path.mkdir(), ("dir.csv' is a directory", "give the path of a file")),
        ("t.csv", lambda path, _: path.symlink_to(path.parent / "gone"), ("no file", "check the path")),
        ("t.csv", lambda path, _: path.symlink_to(path), ("cannot read", "symbolic links", "check the path")),
        (
            "t.csv/u.csv",
            lambda path, _: path.parent.write_text(CSV),
            ("cannot read", "Not a dir", "check the path"),
        ),
        ("t.csv", lambda path, _: os.mkfifo(path), ("t.csv' is not a regular file", "copy")),
        ("t.csv", not_permitted, ("reading", "t.csv' is not permitted", "change its permissions")),
        ("t.csv", bad_disk, ("cannot read", "t.csv'", "Input/output error", "check the path")),
        (f"{'x' * 300}.csv", lambda path, _: None, ("cannot read", "...", "File name too long", "check the path")),
    ],
    ids=["none", "no-folder", "folder", "dangling", "loop", "file-as-folder", "pipe", "forbidden", "disk", "long"],
)
def test_paths_that_are_refused(
    name: str,
    make: Callable[[Path, pytest.MonkeyPatch], object],
    parts: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make(tmp_path / name, monkeypatch)
    assert_refused(learn(capsys, monkeypatch, str(tmp_path / name)), parts)


@pytest.mark.parametrize(
    ("arguments", "code", "parts"),
    [
        (["https://example.org/t.csv"], 1, ("no file", "example.org/t.csv'", "download it")),
        (["{csv}", "--delimiter", ";;"], 1, ("the delimiter is ';;'", "give one character")),
        (["{csv}", "--delimiter", ""], 1, ("the delimiter is ''", "give one character")),
        (["{csv}", "--drop", "c"], 1, ("no column 'c'", "choose among ['a', 'b']")),
        (["{csv}", "--drop", "a", "--drop", "b"], 1, ("no columns", "give at least one")),
        ([], 2, ("FILE",)),
        (["{csv}", "{csv}"], 2, ("t.csv",)),
    ],
)
def test_arguments_that_are_refused(
    arguments: list[str],
    code: int,
    parts: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    found = learn(capsys, monkeypatch, *(argument.format(csv=path) for argument in arguments))
    if code == 1:
        assert_refused(found, parts)
    else:
        assert found[0] == code
        assert "Traceback" not in found[2]
        assert re.search(says(parts), found[2])


# ---- files that are read ----

GOOD_FILES: list[tuple[str, str, str | bytes, tuple[Any, Any]]] = [
    ("a byte order mark", "t.csv", b"\xef\xbb\xbf" + CSV.encode(), TWO),
    ("two of them", "t.csv", b"\xef\xbb\xbf" * 2 + CSV.encode(), TWO),
    ("a mark and quotes", "t.csv", "\ufeff" + CSV.replace("a,b", '"a","b"'), TWO),
    ("old Macintosh lines", "t.csv", CSV.replace("\n", "\r"), TWO),
    ("blank lines between", "t.csv", CSV.replace("\n", "\n  \n\n"), TWO),
    ("no end of line", "t.csv", CSV.rstrip(), TWO),
    ("semicolons", "t.csv", CSV.replace(",", ";"), TWO),
    ("upper-case suffix", "T.PARQUET", PARQUET, TWO),
    ("gzip in parts", "t.csv.gz", ZIPPED + gzip.compress(b"x,0\n"), TWO),
    ("a space in the path", "my table.csv", CSV, TWO),
    ("unicode names", "t.csv", "größe,身長,🙂\nx,0,é\n", (("größe", "身長", "🙂"), (("x",), (0,), ("é",)))),
    ("a name of 10 kB", "t.csv", rows(["x"], f"{LONG},b"), ((LONG, "b"), (("x",), (0, 1)))),
    ("a name with a line break", "t.csv", '"a\nb",c\nx,0\n', (("a\nb", "c"), (("x",), (0,)))),
    ("a cell with a line break", "t.csv", rows(['"x\ny"', "z"]), (("a", "b"), (("x\ny", "z"), (0, 1)))),
    ("a cell with the delimiter", "t.csv", rows(['"x,y"', "z"]), (("a", "b"), (("x,y", "z"), (0, 1)))),
    ("a cell with quotes", "t.csv", rows(['"x""y"', 'z"']), (("a", "b"), (('x"y', 'z"'), (0, 1)))),
    ("names that differ by case", "t.csv", rows(["x", "y"], "a,A"), (("a", "A"), TWO[1])),
    ("one row", "t.csv", "a,b\nx,0\n", (("a", "b"), (("x",), (0,)))),
    ("one column", "t.csv", "a\nx\ny\n", (("a",), (("x", "y"),))),
    ("one column, quoted commas", "t.tsv", '"a,b"\n"x,y"\n', (("a,b",), (("x,y",),))),
    ("one cell", "t.csv", "a\nx", (("a",), (("x",),))),
    ("constant columns", "t.csv", "a,b\n" + "k,1\n" * 5, (("a", "b"), (("k",), (1,)))),
    (
        "few dates",
        "t.csv",
        rows(["2024-01-02", "2024-01-01"]),
        (("a", "b"), (("2024-01-01", "2024-01-02"), (0, 1))),
    ),
    ("whole floats", "t.csv", rows(["2.0", "1"]), (("a", "b"), ((1, 2), (0, 1)))),
    ("negative", "t.csv", rows(["-10", "-9"]), (("a", "b"), ((-10, -9), (0, 1)))),
    ("beyond int64", "t.csv", rows(["9" * 25, "1"]), (("a", "b"), (("1", "9" * 25), (0, 1)))),
    ("5000 digits", "t.csv", rows(["9" * 5000, "1"]), (("a", "b"), (("1", "9" * 5000), (0, 1)))),
    (
        "the same number of 18 digits but for one",
        "t.csv",
        rows(["123456789012345678.0", "123456789012345679.0"]),
        (("a", "b"), ((123456789012345678, 123456789012345679), (0, 1))),
    ),
    ("more than a float holds", "t.csv", rows(["1", "1e400"]), (("a", "b"), (("1", "1e400"), (0, 1)))),
    ("inf", "t.csv", rows(["1", "inf"]), (("a", "b"), (("1", "inf"), (0, 1)))),
    ("-Infinity", "t.csv", rows(["Inf", "-Infinity"]), (("a", "b"), (("-Infinity", "Inf"), (0, 1)))),
    ("empty lines after one column", "t.csv", "a\nx\ny\n\n\n", (("a",), (("x", "y"),))),
    ("true and false", "t.csv", rows(["true", "false"]), (("a", "b"), (("false", "true"), (0, 1)))),
    ("numbers and text", "t.csv", rows(["1", "x"]), (("a", "b"), (("1", "x"), (0, 1)))),
    ("no line of names", "t.csv", "0,1\n1,0\n0,0\n", (("0", "1"), ((0, 1), (0,)))),
]


@pytest.mark.parametrize(("name", "content", "answer"), [pytest.param(*row[1:], id=row[0]) for row in GOOD_FILES])
def test_files_that_are_read(name: str, content: str | bytes, answer: tuple[Any, Any], tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    for data in (Dataset.from_file(path), Dataset.of(str(path))):
        assert (data.names, data.states) == answer
        assert all(type(x) is type(y) for own, right in zip(data.states, answer[1], strict=True)
                   for x, y in zip(own, right, strict=True))  # fmt: skip


@pytest.mark.parametrize(
    ("content", "arguments", "names"),
    [
        ("\ufeff" + CSV, [], ["a", "b"]),
        (rows(["x", "y"], f"{LONG},身長"), [], [LONG, "身長"]),
        ("a,b\n" + "1,1\n0,0\n" * 20, [], ["a", "b"]),
        (CSV.replace(",", "#"), ["--delimiter", "#"], ["a", "b"]),
        (",a\n0,x\n1,y\n", ["--drop", ""], ["a"]),
    ],
    ids=["mark", "long-name", "copy", "delimiter", "drop-row-numbers"],
)
def test_files_that_are_learned_from(
    content: str,
    arguments: list[str],
    names: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    code, out, err = learn(capsys, monkeypatch, str(path), "-k", "2", *arguments)
    assert (code, err) == (0, "")
    assert json.loads(out)["variables"] == names
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("content", "name"), [("a\nx\n", "a"), ("a,b,c\n" + "1,1,k\n0,0,k\n" * 20, "c")], ids=["one-cell", "one-of-3"]
)
def test_one_value_only_is_learned_from_and_told(
    content: str,
    name: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    code, out, err = learn(capsys, monkeypatch, str(path), "-k", "2")
    assert code == 0
    assert err.startswith(
        f"brai: warning: only one value in '{name}': no evidence about its edges, so it has none ("
    )
    assert err.count("\n") == 1
    assert name in json.loads(out)["variables"]


# ---- tables that are refused ----


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Word(str, enum.Enum):  # noqa: UP042 - its str() is not its value
    YES = "yes"
    NO = "no"


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError


DAY = datetime.date(2024, 1, 1)
ITSELF: list[Any] = []
ITSELF.append(ITSELF)

BAD_TABLES: list[tuple[str, Callable[[], Any], type[Exception], tuple[str, ...]]] = [
    ("None", lambda: None, TypeError, ("NoneType", NOT_DATA)),
    ("a number", lambda: 3, TypeError, ("int", NOT_DATA)),
    ("bytes", lambda: b"a,b\n1,2\n", TypeError, ("bytes", NOT_DATA)),
    ("an open file", lambda: io.StringIO(CSV), TypeError, ("StringIO", NOT_DATA)),
    ("a generator", lambda: ([i] for i in range(3)), TypeError, ("generator", NOT_DATA)),
    ("a class", lambda: pd.DataFrame, TypeError, ("type", NOT_DATA)),
    ("groups", lambda: pd.DataFrame({"a": [1]}).groupby("a"), TypeError, ("DataFrameGroupBy", NOT_DATA)),
    ("a sparse matrix", lambda: scipy.sparse.csr_array(np.eye(3)), TypeError, ("csr_array", NOT_DATA)),
    ("an arrow batch", lambda: pa.record_batch({"a": [1, 2]}), TypeError, ("RecordBatch", NOT_DATA)),
    ("no file of that name", lambda: "none.csv", FileNotFoundError, ("'none.csv'", "check the path")),
    ("a word", lambda: "hello", DataError, ("format of 'hello'", "name it .csv")),
    ("an empty word", lambda: "", DataError, ("the path is ''", "give the path of a file")),
    ("the text of a file", lambda: CSV * 1000, DataError, ("format of 'a,b\\n", "...", "name it .csv")),
    ("a path with a NUL", lambda: "a\0.csv", FileNotFoundError, ("'a\\x00.csv'", "check the path")),
    ("an address", lambda: "s3://bucket/t.csv", FileNotFoundError, ("bucket/t.csv'", "download it")),
    ("a folder", lambda: Path(), DataError, ("'.' is a directory", "give the path of a file")),
    ("no list", list, DataError, ("no rows", "give at least one")),
    ("list of numbers", lambda: [1, 2], DataError, ("row 1 is 1", "give a list of cells per row")),
    ("list of dicts", lambda: [{"a": 1}], DataError, ("row 1 is {'a': 1}", "give a list of cells per row")),
    ("list of series", lambda: [pd.Series([1, 2])], DataError, ("row 1 is 0 1 1 2", "give a list of cells")),
    ("list of 0-d arrays", lambda: [np.array(1)], DataError, ("row 1 is array(1)", "give a list of cells")),
    ("list of long text", lambda: ["x" * 10**6], DataError, ("row 1 is 'xxx", "...", "give a list of cells")),
    ("list of lists of lists", lambda: [[[1, 2], [3]], [[1, 2], [3]]], DataError, ("'x0'", "list", NO_STATES)),
    ("list of matrices", lambda: [np.eye(2), np.eye(2)], DataError, ("'x0'", "ndarray", NO_STATES)),
    ("a list in itself", lambda: ITSELF, DataError, ("'x0'", "list", NO_STATES)),
    ("rows that differ", lambda: [[1, 2], [1]], DataError, ("row 2 has 1 cell, but", "2", "complete it")),
    ("1-D array", lambda: np.arange(3), DataError, ("1-D", "X.reshape(-1, 1)")),
    ("3-D array", lambda: np.zeros((2, 2, 2)), DataError, ("3-D", "give rows × columns")),
    (
        "array of records",
        lambda: np.zeros(2, [("u", "i4"), ("v", "U1")]),
        DataError,
        ("['u', 'v']", "DataFrame(X)"),
    ),
    ("array of bytes", lambda: np.array([[b"x"]]), DataError, ("'x0'", "|S1", NO_STATES)),
    ("array of blanks", lambda: np.zeros((2, 2), "V4"), DataError, ("'x0'", "|V4", NO_STATES)),
    ("array of complex", lambda: np.eye(2) * 1j, DataError, ("'x0'", "complex128", NO_STATES)),
    ("array of times", lambda: np.zeros((2, 2), "M8[s]"), DataError, ("'x0'", "datetime64[s]", NO_STATES)),
    ("fractions and labels", lambda: {"a": [0.5, None], "b": ["x", "y"]}, DataError, ("'a'", "row 2", NO_NUMBER)),
    ("array of objects", lambda: np.array([[{}, 1], [{}, 2]]), DataError, ("'x0'", "dict", NO_STATES)),
    ("no rows", lambda: pd.DataFrame({"a": []}), DataError, ("no rows", "give at least one")),
    ("no columns", lambda: pl.DataFrame(), DataError, ("no columns", "give at least one")),
    ("no columns, rows", lambda: pd.DataFrame(index=[0, 1]), DataError, ("no columns", "give at least one")),
    ("arrow, no rows", lambda: pa.table({"a": pa.array([], "int8")}), DataError, ("no rows", "give at least one")),
    ("a column of text", lambda: {"a": "xyz"}, DataError, ("'a'", "str", "give a list, an array or a series")),
    ("a column None", lambda: {"a": None}, DataError, ("'a'", "NoneType", "give a list")),
    ("a column that is a set", lambda: {"a": {1, 2}}, DataError, ("'a'", "set", "give a list")),
    (
        "a column that is a frame",
        lambda: {"a": pd.DataFrame({"b": [1]})},
        DataError,
        ("'a'", "DataFrame", "give a"),
    ),
    ("a column that is lazy", lambda: {"a": pl.LazyFrame({"b": [1]})}, DataError, ("'a'", "LazyFrame", "give a")),
    ("a column in 0 dimensions", lambda: {"a": np.array(1)}, DataError, ("'a' is 0-D", "give one value per row")),
    (
        "columns that differ",
        lambda: {"a": [1, 2], LONG: [1]},
        DataError,
        ("'nnn", "...", "1 row", "'a'", "equal len"),
    ),
    ("name None", lambda: {None: [1]}, DataError, ("name of column 1 is None", "rename it to a str")),
    ("name 1.5", lambda: {1.5: [1]}, DataError, ("name of column 1 is 1.5", "rename it to a str")),
    ("name NaN", lambda: pd.DataFrame([[1]], columns=[np.nan]), DataError, ("column 1 is nan", "rename it")),
    ("name of bytes", lambda: {"a": [1], b"b": [1]}, DataError, ("column 2 is b'b'", "rename it to a str")),
    ("name tuple", lambda: {("a", "b"): [1]}, DataError, ("column 1 is ('a', 'b')", "rename it to a str")),
    (
        "names in two levels",
        lambda: pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])),
        DataError,
        ("column 1 is ('a', 'b')", "rename it to a str"),
    ),
    (
        "names that are dates",
        lambda: pd.DataFrame([[1, 2]], columns=pd.to_datetime(["2024-01-01", "2024-01-02"])),
        DataError,
        ("column 1 is Timestamp('2024-01-01", "rename it to a str"),
    ),
    (
        "repeated names",
        lambda: pd.DataFrame([[1, 2]], columns=["a", "a"]),
        DataError,
        ("2 columns", "'a'", REPEATED),
    ),
    ("repeated, arrow", lambda: pa.table([[1], [2]], names=[LONG] * 2), DataError, ("'nnn", "...", REPEATED)),
    ("1 and '1'", lambda: {1: [0], "1": [0]}, DataError, ("2 columns are named '1'", REPEATED)),
    ("None twice", lambda: pd.DataFrame([[1, 2]], columns=[None, None]), DataError, ("2 columns are named",)),
    (
        "a blank name",
        lambda: {" \t": [1]},
        DataError,
        ("column 1 has an empty name (' \\t')", "name it, or drop it"),
    ),
    (
        "dates",
        lambda: pd.DataFrame({"a": pd.to_datetime(["2024-01-01"])}),
        DataError,
        ("'a'", "Datetime", NO_STATES),
    ),
    ("dates as objects", lambda: {"a": [DAY, DAY]}, DataError, ("'a'", "date", NO_STATES)),
    ("dates and NaT", lambda: {"a": [np.datetime64("NaT"), DAY]}, DataError, ("'a'", "row 1", MISSING)),
    (
        "durations",
        lambda: pa.table({"a": pa.array([1], pa.duration("s"))}),
        DataError,
        ("'a'", "Duration", NO_STATES),
    ),
    ("times", lambda: pl.DataFrame({"a": [datetime.time(1)]}), DataError, ("'a'", "Time", NO_STATES)),
    ("intervals", lambda: pd.DataFrame({"a": pd.interval_range(0, 2)}), DataError, ("'a'", "Interval", NO_STATES)),
    ("lists", lambda: pl.DataFrame({"a": [[1], [2]]}), DataError, ("'a'", "List(Int64)", NO_STATES)),
    ("structs", lambda: pl.DataFrame({"a": [{"x": 1}]}), DataError, ("'a'", "Struct", NO_STATES)),
    (
        "maps",
        lambda: pa.table({"a": pa.array([[("k", 1)]], pa.map_("utf8", "int8"))}),
        DataError,
        ("'a'", NO_STATES),
    ),
    ("arrays in cells", lambda: pd.DataFrame({"a": [np.eye(2)]}), DataError, ("'a'", "ndarray", NO_STATES)),
    ("tuples", lambda: {"a": [(1, 2)]}, DataError, ("'a'", "tuple", NO_STATES)),
    ("complex", lambda: {"a": [1j]}, DataError, ("'a'", "complex", NO_STATES)),
    ("decimals", lambda: {"a": [decimal.Decimal(1)]}, DataError, ("'a'", "Decimal", NO_STATES)),
    (
        "polars decimals",
        lambda: pl.DataFrame({"a": [decimal.Decimal(1)]}),
        DataError,
        ("'a'", "Decimal", NO_STATES),
    ),
    ("a signalling NaN", lambda: {"a": [decimal.Decimal("snan")]}, DataError, ("'a'", "Decimal", NO_STATES)),
    ("fractions", lambda: {"a": [fractions.Fraction(1, 2)]}, DataError, ("'a'", "Fraction", NO_STATES)),
    ("UUIDs", lambda: {"a": [uuid.UUID(int=1)]}, DataError, ("'a'", "UUID", NO_STATES)),
    ("an enum", lambda: {"a": [Colour.RED]}, DataError, ("'a'", "Colour", NO_STATES)),
    ("bytes in cells", lambda: pa.table({"a": [b"x"]}), DataError, ("'a'", "bytes", NO_STATES)),
    ("what has no repr", lambda: {"a": [Unspeakable()]}, DataError, ("'a'", "Unspeakable", NO_STATES)),
    ("polars objects", lambda: pl.DataFrame({"a": [Unspeakable()]}), DataError, ("'a'", "Unspeakable", NO_STATES)),
    (
        "text and numbers",
        lambda: {"a": ["x" * 10**6, 1]},
        DataError,
        ("'a' mixes", "'xxx", "and 1", "to one type"),
    ),
    ("True and 1", lambda: {"a": [True, 1]}, DataError, ("'a' mixes", "True and 1", "convert all its values")),
    ("infinite", lambda: {"a": [0.5, np.inf]}, DataError, ("infinite values in 'a' (row 2)", "correct them")),
    ("inf", lambda: {"a": [1, np.inf]}, DataError, ("'a'", "inf", NOT_WHOLE)),
    ("-inf", lambda: pl.DataFrame({"a": [1.0, -np.inf]}), DataError, ("'a'", "-inf", NOT_WHOLE)),
    ("missing None", lambda: {"a": ["x", None]}, DataError, ("'a' has 1 missing value", "row 2", MISSING)),
    (
        "missing NaN",
        lambda: {"a": np.array([np.nan, 1])},
        DataError,
        ("'a' has 1 missing value", "row 1", MISSING),
    ),
    ("missing pd.NA", lambda: {"a": [1, pd.NA]}, DataError, ("'a' has 1 missing value", "row 2", MISSING)),
    (
        "missing Int64",
        lambda: pd.DataFrame({"a": pd.array([1, None], "Int64")}),
        DataError,
        ("'a'", "row 2", MISSING),
    ),
    (
        "missing Float64",
        lambda: {"a": pd.Series([1, None], dtype="Float64")},
        DataError,
        ("'a'", "row 2", MISSING),
    ),
    (
        "missing string",
        lambda: {"a": pd.Series(["x", None], dtype="string")},
        DataError,
        ("'a'", "row 2", MISSING),
    ),
    (
        "missing in arrow in pandas",
        lambda: {"a": pd.Series([1, None], dtype="int8[pyarrow]")},
        DataError,
        (MISSING,),
    ),
    ("missing in polars", lambda: pl.DataFrame({"a": ["x", None]}), DataError, ("'a'", "row 2", MISSING)),
    ("missing in polars, all", lambda: pl.DataFrame({"a": [None]}), DataError, ("'a'", "row 1", MISSING)),
    ("missing in arrow", lambda: pa.table({"a": [True, None]}), DataError, ("'a'", "row 2", MISSING)),
    ("missing category", lambda: {"a": pd.Series(pd.Categorical(["x", None]))}, DataError, ("row 2", MISSING)),
    (
        "missing, sparse",
        lambda: {"a": pd.Series(pd.arrays.SparseArray([1, np.nan]))},
        DataError,
        ("row 2", MISSING),
    ),
    ("missing, masked", lambda: np.ma.masked_equal([[1], [7]], 7), DataError, ("'x0'", "row 2", MISSING)),
    ("10^6 identifiers", lambda: np.arange(10**6)[:, None], DataError, ("'x0'", "1000000 different", "drop it")),
    (
        "10^6 states",
        lambda: {"a": np.char.add("n", (np.arange(10**6 + 1) % 10**6).astype(str)), "b": np.zeros(10**6 + 1, int)},
        DataError,
        ("1000000 states", "merge some or drop"),
    ),
    (
        "10^6 categories",
        lambda: {"a": pd.Series([0], dtype=pd.CategoricalDtype(range(10**6)))},
        DataError,
        ("merge",),
    ),
    ("5000 digits", lambda: {"a": [10**5000, 1]}, DataError, ("'a'", "an integer of 16610 bits", "give text")),
    (
        "labels spelled alike",
        lambda: {"a": pd.Series(pd.Categorical([DAY, str(DAY)]))},
        DataError,
        ("2 times", "once"),
    ),
    (
        "a lazy query that fails",
        lambda: pl.LazyFrame({"a": [1]}).select("b"),
        DataError,
        ('"b"', "fix its query"),
    ),
    ("a lazy file that is not", lambda: pl.scan_csv("none.csv"), DataError, ("none.csv", "fix its query")),
]


def learners() -> list[Any]:
    return [brai.RAI(), brai.HillClimbing(), brai.BRAI(s=2, posterior_from="tree")]


def same(one: Any, other: Any) -> bool:
    """Whether two objects of one kind hold the same, NaN being itself."""
    if isinstance(one, pd.DataFrame | pd.Series | pl.DataFrame | pl.Series | pa.Table):
        return type(one) is type(other) and bool(one.equals(other))
    if isinstance(one, dict):
        return list(map(str, one)) == list(map(str, other)) and all(map(same, one.values(), other.values()))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and all(map(same, one.ravel().tolist(), other.ravel().tolist()))
    if isinstance(one, list | tuple) and one is not ITSELF:
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and (one is other or repr(one) == repr(other))


@pytest.mark.parametrize(("make", "kind", "parts"), [pytest.param(*row[1:], id=row[0]) for row in BAD_TABLES])
def test_tables_that_are_refused(make: Callable[[], Any], kind: type[Exception], parts: tuple[str, ...]) -> None:
    X = make()
    fits = [Dataset.of, *(learner.fit for learner in learners())]
    if MISSING in parts or NO_NUMBER in parts:  # imputed by default
        fits = [functools.partial(Dataset.of, missing="error")]
    for fit in fits[: 1 if "1000000" in str(parts) else None]:  # once is enough for large ones
        with pytest.raises(kind, match=says(parts)) as caught:
            fit(X)
        assert type(caught.value) is kind
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400
    if isinstance(X, pd.DataFrame | pl.DataFrame | pa.Table | np.ndarray) and "Unspeakable" not in parts:
        assert same(X, make()), "a refused table is left as it was"


# ---- tables that are taken in ----

BITS = [0, 1] * 10
B = ((0, 1),)  # states of BITS
GOOD_TABLES: list[tuple[str, Callable[[], Any], tuple[Any, ...], tuple[Any, ...]]] = [
    ("one row", lambda: {"a": [5], "b": ["x"]}, ("a", "b"), ((5,), ("x",))),
    ("one column", lambda: {"a": BITS}, ("a",), B),
    ("one cell", lambda: [[7]], ("x0",), ((7,),)),
    (
        "one row, wide",
        lambda: np.arange(12)[None, :],
        tuple(f"x{i}" for i in range(12)),
        tuple((i,) for i in range(12)),
    ),
    ("constant columns", lambda: {"a": [1] * 9, "b": ["k"] * 9}, ("a", "b"), ((1,), ("k",))),
    ("a copy of a column", lambda: {"a": BITS, "b": BITS}, ("a", "b"), B * 2),
    ("int names", lambda: pd.DataFrame({0: BITS, 10: BITS, 9: BITS}), ("0", "10", "9"), B * 3),
    ("numpy names", lambda: {np.int8(1): BITS}, ("1",), B),
    ("names that differ by spaces", lambda: {"a": BITS, " a": BITS, "a ": BITS}, ("a", " a", "a "), B * 3),
    ("names of 10 kB", lambda: {LONG: BITS, LONG + "m": BITS}, (LONG, LONG + "m"), B * 2),
    ("unicode", lambda: {"身長": ["é", "e\u0301"] * 9}, ("身長",), (("e\u0301", "é"),)),
    (
        "an index in two levels",
        lambda: pd.DataFrame({"a": BITS, "b": BITS, "c": BITS}).set_index(["a", "b"]),
        ("c",),
        B,
    ),
    ("an index that repeats", lambda: pd.DataFrame({"a": BITS}, index=[3] * 20), ("a",), B),
    ("booleans", lambda: pd.DataFrame({"a": [True, False] * 5}), ("a",), ((False, True),)),
    ("nullable booleans", lambda: {"a": pd.Series([True, False], dtype="boolean")}, ("a",), ((False, True),)),
    ("whole floats", lambda: {"a": [2.0, 1.0, -0.0, 0.0]}, ("a",), ((0, 1, 2),)),
    ("whole floats and ints", lambda: {"a": [2.0, 1, 2]}, ("a",), ((1, 2),)),
    ("half precision", lambda: np.array([[1], [2]], np.float16), ("x0",), ((1, 2),)),
    ("nullable ints", lambda: pd.DataFrame({"a": pd.array([2, 1], "Int8")}), ("a",), ((1, 2),)),
    ("negative", lambda: np.array([[-5], [3], [-50]]), ("x0",), ((-50, -5, 3),)),
    ("big-endian", lambda: {"a": np.array([256, 1], ">i2")}, ("a",), ((1, 256),)),
    ("beyond int64", lambda: {"a": [2**70, 1, -(2**70)]}, ("a",), ((-(2**70), 1, 2**70),)),
    ("uint64", lambda: np.array([[2**64 - 1], [1]], np.uint64), ("x0",), ((1, 2**64 - 1),)),
    ("int128", lambda: pl.DataFrame({"a": pl.Series([2**100, 1], dtype=pl.Int128)}), ("a",), ((1, 2**100),)),
    ("sparse", lambda: pd.DataFrame({"a": pd.arrays.SparseArray(BITS)}), ("a",), B),
    ("numpy scalars", lambda: {"a": [np.int8(1), np.int64(2), 1]}, ("a",), ((1, 2),)),
    ("members of an enum", lambda: {"a": list(Level), "b": list(Word)}, ("a", "b"), ((1, 2), ("no", "yes"))),
    ("empty text", lambda: {"a": ["", "x"]}, ("a",), (("", "x"),)),
    ("text 'None'", lambda: {"a": ["x", "None"]}, ("a",), (("None", "x"),)),
    ("unused categories", lambda: {"a": pd.Series(pd.Categorical(["x"], ["z", "x"]))}, ("a",), (("z", "x"),)),
    (
        "categories of dates",
        lambda: pd.DataFrame({"a": pd.Categorical([DAY, DAY])}),
        ("a",),
        (("2024-01-01",),),
    ),
    (
        "categories of times",
        lambda: pd.DataFrame({"a": pd.Categorical(pd.to_datetime(["2024-01-02", "2024-01-01"]))}),
        ("a",),
        (("2024-01-01 00:00:00", "2024-01-02 00:00:00"),),
    ),
    ("categories 1 and '1'", lambda: {"a": pd.Series(pd.Categorical(["1", 1], [1, "1"]))}, ("a",), ((1, "1"),)),
    (
        "arrow dictionary of dates",
        lambda: pa.table({"a": pa.array([DAY]).dictionary_encode()}),
        ("a",),
        ((str(DAY),),),
    ),
    (
        "arrow dictionary in pandas",
        lambda: pd.DataFrame({"a": pd.Series(["y", "x"], dtype=pd.ArrowDtype(pa.dictionary("int8", "utf8")))}),
        ("a",),
        (("y", "x"),),
    ),
    ("arrow views", lambda: pa.table({"a": pa.array(["y", "x"], pa.string_view())}), ("a",), (("x", "y"),)),
    ("arrow runs", lambda: pa.table({"a": pa.RunEndEncodedArray.from_arrays([2, 4], [1, 2])}), ("a",), ((1, 2),)),
    ("a lazy frame", lambda: pl.LazyFrame({"a": BITS}).with_columns(b=1 - pl.col("a")), ("a", "b"), B * 2),
    (
        "enum of polars",
        lambda: pl.DataFrame({"a": pl.Series(["x"], dtype=pl.Enum(["z", "x"]))}),
        ("a",),
        (("z", "x"),),
    ),
]


@pytest.mark.filterwarnings("ignore::brai.learners.drawing.ConvergenceWarning")
@pytest.mark.parametrize(("make", "names", "states"), [pytest.param(*row[1:], id=row[0]) for row in GOOD_TABLES])
def test_tables_that_are_taken_in(
    make: Callable[[], Any], names: tuple[Any, ...], states: tuple[Any, ...]
) -> None:
    X = make()
    before = copy.deepcopy(X)
    data = Dataset.of(X)
    assert (data.names, data.states) == (names, states)
    for own, right in zip(data.states, states, strict=True):
        assert list(map(type, own)) == list(map(type, right))
    for learner in learners():
        learner.fit(X)
        assert learner.feature_names_in_.tolist() == list(names)
        assert np.isfinite(learner.log_score_)
        assert np.isfinite(learner.score_samples(X)).all()
    if not isinstance(X, pl.LazyFrame):
        assert same(X, before)


@pytest.mark.parametrize("make", [lambda: brai.RAI(), lambda: brai.HillClimbing(), lambda: brai.BRAI(s=2)])
def test_a_copied_column_is_a_neighbour_and_a_constant_one_is_not(make: Callable[[], Any]) -> None:
    bits = np.random.default_rng(0).integers(0, 2, 200)
    model = make().fit(pd.DataFrame({"a": bits, "copy": bits, "constant": 0}))
    assert str(model.cpdag_) == "a -- copy"


# ---- arguments of Dataset, and data for a fitted model ----


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (lambda: Dataset.of([[1, 2]], names="rain"), ("4 names for 2 columns", "give one name per column")),
        (lambda: Dataset.of([[1, 2]], names=3), ("the names are 3", "give a list")),
        (lambda: Dataset.of([[1, 2]], names=["a", ["b"]]), ("column 2 is ['b']", "rename it to a str")),
        (
            lambda: Dataset.of(np.zeros((1, 10**5)), names=["a"] * 10**5),
            ("100000 columns are named 'a'", REPEATED),
        ),
        (lambda: Dataset.of([[1]], states={"x0": [[1], [2]]}), ("'x0' hold [1]", "give text or numbers")),
        (
            lambda: Dataset.of([[1]], states={"x0": np.eye(2)}),
            ("'x0' hold array([1., 0.])", "give text or numbers"),
        ),
        (lambda: Dataset.of([[1]], states={"x0": np.array(1)}), ("'x0' are array(1)", "give a list of labels")),
        (lambda: Dataset.of([[1]], states={"x0": list}), ("'x0' are <class 'list'>", "give a list of labels")),
        (lambda: Dataset.of([[1]], states={"x0": b"01"}), ("'x0' are b'01'", "give a list of labels")),
        (
            lambda: Dataset.of([[1]], states={"x0": iter([1])}),
            ("'x0' are <list_iterator", "give a list of labels"),
        ),
        (
            lambda: Dataset.of([[1]], states={"x0": []}),
            ("'x0' holds 1 in row 1", "states []", "add it to states="),
        ),
        (lambda: Dataset.of([[1]], states={"x0": [True, 1]}), ("'x0' hold True 2 times", "list it once")),
        (
            lambda: Dataset.of([[1]], states={"x0": [10**5000]}),
            ("an integer of 16610 bits", "give text or numbers"),
        ),
        (lambda: Dataset.from_codes([[0, 1], [0]]), ("rows of codes differ in length", "give rows × columns")),
        (lambda: Dataset.from_codes(None), ("0-D", "give rows × columns")),
        (lambda: Dataset.from_codes([["a"]]), ("<U1, not integers", "use Dataset.of")),
        (lambda: Dataset.from_codes([[0]], arities=2), ("the arities are 2", "give one per column")),
        (
            lambda: Dataset.from_codes([[0]], arities=["2"]),
            ("'x0' has arity '2'", "give a whole number from 1 on"),
        ),
        (
            lambda: Dataset.from_codes([[0]], arities=[2.0]),
            ("'x0' has arity 2.0", "give a whole number from 1 on"),
        ),
        (lambda: Dataset.from_codes([[0]], arities=[0]), ("'x0' has arity 0", "give a whole number from 1 on")),
        (lambda: Dataset.from_codes([[0]], states=3), ("lists of states are 3", "give one per column")),
        (lambda: Dataset.from_codes(np.array([[2**64 - 1]], np.uint64)), ("18446744073709551616 states", "merge")),
        (lambda: Dataset.from_file(3), ("the path is 3", "give the path of a file")),
        (lambda: Dataset.from_file(None), ("the path is None", "give the path of a file")),
    ],
)
def test_arguments_of_a_dataset_that_are_refused(make: Callable[[], Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(DataError, match=says(parts)) as caught:
        make()
    assert len(str(caught.value)) < 400


def test_one_column_to_drop_needs_no_list(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,b\n1,x\n")
    assert Dataset.from_file(path, drop="id").names == ("b",)


GOOD = {"a": [0, 1], "b": ["0", "1"], "c": ["x", "y"]}
LABELS = "fit on Dataset.of(X, states={column: labels})"


@pytest.mark.parametrize(
    ("X", "parts"),
    [
        ({"a": [0]}, ("lacks ['b', 'c']", "columns are ['a']", "give a column of that name")),
        ({**GOOD, "d": [1, 1]}, ("extra columns ['d']", "['a', 'b', 'c']", "drop the extra columns")),
        ({"A": [0], "b": ["0"], "c": ["x"]}, ("lacks ['a']", "['A', 'b', 'c']", "give a column of that name")),
        ({f"v{i}": [0] for i in range(10**4)}, ("lacks ['a', 'b', 'c']", "'v0'", "...", "give a column")),
        ({**GOOD, "c": ["x", "z"]}, ("'c' holds 'z' in row 2", "['x', 'y']", LABELS)),
        ({**GOOD, "c": ["x", "z" * 10**6]}, ("'c' holds 'zzz", "...", "in row 2", LABELS)),
        ({**GOOD, "a": [0, 0.5]}, ("'a' holds 0.5 in row 2", "[0, 1]", LABELS)),
        ({**GOOD, "a": [0, 10**5000]}, ("'a' holds an integer of 16610 bits in row 2", LABELS)),
        ({**GOOD, "b": ["0", b"1"]}, ("'b' holds b'1' in row 2", LABELS)),
        ({**GOOD, "a": [0]}, ("'b' has 2 rows, but column 'a' has 1", "equal length")),
        ({**GOOD, "a": [[0], [1]]}, ("'a' is of type list", NO_STATES)),
        ({"a": [], "b": [], "c": []}, ("no rows", "give at least one")),
        (np.zeros((2, 2)), ("2 columns without names for the 3 variables", "give one each in this order")),
        ([[0, "0"]], ("2 columns without names", "['a', 'b', 'c']", "give one each")),
        (np.zeros(3), ("1-D", "X.reshape(-1, 1)")),
        (pd.DataFrame([[0] * 4], columns=list("aabc")), ("2 columns are named 'a'", REPEATED)),
    ],
)
def test_data_that_a_fitted_model_refuses(X: Any, parts: tuple[str, ...]) -> None:
    model = brai.RAI().fit({name: values * 5 for name, values in GOOD.items()})
    for answer in (model.score_samples, model.score, model.log_predictive):
        with pytest.raises(DataError, match=says(parts)) as caught:
            answer(X)
        assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    "X",
    [
        {"c": ["x", "y"], "b": [0, 1], "a": ["0", "1"]},
        {"a": [0.0, 1.0], "b": [0.0, 1.0], "c": pd.Series(["x", "y"], dtype="category")},
        {"a": [False + 0, 1], "b": [decimal.Decimal(0), decimal.Decimal(1)], "c": np.array(["x", "y"])},
        [[0, "0", "x"], [1, "1", "y"]],
        pl.DataFrame(GOOD).lazy(),
        pa.table(GOOD),
    ],
    ids=["order", "floats", "decimals", "rows", "lazy", "arrow"],
)
def test_data_that_a_fitted_model_takes_in(X: Any) -> None:
    model = brai.RAI().fit({name: values * 5 for name, values in GOOD.items()})
    np.testing.assert_array_equal(model.score_samples(X), model.score_samples(GOOD))


def test_nan_in_an_array_is_told_with_all_its_columns() -> None:
    X = np.array([[0, 1, 0], [1, np.nan, np.nan], [0, 0, np.nan]])
    words = "2 columns have missing values ('x1' 1, 'x2' 2), the first in row 2: " + MISSING
    with pytest.raises(DataError, match=re.escape(words)):
        Dataset.of(X, missing="error")
    with pytest.raises(DataError, match="column 'x1' holds inf in row 2: drop the row"):
        brai.RAI().fit(np.where(np.isnan(X), np.inf, X))
    model = brai.RAI().fit(Dataset.of(X, missing="label"))
    assert np.isfinite(model.score_samples(X)).all()  # missing is a state there
    with pytest.raises(DataError, match="column 'x1' holds inf in row 2, which is not among its states"):
        model.score_samples(np.where(np.isnan(X), np.inf, X))
    np.testing.assert_allclose(brai.RAI().fit(X[:, :1]).score_samples(X[:, 1:2])[1], 0)  # nothing is there
