"""How public methods run: Ctrl-C during compiled code, and linear algebra in one thread."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def interruptible(function: Function) -> Function:
    """Raise KeyboardInterrupt also if Ctrl-C arrives while a kernel returns an array.

    In that case numba returns a result with an exception set, which Python reports as a SystemError.

    Meanwhile linear algebra uses one thread. Matrices are small here, so that further threads cost more than they
    give, and the last bits of a sum would depend on how many of them were idle.
    """

    @functools.wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        try:
            with _pools().limit(limits=1, user_api="blas"):
                return function(*arguments, **named)
        except SystemError as error:
            if isinstance(error.__cause__, KeyboardInterrupt):
                raise KeyboardInterrupt from error
            raise

    return called  # type: ignore[return-value]


@functools.cache
def _pools() -> Any:
    """The thread pools of the libraries that are loaded; looked for once."""
    import scipy.linalg  # noqa: F401  # so that its library is among them
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
