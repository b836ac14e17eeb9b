"""Reading and writing the Bayesian Interchange Format (BIF 0.15) of discrete networks.

A file is a sequence of blocks: one ``network`` block, then for each variable a ``variable`` block with its states
and a ``probability`` block with its distribution given its parents. A distribution has three forms:

- ``(yes, no) 0.9, 0.1;``        one configuration of the parents, in the order of the block's header;
- ``default 0.5, 0.5;``          all configurations without a row of their own;
- ``table 0.9, 0.7, 0.1, 0.3;``  all configurations; the child's state varies slowest, the last parent fastest.

Commas and ``|`` are white space. This reader is stricter than the specification in one respect: text between
blocks must be a comment. So a misspelt keyword is an error, not a missing block.

A small file can need much memory: if compressed, or by `default` for a table of many parents. Both are bounded.

Files are written like those of the bnlearn repository: a row for each configuration, a table if there are no
parents. Names and labels are quoted only if necessary, since many readers do not support quotes.

Reference: G. Hulten and P. Domingos, The Interchange Format for Bayesian Networks, VFML appendix, 2003
(after F. Cozman's proposal of 1996).
"""

import gzip
import io
import itertools
import math
import re
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai.data.columns import shown
from brai.runtime import memory
from brai.runtime.atomic_files import write_bytes

Floats = NDArray[np.float64]
States = dict[str, dict[str, int]]  # the code of each label of a variable
Families = dict[str, tuple[list[str], Floats]]

PER_CELL = 40  # bytes for each cell of a table while a network is created, copies included
SMALL = 10**6  # up to this number of cells, free memory is not checked
MAX_DEFAULT = 5 * 10**7  # maximal number of cells of a file that `default` may fill
MAX_EXPANSION = 100  # maximal compression ratio of a file that expands to more than `HARMLESS` bytes
HARMLESS = 1 << 26
_PER_BYTE = 25  # bytes of memory for each byte of text: raw, decoded, and as tokens
_PIECE = 1 << 22  # bytes read at a time

_BEYOND_DEFAULT = (
    f"and 'default' may fill {MAX_DEFAULT:.0e} cells of a file: give more rows, remove parents or merge states"
)

_LINE_COMMENT = re.compile(r'"[^"]*"|(?<!:)//[^\n]*')  # quoted text and http:// are no comments
_COMMENT = re.compile(_LINE_COMMENT.pattern + r"|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TOKEN = re.compile(r'"[^"]*"|[{}()\[\];]|[^\s,|{}()\[\];"]+|"')
_PUNCTUATION = frozenset('{}()[];"')
_WORD = re.compile(r'(?!.*/[/*])[^\s,|{}()\[\];"]+')  # text that needs no quotes


class BifError(ValueError):
    """A BIF file that cannot be read. The message contains the file, the line and the reason."""


class BifContent(NamedTuple):
    """The content of a BIF file; variables in the order of declaration, `cpts` as in `Network`."""

    name: str
    names: tuple[str, ...]
    states: tuple[tuple[Any, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    cpts: tuple[Floats, ...]


def normalised(rows: Floats) -> Floats:
    """Rows scaled to sum to 1. Deviations of up to 1e-3 are accepted, since published tables are rounded.

    Rows that sum to 1 up to rounding error are not changed, so normalising is idempotent.
    """
    if not (np.isfinite(rows).all() and (rows >= 0).all()):
        wrong = rows[~(np.isfinite(rows) & (rows >= 0))][0]
        raise ValueError(f"{wrong:g} is not a probability")
    with np.errstate(over="ignore"):  # an infinite sum raises the error below
        sums = rows.sum(axis=1, keepdims=True)
    off = np.abs(sums - 1.0)
    if off.max() > 1e-3:
        raise ValueError(f"probabilities sum to {sums[off.argmax(), 0]:.6g} instead of 1")
    return np.where(off > 1e-12, rows / sums, rows)


def size_of(arities: Sequence[int]) -> int:
    """Number of cells of a table over variables with these arities, at most 1e300: larger products are slow."""
    return math.prod(arities) if math.fsum(map(math.log10, arities)) < 300 else 10**300


def spelled(n: int) -> str:
    """A number of cells as text for a message."""
    return str(n) if n < 10**12 else f"{n:.2g}" if n < 10**300 else "over 1e+300"


def read_text(path: Path) -> str:
    """Text of a plain or gzip-compressed file, told apart by the first bytes.

    MemoryError before the file is completely read, if there is not enough memory to parse it.
    """
    with open(path, "rb") as file:
        raw = b"".join(_pieces(file, path))
    try:
        if raw[:2] == b"\x1f\x8b":
            most = max(HARMLESS, MAX_EXPANSION * len(raw))
            raw = b"".join(_pieces(gzip.GzipFile(fileobj=io.BytesIO(raw)), path, most))
        return raw.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise BifError(f"{path}: the gzip stream is damaged ({error}); fetch the file again") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BifError(f"{path}, line {line}: not UTF-8 text ({error.reason}); save it as UTF-8") from error


def _pieces(file: BinaryIO | gzip.GzipFile, path: Path, most: float = math.inf) -> Iterable[bytes]:
    """Yield the content of a file in pieces; free memory is checked before each."""
    size = 0
    while piece := file.read(_PIECE):
        size += len(piece)
        if size > most:
            raise BifError(
                f"{path}: expands to more than {most / 1e6:.0f} MB, over {MAX_EXPANSION} times its size, which "
                "no network does: check its source, or expand it with gunzip and read the result"
            )
        cure = "check that it is the right file, or read it on a larger machine"
        memory.check(_PER_BYTE * size, f"reading {path}, {size / 1e6:.0f} MB of text or more,", cure)
        yield piece


def write_text(path: Path, text: str) -> None:
    """Write a file atomically, gzip-compressed if its name ends with .gz."""
    content = text.encode("utf-8")
    if path.suffix.lower() == ".gz":
        content = gzip.compress(content, mtime=0)
    write_bytes(path, content)


def format_bif(content: BifContent) -> str:
    """BIF text of the content, the inverse of `parse_bif`. Labels of any type are written as their str()."""
    if not content.names:
        raise ValueError("a network without variables cannot be written as BIF: give it one or more")
    title = _word(content.name, "network name") if content.name else '""'
    names = [_word(name, "variable name") for name in content.names]
    _check_length(content)
    states = [_words(name, labels) for name, labels in zip(content.names, content.states, strict=True)]
    lines = [f"network {title} {{", "}"]
    for name, labels in zip(names, states, strict=True):
        lines += [f"variable {name} {{", f"  type discrete [ {len(labels)} ] {{ {', '.join(labels)} }};", "}"]
    for name, parents, cpt in zip(names, content.parents, content.cpts, strict=True):
        given = " | " + ", ".join(names[p] for p in parents) if parents else ""
        lines.append(f"probability ( {name}{given} ) {{")
        for config, row in zip(itertools.product(*(states[p] for p in parents)), cpt.tolist(), strict=True):
            case = f"({', '.join(config)})" if parents else "table"
            lines.append(f"  {case} {', '.join(map(repr, row))};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _check_length(content: BifContent) -> None:
    """MemoryError if there is not enough memory for the text: as lines, joined, and as bytes."""
    needed = 0
    for parents, cpt in zip(content.parents, content.cpts, strict=True):
        config = sum(max(len(str(label)) for label in content.states[p]) + 2 for p in parents)
        needed += cpt.shape[0] * (70 + 3 * (config + 22 * cpt.shape[1]))
    if needed > PER_CELL * SMALL:
        memory.check(needed, "the network as BIF text", "remove parents or merge states")


def _words(name: str, labels: Sequence[Any]) -> list[str]:
    seen: dict[str, Any] = {}
    for label in labels:
        if (text := str(label)) in seen:
            both = f"{seen[text]!r} and {label!r}"
            raise ValueError(f"the states {both} of {name!r} are the same text in BIF: rename one")
        seen[text] = label
    return [_word(text, f"state of {name!r}") for text in seen]


def _word(text: str, what: str) -> str:
    if not isinstance(text, str):
        raise ValueError(f"the {what} {shown(text)} is {type(text).__name__}: rename it to text, as by str()")
    if not text or re.search('["\r\n\ud800-\udfff]', text):
        raise ValueError(
            f"the {what} {text!r} cannot be written as BIF, since it is empty or contains '\"', a line break or a "
            "lone surrogate: rename it"
        )
    return text if _WORD.fullmatch(text) else f'"{text}"'


class _Tokens:
    """The tokens of a file and the position of the next one. Line numbers are computed only for an error."""

    def __init__(self, text: str, source: str) -> None:
        if "/" in text:
            text = _COMMENT.sub(_blank, text)
        self.text, self.source = text, source
        self.items: list[str] = _TOKEN.findall(text)
        self.at = 0
        self.by_default = 0  # cells filled by `default` so far

    def error(self, message: str, at: int | None = None) -> BifError:
        """A BifError for the line of token `at`, by default the last one taken."""
        wanted = self.at - 1 if at is None else at
        end = len(self.text.rstrip())
        start = next((m.start() for k, m in enumerate(_TOKEN.finditer(self.text)) if k == wanted), end)
        return BifError(f"{self.source}, line {self.text.count(chr(10), 0, start) + 1}: {message}")

    def take(self, *expected: str) -> str:
        """The next token, which must be one of `expected`; if none are given, any word or quoted text."""
        self.at += 1
        found = self.items[self.at - 1] if self.at <= len(self.items) else None
        if found and (found in expected if expected else found not in _PUNCTUATION):
            return found if expected else found.strip('"')
        wanted = " or ".join(map(repr, expected)) if expected else "a name"
        raise self.error(f"expected {wanted}{f', found {shown(found)}' if found else ': the file ends'}")

    def words(self, end: str, punctuation: bool = False) -> list[str]:
        """The words up to the token `end`, which is consumed too; other punctuation only if allowed."""
        start = self.at
        try:
            self.at = self.items.index(end, start)
        except ValueError:
            self.at = len(self.items)
        words = self.items[start : self.at]
        if not (punctuation or _PUNCTUATION.isdisjoint(words)):
            k = next(k for k, word in enumerate(words) if word in _PUNCTUATION)
            raise self.error(f"expected {end!r}, found {shown(words[k])}", start + k)
        self.take(end)
        return words

    def distributions(self, n_rows: int, n_states: int) -> Floats:
        """The numbers up to ';' as normalised rows; in a table (several rows) the child's state varies slowest."""
        start = self.at
        values: list[float] = []
        for word in self.words(";"):
            try:
                values.append(float(word))
            except ValueError:
                raise self.error(f"expected a number or ';', found {shown(word)}", start + len(values)) from None
        if len(values) != n_rows * n_states:
            raise self.error(f"expected {n_rows * n_states} probabilities, found {len(values)}", start)
        try:
            return normalised(np.array(values).reshape(n_states, n_rows).T)
        except ValueError as error:
            order = " (in a table the child's state varies slowest, the last parent fastest)"
            raise self.error(f"{error}{order if n_rows > 1 else ''}", start) from None


def _blank(found: re.Match[str]) -> str:
    """Replacement of a match: of a comment, its line breaks; quoted text and unclosed comments are kept."""
    text = found[0]
    if text[0] == '"':
        return text
    if text[1] == "*" and (len(text) < 4 or text[-2:] != "*/"):  # never closed: read as words
        return text[:2] + _LINE_COMMENT.sub(_blank, text[2:])
    return " " + "\n" * text.count("\n")


def parse_bif(text: str, source: str = "<text>") -> BifContent:
    """The content of a BIF text; `source` is its name in error messages."""
    tokens = _Tokens(text, source)
    network = ""
    states: States = {}
    families: Families = {}
    while tokens.at < len(tokens.items):
        keyword = tokens.take("network", "variable", "probability")
        if keyword == "probability":
            _read_probability(tokens, states, families)
            continue
        name = tokens.take()
        if keyword == "network":
            network = name
        elif name in states:
            raise tokens.error(f"variable {shown(name)} is declared a second time")
        else:
            states[name] = {}
        tokens.take("{")
        statements = ("type", "property", "}") if keyword == "variable" else ("property", "}")
        while (word := tokens.take(*statements)) != "}":
            if word == "type":
                states[name] = _read_states(tokens)
            else:
                tokens.words(";", punctuation=True)
        if keyword == "variable" and not states[name]:
            raise tokens.error(f"variable {shown(name)} has no 'type discrete [n] {{ ... }};'")
    if not states:
        raise tokens.error("no variable block; is this a BIF file?")
    if missing := [name for name in states if name not in families]:
        raise tokens.error(f"no probability block for {', '.join(missing[:5])}", len(tokens.items))
    index = {name: i for i, name in enumerate(states)}
    parents = tuple(tuple(index[p] for p in families[name][0]) for name in states)
    cpts = tuple(families[name][1] for name in states)
    return BifContent(network, tuple(states), tuple(map(tuple, states.values())), parents, cpts)


def _read_states(tokens: _Tokens) -> dict[str, int]:
    tokens.take("discrete")
    tokens.take("[")
    size = tokens.take()
    tokens.take("]")
    tokens.take("{")
    labels = [word.strip('"') for word in tokens.words("}")]
    if size != str(len(labels)) or not labels:
        raise tokens.error(f"{shown(size)[1:-1]} states announced, {len(labels)} listed")
    states: dict[str, int] = {}
    for code, label in enumerate(labels):
        if states.setdefault(label, code) != code:
            raise tokens.error(f"state {shown(label)} is listed twice")
    tokens.take(";")
    return states


def _read_probability(tokens: _Tokens, states: States, families: Families) -> None:
    tokens.take("(")
    start = tokens.at
    family = [word.strip('"') for word in tokens.words(")")]
    _check_family(tokens, family, states, start)
    if not family or family[0] in families:
        raise tokens.error(f"a second block for {shown(family[0])}" if family else "a variable is missing", start)
    tokens.take("{")
    child, parents = family[0], family[1:]
    shape = [len(states[p]) for p in parents]
    _check_cells(tokens, child, [len(states[child]), *shape], start)
    cpt = np.full((math.prod(shape), len(states[child])), np.nan)
    default: Floats | None = None
    while (word := tokens.take("(", "table", "default", "property", "}")) != "}":
        at = tokens.at - 1
        if word == "property":
            tokens.words(";", punctuation=True)
        elif word == "default":
            default = tokens.distributions(1, cpt.shape[1])
        else:
            rows = slice(None) if word == "table" else _read_configuration(tokens, parents, states)
            if not np.isnan(cpt[rows]).all():
                raise tokens.error(f"probabilities of {shown(child)} given here for a second time", at)
            cpt[rows] = tokens.distributions(len(cpt[rows]), cpt.shape[1])
    empty = np.isnan(cpt[:, 0])
    if default is not None:
        tokens.by_default += int(empty.sum()) * cpt.shape[1]
        if tokens.by_default > MAX_DEFAULT:
            raise tokens.error(f"the table of {shown(child)} has {cpt.size} cells, {_BEYOND_DEFAULT}", start)
        cpt[empty] = default
    elif empty.any():
        where = _configuration(int(empty.argmax()), parents, states)
        raise tokens.error(f"{empty.sum()} of {len(cpt)} rows of {child!r} are missing, as for {where}", start)
    families[child] = (parents, cpt)


def _check_family(tokens: _Tokens, family: list[str], states: States, start: int) -> None:
    seen: set[str] = set()
    for k, name in enumerate(family):
        if name not in states:
            raise tokens.error(f"variable {shown(name)} is not declared above", start + k)
        if name in seen:
            raise tokens.error(f"variable {shown(name)} appears twice in one family", start + k)
        seen.add(name)


def _check_cells(tokens: _Tokens, child: str, arities: list[int], start: int) -> None:
    """Raise an error before a table is created that neither the rest of the file nor a default can fill."""
    left = len(tokens.items) - tokens.at
    cells = size_of(arities)
    what = f"the table of {shown(child)} given its {len(arities) - 1} parents has {spelled(cells)} cells"
    if cells > left + MAX_DEFAULT - tokens.by_default:
        raise tokens.error(f"{what}, {left} words are left in the file, {_BEYOND_DEFAULT}", start)
    if cells > max(left, SMALL):
        if "default" not in tokens.items[tokens.at :]:
            raise tokens.error(f"{what}, only {left} words are left: give its rows or a default", start)
        memory.check(PER_CELL * cells, f"{tokens.source}: {what} and", "remove parents or merge states")


def _read_configuration(tokens: _Tokens, parents: list[str], states: States) -> slice:
    start, row = tokens.at, 0
    labels = [word.strip('"') for word in tokens.words(")")]
    if len(labels) != len(parents):
        raise tokens.error(f"expected the states of {len(parents)} parents, found {len(labels)}", start - 1)
    for k, (parent, label) in enumerate(zip(parents, labels, strict=True)):
        if label not in states[parent]:
            known = [*itertools.islice(states[parent], 20), *["..."] * (len(states[parent]) > 20)]
            raise tokens.error(f"{parent} has no state {shown(label)}, only {', '.join(known)}", start + k)
        row = row * len(states[parent]) + states[parent][label]
    return slice(row, row + 1)


def _configuration(row: int, parents: list[str], states: States) -> str:
    """The states of the parents in a row of the table, as text."""
    found = []
    for parent in reversed(parents):
        row, code = divmod(row, len(states[parent]))
        found.append(f"{parent}={next(itertools.islice(states[parent], code, None))}")
    return ", ".join(reversed(found)) or "any case"
