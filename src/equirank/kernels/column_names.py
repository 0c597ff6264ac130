"""Names of the columns that lists are turned into, and of their order."""

__all__ = ["CLAIM_COLUMNS", "TOTAL_COLUMNS"]


#: Columns of the totals of a list and group, before one per decision.
TOTAL_COLUMNS = ("position", "lists", "people", "exposure", "merit_exposure", "merit", "relevance")
#: Columns of the comparisons, before four per decision (a n2/N, b n1/N, a and b).
CLAIM_COLUMNS = ("lists", "people", "others", "position", "chance", "observed", "expected")
