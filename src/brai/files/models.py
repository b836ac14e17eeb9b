"""`save` and `load` for fitted models, trees and posteriors.

A file holds all that a fitted model needs: settings, training data, graph, tree, draws of the chains if there are
any, and the seed. A loaded model gives the same answers as the saved one, without learning again.

docs/file-format.md describes the format. It is versioned and holds neither pickles nor code. A file that is
damaged, foreign or newer than this package raises a `FormatError` with the reason.

Only ``random_state`` may be lost: a Generator or RandomState is saved as None, because the seed drawn from it is
saved.

>>> import brai, tempfile
>>> model = brai.BRAI(s=2, random_state=0).fit(brai.load_network("cancer").sample(200, random_state=0))
>>> with tempfile.TemporaryDirectory() as folder:
...     brai.save(model, f"{folder}/cancer.brai")
...     again = brai.load(f"{folder}/cancer.brai")
>>> again.k_best(3) == model.k_best(3)
True
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import brai
from brai.files.arrays import (
    Arrays,
    Stored,
    graphs_from,
    graphs_to,
    posterior_from,
    posterior_to,
    tree_from,
    tree_to,
)
from brai.files.codecs import CODECS, Place, count, decoded_seed, encoded_seed
from brai.graphs.knowledge import Knowledge
from brai.graphs.pdag import PDAG, families_of
from brai.graphs.priors import StructurePrior
from brai.kinds import kind_named, kind_of
from brai.posterior.weighted import Posterior
from brai.runtime import archive, memory
from brai.runtime.archive import FormatError
from brai.runtime.checks import check_ess
from brai.runtime.plain import decoded, encoded
from brai.search.hyperparameters import Settled, Tried
from brai.tree.ggt import GGT
from brai.tree.independence import CITest, Oracle

__all__ = ["FormatError", "load", "save"]

_MODELS = ("BRAI", "RAI", "HillClimbing", "OrderSearch", "MMHC", "Bootstrap", "Exact", "DPMCMC")
_KINDS = (*_MODELS, "tree", "posterior")
_OPERATIONAL = frozenset({"checkpoint", "n_jobs", "verbose"})  # settings of the run: never taken from a file
_UNFIT = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError, MemoryError)


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Save a fitted model, a tree (`model.tree_`) or a Posterior.

    Models are BRAI, RAI, HillClimbing, OrderSearch, MMHC, Bootstrap, Exact and DPMCMC. An existing file is
    replaced only once all is written; if saving fails, it stays unchanged.
    """
    if isinstance(obj, GGT):
        kind, about, arrays = "tree", {"names": list(obj.names), "s": int(obj.s)}, tree_to(obj)
    elif isinstance(obj, Posterior):
        about = {"names": list(obj.names), "prior": obj.prior, "source": obj.source}
        kind, arrays = "posterior", posterior_to(obj)
    else:
        kind, about, arrays = _class_of(obj), *_model_to(obj)
    head = {"format": archive.FORMAT, "version": archive.VERSION, "brai": brai.__version__, "kind": kind}
    archive.write(Path(path), head | about, arrays)


def load(path: str | os.PathLike[str], kind: str | None = None) -> Any:
    """Load what `save` wrote. ``kind`` ("BRAI", "tree", "posterior", …) says what it must be, if given.

    FormatError, a ValueError, says what is wrong with a file that cannot be used.
    """
    if kind is not None and kind not in _KINDS:
        raise ValueError(f"kind is {kind!r}: choose one of {', '.join(_KINDS)}, or None for any")
    try:
        meta, arrays = archive.read(Path(path))
        found = meta.get("kind")
        if found not in _KINDS:
            raise FormatError(f"it holds a {found!r}, which is not one of {', '.join(_KINDS)}")
        if kind not in (None, found):
            raise FormatError(f"it holds a {found}, not a {kind}: give another file")
        stored = Stored(arrays)
        try:
            result = _from(found, meta, stored)
            stored.done()
        except memory.NotEnoughError:
            raise
        except _UNFIT as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise FormatError(f"its content is inconsistent ({reason}): save it again") from None
    except FormatError as error:
        raise FormatError(f"cannot load {os.fspath(path)!r}: {error}") from None
    return result


def _from(kind: str, meta: Mapping[str, Any], stored: Stored) -> Any:
    names = meta["names"]
    if not (isinstance(names, list) and names and all(isinstance(name, str) for name in names)):
        raise ValueError("names is not a list of text")
    if len(set(names)) < len(names):
        raise ValueError("names holds a name twice")
    if kind == "tree":
        return tree_from(stored, tuple(names), count(meta, "s", 1))
    if kind == "posterior":
        return posterior_from(stored, tuple(names), meta["prior"], meta.get("source", "given"))
    return _model_from(kind, meta, stored)


# --- models -----------------------------------------------------------------------------------------


def _class_of(obj: Any) -> str:
    name = type(obj).__name__
    if name not in _MODELS or type(obj) is not getattr(brai, name):
        cure = "write a graph or network with brai.files.exchange or with its own methods"
        raise TypeError(f"a {name} cannot be saved, only {', '.join(_MODELS)}, trees and posteriors: {cure}")
    return name


def _model_to(model: Any) -> tuple[dict[str, Any], Arrays]:
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(model)
    data = model._train
    about, arrays = kind_of(data).stored(data)
    about = {
        "data": data.kind,
        "names": list(data.names),
        **about,
        "settings": _settings_to(model),
        "log_score": float(model.log_score_),
        "hyperparameters": _settled_to(model),
    }
    arrays |= graphs_to("dag", [model.dag_])
    if model._members is not None:
        more, further = CODECS["members"].to("_members", model._members)
        about, arrays = about | more, arrays | further
    if model._rounds:
        about["rounds"] = model._rounds
    for attribute, codec in model.saved.items():
        more, further = CODECS[codec].to(attribute, getattr(model, attribute))
        about, arrays = about | more, arrays | further
    return about, arrays


def _model_from(kind: str, meta: Mapping[str, Any], stored: Stored) -> Any:
    model = _learner(kind, meta["settings"])
    names = tuple(meta["names"])
    data = kind_named(meta.get("data", "discrete")).restored(names, meta, stored)
    (dag,) = graphs_from("dag", stored, names)
    if not isinstance(meta["log_score"], float) or not math.isfinite(meta["log_score"]):
        raise ValueError(f"log_score is {meta['log_score']!r}, not a finite number")
    model._take(_settled_of(meta))
    model._keep(data, families_of(dag.reorder(sorted(names))), meta["log_score"])
    if "members.log_scores" in stored and "members_" not in model.saved:
        model._members = CODECS["members"].of(Place("_members", meta, stored, names))
    model._rounds = count(meta, "rounds") if "rounds" in meta else 0
    for attribute, codec in model.saved.items():
        setattr(model, attribute, CODECS[codec].of(Place(attribute, meta, stored, names)))
    model._check()
    if model.ess != "auto":
        check_ess(model.ess)
    return model


def _settled_to(model: Any) -> dict[str, Any]:
    """The hyperparameters that were used, and those that were compared."""
    tried = [list(own) for own in model.hyperparameters_]
    return {"ess": model.ess_, "structure_prior": model.structure_prior_.plain(), "tried": tried}


def _settled_of(meta: Mapping[str, Any]) -> Settled:
    """The inverse; older files have the ess among the settings, and a uniform prior."""
    older = {"ess": meta["settings"].get("ess", 1.0), "structure_prior": "uniform", "tried": []}
    if meta["settings"].get("estimator"):
        older["ess"] = meta["settings"]["estimator"]["settings"].get("ess", 1.0)
    found = meta.get("hyperparameters", older)
    tried = tuple(Tried(check_ess(ess), float(k), float(value)) for ess, k, value in found["tried"])
    return Settled(check_ess(found["ess"]), StructurePrior.of(found["structure_prior"]), tried)


# --- settings ---------------------------------------------------------------------------------------


def _settings_to(model: Any) -> dict[str, Any]:
    settings = {}
    for name, value in model.get_params(deep=False).items():
        if name in _OPERATIONAL:
            continue
        try:
            known = name == "knowledge" and value is not None
            settings[name] = _encoded(Knowledge.of(value) if known else value)
        except TypeError as error:
            raise TypeError(f"{name} of {type(model).__name__} cannot be saved: {error}") from None
    return settings


def _learner(kind: str, settings: Mapping[str, Any]) -> Any:
    """An unfitted learner. Settings that are missing or not taken from a file have their defaults."""
    if kind not in _MODELS:
        raise ValueError(f"{kind!r} is not one of {', '.join(_MODELS)}")
    told = {name: _decoded(value) for name, value in settings.items() if name not in _OPERATIONAL}
    return getattr(brai, kind)(**told)


def _encoded(value: Any) -> Any:
    """Plain JSON for a setting; what JSON does not know is a dict with a type."""
    match value:
        case None | bool() | str() | int() | float() | np.generic():
            return encoded(value)
        case os.PathLike():
            return os.fspath(value)
        case CITest():
            return {"type": "CITest", **{k: _encoded(v) for k, v in dataclasses.asdict(value).items()}}
        case Oracle():
            return {"type": "Oracle", "dag": _encoded(value.dag), "verifies": bool(value.verifies)}
        case StructurePrior():
            return _encoded(value.plain())
        case dict() if set(value) in ({"strength"}, {"edges"}):
            return {"type": "prior", **{name: float(own) for name, own in value.items()}}
        case Knowledge():
            return {"type": "Knowledge", **json.loads(json.dumps(dataclasses.asdict(value)))}
        case PDAG():
            arcs = np.argwhere(value.adjacency).tolist()
            return {"type": "PDAG", "names": list(value.names), "arcs": arcs}
        case np.random.SeedSequence():
            return encoded_seed(value)
        case np.random.Generator() | np.random.RandomState():
            return None
        case np.ndarray() | list() | tuple() if np.ndim(value) == 2:  # allowed edges
            return {"type": "array", "rows": np.array(value, bool).astype(int).tolist()}
    if type(value).__name__ in _MODELS:
        return {"type": "learner", "kind": _class_of(value), "settings": _settings_to(value)}
    raise TypeError(f"it is {value!r}, of type {type(value).__name__}")


def _decoded(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    content = dict(value)
    match content.pop("type"):
        case "float":
            return decoded(value)
        case "CITest":
            return CITest(**{name: _decoded(own) for name, own in content.items()})
        case "Oracle":
            return Oracle(_decoded(content["dag"]), bool(content["verifies"]))
        case "PDAG":
            names = content["names"]
            arcs = Stored({"arcs": np.array(content["arcs"], np.int32).reshape(-1, 2)})
            i, j = arcs.integers("arcs", 0, len(names), None, 2).T
            adjacency = np.zeros((len(names), len(names)), np.int8)
            adjacency[i, j] = 1
            return PDAG(tuple(names), adjacency)
        case "SeedSequence":
            return decoded_seed(content)
        case "Knowledge":
            return Knowledge(**content)
        case "prior":
            return content
        case "array":
            return np.array(content["rows"], bool)
        case "learner":
            return _learner(content["kind"], content["settings"])
        case other:
            raise ValueError(f"a setting has the unknown type {other!r}")
