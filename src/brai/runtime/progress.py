"""Progress bars on standard error, shown only on request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeAlias

Progress: TypeAlias = Callable[[float, int], None]  # of the finished fraction of the tree and the number of tests


@contextmanager
def tree_progress(show: bool, title: str = "growing the tree") -> Iterator[Progress | None]:
    """A bar for `brai.tree.ggt.grow`: fraction of the tree that is done, and number of CI tests."""
    if not show:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(title, total=1.0)

        said = title

        def update(share: float, tests: int) -> None:
            nonlocal said
            said = f"{title}, {tests:,} CI tests"
            bar.update(task, completed=share, description=said)

        yield update
    if not console.is_terminal:  # a log file gets one line instead of a bar
        console.print(f"{said}: done")


@contextmanager
def status(show: bool, text: str) -> Iterator[None]:
    """A spinner for a step of a few seconds and unknown length."""
    if not show:
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(text):
        yield


class Advance(Protocol):
    """A function that reports finished steps."""

    def __call__(self, text: str | None = None, n: int = 1) -> None:
        """Advance by n steps, and show the text."""


@contextmanager
def counted(show: bool, title: str, total: int) -> Iterator[Advance]:
    """A bar for ``total`` equal steps. It yields a function to call after each step."""
    if not show:
        yield lambda text=None, n=1: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total)

        def advance(text: str | None = None, n: int = 1) -> None:
            bar.update(task, advance=n, description=text or title)

        yield advance
