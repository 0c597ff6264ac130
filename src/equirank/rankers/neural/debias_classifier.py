"""DebiasClassifier: classes or values predicted from a representation that hides groups."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError
from ...core.params import Choice, Constraint, Flag, Label, Number, Optional
from .adversaries import adversary_layers, cross_entropy, reverse, sensitive_columns
from .batches import run_rows
from .network import Layers, Model, Net, softmax
from .neural_ranker import COMMON, RepresentationRanker, Widths
from .training_loop import Problem, State

__all__ = ["DebiasClassifier"]


#: Grades up to which they are classes.
MOST_CLASSES = 100


class DebiasClassifier(RepresentationRanker):
    r"""Predict the relevance of single items from a representation that hides groups.

    A feature network f feeds an output that predicts the relevance and an adversary that predicts
    the group. The adversary descends its cross-entropy; on its way into f the gradient is turned
    round and scaled by ``gamma``, as in `DirectRanker`, of which this is the pointwise rival. With
    ``target="class"`` every relevance is a class (cross-entropy), and the score to rank by is the
    expected relevance :math:`\sum_c c \, P(c \mid x)`; with ``"value"`` the output is trained to
    the relevance itself (squared loss). Groups are needed to fit, never to predict.

    Parameters
    ----------
    gamma : float, default=1.0
        How strongly the representation is made to hide groups; 0 is a plain classifier.
    target : {"class", "value"}
        What is predicted of an item.
    noise : bool, default=False
        Whether inputs pass a conditioning layer first, as in `DirectRanker`.
    by, adversary_layers, adversary_rate
        As in `DirectRanker`.
    layers, activation, n_epochs, max_steps, batch_size, learning_rate, schedule, clip, weight_decay
        As in `DirectRanker`; a batch is one of rows.
    early_stopping, validation, metric, device, precision, checkpoint, n_jobs, random_state
        As in `DirectRanker`.

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
    params: ClassVar[Mapping[str, Constraint]] = {
        "gamma": Number(0.0),
        "target": Choice("class", "value"),
        "noise": Flag(),
        "by": Optional(Label(many=True)),
        "adversary_layers": Widths(),
        "adversary_rate": Number(0.0, open_low=True),
        **COMMON,
    }
    test_params: ClassVar[dict[str, Any]] = {
        "target": "value",
        "layers": (8, 4),
        "n_epochs": 3,
        "batch_size": 32,
        "learning_rate": 0.01,
        "random_state": 0,
    }
    hyper: ClassVar[tuple[str, ...]] = ("gamma",)
    batches_of: ClassVar[str] = "rows"
    recordable: ClassVar[bool] = True

    def __init__(
        self,
        gamma: float = 1.0,
        target: str = "class",
        noise: bool = False,
        *,
        by: Any = None,
        adversary_layers: Sequence[int] = (16,),
        adversary_rate: float = 10.0,
        layers: Sequence[int] = (64, 8),
        activation: str = "tanh",
        n_epochs: int = 30,
        max_steps: int | None = None,
        batch_size: int = 128,
        learning_rate: float = 0.003,
        schedule: str = "constant",
        clip: float | None = None,
        weight_decay: float = 0.0,
        early_stopping: int | None = None,
        validation: Any = None,
        metric: Any = "NDCG@10",
        device: str = "cpu",
        precision: str = "float32",
        checkpoint: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            layers=layers,
            activation=activation,
            n_epochs=n_epochs,
            max_steps=max_steps,
            batch_size=batch_size,
            learning_rate=learning_rate,
            schedule=schedule,
            clip=clip,
            weight_decay=weight_decay,
            early_stopping=early_stopping,
            validation=validation,
            metric=metric,
            device=device,
            precision=precision,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.gamma = gamma
        self.target = target
        self.noise = noise
        self.by = by
        self.adversary_layers = adversary_layers
        self.adversary_rate = adversary_rate

    @available_if(lambda self: self.target == "class")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class of ``classes_``, rows in the caller's order."""
        data = self._prediction_data(X, None, None, None)
        found = run_rows(
            self.model_, self.weights_, data.X, lambda net, x: softmax(net.output(net.features(x)))
        )
        return data.to_original(found)

    @available_if(lambda self: self.target == "class")  # type: ignore[untyped-decorator]
    def predict_class(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row; `predict` gives the score to rank by."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        y = np.asarray(data.y, dtype=np.float64)
        if self.target == "class":
            goal = np.searchsorted(_classes(y), y)
        else:
            low, span = _range(y)
            goal = ((y - low) / span).astype(self._dtype)
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

    def _keep(self, problem: Problem, state: State, stopped: bool) -> None:
        """Put the output of values back on the scale of the relevance."""
        super()._keep(problem, state, stopped)
        if self.target == "class":
            self.classes_ = self.weights_["output.values"].astype(np.float64)
            return
        low, span = self.weights_.pop("output.range")
        self.weights_["output.0.weight"] *= span
        self.weights_["output.0.bias"] = self.weights_["output.0.bias"] * span + low


def _classes(y: np.ndarray) -> np.ndarray:
    """Return the relevances that occur."""
    found = np.unique(y)
    if len(found) > MOST_CLASSES:
        raise DataError(
            f"y must have at most {MOST_CLASSES} different values for target 'class', got "
            f"{len(found)}; target 'value' takes any"
        )
    return found


def _range(y: np.ndarray) -> tuple[float, float]:
    """Return the smallest relevance and the distance to the largest, 1 where all are equal."""
    low = float(y.min())
    return low, float(y.max()) - low or 1.0
