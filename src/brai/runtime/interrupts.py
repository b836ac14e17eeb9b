"""Ctrl-C during compiled code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def interruptible(function: Function) -> Function:
    """Raise KeyboardInterrupt also if Ctrl-C arrives while a kernel returns an array.

    In that case numba returns a result with an exception set, which Python reports as a SystemError.
    """

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            return function(*arguments, **named)
        except SystemError as error:
            if isinstance(error.__cause__, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            raise

    return called  # type: ignore[return-value]
