"""Plain definitions of every metric: slow, obvious, exact, and sharing nothing with the library.

Each takes the inputs and the options of a vector and gives its expected values. They count pairs
by listing them, average over tied items by listing their orders, and find maxima by trying all
lists; numbers are fractions as long as they can be, and have fifty digits from then on.
"""

from . import exposure, others, pairs, prefixes, relevance, selection
from .lists import BadInput, Result
from .numbers import written

__all__ = ["DEFINITIONS", "BadInput", "Result", "written"]

DEFINITIONS = {
    name: getattr(module, name)
    for module in (relevance, pairs, prefixes, selection, exposure, others)
    for name in module.__all__
}
