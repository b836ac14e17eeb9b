"""The command line: ``brai learn FILE`` and ``brai demo``."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from brai import __version__
from brai.paper.commands import paper


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that learning has wherever it is done."""
    for option in reversed(
        (
            click.option(
                "-s",
                "s",
                type=click.IntRange(1, 100),
                default=3,
                show_default=True,
                help="Bootstrap samples at each node.",
            ),
            click.option(
                "--ci-test",
                default="auto",
                show_default=True,
                type=click.Choice(["auto", "cmi-c1", "cmi", "g2", "bayes-factor"]),
                help="Conditional-independence test.",
            ),
            click.option("--score", default="bdeu", show_default=True, type=click.Choice(["bdeu", "bic"])),
            click.option(
                "--ess", type=float, default=1.0, show_default=True, help="Equivalent sample size of BDeu."
            ),
            click.option(
                "--max-order", type=click.IntRange(0), default=None, help="Largest condition set of a test."
            ),
            click.option(
                "--paper", is_flag=True, help="The published algorithm: its test, no polish, its way to draw."
            ),
            click.option(
                "-k",
                "k",
                type=click.IntRange(1),
                default=None,
                help="Make up the posterior from the k best CPDAGs of the tree instead of MCMC.",
            ),
            click.option(
                "--draws",
                type=click.IntRange(1),
                default=None,
                help="Make up the posterior from so many draws of the tree instead.",
            ),
            click.option(
                "--temperature",
                type=click.FloatRange(0),
                default=None,
                help="Of the draws: 0 gives the MAP, inf draws uniformly.  [default: 1]",
            ),
            click.option(
                "--prior",
                type=click.Choice(["dags", "classes"]),
                default=None,
                help="Uniform prior on DAGs (default) or on classes (default for --draws).",
            ),
            click.option(
                "--budget", type=float, default=None, help="Seconds that learning, and then MCMC, may take."
            ),
            click.option("--seed", type=click.IntRange(0), default=0, show_default=True),
            click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text."),
            click.option("--quiet", is_flag=True, help="No progress bar."),
        )
    ):
        command = option(command)
    return command


def _learn(
    data: Any,
    *,
    as_json: bool,
    quiet: bool,
    k: int | None,
    draws: int | None,
    temperature: float | None,
    prior: Any,
    seed: int,
    paper: bool,
    s: int,
    ci_test: str,
    score: str,
    **settings: Any,
) -> None:
    import numpy as np

    from brai.estimators import BRAI
    from brai.progress import status
    from brai.summary import as_text, summary

    if paper and (ci_test not in ("auto", "cmi-c1") or score != "bdeu" or settings["ess"] != 1.0):
        raise click.UsageError("--paper has its own --ci-test, --score and --ess: leave them out")
    if draws is None and temperature is not None:
        raise click.UsageError("--temperature is that of --draws: give their number too")
    if draws is not None and k is not None:
        raise click.UsageError("the posterior is made of the best graphs (-k) or of draws (--draws): give one")
    temperature = 1.0 if temperature is None else temperature
    make = BRAI.paper if paper else BRAI
    test = "cmi-c1" if paper else ci_test
    model = make(
        s=s,
        ci_test=test,
        family_score=score,
        random_state=seed,
        verbose=not quiet and sys.stderr.isatty(),
        **settings,
    )
    model.fit(data)
    source: dict[str, Any] = {"k": k or 100}
    if draws is None and k is None and not paper:
        chains = model.chains()
        n_chains, n_draws = chains.log_scores.shape
        r_hat = chains.r_hat()
        source = {"chains": n_chains, "draws_each": n_draws, "ess": chains.ess()}
        source["r_hat"] = r_hat if math.isfinite(r_hat) else None  # JSON has no infinity
        source["max_disagreement"] = chains.disagreement()[0]
    with status(bool(model.verbose), "weighing graphs"):
        if draws is None:
            posterior = model.posterior(k, prior=prior)
        else:
            drawing = np.random.SeedSequence([seed, 1])
            posterior = model.posterior(draws=draws, temperature=temperature, prior=prior, random_state=drawing)
            shown = temperature if math.isfinite(temperature) else "inf"  # JSON has no infinity
            source = {"draws": draws, "temperature": shown, "method": model.draw}
        found = summary(model, data.n_rows, posterior, source)
    known = {"brai": __version__, "seed": seed, **found}
    click.echo(json.dumps(known, allow_nan=False) if as_json else as_text(found))


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="brai")
def cli() -> None:
    """Learn the structure of a Bayesian network from data, and how sure it is."""


@cli.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--delimiter", default=None, help="Field separator; guessed if not given.")
@click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column out; may be repeated.")
@click.option(
    "--knowledge",
    type=click.Path(path_type=Path),
    default=None,
    metavar="FILE.toml",
    help="What is known: required and forbidden edges [from, to], tiers, roots, leaves.",
)
@_options
def learn(
    file: Path, delimiter: str | None, drop: tuple[str, ...], knowledge: Path | None, **options: Any
) -> None:
    """Learn from FILE: CSV, TSV or Parquet, also gzipped."""
    from brai.data import Dataset
    from brai.knowledge import Knowledge

    known = None if knowledge is None else Knowledge.from_toml(knowledge)
    _learn(Dataset.from_file(file, delimiter=delimiter, drop=drop), knowledge=known, **options)


@cli.command()
@click.option("--rows", type=click.IntRange(1), default=2000, show_default=True)
@_options
def demo(rows: int, **options: Any) -> None:
    """Learn the Asia network (Lauritzen & Spiegelhalter 1988) from a sample of it."""
    from brai.network import load_network

    network = load_network("asia")
    if not options["as_json"]:
        click.echo(f"{rows} rows sampled from the Asia network; its true CPDAG:")
        click.echo("".join(f"  {line}\n" for line in str(network.pdag.to_cpdag()).splitlines()))
    _learn(network.sample(rows, random_state=options["seed"]), **options)


cli.add_command(paper)


def main() -> None:
    """Run the command line; what goes wrong with the input is one line on standard error and exit code 1."""
    warnings.showwarning = lambda message, *_: click.echo(f"brai: warning: {message}", err=True)
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("brai: stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        click.echo("brai: stopped", err=True)
        sys.exit(130)
    except (ValueError, OSError, ImportError, MemoryError) as error:
        click.echo(f"brai: {error}", err=True)
        sys.exit(1)
