"""The lists of the literature whose shapes the usual measures cannot tell apart."""

import numpy as np

#: Places of ten protected of a hundred, all with the mean 50.
SHAPES = {
    "one heap": [*range(45, 50), *range(51, 56)],
    "two ends": [*range(1, 6), *range(95, 100)],
    "top and heap": [2, 3, 5, *range(67, 74)],
    "even": list(range(5, 100, 10)),
}
#: Where protected with the true places 5, 15, ..., 95 were put.
MAPPED = {
    "clustering": [14, 15, 16, 44, 45, 46, 79, 80, 81, 82],
    "noise": [15, 4, 33, 22, 54, 70, 49, 81, 90, 82],
    "tokenisation": [1, 8, 16, 22, 31, 72, 79, 83, 92, 100],
}
TRUE_PLACES = np.array(SHAPES["even"])


def mask_of(places, n=100):
    return np.isin(np.arange(1, n + 1), places)


def mapped_list(name):
    """The whole list of a hundred: the others keep their order in the places left."""
    position = np.empty(100)
    protected = mask_of(TRUE_PLACES)
    position[protected] = MAPPED[name]
    position[~protected] = np.setdiff1d(np.arange(1, 101), MAPPED[name])
    return position, np.arange(1, 101), protected
