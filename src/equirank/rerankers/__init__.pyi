"""The public list of this room."""

from .explanation import Explanation as Explanation
from .prefix.det_greedy import DetGreedy as DetGreedy
from .price import Price as Price
from .reranking import Reranking as Reranking
