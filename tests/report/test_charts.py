"""One registry of charts: what is declared is in Python, in the report and in the reference."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import altair as alt
import pytest

import howlearn as hl
from howlearn.report.charts import CHARTS, SECTIONS, Drawn, chart
from howlearn.report.folder import NOT_CALIBRATED
from howlearn.report.page.figures import draw, steps
from howlearn.report.plot import results_of

REFERENCE = Path(__file__).parents[2] / "docs" / "reference.py"
COMMANDS = {
    *"calibrate check compare completeness discover mechanisms path plan recover select".split()
}


def reference() -> Any:
    """The module that makes the reference of the site."""
    spec = spec_from_file_location("docs_reference", REFERENCE)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def verdicts() -> Iterator[str]:
    """A chart of one's own."""

    @chart("How many verdicts are there?", "selection", section="sure")
    def verdicts(source):
        """Verdicts by learner."""
        frame = results_of(source).table("selection")
        return alt.Chart(alt.Data(values=frame.select("verdict").to_dicts())).mark_bar()

    assert verdicts.__name__ == "verdicts"
    yield "verdicts"
    CHARTS.forget("verdicts")


def test_a_chart_of_one_s_own_is_everywhere(verdicts: str, found) -> None:
    assert hl.plot.verdicts(found).to_dict()["mark"] == {"type": "bar"}
    assert verdicts in dir(hl.plot)
    drawn = draw(steps(found, NOT_CALIBRATED, 0), "learner")
    names = [figure.name for figure in drawn.of("sure")]
    assert names == ["margins", "price", "verdicts"]
    figure = drawn.of("sure")[-1]
    assert figure.title == ("How many verdicts are there?", "")
    assert figure.table.columns == found.table("selection").columns
    line = "| `verdicts` | How many verdicts are there? | `selection` | the report: sure |"
    assert line in reference().charts().splitlines()


def test_what_is_declared_is_complete() -> None:
    for name, each in CHARTS.items():
        assert each.name == name
        assert each.question.endswith("?")
        assert each.make.__doc__
        assert each.section in ("", *SECTIONS)
        assert (
            each.section
            or each.saved_by
            or each.plot in (*(hl.plot.learner, hl.plot.trajectories, hl.plot.partition),)
        )
    assert {command for each in CHARTS.values() for command in each.saved_by} == COMMANDS | {
        "verify"
    }


def test_a_chart_is_declared_again_as_in_a_notebook_but_not_by_another(verdicts: str) -> None:
    again = CHARTS[verdicts]
    chart("Is this another question?")(again.make)
    assert CHARTS[verdicts].question == "Is this another question?"

    def shares() -> None: ...

    with pytest.raises(hl.HowlearnError, match="there is a chart called 'shares' already"):
        chart("Which?")(shares)


def test_a_chart_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="has no chart 'pie'; there are shares, "):
        hl.plot.pie  # noqa: B018


def test_a_chart_says_what_belongs_to_it(found) -> None:
    made = CHARTS["learning_curves"].make(found)
    assert isinstance(made, Drawn)
    assert made.finding
    assert made.table.height


WITHOUT = """
import sys
for name in ("altair", "vl_convert"):
    sys.modules[name] = None
import howlearn as hl
from howlearn.cli import main
try:
    hl.plot.shares("results")
except hl.HowlearnError as error:
    print(error)
sys.argv = ["howlearn", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report", "results"), "a report needs: pip install 'howlearn[report]'"),
        (("recover", "--task", "shepard-1", "--learners", "2", "--trials", "20"), "recovery/"),
    ],
)
def test_without_the_extra_commands_say_what_helps(words, said, tmp_path: Path) -> None:
    """In a process of its own: nothing that draws is imported before."""
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "charts need: pip install 'howlearn[report]'" in ran.stdout
    assert said in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr
