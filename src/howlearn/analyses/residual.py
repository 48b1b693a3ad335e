"""What is left to foretell once the candidates have spoken: features, boosting, and reasons."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howlearn.analyses.foretold import Rows
from howlearn.core.arrays import Bools, Floats, Ints, special
from howlearn.core.errors import HowlearnError
from howlearn.core.study import Study
from howlearn.engine import compile as compiled
from howlearn.fitting.replay import advisor_for
from howlearn.fitting.settings import records_of, setting_of
from howlearn.models.names import model_named
from howlearn.models.partition_model import is_partition
from howlearn.results.results import Results

HISTORY = (  # what the compiled loop tells of every action, in its order: family and column
    *(("repeats", f"chosen {back} ago") for back in ("1", "2", "3")),
    ("repeats", "trace of choices"),
    ("same-item repeats", "last answer here"),
    ("same-item repeats", "trace of answers here"),
    ("same-item repeats", "log answers here"),
    ("answer preference", "frequency so far"),
    ("recency", "last outcome here"),
    ("recency", "last outcome anywhere"),
    ("item memory", "net outcomes"),
    ("recency", "net outcomes, decay .8"),
    ("recency", "net outcomes, decay .5"),
    ("recency", "net outcomes, decay .95 per trial"),
    ("item memory", "log rewards"),
    ("item memory", "log non-rewards"),
    ("generalisation", "all others"),
    ("generalisation", "nearest"),
)
TOLD = ("log trial", "log gap", "running accuracy", "presentations", "contexts met")
SURENESS = "sureness"
MOST_FEATURES = 12  # of contexts, each with a column
RIDGE, STEPS = 5.0, 12  # of the conditional logit, in standard deviations; Newton's
LAPSES = (0.0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4)
SHARPNESS = (0.4, 0.55, 0.7, 0.85, 1.0, 1.2, 1.5, 2.0)
PRICE = 2.0  # nats for a lapse, and for a sharpness
ROUNDS, PATIENCE = 150, 25
SOME_FOLDS, FEW_ROUNDS = 4, 60  # with which single families are boosted
INSTALL = "pip install 'howlearn[completeness]'"
BOOSTING: dict[str, Any] = {
    "learning_rate": 0.08,
    "num_leaves": 6,
    "min_data_in_leaf": 60,
    "lambda_l2": 20.0,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "max_bin": 63,
    "num_threads": 1,
    "deterministic": True,
    "force_row_wise": True,
    "metric": "None",
    "verbose": -1,
}


@dataclass(frozen=True)
class Family:
    """A kind of reason why choices can be foretold better, and candidates that would do it."""

    name: str
    says: str
    tries: tuple[str, ...]  # as --add-model takes them; {} is a candidate
    otherwise: str = ""  # what else may be tried
    shown_by: tuple[str, ...] = ()  # mechanisms of ``howlearn mechanisms`` that do so

    def words(self, results: Results, study: Study) -> str:
        """What may be added to the candidates, as words of ``howlearn select``."""
        first = Counter(results.first["model"].to_list())
        names = [name for name, _ in first.most_common() if name in results.names]
        names += [name for name in results.names if name not in names]
        base = [model for model in results.models if is_partition(model)]
        n_features = len(next(iter(study.features.values()), {}))
        words = []
        for text in self.tries:
            if "{other}" in text and len(names) < 2:
                continue
            text = text.format(names[0], other=names[min(1, len(names) - 1)])
            try:
                model = model_named(base, text, "the study", n_features)
                advisor_for(model, study)
            except HowlearnError:
                continue
            known = (name == model.name or name.startswith(f"{model.name}+") for name in names)
            if not any(known):
                quote = "'" if any(c in text for c in " (),+[]") else ""
                words.append(f"--add-model {quote}{text}{quote}")
        words += [self.otherwise] if self.otherwise else []
        return "; ".join(words)


FAMILIES = (
    Family("repeats", "recent answers are repeated or avoided, whatever was shown",
           ("{}+stickiness",), shown_by=("stickiness", "trace")),
    Family("same-item repeats", "the last answer to the same context is repeated, rewarded or not",
           ("q-perseveration", "wm-habit"), shown_by=("stickiness", "trace")),
    Family("answer preference", "one answer is preferred throughout", ("{}+bias",),
           shown_by=("bias",)),
    Family("recency", "the latest outcomes count for more, or less, than in the candidates, or are "
           "forgotten", ("wm-habit", "rlwm", "q-forgetting", "win-stay-lose-shift", "q-two-rates"),
           shown_by=("forgetting", "asymmetry", "fictive", "attention")),
    Family("over time", "choices become surer, or less sure, with time than in the candidates",
           ("{}+lapse", "switch({}, {other})", "hmm({}, {other})"), shown_by=("drift",)),
    Family("generalisation", "what was learned about other contexts is used",
           ("alcove",), "howlearn discover, or other --features", ("generalisation",)),
    Family("item memory", "single contexts are remembered", ("OnePerItem", "gcm")),
    Family(SURENESS, "choices are less sure, or surer, than in the candidates",
           ("{}+lapse", "switch({}, {other})", "hmm({}, {other})"), shown_by=("lapse", "drift")),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Features:
    """Columns [row, column], each without its mean over what was on offer, and their families."""

    columns: Floats
    families: tuple[str, ...]
    names: tuple[str, ...]
    only_trees: Floats  # [row, …]: what is the same for all actions of a trial
    logit: Floats  # [row]: of the model

    def of(self, family: str) -> Floats:
        """The columns of one family."""
        mine = [k for k, name in enumerate(self.families) if name == family]
        return np.ascontiguousarray(self.columns[:, mine])

    @property
    def all(self) -> NDArray[np.float32]:
        """As trees take them."""
        return np.column_stack([self.columns, self.logit, self.only_trees]).astype(np.float32)


def features_of(study: Study, rows: Rows, score: Floats) -> Features:
    """What went before every trial; nothing in it knows what comes later."""
    actions, told = history_of(study)
    look = rows.trial[rows.first[:-1]]
    logit = rows.centred(score)
    names = [name for _, name in HISTORY]
    families = [family for family, _ in HISTORY]
    n_features = actions.shape[2] - len(HISTORY)
    names += [f"others that share feature {f + 1}" for f in range(n_features)]
    families += ["generalisation"] * n_features
    columns = [actions[rows.trial, rows.action]]

    def add(family: str, name: str, column: Floats) -> None:
        families.append(family)
        names.append(name)
        columns.append(column[:, None])

    lag = actions[rows.trial, rows.action, 0]
    add("repeats", "own repeats × chosen 1 ago", lag * 10 * _own_repeats(study, rows, score))
    for a in range(len(study.actions) - 1):
        add("answer preference", f"answer {study.actions[a]}", (rows.action == a).astype(float))
    each = told[look][rows.of_row]
    add("recency", "model × log gap", logit * (each[:, 1] - 1.5))
    add("over time", "model × log trial", logit * (each[:, 0] - 4.0))
    add("over time", "model × contexts met", logit * (each[:, 4] - 4.0) / 4.0)
    found = rows.centred(np.concatenate(columns, axis=1))
    used = np.flatnonzero(np.ptp(found, axis=0) > 1e-12)
    if study.load is not None:
        each = np.column_stack([each, study.load[look][rows.of_row]])
    return Features(
        np.ascontiguousarray(found[:, used]),
        tuple(families[k] for k in used),
        tuple(names[k] for k in used),
        each,
        logit,
    )


def history_of(study: Study) -> tuple[Floats, Floats]:
    """[trial, action, …] as in HISTORY, then a column per feature; and [trial, …] as in TOLD."""
    records, setting = records_of(study), setting_of(study)
    levels = np.ascontiguousarray(setting.levels[:, :MOST_FEATURES], np.int64)
    low, high = study.reward_range
    gain = np.where(study.learned, (study.reward - low) / max(high - low, 1e-300), 0.0)
    flags = records.flags.copy()
    flags[~np.isfinite(gain)] &= ~np.uint8(2)  # nothing is known to have been learned there
    n = len(study.context)
    actions = np.zeros((n, len(study.actions), len(HISTORY) + levels.shape[1]))
    told = np.zeros((n, len(TOLD)))
    compiled.foretelling().history(
        records.offsets, study.context.astype(np.int64), study.action.astype(np.int64),
        np.nan_to_num(gain), flags, levels, actions, told,
    )  # fmt: skip
    return actions, told


def _own_repeats(study: Study, rows: Rows, score: Floats) -> Floats:
    """[row]: how much more often than the model expects the learner has repeated an answer."""
    at = rows.trial[rows.first[:-1]]
    fresh = study.reset.copy()
    fresh[study.starts[:-1]] = True
    before = np.where(fresh[at], -1, study.action[np.maximum(at - 1, 0)])
    same = rows.action == before[rows.of_row]
    expected = np.bincount(rows.of_row, np.where(same, np.exp(score), 0.0), minlength=len(rows))
    there = np.bincount(rows.of_row, same, minlength=len(rows)) > 0
    excess = np.where(there, (rows.action[rows.chosen] == before) - expected, 0.0)
    total = np.cumsum(excess) - excess
    starts = np.flatnonzero(np.diff(rows.sequence, prepend=-1))
    first = starts[np.searchsorted(starts, np.arange(len(rows)), side="right") - 1]
    own = (total - total[first]) / (np.arange(len(rows)) - first + 10.0)
    return own[rows.of_row]


# Boosting from the model's log-probabilities; early stopping is nested.


def check_installed() -> None:
    """Say in one sentence what is not installed."""
    if not installed():
        raise HowlearnError(f"howlearn completeness needs LightGBM: {INSTALL}")


def installed() -> bool:
    """Whether boosting can be done here; asks without importing."""

    return importlib.util.find_spec("lightgbm") is not None


def folds_in(rows: Rows) -> list[int]:
    """Those of the people."""
    return [int(k) for k in np.unique(rows.fold)]


class Boosting:
    """Boosting from the scores of the candidates; columns are put into bins once for all folds."""

    def __init__(
        self,
        rows: Rows,
        columns: NDArray[np.float32],
        score: Floats,
        seed: int,
        rounds: int = ROUNDS,
    ) -> None:
        self.rows, self.columns, self.score = rows, columns, score
        self.seed, self.rounds = seed, rounds

    @cached_property
    def data(self) -> Any:
        import lightgbm as lgb

        label = np.zeros(len(self.score))
        label[self.rows.chosen] = 1.0
        settings = {"max_bin": BOOSTING["max_bin"], "verbose": -1}
        made = lgb.Dataset(self.columns, label, init_score=self.score, params=settings)
        return made.construct()

    def of(self, fold: int) -> tuple[Floats, int]:
        """What it adds to the scores of one fold's rows, and after how many rounds it stopped.

        It learns from all folds but this one and the next, and stops by the next: at 0 rounds if
        nothing helps there.
        """
        import lightgbm as lgb

        rows, kernel, folds = self.rows, compiled.foretelling(), folds_in(self.rows)
        following = folds[(folds.index(fold) + 1) % len(folds)]
        mine, stop = rows.fold == fold, rows.fold == following
        (first, row), (first_stop, row_stop) = _some(rows, ~mine & ~stop), _some(rows, stop)
        learned, stopping = (self.data.subset(some.tolist()) for some in (row, row_stop))
        label, chosen = (np.isin(some, rows.chosen) for some in (row, row_stop))
        wanted = label.astype(np.float64)
        curve = [-float(self.score[rows.chosen[stop]].mean())]

        def objective(z: Floats, _: Any) -> tuple[Floats, Floats]:
            gradient, hessian = np.empty(len(z)), np.empty(len(z))
            kernel.slopes(first, wanted, np.ascontiguousarray(z, np.float64), gradient, hessian)
            return gradient, hessian

        def loss(z: Floats, _: Any) -> tuple[str, float, bool]:
            out = np.empty(len(z))
            kernel.softened(first_stop, np.ascontiguousarray(z, np.float64), out)
            curve.append(-float(out[chosen].mean()))
            return "loss", curve[-1], False

        settings = {**BOOSTING, "objective": objective, "seed": self.seed * 1000 + fold}
        until = [lgb.early_stopping(PATIENCE, verbose=False)]
        trees = lgb.train(settings, learned, self.rounds, [stopping], feval=loss, callbacks=until)
        best = int(np.argmin(curve))
        _, row = _some(rows, mine)
        if best == 0:
            return np.zeros(len(row)), 0
        added = trees.predict(self.columns[row], num_iteration=best, raw_score=True)
        return np.asarray(added, np.float64), best


def _some(rows: Rows, who: Bools) -> tuple[Ints, Ints]:
    """The rows of some trials, and where each trial's begin among them."""
    first = np.concatenate(([0], np.cumsum(rows.per_trial[who]))).astype(np.int64)
    return first, np.flatnonzero(who[rows.of_row])


# Reasons: one family on top of the model, cross-fitted.


def linear(rows: Rows, x: Floats, score: Floats) -> Floats:
    """Scores [row] with a conditional logit of x on top, fitted to the other folds."""
    if not x.shape[1]:
        return score
    scale = x.std(axis=0)
    x = np.ascontiguousarray(x / np.where(scale > 0, scale, 1.0))
    out = score.copy()
    for fold in folds_in(rows):
        others = np.flatnonzero(rows.fold != fold)
        beta = newton(rows, others, x, score)
        mine = (rows.fold == fold)[rows.of_row]
        out[mine] = score[mine] + x[mine] @ beta
    return rows.softened(out)


def newton(rows: Rows, trials: Ints, x: Floats, score: Floats) -> Floats:
    """The weights of x that explain these trials best, with a ridge."""
    n = x.shape[1]
    gradient, hessian = np.empty(n), np.empty((n, n))

    def at(beta: Floats) -> float:
        given = (rows.first, trials, rows.chosen, x, score, beta, gradient, hessian)
        return compiled.foretelling().logit(*given) + 0.5 * RIDGE * float(beta @ beta)

    beta = np.zeros(n)
    value = at(beta)
    for _ in range(STEPS):
        step = np.linalg.solve(hessian + RIDGE * np.eye(n), gradient + RIDGE * beta)
        size = 1.0
        while (new := at(beta - size * step)) > value and size > 1e-3:
            size /= 2
        if new > value:
            at(beta)
            break
        beta, gained, value = beta - size * step, value - new, new
        if gained < 1e-3:
            break
    return beta


def less_sure(rows: Rows, score: Floats) -> Floats:
    """Log-probabilities [row] with a lapse and a sharpness, which the other folds choose."""
    p = np.stack([np.exp(rows.softened(sharp * score)) for sharp in SHARPNESS])
    guess = (1.0 / rows.per_trial)[rows.of_row]
    folds = folds_in(rows)
    table = np.empty((len(LAPSES), len(SHARPNESS), len(folds)))
    place = np.searchsorted(folds, rows.fold)
    for j in range(len(SHARPNESS)):
        for i, lapse in enumerate(LAPSES):
            each = np.log((1 - lapse) * p[j][rows.chosen] + lapse * guess[rows.chosen])
            table[i, j] = np.bincount(place, each, minlength=len(folds))
    price = PRICE * ((np.array(LAPSES) > 0)[:, None] + (np.array(SHARPNESS) != 1.0)[None, :])
    out = np.empty(len(score))
    for k, fold in enumerate(folds):
        total = table.sum(axis=2) - table[:, :, k] - price
        i, j = np.unravel_index(int(np.argmax(total)), total.shape)
        mine = (rows.fold == fold)[rows.of_row]
        out[mine] = np.log((1 - LAPSES[i]) * p[j][mine] + LAPSES[i] * guess[mine])
    return out


def gain_by_person(rows: Rows, new: Floats, old: Floats) -> Floats:
    """Nats by which new scores [row] foretell better than old ones."""
    return rows.by_person(new[rows.chosen] - old[rows.chosen])


def probability(gain: Floats) -> float:
    """P-value that the mean over people is above 0, one-sided; 1 where nothing was gained."""
    n, spread = len(gain), float(np.std(gain, ddof=1)) if len(gain) > 1 else 0.0
    if gain.sum() < 0.01 or spread == 0.0:
        return 1.0
    return float(special().stdtr(n - 1, -gain.mean() / (spread / np.sqrt(n))))


def with_family(rows: Rows, features: Features, family: Family, score: Floats) -> Floats:
    """The scores with one family on top."""
    if family.name == SURENESS:
        return less_sure(rows, score)
    return linear(rows, features.of(family.name), score)


def boosted(
    rows: Rows,
    features: Features,
    score: Floats,
    families: Sequence[Family],
    seed: int,
    kept: Callable[[str, Callable[[], Floats]], Floats],
    step: Callable[[float], None],
) -> dict[str, float]:
    """What trees gain from a family and the model's logit, above the logit alone.

    ``kept`` makes an array once, under a name; ``step`` is told how far it is, of 100.
    """
    some = folds_in(rows)[:SOME_FOLDS]
    mine = np.isin(rows.fold, some)
    gains, names = [], ["", *(family.name for family in families)]
    for number, name in enumerate(names):
        parts = [features.logit[:, None]]
        if name and name != SURENESS:
            parts.append(features.of(name))
        columns = np.concatenate(parts, axis=1).astype(np.float32)
        trees = Boosting(rows, columns, score, seed, FEW_ROUNDS)

        def make(trees: Boosting = trees) -> Floats:
            new = score.copy()
            for fold in some:
                new[(rows.fold == fold)[rows.of_row]] += trees.of(fold)[0]
            new = rows.softened(new)
            return np.array([(new - score)[rows.chosen[mine]].mean()])

        known = name.replace(" ", "-") or "alone"
        gains.append(float(kept(f"family-{known}", make)[0]))
        step(88 + 3 * number)
    alone = gains[0]
    found = dict(zip(names[1:], [gain - max(alone, 0.0) for gain in gains[1:]], strict=True))
    if SURENESS in found:
        found[SURENESS] = alone
    return found
