"""The paper's experiments as commands, in a small setting; their numbers against literal computations."""

from __future__ import annotations

import copy
import importlib.util
import json
import math
import shutil
import statistics
import subprocess
import sys
from importlib.resources import files
from itertools import pairwise
from types import SimpleNamespace
from unittest.mock import patch

import jsonschema
import numpy as np
import pytest
from click.testing import CliRunner

import naive
from all_dags import all_dags, bdeu_scores, blankets, class_of, family_list, paths, rows_of, weights
from brai import BRAI, Network, __version__, exact, load_network
from brai.cli import cli
from brai.data.dataset import Dataset
from brai.graphs.pdag import PDAG
from brai.research.paper import commands, figure3, figure4, record, sources, table1
from brai.research.paper.cells import Cell
from brai.tree.independence import CITest
from test_paper_sources import write

TIMES = ("cpu_s", "seconds", "averaged_cpu_s")
WITHOUT_GES = ",".join(name for name in table1.COLUMNS if name != "GES")
EXPERIMENTS = ("table1", "figure3", "figure4")


def run(*arguments):
    given = ["paper", *map(str, arguments)]
    with patch.object(sys, "argv", ["/usr/bin/brai", *given]):  # what is written down as the command
        return CliRunner().invoke(cli, given)


def done(folder, *arguments):
    """Run a command that must go well; the document it wrote."""
    result = run(*arguments, "--quiet", "-o", folder)
    assert result.exit_code == 0, result.output
    return json.loads((folder / f"{arguments[0]}.json").read_text())


def without_times(content):
    if isinstance(content, dict):
        return {key: without_times(value) for key, value in content.items() if key not in TIMES}
    return [without_times(value) for value in content] if isinstance(content, list) else content


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: tmp_path_factory.mktemp(name) for name in EXPERIMENTS}


@pytest.fixture(scope="module")
def table(folders):
    settings = ("--networks", "alarm", "--sets", 2, "--bootstraps", 5, "--columns", WITHOUT_GES)
    return done(folders["table1"], "table1", *settings)


@pytest.fixture(scope="module")
def curves(folders):
    return done(folders["figure3"], "figure3", "--sets", 1, "--trials", 1)


@pytest.fixture(scope="module")
def areas(folders):
    return done(folders["figure4"], "figure4", "--networks", "cancer", "--sets", 2, "--small")


@pytest.fixture(scope="module")
def documents(table, curves, areas):
    return {"table1": table, "figure3": curves, "figure4": areas}


# ---------------------------------------------------------------- what is written


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_run_is_written_down(name, documents, folders):
    content, folder = documents[name], folders[name]
    schema = json.loads((files("brai.research.paper") / "schemas" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$id"]
    jsonschema.Draft202012Validator(schema).validate(content)
    assert (content["experiment"], content["brai"], content["seed"]) == (name, __version__, 0)
    assert content["command"].startswith(f"brai paper {name} --")
    assert content["command"].endswith("--quiet -o OUT")
    assert content["machine"]["numpy"] == np.__version__
    journal = [json.loads(line) for line in (folder / f"{name}.cells.jsonl").read_text().splitlines()[1:]]
    assert content["seconds"] == pytest.approx(sum(line["result"]["seconds"] for line in journal), abs=0.051)
    picture = (folder / f"{name}.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert picture[-8:-4] == b"IEND"
    assert len(picture) > 10_000
    assert (folder / f"{name}.md").read_text().startswith(("| ", "**edge**"))
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{name}{ending}" for ending in (".cells.jsonl", ".json", ".md", ".png")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_finished_run_is_told_again(name, documents, folders, tmp_path):
    """As JSON and as text, without computing anything."""
    shutil.copytree(folders[name], tmp_path / "again")
    settings = {
        "table1": ("--networks", "alarm", "--sets", 2, "--bootstraps", 5, "--columns", WITHOUT_GES),
        "figure3": ("--sets", 1, "--trials", 1),
        "figure4": ("--networks", "cancer", "--sets", 2, "--small"),
    }[name]
    result = run(name, *settings, "--quiet", "--json", "-o", tmp_path / "again")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert {**told, "command": ""} == {**documents[name], "command": ""}  # the times too
    before = (folders[name] / f"{name}.cells.jsonl").read_bytes()
    assert (tmp_path / "again" / f"{name}.cells.jsonl").read_bytes() == before
    result = run(name, *settings, "--quiet", "-o", tmp_path / "again")
    assert result.stdout.rstrip() == (folders[name] / f"{name}.md").read_text().rstrip()


BREAKS = [
    ("table1", "cells", 0, {"predictive": 1.0}),
    ("table1", "cells", 0, {"f1": 1.01}),
    ("table1", "cells", 0, {"shd": 2.5}),
    ("table1", "cells", 0, {"column": "PC"}),
    ("table1", "cells", 0, {"ci_tests": None}),
    ("table1", "cells", 0, {"more": 1}),
    ("table1", "cells", 0, {"data": "made up"}),
    ("table1", "cells", 0, {"set": 0}),
    ("table1", "cells", 0, {"ended": False}),
    ("table1", "cells", 2, {"n": 0}),
    ("table1", "cells", 6, {"ess": None}),
    ("table1", "cells", 6, {"bdeu": -1.0}),
    ("table1", "cells", 8, {"seconds": -1}),
    ("table1", "summary", 0, {"predictive_se": None}),
    ("table1", "summary", 0, {"paper_pm": ...}),
    ("table1", "summary", 8, {"paper": -1.0, "paper_pm": 1.0}),
    ("table1", "summary", 0, {"sets": 0}),
    ("figure3", "cells", 0, {"distinct": 0}),
    ("figure3", "cells", 0, {"exact": 1}),
    ("figure3", "cells", 0, {"rows": 75}),
    ("figure3", "cells", 0, {"panel": "middle"}),
    ("figure3", "cells", 20, {"trials": 11}),
    ("figure3", "cells", 20, {"RAI, plain threshold": ...}),
    ("figure3", "cells", 20, {"B-RAI, plain threshold": {"ci_tests": [1], "predictive": [-1], "squares": [0]}}),
    ("figure3", "summary", 0, {"median": ...}),
    ("figure3", "summary", 20, {"at": 6}),
    ("figure3", "summary", 20, {"predictive": 0}),
    ("figure4", "cells", 0, {"size": "large"}),
    ("figure4", "cells", 0, {"classes": {}}),
    ("figure4", "summary", 0, {"auc": 1.2}),
    ("figure4", "summary", 0, {"band": None}),
    ("figure4", "summary", 0, {"k": None}),
    ("figure4", "summary", 0, {"k": 7}),
    ("figure4", "summary", 15, {"k": 5}),
    ("figure4", "summary", 0, {"method": "guess"}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "part", "at", "change"), BREAKS)
def test_a_document_that_is_wrong_is_refused(documents, name, part, at, change):
    content = copy.deepcopy(documents[name])
    record.check(name, content)
    row = content[part][at]
    row.update({key: value for key, value in change.items() if value is not ...})
    for key in [key for key, value in change.items() if value is ...]:
        del row[key]
    with pytest.raises(ValueError, match=rf"^{name}: \$\.{part}\[{at}\]"):
        record.check(name, content)


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
@pytest.mark.parametrize("key", ["brai", "command", "seed", "machine", "summary", "cells"])
def test_a_document_without_a_part_is_refused(documents, name, key):
    content = {k: v for k, v in documents[name].items() if k != key}
    with pytest.raises(ValueError, match=f"'{key}' is a required property"):
        record.check(name, content)


def test_json_is_written_a_row_a_line(tmp_path):
    content = {"a": 1, "rows": [{"x": [1, 2]}, {"x": None}], "none": [], "text": "ab", "map": {"k": 0.5}}
    record.write_json(tmp_path / "new" / "x.json", content)
    text = (tmp_path / "new" / "x.json").read_text()
    assert json.loads(text) == content
    assert '  {"x": [1, 2]},\n  {"x": null}\n' in text
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.json"]
    with pytest.raises(ValueError, match="not JSON compliant"):
        record.write_json(tmp_path / "new" / "x.json", {"a": math.nan})
    assert (tmp_path / "new" / "x.json").read_text() == text


@pytest.mark.slow
def test_as_a_program_with_its_command(tmp_path):
    given = ("table1", "--networks", "cancer", "--sets", "1", "--columns", "true network", "--seed", "5")
    folders = ("--data", str(tmp_path), "-o", str(tmp_path / "out"))
    result = subprocess.run(
        [sys.executable, "-m", "brai", "paper", *given, *folders, "--json"], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["command"] == (
        "brai paper table1 --networks cancer --sets 1 --columns 'true network' --seed 5 --data DATA -o OUT --json"
    )
    assert str(tmp_path) not in result.stdout
    assert content["seed"] == 5


# ---------------------------------------------------------------- seeds and resuming


@pytest.mark.slow
def test_table1_gives_the_same_numbers_again(table, tmp_path):
    chosen = ("RAI", "BS-MMHC", "B-RAI", "true graph")
    settings = ("--networks", "Alarm", "--sets", 1, "--bootstraps", 5, "--columns", ",".join(chosen))
    again = done(tmp_path / "again", "table1", *settings)
    before = [row for row in table["cells"] if row["column"] in chosen and row["set"] == 1]
    assert without_times(again["cells"]) == without_times(before)
    other = done(tmp_path / "other", "table1", *settings, "--seed", 1)
    same = [a["predictive"] == b["predictive"] for a, b in zip(again["cells"], other["cells"], strict=True)]
    assert same == [True, False, False, True]  # RAI and the true graph know no chance


@pytest.mark.slow
def test_brai_gives_the_same_numbers_again(tmp_path):
    settings = ("table1", "--networks", "survey", "--sets", 1, "--columns", "brai")
    one, two = (done(tmp_path / name, *settings) for name in "ab")
    assert [row["column"] for row in one["cells"]] == ["BRAI", "BRAI averaged"]
    assert without_times(one) == without_times(two)


@pytest.mark.slow
def test_two_processes_give_the_same_numbers(table, tmp_path):
    settings = ("--networks", "alarm", "--sets", 2, "--columns", "true graph,true network")
    both = done(tmp_path, "table1", *settings, "--jobs", 2)
    before = [row for row in table["cells"] if row["column"].startswith("true")]
    assert without_times(both["cells"]) == without_times(before)


@pytest.mark.slow
def test_figure3_gives_the_same_numbers_again(curves, tmp_path):
    assert without_times(done(tmp_path, "figure3", "--sets", 1, "--trials", 1)) == without_times(curves)


@pytest.mark.slow
def test_figure4_gives_the_same_numbers_again(areas, tmp_path):
    again = done(tmp_path, "figure4", "--networks", "Cancer", "--sets", 1, "--small")
    assert without_times(again["cells"]) == without_times(areas["cells"][:1])


@pytest.mark.slow
def test_a_killed_run_goes_on(table, folders, tmp_path):
    """All but three cells, and half of the next: finished ones stay to the last digit of their times."""
    lines = (folders["table1"] / "table1.cells.jsonl").read_bytes().splitlines(keepends=True)
    keys = [tuple(json.loads(line)["key"]) for line in lines[1:]]
    kept = [0, *(i for i, key in enumerate(keys, 1) if key[3] not in ("MMHC", "tabu", "true graph"))]
    journal = tmp_path / "table1.cells.jsonl"
    journal.write_bytes(b"".join(lines[i] for i in kept) + lines[2][:30])
    settings = ("--networks", "alarm", "--sets", 2, "--bootstraps", 5, "--columns", WITHOUT_GES)
    again = done(tmp_path, "table1", *settings)
    assert without_times(again) == without_times(table)
    for row, before in zip(again["cells"], table["cells"], strict=True):
        if row["column"] not in ("MMHC", "tabu", "true graph"):
            assert row == before
    assert len(journal.read_bytes().splitlines()) == len(lines)


def test_an_interrupted_command_says_what_is_kept(tmp_path, monkeypatch):
    def stop(one, seed):
        raise KeyboardInterrupt

    settings = ("table1", "--networks", "cancer", "--sets", 1, "--columns", "true network,true graph")
    with monkeypatch.context() as context:
        context.setitem(table1.COLUMNS, "true graph", stop)
        result = run(*settings, "--quiet", "-o", tmp_path)
    assert result.exit_code == 1
    assert "brai: 1 of 2 cells are saved; the same command resumes from there" in result.output
    assert not (tmp_path / "table1.json").exists()
    assert [row["column"] for row in done(tmp_path, *settings)["cells"]] == ["true network", "true graph"]


# ---------------------------------------------------------------- what is refused


def test_an_unknown_column_is_refused_with_the_choices(tmp_path):
    result = run("table1", "--columns", "rai,pc", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "no learner 'pc'" in result.output
    for name in table1.COLUMNS:
        assert name in " ".join(result.output.split())
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_what_is_not_installed_is_said_before_the_work(name, tmp_path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n, *a: None if n == "matplotlib" else find(n, *a))
    monkeypatch.setattr(commands, "_run", lambda *_, **__: None)  # the work
    result = run(name, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "matplotlib not installed: pip install 'brai[paper]'" in result.output
    assert not (tmp_path / "out").exists()


def test_another_seed_needs_another_folder(tmp_path):
    settings = ("table1", "--networks", "cancer", "--sets", 1, "--columns", "true network")
    done(tmp_path, *settings)
    result = run(*settings, "--seed", 4, "-o", tmp_path)
    assert isinstance(result.exception, ValueError)
    assert "seed 0 (now 4): give another folder with -o" in str(result.exception)


@pytest.mark.parametrize(
    "options", [("--sets", "11"), ("--sets", "0"), ("--data", "/no/such/folder"), ("--seed", "-1")]
)
def test_settings_out_of_range_are_refused(options, tmp_path):
    result = run("table1", *options, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert options[0] in result.output


def test_a_network_without_data_is_named(tmp_path):
    result = run("table1", "--networks", "nowhere", "--columns", "rai", "--quiet", "-o", tmp_path)
    assert isinstance(result.exception, ValueError)
    assert "no data for 'Nowhere': give --data a folder" in str(result.exception)


def test_a_folder_of_original_data(tmp_path):
    write(tmp_path / "data", "Child", "child")
    settings = ("--networks", "child", "--sets", 3, "--columns", "rai,true graph,true network")
    content = done(tmp_path / "out", "table1", *settings, "--data", tmp_path / "data")
    assert {row["data"] for row in content["cells"]} == {"original"}
    for row in content["cells"]:
        if row["column"] == "true network":
            assert row["predictive"] == sources.case(tmp_path / "data", "child", row["set"]).ceiling
    assert "sampled" not in (tmp_path / "out" / "table1.md").read_text()


def test_a_space_after_a_comma(tmp_path):
    settings = ("table1", "--sets", 1, "--columns", "true graph, true network", "--networks", "cancer, survey")
    assert {row["network"] for row in done(tmp_path, *settings)["cells"]} == {"Cancer", "Survey"}


@pytest.mark.parametrize(("networks", "columns"), [("cancer,Cancer", "rai"), ("cancer", "rai,RAI")])
def test_what_is_named_twice_counts_once(tmp_path, networks, columns):
    content = done(tmp_path, "table1", "--sets", 1, "--networks", networks, "--columns", columns)
    assert [line["sets"] for line in content["summary"]] == [1]
    assert len(content["cells"]) == 1


@pytest.mark.parametrize("form", ["--data={}", "--output={}", "-o{}"])
def test_folders_are_no_part_of_the_command(form, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["brai", "paper", "table1", form.format(tmp_path), "--quiet"])
    assert str(tmp_path) not in record.command()


def test_one_trial_has_no_error():
    row = {"set": 1, "trials": 1, "curve": {"ci_tests": [1.0], "predictive": [-3.0], "squares": [0.0]}}
    (line,) = figure3._points([row], "curve", [5])
    assert line["se_trials"] is None


# ---------------------------------------------------------------- Table 1

PAPER = """
Child 20 -68861 110 -73290 60 -72125 26 -65671 79
Insurance 27 -71296 115 -89670 118 -85915 88 -70634 99
Mildew 35 -288677 1323 -296375 119 -296815 270 -279686 1028
Alarm 37 -52198 117 -86190 220 -80645 84 -51173.5 127
Barley 48 -340317 389 -380790 414 -380305 380 -339057 804
Hailfinder 56 -291632.5 259 -308125 33 -306930 95 -289074 120
Munin 189 -447481 1148 -455290 270 -442860 255 -436309 593
Link 724 -1857751 887 -1907700 432 -1863546 320 -1772132 659
"""


def test_the_published_table():
    assert len(table1.PUBLISHED) == 8
    for line in PAPER.split("\n")[1:-1]:
        name, nodes, *numbers = line.split()
        found = table1.PUBLISHED[name]
        assert found.nodes == int(nodes)
        assert list(found.columns) == ["RAI", "MMHC", "BS-MMHC", "B-RAI"]
        assert [x for pair in found.columns.values() for x in pair] == [float(x) for x in numbers]
    assert tuple(table1.PUBLISHED) == sources.NETWORKS


@pytest.mark.slow
def test_the_papers_numbers_are_beside(table, folders):
    head, _, ours, paper, *_ = (folders["table1"] / "table1.md").read_text().splitlines()
    columns, ours, paper = ([word.strip() for word in line.split("|")[1:-1]] for line in (head, ours, paper))
    assert (ours[0], paper[0]) == ("Alarm (sampled)", "*paper*")
    shown = dict(zip(columns, paper, strict=True))
    assert {name: text for name, text in shown.items() if name != columns[0] and text} == {
        "RAI": "-52198 ±117",
        "MMHC": "-86190 ±220",
        "BS-MMHC": "-80645 ±84",
        "B-RAI": "-51174 ±127",
    }
    means = {line["column"]: line for line in table["summary"]}
    for name, text in zip(columns[1:], ours[1:], strict=True):
        if name == "GES":
            assert text == ""
        else:
            line = means[name]
            assert text.replace("*", "") == f"{line['predictive']:.0f} ±{line['predictive_se']:.0f}"
    learned = [name for name in means if not name.startswith("true")]
    best = max(learned, key=lambda name: means[name]["predictive"])
    assert [name for name, text in zip(columns, ours, strict=True) if "**" in text] == [best]


@pytest.mark.slow
def test_every_learner_on_every_set(table):
    columns = ["RAI", "MMHC", "BS-MMHC", "B-RAI", "tabu", "BRAI", "BRAI averaged", "true graph", "true network"]
    assert [(row["set"], row["column"]) for row in table["cells"]] == [(n, c) for n in (1, 2) for c in columns]
    assert [line["column"] for line in table["summary"]] == columns
    assert {row["n"] for row in table["cells"] if "n" in row} == {5}
    for n in (1, 2):
        own = {row["column"]: row["predictive"] for row in table["cells"] if row["set"] == n}
        assert max(own, key=own.get) == "true network"
        assert own["BRAI averaged"] > own["BRAI"] > own["MMHC"]


@pytest.mark.slow
@pytest.mark.parametrize("version", [1, 2])
def test_ceilings_are_literal(table, version):
    network = load_network("alarm")
    train, test = network.sample(500, random_state=version), network.sample(5000, random_state=1000 + version)
    rows = {row["column"]: row for row in table["cells"] if row["set"] == version}
    fitted = Network.fit(network.pdag, train).log_prob(test).sum()
    assert rows["true graph"]["predictive"] == pytest.approx(fitted, abs=1e-6)
    assert rows["true network"]["predictive"] == pytest.approx(network.log_prob(test).sum(), abs=1e-6)
    assert (rows["true graph"]["shd"], rows["true graph"]["f1"]) == (0, 1.0)


def test_measures_are_literal():
    network = load_network("asia")
    train, test = network.sample(300, random_state=1), network.sample(100, random_state=2)
    names = list(network.names)[::-1]  # nodes of the graph in another order than the columns
    edges = [("lung", "smoke"), ("lung", "either"), ("tub", "either"), ("xray", "either"), ("asia", "dysp")]
    dag = PDAG(tuple(names), np.array([[(a, b) in edges for b in names] for a in names], np.int8))
    found = table1.measured(dag, train, test, network.pdag)
    assert found["predictive"] == pytest.approx(Network.fit(dag, train).log_prob(test).sum(), abs=1e-8)
    plain, adjacency = rows_of(train), dag.reorder(train.names).adjacency
    bdeu = sum(naive.bdeu(plain, v, own, 1.0) for v, own in family_list(adjacency))
    assert found["bdeu"] == pytest.approx(bdeu, abs=1e-8)
    true = {frozenset(train.names[i] for i in pair) for pair in np.argwhere(network.pdag.adjacency).tolist()}
    both = len(true & {frozenset(edge) for edge in edges})
    assert (len(true), both) == (8, 4)
    assert found["f1"] == pytest.approx(2 * both / (8 + 5))
    ours, theirs = (g.to_cpdag().reorder(train.names).adjacency for g in (dag, network.pdag))
    pairs = [(i, j) for i in range(8) for j in range(i)]
    assert dag.shd(network.pdag) != found["shd"]  # of classes, not of DAGs
    assert found["shd"] == sum((ours[i, j], ours[j, i]) != (theirs[i, j], theirs[j, i]) for i, j in pairs)
    empty = PDAG(train.names, np.zeros((8, 8), np.int8))
    assert table1.measured(empty, train, test, network.pdag)["f1"] == 0
    assert table1.measured(empty, train, test, empty)["f1"] == 0  # nothing to find


@pytest.mark.slow
def test_means_and_standard_errors(table):
    rows = {(row["column"], row["set"]): row for row in table["cells"]}
    for line in table["summary"]:
        own = [rows[line["column"], n] for n in (1, 2)]
        assert line["sets"] == 2
        a, b = (row["predictive"] for row in own)
        assert line["predictive_se"] == pytest.approx(abs(a - b) / 2)  # of two values
        for measure in table1.MEASURES:
            assert (measure in line) == (measure in own[0])
            if measure in line:
                assert line[measure] == pytest.approx((own[0][measure] + own[1][measure]) / 2)


def test_the_summary_of_made_up_cells():
    values = [-10.0, -12.5, -11.0, -14.0]
    rows = [{"network": "Link", "data": "original", "set": n, "column": "MMHC", "predictive": v, "shd": n}
            for n, v in enumerate(values, 1)]  # fmt: skip
    rows += [{"network": "Link", "data": "original", "set": n, "column": "GES", "ended": False} for n in (1, 2)]
    rows += [{"network": "Other", "data": "sampled", "set": 1, "column": "MMHC", "predictive": -3.0}]
    rows += [{"network": "Other", "data": "sampled", "set": 1, "column": "GES", "ended": False}]
    rows += [{"network": "Other", "data": "sampled", "set": 2, "column": "GES", "predictive": -4.0}]
    link, other, ges = table1.summary(rows)
    assert link["predictive"] == pytest.approx(-11.875)
    assert link["predictive_se"] == pytest.approx(statistics.stdev(values) / 2)
    assert (link["sets"], link["shd"], link["paper"], link["paper_pm"]) == (4, 2.5, -1907700, 432)
    assert (other["sets"], other["predictive_se"]) == (1, None)
    assert "paper" not in other
    assert (ges["column"], ges["sets"], ges["predictive"]) == ("GES", 1, -4.0)
    text = table1.as_text([link, other, ges])
    assert "-1907700 ±432" in text
    assert "| Other (sampled) |" in text
    assert text.count("*paper*") == 1


def test_brai_has_two_rows():
    cell = Cell(("Alarm", "sampled", "3", "BRAI"), table1.brai, ())
    result = {"predictive": -5.0, "bdeu": -7.0, "cpu_s": 1.5, "averaged": -4.0, "averaged_cpu_s": 2.0}
    best, averaged = table1.flat([cell], [{**result, "r_hat": None, "ess": 9.0, "seconds": 4.0}])
    about = {"network": "Alarm", "data": "sampled", "set": 3}
    assert best == {**about, "column": "BRAI", "predictive": -5.0, "bdeu": -7.0, "cpu_s": 1.5, "seconds": 4.0}
    more = {"predictive": -4.0, "r_hat": None, "ess": 9.0, "cpu_s": 3.5, "seconds": 0.0}
    assert averaged == {**about, "column": "BRAI averaged", **more}


def test_which_cells_there_are(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: True)
    made = table1.cells(None, ["munin", "LINK", "child"], 2, ["BS-MMHC", "GES"], bootstraps=1000, seed=0)
    assert [cell.key for cell in made] == [
        *(("Munin", "sampled", n, "BS-MMHC", "20") for n in "12"),
        *(("Link", "sampled", n, "BS-MMHC", "3") for n in "12"),
        *(("Child", "sampled", n, *rest) for n in "12" for rest in (("BS-MMHC", "1000"), ("GES",))),
    ]
    assert [cell.arguments[-1] for cell in made][::2] == [(20, None), (3, 2), (1000, None), (1000, None)]
    few = table1.cells(None, ["munin", "link"], 1, ["BS-MMHC"], bootstraps=7, seed=0)
    assert [cell.key[-1] for cell in few] == ["7", "3"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *_: None)
    assert table1.cells(None, ["child"], 1, ["GES"], bootstraps=1, seed=0) == []


def test_ges_that_takes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(table1, "GES_MINUTES", 0)
    assert table1.ges(sources.case(None, "cancer", 1), 0) == {"ended": False}


def test_ges_finds_a_graph():
    pytest.importorskip("causallearn")
    one = sources.case(None, "asia", 1)
    found = table1.ges(one, 0)
    assert set(found) == {"predictive", "bdeu", "shd", "f1", "cpu_s"}
    best = exact.map_network(one.train)[0]
    optimal = table1.measured(best, one.train, one.test, one.truth)
    assert optimal["bdeu"] - 15 < found["bdeu"] <= optimal["bdeu"] + 1e-6
    assert found["f1"] > 0.6


# ---------------------------------------------------------------- Figure 3


@pytest.mark.slow
def test_curves_have_all_their_points(curves):
    right = [line for line in curves["summary"] if line["panel"] == "right"]
    by_curve = {}
    for line in right:
        by_curve.setdefault(line["curve"], []).append(line)
    assert {name: [line["at"] for line in own] for name, own in by_curve.items()} == {
        f"{name}, {rule} threshold": list(at)
        for rule in ("raised", "plain")
        for name, at in (("B-RAI", range(2, 6)), ("RAI", range(1, 28)))
    }
    for name, own in by_curve.items():
        if name.startswith("RAI"):
            tests = [line["ci_tests"] for line in own]
            assert all(a < b for a, b in pairwise(tests))
            assert len({line["predictive"] for line in own}) > 1  # the best is not always the first
    left = [(line["rule"], line["rows"]) for line in curves["summary"] if line["panel"] == "left"]
    assert left == [(f"{rule} threshold", n) for rule in ("raised", "plain") for n in range(50, 501, 50)]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["raised", "plain"])
def test_a_point_of_b_rai_is_literal(curves, rule):
    one = sources.case(None, "Alarm", 1)
    seed = np.random.SeedSequence([0, 1, 0], spawn_key=(3,))
    ci_test = CITest("cmi-c1", correction=rule == "raised")
    model = BRAI.paper(3, ci_test=ci_test, random_state=seed).fit(one.train.select(sorted(one.train.names)))
    (line,) = (
        line
        for line in curves["summary"]
        if line["panel"] == "right" and (line["curve"], line["at"]) == (f"B-RAI, {rule} threshold", 3)
    )
    assert line["ci_tests"] == model.n_ci_tests_.sum()
    fitted = Network.fit(model.dag_, one.train)
    assert line["predictive"] == pytest.approx(fitted.log_prob(one.test).sum(), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["raised", "plain"])
def test_the_number_of_distinct_classes_is_literal(curves, rule):
    train = sources.case(None, "Alarm", 1).train
    few = Dataset(train.codes[:, :100], train.names, train.states)
    model = BRAI.paper(3, ci_test=CITest("cmi-c1", correction=rule == "raised"), random_state=0).fit(few)
    (cell,) = (
        cell
        for cell in curves["cells"]
        if (cell["panel"], cell.get("rows"), cell.get("rule")) == ("left", 100, f"{rule} threshold")
    )
    assert cell["exact"]
    assert cell["distinct"] == len({cpdag for cpdag, _ in model.k_best(10_000)}) > 1
    assert cell["routes"] >= cell["distinct"]


def test_pooled_errors_are_those_of_all_trials(monkeypatch):
    """Blocks of ten trials and what is left, as if all trials of a set were at hand."""
    drawn = {}

    def trial(one, seed, tests):
        one = one.train
        values = np.random.default_rng(seed).normal((100, -500), (5, 20), (27, 2)) - (0, 30 * one)
        own = {
            f"{c}, {rule}": values[: 4 if c == "B-RAI" else 27] for rule in figure3.RULES for c in ("B-RAI", "RAI")
        }
        drawn.setdefault(one, []).append(values)
        return own

    monkeypatch.setattr(figure3, "_trial", trial)
    monkeypatch.setattr(figure3, "_tests_of", lambda train, rule, seed: None)
    monkeypatch.setattr(figure3, "case", lambda folder, network, version: SimpleNamespace(train=version))
    made = [cell for cell in figure3.cells(None, 3, 23, seed=6) if cell.key[0] == "right"]
    assert [cell.key[3] for cell in made[::3]] == ["trials 1-10", "trials 11-20", "trials 21-23"]
    rows = figure3.flat(made, [cell.function(*cell.arguments) for cell in made])
    assert {row["block"] for row in rows} == {"1-10", "11-20", "21-23"}
    lines = figure3.summary(rows)
    assert len(lines) == 62
    every = {version: np.array(values) for version, values in drawn.items()}
    assert {version: len(values) for version, values in every.items()} == {1: 23, 2: 23, 3: 23}
    assert len({values.tobytes() for own in drawn.values() for values in own}) == 69  # each has a seed of its own
    for line in lines:
        at = line["at"] - (2 if line["curve"].startswith("B-RAI") else 1)
        tests, predictive = ([values[:, at, i] for values in every.values()] for i in (0, 1))
        means = [statistics.fmean(values) for values in predictive]
        within = sum(statistics.variance(values) / 23 for values in predictive)
        assert line["trials"] == 69
        assert line["ci_tests"] == pytest.approx(statistics.fmean(map(statistics.fmean, tests)))
        assert line["predictive"] == pytest.approx(statistics.fmean(means))
        assert line["se_trials"] == pytest.approx(math.sqrt(within) / 3)
        assert line["se_sets"] == pytest.approx(statistics.stdev(means) / math.sqrt(3))


def test_each_set_counts_the_same_whatever_its_trials():
    def row(version, trials, mean):
        curve = {"ci_tests": [1.0], "predictive": [mean], "squares": [0.0]}
        return {"set": version, "trials": trials, "curve": curve}

    (line,) = figure3._points([row(1, 10, -1.0), row(1, 10, -3.0), row(2, 5, -10.0)], "curve", [5])
    assert line["predictive"] == pytest.approx((-2 - 10) / 2)
    assert line["se_trials"] == pytest.approx(math.sqrt(20 / 19 / 20) / 2)  # twenty values at distance 1


def test_the_left_panel_is_summed_up():
    rows = [
        {"panel": "left", "rule": rule, "rows": 50, "distinct": d, "exact": e}
        for rule, d, e in [
            ("plain threshold", 9.0, True),
            ("raised threshold", 1.0, True),
            ("raised threshold", 4.0, False),
            ("raised threshold", 10.0, True),
        ]
    ]
    raised, plain = figure3.summary(rows)
    assert raised == {
        "panel": "left", "rule": "raised threshold", "rows": 50, "sets": 3,
        "mean": 5.0, "median": 4.0, "least": 1.0, "most": 10.0, "exact_sets": 2,
    }  # fmt: skip
    assert (plain["rule"], plain["sets"], plain["mean"]) == ("plain threshold", 1, 9.0)
    assert figure3._number(10**400) == 1e300


# ---------------------------------------------------------------- Figure 4


def pair_counting(true, found):
    """The share of pairs, a true one and a false one, in the right order; a tie is half."""
    pairs = [
        (a, b) for a, t in zip(found, true, strict=True) if t for b, u in zip(found, true, strict=True) if not u
    ]
    return sum(1.0 if a > b else 0.5 if a == b else 0.0 for a, b in pairs) / len(pairs)


def literal_areas(truth, edges, blanket, path):
    """From the truth as (1, d, d) of bool."""
    d = truth.shape[1]
    ordered = [(i, j) for i in range(d) for j in range(d) if i != j]
    once = [(i, j) for i, j in ordered if i < j]
    parts = ((truth, edges, ordered), (blankets(truth), blanket, once), (paths(truth), path, ordered))
    return [pair_counting([t[0][p] for p in pairs], [f[p] for p in pairs]) for t, f, pairs in parts]


def test_areas_are_shares_of_pairs(rng):
    truth = load_network("asia").pdag
    for _ in range(5):
        edges, blanket, path = rng.integers(0, 6, (3, 8, 8)) / 5  # with many ties
        blanket = np.triu(blanket, 1) + np.triu(blanket, 1).T
        found = figure4._areas(truth, (edges, blanket, path))
        expected = literal_areas(truth.adjacency.astype(bool)[None], edges, blanket, path)
        assert list(found) == ["edge", "Markov blanket", "path"]
        assert list(found.values()) == pytest.approx(expected)


@pytest.fixture(scope="module")
def all_of_cancer():
    """Data set 1 of Cancer and the score of every DAG."""
    network = load_network("cancer")
    data = network.sample(500, random_state=1)
    return network.pdag.adjacency.astype(bool)[None], data, bdeu_scores(all_dags(5), data, 1.0)


@pytest.mark.slow
def test_the_exact_posterior_is_that_of_all_dags(areas, all_of_cancer):
    truth, data, scores = all_of_cancer
    right = weights(scores, None, "dags")
    exactly = [np.tensordot(right, feature(all_dags(5)), 1) for feature in (lambda g: g, blankets, paths)]
    found = figure4._of_all(data, 2000, 3)
    assert np.allclose(found[0], exactly[0], atol=1e-9)
    for drawn, p in zip(found[1:], exactly[1:], strict=True):
        assert (np.abs(drawn - p) <= 4.5 * np.sqrt(p * (1 - p) / 2000) + 1e-9).all()
    own = areas["cells"][0]["areas"]["exact posterior"]
    assert own["edge"] == pytest.approx(literal_areas(truth, *exactly)[0])


@pytest.mark.slow
@pytest.mark.parametrize("k", [5, 15])
def test_the_k_best_are_those_of_all_classes(areas, all_of_cancer, k):
    truth, _, scores = all_of_cancer
    classes = class_of(5)
    best = np.full(classes.max() + 1, -np.inf)
    np.maximum.at(best, classes, scores)
    chosen = np.isin(classes, np.argsort(-best)[:k])
    right, graphs = weights(scores[chosen], None, "dags"), all_dags(5)[chosen]
    exactly = [np.tensordot(right, feature(graphs), 1) for feature in (lambda g: g, blankets, paths)]
    exactly = [probability.round(12) for probability in exactly]  # ties are ties
    own = areas["cells"][0]["areas"]["exact k-best"][str(k)]
    assert list(own.values()) == pytest.approx(literal_areas(truth, *exactly))


@pytest.mark.slow
def test_the_bands_are_literal(areas):
    assert len(areas["summary"]) == 3 * (5 * 3 + 2)
    one, two = (cell["areas"] for cell in areas["cells"])
    for line in areas["summary"]:
        own, top = [], []
        for cell in (one, two):
            area = cell[line["method"]] if line["k"] is None else cell[line["method"]][str(line["k"])]
            own.append(area[line["feature"]])
            top.append(cell["exact posterior"][line["feature"]])
        below = [a - b for a, b in zip(top, own, strict=True)]
        assert line["auc"] == pytest.approx(sum(own) / 2)
        assert line["band"] == pytest.approx(1.96 * abs(own[0] - own[1]) / 2)
        assert line["below_exact"] == pytest.approx(sum(below) / 2)
        assert line["below_band"] == pytest.approx(1.96 * abs(below[0] - below[1]) / 2)
    assert figure4._band(np.array([0.5])) is None
    assert figure4._band(np.array([1.0, 2.0, 6.0])) == pytest.approx(1.96 * statistics.stdev([1, 2, 6]) / 3**0.5)


@pytest.mark.slow
def test_methods_hold_what_they_say(areas):
    for cell in areas["cells"]:
        assert cell["size"] == "small"
        assert cell["classes"]["exact k-best"] == cell["classes"]["DP-MCMC"] == 15
        assert 1 < cell["classes"]["BS-MMHC"] <= 15
        for method, by_k in cell["areas"].items():
            assert all(
                0 <= area <= 1 for own in ((by_k,) if "edge" in by_k else by_k.values()) for area in own.values()
            ), method
