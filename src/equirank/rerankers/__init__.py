"""Re-rankers: from one ranking to another, with a stated guarantee and its price."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
