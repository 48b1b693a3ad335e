"""The options that say what competes and what judges: the [models] of ``howlearn.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from howlearn.core.options import (
    FilePath,
    Kind,
    Number,
    OneOf,
    OnOff,
    Option,
    Panel,
    Registered,
    Repeated,
    WholeNumber,
)

# What the help shows without loading the models; ``_rules`` knows those that are registered.
RULES = (
    "gradient", "exp3", "exp3-ix", "q-learning", "q-two-rates", "q-forgetting", "q-perseveration",
    "q-signed", "pearce-hall", "go-no-go", "win-stay-lose-shift",
)  # fmt: skip


def _rules() -> tuple[str, ...]:
    """All that may learn in the cells of a partition."""
    from howlearn.models.names import learning_names

    return learning_names()


def _option(name: str, kind: Kind, help: str, default: Any = None, **more: Any) -> Option:
    return Option(name, kind, help, default, Panel.models, section="models", **more)


TASK = _option(
    "task",
    Kind("NAME|FILE"),
    "A shipped task (five-four, shepard-1 … shepard-6) or your own .toml file.",
)
CRITERION = _option(
    "criterion",
    Repeated("CRITERION"),
    "May be repeated: 'penalized(c=0.012)' (with stop_at=150, a trial, stop_at=0.05, before any "
    "probability falls under it, or 'stop_at=paper(0.05)', the paper's formula, of the first "
    "trials only), 'holdout(split=0.5)', aic, bic, 'prequential(blocks=5, start=0.5)', "
    "'likelihood(trials=20)' (without a penalty, of the first trials or of all), population (with "
    "per_model, independent, leave_one_out or other =true in brackets) and evidence, which give "
    "probabilities. By default select takes population (evidence for fewer than ten learners), "
    "penalized and holdout; recover and plan take penalized, holdout and aic.",
)
CALIBRATION = _option(
    "calibration",
    FilePath("FOLDER"),
    "Take the constants of penalized and holdout from a calibration (howlearn calibrate); aic, or "
    "what --criterion names, is used besides.",
)
MODEL = _option(
    "model",
    Repeated("NAME"),
    "A candidate, in place of the task's; may be repeated. 'NAME (one rate)' has one rate for all "
    "cells, Coin does not learn; q-learning, alcove … ('field': all that `howlearn models` lists), "
    "'q-learning(NAME)' in the cells of a model; 'NAME+lapse', +bias, +stickiness; 'exp4(NAME, "
    "NAME)', 'switch(NAME, NAME)' and 'hmm(NAME, NAME)' are mixtures of strategies, with "
    "'NAME\\[eta=0.03]' for given parameters. my_module:MyModel or my_file.py:MyModel is a model "
    "of your own: its code is run. Nothing else brings code, so name only files that you trust.",
    names_code=True,
)
ADD_MODEL = _option(
    "add_model",
    Repeated("NAME"),
    "A further candidate, named as for --model; may be repeated.",
    names_code=True,
)
NO_FIELD = _option(
    "no_field",
    OnOff(),
    "Only partitions compete, without the models of the field that the kind of task demands.",
    False,
)
ONE_RATE = _option(
    "one_rate", OnOff(), "Add the 'NAME (one rate)' version of every candidate.", False
)
EXPERTS_FROM = _option(
    "experts_from",
    Kind("training|joint|population|FOLDER"),
    "Where the strategies of exp4(…), switch(…) and hmm(…) have their parameters from, unless they "
    "are given: their own fits to the trials fitted (training, the default), a joint fit, other "
    "learners (population), or a folder of howlearn select or calibrate.",
)
RULE = _option(
    "rule",
    Registered(words=RULES, known=_rules),
    "How a cell learns, in models that do not say so themselves.",
    "gradient",
)
FORM = _option(
    "form",
    OneOf(words=("gain", "loss")),
    "gain: rewards make a choice more likely. loss: missed rewards make it less likely.",
    "gain",
)
MAX_RATE = _option(
    "max_rate",
    Number(),
    "The largest learning rate, up to 20. It is a convention that matters: a wide bound favours "
    "finer partitions.",
    1.0,
)
WITHIN = _option(
    "within",
    Number(least=0.0),
    "Models less than so many nats behind the best are not told apart.",
    2.0,
)
INTERVALS = _option(
    "intervals",
    Number("LEVEL"),
    "Intervals for the parameters of all models, at this level. Without it, 0.95 for models that "
    "are fitted cell by cell; for others they take as long as the fit.",
).but(panel=Panel.output)
STABILITY = _option(
    "stability",
    WholeNumber("DOUBLES"),
    "Also write stability.csv: how often so many simulated doubles of each learner (such as 100) "
    "are given the same model.",
).but(panel=Panel.output)
SEED = _option("seed", WholeNumber(), "For --stability: other doubles.", 0).but(panel=Panel.output)

MODELS: Mapping[str, Option] = {
    option.name: option
    for option in (
        TASK, CRITERION, CALIBRATION, MODEL, ADD_MODEL, NO_FIELD, ONE_RATE, EXPERTS_FROM, RULE,
        FORM, MAX_RATE, WITHIN, INTERVALS, STABILITY, SEED,
    )
}  # fmt: skip
NAMING_FILES = (TASK.name, CALIBRATION.name, EXPERTS_FROM.name)  # or folders
