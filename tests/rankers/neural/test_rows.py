"""Rows: standardised in blocks, on the device with their columns."""

import numpy as np
import torch

from equirank.rankers.neural.batches import RowBatches, Rows, standardised, statistics


def test_statistics_and_constant_columns():
    X = np.random.default_rng(0).normal(5.0, 3.0, size=(40_000, 3))
    X[:, 1] = 7.1
    mean, scale = statistics(X)
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scale[[0, 2]], X[:, [0, 2]].std(axis=0), rtol=1e-12)
    assert scale[1] == 1.0
    found = standardised(X.astype(np.float32), mean, scale, np.float32)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, (X - mean) / scale, atol=1e-5)
    assert np.abs(found[:, 1]).max() < 1e-5


def test_rows_are_taken_in_any_shape():
    table = np.arange(12.0).reshape(6, 2)
    table.flags.writeable = False
    rows = Rows({"x": table, "code": np.arange(6)}, torch.device("cpu"))
    taken = rows.take(torch.tensor([[3, 1], [0, 0]]))
    assert taken["x"].tolist() == [[[6.0, 7.0], [2.0, 3.0]], [[0.0, 1.0], [0.0, 1.0]]]
    assert taken["code"].tolist() == [[3, 1], [0, 0]]
    assert rows.dtype is np.float64
    rows.columns["x"][0, 0] = 9.0
    assert table[0, 0] == 0.0


def test_batches_of_rows_hold_every_row_once():
    rows = Rows({"x": np.arange(7.0, dtype=np.float32)[:, None]}, torch.device("cpu"))
    made = RowBatches(rows, np.arange(7.0) * 2, 3, 0)
    epochs = []
    for number in (0, 0, 1):
        batches = list(made.epoch(number))
        assert [len(batch["x"]) for batch in batches] == [3, 3, 1]
        assert len(batches) == made.n_steps
        for batch in batches:
            assert torch.equal(batch["weight"], 2 * batch["x"][:, 0])
        epochs.append([int(x) for batch in batches for x in batch["x"][:, 0]])
    assert epochs[0] == epochs[1] != epochs[2]
    assert sorted(epochs[2]) == list(range(7))
