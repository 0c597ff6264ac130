"""The gradient on a CUDA device against the one of the CPU; refused data without a device."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.costs import GroupPairCost
from equirank.rankers import FairLambdaMART, fair_objective


def lists(seed, n_groups=2, weighted=False):
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 3, 9, 40, 131, 300]
    n = sum(sizes)
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))  # lists are not contiguous
    data = as_ranking_data(
        None,
        rng.integers(0, 4, size=n),
        qid=qid,
        sensitive_features=np.array(list("abc"))[rng.integers(0, n_groups, size=n)],
        cost=rng.random(n) if weighted else None,
        query_weight=qid + 1.0 if weighted else None,
    )
    scores = [rng.normal(size=n) for _ in range(3)]
    scores[1][rng.random(n) < 0.4] = 0.5  # ties
    return data, scores


CASES = [
    {"alpha": 0.5, "step": 5},
    {"alpha": 0.0, "step": 1},
    {"alpha": 1.0, "step": 5},
    {"alpha": 0.3, "step": 4, "cutoff": 17, "truncation": 6, "sigma": 2.5, "fairness": "rkl"},
    {"alpha": 0.3, "step": 4, "normalize": False, "fairness": "rrd", "protected": "b"},
    {"alpha": 0.5, "step": 5, "strategy": "fair_first"},
    {"alpha": 0.5, "step": 5, "strategy": "relevance_first", "over_groups": "worst"},
    {"alpha": 0.2, "step": 5, "steady": False, "normalize": "parts", "cutoff": 23,
     "last_cut": True, "discount": "code"},
    {"alpha": 0.2, "step": 5, "strategy": "fair_first", "normalize": "parts", "cutoff": 23,
     "rules": "lambdafair", "same_block": True, "truncation": 23, "last_cut": True},
]  # fmt: skip


@pytest.fixture
def device():
    cupy = pytest.importorskip("cupy")
    try:
        if cupy.cuda.runtime.getDeviceCount() == 0:
            pytest.skip("no CUDA device")
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("no CUDA device")
    return cupy


def agree(found, wanted):
    for got, right in zip(found, wanted, strict=True):
        scale = np.abs(right).max() or 1.0
        np.testing.assert_allclose(got / scale, right / scale, rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", CASES)
def test_it_equals_the_cpu(device, options):
    data, scores = lists(0)
    on_device, on_cpu = (
        fair_objective(data, n_jobs=1, device=d, **options) for d in ("cuda", "cpu")
    )
    for score in (*scores, -scores[0], 1000.0 * scores[2], np.zeros(data.n_rows)):
        found = on_device(score)
        assert all(isinstance(part, np.ndarray) for part in found)
        agree(found, on_cpu(score))
    on_device.reset()
    on_cpu.reset()
    agree(on_device(scores[0]), on_cpu(scores[0]))


@pytest.mark.parametrize("combination", ["product", "sum"])
def test_costs_and_weights_count(device, combination):
    data, scores = lists(1, weighted=True)
    options = {"alpha": 0.6, "step": 5, "cost_combination": combination, "n_jobs": 1}
    agree(
        fair_objective(data, device="cuda", **options)(scores[0]),
        fair_objective(data, **options)(scores[0]),
    )


def test_arrays_of_the_device_stay_there(device):
    data, scores = lists(0)
    objective = fair_objective(data, 0.5, step=5, device="cuda")
    found = objective(device.asarray(scores[0]))
    assert all(isinstance(part, device.ndarray) for part in found)
    agree([device.asnumpy(part) for part in found], fair_objective(data, 0.5, step=5)(scores[0]))
    broken = scores[0].copy()
    broken[3] = np.nan
    with pytest.raises(DataError, match="must be finite, got nan in row 3"):
        objective(broken)


@pytest.mark.parametrize(
    ("n_groups", "options", "words"),
    [
        (3, {}, "of two groups"),
        (2, {"fairness": "exposure"}, "a metric of prefixes"),
        (2, {"pair_cost": GroupPairCost([[1.0, 2.0], [1.0, 1.0]])}, "with pair_cost"),
    ],
)
def test_other_data_is_refused(n_groups, options, words):
    data, _ = lists(0, n_groups)
    with pytest.raises(DataError, match=words):
        fair_objective(data, device="cuda", **options)


def test_other_devices_are_refused():
    data, _ = lists(0)
    with pytest.raises(DataError, match="device of fair_objective must be one of 'cpu', 'cuda'"):
        fair_objective(data, device="gpu")
    assert "device" not in FairLambdaMART().get_params()  # LightGBM has its own
