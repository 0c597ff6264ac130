"""Fairness of pairs: correlations with the better item's group, and the game of two players.

``gap`` is the score of the better item less that of the worse one.
"""

from collections.abc import Sequence
from typing import Any

from ...core.extras import require

__all__ = ["PAIR_LOSSES", "constraint_terms", "correlation", "game", "pair_loss", "stationary"]

PAIR_LOSSES = ("hinge", "logistic")


def pair_loss(gap: Any, kind: str) -> Any:
    """Give the loss of each pair: ``max(0, 1 - gap)`` or ``log(1 + exp(-gap))``."""
    torch = require("torch", "neural")
    return (1.0 - gap).clamp_min(0.0) if kind == "hinge" else torch.nn.functional.softplus(-gap)


def correlation(gap: Any, code: Any, n_groups: int) -> Any:
    """Give the absolute correlation of the gap with being of a group, its mean over the groups.

    Of two groups both are the same number. A group without pairs, or with all, is left out; where
    no group is left, or all gaps are equal, it is 0.
    """
    torch = require("torch", "neural")
    member = torch.nn.functional.one_hot(code, n_groups).to(gap.dtype)
    member = member - member.mean(dim=0)
    apart = gap - gap.mean()
    spread = member.square().mean(dim=0)
    known = spread > 1e-12
    scale = (spread.clamp_min(1e-12) * apart.square().mean().clamp_min(1e-24)).sqrt()
    found = (apart[:, None] * member).mean(dim=0) / scale
    return (found.abs() * known).sum() / known.sum().clamp_min(1)


def constraint_terms(
    gap: Any, cell: Any, n_cells: int, differences: Sequence[tuple[int, int]], kind: str, eps: float
) -> tuple[Any, Any]:
    """Give the constraints' differentiable stand-ins and their true violations.

    A difference is the accuracy on the first cell of a pair of cells less that on the second; it
    may exceed eps neither way, so there are two constraints each, all upper ones first. A stand-in
    puts the loss in place of a misordered pair and, where accuracy must fall, the loss of the
    turned pair in place of an ordered one: both are convex and, for the hinge, bounds from above.
    Pairs of cell ``n_cells`` do not count, nor do differences without pairs in one of the cells.
    """
    torch = require("torch", "neural")
    member = torch.nn.functional.one_hot(cell, n_cells + 1).to(gap.dtype)[:, :n_cells]
    size = member.sum(dim=0)
    count = size.clamp_min(1.0)
    cells = torch.tensor(differences, device=gap.device)
    first, second = cells[:, 0], cells[:, 1]
    wrong = (0.5 - 0.5 * torch.sign(gap.detach())) @ member / count
    apart = (wrong[second] - wrong[first]) * ((size[first] > 0) & (size[second] > 0))
    lost, kept = pair_loss(gap, kind) @ member / count, pair_loss(-gap, kind) @ member / count
    up = lost[second] + kept[first] - 1.0 - eps
    down = lost[first] + kept[second] - 1.0 - eps
    return torch.cat([up, down]), torch.cat([apart - eps, -apart - eps])


def stationary(matrix: Any) -> Any:
    """Give the distribution a column-stochastic matrix leaves as it is."""
    torch = require("torch", "neural")
    size = len(matrix)
    system = matrix - torch.eye(size, dtype=matrix.dtype, device=matrix.device)
    system = torch.cat([system[:-1], torch.ones_like(system[:1])])
    goal = torch.zeros(size, dtype=matrix.dtype, device=matrix.device)
    goal[-1] = 1.0
    return torch.linalg.solve(system, goal)


def game(loss: Any, proxy: Any, violation: Any, logits: Any) -> Any:
    """Give one number both players descend: the scorer the proxy Lagrangian, the other its regret.

    The columns of ``logits`` are distributions up to a softmax; the distribution that their matrix
    leaves as it is weighs the loss first, then the constraints' differentiable stand-ins ``proxy``.
    A plain gradient step multiplies the matrix by ``exp(rate violation x weights)``, with the true
    violations, whose own gradient is not needed: no swap of weights then gains much.
    """
    torch = require("torch", "neural")
    with torch.no_grad():
        share = stationary(logits.softmax(dim=0))
        gained = torch.cat([torch.zeros_like(violation[:1]), violation])
    climb = (logits * gained[:, None] * share[None, :]).sum()
    return share[0] * loss + share[1:] @ proxy - (climb - climb.detach())
