"""Shapley values: what each player of a game brings, on average over the orders of joining."""

from math import comb

import numpy as np

__all__ = ["coalitions_of_masks", "first_players", "marginals", "shapley_values"]


def coalitions_of_masks(masks: np.ndarray, n_players: int) -> np.ndarray:
    """Give the players of each coalition (masks x players): player j where bit j is set."""
    return ((masks[:, None] >> np.arange(n_players)) & 1).astype(bool)


def shapley_values(worth: np.ndarray) -> np.ndarray:
    """Give the exact Shapley values of a game from the worth of all its coalitions.

    ``worth[S]`` is the worth of the players whose bits are set in S, and
    ``phi_j = sum over S without j of |S|! (m - |S| - 1)! / m! (worth[S + j] - worth[S])``.
    """
    n_players = len(worth).bit_length() - 1
    masks = np.arange(len(worth))
    size = coalitions_of_masks(masks, n_players).sum(axis=1)
    weight = np.array([1.0 / (n_players * comb(n_players - 1, s)) for s in range(n_players)])
    values = np.empty(n_players)
    for player in range(n_players):
        without = masks[(masks >> player) & 1 == 0]
        gain = worth[without | (1 << player)] - worth[without]
        values[player] = (weight[size[without]] * gain).sum()
    return values


def first_players(place: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Give the coalitions of the first players of some orders (coalitions x players).

    ``place`` is the place of each player in the order (coalitions x players), from 0; ``size`` how
    many players each coalition has.
    """
    return place < size[:, None]


def marginals(order: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """Give what each player brought when players joined in some orders (orders x players).

    ``order`` lists the players of each order, ``worth`` what its first 0, 1, ... players are worth.
    """
    brought = np.empty(order.shape)
    np.put_along_axis(brought, order, np.diff(worth, axis=1), axis=1)
    return brought
