"""Random swaps against a plain loop over the same numbers."""

import numpy as np

from equirank.kernels.compiled import key_of, uniform
from equirank.kernels.drawn_lists import epsilon_swaps


def plain(n, k, key, draw, eps):
    people = list(range(n))
    key = np.uint64(key_of(np.uint64(key), np.uint64(draw)))
    for j in range(min(k, n - 1)):
        if uniform(key, np.uint64(2 * j)) < eps:
            at = j + 1 + int(uniform(key, np.uint64(2 * j + 1)) * (n - 1 - j))
            people[j], people[at] = people[at], people[j]
    place = [0] * n
    for j, person in enumerate(people[:k]):
        place[person] = j + 1
    return place


def test_against_a_plain_loop():
    sizes, limits, keys = [1, 5, 4, 7], [1, 5, 2, 3], [9, 8, 7, 6]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = epsilon_swaps(
        offsets, np.array(sizes), np.array(limits), np.array(keys, dtype=np.uint64), 0.6, 20
    )
    for q, (n, k, key) in enumerate(zip(sizes, limits, keys, strict=True)):
        for draw in range(20):
            mine = places[offsets[q] : offsets[q + 1], draw].tolist()
            assert mine == plain(n, k, key, draw, 0.6)
