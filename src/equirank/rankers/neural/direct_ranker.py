"""DirectRanker: a pairwise network that is an order by construction, with adversarial fairness."""

from dataclasses import replace
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from ...core.data import RankingData
from ...core.declared import GIVEN, OnlyWith, check_fairness_weight
from ...core.environment import require
from ...core.errors import DataError
from ...core.params import Choice, Number, Optional
from ..preferences import checked_pairs, without_grades
from .adversaries import adversary_layers, attributes_of, cross_entropy, reverse, sensitive_columns
from .batches import ListedPairs
from .network import Layers, Model, Net, chosen_device, threads
from .neural_ranker import RepresentationRanker

__all__ = ["DirectRanker"]


class DirectRanker(RepresentationRanker):
    r"""Pairwise network that compares two items, with representations that hide groups.

    With a feature network :math:`f` and weights :math:`w` the comparison of two items is

    .. math::

        o(x_1, x_2) = \tau\bigl(w \cdot (f(x_1) - f(x_2))\bigr),

    trained to :math:`(\Delta y - o)^2`, where :math:`\Delta y = y_1 - y_2` is scaled to [-1, 1] by
    the range of y. As :math:`\tau` is antisymmetric and keeps signs, o is reflexive, antisymmetric
    and transitive, and ``w . f(x)`` is the score. In every epoch each row is compared with one row
    of its list of other relevance, drawn uniformly; pairs are never listed. Lists in which all
    relevances are equal have no gradient.

    ``fairness`` adds adversaries that predict the sensitive attribute from the representation. They
    minimise their own loss; its gradient is reversed and scaled by ``gamma`` before it enters f:

    - ``"adversarial"``: two adversaries with weights of their own predict the groups of the first
      and of the second item from f(x) (cross-entropy);
    - ``"flipped"``: an antisymmetric output on :math:`f(x_1) - f(x_2)` predicts the difference of
      the groups (of their indicators, for more than two groups; linear, squared loss);
    - ``"both"``.

    Groups are needed to fit with ``fairness``, not to predict.

    Parameters
    ----------
    fairness : {"adversarial", "flipped", "both"}, optional
        The adversaries from which the representation hides groups.
    gamma : float
        Scale of the reversed gradient; another value than the default is an error without
        ``fairness``, and 0 with it is a warning.
    tau : {"tanh", "identity"}
        The antisymmetric function of the comparison.
    n_epochs : int
        Number of epochs, each with about one pair per row.

    Attributes
    ----------
    weights_ : dict of str to ndarray
        All weights, means and deviations of the features, and the noise.
    curve_ : dict of str to list
        Per epoch: mean loss, and the metric of the validation lists; ``learning_curve_`` is the
        same as a table.

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

    hyper: ClassVar[tuple[str, ...]] = ("gamma",)
    batches_of: ClassVar[str] = "pairs"
    only_with: ClassVar[OnlyWith] = {
        "by": ("fairness", GIVEN),
        "adversary_rate": ("fairness", GIVEN),
        "adversary_layers": ("fairness", ("adversarial", "both")),
    }
    recordable: ClassVar[bool] = True

    positional: ClassVar[tuple[str, ...]] = ("fairness", "gamma", "noise")

    fairness: Annotated[str | None, Optional(Choice("adversarial", "flipped", "both"))] = None
    gamma: Annotated[float, Number(0.0)] = 0.5
    tau: Annotated[str, Choice("tanh", "identity")] = "tanh"

    def compare(self, X: Any, other: Any) -> np.ndarray:
        """Return o(x1, x2) for each two rows: above 0 if the first ranks above the second."""
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
            Features; a `RankingData` is used for these and, with ``fairness``, its groups.
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers; the first row of each pair is preferred, unless ``preference`` is given.
        preference : array-like, optional
            Per pair: 1 if the first row is preferred, -1 if the second is, 0 to omit the pair.
        weight : array-like, optional
            Weight per pair, >= 0.
        sensitive_features : array-like, optional
            Groups of the rows, needed with ``fairness``.
        """
        self.check_declared()
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
                "preference and weight must leave at least one pair of positive weight, got none"
            )
        table, sign, extra = (part[extra > 0.0] for part in (table, sign, extra))
        stored = np.arange(data.n_rows) if data.rows is None else np.argsort(data.rows)
        listed = (stored[table].T, sign, extra / extra.mean())
        self.groups_ = {name: list(a.categories) for name, a in data.sensitive.items()}
        self.data_fingerprint_ = _fingerprint(data, *listed)
        device, seed = chosen_device(self.device, self.precision), self.seed()
        with threads(self.n_jobs):
            problem = self.problem(data, seed, device)
            batches = ListedPairs(problem.rows, *listed, self.batch_size, seed)
            self._train(replace(problem, batches=batches), None, seed, device)
        self.is_fitted_ = True
        return self

    def check_declared(self, stacklevel: int = 3) -> None:
        """Raise for invalid parameters, among them ``gamma`` without ``fairness``."""
        super().check_declared(stacklevel + 1)
        check_fairness_weight(self, "fairness", "gamma", stacklevel=stacklevel + 1)

    def current_needs(self) -> frozenset[str]:
        """Add the groups if they are to be hidden."""
        needs = super().current_needs()
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
                Layers(f"flipped.{at}", (width, _n_outputs(len(a.categories))), bias=False)
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
        """Return the loss of predicting the difference of groups, summed over the attributes.

        A pair with an unknown label has no loss.
        """
        torch = require("torch", "neural")
        total = 0.0
        for at in range(codes.shape[-1]):
            predicted = net.part(f"flipped.{at}", gap)
            code, n_outputs = codes[..., at], predicted.shape[-1]
            if n_outputs > 1:
                target = torch.stack([code == group for group in range(n_outputs)], dim=-1)
            else:
                target = code[..., None]
            target = target.to(predicted.dtype)
            each = (target[0] - target[1] - predicted).square().sum(dim=-1)
            known = (code[0] >= 0) & (code[1] >= 0)
            total = total + (each * weight * known).mean()
        return total

    def _tau(self, gap: Any) -> Any:
        return gap.tanh() if self.tau == "tanh" else gap


def _n_outputs(n_groups: int) -> int:
    """Return the number of outputs for differences of groups: one for two groups, else one each."""
    return 1 if n_groups <= 2 else n_groups


def _fingerprint(data: RankingData, *parts: np.ndarray) -> str:
    digest = blake2b(data.fingerprint().encode(), digest_size=16)
    for part in parts:
        digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()
