"""NeuralRanker: what all neural rankers share, from parameters to saving; each adds its loss."""

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError, EquirankWarning, FormatError
from ...core.metric import Metric
from ...core.params import AnyOf, Choice, Constraint, Instance, Integer, Number, Optional
from ...core.random import as_seed
from ...core.ranker import Ranker
from ...core.table import Table
from ..early_stopping import held_out, one_metric
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
from .model_files import read_checkpoint, stored_seed, write_checkpoint, write_onnx
from .network import ACTIVATIONS, Layers, Model, Net, autocast, chosen_device, threads
from .training_loop import SCHEDULES, Batches, Plan, Problem, State, Watch, begin, train

__all__ = ["COMMON", "NeuralRanker", "RepresentationRanker", "Widths", "run_rows"]


@dataclass(frozen=True)
class Widths:
    """Widths of layers: a tuple or list of integers >= 1, also an empty one."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is such a sequence."""
        return isinstance(value, (tuple, list)) and all(Integer(1).accepts(w) for w in value)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a tuple or list of integers >= 1"


#: Parameters that every neural ranker shares, and what each may be.
COMMON: dict[str, Constraint] = {
    "layers": Widths(),
    "activation": Choice(*ACTIVATIONS),
    "n_epochs": Integer(0),
    "max_steps": Optional(Integer(0)),
    "batch_size": Integer(1),
    "learning_rate": Number(0.0, open_low=True),
    "schedule": Choice(*SCHEDULES),
    "clip": Optional(Number(0.0, open_low=True)),
    "weight_decay": Number(0.0),
    "early_stopping": Optional(Integer(1)),
    "validation": AnyOf(
        Number(0.0, 1.0, open_low=True, open_high=True),
        Optional(Instance(RankingData, "a RankingData")),
    ),
    "metric": AnyOf(Instance(str, "a metric's name"), Instance(Metric, "a metric")),
    "device": Choice("cpu", "cuda", "auto"),
    "precision": Choice("float32", "float64", "mixed"),
    "checkpoint": Optional(Instance(cast(type, str | os.PathLike), "a folder")),
    "n_jobs": Optional(Integer()),
}


class NeuralRanker(Ranker):
    """Base of the neural rankers: a network that scores rows, trained by one loop.

    A ranker writes ``_loss(net, batch, hyper)``, a pure function of tensors: ``net`` scores rows
    (`Net`), ``batch`` holds tensors by name (`QueryBatches`, or `SampledPairs` where ``batches_of``
    is ``"pairs"``), and ``hyper`` its own numbers, those of the parameters it names in ``hyper``.
    It reads such numbers from there only, and changes nothing in place: configurations of one shape
    are trained together by `torch.func.vmap` over stacked weights and numbers, starting from what
    ``problem(data, seed, device)`` gives (see `Problem`).
    Further columns of the rows come from ``_columns(data)``, other layers from ``_model(data)``.

    Features are standardised with the training data's means and deviations. Training is seeded, and
    on a CPU repeats to the bit for the same number of threads; PyTorch's own seed and settings are
    not touched. Scores are computed in double precision without PyTorch, so a model that was
    trained on a GPU is the same everywhere. Sparse features and missing values are refused.
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"query_weight"})
    params: ClassVar[Mapping[str, Constraint]] = COMMON
    file_attributes: ClassVar[tuple[str, ...]] = ("model_", "weights_")
    file_params: ClassVar[tuple[str, ...]] = ("checkpoint",)
    #: Parameters that enter the loss as tensors.
    hyper: ClassVar[tuple[str, ...]] = ()
    #: Adam's first decay; against opponents a lower one keeps the game from circling.
    momentum: ClassVar[float] = 0.9
    #: What a batch holds: "queries", "pairs" or "rows".
    batches_of: ClassVar[str] = "queries"
    #: Whether the loss may run over stacked weights (`fit_together`): it uses tensors only.
    stackable: ClassVar[bool] = True
    #: Whether a GPU may record the loss and replay it: batches have few shapes, too.
    recordable: ClassVar[bool] = False
    #: Whether the weights after each epoch are kept, for rankers that choose among them.
    keep_epochs: ClassVar[bool] = False

    def __init__(
        self,
        *,
        layers: Sequence[int] = (64, 32),
        activation: str = "tanh",
        n_epochs: int = 30,
        max_steps: int | None = None,
        batch_size: int = 32,
        learning_rate: float = 0.001,
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
        self.layers = layers
        self.activation = activation
        self.n_epochs = n_epochs
        self.max_steps = max_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.schedule = schedule
        self.clip = clip
        self.weight_decay = weight_decay
        self.early_stopping = early_stopping
        self.validation = validation
        self.metric = metric
        self.device = device
        self.precision = precision
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state

    # what a ranker writes

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        raise TypeError(f"{type(self).__name__} must define _loss; NeuralRanker is abstract")

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        """Return what a loss reads of each row, beside ``x``: by default ``y``."""
        return {"y": np.asarray(data.y, dtype=self._dtype)}

    def _model(self, data: RankingData) -> Model:
        """Return the layers: by default ``layers``, then one output without a bias."""
        widths = (data.n_features, *self.layers)
        features = Layers("features", widths, self.activation, closed=True)
        return Model(features, Layers("output", (widths[-1], 1), bias=False))

    def _constants(self, model: Model, data: RankingData, seed: int) -> dict[str, np.ndarray]:
        """Return what belongs to the network and is not learned: by default the noise."""
        return model.constants(seed)

    def _batches(self, data: RankingData, rows: Rows, seed: int) -> Batches:
        """Return what an epoch goes through, as ``batches_of`` says."""
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

    def _needs(self) -> frozenset[str]:
        """Add what the metric needs, where validation data is taken from the training data."""
        needs = super()._needs()
        if self.validation is None or isinstance(self.validation, RankingData):
            return needs
        wanted = one_metric(self.metric).needs
        return needs | ({"sensitive_features"} if "sensitive" in wanted else frozenset())

    def _fit(self, data: RankingData) -> None:
        seed = self._seed()
        train_data, watched = held_out(data, self.validation, seed, type(self).__name__)
        if watched is None and self.early_stopping is not None:
            raise DataError(
                "validation must be a share of the queries or a RankingData where early_stopping "
                "is given, got None"
            )
        device = chosen_device(self.device, self.precision)
        with threads(self.n_jobs):
            self._train(self.problem(train_data, seed, device), watched, seed, device)

    def problem(self, data: RankingData, seed: int, device: Any) -> Problem:
        """Return what is minimised on this data; the ranker itself is left as it is."""
        X, model = dense(data.X), self._model(data)
        mean, scale = statistics(X)
        columns = {"x": standardised(X, mean, scale, self._dtype), **self._columns(data)}
        rows = Rows(columns, device)
        constants = self._constants(model, data, seed)
        fixed = {name: rows.tensor(v.astype(self._dtype)) for name, v in constants.items()}
        batches = self._batches(data, rows, seed)
        return Problem(model, rows, batches, self._loss, fixed, (mean, scale))

    def _train(self, problem: Problem, watched: RankingData | None, seed: int, device: Any) -> None:
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
            start = problem.start(seed).astype(self._dtype)
            state = begin(torch.as_tensor(start, device=device))
        hyper = {
            name: torch.tensor(float(getattr(self, name)), dtype=state.weights.dtype, device=device)
            for name in self.hyper
        }
        watch = (
            None
            if watched is None
            else Watch(problem, watched, one_metric(self.metric), self.early_stopping)
        )
        if watch is None or not watch.over(state.watched):
            train(
                state,
                problem.batches,
                lambda weights, batch: problem.value(weights, batch, hyper),
                self._plan(problem),
                watch=watch,
                store=self._store(identity),
                context=lambda: autocast(device, self.precision),
            )
        stopped = watch is not None and self.early_stopping is not None and bool(state.watched)
        self._keep(problem, state, stopped)

    def _plan(self, problem: Problem) -> Plan:
        names = ("n_epochs", "max_steps", "schedule", "clip")
        return Plan(
            **{name: getattr(self, name) for name in names},
            learning_rate=float(self.learning_rate),
            weight_decay=float(self.weight_decay),
            momentum=self.momentum,
            sections=tuple(problem.model.sections()),
            opponent_rate=float(getattr(self, "adversary_rate", 1.0)),
            kept_epochs=self.keep_epochs,
            recorded=self.recordable,
        )

    def _keep(self, problem: Problem, state: State, stopped: bool) -> None:
        """Keep the last weights, or the best ones where training may stop early."""
        self.model_ = problem.model
        self.weights_ = problem.named(state.best if stopped else state.weights)
        self.curve_ = {"loss": state.losses, "validation": state.watched}
        self.n_steps_ = state.step
        self.n_epochs_ = state.epoch
        if self.keep_epochs:
            self._choose([problem.named(kept) for kept in state.kept.values()])

    def _choose(self, epochs: list[dict[str, np.ndarray]]) -> None:
        """Use the weights after each epoch, where ``keep_epochs`` says so."""

    def _seed(self) -> int:
        if self.checkpoint is not None and self.random_state is None:
            stored = stored_seed(self.checkpoint)
            if stored is not None:
                return stored
        return as_seed(self.random_state)

    def _identity(self, seed: int) -> dict[str, Any]:
        """Say whose run a checkpoint is; more epochs may be asked of the same run."""
        params = self.get_params(deep=False)
        left_out = {"checkpoint", "random_state", "max_steps", "n_jobs"}
        left_out |= {"n_epochs"} if self.schedule == "constant" else set()
        identity = {k: repr(v) for k, v in params.items() if k not in left_out}
        if isinstance(self.validation, RankingData):
            identity["validation"] = self.validation.fingerprint()
        own = {"class": type(self).__name__, "data": self.data_fingerprint_, "seed": seed}
        return identity | own

    def _check_ahead(self, state: State | None) -> None:
        """Refuse a checkpoint that is past the end of this run."""
        if state is None:
            return
        for name, done in (("n_epochs", state.epoch), ("max_steps", state.step)):
            asked = getattr(self, name)
            if asked is not None and asked < done:
                raise DataError(
                    f"{name} must be at least {done} to go on from the run in checkpoint, "
                    f"got {asked}"
                )

    def _store(self, identity: dict[str, Any]) -> Any:
        if self.checkpoint is None:
            return None
        return lambda state: write_checkpoint(self.checkpoint, state, identity)

    @property
    def _dtype(self) -> Any:
        return np.float64 if self.precision == "float64" else np.float32

    # using

    def _scores(self, data: RankingData) -> np.ndarray:
        return run_rows(self.model_, self.weights_, data.X, Net.score)

    @property
    def learning_curve_(self) -> Table:
        """The mean loss of each epoch and, where there is validation data, its metric."""
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

    # saving

    def _save_files(self, folder: Path) -> None:
        safetensors = require("safetensors.numpy", "neural")
        plain = {name: np.ascontiguousarray(v) for name, v in self.weights_.items()}
        safetensors.save_file(plain, folder / "weights.safetensors")
        text = json.dumps(asdict(self.model_), indent=1)
        (folder / "network.json").write_text(text + "\n", encoding="utf-8")

    def _load_files(self, folder: Path) -> None:
        numpy, path = require("safetensors.numpy", "neural"), folder / "weights.safetensors"
        try:
            self.weights_ = numpy.load_file(path)
        except require("safetensors", "neural").SafetensorError as error:
            raise FormatError(f"{str(path)!r} is damaged: {error}") from None
        self.model_ = Model.read(json.loads((folder / "network.json").read_text("utf-8")))


class RepresentationRanker(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    NeuralRanker,
):
    """A neural ranker that is a transformer too: its representation serves other models."""

    momentum: ClassVar[float] = 0.5

    def transform(self, X: Any) -> np.ndarray:
        """Return the learned representation f(x), one row per item in the caller's row order."""
        data = self._prediction_data(X, None, None, None)
        return data.to_original(run_rows(self.model_, self.weights_, data.X, Net.features))

    @property
    def _n_features_out(self) -> int:
        return self.model_.features.widths[-1]
