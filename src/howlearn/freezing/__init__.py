"""An analysis plan that is written before the data are seen, and what was done otherwise."""

from howlearn.freezing.deviations import Deviation, deviations
from howlearn.freezing.plan import NAME, FrozenPlan, freeze_plan
from howlearn.freezing.toml import options_of, read_plan, write_plan

__all__ = [
    "NAME",
    "Deviation",
    "FrozenPlan",
    "deviations",
    "freeze_plan",
    "options_of",
    "read_plan",
    "write_plan",
]
