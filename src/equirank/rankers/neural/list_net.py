"""ListNet: a network that learns top-one probabilities, or orders of the labels."""

from typing import Annotated, Any, ClassVar

from ...core.declared import GIVEN, OnlyWith
from ...core.environment import require
from ...core.params import Choice, Integer, Optional
from .losses import (
    NO_ITEM,
    cross_entropy,
    label_order_loss,
    log_powers,
    log_probabilities,
    score_table,
)
from .network import Net
from .neural_ranker import NeuralRanker

__all__ = ["ListNet", "permutation_divergence"]

#: Lists of at most this many items are summed exactly over all orders.
EXACT_ITEMS = 8
#: Orders drawn of longer lists.
N_DRAWS = 16


class ListNet(NeuralRanker):
    """Learns scores whose top-one probabilities match those of the labels.

    An item of score s ranks first with the probability ``phi(s) / sum of phi`` over its list. The
    loss of a list is the cross-entropy between the probabilities by labels and by scores, ``- sum_i
    P_label(i) log P_score(i)``. With ``top=k`` and ``target="order"`` it is instead the negative
    logarithm of the Plackett-Luce probability that the top k follow the labels (the likelihood
    form): each position is drawn from the remaining items in proportion to phi. Items of equal
    label are each drawn from all items that are not better, so the order of rows does not matter;
    with k at least the length of the list and no ties this is ListMLE. With ``top=k`` and
    ``target="distribution"`` it is the Kullback-Leibler divergence of ListNet's paper, between the
    distributions over all orders of the top k by labels and by scores (`permutation_divergence`),
    exact for lists of up to 8 items and estimated from drawn orders for longer ones; with k = 1 it
    is the cross-entropy less a constant. The mean over lists, weighted by query if given, is
    minimised. A list of one item has no gradient.

    Parameters
    ----------
    phi : {"exp", "linear", "sigmoid"}
        Function of scores and labels to which probabilities are proportional. It must be positive,
        so "linear" is 1 + the difference from the lowest value of the list.
    top : int, optional
        Number of positions that count; None for top-one probabilities.
    target : {"order", "distribution"}
        What the top k should follow: the one order by labels (likelihood), or the distribution over
        orders by labels (divergence), which needs ``top``.
    n_draws : int, optional
        Orders drawn of each list of more than 8 items, only with ``target="distribution"``; 16 if
        None. The same place in a batch has the same draws; batches are shuffled.

    Attributes
    ----------
    curve_ : dict of str to list
        Per epoch: mean loss, and the metric on the validation data; ``learning_curve_`` is it as a
        table.

    References
    ----------
    Cao, Qin, Liu, Tsai and Li, Learning to rank: from pairwise approach to listwise approach, ICML
    2007. Xia, Liu, Wang, Zhang and Li, Listwise approach to learning to rank, ICML 2008 (ListMLE).

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import ListNet
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> model = ListNet(layers=(16,), learning_rate=0.01, random_state=0)
    >>> model.fit(data).score(data) > 0.8
    True
    """

    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}

    positional: ClassVar[tuple[str, ...]] = ("phi", "top")
    only_with: ClassVar[OnlyWith] = {
        "target": ("top", GIVEN),
        "n_draws": ("target", ("distribution",)),
    }

    phi: Annotated[str, Choice("exp", "linear", "sigmoid")] = "exp"
    top: Annotated[int | None, Optional(Integer(1))] = None

    target: Annotated[str, Choice("order", "distribution")] = "order"
    n_draws: Annotated[int | None, Optional(Integer(1))] = None

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        score, real, label = score_table(net, batch), batch["real"], batch["y"]
        if self.top is None:
            found = cross_entropy(log_probabilities(score, real, self.phi), real, label, self.phi)
        elif self.target == "order":
            found = label_order_loss(score, real, label, self.phi, self.top)
        else:
            n_draws = N_DRAWS if self.n_draws is None else self.n_draws
            found = permutation_divergence(score, real, label, self.phi, self.top, n_draws)
        return (batch["weight"] * found).mean()


def permutation_divergence(
    score: Any, real: Any, label: Any, phi: str, top: int, n_draws: int
) -> Any:
    """Return the divergence of the orders of the top k by scores from those by labels, per list.

    ``KL(P_label || P_score) = sum P_label(order) log(P_label(order) / P_score(order))`` over all
    orders of the top k, with Plackett-Luce probabilities. By the chain rule it is the sum over
    positions of the expected divergence of the next draw, given the items already drawn. Their set
    is all that matters: for up to 8 items the expectation is the exact sum over sets; for longer
    lists it is the mean over orders drawn by labels, which is unbiased.
    """
    torch = require("torch", "neural")
    wanted, found = log_powers(label, real, phi), log_powers(score, real, phi)
    small = real.sum(dim=1) <= EXACT_ITEMS
    parts = []
    for chosen, gone_of in ((small, _all_sets), (~small, _drawn_sets)):
        lists = chosen.nonzero()[:, 0]
        if len(lists):
            gone, weight = gone_of(wanted[lists], real[lists], top, n_draws)
            left = (real[lists][:, None, :] & ~gone).any(dim=2)
            by_label, by_score = (
                power[lists][:, None, :].masked_fill(gone, NO_ITEM).log_softmax(dim=2)
                for power in (wanted, found)
            )
            gap = (by_label.exp() * (by_label - by_score)).sum(dim=2)
            parts.append((lists, (gap * (weight * left)).sum(dim=1)))
    order = torch.cat([lists for lists, _ in parts]).argsort()
    return torch.cat([values for _, values in parts])[order]


def _all_sets(power: Any, real: Any, top: int, n_draws: int) -> tuple[Any, Any]:
    """Return all sets of items that may be gone, and the probability by labels of reaching each.

    Sets of ``top`` or more items have weight 0: no position that counts follows them.
    """
    torch = require("torch", "neural")
    length = int(real.any(dim=0).nonzero().max()) + 1
    numbers = torch.arange(1 << length, device=power.device)
    bits = torch.arange(length, device=power.device)
    inside = (numbers[:, None] >> bits) & 1 == 1
    gone = torch.zeros((len(numbers), power.shape[1]), dtype=torch.bool, device=power.device)
    gone[:, :length] = inside
    chance = power[:, None, :].masked_fill(gone, NO_ITEM).softmax(dim=2)[:, :, :length]
    reach = torch.zeros((len(power), len(numbers)), dtype=power.dtype, device=power.device)
    reach[:, 0] = 1.0
    sizes = inside.sum(dim=1)
    for size in range(min(top, length) - 1):
        for item in range(length):
            before = numbers[(sizes == size) & ~inside[:, item]]
            reach[:, before | (1 << item)] += reach[:, before] * chance[:, before, item]
    counted = sizes < top
    return gone[counted].expand(len(power), -1, -1), reach[:, counted]


def _drawn_sets(power: Any, real: Any, top: int, n_draws: int) -> tuple[Any, Any]:
    """Return the sets of items gone before each position of drawn orders, and equal weights."""
    torch = require("torch", "neural")
    n_lists, length = power.shape
    generator = torch.Generator().manual_seed(0)
    uniform = torch.rand((n_lists, n_draws, length), generator=generator, dtype=torch.float64)
    noise = -(-uniform.clamp_min(1e-300).log()).log()
    keys = power[:, None, :] + noise.to(power)
    rank = keys.argsort(dim=2, descending=True).argsort(dim=2)
    places = torch.arange(min(top, length), device=power.device)
    gone = (rank[:, :, None, :] < places[:, None]).flatten(1, 2)
    return gone, torch.full(gone.shape[:2], 1.0 / n_draws, dtype=power.dtype, device=power.device)
