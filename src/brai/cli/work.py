"""The work of ``brai learn`` and ``brai demo``: learn, print, save."""

from __future__ import annotations

import json
import math
import shlex
import shutil
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import numpy as np

from brai import __version__
from brai.cli.options import warn, writable
from brai.files import exchange
from brai.files.models import save
from brai.kinds import kind_of
from brai.learners.brai import BRAI
from brai.posterior.weighted import Posterior
from brai.runtime.atomic_files import plain_file, write_text
from brai.runtime.checkpoint import Checkpoint, OtherRunError
from brai.runtime.lock import claimed
from brai.runtime.progress import status
from brai.show import report
from brai.show.summary import as_text, summary

UNFINISHED = "unfinished"
PUBLISHED: dict[str, tuple[Any, ...]] = {
    "ci_test": ("auto", "cmi-c1"),
    "family_score": ("auto", "bdeu", "bge"),
    "ess": ("auto", 1.0),
}  # with --paper
PUBLISHED |= {"structure_prior": ("auto", "uniform"), "posterior_from": (None, "tree")}
NETWORKS = ("network.bif", "network.json")  # one of them, see `Kind.network_file`
FILES = ("report.html", "model.brai", "edges.csv", "graph.json", "graph.dot", *NETWORKS, "summary.json")


class Asked(NamedTuple):
    """Which posterior is asked for: of chains, of the k best graphs of the tree, or of draws of it."""

    k: int | None
    draws: int | None
    temperature: float | None
    prior: Any


class Output(NamedTuple):
    """Where results go."""

    folder: Path | None
    as_json: bool
    quiet: bool


def learn(data: Any, name: str, asked: Asked, out: Output, *, paper: bool, seed: int, **settings: Any) -> None:
    """Learn from data, print the result, and save it if a folder is given."""
    if paper:
        for setting, choices in PUBLISHED.items():
            if settings[setting] not in choices:
                option = {"family_score": "score"}.get(setting, setting).replace("_", "-")
                raise click.UsageError(f"--paper sets --{option}: leave it out")
            if setting != "ci_test" or settings[setting] == "auto":
                del settings[setting]
    if settings.get("posterior_from", "") is None:
        del settings["posterior_from"]
    if asked.draws is None and asked.temperature is not None:
        raise click.UsageError("--temperature applies to --draws: give --draws too")
    if asked.draws is not None and asked.k is not None:
        raise click.UsageError("the posterior is over the best graphs (-k) or over draws (--draws): give one")
    if settings["n_jobs"] == 0:
        raise click.UsageError("--jobs is 0: give the number of workers, or -1 for all cores")
    output = out.folder
    if output is None:
        held: AbstractContextManager[None] = nullcontext()
    else:
        held, settings["checkpoint"] = claimed(writable(output)), output / UNFINISHED
    make = BRAI.paper if paper else BRAI
    model = make(random_state=seed, verbose=not out.quiet and sys.stderr.isatty(), **settings)
    stopped = False
    with held:
        try:
            _fit(model, data)
            posterior, source = _posterior(model, asked, seed)
        except KeyboardInterrupt:
            if output is not None:
                click.echo("brai: stopped; the same command continues from here", err=True)
            if not hasattr(model, "dag_"):
                raise
            click.echo("brai: stopped; this is the best graph so far, with probabilities from the tree", err=True)
            stopped, model.posterior_from = True, "tree"
            k = asked.k or 100
            posterior, source = model.posterior(k, prior=asked.prior), {"k": k}
        made = {"brai": __version__, "seed": seed, "data": name, "command": _command()}
        known = {**made, **summary(model, data.n_rows, posterior, source)}
        if output is not None:
            unfinished, model.checkpoint = Checkpoint(output / UNFINISHED), None
            known |= keep(output, model, posterior, known)
            if not stopped:
                unfinished.clear()
    more = ("graph.json", "edges.csv") if output is not None else None
    click.echo(json.dumps(known, allow_nan=False) if out.as_json else as_text(known, more))
    if output is not None and not out.as_json:
        kept = [file for file in FILES if (output / file).exists()]
        click.echo(f"\n{output}: {', '.join(kept)}", err=True)
    if stopped:
        sys.exit(130)


def _fit(model: BRAI, data: Any) -> None:
    """Fit; discard a checkpoint of other data or settings."""
    try:
        model.fit(data)
    except OtherRunError:
        Checkpoint(model.checkpoint).clear()
        model.fit(data)


def _posterior(model: BRAI, asked: Asked, seed: int) -> tuple[Posterior, dict[str, Any]]:
    """The requested posterior, and a description of its source."""
    k, draws, temperature, prior = asked
    if draws is not None:
        heat = 1.0 if temperature is None else temperature
        drawing = np.random.SeedSequence([seed, 1])
        posterior = model.posterior(draws=draws, temperature=heat, prior=prior, random_state=drawing)
        shown = heat if math.isfinite(heat) else "inf"  # JSON has no infinity
        return posterior, {"draws": draws, "temperature": shown, "method": model.draw}
    source: dict[str, Any] = {"k": k or 100}
    if k is None and model.posterior_from != "tree":
        chains = model.chains()
        n_chains, n_draws = chains.log_scores.shape
        r_hat = chains.r_hat()
        source = {"chains": n_chains, "draws_each": n_draws, "ess": chains.ess()}
        source["r_hat"] = r_hat if math.isfinite(r_hat) else None  # JSON has no infinity
        source["max_disagreement"] = chains.disagreement()[0]
        if model.posterior_from == "bagged":
            source["halves"] = len(model.bags().log_scores)
    with status(bool(model.verbose), "computing the posterior"):
        return model.posterior(k, prior=prior), source


def keep(folder: Path, model: BRAI, posterior: Posterior, found: dict[str, Any]) -> dict[str, Any]:
    """Write FILES, all of them or none; return the reasons for those left out, if any.

    A file whose format cannot represent the model (BIF allows no line breaks in names, for instance) is left out
    with a warning. An old file of that name is deleted, so that all files of the folder are from the same run.
    """
    made, network = {"data_name": found["data"], "command": found["command"]}, kind_of(model._train).network_file
    makers: dict[str, Callable[[Path], Any]] = {
        "model.brai": lambda path: save(model, path),
        "edges.csv": lambda path: write_text(path, exchange.strength_csv(found["posterior"]["edges"], digits=6)),
        "graph.json": lambda path: write_text(path, exchange.to_json(model.mpdag_)),
        "graph.dot": lambda path: write_text(path, model.mpdag_.to_dot()),
        network: lambda path: write_text(path, model.network().text()),
        "report.html": lambda path: report.write(model, path, posterior=posterior, **made),
    }
    left_out = {}
    others = {*NETWORKS} - {network}
    writing = status(bool(model.verbose), f"writing to {folder}")
    with writing, TemporaryDirectory(dir=folder, prefix=".new-") as new:
        for name, make in makers.items():
            try:
                make(Path(new, name))
            except (ValueError, MemoryError) as error:
                left_out[name] = str(error)
                warn(f"{name} is left out: {error}")
        told = {"left_out": left_out} if left_out else {}
        write_text(Path(new, "summary.json"), json.dumps({**found, **told}, indent=1, allow_nan=False) + "\n")
        for name in FILES:
            if name in left_out or name in others:
                (folder / name).unlink(missing_ok=True)
            else:
                shutil.move(Path(new, name), plain_file(folder / name))
    return told


def _command() -> str:
    return shlex.join(["brai", *sys.argv[1:]])
