"""DebiasClassifier: pointwise prediction of relevance from a representation that hides groups."""

from typing import Annotated, Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError
from ...core.params import Choice, Number
from .adversaries import adversary_layers, cross_entropy, reverse, sensitive_columns
from .batches import run_rows
from .network import Layers, Model, Net, softmax
from .neural_ranker import RepresentationRanker
from .training_loop import Problem, State

__all__ = ["DebiasClassifier"]


#: Maximum number of classes.
MAX_CLASSES = 100


class DebiasClassifier(RepresentationRanker):
    r"""Pointwise prediction of relevance from a representation that hides groups.

    A feature network f feeds an output that predicts the relevance and an adversary that predicts
    the group. The adversary minimises its cross-entropy, whose gradient is reversed and scaled by
    ``gamma`` before it enters f, as in the pairwise `DirectRanker`. With ``target="class"`` every
    relevance is a class (cross-entropy), and the score is the expected relevance :math:`\sum_c c \,
    P(c \mid x)`; with ``"value"`` the output is trained on the relevance itself (squared loss).
    Groups are needed to fit, not to predict.

    Parameters
    ----------
    gamma : float
        Scale of the reversed gradient; 0 is a plain classifier.
    target : {"class", "value"}
        What is predicted of an item.

    Attributes
    ----------
    classes_ : ndarray
        The relevances that are classes, in order (of ``target="class"``).
    weights_, curve_
        As in `DirectRanker`.

    References
    ----------
    Ganin, Ustinova, Ajakan, Germain, Larochelle, Laviolette, Marchand and Lempitsky,
    Domain-adversarial training of neural networks, JMLR 2016. Cerrato, Köppel, Segner, Esposito and
    Kramer, Fair pairwise learning to rank, DSAA 2020.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import DebiasClassifier
    >>> data = make_ranking(n_queries=40, n_items=20, feature_bias=1.0, random_state=0)
    >>> model = DebiasClassifier(gamma=1.0, n_epochs=5, random_state=0).fit(data)
    >>> model.predict_proba(data).shape, model.transform(data).shape
    ((800, 5), (800, 8))
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset({"qid", "sensitive_features"})
    test_params: ClassVar[dict[str, Any]] = {
        "target": "value",
        **RepresentationRanker.test_params,
    }
    hyper: ClassVar[tuple[str, ...]] = ("gamma",)
    batches_of: ClassVar[str] = "rows"
    recordable: ClassVar[bool] = True

    positional: ClassVar[tuple[str, ...]] = ("gamma", "target", "noise")

    gamma: Annotated[float, Number(0.0)] = 1.0
    target: Annotated[str, Choice("class", "value")] = "class"

    @available_if(lambda self: self.target == "class")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class of ``classes_``, rows in input order."""
        data = self._prediction_data(X, None, None, None)
        found = run_rows(
            self.model_, self.weights_, data.X, lambda net, x: softmax(net.output(net.features(x)))
        )
        return data.to_original(found)

    @available_if(lambda self: self.target == "class")  # type: ignore[untyped-decorator]
    def predict_class(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row; `predict` returns the score."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        y = np.asarray(data.y, dtype=np.float64)
        if self.target == "class":
            goal = np.searchsorted(_classes(y), y)
        else:
            low, span = _range(y)
            goal = ((y - low) / span).astype(self.dtype)
        return {"goal": goal, "sensitive": sensitive_columns(data, self.by)}

    def _model(self, data: RankingData) -> Model:
        widths = (data.n_features, *self.layers)
        features = Layers("features", widths, self.activation, closed=True, noise=self.noise)
        classes = self.target == "class"
        outputs = len(_classes(np.asarray(data.y))) if classes else 1
        opponents = adversary_layers("row", data, self.by, widths[-1], self.adversary_layers)
        return Model(features, Layers("output", (widths[-1], outputs)), opponents, classes)

    def _constants(self, model: Model, data: RankingData, seed: int) -> dict[str, np.ndarray]:
        constants = super()._constants(model, data, seed)
        if self.target == "value":
            return constants | {"output.range": np.array(_range(np.asarray(data.y)))}
        return constants | {"output.values": _classes(np.asarray(data.y))}

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        features, weight = net.features(batch["x"]), batch["weight"]
        found = net.output(features)
        if self.target == "class":
            torch = require("torch", "neural")
            each = torch.nn.functional.cross_entropy(found, batch["goal"], reduction="none")
        else:
            each = (found - batch["goal"]).square()
        hidden = reverse(features, hyper["gamma"])
        against = cross_entropy(net, "row", hidden, batch["sensitive"], weight)
        return (each * weight).mean() + against

    def finish(self, problem: Problem, state: State, stopped: bool) -> None:
        """Store the run, with the output rescaled to the relevance if it predicts values."""
        super().finish(problem, state, stopped)
        if self.target == "class":
            self.classes_ = self.weights_["output.values"].astype(np.float64)
            return
        low, span = self.weights_.pop("output.range")
        self.weights_["output.0.weight"] *= span
        self.weights_["output.0.bias"] = self.weights_["output.0.bias"] * span + low


def _classes(y: np.ndarray) -> np.ndarray:
    """Return the different relevances; raise `DataError` if there are too many."""
    found = np.unique(y)
    if len(found) > MAX_CLASSES:
        raise DataError(
            f"y must have at most {MAX_CLASSES} different values for target 'class', got "
            f"{len(found)}; target 'value' accepts any"
        )
    return found


def _range(y: np.ndarray) -> tuple[float, float]:
    """Return the smallest relevance and the distance to the largest, 1 if all are equal."""
    low = float(y.min())
    return low, float(y.max()) - low or 1.0
