"""All claims of an audit, corrected together, and where each group is found in them."""

from dataclasses import dataclass, replace
from typing import Any

from ..core.errors import DataError
from ..core.list_sums import ListSums
from ..core.ranking import Ranking
from ..reports.claims import Claim
from .audit_plan import Plan
from .change_claims import change_block
from .claim_tests import Tested, finish
from .gain_claims import gain_claims
from .given_claims import given_block
from .group_claims import group_block
from .label_claims import judge_labels
from .people import People, find_people, make_values
from .summed_claims import summed_blocks, summed_changes
from .unpaired_claims import unpaired_blocks

__all__ = ["Compared", "Other", "compare_groups", "group_blocks"]


@dataclass(frozen=True, eq=False)
class Other:
    """A second ranking of the same lists.

    Attributes
    ----------
    title : str
        Its name, for the report.
    ranking : Ranking or None
        The ranking; None if only sums have it.
    refused : str
        Why no change of people is claimed; empty otherwise.
    sums : ListSums or None
        The sums that compare the lists with it, if these are audited.
    """

    title: str
    ranking: Ranking | None = None
    refused: str = ""
    sums: ListSums | None = None


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
    plan: Plan, against: Other | None = None, unpaired: Plan | None = None
) -> Compared:
    """Return the claims of an audit, corrected for the whole report.

    With ``against``, changes since that ranking of the same people are a third block of claims;
    with ``unpaired``, changes since a file of other lists.
    """
    people = find_people(plan)
    blocks: list[list[Tested]] = []
    change: dict[str, Any] = {}
    if people.partitions:
        if plan.sums is None:
            blocks = group_blocks(plan, people)
            blocks[1] += gain_claims(plan, people)
        else:
            blocks = summed_blocks(plan, people, plan.sums)
        if against is not None:
            block, change = _changes(plan, people, against)
            blocks.append(block)
        if unpaired is not None:
            blocks += unpaired_blocks(plan, people, unpaired)
    before = _before(plan, against)
    judged = judge_labels(plan, finish(blocks, plan), before, unpaired)
    claims = [_with_names(claim, plan) for claim in judged]
    return Compared([*claims, *_remarks(change, plan)], people, change)


def _changes(plan: Plan, people: People, against: Other) -> tuple[list[Tested], dict[str, Any]]:
    """Return the claims about changes since another ranking, and what was compared."""
    if against.refused:
        return [], {"moved": None, "cut": None, "refused": against.refused}
    if plan.sums is not None:
        return summed_changes(plan, people, plan.sums)
    if against.ranking is None:
        raise DataError("against must be a ranking of the audited rows")
    return change_block(plan, people, against.ranking)


def _before(plan: Plan, against: Other | None) -> Ranking | None:
    """Return the second ranking of the rows that unknown labels are judged by."""
    if against is None or against.ranking is not None or plan.sums is None:
        return None if against is None else against.ranking
    return plan.sums.kept.before(plan.of_rows.data)


def group_blocks(plan: Plan, people: People) -> list[list[Tested]]:
    """Return the claims of an audit in blocks that share an error rate.

    (i) differences in position, exposure and selection, (ii) differences in position given
    relevance or given another attribute.
    """
    whole = [each for each in plan.decisions if each.among is None]
    values = make_values(plan.ranking, whole, people, ordered=plan.ordered, scored=plan.scored)
    given = given_block(plan, people, values) if plan.ordered else []
    return [group_block(plan, people, values), given]


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
        scope = {"lists": plan.n_queries}
        return [
            Claim("change", "change", "", "", scope=scope, estimate=0.0, unit="people", reason="")
        ]
    return []
