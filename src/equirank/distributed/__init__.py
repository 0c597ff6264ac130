"""Distributed: training, evaluation and audits of data that lie in many parts, on Dask."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
