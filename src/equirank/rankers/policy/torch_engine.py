"""TorchEngine: training of linear and neural policies with PyTorch, in padded batches of lists."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.random import generator
from ...kernels.policy_gradient import GROUP, INDIVIDUAL
from ..neural.batches import list_slots
from .rewards import Rewards

__all__ = ["TorchEngine", "padded_gradient"]


#: Smallest strength relative to the largest of the list, so that sums are never 0.
MIN_STRENGTH = 1e-30


class TorchEngine:
    """Trains a linear scorer or a network by policy gradients and Adam, on any device.

    Lists are shuffled once, so that a batch is a slice of the features; each epoch visits the
    batches in a new order.
    """

    def __init__(self, data: RankingData, reward: Rewards, settings: dict[str, Any]) -> None:
        self.torch = torch = require("torch", "neural")
        self.settings, self.reward = settings, reward
        self.device = torch.device(settings["device"])
        rng = generator(settings["seed"], 0)
        lists = rng.permutation(data.n_queries)
        sizes = np.diff(data.offsets)[lists]
        self.lists, self.offsets = lists, np.concatenate([[0], np.cumsum(sizes)])
        rows = np.repeat(data.offsets[:-1][lists] - self.offsets[:-1], sizes)
        rows = rows + np.arange(len(rows))
        self.X = self._tensor(np.asarray(data.X, dtype=np.float32)[rows])
        names = ("gain", "merit", "stop")
        columns = {name: getattr(reward, name) for name in names}
        self.columns: dict[str, Any] = {
            name: self._tensor(values[rows].astype(np.float32)) if len(values) else None
            for name, values in columns.items()
        }
        self.group = self._tensor(reward.group[rows].astype(np.int64))
        self.theta = self._tensor(reward.theta.astype(np.float32))
        self.attention = self._tensor(reward.attention.astype(np.float32))
        weight = np.ones(data.n_queries) if data.query_weight is None else data.query_weight
        self.query_weight = self._tensor(np.asarray(weight, dtype=np.float32)[lists])
        self.random = torch.Generator(self.device)
        self.random.manual_seed(int(settings["seed"]) & 0x7FFFFFFF)
        self.model = self._model(rng)
        self.optimiser = torch.optim.Adam(
            self.model.parameters(),
            lr=settings["learning_rate"],
            capturable=self.device.type == "cuda",
        )
        self.facts = np.zeros((data.n_queries, 3))
        self.batches: dict[int, _Batch] = {}
        self.recorded: dict[int, Any] = {}

    def epoch(self, number: int) -> Iterator[int]:
        """Process all batches once in random order; yield the number of lists of each."""
        size = self.settings["batch_size"]
        starts = np.arange(0, len(self.lists), size)
        results = []
        for begin in generator(self.settings["seed"], 1, number).permutation(starts):
            end = min(int(begin) + size, len(self.lists))
            results.append((int(begin), end, self._step(int(begin), end)))
            yield end - int(begin)
        for begin, end, facts in results:  # once per epoch, so that a GPU need not synchronise
            self.facts[self.lists[begin:end]] = facts.cpu().numpy()

    def scores(self, X: np.ndarray) -> np.ndarray:
        """Score rows."""
        with self.torch.no_grad():
            rows = self._tensor(np.asarray(X, dtype=np.float32))
            return np.asarray(self.model(rows)[:, 0].cpu().numpy(), dtype=np.float64)

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the model's weights as plain arrays."""
        state = self.model.state_dict()
        return {name: value.cpu().numpy().astype(np.float64) for name, value in state.items()}

    def _tensor(self, values: np.ndarray) -> Any:
        plain = np.ascontiguousarray(values)
        if not plain.flags.writeable:
            plain = plain.copy()  # PyTorch shares the memory and requires write access
        return self.torch.as_tensor(plain, device=self.device)

    def _model(self, rng: np.random.Generator) -> Any:
        nn = self.torch.nn
        widths = [self.X.shape[1], *(self.settings["layers"] if self.settings["mlp"] else ())]
        parts: list[Any] = []
        for before, after in pairwise(widths):
            parts += [nn.Linear(before, after), nn.Tanh()]
        parts.append(nn.Linear(widths[-1], 1, bias=False))
        model = nn.Sequential(*parts)
        with self.torch.no_grad():
            for layer in model:
                if isinstance(layer, nn.Linear):
                    last = layer is model[-1]
                    reach = 1e-3 if last else float(np.sqrt(6.0 / sum(layer.weight.shape)))
                    start = rng.uniform(-reach, reach, tuple(layer.weight.shape))
                    layer.weight.copy_(self.torch.as_tensor(start.astype(np.float32)))
                    if layer.bias is not None:
                        layer.bias.zero_()
        return model.to(self.device)

    def _batch(self, begin: int, end: int) -> "_Batch":
        """Return the padded batch of these lists, made once for all epochs."""
        if begin not in self.batches:
            torch = self.torch
            first, last = int(self.offsets[begin]), int(self.offsets[end])
            numbers, longest = list_slots(np.diff(self.offsets[begin : end + 1]))
            slot = self._tensor(numbers)

            def pad(values: Any) -> Any:
                table = torch.zeros((end - begin) * longest, dtype=values.dtype, device=self.device)
                table[slot] = values
                return table.view(end - begin, longest)

            real = pad(torch.ones(last - first, dtype=torch.bool, device=self.device))
            columns = {
                name: None if values is None else pad(values[first:last])
                for name, values in self.columns.items()
            }
            group = pad(self.group[first:last])
            self.batches[begin] = _Batch(slice(first, last), longest, slot, real, columns, group)
        return self.batches[begin]

    def _step(self, begin: int, end: int) -> Any:
        """Take one step; on a GPU the second step of a batch is recorded, and then replayed."""
        if self.device.type != "cuda":
            return self._ascend(begin, end)
        if begin not in self.recorded:
            self.recorded[begin] = None
            return self._ascend(begin, end)
        if self.recorded[begin] is None:
            self.recorded[begin] = self._record(begin, end)
        graph, facts = self.recorded[begin]
        graph.replay()
        return facts.clone()

    def _record(self, begin: int, end: int) -> tuple[Any, Any]:
        torch = self.torch
        self.optimiser.zero_grad(set_to_none=True)
        graph = torch.cuda.CUDAGraph()
        graph.register_generator_state(self.random)
        with torch.cuda.graph(graph):
            facts = self._ascend(begin, end)
        return graph, facts

    def _ascend(self, begin: int, end: int) -> Any:
        torch, batch = self.torch, self._batch(begin, end)
        score = self.model(self.X[batch.rows])[:, 0]
        with torch.no_grad():
            table = torch.full_like(batch.real, -torch.inf, dtype=score.dtype)
            table.view(-1)[batch.slot] = score
            grad, facts = padded_gradient(
                table,
                batch.real,
                batch.columns["gain"],
                batch.columns["stop"],
                batch.columns["merit"],
                batch.group,
                self.theta[: batch.longest],
                self.attention[: batch.longest],
                self.reward,
                self.settings,
                self.random,
            )
            grad = grad * (self.query_weight[begin:end, None] / (end - begin))
        self.optimiser.zero_grad(set_to_none=True)
        score.backward(-grad.view(-1)[batch.slot])
        self.optimiser.step()
        return facts


@dataclass(frozen=True, eq=False)
class _Batch:
    """Lists of a batch: their rows, the slot of each row in the padded table, and its columns."""

    rows: slice
    longest: int
    slot: Any
    real: Any
    columns: dict[str, Any]
    group: Any


def padded_gradient(
    score: Any, real: Any, gain: Any, stop: Any, merit: Any, group: Any, theta: Any,
    attention: Any, reward: Rewards, settings: dict[str, Any], random: Any, orders: Any = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Return the gradient by the scores (list x item) and utility, disparity, entropy per list.

    The result equals that of the compiled engine for the same ``orders``, which are drawn if not
    given.
    """
    torch = require("torch", "neural")
    n_samples, lam = settings["n_samples"], float(settings["lam"])
    strength = torch.exp(score - score.max(dim=1, keepdim=True).values).clamp_min(MIN_STRENGTH)
    strength = torch.where(real, strength, torch.zeros_like(strength))
    if orders is None:
        shape = (score.shape[0], n_samples, score.shape[1])
        arrival = torch.empty(shape, dtype=score.dtype, device=score.device)
        arrival.exponential_(generator=random)
        orders = (arrival / strength[:, None]).argsort(dim=2)  # padding comes last
    shape = orders.shape

    def by_position(values: Any) -> Any:
        return values[:, None].expand(shape).gather(2, orders)

    def by_item(values: Any) -> Any:
        return torch.zeros_like(values).scatter_(2, orders, values).mean(dim=1)

    power, gains = by_position(strength), by_position(gain)
    if stop is None:
        rewards = (theta * gains).sum(dim=2)
    else:
        p_stop = by_position(stop)
        reading = torch.cumprod(1.0 - p_stop, dim=2) / (1.0 - p_stop).clamp_min(1e-12)
        rewards = (theta * p_stop * reading).sum(dim=2)
    shown = by_position(real.to(score.dtype))
    exposure = by_item(attention * shown)
    value, signs = _signs(exposure, merit, group, real, reward)
    penalty = lam * by_position(signs)
    left = _sums_from_end(power).clamp_min(1e-38)
    if settings["gradient"] == "plrank":
        grad = by_item(_plrank(power, gains, theta, attention, penalty, shown, left))
    else:
        total = rewards - (attention * penalty).sum(dim=2)
        advantage = total - total.mean(dim=1, keepdim=True)
        if n_samples == 1:
            advantage = total
        elif settings["baseline"] == "leave_one_out":
            advantage = advantage * (n_samples / (n_samples - 1.0))
        inverse = torch.cumsum(1.0 / left, dim=2)
        grad = by_item(advantage[:, :, None] * (shown - power * inverse))
    share = strength / strength.sum(dim=1, keepdim=True)
    log = torch.where(real, torch.log(share.clamp_min(1e-38)), torch.zeros_like(share))
    entropy = -(share * log).sum(dim=1)
    grad = grad - settings["entropy"] * share * (log + entropy[:, None])
    grad = torch.where(real, grad, torch.zeros_like(grad))
    return grad, torch.stack([rewards.mean(dim=1), value, entropy], dim=1)


def _plrank(
    power: Any, gains: Any, theta: Any, attention: Any, penalty: Any, shown: Any, left: Any
) -> Any:
    """Return the PL-Rank gradient of each position (list x sample x position).

    The baseline of a position is the expected reward of the remaining items in random order, which
    is known before the choice.
    """
    cumsum = require("torch", "neural").cumsum
    term = theta * gains - attention * penalty
    after = _sums_from_end(term)
    count = _sums_from_end(shown).clamp_min(1.0)
    baseline = _sums_from_end(gains) / count * (_sums_from_end(theta * shown) - theta)
    baseline = baseline - _sums_from_end(penalty) / count * (
        _sums_from_end(attention * shown) - attention
    )
    mean = theta * _sums_from_end(power * gains) - attention * _sums_from_end(power * penalty)
    advantage = after - term - baseline
    factor = gains * cumsum(theta / left, dim=2)
    factor = factor - penalty * cumsum(attention / left, dim=2)
    factor = factor - cumsum((mean / left + advantage) / left, dim=2)
    return advantage + power * factor


def _sums_from_end(values: Any) -> Any:
    """Return the sums from each position to the last."""
    return values.flip(2).cumsum(dim=2).flip(2)


def _signs(exposure: Any, merit: Any, group: Any, real: Any, reward: Rewards) -> tuple[Any, Any]:
    """Return the disparity of each list and the coefficient of each item in it."""
    torch = require("torch", "neural")
    zero = torch.zeros_like(exposure)
    if reward.disparity == INDIVIDUAL:
        counts = real & (merit > 0.0)
        ratio = torch.where(counts, exposure / merit.clamp_min(1e-38), zero)
        pairs = counts[:, :, None] & counts[:, None] & (merit[:, :, None] >= merit[:, None])
        pairs = pairs & ~torch.eye(merit.shape[1], dtype=torch.bool, device=merit.device)
        number = pairs.sum(dim=(1, 2)).clamp_min(1)
        excess = torch.where(pairs, ratio[:, :, None] - ratio[:, None], zero[:, :, None])
        above = (excess > 0.0).to(exposure.dtype)
        signs = (above.sum(dim=2) - above.sum(dim=1)) / number[:, None]
        signs = torch.where(counts, signs / merit.clamp_min(1e-38), zero)
        return excess.clamp_min(0.0).sum(dim=(1, 2)) / number, signs
    if reward.disparity != GROUP:
        return zero[:, 0], zero
    worst, signs = zero[:, 0], zero
    is_item = real.to(exposure.dtype)
    for code in range(reward.n_groups):
        inside = is_item * (group == code)
        outside = is_item - inside
        drawn = [(exposure * side).sum(dim=1) for side in (inside, outside)]
        earned = [(merit * side).sum(dim=1) for side in (inside, outside)]
        people = [side.sum(dim=1) for side in (inside, outside)]
        known = (people[0] > 0) & (people[1] > 0) & (earned[0] > 0.0) & (earned[1] > 0.0)
        safe = [e.clamp_min(1e-38) for e in earned]
        excess = drawn[0] / safe[0] - drawn[1] / safe[1]
        means = [e / p.clamp_min(1.0) for e, p in zip(earned, people, strict=True)]
        level = (means[0] - means[1]).abs() <= 1e-6 * means[0]
        side = torch.where(level, torch.sign(excess), torch.sign(means[0] - means[1]))
        value = torch.where(known, side * excess, zero[:, 0])
        better = value > worst
        worst = torch.where(better, value, worst)
        own = inside / safe[0][:, None] - outside / safe[1][:, None]
        signs = torch.where(better[:, None], side[:, None] * own, signs)
    return worst, signs
