"""Tests of claims: the correction for the whole report, and when a claim is a finding."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from ..core.shuffles import critical_value, family_p, holm, normal_p, own_p
from ..reports.claims import Claim
from .audit_plan import Plan

__all__ = ["Tested", "finish", "without_test"]


#: Power of the detectable difference.
POWER = 0.8


@dataclass(frozen=True, eq=False)
class Tested:
    """A claim before the correction for the report, with its observed and drawn statistic.

    ``order`` sorts claims, by group first; ``exact`` replaces the own p-value; ``column`` is the
    number of the compared value.
    """

    claim: Claim
    z: float
    draws: np.ndarray
    deviation: float
    order: tuple[int, int] = (0, 0)
    exact: float = float("nan")
    column: int = -1


def finish(blocks: Sequence[list[Tested]], plan: Plan) -> list[Claim]:
    """Return the claims with family p-values, detectable differences and status.

    Each block has an equal share of the error of the report: p-values are corrected within the
    block, then multiplied by the number of blocks.
    """
    if plan.untested:
        several = [without_test(each.claim, plan.untested) for block in blocks for each in block]
        return [_with_id(claim, at) for at, claim in enumerate(several)]
    testable = [[t for t in block if not np.isnan(t.z)] for block in blocks]
    present = max(1, sum(bool(block) for block in testable))
    share = (1.0 - plan.level) / present
    claims = []
    for block in blocks:
        z = np.array([each.z for each in block])
        drawn = np.stack([each.draws for each in block], axis=1) if block else np.empty((0, 0))
        own, family = own_p(z, drawn), family_p(z, drawn)
        critical = critical_value(z, drawn, share) if len(drawn) else float("nan")
        if len(drawn) == 0 and not np.isnan(z).all():
            own, family = normal_p(z), holm(normal_p(z))
            m = int((~np.isnan(z)).sum())
            critical = NormalDist().inv_cdf(1.0 - share / (2.0 * m))
        factor = critical + NormalDist().inv_cdf(POWER)
        for at, each in enumerate(block):
            claim = replace(
                each.claim,
                p=float(own[at]) if np.isnan(each.exact) else each.exact,
                p_family=float(np.minimum(1.0, present * family[at])),
                threshold=1.0 - plan.level,
                detectable=factor * each.deviation if np.isfinite(factor) else float("nan"),
            )
            claims.append(_judged(claim))
    return [_with_id(claim, at) for at, claim in enumerate(claims)]


def _judged(claim: Claim) -> Claim:
    """Set the status: a finding needs the corrected test and the interval on the same side."""
    if claim.reason:
        return claim
    if np.isnan(claim.p_family) or np.isnan(claim.low) or np.isnan(claim.high):
        missing = "interval" if not np.isnan(claim.p_family) else "test"
        reason = f"no {missing} could be computed"
        return replace(claim, status="described", reason=reason)
    neutral = 1.0 if claim.unit == "ratio" else 0.0
    if claim.unit in ("chance", "gain") and not claim.quantity.startswith("change"):
        neutral = claim.shares[1]
    beyond = claim.low > neutral if claim.estimate > neutral else claim.high < neutral
    clear = claim.p_family <= claim.threshold + 1e-12 and beyond
    return replace(claim, status="finding" if clear else "cannot_tell")


def without_test(claim: Claim, reason: str) -> Claim:
    """Return a claim that only describes: its estimate, without test and interval, and why."""
    nothing = float("nan")
    also = {unit: (each[0], *(nothing for _ in each[1:])) for unit, each in claim.also.items()}
    return replace(
        claim, low=nothing, high=nothing, bounds=(nothing, nothing), interval_of="", also=also,
        test="", p=nothing, p_family=nothing, threshold=nothing, detectable=nothing,
        status="described", reason=reason,
    )  # fmt: skip


def _with_id(claim: Claim, at: int) -> Claim:
    name = f"c{at + 1}"
    fields = ("estimate", "low", "high", "p", "p_family", "detectable", "size")
    cells: dict[str, Any] = {each: ("claims", name, each) for each in fields}
    cells["shares"] = ("claims", name, "share", "other_share")
    cells |= {f"scope.{each}": ("claims", name, each) for each in claim.scope}
    return replace(claim, id=name, cells=cells)
