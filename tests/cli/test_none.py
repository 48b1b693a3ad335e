"""``none`` takes a guess back, and a line of howlearn.toml."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from howlearn.reading.options import DATA
from running import Run


def test_none_takes_a_guess_back(tmp_path: Path, run: Run) -> None:
    rows = [
        {"id": w, "phase": p, "item": x, "resp": "fj"[t % 2], "correct": t // 2 % 2, "rt": 300 + t}
        for w in (1, 2)
        for t in range(24)
        for p, x in [("practice" if t < 4 else "main", "AB"[t % 3 % 2])]
    ]
    path, toml = tmp_path / "data.csv", tmp_path / "howlearn.toml"
    pl.DataFrame(rows).write_csv(path)
    assert run("inspect", path).status == 0
    guessed = toml.read_text(encoding="utf-8")
    assert "where = " in guessed
    assert "rt = " in guessed
    assert run("inspect", path, "--where", "none", "--rt", "none").status == 0
    text = toml.read_text(encoding="utf-8")
    assert "where = " not in text
    assert "rt = " not in text


def test_none_is_nothing_typed() -> None:
    typed = {"by": "none", "where": "none", "reward_scale": "none", "recode": ["none"]}
    for name, value in typed.items():
        option = DATA[name]
        assert option.is_refused(option.kind.typed(value))  # what is typed wins
        assert option.usual == option.kind.typed(None)
    for name in ("context", "trial", "missing"):
        assert not DATA[name].is_refused(DATA[name].kind.typed("none"))
        assert DATA[name].kind.typed("none") == ("none",)
