"""BGe: the log marginal likelihood of normal data, and what follows from its posterior.

For d variables in all, N rows, and a set Y of l of them (Kuipers, Moffa & Heckerman 2014, with T = t I):

    log p(D_Y) = (l / 2) log(α_mu / (N + α_mu)) - (l N / 2) log π
                 + Σ_{i<l} [lgamma((N + α_w - d + l - i) / 2) - lgamma((α_w - d + l - i) / 2)]
                 + ((α_w - d + l) / 2) l log t - ((N + α_w - d + l) / 2) log det R_YY

    R = T + S + N α_mu / (N + α_mu) (x̄ - ν)(x̄ - ν)ᵀ

S is the scatter matrix about the mean x̄. The score of x with the parents Z is log p(D_XZ) - log p(D_Z), a
difference of a function of sets. So all DAGs of an equivalence class have the same score.

**The prior here.** Data are standardised first, since t I is not free of scale; ν is then 0. α_mu = 1,
α_w = d + 1 + ess, and t = α_mu (α_w - d - 1) / (α_mu + 1) = ess / 2. With ess = 1 these are the defaults of BiDAG
and sumu. ess is the weight of the prior in rows, as in BDeu.

**Prediction.** Given the data, a row of the variables Y has a multivariate t distribution with
df = N + α_w - d + 1 degrees of freedom, location μ = N x̄ / (N + α_mu) and scale matrix
R_YY (N + α_mu + 1) / ((N + α_mu) df). Given its parents, x has the ratio of two such densities.

**Coefficients.** The regression of x on its l parents Z has b ~ t with df = N + α_w - d + l + 1 degrees of
freedom, location R_ZZ⁻¹ R_Zx and scale matrix (R_xx - R_xZ R_ZZ⁻¹ R_Zx) / df · R_ZZ⁻¹.

References: Geiger & Heckerman 2002, "Parameter priors for directed acyclic graphical models and the
characterization of several probability distributions", Annals of Statistics 30. Kuipers, Moffa & Heckerman 2014,
"Addendum on the scoring of Gaussian directed acyclic graphical models", Annals of Statistics 42. Viinikka,
Hyttinen, Pensar & Koivisto 2020, "Towards scalable Bayesian learning of causal DAGs", NeurIPS.
"""

from __future__ import annotations

import math
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Floats: TypeAlias = NDArray[np.float64]

ALPHA_MU = 1.0


class Prior(NamedTuple):
    """The normal-Wishart prior over d standardised variables; ν is 0 and T is t times the unit matrix."""

    d: int
    alpha_w: float
    t: float
    alpha_mu: float = ALPHA_MU

    @classmethod
    def of(cls, d: int, ess: float) -> Prior:
        """The prior with the weight of ``ess`` rows."""
        return cls(d, d + 1 + ess, ALPHA_MU * ess / (ALPHA_MU + 1))

    def weight(self, n_rows: int, size: int) -> float:
        """(N + α_w - d + l) / 2, the factor of log det R_YY of a set of l variables."""
        return (n_rows + self.alpha_w - self.d + size) / 2

    def matrix(self, scatter: Floats) -> Floats:
        """R of standardised data, whose mean is ν = 0."""
        return np.asarray(scatter + self.t * np.eye(self.d))


def constants(prior: Prior, n_rows: int, most: int) -> Floats:
    """The score of a family without determinants, by number of parents from 0 to ``most``.

    The terms of lgamma of two sets that differ by one variable are the same but for one.
    """
    size = np.arange(1, most + 2)  # l, the size of the family
    free = prior.alpha_w - prior.d + size
    return np.asarray(
        math.log(prior.alpha_mu / (n_rows + prior.alpha_mu)) / 2
        - n_rows / 2 * math.log(math.pi)
        + gammaln((n_rows + free) / 2)
        - gammaln(free / 2)
        + (free * size - (free - 1) * (size - 1)) / 2 * math.log(prior.t)
    )


def log_marginal(values: Floats, variables: list[int], prior: Prior) -> float:
    """log p(D_Y) of rows × columns that are standardised, by the formula above; for tests and checks."""
    n, size = len(values), len(variables)
    mean = values.mean(axis=0)
    shift = n * prior.alpha_mu / (n + prior.alpha_mu) * np.outer(mean, mean)
    matrix = prior.matrix((values - mean).T @ (values - mean)) + shift
    own = matrix[np.ix_(variables, variables)]
    return float(constants(prior, n, size)[:size].sum() - prior.weight(n, size) * np.linalg.slogdet(own)[1])


class Regression(NamedTuple):
    """The posterior of the regression of a variable on its parents, in standardised units."""

    mean: Floats  # of the coefficients
    covariance: Floats
    variance: float  # posterior mean of the residual variance
    df: float


def regression(matrix: Floats, prior: Prior, n_rows: int, x: int, parents: list[int]) -> Regression:
    """Posterior moments of coefficients and residual variance, from R; see the docstring of the module."""
    df = n_rows + prior.alpha_w - prior.d + len(parents) + 1
    own, cross = matrix[np.ix_(parents, parents)], matrix[parents, x]
    inverse = np.linalg.inv(own) if parents else np.zeros((0, 0))
    mean = inverse @ cross
    left = max(float(matrix[x, x] - cross @ mean), 1e-300)
    spread = left / max(df - 2, 1e-9)
    return Regression(mean, np.asarray(spread * inverse, np.float64), spread, df)
