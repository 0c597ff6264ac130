"""Public names of equirank.rerankers."""

from .balanced_selection import BalancedSelection as BalancedSelection
from .continuous_fairness import ContinuousFairness as ContinuousFairness
from .epsilon_greedy import EpsilonGreedy as EpsilonGreedy
from .exposure_optimal import ExposureOptimal as ExposureOptimal
from .fa_star_ir import FAStarIR as FAStarIR
from .fa_star_ir_tables import fa_star_ir_table as fa_star_ir_table
from .floor_rerankers import ImplicitBiasFloor as ImplicitBiasFloor
from .floor_rerankers import RooneyRule as RooneyRule
from .floor_rerankers import implicit_bias_gain as implicit_bias_gain
from .group_bounds import Bounds as Bounds
from .group_bounds import TableBounds as TableBounds
from .guaranteed import Guaranteed as Guaranteed
from .impact_ratio_floor import ImpactRatioFloor as ImpactRatioFloor
from .margin_lottery import MarginLottery as MarginLottery
from .online_selection import OnlineSelection as OnlineSelection
from .prefix_constraints import PrefixConstraints as PrefixConstraints
from .reranked import Reranked as Reranked
from .reranking import Reranking as Reranking
from .score_bonus import ScoreBonus as ScoreBonus
from .share_rerankers import DetCons as DetCons
from .share_rerankers import DetConstSort as DetConstSort
from .share_rerankers import DetGreedy as DetGreedy
from .share_rerankers import DetRelaxed as DetRelaxed
from .uncertain_merit import UncertainMerit as UncertainMerit
