"""What the paper defines: counts, rules, bonuses. Pure functions of NumPy or JAX arrays."""

from dorax.core.bonuses import InverseCount, InverseRootCount, InverseRootLogE
from dorax.core.checks import InvalidInput
from dorax.core.counters import EValues, Visits
from dorax.core.counts import e_value, generalized_count, mean_count, next_count
from dorax.core.forms import CountE, LogisticE
from dorax.core.policies import EpsilonGreedy, Softmax
from dorax.core.rules import LLL, UCB, Deficit, Sample

__all__ = [
    "LLL", "UCB", "CountE", "Deficit", "EValues", "EpsilonGreedy", "InvalidInput", "InverseCount", "InverseRootCount",
    "InverseRootLogE", "LogisticE", "Sample", "Softmax", "Visits", "e_value", "generalized_count",
    "mean_count", "next_count",
]  # fmt: skip
