import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.metrics import (
    CrossGroupAUC,
    GroupPairwiseAccuracy,
    RankCalibrationError,
    RankEqualityError,
    RankParityError,
    pairwise_profile,
)

from ..cases import make_batch, same

METRICS = [
    RankEqualityError(),
    RankEqualityError(protected="a", denominator="comparable"),
    RankCalibrationError(),
    RankParityError(),
    GroupPairwiseAccuracy(),
    CrossGroupAUC(threshold=2),
]


def slow_profile(metric, batch, window, step, ties):
    """Cut every list by hand and measure what is left."""
    longest = max(len(case.y) for case in batch.cases)
    found = {}
    for first in range(0, longest - window + 1, step):
        values, groups = [], []
        for case in batch.cases:
            if len(case.y) < first + window:
                continue
            kept, place = [], 0
            for block in case.blocks() if ties == "average" else case.in_order():
                if place < first + window and place + len(block) > first:
                    kept += sorted(block)
                place += len(block)
            kept.sort()
            # every group is known everywhere, so that labels stay the same
            data = as_ranking_data(
                y=[case.y[i] for i in kept] + [0, 0, 0],
                score=[case.score[i] for i in kept] + [0, 0, 0],
                qid=[1] * len(kept) + [2] * 3,
                sensitive_features=[case.groups[i] for i in kept] + list("abc"),
            )
            one = metric.per_query(Ranking.from_scores(data, ties=ties))
            values.append(one.value[0])
            groups.append(one.groups[0])
        values, groups = np.array(values), np.array(groups)
        known = values[~np.isnan(values)]
        means = [column[~np.isnan(column)] for column in groups.T]
        found[first + 1] = (
            known.mean() if len(known) else np.nan,
            len(known),
            [column.mean() if len(column) else np.nan for column in means],
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("ties", ["average", "stable"])
@pytest.mark.parametrize(("window", "step"), [(2, 1), (4, 3)])
def test_agrees_with_cutting_by_hand(metric, ties, window, step):
    batch = make_batch(60, seed=1, most=9, labels="abc", shares=(0.3, 0.3, 0.4))
    table = pairwise_profile(
        metric,
        batch.y,
        batch.score,
        batch.groups,
        qid=batch.qid,
        window=window,
        step=step,
        ties=ties,
    )
    wanted = slow_profile(metric, batch, window, step, ties)
    assert table["first"].tolist() == list(wanted)
    assert table["last"].tolist() == [first + window - 1 for first in wanted]
    same(table["value"], [value for value, _, _ in wanted.values()])
    assert table["queries"].tolist() == [count for _, count, _ in wanted.values()]
    labels = [metric.protected] if metric.protected else "abc"
    for at, label in enumerate(labels):
        same(table[f"value of {label}"], [groups[at] for _, _, groups in wanted.values()])


@pytest.mark.slow
def test_blocks_of_queries_do_not_matter(monkeypatch):
    from equirank import RankingData

    batch = make_batch(60, seed=1, most=9, labels="abc", shares=(0.3, 0.3, 0.4))
    call = {"qid": batch.qid, "window": 3}
    rows = (batch.y, batch.score, batch.groups)
    wanted = pairwise_profile(GroupPairwiseAccuracy(), *rows, **call)
    whole = RankingData.query_blocks
    monkeypatch.setattr(RankingData, "query_blocks", lambda data: whole(data, 5))
    got = pairwise_profile(GroupPairwiseAccuracy(), *rows, **call)
    for name in wanted.columns:
        same(got[name], wanted[name])


def test_shows_where_the_error_sits():
    # a stands first in the upper half and last in the lower
    groups = list("aabbbbaa")
    table = pairwise_profile("RankParityError", None, range(8, 0, -1), groups, window=4, step=4)
    same(table["value of a"], [1, 0])
    same(table["value"], [1, 1])


def test_a_window_as_long_as_the_list_is_the_metric():
    y, score, groups = [3, 1, 2, 0, 1], [1, 4, 4, 2, 5], list("ababa")
    for metric in METRICS[:-1]:
        table = pairwise_profile(metric, y, score, groups, window=5)
        data = as_ranking_data(y=y, score=score, sensitive_features=groups)
        same(table["value"], metric.per_query(data.ranking()).value)


def test_tied_blocks_count_whole():
    # the block of three reaches into both windows
    groups, score = list("abbba"), [5, 4, 4, 4, 3]
    table = pairwise_profile(RankParityError(protected="a"), None, score, groups, window=2)
    same(table["value"], [1, np.nan, np.nan, 0])


def test_rows_not_shown_are_in_no_window():
    data = as_ranking_data(y=[1, 0, 1, 0], sensitive_features=list("abab"))
    ranking = Ranking.from_positions(data, [1, 2, 0, 3])
    table = pairwise_profile(RankParityError(protected="a"), None, ranking, None, window=2)
    assert table["first"].tolist() == [1, 2, 3]
    same(table["value"], [1, np.nan, np.nan])
    nothing = Ranking.from_positions(data, [0, 0, 0, 0])
    table = pairwise_profile(RankParityError(), None, nothing, None, window=2)
    assert np.isnan(table["value"]).all()
    assert table["queries"].tolist() == [0, 0, 0]


def test_bad_windows_are_refused():
    call = {"metric": "RankParityError", "y_true": None}
    rows = {"y_score": [3, 2, 1], "sensitive_features": list("aba")}
    with pytest.raises(DataError, match=r"window must be at most .*longest list \(3\), got 4"):
        pairwise_profile(**call, **rows, window=4)
    with pytest.raises(DataError, match=r"window of pairwise_profile must be an integer >= 2"):
        pairwise_profile(**call, **rows, window=1)
    with pytest.raises(DataError, match=r"step of pairwise_profile must be an integer >= 1"):
        pairwise_profile(**call, **rows, window=2, step=0)
    with pytest.raises(DataError, match="needs relevance"):
        pairwise_profile(RankEqualityError(), None, [3, 2, 1], list("aba"), window=2)
