"""The grid of the fair pairwise study: how much is searched, and the models of its points."""

from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import product
from json import dumps

from fair_pairwise.parity_ridge import ParityRidge

from equirank.rankers import DELTR, ConstrainedPairwise, DebiasClassifier, DirectRanker

FAIR = ("adversarial", "flipped", "both")
NOISY = ("plain", *FAIR, "deltr", "debias_classifier")
MODELS = (*(name + end for name in NOISY for end in ("", "+noise")), "parity_ridge")
#: Pairs or rows of a step.
BATCH = 128


@dataclass(frozen=True)
class Effort:
    """How much of the grid is searched.

    ``rungs`` are step counts of all points; the best ``survivors`` of them go on to ``long``. DELTR
    uses the whole list in each step, so it has ``list_share`` times as many.
    """

    gammas: tuple[float, ...] = (0.1, 1.0, 2.0, 5.0, 10.0, 100.0)
    eps: tuple[float, ...] = (0.01, 0.05, 0.1)
    widths: tuple[int, ...] = (10, 20, 50, 100)
    momenta: tuple[float, ...] = (0.5, 0.9)
    rates: tuple[float, ...] = (1.0, 10.0)
    rungs: tuple[int, ...] = (500, 1000, 2000)
    long: tuple[int, ...] = (5000, 10000)
    survivors: int = 3
    splits: int = 3
    list_share: float = 0.2
    device: str = "cpu"

    def key(self):
        """Return a name of everything that changes results."""
        told = dumps({k: v for k, v in asdict(self).items() if k != "device"}, sort_keys=True)
        return blake2b(told.encode(), digest_size=4).hexdigest()

    def steps(self, name, counts):
        """Return the step counts of a model."""
        share = self.list_share if name.startswith("deltr") else 1.0
        return tuple(max(1, round(share * count)) for count in counts)


QUICK = Effort(gammas=(1.0, 5.0), eps=(0.05,), widths=(10,), momenta=(0.5,), rates=(10.0,),
               rungs=(10,), long=(20,), survivors=1, splits=2)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """One point of the grid; parameters that a model lacks are None."""

    gamma: float | None
    width: int | None
    momentum: float | None = None
    rate: float | None = None


def points(name, effort):
    """Return all points of a model."""
    kind = name.partition("+")[0]
    if kind == "parity_ridge":
        return [Point(gamma, None) for gamma in (0.0, *effort.gammas)]
    if kind == "constrained_pairwise":
        return [Point(*values) for values in product(effort.eps, effort.widths)]
    if kind == "plain":
        return [Point(None, *values) for values in product(effort.widths, effort.momenta)]
    rates = (None,) if kind == "deltr" else effort.rates
    grid = product(effort.gammas, effort.widths, effort.momenta, rates)
    return [Point(*values) for values in grid]


def made(name, point, train, steps, most, target, seed, effort):
    """Return the model of a point that trains for a number of steps, ``most`` being the largest."""
    kind, _, noise = name.partition("+")
    if kind == "parity_ridge":
        return ParityRidge(point.gamma)
    common = {"random_state": seed, "layers": (point.width, point.width)}
    if kind == "constrained_pairwise":  # cannot be stacked, and alone a CPU is no slower
        per_epoch = max(1, train.n_rows // BATCH)
        return ConstrainedPairwise(point.gamma, n_epochs=max(1, steps // per_epoch), **common)
    common |= {
        "device": effort.device,
        "noise": bool(noise),
        "momentum": point.momentum,
        "n_epochs": most,
    }
    common["max_steps"] = steps
    if kind == "deltr":  # squared differences of exposure decrease with n^2
        return DELTR(point.gamma * train.n_rows**2, **common)
    common["batch_size"] = BATCH
    if kind == "plain":
        return DirectRanker(**common)
    common["adversary_rate"] = point.rate
    if kind != "flipped":  # whose adversary is linear
        common["adversary_layers"] = (point.width, point.width)
    if kind == "debias_classifier":
        return DebiasClassifier(point.gamma, target, **common)
    return DirectRanker(kind, point.gamma, **common)
