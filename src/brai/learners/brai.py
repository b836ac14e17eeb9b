"""`BRAI`: Bayesian structure learning by recursive bootstrap, then search and MCMC.

`BRAI` offers three sources of probabilities.

- ``posterior_from="tree"`` is the published one: the k best graphs of the tree, or draws from it, weighted by
  their scores. Graphs that are not in the tree count as impossible, and usually one graph has nearly all the
  weight.
- ``posterior_from="mcmc"`` draws DAGs by Markov chain Monte Carlo (MCMC) from the posterior over all DAGs with few
  parents. It is correct once the chains have converged; R-hat, the effective sample size and the disagreement of
  chains are diagnostics. These are the probabilities of the model: given these rows, the score and the prior.
- ``posterior_from="bagged"`` (default) also draws DAGs on random halves of the rows (`brai.posterior.bagged`).
  These probabilities are less certain, and agree better with true graphs (docs/results/calibration.md).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from brai.data.incomplete import Incomplete
from brai.graphs.pdag import PDAG, Draw
from brai.kinds.scores import FamilyScores
from brai.learners.completed import best_over_tables, completed
from brai.learners.drawing import (
    branch,
    draw_bags,
    draw_chains,
    halfway,
    limits,
    table_of_chains,
    warn_of_chains,
)
from brai.learners.memory import foresee
from brai.learners.of_tree import TreeGraphs
from brai.learners.rai import MAX_TESTS, Fit, RecursiveLearner
from brai.posterior.augmentation import Augmented
from brai.posterior.bagged import combined, with_scores
from brai.posterior.chains import Draws
from brai.posterior.weighted import Posterior, Prior, Source
from brai.posterior.with_knowledge import posterior_of_dags
from brai.runtime.checkpoint import Checkpoint
from brai.runtime.checks import check_count
from brai.runtime.interrupts import interruptible
from brai.runtime.progress import status, tree_progress
from brai.runtime.seeds import seed_sequence
from brai.runtime.workers import Workers
from brai.search.family_table import FamilyTable
from brai.search.from_tree import Polished, polish
from brai.search.hyperparameters import Settled, reconsidered
from brai.search.joint_parents import Screen, deepen
from brai.tree.draws import Method, best_route
from brai.tree.ggt import GGT
from brai.tree.independence import CITest, Oracle
from brai.tree.parallel_growth import grow_with
from brai.tree.rai import Learner

TREE_SHARE = 0.4  # of the budget of a fit, if a search is to follow
MAX_STEPS = 10**11  # of all chains together


class BRAI(TreeGraphs, RecursiveLearner):
    """Bayesian structure learning by recursive bootstrap (B-RAI; Rohekar et al. 2018), followed by a search.

    Parameters
    ----------
    s : int, bootstrap samples at each node of the tree
    ci_test : "auto" or as in RAI. "auto" is CITest("cmi-c1", threshold=1.0), for measurements
        CITest("g2", alpha=0.01); see CITest.of
    family_score : the score of graphs (brai.kinds.scores): "bdeu", "bic" or "qnml" for discrete data, "bge" or
        "bic" for measurements; "auto" is the first of these
    ess : float, equivalent sample size of BDeu; "table" is the best for each table (brai.kinds.discrete.any_ess);
        "auto" chooses on the data (brai.search.hyperparameters)
    structure_prior : "uniform", "fair", {"strength": number} or {"edges": expected number of edges}, the prior
        over DAGs (brai.graphs.priors); "auto" chooses a strength on the data
    max_order, max_tests, knowledge : as in RAI. Every graph of the tree and of chains obeys the knowledge. Beliefs
        (Knowledge.beliefs) are part of the prior
    polish : bool, whether to search on from the tree (brai.search.from_tree); not with an Oracle
    max_parents : int, most parents of a node in the search and in chains; None for 4, or 8 with measurements. A
        node that has more in a family of the tree that is worth it keeps them
    posterior_from : {"bagged", "mcmc", "tree"}, what probabilities are computed from, when first asked for; see
        above
    n_chains : int, number of chains
    n_draws : int, DAGs drawn from each chain; None for 1000 with up to 20 variables, else 250
    thin : int, steps of a chain between draws; None for 10 times the number of variables, at least 100
    budget : float, seconds (wall clock) for `fit`, of which the tree gets two fifths if a search follows;
        chains get as much again. None for no limit. When time is over, the best graph and the draws so far are
        the result: valid, but dependent on the speed of the machine. Listing parent sets is not interrupted; it
        takes seconds with hundreds of variables
    draw : {"exact", "paper"}, how `sample` draws; see brai.tree.draws
    random_state : int, SeedSequence, Generator, RandomState or None. The same seed gives the same result
    n_jobs : int, workers (joblib: -1 for all cores; threads, or what joblib.parallel_config says; see
        brai.runtime.workers). The result does not depend on it
    checkpoint : a folder for finished parts of `fit` and `chains`, or None. A run that was killed continues
        from there with the same data, settings and seed, to the same result. Delete the folder when the run is
        done
    verbose : bool, whether to show a progress bar on standard error

    Attributes
    ----------
    cpdag_, dag_, mpdag_, log_score_, n_ci_tests_ : as in RAI, for the best graph found (MAP, maximum a posteriori)
    log_likelihood_, log_prior_ : the two parts of log_score_, see StructureLearner
    ess_, structure_prior_ : the hyperparameters that were used
    hyperparameters_ : list of Tried (ess, strength, log_evidence), what "auto" compared
    threshold_, threshold_curve_ : as in RAI; log_score is that of the best graph of the tree
    tree_ : GGT with n_nodes, n_leaves, n_routes, depth, n_repaired, n_truncated
    polish_trace_ : list of (step, log score): the tree, searches over orders, tabu searches
    joint_parents_ : Screen, which pairs of parents the search scored; None without a search
    """

    bootstraps = True
    _known_model_posterior: Posterior | None = None

    saved: ClassVar[Mapping[str, str]] = {
        "n_ci_tests_": "tests",
        "tree_": "tree",
        "polish_trace_": "trace",
        "joint_parents_": "screen",
        "threshold_curve_": "thresholds",
        "_seed": "seed",
        "_known_chains": "draws",
        "_known_bags": "bags",
    }

    def __init__(
        self,
        s: int = 3,
        ci_test: Any = "auto",
        *,
        family_score: str = "auto",
        ess: Any = "auto",
        structure_prior: Any = "auto",
        polish: bool = True,
        max_parents: int | None = None,
        posterior_from: Literal["bagged", "mcmc", "tree"] = "bagged",
        n_chains: int = 4,
        n_draws: int | None = None,
        thin: int | None = None,
        budget: float | None = None,
        draw: Method = "exact",
        max_order: int | None = None,
        max_tests: int | None = MAX_TESTS,
        knowledge: Any = None,
        random_state: Any = None,
        n_jobs: int | None = 1,
        checkpoint: Any = None,
        verbose: bool = False,
    ):
        self.knowledge = knowledge
        self.n_jobs = n_jobs
        self.checkpoint = checkpoint
        self.s = s
        self.ci_test = ci_test
        self.family_score = family_score
        self.ess = ess
        self.structure_prior = structure_prior
        self.polish = polish
        self.max_parents = max_parents
        self.posterior_from = posterior_from
        self.n_chains = n_chains
        self.n_draws = n_draws
        self.thin = thin
        self.budget = budget
        self.draw = draw
        self.max_order = max_order
        self.max_tests = max_tests
        self.random_state = random_state
        self.verbose = verbose

    @classmethod
    def paper(cls, s: int = 3, *, random_state: Any = None, verbose: bool = False, **changes: Any) -> BRAI:
        """The published algorithm: CMI test, BDeu with ess 1, uniform prior, no polish, Algorithm 2.

        The threshold of the test is chosen by the score on the training data. This reading reproduces most of the
        paper's claims; ``ci_test="cmi-c1"`` is the C1 threshold. What else the paper leaves open is settled as
        docs/paper-map.md lists; the raised threshold on bootstrap samples (CITest.correction) and the test of
        v-structures (CITest.colliders) are not in the paper.
        """
        test = CITest("cmi", threshold="auto")
        settings: dict[str, Any] = {"ci_test": test, "family_score": "auto", "ess": 1.0, "polish": False}
        settings |= {"structure_prior": "uniform", "posterior_from": "tree", "draw": "paper"}
        return cls(s, random_state=random_state, verbose=verbose, **{**settings, **changes})

    @interruptible
    def fit(self, X: Any, y: Any = None) -> BRAI:
        """Learn from a table (pandas, polars, pyarrow, numpy), a file name or a Dataset; y is ignored."""
        self._check()
        seed = seed_sequence(self.random_state)
        deadline, growing = self._deadline(), self._deadline(TREE_SHARE)
        data = self._taken(X)
        with self._workers(data, seed) as workers:
            found = None
            if isinstance(data, Incomplete):
                found = self._completed(data, seed, workers, growing)
                data = found.data.select(data.names)
                scores = self._family_scores(found.data.tables[-1])
            else:
                data, scores = self._start(data)

            def one(learner: Learner, prefix: str) -> Fit:
                with tree_progress(self.verbose) as progress:
                    own = replace(workers, prefix=prefix)
                    tree = grow_with(own, learner, scores, int(self.s), seed, progress)
                return Fit(best_route(tree), tree.n_truncated, tree)

            chosen = self._chosen(scores, one, growing if self.polish else deadline)
            tree, best = chosen.found.more, chosen.found.draw
            self.polish_trace_ = [("tree", best.log_score)]
            self.joint_parents_: Screen | None = None
            if self.polish and not isinstance(self.ci_test, Oracle):
                with status(self.verbose, "searching on from the tree"):
                    after = self._searched(scores, tree, workers, deadline, seed)
                    scores, others = self._rescored(scores, after, deadline) if found is None else (scores, False)
                    if others:
                        tree, again = tree.rescored(scores), replace(workers, prefix="again-")
                        after = self._searched(scores, tree, again, deadline, seed)
                best, self.polish_trace_ = Draw(after.families, after.log_score), list(after.trace)
            if found is not None:
                best = best_over_tables(self, found, [best.families], seed)
        self._finish(data, chosen, best)
        self.tree_: GGT = tree
        self._seed = seed
        self._known_chains: Draws | None = None if found is None else found.draws
        self._rounds = 0 if found is None else found.rounds
        if found is not None:
            warn_of_chains(found.draws)
        self._known_model_posterior = None
        self._known_bags: Draws | None = None
        return self

    def _completed(
        self, data: Incomplete, seed: np.random.SeedSequence, workers: Workers, deadline: float
    ) -> Augmented:
        """Completed tables and DAGs; the tree is then grown on one of the tables."""
        self._check_limits()
        return completed(self, data, seed, replace(workers, prefix="missing-"), deadline)

    def _searched(
        self, scores: FamilyScores, tree: GGT, workers: Workers, deadline: float, seed: np.random.SeedSequence
    ) -> Polished:
        """Search for a better graph than those of the tree."""
        table = FamilyTable(
            scores, max_parents=self._most_parents(scores.data), **self._bounds(scores.data.names)._asdict()
        )
        _, _, self.joint_parents_, self._joint = deepen(table, workers=workers, deadline=halfway(deadline))
        return polish(table, tree, deadline=deadline, seed=branch(seed, 0), workers=workers)

    def _rescored(self, scores: FamilyScores, found: Polished, deadline: float) -> tuple[FamilyScores, bool]:
        """The scores with the ess that suits the best graph, and whether these are others than before."""
        before = Settled(self.ess_, self.structure_prior_, tuple(self.hyperparameters_))
        if self.ess != "auto" or scores.score != scores.kind.scores[0] or time.monotonic() > deadline:
            return scores, False
        names = scores.data.names
        most = limits(self._most_parents(scores.data), [found.families], len(names)).tolist()
        best = Draw(found.families, found.log_score)
        after = reconsidered(scores, best, before, self._bounds(names), most)
        if after is before:
            return scores, False
        self._take(after)
        return self._family_scores(scores.data), True

    @contextmanager
    def _workers(self, data: Any, seed: np.random.SeedSequence) -> Iterator[Workers]:
        with Checkpoint.of(self, data, seed) as store:
            yield Workers(self.n_jobs, store)

    def _check(self) -> None:
        self._check_count("s", least=1)
        for name, choices in (("draw", ("exact", "paper")), ("posterior_from", ("bagged", "mcmc", "tree"))):
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} is {getattr(self, name)!r}: choose {' or '.join(map(repr, choices))}")
        self._check_count("n_chains", least=1)
        self._check_count("max_parents", least=1, none="the usual limit for the kind of data")
        self._check_count("n_draws", "thin", least=1, none="a number that suits the data")
        steps = self.n_chains * (self.n_draws or 1000) * (self.thin or 100)
        if steps > MAX_STEPS:
            raise ValueError(
                f"n_chains × n_draws × thin is {steps:.3g}: chains of more than {MAX_STEPS:.0e} steps take days, "
                "so lower one of them"
            )
        if self.budget is not None and not (isinstance(self.budget, Real) and self.budget > 0):
            raise ValueError(f"budget is {self.budget!r}: give a number of seconds, or None for no limit")

    def _deadline(self, share: float = 1.0) -> float:
        return math.inf if self.budget is None else time.monotonic() + share * self.budget

    @interruptible
    def chains(self) -> Draws:
        """DAGs drawn by MCMC over all DAGs, made once, with `r_hat()`, `ess()`, `disagreement()`; see
        brai.posterior.mcmc.

        Nodes are sorted by name. A ConvergenceWarning is given if the chains have not converged.
        """
        check_is_fitted(self)
        if self._known_chains is None:
            deadline = self._deadline()
            foresee(self._train, self, chains=True)
            with self._workers(self._train, self._seed) as workers:
                with status(self.verbose, "listing parent sets"):
                    table = table_of_chains(self, workers, deadline)
                self._known_chains = draw_chains(self, table, workers, deadline)
            warn_of_chains(self._known_chains)
        return self._known_chains

    @interruptible
    def bags(self) -> Draws:
        """DAGs drawn by chains on random halves of the rows, made once; a chain for each half.

        See brai.posterior.bagged. Log scores are those on the samples. Nodes are sorted by name.
        """
        check_is_fitted(self)
        if self._known_bags is None:
            deadline = self._deadline()
            with self._workers(self._train, self._seed) as workers:
                self._known_bags = draw_bags(self, workers, deadline)
        return self._known_bags

    def posterior(
        self,
        k: int | None = None,
        *,
        draws: int | None = None,
        temperature: float | None = None,
        prior: Prior | None = None,
        random_state: Any = 0,
    ) -> Posterior:
        """Graphs with their probabilities, as ``posterior_from`` says: draws of `chains`, or graphs of the tree.

        With ``k`` they are the k best distinct CPDAGs of the tree, weighed by their scores (the paper's; 100 by
        default); with ``draws`` this number of draws of the tree at a temperature (1), weighted by frequency.
        ``prior`` is uniform on "dags", or on "classes", the default for draws of the tree: it draws CPDAGs by
        their scores whatever their sizes, and "dags" multiplies by these.

        With knowledge the graphs are DAGs, those drawn by chains or those of the CPDAGs that obey (a sample
        where a CPDAG has many of them, see brai.obeying), and chains have a uniform prior on DAGs only.
        """
        check_is_fitted(self)
        if draws is not None and k is not None:
            raise ValueError(f"k is {k} and draws is {draws}: give one, graphs of the tree are its best or draws")
        if draws is None and temperature is not None:
            raise ValueError("temperature is that of draws: give their number too, draws=500")
        if draws is not None:
            check_count("draws", draws, 1)
            drawn = self.sample(draws, 1.0 if temperature is None else temperature, random_state)
            return self._weighed(lambda own: Posterior.from_draws(drawn, own, source="tree"), prior or "classes")
        if k is None and self.posterior_from != "tree":
            return self._of_draws(prior, bagged=self.posterior_from == "bagged")
        best = self.k_best(100 if k is None else k)
        return self._weighed(lambda own: Posterior.from_scores(best, own, "tree"), prior or "dags")

    def model_posterior(self) -> Posterior:
        """The posterior of the model: draws of `chains` on the data only, as with posterior_from="mcmc"."""
        if self._known_model_posterior is None:
            self._known_model_posterior = self._of_draws(None, bagged=False)
        return self._known_model_posterior

    def _predicting(self) -> Posterior:
        return self.model_posterior() if self.posterior_from == "bagged" else self._posterior()

    def _of_draws(self, prior: Prior | None, *, bagged: bool) -> Posterior:
        """The posterior over what chains draw; with ``bagged`` also what they draw on halves of the rows."""
        chains, names = self.chains(), sorted(self.dag_.names)
        drawn: Iterable[tuple[PDAG, float]] = chains.draws()
        source: Source = "mcmc"
        scores = self._family_scores(self._train.select(names))
        if bagged:
            drawn, source = combined(chains, self.bags(), scores, names), "bagged"
        if isinstance(self._train, Incomplete):  # scores of draws are those on different completed tables
            drawn = with_scores(drawn, scores)
        if self._obeyed is not None:
            drawn = ((dag.reorder(self.dag_.names), score) for dag, score in drawn)
            return posterior_of_dags(drawn, prior, chains, source)
        return Posterior.from_draws(drawn, prior or "dags", "dags", source, chains).reordered(self.dag_.names)
