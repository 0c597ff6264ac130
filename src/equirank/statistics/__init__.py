"""Statistics of decisions: ratios of selection rates, their tests, and differences in scores."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
