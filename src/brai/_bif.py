"""Reading and writing the Bayesian Interchange Format (BIF 0.15) of discrete networks.

A file is a sequence of blocks: one ``network``, a ``variable`` block with the states of each variable and a
``probability`` block with its distribution given its parents, in three forms:

- ``(yes, no) 0.9, 0.1;``        one configuration of the parents, in the order of the block's head;
- ``default 0.5, 0.5;``          every configuration without a row of its own;
- ``table 0.9, 0.7, 0.1, 0.3;``  all of them, the child's state slowest and the last parent fastest.

Commas and ``|`` are white space. We are stricter than the format's description in one thing: text between
blocks must be a comment, so that a misspelt keyword is an error instead of a missing block.

Files are written as those of the bnlearn repository are: a row for each configuration, a table where there are no
parents. Names and labels are quoted only if they hold what would end a word; other readers know few quotes.

Reference: G. Hulten and P. Domingos, The Interchange Format for Bayesian Networks, VFML appendix, 2003
(after F. Cozman's proposal of 1996).
"""

import gzip
import itertools
import math
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brai._files import write_bytes

Floats = NDArray[np.float64]
States = dict[str, tuple[str, ...]]
Families = dict[str, tuple[list[str], Floats]]

_COMMENT = re.compile(r'"[^"]*"|(?<!:)//[^\n]*|/\*.*?\*/', re.DOTALL)  # quoted text and http:// stay
_TOKEN = re.compile(r'"[^"]*"|[{}()\[\];]|[^\s,|{}()\[\];"]+|"')
_PUNCTUATION = frozenset('{}()[];"')
_WORD = re.compile(r'(?!.*/[/*])[^\s,|{}()\[\];"]+')  # what needs no quotes


class BifError(ValueError):
    """A BIF file that cannot be read; the message names the file, the line and what is wrong there."""


class BifContent(NamedTuple):
    """What a BIF file says, variables in the order of their declaration; `cpts` as in `Network`."""

    name: str
    names: tuple[str, ...]
    states: tuple[tuple[Any, ...], ...]
    parents: tuple[tuple[int, ...], ...]
    cpts: tuple[Floats, ...]


def normalised(rows: Floats) -> Floats:
    """Distributions (rows) scaled to sum to 1; published tables are rounded, so up to 1e-3 off is accepted.

    Rows that sum to 1 up to rounding error are left as they are: normalising twice changes nothing.
    """
    if not (np.isfinite(rows).all() and (rows >= 0).all()):
        wrong = rows[~(np.isfinite(rows) & (rows >= 0))][0]
        raise ValueError(f"{wrong:g} is not a probability")
    sums = rows.sum(axis=1, keepdims=True)
    off = np.abs(sums - 1.0)
    if off.max() > 1e-3:
        raise ValueError(f"probabilities sum to {sums[off.argmax(), 0]:.6g} instead of 1")
    return np.where(off > 1e-12, rows / sums, rows)


def read_text(path: Path) -> str:
    """Text of a plain or gzip-compressed file, whichever its first bytes say it is."""
    raw = path.read_bytes()
    try:
        return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise BifError(f"{path}: the gzip stream is damaged ({error}); fetch the file again") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise BifError(f"{path}, line {line}: not UTF-8 text ({error.reason}); save it as UTF-8") from error


def write_text(path: Path, text: str) -> None:
    """Write a file, gzip-compressed if it is named .gz; it is there in whole or not at all."""
    content = text.encode("utf-8")
    if path.suffix.lower() == ".gz":
        content = gzip.compress(content, mtime=0)
    write_bytes(path, content)


def format_bif(content: BifContent) -> str:
    """BIF text that `parse_bif` turns into the same content; labels may be of any type and become their str()."""
    if not content.names:
        raise ValueError("a network without variables cannot be written as BIF")
    title = _word(content.name, "network name") if content.name else '""'
    names = [_word(name, "variable name") for name in content.names]
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


def _words(name: str, labels: Sequence[Any]) -> list[str]:
    seen: dict[str, Any] = {}
    for label in labels:
        if (text := str(label)) in seen:
            both = f"{seen[text]!r} and {label!r}"
            raise ValueError(f"the states {both} of {name!r} are the same text in BIF: rename one")
        seen[text] = label
    return [_word(text, f"state of {name!r}") for text in seen]


def _word(text: str, what: str) -> str:
    if not text or re.search('["\r\n\ud800-\udfff]', text):
        raise ValueError(
            f"the {what} {text!r} cannot be written as BIF, where text is not empty and holds no '\"', line break "
            "or lone surrogate: rename it"
        )
    return text if _WORD.fullmatch(text) else f'"{text}"'


class _Tokens:
    """The tokens of a file and the place of the next one; line numbers are worked out only for an error."""

    def __init__(self, text: str, source: str) -> None:
        if "/" in text:
            text = _COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else " " + "\n" * m[0].count("\n"), text)
        self.text, self.source = text, source
        self.items: list[str] = _TOKEN.findall(text)
        self.at = 0

    def error(self, message: str, at: int | None = None) -> BifError:
        """The error at token `at`, by default the one taken last."""
        wanted = self.at - 1 if at is None else at
        end = len(self.text.rstrip())
        start = next((m.start() for k, m in enumerate(_TOKEN.finditer(self.text)) if k == wanted), end)
        return BifError(f"{self.source}, line {self.text.count(chr(10), 0, start) + 1}: {message}")

    def take(self, *expected: str) -> str:
        """The next token; it must be one of `expected`, or any word or quoted text if none are given."""
        self.at += 1
        found = self.items[self.at - 1] if self.at <= len(self.items) else None
        if found and (found in expected if expected else found not in _PUNCTUATION):
            return found if expected else found.strip('"')
        wanted = " or ".join(map(repr, expected)) if expected else "a name"
        raise self.error(f"expected {wanted}, found {found!r}" if found else f"expected {wanted}: the file ends")

    def words(self, end: str, punctuation: bool = False) -> list[str]:
        """The words up to the token `end`, which is taken as well; other punctuation only if allowed."""
        start = self.at
        try:
            self.at = self.items.index(end, start)
        except ValueError:
            self.at = len(self.items)
        words = self.items[start : self.at]
        if not (punctuation or _PUNCTUATION.isdisjoint(words)):
            k = next(k for k, word in enumerate(words) if word in _PUNCTUATION)
            raise self.error(f"expected {end!r}, found {words[k]!r}", start + k)
        self.take(end)
        return words

    def distributions(self, n_rows: int, n_states: int) -> Floats:
        """The numbers up to ';' as normalised rows; a table (many rows) is stored child's state slowest."""
        start = self.at
        values: list[float] = []
        for word in self.words(";"):
            try:
                values.append(float(word))
            except ValueError:
                raise self.error(f"expected a number or ';', found {word!r}", start + len(values)) from None
        if len(values) != n_rows * n_states:
            raise self.error(f"expected {n_rows * n_states} probabilities, found {len(values)}", start)
        try:
            return normalised(np.array(values).reshape(n_states, n_rows).T)
        except ValueError as error:
            order = " (a table runs over the child's states slowest, the last parent fastest)"
            raise self.error(f"{error}{order if n_rows > 1 else ''}", start) from None


def parse_bif(text: str, source: str = "<text>") -> BifContent:
    """Content of a BIF text; `source` is what error messages call it."""
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
            raise tokens.error(f"variable {name!r} is declared a second time")
        else:
            states[name] = ()
        tokens.take("{")
        statements = ("type", "property", "}") if keyword == "variable" else ("property", "}")
        while (word := tokens.take(*statements)) != "}":
            if word == "type":
                states[name] = _read_states(tokens)
            else:
                tokens.words(";", punctuation=True)
        if keyword == "variable" and not states[name]:
            raise tokens.error(f"variable {name!r} has no 'type discrete [n] {{ ... }};'")
    if not states:
        raise tokens.error("no variable block; is this a BIF file?")
    if missing := [name for name in states if name not in families]:
        raise tokens.error(f"no probability block for {', '.join(missing[:5])}", len(tokens.items))
    index = {name: i for i, name in enumerate(states)}
    parents = tuple(tuple(index[p] for p in families[name][0]) for name in states)
    cpts = tuple(families[name][1] for name in states)
    return BifContent(network, tuple(states), tuple(states.values()), parents, cpts)


def _read_states(tokens: _Tokens) -> tuple[str, ...]:
    tokens.take("discrete")
    tokens.take("[")
    size = tokens.take()
    tokens.take("]")
    tokens.take("{")
    states = tuple(word.strip('"') for word in tokens.words("}"))
    if size != str(len(states)) or not states:
        raise tokens.error(f"{size} states announced, {len(states)} listed")
    if repeated := [s for k, s in enumerate(states) if s in states[:k]]:
        raise tokens.error(f"state {repeated[0]!r} is listed twice")
    tokens.take(";")
    return states


def _read_probability(tokens: _Tokens, states: States, families: Families) -> None:
    tokens.take("(")
    start = tokens.at
    family = [word.strip('"') for word in tokens.words(")")]
    for k, name in enumerate(family):
        if name not in states:
            raise tokens.error(f"variable {name!r} is not declared above", start + k)
        if name in family[:k]:
            raise tokens.error(f"variable {name!r} appears twice in one family", start + k)
    if not family or family[0] in families:
        raise tokens.error(f"a second block for {family[0]!r}" if family else "a variable is missing", start)
    tokens.take("{")
    child, parents = family[0], family[1:]
    shape = tuple(len(states[p]) for p in parents)
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
                raise tokens.error(f"probabilities of {child!r} given here for a second time", at)
            cpt[rows] = tokens.distributions(len(cpt[rows]), cpt.shape[1])
    empty = np.isnan(cpt[:, 0])
    if default is not None:
        cpt[empty] = default
    elif empty.any():
        codes = np.unravel_index(int(empty.argmax()), shape)
        where = ", ".join(f"{p}={states[p][c]}" for p, c in zip(parents, codes, strict=True)) or "any case"
        raise tokens.error(f"{empty.sum()} of {len(cpt)} rows of {child!r} are missing, as for {where}", start)
    families[child] = (parents, cpt)


def _read_configuration(tokens: _Tokens, parents: list[str], states: States) -> slice:
    start, row = tokens.at, 0
    labels = [word.strip('"') for word in tokens.words(")")]
    if len(labels) != len(parents):
        raise tokens.error(f"expected the states of {len(parents)} parents, found {len(labels)}", start - 1)
    for k, (parent, label) in enumerate(zip(parents, labels, strict=True)):
        if label not in states[parent]:
            known = ", ".join(states[parent])
            raise tokens.error(f"{parent} has no state {label!r}, only {known}", start + k)
        row = row * len(states[parent]) + states[parent].index(label)
    return slice(row, row + 1)
