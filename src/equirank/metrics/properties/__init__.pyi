"""The public list of distributional checks, and the bench that says which metric sees what."""

from .cost_checks import cost_properties as cost_properties
from .merit_checks import arbitrary_treatment as arbitrary_treatment
from .merit_checks import conditional_independence as conditional_independence
from .merit_checks import noisy_ranking as noisy_ranking
from .merit_checks import tokenisation_index as tokenisation_index
from .position_checks import bimodality as bimodality
from .position_checks import clustering as clustering
from .position_checks import smoothness as smoothness
from .position_checks import statistical_independence as statistical_independence
from .property_bench import bench as bench
from .scenarios import scenario_names as scenario_names
from .scenarios import scenario_pair as scenario_pair
