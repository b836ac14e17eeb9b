"""Bayesian-network structures from data, and how sure they are (B-RAI, NeurIPS 2018).

>>> import brai
>>> asia = brai.load_network("asia")
>>> model = brai.BRAI(s=3, random_state=0).fit(asia.sample(2000, random_state=0))
>>> ("bronc", "dysp") in model.cpdag_.directed_edges()
True
>>> model.edge_probability("bronc", "dysp") > 0.9
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from brai.data.dataset import DataError as DataError
    from brai.data.dataset import Dataset as Dataset
    from brai.files.models import load as load
    from brai.files.models import save as save
    from brai.graphs.indicators import with_indicators as with_indicators
    from brai.graphs.knowledge import Knowledge as Knowledge
    from brai.graphs.pdag import PDAG as PDAG
    from brai.kinds.discrete.network import Network as Network
    from brai.kinds.discrete.network import load_network as load_network
    from brai.kinds.gaussian.network import GaussianNetwork as GaussianNetwork
    from brai.kinds.mixed.network import MixedNetwork as MixedNetwork
    from brai.learners.bootstrap import Bootstrap as Bootstrap
    from brai.learners.brai import BRAI as BRAI
    from brai.learners.discretize import Discretizer as Discretizer
    from brai.learners.drawing import ConvergenceWarning as ConvergenceWarning
    from brai.learners.exact import DPMCMC as DPMCMC
    from brai.learners.exact import Exact as Exact
    from brai.learners.mmhc import MMHC as MMHC
    from brai.learners.rai import RAI as RAI
    from brai.learners.rai import BudgetWarning as BudgetWarning
    from brai.learners.score_search import HillClimbing as HillClimbing
    from brai.learners.score_search import OrderSearch as OrderSearch
    from brai.posterior.weighted import Posterior as Posterior
    from brai.tree.independence import CITest as CITest
    from brai.tree.independence import Oracle as Oracle

_HOME = {
    "BRAI": "learners.brai",
    "Bootstrap": "learners.bootstrap",
    "BudgetWarning": "learners.rai",
    "CITest": "tree.independence",
    "ConvergenceWarning": "learners.drawing",
    "DPMCMC": "learners.exact",
    "DataError": "data.dataset",
    "Dataset": "data.dataset",
    "Discretizer": "learners.discretize",
    "Exact": "learners.exact",
    "GaussianNetwork": "kinds.gaussian.network",
    "MixedNetwork": "kinds.mixed.network",
    "HillClimbing": "learners.score_search",
    "Knowledge": "graphs.knowledge",
    "MMHC": "learners.mmhc",
    "Network": "kinds.discrete.network",
    "Oracle": "tree.independence",
    "OrderSearch": "learners.score_search",
    "PDAG": "graphs.pdag",
    "Posterior": "posterior.weighted",
    "RAI": "learners.rai",
    "load": "files.models",
    "load_network": "kinds.discrete.network",
    "save": "files.models",
    "with_indicators": "graphs.indicators",
}

_MODULES = {  # public modules, by the name that users know
    "causal": "posterior.effects",
    "consensus": "posterior.consensus",
    "discretize": "learners.discretize",
    "equivalence": "graphs.equivalence",
    "exact": "posterior.exact",
    "exchange": "files.exchange",
    "families": "search.family_table",
    "io": "files.models",
    "memory": "learners.memory",
    "network": "kinds.discrete.network",
    "plots": "show.plots",
    "predictive": "posterior.prediction",
    "report": "show.report",
    "scores": "kinds.scores",
}

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562): importing brai compiles and imports nothing."""
    if name in _MODULES:
        return import_module(f"brai.{_MODULES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module 'brai' has no attribute {name!r}")
    value = getattr(import_module(f"brai.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME, *_MODULES})
