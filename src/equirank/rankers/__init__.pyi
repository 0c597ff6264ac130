"""The public list of this room."""

from .boosting.bipartite_rank_boost import BipartiteRankBoost as BipartiteRankBoost
from .boosting.cost_sensitive_ada_boost import CostSensitiveAdaBoost as CostSensitiveAdaBoost
from .boosting.fair_reduction import FairReduction as FairReduction
from .boosting.preferred_rank_boost import PreferredRankBoost as PreferredRankBoost
from .boosting.rank_boost import RankBoost as RankBoost
from .boosting.rank_boost_plus import RankBoostPlus as RankBoostPlus
from .costs.class_imbalance_cost import ClassImbalanceCost as ClassImbalanceCost
from .costs.class_pair_cost import ClassPairCost as ClassPairCost
from .costs.group_pair_cost import GroupPairCost as GroupPairCost
from .costs.item_costs import continuous_costs as continuous_costs
from .costs.item_costs import ternary_costs as ternary_costs
from .costs.listed_pair_cost import ListedPairCost as ListedPairCost
from .costs.parity_pair_cost import ParityPairCost as ParityPairCost
from .costs.protected_pair_cost import ProtectedPairCost as ProtectedPairCost
from .decisions.ranking_classifier import RankingClassifier as RankingClassifier
from .policy.fair_pg_rank import FairPGRank as FairPGRank
