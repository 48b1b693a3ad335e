"""howlearn: which model best explains how an individual learns, and how sure one may be.

The names below are imported when they are first used, so that ``howlearn --help`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from howlearn._version import __version__

if TYPE_CHECKING:
    from howlearn import plot
    from howlearn.calibration import (
        Calibration,
        Plan,
        Recovery,
        calibrate,
        plan,
        recover,
        stability,
    )
    from howlearn.checking import check_model
    from howlearn.comparison import Comparison, compare
    from howlearn.criteria import (
        AIC,
        BIC,
        Evidence,
        HoldOut,
        Likelihood,
        Penalized,
        Population,
        Prequential,
    )
    from howlearn.discovery import Codelength, Discovery, Ewens, Kappa, discover
    from howlearn.errors import DataError, HowlearnError
    from howlearn.fitting import Fits, fit
    from howlearn.inspection import Inspection, inspect
    from howlearn.model import Model
    from howlearn.models import (
        ACA,
        GCM,
        Alcove,
        Bias,
        Coin,
        ComponentCue,
        Exp4,
        Expert,
        FixedPolicy,
        Lapse,
        PartitionModel,
        QLearning,
        QLearningForgetting,
        QLearningPerseveration,
        QLearningTwoRates,
        Stickiness,
        Switch,
        WinStayLoseShift,
    )
    from howlearn.models.candidates import candidates
    from howlearn.partition import Partition
    from howlearn.reading import read
    from howlearn.rule import Parameter
    from howlearn.rules import Exp3, Exp3IX, GradientBandit
    from howlearn.selecting import Results, select_into
    from howlearn.selection import Selection, select
    from howlearn.sensitivity import Path, path
    from howlearn.simulation import Range, simulate
    from howlearn.study import Study, Trials
    from howlearn.task import Task
    from howlearn.weighing import leaders, weights
    from howlearn.world import log_softmax

_HOMES = {
    "howlearn.models.candidates": ("candidates",),
    "howlearn.calibration": (
        "Calibration",
        "Plan",
        "Recovery",
        "calibrate",
        "plan",
        "recover",
        "stability",
    ),
    "howlearn.checking": ("check_model",),
    "howlearn.comparison": ("Comparison", "compare"),
    "howlearn.criteria": (
        "AIC",
        "BIC",
        "Evidence",
        "HoldOut",
        "Likelihood",
        "Penalized",
        "Population",
        "Prequential",
    ),
    "howlearn.discovery": ("Codelength", "Discovery", "Ewens", "Kappa", "discover"),
    "howlearn.weighing": ("leaders", "weights"),
    "howlearn.errors": ("DataError", "HowlearnError"),
    "howlearn.fitting": ("Fits", "fit"),
    "howlearn.inspection": ("Inspection", "inspect"),
    "howlearn.model": ("Model",),
    "howlearn.rule": ("Parameter",),
    "howlearn.world": ("log_softmax",),
    "howlearn.models": (
        "Alcove",
        "ACA",
        "Bias",
        "Coin",
        "ComponentCue",
        "Exp4",
        "Expert",
        "FixedPolicy",
        "GCM",
        "Lapse",
        "PartitionModel",
        "QLearning",
        "QLearningForgetting",
        "QLearningPerseveration",
        "QLearningTwoRates",
        "Stickiness",
        "Switch",
        "WinStayLoseShift",
    ),
    "howlearn.partition": ("Partition",),
    "howlearn.reading": ("read",),
    "howlearn.rules": ("Exp3", "Exp3IX", "GradientBandit"),
    "howlearn.selecting": ("Results", "select_into"),
    "howlearn.selection": ("Selection", "select"),
    "howlearn.sensitivity": ("Path", "path"),
    "howlearn.simulation": ("Range", "simulate"),
    "howlearn.study": ("Study", "Trials"),
    "howlearn.task": ("Task",),
}
_MODULES = ("plot",)  # that are public as they are
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "ACA",
    "AIC",
    "BIC",
    "GCM",
    "Alcove",
    "Bias",
    "Calibration",
    "Codelength",
    "Coin",
    "Comparison",
    "ComponentCue",
    "DataError",
    "Discovery",
    "Evidence",
    "Ewens",
    "Exp3",
    "Exp3IX",
    "Exp4",
    "Expert",
    "Fits",
    "FixedPolicy",
    "GradientBandit",
    "HoldOut",
    "HowlearnError",
    "Inspection",
    "Kappa",
    "Lapse",
    "Likelihood",
    "Model",
    "Parameter",
    "Partition",
    "PartitionModel",
    "Path",
    "Penalized",
    "Plan",
    "Population",
    "Prequential",
    "QLearning",
    "QLearningForgetting",
    "QLearningPerseveration",
    "QLearningTwoRates",
    "Range",
    "Recovery",
    "Results",
    "Selection",
    "Stickiness",
    "Study",
    "Switch",
    "Task",
    "Trials",
    "WinStayLoseShift",
    "__version__",
    "calibrate",
    "candidates",
    "check_model",
    "compare",
    "discover",
    "fit",
    "inspect",
    "leaders",
    "log_softmax",
    "path",
    "plan",
    "plot",
    "read",
    "recover",
    "select",
    "select_into",
    "simulate",
    "stability",
    "weights",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"howlearn.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"howlearn has no {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
