"""The import graph of the package: what imports what, deferred imports included.

    python tests/import_graph.py [FILE.dot]

prints the layers as a table of imports between sub-packages, and writes the graph for Graphviz.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "brai"
LAYERS = (  # each may import from those before it; the order of docs/architecture.md
    "runtime", "data", "kernels", "graphs", "kinds", "tree", "search", "posterior", "learners", "files", "show",
    "cli", "research",
)  # fmt: skip
PUBLIC = {"", "__main__"}  # the package itself, whose names are loaded when they are asked for; and the program


def modules() -> dict[str, Path]:
    """Modules by their dotted name under brai."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports() -> dict[str, set[str]]:
    """For each module those that it imports, at the top or inside functions."""
    known = modules()
    return {name: set(_imported(path, known)) - {name} for name, path in known.items() if name not in PUBLIC}


def _imported(path: Path, known: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            dotted = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by the full name"
            dotted = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in dotted:
            if name == "brai" or name.startswith("brai."):
                inside = name.removeprefix("brai").removeprefix(".")
                while inside not in known:  # a name in a module
                    inside = inside.rpartition(".")[0]
                if inside not in PUBLIC:
                    yield inside


def layer(module: str) -> str:
    """The sub-package of a module."""
    return module.partition(".")[0]


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """A cycle through each module that is in one, as far as they are found one after the other."""
    found, done = [], set()

    def visit(module: str, path: list[str]) -> None:
        if module in path:
            found.append([*path[path.index(module) :], module])
        elif module not in done:
            for other in sorted(graph.get(module, ())):
                visit(other, [*path, module])
            done.add(module)

    for module in sorted(graph):
        visit(module, [])
    return found


def against_layers(graph: dict[str, set[str]]) -> list[str]:
    """Imports from a layer that comes later."""
    place = {name: i for i, name in enumerate(LAYERS)}
    return [
        f"{module} imports {other}"
        for module, others in sorted(graph.items())
        for other in sorted(others)
        if place[layer(other)] > place[layer(module)]
    ]


def main() -> None:
    graph = imports()
    counts = Counter((layer(a), layer(b)) for a, others in graph.items() for b in others)
    print(f"{len(graph)} modules, {sum(counts.values())} imports; rows import from columns")
    print(" " * 10 + " ".join(f"{name[:6]:>6}" for name in LAYERS))
    for row in LAYERS:
        print(f"{row:10}" + " ".join(f"{counts[row, column] or '':>6}" for column in LAYERS))
    print("cycles:", cycles(graph) or "none")
    print("against the layers:", against_layers(graph) or "none")
    if len(sys.argv) > 1:
        lines = [f'  "{a}" -> "{b}";' for a, others in graph.items() for b in sorted(others)]
        Path(sys.argv[1]).write_text("\n".join(["digraph brai {", *lines, "}", ""]))


if __name__ == "__main__":
    main()
