"""Networks as lists of steps over named weights, for training, prediction and export; devices."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from ...core.environment import require
from ...core.errors import DataError
from ...core.random import generator

__all__ = [
    "ACTIVATIONS",
    "Layers",
    "Model",
    "Net",
    "autocast",
    "chosen_device",
    "softmax",
    "threads",
]


#: Names of the activations.
ACTIVATIONS = ("tanh", "relu", "sigmoid")


@dataclass(frozen=True)
class Layers:
    """Sequence of dense layers, with the names of their weights.

    Attributes
    ----------
    name : str
        Weights are named ``<name>.<layer>.weight`` (outputs x inputs) and ``<name>.<layer>.bias``.
    widths : tuple of int
        From the inputs to the outputs; a single width is the identity.
    activation : str
        Activation after every layer, after the last one only if ``closed``.
    closed : bool
        Whether the last layer has an activation.
    bias : bool
        Whether the last layer has a bias; the others always do.
    noise : bool
        Whether the inputs pass ``a * w1 + eta * w2`` first, with a constant ``eta``.
    """

    name: str
    widths: tuple[int, ...]
    activation: str = "tanh"
    closed: bool = False
    bias: bool = True
    noise: bool = False

    def steps(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the steps from input to output: an operation and the names of its weights."""
        if self.noise:
            yield "noise", (f"{self.name}.noise.w1", f"{self.name}.noise.w2", f"{self.name}.eta")
        last = len(self.widths) - 2
        for at in range(last + 1):
            names = (f"{self.name}.{at}.weight", f"{self.name}.{at}.bias")
            yield "linear", names if at < last or self.bias else names[:1]
            if at < last or self.closed:
                yield self.activation, ()

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each learned weight."""
        first = self.widths[0]
        found: dict[str, tuple[int, ...]] = {}
        if self.noise:
            found = {f"{self.name}.noise.{name}": (first,) for name in ("w1", "w2")}
        for at, (before, after) in enumerate(pairwise(self.widths)):
            found[f"{self.name}.{at}.weight"] = (after, before)
            if at < len(self.widths) - 2 or self.bias:
                found[f"{self.name}.{at}.bias"] = (after,)
        return found

    def __call__(self, weights: Mapping[str, Any], x: Any) -> Any:
        """Apply the steps, to NumPy arrays or to tensors like the weights."""
        for kind, names in self.steps():
            x = _run(kind, x, [weights[name] for name in names])
        return x


@dataclass(frozen=True)
class Model:
    """All layers of a ranker: ``features``, then ``output``, then ``opponents``.

    ``opponents`` are the layers of adversaries: scores do not need them, and their gradients are
    clipped separately, so that an adversary of weight 0 changes nothing. With ``classes`` the
    outputs are logits, and the score is the expectation of the constant ``output.values`` under
    their softmax.
    """

    features: Layers
    output: Layers
    opponents: tuple[Layers, ...] = ()
    classes: bool = False

    @property
    def parts(self) -> tuple[Layers, ...]:
        """All layers, opponents last."""
        return (self.features, self.output, *self.opponents)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "Model":
        """Return the model of a dictionary from `dataclasses.asdict`, also after JSON."""

        def layers(values: Mapping[str, Any]) -> Layers:
            return Layers(**{**values, "widths": tuple(values["widths"])})

        opponents = tuple(layers(part) for part in stored["opponents"])
        features, output = layers(stored["features"]), layers(stored["output"])
        return cls(features, output, opponents, stored["classes"])

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each learned weight, opponents last."""
        return {name: shape for part in self.parts for name, shape in part.shapes().items()}

    def sections(self) -> list[int]:
        """Return the number of weights of the ranker and, if there are any, of its opponents."""
        sizes = [
            sum(int(np.prod(shape)) for part in side for shape in part.shapes().values())
            for side in ((self.features, self.output), self.opponents)
        ]
        return sizes if sizes[1] else sizes[:1]

    def initial(self, seed: int) -> dict[str, np.ndarray]:
        """Draw the initial weights; each has its own random stream."""
        activation = {part.name: part.activation for part in self.parts}
        found = {}
        for at, (name, shape) in enumerate(self.shapes().items()):
            if name.endswith("weight"):
                gain = 2.0 if activation[name.rsplit(".", 2)[0]] == "relu" else 1.0
                reach = np.sqrt(6.0 * gain / sum(shape))
                found[name] = generator(seed, 0, at).uniform(-reach, reach, shape)
            else:
                found[name] = np.full(shape, 1.0 if ".noise." in name else 0.0)
        return found

    def constants(self, seed: int) -> dict[str, np.ndarray]:
        """Draw the constants of training: the noise that conditions the inputs."""
        if not self.features.noise:
            return {}
        draw = generator(seed, 2).standard_normal(self.features.widths[0])
        return {f"{self.features.name}.eta": draw}


class Net:
    """A model with its weights, as losses use it."""

    def __init__(self, model: Model, weights: Mapping[str, Any]) -> None:
        self.model, self.weights = model, weights
        self._parts = {part.name: part for part in model.parts}

    def features(self, x: Any) -> Any:
        """Return the representation of rows (any leading shape, features last)."""
        return self.model.features(self.weights, x)

    def output(self, features: Any) -> Any:
        """Return the output for representations: a single column, or the logits of classes."""
        if (
            str(getattr(features, "dtype", "")) == "torch.bfloat16"
        ):  # differences need higher precision
            torch = require("torch", "neural")
            with torch.autocast(features.device.type, enabled=False):
                found = self.model.output(self.weights, features.float())
        else:
            found = self.model.output(self.weights, features)
        return found if self.model.classes else found[..., 0]

    def score(self, x: Any) -> Any:
        """Score rows."""
        found = self.output(self.features(x))
        if not self.model.classes:
            return found
        return softmax(found) @ self.weights["output.values"]

    def part(self, name: str, x: Any) -> Any:
        """Apply further layers by name, such as those of an adversary."""
        return self._parts[name](self.weights, x)


def softmax(logits: Any) -> Any:
    """Return the probabilities of logits along the last axis."""
    if not isinstance(logits, np.ndarray):
        return logits.softmax(dim=-1)
    power = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


def _run(kind: str, x: Any, weights: list[Any]) -> Any:
    if kind == "noise":
        return x * weights[0] + weights[2] * weights[1]
    if isinstance(x, np.ndarray):
        return _run_numpy(kind, x, weights)
    torch = require("torch", "neural")
    if kind == "linear":
        return torch.nn.functional.linear(x, *weights)
    return getattr(torch, kind)(x)


def _run_numpy(kind: str, x: np.ndarray, weights: list[Any]) -> np.ndarray:
    if kind == "linear":
        x = x @ weights[0].T
        return x + weights[1] if len(weights) > 1 else x
    if kind == "relu":
        return np.maximum(x, 0.0)
    if kind == "sigmoid":
        return 0.5 + 0.5 * np.tanh(0.5 * x)
    return np.tanh(x)


def chosen_device(device: str, precision: str) -> Any:
    """Return the device of this name; only ``"auto"`` chooses one.

    Examples
    --------
    >>> chosen_device("cpu", "mixed")
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: precision must be 'float32' or 'float64' on a CPU, got 'mixed'
    """
    torch = require("torch", "neural")
    available = bool(torch.cuda.is_available())
    if device == "cuda" and not available:
        raise DataError(
            "device must be 'cpu' or 'auto' here, got 'cuda': PyTorch finds no CUDA GPU"
        )
    name = ("cuda" if available else "cpu") if device == "auto" else device
    if name == "cpu" and precision == "mixed":
        raise DataError("precision must be 'float32' or 'float64' on a CPU, got 'mixed'")
    return torch.device(name)


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Set the number of threads of PyTorch, and restore it afterwards."""
    torch = require("torch", "neural")
    before = torch.get_num_threads()
    torch.set_num_threads(effective_n_jobs(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def autocast(device: Any, precision: str) -> AbstractContextManager[Any]:
    """Return the context of mixed precision, in which matrix products use bfloat16."""
    if precision != "mixed":
        return nullcontext()
    torch = require("torch", "neural")
    found: AbstractContextManager[Any] = torch.autocast(device.type, dtype=torch.bfloat16)
    return found
