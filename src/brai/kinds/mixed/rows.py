"""New rows for a mixed table: the same variables, states and scales."""

from __future__ import annotations

from typing import Any

from brai.data.columns import aligned
from brai.data.dataset import Dataset, columns_of_any
from brai.data.mixed import Mixed
from brai.data.numbers import conforming as conforming_numbers


def conforming(X: Any, like: Mixed) -> Mixed:
    """X over exactly the variables of ``like``, in their order, with their states and their coding."""
    if isinstance(X, Mixed) and X.coding is like.coding:
        return X
    columns = dict(zip(like.names, aligned(X, columns_of_any(X), like.names), strict=True))
    values = {name: columns[name] for name in like.numbers.names}
    numbers = conforming_numbers(values, like.numbers) if values else like.numbers
    labels = None
    if like.labels is not None:
        labels = Dataset.conforming({name: columns[name] for name in like.labels.names}, like.labels)
    return Mixed(like.names, like.kinds, labels, numbers, like.ranked, like.coding)
