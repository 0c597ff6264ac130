"""Batches of lists: every list once per epoch, padded as a plain loop pads them."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.rankers.neural.batches import QueryBatches, Rows, list_slots, padded


def batches(sizes, batch_size=3, seed=0):
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    number = np.arange(offsets[-1])
    columns = {"x": np.stack([number, -number], axis=1).astype(np.float32), "row": number + 1}
    rows = Rows(columns, torch.device("cpu"))
    return offsets, QueryBatches(rows, offsets, np.arange(1.0, len(sizes) + 1), batch_size, seed)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=20), st.integers(1, 5))
@settings(max_examples=40)
def test_an_epoch_goes_through_every_list_once(sizes, batch_size):
    offsets, made = batches(sizes, batch_size)
    seen, epoch = [], list(made.epoch(4))
    for batch in epoch:
        for line, real, weight, size in zip(
            batch["row"].numpy(), batch["real"].numpy(), batch["weight"], batch["size"], strict=True
        ):
            query = int(weight) - 1
            seen.append(query)
            rows = np.arange(offsets[query], offsets[query + 1]) + 1
            assert line[real].tolist() == rows.tolist()
            assert real.sum() == size == sizes[query]
            assert (line[~real] == 0).all()
    assert len(epoch) == made.n_steps
    assert sorted(seen) == list(range(len(sizes)))


def test_epochs_differ_and_repeat():
    def order(number, seed=0):
        made = batches([2] * 40, seed=seed)[1]
        return [int(w) for batch in made.epoch(number) for w in batch["weight"]]

    assert order(0) == order(0)
    assert order(0) != order(1)
    assert order(0) != order(0, seed=1)


def test_lists_of_like_length_stand_together():
    sizes = np.random.default_rng(0).integers(1, 200, size=200)
    _, made = batches(sizes, 10)
    cells = sum(batch["real"].numel() for batch in made.epoch(0))
    assert cells < 1.25 * sizes.sum()


def test_padding_is_a_scatter_whose_gradient_is_a_gather():
    _, made = batches([2, 3, 1])
    batch = next(made.epoch(0))
    values = torch.arange(6.0, requires_grad=True)
    table = padded(values, batch, -1.0)
    assert (table[~batch["real"]] == -1).all()
    price = torch.arange(9.0)
    (gradient,) = torch.autograd.grad((table.reshape(-1) * price).sum(), values)
    assert torch.equal(gradient, price[batch["slot"]])
    stacked = torch.stack([values, 2 * values])
    both = torch.func.vmap(lambda v: padded(v, batch))(stacked)
    assert torch.equal(both[1], padded(2 * values, batch))
    wide = padded(torch.ones(6, 2), batch)
    assert wide.shape == (3, 3, 2)


def test_places_of_no_list():
    slots, longest = list_slots(np.array([], dtype=int))
    assert len(slots) == longest == 0
