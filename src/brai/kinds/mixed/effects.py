"""Coefficients of edges between measurements and ordered columns when the graph is uncertain."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from brai.data.mixed import Mixed
from brai.graphs.pdag import Family
from brai.kinds import kind_of
from brai.kinds.gaussian.bge import Prior, regression
from brai.kinds.gaussian.effects import Coefficients
from brai.kinds.mixed.local_models import number_of


def coefficients(data: Mixed, weights: Mapping[Family, float], ess: float | str) -> Coefficients:
    """Mean and standard deviation of the standardised coefficient of each edge, given that it exists.

    NaN for edges of categories, which have no single coefficient.
    """
    d, starts = data.n_variables, data.coding.starts
    prior = Prior.of(len(data.design), number_of(ess))
    matrix = prior.matrix(kind_of(data).sample(data).moments.scatter)
    mass, first, second = np.zeros((3, d, d))
    single = [data.kinds[v] != "discrete" and starts[v + 1] - starts[v] == 1 for v in range(d)]
    for (x, parents), weight in weights.items():
        if not single[x] or not any(single[p] for p in parents):
            continue
        columns = data.coding.columns_of(parents)
        found = regression(matrix, prior, data.n_rows, int(starts[x]), columns)
        variance = np.diag(found.covariance)
        for p in parents:
            if single[p]:
                at = columns.index(starts[p])
                mass[p, x] += weight
                first[p, x] += weight * found.mean[at]
                second[p, x] += weight * (found.mean[at] ** 2 + variance[at])
    with np.errstate(invalid="ignore"):
        mean = first / mass
        return Coefficients(mean, np.sqrt(np.maximum(second / mass - mean**2, 0.0)))
