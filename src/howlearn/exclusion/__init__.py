"""--exclude: conditions on what all rows of a learner say together."""

from howlearn.exclusion.language import Condition, parse
from howlearn.exclusion.measures import Seen

__all__ = ["Condition", "Seen", "parse"]
