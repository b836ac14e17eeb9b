"""For the API page: docstrings as Markdown.

Under "Parameters" and "Attributes" docstrings say "name : words", where the words begin with the type but are
prose. A parser of numpy's style takes their first line for a type; here each entry becomes an item of a list.
Examples and tables become blocks of code, and brackets are brackets.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

SECTION = re.compile(r"^(Parameters|Attributes|Returns|Raises)\n-{3,}\n((?:.+\n?)*)", re.MULTILINE)
VERBATIM = re.compile(r"^(?:>>> |={3,} ).*\n?(?:.+\n?)*", re.MULTILINE)  # an example, a table
CODE = re.compile(r"(```.*?```|`+[^`]+`+|^    [^\n]*)", re.DOTALL | re.MULTILINE)


def items(section: re.Match[str]) -> str:
    """A section as a heading with a list."""
    entries = re.split(r"\n(?! )", section[2].rstrip())
    lines = []
    for entry in entries:
        names, _, words = re.sub(r"\s+", " ", entry).partition(" : ")
        code = ", ".join(f"`{name}`" for name in names.split(", "))
        lines.append(f"- {code}: {words}" if words else f"- {code}")
    return f"**{section[1]}**\n\n" + "\n".join(lines) + "\n"


def markdown(text: str) -> str:
    """The docstring with lists and blocks in place of sections and the like."""
    text = SECTION.sub(items, text)
    text = VERBATIM.sub(lambda block: f"```pycon\n{block[0].rstrip()}\n```\n", text)
    text = re.sub(r"\s*::$", ":", text, flags=re.MULTILINE)
    parts = CODE.split(text)  # words and code by turns; brackets in words are no links
    return "".join(part if i % 2 else part.replace("[", "\\[") for i, part in enumerate(parts))


class Docstrings(Extension):
    """Rewrites every docstring when its object has been read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """As griffe calls it."""
        if obj.docstring:
            obj.docstring.value = markdown(obj.docstring.value)
