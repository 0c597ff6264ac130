"""search_alternatives: separate parts, a complete record, an honest choice."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pytest
from alternative_methods import METRICS, RULE, data, document, families, search
from comparison_methods import Failing, Weights, lines
from waiting import until

from equirank import DataError, evaluate
from equirank.core.evaluate import evaluate as core_evaluate
from equirank.core.registry import find_metric
from equirank.datasets import load_hiring, make_ranking
from equirank.rankers import DirectRanker
from equirank.search import Family, search_alternatives
from equirank.search.alternative_record import NAME
from equirank.search.alternatives import Parts, cut
from equirank.search.guarantee import promised_mean

TESTS = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def result():
    return search()


def test_parts_share_no_list_and_no_person():
    lists = data()
    parts = Parts.split(lists, (0.4, 0.2, 0.2, 0.2), "query", 3)
    names = [set(part.qids.tolist()) for part in vars(parts).values()]
    assert [len(each) for each in names] == [12, 6, 6, 6]
    assert len(set.union(*names)) == 30
    people = make_ranking(n_queries=1, n_items=200, random_state=0)
    parts = Parts.split(people, (0.25, 0.25, 0.25, 0.25), "item", 0)
    rows = [set(part.rows.tolist()) for part in vars(parts).values()]
    assert len(set.union(*rows)) == 200 == sum(map(len, rows))
    share = people.attribute("group").codes.mean()
    assert all(abs(p.attribute("group").codes.mean() - share) < 0.03 for p in vars(parts).values())


def test_parts_are_refused_where_they_cannot_be_made():
    with pytest.raises(DataError, match="four shares"):
        Parts.split(data(), (0.5, 0.5, 0.0, 0.0))
    with pytest.raises(DataError, match='by="item"'):
        Parts.split(make_ranking(n_queries=1, n_items=50, random_state=0))
    with pytest.raises(DataError, match="list_size is for data that is one list"):
        cut(data(), 10, 0)


def test_cut_lists_keep_every_person_once():
    people = make_ranking(n_queries=1, n_items=90, random_state=0)
    lists = cut(people, 20, seed=1)
    assert np.diff(lists.offsets).tolist() in ([22, 23, 22, 23], [18, 18, 18, 18, 18])
    assert sorted(lists.rows.tolist()) == list(range(90))
    assert (people.X[lists.rows] == lists.X).all()
    assert (lists.attribute().codes == people.attribute().codes[lists.rows]).all()


def test_everything_tried_is_in_the_record(result):
    rows = result.candidates
    assert rows[0]["name"] == "baseline"
    assert not rows[0]["independent"]
    assert {row["trial"] for row in rows} == {*range(13), -1, -2}
    assert result.n_independent == 12
    failed = [row for row in rows if row["error"]]
    assert failed
    assert all("it <b>broke</b>" in row["error"] for row in failed)
    for row in rows:
        steps = [each["step"] for each in rows if each["trial"] == row["trial"]]
        assert steps == list(range(3 if row["family"] == "path" else 1))
    assert len(result.table) == len(rows)
    assert [row["parent"] is not None for row in rows[-2:]] == [True, True]
    assert result.certificate.share == pytest.approx(1 - 0.05 ** (1 / 12))


def test_numbers_are_those_of_the_parts(result):
    parts = Parts.split(data())
    row = result.chosen
    ranking = result.model.rank(parts.choose)
    whole = core_evaluate(ranking, METRICS, n_boot=200, n_permutations=0)
    for line in whole.summary():
        if line["group"] is None:
            known = row["values"][line["metric"]]
            assert known["value"] == pytest.approx(line["value"])
            assert known["low"] == pytest.approx(line["low"])
            assert known["high"] == pytest.approx(line["high"])
    certified = {each["metric"]: each for each in result.certified}
    final = evaluate(result.model.rank(parts.certify), METRICS, n_boot=0, n_permutations=0)
    for metric in METRICS:
        mine = certified[metric]["chosen"]
        assert mine["certify"]["value"] == pytest.approx(final[metric])
        assert mine["choose"]["value"] == row["values"][metric]["value"]
        gap = certified[metric]["difference"]
        other = certified[metric]["baseline"]["certify"]["value"]
        assert gap["value"] == pytest.approx(mine["certify"]["value"] - other)
        assert gap["low"] <= gap["value"] <= gap["high"]
        bound = certified[metric]["promise"]["bound"]
        assert bound == pytest.approx(
            promised_mean(result.model.rank(parts.certify), find_metric(metric, result.metrics))
        )
        assert (bound > mine["certify"]["value"]) is (metric != METRICS[0])
    assert sum(each.startswith("On new lists drawn like these, ") for each in result.sentences) == 2


def test_the_choice_is_the_least_of_those_that_satisfy_the_rule(result):
    base = result.candidates[0]["values"]["NDCG@5"]["value"]
    allowed = [
        row["values"]["ExposureGap"]["value"]
        for row in result.candidates
        if not row["error"] and row["values"]["NDCG@5"]["value"] >= base - 0.05
    ]
    assert result.chosen["values"]["ExposureGap"]["value"] == min(allowed)


@pytest.mark.slow
def test_the_certify_part_has_no_influence_before_the_end(result):
    """Other certify lists change the certified numbers alone."""
    lists = data()
    parts = Parts.split(lists)
    y = np.array(lists.y)
    inside = np.isin(lists.query_of_rows(), parts.certify.qids)
    y[inside] = y[inside][::-1]
    changed = replace(lists, y=y)
    other = search_alternatives(
        families(), changed, METRICS, RULE, n_trials=12, steered=2
    )  # fmt: skip
    mine, theirs = (
        [{k: v for k, v in row.items() if k not in ("key", "hash", "seconds")}
         for row in each.candidates] for each in (result, other)
    )  # fmt: skip
    assert mine == theirs
    assert result.certified != other.certified


def test_an_interrupted_search_continues(tmp_path, result):
    first = search(tmp_path, n_trials=5, certify=False, steered=0)
    assert first.certified == []
    assert "not opened" in first.sentences[0]
    before = (tmp_path / NAME).read_bytes()
    second = search(tmp_path)
    assert (tmp_path / NAME).read_bytes().startswith(before)
    assert document(second) == document(result)
    again = search(tmp_path)
    assert document(again) == document(second)
    kinds = [json.loads(line)["kind"] for line in (tmp_path / NAME).read_text().splitlines()]
    assert kinds[0] == "search"
    assert kinds[-2:] == ["choice", "certified"]
    assert kinds.count("choice") == kinds.count("certified") == 1


def test_the_certify_part_is_opened_once(tmp_path):
    search(tmp_path, n_trials=3, steered=0)
    with pytest.raises(DataError, match="n_trials must be at most 3: the certify part"):
        search(tmp_path, n_trials=4)
    with pytest.raises(DataError, match="differs in rule"):
        search_alternatives(families(), data(), METRICS, None, n_trials=3, store=tmp_path)
    with pytest.raises(DataError, match="differs in data, parts"):
        search_alternatives(families(), data(31), METRICS, RULE, n_trials=3, store=tmp_path)


def test_measured_candidates_are_not_fitted_again(tmp_path, monkeypatch):
    one = search(tmp_path, n_trials=4, steered=0)
    (tmp_path / NAME).unlink()
    fits = []
    fit = Weights._fit
    monkeypatch.setattr(Weights, "_fit", lambda self, part: fits.append(1) or fit(self, part))
    two = search(tmp_path, n_trials=4, steered=0)
    assert document(two) == document(one)
    assert len(fits) <= 4  # the chosen one and the baseline, for the certify part


@pytest.mark.gate
@pytest.mark.skipif(os.name != "posix", reason="needs signal 9")
def test_a_killed_search_ends_with_the_same_record(tmp_path, result):
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
    words = f"import alternative_methods as m; m.search({str(tmp_path)!r})"
    child = subprocess.Popen(
        [sys.executable, "-c", words],
        env=os.environ | {"PYTHONPATH": path, "HELD": f"{tmp_path}:6"},
    )
    record = tmp_path / NAME
    until(lambda: lines(tmp_path) >= 6 or child.poll() is not None)
    child.send_signal(signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL, "it ended by itself"
    before = record.read_bytes()
    found = search(tmp_path)
    assert record.read_bytes().startswith(before)
    for mine, other in zip(found.candidates, result.candidates, strict=True):
        assert (mine["name"], mine["values"]) == (other["name"], other["values"])
    assert found.certified == result.certified


@pytest.mark.slow
def test_the_order_in_which_workers_finish_changes_nothing(result):
    with joblib.parallel_config("threading", n_jobs=2):
        assert document(search()) == document(result)


@pytest.mark.slow
def test_a_worker_that_dies_costs_its_own_trial_alone(monkeypatch, result):
    def deadly(**options):
        def run(tasks):
            listed = list(tasks)
            for function, words, _ in listed:
                if any(trial.number == 3 for trial in words[3]):
                    raise BrokenExecutor
                yield function(*words)

        return run

    monkeypatch.setattr("equirank.comparison.parallel_jobs.Parallel", deadly)
    found = search(steered=0)
    assert [row["error"] for row in found.candidates if row["trial"] == 3] == [
        "BrokenExecutor: the worker died"
    ]
    assert {row["trial"] for row in found.candidates} == set(range(13))
    others = {row["name"]: row["values"] for row in result.candidates}
    assert all(
        row["values"] == others[row["name"]] for row in found.candidates if row["trial"] != 3
    )


@pytest.mark.slow
def test_a_limit_of_time_stops_between_blocks():
    found = search(n_trials=None, minutes=1e-6, steered=0)
    assert found.n_independent == 32
    assert any("the limit of time" in each for each in found.certificate.not_covered)


@pytest.mark.slow
def test_neural_rankers_are_fitted_as_one_stack(monkeypatch):
    pytest.importorskip("torch")
    from equirank.search import alternative_space

    stacked = []
    fit_all = alternative_space.fit_all
    monkeypatch.setattr(
        alternative_space,
        "fit_all",
        lambda some, part: stacked.append(len(some)) or fit_all(some, part),
    )
    net = DirectRanker("adversarial", layers=(4,), max_steps=3)
    family = Family(net, {"gamma": {"low": 0.1, "high": 1.0}})
    found = search_alternatives({"net": family}, data(20), METRICS, n_trials=8)
    assert stacked == [8]
    assert not any(row["error"] for row in found.candidates)


def test_one_list_of_people_is_split_by_person():
    people = make_ranking(n_queries=1, n_items=160, feature_bias=1.0, random_state=0)
    found = search_alternatives(
        {"weights": Family(Weights(), {"noise": [0.0, 0.2, 0.4]})}, people, METRICS, RULE,
        by="item", list_size=16, n_trials=4,
    )  # fmt: skip
    assert found.unit == "people"
    assert found.parts == {"fit": 64, "steer": 32, "choose": 32, "certify": 32}
    gap = found.certified[1]["difference"]
    assert gap["low"] <= gap["value"] <= gap["high"]


def test_lists_of_another_size_are_another_search(tmp_path):
    people = make_ranking(n_queries=1, n_items=160, feature_bias=1.0, random_state=0)
    for size in (16, 32):
        words = {"by": "item", "list_size": size, "n_trials": 1, "store": tmp_path}
        if size == 16:
            search_alternatives({"w": Weights()}, people, METRICS, **words)
        else:
            with pytest.raises(DataError, match="differs in parts"):
                search_alternatives({"w": Weights()}, people, METRICS, **words)


def test_ids_in_several_parts_are_said():
    lists = load_hiring()
    again = replace(lists, ids=np.array([f"p{at % 100}" for at in range(lists.n_rows)]))
    found = search_alternatives({"w": Weights()}, again, ["NDCG@5", "ExposureGap(by='sex')"],
                                n_trials=1)  # fmt: skip
    assert "100 ids are in the certify part and in another part" in found.sentences[-1]


def test_bad_input_is_refused():
    lists = data()
    with pytest.raises(DataError, match="a quality and an unfairness"):
        search_alternatives({"w": Weights()}, lists, "NDCG@5")
    with pytest.raises(DataError, match="lower is better"):
        search_alternatives({"w": Weights()}, lists, METRICS[::-1])
    with pytest.raises(DataError, match="families must be a dict"):
        search_alternatives({}, lists, METRICS)
    with pytest.raises(DataError, match="names that are texts"):
        search_alternatives({3: Weights()}, lists, METRICS)
    with pytest.raises(DataError, match="cannot be read"):
        search_alternatives({"w": Weights()}, lists, METRICS, "NDCG@5 >= best - 0.1")
    with pytest.raises(DataError, match="baseline must be fitted, and fails: RuntimeError"):
        search_alternatives({"w": Failing()}, lists, METRICS, n_trials=1)
    with pytest.raises(DataError, match="steered needs a draw"):
        search_alternatives({"f": Failing()}, lists, METRICS, n_trials=1, steered=1,
                            baseline=Weights())  # fmt: skip


def test_no_candidate_may_satisfy_the_rule():
    found = search_alternatives({"w": Weights()}, data(), METRICS, "NDCG@5 >= 1.1", n_trials=2)
    assert found.chosen is None
    assert found.certified == []
    assert not found.gain
    assert any("No candidate satisfies the rule" in sentence for sentence in found.sentences)
    assert "nothing satisfied the rule" in found.certificate.sentence
    with pytest.raises(DataError, match="there is no model"):
        _ = found.model


@pytest.mark.gate
def test_a_search_over_noise_reports_no_gain():
    gains = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        lists = make_ranking(n_queries=60, n_items=6, random_state=seed)
        noise = replace(lists, X=rng.normal(size=lists.X.shape))
        family = {"w": Family(Weights(), {"noise": {"low": 0.5, "high": 5.0}})}
        found = search_alternatives(family, noise, METRICS, n_trials=10, random_state=seed)
        gains += found.gain
    assert gains <= 15 * 0.025 + 3 * (15 * 0.025 * 0.975) ** 0.5
