"""The paper's definitions: counts, counters, action rules and bonuses, as pure functions of NumPy or JAX arrays."""

from dorax.core.bonuses import Bonus, ConstantBonus, InverseCount, InverseRootCount, InverseRootLogE
from dorax.core.checks import InvalidInput
from dorax.core.counters import Counter, EValues, Visits
from dorax.core.counts import count_after_visits, e_value, generalized_count, mean_count, next_count
from dorax.core.policies import EpsilonGreedy, Policy, Softmax
from dorax.core.rules import LLL, UCB, Deficit, Rule, Sample, SampledLLL
from dorax.core.schedules import LinearSchedule, PiecewiseSchedule
from dorax.core.spreads import Spread
from dorax.core.targets import q_target

__all__ = [
    "LLL", "UCB", "Bonus", "ConstantBonus", "Counter", "Deficit", "EValues", "EpsilonGreedy", "InvalidInput",
    "InverseCount", "InverseRootCount", "InverseRootLogE", "LinearSchedule", "PiecewiseSchedule", "Policy", "Rule",
    "Sample", "SampledLLL", "Softmax", "Spread", "Visits", "count_after_visits", "e_value", "generalized_count",
    "mean_count", "next_count", "q_target",
]  # fmt: skip
