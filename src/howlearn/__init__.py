"""howlearn: which model best explains how an individual learns, and how sure that is.

The public names are listed once, as imports that type checkers follow. When the program runs, each
is imported as it is first used, so that ``howlearn --help`` is quick.
"""

from __future__ import annotations

import gc
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from howlearn import models as models
    from howlearn.analyses.calibrate import calibrate as calibrate
    from howlearn.analyses.check import check as check
    from howlearn.analyses.check import select as select
    from howlearn.analyses.compare import compare as compare
    from howlearn.analyses.completeness import completeness as completeness
    from howlearn.analyses.discover import discover as discover
    from howlearn.analyses.doubles import stability as stability
    from howlearn.analyses.mechanisms import mechanisms as mechanisms
    from howlearn.analyses.path import path as path
    from howlearn.analyses.plan import plan as plan
    from howlearn.analyses.recover import recover as recover
    from howlearn.core.errors import DataError as DataError
    from howlearn.core.errors import HowlearnError as HowlearnError
    from howlearn.core.partition import Partition as Partition
    from howlearn.core.registry import register as register
    from howlearn.core.rule import Parameter as Parameter
    from howlearn.core.rule import Rule as Rule
    from howlearn.core.rules import Exp3 as Exp3
    from howlearn.core.rules import Exp3IX as Exp3IX
    from howlearn.core.rules import GradientBandit as GradientBandit
    from howlearn.core.safe_files import allow_code as allow_code
    from howlearn.core.study import Study as Study
    from howlearn.core.study import Trials as Trials
    from howlearn.core.world import log_softmax as log_softmax
    from howlearn.fitting.check_model import check_model as check_model
    from howlearn.fitting.defaults import candidates as candidates
    from howlearn.fitting.fit import fit as fit
    from howlearn.models.model import Model as Model
    from howlearn.models.partition_model import PartitionModel as PartitionModel
    from howlearn.models.task import Task as Task
    from howlearn.models.values import Range as Range
    from howlearn.paper import risks as risks
    from howlearn.paper import theory as theory
    from howlearn.reading.guess import inspect as inspect
    from howlearn.reading.read import read as read
    from howlearn.report import plot as plot
    from howlearn.results.results import Results as Results
    from howlearn.selection import shares as shares
    from howlearn.selection.criteria import AIC as AIC
    from howlearn.selection.criteria import BIC as BIC
    from howlearn.selection.criteria import HoldOut as HoldOut
    from howlearn.selection.criteria import Likelihood as Likelihood
    from howlearn.selection.criteria import Penalized as Penalized
    from howlearn.selection.criteria import Prequential as Prequential
    from howlearn.selection.criterion import Criterion as Criterion
    from howlearn.selection.criterion import Scores as Scores
    from howlearn.selection.evidence import Evidence as Evidence
    from howlearn.selection.population import Population as Population
    from howlearn.selection.predictions import leaders as leaders
    from howlearn.selection.predictions import leave_future_out as leave_future_out
    from howlearn.selection.predictions import weights as weights
    from howlearn.simulation.simulate import simulate as simulate

_MODULES = ("models", "plot", "risks", "shares", "theory")  # that are public as they are
_IMPORT = re.compile(r"^    from (\S+) import (\w+) as \2$", re.M)
_HOMES = {name: home for home, name in _IMPORT.findall(__loader__.get_source(__name__))}

__all__ = sorted([*_HOMES, "__version__"])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"howlearn has no {name!r}")
    collects = gc.isenabled()
    gc.disable()  # looking for cycles, of which importing leaves few, takes a tenth of the time
    try:
        if name in _MODULES:
            return import_module(f"{_HOMES[name]}.{name}")
        home = import_module(_HOMES[name])
    finally:
        if collects:
            gc.enable()
    if name == "log_softmax":  # which functions that a user compiles may call
        home.tell_compiler()
    return getattr(home, name)


def __dir__() -> list[str]:
    return __all__
