"""Sorting the rows of one list again and again, as its scores change a little at a time."""

import numpy as np

from .compiling import compiled

__all__ = ["sort_rows"]

_RUN = 16  # rows sorted by insertion before runs are merged


@compiled
def sort_rows(score: np.ndarray, order: np.ndarray, spare: np.ndarray) -> None:
    """Sort rows by score, highest first, equal ones by row; quick where nearly sorted."""
    n = len(order)
    for begin in range(0, n, _RUN):
        for at in range(begin + 1, min(begin + _RUN, n)):
            row = order[at]
            value = score[row]
            to = at
            while to > begin:
                other = order[to - 1]
                if score[other] > value or (score[other] == value and other < row):
                    break
                order[to] = other
                to -= 1
            order[to] = row
    size = _RUN
    while size < n:
        for begin in range(0, n - size, 2 * size):
            middle, end = begin + size, min(begin + 2 * size, n)
            last, next_ = order[middle - 1], order[middle]
            if score[last] > score[next_] or (score[last] == score[next_] and last < next_):
                continue
            for at in range(begin, middle):
                spare[at] = order[at]
            left, right, to = begin, middle, begin
            while left < middle and right < end:
                a, b = spare[left], order[right]
                if score[a] > score[b] or (score[a] == score[b] and a < b):
                    order[to] = a
                    left += 1
                else:
                    order[to] = b
                    right += 1
                to += 1
            while left < middle:
                order[to] = spare[left]
                left += 1
                to += 1
        size *= 2
