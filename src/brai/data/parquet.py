"""Reading Parquet files with pyarrow, column by column: only one column at a time is in memory before encoding.

A small file may hold a large table, since run-length and dictionary encoding compress well. So text is read in the
dictionary encoding of the file, and the memory for a column is estimated from the sizes stated in the file.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from brai.data.columns import Columns, DataError, Numbers, Unread, columns_of, factor, shown, told, wrong_type
from brai.data.stream import Source
from brai.runtime import memory

ROW = 70  # bytes per cell while its column is read: in arrow, in numpy, and for sorting
LOOK = 1 << 26  # bytes above which free memory is checked
TEXT = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
CURE = "leave that column out (drop=, --drop), or write fewer rows per file"


def parquet_columns(source: Source) -> Columns:
    """The names and columns of a Parquet file; each column is read lazily."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return columns_of(_polars_frame(source))
    with source.opened():  # raises our own error if the file cannot be opened
        content = source.content("unpack it, and give the file itself") if source.is_compressed else None
    try:
        whole = content and pyarrow.BufferReader(content.getbuffer())
        opened = whole or pyarrow.OSFile(os.fsencode(source.path))
        file = parquet.ParquetFile(opened)
        schema, paths = file.schema_arrow, Counter(own.path for own in file.schema)
        kinds = dict(zip(schema.names, schema.types, strict=True))
        text = [name for name, kind in kinds.items() if str(kind) in TEXT and paths[name] == 1]
        file = parquet.ParquetFile(opened, read_dictionary=text)
    except UnicodeDecodeError as error:
        name = shown(error.object)
        raise DataError(
            f"{source.name} has a column named {name}, which is not UTF-8: rename it, and write the file again"
        ) from None
    except (pyarrow.ArrowException, OSError) as error:
        raise _damaged(source, error) from None
    memory.check_table(file.metadata.num_rows, len(schema.names), source.name)
    names, empty = columns_of(schema.empty_table())  # refuses repeated names
    undeclared = frozenset(text)
    columns = [
        _Column(source, file, kinds[name], own, name in undeclared) for name, own in zip(names, empty, strict=True)
    ]
    return names, [Unread(own.read, name) for name, own in zip(names, columns, strict=True)]


@dataclass(frozen=True)
class _Column:
    """A column of an open file."""

    source: Source
    file: Any
    kind: Any  # its arrow type
    empty: Any  # a column of that type without rows
    is_text: bool  # text is read as a dictionary, but declares no states

    def read(self, name: str) -> Any:
        """The column as a Factor; an error if its type has no states or it does not fit into memory."""
        import pyarrow

        found = factor(name, self.empty)  # refuses a type without states before anything is read
        if self.kind.num_fields:
            raise wrong_type(name, self.kind)
        if not self.file.metadata.num_rows:
            return found
        if str(self.kind) in ("float", "double", "halffloat"):
            return Numbers(self._numbers(name))
        is_dictionary = self.is_text or str(self.kind).startswith("dictionary")
        try:
            table = self._dictionary(name) if is_dictionary else self._table(name)
        except pyarrow.ArrowMemoryError as error:
            raise MemoryError(f"reading {self._named(name)} failed ({told(error)}): {CURE}") from None
        except (pyarrow.ArrowException, OSError) as error:
            raise _damaged(self.source, error) from None
        found = factor(name, columns_of(table)[1][table.schema.names.index(name)])
        return replace(found, declared=None) if self.is_text else found

    def _numbers(self, name: str) -> Any:
        """The column as floats, NaN where it is null."""
        import numpy as np
        import pyarrow

        try:
            return np.array(self._table(name).column(name).to_numpy(), np.float64)
        except (pyarrow.ArrowException, OSError) as error:
            raise _damaged(self.source, error) from None

    def _table(self, name: str) -> Any:
        """A table with this column, of a type of known size."""
        n_rows = self.file.metadata.num_rows
        width = self.kind.byte_width if str(self.kind).startswith("fixed_size_binary") else 0
        _look(n_rows * (ROW + 2 * width), f"reading {self._named(name)}, {n_rows} rows,")
        return self.file.read(columns=[name])

    def _dictionary(self, name: str) -> Any:
        """A table with this column, dictionary-encoded: each value once per row group, as in the file."""
        import pyarrow

        about, tables, held, room = self.file.metadata, [], 0, LOOK
        groups = range(about.num_row_groups)  # sizes per column are unsafe: pyarrow aborts if one is damaged
        largest = max(about.row_group(i).total_byte_size for i in groups)
        what = f"reading {self._named(name)}, {about.num_rows} rows, up to {largest / 1e6:.0f} MB at a time,"
        _look(about.num_rows * ROW + 2 * largest, what)
        for i in groups:
            tables.append(self.file.read_row_group(i, columns=[name]))
            _check_indices(tables[-1].column(name))
            held += tables[-1].nbytes
            if held > room:  # the size may double before the next check
                room = 2 * held
                memory.check(2 * held, f"reading {self._named(name)}, {held / 1e6:.0f} MB so far,", CURE)
        n = sum(len(chunk.dictionary) for own in tables for chunk in own.column(name).chunks)
        _look(n * memory.CELL, f"reading {n} different values of {self._named(name)}")
        return pyarrow.concat_tables(tables)

    def _named(self, name: str) -> str:
        return f"column {shown(name)} of {self.source.name}"


def _check_indices(column: Any) -> None:
    """Refuse indices outside the dictionary. pyarrow checks them only when it converts to text."""
    import pyarrow
    from pyarrow import compute

    for own in column.chunks:
        ends = compute.min_max(own.indices)
        if ends["min"].is_valid and not 0 <= ends["min"].as_py() <= ends["max"].as_py() < len(own.dictionary):
            raise pyarrow.ArrowInvalid(f"index {ends['max']} into a dictionary of {len(own.dictionary)} values")


def _look(needed: float, what: str, cure: str = CURE) -> None:
    if needed > LOOK:
        memory.check(needed, what, cure)


def _polars_frame(source: Source) -> Any:
    try:
        import polars
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow or polars: pip install 'brai[parquet]'") from None
    content = source.content("install pyarrow, which reads column by column")
    try:
        lazy = polars.scan_parquet(content)
        n_rows, n_columns = lazy.select(polars.len()).collect().item(), len(lazy.collect_schema())
        what = f"reading {source.name}, {n_rows} rows of {n_columns} columns,"
        _look(n_rows * (ROW + 16 * n_columns), what, "install pyarrow, which reads column by column")
        return lazy.collect()
    except polars.exceptions.PolarsError as error:
        raise _damaged(source, error) from None


def _damaged(source: Source, error: Exception) -> DataError:
    reason = told(error).split(". ")[0].rstrip(".:")
    return DataError(f"{source.name} is not a valid Parquet file ({reason}): write it again")
