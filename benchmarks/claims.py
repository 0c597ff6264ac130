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
from statistics import NormalDist
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from equirank import AuditResult, DataError, Ranking, Table, as_ranking_data
from equirank.auditing.audit_plan import make_plan
from equirank.auditing.compared import Other, compare_groups
from equirank.auditing.measured import measure_all, parse_wanted
from equirank.auditing.notes import _attribute, _decision
from equirank.auditing.tables.gap_tables import gaps_table, metrics_table
from equirank.core.outcomes import DecisionRule
from equirank.core.shuffles import own_p, shuffle_labels
from equirank.metrics import NDCG

GATES = ("any first selected < 0.8", "any first above < 0.4", "any first exposure < 0.8")
NULL_GATES = ("any first selected < 1", "any first above < 0.5", "any first positions > 0")
METRIC_GATES = (
    "RND@10 > 0.3",
    "AdverseImpactRatio@5 < 0.8",
    "ExposureGap > 0.1",
    "RND@10.low > 0.2",
)
METRIC_NULL_GATES = ("RND@10 > 0", "AdverseImpactRatio@5 < 1", "ExposureGap > 0", "RND@10.low > 0")


@dataclass(frozen=True)
class Report:
    """What one simulated report said."""

    finding: bool
    fired: bool
    fired_null: bool
    metric: bool
    metric_null: bool


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
    found["6 NDCG by group"] = lambda rng: relevant(rng, bands=False) | {"_gains": [NDCG(k=10)]}
    found["7 recorded decisions"] = recorded
    found["7 quotas"] = quotas
    found["7 a fair stage after an unfair one"] = staged
    found["7 scores"] = lambda rng: lottery(rng, lists=6) | {"_scored": True}
    found["8 random swaps"] = lambda rng: changed(rng, swaps=True)
    found["8 one promoted"] = lambda rng: changed(rng, swaps=False)
    found["9 10 short lists, 60 long ones"] = lambda rng: periods(rng, (10, 10), (60, 80))
    found["9 20 lists, 40 lists"] = lambda rng: periods(rng, (20, 25), (40, 30))
    found["9 few lists, decisions"] = lambda rng: periods(rng, (4, 120), (6, 90))
    found["10 a reference"] = referred
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


def unknown(rng: np.random.Generator, attributes: int = 2) -> dict[str, Any]:
    """Draw labels of which a fifth is unknown, more among those ranked first."""
    given = lottery(rng, lists=10, attributes=attributes)
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


def recorded(rng: np.random.Generator, attributes: int = 2) -> dict[str, Any]:
    """Draw decisions at random, some of them not recorded, at rates that vary between lists."""
    given = lottery(rng, lists=8, groups=3, attributes=attributes)
    rate = rng.uniform(0.05, 0.5, 8)[given["qid"]]
    hired = np.where(rng.random(len(rate)) < rate, "yes", "no").astype(object)
    hired[rng.random(len(rate)) < 0.1] = None
    del given["score"]
    return given | {"outcomes": {"hired": hired}, "_rule": DecisionRule(selected="hired")}


def quotas(rng: np.random.Generator) -> dict[str, Any]:
    """Draw how many of each list are selected."""
    given = lottery(rng, lists=10, groups=3)
    openings = rng.integers(0, 8, 10)[given["qid"]]
    return given | {"outcomes": {"openings": openings}, "_rule": DecisionRule(quota="openings")}


def staged(rng: np.random.Generator) -> dict[str, Any]:
    """Draw a fair decision about those who passed an unfair one; the second alone is a lottery."""
    given = lottery(rng, lists=6, groups=3)
    first = given["sensitive_features"]["first"] == "g0"
    screened = rng.random(len(first)) < np.where(first, 0.35, 0.75)
    hired = screened & (rng.random(len(first)) < 0.4)
    del given["score"]
    rule = DecisionRule(stages=("screened", "hired"))
    return given | {
        "outcomes": {"screened": screened, "hired": hired},
        "_rule": rule,
        "_null": lambda claim: claim.scope["stage"] == "hired" and not claim.scope.get("overall"),
    }


def periods(
    rng: np.random.Generator, now: tuple[int, int], before: tuple[int, int]
) -> dict[str, Any]:
    """Draw two files of different lists, with the same effect on one group."""
    share = rng.uniform(0.3, 0.6)

    def one(lists: int, length: int, start: int) -> dict[str, Any]:
        n = lists * length
        group = np.where(rng.random(n) < share, "g0", "g1")
        score = rng.normal(size=n) - 0.4 * (group == "g0")
        qid = start + np.repeat(np.arange(lists), length)
        return {"qid": qid, "score": score, "sensitive_features": {"first": group}}

    k = max(now[1] // 4, 2)
    return one(*now, 0) | {
        "_unpaired": one(*before, 1000),
        "_rule": DecisionRule(k=k),
        "_blocks": ("iii",),
    }


def referred(rng: np.random.Generator) -> dict[str, Any]:
    """Draw four groups, one of them ranked lower; another one is equal to the reference."""
    given = lottery(rng, lists=10, groups=4)
    group = given["sensitive_features"]["first"]
    given["score"] = given["score"] - 0.3 * (group == "g2") - 0.15 * (group == "g3")
    return given | {"_reference": "first=g0", "_null": lambda claim: claim.group == "g1"}


def fires(result: AuditResult, gates: tuple[str, ...]) -> bool:
    """Return whether a gate fires; one that is refused because of unknown labels does not."""
    try:
        return result.fails(gates)
    except DataError as error:
        if "refused" not in str(error):
            raise
        return False


def report(
    make: Callable[[np.random.Generator], dict[str, Any]],
    seed: int,
    n_permutations: int = 1999,
    n_boot: int = 500,
    metrics: bool = True,
) -> Report:
    """Return what one report says; ``metrics`` includes the gates about metrics."""
    rng = np.random.default_rng(seed)
    given = make(rng)
    blocks, after = given.pop("_blocks", None), given.pop("_after", None)
    null, other = given.pop("_null", None), given.pop("_unpaired", None)
    settings: dict[str, Any] = {
        "rule": given.pop("_rule", DecisionRule(k=5)),
        "reference": given.pop("_reference", None),
        "scored": given.pop("_scored", False),
        "gains": given.pop("_gains", ()),
        "protected": None,
        "cross": True,
        "level": 0.95,
        "n_boot": n_boot,
        "n_permutations": n_permutations,
        "seed": seed,
        "ordered": "score" in given,
    }
    data = as_ranking_data(missing_sensitive="unknown", **given)
    ranking = Ranking.from_scores(data, given.get("score", np.zeros(data.n_rows)))
    before = None
    if after is not None:
        before, ranking = ranking, Ranking.from_scores(data, after)
    plan = make_plan(ranking, **settings)
    second = None if other is None else make_plan(as_ranking_data(**other).ranking(), **settings)
    other = None if before is None else Other("before", before)
    claims = compare_groups(plan, other, second).claims
    lottery_claims = [
        claim
        for claim in claims
        if (blocks is None or claim.block in blocks) and (null is None or null(claim))
    ]
    facts = {
        "attributes": [_attribute(plan, each) for each in plan.audited],
        "decisions": [_decision(plan, each) for each in plan.decisions],
        "n_permutations": plan.n_permutations,
        "n_boot": plan.n_boot,
    }
    # A list with one group only has no comparisons, which a gate refuses.
    fair = blocks is None and null is None and plan.ordered
    fair = fair and any(claim.quantity == "selected" for claim in claims)
    wanted: list[tuple[str, ...]] = [GATES, NULL_GATES]
    tables = {"gaps": Table({}), "metrics": Table({})}
    if fair and metrics:
        wanted += [METRIC_GATES, METRIC_NULL_GATES]
        named = parse_wanted(["RND@10", "AdverseImpactRatio@5", "ExposureGap"])
        measured = measure_all(plan, named, only=True)
        tables = {"gaps": gaps_table(measured), "metrics": metrics_table(measured)}
    result = AuditResult(facts, claims, tables)
    fired = [fair and fires(result, gates) for gates in wanted]
    fired += [False] * (4 - len(fired))
    return Report(any(claim.status == "finding" for claim in lottery_claims), *fired)


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
    shift = np.sqrt(2.0) * NormalDist().inv_cdf(min(max(wanted, 1e-6), 1 - 1e-6))
    claim = _position_claim(qid, noise + np.where(group == "g0", shift, 0.0), group, seed)
    truth = fair.detectable
    return claim.status == "finding", bool(claim.low <= truth <= claim.high)


def _position_claim(qid: np.ndarray, score: np.ndarray, group: np.ndarray, seed: int) -> Any:
    claims = _claims(qid, score, group, seed)
    return next(claim for claim in claims if claim.quantity == "position")


def _claims(qid: np.ndarray, score: np.ndarray, group: np.ndarray, seed: int, y: Any = None) -> Any:
    data = as_ranking_data(qid=qid, score=score, y=y, sensitive_features={"first": group})
    plan = make_plan(
        data.ranking(),
        protected="first=g0",
        rule=DecisionRule(k=5),
        cross=True,
        level=0.95,
        n_boot=500,
        n_permutations=1999,
        seed=seed,
    )
    return compare_groups(plan).claims


#: Tests of positions given continuous relevance: that of the library, and others.
GIVEN_TESTS = ("bands", "residuals", "cubic", "blocks")


def given_relevance(kind: str, lists: int, effect: float, seed: int) -> tuple[float, ...]:
    """Return the p-values of `GIVEN_TESTS`, about one group given its relevance.

    ``residuals`` multiplies, in each list, the residuals of position and of the group, both on the
    linear trend of the relevance rank; ``cubic`` on a cubic trend. Their sum over the root of the
    sum of squares is compared with its values after random changes of the lists' signs. ``blocks``
    shuffles labels among three neighbours in relevance, after a cubic trend.
    """
    rng = np.random.default_rng([seed, lists])
    sizes = rng.integers(15, 40, lists)
    qid, n = np.repeat(np.arange(lists), sizes), int(sizes.sum())
    inside = rng.random(n) < rng.uniform(0.3, 0.7)
    if kind != "threshold":
        latent = 0.5 * (inside - inside.mean()) / inside.std() + rng.normal(0, np.sqrt(0.75), n)
        score = latent + (0.5 if kind == "half noise" else 1.0) * rng.normal(size=n)
    else:  # the group begins at a threshold of relevance, and scores level off
        latent = rng.normal(size=n)
        inside = rng.random(n) < np.where(latent > 0.3, 0.85, 0.2)
        score = np.tanh(2.0 * latent) + rng.normal(size=n)
    score = score - effect * inside
    group = np.where(inside, "g0", "g1")
    claims = _claims(qid, score, group, seed, y=latent - latent.min())
    bands = next((claim.p for claim in claims if claim.quantity == "merit"), np.nan)
    place, rank = (_list_ranks(values, qid) / sizes[qid] for values in (-score, latent))
    trends = [_residuals(np.stack([place, inside], axis=1), rank, qid, d) for d in (1, 3)]
    products = [np.bincount(qid, trend[:, 0] * trend[:, 1]) for trend in trends]
    blocks = (rank * np.maximum(sizes // 3, 1)[qid]).astype(int)
    found = shuffle_labels(
        qid, blocks, inside.astype(int), np.array([[0, 1]]), trends[1][:, :1], np.array([True]),
        999, seed,
    )  # fmt: skip
    shuffled = own_p(found.z[0], found.draws[:, 0])[0]
    return bands, *(_sign_p(each, rng) for each in products), shuffled


def _list_ranks(values: np.ndarray, qid: np.ndarray) -> np.ndarray:
    """Return ranks from 0 within lists."""
    order = np.lexsort((values, qid))
    ranks = np.empty(len(qid))
    ranks[order] = np.arange(len(qid)) - np.searchsorted(qid, qid)
    return ranks


def _residuals(columns: np.ndarray, rank: np.ndarray, qid: np.ndarray, degree: int) -> np.ndarray:
    """Return columns less their polynomial trend on the rank, list by list."""
    found = np.empty(columns.shape)
    for q in range(qid[-1] + 1):
        rows = slice(*np.searchsorted(qid, [q, q + 1]))
        basis = np.linalg.qr(np.vander(rank[rows] - 0.5, degree + 1))[0]
        found[rows] = columns[rows] - basis @ (basis.T @ columns[rows])
    return found


def _sign_p(products: np.ndarray, rng: np.random.Generator) -> float:
    drawn = np.abs(rng.choice([-1.0, 1.0], (999, len(products))) @ products)
    return (1.0 + (drawn >= abs(products.sum()) - 1e-9).sum()) / 1000.0


#: Shortest and longest list, mean and standard deviation of the effects of lists.
VARYING = {
    "equal lists": ((30, 30), 0.4, 0.0),
    "lengths vary": ((10, 80), 0.4, 0.0),
    "effects vary": ((30, 30), 0.4, 0.5),
    "both vary": ((10, 80), 0.4, 0.5),
}


def coverage(kind: str, lists: int, seed: int) -> tuple[bool, bool]:
    """Does the interval of a position difference cover that of these lists, and of those to come?

    Scores are normal, and the group's are lower by d, which varies between lists: it is ranked
    above someone else with chance Phi(-d / sqrt 2), so the difference of positions in a list of N
    people is N (1/2 - Phi(-d / sqrt 2)) on average.
    """
    (shortest, longest), mean, deviation = VARYING[kind]
    rng = np.random.default_rng([seed, lists])
    sizes = rng.integers(shortest, longest, lists, endpoint=True)
    effect = rng.normal(mean, deviation, lists)
    qid = np.repeat(np.arange(lists), sizes)
    inside = rng.random(len(qid)) < 0.4
    # Both groups are in every list.
    first = np.cumsum(sizes) - sizes
    inside[first], inside[first + 1] = True, False
    score = rng.normal(size=len(qid)) - effect[qid] * inside
    claim = _position_claim(qid, score, np.where(inside, "g0", "g1"), seed)
    low, high = claim.also["positions"][1:3]
    cdf = NormalDist().cdf
    below = np.array([0.5 - cdf(-d / np.sqrt(2.0)) for d in effect])
    to_come = (shortest + longest) / 2.0 * (0.5 - cdf(-mean / np.sqrt(2.0 + deviation**2)))
    return bool(low <= (sizes * below).mean() <= high), bool(low <= to_come <= high)


def main() -> int:
    """Print a table; the exit code is 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    pool = Parallel(n_jobs=options.jobs, batch_size=8)
    runs, bad, every = options.runs, 0, []
    fields = ("finding", "fired", "fired_null", "metric", "metric_null")
    heads = ("findings", "gates", "at 1", "metrics", "at ideal")
    print(f"{'shape':32}" + "".join(f"{head:>10}" for head in heads) + f"   of {runs} reports")
    for name, make in shapes().items():
        if options.only not in name:
            continue
        seeds = np.random.SeedSequence([7, len(name), *name.encode()]).generate_state(runs)
        found = pool(delayed(report)(make, int(seed)) for seed in seeds)
        rates = [np.mean([getattr(each, field) for each in found]) for field in fields]
        every.append(rates)
        limit = 0.05 + 3 * np.sqrt(0.05 * 0.95 / runs)
        bad += max(rates) > limit
        print(f"{name:32}" + "".join(f"{rate:10.4f}" for rate in rates), flush=True)
    if every:
        pooled = np.mean(every, axis=0)
        bad += pooled.max() > 0.055 and runs >= 2000
        print(f"{'pooled':32}" + "".join(f"{rate:10.4f}" for rate in pooled))
    if options.only in "power":
        for lists in (3, 10, 20, 60):
            both = pool(delayed(power)(lists, seed) for seed in range(max(runs // 2, 1)))
            rates = np.mean(both, axis=0)
            print(f"power at detectable, {lists:3} lists {rates[0]:6.3f}   coverage {rates[1]:.3f}")
    if options.only in "given":
        print(f"{'p <= 0.05 given relevance':42}" + "".join(f"{test:>10}" for test in GIVEN_TESTS))
        kinds = ("correlated", 0.0), ("half noise", 0.0), ("threshold", 0.0), ("correlated", 0.45)
        for kind, size in kinds:
            for lists in (1, 3, 10, 20, 60, 200):
                effect = size * np.sqrt(20.0 / lists)
                both = pool(
                    delayed(given_relevance)(kind, lists, effect, seed) for seed in range(runs)
                )
                rates = (np.array(both) <= 0.05).mean(axis=0)
                name = f"{kind}, {lists} lists, effect {effect:.2f}"
                print(f"{name:42}" + "".join(f"{rate:10.3f}" for rate in rates), flush=True)
    if options.only in "coverage":
        print(f"{'coverage of positions':32} {'these lists':>12} {'lists to come':>14}")
        for kind in VARYING:
            for lists in (3, 10, 20, 60):
                both = pool(delayed(coverage)(kind, lists, seed) for seed in range(runs // 2))
                rates = np.mean(both, axis=0)
                print(f"{kind:16} {lists:3} lists       {rates[0]:12.3f} {rates[1]:14.3f}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
