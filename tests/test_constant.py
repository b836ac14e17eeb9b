"""Columns of one value: data say nothing of their edges, so they have none, and cost nothing."""

from __future__ import annotations

import numpy as np

from brai import BRAI, Dataset, load_network
from brai.kinds.scores import FamilyScores
from brai.search.family_table import FamilyTable


def test_a_constant_column_has_no_edges_and_changes_no_other():
    data = load_network("cancer").sample(300, random_state=1)
    codes = np.column_stack([data.codes.T, np.zeros(300, int)])
    more = Dataset.from_codes(codes, names=[*data.names, "same"], states=[*data.states, ("x",)])
    one, two = (BRAI(random_state=0, n_draws=50).fit(table) for table in (data, more))
    assert one.log_score_ == two.log_score_
    edges = two.edge_probabilities()
    assert not edges[-1].any()
    assert not edges[:, -1].any()


def test_a_required_edge_of_a_constant_column_stays():
    data = Dataset.from_codes(np.column_stack([np.zeros(20, int), np.arange(20) % 2]), names=["same", "other"])
    model = BRAI(random_state=0, n_draws=50, knowledge={"required": [("same", "other")]}).fit(data)
    assert model.edge_probability("same", "other") == 1.0


def test_many_constant_columns_have_one_set_each():
    data = Dataset.from_codes(np.zeros((1, 400), int))
    assert len(FamilyTable(FamilyScores(data), slack=10.0)) == 400


def test_where_nothing_varies_nothing_is_searched_for(monkeypatch):
    """3000 such columns took minutes, for probabilities that are all zero."""

    def never(*_):
        raise AssertionError("there is one DAG")

    for name in ("brai.search.orders.kick_often", "brai.kernels.mcmc_moves.run"):
        monkeypatch.setattr(name, never)
    model = BRAI(random_state=0).fit(Dataset.from_codes(np.zeros((5, 50), int)))
    assert not model.edge_probabilities().any()
    assert model.chains().r_hat() == 1.0
