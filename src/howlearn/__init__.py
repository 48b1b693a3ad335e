"""howlearn: which model best explains how an individual learns, and how sure one may be.

The names below are imported when they are first used, so that ``howlearn --help`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from howlearn._version import __version__

if TYPE_CHECKING:
    from howlearn.analyses.calibrate import Calibration, calibrate
    from howlearn.analyses.compare import Comparison, compare
    from howlearn.analyses.discover import discover
    from howlearn.analyses.discover_criteria import Codelength, Ewens, Kappa
    from howlearn.analyses.discover_tables import Discovery
    from howlearn.analyses.path import path
    from howlearn.analyses.path_result import Path
    from howlearn.analyses.plan import Plan, plan
    from howlearn.analyses.recover import Recovery, recover
    from howlearn.analyses.stability import stability
    from howlearn.core.errors import DataError, HowlearnError
    from howlearn.core.partition import Partition
    from howlearn.core.rule import Parameter
    from howlearn.core.rules import Exp3, Exp3IX, GradientBandit
    from howlearn.core.study import Study, Trials
    from howlearn.core.world import log_softmax
    from howlearn.fitting.check_model import check_model
    from howlearn.fitting.fit import fit
    from howlearn.fitting.fits import Fits
    from howlearn.models.aca import ACA
    from howlearn.models.adjustments import Bias, Lapse, Stickiness
    from howlearn.models.candidates import candidates
    from howlearn.models.coin import Coin, FixedPolicy
    from howlearn.models.exp4 import Exp4
    from howlearn.models.gcm import GCM
    from howlearn.models.mixture import Expert
    from howlearn.models.model import Model
    from howlearn.models.networks import Alcove, ComponentCue
    from howlearn.models.partition_model import PartitionModel
    from howlearn.models.q_learning import (
        QLearning,
        QLearningForgetting,
        QLearningPerseveration,
        QLearningTwoRates,
    )
    from howlearn.models.switch import Switch
    from howlearn.models.task import Task
    from howlearn.models.values import Range
    from howlearn.models.win_stay_lose_shift import WinStayLoseShift
    from howlearn.reading.guess import inspect
    from howlearn.reading.guess.inspection import Inspection
    from howlearn.reading.read import read
    from howlearn.report import plot
    from howlearn.results.select_into import Results, select_into
    from howlearn.selection.criteria import AIC, BIC, HoldOut, Likelihood, Penalized, Prequential
    from howlearn.selection.evidence import Evidence
    from howlearn.selection.population import Population
    from howlearn.selection.predictions import leaders, weights
    from howlearn.selection.select import Selection, select
    from howlearn.simulation.simulate import simulate

_HOMES = {
    "howlearn.analyses.calibrate": (
        "Calibration",
        "calibrate",
    ),
    "howlearn.analyses.compare": (
        "Comparison",
        "compare",
    ),
    "howlearn.analyses.discover": ("discover",),
    "howlearn.analyses.discover_criteria": (
        "Codelength",
        "Ewens",
        "Kappa",
    ),
    "howlearn.analyses.discover_tables": ("Discovery",),
    "howlearn.analyses.path": ("path",),
    "howlearn.analyses.path_result": ("Path",),
    "howlearn.analyses.plan": (
        "Plan",
        "plan",
    ),
    "howlearn.analyses.recover": (
        "Recovery",
        "recover",
    ),
    "howlearn.analyses.stability": ("stability",),
    "howlearn.core.errors": (
        "DataError",
        "HowlearnError",
    ),
    "howlearn.core.partition": ("Partition",),
    "howlearn.core.rule": ("Parameter",),
    "howlearn.core.rules": (
        "Exp3",
        "Exp3IX",
        "GradientBandit",
    ),
    "howlearn.core.study": (
        "Study",
        "Trials",
    ),
    "howlearn.core.world": ("log_softmax",),
    "howlearn.fitting.check_model": ("check_model",),
    "howlearn.fitting.fit": ("fit",),
    "howlearn.fitting.fits": ("Fits",),
    "howlearn.models.aca": ("ACA",),
    "howlearn.models.adjustments": (
        "Bias",
        "Lapse",
        "Stickiness",
    ),
    "howlearn.models.candidates": ("candidates",),
    "howlearn.models.coin": (
        "Coin",
        "FixedPolicy",
    ),
    "howlearn.models.exp4": ("Exp4",),
    "howlearn.models.gcm": ("GCM",),
    "howlearn.models.mixture": ("Expert",),
    "howlearn.models.model": ("Model",),
    "howlearn.models.networks": (
        "Alcove",
        "ComponentCue",
    ),
    "howlearn.models.partition_model": ("PartitionModel",),
    "howlearn.models.q_learning": (
        "QLearning",
        "QLearningForgetting",
        "QLearningPerseveration",
        "QLearningTwoRates",
    ),
    "howlearn.models.switch": ("Switch",),
    "howlearn.models.task": ("Task",),
    "howlearn.models.values": ("Range",),
    "howlearn.models.win_stay_lose_shift": ("WinStayLoseShift",),
    "howlearn.reading.guess": ("inspect",),
    "howlearn.reading.guess.inspection": ("Inspection",),
    "howlearn.reading.read": ("read",),
    "howlearn.results.select_into": (
        "Results",
        "select_into",
    ),
    "howlearn.selection.criteria": (
        "AIC",
        "BIC",
        "HoldOut",
        "Likelihood",
        "Penalized",
        "Prequential",
    ),
    "howlearn.selection.evidence": ("Evidence",),
    "howlearn.selection.population": ("Population",),
    "howlearn.selection.predictions": (
        "leaders",
        "weights",
    ),
    "howlearn.selection.select": (
        "Selection",
        "select",
    ),
    "howlearn.simulation.simulate": ("simulate",),
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
        return import_module(f"howlearn.report.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"howlearn has no {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
