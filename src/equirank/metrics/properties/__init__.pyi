"""The public list of distributional checks, and the bench that says which metric sees what."""

from .benching import bench as bench
from .checks.arbitrary_treatment import arbitrary_treatment as arbitrary_treatment
from .checks.bimodality import bimodality as bimodality
from .checks.clustering import clustering as clustering
from .checks.conditional_independence import conditional_independence as conditional_independence
from .checks.noisy_ranking import noisy_ranking as noisy_ranking
from .checks.smoothness import smoothness as smoothness
from .checks.statistical_independence import statistical_independence as statistical_independence
from .checks.tokenisation_index import tokenisation_index as tokenisation_index
from .scenarios import scenario_names as scenario_names
from .scenarios import scenario_pair as scenario_pair
