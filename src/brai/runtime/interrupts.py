"""Ctrl-C in the middle of compiled code."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def interruptible(function: Function) -> Function:
    """Let Ctrl-C be KeyboardInterrupt also where it comes while a kernel returns an array.

    Numba has the array ready by then and returns both, which Python takes for an error of the system.
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
