"""RankBoost and RankBoost+ on enumerated pairs: slow, plain, and shared by the tests."""

import math
from itertools import pairwise

import numpy as np

TIE = 1e-10


def all_pairs(y, qid):
    """Every (a, b) of one query with y_a > y_b."""
    return [
        (a, b) for a in range(len(y)) for b in range(len(y)) if qid[a] == qid[b] and y[a] > y[b]
    ]


def cut_points(column):
    values = np.unique(column[~np.isnan(column)])
    return [(low + high) / 2 for low, high in pairwise(values)]


def stumps(X, missing=None):
    """Every stump as (feature, threshold, side, output), in the order in which ties are broken."""
    found = []
    for feature in range(X.shape[1]):
        column = X[:, feature]
        lost = np.isnan(column)
        for threshold in cut_points(column):
            sides = [0.0, 1.0] if missing == "learn" and lost.any() else [0.0]
            sides = [0.5] if missing == "abstain" else sides
            for side in sides:
                output = np.where(lost, side, (column > threshold).astype(float))
                found.append((feature, threshold, side, output))
    return found


def first_best(merits):
    return int(np.flatnonzero(merits >= merits.max() - TIE)[0])


def rank_boost(X, pairs, cost, rounds, *, alpha="discrete", smooth=None, missing="learn"):
    """RankBoost on listed pairs; a dict per round."""
    pairs, D = np.array(pairs), np.array(cost, dtype=float)
    a = np.where(D >= 0, pairs[:, 0], pairs[:, 1])
    b = np.where(D >= 0, pairs[:, 1], pairs[:, 0])
    D = np.abs(D)
    a, b, D = a[D > 0], b[D > 0], D[D > 0]
    D = D / D.sum()
    smooth = 0.5 / len(D) if smooth is None else smooth
    c, score, bound, history = D.copy(), np.zeros(len(X)), 1.0, []
    weak = stumps(X, missing)
    outputs = np.array([h for *_, h in weak])
    for _ in range(rounds):
        gain = outputs[:, a] - outputs[:, b]
        r = gain @ D
        at = first_best(np.abs(r))
        if abs(r[at]) <= 1e-7:
            break
        h = gain[at]
        plus, minus = D[h > 0] @ h[h > 0], -(D[h < 0] @ h[h < 0])
        abstains = missing == "abstain" and np.isnan(X[:, weak[at][0]]).any()
        if alpha == "continuous" or abstains:
            step = 0.5 * math.log((1 + r[at] + smooth) / (1 - r[at] + smooth))
        else:
            step = 0.5 * math.log((plus + smooth) / (minus + smooth))
        D = D * np.exp(-step * h)
        Z = D.sum()
        D /= Z
        bound *= Z
        score = score + step * weak[at][3]
        wrong = score[a] <= score[b]
        history.append(
            {
                "feature": weak[at][0],
                "threshold": weak[at][1],
                "side": weak[at][2],
                "alpha": step,
                "r": r[at],
                "plus": plus,
                "minus": minus,
                "Z": Z,
                "E": bound,
                "D": D.copy(),
                "a": a,
                "b": b,
                "score": score.copy(),
                "R1": c[wrong].sum(),
                "R2": c[score[a] < score[b]].sum() + 0.5 * c[score[a] == score[b]].sum(),
            }
        )
        if not wrong.any():
            break
    return history
