"""Text that is safe to print. Names and labels come from data; control characters in them affect a terminal."""

from __future__ import annotations


def plain(text: str) -> str:
    """The text in one line; unprintable characters, such as escapes and line breaks, are shown as in repr."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def plain_lines(text: str) -> str:
    """Like `plain`, but line breaks are kept."""
    return "\n".join(map(plain, text.splitlines()))
