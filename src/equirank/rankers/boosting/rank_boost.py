"""RankBoost: boosting of weak rankers on weighted pairs, and its form for two classes."""

import math
from dataclasses import replace
from typing import Annotated, Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.params import Choice, Number, Optional
from .booster import Booster
from .weak_rankers import WeakChoice

__all__ = ["BipartiteRankBoost", "RankBoost"]


#: The least error that enters alpha, so that alpha stays finite without smoothing.
TINY = 1e-300


class RankBoost(Booster):
    """Boosted weak rankers, trained on pairs that are weighted by the cost of misordering them.

    Pairs (a, b) of one query with ``y_a > y_b`` start with weights ``D = c``, their costs scaled to
    sum 1. Each round chooses the weak ranker ``h`` with the largest ``|r|``, ``r = e+ - e-``, where
    ``e+`` and ``e-`` are the weights of the pairs it orders correctly and wrongly. Its weight is
    ``alpha = 1/2 ln(e+ / e-)``, and ``D <- D exp(-alpha (h(a) - h(b))) / Z``. The score is
    ``f = sum alpha_t h_t``. The cost-weighted share of misordered pairs is at most the product of
    all Z, which `learning_curve_` records as ``E``.

    Pairs are not listed if costs are sums or products over items or depend on cells only (a
    `PairCost` with blocks): the time of a round is then proportional to rows times features. Among
    weak rankers of equal merit, the one with the lowest feature, then the lowest threshold, is
    chosen. Without a pair of unequal relevance all scores are 0.

    Parameters
    ----------
    alpha : {"discrete", "continuous"}
        ``1/2 ln(e+ / e-)``, or ``1/2 ln((1 + r) / (1 - r))``, which counts ties half.
    weak_ranker : {"stump", "feature"}
        ``1[x_f > threshold]``, or the feature scaled to [0, 1] (alpha is then computed from r).

    References
    ----------
    Freund, Iyer, Schapire and Singer, An efficient boosting algorithm for combining preferences,
    JMLR 2003.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import RankBoost
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> model = RankBoost(n_estimators=30).fit(data)
    >>> round(model.score(data), 2) > 0.8
    True
    >>> len(model.learning_curve_)
    30
    """

    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 20}

    alpha: Annotated[str, Choice("discrete", "continuous")] = "discrete"
    weak_ranker: Annotated[str, Choice("stump", "feature")] = "stump"

    def _alpha(self, choice: WeakChoice, sides: tuple[float, float] | None, smooth: float) -> float:
        if sides is None or self.alpha == "continuous":
            sides = (1.0 + choice.r, 1.0 - choice.r)
        return 0.5 * math.log(max(sides[0] + smooth, TINY) / max(sides[1] + smooth, TINY))


class BipartiteRankBoost(RankBoost):
    """RankBoost for two classes: every positive item should be ranked above every negative item.

    All rows are one list (``qid`` is ignored). The weights of the pairs are products,
    ``D(a, b) = D+(a) D-(b)``, so the time of a round is proportional to the number of items. The
    result is that of `RankBoost` on all pairs of one list with these two grades; see there for the
    algorithm and for ties.

    Parameters
    ----------
    threshold : float, optional
        The least relevance of a positive item; by default, all items above the least relevance are
        positive.

    References
    ----------
    Freund, Iyer, Schapire and Singer, An efficient boosting algorithm for combining preferences,
    JMLR 2003, section 3.2. (The normalisers make D+ and D- distributions.)

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.rankers import BipartiteRankBoost
    >>> X, y = [[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [3.0, 2.0]], [0, 1, 0, 1]
    >>> BipartiteRankBoost(n_estimators=5).fit(X, y).predict(X).round(2).tolist()
    [0.0, 1.1, 0.0, 1.1]
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset()
    fit_takes: ClassVar[frozenset[str]] = frozenset({"cost"})

    threshold: Annotated[float | None, Optional(Number())] = None

    def _graded(self, data: RankingData) -> RankingData:
        y = np.asarray(data.y)
        positive = y > y.min() if self.threshold is None else y >= self.threshold
        return replace(data, y=positive.astype(np.float64), max_grade=1.0)
