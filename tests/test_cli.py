"""The command line, as a person and as a program use it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from brai import __version__, load_network
from brai.cli import cli, main
from brai.show.summary import as_text

SCHEMA = {
    "brai": str, "seed": int, "data": str, "command": str, "rows": int, "kind": str,
    "variables": list,
    "map": {"directed": list, "undirected": list, "log_score": float, "log_likelihood": float, "log_prior": float,
            "score": str, "ess": float | str},
    "prior": {"structure": str | dict, "sentence": str, "beliefs": list, "compared": list},
    "tree": {"s": int, "nodes": int, "leaves": int, "depth": int, "routes": int, "distinct_cpdags": int,
             "distinct_is_exact": bool, "repaired_leaves": int, "truncated_leaves": int,
             "ci_tests_by_order": list},
    "search": {"pairs_of_parents": {"candidates": int, "others": int, "in_time": bool, "notice": str}},
    "posterior": {"k": int, "cpdags": int, "graphs": str, "n_effective": float, "prior": str, "source": str,
                  "edges": list},
}  # fmt: skip
CHOSEN = {
    **{key: kind for key, kind in SCHEMA.items() if key != "search"},
    "tree": {**SCHEMA["tree"], "threshold": float, "thresholds": list},
}  # of --paper
CHAINS = {
    "halves": int,
    "chains": int,
    "draws_each": int,
    "r_hat": float,
    "ess": float,
    "max_disagreement": float,
}
DRAWN = {"draws": int, "temperature": float | str, "method": str}


def matches(value, schema) -> bool:
    if isinstance(schema, dict):
        return value.keys() == schema.keys() and all(matches(value[k], schema[k]) for k in schema)
    return isinstance(value, schema)


@pytest.fixture
def table(tmp_path) -> Path:
    data = load_network("earthquake").sample(400, random_state=0)
    rows = [[data.states[v][c] for v, c in enumerate(row)] for row in data.codes.T]
    path = tmp_path / "quake.csv"
    path.write_text("\n".join(",".join(row) for row in [data.names, *rows]))
    return path


def run(*arguments: str):
    return CliRunner().invoke(cli, list(map(str, arguments)))


def test_learn_as_text(table):
    result = run("learn", table, "--seed", 1)
    assert result.exit_code == 0
    for words in (
        "400 rows, 5 variables",
        "(MAP CPDAG), log score",
        "routes",
        "distinct CPDAGs",
        "strength",
    ):
        assert words in result.stdout


@pytest.mark.parametrize("options", [[], ["--paper"], ["-s", "2", "--ci-test", "g2", "--score", "bic"]])
def test_learn_as_json(table, options):
    found = json.loads(run("learn", table, "--json", "--prior", "classes", "-k", 7, *options).stdout)
    assert matches(found, CHOSEN if "--paper" in options else SCHEMA)
    assert found["brai"] == __version__
    assert found["posterior"]["k"] == 7
    assert found["posterior"]["prior"] == "classes"
    assert found["posterior"]["cpdags"] <= 7
    for row in found["posterior"]["edges"]:
        assert row.keys() == {"from", "to", "strength", "direction"}
        assert 0 < row["strength"] <= 1
        assert 0.5 <= row["direction"] + 1e-9 <= 1 + 2e-9


@pytest.mark.parametrize(("options", "method"), [([], "exact"), (["--paper"], "paper")])
def test_posterior_from_draws(table, options, method):
    result = run("learn", table, "--json", "--draws", 50, "--temperature", "inf", *options)
    found = json.loads(result.stdout)["posterior"]
    assert {k: found[k] for k in DRAWN} == {"draws": 50, "temperature": "inf", "method": method}
    assert "50 draws" in run("learn", table, "--draws", 50, *options).stdout


@pytest.mark.parametrize(
    ("files", "where"), [(("graph.json", "edges.csv"), "in edges.csv"), (None, "with --json")]
)
def test_text_lists_the_strongest_edges_only(files, where):
    pairs = [(f"a{i:02}", f"b{i:02}") for i in range(25)]
    edges = [
        {"from": a, "to": b, "strength": 1 - i / 100, "direction": 1.0 if i % 2 else 0.6}
        for i, (a, b) in enumerate(pairs)
    ]
    tree = {"s": 3, "nodes": 1, "leaves": 1, "depth": 0, "routes": 1, "distinct_cpdags": 1}
    tree |= {"distinct_is_exact": True, "repaired_leaves": 0, "truncated_leaves": 0, "ci_tests_by_order": []}
    found = {
        "rows": 9,
        "variables": ["a"],
        "map": {
            "directed": pairs[:15],
            "undirected": pairs[15:],
            "log_score": -1.0,
            "score": "bic",
            "ess": 1.0,
            "log_likelihood": -0.75,
            "log_prior": -0.25,
        },
        "prior": {"sentence": "Before the data.", "beliefs": []},
        "tree": tree,
        "posterior": {"k": 1, "cpdags": 1, "graphs": "DAG", "n_effective": 1.0, "prior": "dags", "edges": edges},
    }
    text = as_text(found, files)
    assert (text.count("→"), text.count("–")) == (15 + 10, 5 + 10)
    assert f"  … and 5 more {where}" in text
    assert "a19" in text.split("Edge probabilities")[1]
    assert "a20" not in text
    assert "the best 1 DAG of tree and search" in text
    found["map"]["undirected"], found["posterior"]["edges"] = pairs[15:20], edges[:20]
    assert "more" not in as_text(found, files)


def test_same_seed_same_words(table):
    assert run("learn", table, "--seed", 3).stdout == run("learn", table, "--seed", 3).stdout


def test_demo():
    result = run("demo", "--rows", 300)
    assert result.exit_code == 0
    for words in ("Asia network", "either → dysp", "smoke – lung", "MAP CPDAG", "Edge probabilities"):
        assert words in result.stdout
    own = {key: kind for key, kind in SCHEMA["posterior"].items() if key != "k"}
    assert matches(json.loads(run("demo", "--json").stdout), {**SCHEMA, "posterior": {**own, **CHAINS}})
    assert matches(json.loads(run("demo", "--json", "--paper").stdout), CHOSEN)
    assert "4 chains, R-hat" in result.stdout


def test_missing_values(table):
    lines = table.read_text().splitlines()
    lines[3] = "," + lines[3].split(",", 1)[1]
    table.write_text("\n".join(lines))
    refused = run("learn", table, "--missing", "error")
    assert "--missing drop removes these rows, --missing label makes missing a state" in str(refused.exception)
    imputed = run("learn", table, "--json", "-k", 1)
    assert json.loads(imputed.stdout)["rows"] == 400
    dropped = run("learn", table, "--missing", "drop", "--json", "-k", 1)
    assert json.loads(dropped.stdout)["rows"] == 399
    assert "warning: 1 of 400 rows dropped: column 'Burglary' has 1 missing value" in dropped.stderr
    labelled = run("learn", table, "--missing", "label", "--json", "-k", 1)
    assert json.loads(labelled.stdout)["rows"] == 400
    assert labelled.stderr == ""


@pytest.mark.slow
def test_nearly_an_identifier_is_told(table):
    lines = table.read_text().splitlines()
    table.write_text(
        "\n".join(f"{'id' if i == 0 else f'p{i // 2 * 2 if i < 50 else i}'},{x}" for i, x in enumerate(lines))
    )
    result = run("learn", table, "--json", "-k", 1)
    assert "id" in json.loads(result.stdout)["variables"]
    assert result.stderr.count("looks like an identifier") == 1
    assert (
        "'id' (376 different values in 400 rows), which looks like an identifier: leave it out (--drop COLUMN)"
        in result.stderr
    )
    assert "declare it in --states FILE" in result.stderr
    assert "did you mean 'Alarm'?" in str(run("learn", table, "--drop", "alarm").exception)


def test_drop_and_delimiter(table):
    lines = table.read_text().splitlines()
    text = "\n".join(f"id{i}," + line for i, line in enumerate(lines))
    table.write_text(text.replace("id0", "id", 1).replace(",", ";"))
    assert run("learn", table).exit_code != 0
    result = run("learn", table, "--drop", "id", "--delimiter", ";", "--json")
    assert "id" not in json.loads(result.stdout)["variables"]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["learn", "missing.csv"], 1, "missing.csv"),
        (["learn", "{table}", "--drop", "nobody"], 1, "'nobody'"),
        (["learn", "{table}", "-s", "0"], 2, "-s"),
        (["learn", "{table}", "--ci-test", "magic"], 2, "magic"),
        (["learn", "{table}", "--paper", "--ci-test", "g2"], 2, "--paper"),
        (["learn", "{table}", "--temperature", "2"], 2, "--draws"),
        (["learn", "{table}", "-k", "3", "--draws", "5"], 2, "--draws"),
        (["learn", "."], 1, "directory"),
        (["learn", "{empty}"], 1, "empty"),
    ],
)
def test_errors_are_one_line_and_no_traceback(table, tmp_path, arguments, code, words):
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    arguments = [a.format(table=table, empty=empty) for a in arguments]
    done = subprocess.run([sys.executable, "-m", "brai", *arguments], capture_output=True, text=True)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_help_is_light_and_lists_commands():
    code = "import sys, brai.cli; brai.cli.cli.main(['--help'], standalone_mode=False); print(sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "learn" in done.stdout
    assert "demo" in done.stdout
    for heavy in ("numba", "sklearn", "numpy", "scipy"):
        assert f"'{heavy}'" not in done.stdout


# --- hostile input ---


def test_control_characters_do_not_reach_the_terminal(tmp_path, monkeypatch, capsys):
    table = tmp_path / "t.csv"
    rows = "\n".join(f"{a},{a},x" for a in "01" * 50)
    table.write_text(f"a\x1b]0;title\x07,b\x1b[2J,c\x9b31m\n{rows}\n")
    out = tmp_path / "out"
    result = run("learn", table, "-o", out, "-k", "3", "--quiet")
    assert result.exit_code == 0, result.output
    asked = run("query", out, "edge", "a\x1b]0;title\x07", "b\x1b[2J")
    monkeypatch.setattr(sys, "argv", ["brai", "query", str(out), "edge", "a\x1b[2J", "b"])
    with pytest.raises(SystemExit):
        main()
    compared = run("compare", out, out / "network.bif")
    said = [result.stdout, result.stderr, asked.stdout, capsys.readouterr().err, compared.stdout]
    assert "\\x1b" in result.stdout
    assert asked.exit_code == 0, asked.output
    for text in said:
        assert all(c.isprintable() or c == "\n" for c in text)


@pytest.mark.slow
@pytest.mark.parametrize("content", ["[]", "3", "null", "{", "[" * 100_000])
def test_a_damaged_summary_costs_no_more_than_the_name(content, tmp_path):
    out = tmp_path / "out"
    assert run("demo", "--rows", "100", "-o", out, "-k", "3", "--quiet").exit_code == 0
    (out / "summary.json").write_text(content)
    result = run("report", out)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--max-parents", 2000, None),
        ("--thin", 9223372036854775808, "thin is 9223372036854775808: give a whole number up to"),
        ("--n-draws", 10**13, "lower one of them"),
        ("-s", 10**30, "-s"),
    ],
)
def test_numbers_that_are_too_large(option, value, said, tmp_path):
    result = run("demo", "--rows", "60", option, value, "-k", "3", "--quiet")
    if said is None:
        assert result.exit_code == 0, result.output
    else:
        assert result.exit_code != 0
        assert isinstance(result.exception, ValueError | SystemExit)
        assert said in result.output + str(result.exception)


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_ctrl_c_while_modules_are_imported_is_one_line(tmp_path):
    """A module that is slow to come stands for a slow disk."""
    (tmp_path / "click.py").write_text("print('importing', flush=True)\nimport time\ntime.sleep(30)\n")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-m", "brai", "--help"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, env=environment, text=True) as child:
        assert child.stdout.readline().strip() == "importing"
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=20)
    assert errors == "brai: stopped\n"
    assert child.returncode == 130


def test_how_columns_are_taken_is_told(tmp_path):
    rows = [f"{'mf'[i % 2]},{'xyz'[i % 3]},{i * 7 % 4},{i * 0.5},{i % 17}" for i in range(60)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["sex,site,stage,age,bp", *rows]))
    tree = ("--posterior-from", "tree", "--quiet")
    result = run("learn", path, *tree)
    words = "2 categories, 1 ordered (stage), 2 measurements (age, bp)"
    assert f"{words}; --kind COLUMN=KIND changes this\n" in result.stderr
    assert result.stdout.startswith(f"60 rows, 5 variables: {words}\n")
    found = run("learn", path, *tree, "--kind", "stage=continuous", "--json")
    assert found.stderr == ""
    kinds = json.loads(found.stdout)["kinds"]
    assert kinds == dict.fromkeys(("sex", "site"), "discrete") | dict.fromkeys(
        ("stage", "age", "bp"), "continuous"
    )
    path.write_text("\n".join(["sex,stage", *(",".join(row.split(",")[::2][:2]) for row in rows)]))
    told = run("learn", path, *tree, "--kind", "stage=ordered").stderr
    assert "stage: the order is not used, since there are no measurements" in told
    assert "measurements" not in run("learn", path, *tree).stderr
    assert "=ordered" in run("learn", path, "--kind", "stage").stderr
