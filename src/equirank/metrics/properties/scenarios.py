"""Scenario pairs: a fair and a bad version of the same lists that differ in one property only."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError, suggest
from ...core.given_data import as_ranking_data
from ...core.params import Integer, check_params
from ...core.random import as_seed, generator

__all__ = ["PROTECTED", "SCENARIOS", "scenario_names", "scenario_pair"]


#: Length of a list, number of protected items, standard deviation of the noise in positions.
N, M, NOISE = 60, 20, 2.0
#: The name of the protected group in the attribute ``group``.
PROTECTED = "protected"


class Listing(NamedTuple):
    """One list with items by merit: position, protected or not, and second attribute."""

    position: np.ndarray
    protected: np.ndarray
    part: np.ndarray


Pair = tuple[Listing, Listing]


def _smooth_distribution(rng: np.random.Generator) -> Pair:
    """Protected positions even, or a few at the top and a cluster below the middle; same mean."""
    few = rng.choice(np.arange(1, 10), 6, replace=False)
    cluster = rng.choice(np.arange(33, 51), M - 6, replace=False)
    positions = _shift_to_sum(rng, np.concatenate([few, cluster]), M * (N + 1) // 2)
    return _relabelled(rng, positions)


def _bimodality(rng: np.random.Generator) -> Pair:
    """Protected positions even, or half at each end; same mean."""
    return _relabelled(rng, _mirrored(rng.choice(np.arange(1, 15), M // 2, replace=False)))


def _clustering(rng: np.random.Generator) -> Pair:
    """Protected positions even, or in four evenly spread clusters; same mean."""
    starts = np.array([1, 16]) + rng.integers(0, 11, size=2)
    return _relabelled(rng, _mirrored((starts[:, None] + np.arange(5)).ravel()))


def _tokenisation(rng: np.random.Generator) -> Pair:
    """Protected ranked by merit, or their better half raised and their other half lowered."""
    protected, part, noise = _mask(_even(rng)), _parts(rng), _noise(rng)
    shift = np.zeros(N)
    shift[np.flatnonzero(protected)] = np.repeat([-8.0, 8.0], M // 2)
    return (
        Listing(_ranked(noise), protected, part),
        Listing(_ranked(noise + shift), protected, part),
    )


def _noisy_ranking(rng: np.random.Generator) -> Pair:
    """Equal noise for everyone, or five times as much for the protected."""
    protected, part, noise = _mask(_even(rng)), _parts(rng), _noise(rng)
    return (
        Listing(_ranked(noise), protected, part),
        Listing(_ranked(np.where(protected, 5.0 * noise, noise)), protected, part),
    )


def _arbitrary_treatment(rng: np.random.Generator) -> Pair:
    """Positions of the protected by merit, or the same positions assigned at random."""
    protected, part = _mask(_even(rng)), _parts(rng)
    position = _ranked(_noise(rng))
    shuffled = position.copy()
    shuffled[protected] = rng.permutation(position[protected])
    return Listing(position, protected, part), Listing(shuffled, protected, part)


def _class_asymmetry(rng: np.random.Generator) -> Pair:
    """Lower a third of the list by ten positions: of both groups equally, or all protected."""
    dropped = _mask(_even(rng))
    position, part = _ranked(_noise(rng) + 10.0 * dropped), _parts(rng)
    hit = round(M * M / N)
    alike = np.zeros(N, dtype=bool)
    alike[rng.choice(np.flatnonzero(dropped), hit, replace=False)] = True
    alike[rng.choice(np.flatnonzero(~dropped), M - hit, replace=False)] = True
    return Listing(position, alike, part), Listing(position, dropped, part)


def _biased_ground_truth(rng: np.random.Generator) -> Pair:
    """Draw recorded merit independent of the group, or ten positions too low for the protected."""
    protected, part = _mask(_even(rng)), _parts(rng)
    position = _ranked(_noise(rng))
    recorded = _ranked(10.0 * protected)
    lowered = np.zeros(N, dtype=bool)
    lowered[recorded[protected] - 1] = True
    return Listing(position, protected, part), Listing(position, lowered, part)


def _gerrymandering(rng: np.random.Generator) -> Pair:
    """Half of each group lowered and half raised: any half, or one part of each, crosswise."""
    protected, part = _mask(_even(rng)), _parts(rng)
    position = _ranked(_noise(rng) + np.where(protected ^ part, 8.0, -8.0))
    mixed = part.copy()
    for group in (protected, ~protected):
        mixed[group] = rng.permutation(part[group])
    return Listing(position, protected, mixed), Listing(position, protected, part)


#: Every property with the generator of one list of its pair.
SCENARIOS: dict[str, Callable[[np.random.Generator], Pair]] = {
    "smooth distribution": _smooth_distribution,
    "tokenisation": _tokenisation,
    "bimodality": _bimodality,
    "clustering": _clustering,
    "noisy ranking": _noisy_ranking,
    "arbitrary treatment": _arbitrary_treatment,
    "class asymmetry": _class_asymmetry,
    "biased ground truth": _biased_ground_truth,
    "gerrymandering": _gerrymandering,
}


def scenario_names() -> list[str]:
    """Return the properties that have a pair of scenarios.

    Examples
    --------
    >>> from equirank.metrics.properties import scenario_names
    >>> scenario_names()[:3]
    ['smooth distribution', 'tokenisation', 'bimodality']
    """
    return list(SCENARIOS)


def scenario_pair(
    name: str, *, n_lists: int = 4, random_state: Any = 0
) -> tuple[RankingData, RankingData]:
    """Generate the fair and the bad version of lists that differ in one property only.

    Each list has 60 items, 20 of them protected. ``y`` decreases evenly from 2 to 0 with merit, so
    that half the items reach 1; ``score`` is the order, without ties. The attribute ``group`` is
    ``protected`` or ``other``; ``part`` is a second attribute that only gerrymandering uses. In all
    but three pairs, the order and the relevance are the same in both versions and only labels
    differ; for tokenisation, noisy ranking and arbitrary treatment, the labels are the same and the
    protected move. The order follows merit exactly in the pairs about the shape of positions
    (smooth distribution, bimodality, clustering); elsewhere noise moves items by about two
    positions. Each list has its own generator, so a longer run begins with the lists of a shorter
    one.

    Parameters
    ----------
    name : str
        One of `scenario_names`.
    n_lists : int
        Number of lists in each version.
    random_state : int, generator or None
        Source of randomness.

    Returns
    -------
    fair, bad : RankingData

    Examples
    --------
    >>> from equirank.metrics import exposure_gap
    >>> from equirank.metrics.properties import scenario_pair
    >>> fair, bad = scenario_pair("class asymmetry", n_lists=1)
    >>> bad
    RankingData(60 rows, 1 query, y, score, group (2 groups), part (2 groups))
    >>> gaps = [exposure_gap(v.score, v.sensitive["group"].codes) for v in (fair, bad)]
    >>> gaps[0] < gaps[1]
    True
    """
    if name not in SCENARIOS:
        raise DataError(
            f"name must be one of the scenarios {', '.join(SCENARIOS)}, "
            f"got {name!r}{suggest(str(name), list(SCENARIOS))}"
        )
    check_params("scenario_pair", {"n_lists": n_lists}, {"n_lists": Integer(1)})
    seed, key = as_seed(random_state), list(SCENARIOS).index(name)
    pairs = [SCENARIOS[name](generator(seed, key, at)) for at in range(n_lists)]
    fair, bad = (_as_data([pair[version] for pair in pairs]) for version in (0, 1))
    return fair, bad


def _as_data(listings: list[Listing]) -> RankingData:
    position = np.concatenate([listing.position for listing in listings])
    protected = np.concatenate([listing.protected for listing in listings])
    part = np.concatenate([listing.part for listing in listings])
    return as_ranking_data(
        None,
        np.tile(2.0 - (2.0 * np.arange(N) + 1.0) / N, len(listings)),
        qid=np.repeat(np.arange(len(listings)), N),
        score=1.0 - (position - 0.5) / N,
        sensitive_features={
            "group": np.where(protected, PROTECTED, "other"),
            "part": np.where(part, "x", "y"),
        },
    )


def _relabelled(rng: np.random.Generator, bad: np.ndarray) -> Pair:
    """Return the order by merit twice: with protected positions even, and as given."""
    position, part = np.arange(1, N + 1), _parts(rng)
    fair, worse = (np.isin(position, chosen) for chosen in (_even(rng), bad))
    return Listing(position, fair, part), Listing(position, worse, part)


def _noise(rng: np.random.Generator) -> np.ndarray:
    """Draw the noise of each item, in positions."""
    return NOISE * rng.standard_normal(N)


def _ranked(shift: np.ndarray) -> np.ndarray:
    """Return the position of each item by merit after a shift in positions."""
    return np.argsort(np.argsort(np.arange(1, N + 1) + shift, kind="stable")) + 1


def _even(rng: np.random.Generator) -> np.ndarray:
    """Draw one position of every N/M, mirrored so that the mean is that of the list."""
    width = N // M
    return _mirrored(np.arange(M // 2) * width + rng.integers(1, width + 1, size=M // 2))


def _mirrored(upper: np.ndarray) -> np.ndarray:
    return np.concatenate([upper, N + 1 - upper])


def _mask(positions: np.ndarray) -> np.ndarray:
    return np.isin(np.arange(1, N + 1), positions)


def _parts(rng: np.random.Generator) -> np.ndarray:
    """Draw the second attribute: a fair coin for each item."""
    return rng.random(N) < 0.5


def _shift_to_sum(rng: np.random.Generator, positions: np.ndarray, total: int) -> np.ndarray:
    """Move random positions by one, without collisions, until they have this sum."""
    positions = positions.copy()
    while (missing := total - int(positions.sum())) != 0:
        at, step = rng.integers(len(positions)), 1 if missing > 0 else -1
        moved = positions[at] + step
        if 1 <= moved <= N and moved not in positions:
            positions[at] = moved
    return positions
