"""TradeoffPath: rankers fitted along one parameter, with their NDCG and unfairness."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.errors import DataError, InfeasibleError
from ..core.params import Number, check_params
from ..core.ranker import Ranker
from ..core.table import Table
from ..kernels.segments import segment_sum

__all__ = ["TradeoffPath", "most_relevant", "noise_line", "pareto_points"]

#: Noise of the line, in standard deviations of the scores of a list.
NOISE_SIZES = (0.25, 0.5, 1.0, 2.0, 4.0)
#: Draws of each size.
NOISE_DRAWS = 5


class TradeoffPath:
    """Rankers along a path of one parameter, with their NDCG and unfairness on validation lists.

    `FairLambdaMART.tradeoff_path` (over alpha) and `FairPGRank.tradeoff_path` (over lam) return it,
    and `equirank.plots.tradeoff` draws it. Two lines need no training for fairness: the scores of
    the ranker of largest NDCG with noise, and that ranker's lists of which a share is in random
    order. What is not below them could be had without this path; `against_lines` says how far.

    Parameters
    ----------
    rankers : list of Ranker
        Fitted, one per value.
    values, relevance, unfairness : sequence of float
        The parameter of each ranker, and its NDCG and unfairness on the validation lists.
    metrics : (str, str)
        Names of the two metrics.
    chance : (float, float)
        NDCG and unfairness of a random order of the same lists.
    parameter : str
        Name of the parameter.
    noise : sequence of (float, float, float)
        Size of the noise, in standard deviations of the scores of a list, and the mean NDCG and
        unfairness of the ranker of largest NDCG with it (`noise_line`).

    Attributes
    ----------
    table : Table
        Columns: the parameter, NDCG, unfairness, and pareto (whether no other point is at least as
        good in both and better in one).
    lines : Table
        Both lines, from the ranker of largest NDCG to a random order: line ("noise" or "mixture"),
        amount (size of the noise, share of random lists), NDCG and unfairness. The mixture line is
        straight, since it is a mean over lists.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import FairLambdaMART
    >>> data = make_ranking(n_queries=40, n_items=30, feature_bias=1.0, random_state=0)
    >>> ranker = FairLambdaMART(step=5, n_estimators=30, validation=0.5, n_jobs=1, random_state=0)
    >>> path = ranker.tradeoff_path([0.0, 0.5, 1.0], data)
    >>> path.table["alpha"].tolist()
    [0.0, 0.5, 1.0]
    >>> path.pick(max_ndcg_loss=1.0).alpha, path.pick(weight=1.0).alpha
    (0.0, 1.0)
    >>> bool(path.against_lines()["noise"][1] < -0.1)  # alpha 0.5 is fairer than noise
    True
    """

    def __init__(
        self,
        rankers: Sequence[Ranker],
        values: Sequence[float],
        relevance: Sequence[float],
        unfairness: Sequence[float],
        metrics: tuple[str, str],
        chance: tuple[float, float],
        parameter: str = "alpha",
        noise: Sequence[tuple[float, float, float]] = (),
    ) -> None:
        self.rankers = list(rankers)
        self.parameter = parameter
        self.metrics, self.chance = metrics, chance
        columns = [np.asarray(part, dtype=np.float64) for part in (values, relevance, unfairness)]
        self.table = Table(
            {
                parameter: columns[0],
                "NDCG": columns[1],
                "unfairness": columns[2],
                "pareto": pareto_points(columns[1], columns[2]),
            }
        )
        best = most_relevant(columns[1], columns[2])
        start = (0.0, columns[1][best], columns[2][best])
        rows = [("noise", *row) for row in (start, *noise, (np.inf, *chance))] if noise else []
        rows += [("mixture", *row) for row in (start, (1.0, *chance))]
        line, *numbers = zip(*rows, strict=True)
        names = ("amount", "NDCG", "unfairness")
        found = {name: np.array(part) for name, part in zip(names, numbers, strict=True)}
        self.lines = Table({"line": np.array(line), **found})

    def __repr__(self) -> str:
        """Show the table."""
        return f"{self.metrics[0]} against {self.metrics[1]}\n{self.table!r}"

    def pick(
        self,
        *,
        max_ndcg_loss: float | None = None,
        max_unfairness: float | None = None,
        weight: float | None = None,
    ) -> Ranker:
        """Return the ranker that one rule selects.

        Parameters
        ----------
        max_ndcg_loss : float, optional
            The fairest ranker whose NDCG is at most this share below the largest of the path; 0.01
            is a loss of 1%.
        max_unfairness : float, optional
            The ranker with the largest NDCG whose unfairness is at most this.
        weight : float, optional
            The ranker with the largest ``weight NDCG - (1 - weight) unfairness``.

        Raises
        ------
        InfeasibleError
            If no ranker of the path has an unfairness of at most ``max_unfairness``.
        """
        rules = {
            "max_ndcg_loss": max_ndcg_loss, "max_unfairness": max_unfairness, "weight": weight,
        }  # fmt: skip
        given = {name: value for name, value in rules.items() if value is not None}
        if len(given) != 1:
            raise DataError(
                f"exactly one of {', '.join(rules)} must be given to pick, got {len(given)}"
            )
        check_params(
            "pick", given, {"max_ndcg_loss": Number(0), "max_unfairness": Number(0),
                            "weight": Number(0, 1)},
        )  # fmt: skip
        good, bad = self.table["NDCG"], self.table["unfairness"]
        if weight is not None:
            value = weight * good - (1.0 - weight) * bad
            return self.rankers[_best(value, good)]
        if max_ndcg_loss is not None:
            allowed = good >= (1.0 - max_ndcg_loss) * good.max() - 1e-12
            return self.rankers[_best(np.where(allowed, -bad, -np.inf), good)]
        allowed = bad <= max_unfairness
        if not allowed.any():
            raise InfeasibleError(
                f"max_unfairness must be at least {bad.min():.4g}, the least on this path, "
                f"got {max_unfairness}"
            )
        return self.rankers[_best(np.where(allowed, good, -np.inf), -bad)]

    def against_lines(self) -> Table:
        """Return how far each ranker is from the noise line and the mixture line at equal NDCG.

        Returns
        -------
        Table
            The parameter, and the unfairness of the ranker less that of each line where it has the
            same NDCG: below 0 the ranker is fairer than the line. A line ends at the ranker of
            largest NDCG and at random order. NaN without a noise line.
        """
        good, bad = self.table["NDCG"], self.table["unfairness"]
        found = {self.parameter: self.table[self.parameter]}
        for name in ("noise", "mixture"):
            mine = self.lines["line"] == name
            found[name] = np.full(len(good), np.nan)
            if mine.any():
                level, unfair = self.lines["NDCG"][mine], self.lines["unfairness"][mine]
                order = np.argsort(level, kind="stable")
                found[name] = bad - np.interp(good, level[order], unfair[order])
        return Table(found)

    def tradeoff_points(self) -> dict[str, Any]:
        """Return the arguments of `equirank.plots.tradeoff` that draw this path and both lines."""
        good, bad = self.table["NDCG"], self.table["unfairness"]
        best = most_relevant(good, bad)
        points = {
            "name": [f"{self.parameter} {value:g}" for value in self.table[self.parameter]],
            self.metrics[1]: bad,
            self.metrics[0]: good,
            "front": self.table["pareto"],
            "path": [self.parameter] * len(good),
        }
        noisy = self.lines["line"] == "noise"
        return {
            "points": Table(points),
            "x": self.metrics[1],
            "y": self.metrics[0],
            "mixture": (self.chance[1], self.chance[0], float(bad[best]), float(good[best])),
            "noise": list(
                zip(
                    self.lines["unfairness"][noisy].tolist(),
                    self.lines["NDCG"][noisy].tolist(),
                    strict=True,
                )
            ),
            "x_better": "lower",
        }


def noise_line(
    score: np.ndarray,
    offsets: np.ndarray,
    measure: Callable[[list[np.ndarray]], tuple[float, float]],
    random_state: int,
) -> list[tuple[float, float, float]]:
    """Return the NDCG and unfairness of scores with more and more Gaussian noise.

    Noise is in standard deviations of the scores of a list; a list of equal scores stays tied.

    Parameters
    ----------
    score : array
        One score per row, grouped by list.
    offsets : array
        Begin of each list, and the number of rows.
    measure : callable
        Maps drawn scores to NDCG and unfairness.
    random_state : int
        Seed of the noise.

    Returns
    -------
    list of (size, NDCG, unfairness)
    """
    sizes = np.diff(offsets)
    mean = np.repeat(segment_sum(score, offsets) / sizes, sizes)
    spread = np.repeat(np.sqrt(segment_sum((score - mean) ** 2, offsets) / sizes), sizes)
    rng, found = np.random.default_rng([random_state, 17]), []
    for size in NOISE_SIZES:
        drawn = [score + size * spread * rng.normal(size=len(score)) for _ in range(NOISE_DRAWS)]
        found.append((size, *measure(drawn)))
    return found


def most_relevant(relevance: np.ndarray, unfairness: np.ndarray) -> int:
    """Return the place of the largest NDCG, of equal ones that of the least unfairness."""
    return _best(relevance, -unfairness)


def _best(value: np.ndarray, tiebreak: np.ndarray) -> int:
    return int(np.lexsort((tiebreak, value))[-1])


def pareto_points(good: np.ndarray, bad: np.ndarray) -> np.ndarray:
    """Return for each point whether no other is at least as good in both and better in one."""
    no_worse = (good[None, :] >= good[:, None]) & (bad[None, :] <= bad[:, None])
    better = (good[None, :] > good[:, None]) | (bad[None, :] < bad[:, None])
    return np.asarray(~(no_worse & better).any(axis=1))
