"""False findings, false gates, power and coverage of the claims of an audit, by simulation.

Run ``python benchmarks/claims.py`` (2,000 reports per shape; ``--runs 200 --jobs 2`` for a short
form). A lottery ranks people at random, so every finding is false: the share of reports with a
finding, and of reports in which a gate fires, must be at most 0.065 per shape (5% plus three
standard errors of 2,000 reports) and at most 0.055 over all shapes.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from equirank import Ranking, as_ranking_data
from equirank.auditing.audit_plan import make_plan
from equirank.auditing.compared import compare_groups
from equirank.auditing.gates import judge, read_gate
from equirank.auditing.notes import _attribute

GATES = ("any first selected < 0.8", "any first above < 0.4", "any first exposure < 0.8")
NULL_GATES = ("any first selected < 1", "any first above < 0.5", "any first positions > 0")


@dataclass(frozen=True)
class Report:
    """What one simulated report said."""

    finding: bool
    fired: bool
    fired_null: bool


def shapes() -> dict[str, Callable[[np.random.Generator], dict[str, Any]]]:
    """Return the lotteries, by name; each draws the arguments of one report."""
    found: dict[str, Callable[[np.random.Generator], dict[str, Any]]] = {}
    for lists in (1, 3, 10, 100):
        found[f"1 {lists} lists"] = lambda rng, n=lists: lottery(rng, lists=n)
    for groups in (2, 5, 10):
        found[f"2 {groups} groups, crossed"] = lambda rng, n=groups: lottery(
            rng, lists=10, groups=n, attributes=2
        )
    found["3 five score levels"] = lambda rng: lottery(rng, lists=10, levels=5)
    found["4 shares vary with lengths"] = varying
    found["5 unknown labels"] = unknown
    found["6 relevance, graded"] = lambda rng: relevant(rng, bands=False)
    found["6 relevance, continuous"] = lambda rng: relevant(rng, bands=True)
    found["8 random swaps"] = lambda rng: changed(rng, swaps=True)
    found["8 one promoted"] = lambda rng: changed(rng, swaps=False)
    return found


def lottery(
    rng: np.random.Generator, lists: int, groups: int = 2, attributes: int = 1, levels: int = 0
) -> dict[str, Any]:
    """Draw people of random groups in random order."""
    sizes = rng.integers(15, 40, lists)
    n = int(sizes.sum())
    share = rng.dirichlet(np.full(groups, 5.0))
    names = ("first", "second")[:attributes]
    people = {name: rng.choice([f"g{g}" for g in range(groups)], n, p=share) for name in names}
    score = rng.integers(0, levels, n).astype(float) if levels else rng.random(n)
    return {"qid": np.repeat(np.arange(lists), sizes), "score": score, "sensitive_features": people}


def varying(rng: np.random.Generator) -> dict[str, Any]:
    """Draw lists whose length and share of the group rise together."""
    sizes = np.linspace(12, 90, 12).astype(int)
    share = np.repeat(np.linspace(0.1, 0.7, 12), sizes)
    n = int(sizes.sum())
    people = {"first": np.where(rng.random(n) < share, "g0", "g1")}
    return {
        "qid": np.repeat(np.arange(12), sizes),
        "score": rng.random(n),
        "sensitive_features": people,
    }


def unknown(rng: np.random.Generator) -> dict[str, Any]:
    """Draw labels of which a fifth is unknown, more among those ranked first."""
    given = lottery(rng, lists=10, attributes=2)
    for name, labels in given["sensitive_features"].items():
        missing = rng.random(len(labels)) < 0.05 + 0.3 * given["score"]
        given["sensitive_features"][name] = np.where(missing, None, labels.astype(object))
    return given


def relevant(rng: np.random.Generator, bands: bool) -> dict[str, Any]:
    """Draw relevance correlated with the group, and an order by relevance plus noise."""
    given = lottery(rng, lists=20)
    group = given["sensitive_features"]["first"] == "g0"
    latent = 0.5 * (group - group.mean()) / max(group.std(), 0.1)
    latent = latent + np.sqrt(0.75) * rng.normal(size=len(group))
    y = latent - latent.min() if bands else np.clip(np.round(latent + 2), 0, 4)
    given["score"] = latent if bands else y.astype(float)
    given["score"] = given["score"] + rng.normal(size=len(y))
    return given | {"y": y, "_blocks": ("ii",)}


def changed(rng: np.random.Generator, swaps: bool) -> dict[str, Any]:
    """Draw a second order that differs by random swaps, or by one promoted person per list."""
    given = lottery(rng, lists=int(rng.choice([7, 20, 60])))
    after = given["score"].copy()
    for q in np.unique(given["qid"]):
        rows = np.flatnonzero(given["qid"] == q)
        if swaps:
            for _ in range(3):
                i, j = rng.choice(rows, 2, replace=False)
                after[i], after[j] = after[j], after[i]
        else:
            after[rng.choice(rows)] = 2.0
    return given | {"_after": after, "_blocks": ("iii",)}


def report(
    make: Callable[[np.random.Generator], dict[str, Any]],
    seed: int,
    n_permutations: int = 1999,
    n_boot: int = 500,
) -> Report:
    """Return what one report says."""
    rng = np.random.default_rng(seed)
    given = make(rng)
    blocks = given.pop("_blocks", None)
    after = given.pop("_after", None)
    data = as_ranking_data(missing_sensitive="unknown", **given)
    ranking, before = data.ranking(), None
    if after is not None:
        before = ranking
        ranking = Ranking.from_scores(data, after)
    plan = make_plan(
        ranking,
        protected=None,
        k=5,
        cross=True,
        level=0.95,
        n_boot=n_boot,
        n_permutations=n_permutations,
        seed=seed,
    )
    claims = compare_groups(plan, before).claims
    null = [claim for claim in claims if blocks is None or claim.block in blocks]
    facts = {
        "attributes": [_attribute(each, data.n_rows) for each in plan.audited],
        "ks": list(plan.ks),
        "n_permutations": plan.n_permutations,
        "n_boot": plan.n_boot,
    }
    fired = []
    for gates in (GATES, NULL_GATES):
        outcomes = []
        # A list with one group only has no comparisons, which a gate refuses.
        if not blocks and any(claim.quantity == "selected" for claim in claims):
            outcomes = judge([read_gate(gate) for gate in gates], claims, _none, facts)
        fired.append(any(outcome.fired for outcome in outcomes))
    return Report(any(claim.status == "finding" for claim in null), *fired)


def _none(_: Any) -> list[dict[str, Any]]:
    return []


def power(lists: int, seed: int) -> tuple[bool, bool]:
    """Plant an effect as large as the detectable one: is it found, and does its interval cover?"""
    rng = np.random.default_rng(seed)
    size = 30
    qid = np.repeat(np.arange(lists), size)
    group = np.where(rng.random(lists * size) < 0.4, "g0", "g1")
    noise = rng.normal(size=lists * size)
    fair = _position_claim(qid, noise, group, seed)
    # A shift of the group's scores that lowers it by the detectable number of positions.
    wanted = 0.5 - fair.detectable / size
    from statistics import NormalDist

    shift = np.sqrt(2.0) * NormalDist().inv_cdf(min(max(wanted, 1e-6), 1 - 1e-6))
    claim = _position_claim(qid, noise + np.where(group == "g0", shift, 0.0), group, seed)
    truth = fair.detectable
    return claim.status == "finding", bool(claim.low <= truth <= claim.high)


def _position_claim(qid: np.ndarray, score: np.ndarray, group: np.ndarray, seed: int) -> Any:
    data = as_ranking_data(qid=qid, score=score, sensitive_features={"first": group})
    plan = make_plan(
        data.ranking(),
        protected="first=g0",
        k=5,
        cross=True,
        level=0.95,
        n_boot=500,
        n_permutations=1999,
        seed=seed,
    )
    claims = compare_groups(plan).claims
    return next(claim for claim in claims if claim.quantity == "position")


def main() -> int:
    """Print a table; the exit code is 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    pool = Parallel(n_jobs=options.jobs, batch_size=8)
    runs, bad, every = options.runs, 0, []
    print(f"{'shape':32} {'findings':>9} {'gates':>7} {'gates at 1':>11}   of {runs} reports")
    for name, make in shapes().items():
        if options.only not in name:
            continue
        seeds = np.random.SeedSequence([7, len(name), *name.encode()]).generate_state(runs)
        found = pool(delayed(report)(make, int(seed)) for seed in seeds)
        rates = [
            np.mean([getattr(r, f) for r in found]) for f in ("finding", "fired", "fired_null")
        ]
        every.append(rates)
        limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
        bad += max(rates) > limit
        print(f"{name:32} {rates[0]:9.4f} {rates[1]:7.4f} {rates[2]:11.4f}", flush=True)
    if every:
        pooled = np.mean(every, axis=0)
        bad += pooled.max() > 0.055 and runs >= 2000
        print(f"{'pooled':32} {pooled[0]:9.4f} {pooled[1]:7.4f} {pooled[2]:11.4f}")
    if options.only in "power":
        for lists in (3, 10, 20, 60):
            both = pool(delayed(power)(lists, seed) for seed in range(max(runs // 2, 1)))
            rates = np.mean(both, axis=0)
            print(f"power at detectable, {lists:3} lists {rates[0]:6.3f}   coverage {rates[1]:.3f}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
