"""FairPGRank: a stochastic ranker trained by policy gradients on utility and disparity."""

import warnings
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
from sklearn.base import clone

from ...core.data import RankingData
from ...core.declared import GIVEN, OnlyWith, check_fairness_weight, zero_weights_are_meant
from ...core.environment import progress
from ...core.errors import DataError, EquirankWarning, outer_stacklevel
from ...core.explain_pair import Parts
from ...core.given_data import LONG_REQUEST, as_ranking_data, warn_of_one_list
from ...core.keywords import ListKeywords, shared_keywords
from ...core.params import (
    AnyOf,
    Check,
    Choice,
    Integer,
    Label,
    Number,
    Optional,
    Vector,
    check_params,
)
from ...core.random import as_seed
from ...core.ranker import Ranker
from ...core.ranking import Ranking
from ...core.table import Table
from ...policies.plackett_luce import PlackettLuce
from ..early_stopping import held_out, one_metric
from ..tradeoff_path import TradeoffPath, most_relevant, noise_line
from .rewards import rewards

__all__ = ["FairPGRank"]

#: Metric of each disparity.
DISPARITY_METRICS = {"group": "GroupDisparity", "individual": "IndividualDisparity"}


class FairPGRank(Ranker):
    """Plackett-Luce ranker that trades the utility of its rankings against exposure disparity.

    Maximises the mean over lists of ``U - lam D + entropy H``: U is the expected utility of a
    ranking drawn from the policy, D the disparity of its expected exposures per merit
    (`GroupDisparity` or `IndividualDisparity`), H the entropy of the first position. Gradients are
    estimated from ``n_samples`` rankings of each list. The signs inside D come from the exposures
    of the same samples, so the gradient of D is slightly biased; that of U is not. A list without
    relevant items has no gradient. Features are used unchanged: scale them first (scikit-learn's
    StandardScaler in a pipeline), or those with large values dominate.

    Parameters
    ----------
    utility : {"ndcg", "dcg", "err", "average_rank"}
        Utility of a ranking; of the average rank the negative.
    disparity : {None, "individual", "group"}
        The disparity that is subtracted. ``"group"`` needs sensitive_features; in each list the
        group with the largest excess over everyone else counts.
    lam : float
        Weight of the disparity; an error without one. A disparity of weight 0 is a warning.
    entropy : float
        Weight of the entropy.
    n_samples : int
        Number of rankings drawn per list and step.
    gradient : {"plrank", "reinforce"}
        By position, with the expected reward of the remaining items in random order as the baseline
        (2 to 17 times less variance on lists of 6 to 60 items; not for ERR), or reward times score
        function.
    baseline : {"leave_one_out", "mean"}
        What REINFORCE subtracts: unbiased, or scaling the gradient by (S - 1)/S.
    model : {"linear", "mlp"}
        A linear scorer, or a network (engine "torch").
    layers : sequence of int
        Widths of the network's hidden layers.
    engine : {"cpu", "torch"}
        Compiled code for the linear scorer, or PyTorch.
    device : str
        Device of PyTorch: "cpu", "cuda".
    n_epochs : int
        Number of passes through the lists.
    batch_size : int
        Number of lists per step of Adam.
    learning_rate : float
        Learning rate of Adam.
    merit : "relevance" or callable
        The merit of each row: its relevance, or a function of the array of relevances.
    k : int, optional
        Cutoff of the utility.
    max_disparity : float, optional
        Find by bisection the smallest ``lam`` (not less than the one given) whose disparity on the
        training lists is at most this; `path_` lists the values tried.
    by : str or tuple of str, optional
        The sensitive attribute, or several crossed; may be omitted if there is one.
    n_jobs : int
        Number of threads for batches, -1 for all. It does not change the result.
    random_state : int, Generator, RandomState or None
        Seed of the initial weights, the order of the lists and the draws.

    References
    ----------
    Singh and Joachims, Policy learning for fairness in ranking, NeurIPS 2019. Oosterhuis,
    Learning-to-rank at the speed of sampling: Plackett-Luce gradient estimation, SIGIR 2022.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import FairPGRank
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> model = FairPGRank(n_epochs=20, learning_rate=0.05, random_state=0).fit(data)
    >>> round(model.score(data), 2) > 0.8
    True
    >>> model.rank(data, n_draws=5, random_state=0).n_draws
    5
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"query_weight"})
    only_with: ClassVar[OnlyWith] = {
        "baseline": ("gradient", ("reinforce",)),
        "layers": ("model", ("mlp",)),
        "device": ("engine", ("torch",)),
        "merit": ("disparity", GIVEN),
        "by": ("disparity", ("group",)),
    }
    positional: ClassVar[tuple[str, ...]] = ("utility", "disparity", "lam")
    test_params: ClassVar[dict[str, Any]] = {
        "n_epochs": 30,
        "learning_rate": 0.03,
        "random_state": 0,
    }

    utility: Annotated[str, Choice("ndcg", "dcg", "err", "average_rank")] = "ndcg"
    disparity: Annotated[str | None, Optional(Choice("individual", "group"))] = None
    lam: Annotated[float, Number(0.0)] = 0.0
    entropy: Annotated[float, Number(0.0)] = 0.0
    n_samples: Annotated[int, Integer(1)] = 10
    gradient: Annotated[str, Choice("plrank", "reinforce")] = "plrank"
    baseline: Annotated[str, Choice("leave_one_out", "mean")] = "leave_one_out"
    model: Annotated[str, Choice("linear", "mlp")] = "linear"
    layers: Sequence[int] = (32,)
    engine: Annotated[str, Choice("cpu", "torch")] = "cpu"
    device: str = "cpu"
    n_epochs: Annotated[int, Integer(0)] = 20
    batch_size: Annotated[int, Integer(1)] = 1
    learning_rate: Annotated[float, Number(0.0, open_low=True)] = 0.001
    merit: Annotated[
        Any, AnyOf(Choice("relevance"), Check(callable, "a function of the relevances"))
    ] = "relevance"
    k: Annotated[int | None, Optional(Integer(1))] = None
    max_disparity: Annotated[float | None, Optional(Number(0.0))] = None
    by: Annotated[Any, Optional(Label(many=True))] = None
    n_jobs: int | None = -1
    random_state: Any = None

    def exposure(
        self, X: Any, *, qid: Any = None, n_samples: int | None = None, return_error: bool = False
    ) -> Any:
        """Return the expected exposure of each row, in input order.

        Exact for lists of up to 8 items; otherwise from ``n_samples`` draws, by default 1,000.
        ``return_error`` adds the standard errors.
        """
        return self._policy(X, qid).exposure(n_samples, return_error=return_error)

    def sample_rankings(
        self, X: Any, *, qid: Any = None, size: int = 10, random_state: Any = None
    ) -> Ranking:
        """Draw ``size`` rankings of every list."""
        return self._policy(X, qid).sample(size, random_state)

    @shared_keywords(ListKeywords)
    def tradeoff_path(
        self,
        lams: Sequence[float],
        X: Any,
        y: Any = None,
        *,
        query_weight: Any = None,
        validation: Any = 0.25,
        k: int | None = None,
        n_draws: int = 50,
        **lists: Unpack[ListKeywords],
    ) -> TradeoffPath:
        """Fit one ranker per weight of the disparity and compare them on validation lists.

        Parameters
        ----------
        lams : sequence of float
            The weights, >= 0.
        X, y, query_weight
            As in `fit`.
        validation : float or RankingData
            The share of the lists to compare on, or the lists.
        k : int, optional
            Cutoff of NDCG.
        n_draws : int
            Number of rankings drawn per validation list.

        Returns
        -------
        TradeoffPath
            With the expected NDCG and the disparity of each policy on the validation lists.
        """
        name = type(self).__name__
        values = [float(lam) for lam in lams]
        check_params("tradeoff_path", {"lams": values}, {"lams": Vector(low=0.0)})
        if self.disparity is None:
            raise DataError("disparity of FairPGRank must be named for a tradeoff_path, got None")
        check_params(name, self.get_params(deep=False), self.params)
        data = self._training_data(X, y, **lists, cost=None, query_weight=query_weight)
        warn_of_one_list(
            X, lists["qid"], data.n_rows, "FairPGRank.tradeoff_path", outer_stacklevel() + 1
        )
        train, valid = held_out(data, validation, self.random_state, name)
        if valid is None:
            raise DataError("validation of tradeoff_path must leave lists to compare on, got none")
        names = ("NDCG" if k is None else f"NDCG@{k}", DISPARITY_METRICS[self.disparity])
        metrics = [one_metric(name) for name in names]

        def evaluate(ranking: Ranking) -> tuple[float, float]:
            values = [float(m.summarize(m.per_query(ranking))[0]) for m in metrics]
            return values[0], values[1]

        with zero_weights_are_meant():
            rankers = [clone(self).set_params(lam=lam).fit(train) for lam in values]
        found = [evaluate(r.rank(valid, n_draws=n_draws, random_state=0)) for r in rankers]
        level = as_ranking_data(score=np.zeros(valid.n_rows), qid=valid.query_of_rows())
        drawn = PlackettLuce(level).sample(n_draws, 0).position
        chance = evaluate(Ranking.from_positions(valid, valid.to_original(drawn)))
        relevance, unfairness = np.array(found).T
        titles = (str(metrics[0]), str(metrics[1]))

        def measure(drawn: list[np.ndarray]) -> tuple[float, float]:
            orders = [Ranking.from_scores(valid, valid.to_original(score)) for score in drawn]
            positions = np.stack([order.position for order in orders], axis=1)
            return evaluate(Ranking.from_positions(valid, valid.to_original(positions)))

        best = rankers[most_relevant(relevance, unfairness)]
        noise = noise_line(best._scores(valid), valid.offsets, measure, 0)
        return TradeoffPath(
            rankers, values, relevance, unfairness, titles, chance, "lam", noise=noise
        )

    def _policy(self, X: Any, qid: Any) -> PlackettLuce:
        scores = self.predict(X)
        if isinstance(X, RankingData):
            query = X.to_original(X.qids[X.query_of_rows()])
            return PlackettLuce(scores, query)
        warn_of_one_list(X, qid, len(scores), "FairPGRank", stacklevel=4, above=LONG_REQUEST)
        return PlackettLuce(scores, qid)

    def check_declared(self, stacklevel: int = 3) -> None:
        """Raise for invalid parameters, among them a weight without a disparity."""
        super().check_declared(stacklevel + 1)
        searched = self.max_disparity is not None
        check_fairness_weight(
            self, "disparity", "lam", searched=searched, stacklevel=stacklevel + 1
        )

    def current_needs(self) -> frozenset[str]:
        """Add the groups if their disparity counts."""
        needs = super().current_needs()
        return needs | {"sensitive_features"} if self.disparity == "group" else needs

    def _fit(self, data: RankingData) -> None:
        if self.model == "mlp" and self.engine == "cpu":
            raise DataError("engine of FairPGRank must be 'torch' for model 'mlp', got 'cpu'")
        if self.gradient == "plrank" and self.utility == "err":
            raise DataError(
                "gradient of FairPGRank must be 'reinforce' for utility 'err', which is not a sum "
                "over positions"
            )
        seed = as_seed(self.random_state)
        if self.max_disparity is None:
            self._train(data, float(self.lam), seed)
            return
        if self.disparity is None:
            raise DataError("disparity of FairPGRank must be named if max_disparity is given")
        self._search(data, seed)

    def _train(self, data: RankingData, lam: float, seed: int) -> None:
        """Train once, from new initial weights."""
        reward = rewards(data, self.utility, self.disparity, self.merit, self.k, self.by)
        names = ("entropy", "n_samples", "gradient", "baseline", "batch_size", "learning_rate")
        settings = {name: getattr(self, name) for name in (*names, "n_jobs", "device")}
        settings |= {"lam": lam, "seed": seed, "mlp": self.model == "mlp", "layers": self.layers}
        engine: Any = _engine(self.engine)(data, reward, settings)
        curve = []
        has_relevant = _has_relevant(data)
        for epoch in progress(range(self.n_epochs), "training", total=self.n_epochs):
            for _ in engine.epoch(epoch):
                pass
            facts = engine.facts[has_relevant]
            curve.append(facts.mean(axis=0) if len(facts) else np.zeros(3))
        table = np.array(curve).reshape(-1, 3)
        self.curve_ = {
            "utility": table[:, 0].tolist(),
            "disparity": table[:, 1].tolist(),
            "entropy": table[:, 2].tolist(),
        }
        self.lam_ = lam
        if self.engine == "cpu":
            self.coef_ = np.asarray(engine.coef, dtype=np.float64)
            return
        arrays = engine.arrays()
        layers = [name for name in arrays if name.endswith("weight")]
        self.weights_ = [arrays[name] for name in layers]
        self.biases_ = [arrays[name.replace("weight", "bias")] for name in layers[:-1]]
        if self.model == "linear":
            self.coef_ = self.weights_[0][0]
            del self.weights_, self.biases_

    def _search(self, data: RankingData, seed: int) -> None:
        """Double the weight of the disparity until the bound holds, then bisect the last step."""
        tried: list[tuple[float, float, float]] = []

        def reached(lam: float) -> float:
            self._train(data, lam, seed)
            value = self._disparity(data, seed)
            tried.append((lam, self.curve_["utility"][-1] if self.n_epochs else 0.0, value))
            return value

        bound = float(self.max_disparity)  # type: ignore[arg-type]
        low, high = float(self.lam), max(2.0 * float(self.lam), 0.125)
        holds = reached(low) <= bound
        if not holds:
            for _ in progress(range(16), "searching the weight", total=16):
                if reached(high) <= bound:
                    holds = True
                    break
                low, high = high, 2.0 * high
            for _ in range(4 if holds else 0):
                middle = (low + high) / 2.0
                low, high = (low, middle) if reached(middle) <= bound else (middle, high)
            if holds:
                reached(high)
        self.path_ = {
            name: [row[at] for row in tried]
            for at, name in enumerate(("lam", "utility", "disparity"))
        }
        if not holds:
            warnings.warn(
                f"max_disparity of FairPGRank was not reached: at lam={tried[-1][0]:g} the "
                f"disparity is {tried[-1][2]:.4g}, above {bound:g}; the last model is kept",
                EquirankWarning,
                stacklevel=4,
            )

    def _disparity(self, data: RankingData, seed: int) -> float:
        """Measure the disparity of the policy on the training lists, with 200 draws."""
        reward = rewards(data, self.utility, self.disparity, self.merit, self.k, self.by)
        scored = as_ranking_data(
            y=reward.merit,
            qid=data.query_of_rows(),
            sensitive_features=reward.group.astype(str) if self.disparity == "group" else None,
            score=self._scores(data),
            max_groups=data.n_rows,
        )
        metric = one_metric(DISPARITY_METRICS[str(self.disparity)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquirankWarning)
            drawn = PlackettLuce(scored).sample(200, seed)
            value = float(metric.summarize(metric.per_query(drawn))[0])
        return 0.0 if np.isnan(value) else value

    def _scores(self, data: RankingData) -> np.ndarray:
        values = np.asarray(data.X)
        if hasattr(self, "coef_"):
            return np.asarray(values @ self.coef_, dtype=np.float64)
        for weight, bias in zip(self.weights_[:-1], self.biases_, strict=True):
            values = np.tanh(values @ weight.T + bias)
        return np.asarray(values @ self.weights_[-1][0], dtype=np.float64)

    def _parts(self, data: RankingData) -> Parts | None:
        """Return the terms of the linear model; a network has none."""
        return Parts.linear(data.X, self.coef_) if hasattr(self, "coef_") else None

    def _draw(self, data: RankingData, n_draws: int, random_state: Any) -> np.ndarray:
        scored = as_ranking_data(score=self._scores(data), qid=data.query_of_rows())
        return PlackettLuce(scored).sample(n_draws, random_state).position

    @property
    def learning_curve_(self) -> Table:
        """Utility, disparity and entropy of the training samples, per epoch."""
        count = len(self.curve_["utility"])
        return Table({"epoch": np.arange(1, count + 1), **_arrays(self.curve_)}, None)

    @property
    def path_table_(self) -> Table:
        """Values of lam tried for ``max_disparity``, with utility and disparity."""
        return Table(_arrays(self.path_), None)


def _engine(name: str) -> type:
    """Return an engine, imported on demand: numba and PyTorch are slow to import."""
    if name == "torch":
        from .torch_engine import TorchEngine

        return TorchEngine
    from .linear_engine import LinearEngine

    return LinearEngine


def _has_relevant(data: RankingData) -> np.ndarray:
    """Return for each list whether it contains a relevant item."""
    from ...kernels.segments import segment_sum

    return segment_sum(np.asarray(data.y, dtype=np.float64), data.offsets) > 0.0


def _arrays(columns: dict[str, list[float]]) -> dict[str, np.ndarray]:
    return {name: np.array(values) for name, values in columns.items()}
