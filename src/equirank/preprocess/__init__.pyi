"""The public list of this room."""

from .causal_effects import CausalEffects as CausalEffects
from .causal_fair_scores import CausalFairScores as CausalFairScores
from .causal_rank_test import CausalRankTest as CausalRankTest
from .fair_scoring_weights import FairScoringWeights as FairScoringWeights
from .ifair import IFair as IFair
from .learned_fair_representation import LearnedFairRepresentation as LearnedFairRepresentation
from .oracles import ExposureGapOracle as ExposureGapOracle
from .oracles import FAStarIROracle as FAStarIROracle
from .oracles import MetricOracle as MetricOracle
from .oracles import Oracle as Oracle
from .oracles import PrefixSharesOracle as PrefixSharesOracle
