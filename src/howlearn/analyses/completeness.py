"""``completeness``: how much of what can be foretold of these people the candidates capture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl

from howlearn.analyses import residual
from howlearn.analyses.foretold import Foretelling, Rows, coin_of, folds_of, row_scores
from howlearn.core.arrays import Floats, Ints
from howlearn.core.columns import of
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.core.text import Listing, Sentence, many, p_value
from howlearn.results.analysis import Analysis
from howlearn.results.results import Results
from howlearn.runs.files import read_record
from howlearn.runs.folder import read_table, there
from howlearn.runs.parts import Progress
from howlearn.runs.shards import MANIFEST

PEOPLE, TRIALS = 20, 100  # with fewer, nothing can be told
LEAST = 0.01  # nats per trial that there must be to foretell
LEVEL, RESAMPLES = 0.05, 1_000
STREAM = 25  # of random numbers that nobody else uses
MOST = 400_000  # trials; of larger studies some people are picked evenly
LOOKED_AT = 3  # families that are boosted, too
TOO_FEW, NOTHING, TOLD = "too few to tell", "nothing to predict", "told"


class Store(Protocol):
    """Where what is found is kept, so that a run that was stopped goes on."""

    def known(self, name: str) -> pl.DataFrame | None: ...

    def remember(self, name: str, found: pl.DataFrame | None) -> None: ...


class Nowhere:
    """Nothing is kept."""

    def known(self, name: str) -> pl.DataFrame | None:
        return None

    def remember(self, name: str, found: pl.DataFrame | None) -> None: ...


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Completeness(Analysis):
    """How complete the candidates are, whether they miss something, and what.

    ``completeness`` has one row for the study, ``reasons`` one per family of reasons, ``learners``
    one per learner; ``earlier`` are the answers for other candidates.
    """

    command = "completeness"
    ATTRIBUTES = {"completeness-learners": "learners"}  # noqa: RUF012
    CHARTS = ("completeness",)

    completeness: pl.DataFrame
    reasons: pl.DataFrame
    learners: pl.DataFrame
    candidates: tuple[str, ...]
    remarks: tuple[str, ...] = ()
    earlier: Sequence[Mapping[str, Any]] = field(default=())

    def __repr__(self) -> str:
        return f"Completeness: {' '.join(self.sentences)}"

    @property
    def row(self) -> dict[str, Any]:
        """The answer for the study."""
        return self.completeness.row(0, named=True)

    @property
    def alarm(self) -> bool:
        """Whether something can be foretold that no candidate foretells."""
        return bool(self.row["alarm"])

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """Nothing where there is nothing to tell."""
        steps = steps_table(self.row, self.reasons)
        return {} if steps is None else {"completeness": steps}

    def described(self) -> dict[str, Any]:
        """What the manifest of the selection tells of it."""
        kept = ("completeness", "lower", "upper", "p", "alarm", "verdict")
        found = {name: self.row[name] for name in kept}
        told = " ".join([*self.answer, *self.compared])
        return {**found, "candidates": [*self.candidates], "sentence": told}

    @property
    def answer(self) -> list[str]:
        """In words, shortly."""
        row = self.row
        if row["verdict"] == TOO_FEW:
            return [
                f"Too few to tell how complete the candidates are: "
                f"{many(row['learners'], 'learner')} with {row['trials_per_learner']:.0f} scored "
                f"trials each; {PEOPLE} learners with {TRIALS} are needed."
            ]
        if row["verdict"] == NOTHING:
            return [
                f"There is nothing to predict: the best prediction that was found is "
                f"{max(row['ceiling'] - row['coin'], 0.0):.3f} nats per trial better than a coin."
            ]
        if not self.alarm and row["lower"] > 0.995:  # "100% (100% to 100%)" would promise too much
            return [
                "The search found nothing that predicts these choices better than the models do. "
                "This does not prove that one of them is true."
            ]
        share = f"{row['completeness']:z.0%}"
        between = f"95% interval {row['lower']:z.0%} to {row['upper']:z.0%}"
        told = [f"The models capture at most {share} of what can be predicted ({between})."]
        if self.alarm:
            gain = row["ceiling"] - row["model"]
            told.append(
                f"They miss something: choices can be predicted {gain:.3f} nats per trial better "
                f"({p_value(row['p'])})."
            )
        else:
            told.append("Nothing else was found; this does not prove that one of them is true.")
        return told

    def summary(self) -> Iterator[Listing | Sentence]:
        for sentence in self.answer:
            yield Sentence(sentence)
        yield from map(Sentence, self.compared)
        if (self.reasons["p"] < LEVEL).any():
            rows = [
                (
                    row["family"], f"{row['gain']:.4f}", p_value(row["p"]),
                    "" if row["gain_boosted"] is None else f"{row['gain_boosted']:.4f}",
                    row["try"] or "",
                )
                for row in self.reasons.filter(pl.col("p") < LEVEL).iter_rows(named=True)
            ]  # fmt: skip
            heads = ("what is missed", "nats per trial", "p, corrected", "by boosting", "to try")
            legend = "The families overlap, so their gains do not add up."
            yield Listing("What the candidates may miss", heads, rows, legend=legend)

    @property
    def compared(self) -> list[str]:
        """How this answer differs from earlier ones, for other candidates."""
        row, found = self.row, []
        for other in self.earlier:
            if row["completeness"] is None or other.get("completeness") is None:
                continue
            more = [name for name in self.candidates if name not in other["candidates"]]
            with_them = f"With {', '.join(more)}" if more else "With these candidates"
            found.append(
                f"{with_them} {row['completeness']:z.0%}, before {other['completeness']:z.0%}."
            )
        return found


def steps_table(row: Mapping[str, Any], reasons: pl.DataFrame) -> pl.DataFrame | None:
    """Coin, candidates, what each family adds, and ceiling; None where nothing can be told."""
    if row["verdict"] != TOLD:
        return None
    total = row["model"]
    rows = [("coin", "", row["coin"]), ("candidates", "", total)]
    rows += [
        ("candidates and one family", family, total + gain)
        for family, gain in reasons.select("family", "gain").iter_rows()
        if gain > 0
    ]
    rows.append(("ceiling", "", row["ceiling"]))
    return pl.DataFrame(rows, schema=["what", "family", "nats_per_trial"], orient="row")


def completeness(
    source: Results | Path | str,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    store: Store | None = None,
    earlier: Sequence[Mapping[str, Any]] = (),
) -> Completeness:
    """How much of what can be foretold of these people the candidates of a selection capture.

    All scores are prequential: they know other people and a learner's own past. The candidates
    predict together, with weights from other people. Boosting on top of them finds what else can
    be predicted, which is a lower bound; so the ratio is an upper bound of completeness. Needs the
    extra ``completeness``.

    >>> import howlearn as hl
    >>> task = hl.Task.load("shepard-1")
    >>> study = hl.simulate(task, "OneForAll", {"eta": 0.1}, learners=3, trials=40, seed=1)
    >>> hl.completeness(hl.select(study, task.models, ["aic"])).row["verdict"]
    'too few to tell'
    """
    results = Results.of(source)
    study, remarks = picked(results.study)
    check_people(study)
    rows = Rows.of(study, folds_of(study, seed))
    n = len(set(study.learners))
    per = float(study.n_scored.sum() / n)
    if not is_large_enough(study):
        return _untold(results, TOO_FEW, n, per, remarks, earlier)
    residual.check_installed()
    work = _Work(results, study, rows, seed, store or Nowhere(), progress)
    return work.found(n, per, remarks, earlier)


def earlier_answers(
    out: Path, before: Path | None, candidates: Sequence[str]
) -> list[dict[str, Any]]:
    """What was found for other candidates: in a folder that is named, and in the one written to."""
    if before is not None and not (before / MANIFEST).is_file():
        raise HowlearnError(f"--before {before}: it is not a folder of howlearn completeness")
    found: list[dict[str, Any]] = []
    for folder in (*((before / "completeness", before) if before else ()), out):
        known = read_record(folder / MANIFEST) if folder.is_dir() else None
        if known is None or known.get("command") != "completeness":
            continue
        found += [each for each in known.get("earlier", ()) if isinstance(each, dict)]
        if known.get("candidates") != [*candidates] and there(folder, "completeness"):
            row = read_table(folder, "completeness").row(0, named=True)
            kept = {name: row[name] for name in ("completeness", "lower", "upper", "alarm")}
            found.append({"candidates": known["candidates"], **kept})
    others = [each for each in found if each.get("candidates") != [*candidates]]
    return [each for k, each in enumerate(others) if each not in others[:k]]


def is_large_enough(study: Study) -> bool:
    """Whether something can be told of the study."""
    n = len(set(study.learners))
    return n >= PEOPLE and study.n_scored.sum() / n >= TRIALS


def check_people(study: Study) -> None:
    """Refuse a study of one learner."""
    if len(set(study.learners)) < 2:
        raise HowlearnError(
            "completeness compares a learner with others, and there is one learner only; it needs "
            f"{PEOPLE} learners with {TRIALS} scored trials each"
        )


def picked(study: Study) -> tuple[Study, tuple[str, ...]]:
    """All people, or so many that their trials are not too many, picked evenly; and a note."""
    names = [*dict.fromkeys(study.learners)]
    most = max(PEOPLE, MOST * len(names) // max(1, len(study.context)))
    if most >= len(names):
        return study, ()
    some = {names[k * len(names) // most] for k in range(most)}
    kept = np.array([name in some for name in study.learners])
    return study.only(kept), (f"{most:,} of {len(names):,} learners, picked evenly",)


def _untold(
    results: Results, verdict: str, n: int, per: float, remarks: tuple[str, ...],
    earlier: Sequence[Mapping[str, Any]],
) -> Completeness:  # fmt: skip
    row = {"learners": [n], "trials_per_learner": [per], "alarm": [False], "verdict": [verdict]}
    empty = [of(name, "completeness").of_rows([]) for name in ("reasons", "completeness-learners")]
    labels = pl.DataFrame(schema={"learner": pl.String})
    learners = labels.hstack(empty[1].get_columns())
    frame = of("completeness", "completeness").frame(row)
    return Completeness(frame, empty[0], learners, (*results.names,), remarks, earlier)


@dataclass
class _Work:
    """One study on its way from the model's scores to the answer."""

    results: Results
    study: Study
    rows: Rows
    seed: int
    store: Store
    progress: Progress | None
    steps: int = 100

    def step(self, done: float) -> None:
        if self.progress:
            self.progress(int(done), self.steps)

    def kept(self, name: str, make: Callable[[], Floats]) -> Floats:
        """An array that is made once."""
        found = self.store.known(name)
        if found is None:
            found = pl.DataFrame({"value": make()})
            self.store.remember(name, found)
        return found["value"].to_numpy()

    def model(self) -> Floats:
        """The candidates' log-probabilities [row]."""
        study, results = self.study, self.results
        place = {name: i for i, name in enumerate(results.study.learners)}
        one = len(place) == len(results.study)
        who: Ints = np.arange(len(results.study))
        if len(study) < len(who):
            chosen = set(study.learners)
            who = np.array([i for i, name in enumerate(results.study.learners) if name in chosen])
        assert one or len(who) == len(study)
        thetas = [results.theta(k)[who] for k in range(len(results.models))]
        folds = folds_of(study, self.seed)
        made = Foretelling(study, results.models, thetas, folds)
        log_p = made.log_probabilities(lambda done, total: self.step(30 * done / total))
        return row_scores(self.rows, log_p)

    def found(
        self, n: int, per: float, remarks: tuple[str, ...], earlier: Sequence[Mapping[str, Any]]
    ) -> Completeness:
        rows = self.rows
        score = self.kept("model", self.model)
        self.step(30)
        features = residual.features_of(self.study, rows, score)
        start = residual.less_sure(rows, score)  # trees need not learn a lapse
        boosting = residual.Boosting(rows, features.all, start, self.seed)
        ceiling = start.copy()
        folds = residual.folds_in(rows)
        for k, fold in enumerate(folds):
            mine = (rows.fold == fold)[rows.of_row]

            def boost(fold: int = fold) -> Floats:
                return boosting.of(fold)[0]

            ceiling[mine] += self.kept(f"boosted-{fold}", boost)
            self.step(30 + 50 * (k + 1) / len(folds))
        ceiling = rows.softened(ceiling)
        coin = coin_of(self.study, rows)
        each = {
            "trials": rows.by_person(np.ones(len(rows))),
            "coin": rows.by_person(coin),
            "model": rows.by_person(score[rows.chosen]),
            "ceiling": rows.by_person(ceiling[rows.chosen]),
        }
        row = self.answer(each) | {"learners": n, "trials_per_learner": per}
        reasons = of("reasons", "completeness").of_rows([])
        if row["alarm"]:
            reasons = self.reasons(features, score)
        self.step(self.steps)
        frame = of("completeness", "completeness").frame({k: [v] for k, v in row.items()})
        names = (*self.results.names,)
        return Completeness(frame, reasons, self.learners(each), names, remarks, earlier)

    def answer(self, each: Mapping[str, Floats]) -> dict[str, Any]:
        """The row for the study."""
        n = each["trials"].sum()
        gain = each["ceiling"] - each["model"]
        p = residual.probability(gain)
        alarm = p < LEVEL
        coin, model = each["coin"], each["model"]
        top = each["ceiling"] if gain.sum() > 0 else model
        random = np.random.default_rng([self.seed, STREAM])
        people = len(coin)
        often = random.multinomial(people, np.full(people, 1 / people), RESAMPLES)
        part, whole = often @ (model - coin), often @ (top - coin)
        low = float(np.quantile(whole / (often @ each["trials"]), LEVEL / 2))
        there = float((top - coin).sum() / n)
        found: dict[str, Any] = {
            "coin": coin.sum() / n,
            "model": model.sum() / n,
            "ceiling": top.sum() / n,
            "p": p,
            "alarm": alarm,
            "verdict": TOLD,
        }
        if there < LEAST or low <= 0:
            return found | {"verdict": NOTHING, "alarm": False}
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(whole > 0, np.minimum(part / whole, 1.0), np.nan)
        ends = np.nanquantile(ratios, [LEVEL / 2, 1 - LEVEL / 2])
        share = min(float((model - coin).sum() / (top - coin).sum()), 1.0)
        return found | {"completeness": share, "lower": float(ends[0]), "upper": float(ends[1])}

    def learners(self, each: Mapping[str, Floats]) -> pl.DataFrame:
        """One row per learner, in nats per trial."""
        n = np.maximum(each["trials"], 1.0)
        names = pl.Series("learner", [*dict.fromkeys(self.study.learners)], dtype=pl.String)
        per = {name: each[name] / n for name in ("coin", "model", "ceiling")}
        frame = of("completeness-learners", "completeness").frame(
            {"n_trials": each["trials"].astype(np.int64), **per}
        )
        return pl.DataFrame([names]).hstack(frame.get_columns())

    def reasons(self, features: residual.Features, score: Floats) -> pl.DataFrame:
        """Every family on top of the candidates, the best first."""
        rows, n = self.rows, len(self.rows)
        found = {}
        for k, family in enumerate(residual.FAMILIES):
            new = residual.with_family(rows, features, family, score)
            gain = residual.gain_by_person(rows, new, score)
            corrected = min(1.0, len(residual.FAMILIES) * residual.probability(gain))
            found[family] = (float(gain.sum()) / n, corrected)
            self.step(80 + k)
        order = sorted(found, key=lambda family: -found[family][0])
        boosted = residual.boosted(
            rows, features, score, order[:LOOKED_AT], self.seed, self.kept, self.step
        )
        table = [
            {
                "family": family.name,
                "gain": found[family][0],
                "p": found[family][1],
                "gain_boosted": boosted.get(family.name),
                "says": family.says,
                "try": family.words(self.results, self.study),
            }
            for family in order
        ]
        columns = {name: [row[name] for row in table] for name in table[0]}
        return of("reasons", "completeness").frame(columns)
