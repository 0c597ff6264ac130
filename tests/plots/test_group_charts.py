"""The chart of findings: the largest first, from the claims alone."""

import numpy as np
import pytest

from equirank import audit
from equirank.plots import findings

QUICK = {"n_boot": 100, "n_permutations": 199}


def people(shift):
    rng = np.random.default_rng(0)
    sex = np.tile(list("fmm"), 100)
    score = rng.normal(size=300) - shift * (sex == "f")
    return {"score": score, "query": np.repeat(np.arange(10), 30), "sensitive": {"sex": sex}}


def rows_of(spec):
    return spec.get("data", spec["layer"][0].get("data"))["values"]


@pytest.mark.slow
def test_findings_are_drawn_largest_first():
    result = audit(**people(1.5), k=[5, 10], **QUICK)
    spec = findings(result).to_dict()
    assert spec["title"]["text"] == "Largest findings"
    rows = rows_of(spec)
    shares = [(row["first"], row["second"]) for row in rows[::2]]
    assert shares == [claim.shares for claim in result.findings[: len(shares)]]
    assert [row["what"] for row in rows[:2]] == ["the group", "compared with"]
    assert rows[0]["claim"].startswith(f"{result.findings[0].group}: ")


@pytest.mark.slow
def test_without_findings_the_title_says_so():
    result = audit(**people(0.0), k=5, **QUICK)
    assert result.findings == []
    spec = findings(result).to_dict()
    assert spec["title"]["text"] == "Largest differences, none of them a finding"
