"""The public list of this room."""

from .bound import Bound as Bound
from .bounds import kernel_bound as kernel_bound
from .bounds import margin_bound as margin_bound
from .bounds import rank_svm_bound as rank_svm_bound
from .bounds import training_error_bound as training_error_bound
from .generalization_bounds import EnsembleFacts as EnsembleFacts
from .generalization_bounds import GeneralizationBounds as GeneralizationBounds
from .generalization_bounds import KernelFacts as KernelFacts
from .rademacher import rademacher_complexity as rademacher_complexity
from .vc_bounds import cost_sensitive_vc_bound as cost_sensitive_vc_bound
from .vc_bounds import vc_bound as vc_bound
