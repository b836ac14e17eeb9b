"""Updating tables inside a Markdown page, between two comments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from brai.runtime.atomic_files import write_text


def fill(path: Path, tables: Mapping[str, str]) -> list[str]:
    """Put each table between ``<!-- bench: CASE -->`` and ``<!-- end -->``; return the cases found in the page."""
    page, filled = path.read_text(encoding="utf-8"), []
    for case, table in tables.items():
        place = re.compile(rf"(<!-- bench: {re.escape(case)} -->\n).*?(<!-- end -->)", re.DOTALL)
        if place.search(page):
            page = place.sub(lambda found, table=table: f"{found[1]}\n{table}\n\n{found[2]}", page)  # type: ignore[misc]
            filled.append(case)
    if not filled:
        raise ValueError(f"{path} has no place for {', '.join(tables)}: add the line <!-- bench: CASE -->")
    write_text(path, page)
    return filled
