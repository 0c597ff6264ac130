"""Claims where labels are unknown or recorded with errors: three verdicts, refusals and gates."""

from math import inf, isnan

import numpy as np
import pytest

from equirank import AuditResult, DataError, LabelError, as_ranking_data, audit

SETTINGS = {"n_boot": 60, "n_permutations": 99, "k": 6}


def people(seed=0, lists=30, length=20, effect=1.0):
    """Scores and true labels of lists; group "B" scores lower."""
    rng = np.random.default_rng(seed)
    group = rng.random(lists * length) < 0.35
    score = rng.normal(size=lists * length) - effect * group
    labels = np.where(group, "B", "W").astype(object)
    return rng, {"score": score, "query": np.repeat(np.arange(lists), length)}, labels


def hide(rng, labels, share):
    known = labels.copy()
    known[rng.random(len(labels)) < share] = None
    return known


def audited(given, race, **more):
    race = race if isinstance(race, dict) else {"race": race}
    return audit(**given, sensitive=race, **(SETTINGS | more))


def verdicts(result):
    return {c.quantity: (c.status, c.answer) for c in result.claims if not c.scope.get("given")}


@pytest.fixture(scope="module")
def results():
    found = {}
    for share in (0.03, 0.12, 0.35, 0.6):
        rng, given, labels = people()
        found[share] = audited(given, hide(rng, labels, share))
    return found


@pytest.mark.slow
def test_three_verdicts_by_the_share_of_unknown_labels(results):
    assert set(verdicts(results[0.03]).values()) == {("finding", "known")}
    assert verdicts(results[0.12])["position"] == ("finding", "bounds")
    assert verdicts(results[0.35])["position"] == ("finding", "corrected")
    assert verdicts(results[0.6])["position"] == ("cannot_tell", "bounds")
    assert not results[0.6].findings
    sentence = {share: result.claims[0].sentence for share, result in results.items()}
    assert "unknown" not in sentence[0.03]
    assert "This holds whatever the labels of the people whose race is unknown" in sentence[0.12]
    assert "if people whose label is unknown are like known people" in sentence[0.35]
    assert "had the least favourable label and the others were like" in sentence[0.35]
    assert "the value is between" in sentence[0.6]
    assert "The estimate" not in sentence[0.6]  # bounds only


@pytest.mark.slow
def test_claims_carry_their_answer_and_survive_json(results):
    for result in results.values():
        again = AuditResult.from_json(result.to_json())
        for one, two in zip(result.claims, again.claims, strict=True):
            assert (one.answer, one.assumption) == (two.answer, two.assumption)
            np.testing.assert_equal(dict(one.labels), dict(two.labels))
    claim = results[0.35].claims[0]
    assert claim.assumption.startswith("people whose label is unknown")
    assert claim.labels["breakdown_interval"] <= claim.labels["breakdown"] <= 1
    assert results[0.35].facts["labels"]["rules"]["least_breakdown"] == 0.25
    assert results[0.35].facts["labels"]["attributes"]["race"]["doubted"]


@pytest.mark.slow
def test_few_breaking_labels_leave_it_open():
    rng, given, labels = people(effect=0.5)
    result = audited(given, hide(rng, labels, 0.45))
    claims = {c.quantity: c for c in result.claims}
    assert claims["position"].status == "cannot_tell"
    assert claims["position"].labels["breakdown_interval"] < 0.25
    assert "few of them could undo the difference" in claims["position"].sentence


@pytest.mark.slow
def test_missing_by_group_and_position_is_no_finding_whatever():
    """Where the group is alike and hides at the bottom, known labels alone would be wrong."""
    found = []
    for seed in range(2):
        rng, given, labels = people(seed, effect=0.0)
        rank = given["score"].reshape(30, 20).argsort(axis=1).argsort(axis=1).ravel()
        rate = np.where(labels == "B", 0.9, 0.1) * (20 - rank) / 20
        found += audited(given, np.where(rng.random(600) < rate, None, labels)).claims
    assert not any(c.status == "finding" and c.answer in ("known", "bounds") for c in found)
    assert any(c.p_family <= c.threshold for c in found)


def test_recorded_errors_are_corrected_and_never_hold_whatever():
    rng, given, labels = people()
    wrong = rng.random(len(labels)) < 0.15
    recorded = np.where(wrong, np.where(labels == "B", "W", "B"), labels).astype(object)
    frame = {"race": recorded}

    def judged(error):
        data = as_ranking_data(
            score=given["score"], qid=given["query"], sensitive_features=frame,
            label_error={"race": error},
        )  # fmt: skip
        return audit(data, **SETTINGS).claims[0]

    claim = judged(LabelError([[0.85, 0.15], [0.15, 0.85]]))
    assert (claim.status, claim.answer) == ("finding", "corrected")
    assert claim.labels["corrected"] > claim.estimate  # errors make the difference smaller
    assert "errors of recording have the given rates" in claim.sentence
    weak = judged(LabelError([[0.55, 0.45], [0.45, 0.55]]))
    assert (weak.status, weak.answer) == ("cannot_tell", "bounds")
    assert "J is 0.10" in weak.sentence


@pytest.mark.slow
def test_verified_labels_allow_an_estimate_of_many_unknown():
    rng, given, labels = people(lists=60)
    race = {"race": hide(rng, labels, 0.7), "race[true]": hide(rng, labels, 0.4)}
    result = audited(given, race)
    assert verdicts(result)["position"] == ("finding", "corrected")
    assert "who was checked was drawn" in result.claims[0].sentence


@pytest.mark.slow
def test_probabilities_alone_have_a_range_and_no_value():
    rng, given, labels = people()
    sure = np.where(labels == "B", 0.97, 0.03)
    hidden = rng.random(len(labels)) < 0.3
    race = {
        "race": np.where(hidden, None, labels),
        "race[B]": np.where(hidden, sure, np.nan),
        "race[W]": np.where(hidden, 1 - sure, np.nan),
    }
    result = audited(given, race)
    rows = [r for r in result.tables["labels"] if r["measure"] == "position_difference"]
    methods = {r["method"]: r for r in rows if r["group"] == "B"}
    assert isnan(methods["frechet"]["value"])
    ends = methods["frechet_range"]
    assert ends["low"] <= methods["weighted"]["value"] <= ends["high"]
    claim = result.claims[0]
    assert isnan(claim.labels["corrected"])
    with pytest.raises(DataError, match="its number is refused"):
        result.fails("race=B positions > 1")


@pytest.mark.slow
def test_certain_probabilities_equal_labels_row_for_row():
    _, given, labels = people()
    plain = audited(given, labels)
    columns = {
        "race": np.full(len(labels), None),
        "race[B]": labels == "B",
        "race[W]": labels == "W",
    }
    sure = audited(given, columns)
    assert len(sure.tables["labels"]) == 0
    for name, table in plain.tables.items():
        for column, values in table.columns.items():
            np.testing.assert_array_equal(values, sure.tables[name].columns[column])
    assert plain.verdict == sure.verdict


@pytest.mark.slow
def test_all_unknown_and_a_group_that_is_never_known():
    rng, given, labels = people(lists=25)
    one = hide(rng, labels, 0.1)
    one[given["query"] == 3] = None  # a list without a known label
    assert verdicts(audited(given, one))["position"][0] == "finding"
    data = as_ranking_data(
        score=given["score"], qid=given["query"], missing_sensitive="unknown",
        sensitive_features={"race": np.where(labels == "B", None, "W")},
        groups={"race": ["B", "W"]},
    )  # fmt: skip
    result = audit(data, **SETTINGS)
    assert not result.findings
    rows = {(r["group"], r["measure"], r["method"]): r for r in result.tables["labels"]}
    assert rows["B", "mean_position", "refused"]["assumption"] == "nobody of the group is known"
    assert rows["B", "mean_position", "completions"]["low"] >= 1
    nothing = as_ranking_data(
        score=given["score"], qid=given["query"], missing_sensitive="unknown",
        sensitive_features={"race": np.full(len(labels), None)}, groups={"race": ["B", "W"]},
    )  # fmt: skip
    empty = audit(nothing, **SETTINGS)
    assert {r["answer"] for r in empty.tables["labels"]} == {"known", "bounds", "corrected"}
    assert all(isnan(r["value"]) for r in empty.tables["labels"])
    assert not empty.findings


@pytest.mark.gate
def test_a_reference_and_crossed_attributes():
    rng, given, labels = people(lists=40)
    race = np.where(rng.random(len(labels)) < 0.2, "A", labels).astype(object)
    sex = rng.choice(np.array(["f", "m"], dtype=object), len(labels))
    both = {"race": hide(rng, race, 0.1), "sex": hide(rng, sex, 0.1)}
    result = audited(given, both, reference="race=W", cross=True)
    whole = [c for c in result.claims if not c.scope.get("given")]
    claims = {(c.attribute, c.group, c.quantity): c for c in whole}
    assert claims["race", "B", "position"].status == "finding"
    assert claims["race", "B", "position"].against == "W"
    refused = [r for r in result.tables["labels"] if r["attribute"] == "race x sex"]
    reasons = {r["assumption"] for r in refused if r["method"] == "refused"}
    assert reasons == {"attributes that are crossed have bounds only"}


def test_gates_use_corrected_values_bounds_and_breakdown(results):
    known, sure, corrected, open_ = results.values()
    assert corrected.fails("race=B positions > 2")
    value = corrected.claims[0].labels["corrected"]
    assert f"is {value:.2f}"[:5] in corrected.failures("race=B positions > 2")[0]
    assert sure.fails("race=B positions.bounds_low > 0")
    assert not corrected.fails("race=B positions.bounds_low > 0")
    assert corrected.fails("race=W positions.bounds_low < -5")
    assert corrected.fails("race=B positions.breakdown < 1")
    assert not sure.fails("race=B positions.breakdown < 1")
    assert sure.claims[0].labels["breakdown"] == inf
    assert known.fails("race=B positions.bounds_low > 0")
    with pytest.raises(DataError, match=r"over half of the labels are unknown \(6.%\), and none"):
        open_.fails("race=B positions > 2")
    assert open_.fails("race=B positions > 2 observed")


def test_gates_read_bounds_of_labels_that_nobody_is_known_of():
    """Without a known label there is no claim, but the table of labels has bounds."""
    chance = {"race[b]": [0.6, 0.3] * 12, "race[w]": [0.4, 0.7] * 12}
    given = as_ranking_data(
        score=np.arange(24.0), qid=np.repeat([1, 2, 3], 8), sensitive_features=chance
    )
    result = audit(given, k=2, n_boot=20, n_permutations=19)
    assert not result.claims
    for each in (result, AuditResult.from_json(result.to_json())):
        assert each.fails("race=b positions.bounds_high >= 4")  # one of 8 people, the last
        assert not each.fails("race=b positions.bounds_high > 4")
        assert each.fails("any race selected.bounds_low at 2 < 0.1")
        with pytest.raises(DataError, match="too few people are known for bounds of above; pos"):
            each.fails("any race above.bounds_low < 0.1")
        with pytest.raises(DataError, match=r"nobody's race is known; add \.bounds_low"):
            each.fails("any race selected < 0.8")


@pytest.mark.slow
def test_bounds_of_a_comparison_that_is_not_tested_are_over_all_labels():
    sex = ["m", "f", "m", None, "f", "m", "f", "f"]
    given = {"score": -np.arange(8.0), "sex": sex}
    result = audit(given, sensitive="sex", k=4, n_boot=0, n_permutations=0)
    assert result.fails("f positions.bounds_high <= 2")  # 13/6 among known people
    assert not result.fails("f positions.bounds_high < 2")
    assert result.fails("f positions > 2.1 observed")


def test_gates_on_metrics_use_drawn_labels(results):
    corrected, open_ = results[0.35], results[0.6]
    rows = [r for r in corrected.tables["labels"] if r["measure"].startswith("RND")]
    methods = {r["method"]: r for r in rows}
    bounds, drawn = methods["completions"], methods["rubin"]
    assert bounds["low"] < drawn["low"] < drawn["value"] < drawn["high"] < bounds["high"]
    name = rows[0]["measure"]
    assert corrected.fails(f"{name}.bounds_high > {bounds['high'] - 0.01:.3f}")
    assert not corrected.fails(f"{name}.bounds_low > {bounds['low'] + 0.01:.3f}")
    assert corrected.fails(f"{name} > 0.01")
    with pytest.raises(DataError, match="refused, since labels are unknown"):
        open_.fails(f"{name} > 0.01")
    with pytest.raises(DataError, match="has no breakdown"):
        corrected.fails(f"{name}.breakdown < 1")
    assert open_.fails(f"raw: {name} > 0.01")


@pytest.mark.gate
def test_pages_show_the_three_answers(results, tmp_path):
    path = tmp_path / "report.html"
    pytest.importorskip("jinja2")
    results[0.35].to_html(path)
    text = path.read_text(encoding="utf-8")
    assert "Bounds over<br>all labels" in text
    assert "The corrected value assumes that people whose label is unknown are like" in text


def moved(hidden, seed=3, lists=25, length=20):
    """Return lists before and after people of a group were moved down, with relevance."""
    rng = np.random.default_rng(seed)
    group = rng.random((lists, length)) < 0.35
    y = np.clip(np.round(1.5 + rng.normal(size=group.shape) - 0.5 * group), 0, 3)
    old = y + rng.normal(size=group.shape)
    race = np.where(group, "b", "w").astype(object)
    race[rng.random(group.shape) < hidden] = None
    shared = {
        "list": np.repeat(np.arange(lists), length).tolist(),
        "id": list(range(lists * length)),
        "y": y.ravel().tolist(),
        "race": race.ravel().tolist(),
        "sex": rng.choice(["f", "m"], group.size).tolist(),
    }
    return [shared | {"score": each.ravel().tolist()} for each in (old, old - 1.2 * group)], group


@pytest.mark.gate
def test_given_relevance_given_an_attribute_and_changes_are_corrected():
    options = {"query": "list", "relevance": "y", "id": "id", "k": 5, "n_boot": 100}
    options |= {"sensitive": ["race", "sex"], "n_permutations": 99}
    (old, new), _ = moved(0.13)
    claims = [c for c in audit(new, against=old, **options).claims if c.attribute == "race"]
    by = {(c.quantity, c.scope.get("given", "")): c for c in claims}
    complete = {
        (c.quantity, c.scope.get("given", "")): c
        for c in audit(moved(0.0)[0][1], against=moved(0.0)[0][0], **options).claims
        if c.attribute == "race"
    }
    endings = {
        ("merit", "relevance"): "at the same positions and with the same relevance",
        ("position", "sex"): "at the same positions and with the same sex",
        ("change of position", ""): "at the same positions who moved alike",
        ("change of exposure", ""): "at the same positions who moved alike",
        ("change of selected", ""): "at the same positions who moved alike",
    }
    for key, words in endings.items():
        claim = by[key]
        assert claim.status == "finding", key
        assert claim.answer in ("bounds", "corrected")
        labels, truth = claim.labels, complete[key].estimate
        assert labels["bounds_low"] - 1e-9 <= truth <= labels["bounds_high"] + 1e-9, key
        assert labels["corrected_low"] <= truth <= labels["corrected_high"], key
        if claim.answer == "corrected":
            assert claim.assumption.endswith(words)
            assert words in claim.sentence
    (old, new), _ = moved(0.45)
    claims = [c for c in audit(new, against=old, **options).claims if c.attribute == "race"]
    for claim in claims:
        if claim.scope.get("given"):
            assert isnan(claim.labels["corrected"])
            assert claim.answer == "bounds"
            told = "estimates are corrected up to 20% only" in claim.sentence
            assert told == (claim.status == "cannot_tell")


def two_files(hidden, effect=1.5, lists=30, length=20, seed=0):
    """Return a file without a difference and an older one with it, as columns."""
    rng = np.random.default_rng(seed)
    found = []
    for name, shift in (("new", 0.0), ("old", effect)):
        group = rng.random((lists, length)) < 0.4
        score = rng.normal(size=group.shape) - shift * group
        labels = np.where(group, "b", "w").astype(object).ravel()
        labels[rng.random(labels.size) < hidden] = None
        qid = np.repeat([f"{name} {each}" for each in range(lists)], length)
        found.append({"list": qid, "score": score.ravel(), "race": labels})
    return found


def changes_of(files, **more):
    options = {"query": "list", "sensitive": "race", "k": 5, "n_boot": 200, "n_permutations": 199}
    result = audit(files[0], unpaired=files[1], **options, **more)
    claims = [c for c in result.claims if c.scope.get("unpaired") and c.group == "b"]
    return {claim.quantity.removeprefix("change of "): claim for claim in claims}


@pytest.mark.slow
def test_changes_between_files_are_corrected_file_by_file():
    files = two_files(0.1)
    found = changes_of(files)
    numbers = {}
    for at, given in enumerate(files):
        values = audit(given, query="list", sensitive="race", k=5, n_boot=200, n_permutations=99)
        for claim in values.claims:
            if claim.group == "b":
                prefix = "chance." if claim.quantity == "position" else ""
                numbers[claim.quantity, at] = {
                    name: claim.labels[prefix + name]
                    for name in ("corrected", "bounds_low", "bounds_high")
                }
    for quantity in ("position", "exposure", "selected"):
        now, then = numbers[quantity, 0], numbers[quantity, 1]
        join = float.__sub__ if quantity == "position" else float.__truediv__
        labels = found[quantity].labels
        if quantity != "exposure":  # alone, it is a share of exposure
            assert labels["corrected"] == pytest.approx(join(now["corrected"], then["corrected"]))
            low = join(now["bounds_low"], then["bounds_high"])
            assert labels["bounds_low"] == pytest.approx(low)
        assert labels["bounds_low"] < labels["corrected"] < labels["bounds_high"]
        assert labels["corrected_low"] < labels["corrected"] < labels["corrected_high"]
    assert found["position"].answer == "bounds"
    assert "holds whatever the labels" in found["position"].sentence
    assert found["position"].status == "finding"


@pytest.mark.gate
def test_changes_between_files_hold_unless_or_are_left_open():
    found = changes_of(two_files(0.15, effect=1.2))
    claim = found["selected"]
    assert (claim.status, claim.answer) == ("finding", "corrected")
    assert "Corrected for labels, the estimate is" in claim.sentence
    assert claim.assumption.endswith("like known people at the same positions")
    for changed, told in (
        (two_files(0.4, effect=0.8), "corrected up to 20%"),
        (two_files(0.15, effect=1.2, lists=12), "from 20 lists on"),
    ):
        claim = changes_of(changed)["selected"]
        assert (claim.status, claim.answer) == ("cannot_tell", "bounds")
        assert told in claim.sentence
        assert "The estimate" not in claim.sentence
        assert isnan(claim.labels["corrected"])
    alike = changes_of(two_files(0.15, effect=0.0))["position"]
    assert alike.status == "cannot_tell"


@pytest.mark.slow
def test_gains_are_refused_with_a_sentence():
    (_, new), _ = moved(0.3)
    options = {"query": "list", "relevance": "y", "k": 5, "n_boot": 100, "n_permutations": 99}
    result = audit(new, sensitive="race", metrics="NDCG", **options)
    told = [c for c in result.claims if c.unit == "gain" and c.answer == "bounds"]
    assert told
    for claim in told:
        assert claim.status == "cannot_tell"
        assert "not corrected for labels" in claim.sentence
        assert "The estimate" not in claim.sentence
