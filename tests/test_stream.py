"""Files are read in a stream: the same answer and the same refusals as reading all at once, in little memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

import plain_reader
from brai import DataError, Dataset, _read, _stream

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
    return dict(zip(*plain_reader.read_text(path, delimiter), strict=True))


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
def test_streamed_is_the_same_as_at_once(
    content: bytes, rows: int, piece: int, name: str, delimiter: str | None, missing: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / name
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
        expected = answer((path, delimiter), missing=missing)
        patch.setattr(_stream, "PIECE", piece)
        patch.setattr(_read, "CELLS", 3 * rows)
        found = answer(path, delimiter=delimiter, missing=missing)
    assert found == expected


def test_more_states_than_a_byte_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_read, "CELLS", 200)
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
    made: list[_read.Cells] = []
    real = _read.Cells

    def kept(is_kept: bool = True) -> _read.Cells:
        made.append(real(is_kept))
        return made[-1]

    monkeypatch.setattr(_read, "Cells", kept)
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
