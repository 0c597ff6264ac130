"""Public names of equirank.statistics."""

from .corrected_labels import corrected_estimate as corrected_estimate
from .exact_tests import exact_over_lists as exact_over_lists
from .exact_tests import fisher_exact as fisher_exact
from .metric_bounds import best_ratio_bounds as best_ratio_bounds
from .metric_bounds import pairwise_bounds as pairwise_bounds
from .metric_bounds import prefix_bounds as prefix_bounds
from .parity_breakdown import label_breakdown as label_breakdown
from .proportions import flips as flips
from .proportions import selection_ratio as selection_ratio
from .proportions import shortfall as shortfall
from .proportions import two_proportion_z as two_proportion_z
from .score_gaps import score_gap as score_gap
from .score_gaps import scoring_rate as scoring_rate
from .stratified import breslow_day as breslow_day
from .stratified import mantel_haenszel as mantel_haenszel
from .unknown_labels import completion_bounds as completion_bounds
from .unknown_labels import imbens_manski as imbens_manski
