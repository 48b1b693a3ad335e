"""A rule, model, criterion, chart or file format of one's own is like a built-in one.

Each is a file with one line of registration. Its name is taken wherever those of the others are,
and every table, sentence and chart that a built-in one has is there.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses.discover_criteria import Codelength
from howlearn.cli import main
from howlearn.core.registry import Registry
from howlearn.models.adjustments import Adjustment
from howlearn.models.mixture import Mixture
from howlearn.models.names import learning_names
from howlearn.reading.analysis_options import RULES
from howlearn.reading.formats import Format, formats
from howlearn.report.charts import CHARTS

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs"))
REGISTRIES: list[Registry] = [
    hl.Rule.registry,
    hl.Model.registry,
    hl.Criterion.registry,
    Adjustment.registry,
    Mixture.registry,
    Format.registry,
    CHARTS,
]
TOYS = ("rule", "model", "criterion", "file_format", "chart")
RULE, MODEL, CRITERION = "toy-rule", "toy-model", "toy(weight=0.1)"
BUILT_IN = "aic"  # has all that a criterion without probabilities can have


@pytest.fixture(scope="module", autouse=True)
def toys() -> Iterator[None]:
    """The toys are known here, and nowhere else."""
    _ = dir(hl.plot), formats()  # what is built in is registered when it is first asked for
    before = [dict(registry) for registry in REGISTRIES]
    for toy in TOYS:
        importlib.import_module(f"toys.{toy}")
    yield
    for registry, known in zip(REGISTRIES, before, strict=True):
        for name in {*registry} - {*known}:
            registry.forget(name)
    for toy in TOYS:
        del sys.modules[f"toys.{toy}"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All toys together, through the commands."""
    out = tmp_path_factory.mktemp("toys")
    howlearn(
        f"simulate --task shepard-1 --rule {RULE} --model {MODEL} --set rho=0.9 --learners 4 "
        f"--trials 60 --seed 1 --out {out}/trials.csv"
    )
    text = (out / "trials.csv").read_text(encoding="utf-8")
    (out / "trials.toy").write_text(text.replace(",", "~"), encoding="utf-8")
    howlearn(
        f"select {out}/trials.toy --task shepard-1 --rule {RULE} --model ByFeature1 "
        f"--model OneForAll --model {MODEL} --criterion toy --criterion {BUILT_IN} "
        f"--predictions --latents --out {out}/results"
    )
    howlearn(f"report {out}/results --out {out}/report.html")
    return out


def howlearn(words: str) -> None:
    """A command, which must succeed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["howlearn", *words.split()])
        with pytest.raises(SystemExit) as end:
            main()
    assert not end.value.code, words


def read(folder: Path, table: str) -> pl.DataFrame:
    return pl.read_csv(folder / "results" / f"{table}.csv", infer_schema_length=None)


@pytest.fixture(scope="module")
def study() -> hl.Study:
    return hl.simulate("shepard-1", MODEL, {"rho": 0.8}, learners=2, trials=40, seed=1)


def test_every_table_has_what_a_built_in_criterion_has(folder: Path) -> None:
    for table in ("scores", "selection", "shares"):
        frame = read(folder, table)
        toy, usual = (frame.filter(criterion=text) for text in (CRITERION, BUILT_IN))
        assert len(toy) == len(usual) > 0
        for column in frame.columns:
            assert toy[column].null_count() == usual[column].null_count(), (table, column)
    assert any("toy_0.1" in column for column in read(folder, "learners").columns)


def test_the_model_has_estimates_and_latents(folder: Path) -> None:
    estimates = read(folder, "estimates").filter(model=MODEL)
    assert estimates["parameter"].unique().to_list() == ["rho"]
    assert estimates["estimate"].null_count() == 0
    assert any(column.startswith("last(") for column in read(folder, "predictions").columns)


def test_the_manifest_knows_their_code(folder: Path) -> None:
    """With other code of a rule or a model, results are not taken up again."""
    models = json.loads((folder / "results" / "manifest.json").read_text())["models"]
    units = [unit for model in models for unit in model.get("units", [model])]
    assert {unit["code"][:7] for unit in units} == {"sha256:"}
    assert "code" not in hl.candidates(["a"])[0].describe()["units"][0]


def test_the_report_says_what_they_are(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    for sentence in (
        "Cells learned by the toy rule (Sutton &amp; Barto, 2018) in gain form, with η between",
        f"The model {MODEL} was a toy that repeats its last choice (Toymaker, 2026; Wilson &amp; "
        "Collins, 2019), with rho between 0.01 and 0.99.",
        f"The criterion {CRITERION} was the log-likelihood minus a toy price per parameter "
        "(Toymaker, 2026).",
        "Shares were also estimated by random-effects model selection",
        "(SHA-256 of its code",
        "How many toys are there?",
    ):
        assert sentence.replace("&amp;", "&") in page.replace("&amp;", "&")
    assert "described in the documentation" not in page


def test_the_reference_lists_them() -> None:
    import reference

    text = reference.names() + reference.formats() + reference.charts()
    for toy in (RULE, MODEL, "toy(weight=0.1)"):
        assert toy in text
    for registry in REGISTRIES:
        assert all(name in text for name in registry)


def test_messages_list_them(study: hl.Study) -> None:
    with pytest.raises(hl.HowlearnError, match=r"the rules are .*toy-rule"):
        hl.candidates(["a", "b"], rule="no-such-rule")
    with pytest.raises(hl.HowlearnError, match=r"the criteria are .*toy"):
        hl.select(study, criteria=["no-such-criterion"])


def test_no_proposition_no_horizon(study: hl.Study) -> None:
    """A rule that no proposition covers had the horizon of Exp3-IX, and nobody learned."""
    models = hl.candidates(study.contexts, study.features, rule=RULE)
    with pytest.raises(hl.HowlearnError, match="no proposition covers the rule toy-rule"):
        hl.select(study, models, ["penalized(stop_at=paper(0.05))"])


def test_what_is_proven_of_an_update_is_not_inherited() -> None:
    class Another(hl.GradientBandit):
        @staticmethod
        def update(h, p, chosen, p_chosen, feedback, eta):
            return h + eta

    class Same(hl.GradientBandit):
        name = "same"

    assert hl.GradientBandit.smooth_with_gains
    assert not Another.smooth_with_gains
    assert not Another.pair_kernel
    assert Another().horizon(0.05, 2, (0.0, 1.0)) is None
    assert Same.smooth_with_gains
    assert Same().horizon(0.01, 2, (0.0, 1.0)) == hl.GradientBandit().horizon(0.01, 2, (0.0, 1.0))


def test_the_help_shows_what_is_always_there() -> None:
    assert tuple(name for name in learning_names() if "toy" not in name) == RULES


def test_wherever_a_model_is_taken_its_text_is(study: hl.Study) -> None:
    texts = ["q-learning", MODEL, "OneForAll+lapse"]
    assert [*hl.fit(study, texts).of] == texts
    assert hl.select(study, texts, "aic").selection["model"].is_in(texts).all()
    assert hl.fit(study, "Coin").models[0].name == "Coin"
    assert (
        hl.simulate(None, "OneForAll", {"eta": 0.1}, like=study, seed=1).learners == study.learners
    )
    assert "toy-model passes" in repr(hl.check_model(MODEL))
    small = {"parameters": {"eta": 0.1}, "trials": 20}
    found = hl.calibrate("shepard-1", ["OneForAll", "OnePerItem"], learners=3, **small)
    assert found.contest.models == ("OneForAll", "OnePerItem")
    planned = hl.plan("shepard-1", ["OneForAll"], {"eta": 0.1}, [20], [5], simulated=2)
    assert planned.recovered["true_model"].to_list() == ["OneForAll"] * 3
    along = hl.path(study, ["OneForAll", "Coin"], [1.0], ["toy", "bic"])
    assert CRITERION in along.marks["criterion"].to_list()  # as the prices of others are
    with pytest.raises(hl.HowlearnError, match="None is not a model"):
        hl.simulate("shepard-1", None, {})
    with pytest.raises(hl.HowlearnError, match="the study has no model 'q-lerning'"):
        hl.select(study, ["q-lerning"])


def test_wherever_a_rule_is_taken_its_text_is(study: hl.Study) -> None:
    by_text = hl.candidates(["a", "b"], rule="exp3")
    assert by_text == hl.candidates(["a", "b"], rule=hl.Exp3())
    assert hl.PartitionModel("m", by_text[0].partition, "exp3").rules == hl.Exp3()
    assert hl.Task.load("shepard-1").with_rule(RULE).models[0].rules.name == RULE
    found = hl.discover(study, "exp3", ["toy", Codelength()], ["OneForAll"], count=1)
    assert set(found.partitions["criterion"]) == {CRITERION, "codelength(nats=1)"}


def test_a_name_is_given_once() -> None:
    with pytest.raises(hl.HowlearnError, match="there is a rule called 'exp3' already"):
        hl.register(type("Mine", (hl.Rule,), {"name": "exp3"}))
    with pytest.raises(hl.HowlearnError, match="neither a rule, a model, a criterion nor"):
        hl.register(object())


@pytest.mark.parametrize(("kind", "name"), [("Rule", "exp3"), ("Criterion", "aic")])
def test_a_name_that_is_taken_is_refused_at_once(kind: str, name: str) -> None:
    code = (
        "import howlearn as hl\n"
        f"try: hl.register(type('Mine', (hl.{kind},), {{'name': '{name}'}}))\n"
        "except hl.HowlearnError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"called '{name}' already" in done.stdout
