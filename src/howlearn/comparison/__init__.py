"""Do groups of learners use different strategies, and learn at different rates?"""

from howlearn.comparison.compare import Comparison, compare

__all__ = ["Comparison", "compare"]
