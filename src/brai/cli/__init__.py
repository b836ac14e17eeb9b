"""The command line. ``brai learn FILE -o FOLDER`` learns a model; the other commands answer questions about it.

Numba and scikit-learn are imported only when a command needs them.
"""

from __future__ import annotations

import sys
import warnings
from importlib.metadata import entry_points

import click

from brai import __version__
from brai.cli.answers import compare, query, report, sample
from brai.cli.learn import demo, learn
from brai.cli.options import warn
from brai.runtime.interrupts import interruptible
from brai.runtime.text import plain_lines

GROUP = "brai.commands"


class Commands(click.Group):
    """The commands of this package, and those of installed packages with entry points in GROUP.

    `brai.research` is such a package: it builds on this one, and nothing here depends on it.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of all commands."""
        return sorted({*super().list_commands(ctx), *entry_points(group=GROUP).names})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; an entry point is imported now."""
        own = super().get_command(ctx, cmd_name)
        return own or next((one.load() for one in entry_points(group=GROUP, name=cmd_name)), None)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="brai")
def cli() -> None:
    """Learn the structure of a Bayesian network from data, with a probability for each edge."""


for _command in (learn, report, sample, query, compare, demo):
    cli.add_command(_command)


def main() -> None:
    """Run the command line. An error in the input gives one line on standard error and exit code 1."""
    warnings.showwarning = lambda message, *_: warn(message)
    try:
        interruptible(cli.main)(standalone_mode=False)
    except (click.exceptions.Abort, KeyboardInterrupt):
        click.echo("brai: stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        click.echo(f"brai: {plain_lines(str(error)) or 'out of memory'}", err=True)
        sys.exit(1)
