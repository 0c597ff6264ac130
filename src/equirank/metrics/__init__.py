"""Metrics: for each a value object (``NDCG@10``) and a plain function on arrays (``ndcg``)."""

import lazy_loader as _lazy

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)
