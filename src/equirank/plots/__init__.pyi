"""The public list of this room."""

from .pictures.before_after import before_after as before_after
from .pictures.causal_dag import causal_dag as causal_dag
from .pictures.comparison import comparison as comparison
from .pictures.exposure import exposure as exposure
from .pictures.exposure_merit import exposure_merit as exposure_merit
from .pictures.fair_angles import fair_angles as fair_angles
from .pictures.impact_ratios import impact_ratios as impact_ratios
from .pictures.margin_bounds import margin_bounds as margin_bounds
from .pictures.pairwise_accuracy import pairwise_accuracy as pairwise_accuracy
from .pictures.position_difference import position_difference as position_difference
from .pictures.position_strip import position_strip as position_strip
from .pictures.prefix_shares import prefix_shares as prefix_shares
from .pictures.score_distributions import score_distributions as score_distributions
from .pictures.selection_rates import selection_rates as selection_rates
from .pictures.tradeoff import tradeoff as tradeoff
from .saving import save_chart as save_chart
