"""Files are read in a stream: the same answer and the same refusals as reading all at once, in little memory."""

from __future__ import annotations

import csv
import gzip
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

import plain_reader
from brai import DataError, Dataset
from brai.data import parquet as parquet_files
from brai.data import stream, text_files
from brai.runtime import memory

CELLS = st.sampled_from(
    ["", " ", "a", "b ", "NA", "nan", "1", "2.0", "07", "-3", "2.5", "é", '"q"', '"x\ny"', '"', "😀"]
)
ENDS = st.sampled_from(["\n", "\r\n", "\r", "\n\n", "\n \n"])


@st.composite
def files(draw: Any) -> bytes:
    """Mostly tables, some ragged, with blank lines, marks, bytes that are no text."""
    width = draw(st.integers(1, 3))
    delimiter = draw(st.sampled_from(",,,;\t|"))
    text = "\ufeff" * draw(st.integers(0, 2))
    text += delimiter.join(["a", "b", "c"][:width]) + draw(ENDS)
    for _ in range(draw(st.integers(0, 12))):
        cells = draw(st.lists(CELLS, min_size=width, max_size=width))
        if draw(st.integers(0, 30)) == 0:
            cells.append("more")
        text += delimiter.join(cells) + draw(ENDS)
    content = text.encode()
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(content)))
        content = content[:at] + draw(st.sampled_from([b"\0", b"\xe9", b"\xf0\x9f"])) + content[at:]
    return content


def answer(X: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = Dataset.from_file(X, **options) if isinstance(X, Path) else Dataset.of(plainly(*X), **options)
        except DataError as error:
            return str(error)
    return data.names, data.states, data.codes.tolist(), [[type(x) for x in own] for own in data.states]


def plainly(path: Path, delimiter: str | None) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_reader, "reader_of", Rows)
        return dict(zip(*plain_reader.read_text(path, delimiter), strict=True))


class Rows:
    """The rows of a text; when all are read, an empty line between others is an empty cell, not nothing."""

    made = staticmethod(plain_reader.reader_of)

    def __init__(self, text: str, delimiter: str, strict: bool) -> None:
        self.rows, self.is_all = self.made(text, delimiter, strict), strict

    @property
    def line_num(self) -> int:
        return int(self.rows.line_num)

    def __iter__(self) -> Iterator[list[str]]:
        try:
            yield from self.cells()
        except csv.Error as error:
            raise csv.Error(str(error).replace("\t", r"\t")) from None  # control characters are escaped

    def cells(self) -> Iterator[list[str]]:
        empty = n_rows = 0
        for row in self.rows:
            if row or not self.is_all:
                yield from [[""]] * empty
                empty, n_rows = 0, n_rows + 1
                yield row
            else:
                empty += n_rows > 0


@given(
    content=files(),
    rows=st.sampled_from([1, 2, 7]),
    piece=st.sampled_from([1, 3, 1 << 20]),
    name=st.sampled_from(["t.csv", "t.txt", "t.tsv", "t.csv.gz"]),
    delimiter=st.sampled_from([None, None, ","]),
    missing=st.sampled_from(["error", "drop", "label"]),
)
@example(b"a,b\n1,2\n3\n" + b"4,5\n" * 20 + b"\xe9,\0", 2, 3, "t.csv", None, "error")
@example("a,b\n1,x\n2,é\n".encode()[:-2], 1, 1, "t.csv", None, "error")
@example(b"\xef\xbb\xbf" * 2 + b" \n", 1, 1, "t.csv", None, "error")
@example(b"\n" * 60 + b"a,b\n1,2\n", 1, 1, "t.csv", ",", "error")
@example(b"\na\n\n1\n\n\n2\n\n", 1, 1, "t.csv", None, "label")
def test_streamed_is_the_same_as_at_once(
    content: bytes, rows: int, piece: int, name: str, delimiter: str | None, missing: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / name
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        expected = answer((path, delimiter), missing=missing)
        patch.setattr(stream, "PIECE", piece)
        patch.setattr(text_files, "CELLS", 3 * rows)
        found = answer(path, delimiter=delimiter, missing=missing)
    assert found == expected


def test_more_states_than_a_byte_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "CELLS", 200)
    cells = [f"s{i % 300}" for i in range(1000)]
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells)))
    data = Dataset.from_file(tmp_path / "t.csv")
    assert data.codes.dtype == np.uint16
    assert data.to_dict() == {"a": cells, "b": [i % 2 for i in range(1000)]}


def test_columns_left_out_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("id,a\n" + "".join(f"{i},{i % 2}\n" for i in range(1000)))
    parquet.write_table(pa.table({"id": [{"x": 1}] * 4, "a": [0, 1] * 2}), tmp_path / "nested.parquet")
    parquet.write_table(
        pa.table({"id": pa.array([1] * 4, "timestamp[s]"), "a": [0, 1] * 2}), tmp_path / "t.parquet"
    )
    made: list[text_files.Cells] = []
    real = text_files.Cells

    def kept(*settings: Any) -> text_files.Cells:
        made.append(real(*settings))
        return made[-1]

    monkeypatch.setattr(text_files, "Cells", kept)
    for name in ("t.csv", "nested.parquet", "t.parquet"):
        assert Dataset.from_file(tmp_path / name, drop="id").states == ((0, 1),)
    assert [len(own.index) for own in made] == [0, 2]


TYPES = {
    "text": pa.array(["x", None, "y", "x"]),
    "large": pa.array(["x", "z", "y", "x"], pa.large_string()),
    "category": pa.DictionaryArray.from_arrays([2, 1, None, 2], ["r", "q", "p"]),
    "whole": pa.array([3, -200, None, 3], pa.int16()),
    "far": pa.array([2**62, -(2**62), 0, 0]),
    "unsigned": pa.array([2**64 - 1, 2**64 - 2, 2**64 - 1, 2**64 - 1], pa.uint64()),
    "narrow": pa.array([-128, 127, 0, 0], pa.int8()),
    "bool": pa.array([True, False, None, True]),
    "float": pa.array([1.0, 2.0, 1.0, 1.0]),
    "a.b": pa.array([1, 2, 1, 1]),
    "null": pa.nulls(4),
}


def test_parquet_by_column_is_the_same_as_at_once(tmp_path: Path) -> None:
    table = pa.table(TYPES)
    parquet.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    found = Dataset.from_file(tmp_path / "t.parquet", missing="label")
    plain = Dataset.of(
        {name: column.to_pylist() for name, column in TYPES.items() if name != "category"}, missing="label"
    )
    own = [i for i, name in enumerate(found.names) if name != "category"]
    assert tuple(found.states[i] for i in own) == plain.states
    np.testing.assert_array_equal(found.codes[own], plain.codes)
    at = found.names.index("category")
    assert (found.states[at], found.codes[at].tolist()) == (("r", "q", "p", "missing"), [2, 1, 3, 2])


def test_damage_inside_a_parquet_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": ["x", "y"] * 500}), path, compression="gzip", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[4:80] = b"\xff" * 76
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"'t.parquet' is not a valid Parquet file .*write it again"):
        Dataset.from_file(path)


def test_a_dictionary_in_a_parquet_file_that_lacks_a_value_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    for column in (pa.array(list("xyz") * 8), pa.array(list("xyz") * 8).dictionary_encode()):
        parquet.write_table(pa.table({"a": column}), path, compression="none")
        content = path.read_bytes()
        assert b"\x24\x49\x92" in content, "0, 1, 2, 0, … in two bits each"
        path.write_bytes(content.replace(b"\x24\x49\x92", b"\xff\xff\xff"))
        with pytest.raises(DataError, match=r"'t.parquet' is not a valid Parquet file .*write it again"):
            Dataset.from_file(path)


def test_codes_are_copied_once() -> None:
    columns = {f"v{i}": np.arange(100_000, dtype=np.uint8) % 3 for i in range(50)}
    data = Dataset.of(columns)
    names = list(reversed(data.names))
    assert peak(lambda: Dataset.of(columns)) < 2.3 * data.codes.nbytes, "codes of columns, and all of them"
    assert peak(lambda: data.select(names)) < 1.3 * data.codes.nbytes
    assert peak(lambda: Dataset(data.codes, data.names, data.states)) < 0.3 * data.codes.nbytes
    for own in (data, data.select(names)):
        with pytest.raises(ValueError, match="read-only"):
            own.codes[0, 0] = 1


def peak(call: Callable[[], object]) -> int:
    """Bytes that a call has at most."""
    tracemalloc.start()
    call()
    found = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found


PEAK = """
import re, sys
from pathlib import Path
from brai import Dataset
def peak():  # getrusage would tell that of the process that started this one
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
Dataset.from_file(sys.argv[1])  # what reading takes at all
low = peak()
data = Dataset.from_file(sys.argv[2])
print(peak() - low, data.n_rows)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is told in kB on Linux only")
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_tall_file_takes_little_memory(kind: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}.{kind}" for name in ("short", "tall")]
    for path, n in zip(paths, (2, 400_000), strict=True):
        cells = ["no,yes,12345,0,a long label", "yes,no,12346,1,a longer label"] * (n // 2)
        if kind == "csv":
            path.write_text("\n".join(["a,b,c,d,e", *cells, ""]))
        else:
            parquet.write_table(pa.table(dict.fromkeys("abcde", cells)), path)
    done = subprocess.run([sys.executable, "-c", PEAK, *paths], capture_output=True, text=True, check=True)
    kilobytes, rows = map(int, done.stdout.split())
    assert rows == n
    assert kilobytes < (20_000 if kind == "csv" else 85_000), "two million cells as Python str are 120 MB"


# ---- memory is foreseen, whatever a file grows to ----


def only(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(memory, "available", lambda: free)


def zipped(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content, 1) if path.suffix == ".gz" else content)
    return path


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("start", [b"", b"a,b\r\n1,2\r\n"], ids=["names", "row"])
def test_a_line_that_goes_on_and_on_is_refused_before_it_is_kept(name: str, start: bytes, tmp_path: Path) -> None:
    path = zipped(tmp_path / name, start + b"0" * 50_000_000)

    def read() -> None:
        line = 3 if start else 1
        with pytest.raises(DataError, match=rf"row in line {line} of '{name}' is longer than 32 MB: end each row"):
            Dataset.from_file(path)

    assert peak(read) < 10_000_000


@pytest.mark.parametrize("delimiter", [None, ","])
@pytest.mark.parametrize("start", ["", "a,b\n1,2\n"], ids=["names", "row"])
def test_a_row_that_goes_on_over_many_lines_is_refused(
    start: str, delimiter: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(start + '"x\n",' * 100_000)
    monkeypatch.setattr(stream, "LONGEST", 10_000, raising=False)
    with pytest.raises(DataError, match=r"the row in line \d+ of 't.csv' is longer than .* fix its quotes"):
        Dataset.from_file(path, delimiter=delimiter)
    path.write_text("a,b\n" + '"x\n",y\n' * 5000)
    assert Dataset.from_file(path, delimiter=delimiter).n_rows == 5000, "only a row counts, not the file"


def test_a_long_line_is_read_if_it_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, width = tmp_path / "t.csv", 400
    names = ",".join(f"{i}{'n' * 10_000}" for i in range(width))
    path.write_text(names + "\n" + ",".join("0" * width) + "\n" + ",".join("1" * width) + "\n")
    assert Dataset.from_file(path).n_variables == width
    only(monkeypatch, 50_000_000)
    with pytest.raises(
        MemoryError, match=r"'t.csv', with a line of 4 MB, needs about 0.12 GB .* give fewer columns"
    ):
        Dataset.from_file(path)


def test_too_many_columns_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, width = tmp_path / "t.csv", 20_000
    path.write_text(",".join(map(str, range(width))) + "\n" + ",".join("0" * width) + "\n")
    only(monkeypatch, 30_000_000)
    with pytest.raises(
        MemoryError, match=r"'t.csv', with 20000 columns, needs about 0.04 GB .* give fewer columns"
    ):
        Dataset.from_file(path)


def test_long_cells_are_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = zipped(tmp_path / "t.csv.gz", b"a,b\n" + (b"x" * 100_000 + b",1\n") * 200)
    monkeypatch.setattr(text_files, "TEXT", 1_000_000, raising=False)
    assert Dataset.from_file(path).n_rows == 200
    assert peak(lambda: Dataset.from_file(path)) < 8_000_000


def test_long_different_cells_are_refused_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,a\n" + "".join(f"{i}{'x' * 10_000},{i % 2}\n" for i in range(600)))
    monkeypatch.setattr(text_files, "MANY", 2000)
    monkeypatch.setattr(text_files, "CELLS", 100)
    only(monkeypatch, 5_000_000)
    with pytest.raises(MemoryError, match=r"'t.csv', with \d+ different values of 'x' in \d+ rows, .*drop such"):
        Dataset.from_file(path)
    assert Dataset.from_file(path, drop="x").n_rows == 600


def test_a_wide_file_takes_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.csv"
    path.write_text(",".join(f"v{i}" for i in range(20)) + "\n" + (",".join("01" * 10) + "\n") * 5000)
    monkeypatch.setattr(text_files, "CELLS", 20)  # a row at a time, as of a file of very many columns
    assert peak(lambda: Dataset.from_file(path)) < 3_000_000, "an array for each cell would be 15 MB"


def test_parquet_columns_of_more_rows_than_fit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table(
        {"a": np.zeros(2_000_000, np.int8), "b": pa.array(["x"]).take(pa.array(np.zeros(2_000_000, int)))}
    )
    parquet.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 20_000
    only(monkeypatch, 100_000_000)
    for name, other in ("ab", "ba"):
        words = rf"reading column '{name}' of 't.parquet', 2000000 rows, .*needs about 0.14 GB .* --drop"
        with pytest.raises(MemoryError, match=words):
            Dataset.from_file(path, drop=other)


def test_parquet_columns_of_larger_values_than_fit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table({"a": ["x" * 50_000_000, "y"], "b": ["x", "y"]})
    parquet.write_table(table, path, compression="zstd", write_statistics=False)
    assert path.stat().st_size < 100_000
    only(monkeypatch, 50_000_000)
    with pytest.raises(
        MemoryError, match=r"reading column 'a' of 't.parquet', 2 rows, up to \d+ MB at a time, needs about"
    ):
        Dataset.from_file(path)
    parquet.write_table(table.select("b"), path)
    assert Dataset.from_file(path).states == (("x", "y"),)


def test_parquet_columns_of_ever_new_values_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": [f"v{i % 5000}" for i in range(6000)]}), path)
    monkeypatch.setattr(parquet_files, "LOOK", 1_000_000, raising=False)
    only(monkeypatch, 2_000_000)
    with pytest.raises(
        MemoryError, match=r"reading 5000 different values of column 'a' of 't.parquet' needs about"
    ):
        Dataset.from_file(path)


def test_what_a_compressed_parquet_file_unpacks_to_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zipped(tmp_path / "t.parquet.gz", b"PAR1" + bytes(30_000_000))
    only(monkeypatch, 5_000_000)

    def read() -> None:
        with pytest.raises(MemoryError, match=r"'t.parquet.gz', of which \d+ MB are read so far, .*: unpack it"):
            Dataset.from_file(path)

    assert peak(read) < 10_000_000


def test_polars_is_not_asked_for_more_than_fits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"a": np.zeros(2_000_000, np.int8)}), path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    only(monkeypatch, 100_000_000)
    with pytest.raises(MemoryError, match=r"'t.parquet', 2000000 rows of 1 column.* install pyarrow"):
        Dataset.from_file(path)


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is told in kB on Linux only")
def test_text_that_is_short_in_a_parquet_file_is_short_in_memory(tmp_path: Path) -> None:
    long = pa.DictionaryArray.from_arrays(np.arange(4000) % 2, ["x" * 100_000, "y"])
    paths = [tmp_path / f"{name}.parquet" for name in ("small", "large")]
    parquet.write_table(pa.table({"a": ["x", "y"]}), paths[0])
    parquet.write_table(pa.table({"a": long}), paths[1], store_schema=False)
    assert paths[1].stat().st_size < 200_000
    done = subprocess.run([sys.executable, "-c", PEAK, *paths], capture_output=True, text=True, check=True)
    kilobytes, rows = map(int, done.stdout.split())
    assert rows == 4000
    assert kilobytes < 30_000, "2000 times 100 kB are 200 MB"


def test_a_field_of_parquet_may_have_the_path_of_a_column(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    table = pa.table(
        {"n": [{"b": "k"}] * 2, "n.b": ["x", "y"], "m": pa.array([[("k", 1)]] * 2, pa.map_("utf8", "int8"))}
    )
    parquet.write_table(table, path)
    assert Dataset.from_file(path, drop=["n", "m"]).states == (("x", "y"),)
    for name, kind in (("n", "Struct"), ("m", "map")):
        with pytest.raises(DataError, match=rf"column '{name}' is of type {kind}.* which has no states"):
            Dataset.from_file(path, drop=[other for other in ("n", "m") if other != name])
