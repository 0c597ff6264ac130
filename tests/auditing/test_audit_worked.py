"""Two worked audits say what their golden files hold, and no audit says more than it may.

After a change that is meant, write the files anew: python tests/auditing/test_audit_worked.py
"""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from equirank import audit
from equirank.datasets import make_ranking

GOLDEN = Path(__file__).parent / "golden"
#: Words that judge. What was measured is said, what it means is for people to say.
JUDGING = re.compile(
    r"\b(un)?fair\w*|\bbias\w*|\b(non-?)?complian\w*|\bcomply|\b(il)?legal\w*|\bdiscriminat\w*|"
    r"\b(un)?just(ice)?\b(?! under| over)|\bguilt\w*|\bviolat\w*",
    re.IGNORECASE,
)


@pytest.mark.parametrize("name", ["hiring", "one_list"])
def test_the_sentences_of_worked_audits(name, request):
    result = request.getfixturevalue(name)
    expected = (GOLDEN / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    assert result.verdict == expected


def some_audit(seed):
    rng = np.random.default_rng(seed)
    data = make_ranking(
        n_queries=int(rng.integers(1, 6)),
        n_items=(4, 30),
        groups=[f"g{i}" for i in range(rng.integers(1, 5))],
        score_bias=float(rng.normal()),
        random_state=seed,
    )
    names = np.array(data.attribute().categories)
    ties = rng.random() < 0.3
    columns = {
        "query": data.qids[data.query_of_rows()],
        "score": np.round(data.score) if ties else data.score,
        "relevance": data.y if rng.random() < 0.5 else None,
        "sensitive": {"a": names[data.attribute().codes], "b": rng.choice(list("xy"), data.n_rows)},
    }
    frame = {k: v for k, v in columns.items() if k != "sensitive" and v is not None}
    frame |= columns["sensitive"] | {"id": np.arange(data.n_rows)}
    other = frame | {"score": rng.random(data.n_rows)}
    return audit(
        frame,
        sensitive=["a", "b"],
        query="query",
        score="score",
        relevance="relevance" if columns["relevance"] is not None else False,
        id="id",
        against=other if rng.random() < 0.3 else None,
        n_boot=int(rng.choice([0, 30])),
        n_permutations=int(rng.choice([0, 30])),
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_no_sentence_judges_and_where_zero_is_held_it_cannot_tell(seed):
    result = some_audit(seed)
    sentences = [*result.verdict, *(claim.sentence for claim in result.claims)]
    for text in [*sentences, *(note["text"] for note in result.notes)]:
        assert not JUDGING.search(text), text
        assert text.endswith((".", '"')), text
        assert "nan" not in text.lower().split(), text
        assert "  " not in text
    for claim in result.claims:
        neutral = {"ratio": 1.0, "chance": claim.shares[1]}.get(claim.unit, 0.0)
        if claim.quantity.startswith("change"):
            neutral = 0.0
        if claim.low <= neutral <= claim.high:
            assert claim.status != "finding", claim
        if claim.status == "cannot_tell":
            assert "he data do not show" in claim.sentence


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    import conftest

    for name in ("hiring", "one_list"):
        made = getattr(conftest, name).__wrapped__()
        (GOLDEN / f"{name}.txt").write_text("\n".join(made.verdict) + "\n", encoding="utf-8")
