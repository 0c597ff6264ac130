"""Every number of every sentence is a number of its claims or a setting, at printed precision."""

import re
from dataclasses import asdict
from math import isnan

import numpy as np
import pytest

from equirank import AuditResult, DataError, Ranking, as_ranking_data, audit
from equirank.reports.claims import MOST_NAMED, Claim, Statement, effect_size, lead_statements
from equirank.reports.number_words import plain_column

pytestmark = pytest.mark.slow

NUMBER = re.compile(
    r"(?P<just>just (?:under|over) )?(?P<sign>-?)(?P<digits>\d[\d,]*(?:\.\d+)?)(?P<unit>%?)"
)
#: Settings that sentences name: the power of the detectable difference, the fewest people.
SETTINGS = (0.8, 5.0)


def numbers_of(claim):
    """The numbers that a sentence about the claim may contain."""
    found = [claim.estimate, claim.low, claim.high, *claim.shares, claim.p_family, claim.detectable]
    found += [value for value in claim.scope.values() if not isinstance(value, str)]
    found += [-claim.low, -claim.high, abs(claim.estimate)]
    return [*found, claim.level, 1 - claim.level, *SETTINGS]


def plain(text, claims):
    """A sentence without the names that others gave to groups and attributes."""
    for claim in sorted(claims, key=lambda c: -len(c.group)):
        text = text.replace(f'"{claim.group}"', '""').replace(f"({claim.attribute})", "()")
        for name in (claim.attribute, claim.scope.get("given")):
            text = text.replace(f" {plain_column(name)}", " ") if name else text
    return text


def unexplained(text, candidates):
    """The numbers of a text that are none of the candidates at their printed precision."""
    found = []
    for match in NUMBER.finditer(text):
        value = float(match["sign"] + match["digits"].replace(",", ""))
        decimals = len(match["digits"].partition(".")[2])
        scale = 100.0 if match["unit"] else 1.0
        if text[: match.start()].endswith("p < "):
            fits = [c for c in candidates if 0 <= c < value <= 0.001]
        elif match["just"]:
            fits = [c for c in candidates if 0 < abs(scale * c - value) < 1e-4 * scale]
        else:
            half = 0.5 * 10.0**-decimals + 1e-9
            fits = [c for c in candidates if abs(scale * c - value) <= half]
        if not fits:
            found.append(match[0])
    return found


def lists_of(seed, lists, sizes=(15, 16), bias=0.0, groups="fm", ties=False, relevance=False):
    rng = np.random.default_rng(seed)
    size = rng.integers(*sizes, lists)
    n = int(size.sum())
    a, b = rng.choice(list(groups), n), rng.choice(["x1", "y2"], n)
    score = rng.normal(size=n) - bias * (a == "f")
    columns = {
        "query": np.repeat(range(lists), size),
        "score": score.round(1) if ties else score,
        "sensitive": {"sex": a, "group 7": b},
    }
    return columns | ({"relevance": rng.integers(0, 4, n)} if relevance else {})


def before_and_after():
    given = lists_of(6, 9, bias=0.6)
    data = as_ranking_data(
        qid=given["query"], score=given["score"], sensitive_features=given["sensitive"]
    )
    before = Ranking.from_scores(data, np.random.default_rng(0).random(data.n_rows))
    return audit(data, against=before, n_boot=99, n_permutations=399, k=[4, 6])


SHAPES = {
    "one list": lambda: lists_of(1, 1, (60, 61), bias=1.0),
    "few lists, ties": lambda: lists_of(2, 4, bias=0.3, ties=True),
    "many lists, relevance": lambda: lists_of(3, 25, bias=0.7, relevance=True),
    "unequal lengths": lambda: lists_of(4, 22, (6, 60), bias=0.8),
    "fair": lambda: lists_of(5, 30),
    "many groups": lambda: lists_of(6, 12, (30, 60), bias=2.0, groups="fghijklm", relevance=True),
    "tiny": lambda: lists_of(7, 1, (6, 7)),
}


@pytest.fixture(scope="module", params=[*SHAPES, "before and after"])
def result(request):
    if request.param == "before and after":
        return before_and_after()
    return audit(**SHAPES[request.param](), n_boot=99, n_permutations=399, k=[4, 6])


@pytest.mark.slow
def test_numbers_of_sentences(result):
    for claim in result.claims:
        text = plain(claim.sentence, [claim])
        assert not unexplained(text, numbers_of(claim)), (claim.sentence, claim)


@pytest.mark.slow
def test_numbers_of_the_first_sentences(result):
    by_id = {claim.id: claim for claim in result.claims}
    lead, rest = lead_statements(result.claims)
    assert 1 <= len(lead) <= 5
    assert [statement.text for statement in lead] == result.verdict
    for statement in [*lead, *rest]:
        assert statement.claims, statement
        claims = [by_id[name] for name in statement.claims]
        groups = {(claim.attribute, claim.group) for claim in claims}
        # Sentences that join claims count them, and the groups that they do not name.
        counts = [float(len(claims)), float(len(groups) - MOST_NAMED)]
        candidates = [c for claim in claims for c in numbers_of(claim)] + counts
        text = plain(statement.text, claims)
        assert not unexplained(text, candidates), statement


@pytest.mark.slow
def test_a_changed_digit_is_noticed(result):
    """The parser refuses a sentence in which one number is another."""
    noticed = 0
    for claim in result.claims:
        text = plain(claim.sentence, [claim])
        for match in NUMBER.finditer(text):
            wrong = f"{text[: match.start()]}{float(match['digits'].replace(',', '')) + 97777:g}"
            noticed += bool(unexplained(wrong + match["unit"], numbers_of(claim)))
    expected = sum(len(NUMBER.findall(plain(c.sentence, [c]))) for c in result.claims)
    assert noticed == expected


def test_cells_lead_to_the_numbers(result):
    table = {row["id"]: row for row in result.tables["claims"]}
    assert len(table) == len(result.claims)
    for claim in result.claims:
        values = asdict(claim)
        for field, (name, row, *columns) in claim.cells.items():
            assert name == "claims"
            found = [table[row][column] for column in columns]
            group, _, part = field.rpartition(".")
            wanted = values[group][part] if group else values[field]
            wanted = list(wanted) if isinstance(wanted, tuple) else [wanted]
            np.testing.assert_equal(found, wanted)


def test_findings_come_first_and_largest_first(result):
    sizes = [claim.size for claim in result.findings]
    assert sizes == sorted(sizes, reverse=True)
    lead = [name for s in result.statements for name in s.claims if len(s.claims) == 1]
    found = [claim.id for claim in result.findings]
    assert [name for name in lead if name in found] == found[: len([n for n in lead if n in found])]
    if not found:
        assert (
            "is a finding at the 5% level" in result.verdict[0] or "tests no" in result.verdict[0]
        )


def test_a_difference_is_smaller_than_the_list(result):
    for claim in result.claims:
        if claim.unit == "positions" and not isnan(claim.estimate):
            assert abs(claim.estimate) < claim.scope["longest"]


@pytest.mark.slow
def test_lists_of_unequal_lengths_are_compared_by_pairs():
    given = lists_of(4, 22, (6, 60), bias=0.8)
    result = audit(**given, n_boot=99, n_permutations=199)
    position = [claim for claim in result.claims if claim.quantity == "position"]
    assert {claim.unit for claim in position} == {"chance"}
    assert not any("on average" in claim.sentence for claim in result.claims)
    equal = audit(**lists_of(4, 22, (30, 60), bias=0.8), n_boot=99, n_permutations=199)
    assert {claim.unit for claim in equal.claims if claim.quantity == "position"} == {"positions"}


def test_one_sentence_counts_what_the_data_cannot_decide(result):
    undecided = [claim for claim in result.claims if claim.status == "cannot_tell"]
    last = [s for s in result.statements if s.text.startswith("The data do not show a difference")]
    if result.findings and undecided:
        (statement,) = last
        assert statement.claims == tuple(claim.id for claim in undecided)
        named = statement.text.partition(": ")[2]
        for part in named.split("; "):
            words = part.partition(": ")[2].rstrip(".").replace(" and ", ", ").split(", ")
            assert len(words) == len(set(words)), part
    else:
        assert last == []


@pytest.mark.slow
def test_without_draws_every_claim_is_described():
    for options in ({"n_boot": 0}, {"n_permutations": 0}):
        result = audit(
            **lists_of(1, 3, bias=3.0), **({"n_boot": 9, "n_permutations": 19} | options)
        )
        assert {claim.status for claim in result.claims} == {"described"}
        assert all(claim.sentence.endswith("no draws or no resamples were requested.") for claim in
                   result.claims)  # fmt: skip
        assert result.findings == []


def test_the_largest_finding_leads_not_the_first_attribute():
    rng = np.random.default_rng(0)
    first, second = rng.choice(["a", "b"], 600), rng.choice(["c", "d"], 600)
    score = rng.normal(size=600) - 0.6 * (first == "a") - 1.6 * (second == "c")
    result = audit(
        score=score, query=np.repeat(range(20), 30), sensitive={"first": first, "second": second},
        cross=False, k=5, n_boot=99, n_permutations=199,
    )  # fmt: skip
    assert {claim.attribute for claim in result.findings} == {"first", "second"}
    assert "(second)" in result.verdict[0]
    assert any("overlap" in sentence for sentence in result.verdict)


@pytest.mark.parametrize("field", ["claims", "statements"])
def test_claims_and_statements_are_frozen(field, hiring):
    one = getattr(hiring, field)[0]
    assert isinstance(one, (Claim, Statement))
    with pytest.raises(AttributeError):
        one.text = "other"
    with pytest.raises(AttributeError):
        one.estimate = 3.0


def test_size_by_hand():
    assert effect_size(0.25, 0.5) == pytest.approx(np.pi / 6)
    assert isnan(effect_size(float("nan"), 0.5))


@pytest.mark.parametrize("lists", [3, 20])
def test_the_strongest_effect_is_a_finding(lists):
    """Every list is the same, and all people of the group are last: no list varies."""
    result = audit(
        score=np.tile(np.arange(10.0), lists), query=np.repeat(range(lists), 10),
        sensitive={"sex": np.tile(list("fffffmmmmm"), lists)}, k=6, n_boot=99, n_permutations=199,
    )  # fmt: skip
    assert [claim.status for claim in result.claims] == ["finding"] * 3
    claim = result.claims[0]
    assert (claim.estimate, claim.low <= 5.0 <= claim.high) == (5.0, True)


def test_a_change_is_not_a_place_beyond_the_list():
    """A group that moves from the end to the top changes by more positions than the list has."""
    data = as_ranking_data(
        qid=np.repeat(range(20), 10), score=np.tile(np.arange(10.0), 20),
        sensitive_features={"sex": np.tile(list("fffffmmmmm"), 20)},
    )  # fmt: skip
    after = Ranking.from_scores(data, -np.tile(np.arange(10.0), 20))
    result = audit(after, against=data.ranking(), k=5, n_boot=99, n_permutations=199)
    claim = next(claim for claim in result.claims if claim.quantity == "change of position")
    assert (claim.estimate, claim.status) == (-10.0, "finding")
    assert claim.sentence.startswith(
        'The mean position of people in group "f" (sex) moved up by 10 positions relative to that '
        "of everyone else in 20 lists of 10 ("
    )


def test_a_change_that_was_not_tested_says_why():
    data = as_ranking_data(score=[4, 3, 2, 1], sensitive_features={"sex": list("fmfm")})
    result = audit(
        Ranking.from_scores(data, [1, 2, 3, 4]), against=data.ranking(), n_boot=9, n_permutations=19
    )
    changes = [claim for claim in result.claims if claim.quantity.startswith("change")]
    assert {claim.status for claim in changes} == {"described"}
    assert all("This was not tested: one side has" in claim.sentence for claim in changes)


def test_an_infinite_end_is_written_and_read_back():
    """A group of whom one is in the top k: resamples without that list have no ratio."""
    rng = np.random.default_rng(0)
    sex = np.full((32, 12), "m", dtype=object)
    score = rng.random((32, 12))
    sex[:, 0], score[:, 0], score[0, 0] = "f", 0.1 * score[:, 0], 2.0
    result = audit(
        score=score.ravel(), query=np.repeat(range(32), 12), sensitive={"sex": sex.ravel()},
        k=2, n_boot=200, n_permutations=199,
    )  # fmt: skip
    selected = next(claim for claim in result.claims if claim.quantity == "selected")
    assert (selected.low, selected.high, selected.status) == (0.0, np.inf, "cannot_tell")
    again = AuditResult.from_json(result.to_json())
    assert again == result
    assert again.claims == result.claims
    assert not again.fails("sex=f selected < 0.8")


def test_groups_have_the_names_that_the_caller_gives():
    sex, race = ["f"] * 20 + ["m"] * 20, ["x", "y"] * 20
    result = audit(
        score=range(40), sensitive={"sex": sex, "race": race}, k=10, cross=False, n_boot=50,
        n_permutations=199, reference="race=y", shown={"sex": {"f": "women"}, "race": {"y": "Ys"}},
    )  # fmt: skip
    women = [claim for claim in result.claims if claim.group == "f"]
    assert all(claim.sentence.startswith(("Women ", "Among")) for claim in women if claim.p < 0.01)
    (claim,) = [c for c in result.claims if (c.group, c.quantity) == ("x", "selected")]
    assert "than Ys" in claim.sentence
    assert 'group "x" (race)' in claim.sentence
    for shown, said in (
        ({"sxe": {"f": "women"}}, "did you mean 'sex'"),
        ({"sex": {"w": "women"}}, "shown of 'sex' must be one of the groups 'f', 'm'"),
        ({"sex": "women"}, "shown must look like"),
    ):
        with pytest.raises(DataError, match=said):
            audit(score=range(40), sensitive={"sex": sex}, shown=shown, n_boot=0)
