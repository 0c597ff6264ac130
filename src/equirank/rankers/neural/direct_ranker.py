"""DirectRanker: a pairwise network that is an order by construction, and its fair family."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError
from ...core.params import Choice, Constraint, Flag, Label, Number, Optional, check_params
from ..preferences import checked_pairs, without_grades
from .adversaries import adversary_layers, attributes_of, cross_entropy, reverse, sensitive_columns
from .batches import ListedPairs
from .network import Layers, Model, Net, chosen_device, threads
from .neural_ranker import COMMON, RepresentationRanker, Widths

__all__ = ["DirectRanker"]


class DirectRanker(RepresentationRanker):
    r"""Rank by a network that compares two items, and learn representations that hide groups.

    With a feature network :math:`f` and weights :math:`w` the comparison of two items is

    .. math::

        o(x_1, x_2) = \tau\bigl(w \cdot (f(x_1) - f(x_2))\bigr),

    trained to :math:`(\Delta y - o)^2`, where :math:`\Delta y = y_1 - y_2` is scaled to [-1, 1] by
    the range of y. As :math:`\tau` is antisymmetric and keeps signs, o is reflexive, antisymmetric
    and transitive, and ``w . f(x)`` is the score to sort by. Every epoch each row meets one row of
    its list with another relevance, drawn evenly; pairs are never listed. Lists where all
    relevances are equal teach nothing.

    ``fairness`` adds opponents that read the sensitive attribute out of the representation. They
    descend their own loss; on its way into f its gradient is turned round and scaled by ``gamma``:

    - ``"adversarial"``: two adversaries with weights of their own predict the groups of the first
      and of the second item from f(x) (cross-entropy);
    - ``"flipped"``: an antisymmetric output on :math:`f(x_1) - f(x_2)` predicts the difference of
      the groups (of their indicators, for more than two groups; linear, squared loss);
    - ``"both"``.

    Groups are needed to fit with ``fairness``, never to predict.

    Parameters
    ----------
    fairness : {"adversarial", "flipped", "both"}, optional
        What the representation is made to hide groups from.
    gamma : float, default=0.5
        How strongly.
    noise : bool, default=False
        Whether inputs pass ``a * w1 + eta * w2`` first, elementwise, with learned w1 and w2 and a
        standard normal ``eta`` that is drawn once and stored with the model.
    tau : {"tanh", "identity"}
        The antisymmetric function.
    by : str or tuple of str, optional
        The attribute to hide, or several crossed; None hides every attribute that is given.
    adversary_layers : sequence of int, default=(16,)
        Widths of the adversaries' hidden layers.
    adversary_rate : float, default=10.0
        The opponents' learning rate as a multiple of ``learning_rate``: an opponent that learns
        faster than f can run away is what makes f hide groups.
    layers : sequence of int, default=(64, 8)
        Widths of f; the last is the size of the representation.
    activation : {"tanh", "relu", "sigmoid"}
        After every layer of f.
    n_epochs : int, default=30
        Epochs, each with about one pair per row.
    max_steps : int, optional
        Stops after so many steps, and changes nothing before: a run of 1,000 steps passes through
        the model that ``max_steps=500`` gives.
    batch_size : int, default=128
        Pairs of a step.
    learning_rate : float, default=0.003
        Of Adam, whose momentum is 0.5, which suits games against opponents.
    schedule : {"constant", "linear", "cosine"}
        How the learning rate falls over ``n_epochs``.
    clip : float, optional
        Largest norm of a gradient; opponents' are clipped apart.
    weight_decay : float, default=0.0
        Decay of the weights, apart from the gradient.
    early_stopping : int, optional
        Stops where the metric has not improved for so many epochs, and keeps the best weights.
    validation : float or RankingData, optional
        The share of the queries to hold out, or data, for ``metric``.
    metric : str or Metric, default="NDCG@10"
        Followed on the validation data.
    device : {"cpu", "cuda", "auto"}
        Where to train; only ``"auto"`` picks by itself.
    precision : {"float32", "float64", "mixed"}
        Of training; ``"mixed"`` (bfloat16 products) on a GPU only.
    checkpoint : path, optional
        A folder for the state of the run after every epoch. Fitting again with the same data and
        parameters goes on from there, with the same result to the bit on a CPU.
    n_jobs : int, optional
        Threads of a CPU; None is one. Another number may change the last bits.
    random_state : int, Generator, RandomState or None
        Seed of weights, pairs and noise.

    Attributes
    ----------
    weights_ : dict of str to ndarray
        All weights, means and deviations of the features, and the noise.
    curve_ : dict of str to list
        Per epoch: mean loss, and the metric on the validation data; ``learning_curve_`` is it as a
        table.

    References
    ----------
    Köppel, Segner, Wagener, Pensel, Karwath and Kramer, Pairwise learning to rank by neural
    networks revisited, ECML PKDD 2019. Cerrato, Köppel, Segner, Esposito and Kramer, Fair pairwise
    learning to rank, DSAA 2020.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import DirectRanker
    >>> data = make_ranking(n_queries=40, n_items=20, feature_bias=1.0, random_state=0)
    >>> plain = DirectRanker(n_epochs=5, random_state=0).fit(data)
    >>> plain.score(data) > 0.7
    True
    >>> fair = DirectRanker("adversarial", n_epochs=5, random_state=0).fit(data)
    >>> fair.transform(data).shape
    (800, 8)
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "fairness": Optional(Choice("adversarial", "flipped", "both")),
        "gamma": Number(0.0),
        "noise": Flag(),
        "tau": Choice("tanh", "identity"),
        "by": Optional(Label(many=True)),
        "adversary_layers": Widths(),
        "adversary_rate": Number(0.0, open_low=True),
        **COMMON,
    }
    test_params: ClassVar[dict[str, Any]] = {
        "layers": (8, 4),
        "n_epochs": 3,
        "batch_size": 32,
        "learning_rate": 0.01,
        "random_state": 0,
    }
    hyper: ClassVar[tuple[str, ...]] = ("gamma",)
    batches_of: ClassVar[str] = "pairs"
    recordable: ClassVar[bool] = True

    def __init__(
        self,
        fairness: str | None = None,
        gamma: float = 0.5,
        noise: bool = False,
        *,
        tau: str = "tanh",
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
        self.fairness = fairness
        self.gamma = gamma
        self.noise = noise
        self.tau = tau
        self.by = by
        self.adversary_layers = adversary_layers
        self.adversary_rate = adversary_rate

    def compare(self, X: Any, other: Any) -> np.ndarray:
        """Return o(x1, x2) for rows side by side: above 0 where the first is to be ranked earlier."""
        gap = self.predict(X) - self.predict(other)
        return np.tanh(gap) if self.tau == "tanh" else gap

    def fit_pairs(
        self,
        X: Any,
        pairs: Any,
        preference: Any = None,
        weight: Any = None,
        *,
        sensitive_features: Any = None,
    ) -> Self:
        """Learn from explicit preferences between rows, which may contradict each other.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Features; of a `RankingData` only they and, with ``fairness``, the groups are used.
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers; the first of each pair is preferred, unless ``preference`` says otherwise.
        preference : array-like, optional
            Per pair: 1 where the first row is preferred, -1 where the second is, 0 where neither
            is, which leaves the pair out.
        weight : array-like, optional
            Weight per pair, >= 0.
        sensitive_features : array-like, optional
            Groups of the rows, needed with ``fairness``.
        """
        check_params(type(self).__name__, self.get_params(deep=False), self.params)
        if self.validation is not None:
            raise DataError("validation must be None to fit explicit pairs")
        X, y = without_grades(X)
        data = self._training_data(X, y, None, sensitive_features, None, None)
        if self.fairness is not None and not data.sensitive:
            raise DataError(
                f"sensitive_features must be given: {type(self).__name__} needs it to fit"
            )
        table, sign, extra = checked_pairs(pairs, preference, weight, data.n_rows)
        if not np.isin(sign, (-1.0, 0.0, 1.0)).all():
            at = int(np.flatnonzero(~np.isin(sign, (-1.0, 0.0, 1.0)))[0])
            raise DataError(f"preference must be -1, 0 or 1, got {float(sign[at])} in pair {at}")
        extra = np.where(sign == 0.0, 0.0, extra)
        if not extra.any():
            raise DataError(
                "preference and weight must leave at least one pair that weighs something"
            )
        table, sign, extra = (part[extra > 0.0] for part in (table, sign, extra))
        stored = np.arange(data.n_rows) if data.rows is None else np.argsort(data.rows)
        listed = (stored[table].T, sign, extra / extra.mean())
        self.groups_ = {name: list(a.categories) for name, a in data.sensitive.items()}
        self.data_fingerprint_ = _fingerprint(data, *listed)
        device, seed = chosen_device(self.device, self.precision), self._seed()
        with threads(self.n_jobs):
            problem = self.problem(data, seed, device)
            batches = ListedPairs(problem.rows, *listed, self.batch_size, seed)
            self._train(replace(problem, batches=batches), None, seed, device)
        self.is_fitted_ = True
        return self

    def _needs(self) -> frozenset[str]:
        """Add the groups where they are to be hidden."""
        needs = super()._needs()
        return needs if self.fairness is None else needs | {"sensitive_features"}

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        if self.fairness is None:
            return {}
        return {"sensitive": sensitive_columns(data, self.by)}

    def _model(self, data: RankingData) -> Model:
        widths = (data.n_features, *self.layers)
        width = widths[-1]
        features = Layers("features", widths, self.activation, closed=True, noise=self.noise)
        opponents: tuple[Layers, ...] = ()
        if self.fairness in ("adversarial", "both"):
            for role in ("first", "second"):
                opponents += adversary_layers(role, data, self.by, width, self.adversary_layers)
        if self.fairness in ("flipped", "both"):
            opponents += tuple(
                Layers(f"flipped.{at}", (width, _columns_of(len(a.categories))), bias=False)
                for at, a in enumerate(attributes_of(data, self.by))
            )
        return Model(features, Layers("output", (width, 1), bias=False), opponents)

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        weight, features = batch["weight"], net.features(batch["x"])
        score = net.output(features)
        loss = ((batch["target"] - self._tau(score[0] - score[1])).square() * weight).mean()
        if self.fairness is None:
            return loss
        hidden, codes = reverse(features, hyper["gamma"]), batch["sensitive"]
        if self.fairness in ("adversarial", "both"):
            for at, role in enumerate(("first", "second")):
                loss = loss + cross_entropy(net, role, hidden[at], codes[at], weight)
        if self.fairness in ("flipped", "both"):
            loss = loss + self._flipped(net, hidden[0] - hidden[1], codes, weight)
        return loss

    def _flipped(self, net: Net, gap: Any, codes: Any, weight: Any) -> Any:
        """Return the loss of predicting the difference of groups, summed over the attributes."""
        torch = require("torch", "neural")
        total = 0.0
        for at in range(codes.shape[-1]):
            guess = net.part(f"flipped.{at}", gap)
            code = codes[..., at]
            if guess.shape[-1] > 1:
                truth = torch.stack([code == group for group in range(guess.shape[-1])], dim=-1)
            else:
                truth = code[..., None]
            truth = truth.to(guess.dtype)
            each = (truth[0] - truth[1] - guess).square().sum(dim=-1)
            total = total + (each * weight).mean()
        return total

    def _tau(self, gap: Any) -> Any:
        return gap.tanh() if self.tau == "tanh" else gap


def _columns_of(n_groups: int) -> int:
    """Count the outputs for differences of groups: one for two groups, else one per group."""
    return 1 if n_groups <= 2 else n_groups


def _fingerprint(data: RankingData, *parts: np.ndarray) -> str:
    from hashlib import blake2b

    digest = blake2b(data.fingerprint().encode(), digest_size=16)
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
