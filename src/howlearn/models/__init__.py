"""The models, one per file."""

from howlearn.models.coin import Coin
from howlearn.models.partition_model import PartitionModel

__all__ = ["Coin", "PartitionModel"]
