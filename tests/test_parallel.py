"""Workers change no result: threads, processes, whole nodes, parts of nodes, sub-trees."""

from __future__ import annotations

import gc
import mmap
import os
import threading
import warnings

import joblib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib.externals.loky import reusable_executor

from brai import BRAI, Bootstrap, HillClimbing, load_network
from brai.data.dataset import Dataset
from brai.files.arrays import tree_to
from brai.graphs.knowledge import Knowledge
from brai.kinds.scores import FamilyScores
from brai.learners.drawing import ConvergenceWarning
from brai.learners.rai import BudgetWarning
from brai.runtime.workers import Benches, Workers, as_they_come
from brai.tree import parallel_growth
from brai.tree.ggt import grow
from brai.tree.independence import CITest, Oracle
from brai.tree.parallel_growth import grow_with
from brai.tree.rai import Learner
from conftest import random_data

ASIA = load_network("asia").sample(400, random_state=0)
FEW = {"n_chains": 2, "n_draws": 20, "thin": 10, "random_state": 3}


@pytest.fixture(autouse=True)
def no_idle_processes():
    """Each test has processes of its own: joblib keeps idle ones a while, and they may end as a task comes."""
    yield
    if (pool := reusable_executor._executor) is not None:
        pool.shutdown(wait=True, kill_workers=True)


def with_many_states() -> Dataset:
    """One column has more than 256 states, so codes are uint16."""
    codes = np.column_stack([ASIA.codes.T.astype(int), np.arange(400) % 300])
    return Dataset.from_codes(codes, names=[*ASIA.names, "many"])


CASES = {
    "plain": ({}, ASIA),
    "knowledge": ({"knowledge": {"required": [("asia", "tub")], "forbidden": [("smoke", "lung")]}}, ASIA),
    "max_tests": ({"max_tests": 150}, ASIA),
    "max_order": ({"max_order": 0}, ASIA),
    "oracle": ({"ci_test": Oracle(load_network("asia").pdag), "posterior_from": "tree"}, ASIA),
    "bayes-factor": ({"ci_test": "bayes-factor"}, ASIA),
    "uint16": ({"s": 2}, with_many_states()),
}


def outcome(model):
    """All that a fit and its chains gave, as arrays."""
    found = {**tree_to(model.tree_), "tests": model.n_ci_tests_, "score": model.log_score_}
    found |= {"steps": [step for step, _ in model.polish_trace_], "trace": [own for _, own in model.polish_trace_]}
    draws = model.chains()
    found |= {"parents": draws.parents, "log_scores": draws.log_scores, "dag": model.dag_.adjacency}
    return {name: np.asarray(value) for name, value in found.items()}


def same(a, b):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def learnt(case="plain", data=None, **more):
    arguments, own = CASES[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BudgetWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = BRAI(**{**FEW, **arguments, **more}).fit(own if data is None else data)
        return model, outcome(model)


@pytest.fixture(scope="module")
def alone():
    return {case: learnt(case)[1] for case in CASES}


def test_limits_of_the_cases_bind(alone):
    """Or the cases would say nothing."""
    assert CASES["uint16"][1].codes.dtype == np.uint16
    assert (alone["max_tests"]["tree.flags"] & 2).any()
    assert len(alone["max_order"]["tests"]) < len(alone["plain"]["tests"])
    assert len({own["tree.variable"].tobytes() for own in alone.values()}) == len(CASES)


@pytest.mark.parametrize(("large", "enough"), [(1, 1000), (1, 4), (10**9, 1)])
@pytest.mark.parametrize("case", CASES)
def test_threads_change_nothing(case, large, enough, alone, monkeypatch):
    monkeypatch.setattr(parallel_growth, "LARGE", large)
    monkeypatch.setattr(parallel_growth, "ENOUGH", enough)
    same(learnt(case, n_jobs=3 if enough == 4 else 2)[1], alone[case])


@pytest.mark.parametrize(
    "case", ["plain", "knowledge", "max_tests", "oracle", pytest.param("uint16", marks=pytest.mark.slow)]
)
def test_processes_change_nothing(case, alone, monkeypatch):
    monkeypatch.setattr(parallel_growth, "LARGE", 1 if case != "knowledge" else 10**9)
    monkeypatch.setattr(parallel_growth, "ENOUGH", 4)
    with joblib.parallel_config(backend="loky"):
        same(learnt(case, n_jobs=2)[1], alone[case])


def test_the_order_of_columns_changes_nothing(alone, monkeypatch):
    monkeypatch.setattr(parallel_growth, "LARGE", 1)
    turned = ASIA.select(list(ASIA.names)[::-1])
    model, found = learnt(data=turned, n_jobs=2)
    assert model.dag_.names == turned.names
    found["dag"] = model.dag_.reorder(ASIA.names).adjacency
    same(found, alone["plain"])


def test_parts_are_made_where_a_node_is_large(monkeypatch):
    """Or tests of parts would test nothing."""
    made = []
    for name in ("some_tests", "some_heads", "one_node", "subtree"):
        monkeypatch.setattr(parallel_growth, name, watched(getattr(parallel_growth, name), made))
    monkeypatch.setattr(parallel_growth, "LARGE", 1)
    monkeypatch.setattr(parallel_growth, "ENOUGH", 4)
    learnt(n_jobs=2, polish=False)
    assert {"some_tests", "some_heads", "one_node"} <= set(made)
    made.clear()
    monkeypatch.setattr(parallel_growth, "LARGE", 10**9)
    learnt(n_jobs=2, polish=False)
    assert set(made) == {"one_node", "subtree"}


def watched(function, made):
    def call(*arguments):
        made.append(function.__name__)
        return function(*arguments)

    return call


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(2, 7))
    data = random_data(rng, d, draw(st.integers(20, 200)), density=draw(st.sampled_from([0.3, 0.6, 1.0])))
    pairs = draw(st.lists(st.permutations(range(d)).map(lambda own: tuple(own[:2])), max_size=3))
    forbidden = [(data.names[a], data.names[b]) for a, b in pairs]
    tests = draw(st.sampled_from([None, 5, 60, 10**6]))
    order = draw(st.sampled_from([None, 0, 1]))
    name = draw(st.sampled_from(["cmi-c1", "cmi", "g2", "bayes-factor"]))
    return data, name, Knowledge(forbidden=forbidden), order, tests, draw(st.integers(1, 3))


@given(problem=problems(), enough=st.sampled_from([1, 3, 1000]), large=st.sampled_from([1, 1, 10**9]))
@settings(max_examples=40)
def test_the_tree_of_workers_is_that_of_the_recursion(problem, enough, large):
    data, name, known, order, tests, s = problem
    test, bounds, seed = CITest.of(name, bootstrap=True), known.bound(data.names), np.random.SeedSequence(5)

    def learner():
        return Learner(data, test, max_order=order, max_tests=tests, bounds=bounds)

    scores = FamilyScores(data, "bdeu", 1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel_growth, "LARGE", large)
        patch.setattr(parallel_growth, "ENOUGH", enough)
        one, many = learner(), learner()
        wanted, found = grow(one, scores, s, seed), grow_with(Workers(2), many, scores, s, seed)
    same(tree_to(found), tree_to(wanted))
    assert (found.names, found.s) == (wanted.names, wanted.s)
    assert many.tally.exhausted == one.tally.exhausted
    assert not many.tally.late


def test_progress_ends_at_one():
    shares = []
    scores = FamilyScores(ASIA, "bdeu", 1.0)
    learner = Learner(ASIA, CITest.of("auto", bootstrap=True))
    seed = np.random.SeedSequence(1)
    grow_with(Workers(2), learner, scores, 3, seed, lambda share, tests: shares.append(share))
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


# ---------------------------------------------------------------- Bootstrap


def members(model):
    return [(cpdag.adjacency.tobytes(), score) for cpdag, score in model.members_], model.n_ci_tests_.tolist()


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_bootstraps_of_many_workers_are_those_of_one(backend):
    wanted = Bootstrap(HillClimbing(), n=8, random_state=1).fit(ASIA)
    with joblib.parallel_config(backend=backend):
        found = Bootstrap(HillClimbing(), n=8, n_jobs=2, random_state=1).fit(ASIA)
    assert members(found) == members(wanted)
    assert found.dag_ == wanted.dag_
    assert len({cpdag for cpdag, _ in wanted.members_}) > 1


def test_workers_inside_workers():
    """Two problems at a time share the benches."""
    inner = {**FEW, "polish": False, "s": 2}
    wanted = Bootstrap(BRAI(**inner), n=4, random_state=1).fit(ASIA)
    found = Bootstrap(BRAI(**inner, n_jobs=2), n=4, n_jobs=2, random_state=1).fit(ASIA)
    assert members(found) == members(wanted)


# ---------------------------------------------------------------- the door


def doubled(shared, x):
    return shared[0] + 2 * x


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_are_in_the_order_of_tasks(backend, n_jobs):
    advanced = []
    with joblib.parallel_config(backend=backend):
        found = Workers(n_jobs).run(
            doubled, ((x,) for x in range(20)), shared=([100],), advance=lambda: advanced.append(1)
        )
    assert found == [100 + 2 * x for x in range(20)]
    assert len(advanced) == 20
    assert Workers(n_jobs).run(doubled, [], shared=([1],)) == []


def how_it_came(data, x):
    base = data.codes
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    return os.getpid(), isinstance(base, mmap.mmap), int(data.codes.sum())


def test_processes_map_data_and_do_not_copy_them():
    codes = np.random.default_rng(0).integers(0, 3, (600_000, 4))
    data = Dataset.from_codes(codes)
    assert data.codes.nbytes > 2**20  # joblib copies what is smaller
    with joblib.parallel_config(backend="loky"):
        found = [own for _, own in as_they_come(how_it_came, [(x,) for x in range(4)], 2, shared=(data,))]
    assert {(mapped, total) for _, mapped, total in found} == {(True, int(data.codes.sum()))}
    assert os.getpid() not in {pid for pid, _, _ in found}


def test_results_that_nobody_wants_are_given_up_quietly():
    started, wait = threading.Semaphore(0), threading.Event()

    def task(x):
        started.release()
        assert x == 0 or wait.wait(60)

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        results = as_they_come(task, [(x,) for x in range(20)], 2)
        next(results)
        for _ in range(2):
            assert started.acquire(timeout=60)
        results.close()
        gc.collect()
        wait.set()
    assert said == []


def fails(x):
    raise OSError(f"task {x}")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_a_task_comes_out(n_jobs):
    with pytest.raises(OSError, match=r"task \d"):
        Workers(n_jobs).run(fails, [(x,) for x in range(4)])


def test_benches_are_used_again_and_cleared_for_another_problem():
    benches, made = Benches(), []

    def make():
        made.append(object())
        return made[-1]

    with benches.one("a", make) as first, benches.one("a", make) as second:
        assert first is not second
    with benches.one("a", make) as again:
        assert again in (first, second)
    with benches.one("b", make) as other:
        assert other not in (first, second)
    with benches.one("a", make) as anew:
        assert anew not in (first, second, other)
    assert len(made) == 4


class Disturbing(str):
    """A key whose comparison lets another thread in."""

    __hash__ = str.__hash__
    calm = False

    def __ne__(self, other):
        if not self.calm:
            self.calm = True
            with BENCHES.one("of another thread", list):
                pass
        return str.__ne__(self, other)


BENCHES = Benches()


def test_benches_for_two_problems_at_a_time():
    for key in (Disturbing("a"), "b"):
        with BENCHES.one(key, list) as bench:
            assert bench == []


def test_a_backend_that_cannot_be_used_is_named():
    with joblib.parallel_config(backend="multiprocessing"), pytest.raises(ValueError, match="choose 'loky'"):
        Bootstrap(HillClimbing(), n=4, n_jobs=2, random_state=1).fit(ASIA)
