"""Do the paper's inequalities hold, and how loose are they?"""

from howlearn.verification.learners import Measure
from howlearn.verification.propositions import check_propositions
from howlearn.verification.verify import Verification, verify

__all__ = ["Measure", "Verification", "check_propositions", "verify"]
