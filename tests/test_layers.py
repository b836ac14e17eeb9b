"""The shape of the package: layers, no cycles, few arguments."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
from pathlib import Path

import import_graph

MOST = 8  # arguments of a function


def test_imports_follow_the_layers_and_form_no_cycle():
    graph = import_graph.imports()
    assert import_graph.against_layers(graph) == []
    assert import_graph.cycles(graph) == []
    assert {import_graph.layer(name) for name in graph} == set(import_graph.LAYERS)


def test_nothing_imports_research():
    graph = import_graph.imports()
    assert not [a for a, others in graph.items() for b in others if "research" in b and "research" not in a]


def test_only_dependencies_are_imported_at_the_top():
    """What an extra brings is imported where it is used: a plain install must run (`make demo` has no extras)."""
    project = tomllib.loads((import_graph.PACKAGE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    core = {re.split(r"[<>=;\[ ]", one)[0] for one in project["project"]["dependencies"]}
    core = {
        *core - {"scikit-learn"},
        "sklearn",
        "llvmlite",
        "brai",
        *sys.stdlib_module_names,
    }  # numba has llvmlite
    found = []
    for name, path in import_graph.modules().items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:  # not below `if TYPE_CHECKING`
            dotted = [own.name for own in node.names] if isinstance(node, ast.Import) else []
            dotted += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            found += [f"{name}: {one}" for one in dotted if one.partition(".")[0] not in core]
    assert found == []


def test_cycles_and_wrong_imports_would_be_found():
    graph = {"runtime.a": {"data.b"}, "data.b": {"data.c"}, "data.c": {"runtime.a"}}
    assert import_graph.cycles(graph) == [["data.b", "data.c", "runtime.a", "data.b"]]
    assert import_graph.against_layers(graph) == ["runtime.a imports data.b"]


def test_the_architecture_page_lists_the_layers_in_this_order():
    page = (import_graph.PACKAGE.parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
    places = [page.find(f"| `{name}/` |") for name in import_graph.LAYERS]
    assert -1 not in places
    assert places == sorted(places)


def long_functions() -> list[str]:
    """Functions with more than MOST arguments that are neither public constructors nor command lines."""
    found = []
    for name, path in import_graph.modules().items():
        lines = path.read_text(encoding="utf-8").splitlines()
        for node in ast.walk(ast.parse("\n".join(lines))):
            if not isinstance(node, ast.FunctionDef):
                continue
            a = node.args
            n = len([*a.posonlyargs, *a.args, *a.kwonlyargs])
            public = node.name == "__init__" or any("click" in ast.unparse(own) for own in node.decorator_list)
            reason = "\n".join(lines[node.lineno - 2 : node.lineno]).partition("# arguments: ")[2]
            if n > MOST and not public and not reason:
                found.append(f"{name}.{node.name} {n}")
    return found


def test_no_function_has_many_arguments_without_a_reason():
    assert long_functions() == []


def test_modules_fit_in_the_head():
    sizes = {
        name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in import_graph.modules().items()
    }
    assert {name: n for name, n in sizes.items() if n > 400} == {}


def test_kernels_have_one_decorator():
    """Compiled code is made by brai.runtime.jit only, so all of it is cached by one digest."""
    for path in sorted(Path(inspect.getfile(import_graph)).parents[1].glob("src/brai/**/*.py")):
        text = path.read_text(encoding="utf-8")
        if path.name != "jit.py" and "research" not in path.parts:  # which measures what the machine can do
            assert "numba.njit" not in text
            assert "@jit" not in text
