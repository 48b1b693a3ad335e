"""``verify``: the theorems on simulated learners, the propositions on sequences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from howlearn.core.errors import HowlearnError
from howlearn.core.partition import Partition
from howlearn.core.rules import Exp3
from howlearn.core.text import Listing, Sentence
from howlearn.models.partition_model import PartitionModel
from howlearn.models.task import Task
from howlearn.paper.theory import published, repaired
from howlearn.paper.verify_learners import Case, Measure, measured
from howlearn.paper.verify_propositions import check_propositions
from howlearn.results.analysis import Analysis
from howlearn.runs.parts import Memory, Part, Progress, Store, Threads, Work

# How fast a risk falls with the number of trials.


def rate_of(n: ArrayLike, mean: ArrayLike, error: ArrayLike) -> tuple[float, float]:
    """The slope of log mean against log n, weighted by the means' standard errors, and its own.

    >>> slope, _ = rate_of([100, 200, 400], [0.1, 0.05, 0.025], [0.01, 0.005, 0.0025])
    >>> round(slope, 6)
    -1.0
    """
    n, mean, error = (np.asarray(values, float) for values in (n, mean, error))
    known = (mean > 0) & (error > 0)
    if np.count_nonzero(known) < 2:
        return float("nan"), float("nan")
    x, y = np.log(n[known]), np.log(mean[known])
    weight = (mean[known] / error[known]) ** 2  # of a log, by the delta method
    centre = np.average(x, weights=weight)
    spread = float(np.sum(weight * (x - centre) ** 2))
    slope = float(np.sum(weight * (x - centre) * y)) / spread
    residual = y - np.average(y, weights=weight) - slope * (x - centre)
    # Where the points do not lie on a line, the error says so too.
    scatter = max(float(np.sum(weight * residual**2)) / max(len(x) - 2, 1), 1.0)
    return slope, float(np.sqrt(scatter / spread))


def mean_and_error(values: pl.Series) -> tuple[float, float]:
    """A mean with its standard error."""
    x = values.to_numpy()
    return float(x.mean()), float(x.std(ddof=1) / np.sqrt(len(x))) if len(x) > 1 else float("nan")


def ratio_and_error(above: pl.Series, below: pl.Series) -> tuple[float, float]:
    """The ratio of two means over the same learners, with its standard error (delta method)."""
    a, b = above.to_numpy(), below.to_numpy()
    if not b.mean() > 0:
        return float("nan"), float("nan")
    ratio = a.mean() / b.mean()
    if len(a) < 2:
        return float(ratio), float("nan")
    return float(ratio), float((a - ratio * b).std(ddof=1) / np.sqrt(len(a)) / b.mean())


TRIALS = (125, 250, 500, 1000, 2000, 4000, 8000, 16000)
LEARNERS = 20
LONG = 4000  # trials beyond which half as many learners will do
AT = 500  # trials at which a fixed θ and a fixed rate are the same
FEWEST_FUTURES = 20
LEADING = {"published": 2.0, "repaired": 1.0}  # the theorem's constant, of either proof
OUTSIDE = "outside (Exp3)"
ALL_MODELS = "all models"
SHOWN = (ALL_MODELS, OUTSIDE)  # in the printed tables and the chart
SCALINGS = {"theta": "theta fixed: the rate falls as 1/sqrt(n)", "eta": "rate fixed"}
FALLING = {"hellinger": "E[H²]", "best_kl": "E[K] of the best", "kl": "E[K] penalised"}
RISKS = ("hellinger", "best_kl", "best_kl_split", "kl", "penalised_oracle")


@Analysis.registry.register
@dataclass(frozen=True, eq=False, repr=False)
class Verification(Analysis):
    """What was found: tables of risks, of their rates, and of the propositions."""

    command = "verify"
    CHARTS = ("risks",)

    learners: pl.DataFrame  # one row per simulated learner
    propositions: pl.DataFrame
    models: tuple[str, ...]
    measure: Measure = field(default_factory=Measure)

    def __repr__(self) -> str:
        return (
            f"Verification on {len(self.learners):,} simulated learners: see .violations, .risks, "
            ".rates, .propositions"
        )

    @cached_property
    def risks(self) -> pl.DataFrame:
        """One row per way of growing, true model and number of trials; and over all models."""
        rows = []
        own = pl.col("true_model").is_in([*self.models])
        groups = [(ALL_MODELS, self.learners.filter(own)), (None, self.learners)]
        for name, frame in groups:
            by = ["scaling", "true_model", "trials"] if name is None else ["scaling", "trials"]
            for key, part in frame.group_by(by, maintain_order=True):
                about = dict(zip(by, key, strict=True))
                who = {"scaling": about["scaling"], "true_model": name or about["true_model"]}
                n = int(about["trials"])
                rows.append({**who, "trials": n, **self._row(part, n)})
        return pl.DataFrame(rows, infer_schema_length=None)

    def _row(self, part: pl.DataFrame, trials: int) -> dict[str, Any]:
        found: dict[str, Any] = {"learners": len(part)}
        for risk in RISKS:
            found[risk], found[f"{risk}_error"] = mean_and_error(part[risk])
        found["ratio_1"], found["ratio_1_error"] = ratio_and_error(
            part["hellinger"], part["best_kl"]
        )
        found["ratio_3"], found["ratio_3_error"] = ratio_and_error(
            part["kl"], part["penalised_oracle"]
        )
        tested = trials - math.floor(trials * self.measure.split + 1e-9)
        for name, proof in (("published", published), ("repaired", repaired)):
            bound = proof(LEADING[name], tested, len(self.models))
            found[f"bound_{name}"] = bound.leading * found["best_kl"] + bound.residual
            above = part["hellinger"] - bound.leading * part["best_kl"] - bound.residual
            found[f"holds_{name}"] = bool(above.mean() <= 0)  # pyright: ignore
            # Theorem 1 is about each past, not only about the mean over them.
            found[f"pasts_beyond_{name}"] = int((above > 0).sum())
        return found

    @cached_property
    def rates(self) -> pl.DataFrame:
        """The slope of log risk against log n, for every way of growing and true model."""
        rows = []
        for (scaling, model), part in self.risks.group_by(
            "scaling", "true_model", maintain_order=True
        ):
            for risk in RISKS:
                slope, error = rate_of(part["trials"], part[risk], part[f"{risk}_error"])
                rows.append({"scaling": scaling, "true_model": model, "risk": risk,
                             "rate": slope, "rate_error": error})  # fmt: skip
        return pl.DataFrame(rows).with_columns(pl.col("rate", "rate_error").fill_nan(None))

    @property
    def violations(self) -> list[str]:
        """What contradicts the theory, in words; empty where nothing does."""
        found = [
            f"{row['source']} ({row['rule']}, {row['form']}): {row['claim']}: violated on "
            f"{row['violations']} of {row['designs']} designs, such as {row['example']}"
            for row in self.propositions.filter(pl.col("violations") > 0).iter_rows(named=True)
        ]
        for row in self.risks.iter_rows(named=True):
            for name in LEADING:
                if not row[f"holds_{name}"]:
                    found.append(
                        f"Theorem 1 ({name} constants): E[H²] = {row['hellinger']:.4g} ± "
                        f"{row['hellinger_error']:.2g} is above {row[f'bound_{name}']:.4g} "
                        f"({row['true_model']}, {row['scaling']} fixed, n = {row['trials']})"
                    )
        return found

    @property
    def charts(self) -> Mapping[str, pl.DataFrame]:
        """Risks and bounds against the number of trials."""
        return {"risks": self.risks.filter(pl.col("true_model").is_in(SHOWN))}

    def summary(self) -> Iterator[Listing | Sentence]:
        """What is violated, then the theorems for both ways of growing and the propositions."""
        many = f"{len(self.violations)} violations:" if self.violations else ""
        yield Sentence(many or "No bound was violated.", strong=many)
        for sentence in self.violations:
            yield Sentence(f"  {sentence}")
        for scaling, words in SCALINGS.items():
            yield from self._theorems(scaling, words)
        rows = [
            (
                row["source"], f"{row['rule']}, {row['form']}", row["claim"],
                f"{row['closest']:.2g}", f"{row['violations']} of {row['designs']} designs",
            )
            for row in self.propositions.iter_rows(named=True)
        ]  # fmt: skip
        yield Listing(
            "Propositions",
            ("source", "rule", "claim", "closest", "violated"),
            rows,
            legend="closest: the largest share of what the bound allows that any of "
            f"{self.propositions['paths'].sum():,} sequences used.",
        )

    def _theorems(self, scaling: str, words: str) -> Iterator[Listing | Sentence]:
        """Theorems 1 and 3, and how fast the risks fall."""
        mine = self.charts["risks"].filter(scaling=scaling).to_dicts()
        first = [
            (
                row["true_model"], f"{row['trials']:,}",
                _number(row, "hellinger"), _number(row, "best_kl"), _number(row, "ratio_1"),
                f"{row['bound_repaired']:.3g}", f"{row['bound_published']:.3g}",
            )
            for row in mine
        ]  # fmt: skip
        columns = (
            "true model", "trials", "E[H²] selected", "E[K] best", "ratio", "bound, repaired",
            "bound, published",
        )  # fmt: skip
        yield Listing(f"Hold-out, Theorem 1 ({words})", columns, first)
        third = [
            (
                row["true_model"], f"{row['trials']:,}", _number(row, "kl"),
                _number(row, "penalised_oracle"), _number(row, "ratio_3"),
            )
            for row in mine
        ]  # fmt: skip
        columns = ("true model", "trials", "E[K] selected", "penalised oracle", "ratio")
        yield Listing(f"Penalised, Theorem 3 ({words})", columns, third)
        for model in SHOWN:
            rates = self.rates.filter(scaling=scaling, true_model=model).to_dicts()
            known = {row["risk"]: row for row in rates if row["rate"] is not None}
            found = [
                f"{text} n^{known[risk]['rate']:.2f} (± {known[risk]['rate_error']:.2f})"
                for risk, text in FALLING.items()
                if risk in known
            ]
            if found:
                yield Sentence(f"{model}: {', '.join(found)}")

    def where(self, folder: Path) -> list[str]:
        names = "risks.csv, rates.csv, propositions.csv, learners.csv, risks.svg"
        return [f"Tables and chart: {folder}/{names}"]


def _number(row: Mapping[str, float], name: str) -> str:
    return f"{row[name]:.3g} ± {row[f'{name}_error']:.1g}"


def outsider(task: Task) -> PartitionModel:
    """A learner that no candidate describes: Exp3 with a cell for every context."""
    return PartitionModel(OUTSIDE, Partition.each(task.contexts), Exp3())


def verify(
    task: Task | str = "five-four",
    trials: Sequence[int] = TRIALS,
    learners: int = LEARNERS,
    rate: float = 0.03,
    measure: Measure | None = None,
    seed: int = 0,
    store: Store | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Verification:
    """Simulate learners of every model of a task and of one outside, and compare risks and bounds.

    ``rate`` is their rate at 500 trials: with a fixed θ it falls as 1/√n from there, with a fixed
    rate it stays. Beyond 4,000 trials half as many learners are simulated.

    >>> found = verify("shepard-1", trials=[40, 80], learners=2)
    >>> found.violations
    []
    """
    task = Task.load(task) if isinstance(task, str) else task
    measure = measure or Measure()
    models = check(task, trials, learners, rate, measure)
    store = store if store is not None else Memory(Threads(threads))
    cases = []
    for s, scaling in enumerate(SCALINGS):
        for n in sorted({*map(int, trials)}):
            for m, truth in enumerate((*models, outsider(task))):
                eta = rate * math.sqrt(AT / n) if scaling == "theta" else rate
                count = learners if n <= LONG else max(learners // 2, 2)
                case = Case(task, truth, eta, n, count, (seed, s, n, m))
                cases.append((scaling, case))
    parts = [
        Part(
            number,
            ("risks",),
            case.trials * case.learners,
            partial(Work, _risks, (models, measure), (scaling, case)),
        )
        for number, (scaling, case) in enumerate(cases)
    ]
    store.complete(parts, progress)
    return Verification(
        store.read("risks").collect(),
        check_propositions(seed),
        tuple(model.name for model in models),
        measure,
    )


def _risks(
    common: tuple[list[PartitionModel], Measure],
    own: tuple[str, Case],
    threads: int | None,
    progress: Progress,
) -> dict[str, pl.DataFrame]:
    """Of the learners of one case."""
    (models, measure), (scaling, case) = common, own
    frame = measured(case, models, measure, threads)
    about = {"scaling": scaling, "true_model": case.truth.name, "trials": case.trials,
             "rate": case.rate}  # fmt: skip
    named = [pl.lit(value).alias(name) for name, value in about.items()]
    return {"risks": frame.select(*named, pl.all())}


def check(
    task: Task, trials: Sequence[int], learners: int, rate: float, measure: Measure
) -> list[PartitionModel]:
    """The candidates; refuses what cannot be, before any work is done."""
    if not len(trials) or min(trials) < 4:
        raise HowlearnError("a verification needs numbers of trials of at least 4")
    if learners < 2:
        raise HowlearnError("a verification needs at least two learners, for standard errors")
    if measure.futures < FEWEST_FUTURES:
        raise HowlearnError(
            f"at least {FEWEST_FUTURES} futures per learner are needed, got {measure.futures}: "
            "with fewer the smallest risk comes out too small, and bounds seem to be violated"
        )
    if not 0 < measure.split < 1:
        raise HowlearnError(f"the split must lie between 0 and 1, got {measure.split:g}")
    if not 0 <= measure.c < math.inf:
        raise HowlearnError(f"c must be 0 or greater, got {measure.c:g}")
    models = []
    for model in task.models:
        if {len(unit.rule.parameters) for unit in model.units} != {1}:
            raise HowlearnError(
                f"{model.name}: the oracle is computed for partition models with one rate per cell"
            )
        models.append(model)
    largest = min(model.units[0].rule.parameters[0].upper for model in models)
    at_most = rate * max(1.0, math.sqrt(AT / min(trials)))
    if not 0 < at_most <= largest:
        raise HowlearnError(
            f"the rate must lie above 0 and, at every number of trials, at most at {largest:g}; "
            f"with {min(trials)} trials it would be {at_most:.3g}"
        )
    if task.stop is not None:
        raise HowlearnError(
            f"task {task.name} ends when a learner has mastered it, so that learners have "
            "different numbers of trials; the theorems are about a fixed one"
        )
    for truth in (*models, outsider(task)):  # refuses tasks in which nothing can be simulated
        Case(task, truth, at_most, 4, 1, (0,)).simulate()
    return models
