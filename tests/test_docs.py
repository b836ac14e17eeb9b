"""The documentation is true: its code runs, what it prints is what it says, and its links lead somewhere.

A block of code is run unless a comment above it says otherwise:

- ``<!-- not run: reason -->``: never, as when it needs software that is not Python; Python is still compiled
- ``<!-- needs: module -->``: if the module can be imported

A text block below ``<!-- output -->`` is what the block before it prints: words to the letter, numbers about.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import shutil
import subprocess
import sys
import unicodedata
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from brai.cli import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [DOCS / "index.md", *sorted((DOCS / "guide").glob("*.md"))]
LINKED = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

FENCE = re.compile(r"(?ms)(?:^<!-- (?P<mark>[^\n]*?) -->\n+)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$")
NUMBER = re.compile(r"(?<![\w.])[-+−±]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass(frozen=True)
class Block:
    kind: str
    text: str
    mark: str
    line: int

    @property
    def runs(self) -> bool:
        word, _, rest = self.mark.partition(": ")
        if word == "needs":
            return found(rest)
        return word != "not run"

    @property
    def is_foreign(self) -> bool:
        """Whether it is about other software, whose warnings are not ours."""
        return self.mark.startswith("needs: ") and not self.mark.startswith("needs: brai")


def found(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(one["kind"], one["text"], one["mark"] or "", text.count("\n", 0, one.start("kind")) + 1)
        for one in FENCE.finditer(text)
    ]


def commands(text: str) -> list[list[str]]:
    """The lines of a shell block that call brai, as words."""
    lines = (line.strip().removeprefix("$ ") for line in text.replace("\\\n", " ").splitlines())
    return [words[1:] for line in lines if (words := shlex.split(line, comments=True))[:1] == ["brai"]]


def same_text(shown: str, printed: str) -> bool:
    """Equal words, and numbers that differ by less than 5 % or 0.02."""
    one, two = ((NUMBER.sub("#", text).split(), NUMBER.findall(text)) for text in (shown, printed))
    if one[0] != two[0]:
        return False
    values = [[float(re.sub("[,±+]", "", number).replace("−", "-")) for number in side[1]] for side in (one, two)]
    return all(abs(a - b) <= max(0.02, 0.05 * abs(b)) for a, b in zip(*values, strict=True))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    space: dict[str, object] = {"__name__": "__main__"}
    printed, ran = "", False
    for block in blocks_of(page):
        where = f"{name_of(page)}:{block.line}"
        if block.kind == "python":
            code = compile("\n" * block.line + block.text, str(page), "exec")
            if ran := block.runs:
                with warnings.catch_warnings():
                    if block.is_foreign:
                        warnings.simplefilter("ignore")
                    exec(code, space)
                printed = capsys.readouterr().out
        elif block.kind in ("console", "bash"):
            printed, ran = "", block.runs
            for words in commands(block.text) if ran else []:
                result = CliRunner().invoke(cli, words)
                said = result.exception or result.output
                assert result.exit_code == 0, f"{where}: brai {shlex.join(words)}: {said}"
                printed += result.stdout
        elif block.mark == "output" and ran:
            assert same_text(block.text, printed), f"{where} says\n{block.text}\nbut what is printed is\n{printed}"


def test_what_is_not_run_says_why():
    found = [(f"{name_of(page)}:{block.line}", block.mark) for page in PAGES for block in blocks_of(page)]
    for where, mark in found:
        assert re.fullmatch(r"|output|not run: .{10,}|needs: [\w.]+", mark), f"{where}: unknown comment {mark!r}"
    assert sum(mark.startswith("not run") for _, mark in found) <= 3  # use it sparingly


def test_every_block_is_of_a_known_kind():
    for page in PAGES:
        for block in blocks_of(page):
            where = f"{name_of(page)}:{block.line}"
            assert block.kind in ("python", "console", "bash", "text", "r", "toml"), where


# --- links -----------------------------------------------------------------------------------------------


def slug(heading: str) -> str:
    """The anchor of a heading, as mkdocs makes it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    plain = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "`code`", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(page: Path) -> set[str]:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return {slug(heading) for heading in re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\[[^\]]*\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        assert place.is_file(), f"{name_of(page)}: {target} is not there"
        if page.is_relative_to(DOCS):
            assert place.is_relative_to(DOCS), f"{name_of(page)}: {target} is outside of docs"
        if anchor:
            assert anchor in anchors(place), f"{name_of(page)}: {target}: there is no such heading"


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert pages == set(re.findall(r"[\w/-]+\.md", nav))


@pytest.mark.skipif(not found("mkdocs") or not found("material"), reason="mkdocs-material is not installed")
def test_site_builds(tmp_path):
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(ROOT / "mkdocs.yml")]
    result = subprocess.run([*command, "-d", str(tmp_path / "site")], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(r'(?:<script[^>]* src|<link[^>]*stylesheet[^>]* href)="?https?:', text), page.name
    shutil.rmtree(tmp_path / "site")
