"""Theory: what can be promised of a ranker beyond the data it was fitted on."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
