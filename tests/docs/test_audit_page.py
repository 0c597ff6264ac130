"""The page about the audit names every table, column and fact."""

import re
from pathlib import Path

from equirank import audit

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text(encoding="utf-8")


def test_every_column_is_documented():
    result = audit(score=[2, 1], relevance=[1, 0], sensitive=list("ab"), n_boot=0, n_permutations=0)
    # Tables come first on the page, and then the keys of the JSON.
    rows = dict(reversed(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)))
    gaps = set(result.tables["gaps"]["metric"])
    for name, table in result.tables.items():
        told = re.findall(r"`(\w+)`", rows[name])
        assert told == [column for column in table.columns if column not in gaps], name
    facts = set(re.findall(r"`(\w+)`", rows["facts"]))
    assert set(result.facts) <= facts
    assert set(result.facts["attributes"][0]) <= facts
