"""How often a promise for new lists fails, and how much stronger it is than an oracle's choice.

The source of lists is a finite population, so the mean loss of every strength of a re-ranker is
known. Each trial draws calibration lists from it with replacement and asks for a promise. The bound
is just below the mean loss of one strength: promising that strength, or a weaker one, is a
violation, and no other bound is violated more often. The oracle knows the means and takes the
weakest strength that keeps the bound.
Run: EQUIRANK_DATA=... python benchmarks/promise.py
"""

import argparse
from dataclasses import dataclass, replace

import numpy as np

from equirank.core.attribute import Attribute
from equirank.core.registry import parse_metric
from equirank.datasets import load_hiring, load_mq2008, make_ranking
from equirank.rerankers import ContinuousFairness
from equirank.search import promise
from equirank.search.guarantee import P_VALUES

STRENGTHS = np.linspace(0.0, 1.0, 41)


@dataclass(frozen=True)
class Drawn:
    """Losses of drawn lists, one row per strength: what `promise` takes as a path."""

    strengths: np.ndarray
    table: np.ndarray

    def losses(self, strength):
        return self.table[int(np.flatnonzero(self.strengths == strength)[0])]


def made_up(n_queries=4000):
    """Return lists of 20 with scores biased against a group."""
    return make_ranking(
        n_queries=n_queries, n_items=20, groups={"a": 0.4, "b": 0.6}, score_bias=1.0, random_state=0
    )


def web_pages():
    """Return MQ2008 by its feature 46 plus 0.2 for pages whose feature 42 is above its median.

    The groups are the pages below and above that median, so the score favours one of them.
    """
    data = load_mq2008()
    feature = data.X[:, 41]
    codes = np.asarray(feature > np.median(feature), dtype=np.int32)
    groups = {"half": Attribute(codes, ("lower", "upper"))}
    return replace(data, sensitive=groups, score=data.X[:, 45] + 0.2 * codes)


def population(data, metric, by):
    """Return the loss of each list (columns) at each strength (rows)."""
    measure = parse_metric(metric)
    rows = [
        measure.per_query(ContinuousFairness(theta=float(each), by=by)(data.ranking())).value
        for each in STRENGTHS
    ]
    table = np.stack(rows)
    return table[:, ~np.isnan(table).any(axis=0)]


def trials(table, n_lists, at, method, n_trials, delta=0.1, seed=0):
    """Return the share of violations, of promises, and the mean strength over the oracle's."""
    means = table.mean(axis=1)
    bound = float(means[at]) - 1e-9
    oracle = float(STRENGTHS[means <= bound].min())
    rng, failed, found = np.random.default_rng(seed), 0, []
    for _ in range(n_trials):
        drawn = Drawn(STRENGTHS, table[:, rng.integers(0, table.shape[1], n_lists)])
        result = promise(drawn, lambda ranking: ranking, bound, delta, method=method)
        if result:
            found.append(result.candidate / oracle)
            failed += bool(means[result.candidate == STRENGTHS][0] > bound)
    share = len(found) / n_trials
    return failed / n_trials, share, float(np.mean(found)) if found else float("nan")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    options = parser.parse_args()
    sources = {
        "made-up lists": (made_up(), None, (100, 500, 1000, 2000)),
        "MQ2008": (web_pages(), "half", (200, 500)),
        "hiring": (load_hiring(), "sex", (30, 60, 500)),
    }
    limit = 0.1 + 3 * np.sqrt(0.1 * 0.9 / options.trials)
    print(f"violations must be at most {limit:.4f}")
    print("source, loss, lists, method: violations, promised, strength over the oracle's")
    for name, (data, by, sizes) in sources.items():
        for metric in ("ExposureGap", "RND(step=5)"):
            named = metric if by is None else f"{metric[:-1] if '(' in metric else metric + '('}"
            named = metric if by is None else f"{named}{', ' if '(' in metric else ''}by='{by}')"
            table = population(data, named, by)
            for n_lists in sizes:
                for method in P_VALUES:
                    found = trials(table, n_lists, 20, method, options.trials)
                    print(name, metric, n_lists, method, *(f"{each:.3f}" for each in found))


if __name__ == "__main__":
    main()
