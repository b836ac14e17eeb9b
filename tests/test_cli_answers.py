"""``brai learn -o`` and the commands that ask what it kept."""

from __future__ import annotations

import csv
import errno
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import brai
from brai.cli import cli, main
from brai.cli.work import FILES
from brai.runtime.lock import FolderInUseError, claimed


def run(*arguments: object):
    return CliRunner().invoke(cli, list(map(str, arguments)))


def write_csv(path: Path, data: brai.Dataset) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(data.names)
        writer.writerows([data.states[v][c] for v, c in enumerate(row)] for row in data.codes.T)
    return path


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("cli")
    table = write_csv(base / "quake.csv", brai.load_network("earthquake").sample(600, random_state=0))
    result = run("learn", table, "-o", base / "out", "--quiet", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == json.loads((base / "out" / "summary.json").read_text())
    return base / "out"


def test_learn_keeps_files_that_agree(learned):
    assert sorted(path.name for path in learned.iterdir()) == sorted(set(FILES) - {"network.json"})
    model = brai.load(learned / "model.brai")
    found = json.loads((learned / "summary.json").read_text())
    assert model.log_score_ == found["map"]["log_score"]
    assert brai.Network.read_bif(learned / "network.bif").pdag == model.dag_
    with (learned / "edges.csv").open() as file:
        rows = list(csv.DictReader(file))
    edges = model.edge_probabilities()
    names = list(model.feature_names_in_)
    for row in rows:
        i, j = names.index(row["from"]), names.index(row["to"])
        assert float(row["strength"]) == pytest.approx(edges[i, j] + edges[j, i], abs=1e-6)
    assert "<html" in (learned / "report.html").read_text()


def test_query(learned):
    model = brai.load(learned / "model.brai")
    names, edges = list(model.feature_names_in_), model.edge_probabilities()
    i, j = names.index("Alarm"), names.index("JohnCalls")
    found = json.loads(run("query", learned, "edge", "Alarm", "JohnCalls", "--json").stdout)
    assert found == {
        "kind": "edge",
        "from": "Alarm",
        "to": "JohnCalls",
        "p_forward": edges[i, j],
        "p_backward": edges[j, i],
        "p_adjacent": edges[i, j] + edges[j, i],
    }
    assert model.edge_probability("Alarm", "JohnCalls") == edges[i, j]
    found = json.loads(run("query", learned, "path", "Alarm", "JohnCalls", "--json").stdout)
    assert found.keys() == {"kind", "from", "to", "p_forward", "p_backward"}
    assert found["p_forward"] == model.path_probabilities()[i, j] == model.path_probability("Alarm", "JohnCalls")
    found = json.loads(run("query", learned, "blanket", "Alarm", "--json").stdout)
    blankets = model.markov_blanket_probabilities()
    assert (found["kind"], found["of"]) == ("blanket", "Alarm")
    assert {one["name"]: one["probability"] for one in found["members"]}["JohnCalls"] == blankets[i, j]
    assert model.markov_blanket_probability("Alarm", "JohnCalls") == blankets[i, j]
    found = json.loads(run("query", learned, "effect", "Alarm", "JohnCalls", "--json").stdout)
    effect = model.causal_effect("Alarm", "JohnCalls")
    assert found == {
        "kind": "effect",
        "cause": "Alarm",
        "outcome": "JohnCalls",
        "effect": effect.effect,
        "standard_deviation": effect.effect_sd,
        "p_causes": effect.p_causes,
        "change": list(effect.change),
        "values": [{"state": state, "value": value} for state, value in effect.values.items()],
    }
    network = model.network()
    given = json.loads(run("query", learned, "marginal", "JohnCalls", "Alarm=True", "--json").stdout)
    assert (given["kind"], given["of"], given["given"]) == ("marginal", "JohnCalls", {"Alarm": "True"})
    np.testing.assert_array_equal(
        [one["probability"] for one in given["states"]], network.marginal("JohnCalls", given={"Alarm": "True"})
    )
    done = json.loads(run("query", learned, "do", "Alarm", "JohnCalls=True", "--json").stdout)
    assert (done["kind"], done["of"], done["do"]) == ("do", "Alarm", {"JohnCalls": "True"})
    assert tuple(one["state"] for one in done["states"]) == network.states[i]
    np.testing.assert_array_equal(
        [one["probability"] for one in done["states"]], network.marginal("Alarm", do={"JohnCalls": "True"})
    )
    assert "Alarm → JohnCalls" in run("query", learned, "edge", "Alarm", "JohnCalls").stdout


def test_effect_of_another_change_on_other_values(learned):
    asked = ["query", learned, "effect", "Alarm", "JohnCalls"]
    forth = json.loads(run(*asked, "--change", "False", "True", "--values", "True=1", "--json").stdout)
    back = json.loads(run(*asked, "--change", "True", "False", "--values", "True=2", "--json").stdout)
    assert forth["change"] == ["False", "True"]
    assert {one["state"]: one["value"] for one in back["values"] if one["value"]} == {"True": 2.0}
    assert back["effect"] == pytest.approx(-2 * forth["effect"])
    assert forth["effect"] != 0
    text = run(*asked, "--change", "True", "False", "--values", "True=2").stdout
    assert "True to False" in text
    assert "True 2" in text


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (["edge", "Alarm", "JohnCall"], "no variable 'JohnCall' (did you mean 'JohnCalls'"),
        (["edge", "Alarm", "JohnCalls", "--change", "a", "b"], "--change applies to effect, not to edge"),
        (["effect", "Alarm", "JohnCalls", "--values", "True"], "'True' assigns no number to a state"),
        (["effect", "Alarm", "JohnCalls", "--change", "no", "True"], "'no'"),
        (["edge", "Alarm"], "edge takes 2 names, not 1"),
        (["edge", "Alarm", "rain"], "no variable 'rain': choose from"),
        (["sing"], "unknown question 'sing': ask edge"),
        (["marginal", "Alarm", "JohnCalls"], "'JohnCalls' assigns no value to a variable: write NAME=VALUE"),
        (["marginal", "Alarm", "JohnCalls=maybe"], "maybe"),
    ],
)
def test_query_refuses(learned, question, message):
    result = run("query", learned, *question)
    assert isinstance(result.exception, ValueError)
    assert message in str(result.exception)


def test_sample(learned):
    model = brai.load(learned / "model.brai")
    lines = run("sample", learned, "-n", 5, "--seed", 3).stdout.splitlines()
    drawn = model.posterior().sample(5, random_state=3)
    assert [json.loads(line)["log_score"] for line in lines] == [score for _, score in drawn]
    assert [json.loads(line)["directed"] for line in lines] == [
        [list(edge) for edge in graph.directed_edges()] for graph, _ in drawn
    ]
    assert run("sample", learned, "-n", 5, "--seed", 3).stdout.splitlines() == lines
    assert run("sample", learned, "-n", 5, "--seed", 4).stdout.splitlines() != lines
    for heat in (1.0, 100.0):
        told = ["--from", "tree", "--temperature", heat]
        lines = run("sample", learned, "-n", 5, "--seed", 3, *told).stdout.splitlines()
        drawn = model.sample(5, heat, random_state=3)
        assert [json.loads(line)["log_score"] for line in lines] == [score for _, score in drawn]
    assert "add --from tree" in run("sample", learned, "--temperature", 2).output
    rows = list(csv.reader(run("sample", learned, "--rows", "-n", 50).stdout.splitlines()))
    assert tuple(rows[0]) == model.network().names
    assert len(rows) == 51
    again = brai.Dataset.conforming(dict(zip(rows[0], zip(*rows[1:], strict=True), strict=True)), model.network())
    np.testing.assert_array_equal(again.codes, model.network().sample(50, random_state=0).codes)


def test_sample_of_a_model_without_a_tree(tmp_path):
    model = brai.OrderSearch().fit(brai.load_network("cancer").sample(200, random_state=0))
    brai.save(model, tmp_path / "m.brai")
    (line,) = run("sample", tmp_path / "m.brai", "-n", 1).stdout.splitlines()
    assert json.loads(line)["directed"] == [list(edge) for edge in model.cpdag_.directed_edges()]
    refused = run("sample", tmp_path / "m.brai", "--from", "tree")
    assert "the OrderSearch model in" in str(refused.exception)


def test_report_is_written_anew(learned, tmp_path):
    path = tmp_path / "again.html"
    result = run("report", learned, "-o", path, "--title", "Quakes")
    assert result.exit_code == 0, result.output
    assert "Quakes" in path.read_text()
    kept = json.loads((learned / "summary.json").read_text())
    assert kept["data"] == "quake.csv"
    assert kept["command"].startswith("brai")
    data = json.loads(re.search(r'id="data">(.*?)</script>', path.read_text(), re.DOTALL)[1])
    assert ["Data", "quake.csv"] in data["facts"]
    assert data["command"] == kept["command"]


def test_compare(learned, tmp_path):
    truth = tmp_path / "truth.bif"
    network = brai.load_network("earthquake")
    network.write_bif(truth)
    model = brai.load(learned / "model.brai")
    found = json.loads(run("compare", learned, truth, "--json").stdout)
    assert found["shd"] == model.cpdag_.shd(network.pdag.to_cpdag().reorder(model.cpdag_.names))
    edges = [*found["only_first"], *found["only_second"]]
    edges += [edge for pair in found["directed_otherwise"] for edge in (pair["first"], pair["second"])]
    assert all(edge.keys() == {"from", "to", "directed"} for edge in edges)
    parts = [len(found[key]) for key in ("only_first", "only_second", "directed_otherwise")]
    assert found["shd"] == sum(parts)
    assert found["same"] + parts[0] + parts[2] == model.cpdag_.n_edges
    same = json.loads(run("compare", learned, learned / "graph.json", "--json").stdout)
    assert (same["shd"], same["same"]) == (0, model.cpdag_.n_edges)
    other = tmp_path / "other.bif"
    brai.load_network("cancer").write_bif(other)
    assert "only one of them has" in str(run("compare", learned, other).exception)


def test_a_folder_without_a_model(tmp_path):
    result = run("query", tmp_path, "edge", "a", "b")
    assert "no model.brai in" in str(result.exception)
    assert "brai learn FILE -o" in str(result.exception)


def test_an_output_folder_that_cannot_be_written_is_refused_before_the_work(tmp_path, monkeypatch):
    table = write_csv(tmp_path / "t.csv", brai.load_network("cancer").sample(50, random_state=0))
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr("brai.learners.brai.BRAI.fit", lambda *_: pytest.fail("worked before it looked"))
    result = run("learn", table, "-o", tmp_path / "file" / "out")
    assert isinstance(result.exception, OSError)
    assert "give another folder with -o" in str(result.exception)


def test_states_file(tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("rain,wet\n" + "no,no\nyes,yes\n" * 30)
    states = tmp_path / "states.toml"
    states.write_text('rain = ["no", "yes", "hail"]\n')
    result = run("learn", table, "--states", states, "-o", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.output
    network = brai.Network.read_bif(tmp_path / "out" / "network.bif")
    assert network.states[network.names.index("rain")] == ("no", "yes", "hail")
    states.write_text("rain = 3")
    assert "give a list of labels" in str(run("learn", table, "--states", states).exception)
    states.write_text("rain = [")
    assert "is not a TOML file" in str(run("learn", table, "--states", states).exception)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5m", 90), ("1h30m", 5400), ("2h", 7200)]
)
def test_durations(text, seconds):
    from brai.cli.options import Duration

    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "x", "5 m", "0", "-3", "3d"])
def test_durations_that_are_none(tmp_path, text):
    result = run("learn", tmp_path / "t.csv", "--budget", text)
    assert result.exit_code == 2
    assert "90s, 5m, 1h30m" in result.output


def test_ctrl_c_while_chains_run_keeps_the_graph(tmp_path, monkeypatch):
    table = write_csv(tmp_path / "t.csv", brai.load_network("cancer").sample(200, random_state=0))

    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("brai.learners.brai.BRAI.chains", interrupted)
    result = run("learn", table, "-o", tmp_path / "out", "--json", "--quiet")
    assert result.exit_code == 130
    assert "stopped; this is the best graph so far, with probabilities from the tree" in result.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["posterior"]["k"] == 100
    model = brai.load(tmp_path / "out" / "model.brai")
    assert model.posterior_from == "tree"  # so that questions get the answers that were written down
    assert "edges" in json.loads((tmp_path / "out" / "summary.json").read_text())["posterior"]


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_ctrl_c_ends_with_130_and_no_traceback(tmp_path):
    data = brai.load_network("alarm").sample(5000, random_state=0)
    table = write_csv(tmp_path / "t.csv", data)
    command = [
        sys.executable,
        "-m",
        "brai",
        "learn",
        str(table),
        "-o",
        str(tmp_path / "out"),
        "--quiet",
        "-s",
        "9",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        while not (tmp_path / "out").is_dir():  # made just before the work starts
            assert process.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "brai: stopped" in errors


def test_a_full_disk_is_one_line_and_loses_nothing(tmp_path, monkeypatch, capsys):
    table = write_csv(tmp_path / "t.csv", brai.load_network("cancer").sample(100, random_state=0))
    out = tmp_path / "out"
    out.mkdir()
    (out / "model.brai").write_bytes(b"what was there")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    monkeypatch.setattr(sys, "argv", ["brai", "learn", str(table), "-o", str(out), "-k", "5", "--quiet"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    said = capsys.readouterr().err.strip()
    assert "No space left on device" in said
    assert len(said.splitlines()) == 1
    assert sorted(path.name for path in out.iterdir()) == ["model.brai", "unfinished"]
    assert not any((out / "unfinished").iterdir())
    assert (out / "model.brai").read_bytes() == b"what was there"


def awkward(path: Path, name: str) -> Path:
    data = brai.load_network("cancer").sample(100, random_state=0)
    return write_csv(path, brai.Dataset(data.codes, (name, *data.names[1:]), data.states))


@pytest.mark.parametrize("name", ['say "hi"', "two\nlines"])
def test_what_cannot_be_written_is_left_out_with_a_note(name, tmp_path):
    table, out = awkward(tmp_path / "t.csv", name), tmp_path / "out"
    out.mkdir()
    (out / "network.bif").write_text("of another run")
    (out / "report.html").write_text("of another run")
    result = run("learn", table, "-o", out, "-k", "5", "--quiet", "--json")
    assert result.exit_code == 0, result.output
    assert "warning: network.bif is left out" in result.stderr
    found = json.loads(result.stdout)
    assert list(found["left_out"]) == ["network.bif"]
    assert json.loads((out / "summary.json").read_text()) == found
    assert sorted(path.name for path in out.iterdir()) == sorted(set(FILES) - {"network.bif", "network.json"})
    assert "of another run" not in (out / "report.html").read_text()
    assert "network.bif" not in run("learn", table, "-o", out, "-k", "5", "--quiet").stderr.splitlines()[-1]


def test_files_are_replaced_together(learned, tmp_path, monkeypatch):
    """If one of them cannot be written, the old ones all stay."""
    table, out = awkward(tmp_path / "t.csv", "x"), tmp_path / "out"
    out.mkdir()
    for name in FILES:
        (out / name).write_text(f"old {name}")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("brai.show.report.write", full)
    assert isinstance(run("learn", table, "-o", out, "-k", "5", "--quiet").exception, OSError)
    for name in FILES:
        assert (out / name).read_text() == f"old {name}"
    assert not list(out.glob(".*"))


def test_two_commands_with_one_folder(tmp_path):
    table, out = awkward(tmp_path / "t.csv", "x"), tmp_path / "out"
    out.mkdir()
    with claimed(out):
        result = run("learn", table, "-o", out, "-k", "5", "--quiet")
    assert isinstance(result.exception, FolderInUseError)
    assert str(out) in str(result.exception)
    assert list(out.iterdir()) == []
    assert run("learn", table, "-o", out, "-k", "5", "--quiet").exit_code == 0
