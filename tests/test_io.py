"""Files of models: what is loaded answers as what was saved, and no other file does any harm."""

import io
import json
import os
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

import brai
from brai import (
    BRAI,
    MMHC,
    PDAG,
    RAI,
    Bootstrap,
    CITest,
    Dataset,
    Exact,
    HillClimbing,
    Oracle,
    OrderSearch,
    Posterior,
)
from brai import io as model_io
from brai.files.arrays import Stored, tree_from
from brai.files.models import FormatError
from brai.graphs.priors import StructurePrior
from brai.runtime import archive as archive
from brai.search.hyperparameters import Settled
from brai.tree.ggt import GGT, BootstrapNode, Leaf
from conftest import random_dag, random_data


def quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # short chains do not come together
        return call()


@pytest.fixture(scope="module")
def data():
    made = random_data(np.random.default_rng(5), 7, 400)
    labels = [tuple(f"s{c}" for c in range(len(own))) if v % 2 else own for v, own in enumerate(made.states)]
    order = [3, 0, 6, 1, 5, 2, 4]  # columns are not sorted by name
    names = tuple(made.names[i] for i in order)
    return Dataset(made.codes[order], names, tuple(labels[i] for i in order))


@pytest.fixture(scope="module")
def model(data):
    return BRAI(s=3, n_chains=2, n_draws=30, thin=20, random_state=4).fit(data)


@pytest.fixture(scope="module")
def files(data, model, tmp_path_factory):
    """The bytes of a file of each kind."""
    folder = tmp_path_factory.mktemp("models")
    small = data.select(data.names[:4])
    objects = {
        "BRAI": quiet(lambda: (model.chains(), model)[1]),
        "RAI": RAI().fit(data),
        "HillClimbing": HillClimbing(restarts=1).fit(data),
        "OrderSearch": OrderSearch(restarts=2).fit(data),
        "MMHC": MMHC().fit(data),
        "Bootstrap": Bootstrap(HillClimbing(), 5, random_state=1).fit(small),
        "Exact": Exact().fit(small),
        "tree": model.tree_,
        "posterior": model.posterior(k=20),
    }
    objects["Exact"].edge_probabilities()
    for kind, obj in objects.items():
        brai.save(obj, folder / f"{kind}.brai")
    return {kind: (folder / f"{kind}.brai").read_bytes() for kind in objects}


KINDS = ["BRAI", "RAI", "HillClimbing", "OrderSearch", "MMHC", "Bootstrap", "Exact", "tree", "posterior"]


def loaded(content, tmp_path):
    path = tmp_path / "file.brai"
    path.write_bytes(content)
    return brai.load(path)


def through_file(obj, tmp_path):
    brai.save(obj, tmp_path / "one.brai")
    return brai.load(tmp_path / "one.brai")


def saved_bytes(obj, tmp_path):
    brai.save(obj, tmp_path / "again.brai")
    return (tmp_path / "again.brai").read_bytes()


def unpacked(content):
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def packed(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def with_meta(content, **changes):
    members = unpacked(content)
    meta = json.loads(members["meta.json"]) | changes
    return packed(members | {"meta.json": json.dumps({k: v for k, v in meta.items() if v is not ...}).encode()})


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def with_array(content, name, array):
    return packed(unpacked(content) | {f"{name}.npy": npy(np.ascontiguousarray(array))})


def array_of(content, name):
    return np.load(io.BytesIO(unpacked(content)[f"{name}.npy"]), allow_pickle=False)


# ---------------------------------------------------------------- what is loaded is what was saved


def assert_same_fit(a, b, data):
    assert type(a) is type(b)
    assert (a.dag_, a.cpdag_, a.log_score_) == (b.dag_, b.cpdag_, b.log_score_)
    assert (a.n_features_in_, a.feature_names_in_.tolist()) == (b.n_features_in_, b.feature_names_in_.tolist())
    assert (a._train.names, a._train.states, a._train.codes.dtype) == (
        b._train.names,
        b._train.states,
        b._train.codes.dtype,
    )
    np.testing.assert_array_equal(a._train.codes, b._train.codes)
    np.testing.assert_array_equal(a.edge_probabilities(), b.edge_probabilities())
    np.testing.assert_array_equal(a.score_samples(data), b.score_samples(data))
    np.testing.assert_array_equal(a.score_samples(data, average=False), b.score_samples(data, average=False))
    assert a.posterior().cpdags == b.posterior().cpdags
    np.testing.assert_array_equal(a.posterior().probabilities, b.posterior().probabilities)
    for name in (
        "n_ci_tests_",
        "n_repaired_",
        "n_truncated_",
        "n_moves_",
        "n_scored_",
        "n_sets_",
        "n_reached_",
        "skeleton_",
    ):
        assert hasattr(a, name) == hasattr(b, name)
        if hasattr(a, name):
            np.testing.assert_array_equal(
                getattr(a, name), getattr(b, name), strict=isinstance(getattr(a, name), np.ndarray)
            )
    for name, value in a.get_params(deep=False).items():
        assert str(b.get_params(deep=False)[name]) == str(value)


def test_a_loaded_model_gives_the_same_answers(model, data, tmp_path):
    model = quiet(lambda: BRAI(s=3, n_chains=2, n_draws=30, thin=20, random_state=4).fit(data))
    again = through_file(model, tmp_path)
    assert again._known_chains is None  # neither has chains yet; those made now are equal
    chains, others = quiet(model.chains), quiet(again.chains)
    np.testing.assert_array_equal(chains.parents, others.parents)
    np.testing.assert_array_equal(chains.log_scores, others.log_scores)
    assert (chains.names, chains.proposed, chains.changed) == (others.names, others.proposed, others.changed)
    assert_same_fit(model, again, data)
    for method in ("exact", "paper"):
        model.draw = again.draw = method
        assert model.sample(50, 5.0, random_state=1) == again.sample(50, 5.0, random_state=1)
    assert model.k_best(30) == again.k_best(30)
    assert model.distribution(2.0) == again.distribution(2.0)
    assert model.polish_trace_ == again.polish_trace_
    assert [*map(str, model.edge_table())] == [*map(str, again.edge_table())]
    assert model.log_predictive(data) == again.log_predictive(data)
    assert model.n_distinct() == again.n_distinct()


def test_chains_are_saved_and_not_drawn_again(model, data, tmp_path, monkeypatch):
    chains = quiet(model.chains)
    again = through_file(model, tmp_path)
    monkeypatch.setattr("brai.learners.drawing.sample_dags", lambda *_, **__: pytest.fail("chains drawn again"))
    other = again.chains()
    assert other.parents.dtype == chains.parents.dtype
    np.testing.assert_array_equal(other.parents, chains.parents)
    np.testing.assert_array_equal(other.log_scores, chains.log_scores)
    assert (other.names, other.acceptance) == (chains.names, chains.acceptance)
    assert_same_fit(model, again, data)


def test_nothing_is_learned_when_a_model_is_loaded(files, tmp_path, monkeypatch):
    for learner in (BRAI, RAI, HillClimbing, OrderSearch, MMHC, Bootstrap, Exact):
        monkeypatch.setattr(learner, "fit", lambda *_: pytest.fail("fitted again"))
        monkeypatch.setattr(learner, "_scores", lambda *_: pytest.fail("scored again"))
    for kind in KINDS:
        loaded(files[kind], tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_saving_again_gives_the_same_bytes(files, kind, tmp_path):
    obj = loaded(files[kind], tmp_path)
    assert saved_bytes(obj, tmp_path) == files[kind]
    assert type(obj).__name__ == {"tree": "GGT", "posterior": "Posterior"}.get(kind, kind)


@pytest.mark.parametrize(
    "learner",
    [
        RAI("g2", max_order=2),
        RAI(CITest("cmi", threshold=0.02, colliders=None)),
        HillClimbing(ties="columns", allowed=np.tri(7, dtype=bool), max_parents=2),
        HillClimbing(tabu=0, start=PDAG.from_edges([f"v{i:02d}" for i in range(7)], [("v01", "v02")])),
        OrderSearch(restarts=3, kicks=2),
        MMHC(0.01),
        Bootstrap(MMHC(ess=2.0), 6, random_state=np.random.SeedSequence(3, spawn_key=(1, 2))),
        Exact(50, family_score="bic"),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_every_learner(learner, data, tmp_path):
    learner.fit(data)
    again = through_file(learner, tmp_path)
    assert_same_fit(learner, again, data)
    if isinstance(learner, Bootstrap):
        assert again.members_ == learner.members_
        assert again.ess == 2.0
        assert isinstance(again.random_state, np.random.SeedSequence)
        np.testing.assert_array_equal(
            again.posterior("score").probabilities, learner.posterior("score").probabilities
        )


@pytest.mark.parametrize(
    "random_state",
    [
        None,
        7,
        np.int64(7),
        np.random.SeedSequence([1, 2**70], spawn_key=(3,)),
        np.random.default_rng(1),
        np.random.RandomState(1),
    ],
    ids=lambda state: type(state).__name__,
)
def test_the_seed_is_kept_however_it_was_given(random_state, data, tmp_path):
    model = BRAI(s=2, n_chains=2, n_draws=10, thin=10, random_state=random_state).fit(data)
    again = through_file(model, tmp_path)
    assert (again._seed.entropy, again._seed.spawn_key) == (model._seed.entropy, model._seed.spawn_key)
    np.testing.assert_array_equal(quiet(model.chains).parents, quiet(again.chains).parents)
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        assert again.random_state is None


def test_a_model_learned_from_an_oracle(data, tmp_path):
    dag = PDAG(data.names, random_dag(np.random.default_rng(0), 7, 0.4))
    model = BRAI(s=2, ci_test=Oracle(dag), posterior_from="tree", random_state=0).fit(data)
    again = through_file(model, tmp_path)
    assert again.ci_test == model.ci_test
    assert_same_fit(model, again, data)


def test_labels_of_all_types(tmp_path):
    codes = np.arange(12).reshape(1, 12) % 3
    labels = (("\ud800 é", "", "1"), (1, 2.5, -(10**30)), (True, False, float("inf")), (1.0, "x", "nan"))
    data = Dataset(np.repeat(codes, 4, axis=0), ("a b", "é", "\"'", "a\nb"), labels)
    again = through_file(HillClimbing(allowed=np.zeros((4, 4))).fit(data), tmp_path)._train
    assert (again.names, again.states) == (data.names, data.states)
    assert [list(map(type, own)) for own in again.states] == [list(map(type, own)) for own in data.states]


def test_many_states(tmp_path):
    data = Dataset.from_codes(np.arange(600).reshape(300, 2), arities=[700, 600])
    model = HillClimbing()
    model._take(Settled(1.0, StructurePrior()))
    model._keep(data, ((0, ()), (1, ())), -1.0)  # fitting would compile for 16-bit codes
    model.n_moves_ = model.n_scored_ = 0
    again = through_file(model, tmp_path)
    assert again._train.codes.dtype == np.uint16
    np.testing.assert_array_equal(again._train.codes, data.codes)


def test_one_variable(tmp_path):
    data = Dataset.from_codes([[0], [1], [1]])
    model = BRAI(s=2, n_chains=2, n_draws=8, random_state=0).fit(data)
    quiet(model.chains)
    assert_same_fit(model, through_file(model, tmp_path), data)


@settings(max_examples=30)
@given(
    st.integers(0, 2**32), st.integers(2, 9), st.integers(1, 4), st.sampled_from(["cmi-c1", "cmi", "bayes-factor"])
)
def test_trees_of_random_data(tmp_path_factory, seed, d, s, test):
    rng = np.random.default_rng(seed)
    data = random_data(rng, d, 60)
    tree = BRAI(s=s, ci_test=test, polish=False, max_tests=int(rng.integers(5, 2000)), random_state=seed)
    tree = quiet(lambda: tree.fit(data)).tree_
    folder = tmp_path_factory.mktemp("tree")
    again = through_file(tree, folder)
    for name in ("names", "s", "n_nodes", "n_leaves", "n_repaired", "n_truncated", "depth", "n_routes"):
        assert getattr(again, name) == getattr(tree, name)
    np.testing.assert_array_equal(again.n_ci_tests, tree.n_ci_tests)
    leaves = [
        [(leaf.families, leaf.log_score, leaf.repaired, leaf.truncated) for leaf in t.leaves]
        for t in (tree, again)
    ]
    assert leaves[0] == leaves[1]
    assert again.memo == {}


@settings(max_examples=30)
@given(
    st.integers(0, 2**32),
    st.integers(1, 7),
    st.integers(1, 20),
    st.sampled_from(["dags", "classes"]),
    st.booleans(),
)
def test_posteriors_of_random_graphs(tmp_path_factory, seed, d, n, prior, drawn):
    rng = np.random.default_rng(seed)
    names = tuple(rng.permutation([f"v{i}" for i in range(d)]).tolist())
    graphs = {PDAG(names, random_dag(rng, d, rng.random())).to_cpdag() for _ in range(n)}
    scored = [(graph, float(score)) for graph, score in zip(graphs, rng.normal(0, 300, n), strict=False)]
    posterior = (
        Posterior.from_draws([g for g, _ in scored], prior) if drawn else Posterior.from_scores(scored, prior)
    )
    again = through_file(posterior, tmp_path_factory.mktemp("posterior"))
    assert (again.cpdags, again.prior, again.names) == (posterior.cpdags, posterior.prior, posterior.names)
    np.testing.assert_array_equal(again.probabilities, posterior.probabilities)
    np.testing.assert_array_equal(again.log_scores, posterior.log_scores)
    assert not again.probabilities.flags.writeable


def test_an_older_file_without_a_newer_setting(files, tmp_path):
    settings = json.loads(unpacked(files["BRAI"])["meta.json"])["settings"]
    del settings["thin"]
    assert loaded(with_meta(files["BRAI"], settings=settings), tmp_path).thin is None


# ---------------------------------------------------------------- what cannot be saved


def test_refused_when_saving(tmp_path, data):
    path = tmp_path / "no.brai"
    with pytest.raises(NotFittedError):
        brai.save(BRAI(), path)
    with pytest.raises(TypeError, match="a Dataset cannot be saved, only BRAI"):
        brai.save(data, path)

    class Mine(HillClimbing):
        pass

    with pytest.raises(TypeError, match="a Mine cannot be saved"):
        brai.save(Mine().fit(data), path)
    odd = HillClimbing().fit(data)
    odd.tabu = {1}
    with pytest.raises(TypeError, match=r"tabu of HillClimbing cannot be saved: it is \{1\}, of type set"):
        brai.save(odd, path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        brai.save(RAI().fit(data), tmp_path / "none" / "no.brai")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("step", ["write", "fsync", "replace"])
def test_a_failure_leaves_the_old_file(step, files, tmp_path, monkeypatch):
    path = tmp_path / "model.brai"
    path.write_bytes(files["RAI"])
    obj = brai.load(path)
    obj.log_score_ = -1.0

    def fail(*_, **__):
        raise OSError("disk full")

    if step == "write":
        monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    elif step == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        brai.save(obj, path)
    assert path.read_bytes() == files["RAI"]
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    brai.save(obj, path)
    assert brai.load(path).log_score_ == -1.0
    assert list(tmp_path.iterdir()) == [path]


# ---------------------------------------------------------------- files that are refused


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        brai.load(tmp_path / "none.brai")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a brai model"),
        (b"a,b\n0,1\n", "not a brai model"),
        (b"\x80\x04\x95", "not a brai model"),  # a pickle
        (b"PK\x03\x04", "damaged or truncated"),
        (packed({"word/document.xml": b"<x/>"}), "without 'meta.json'"),
        (packed({"meta.json": b"{"}), "not JSON"),
        (packed({"meta.json": b"[" * 100_000}), "not JSON"),
        (packed({"meta.json": b"[1]"}), r"its format is \[1\]"),
        (packed({"meta.json": b'{"format": "other"}'}), "its format is 'other'"),
        (packed({"meta.json": b'{"format": "brai-model"}'}), "its version is None"),
        (packed({"meta.json": b'{"format": "brai-model", "version": true}'}), "its version is True"),
        (
            packed({"meta.json": b'{"format": "brai-model", "version": 2, "brai": "9.9", "kind": "new"}'}),
            r"newer brai \(9.9, format version 2.*pip install -U brai",
        ),
        (packed({"meta.json": b'{"format": "brai-model", "version": 1, "kind": "tree"}'}), "arrays is None"),
        (
            packed({"meta.json": b'{"format": "brai-model", "version": 1, "kind": "cake", "arrays": []}'}),
            "a 'cake'",
        ),
        (packed({"meta.json": b'{"format": "brai-model", "version": 1, "kind": [1], "arrays": []}'}), "holds a"),
        (
            packed({"meta.json": b'{"format": "brai-model", "version": 1, "kind": "tree", "arrays": []}'}),
            "'names' is missing",
        ),
    ],
)
def test_foreign_files(content, message, tmp_path):
    with pytest.raises(FormatError, match=message) as error:
        loaded(content, tmp_path)
    assert str(error.value).startswith(f"cannot load '{tmp_path / 'file.brai'}': it")
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("kind", KINDS)
def test_a_newer_file_is_named_as_such_whatever_it_holds(kind, files, tmp_path):
    with pytest.raises(FormatError, match="written by a newer brai"):
        loaded(with_meta(files[kind], version=2, settings=...), tmp_path)


def test_another_kind_than_asked_for(files, tmp_path):
    path = tmp_path / "tree.brai"
    path.write_bytes(files["tree"])
    assert type(brai.load(path, "tree")).__name__ == "GGT"
    with pytest.raises(FormatError, match="it holds a tree, not a BRAI"):
        brai.load(path, "BRAI")
    with pytest.raises(ValueError, match="kind is 'GGT': choose one of BRAI"):
        brai.load(path, "GGT")


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_is_needed_and_no_other(kind, files, tmp_path):
    members = unpacked(files[kind])
    about = json.loads(members["meta.json"])
    assert [f"{name}.npy" for name in about["arrays"]] == [name for name in members if name != "meta.json"]
    for name in about["arrays"]:
        without = packed({k: v for k, v in members.items() if k != f"{name}.npy"})
        with pytest.raises(FormatError, match=f"'{name}.npy' is missing"):
            loaded(without, tmp_path)
        if name != "edges":  # it may be there or not
            with pytest.raises(FormatError, match=r"is missing|does not belong to it"):
                loaded(with_meta(without, arrays=[own for own in about["arrays"] if own != name]), tmp_path)
    for more in ("evil.py", "more.npy"):
        with pytest.raises(FormatError, match=f"'{more}' does not belong to it"):
            loaded(packed({**members, more: npy(np.arange(3))}), tmp_path)
    extra = with_array(with_meta(files[kind], arrays=[*about["arrays"], "more"]), "more", np.arange(3))
    with pytest.raises(FormatError, match="'more' does not belong to it"):
        loaded(extra, tmp_path)
    for key in set(about) - {
        "brai",
        "data",
        "moves",
        "bags_moves",
        "source",
        "hyperparameters",
        "joint_parents",
    }:  # what older files do not say has a default
        with pytest.raises(FormatError):
            loaded(with_meta(files[kind], **{key: ...}), tmp_path)


def test_parts_lost_from_the_list_of_members(files, tmp_path):
    """A wrong length of a comment there hides what follows; the draws of chains come last and may be missing."""
    content = bytearray(files["BRAI"])
    at = content.rindex(b"tree.n_ci_tests.npy") - 46 + 32
    content[at : at + 2] = (content.rindex(b"PK\x05\x06") - at - 14 - len("tree.n_ci_tests.npy")).to_bytes(
        2, "little"
    )
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        assert file.namelist()[-1] == "tree.n_ci_tests.npy"
    with pytest.raises(FormatError, match=r"'(bags|chains).*' is missing"):
        loaded(bytes(content), tmp_path)


def test_a_part_that_is_there_twice(files, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        buffer = io.BytesIO(files["tree"])
        with zipfile.ZipFile(buffer, "a") as file:
            file.writestr("tree.order.npy", npy(np.zeros(1, np.int32)))
    with pytest.raises(FormatError, match="twice"):
        loaded(buffer.getvalue(), tmp_path)


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('code was run')",)


def test_arrays_that_are_not_plain(files, tmp_path):
    pickled = io.BytesIO()
    np.save(pickled, np.array([Bomb()], dtype=object), allow_pickle=True)
    good = unpacked(files["tree"])["tree.order.npy"]
    for raw in (
        b"",
        good[:9],
        good[:-1],
        good + b"\0",
        good.replace(b"NUMPY\x01", b"NUMPY\x02"),
        good.replace(b"<i4", b">i4"),
        good.replace(b"'shape': (", b"'shape': [", 1),
        good.replace(b"False", b"True ", 1),
        good.replace(b"{'descr': '<i4'", b"{'descr': '<i4 "),
        pickled.getvalue(),
        npy(np.zeros(3, "U5")),
        npy(np.zeros(3, complex)),
        npy(np.float64(1)),
        npy(np.zeros((2, 2), np.int32, order="F")[:, :1].T),
    ):
        with pytest.raises(FormatError, match=r"tree.order"):
            loaded(packed(unpacked(files["tree"]) | {"tree.order.npy": raw}), tmp_path)


def test_a_shape_beyond_all_memory(files, tmp_path):
    header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (999999999999999,), }".ljust(117) + b"\n"
    raw = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    with pytest.raises(FormatError, match="has the shape"):
        loaded(packed(unpacked(files["tree"]) | {"tree.order.npy": raw}), tmp_path)


def test_a_bomb_is_not_unpacked(files, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_BYTES", 10**6)
    content = with_array(files["tree"], "tree.order", np.zeros(10**6, np.int32))
    assert len(content) < 20_000
    with pytest.raises(FormatError, match="would unpack to 4000128 bytes"):
        loaded(content, tmp_path)
    at = content.rindex(b"tree.order.npy") - 46 + 24  # the size, as the list of members has it
    lie = content[:at] + (128).to_bytes(4, "little") + content[at + 4 :]
    with pytest.raises(FormatError):
        loaded(lie, tmp_path)


def test_graphs_beyond_all_memory(files, tmp_path):
    names = [f"n{i}" for i in range(20_000)]
    empty = {"cpdags.arcs": np.zeros((0, 2), np.int32), "cpdags.first": np.zeros(1001, np.int64)}
    content = with_meta(files["posterior"], names=names)
    for name, array in empty.items():
        content = with_array(content, name, array)
    with pytest.raises(MemoryError, match=r"1000 graphs of 20000 variables needs about .* larger machine"):
        loaded(content, tmp_path)


def test_memory_is_looked_at_before_it_is_taken(files, tmp_path, monkeypatch):
    content = with_array(files["tree"], "tree.order", np.zeros(10**6, np.int32))
    monkeypatch.setattr("brai.runtime.memory.available", lambda: 10**7)
    taken = []
    monkeypatch.setattr(archive, "_bytes", lambda *_: taken.append(1))
    with pytest.raises(MemoryError, match=r"'file.brai', .*unpacks to 40\d{5} bytes, needs about 0.012 GB"):
        loaded(content, tmp_path)
    assert not taken
    monkeypatch.undo()
    monkeypatch.setattr("brai.runtime.memory.available", lambda: 10**6)
    with pytest.raises(MemoryError, match="reading a tree of"):
        tree_from(Stored({"tree.order": np.zeros(10**5, np.int32)}), ("a",), 1)


@pytest.mark.parametrize("name", ["checkpoint", "n_jobs", "verbose"])
def test_where_and_how_to_run_is_not_told_by_a_file(name, files, data, tmp_path):
    """Or whoever asks a stranger's model would write into a folder of the stranger's choice."""
    told = {"checkpoint": str(tmp_path / "theirs"), "n_jobs": 1000, "verbose": True}
    settings = json.loads(unpacked(files["BRAI"])["meta.json"])["settings"]
    assert name not in settings
    model = loaded(with_meta(files["BRAI"], settings={**settings, name: told[name]}), tmp_path)
    assert getattr(model, name) == getattr(BRAI(), name)
    model._known_chains = None
    quiet(model.chains)
    assert not (tmp_path / "theirs").exists()


@pytest.mark.parametrize("settings", [{"thin": 10**15}, {"thin": 2**63}, {"n_draws": 10**12}, {"s": 2**80}])
def test_numbers_of_a_file_have_limits(settings, files, tmp_path):
    own = json.loads(unpacked(files["BRAI"])["meta.json"])["settings"]
    with pytest.raises(FormatError, match=r"thin is|lower one of them|up to"):
        loaded(with_meta(files["BRAI"], settings={**own, **settings}), tmp_path)


def ring(parents):
    """Every node the parent of the next one, in all draws."""
    changed = np.full_like(parents, -1)
    changed[..., 0] = np.arange(-1, 6) % 7
    return changed


# what is wrong in one array of an otherwise good file
WRONG = [
    ("BRAI", "codes", lambda a: a.astype(np.int32), "codes' is int32"),
    ("BRAI", "codes", lambda a: a[:3], "codes' is uint8 of shape"),
    ("BRAI", "codes", lambda a: a + 9, "outside 0"),
    ("BRAI", "codes", lambda a: a[:, :0], "no rows"),
    ("BRAI", "dag.arcs", lambda a: a + 7, "dag.arcs' holds numbers from"),
    ("BRAI", "dag.arcs", lambda a: -1 - a, "dag.arcs' holds numbers from"),
    ("BRAI", "dag.arcs", lambda a: np.concatenate([a[1:], a[1:2, ::-1]]), "cycle"),
    ("BRAI", "dag.arcs", lambda a: a[1:], "dag.first' does not rise"),
    ("BRAI", "dag.first", lambda a: a[:1], "dag.first"),
    ("BRAI", "dag.first", lambda a: a.repeat(2), "unpack"),
    ("BRAI", "n_ci_tests", lambda a: -a - 1, "n_ci_tests' holds"),
    ("BRAI", "chains.parents", lambda a: a[:, :, :, 0], "chains.parents"),
    ("BRAI", "chains.parents", lambda a: a[:0], "no draws"),
    ("BRAI", "chains.parents", lambda a: a + 7, "chains.parents"),
    ("BRAI", "chains.parents", lambda a: np.full_like(a, 2), "not a DAG"),
    ("BRAI", "chains.parents", lambda a: ring(a), "not a DAG"),
    ("BRAI", "chains.log_scores", lambda a: a[:, 1:], "chains.log_scores"),
    ("BRAI", "chains.log_scores", lambda a: a * np.nan, "not finite"),
    ("BRAI", "chains.moves", lambda a: a[:, 1:], "chains.moves"),
    ("tree", "tree.order", lambda a: a + 99, "tree.order"),
    ("tree", "tree.order", lambda a: np.where(a < 0, a, 1), "invalid children"),
    ("tree", "tree.order", lambda a: np.append(a, a[:1]), "tree."),
    ("tree", "tree.log_score", lambda a: a * np.inf, "not finite"),
    ("tree", "tree.log_score", lambda a: a[1:], "tree.log_score"),
    ("tree", "tree.flags", lambda a: a + 4, "tree.flags"),
    ("tree", "tree.children", lambda a: a * 0, "tree|group|node"),
    ("tree", "tree.children", lambda a: a[::-1].copy(), "tree"),
    ("tree", "tree.children", lambda a: a + 1, "tree.children|invalid"),
    ("tree", "tree.children.first", lambda a: a[::-1].copy(), "does not rise"),
    ("tree", "tree.groups", lambda a: a * 0, "does not rise"),
    ("tree", "tree.families", lambda a: a[:-1], "tree.families"),
    ("tree", "tree.variable", lambda a: a * 0, "has no families, or a repeated one|disjoint sets of variables"),
    ("tree", "tree.variable", lambda a: (a + 1) % 7, "tree"),
    ("tree", "tree.parents", lambda a: a + 7, "tree.parents"),
    ("tree", "tree.parents.first", lambda a: a + 1, "does not rise"),
    ("tree", "tree.n_ci_tests", lambda a: a.astype(float), "n_ci_tests"),
    ("posterior", "probabilities", lambda a: a[::-1].copy(), "not in decreasing order"),
    ("posterior", "probabilities", lambda a: a * 2, "sum to 1"),
    ("posterior", "probabilities", lambda a: a * np.nan, "not finite"),
    ("posterior", "probabilities", lambda a: np.append(a[:-1], a[-1] - 1), "sum to 1"),
    ("posterior", "log_scores", lambda a: a * np.inf, "not finite"),
    ("posterior", "cpdags.arcs", lambda a: a[:, ::-1].copy(), "CPDAGs"),
    ("posterior", "cpdags.first", lambda a: np.append(a, a[-1]), "probabilities"),
    ("Bootstrap", "members.arcs", lambda a: a[:, [0, 0]], "self loop"),
    ("Bootstrap", "members.log_scores", lambda a: a[1:], "members.log_scores"),
    ("MMHC", "skeleton", lambda a: a + 1, "skeleton"),
    ("MMHC", "skeleton", lambda a: a[1:], "skeleton"),
    ("Exact", "edges", lambda a: a[1:], "edges"),
]


@pytest.mark.parametrize(
    ("kind", "name", "change", "message"), WRONG, ids=[f"{k}-{n}-{i}" for i, (k, n, *_) in enumerate(WRONG)]
)
def test_arrays_that_do_not_fit(kind, name, change, message, files, tmp_path):
    array = array_of(files[kind], name)
    with pytest.raises(FormatError, match=message):
        loaded(with_array(files[kind], name, change(array)), tmp_path)


def leaf(*families):
    return Leaf(families, -1.0)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([[leaf((0, ()))], [leaf((1, (0,)))]], None),
        ([[leaf((0, (1,)))], [leaf((1, ()))]], "disjoint sets of variables"),  # a parent in a later group
        ([[leaf((0, (1,)))], [leaf((1, (0,)))]], "disjoint sets of variables"),
        ([[leaf((0, ())), leaf((1, ()))], [leaf((1, ()))]], "disjoint sets of variables"),
        ([[leaf((0, ()))], [leaf((0, ()))]], "disjoint sets of variables"),
        ([[leaf((0, (1,)), (1, (0,)))]], "leaf 0 of the tree form a cycle"),
        ([[leaf((0, (0,)), (1, ()))]], "leaf 0 of the tree form a cycle"),
        ([[leaf((0, ()), (1, (0, 0)))]], "or a repeated one"),
        ([[leaf((0, ()))]], "not over all 2 variables"),
        ([[leaf((0, ()))], []], "node 1 of the tree has no groups"),
        ([[], [leaf()]], "has no families"),
    ],
)
def test_trees_whose_routes_are_no_dags(groups, message, tmp_path):
    tree = GGT(BootstrapNode(0, tuple(map(tuple, groups))), ("a", "b"), 1, np.zeros(1, np.int64))
    if message is None:
        assert through_file(tree, tmp_path).n_routes == 1
    else:
        with pytest.raises(FormatError, match=message):
            through_file(tree, tmp_path)


def test_nodes_that_no_other_leads_to(tmp_path):
    root = BootstrapNode(0, ((leaf((0, ())), leaf((0, ()))),))
    content = saved_bytes(GGT(root, ("a",), 2, np.zeros(1, np.int64)), tmp_path)
    assert sorted(array_of(content, "tree.children").tolist()) == [0, 1]
    with pytest.raises(FormatError, match="nodes without a parent node"):
        loaded(with_array(content, "tree.children", np.zeros(2, np.int32)), tmp_path)


BAD_META = [
    ("tree", {"names": "abc"}, "names"),
    ("tree", {"names": []}, "names"),
    ("tree", {"names": ["a", "a"]}, "twice"),
    ("tree", {"names": [f"v{i}" for i in range(8)]}, "not over all 8 variables"),
    ("tree", {"s": 0}, "s is 0"),
    ("tree", {"s": "3"}, "s is '3'"),
    ("posterior", {"prior": "odd"}, "prior is 'odd'"),
    ("posterior", {"prior": ["dags"]}, "prior is"),
    ("BRAI", {"settings": [1]}, "is inconsistent"),
    ("BRAI", {"settings": {"s": -1}}, "s is -1"),
    ("BRAI", {"settings": {"new_setting": 1}}, "new_setting"),
    ("BRAI", {"settings": {"ess": "much"}}, "ess is 'much'"),
    ("BRAI", {"settings": {"ci_test": {"type": "os.system"}}}, "unknown type 'os.system'"),
    ("BRAI", {"settings": {"ci_test": {"type": "CITest", "name": "x"}}}, "unknown CI test"),
    ("BRAI", {"settings": {"ci_test": {}}}, "type"),
    ("BRAI", {"states": [["a"]] * 7}, "outside"),
    ("BRAI", {"states": []}, "is inconsistent"),
    ("BRAI", {"log_score": None}, "log_score is None"),
    ("BRAI", {"seed": 3}, "seed is 3"),
    ("BRAI", {"seed": {"type": "SeedSequence", "entropy": -3, "spawn_key": []}}, "is inconsistent"),
    ("BRAI", {"seed": {"type": "SeedSequence", "entropy": 1, "spawn_key": [[]]}}, "not of integers"),
    ("BRAI", {"log_score": float("nan")}, "contains NaN"),
    ("BRAI", {"polish_trace": [["tree"]]}, "is inconsistent"),
    ("RAI", {"n_repaired_": -1}, "n_repaired_ is -1"),
    (
        "Bootstrap",
        {"settings": {"estimator": {"type": "learner", "kind": "Popen", "settings": {}}}},
        "'Popen' is not one of",
    ),
]


@pytest.mark.parametrize(("kind", "change", "message"), BAD_META)
def test_descriptions_that_do_not_fit(kind, change, message, files, tmp_path):
    with pytest.raises(FormatError, match=message):
        loaded(with_meta(files[kind], **change), tmp_path)


# ---------------------------------------------------------------- damage of any kind


@settings(max_examples=300)
@given(st.sampled_from(KINDS), st.data())
def test_flipped_bytes(files, tmp_path_factory, kind, data):
    content = bytearray(files[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        # the list of members at the end is where sizes, places and names are
        at = data.draw(st.integers(0, len(content) - 1) | st.integers(len(content) - 200, len(content) - 1))
        content[at] ^= data.draw(st.integers(1, 255))
    folder = tmp_path_factory.mktemp("flip")
    try:
        obj = loaded(bytes(content), folder)
    except FormatError:
        return
    assert saved_bytes(obj, folder) == files[kind]


@settings(max_examples=150)
@given(st.sampled_from(KINDS), st.data())
def test_cut_files(files, tmp_path_factory, kind, data):
    content = files[kind]
    a, b = sorted(data.draw(st.integers(0, len(content))) for _ in range(2))
    cut = data.draw(st.sampled_from([content[:a], content[a:], content[:a] + content[b:]]))
    folder = tmp_path_factory.mktemp("cut")
    try:
        obj = loaded(cut, folder)
    except FormatError:
        assert cut != content
        return
    assert saved_bytes(obj, folder) == content


@settings(max_examples=300)
@given(st.sampled_from(KINDS), st.data())
def test_numbers_that_were_changed(files, tmp_path_factory, kind, data):
    """With a valid checksum: an error, or a tree whose routes are DAGs, a posterior that answers, and so on."""
    name = data.draw(st.sampled_from([n[:-4] for n in unpacked(files[kind]) if n.endswith(".npy")]))
    array = array_of(files[kind], name)
    if array.size == 0:
        return
    at = data.draw(st.integers(0, array.size - 1))
    if array.dtype.kind == "f":
        array.flat[at] = data.draw(st.floats())
    else:
        low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        array.flat[at] = data.draw(st.integers(-1 if low else 0, 8) | st.integers(low, high))
    folder = tmp_path_factory.mktemp("number")
    try:
        obj = loaded(with_array(files[kind], name, array), folder)
    except FormatError:
        return
    if kind in ("BRAI", "tree"):
        tree = obj if kind == "tree" else obj.tree_
        assert tree.n_routes > 0
        assert all(to_dag.is_dag() for to_dag in map(_dag_of(tree), range(5)))
    if kind == "BRAI":
        assert all(dag.is_dag() for dag, _ in obj.chains().draws())
    if kind == "posterior":
        assert np.isfinite(obj.edge_probabilities()).all()


def _dag_of(tree):
    from brai.tree.draws import sample_routes

    def dag(k):
        families = sample_routes(tree, 1, np.inf, np.random.default_rng(k))[0].families
        return PDAG.from_parents(tree.names, [own for _, own in sorted(families)])

    return dag


# ---------------------------------------------------------------- the format is what the page says


def test_the_page_names_every_array_and_key(files):
    page = (Path(__file__).parents[1] / "docs" / "file-format.md").read_text(encoding="utf-8")
    for content in files.values():
        members = unpacked(content)
        for name in members:
            assert f"`{name.removesuffix('.npy')}`" in page, name
        for key in json.loads(members["meta.json"]):
            assert f"`{key}`" in page, key
    assert f'"{archive.FORMAT}"' in page
    assert f"version {archive.VERSION}" in page


def test_public_names():
    assert brai.save is model_io.save
    assert brai.load is model_io.load


def test_knowledge_is_kept(tmp_path):
    known = brai.Knowledge(required=[("Smoker", "Cancer")], forbidden=[("Xray", "Cancer")], roots=["Pollution"])
    data = brai.load_network("cancer").sample(300, random_state=0)
    model = BRAI(s=2, n_draws=20, random_state=0, knowledge=known).fit(data)
    brai.save(model, tmp_path / "known.brai")
    again = brai.load(tmp_path / "known.brai")
    assert brai.Knowledge.of(again.knowledge) == known
    assert again.mpdag_ == model.mpdag_
    assert not known.violations(again.dag_)
    np.testing.assert_array_equal(
        again.posterior(k=5).edge_probabilities(), model.posterior(k=5).edge_probabilities()
    )
    brai.save(model.posterior(k=5), tmp_path / "posterior.brai")
    np.testing.assert_array_equal(
        brai.load(tmp_path / "posterior.brai").edge_probabilities(), model.posterior(k=5).edge_probabilities()
    )
    given = BRAI(s=2, random_state=0, knowledge={"required_edges": [("Smoker", "Cancer")]}).fit(data)
    brai.save(given, tmp_path / "given.brai")
    assert brai.load(tmp_path / "given.brai").knowledge == brai.Knowledge(required=[("Smoker", "Cancer")])


# --- what learners save is their own matter ---


def test_a_dp_mcmc_chain_is_saved(data, tmp_path):
    model = brai.DPMCMC(50, burn_in=20, thin=2).fit(data.select(data.names[:4]))
    again = through_file(model, tmp_path)
    assert np.array_equal(again.chain_.parents, model.chain_.parents)
    assert again.chain_.proposed == model.chain_.proposed
    assert np.array_equal(again.edge_probabilities(), model.edge_probabilities())
    assert again.chain_.acceptance == model.chain_.acceptance


def test_moves_are_stored_by_name(model, tmp_path):
    """A kind of move that this version does not have, or that the file lacks, harms nobody."""
    quiet(model.chains)
    brai.save(model, tmp_path / "m.brai")
    content = (tmp_path / "m.brai").read_bytes()
    meta = json.loads(unpacked(content)["meta.json"])
    assert meta["moves"] == ["gibbs", "reversal", "toggle", "pair"]
    moves = np.array([[5, 6, 7, 8, 9], [1, 1, 1, 1, 1]], np.int64)
    more = with_array(with_meta(content, moves=[*meta["moves"], "leap"]), "chains.moves", moves)
    assert loaded(more, tmp_path).chains().proposed["leap"] == 9
    fewer = with_array(with_meta(content, moves=["gibbs", "toggle"]), "chains.moves", moves[:, :2].copy())
    found = loaded(fewer, tmp_path).chains()
    assert (found.proposed["gibbs"], found.proposed["toggle"], found.proposed["pair"]) == (5, 6, 0)
    assert found.acceptance["pair"] == 0


def test_every_learner_says_what_it_saves():
    for name in model_io._MODELS:
        assert set(getattr(brai, name).saved.values()) <= set(model_io.CODECS)


@pytest.mark.parametrize("source", ["given", "tree", "mcmc", "exact", "bootstrap", "one"])
def test_a_posterior_keeps_its_source(source, tmp_path):
    graph = PDAG.from_edges("ab", directed=[], undirected=[("a", "b")])
    assert through_file(Posterior.from_scores([(graph, 0.0)], source=source), tmp_path).source == source
