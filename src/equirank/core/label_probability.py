"""Probability of each group for each row, from all that is known of the labels."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kernels.segments import sort_within, tie_blocks
from .attribute import Attribute, CheckedLabels, LabelError
from .data import RankingData
from .errors import DataError, EquirankWarning, outer_stacklevel

__all__ = [
    "LEAST_CORRECTED",
    "GroupProbability",
    "bands_of",
    "depth_by_value",
    "group_memberships",
    "group_probability",
    "training_memberships",
    "warn_of_little_information",
]

#: Bands of a list, from its top to its end.
N_BANDS = 10
#: Most steps of expectation and maximisation, and the change of a share that ends them.
EM_STEPS, EM_CHANGE = 1000, 1e-9


@dataclass(frozen=True, eq=False)
class GroupProbability:
    """The probability of each group for each stored row, and what it rests on.

    Attributes
    ----------
    table : ndarray of shape (rows, groups)
        Numbers in [0, 1]; rows sum to 1. A label that is known or verified has 1 and 0.
    source : {"labels", "probabilities", "errors", "checks", "bands"}
        Known labels alone; given probabilities; labels with known errors of recording; recorded
        labels and a checked sample; the labels of other people at the same depth of a list.
    informedness : float
        Smallest J = sensitivity + specificity - 1, over the groups, of naming the most probable
        group; with known errors of recording that of the recorded label.
    """

    table: np.ndarray
    source: str
    informedness: float

    @property
    def certain(self) -> bool:
        """Whether every probability is 0 or 1."""
        return bool(((self.table == 0.0) | (self.table == 1.0)).all())


#: J below which training on uncertain groups is warned of.
LEAST_INFORMED = 0.6


def warn_of_little_information(owner: str, found: GroupProbability) -> None:
    """Warn if labels tell too little for fair training, and name re-ranking.

    Examples
    --------
    >>> import warnings
    >>> guess = GroupProbability(np.array([[0.5, 0.5]]), "probabilities", 0.1)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_of_little_information("FairReduction", guess)
    >>> "sensitivity + specificity - 1 is 0.10" in str(caught[0].message)
    True
    """
    if found.informedness < LEAST_INFORMED:
        warnings.warn(
            f"the labels that {owner} trains on tell little of the groups: sensitivity + "
            f"specificity - 1 is {found.informedness:.2f}, below {LEAST_INFORMED:g}. Fairness in "
            "training can then increase the gap; re-ranking with labels='chance' is more robust. "
            "Choose among settings on lists with verified labels",
            EquirankWarning,
            stacklevel=outer_stacklevel(),
        )


def depth_by_value(value: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return how deep each row is in its list if sorted by value, from 0 (top) to 1; ties alike.

    Examples
    --------
    >>> depth_by_value(np.array([1.0, 3.0, 3.0, 0.0]), np.array([0, 4]))
    array([0.625, 0.25 , 0.25 , 0.875])
    """
    order = sort_within(np.asarray(value, dtype=np.float64), offsets)
    lo, hi = tie_blocks(np.asarray(value)[order], offsets)
    at = np.arange(len(order), dtype=np.float64)
    middle = at + 0.5 if lo is None or hi is None else (lo + hi) / 2.0
    sizes = np.diff(offsets)
    depth = np.empty(len(order))
    depth[order] = (middle - np.repeat(offsets[:-1], sizes)) / np.repeat(sizes, sizes)
    return depth


def bands_of(depth: np.ndarray) -> np.ndarray:
    """Return the tenth of its list that each row is in, from its depth.

    Unknown people are like known ones of their tenth.
    """
    return np.minimum((depth * N_BANDS).astype(np.int64), N_BANDS - 1)


def group_probability(
    data: RankingData, by: Any, owner: str, depth: np.ndarray, *, impute: bool = False
) -> GroupProbability:
    """Return the probability of each group for each row.

    A recorded label with known errors becomes its posterior: ``P(g | band, b)`` is proportional to
    ``P(g | band) M[g, b]``, where the shares of the groups in a tenth of the list are the most
    likely ones, with one person at the overall shares added. Recorded labels with a checked sample
    take the shares of the verified groups among those recorded alike in the same tenth. Verified
    labels count as known.

    Parameters
    ----------
    data : RankingData
        Data with the attribute.
    by : str, tuple of str or None
        The attribute.
    owner : str
        Who needs it, for messages.
    depth : ndarray
        How deep each row is in its list, from 0 to 1; it chooses the tenth.
    impute : bool
        Give rows of which nothing is known the shares of the others in their tenth, which assumes
        that labels are missing at random there; otherwise such a row is an error.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> sex = {"sex": ["f", None, "m"], "sex[f]": [1.0, 0.3, 0.0], "sex[m]": [0.0, 0.7, 1.0]}
    >>> data = as_ranking_data(score=[3, 2, 1], sensitive_features=sex)
    >>> found = group_probability(data, None, "this example", np.array([0.2, 0.5, 0.8]))
    >>> found.table.tolist(), found.source
    ([[1.0, 0.0], [0.3, 0.7], [0.0, 1.0]], 'probabilities')
    """
    attribute = data.attribute(by)
    band = bands_of(depth)
    informed, source = None, "labels"
    if attribute.error is not None:
        table, source = _posterior(attribute, attribute.error, band), "errors"
        informed = attribute.error.informedness
    elif attribute.probability is not None:
        table, source = np.array(attribute.probability), "probabilities"
    elif attribute.checked is not None:
        table, source = _from_checks(attribute, attribute.checked, band), "checks"
    else:
        table = _one_hot(attribute.codes, len(attribute.categories))
        table[attribute.codes < 0] = np.nan
    if attribute.checked is not None:
        verified = attribute.checked.codes >= 0
        table[verified] = _one_hot(attribute.checked.codes[verified], table.shape[1])
    lacking = np.isnan(table).any(axis=1)
    if lacking.any():
        if not impute:
            _refuse(data, by, owner, lacking)
        table[lacking] = _band_shares(table[~lacking], band[~lacking])[band[lacking]]
        source = "bands" if source == "labels" else source
    return GroupProbability(table, source, _informedness(table) if informed is None else informed)


#: J below which labels with errors are not corrected.
LEAST_CORRECTED = 0.2


def group_memberships(
    data: RankingData, by: Any, owner: str, depth: np.ndarray
) -> GroupProbability:
    """Return memberships of the groups whose expectation is the true group, possibly negative.

    A label b that was recorded with errors M has the memberships ``(M^-1)[b, g]``; a checked sample
    adds ``(C / pi) (z - a)`` to whatever is known otherwise. Probabilities, and the shares of
    people at the same depth for unknown labels, are taken as they are. Sums over pairs of people
    weighted by these memberships are then right on average. The parameters are those of
    `group_probability`.

    Examples
    --------
    >>> from equirank import LabelError, as_ranking_data
    >>> error = {"sex": LabelError([[0.9, 0.1], [0.1, 0.9]])}
    >>> data = as_ranking_data(score=[2, 1], sensitive_features={"sex": ["f", "m"]},
    ...                        label_error=error)
    >>> group_memberships(data, "sex", "this example", np.array([0.0, 0.0])).table.round(3)
    array([[ 1.125, -0.125],
           [-0.125,  1.125]])
    """
    found = group_probability(data, by, owner, depth, impute=True)
    attribute, table = data.attribute(by), np.array(found.table)
    if attribute.error is not None:
        if found.informedness < LEAST_CORRECTED:
            raise DataError(
                f"{owner} cannot correct labels that tell so little: sensitivity + specificity - 1 "
                f"is {found.informedness:.2f}, and at least {LEAST_CORRECTED:g} is needed"
            )
        known = attribute.codes >= 0
        inverse = np.linalg.inv(attribute.error.matrix)
        stratum = np.asarray(attribute.error.stratum, dtype=np.int64)
        table[known] = inverse[stratum[known], attribute.codes[known]]
    elif found.source == "checks":
        known = attribute.codes >= 0
        table[known] = _one_hot(attribute.codes[known], table.shape[1])
    elif attribute.checked is not None and attribute.probability is not None:
        given = ~np.isnan(attribute.probability).any(axis=1)
        table[given] = attribute.probability[given]
    if attribute.checked is not None:
        seen, rate = attribute.checked.codes >= 0, attribute.checked.rate
        truth = _one_hot(attribute.checked.codes[seen], table.shape[1])
        table[seen] += (truth - table[seen]) / rate[seen, None]
    return GroupProbability(table, found.source, found.informedness)


def training_memberships(data: RankingData, by: Any, owner: str) -> GroupProbability:
    """Return `group_memberships` at the depth of a training list, which is that by relevance."""
    return group_memberships(data, by, owner, depth_by_value(np.asarray(data.y), data.offsets))


def _one_hot(codes: np.ndarray, n_groups: int) -> np.ndarray:
    return (codes[:, None] == np.arange(n_groups)).astype(np.float64)


def _refuse(data: RankingData, by: Any, owner: str, lacking: np.ndarray) -> None:
    name = " & ".join(data.sensitive if by is None else [by] if isinstance(by, str) else by)
    _, row = data.place(int(lacking.argmax()))
    raise DataError(
        f"{owner} needs a label or probabilities of the groups of every row, and nothing is known "
        f"of {name} in row {row} ({int(lacking.sum())} of {data.n_rows} rows); add columns such as "
        f"{name}[group] with probabilities, or leave these rows out"
    )


def _band_shares(table: np.ndarray, band: np.ndarray) -> np.ndarray:
    """Return the share of each group in each band, with one person at the overall shares added."""
    if len(table) == 0:
        raise DataError("a label must be known in at least one row, and none is")
    overall = table.mean(axis=0)
    sums = np.zeros((N_BANDS, table.shape[1]))
    np.add.at(sums, band, table)
    return (sums + overall) / (np.bincount(band, minlength=N_BANDS) + 1.0)[:, None]


def _posterior(attribute: Attribute, error: LabelError, band: np.ndarray) -> np.ndarray:
    """Return the posterior of each row, given what was recorded, its stratum and its band."""
    n_groups = len(attribute.categories)
    stratum = np.asarray(error.stratum, dtype=np.int64)
    cell = stratum * (n_groups + 1) + attribute.codes  # an unknown label is the last of a stratum
    cell = np.where(attribute.codes < 0, stratum * (n_groups + 1) + n_groups, cell)
    matrix = np.asarray(error.matrix)
    nothing = np.ones((len(matrix), 1, n_groups))
    likelihood = np.concatenate([matrix.transpose(0, 2, 1), nothing], axis=1)
    likelihood = likelihood.reshape(-1, n_groups)
    counts = np.zeros((N_BANDS, len(likelihood)))
    np.add.at(counts, (band, cell), 1.0)
    even = np.full((1, n_groups), 1.0 / n_groups)
    overall = _shares(counts.sum(axis=0, keepdims=True), likelihood, even, 0.0)
    share = _shares(counts, likelihood, np.repeat(overall, N_BANDS, axis=0), 1.0)
    return _given(likelihood, share)[band, cell]


def _given(likelihood: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the posterior of each cell at the shares of the groups of each band."""
    joint = likelihood * share[:, None]
    total = joint.sum(axis=2, keepdims=True)
    return np.where(total > 0, joint / np.where(total > 0, total, 1.0), share[:, None])


def _shares(
    counts: np.ndarray, likelihood: np.ndarray, start: np.ndarray, people: float
) -> np.ndarray:
    """Return the most likely shares of the groups, with ``people`` at the first shares added."""
    share = start
    for _ in range(EM_STEPS):
        total = np.einsum("bc,bcg->bg", counts, _given(likelihood, share)) + people * start
        before, share = share, total / np.maximum(total.sum(axis=1, keepdims=True), 1e-300)
        if np.abs(share - before).max() < EM_CHANGE:
            break
    return share


def _from_checks(attribute: Attribute, checked: CheckedLabels, band: np.ndarray) -> np.ndarray:
    """Return the shares of verified groups among rows recorded alike, in the band of each row."""
    n_groups = len(attribute.categories)
    seen = checked.codes >= 0
    weight = np.where(seen, 1.0 / checked.rate, 0.0)
    truth = _one_hot(checked.codes, n_groups) * weight[:, None]
    overall = truth.sum(axis=0) / weight.sum()
    table = np.empty((len(seen), n_groups))
    for code in range(-1, n_groups):
        rows = attribute.codes == code
        alike = _smoothed(truth[rows], weight[rows], seen[rows], overall)
        for b in range(N_BANDS):
            here = rows & (band == b)
            table[here] = _smoothed(truth[here], weight[here], seen[here], alike)
    return table


def _smoothed(
    truth: np.ndarray, weight: np.ndarray, seen: np.ndarray, prior: np.ndarray
) -> np.ndarray:
    """Return the weighted shares of groups, with one person at prior shares added."""
    n, total = float(seen.sum()), float(weight.sum())
    share = truth.sum(axis=0) / total if total > 0 else prior
    return np.asarray((n * share + prior) / (n + 1.0))


def _informedness(table: np.ndarray) -> float:
    """Return the smallest expected J of naming the most probable group, over groups present."""
    named = _one_hot(table.argmax(axis=1), table.shape[1])
    inside, outside = table.sum(axis=0), (1.0 - table).sum(axis=0)
    there = (inside > 0) & (outside > 0)
    if not there.any():
        return 1.0
    right = (named * table).sum(axis=0)[there] / inside[there]
    wrong = (named * (1.0 - table)).sum(axis=0)[there] / outside[there]
    return float((right - wrong).min())
