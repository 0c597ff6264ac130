"""How many cases a test draws: few in `make test`, many in `make test-all`."""

import os

#: `make test-all` sets it.
ALL = os.environ.get("EQUIRANK_TESTS") == "all"


def sized(few, many):
    """Return how many cases to draw."""
    return many if ALL else few
