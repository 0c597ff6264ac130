"""Public names of equirank.preprocess."""

from .causal_fair_scores import CausalFairScores as CausalFairScores
from .fair_scoring_weights import FairScoringWeights as FairScoringWeights
from .ifair import IFair as IFair
from .k_medoids_sampler import KMedoidsSampler as KMedoidsSampler
from .leakage import representation_leakage as representation_leakage
from .learned_fair_representation import LearnedFairRepresentation as LearnedFairRepresentation
from .oracles import ExposureGapOracle as ExposureGapOracle
from .oracles import FAStarIROracle as FAStarIROracle
from .oracles import MetricOracle as MetricOracle
from .oracles import PrefixSharesOracle as PrefixSharesOracle
from .query_samplers import LeverageSampler as LeverageSampler
from .query_samplers import RowNormSampler as RowNormSampler
from .query_samplers import UniformSampler as UniformSampler
