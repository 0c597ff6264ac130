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


def independent(X, missing):
    """Stumps without constant ones and without repeats or complements of an earlier one."""
    seen, kept = set(), []
    for stump in stumps(X, missing):
        output = stump[3]
        key = frozenset([tuple(output.tolist()), tuple((1.0 - output).tolist())])
        if key not in seen and len(set(output.tolist())) > 1:
            seen.add(key)
            kept.append(stump)
    return kept


def tie_loss(outputs, weights, a, b, cost):
    """E2: cost times a factor per distinct ranker, cosh where it leaves the pair tied."""
    loss = np.array(cost, dtype=float)
    for output, eta in zip(outputs, weights, strict=True):
        gain = output[a] - output[b]
        tied = np.abs(gain) < 1.0
        loss = loss * np.where(tied, np.cosh(eta), np.exp(-eta * gain))
    return loss.sum()


def rank_boost_plus(X, pairs, cost, rounds, *, smooth=None, missing="learn", dedupe=True):
    """RankBoost+ on listed pairs; a dict per round."""
    pairs, D = np.array(pairs), np.array(cost, dtype=float)
    a = np.where(D >= 0, pairs[:, 0], pairs[:, 1])
    b = np.where(D >= 0, pairs[:, 1], pairs[:, 0])
    D = np.abs(D)
    a, b, D = a[D > 0], b[D > 0], D[D > 0]
    c = D = D / D.sum()
    smooth = 0.5 / len(D) if smooth is None else smooth
    weak = independent(X, missing) if dedupe else stumps(X, missing)
    outputs = np.array([h for *_, h in weak])
    held, history = np.zeros(len(weak)), []
    gain = outputs[:, a] - outputs[:, b]
    gain[np.abs(gain) < 1.0] = 0.0
    for _ in range(rounds):
        plus, minus, tied = (gain > 0) @ D, (gain < 0) @ D, (gain == 0) @ D
        merit = np.abs(minus - plus + tied * np.tanh(held))
        at = first_best(merit)
        if merit[at] <= 1e-7:
            break
        grown = held[at]
        share = np.exp(-grown) / (2 * np.cosh(grown))
        step = 0.5 * math.log(
            (plus[at] + tied[at] * share + smooth) / (minus[at] + tied[at] * (1 - share) + smooth)
        )
        h = gain[at]
        D = D * np.where(h == 0, np.cosh(grown + step) / np.cosh(grown), np.exp(-step * h))
        Z = D.sum()
        D = D / Z
        held[at] += step
        used = np.flatnonzero(held)
        score = held @ outputs
        history.append(
            {
                "feature": weak[at][0],
                "threshold": weak[at][1],
                "side": weak[at][2],
                "alpha": step,
                "r": plus[at] - minus[at],
                "plus": plus[at],
                "minus": minus[at],
                "Z": Z,
                "E": tie_loss(outputs[used], held[used], a, b, c),
                "score": score.copy(),
                "R1": c[score[a] <= score[b]].sum(),
                "again": grown != 0.0,
                "held": grown,
            }
        )
        if (score[a] > score[b]).all():
            break
    return history
