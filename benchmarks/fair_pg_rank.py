"""Fair-PG-Rank on Yahoo-shaped data: compared with a plain PyTorch script, and on a GPU.

python benchmarks/fair_pg_rank.py                 # all ratios, the full set (a few minutes)
python benchmarks/fair_pg_rank.py --share 0.1     # a tenth of the lists
python benchmarks/fair_pg_rank.py --gpu           # twenty epochs on one GPU, in seconds
"""

import argparse
import resource
import time

import numpy as np

from equirank.core.ranking import Ranking
from equirank.core.registry import parse_metric
from equirank.datasets import make_yahoo_like
from equirank.rankers import FairPGRank

RANDOM = np.random.default_rng(0)
PUBLISHED = {"n_samples": 10, "n_epochs": 20, "learning_rate": 0.001, "entropy": 1.0}


def held_out_ndcg(model, test):
    """Return the NDCG of the model's scores on held-out lists."""
    metric = parse_metric("NDCG")
    ranking = Ranking.from_scores(test, model.predict(test))
    return float(metric.summarize(metric.per_query(ranking))[0])


def plain_step(torch, model, optimiser, x, gain, discount, n_samples):
    """Run one step as research scripts do: a loop over samples, positions drawn one by one."""
    scores = model(x)[:, 0]
    chances = torch.softmax(scores, dim=0).detach().numpy().astype(float)
    n, rewards, logs = len(chances), [], []
    for _ in range(n_samples):
        left, order = chances / chances.sum(), []
        for _ in range(n):
            item = RANDOM.choice(n, p=left)
            order.append(item)
            left = left.copy()
            left[item] = 0.0
            if left.sum() > 0:
                left /= left.sum()
        rewards.append(float((gain[order] * discount[:n]).sum()))
        log, remaining = 0.0, list(range(n))
        for item in order:
            log = log + scores[item] - torch.logsumexp(scores[remaining], dim=0)
            remaining.remove(item)
        logs.append(log)
    mean = np.mean(rewards)
    loss = -sum((r - mean) * log for r, log in zip(rewards, logs, strict=True)) / n_samples
    share = torch.softmax(scores, dim=0)
    loss = loss + (share * torch.log(share)).sum()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def time_plain(train, steps=25):
    """Return the seconds per step of the plain script."""
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Linear(train.n_features, 1, bias=False)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.001)
    discount = 1 / np.log2(np.arange(2, 2000))
    gains = 2.0**train.y - 1
    begin = time.perf_counter()
    for query in range(steps):
        rows = slice(train.offsets[query], train.offsets[query + 1])
        x = torch.as_tensor(np.array(train.X[rows]))
        ideal = (np.sort(gains[rows])[::-1] * discount[: len(x)]).sum() or 1.0
        plain_step(torch, model, optimiser, x, gains[rows] / ideal, discount, 10)
    return (time.perf_counter() - begin) / steps


def timed(train, **params):
    begin = time.perf_counter()
    model = FairPGRank(random_state=0, **params).fit(train)
    return time.perf_counter() - begin, model


def cpu(share):
    lists, rows = int(19944 * share), int(473134 * share)
    train = make_yahoo_like(n_queries=lists, n_rows=rows)
    test = make_yahoo_like(n_queries=lists // 3, n_rows=rows // 3, random_state=1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    timed(train, **PUBLISHED | {"n_epochs": 0})  # compile
    FairPGRank(n_epochs=1, batch_size=2, random_state=0).fit(train.select(np.arange(4)))
    FairPGRank(n_epochs=1, random_state=0).fit(train.select(np.arange(4)))
    plain = time_plain(train)
    print(f"{train.n_queries} lists, {train.n_rows} documents, {train.n_features} features")
    print(f"plain PyTorch with a loop per sample: {plain * 1e3:.1f} ms per step")
    untrained = held_out_ndcg(timed(train, **PUBLISHED | {"n_epochs": 0})[1], test)
    taken, model = timed(train, gradient="reinforce", **PUBLISHED)
    step = taken / 20 / train.n_queries
    sequential = held_out_ndcg(model, test)
    print(f"one list per step, reinforce, 20 epochs: {taken:.1f} s, {step * 1e6:.0f} us per step")
    print(f"  {plain / step:.0f}x faster per step than the plain script")
    print(f"  test NDCG {untrained:.4f} untrained, {sequential:.4f} trained")
    for name, extra in (("individual", 2.0),):
        other, _ = timed(train, gradient="reinforce", disparity=name, lam=extra,
                         **PUBLISHED | {"n_epochs": 2})  # fmt: skip
        base, _ = timed(train, gradient="reinforce", **PUBLISHED | {"n_epochs": 2})
        print(f"  with {name} disparity: {other / base:.2f}x the time")
    people = np.random.default_rng(0).choice(["a", "b"], train.n_rows)
    from dataclasses import replace

    from equirank.core.given_data import as_ranking_data

    coded = as_ranking_data(y=train.y, sensitive_features=people).sensitive
    grouped = replace(train, sensitive=coded)
    other, _ = timed(grouped, gradient="reinforce", disparity="group", lam=2.0,
                     **PUBLISHED | {"n_epochs": 2})  # fmt: skip
    base, _ = timed(train, gradient="reinforce", **PUBLISHED | {"n_epochs": 2})
    print(f"  with group disparity: {other / base:.2f}x the time")
    taken, model = timed(train, batch_size=64, gradient="plrank",
                         **PUBLISHED | {"learning_rate": 0.01})  # fmt: skip
    ratio = plain * 20 * train.n_queries / taken
    found = held_out_ndcg(model, test)
    print(f"batches of 64, plrank, 20 epochs: {taken:.1f} s, test NDCG {found:.4f}")
    print(f"  {ratio:.0f}x faster than 20 epochs of the plain script")
    for epochs in (1, 2, 3, 5, 7):
        _, model = timed(train, gradient="plrank", **PUBLISHED | {"n_epochs": epochs})
        reached = held_out_ndcg(model, test)
        print(f"one list per step, plrank, {epochs} epochs: test NDCG {reached:.4f}")
        if reached >= sequential:
            print(f"  as good as reinforce after 20: {epochs / 20:.2f}x the steps")
            break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    features = train.X.nbytes / 2**20
    print(
        f"peak memory {peak:.0f} MB, {(peak - before) / features:.2f}x the features without input"
    )


def gpu():
    import torch

    train = make_yahoo_like()
    test = make_yahoo_like(n_queries=6983, n_rows=165660, random_state=1)
    print(torch.cuda.get_device_name(), f"torch {torch.__version__}")
    for batch, rate, gradient in (
        (1024, 0.02, "plrank"), (1024, 0.02, "reinforce"), (256, 0.01, "plrank"),
        (2048, 0.03, "plrank"),
    ):  # fmt: skip
        params = PUBLISHED | {"engine": "torch", "device": "cuda", "batch_size": batch}
        params |= {"gradient": gradient, "learning_rate": rate}
        from equirank.core.random import as_seed
        from equirank.rankers.policy.rewards import rewards
        from equirank.rankers.policy.torch_engine import TorchEngine

        settings = {"lam": 0.0, "seed": as_seed(0), "mlp": False, "layers": (), "n_jobs": 1}
        settings |= {"baseline": "leave_one_out", **params}
        reward = rewards(train, "ndcg", None, "relevance", None, None)
        for _ in ("warm-up", "measured"):
            engine = TorchEngine(train, reward, settings)
            torch.cuda.synchronize()
            curve, begin, spent = [], time.perf_counter(), 0.0
            for epoch in range(20):
                for _ in engine.epoch(epoch):
                    pass
                torch.cuda.synchronize()
                spent += time.perf_counter() - begin
                curve.append(_ndcg(engine, test))
                begin = time.perf_counter()
        floor = 20 * 2 * engine.X.nbytes / 4.3e12
        print(f"batch {batch}, {gradient}: 20 epochs {spent:.3f} s "
              f"(reading the features twice per epoch takes {floor:.4f} s at 4.3 TB/s: "
              f"{spent / floor:.0f}x)")  # fmt: skip
        print("  test NDCG by epoch:", " ".join(f"{value:.4f}" for value in curve))


def _ndcg(engine, test):
    metric = parse_metric("NDCG")
    ranking = Ranking.from_scores(test, test.to_original(engine.scores(test.X)))
    return float(metric.summarize(metric.per_query(ranking))[0])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--gpu", action="store_true")
    given = parser.parse_args()
    if given.gpu:
        gpu()
    else:
        cpu(given.share)
