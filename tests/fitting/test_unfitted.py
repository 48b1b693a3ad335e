"""One learner who cannot be fitted is a row with a status, and changes nothing for the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from howlearn.analyses import discover_criteria
from howlearn.fitting import fit as running
from howlearn.fitting.fits import Fits
from howlearn.fitting.unfittable import LONGEST, reason
from howlearn.selection.criteria import criterion_named
from howlearn.selection.select import attempt
from howlearn.selection.tables import fitted
from howlearn.selection.unfitted import check_somebody, sentence, unfitted_of

TASK = hl.Task.load("shepard-1")
CRITERIA = ("evidence", "penalized(c=0.012)", "holdout(split=0.5)")
PER_LEARNER = ("selection", "learners")
TABLES = (*PER_LEARNER, "scores", "estimates", "shares")
Spoil = Callable[..., None]


@pytest.fixture(scope="module")
def study() -> hl.Study:
    made = hl.simulate(TASK, "ByFeature1", {"eta": 0.1}, learners=12, trials=40, seed=1)
    about = pl.DataFrame({"group": [i % 2 for i in range(len(made))]})
    return replace(made, about=about)


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Spoil:
    """Make fits fail for some learners: by an error, or by what stands in the fits."""
    fit_block = running._fit_block

    def spoiled(who: Sequence[str], how: BaseException | tuple[str, float]) -> None:
        def block(study: hl.Study, *words: object) -> Fits:
            bad = [i for i, name in enumerate(study.learners) if name in who]
            if bad and isinstance(how, BaseException):
                raise how
            found = fit_block(study, *words)  # type: ignore[arg-type]
            for part in found.of.values():
                if bad and isinstance(how, tuple) and part.model.name == "ByFeature1":
                    getattr(part, how[0])[bad] = how[1]
            return found

        monkeypatch.setattr(running, "_fit_block", block)

    return spoiled


def shortened(study: hl.Study, kept: dict[int, int]) -> hl.Study:
    """Of some learners only the first trials."""
    lengths = np.diff(study.starts)
    wanted = np.array([kept.get(i, int(n)) for i, n in enumerate(lengths)])
    place = np.arange(len(study.context)) - np.repeat(study.starts[:-1], lengths)
    trials = place < np.repeat(wanted, lengths)
    names = ("context", "action", "reward", "scored", "learned", "reset")
    columns = {name: getattr(study, name)[trials] for name in names}
    return replace(study, starts=np.concatenate(([0], np.cumsum(wanted))), source=None, **columns)


def same_as_without(found: hl.Results, others: hl.Results) -> None:
    """Bit for bit, whatever the others' rows stand between."""
    for name in TABLES:
        assert fitted(getattr(found, name)).equals(getattr(others, name)), name


def test_short_records_are_rows_and_change_nothing_for_the_others(study: hl.Study) -> None:
    short = shortened(study, {3: 1, 5: 0, 11: 0})
    found = hl.select(short, TASK.models, CRITERIA)
    kept = np.array([i for i in range(12) if i not in (3, 5, 11)])
    same_as_without(found, hl.select(study.take(kept), TASK.models, CRITERIA))
    assert found.unfitted["learner", "group", "n_trials"].rows() == [
        ("4", 1, 1),
        ("6", 1, 0),
        ("12", 1, 0),
    ]
    assert found.selection["learner"].to_list() == [str(i // 3 + 1) for i in range(36)]
    row = found.selection.filter(learner="4", criterion="evidence").row(0, named=True)
    assert row.pop("verdict") == "not fitted: 1 trial with a choice, and at least 2 are needed"
    assert row == {"learner": "4", "group": 1, "criterion": "evidence"} | dict.fromkeys(
        ("model", "runner_up", "margin", "probability", "p_other")
    )
    wide = found.learners.filter(learner="6")
    told = {c for c in wide.columns if wide[c].null_count() == 0}
    verdicts = {c for c in wide.columns if c.startswith("verdict")}
    assert told == {"learner", "group", "n_trials"} | verdicts
    assert "3 could not be fitted" in repr(found)


@pytest.mark.parametrize(
    "how",
    [
        ZeroDivisionError("two\nlines"),
        hl.HowlearnError("ByFeature1: no"),
        FloatingPointError("x" * 500),
        ("log_likelihood", np.nan),
        ("rest", np.inf),
        ("theta", np.nan),
    ],
    ids=lambda how: how[0] if isinstance(how, tuple) else type(how).__name__,
)
def test_a_fit_that_fails_for_some(
    how: Exception | tuple[str, float], study: hl.Study, spoil: Spoil
) -> None:
    criteria = ("aic", "holdout(split=0.5)")
    kept = np.array([i for i in range(12) if i not in (0, 7, 8)])
    others = hl.select(study.take(kept), TASK.models, criteria)
    spoil(("1", "8", "9"), how)
    found = hl.select(study, TASK.models, criteria, threads=2)
    same_as_without(found, others)
    assert found.unfitted["learner"].to_list() == ["1", "8", "9"]
    for why in found.unfitted["why"]:
        assert len(why) <= LONGEST
        assert "\n" not in why
        assert why.startswith(("ByFeature1: ", "OneForAll: "))  # the model at fault
    assert not found.scores["score"].is_nan().any()


def test_what_is_nobodys_fault_ends_it(study: hl.Study, spoil: Spoil) -> None:
    for error in (MemoryError(), OSError(28, "no space left"), KeyboardInterrupt()):
        spoil(("3",), error)
        with pytest.raises(type(error)):
            hl.select(study, TASK.models, ["aic"])
    spoil(study.learners, ZeroDivisionError("for everybody"))
    with pytest.raises(ZeroDivisionError, match="for everybody"):
        hl.select(study, TASK.models, ["aic"])
    with pytest.raises(hl.HowlearnError, match="no learner can be judged: 1 trial"):
        hl.select(shortened(study, dict.fromkeys(range(12), 1)), TASK.models, ["aic"])


def test_whom_a_criterion_cannot_judge(study: hl.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    others = hl.select(study.part(1, 12), TASK.models, ["aic"])
    price = hl.AIC.price

    def failing(self: hl.AIC, n: np.ndarray) -> np.ndarray:
        if n[0] == 39:
            raise ArithmeticError("no price")
        return price(self, n)

    monkeypatch.setattr(hl.AIC, "price", failing)
    found = hl.select(shortened(study, {0: 39}), TASK.models, ["aic"])
    assert found.unfitted["why"].to_list() == ["ArithmeticError: no price"]
    same_as_without(found, others)
    monkeypatch.setattr(hl.AIC, "price", lambda self, n: np.where(n == 39, np.nan, price(self, n)))
    found = hl.select(shortened(study, {0: 39}), TASK.models, ["aic"])
    assert found.unfitted["why"].to_list() == ["OneForAll: its aic is not a number (NaN)"]
    same_as_without(found, others)


def test_a_part_in_which_nobody_can_be_fitted_has_all_columns(study: hl.Study) -> None:
    """Else parts could not be put together."""
    models = TASK.models[:3]
    criterion = hl.Population(other=True, independent=True)
    population = criterion.learn(study, models, thorough=False)
    known = [population, *(criterion_named(text) for text in CRITERIA)]
    nobody = attempt(shortened(study, {0: 1}).part(0, 1), models, known)
    somebody = attempt(study.part(0, 2), models, known)
    assert nobody.selection["verdict"].str.starts_with("not fitted: ").all()
    for name in TABLES[:-1]:
        assert getattr(nobody, name).schema == getattr(somebody, name).schema, name
    assert nobody.lowest().schema == somebody.lowest().schema


def test_a_population_learns_from_those_who_can_be_fitted(study: hl.Study, spoil: Spoil) -> None:
    """Also where it fits models itself, before anything else was fitted."""
    models = [*TASK.models[:2], hl.models.Coin()]
    study, criterion = study.part(0, 6), hl.Population(independent=True)
    alone = criterion.learn(study.take(np.array([0, 1, 4, 5])), models, thorough=False)
    spoil(("3",), ZeroDivisionError())
    with_them = criterion.learn(shortened(study, {3: 1}), models, thorough=False)
    assert alone.learned is not None
    assert with_them.learned is not None
    assert np.array_equal(alone.learned.log_evidence, with_them.learned.log_evidence)
    assert np.array_equal(alone.learned.centre, with_them.learned.centre)
    assert np.array_equal(alone.learned.width, with_them.learned.width)


def test_a_model_of_ones_own_that_fails_for_everybody_is_found_at_once(
    study: hl.Study, monkeypatch: pytest.MonkeyPatch, spoil: Spoil
) -> None:
    from howlearn.selection import unfitted

    monkeypatch.setattr(unfitted, "own", lambda model: isinstance(model, hl.models.Coin))
    many = study.take(np.arange(600) % 12)
    assert check_somebody(many, [hl.models.Coin()]).n_units == 0
    spoil(study.learners[1:], ZeroDivisionError())
    check_somebody(many, [*TASK.models, hl.models.Coin()])  # it can be fitted to the first learner
    spoil(study.learners, ZeroDivisionError("everybody"))
    with pytest.raises(ZeroDivisionError, match="everybody"):
        check_somebody(many, [*TASK.models, hl.models.Coin()])


def test_discover(study: hl.Study, monkeypatch: pytest.MonkeyPatch) -> None:
    criteria = ["aic", "ewens"]
    kept = np.array([i for i in range(12) if i not in (1, 6)])
    others = hl.discover(study.take(kept), criteria=criteria, models=TASK.models)
    fit_cells = discover_criteria.fit_cells

    def failing(study: hl.Study, *words: object) -> object:
        if "7" in study.learners:
            raise ZeroDivisionError("cells")
        return fit_cells(study, *words)  # type: ignore[arg-type]

    monkeypatch.setattr(discover_criteria, "fit_cells", failing)
    found = hl.discover(shortened(study, {1: 1}), criteria=criteria, models=TASK.models)
    assert found.unjudged["learner", "status"].rows() == [
        ("2", "not judged: 1 trial with a choice, and at least 2 are needed"),
        ("7", "not judged: ZeroDivisionError: cells"),
    ]
    judged = found.partitions.filter(status="judged")
    assert judged.equals(others.partitions)
    assert found.partitions.height == judged.height + 4  # for every criterion
    for name in ("coclassification", "marked", "population", "consensus", "models"):
        assert getattr(found, name).equals(getattr(others, name)), name
    with pytest.raises(hl.HowlearnError, match="no learner can be judged: 1 trial"):
        hl.discover(shortened(study, dict.fromkeys(range(12), 1)), criteria=["aic"])


def test_path_compare_and_plots(study: hl.Study) -> None:
    short, kept = shortened(study, {0: 1, 4: 0}), np.delete(np.arange(12), [0, 4])
    words = {"max_rates": [1.0], "criteria": ["aic", "bic"]}
    found = hl.path(short, TASK.models, **words)
    alone = hl.path(study.take(kept), TASK.models, **words)
    assert found.learners.equals(alone.learners)
    assert found.sentences[-1] == "2 learners are left out: not every model could be fitted."
    assert found.sentences[:-1] == alone.sentences
    selection = hl.select(short, TASK.models, ["aic"])
    compared = hl.compare(selection, "group", permutations=50, resamples=50)
    assert "2 learners could not be fitted: left out here" in compared.notes
    stable = hl.stability(selection, doubles=3, task=TASK)
    assert stable["learner"].to_list() == [study.learners[i] for i in kept]
    assert "learners" in hl.plot.learning_curves(selection, TASK).to_json()


def test_simulated_learners_who_cannot_be_fitted(study: hl.Study, spoil: Spoil) -> None:
    spoil(("3", "5"), ZeroDivisionError())  # simulated learners are numbered
    words = {"parameters": {"eta": 0.1}, "learners": 8, "trials": 40}
    found = hl.calibrate("shepard-1", **words, splits=[0.5])
    n = len(TASK.models)
    assert len(found.contest) == 6 * n
    assert found.notes == (
        f"{4 * n} of {16 * n} simulated learners could not be fitted, and are left out of all "
        "numbers",
    )
    assert found.recommendation["not_fitted"] == 2 * n
    assert set(found.estimates["learner"]) == {0, 1, 3, 5, 6, 7}
    recovered = hl.recover("shepard-1", **words, criteria=["aic"])
    assert set(recovered.learners["learner"]) == {0, 1, 3, 5, 6, 7}
    assert recovered.notes[0].startswith(f"{2 * n} of {8 * n} simulated learners")
    like = hl.calibrate(TASK, like=shortened(study, {0: 1}), learners=11, splits=[0.5])
    assert like.contest.n_lost == 0 or like.notes  # doubles have names of their own


def test_words() -> None:
    assert reason(hl.HowlearnError("two\n  lines")) == "two lines"
    names = ["<script>", "x\ny", *"abcdef"]
    found = pl.DataFrame({"learner": names, "why": ["late"] * 7 + ["early"]})
    assert sentence(found) == (
        "8 learners could not be fitted (see verdict in selection.csv): <script>, x y, a, b, c and "
        "3 more (late: 7 learners; early)"
    )
    table = pl.DataFrame({"learner": ["1"], "criterion": ["aic"], "verdict": ["clear"]})
    assert unfitted_of(table).is_empty()
    assert fitted(table).equals(table)


def test_doubles_of_a_study_with_short_learners(study: hl.Study) -> None:
    from howlearn.analyses.designs import LikeDesign

    short = shortened(study, {0: 1, 4: 0})
    design = LikeDesign(short, TASK.models, TASK, 10)
    kept = np.delete(np.arange(12), [0, 4])
    assert design.study.learners == tuple(study.learners[i] for i in kept)
    assert "2 of 12 recorded learners could not be fitted" in design.notes[0]
