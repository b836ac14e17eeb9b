"""How many cells of a table are missing: as plain values, and in words."""

from __future__ import annotations

from typing import Any, TypeAlias

from brai.data.columns import count
from brai.data.incomplete import Incomplete

Plain: TypeAlias = dict[str, Any]

LETTERS = 60  # of a name or state


def counts(data: Any) -> Plain | None:
    """How many cells are missing; None for a complete table."""
    if not isinstance(data, Incomplete):
        return None
    shares = data.missing.mean(axis=1)
    columns = {name: round(float(share), 6) for name, share in zip(data.names, shares, strict=True) if share > 0}
    return {
        "cells": int(data.missing.sum()),
        "of": int(data.missing.size),
        "rows": int(data.missing.any(axis=0).sum()),
        "completed_tables": len(data.draws),
        "columns": columns,
    }


def in_words(found: Plain) -> str:
    """The counts as one sentence."""
    share = found["cells"] / max(1, found["of"])
    most = sorted(found["columns"].items(), key=lambda own: -own[1])[:3]
    named = ", ".join(f"{name} ({percent(own)})" for name, own in most)
    told = f"{found['cells']} of {count(found['of'], 'cell')} missing ({percent(share)}), most in {named}"
    if found["completed_tables"]:
        told += f"; imputed in {count(found['completed_tables'], 'completed table')}"
    return told


def percent(share: float) -> str:
    """A share in words."""
    if share in (0, 1):
        return f"{share:.0%}".replace("%", " %")
    return f"{share:.0%}".replace("%", " %") if share >= 0.095 else f"{share:.1%}".replace("%", " %")


def cut(name: str) -> str:
    """A name, cut if it is long."""
    return name if len(name) <= LETTERS else f"{name[:LETTERS]}…"
