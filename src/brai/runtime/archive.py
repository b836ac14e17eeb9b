"""The container of saved models: a zip file with a JSON description and plain arrays.

Nothing in a file is executed, unpickled or trusted. Invalid content raises a FormatError. Reading takes no more
memory than the sizes stated in the file. Writing is atomic: a file is either complete or absent.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.runtime import memory
from brai.runtime.atomic_files import replace

FORMAT, VERSION = "brai-model", 1
META = "meta.json"
MAX_BYTES = 2**34  # largest uncompressed content of a file
MAX_META = 2**28  # largest uncompressed description
COPIES, JSON = 3, 30  # bytes of memory per byte of an array (with its copies), and per byte of JSON
_TYPES = {"|u1", "|i1", "<u2", "<i2", "<i4", "<i8", "<f8"}
_HEADER = re.compile(
    rb"\{'descr': '([|<][a-z][0-9])', 'fortran_order': False, "
    rb"'shape': \(([0-9]{1,15},|[0-9]{1,15}(?:, [0-9]{1,15}){1,7})\), \} *\n"
)
_DAMAGE = (  # what zipfile raises on invalid bytes
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    OSError,
    EOFError,
    ValueError,
    LookupError,
    OverflowError,
    MemoryError,
)


class FormatError(ValueError):
    """The file is not a model of this package, is damaged, or was written by a newer version."""


class Content(NamedTuple):
    """The content of a file: the description, and the arrays by name."""

    meta: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


# --- writing ----------------------------------------------------------------------------------------


def write(path: Path, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write to a temporary name, then rename: an existing file stays unchanged until the new one is complete."""
    text = json.dumps({**meta, "arrays": list(arrays)}, allow_nan=False, separators=(",", ":")).encode()
    replace(path, lambda file: _pack(file, {META: text, **{f"{k}.npy": _npy(v) for k, v in arrays.items()}}))


def _pack(file: BinaryIO, members: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():  # without time stamps, so that equal models give equal files
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            archive.writestr(info, content, compresslevel=6)


def _npy(array: NDArray[Any]) -> bytes:
    array = np.ascontiguousarray(array)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in _TYPES:
        raise TypeError(f"the format has no arrays of type {array.dtype}")
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


# --- reading ----------------------------------------------------------------------------------------


def read(path: Path) -> Content:
    """The content of a file. FormatError if it was not written by `write`, OSError if it does not exist."""
    with open(path, "rb") as file:
        start = file.read(4)
        if start != b"PK\x03\x04":
            raise FormatError("it is not a zip file, so not a brai model: give a file written by brai.save")
        try:
            with zipfile.ZipFile(file) as archive:
                return _unpack(archive, path.name)
        except (FormatError, memory.NotEnoughError):
            raise
        except _DAMAGE as error:
            raise FormatError(f"it is damaged or truncated ({error}): copy or save it again") from None


def _unpack(archive: zipfile.ZipFile, name: str) -> Content:
    members = {info.filename: info for info in archive.infolist()}
    if META not in members:
        raise FormatError(f"it is a zip file without {META!r}, so not a brai model: give one written by brai.save")
    total = sum(info.file_size for info in archive.infolist())
    _check_size(META, members[META], MAX_META)
    needed = COPIES * total + JSON * members[META].file_size
    memory.check(
        needed, f"reading {name!r}, whose content unpacks to {total} bytes,", "read it on a larger machine"
    )
    meta = _description(_bytes(archive, members.pop(META), MAX_META))
    if len(members) + 1 < len(archive.infolist()):
        raise FormatError("it is damaged, a part of it occurs twice: save it again")
    listed = meta.get("arrays")  # the directory of the zip file alone does not always show a missing member
    if not (isinstance(listed, list) and all(isinstance(name, str) for name in listed)):
        raise FormatError(f"its list of arrays is {listed!r}, not a list of names: save it again")
    for name in sorted({f"{own}.npy" for own in listed} ^ set(members)):
        reason = "does not belong to it" if name in members else "is missing"
        raise FormatError(f"it is damaged, {name!r} {reason}: copy or save it again")
    left, arrays = MAX_BYTES, {}
    for name, info in members.items():
        arrays[name.removesuffix(".npy")] = _array(name, _bytes(archive, info, left))
        left -= info.file_size
    return Content(meta, arrays)


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """A member, unpacked up to its stated size; zipfile verifies its checksum at the end."""
    _check_size(info.filename, info, most)
    with archive.open(info) as member:
        content = member.read(info.file_size) if info.file_size else member.read()
    if len(content) != info.file_size:
        raise FormatError(f"{info.filename!r} is truncated: copy or save it again")
    return content


def _check_size(name: str, info: zipfile.ZipInfo, most: int) -> None:
    if info.file_size > min(most, 1040 * info.compress_size + 64):  # deflate compresses by a factor below 1040
        raise FormatError(f"{name!r} would unpack to {info.file_size} bytes, too many: save it again")


def _no_number(text: str) -> None:
    raise ValueError(f"it contains {text}")


def _description(text: bytes) -> dict[str, Any]:
    try:
        meta = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"its {META!r} is not JSON ({error}), so it is not a brai model") from None
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        found = meta.get("format") if isinstance(meta, dict) else meta
        raise FormatError(f"its format is {found!r}, not {FORMAT!r}: give a file written by brai.save")
    version = meta.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FormatError(f"its version is {version!r}, not a positive integer: save it again")
    if version > VERSION:
        raise FormatError(
            f"it was written by a newer brai ({meta.get('brai')}, format version {version}; this brai reads "
            f"version {VERSION}): upgrade with pip install -U brai"
        )
    return meta


def _array(name: str, raw: bytes) -> NDArray[Any]:
    """An array in numpy's format 1.0. Its header is matched against a pattern before numpy evaluates it."""
    size = int.from_bytes(raw[8:10], "little")
    header = _HEADER.fullmatch(raw[10 : 10 + size]) if raw[:8] == b"\x93NUMPY\x01\x00" else None
    if header is None or header[1].decode() not in _TYPES:
        raise FormatError(f"{name!r} is not a plain array in the .npy format 1.0: save it again")
    dtype, shape = np.dtype(header[1].decode()), [int(n) for n in re.findall(rb"[0-9]+", header[2])]
    if 10 + size + dtype.itemsize * math.prod(shape) != len(raw):
        raise FormatError(f"{name!r} has the shape {tuple(shape)}, but {len(raw)} bytes: save it again")
    array: NDArray[Any] = np.load(io.BytesIO(raw), allow_pickle=False)
    return array
