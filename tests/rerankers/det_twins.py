"""Slow, plain versions of LinkedIn's four re-rankers, on exact fractions."""

from fractions import Fraction
from math import ceil, floor


def queues(scores, groups):
    """Rows of each group, best first; equal scores keep their order."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    result = {}
    for i in order:
        result.setdefault(groups[i], []).append(i)
    return result, {i: at for at, i in enumerate(order)}


def greedy_family(scores, groups, shares, k, rule):
    """DetGreedy, DetCons ("cons") or DetRelaxed ("relaxed"); shares are fractions."""
    left, rank = queues(scores, groups)
    left = {g: list(left.get(g, [])) for g in shares}
    counts = dict.fromkeys(shares, 0)
    result = []
    for j in range(1, k + 1):
        alive = [g for g in shares if left[g]]
        low = [g for g in alive if counts[g] < floor(j * shares[g])]
        high = [g for g in alive if floor(j * shares[g]) <= counts[g] < ceil(j * shares[g])]
        if low:
            options = low
        elif high and rule == "greedy":
            options = high
        elif high:
            due = {g: Fraction(ceil(j * shares[g])) / shares[g] for g in high}
            if rule == "relaxed":
                due = {g: ceil(value) for g, value in due.items()}
            options = [g for g in high if due[g] == min(due.values())]
        else:
            options = alive
        chosen = min(options, key=lambda g: rank[left[g][0]])
        result.append(left[chosen].pop(0))
        counts[chosen] += 1
    return result


def const_sort(scores, groups, shares, k):
    """DetConstSort with places from 1: who moves from place start - 1 to start must be in time."""
    left, rank = queues(scores, groups)
    left = {g: list(left.get(g, [])) for g in shares}
    minimum = dict.fromkeys(shares, 0)
    placed = []  # [row, deadline], place i + 1 at index i
    j = 0
    while len(placed) < k:
        j += 1
        if not any(left[g] and shares[g] > 0 for g in shares):
            break
        rising = [g for g in shares if floor(j * shares[g]) > minimum[g] and left[g]]
        for g in sorted(rising, key=lambda g: rank[left[g][0]]):
            placed.append([left[g].pop(0), j])
            start = len(placed)
            while (
                start > 1
                and placed[start - 2][1] >= start
                and rank[placed[start - 2][0]] > rank[placed[start - 1][0]]
            ):
                placed[start - 2], placed[start - 1] = placed[start - 1], placed[start - 2]
                start -= 1
        minimum = {g: floor(j * shares[g]) for g in shares}
    rest = sorted((i for rows in left.values() for i in rows), key=rank.get)
    return ([row for row, _ in placed] + rest)[:k]
