"""The public list of searches."""

from .evaluate_representation import evaluate_representation as evaluate_representation
from .fit_together import fit_together as fit_together
from .tradeoff_scorer import TradeoffScorer as TradeoffScorer
from .tradeoff_search import TradeoffSearch as TradeoffSearch
