"""The public list of searches."""

from .representation_tests import evaluate_representation as evaluate_representation
from .stacked_fits import fit_together as fit_together
from .tradeoff_scorer import TradeoffScorer as TradeoffScorer
from .tradeoff_search import TradeoffSearch as TradeoffSearch
