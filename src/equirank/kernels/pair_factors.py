"""Factorised pair weights: sums over all pairs of a list, computed from sums over its grades.

Rows are sorted into runs of equal query, grade and cell; a long run is split. The weight of a pair
is ``p_a q_b exp(f_b - f_a)`` times a factor that depends on the two cells. The sums of
``p exp(-f)`` and ``q exp(f)`` of a run are relative to its lowest and highest score and are
combined in logarithms, so that large scores do not overflow.
"""

import math
from typing import NamedTuple

import numpy as np

from .compiled import compiled

__all__ = [
    "RunTerms",
    "best_first",
    "item_potentials",
    "least_margin",
    "reached",
    "run_sums",
    "shift_scores",
    "side_sums",
]


#: Range of scores in one run above which both exponentials are computed.
SPREAD = 600.0


class RunTerms(NamedTuple):
    """The runs, and what their rows contribute to pairs."""

    p: np.ndarray  # term x row: the factor of the preferred item
    q: np.ndarray  # term x row: the factor of the other item
    weighted: bool  # whether p and q differ from 1
    runs: np.ndarray  # the first row of each run, and the number of rows
    up: np.ndarray  # of each row: exp(low - f), written by `run_sums`
    down: np.ndarray  # of each row: exp(f - high), written by `run_sums`


@compiled
def run_sums(
    score: np.ndarray,
    terms: RunTerms,
    begin: int,
    end: int,
    low: np.ndarray,
    high: np.ndarray,
    above: np.ndarray,
    below: np.ndarray,
) -> None:
    """Write the sums of each run: ``above`` of p exp(low - f), ``below`` of q exp(f - high).

    ``up`` and ``down`` store the two exponentials of every row.
    """
    p, q, weighted, runs, up, down = terms
    n_terms = above.shape[0]
    for run in range(begin, end):
        first, last = runs[run], runs[run + 1]
        lo = hi = score[first]
        for i in range(first + 1, last):
            lo = min(lo, score[i])
            hi = max(hi, score[i])
        low[run], high[run] = lo, hi
        if hi - lo < SPREAD:
            whole = math.exp(lo - hi)
            for i in range(first, last):
                high_part = math.exp(score[i] - hi)
                down[i] = high_part
                up[i] = whole / high_part
        else:
            for i in range(first, last):
                up[i] = math.exp(lo - score[i])
                down[i] = math.exp(score[i] - hi)
        for term in range(n_terms):
            total_up = total_down = 0.0
            if weighted:
                for i in range(first, last):
                    total_up += p[term, i] * up[i]
                    total_down += q[term, i] * down[i]
            else:
                for i in range(first, last):
                    total_up += up[i]
                    total_down += down[i]
            above[term, run] = total_up
            below[term, run] = total_down


@compiled
def side_sums(
    codes: np.ndarray,
    cut: int,
    missing: int,
    side: int,
    terms: RunTerms,
    begin: int,
    end: int,
    above: np.ndarray,
    below: np.ndarray,
) -> None:
    """Write the sums of each run by the output of a stump: 0, 1, or 2 if it abstains (first axis).

    Rows with a code above ``cut`` have output 1, those with the code ``missing`` output ``side``.
    """
    p, q, weighted, runs, up, down = terms
    n_terms = above.shape[1]
    for run in range(begin, end):
        for term in range(n_terms):
            for output in range(3):
                above[output, term, run] = 0.0
                below[output, term, run] = 0.0
            for i in range(runs[run], runs[run + 1]):
                code = codes[i]
                output = side if code == missing else (1 if code > cut else 0)
                if weighted:
                    above[output, term, run] += p[term, i] * up[i]
                    below[output, term, run] += q[term, i] * down[i]
                else:
                    above[output, term, run] += up[i]
                    below[output, term, run] += down[i]


@compiled
def reached(
    way: int,
    factor: np.ndarray,
    value: np.ndarray,
    scale: np.ndarray,
    lists: np.ndarray,
    levels: np.ndarray,
    cell: np.ndarray,
    first_list: int,
    last_list: int,
    out: np.ndarray,
) -> None:
    """Add, in logarithms, the sums over runs of lower, equal or higher grade of the same list.

    ``out[t, run] = log(exp(out[t, run]) + sum over other runs of factor[cell, other cell] *
    value[t, other] * exp(scale[other]))``, over the other runs of lower grade (``way`` -1), of the
    same grade (0) or of higher grade (1). ``lists`` and ``levels`` mark the grades of a list and
    the runs of a grade.
    """
    n_terms, n_cells = value.shape[0], factor.shape[0]
    sums = np.zeros((n_terms, n_cells))
    tops = np.empty(n_cells)  # the logarithm of what each cell's sums are multiplied by
    for at in range(first_list, last_list):
        sums[:] = 0.0
        tops[:] = -np.inf
        count = lists[at + 1] - lists[at]
        for step in range(count):
            level = lists[at] + step if way <= 0 else lists[at + 1] - 1 - step
            first, last = levels[level], levels[level + 1]
            if way == 0:
                sums[:] = 0.0
                tops[:] = -np.inf
            else:
                _collect(sums, tops, factor, cell, first, last, out)
            for run in range(first, last):
                _add_run(sums, tops, cell[run], value[:, run], scale[run])
            if way == 0:
                _collect(sums, tops, factor, cell, first, last, out)


@compiled
def _add_run(sums: np.ndarray, tops: np.ndarray, k: int, value: np.ndarray, scale: float) -> None:
    """Add the values of a run times exp(scale) to the sums of its cell."""
    if scale > tops[k]:
        shrink = math.exp(tops[k] - scale)
        for term in range(len(value)):
            sums[term, k] *= shrink
        tops[k] = scale
    grown = math.exp(scale - tops[k])
    for term in range(len(value)):
        sums[term, k] += value[term] * grown


@compiled
def _collect(
    sums: np.ndarray,
    tops: np.ndarray,
    factor: np.ndarray,
    cell: np.ndarray,
    begin: int,
    end: int,
    out: np.ndarray,
) -> None:
    """Add to each run the sums of the cells with a factor, relative to the largest of these.

    A cell with factor 0 must not set the scale: the others would vanish beside a high score.
    """
    n_terms, n_cells = sums.shape
    for run in range(begin, end):
        top = -np.inf
        for k in range(n_cells):
            if factor[cell[run], k] > 0.0:
                top = max(top, tops[k])
        if top == -np.inf:
            continue
        for term in range(n_terms):
            total = 0.0
            for k in range(n_cells):
                if factor[cell[run], k] > 0.0 and tops[k] > -np.inf:
                    part = factor[cell[run], k] * sums[term, k]
                    total += part if tops[k] == top else part * math.exp(tops[k] - top)
            if total > 0.0:
                value = math.log(total) + top
                old = out[term, run]
                if old == -np.inf:
                    out[term, run] = value
                else:
                    most = max(old, value)
                    out[term, run] = most + math.log(math.exp(old - most) + math.exp(value - most))


@compiled
def least_margin(
    way: int,
    factor: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    lists: np.ndarray,
    levels: np.ndarray,
    cell: np.ndarray,
) -> float:
    """Return the smallest score difference of a pair (preferred minus other) with factor > 0.

    ``way`` and ``factor`` are as in `reached`; infinity if there is no such pair.
    """
    n_cells = factor.shape[0]
    highest = np.empty(n_cells)
    least = np.inf
    for at in range(len(lists) - 1):
        highest[:] = -np.inf
        for step in range(lists[at + 1] - lists[at]):
            level = lists[at] + step if way <= 0 else lists[at + 1] - 1 - step
            if way == 0:
                highest[:] = -np.inf
                for run in range(levels[level], levels[level + 1]):
                    highest[cell[run]] = max(highest[cell[run]], high[run])
            for run in range(levels[level], levels[level + 1]):
                for k in range(n_cells):
                    if factor[cell[run], k] > 0.0:
                        least = min(least, low[run] - highest[k])
            if way != 0:
                for run in range(levels[level], levels[level + 1]):
                    highest[cell[run]] = max(highest[cell[run]], high[run])
    return least


@compiled
def item_potentials(
    terms: RunTerms,
    begin: int,
    end: int,
    as_better: np.ndarray,
    as_worse: np.ndarray,
    out: np.ndarray,
) -> None:
    """Write for each row the weights of pairs in which it is preferred, minus the others."""
    p, q, weighted, runs, up, down = terms
    n_terms = as_better.shape[0]
    for run in range(begin, end):
        if weighted:
            for i in range(runs[run], runs[run + 1]):
                better = worse = 0.0
                for term in range(n_terms):
                    better += p[term, i] * as_better[term, run]
                    worse += q[term, i] * as_worse[term, run]
                out[i] = better * up[i] - worse * down[i]
        else:
            better, worse = as_better[0, run], as_worse[0, run]
            for i in range(runs[run], runs[run + 1]):
                out[i] = better * up[i] - worse * down[i]


@compiled
def shift_scores(
    score: np.ndarray, codes: np.ndarray, steps: np.ndarray, begin: int, end: int
) -> None:
    """Add the step of its code to the score of each row."""
    for i in range(begin, end):
        score[i] += steps[codes[i]]


@compiled
def best_first(score: np.ndarray, offsets: np.ndarray, order: np.ndarray, end: np.ndarray) -> None:
    """Write the rows of each list sorted by score, and the end of the tied block of each."""
    for at in range(len(offsets) - 1):
        first, last = offsets[at], offsets[at + 1]
        order[first:last] = first + np.argsort(-score[first:last])
        stop = last
        for slot in range(last - 1, first - 1, -1):
            if slot + 1 < last and score[order[slot]] != score[order[slot + 1]]:
                stop = slot + 1
            end[slot] = stop
