"""The public list of searches."""

from .alternative_space import Family as Family
from .alternatives import search_alternatives as search_alternatives
from .guarantee import promise as promise
from .representation_tests import evaluate_representation as evaluate_representation
from .stacked_fits import fit_together as fit_together
from .tradeoff_scorer import TradeoffScorer as TradeoffScorer
from .tradeoff_search import TradeoffSearch as TradeoffSearch
