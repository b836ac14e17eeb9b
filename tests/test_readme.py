"""The README's example runs as printed."""

import re
from pathlib import Path


def test_readme(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    assert (tmp_path / "best.bif").is_file()
    shown = capsys.readouterr().out
    assert "tub -> either" in shown
    assert "changes P(lung = yes) by" in shown
