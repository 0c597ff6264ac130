"""Listwise and pairwise neural rankers compared with fairsearchdeltr and plain PyTorch.

python benchmarks/neural_rivals.py                # all ratios (about two minutes)
python benchmarks/neural_rivals.py --only deltr   # or epochs, softrank

The authors' library is measured if it can be imported (fairsearchdeltr 1.0.2, not a dependency):
an iteration on 10,000 rows took 22 s when it was recorded.
"""

import argparse
import time

import numpy as np

from equirank import as_ranking_data
from equirank.rankers import DELTR, LambdaRank, ListNet, RankNet, SoftRank

RECORDED = 22.0  # seconds per iteration of fairsearchdeltr on 10,000 rows in one list


def clock(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def best(work, times=3):
    return min(clock(work) for _ in range(times))


# DELTR


def one_list(n_rows=10_000, n_features=5):
    rng = np.random.default_rng(0)
    protected = rng.random(n_rows) < 0.4
    X = np.column_stack([protected, rng.normal(size=(n_rows, n_features - 1))]).astype(float)
    return X, rng.random(n_rows), protected


def ours_per_iteration(X, y, protected, n_epochs=300, **params):
    def run(epochs):
        model = DELTR(1.0, protected="True", n_epochs=epochs, random_state=0, **params)
        return lambda: model.fit(X, y, qid=0, sensitive_features=protected.astype(str))

    return (best(run(n_epochs)) - best(run(0))) / n_epochs


def rows_in_python(X, y, protected, omega, some):
    """Compute loss and gradient as the formula is often written: the whole list for each row."""
    query = np.zeros(len(y), dtype=int)
    loss, gradient = 0.0, np.zeros(X.shape[1])
    for row in range(some):
        here = np.flatnonzero(query == query[row])
        features, label, score = X[here], y[here], X[here] @ omega
        wanted = np.exp(label) / np.exp(label).sum()
        chance = np.exp(score) / np.exp(score).sum()
        mine, others = protected[here], ~protected[here]
        gap = chance[others].mean() - chance[mine].mean()
        loss += -(wanted * np.log(chance)).sum() + max(0.0, gap) ** 2
        weight = np.where(mine, -1.0 / mine.sum(), 1.0 / others.sum())
        grad = chance - wanted
        grad = grad + 2.0 * max(0.0, gap) * chance * (weight - (chance * weight).sum())
        gradient += features.T @ grad
    return loss, gradient


def package_per_iteration(X, y):
    """Return the time of an iteration of fairsearchdeltr, or None if it is not installed."""
    try:
        from fairsearchdeltr.trainer import Trainer
    except ImportError:
        return None
    import contextlib
    import io

    queries, label = np.zeros(len(y), dtype=int), y.reshape(-1, 1)

    def run(iterations):
        trainer = Trainer(0, 1.0, iterations, 0.001, 0.001, 0.01)
        with contextlib.redirect_stdout(io.StringIO()):
            trainer.train_nn(queries, X, label)

    return clock(lambda: run(1)) - clock(lambda: run(0))


def deltr():
    X, y, protected = one_list()
    each = ours_per_iteration(X, y, protected)
    print(f"DELTR, 10,000 rows in one list: {each * 1e3:.2f} ms per iteration on one core")
    print(f"  3,000 iterations: {3000 * each:.1f} s")
    compat = ours_per_iteration(X, y, protected, compat="fairsearch")
    print(f'  with compat="fairsearch": {compat * 1e3:.2f} ms per iteration')
    some = 200
    naive = clock(lambda: rows_in_python(X, y, protected, np.zeros(X.shape[1]), some))
    naive *= len(y) / some
    print(
        print(
            f"  a Python loop over rows ({some} rows, scaled): {naive:.1f} s, {naive / each:,.0f}x"
        )
    )
    package = package_per_iteration(X, y)
    if package is None:
        print(f"  fairsearchdeltr (recorded {RECORDED:.0f} s): {RECORDED / each:,.0f}x")
    else:
        print(f"  fairsearchdeltr, measured: {package:.1f} s, {package / each:,.0f}x")


# epochs against plain PyTorch


def lists(n_lists=400, n_features=46, median=40, shortest=5, longest=300):
    """Return lists with a skewed distribution of lengths, as in web search."""
    rng = np.random.default_rng(0)
    sizes = np.clip(rng.lognormal(np.log(median), 0.8, n_lists), shortest, longest).astype(int)
    X = rng.normal(size=(sizes.sum(), n_features)).astype(np.float32)
    y = np.clip(np.round(X[:, 0] + X[:, 1] + rng.normal(size=len(X))), 0, 4)
    return as_ranking_data(X, y, qid=np.repeat(np.arange(n_lists), sizes)), sizes


class Padded:
    """A plain script: features, scores and losses of all lists padded to the longest list."""

    def __init__(self, data, sizes):
        import torch

        n_lists, longest = len(sizes), int(sizes.max())
        self.torch = torch
        self.real = torch.arange(longest)[None] < torch.as_tensor(sizes)[:, None]
        self.x = torch.zeros(n_lists, longest, data.n_features)
        self.y = torch.zeros(n_lists, longest)
        self.x[self.real] = torch.as_tensor(np.array(data.X))
        self.y[self.real] = torch.as_tensor(np.array(data.y, dtype=np.float32))
        layers = [torch.nn.Linear(data.n_features, 64), torch.nn.Tanh(), torch.nn.Linear(64, 32)]
        layers += [torch.nn.Tanh(), torch.nn.Linear(32, 1, bias=False)]
        self.model = torch.nn.Sequential(*layers)
        self.adam = torch.optim.Adam(self.model.parameters(), lr=0.001)

    def epoch(self, loss, batch_size=32):
        order = self.torch.randperm(len(self.x))
        for some in order.split(batch_size):
            score = self.model(self.x[some])[:, :, 0]
            value = loss(self.torch, score, self.real[some], self.y[some])
            self.adam.zero_grad()
            value.backward()
            self.adam.step()


def plain_list_net(torch, score, real, y):
    nothing = torch.tensor(-torch.inf)
    wanted = torch.softmax(torch.where(real, y, nothing), dim=1)
    chance = torch.log_softmax(torch.where(real, score, nothing), dim=1)
    return -(wanted * torch.where(real, chance, torch.tensor(0.0))).sum(dim=1).mean()


def plain_lambda_rank(torch, score, real, y):
    """Compute the loss of all pairs of the padded lists, whose gradient are the lambdas."""
    gain = torch.where(real, 2.0**y - 1.0, torch.tensor(0.0))
    discount = 1.0 / torch.log2(torch.arange(score.shape[1]) + 2.0)
    ideal = (gain.sort(dim=1, descending=True).values * discount).sum(dim=1).clamp_min(1e-9)
    order = torch.where(real, score.detach(), -torch.inf).argsort(dim=1, descending=True)
    place = torch.empty_like(order).scatter(1, order, torch.arange(order.shape[1]).expand_as(order))
    worth = discount[place]
    change = (gain[:, :, None] - gain[:, None]) * (worth[:, :, None] - worth[:, None]).abs()
    pairs = real[:, :, None] & real[:, None] & (gain[:, :, None] > gain[:, None])
    loss = torch.nn.functional.softplus(-(score[:, :, None] - score[:, None]))
    return (torch.where(pairs, loss * change, 0.0).sum(dim=(1, 2)) / ideal).mean()


def ours_per_epoch(kind, data, n_epochs, **params):
    given = {"random_state": 0, "n_jobs": 1, **params}
    kind(n_epochs=1, **given).fit(data)  # compiles
    whole = best(lambda: kind(n_epochs=n_epochs, **given).fit(data))
    return (whole - best(lambda: kind(n_epochs=0, **given).fit(data))) / n_epochs


def compare(data, sizes):
    share = sizes.sum() / (len(sizes) * sizes.max())
    print(f"{len(sizes)} lists, {sizes.sum()} rows, longest {sizes.max()}, {share:.0%} not padding")
    for kind, plain in ((ListNet, plain_list_net), (LambdaRank, plain_lambda_rank)):
        script = Padded(data, sizes)
        script.epoch(plain)
        theirs = best(lambda script=script, plain=plain: script.epoch(plain))
        ours = ours_per_epoch(kind, data, 3)
        print(
            f"  {kind.__name__}: {ours * 1e3:.0f} ms an epoch, plain padded PyTorch "
            f"{theirs * 1e3:.0f} ms, {theirs / ours:.1f}x"
        )
    print(f"  RankNet: {ours_per_epoch(RankNet, data, 3) * 1e3:.0f} ms an epoch")


def epochs():
    import torch

    torch.set_num_threads(1)
    compare(*lists())
    compare(*lists(shortest=60, longest=60))  # no padding


def softrank():
    import torch

    torch.set_num_threads(1)
    data, _ = lists(n_lists=64, median=40, longest=100)
    for k in (None, 10):
        each = ours_per_epoch(SoftRank, data, 1, k=k)
        print(f"SoftRank, {data.n_rows} rows in 64 lists, k={k}: {each * 1e3:.0f} ms an epoch")


PARTS = {"deltr": deltr, "epochs": epochs, "softrank": softrank}

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=list(PARTS))
    chosen = parser.parse_args().only
    for name, part in PARTS.items():
        if chosen in (None, name):
            part()
