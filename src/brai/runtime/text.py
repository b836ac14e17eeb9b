"""Text that is safe to print: names and labels may come from strangers, and terminals obey control characters."""

from __future__ import annotations


def plain(text: str) -> str:
    """Text of others in one line: what is not printable, such as an escape or a line break, as in repr."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def plain_lines(text: str) -> str:
    """The same for text whose line breaks are its own."""
    return "\n".join(map(plain, text.splitlines()))
