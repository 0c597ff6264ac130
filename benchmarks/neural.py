"""DirectRanker: memory and speed of an epoch of a million rows, on CPU and GPU.

python benchmarks/neural.py                     # memory and speed of an epoch (about a minute)
python benchmarks/neural.py --rows 100000       # fewer rows
python benchmarks/neural.py --gpu               # an epoch on one GPU against two CPU cores

Neither numba nor LightGBM is needed. Peak memory is that of this process minus its memory before
the data were generated.
"""

import argparse
import resource
import time

import numpy as np

from equirank import as_ranking_data
from equirank.rankers import DirectRanker

FEATURES, ITEMS = 50, 100
SETTINGS = {"layers": (64, 32), "n_epochs": 1, "batch_size": 4096, "random_state": 0}


def peak():
    """Return the peak memory of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def million(n_rows):
    """Return lists of 100 items with grades and two groups; X is double precision."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, FEATURES))
    y = np.digitize(X[:, 0] + X[:, 1] + rng.standard_normal(n_rows), [0.0, 1.0, 2.0, 3.0])
    group = (X[:, 2] > 0).astype(np.int8)
    qid = np.arange(n_rows) // ITEMS
    return as_ranking_data(X, y, qid=qid, sensitive_features=group)


def seconds(data, **given):
    """Return the seconds of a fit; the first in a process includes the start of PyTorch."""
    began = time.perf_counter()
    model = DirectRanker(**SETTINGS | given).fit(data)
    return time.perf_counter() - began, model


def plain_epoch(data, batch_size):
    """Run the same epoch as a plain script: a module, a data loader of rows, Adam."""
    import torch

    X = torch.as_tensor(((data.X - data.X.mean(0)) / data.X.std(0)).astype(np.float32))
    y = torch.as_tensor(data.y.astype(np.float32)) / 4.0
    features = torch.nn.Sequential(
        torch.nn.Linear(FEATURES, 64), torch.nn.Tanh(), torch.nn.Linear(64, 32), torch.nn.Tanh()
    )
    output = torch.nn.Linear(32, 1, bias=False)
    optimiser = torch.optim.Adam([*features.parameters(), *output.parameters()], lr=0.003)
    first = torch.arange(len(y))
    second = first // ITEMS * ITEMS + torch.randint(ITEMS, (len(y),))
    pairs = torch.utils.data.TensorDataset(X, X[second], y - y[second])
    loader = torch.utils.data.DataLoader(pairs, batch_size=batch_size, shuffle=True)
    for one, other, target in loader:
        gap = torch.tanh(output(features(one))[:, 0] - output(features(other))[:, 0])
        loss = ((target - gap) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()


def epochs(n_rows):
    """Print memory and speed of one epoch on the CPU."""
    import torch

    small = million(2_000)
    for fairness in (None, "both"):
        seconds(small, fairness=fairness)
    plain_epoch(small, 128)
    before = peak()
    data = million(n_rows)
    size = data.X.nbytes
    made = peak()
    took, _ = seconds(data)
    most = peak()
    print(f"data: {n_rows:,} rows x {FEATURES}, {size / 1e6:,.0f} MB; {ITEMS} rows per list")
    print(f"all pairs listed would be {n_rows * (ITEMS - 1) // 2:,}; drawn per epoch: {n_rows:,}")
    print(f"peak memory of making the data: {(made - before) / size:.2f} x the data")
    print(f"peak memory of an epoch, data included: {(most - before) / size:.2f} x the data")
    print(f"epoch, 1 thread: {took:.1f} s, {n_rows / took:,.0f} pairs/s")
    for fairness in ("adversarial", "flipped", "both"):
        other, _ = seconds(data, fairness=fairness)
        print(f"  fairness={fairness!r}: {other / took:.2f} x the time")
    torch.set_num_threads(1)
    part = min(n_rows, 100_000)
    rows = million(part)
    began = time.perf_counter()
    plain_epoch(rows, SETTINGS["batch_size"])
    plain = (time.perf_counter() - began) / part
    print(f"a plain PyTorch script, 1 thread: {plain / (took / n_rows):.1f} x the time per pair")


def gpu(n_rows, batch_size, n_epochs):
    """Print the throughput of a GPU and of two cores of this machine."""
    data = million(n_rows)
    small = million(20_000)
    given = {"batch_size": batch_size, "n_epochs": n_epochs}
    runs = {
        "two CPU cores": {"device": "cpu", "n_jobs": 2, "n_epochs": 1},
        "GPU, float32": {"device": "cuda"},
        "GPU, mixed": {"device": "cuda", "precision": "mixed"},
    }
    for fairness in (None, "both"):
        speed = {}
        for name, params in runs.items():
            settings = given | params | {"fairness": fairness}
            seconds(small, **settings)
            # standardising and the copy to the device are excluded by timing single epochs
            short, _ = seconds(data, **settings | {"max_steps": 1})
            took, model = seconds(data, **settings)
            pairs = model.n_steps_ * batch_size
            speed[name] = pairs / max(took - short, 1e-9)
            print(
                f"fairness={fairness}, {name}: {speed[name]:,.0f} pairs/s in epochs, "
                f"{speed[name] / speed['two CPU cores']:.1f} x two cores; whole fit {took:.2f} s"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--batch", type=int, default=16_384)
    parser.add_argument("--epochs", type=int, default=10)
    given = parser.parse_args()
    if given.gpu:
        gpu(given.rows, given.batch, given.epochs)
    else:
        epochs(given.rows)
