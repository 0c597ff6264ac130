"""The public list of this room."""

from .boosting.cost_sensitive_ada_boost import CostSensitiveAdaBoost as CostSensitiveAdaBoost
from .boosting.rank_boost import RankBoost as RankBoost
from .costs.class_imbalance_cost import ClassImbalanceCost as ClassImbalanceCost
from .costs.class_pair_cost import ClassPairCost as ClassPairCost
from .costs.item_costs import continuous_costs as continuous_costs
from .costs.item_costs import ternary_costs as ternary_costs
from .costs.listed_pair_cost import ListedPairCost as ListedPairCost
from .costs.protected_pair_cost import ProtectedPairCost as ProtectedPairCost
from .policy.fair_pg_rank import FairPGRank as FairPGRank
