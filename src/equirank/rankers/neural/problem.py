"""A training problem: a model, its loss and its batches, as functions of one vector of weights."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from .network import Model, Net
from .rows import Rows

__all__ = ["Batches", "Problem"]


class Batches(Protocol):
    """Where batches come from; an epoch's depend on its number alone."""

    @property
    def n_steps(self) -> int:
        """Steps of an epoch."""

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Go through an epoch's batches: tensors by name."""


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised: ``value(weights, batch, hyper)``, a pure function of tensors.

    All weights are one vector, so that an optimiser is a few operations and a state is a few
    vectors. To train configurations of one shape together, stack their vectors to (configuration x
    weight) and their numbers to ``hyper`` of (configuration), and run
    ``torch.func.vmap(problem.value, in_dims=(0, None, 0))``: the gradient of the sum is each
    configuration's gradient, and `train` and its Adam take weights of that shape as they are
    (tests/rankers/neural/test_problem.py does it). ``Plan.kept_steps`` keeps the weights after the
    steps it names, ``named`` turns any vector into what `run_rows` scores and transforms with.

    Attributes
    ----------
    model : Model
        The layers.
    rows : Rows
        The training rows on the device.
    batches : Batches
        What an epoch goes through.
    loss : callable
        ``loss(net, batch, hyper)`` gives a scalar tensor.
    constants : dict of str to tensor
        What belongs to the network and is not learned.
    statistics : pair of ndarray
        Means and deviations the features were standardised with.
    """

    model: Model
    rows: Rows
    batches: Batches
    loss: Callable[[Net, dict[str, Any], dict[str, Any]], Any]
    constants: Mapping[str, Any]
    statistics: tuple[np.ndarray, np.ndarray]

    def value(self, weights: Any, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        """Give the loss of a batch at a vector of weights."""
        return self.loss(self.net(weights), batch, hyper)

    def net(self, weights: Any) -> Net:
        """Give the network with these weights."""
        return Net(self.model, {**self.unpack(weights), **self.constants})

    def start(self, seed: int) -> np.ndarray:
        """Draw the vector to begin with."""
        drawn = self.model.initial(seed)
        return np.concatenate([values.ravel() for values in drawn.values()])

    def unpack(self, weights: Any) -> dict[str, Any]:
        """Cut the vector (a tensor or an array) into weights by name."""
        names, shapes, sizes = self._cut
        if isinstance(weights, np.ndarray):
            pieces = np.split(weights, np.cumsum(sizes)[:-1])
        else:
            pieces = weights.split(sizes)
        return {
            name: piece.reshape(shape)
            for name, shape, piece in zip(names, shapes, pieces, strict=True)
        }

    @cached_property
    def _cut(self) -> tuple[list[str], list[tuple[int, ...]], list[int]]:
        """Names, shapes and sizes of the weights, in the vector's order."""
        shapes = self.model.shapes()
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        return list(shapes), list(shapes.values()), sizes

    def named(self, weights: Any) -> dict[str, np.ndarray]:
        """Give a vector's weights by name as arrays, with everything else that scoring needs."""
        plain = self.unpack(weights.detach().cpu().numpy())
        fixed = {name: values.cpu().numpy() for name, values in self.constants.items()}
        found = dict(zip(("input.mean", "input.scale"), self.statistics, strict=True))
        return found | {name: np.array(values) for name, values in (plain | fixed).items()}
