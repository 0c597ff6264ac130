"""Putting the verdict together: the rules in the order of their sentences."""

from collections.abc import Callable
from typing import Any

from ...core.table import Table
from .places import rule_intersections, rule_positions
from .reading import Findings
from .scope import (
    rule_change,
    rule_not_measured,
    rule_shapes,
    rule_size,
    rule_small,
    rule_warnings,
)
from .shares import rule_attention, rule_merit, rule_pairs, rule_selection

__all__ = ["RULES", "make_verdict"]

Rule = Callable[[Findings], list[str]]

#: Every sentence comes from one of these; none says more than its table does.
RULES: tuple[Rule, ...] = (
    rule_size,
    rule_warnings,
    rule_positions,
    rule_intersections,
    rule_selection,
    rule_attention,
    rule_merit,
    rule_pairs,
    rule_shapes,
    rule_change,
    rule_small,
    rule_not_measured,
)


def make_verdict(
    facts: dict[str, Any], tables: dict[str, Table], notes: list[dict[str, str]]
) -> list[str]:
    """Write the sentences, rule by rule."""
    found = Findings(facts, tables, notes)
    return [sentence for rule in RULES for sentence in rule(found)]
