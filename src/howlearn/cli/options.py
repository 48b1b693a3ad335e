"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from howlearn.core.errors import HowlearnError
from howlearn.core.options import (
    FilePath,
    Files,
    Kind,
    OneOf,
    OnOff,
    Option,
    Panel,
    Repeated,
    WholeNumber,
)
from howlearn.reading.analysis_options import (
    ADD_MODEL,
    EXPERTS_FROM,
    FORM,
    MAX_RATE,
    MODEL,
    ONE_RATE,
    RULE,
    SEED,
)
from howlearn.reading.options import DATA as READING

if TYPE_CHECKING:
    from howlearn.analyses.error_rates import Advice
    from howlearn.models.values import Value
    from howlearn.selection.criterion import Criterion


FILES = Option(
    "files",
    Files("FILES…"),
    "One file with all learners, or many files or a folder with one learner each. By default those "
    "of howlearn.toml in this folder, which howlearn inspect writes.",
    is_argument=True,
)
STUDY = Panel.data.option(
    "study",
    FilePath("FILE"),
    "A file with options, as howlearn inspect writes it; options that are typed win.",
)
DATA = tuple(sorted(READING.values(), key=lambda option: option.rank))
LEARNING = (RULE, FORM, MAX_RATE)
CANDIDATES = (MODEL, ADD_MODEL, ONE_RATE, EXPERTS_FROM)
RESULTS = Option(
    "results",
    FilePath("RESULTS"),
    "A folder that howlearn select wrote.",
    is_argument=True,
    is_required=True,
)
ORDER = Panel.design.option(
    "order",
    OneOf(words=("periodic", "blocks", "independent")),
    "The order of contexts, instead of the task's: always the same round, a random order in each "
    "round, or independent draws.",
)
TRIALS = Panel.design.option(
    "trials",
    WholeNumber(least=2),
    "Trials of each learner; by default as the task says.",
    is_common=True,
)
LIKE = Panel.design.option(
    "like",
    FilePath("RESULTS"),
    "A folder of howlearn select: simulate learners like these, with the same numbers of trials, "
    "orders of contexts and estimates.",
    is_common=True,
)
DESIGN_SEED = SEED.but(
    kind=WholeNumber(least=0),
    help="The same seed gives the same learners.",
    panel=Panel.design,
    is_common=True,
)
SETTINGS = Panel.design.option(
    "settings",
    Repeated("[MODEL:]NAME=VALUE[,VALUE…]"),
    "A parameter of the simulated learners: eta=0.03 for all cells; eta=0.003,0.01 one per cell, "
    "in the order of `howlearn models`; eta=0.01:0.1 drawn at random from a range; ByShape:eta=… "
    "for one model. Default: eta=0.03.",
    words=("--set",),
    is_common=True,
)
FORMAT = Panel.output.option(
    "format", OneOf(words=("csv", "parquet")), "How tables are written.", "csv"
)
OUT = Panel.output.option(
    "out", FilePath(), "The folder for the results.", words=("--out", "-o"), is_common=True
)
FRESH = Panel.running.option("fresh", OnOff(), "Replace the results of an earlier run.", False)
WORKERS = Panel.running.option(
    "workers",
    WholeNumber(least=1),
    "Threads to use; by default one per core. Results do not depend on it.",
)
DASK = Panel.running.option(
    "dask",
    Kind("WHERE"),
    "Work on a Dask cluster: the address of its scheduler (tcp://host:8786), a scheduler file, or "
    "local:4 for four processes here.",
)
SHARD = Panel.running.option(
    "shard",
    Kind("I/N"),
    "Do the I-th of N parts of the work, as one task of an array job; howlearn merge then writes "
    "the tables.",
)
RUNNING = (FRESH, WORKERS, DASK, SHARD)


def chosen_criteria(
    named: Sequence[str], calibration: Path | None
) -> tuple[tuple[Criterion, ...], Advice | None]:
    """The criteria that were named, those of a calibration (and AIC), or the default ones."""
    from howlearn.selection.criteria import AIC, DEFAULT, criterion_named

    criteria = tuple(criterion_named(text) for text in named)
    if calibration is None:
        return criteria or DEFAULT, None
    from howlearn.analyses.error_rates import advised

    advice = advised(calibration)
    return tuple(dict.fromkeys((*advice.criteria, *(criteria or (AIC(),))))), advice


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
    """Whole numbers of at least 1, as ``parse_numbers`` takes them.

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
        raise HowlearnError(f"{option} {text!r}: whole numbers of at least 1 are needed")
    return tuple(int(value) for value in values)
