"""The page on the path is run."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from howlearn.core.columns import tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "path.md"


def test_python_gives_what_the_page_says() -> None:
    text = "".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S))
    test = doctest.DocTestParser().get_doctest(text, {}, "path.md", "path.md", 0)
    runner = doctest.DocTestRunner(verbose=False)
    said: list[str] = []
    runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)
    assert len(test.examples) > 4


def test_the_page_names_every_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for table in tables("path"):
        assert f"`{table}.csv`" in text
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (PAGE.parent / target).exists(), target
