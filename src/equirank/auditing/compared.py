"""All claims of an audit, corrected together, and where each group is found in them."""

from dataclasses import dataclass, replace
from typing import Any

from ..core.ranking import Ranking
from ..reports.claims import Claim
from .audit_plan import Plan
from .change_claims import change_block
from .gain_claims import gain_claims
from .group_claims import Tested, finish, group_blocks
from .people import People, find_people
from .unpaired_claims import unpaired_blocks

__all__ = ["Compared", "compare_groups"]


@dataclass(frozen=True, eq=False)
class Compared:
    """All claims of an audit, and where each group is found in them.

    Attributes
    ----------
    claims : list of Claim
        Each comparison once.
    people : People
        The comparisons.
    change : dict
        ``moved``, ``cut`` and ``refused`` of the comparison with another ranking; empty without.
    """

    claims: list[Claim]
    people: People
    change: dict[str, Any]

    def position_of(self, attribute: str, code: int) -> tuple[float, float, float, float]:
        """Return a group's difference in positions, its interval and its own p-value."""
        claim = self.claim_of(attribute, code)
        if claim is None or "positions" not in claim.also:
            return (float("nan"),) * 4
        value, low, high, _, _, p = claim.also["positions"]
        mirrored = self.people.owner[attribute, code][1]
        return (-value, -high, -low, p) if mirrored else (value, low, high, p)

    def claim_of(self, attribute: str, code: int, quantity: str = "position") -> Claim | None:
        """Return the claim about a group or about its complement."""
        if (attribute, code) not in self.people.owner:
            return None
        part = self.people.partitions[self.people.owner[attribute, code][0]]
        for claim in self.claims:
            same = claim.attribute == part.audited.name and claim.group == part.group
            if same and claim.quantity == quantity and not claim.scope.get("given"):
                return claim
        return None


def compare_groups(
    plan: Plan, before: Ranking | None = None, unpaired: Plan | None = None
) -> Compared:
    """Return the claims of an audit, corrected for the whole report.

    With ``before``, changes since that ranking of the same people are a third block of claims; with
    ``unpaired``, changes since a file of other lists.
    """
    people = find_people(plan)
    blocks: list[list[Tested]] = []
    change: dict[str, Any] = {}
    if people.partitions:
        blocks = group_blocks(plan, people)
        blocks[1] += gain_claims(plan, people)
        if before is not None:
            block, change = change_block(plan, people, before)
            blocks.append(block)
        if unpaired is not None:
            blocks += unpaired_blocks(plan, people, unpaired)
    claims = [_with_names(claim, plan) for claim in finish(blocks, plan)]
    return Compared([*claims, *_remarks(change, plan)], people, change)


def _with_names(claim: Claim, plan: Plan) -> Claim:
    """Return a claim with the names of its groups in sentences."""
    names = plan.shown.get(claim.attribute, {})
    shown = names.get(claim.group, ""), names.get(claim.against, "")
    return replace(claim, shown=shown[0], shown_against=shown[1]) if any(shown) else claim


def _remarks(change: dict[str, Any], plan: Plan) -> list[Claim]:
    """Return the claim that nobody moved, or that changes are refused."""
    if change.get("refused"):
        reason = change["refused"]
        return [Claim("change", "change", "", "", status="refused", reason=reason)]
    if change.get("moved") == 0:
        scope = {"lists": plan.data.n_queries}
        return [
            Claim("change", "change", "", "", scope=scope, estimate=0.0, unit="people", reason="")
        ]
    return []
