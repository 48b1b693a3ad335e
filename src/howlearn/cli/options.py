"""Options that several commands share."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from howlearn.core.errors import HowlearnError

if TYPE_CHECKING:
    from howlearn.analyses.calibrate import Advice
    from howlearn.models.values import Value
    from howlearn.selection.criterion import Criterion


_COMMA = re.compile(r""",|in *\[[^]]*\]|`[^`]*`|== *'[^']*'|== *"[^"]*\"""")
DATA, DESIGN, MODELS, OUTPUT = "The data", "The design", "The models", "The results"
RUNNING = "Running"


class RuleName(StrEnum):
    """The learning rules by name."""

    gradient = "gradient"
    exp3 = "exp3"
    exp3_ix = "exp3-ix"
    q_learning = "q-learning"
    q_two_rates = "q-two-rates"
    q_forgetting = "q-forgetting"
    q_perseveration = "q-perseveration"
    win_stay_lose_shift = "win-stay-lose-shift"


class FormName(StrEnum):
    """What a rule learns from."""

    gain = "gain"
    loss = "loss"


class FormatName(StrEnum):
    """How tables are written."""

    csv = "csv"
    parquet = "parquet"


class OrderName(StrEnum):
    """In which order contexts are shown."""

    periodic = "periodic"
    blocks = "blocks"
    independent = "independent"


TaskOption = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar="NAME|FILE",
        help="A shipped task (five-four, shepard-1 … shepard-6) or your own .toml file.",
        rich_help_panel=MODELS,
    ),
]
Rule = Annotated[
    RuleName,
    typer.Option(
        help="How a cell learns, in models that do not say so themselves.", rich_help_panel=MODELS
    ),
]
Form = Annotated[
    FormName,
    typer.Option(
        help="gain: rewards make a choice more likely. loss: missed rewards make it less likely.",
        rich_help_panel=MODELS,
    ),
]
MaxRate = Annotated[
    float,
    typer.Option(
        "--max-rate",
        help="The largest learning rate, up to 20. It is a convention that matters: a wide bound "
        "favours finer partitions.",
        rich_help_panel=MODELS,
    ),
]
Criteria = Annotated[
    list[str] | None,
    typer.Option(
        "--criterion",
        metavar="CRITERION",
        help="May be repeated: 'penalized(c=0.012)' (with stop_at=150, a trial, stop_at=0.05, "
        "before any probability falls under it, or 'stop_at=paper(0.05)', the paper's formula, of "
        "the first trials only), 'holdout(split=0.5)', aic, bic, "
        "'prequential(blocks=5, start=0.5)', 'likelihood(trials=20)' (without a penalty, of the "
        "first trials or of all), population (with per_model, independent, leave_one_out or other "
        "=true in brackets) and evidence, which give probabilities. By default select takes "
        "population (evidence for fewer than ten learners), penalized and holdout; recover and "
        "plan take penalized, holdout and aic.",
        rich_help_panel=MODELS,
    ),
]
CalibrationFolder = Annotated[
    Path | None,
    typer.Option(
        "--calibration",
        metavar="FOLDER",
        help="Take the constants of penalized and holdout from a calibration (howlearn "
        "calibrate); aic, or what --criterion names, is used besides.",
        rich_help_panel=MODELS,
    ),
]
ModelNames = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="A candidate, in place of the task's; may be repeated. 'NAME (one rate)' has one "
        "rate for all cells, Coin does not learn; q-learning, alcove … ('field': all that "
        "`howlearn models` lists), 'q-learning(NAME)' in the cells of a model; 'NAME+lapse', "
        "+bias, +stickiness; 'exp4(NAME, NAME)' and 'switch(NAME, NAME)' are mixtures of "
        "strategies, with 'NAME\\[eta=0.03]' for given parameters. my_module:MyModel or "
        "my_file.py:MyModel is a model of your own: its code is run. Nothing else brings code, so "
        "name only files that you trust.",
        rich_help_panel=MODELS,
    ),
]
AddModel = Annotated[
    list[str] | None,
    typer.Option(
        "--add-model",
        metavar="NAME",
        help="A further candidate, named as for --model; may be repeated.",
        rich_help_panel=MODELS,
    ),
]
ExpertsFrom = Annotated[
    str | None,
    typer.Option(
        "--experts-from",
        metavar="training|joint|population|FOLDER",
        help="Where the strategies of exp4(…) and switch(…) have their parameters from, unless "
        "they are given: their own fits to the trials fitted (training, the default), a joint fit, "
        "other learners (population), or a folder of howlearn select or calibrate.",
        rich_help_panel=MODELS,
    ),
]
OneRate = Annotated[
    bool,
    typer.Option(
        "--one-rate",
        help="Add the 'NAME (one rate)' version of every candidate.",
        rich_help_panel=MODELS,
    ),
]
Order = Annotated[
    OrderName | None,
    typer.Option(
        "--order",
        help="How contexts are shown, in place of the task's order: one after the other over and "
        "over, in a new random permutation each round, or drawn independently.",
        rich_help_panel=DESIGN,
    ),
]
Seed = Annotated[
    int,
    typer.Option(min=0, help="The same seed gives the same learners.", rich_help_panel=DESIGN),
]
SettingsByModel = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="[MODEL:]NAME=VALUE[,VALUE…]",
        help="A parameter of the simulated learners: eta=0.03 for all cells, eta=0.003,0.01 one "
        "per cell in the order of `howlearn models`, eta=0.01:0.1 drawn for each learner and cell "
        "from a range (evenly on the log scale; from 0 on, evenly); with ByShape:eta=… for one "
        "model. By default eta=0.03, and what is usual in other models.",
        rich_help_panel=DESIGN,
    ),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh", help="Replace what an earlier run left there.", rich_help_panel=RUNNING
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Threads to use; all cores by default. It never changes a result.",
        rich_help_panel=RUNNING,
    ),
]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="WHERE",
        help="Work on a Dask cluster: the address of its scheduler (tcp://host:8786), a scheduler "
        "file, or local:4 for four processes here.",
        rich_help_panel=RUNNING,
    ),
]
ShardOption = Annotated[
    str | None,
    typer.Option(
        "--shard",
        metavar="I/N",
        help="Do the I-th of N shares of the work, as a task of an array job; howlearn merge then "
        "makes the tables.",
        rich_help_panel=RUNNING,
    ),
]
OutFolder = Annotated[
    Path,
    typer.Option("--out", "-o", help="The folder for the results.", rich_help_panel=OUTPUT),
]


def chosen_criteria(
    named: list[str] | None, calibration: Path | None
) -> tuple[tuple[Criterion, ...], Advice | None]:
    """The criteria that were named, those of a calibration (and AIC), or the default ones."""
    from howlearn.selection.criteria import AIC, DEFAULT, criterion_named

    criteria = tuple(criterion_named(text) for text in named or [])
    if calibration is None:
        return criteria or DEFAULT, None
    from howlearn.analyses.calibrate import advised

    advice = advised(calibration)
    return tuple(dict.fromkeys((*advice.criteria, *(criteria or (AIC(),))))), advice


def commas(text: str | None) -> tuple[str, ...]:
    """The names in ``a,b``; a comma in quotes or a list belongs to an expression.

    >>> commas("shape, colour"), commas("block, stimulus in ['a', 'b']")
    (('shape', 'colour'), ('block', "stimulus in ['a', 'b']"))
    """
    parts = _COMMA.sub(lambda found: "\0" if found[0] == "," else found[0], text or "").split("\0")
    return tuple(part.strip() for part in parts if part.strip())


# --------------------
# What users write in options: parameters, ranges of numbers.


MOST = 10_000  # numbers
STEPS = 7  # values in a range that does not say its step


def parse_settings(settings: list[str] | None) -> dict[str, list[Value]]:
    """Parameters from ``eta=0.03``, ``eta=0.003,0.010`` or ``eta=0.01:0.1``.

    >>> parse_settings(["eta=0.03,0.1", "gamma=0.2"])
    {'eta': [0.03, 0.1], 'gamma': [0.2]}
    """
    found = parse_settings_by_model(settings)
    if set(found) - {""}:
        raise HowlearnError(
            f"--set {', '.join(settings or [])}: there is one model only, so a parameter is set by "
            "eta=0.03, or eta=0.03,0.1,… with one value per cell (of all strategies of a mixture, "
            "one after the other)"
        )
    return found.get("", {})


def parse_settings_by_model(settings: list[str] | None) -> dict[str, dict[str, list[Value]]]:
    """Parameters by model, from ``ByShape:eta=0.03``; those without a model stand under "".

    >>> parse_settings_by_model(["eta=0.03", "ByShape:eta=0.01:0.1"])
    {'': {'eta': [0.03]}, 'ByShape': {'eta': [Range(lower=0.01, upper=0.1)]}}
    """
    found: dict[str, dict[str, list[Value]]] = {}
    for text in settings or []:
        left, equals, numbers = text.rpartition("=")
        model, _, name = (part.strip() for part in left.rpartition(":"))
        mine = found.setdefault(model, {})
        try:
            if not equals or not name or name in mine:
                raise ValueError
            mine[name] = [_value(number) for number in numbers.split(",")]
        except HowlearnError as error:
            raise HowlearnError(f"--set {text!r}: {error}") from None
        except ValueError:
            raise HowlearnError(
                f"--set {text!r}: write each parameter once, as eta=0.03, eta=0.003,0.010 (one per "
                "cell), eta=0.01:0.1 (a range), or for one model ByShape:eta=0.03"
            ) from None
    return found


def _value(text: str) -> Value:
    from howlearn.models.values import Range

    lower, colon, upper = text.partition(":")
    return Range(float(lower), float(upper)) if colon else float(text)


def parse_numbers(text: str, option: str) -> tuple[float, ...]:
    """Numbers from ``0.1,0.2``, ``60:600`` (several, evenly on the log scale), ``60:600:60``.

    >>> parse_numbers("60:600:180", "--trials"), parse_numbers("0.2,0.5", "--splits")
    ((60.0, 240.0, 420.0, 600.0), (0.2, 0.5))
    >>> parse_numbers("60:600", "--trials")
    (60.0, 88.0, 130.0, 190.0, 280.0, 410.0, 600.0)
    """
    try:
        values = [value for part in text.split(",") for value in _several(part)]
        if not values:
            raise ValueError
    except ValueError:
        example = "60:600:60" if option in ("--trials", "--learners") else "0.1:0.5:0.05"
        low, high, _ = example.split(":")
        raise HowlearnError(
            f"{option} {text!r}: write numbers as {low},{high}, a range from its lower to its "
            f"upper end as {low}:{high}, or with a step as {example} (at most {MOST:,} numbers)"
        ) from None
    return tuple(sorted(set(values)))


def parse_sizes(text: str, option: str) -> tuple[int, ...]:
    """Whole numbers, each as often as it is there.

    >>> parse_sizes("1,2,2,4", "--sizes")
    (1, 2, 2, 4)
    """
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise HowlearnError(
            f"{option} {text!r}: write whole numbers with commas between them, as 1,2,2,4"
        ) from None


def _several(part: str) -> list[float]:
    ends = [float(number) for number in part.split(":")]
    if len(ends) == 1:
        return ends
    low, high, *step = ends
    if not 0 < low <= high < float("inf") or len(step) > 1 or any(s <= 0 for s in step):
        raise ValueError
    if step:
        n = int((high - low) / step[0] + 1e-9) + 1
        if n > MOST:
            raise ValueError
        return [float(f"{low + k * step[0]:.12g}") for k in range(n)]
    if low == high:
        return [low]
    ratio = (high / low) ** (1 / (STEPS - 1))
    inner = [float(f"{low * ratio**k:.2g}") for k in range(1, STEPS - 1)]
    return [low, *(value for value in inner if low < value < high), high]


def parse_counts(text: str, option: str) -> tuple[int, ...]:
    """Whole numbers from 1 on, as ``parse_numbers`` takes them.

    >>> parse_counts("20:200", "--learners")
    (20, 29, 43, 63, 93, 140, 200)
    >>> parse_counts("5:10", "--learners")
    (5, 6, 7, 8, 9, 10)
    """
    values = parse_numbers(text, option)
    ends = {float(end) for part in text.split(",") for end in part.split(":")}
    if all(end.is_integer() for end in ends):  # between whole ends, what a range has inside
        values = tuple(sorted({float(round(value)) for value in values}))
    if not all(value >= 1 and value.is_integer() for value in values):
        raise HowlearnError(f"{option} {text!r}: whole numbers from 1 on are needed")
    return tuple(int(value) for value in values)
