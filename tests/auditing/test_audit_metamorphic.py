"""How claims respond to changes of the data that must not matter, or must in a known way."""

import numpy as np
import pytest

from equirank import Ranking, as_ranking_data, audit
from equirank.io import read_csv, read_parquet

DRAWS = 399
OPTIONS = {"k": 5, "n_boot": 100, "n_permutations": DRAWS}


def people(seed=0, lists=8, bias=0.5, size=18):
    """Columns of lists in which one of two groups is ranked lower."""
    rng = np.random.default_rng(seed)
    n = lists * size
    sex, team = rng.choice(["f", "m"], n, p=[0.4, 0.6]), rng.choice(["blue", "green", "red"], n)
    return {
        "query": np.repeat([f"q{q:02}" for q in range(lists)], size),
        "score": rng.normal(size=n) - bias * (sex == "f"),
        "relevance": rng.integers(0, 3, n),
        "sex": sex,
        "team": team,
    }


def claims_of(columns, sensitive=("sex", "team"), **options):
    single = {name: columns[name] for name in ("query", "score", "relevance") if name in columns}
    groups = {name: columns[name] for name in sensitive}
    return audit(sensitive=groups, **single, **(OPTIONS | options)).claims


def key(claim, names=None):
    group = claim.group if names is None else " & ".join(names[g] for g in claim.group.split(" & "))
    scope = claim.scope
    return claim.quantity, claim.attribute, group, scope.get("given"), scope.get("k")


def same(one, two, names=None, exact=()):
    """Check that claims agree up to the names of groups; but for the draws, unless ``exact``."""
    found = {key(claim, names): claim for claim in one}
    other = {key(claim): claim for claim in two}
    assert set(found) == set(other)
    for name, a in found.items():
        b = other[name]
        equal = a.block in exact
        assert (dict(a.scope), a.unit, a.direction) == (dict(b.scope), b.unit, b.direction)
        for field in ("estimate", "size", "low", "high"):
            assert getattr(a, field) == pytest.approx(getattr(b, field), nan_ok=True), field
        error = None if equal else 0.08
        assert a.detectable == pytest.approx(b.detectable, rel=error, nan_ok=True)
        for field in ("p", "p_family"):
            p, q = getattr(a, field), getattr(b, field)
            error = 0.0 if equal else 3 * np.sqrt((p + q) * (1 - (p + q) / 2) / DRAWS) + 1 / DRAWS
            assert np.isnan(p) == np.isnan(q)
            assert np.isnan(p) or abs(p - q) <= error + 1e-12, (name, p, q)
        if equal:
            assert a.status == b.status


def test_renamed_groups():
    columns = people()
    # The names sort in another order.
    names = {"f": "z", "m": "a", "blue": "tall", "green": "short", "red": "big"}
    renamed = columns | {
        name: np.array([names[label] for label in columns[name]]) for name in ("sex", "team")
    }
    same(claims_of(columns), claims_of(renamed), names, exact=("i",))


@pytest.mark.gate
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.gate) for n in (1, 2))])
def test_reordered_rows_and_renumbered_lists(seed):
    columns = people(seed)
    order = np.random.default_rng(seed).permutation(len(columns["score"]))
    shuffled = {name: values[order] for name, values in columns.items()}
    same(claims_of(columns), claims_of(shuffled))
    renumbered = columns | {"query": np.array([99 - int(q[1:]) for q in columns["query"]])}
    same(claims_of(columns), claims_of(renumbered))


@pytest.mark.slow
def test_another_file_format(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(people())
    frame.to_csv(tmp_path / "people.csv", index=False)
    frame.to_parquet(tmp_path / "people.parquet")
    options = {"sensitive": ["sex", "team"], "features": ()}
    one = audit(read_csv(tmp_path / "people.csv", **options), **OPTIONS)
    two = audit(read_parquet(tmp_path / "people.parquet", **options), **OPTIONS)
    assert [claim.to_dict() for claim in one.claims] == [claim.to_dict() for claim in two.claims]
    assert one.verdict == two.verdict


@pytest.mark.slow
def test_a_duplicated_attribute_changes_no_p_value():
    columns = people(bias=1.5)
    columns["again"] = columns["sex"]
    given = ("query", "score", "sex", "again")
    columns = {name: columns[name] for name in given}
    one, two = claims_of(columns, ("sex",)), claims_of(columns, ("sex", "again"))
    assert [claim.status for claim in one].count("finding") > 0
    fields = ("p", "p_family", "threshold", "status", "estimate")
    tested = [claim for claim in two if not np.isnan(claim.p)]
    assert [[getattr(claim, field) for field in fields] for claim in one] == [
        [getattr(claim, field) for field in fields] for claim in tested
    ]


@pytest.mark.slow
@pytest.mark.parametrize("lists", [1, 8, 24])
def test_reversed_scores_flip_positions_and_keep_their_size(lists):
    columns = people(lists=lists)
    del columns["relevance"]
    one = claims_of(columns)
    two = {key(claim): claim for claim in claims_of(columns | {"score": -columns["score"]})}
    positions = [claim for claim in one if claim.quantity == "position"]
    assert len(positions) > 5
    for a in positions:
        b = two[key(a)]
        assert a.estimate == pytest.approx(-b.estimate)
        assert (a.low, a.high) == pytest.approx((-b.high, -b.low), rel=0.3)
        assert (a.size, a.p) == pytest.approx((b.size, b.p), abs=1e-9, nan_ok=True)
        assert a.shares[0] == pytest.approx(1 - b.shares[0])
        assert {a.direction, b.direction} == {"lower", "higher"}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_a_further_attribute_makes_no_finding(seed):
    columns = people(seed, lists=1 + seed % 5, bias=0.35)
    if seed % 2:
        del columns["relevance"]
    few = {key(claim): claim for claim in claims_of(columns, ("sex",))}
    many = {key(claim): claim for claim in claims_of(columns, ("sex", "team"))}
    assert set(few) <= set(many)
    assert "cannot_tell" in {claim.status for claim in few.values()}
    for name, claim in few.items():
        assert many[name].p == pytest.approx(claim.p, nan_ok=True)
        assert many[name].p_family >= claim.p_family or np.isnan(claim.p_family)
        if claim.status == "cannot_tell":
            assert many[name].status == "cannot_tell"


def cut(ranking, k):
    return Ranking(ranking.data, np.where(ranking.position <= k, ranking.position, 0))


def data_of(columns):
    return as_ranking_data(
        qid=columns["query"],
        score=columns["score"],
        sensitive_features={"sex": columns["sex"], "team": columns["team"]},
    )


def changes(result):
    return [claim for claim in result.claims if claim.quantity.startswith("change")]


@pytest.mark.slow
@pytest.mark.parametrize("k", [5, 10, 17])
def test_lists_that_are_cut_without_moving_anyone_have_no_change(k):
    ranking = data_of(people()).ranking()
    result = audit(cut(ranking, k), against=ranking, **OPTIONS)
    (claim,) = changes(result)
    assert (claim.sentence, claim.estimate) == ("Nobody moved.", 0.0)
    assert "Nobody moved." in result.verdict
    assert sum("moved" in text or "before" in text for text in result.verdict) == 1


@pytest.mark.slow
def test_a_change_below_the_cut_is_no_change():
    data = data_of(people())
    position = data.ranking().position
    # The last two of every list change places.
    swapped = np.where(position == 18, 17, np.where(position == 17, 18, position))
    before, after = data.ranking(), Ranking(data, swapped)
    assert [c.sentence for c in changes(audit(cut(after, 5), against=before, **OPTIONS))] == [
        "Nobody moved."
    ]
    moved = changes(audit(after, against=before, **OPTIONS))
    assert {claim.quantity for claim in moved} == {
        *("change of position", "change of exposure", "change of selected")
    }


@pytest.mark.slow
def test_a_cut_list_is_compared_with_the_first_k_of_the_other():
    data = data_of(people(lists=12))
    codes = data.sensitive["sex"].codes
    before = data.ranking()
    score = data.to_original(data.score + 0.8 * (codes == 0))
    after = Ranking.from_scores(data, score)
    result = audit(cut(after, 5), against=before, **OPTIONS)
    inside = [(ranking.position <= 5) & (codes == 0) for ranking in (after, before)]
    (claim,) = [
        claim for claim in changes(result)
        if (claim.attribute, claim.quantity) == ("sex", "change of selected")
    ]  # fmt: skip
    assert claim.estimate == inside[0].sum() - inside[1].sum() > 0
    assert (claim.direction, claim.status) == ("higher", "finding")
    # Everyone below the cut shares the mean of the remaining positions, before and after.
    (claim,) = [
        claim for claim in changes(result)
        if (claim.attribute, claim.quantity) == ("sex", "change of position")
    ]  # fmt: skip
    assert abs(claim.estimate) < 18 - 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda p: np.where((p > 0) & (p <= 3), p, 0), "show different numbers of people"),
    ],
)
def test_unlike_rankings_are_refused(change, said):
    data = data_of(people())
    before = Ranking(data, change(data.ranking().position))
    result = audit(data.ranking(), against=before, **OPTIONS)
    (claim,) = changes(result)
    assert claim.status == "refused"
    assert said in claim.reason
    assert claim.sentence in result.verdict


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("sizes", [(18, 19), (10, 40)])
def test_what_the_other_ranking_shows_below_the_cut_does_not_matter(sizes, missing):
    rng = np.random.default_rng(2)
    size = rng.integers(*sizes, 9)
    sex = rng.choice(["f", "m"], size.sum()).astype(object)
    sex[rng.random(size.sum()) < missing] = None
    data = as_ranking_data(
        qid=np.repeat(range(9), size),
        score=rng.random(size.sum()),
        sensitive_features={"sex": sex},
        missing_sensitive="unknown",
    )
    before = data.ranking()
    after = cut(Ranking.from_scores(data, rng.random(size.sum())), 6)
    one, two = (changes(audit(after, against=b, **OPTIONS)) for b in (before, cut(before, 6)))
    assert {claim.unit for claim in one} >= {"chance" if sizes[1] == 40 else "positions", "people"}
    assert [(c.estimate, c.shares, c.p, c.low) for c in one] == [
        (pytest.approx(c.estimate), pytest.approx(c.shares), c.p, pytest.approx(c.low)) for c in two
    ]
