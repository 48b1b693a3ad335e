"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

DATA, MODELS, OUTPUT = "The data", "The models", "The results"


class RuleName(StrEnum):
    """The learning rules by name."""

    gradient = "gradient"
    exp3 = "exp3"
    exp3_ix = "exp3-ix"


class FormName(StrEnum):
    """What a rule learns from."""

    gain = "gain"
    loss = "loss"


class FormatName(StrEnum):
    """How tables are written."""

    csv = "csv"
    parquet = "parquet"


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
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Replace what an earlier run left there.", rich_help_panel=OUTPUT),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        help="Threads to use; all cores by default. It never changes a result.",
        rich_help_panel=OUTPUT,
    ),
]
OutFolder = Annotated[
    Path,
    typer.Option("--out", "-o", help="The folder for the results.", rich_help_panel=OUTPUT),
]


def commas(text: str | None) -> tuple[str, ...]:
    """The names in ``a,b``.

    >>> commas("shape, colour")
    ('shape', 'colour')
    """
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
