"""Bayesian-network structures from data, and how sure they are (B-RAI, NeurIPS 2018).

>>> import brai
>>> asia = brai.load_network("asia")
>>> model = brai.BRAI(s=3, random_state=0).fit(asia.sample(2000, random_state=0))
>>> model.cpdag_ == asia.pdag.to_cpdag()
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from brai.data import DataError as DataError
    from brai.data import Dataset as Dataset
    from brai.estimators import BRAI as BRAI
    from brai.estimators import ConvergenceWarning as ConvergenceWarning
    from brai.graphs import PDAG as PDAG
    from brai.independence import CITest as CITest
    from brai.independence import Oracle as Oracle
    from brai.io import load as load
    from brai.io import save as save
    from brai.knowledge import Knowledge as Knowledge
    from brai.learners import MMHC as MMHC
    from brai.learners import Bootstrap as Bootstrap
    from brai.learners import HillClimbing as HillClimbing
    from brai.learners import OrderSearch as OrderSearch
    from brai.network import Network as Network
    from brai.network import load_network as load_network
    from brai.posterior import Posterior as Posterior
    from brai.recursive import RAI as RAI
    from brai.recursive import BudgetWarning as BudgetWarning
    from brai.small import DPMCMC as DPMCMC
    from brai.small import Exact as Exact

_HOME = {
    "BRAI": "estimators",
    "Bootstrap": "learners",
    "BudgetWarning": "recursive",
    "CITest": "independence",
    "ConvergenceWarning": "estimators",
    "DPMCMC": "small",
    "DataError": "data",
    "Dataset": "data",
    "Exact": "small",
    "HillClimbing": "learners",
    "Knowledge": "knowledge",
    "MMHC": "learners",
    "Network": "network",
    "Oracle": "independence",
    "OrderSearch": "learners",
    "PDAG": "graphs",
    "Posterior": "posterior",
    "RAI": "recursive",
    "load": "io",
    "load_network": "network",
    "save": "io",
}

_MODULES = (
    "causal",
    "consensus",
    "equivalence",
    "exact",
    "exchange",
    "families",
    "io",
    "network",
    "plots",
    "posterior",
    "predictive",
    "report",
    "scores",
    "search",
)

__all__ = [*_HOME, "__version__"]


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562): importing brai compiles and imports nothing."""
    if name in _MODULES:
        return import_module(f"brai.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'brai' has no attribute {name!r}")
    value = getattr(import_module(f"brai.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
