"""Missing cells: data augmentation against enumeration, completions of each kind, results of learners."""

import itertools
import math
import time

import numpy as np
import pytest

import brai
from all_dags import all_dags
from brai import BRAI, MMHC, RAI, Bootstrap, Dataset, Exact, HillClimbing, Knowledge, OrderSearch, load_network
from brai.data.columns import DataError
from brai.data.incomplete import Incomplete
from brai.graphs.knowledge import Bounds
from brai.graphs.priors import StructurePrior, family_prior
from brai.kinds import kind_of
from brai.kinds.scores import FamilyScores
from brai.learners.completed import _share
from brai.posterior.augmentation import Model, Plan, augment, missing_information
from brai.search.complete_families import Gains, climb
from brai.search.family_table import FamilyTable
from brai.search.fixed_table import FixedTable

pytestmark = [  # short chains
    pytest.mark.filterwarnings("ignore::brai.learners.drawing.ConvergenceWarning"),
]


ASIA = load_network("asia").sample(800, random_state=4)


def with_holes(table, share, seed):
    """The columns of a table with cells missing completely at random."""
    rng = np.random.default_rng([seed, 991])  # not the stream that the table was sampled with
    gone = rng.random((table.n_variables, table.n_rows)) < share
    return {
        name: [None if g else value for g, value in zip(own, column, strict=True)]
        for own, (name, column) in zip(gone, table.to_dict().items(), strict=True)
    }


# --- intake ---


def test_a_table_with_holes_keeps_its_values_and_says_where_cells_are_missing():
    X = {"a": ["x", None, "y", "x"], "b": [1.5, 2.5, None, 3.25], "c": [1, 2, 2, 2]}
    data = Dataset.of(X)
    assert isinstance(data, Incomplete)
    assert data.to_dict() == X
    assert data.missing.tolist() == [[False, True, False, False], [False, False, True, False], [False] * 4]
    assert repr(data) == "Incomplete(4 rows, 3 variables, 2 of 12 cells missing)"
    assert data.table.kind == "mixed"
    assert data.select(["b"]).to_dict() == {"b": X["b"]}
    assert data.rows(np.array([3, 1])).to_dict()["a"] == ["x", None]


def test_complete_tables_are_as_before():
    table = load_network("asia").sample(50, random_state=0)
    assert isinstance(Dataset.of(table.to_dict()), Dataset)
    assert Dataset.of(table.to_dict()).signature() == Dataset.of(table.to_dict(), missing="error").signature()


def test_frames_and_files_agree(tmp_path):
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    X = {"a": ["x", None, "y", "x", "y"], "b": [1.5, 2.5, None, 3.25, 9.75], "c": [1, None, 2, 2, 1]}
    frame = pd.DataFrame({name: pd.Series(own, dtype=object) for name, own in X.items()})
    path = tmp_path / "x.csv"
    frame.to_csv(path, index=False)
    tables = [Dataset.of(own) for own in (X, frame, pl.DataFrame(X), pa.table(X))]
    tables.append(Dataset.from_file(path))
    assert len({own.signature() for own in tables}) == 1


def test_the_order_of_columns_does_not_change_the_random_values():
    X = with_holes(load_network("asia").sample(60, random_state=1), 0.2, 0)
    back = dict(reversed(X.items()))
    assert Dataset.of(X).select(sorted(X)).signature() == Dataset.of(back).select(sorted(X)).signature()


def test_empty_columns_are_left_out_with_a_note_and_empty_rows_stay():
    with pytest.warns(UserWarning, match="'b' holds no value: left out"):
        data = Dataset.of({"a": [1, 0, 1, None], "b": [None] * 4, "c": [0, 1, None, 1]})
    assert data.names == ("a", "c")
    assert Dataset.of({"a": [1, 0, None, 1, None], "c": [0, 1, None, 1, 1]}).n_rows == 5
    with pytest.raises(DataError, match="all cells are missing"):
        Dataset.of({"a": [None, None]})


def test_declared_states_that_are_missing_stay():
    data = Dataset.of({"a": ["x", None, "x"], "b": [0, 1, 0]}, states={"a": ["x", "y"]})
    assert data.table.states[0] == ("x", "y")


# --- completions ---


def discrete(seed, n=30):
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.8, a, 1 - a)
    c = rng.integers(0, 3, n)
    e = np.where(rng.random(n) < 0.85, b & (c > 0), rng.integers(0, 2, n))
    codes = np.stack([a, b, c, e]).astype(np.uint8)
    data = Dataset.from_codes(codes.T, names=list("abcd"), arities=[2, 2, 3, 2])
    missing = np.zeros(codes.shape, bool)
    missing.flat[rng.choice(codes.size, 8, replace=False)] = True
    return Incomplete(data, missing)


def by_enumeration(data, ess, prior):
    """P(edge) summed over all DAGs and all completions."""
    d, graphs = data.n_variables, all_dags(data.n_variables)
    others = [[u for u in range(d) if u != v] for v in range(d)]
    families = [(v, own) for v in range(d) for k in range(d) for own in itertools.combinations(others[v], k)]
    place = {family: i for i, family in enumerate(families)}
    at = np.array([[place[v, tuple(np.flatnonzero(g[:, v]).tolist())] for v in range(d)] for g in graphs])
    spaces = [range(data.table.arities[v]) for v in range(d) for _ in data.holes[v]]
    ends = np.cumsum([len(own) for own in data.holes])[:-1]
    logs = []
    for values in itertools.product(*spaces):
        cells = tuple(np.split(np.array(values, np.uint8), ends))
        scores = np.array(FamilyScores(data.completed(cells), "bdeu", ess, prior=prior).families(families))
        logs.append(scores[at].sum(axis=1))
    total = np.logaddexp.reduce(logs, axis=0)
    weights = np.exp(total - total.max())
    return np.tensordot(weights / weights.sum(), graphs.astype(float), 1)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "ess", "strength"), [(0, 1.0, 0.0), (1, 3.0, 1.0), (2, 1.0, 0.5)])
def test_edges_are_those_of_the_sum_over_dags_and_completions(seed, ess, strength):
    data = discrete(seed)
    prior = family_prior(StructurePrior(strength), data.names, None)
    exact = by_enumeration(data, ess, prior)
    model = Model(data, "bdeu", ess, prior, ess)
    table = FamilyTable(model.scores(data.table), max_parents=3, slack=30.0)
    start = tuple((v, ()) for v in range(4))
    found = augment(
        model, table, start, Plan(20, 800, 5, 60),
        n_chains=4, max_parents=np.full(4, 3), seed=np.random.SeedSequence(seed),
    )  # fmt: skip
    off = ~np.eye(4, dtype=bool)
    assert np.abs(found.draws.edge_frequencies().mean(axis=0) - exact)[off].mean() < 0.01


def test_a_fixed_table_has_the_scores_of_a_family_table():
    data = load_network("asia").sample(200, random_state=2)
    table = FamilyTable(FamilyScores(data), max_parents=3, slack=10.0)
    other = FamilyScores(load_network("asia").sample(200, random_state=3))
    fast, slow = FixedTable.of(table).scored(other).arrays(), table.with_scores(other).arrays()
    for one, two in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, two)


def drawn_cells(kind, data, families, n, sweeps=3):
    """Many draws of the missing cells given one draw of the parameters."""
    rng = np.random.default_rng(5)
    parameters = kind.drawn_parameters(data.table, families, 1.0, rng)
    table, found = data.table, []
    for _ in range(n):
        table = kind.refilled(table, data.missing, parameters, sweeps, rng)
        found.append(data.cells(table))
    return parameters, found


def test_discrete_cells_have_their_conditional_distribution():
    data = discrete(3)
    row = int(np.flatnonzero(data.missing.sum(axis=0) == 1)[0])
    v = int(np.flatnonzero(data.missing[:, row])[0])
    families = ((0, ()), (1, (0,)), (2, ()), (3, (1, 2)))
    kind = kind_of(data.table)
    parameters, found = drawn_cells(kind, data, families, 4000, 1)
    at = data.holes[v].tolist().index(row)
    shares = np.bincount([cells[v][at] for cells in found], minlength=data.table.arities[v]) / len(found)
    codes = data.table.codes[:, row].astype(np.int64)[:, None]
    logs = np.zeros(data.table.arities[v])
    for state in range(len(logs)):
        codes[v] = state
        for x in range(4):
            table = parameters.tables[x]
            logs[state] += table.logs[table.at(table.configurations(codes)), codes[x]][0]
    exact = np.exp(logs - logs.max())
    np.testing.assert_allclose(shares, exact / exact.sum(), atol=0.04)


def test_cells_that_determine_each_other_change_together():
    a = np.array([0, 1] * 50 + [0, 0], np.uint8)
    data = Dataset.from_codes(np.stack([a, a]).T, names=["a", "b"], arities=[2, 2])
    missing = np.zeros((2, 102), bool)
    missing[:, -1] = True
    _, found = drawn_cells(kind_of(data), Incomplete(data, missing), ((0, ()), (1, (0,))), 200, 1)
    ones = np.mean([cells[0][0] for cells in found])
    assert 0.3 < ones < 0.7  # Gibbs sampling alone would stay where it is for thousands of steps


def test_normal_cells_have_their_conditional_distribution():
    rng = np.random.default_rng(0)
    a = rng.normal(size=400)
    b = 2 * a + rng.normal(size=400)
    data = Dataset.of({"a": a + 10, "b": b * 3})
    missing = np.zeros((2, 400), bool)
    missing[0, 0] = True
    incomplete = Incomplete(data, missing)
    parameters, found = drawn_cells(kind_of(data), incomplete, ((0, ()), (1, (0,))), 4000, 1)
    precision, z = parameters.precision, (data.values[:, 0] - parameters.centre) / parameters.spread
    mean = parameters.mean[0] - precision[0, 1] / precision[0, 0] * (z[1] - parameters.mean[1])
    values = np.array([cells[0][0] for cells in found])
    assert abs(values.mean() - (mean * parameters.spread[0] + parameters.centre[0])) < 0.05
    assert abs(values.std() - parameters.spread[0] / np.sqrt(precision[0, 0])) < 0.05


@pytest.mark.slow
def test_mixed_cells_follow_their_neighbours():
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, 600)
    weight = 60 + 12 * group + rng.normal(0, 3, 600)
    ill = np.where(rng.random(600) < 1 / (1 + np.exp(-(weight - 66) / 2)), "yes", "no")
    X = {"group": [("f", "m")[g] for g in group], "weight": weight.tolist(), "ill": ill.tolist()}
    truth = {name: list(own) for name, own in X.items()}
    for row in range(100):
        X[("group", "weight", "ill")[row % 3]][row] = None
    model = BRAI(random_state=0, n_draws=25).fit(X)
    cells = {(cell.row, cell.column): cell for cell in model.impute(n=60).cells}
    assert len(cells) == 100
    right = [cell.value == truth[column][row] for (row, column), cell in cells.items() if column == "group"]
    assert np.mean(right) > 0.85
    off = [cell.value - truth[column][row] for (row, column), cell in cells.items() if column == "weight"]
    assert np.std(off) < 4.5
    inside = [
        cell.low <= truth[column][row] <= cell.high for (row, column), cell in cells.items() if column == "weight"
    ]
    assert np.mean(inside) > 0.8


# --- the first graph ---


def test_the_first_graph_is_scored_on_the_rows_that_are_there():
    data = Dataset.of(with_holes(ASIA, 0.1, 1))
    gains = Gains(data, "bdeu", 1.0, family_prior(StructurePrior(1.0), data.names, None))
    found = {frozenset((v, p)) for v, own in climb(gains, Bounds.free(8), 4) for p in own}
    names = data.names
    assert frozenset((names.index("smoke"), names.index("bronc"))) in found
    rows = np.flatnonzero(~data.missing[[2, 4]].any(axis=0))
    whole = FamilyScores(data.table.select(["smoke", "bronc"]).rows(rows)).families([(1, (0,)), (1, ())])
    assert gains(4, (2,)) == pytest.approx(whole[0] - whole[1] - np.log(7))


def test_a_share_of_no_limit_is_no_limit():
    assert _share(math.inf, 0.25) == math.inf
    assert _share(time.monotonic() + 100, 0.25) == pytest.approx(time.monotonic() + 25, abs=5)


# --- learners ---


@pytest.fixture(scope="module")
def fitted():
    return BRAI(random_state=0, n_draws=150).fit(with_holes(ASIA, 0.1, 1))


def test_probabilities_are_near_those_of_the_complete_table(fitted):
    whole = BRAI(random_state=0, ess=fitted.ess_, structure_prior=fitted.structure_prior_.plain()).fit(ASIA)
    apart = np.abs(fitted.adjacency_probabilities() - whole.adjacency_probabilities())
    assert apart.mean() < 0.08


def test_the_same_seed_gives_the_same_result_in_any_order_with_any_workers(fitted):
    X = with_holes(ASIA, 0.1, 1)
    again = BRAI(random_state=0, n_draws=150, n_jobs=2).fit(dict(reversed(X.items())))
    rank = [again.dag_.names.index(name) for name in fitted.dag_.names]
    np.testing.assert_array_equal(again.edge_probabilities()[np.ix_(rank, rank)], fitted.edge_probabilities())


def test_a_saved_model_gives_the_same_answers(fitted, tmp_path):
    fitted.edge_probabilities()
    brai.save(fitted, tmp_path / "model.brai")
    again = brai.load(tmp_path / "model.brai")
    np.testing.assert_array_equal(again.edge_probabilities(), fitted.edge_probabilities())
    np.testing.assert_array_equal(again.score_samples(ASIA), fitted.score_samples(ASIA))
    np.testing.assert_array_equal(again.missing_information(), fitted.missing_information())
    assert again.impute(n=5).rows() == fitted.impute(n=5).rows()
    assert again._train.to_dict() == with_holes(ASIA, 0.1, 1)


def test_answers(fitted):
    assert fitted.score(ASIA) < 0
    assert fitted.network().pdag == fitted.dag_
    effect = fitted.causal_effect("smoke", "bronc", values={"yes": 1})
    assert effect.effect_parameter_sd > 0
    information = fitted.missing_information()
    assert (information >= 0).all()
    assert information.max() > 0.01
    assert information.max() <= 1


def test_rows_with_holes_have_the_probability_of_what_is_there(fitted):
    rows = with_holes(ASIA.rows(np.arange(200)), 0.3, 9)
    found = fitted.score_samples(rows)
    alone = fitted.score_samples({**rows, "dysp": [None] * 200})
    assert (found <= alone + 0.3).mean() > 0.97
    network = fitted.network()
    one = {name: [None] for name in ASIA.names} | {"smoke": ["yes"]}
    p = dict(zip(ASIA.states[ASIA.names.index("smoke")], network.marginal("smoke"), strict=True))["yes"]
    assert abs(np.exp(fitted.score_samples(one))[0] - p) < 0.08


def test_cells_of_other_rows_are_imputed(fitted):
    found = fitted.impute({"asia": ["no"], "tub": ["no"], "smoke": ["yes"], "lung": ["yes"], "bronc": ["no"],
                           "either": [None], "xray": ["yes"], "dysp": ["yes"]})  # fmt: skip
    (cell,) = found.cells
    assert (cell.column, cell.value) == ("either", "yes")
    assert cell.probability > 0.9
    assert "row 1, either: yes (probability" in repr(found)
    assert found.table()["either"] == ["yes"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    [HillClimbing(structure_prior="fair"), OrderSearch(structure_prior="fair"), MMHC(), RAI(),
     Exact(structure_prior="fair", max_parents=3), Bootstrap(HillClimbing(), 10, random_state=0)],
    ids=lambda own: type(own).__name__,
)  # fmt: skip
def test_every_learner(learner, tmp_path):
    model = learner.fit(with_holes(ASIA, 0.1, 1))
    strong = model.adjacency_probability("smoke", "bronc")
    assert strong > 0.5
    assert np.isfinite(model.log_score_)
    assert np.isfinite(model.score(ASIA))
    if not isinstance(learner, Bootstrap):
        brai.save(model, tmp_path / "m.brai")
        again = brai.load(tmp_path / "m.brai")
        np.testing.assert_array_equal(again.adjacency_probabilities(), model.adjacency_probabilities())


def test_knowledge_is_obeyed():
    known = Knowledge(forbidden=[("smoke", "bronc")], required=[("asia", "tub")])
    model = BRAI(random_state=0, n_draws=25, knowledge=known).fit(with_holes(ASIA, 0.1, 1))
    edges = model.edge_probabilities()
    names = model.dag_.names
    assert edges[names.index("asia"), names.index("tub")] == 1
    assert edges[names.index("smoke"), names.index("bronc")] == 0


def test_a_run_that_was_interrupted_continues(tmp_path):
    X = with_holes(ASIA, 0.1, 1)
    one = BRAI(random_state=0, n_draws=25, checkpoint=tmp_path / "a").fit(X)
    parts = sorted((tmp_path / "a").glob("*augment*"))
    assert parts
    for part in parts[len(parts) // 2 :]:
        part.unlink()
    again = BRAI(random_state=0, n_draws=25, checkpoint=tmp_path / "a").fit(X)
    np.testing.assert_array_equal(one.edge_probabilities(), again.edge_probabilities())


def test_measurements_with_holes():
    rng = np.random.default_rng(2)
    a = rng.normal(size=300)
    b = a + 0.5 * rng.normal(size=300)
    c = rng.normal(size=300)
    X = {"a": a, "b": b, "c": c}
    gone = np.random.default_rng(77).random((3, 300)) < 0.15
    X = {name: np.where(g, np.nan, own) for g, (name, own) in zip(gone, X.items(), strict=True)}
    model = BRAI(random_state=0, n_draws=100).fit(X)
    assert model.adjacency_probability("a", "b") > 0.99
    assert model.adjacency_probability("a", "c") < 0.6
    coefficient = model.edge_coefficients()
    assert np.nanmax(np.abs(coefficient.mean)) == pytest.approx(np.corrcoef(a, b)[0, 1], abs=0.08)
    effects = model.total_effects(200)
    assert effects.mean.shape == (3, 3)
    off = np.array([cell.value - {"a": a, "b": b, "c": c}[cell.column][cell.row] for cell in model.impute().cells
                    if cell.column in "ab"])  # fmt: skip
    assert off.std() < 0.75


def test_the_share_of_missing_information_is_zero_where_nothing_is_missing():
    draws = BRAI(random_state=0, n_draws=40).fit(ASIA).chains()
    assert missing_information(draws, 8).mean() < 0.1
    assert BRAI(random_state=0).fit(ASIA).missing_information().max() == 0


# --- hard cases ---


@pytest.mark.parametrize("share", [0.6, 0.95])
def test_few_values_left(share):
    X = with_holes(ASIA.rows(np.arange(150)), share, 3)
    model = BRAI(random_state=0, n_draws=25).fit(X)
    assert np.isfinite(model.edge_probabilities()).all()


def test_one_value_seen_and_missing_required_parents():
    X = {"a": ["x", None, "x", None] * 20, "b": [0, 1, 1, None] * 20, "c": [None, 1, 0, 1] * 20}
    known = Knowledge(required=[("b", "c")])
    model = BRAI(random_state=0, n_draws=25, knowledge=known).fit(X)
    assert model.edge_probability("b", "c") == 1
    assert model.adjacency_probabilities()[0].max() == 0


def test_a_learner_that_takes_no_holes_says_so():
    with pytest.raises(DataError, match=r"DPMCMC takes no missing cells, and \d+ of 6400 are: use BRAI or Exact"):
        brai.DPMCMC(n=10).fit(with_holes(ASIA, 0.1, 1))


def test_unknown_states_in_rows_with_holes_are_an_error(fitted):
    rows = with_holes(ASIA.rows(np.arange(5)), 0.3, 9)
    rows["smoke"] = ["often", None, "yes", "no", "no"]
    with pytest.raises(DataError, match="'often'"):
        fitted.score_samples(rows)
