"""The models, one per file."""

from howlearn.models.aca import ACA
from howlearn.models.alcove import Alcove
from howlearn.models.bias import Bias
from howlearn.models.coin import Coin
from howlearn.models.component_cue import ComponentCue
from howlearn.models.exp4 import Exp4
from howlearn.models.expert import Expert
from howlearn.models.fixed_policy import FixedPolicy
from howlearn.models.gcm import GCM
from howlearn.models.lapse import Lapse
from howlearn.models.partition_model import PartitionModel
from howlearn.models.q_forgetting import QLearningForgetting
from howlearn.models.q_learning import QLearning
from howlearn.models.q_perseveration import QLearningPerseveration
from howlearn.models.q_two_rates import QLearningTwoRates
from howlearn.models.stickiness import Stickiness
from howlearn.models.switch import Switch
from howlearn.models.win_stay_lose_shift import WinStayLoseShift

__all__ = [
    "ACA",
    "GCM",
    "Alcove",
    "Bias",
    "Coin",
    "ComponentCue",
    "Exp4",
    "Expert",
    "FixedPolicy",
    "Lapse",
    "PartitionModel",
    "QLearning",
    "QLearningForgetting",
    "QLearningPerseveration",
    "QLearningTwoRates",
    "Stickiness",
    "Switch",
    "WinStayLoseShift",
]
