"""One long list and many short ones: memory grows with the rows, not with their square."""

import tracemalloc

import numpy as np
import pytest

from equirank import as_ranking_data, audit, evaluate
from equirank.rerankers import DetGreedy, FAStarIR

ROWS = 20_000
MOST_BYTES = 200 << 20  # a matrix of rows x rows has 3 GB

STEPS = {
    "evaluate": lambda ranking: evaluate(
        ranking, "NDCG@10, NDCG, ExposureGap, RND", n_boot=3, n_permutations=3
    ),
    "evaluate by group": lambda ranking: evaluate(
        ranking, "NDCG@10", by="sex", n_boot=3, n_permutations=3
    ),
    "audit": lambda ranking: audit(ranking, n_boot=3, n_permutations=3).to_json(),
    "DetGreedy": lambda ranking: DetGreedy()(ranking).summary(),
    "FAStarIR": lambda ranking: FAStarIR(
        p=0.3, alpha=0.1, protected="f", k=100, on_infeasible="best"
    )(ranking).summary(),
}


@pytest.fixture(scope="module", params=["one list", "lists of one"])
def ranking(request):
    draw = np.random.default_rng(0)
    # texts, in random order, to take the slowest way in
    names = [str(name) for name in draw.permutation(ROWS)]
    return as_ranking_data(
        y=draw.integers(0, 5, ROWS),
        qid=names if request.param == "lists of one" else ["q"] * ROWS,
        ids=names,
        score=draw.normal(size=ROWS),
        sensitive_features={"sex": draw.choice(["f", "m"], ROWS).tolist()},
    ).ranking()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::equirank.EquirankWarning")
@pytest.mark.parametrize(
    "step",
    [pytest.param(step, marks=pytest.mark.gate) if step == "audit" else step for step in STEPS],
)
def test_memory_is_linear(ranking, step):
    STEPS[step](ranking.data.select_items(np.arange(10)).ranking())  # compiles and imports
    tracemalloc.start()
    try:
        STEPS[step](ranking)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
