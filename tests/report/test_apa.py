"""Tables in APA style: their numbers, and Word and LaTeX files that hold any name."""

from __future__ import annotations

import re
import sys
from io import BytesIO
from xml.etree import ElementTree
from zipfile import ZipFile

import polars as pl
import pytest

from howlearn.core.errors import HowlearnError
from howlearn.report.apa_files import ApaTable, Head, docx, escaped, tex
from howlearn.report.apa_tables import apa_tables
from howlearn.report.methods import methods
from made_results import CRITERIA, confusion, manifest, tables, unit

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
HOSTILE = [
    "a_b%c$",
    "<script>alert(1)</script>",
    "x & y # ~ ^ {\\}",
    "Ελένη 学习 \x00\x0b",
    '"|[1]',
]


def test_tables_of_a_run():
    shares, estimates, margins, matrix = apa_tables(manifest(), tables(confusion=confusion()))
    assert [each.number for each in (shares, estimates, margins, matrix)] == [1, 2, 3, 4]
    assert shares.groups[1] == ("population (N = 4)", 1, 2)
    assert shares.rows == (
        ("One", "1", "25.0", "1", "25.0", "2", "50.0"),
        ("Each", "3", "75.0", "3", "75.0", "2", "50.0"),
    )
    # Of the learners who were given the model, from all of their trials: 1 to 3, and 4.
    assert estimates.rows == (
        ("One", "a+b", "eta", "1", ".400", "[.400, .400]", "0", "0"),
        ("Each", "a", "eta", "3", ".200", "[.150, .250]", "0", "0"),
        ("Each", "b", "eta", "3", ".200", "[.150, .250]", "0", "1"),
    )
    assert margins.rows[0] == (
        *(CRITERIA[0], "2", "50.0", "1", "25.0", "1", "25.0", "2.00", "[0.75, 3.25]"),
    )
    assert margins.notes[-1] == "All criteria selected the same model for 3 of 4."
    assert matrix.title.endswith("by penalized(c=0.012)")
    assert matrix.rows == (("One", ".90", ".10"), ("Each", ".25", ".75"))


def test_with_and_without_the_excluded():
    learners = pl.DataFrame(
        {"learner": ["1", "2", "3", "4"], "excluded": ["", "", None, "missed > 0.2"]}
    ).with_columns(n_trials=100)
    options = {"criteria": [*CRITERIA[:2]]}
    # With everyone a population is learned anew, so the counts are those of the table of shares.
    counts = pl.DataFrame(
        [(c, m, n, "all") for c in CRITERIA for m, n in (("One", 1), ("Each", 3))],
        schema=["criterion", "model", "learners", "among"],
        orient="row",
    )
    given = tables(learners=learners, shares=counts)
    shares, estimates, margins = apa_tables(manifest(options=options), given)
    assert shares.groups[1:3] == (
        ("population, included (N = 3)", 1, 2),
        ("population, all learners (N = 4)", 3, 2),
    )
    assert shares.rows[0] == ("One", "0", "0.0", "1", "25.0", "0", "0.0", "1", "25.0")
    assert {row[0] for row in estimates.rows} == {"Each"}
    assert margins.rows[0][1] == "2"
    assert all(len(row) == len(margins.heads) for row in margins.rows)
    # Three criteria twice are too wide: they stand below one another.
    long = apa_tables(manifest(), given)[0]
    assert [head.text for head in long.heads] == ["Criterion", "Learners", "Model", "n", "%"]
    assert long.rows[:2] == (
        ("population", "included", "Each", "3", "100.0"),
        ("population", "all learners", "One", "1", "25.0"),
    )


def test_many_models_conditions_and_wide_bounds():
    names = [f"m{i}" for i in range(30)]
    models = [{"name": name, "units": [unit("a", upper=5.0)]} for name in ("One", "Each", *names)]
    given = tables()
    by = [given[name].with_columns(condition=pl.lit("x")) for name in ("selection", "estimates")]
    by = [frame.select("learner", "condition", pl.exclude("learner", "condition")) for frame in by]
    made = apa_tables(manifest(models=models), {"selection": by[0], "estimates": by[1]})
    assert [row[0] for row in made[0].rows] == ["One", "Each"]
    assert made[0].notes == ("Not shown: 30 candidates that no learner was given.",)
    assert made[1].rows[1][4] == "0.200"
    pairs = [(i, j) for i in range(30) for j in range(30)]
    big = pl.DataFrame(
        {
            "criterion": "made by hand",
            "true_model": [names[i] for i, _ in pairs],
            "selected_model": [names[j] for _, j in pairs],
            "share": [0.71 if i == j else 0.01 for i, j in pairs],
        }
    )
    (table,) = apa_tables({}, {"confusion": big})
    assert table.rows[1] == ("m1", "m0", ".71", ".01")


def test_what_is_missing_is_left_out():
    assert apa_tables({}, {}) == []
    only = tables()["selection"].drop("p_other")
    one = only.filter(pl.col("criterion") == "population", pl.col("learner") == "1")
    lonely = one.with_columns(margin=pl.lit(None, pl.Float64), verdict=pl.lit("the only candidate"))
    shares, margins = apa_tables({}, {"selection": lonely})
    assert shares.rows == (("Each", "1", "100.0"),)
    assert margins.rows == (("population", "0", "0.0", "0", "0.0", "1", "100.0", "—", "—"),)


def hostile() -> tuple[list[ApaTable], object]:
    names = dict(zip(("One", "Each"), HOSTILE, strict=False))
    models = [{**each, "name": names[each["name"]]} for each in manifest()["models"]]
    models += [{"name": name, "units": [unit(name)]} for name in HOSTILE[2:]]
    made = manifest(models=models, rows={"rows read": 4, HOSTILE[3]: 2})
    renamed = {
        name: frame.with_columns(pl.col("model").replace(names)) if "model" in frame else frame
        for name, frame in tables().items()
    }
    return apa_tables(made, renamed), methods(made, renamed)


def test_word_file():
    given, said = hostile()
    content = docx(given, said)
    assert docx(given, said) == content
    with ZipFile(BytesIO(content)) as parts:
        assert {part.date_time for part in parts.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        body = ElementTree.fromstring(parts.read("word/document.xml"))
    words = ["".join(t.text or "" for t in row.iter(f"{WORD}t")) for row in body.iter(f"{WORD}tr")]
    assert any(row.startswith("<script>alert(1)</script>375.0") for row in words)
    assert any("Ελένη 学习" in row for row in words)
    real = [*body.iter(f"{WORD}tbl")]
    assert len(real) == len(given)
    sides = {line.tag for cell in body.iter(f"{WORD}tcBorders") for line in cell}
    assert sides == {f"{WORD}top", f"{WORD}bottom"}  # no vertical lines
    assert sum(1 for _ in body.iter(f"{WORD}tblHeader")) == 2 * len(given)
    italic = [run for run in body.iter(f"{WORD}r") if run.find(f"{WORD}rPr/{WORD}i") is not None]
    assert "Note. " in {run.findtext(f"{WORD}t") for run in italic}


def test_latex_file():
    given, said = hostile()
    text = tex(given, said)
    assert r"a\_b\%c\$" in text
    assert r"\textless{}script\textgreater{}alert(1)" in text
    assert r"x \& y \# \textasciitilde{} \textasciicircum{} \{\textbackslash{}\}" in text
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == len(given)
    begun = re.findall(r"\\begin\{(\w+)\}", text)
    assert sorted(begun) == sorted(re.findall(r"\\end\{(\w+)\}", text))
    assert text.count(r"\ifdefined\howlearntables\else") == 2
    # Every row has as many cells as there are columns, and every brace is closed.
    tabular = r"\\begin\{tabular\}\{@\{\}(\w+)@\{\}\}(.*?)\\end\{tabular\}"
    for columns, body in re.findall(tabular, text, re.S):
        rows = [line for line in body.splitlines() if line.endswith(r" \\")]
        assert len(rows) > 1
        for row in rows:
            spans = [int(n) - 1 for n in re.findall(r"\\multicolumn\{(\d+)\}", row)]
            assert len(re.findall(r"(?<!\\)&", row)) + 1 + sum(spans) == len(columns)
    plain = re.sub(r"\\[{}\\]", "", text)
    assert plain.count("{") == plain.count("}")
    assert "\x00" not in text


def test_every_special_letter_is_escaped():
    assert escaped("\\{}$&#%_^~") == (
        r"\textbackslash{}\{\}\$\&\#\%\_\textasciicircum{}\textasciitilde{}"
    )
    assert escaped("[1] −η") == r"{[}1{]} \ensuremath{-}\ensuremath{\eta}"


def test_a_table_without_headings_over_columns():
    table = ApaTable(7, "A Title", (Head("Model"), Head("n")), (("x", "1"),))
    text = tex([table])
    assert "Table 7" in text
    assert "cmidrule" not in text
    assert "Note." not in text
    assert r"Model & \textit{n} \\" in text
    assert docx([table]).startswith(b"PK")


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "docx", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(HowlearnError, match=r"howlearn\[report\]"):
        docx([])


def test_what_a_paper_skips_holds_tex_s_own_conditions_only():
    """Others are not counted when they are skipped, and the rest would be read in a paper."""
    text = tex(apa_tables(manifest(), tables()), methods(manifest(), tables()))
    skipped = text[text.index("\\ifdefined") : text.index("\\begin{document}")]
    assert {*re.findall(r"\\if[a-z]*", skipped)} == {"\\ifdefined", "\\ifx"}
