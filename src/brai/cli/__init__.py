"""The command line. ``brai learn FILE -o FOLDER`` learns; the other commands ask what was learned.

Nothing here loads numba or scikit-learn before a command needs it.
"""

from __future__ import annotations

import sys
import warnings

import click

from brai import __version__
from brai._interrupt import interruptible
from brai._text import plain_lines
from brai.cli.answers import compare, query, report, sample
from brai.cli.bench import bench
from brai.cli.learn import demo, learn
from brai.cli.options import warn
from brai.paper.commands import paper


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="brai")
def cli() -> None:
    """Learn the structure of a Bayesian network from data, and how sure it is."""


for _command in (learn, report, sample, query, compare, paper, bench, demo):
    cli.add_command(_command)


def main() -> None:
    """Run the command line; what goes wrong with the input is one line on standard error and exit code 1."""
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
