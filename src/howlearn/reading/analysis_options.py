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
    "q-start", "q-signed", "pearce-hall", "go-no-go", "win-stay-lose-shift",
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
    is_common=True,
)
CRITERION = _option(
    "criterion",
    Repeated("CRITERION"),
    "How models are judged; may be repeated, and the first one gives the answer. population, "
    "evidence, 'penalized(c=0.012)' (also with stop_at=150), 'holdout(split=0.5)', "
    "'prequential(blocks=5)', aic, bic, likelihood. Default of select: population (evidence for "
    "fewer than ten learners), penalized and holdout; of recover and plan: penalized, holdout, "
    "aic.",
    is_common=True,
)
CALIBRATION = _option(
    "calibration",
    FilePath("FOLDER"),
    "Use the constants of penalized and holdout that howlearn calibrate found; aic, or what "
    "--criterion names, is used too.",
)
MODEL = _option(
    "model",
    Repeated("NAME"),
    "A candidate, in place of the default ones; may be repeated. Any model that `howlearn models` "
    "lists ('field': all of them), 'NAME (one rate)', 'NAME+stickiness', mixtures such as "
    "'hmm(NAME, NAME)', or my_file.py:MyModel, whose code is run: name only files that you trust.",
    names_code=True,
    is_common=True,
)
ADD_MODEL = _option(
    "add_model",
    Repeated("NAME"),
    "One more candidate, named as for --model; may be repeated.",
    names_code=True,
    is_common=True,
)
NO_FIELD = _option(
    "no_field",
    OnOff(),
    "Compare only partitions, without the models that the field uses for this kind of task.",
    False,
)
ONE_RATE = _option(
    "one_rate", OnOff(), "Add the 'NAME (one rate)' version of every candidate.", False
)
EXPERTS_FROM = _option(
    "experts_from",
    Kind("training|joint|population|FOLDER"),
    "Where the parameters of strategies in exp4(…), switch(…) and hmm(…) come from: fits of each "
    "strategy alone (training, the default), a joint fit, other learners (population), or a "
    "folder of howlearn select or calibrate.",
)
RULE = _option(
    "rule",
    Registered(words=RULES, known=_rules),
    "The learning rule of partition models that do not name one.",
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
    "The largest learning rate allowed, at most 20. It matters: a high bound favours models that "
    "treat more contexts separately.",
    1.0,
    is_common=True,
)
WITHIN = _option(
    "within",
    Number(least=0.0),
    "Models within this many nats of the best count as tied.",
    2.0,
)
INTERVALS = _option(
    "intervals",
    Number("LEVEL"),
    "Compute intervals for the parameters of all models at this level. By default only models "
    "that are fitted cell by cell have them, at 0.95.",
).but(panel=Panel.output)
STABILITY = _option(
    "stability",
    WholeNumber("DOUBLES"),
    "Also write stability.csv: how often this many simulated doubles of each learner (for "
    "example 100) are given the same model.",
).but(panel=Panel.output)
SEED = _option("seed", WholeNumber(), "The seed of --stability.", 0).but(panel=Panel.output)

MODELS: Mapping[str, Option] = {
    option.name: option
    for option in (
        TASK, CRITERION, CALIBRATION, MODEL, ADD_MODEL, NO_FIELD, ONE_RATE, EXPERTS_FROM, RULE,
        FORM, MAX_RATE, WITHIN, INTERVALS, STABILITY, SEED,
    )
}  # fmt: skip
NAMING_FILES = (TASK.name, CALIBRATION.name, EXPERTS_FROM.name)  # or folders
