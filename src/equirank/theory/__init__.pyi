"""Public names of equirank.theory."""

from .bounds import kernel_bound as kernel_bound
from .bounds import margin_bound as margin_bound
from .bounds import rank_svm_bound as rank_svm_bound
from .bounds import training_error_bound as training_error_bound
from .generalization_bounds import GeneralizationBounds as GeneralizationBounds
from .generalization_bounds import margin_report as margin_report
from .margins import margin_loss as margin_loss
from .margins import rademacher_complexity as rademacher_complexity
from .mean_bounds import mean_upper_bound as mean_upper_bound
from .pair_weights import weight_axioms as weight_axioms
from .regret import order_probabilities as order_probabilities
from .regret import preference_loss as preference_loss
from .regret import ranking_regret as ranking_regret
from .sampling_bounds import queries_needed as queries_needed
from .sampling_bounds import sampling_error_bound as sampling_error_bound
from .vc_bounds import cost_sensitive_vc_bound as cost_sensitive_vc_bound
from .vc_bounds import vc_bound as vc_bound
