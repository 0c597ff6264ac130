"""The public list of this room."""

from .boosting.cost_sensitive_ada_boost import CostSensitiveAdaBoost as CostSensitiveAdaBoost
from .boosting.rank_boost import RankBoost as RankBoost
