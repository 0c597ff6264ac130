"""NeuralRanker: base classes of the neural rankers; each ranker adds its loss."""

import json
import os
import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...core.data import RankingData
from ...core.declared import GIVEN, OnlyWith
from ...core.environment import require
from ...core.errors import DataError, EquirankWarning
from ...core.params import (
    Check,
    Choice,
    Flag,
    Instance,
    Integer,
    Label,
    Number,
    Optional,
)
from ...core.persistence import SavedFiles
from ...core.random import as_seed
from ...core.ranker import Ranker
from ...core.table import Table
from ..early_stopping import METRIC, EarlyStopping, held_out, metric_needs, one_metric
from .batches import (
    QueryBatches,
    RowBatches,
    Rows,
    SampledPairs,
    dense,
    run_rows,
    standardised,
    statistics,
)
from .model_files import (
    read_checkpoint,
    read_weights,
    stored_seed,
    write_checkpoint,
    write_onnx,
)
from .network import ACTIVATIONS, Layers, Model, Net, autocast, chosen_device, threads
from .training_loop import SCHEDULES, Batches, Plan, Problem, State, Watch, begin, train

__all__ = ["WIDTHS", "HiddenRepresentation", "NeuralRanker", "RepresentationRanker"]


def _are_widths(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(Integer(1).accepts(w) for w in value)


#: Constraint of the widths of layers; an empty sequence is valid.
WIDTHS = Check(_are_widths, "a tuple or list of integers >= 1")


class NeuralRanker(EarlyStopping, Ranker):
    """Base of the neural rankers: a network that scores rows, trained by one loop.

    A ranker writes ``_loss(net, batch, hyper)``, a pure function of tensors: ``net`` scores rows
    (`Net`), ``batch`` holds tensors by name (`QueryBatches`, or `SampledPairs` if ``batches_of`` is
    ``"pairs"``), and ``hyper`` the values of the parameters that the class attribute ``hyper``
    names. It reads such values from there only, and changes nothing in place: configurations of one
    shape are trained together by `torch.func.vmap` over stacked weights and values, starting from
    ``problem(data, seed, device)`` (see `Problem`). ``_columns(data)`` returns further columns of
    the rows, ``_model(data)`` other layers. `prepare`, `problem`, `plan` and `finish` are the steps
    of `fit` for callers that run the loop themselves.

    Features are standardised with the means and deviations of the training data. Training is
    seeded, and on a CPU repeats to the bit for the same number of threads; PyTorch's own seed and
    settings are not changed. Scores are computed in double precision without PyTorch, so a model
    that was trained on a GPU gives the same scores everywhere. Sparse features and missing values
    are refused.

    Parameters
    ----------
    layers : sequence of int
        Widths of the hidden layers, empty for a linear scorer.
    activation : {"tanh", "relu", "sigmoid"}
        Activation after every hidden layer.
    n_epochs : int
        Number of epochs.
    max_steps : int, optional
        Stop after this number of steps. It changes nothing before: a run of 1,000 steps passes
        through the model of ``max_steps=500``.
    batch_size : int
        Number of lists per step.
    learning_rate : float
        Learning rate of Adam.
    momentum : float
        Adam's first decay; against adversaries a lower value avoids cycles.
    schedule : {"constant", "linear", "cosine"}
        How the learning rate falls over ``n_epochs``.
    clip : float, optional
        Largest norm of a gradient; those of adversaries are clipped separately.
    weight_decay : float
        Weight decay, decoupled from the gradient.
    early_stopping : int, optional
        Stop after this number of epochs without a better metric, and keep the best weights.
    validation : float or RankingData, optional
        Share of the queries to hold out for ``metric``, or the validation lists.
    metric : str or Metric
        Metric of the validation lists.
    device : {"cpu", "cuda", "auto"}
        Where to train; only ``"auto"`` chooses by itself.
    precision : {"float32", "float64", "mixed"}
        Precision of training; ``"mixed"`` (bfloat16 products) requires a GPU.
    checkpoint : path, optional
        A folder for the state of the run after every epoch. Fitting again with the same data and
        parameters continues from there, with the same result to the bit on a CPU.
    n_jobs : int, optional
        Number of CPU threads; None is one. Another number may change the last bits.
    random_state : int, Generator, RandomState or None
        Seed of weights, batches and noise.
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"query_weight"})
    file_attributes: ClassVar[tuple[str, ...]] = ("model_", "weights_")
    file_params: ClassVar[tuple[str, ...]] = ("checkpoint",)
    only_with: ClassVar[OnlyWith] = {
        "metric": ("validation", GIVEN),
        "activation": ("layers", GIVEN),
    }
    #: Names of the parameters that enter the loss as tensors.
    hyper: ClassVar[tuple[str, ...]] = ()
    #: Contents of a batch: "queries", "pairs" or "rows".
    batches_of: ClassVar[str] = "queries"
    #: Whether the loss works with stacked weights (`fit_together`): it uses tensors only.
    stackable: ClassVar[bool] = True
    #: Whether a GPU may record and replay the loss: its batches also have few shapes.
    recordable: ClassVar[bool] = False
    #: Whether the weights after each epoch are stored, for rankers that choose among them.
    keep_epochs: ClassVar[bool] = False

    layers: Annotated[Sequence[int], WIDTHS] = (64, 32)
    activation: Annotated[str, Choice(*ACTIVATIONS)] = "tanh"
    n_epochs: Annotated[int, Integer(0)] = 30
    max_steps: Annotated[int | None, Optional(Integer(0))] = None
    batch_size: Annotated[int, Integer(1)] = 32
    learning_rate: Annotated[float, Number(0.0, open_low=True)] = 0.001
    momentum: Annotated[float, Number(0.0, 1.0, open_high=True)] = 0.9
    schedule: Annotated[str, Choice(*SCHEDULES)] = "constant"
    clip: Annotated[float | None, Optional(Number(0.0, open_low=True))] = None
    weight_decay: Annotated[float, Number(0.0)] = 0.0
    metric: Annotated[Any, METRIC] = "NDCG@10"
    device: Annotated[str, Choice("cpu", "cuda", "auto")] = "cpu"
    precision: Annotated[str, Choice("float32", "float64", "mixed")] = "float32"
    checkpoint: Annotated[Any, Optional(Instance(cast(type, str | os.PathLike), "a folder"))] = None
    n_jobs: Annotated[int | None, Optional(Integer())] = None

    # methods of a ranker

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        raise TypeError(f"{type(self).__name__} must define _loss; NeuralRanker is abstract")

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        """Return the columns that the loss reads besides ``x``: by default ``y``."""
        return {"y": np.asarray(data.y, dtype=self.dtype)}

    def _model(self, data: RankingData) -> Model:
        """Return the layers: by default ``layers``, then one output without a bias."""
        widths = (data.n_features, *self.layers)
        features = Layers("features", widths, self.activation, closed=True)
        return Model(features, Layers("output", (widths[-1], 1), bias=False))

    def _constants(self, model: Model, data: RankingData, seed: int) -> dict[str, np.ndarray]:
        """Return the arrays of the network that are not learned: by default the noise."""
        return model.constants(seed)

    def _batches(self, data: RankingData, rows: Rows, seed: int) -> Batches:
        """Return the batches of the kind ``batches_of``."""
        weight = np.ones(data.n_queries) if data.query_weight is None else data.query_weight
        if not weight.any():
            raise DataError("query_weight must be above 0 for at least one query, got only 0")
        weight = weight / weight.mean()
        if self.batches_of == "queries":
            return QueryBatches(rows, data.offsets, weight, self.batch_size, seed)
        if self.batches_of == "rows":
            return RowBatches(rows, weight[data.query_of_rows()], self.batch_size, seed)
        y = np.asarray(data.y, dtype=np.float64)
        return SampledPairs(rows, y, data.offsets, weight, self.batch_size, seed)

    # fitting

    def current_needs(self) -> frozenset[str]:
        """Add the needs of the metric if validation lists are taken from the training data."""
        return super().current_needs() | metric_needs(self.metric, self.validation)

    def _fit(self, data: RankingData) -> None:
        seed = self.seed()
        train_data, valid = held_out(data, self.validation, seed, type(self).__name__)
        if valid is None and self.early_stopping is not None:
            raise DataError(
                "validation must be a share of the queries or a RankingData if early_stopping is "
                "given, got None"
            )
        device = chosen_device(self.device, self.precision)
        with threads(self.n_jobs):
            self._train(self.problem(train_data, seed, device), valid, seed, device)

    def prepare(self, data: RankingData) -> RankingData:
        """Check parameters and data, store what describes them, and return the training data."""
        return self._begin(data)

    def problem(self, data: RankingData, seed: int, device: Any) -> Problem:
        """Return the minimisation problem of this data; the ranker itself does not change."""
        X, model = dense(data.X), self._model(data)
        mean, scale = statistics(X)
        columns = {"x": standardised(X, mean, scale, self.dtype), **self._columns(data)}
        rows = Rows(columns, device)
        constants = self._constants(model, data, seed)
        fixed = {name: rows.tensor(v.astype(self.dtype)) for name, v in constants.items()}
        batches = self._batches(data, rows, seed)
        return Problem(model, rows, batches, self._loss, fixed, (mean, scale))

    def _train(self, problem: Problem, valid: RankingData | None, seed: int, device: Any) -> None:
        torch = require("torch", "neural")
        if problem.batches.n_steps == 0:
            warnings.warn(
                f"no list has items of unequal relevance, so {type(self).__name__} learns nothing",
                EquirankWarning,
                stacklevel=4,
            )
        identity = self._identity(seed)
        state = None
        if self.checkpoint is not None:
            state = read_checkpoint(self.checkpoint, identity, device)
            self._check_ahead(state)
        if state is None:
            start = problem.start(seed).astype(self.dtype)
            state = begin(torch.as_tensor(start, device=device))
        hyper = {
            name: torch.tensor(float(getattr(self, name)), dtype=state.weights.dtype, device=device)
            for name in self.hyper
        }
        watch = (
            None
            if valid is None
            else Watch(problem, valid, one_metric(self.metric), self.early_stopping)
        )
        if watch is None or not watch.over(state.watched):
            train(
                state,
                problem.batches,
                lambda weights, batch: problem.value(weights, batch, hyper),
                self.plan(problem),
                watch=watch,
                store=self._store(identity),
                context=lambda: autocast(device, self.precision),
            )
        stopped = watch is not None and self.early_stopping is not None and bool(state.watched)
        self.finish(problem, state, stopped)

    def plan(self, problem: Problem) -> Plan:
        """Return the options of the training loop."""
        names = ("n_epochs", "max_steps", "schedule", "clip")
        return Plan(
            **{name: getattr(self, name) for name in names},
            learning_rate=float(self.learning_rate),
            weight_decay=float(self.weight_decay),
            momentum=float(self.momentum),
            sections=tuple(problem.model.sections()),
            opponent_rate=float(getattr(self, "adversary_rate", 1.0)),
            kept_epochs=self.keep_epochs,
            recorded=self.recordable,
        )

    def finish(self, problem: Problem, state: State, stopped: bool) -> None:
        """Store the weights and the learning curve of a run.

        The weights are the last ones, or the best ones if training stopped early.
        """
        self.model_ = problem.model
        self.weights_ = problem.named(state.best if stopped else state.weights)
        self.curve_ = {"loss": state.losses, "validation": state.watched}
        self.n_steps_ = state.step
        self.n_epochs_ = state.epoch
        if self.keep_epochs:
            self._choose([problem.named(kept) for kept in state.kept.values()])

    def _choose(self, epochs: list[dict[str, np.ndarray]]) -> None:
        """Receive the weights after each epoch if ``keep_epochs`` is true."""

    def seed(self) -> int:
        """Return the seed of this fit: that of the checkpoint, if there is one."""
        if self.checkpoint is not None and self.random_state is None:
            stored = stored_seed(self.checkpoint)
            if stored is not None:
                return stored
        return as_seed(self.random_state)

    def _identity(self, seed: int) -> dict[str, Any]:
        """Return what identifies the run of a checkpoint; a longer run is still the same run."""
        params = self.get_params(deep=False)
        left_out = {"checkpoint", "random_state", "max_steps", "n_jobs"}
        left_out |= {"n_epochs"} if self.schedule == "constant" else set()
        identity = {k: repr(v) for k, v in params.items() if k not in left_out}
        if isinstance(self.validation, RankingData):
            identity["validation"] = self.validation.fingerprint()
        own = {"class": type(self).__name__, "data": self.data_fingerprint_, "seed": seed}
        return identity | own

    def _check_ahead(self, state: State | None) -> None:
        """Raise `DataError` if the checkpoint is past the end of this run."""
        if state is None:
            return
        for name, done in (("n_epochs", state.epoch), ("max_steps", state.step)):
            asked = getattr(self, name)
            if asked is not None and asked < done:
                raise DataError(
                    f"{name} must be at least {done} to continue the run in checkpoint, got {asked}"
                )

    def _store(self, identity: dict[str, Any]) -> Any:
        if self.checkpoint is None:
            return None
        return lambda state: write_checkpoint(self.checkpoint, state, identity)

    @property
    def dtype(self) -> Any:
        """Type of the training arrays."""
        return np.float64 if self.precision == "float64" else np.float32

    # prediction

    def _scores(self, data: RankingData) -> np.ndarray:
        return run_rows(self.model_, self.weights_, data.X, Net.score)

    @property
    def learning_curve_(self) -> Table:
        """Mean loss of each epoch and the metric of the validation lists, if there are any."""
        count = len(self.curve_["loss"])
        columns = {name: np.array(values) for name, values in self.curve_.items() if values}
        return Table({"epoch": np.arange(1, count + 1), **columns}, None)

    def export_onnx(self, path: Any) -> None:
        """Write the scorer as an ONNX file: float32 ``X`` (rows x features) to ``score`` (rows).

        Standardisation is part of the graph. Scores agree with `predict` to about 1e-5 of their
        size: the graph computes in single precision.
        """
        check_is_fitted(self)
        write_onnx(path, self.model_, self.weights_)

    # files

    def _save_files(self, folder: Path) -> None:
        safetensors = require("safetensors.numpy", "neural")
        plain = {name: np.ascontiguousarray(v) for name, v in self.weights_.items()}
        safetensors.save_file(plain, folder / "weights.safetensors")
        text = json.dumps(asdict(self.model_), indent=1)
        (folder / "network.json").write_text(text + "\n", encoding="utf-8")

    def _load_files(self, files: SavedFiles) -> None:
        self.model_ = Model.read(files.read_json("network.json"))
        self.weights_ = read_weights(files, "weights.safetensors", self.model_)


class HiddenRepresentation(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    NeuralRanker,
):
    """A neural ranker that is also a transformer: its hidden layers serve other models.

    ``transform`` returns the output of the last hidden layer; without hidden layers it is the
    standardised features.
    """

    def transform(self, X: Any) -> np.ndarray:
        """Return the learned representation f(x), one row per item in input order."""
        data = self._prediction_data(X, None, None, None)
        return data.to_original(run_rows(self.model_, self.weights_, data.X, Net.features))

    @property
    def _n_features_out(self) -> int:
        return self.model_.features.widths[-1]


class RepresentationRanker(HiddenRepresentation):
    """A neural ranker whose representation hides groups from an adversary.

    Parameters
    ----------
    layers : sequence of int
        Widths of f; the last is the size of the representation.
    noise : bool
        Whether inputs pass ``a * w1 + eta * w2`` first, elementwise, with learned w1 and w2 and a
        standard normal ``eta`` that is drawn once and stored with the model.
    by : str or tuple of str, optional
        The attribute to hide, or several crossed; None hides every given attribute.
    adversary_layers : sequence of int
        Widths of the hidden layers of the adversaries.
    adversary_rate : float
        Learning rate of the adversaries as a multiple of ``learning_rate``. The representation
        hides groups only if the adversaries learn faster than it changes.
    batch_size : int
        Number of pairs or rows per step.
    momentum : float
        Adam's first decay; a low one suits adversarial games.
    """

    test_params: ClassVar[dict[str, Any]] = {
        "layers": (8, 4),
        "n_epochs": 3,
        "batch_size": 32,
        "learning_rate": 0.01,
        "random_state": 0,
    }

    layers = (64, 8)
    momentum = 0.5
    batch_size = 128
    learning_rate = 0.003
    noise: Annotated[bool, Flag()] = False
    by: Annotated[Any, Optional(Label(many=True))] = None
    adversary_layers: Annotated[Sequence[int], WIDTHS] = (16,)
    adversary_rate: Annotated[float, Number(0.0, open_low=True)] = 10.0
