"""``howlearn.compare``: what it takes, what it refuses, what its tables say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import howlearn as hl
from analyses.compare_made import MODELS, folder_of, tables, two_groups
from howlearn.analyses import compare_tests
from howlearn.analyses.compare import ALONE, BLURRED, POOLED
from howlearn.analyses.compare_groups import Groups, p_value
from howlearn.analyses.compare_tests import ComparedParameter, rate
from howlearn.core.errors import HowlearnError
from howlearn.core.study import together
from howlearn.results.manifest import record
from populations import population

QUICK = {"resamples": 100, "permutations": 200}
TASK = hl.Task.load("shepard-2")
TWO = [TASK.model(name) for name in ("ByCategory", "OnePerItem")]


@pytest.fixture(autouse=True)
def few_studies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of power: how good it is, is tested elsewhere."""
    monkeypatch.setattr(compare_tests, "POWER_STUDIES", 2)


def with_trials(
    counts: tuple[list[int], list[int]], rates: tuple[float, float]
) -> tuple[hl.Study, pl.DataFrame]:
    """Learners of ``TWO`` in two groups, by number and typical rate."""
    parts = [
        population(TASK, TWO, many, trials=200, seed=seed, rate=eta)[0]
        for seed, (many, eta) in enumerate(zip(counts, rates, strict=True))
    ]
    study = together(parts)
    group = np.repeat(["a", "b"], [len(part) for part in parts])
    return study, pl.DataFrame({"learner": list(study.learners), "group": group})


def test_groups_that_differ(tmp_path: Path) -> None:
    evidence, labels = two_groups()
    found = hl.compare(folder_of(tmp_path / "r", tables(evidence, labels)), "group", **QUICK)
    assert found.criterion == "evidence"
    assert found.models == MODELS
    assert found.graded
    assert found.tests["different"][0]
    assert found.tests["p"][0] < 0.02
    shares = found.shares.filter(group="patient", model="OneForAll").to_dicts()[0]
    assert 0.45 < shares["lower"] < shares["share"] < shares["upper"] < 1
    (first,) = found.differences.filter(model="OneForAll").to_dicts()
    assert (first["group"], first["other"]) == ("control", "patient")
    assert first["upper"] < -0.2
    assert found.sentences[0].startswith("What groups of 20 and 20 learners can show here: ")
    assert found.sentences[1].startswith("Strategies differ between group control and patient (p")
    assert found.power["difference"].to_list() == [0.3, 0.5, 0.7]
    assert found.differences["difference"].abs().is_sorted(descending=True)
    assert sum(found.shares.filter(group="control")["share"]) == pytest.approx(1)


def test_speed_does_not_pass_for_strategy() -> None:
    """Equal shares, one group learns three times slower; and the other way round."""
    study, who = with_trials(([8, 8], [8, 8]), (0.15, 0.05))
    found = hl.compare(hl.select(study, TWO, ["population"]), "group", groups=who, **QUICK)
    assert found.apart
    assert not found.tests["different"][0]
    assert found.tests["p"][0] > 0.05
    assert POOLED not in found.sentences
    assert found.rates.filter(pl.col("model").is_null())["p"][0] < 0.05
    study, who = with_trials(([15, 1], [1, 15]), (0.1, 0.1))
    apart = hl.compare(hl.select(study, TWO, ["population"]), "group", groups=who, **QUICK)
    assert apart.tests["different"][0]
    assert apart.tests["p"][0] < 0.05


@pytest.mark.parametrize(("few", "known"), [(4, 9.0), (30, 0.1)], ids=["few", "uninformed"])
def test_a_group_that_tells_little_is_not_different(few: int, known: float) -> None:
    """All use the first of nine models; of one group few do, or their trials hardly say so."""
    code = np.repeat([0, 1], [40, few])
    evidence = np.zeros((len(code), 9))
    evidence[:, 0] = np.where(code == 0, 9.0, known)
    everybody = np.arange(len(code))
    groups = Groups("group", "group", ("a", "b"), code, everybody, everybody, ())
    found = compare_tests.Differences.of(compare_tests.by_evidence(evidence, groups, 0).shares())
    assert not found.different.any()
    evidence[code == 1] = evidence[code == 1][:, ::-1]  # another model
    found = compare_tests.Differences.of(compare_tests.by_evidence(evidence, groups, 0).shares())
    assert found.different.any() == (known > 1.0)


def test_results_whose_trials_cannot_be_read_again_say_so_before_the_answer(
    tmp_path: Path,
) -> None:
    evidence, labels = two_groups()
    made = tables(evidence, labels, criterion="population")
    found = hl.compare(folder_of(tmp_path / "r", made), "group", **QUICK)
    assert not found.apart
    assert found.sentences[0] == POOLED
    assert POOLED in found.notes


def test_one_candidate_has_no_share(tmp_path: Path) -> None:
    evidence, labels = two_groups()
    made = tables(evidence[:, :1], labels, models=MODELS[:1])
    found = hl.compare(folder_of(tmp_path / "r", made), "group", **QUICK)
    assert found.sentences[0] == ALONE
    assert found.shares["share"].null_count() == 2
    assert found.differences.is_empty()
    assert found.tests.is_empty()
    assert found.power.is_empty()
    assert len(found.rates) == 1
    assert "100%" not in " ".join(found.sentences)


def test_trials_that_tell_nothing(tmp_path: Path) -> None:
    evidence, labels = two_groups()
    flat = evidence.mean() + 0.01 * evidence
    found = hl.compare(folder_of(tmp_path / "r", tables(flat, labels)), "group", **QUICK)
    assert found.sentences[0] == BLURRED
    assert not found.tests["different"][0]
    assert found.differences["upper"].max() > 0.5
    assert np.isfinite(found.shares["share"].to_numpy()).all()


def test_a_permutation_p_value_is_never_0(tmp_path: Path) -> None:
    """The groups as they are count as one more deal: with 99 others p is at least 1 in 100."""
    evidence, labels = two_groups()
    eta = np.repeat([[0.01, 0.01], [0.5, 0.5]], 20, axis=0)
    made = folder_of(tmp_path / "r", tables(evidence, labels, eta))
    found = hl.compare(made, "group", resamples=20, permutations=99)
    assert found.rates["p"].min() == 0.01
    for reached in range(4):
        others = np.repeat([2.0, 0.0], [reached, 3 - reached])
        assert p_value(1.0, others, 0.0)[0] == (1 + reached) / 4


def test_csv_and_parquet_and_the_same_seed_give_the_same(tmp_path: Path) -> None:
    evidence, labels = two_groups()
    made = tables(evidence, labels)
    a = hl.compare(folder_of(tmp_path / "a", made), "group", **QUICK)
    b = hl.compare(folder_of(tmp_path / "b", made, "parquet"), "group", **QUICK)
    for name in ("shares", "differences", "tests", "power", "rates"):
        left, right = getattr(a, name), getattr(b, name)
        assert left.equals(right), name
    other = hl.compare(tmp_path / "a", "group", seed=5, **QUICK)
    assert not other.shares.equals(a.shares)


def test_the_shares_of_all_do_not_pull_groups_together(tmp_path: Path) -> None:
    """The scores of population hold the shares of all learners; its log-evidence does not."""
    evidence, labels = two_groups()
    made = tables(evidence, labels, criterion="population(other=true)")
    pulled = made["scores"].with_columns(
        score=pl.col("score") + pl.when(pl.col("model") == "OneForAll").then(0.0).otherwise(-9.0)
    )
    plain = hl.compare(folder_of(tmp_path / "a", made), "group", **QUICK)
    other = hl.compare(folder_of(tmp_path / "b", {**made, "scores": pulled}), "group", **QUICK)
    assert plain.criterion == "population(other=true)"
    assert plain.shares.equals(other.shares)


def test_a_criterion_without_probabilities_is_counted(tmp_path: Path) -> None:
    evidence, labels = two_groups()
    made = tables(evidence, labels)
    found = hl.compare(folder_of(tmp_path / "r", made), "group", criterion="aic", **QUICK)
    assert not found.graded
    assert "aic gives no probabilities" in found.notes[-1]
    # Twenty of twenty learners in either group, which lean on each other.
    shares = found.shares.filter(model="OneForAll")["share"].to_list()
    assert all(0.96 < share < 1.0 for share in shares)
    assert found.tests["p"][0] > 0.5
    assert "No difference in strategies was found between group" in " ".join(found.sentences)


def test_a_selection_and_a_frame_of_groups() -> None:
    task = hl.Task.load("shepard-1")
    study = hl.simulate(task, "OneForAll", {"eta": 0.1}, learners=8, trials=60, seed=1)
    result = hl.select(study, task.models, ["aic", "bic"])
    who = pl.DataFrame({"subject": [float(i) for i in range(1, 9)], "site": ["x", "y"] * 4})
    found = hl.compare(result, "site", groups=who, criterion="bic", **QUICK)
    assert found.groups.names == ("x", "y")
    assert found.shares["learners"].unique().to_list() == [4]


def test_several_groups_are_compared_in_pairs(tmp_path: Path) -> None:
    evidence, labels = two_groups(21)
    third = labels.with_columns(site=pl.Series(["10", "9", "2"] * 14))
    found = hl.compare(folder_of(tmp_path / "r", tables(evidence, third)), "site", **QUICK)
    assert found.groups.names == ("2", "9", "10")
    assert found.tests["groups"].to_list() == ["2, 9, 10", "2, 9", "2, 10", "9, 10"]
    assert len(found.differences) == 9
    assert not found.tests["different"].any()
    assert (found.tests["p"] > 0.05).all()
    assert found.power.is_empty()


def test_conditions_of_the_same_learners(tmp_path: Path) -> None:
    evidence, labels = two_groups(20)
    pairs = pl.DataFrame({"learner": [f"{i % 20}" for i in range(40)], "drug": labels["group"]})
    path = folder_of(tmp_path / "r", tables(evidence, pairs))
    found = hl.compare(path, within="drug", **QUICK)
    assert found.tests["learners"][0] == 20
    assert found.tests["p"][0] < 0.02
    assert found.tests["different"][0]
    (kept,) = found.tests.select("keeps_lower", "keeps", "keeps_upper").rows()
    assert 0 <= kept[0] < kept[1] < kept[2] < 0.5
    assert "of the learners use one strategy under all conditions" in " ".join(found.sentences)
    with pytest.raises(HowlearnError, match="learner 0 has several values of drug"):
        hl.compare(path, "drug", **QUICK)


def test_learners_under_one_condition_only_are_left_out(tmp_path: Path) -> None:
    evidence, labels = two_groups(20)
    pairs = pl.DataFrame({"learner": [f"{i % 30}" for i in range(40)], "drug": labels["group"]})
    found = hl.compare(folder_of(tmp_path / "r", tables(evidence, pairs)), within="drug", **QUICK)
    assert found.groups.n_learners == 10
    assert "20 learners do not occur under every value of drug: left out" in found.notes
    alone = folder_of(tmp_path / "s", tables(evidence, labels))
    with pytest.raises(HowlearnError, match="no learner occurs under every value of group"):
        hl.compare(alone, within="group", **QUICK)


def test_missing_groups_and_groups_of_one(tmp_path: Path) -> None:
    evidence, labels = two_groups(6)
    odd = labels.with_columns(group=pl.Series([None, "NA", "a[b]", *["c d"] * 9]))
    found = hl.compare(folder_of(tmp_path / "r", tables(evidence, odd)), "group", **QUICK)
    assert found.groups.names == ("a[b]", "c d")
    assert "group is missing for 2 of 12 sequences, which are left out" in found.notes
    assert any("a[b] has one learner only" in note for note in found.notes)
    assert found.rates.is_empty()
    assert not found.tests["different"][0]
    numbers = found.differences.select("difference", "lower", "upper").to_numpy()
    assert np.isfinite(numbers).all()


def test_rates(tmp_path: Path) -> None:
    """Twice the rate in one group; some rates are 0, and some cells not informed."""
    evidence, labels = two_groups(20, same=True)
    random = np.random.default_rng(2)
    eta = np.exp(random.normal(size=(40, 2)) * 0.3) * np.repeat([0.1, 0.05], 20)[:, None]
    eta[3] = 0.0
    made = tables(evidence, labels, eta)
    unseen = (pl.col("learner") == "5") & (pl.col("cell") == "3")
    estimates = made["estimates"].with_columns(
        status=pl.when(unseen).then(pl.lit("unseen")).otherwise("status"),
        estimate=pl.when(unseen).then(99.0).otherwise("estimate"),
    )
    path = folder_of(tmp_path / "r", {**made, "estimates": estimates})
    found = hl.compare(path, "group", **QUICK)
    (overall,) = found.rates.filter(pl.col("model").is_null()).to_dicts()
    value = np.arcsinh(eta / 0.002)
    mean = np.where(np.arange(40) == 4, value[:, 0], value.mean(axis=1))
    assert overall["difference"] == pytest.approx(mean[20:].mean() - mean[:20].mean())
    assert overall["typical"] == pytest.approx(0.002 * np.sinh(mean[20:].mean()))
    assert overall["lower"] < overall["difference"] < overall["upper"]
    assert overall["learners"] == pytest.approx(20)
    assert overall["p"] < 0.2
    # Of the models only one has enough learners in both groups.
    assert found.rates["model"].drop_nulls().to_list() == ["OneForAll"]
    faster = hl.compare(
        folder_of(tmp_path / "s", tables(evidence, labels, eta * np.repeat([3, 1], 20)[:, None])),
        "group",
        **QUICK,
    )
    assert faster.rates["p"][0] < 0.02


def test_a_p_of_rates_is_uniform_where_groups_are_alike() -> None:
    code = np.repeat([0, 1], [8, 15])
    groups = Groups("group", "g", ("a", "b"), code, np.arange(23), np.arange(23), ())
    p = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        given = ComparedParameter(
            "eta", None, random.normal(size=23), random.random(23) * 0.2 + 0.8
        )
        found = rate(given, groups, 20, 99, random)
        assert found is not None
        p.append(found.p)
    for level in (0.05, 0.1, 0.5):
        assert abs(np.mean(np.array(p) <= level) - level) < 3.5 * np.sqrt(level * (1 - level) / 200)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"group": "sex"}, "no column 'sex' to group learners by: there are group, age"),
        ({"group": "age"}, "as many values as there are learners"),
        ({"group": "learner"}, "no column 'learner'"),
        ({}, "say what to compare"),
        ({"group": "group", "within": "age"}, "say what to compare"),
        ({"group": "group", "criterion": "bic"}, "takes one of aic, evidence"),
        ({"group": "group", "permutations": 3}, "at least 20"),
        ({"within": "group", "groups": "who.csv"}, "goes with --group"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, options: dict, words: str) -> None:
    path = folder_of(tmp_path / "r", tables(*two_groups(6)))
    with pytest.raises(HowlearnError, match=words):
        hl.compare(path, **options)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("learner,sex\n1,f\n1,m\n", "learner 1 has two values of sex"),
        ("learner,age\n1,4\n", "no column 'sex'"),
        ("sex,age\nf,4\n", "no column for the learner"),
        ("learner,sex\nnobody,f\n", "names none of the learners"),
        ("learner,sex\n1,f\n2,f\n", "only the value f"),
    ],
)
def test_files_of_groups_that_do_not_help(tmp_path: Path, text: str, words: str) -> None:
    path = folder_of(tmp_path / "r", tables(*two_groups(6)))
    (tmp_path / "who.csv").write_text(text)
    with pytest.raises(HowlearnError, match=words):
        hl.compare(path, "sex", groups=tmp_path / "who.csv", **QUICK)


def test_many_values_and_scores_that_were_sorted_by_hand(tmp_path: Path) -> None:
    evidence, labels = two_groups(30)
    many = labels.with_columns(code=pl.Series([f"{i % 25}" for i in range(60)]))
    with pytest.raises(HowlearnError, match="at most 20 groups"):
        hl.compare(folder_of(tmp_path / "r", tables(evidence, many)), "code", **QUICK)
    made = tables(evidence, labels)
    mixed = {**made, "scores": made["scores"].sort("model")}
    with pytest.raises(HowlearnError, match="not as howlearn select writes them"):
        hl.compare(folder_of(tmp_path / "s", mixed), "group", **QUICK)


def test_withheld_answers_are_said_first(tmp_path: Path) -> None:
    study, groups = with_trials(([6, 6], [6, 6]), (0.1, 0.1))
    folder = tmp_path / "results"
    hl.select(study, TWO, ["population"], check=False, folder=folder)
    assert not hl.compare(folder, "group", groups=groups, **QUICK).withheld
    record(folder, check={"fails": True})
    found = hl.compare(folder, "group", groups=groups, **QUICK)
    assert found.sentences[0].startswith("The candidates do not fit these learners")
    assert found.texts()["comparison.txt"].startswith(found.sentences[0])
