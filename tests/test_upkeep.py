"""What is easily forgotten: marks of tests, the API page, the version in other files."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import yaml

import brai

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "brai"
NOT_WITHOUT_THE_JIT: dict[
    str, str
] = {}  # test files that call compiled functions, and why they are too slow without


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def compiled_modules() -> set[str]:
    """Modules with compiled functions; `simd` is what they are made of."""
    files = [*(PACKAGE / "kernels").glob("*.py"), *(PACKAGE / "kinds").rglob("*.py")]
    found = {file for file in files if "from brai.runtime.jit import" in file.read_text(encoding="utf-8")}
    names = {".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts) for file in found}
    return names | {"brai.kernels.simd"}


def compiled_names(tree: ast.Module) -> set[str]:
    """Names that a file has for compiled modules and their functions; constants and types are in capitals."""
    modules = compiled_modules()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                function = node.module in modules and not alias.name[0].isupper()
                if function or f"{node.module}.{alias.name}" in modules:
                    found.add(alias.asname or alias.name)
    return found


def calls(tree: ast.AST, names: set[str]) -> bool:
    """Whether one of the names is called, or something of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func.value if isinstance(node.func, ast.Attribute) else node.func
            if isinstance(called, ast.Name) and called.id in names:
                return True
    return False


def direct_tests(tree: ast.Module) -> list[ast.FunctionDef]:
    """Tests that call compiled functions, themselves or by other functions of their file."""
    names = compiled_names(tree)
    found: list[ast.FunctionDef] = []
    while True:
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node not in found]
        more = [node for node in functions if calls(node, names)]
        if not more:
            return [node for node in found if node.name.startswith("test_")]
        found += more
        names |= {node.name for node in more}


def is_marked(node: ast.AST) -> bool:
    return "pytest.mark.kernels" in ast.unparse(node)


def test_compiled_modules_are_found():
    assert {"brai.kernels.orders", "brai.kinds.discrete.contingency"} <= compiled_modules()
    assert "brai.kinds.discrete.network" not in compiled_modules()


@pytest.mark.parametrize("file", sorted(Path(__file__).parent.glob("test_*.py")), ids=lambda file: file.stem)
def test_what_calls_compiled_functions_runs_without_the_jit_too(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    if any(isinstance(node, ast.Assign) and is_marked(node) for node in tree.body):
        return
    for test in direct_tests(tree):
        if f"{file.stem}::{test.name}" not in NOT_WITHOUT_THE_JIT:
            assert any(map(is_marked, test.decorator_list)), f"{file.name}: {test.name} lacks pytest.mark.kernels"


def test_every_public_name_is_on_the_api_page():
    shown = re.findall(
        r"^::: brai\.(\S+)(?:\n    options:\n      heading: (.+))?", read("docs/api.md"), re.MULTILINE
    )
    names = {name for name, _ in shown}
    assert set(brai._HOME) <= names
    headings = {heading.removeprefix("brai."): name for name, heading in shown if heading.startswith("brai.")}
    assert headings == brai._MODULES


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == brai.__version__
    assert citation["title"] == "brai"


def test_the_changelog_begins_with_this_version():
    assert re.findall(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)[0] == brai.__version__


def test_workflows_and_hooks_call_what_the_makefile_has():
    files = [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml"]
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.MULTILINE))
    called = set()
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert yaml.safe_load(text), file
        called |= set(re.findall(r"(?:run|entry): make ([\w-]+)", text))
    assert {"test", "test-slow", "ruff-check", "mypy"} <= called <= targets
