"""The field's models by their names."""

from __future__ import annotations

from howlearn.core.rule import Size
from howlearn.models.aca import ACA
from howlearn.models.adjustments import (
    Adjustment,
    Asymmetry,
    Attention,
    Bias,
    ChoiceTrace,
    Fictive,
    Forgetting,
    GoBias,
    Lapse,
    Pavlovian,
    Stickiness,
)
from howlearn.models.coin import Coin, FixedPolicy, WinStayLoseShift
from howlearn.models.exp4 import Exp4
from howlearn.models.gcm import GCM
from howlearn.models.hidden import HiddenStrategies, Switch
from howlearn.models.kalman import KalmanMean, KalmanThompson, KalmanUCB
from howlearn.models.mixture import Expert
from howlearn.models.model import Model
from howlearn.models.networks import Alcove, ComponentCue
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_learning import (
    GoNoGo,
    PearceHall,
    QLearning,
    QLearningForgetting,
    QLearningPerseveration,
    QLearningSigned,
    QLearningStart,
    QLearningTwoRates,
)
from howlearn.models.working_memory import RLWM, WorkingMemoryHabit

__all__ = [
    "ACA",
    "GCM",
    "RLWM",
    "Adjustment",
    "Alcove",
    "Asymmetry",
    "Attention",
    "Bias",
    "ChoiceTrace",
    "Coin",
    "ComponentCue",
    "Exp4",
    "Expert",
    "Fictive",
    "FixedPolicy",
    "Forgetting",
    "GoBias",
    "GoNoGo",
    "HiddenStrategies",
    "KalmanMean",
    "KalmanThompson",
    "KalmanUCB",
    "Lapse",
    "PartitionModel",
    "Pavlovian",
    "PearceHall",
    "QLearning",
    "QLearningForgetting",
    "QLearningPerseveration",
    "QLearningSigned",
    "QLearningStart",
    "QLearningTwoRates",
    "Size",
    "Stickiness",
    "Switch",
    "WinStayLoseShift",
    "WorkingMemoryHabit",
]

FIELD = Model.registry
for _model in (
    QLearning,
    QLearningTwoRates,
    QLearningForgetting,
    QLearningPerseveration,
    QLearningStart,
    QLearningSigned,
    PearceHall,
    GoNoGo,
    KalmanMean,
    KalmanUCB,
    KalmanThompson,
    WinStayLoseShift,
    ACA,
    Alcove,
    ComponentCue,
    GCM,
    RLWM,
    WorkingMemoryHabit,
):  # in the order of lists and messages
    FIELD.register(_model)


def field_model(name: str, n_features: int) -> Model:
    """The model of that name for contexts with so many features.

    >>> field_model("q-learning", 0)
    <model q-learning>
    >>> len(field_model("gcm", 3).parameters), len(field_model("gcm", 20).parameters)
    (5, 3)
    """
    return FIELD.named(name).for_features(n_features)
