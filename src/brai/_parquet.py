"""Parquet files: with pyarrow column by column, so that one column at a time is more than codes."""

from __future__ import annotations

import io
import os
from typing import Any

from brai import memory
from brai._columns import Columns, DataError, Unread, columns_of
from brai._stream import Source


def parquet_columns(source: Source) -> Columns:
    """The names and columns of a Parquet file; each column is read when it is asked for."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        return columns_of(_polars_frame(source))
    with source.opened():  # or refused, in our words
        content = b"".join(source.pieces()) if source.is_compressed else b""
    try:
        opened = pyarrow.BufferReader(content) if content else pyarrow.OSFile(os.fsencode(source.path))
        file = parquet.ParquetFile(opened)
        names, types = file.schema_arrow.names, file.schema_arrow.types
        memory.check_table(file.metadata.num_rows, len(names), source.name)
        if len(set(names)) < len(names) or any(kind.num_fields for kind in types):
            return columns_of(file.read())  # a name says too little
    except (pyarrow.ArrowException, OSError) as error:
        raise _damaged(source, error) from None

    def read(name: str) -> Any:
        try:
            table = file.read(columns=[name])
        except (pyarrow.ArrowException, OSError) as error:
            raise _damaged(source, error) from None
        return columns_of(table)[1][0]

    return list(names), [Unread(read, name) for name in names]


def _polars_frame(source: Source) -> Any:
    try:
        import polars
    except ImportError:
        raise ImportError("reading Parquet needs pyarrow or polars: pip install 'brai[parquet]'") from None
    content = b"".join(source.pieces())
    try:
        return polars.read_parquet(io.BytesIO(content))
    except polars.exceptions.PolarsError as error:
        raise _damaged(source, error) from None


def _damaged(source: Source, error: Exception) -> DataError:
    reason = str(error).split("\n")[0].split(". ")[0].rstrip(".:")
    return DataError(f"{source.name} is not a valid Parquet file ({reason}): write it again")
