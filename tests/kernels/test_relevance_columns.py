"""NDCG, precision and average precision of lists: the kernel against the metrics themselves."""

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.core.metric import measure
from equirank.core.quick_metrics import quick_metrics
from equirank.core.registry import parse_metrics
from equirank.core.summed_lists import list_columns
from equirank.core.sums_plan import SumsPlan, Survey

NAMES = (
    "NDCG, NDCG@1, NDCG@7, NDCG@100, Precision, Precision@1, Precision@7, Precision@100, "
    "AveragePrecision, AveragePrecision@7, NDCG(gain='linear')@7, Precision(threshold=2)@7"
)


@pytest.mark.slow
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize("grades", ["few", "halves", "many", "large"])
def test_values_are_those_of_the_metrics(ties, hidden, grades):
    rng = np.random.default_rng([ties, hidden, len(grades)])
    sizes = rng.integers(1, 40, 120)
    n = int(sizes.sum())
    score = rng.normal(size=n)
    y = rng.integers(0, 5, n) * (rng.random(n) < 0.3)
    y = {"few": y, "halves": y / 2, "many": y * rng.random(n), "large": 80.0 * y}[grades]
    columns = {"score": np.round(2 * score) if ties else score}
    qid = np.repeat(np.arange(len(sizes)), sizes)
    if hidden:
        place = np.concatenate([1 + np.argsort(np.argsort(score[qid == q])) for q in range(120)])
        columns = {"position": np.where(place > 9, 0, place)}
    data = as_ranking_data(
        y=y, qid=qid, sensitive_features={"sex": rng.choice(["f", "m"], n)}, **columns
    )
    metrics = parse_metrics(NAMES)
    plan = SumsPlan.of(Survey.of(data), metrics=metrics)
    found = list_columns(data, plan)["metrics"]
    for name, (value, defined) in zip(
        plan.metrics, found[:, :, :2].transpose(1, 2, 0), strict=True
    ):
        wanted = measure(parse_metrics(name), data.ranking())[0].value
        np.testing.assert_allclose(np.where(defined > 0, value, np.nan), wanted, atol=1e-12)
    assert not found[:, :, 2:].any()


def test_the_kernel_knows_metrics_with_the_usual_parameters():
    metrics = parse_metrics(NAMES)
    assert sorted(quick_metrics(metrics, np.ones(3))) == list(range(10))
    assert quick_metrics(metrics, None) == {}
    assert quick_metrics(metrics, np.array([513.0])) == {}  # whose gain must be scaled
