"""Loss and gradient of a batch: computed as they stand, or recorded on a GPU and replayed."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from ...core.extras import require

__all__ = ["Computed", "Recorded", "without_lost"]

#: Shapes of batches that are recorded at most; each holds memory of its own.
MOST = 8


def without_lost(loss: Any) -> Any:
    """Count the losses of stacked configurations that are not finite as 0: the others go on."""
    return loss.nan_to_num(0.0, 0.0, 0.0) if loss.ndim else loss


class Computed:
    """The loss of a batch and its gradient by the weights, 0 for whoever of a stack is lost."""

    def __init__(
        self,
        value: Callable[[Any, dict[str, Any]], Any],
        context: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        self.value, self.context = value, context

    def __call__(self, weights: Any, batch: dict[str, Any]) -> tuple[Any, Any]:
        """Give both; the loss without its history."""
        weights = weights.detach().requires_grad_(True)
        with self.context():
            loss = self.value(weights, batch)
        (gradient,) = require("torch", "neural").autograd.grad(without_lost(loss).sum(), weights)
        return loss.detach(), gradient


class Recorded:
    """The same on a GPU, for losses that are tensor operations alone.

    A small network is done before the CPU has named its next operation. The second batch of a shape
    is therefore recorded as a CUDA graph and later ones are replayed: one call for all operations.
    What is given back is overwritten by the next call.
    """

    def __init__(self, plain: Computed) -> None:
        self.plain = plain
        self.known: dict[tuple[Any, ...], Any] = {}

    def __call__(self, weights: Any, batch: dict[str, Any]) -> tuple[Any, Any]:
        """Give both, by replay where the shape was met before."""
        shape = tuple((name, *values.shape) for name, values in batch.items())
        if shape not in self.known:
            if len(self.known) < MOST:
                self.known[shape] = None  # the first time libraries set themselves up
            return self.plain(weights, batch)
        if self.known[shape] is None:
            self.known[shape] = self._record(weights, batch)
        graph, at, held, found = self.known[shape]
        at.copy_(weights)
        for name, values in batch.items():
            held[name].copy_(values)
        graph.replay()
        return found

    def _record(self, weights: Any, batch: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
        torch = require("torch", "neural")
        at = weights.detach().clone()
        held = {name: values.clone() for name, values in batch.items()}
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = self.plain(at, held)
        return graph, at, held, found
