"""Checks that ship with the library, for its own parts and for those that users write."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
