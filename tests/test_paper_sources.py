"""Data sets of the experiments: a folder in the layout of the original ones, and samples of networks."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from brai import Network, load_network
from brai.research.paper import sources

VERSIONS, TRAIN, TEST = 3, 40, 60


def toy(name="toy"):
    """c → a, c → b; a has a state that is never seen."""
    tables = ([[0.7, 0.3, 0.0], [0.1, 0.9, 0.0]], [[0.6, 0.4], [0.2, 0.8]], [[0.4, 0.6]])
    states = (("low", "mid", "high"), ("no", "yes"), ("off", "on"))
    return Network(("a", "b", "c"), states, ((2,), (2,), ()), tuple(map(np.array, tables)), name=name)


def write(folder, name, bif, constant=None):
    """A folder for one network; a constant column without an arity stands second."""
    source, rng = toy(), np.random.default_rng(len(name))
    names, arities = list(source.names), [3, 2, 2]
    pool = source.sample(400, random_state=7).codes.T
    adjacency = source.pdag.adjacency
    if constant is not None:
        pool = np.insert(pool, 1, constant, axis=1)
        adjacency = np.insert(np.insert(adjacency, 1, 0, axis=0), 1, 0, axis=1)
        names.insert(1, "still")
        arities.insert(1, None)
    order = [rng.permutation(400) for _ in range(VERSIONS)]
    indices = {"idx_s500": [o[:TRAIN] for o in order], "idx_test5000": [o[TRAIN : TRAIN + TEST] for o in order]}
    base = folder / "mmhc" / name
    base.mkdir(parents=True)
    np.savez(base / f"{name}_pool.npz", pool=pool, **{k: np.array(v, np.uint16) for k, v in indices.items()})
    (base / f"{name}_meta.json").write_text(json.dumps({"columns": names, "arity_network": arities}))
    with gzip.open(base / f"{name}_graph_data_order.csv.gz", "wt") as file:
        file.write("\n".join(",".join(map(str, row)) for row in [names, *adjacency.tolist()]) + "\n")
    (folder / "networks").mkdir(exist_ok=True)
    source.write_bif(folder / "networks" / f"{bif}.bif.gz")
    return pool, {k: np.array(v) for k, v in indices.items()}


def by_hand(source, rows, names):
    """Log probability of rows of codes, one factor after the other."""
    at, total = {name: names.index(name) for name in source.names}, 0.0
    for row in rows.tolist():
        for i, name in enumerate(source.names):
            config = 0
            for p in source.parents[i]:
                config = config * len(source.states[p]) + row[at[source.names[p]]]
            total += np.log(source.cpts[i][config, row[at[name]]])
    return total


@pytest.mark.parametrize("asked", ["Child", "child", "CHILD"])
def test_rows_arities_and_truth_are_those_of_the_folder(tmp_path, asked):
    pool, indices = write(tmp_path, "Child", "child")
    assert sources.origin(tmp_path, asked) == "original"
    for version in range(1, VERSIONS + 1):
        one = sources.case(tmp_path, asked, version)
        assert one.origin == "original"
        for rows, kept in ((one.train, "idx_s500"), (one.test, "idx_test5000")):
            assert np.array_equal(rows.codes.T, pool[indices[kept][version - 1]])
            assert (rows.names, rows.arities.tolist()) == (("a", "b", "c"), [3, 2, 2])
        assert one.train.codes.max(axis=1).tolist() == [1, 1, 1]  # the arity is the network's, not the sample's
        assert {(e[0], e[1]) for e in np.argwhere(one.truth.adjacency).tolist()} == {(2, 0), (2, 1)}
        assert one.truth.names == ("a", "b", "c")
        assert one.ceiling == pytest.approx(by_hand(toy(), one.test.codes.T, ["a", "b", "c"]), abs=1e-9)


def test_versions_differ(tmp_path):
    write(tmp_path, "Child", "child")
    one, two = (sources.case(tmp_path, "Child", version) for version in (1, 2))
    assert not np.array_equal(one.train.codes, two.train.codes)
    assert one.ceiling != two.ceiling


def test_a_constant_column_has_the_arity_of_its_code_and_is_no_part_of_the_ceiling(tmp_path):
    pool, indices = write(tmp_path, "Munin", "munin1", constant=2)
    one = sources.case(tmp_path, "Munin", 2)
    assert one.train.names == ("a", "still", "b", "c")
    assert one.train.arities.tolist() == one.test.arities.tolist() == [3, 3, 2, 2]
    assert set(one.train.codes[1].tolist()) == {2}
    assert one.truth.adjacency[1].sum() == one.truth.adjacency[:, 1].sum() == 0
    rows = pool[indices["idx_test5000"][1]]
    assert one.ceiling == pytest.approx(by_hand(toy(), rows, ["a", "still", "b", "c"]), abs=1e-9)


def test_the_ceiling_of_alarm_has_parameters_of_all_rows_but_those_tested(tmp_path):
    pool, indices = write(tmp_path, "Alarm", "alarm")
    one = sources.case(tmp_path, "Alarm", 3)
    tested = set(indices["idx_test5000"][2].tolist())
    rest = pool[[i for i in range(400) if i not in tested]]
    assert len(rest) == 400 - TEST
    tables = {}
    for child, own, arity in ((2, None, 2), (0, 2, 3), (1, 2, 2)):
        for config in range(1 if own is None else 2):
            rows = rest if own is None else rest[rest[:, own] == config]
            q = 1 if own is None else 2
            counts = np.array([(rows[:, child] == state).sum() for state in range(arity)])
            tables[child, config] = (counts + 1 / (q * arity)) / (len(rows) + 1 / q)
    expected = sum(
        np.log(tables[2, 0][c]) + np.log(tables[0, c][a]) + np.log(tables[1, c][b])
        for a, b, c in pool[sorted(tested)].tolist()
    )
    assert one.ceiling == pytest.approx(expected, abs=1e-9)
    assert abs(one.ceiling - by_hand(toy(), one.test.codes.T, ["a", "b", "c"])) > 0.01


@pytest.mark.parametrize("version", [0, 4])
def test_a_data_set_that_is_not_there_is_an_error(tmp_path, version):
    write(tmp_path, "Child", "child")
    with pytest.raises(ValueError, match=rf"Child has 3 original data sets, no number {version}: ask for fewer"):
        sources.case(tmp_path, "Child", version)


@pytest.mark.parametrize("with_folder", [True, False])
def test_a_network_that_is_nowhere_is_an_error_with_the_cure(tmp_path, with_folder):
    with pytest.raises(ValueError, match="no data for 'Nowhere': give --data a folder that has it") as error:
        sources.case(tmp_path if with_folder else None, "Nowhere", 1)
    assert "asia" in str(error.value)


def test_a_folder_without_the_rows_has_its_network_sampled(tmp_path):
    (tmp_path / "networks").mkdir()
    toy().write_bif(tmp_path / "networks" / "child.bif.gz")
    assert sources.origin(tmp_path, "Child") == "sampled"
    one = sources.case(tmp_path, "Child", 1)
    assert one.origin == "sampled"
    assert (one.train.n_rows, one.test.n_rows, one.train.names) == (500, 5000, ("a", "b", "c"))
    assert sources.true_graph(tmp_path, "Child") == one.truth == toy().pdag
    assert one.ceiling == pytest.approx(by_hand(toy(), one.test.codes.T, ["a", "b", "c"]), rel=1e-9)


def test_the_folder_goes_before_the_package(tmp_path):
    (tmp_path / "networks").mkdir()
    toy().write_bif(tmp_path / "networks" / "asia.bif.gz")
    assert sources.network_of(tmp_path, "Asia").names == ("a", "b", "c")
    assert sources.network_of(None, "Asia").names == load_network("asia").names


def test_sampled_cases_are_the_same_each_time_and_differ_from_each_other():
    assert sources.origin(None, "Alarm") == "sampled"
    one, again, two = (sources.case(None, "alarm", version) for version in (1, 1, 2))
    assert np.array_equal(one.train.codes, again.train.codes)
    assert np.array_equal(one.test.codes, again.test.codes)
    assert one.ceiling == again.ceiling
    assert (one.train.n_rows, one.test.n_rows, one.train.n_variables) == (500, 5000, 37)
    sets = [one.train.codes, one.test.codes[:, :500], two.train.codes, two.test.codes[:, :500]]
    for i, first in enumerate(sets):
        for second in sets[:i]:
            assert (first != second).any(axis=0).mean() > 0.99
    network = load_network("alarm")
    assert one.truth == network.pdag
    expected = by_hand(network, one.test.codes.T[:200], list(one.test.names))
    assert network.log_prob(one.test)[:200].sum() == pytest.approx(expected, abs=1e-8)
    assert one.ceiling == pytest.approx(network.log_prob(one.test).sum(), abs=1e-9)


def test_train_and_test_seeds_never_meet():
    """Ten data sets are twenty samples."""
    network = load_network("cancer")
    cases = [sources.case(None, "cancer", version) for version in range(1, 11)]
    starts = [rows.codes[:, :200].tobytes() for one in cases for rows in (one.train, one.test)]
    assert len(set(starts)) == 20
    columns = {rows.codes[v, :500].tobytes() for one in cases for rows in (one.train, one.test) for v in range(5)}
    assert len(columns) == 100  # one seed would give the first variable twice, whatever the number of rows
    rows = np.concatenate([one.test.codes for one in cases], axis=1)
    smoker = network.names.index("Smoker")
    p = network.marginal("Smoker")[0]
    assert abs((rows[smoker] == 0).mean() - p) < 4.5 * np.sqrt(p * (1 - p) / rows.shape[1])
