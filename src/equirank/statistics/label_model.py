"""What a label could be: memberships in a group, and draws of labels, for each kind of knowledge.

Everything that corrects for labels uses memberships: numbers a of each row with the mean of the
true membership (1 in the group, 0 outside) in expectation. Estimates draw them anew list by list,
so they are sums over classes of label; `core.label_probability` has those of single rows, for
training and re-ranking, where a row without a label takes its posterior.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..core.attribute import Attribute, LabelError
from ..core.label_probability import LEAST_CORRECTED, N_BANDS, bands_of, depth_by_value
from ..core.random import generator
from ..kernels.segments import segment_index
from .label_trend import trend_shares

__all__ = [
    "ASSUMPTIONS",
    "FEWEST_CHECKED",
    "LabelModel",
    "label_model",
    "position_bands",
]

#: Fewest verified people on each side of a correction.
FEWEST_CHECKED = 100
#: Least singular value of a matrix that tells groups apart.
LEAST_SINGULAR = 0.1
#: Bins of a proxy within each band, if labels are drawn.
PROXY_BINS = 5
#: Numbers that are drawn at a time for one list.
BLOCK = 1_000_000

#: What each kind of knowledge assumes, in words.
ASSUMPTIONS = {
    "known": "",
    "missing": "people whose label is unknown are like known people at the same positions",
    "matrix": (
        "errors of recording have the given rates, independently of one another and of the position"
    ),
    "checked": "who was checked was drawn with the given probabilities",
    "probabilities": (
        "probabilities are right, and people with equal probabilities are ranked alike in all "
        "groups"
    ),
}


@dataclass(frozen=True, eq=False)
class LabelModel:
    """The labels of rows sorted by list, as far as they are known.

    Attributes
    ----------
    attribute : Attribute
        Labels, and what is known of them.
    offsets : ndarray
        Begin of each list, and the number of rows.
    band : ndarray of int
        The band of each row within its list.
    kind : str
        ``"known"``, ``"missing"``, ``"matrix"``, ``"checked"`` or ``"probabilities"``.
    """

    attribute: Attribute
    offsets: np.ndarray
    band: np.ndarray
    kind: str

    @property
    def assumption(self) -> str:
        """What a correction assumes, in words."""
        words = ASSUMPTIONS[self.kind]
        if self.kind == "matrix" and self.attribute.n_unknown:
            words += f", and {ASSUMPTIONS['missing']}"
        return words

    @cached_property
    def lists(self) -> np.ndarray:
        """The list of each row."""
        return segment_index(self.offsets)

    @property
    def n_lists(self) -> int:
        """Number of lists."""
        return len(self.offsets) - 1

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.attribute.categories)

    @cached_property
    def inverse(self) -> np.ndarray:
        """Inverse of the matrix of each stratum; identities for labels without errors."""
        return inverse_of(self.attribute.error, self.n_groups)

    @cached_property
    def classes(self) -> np.ndarray:
        """The class of each row: stratum and recorded label; then the band of unknown rows."""
        attribute = self.attribute
        stratum = 0 if attribute.error is None else np.asarray(attribute.error.stratum)
        recorded = stratum * self.n_groups + attribute.codes
        return np.where(attribute.known, recorded, self.n_recorded + self.band).astype(np.int64)

    @property
    def n_recorded(self) -> int:
        """Number of classes of recorded labels."""
        return len(self.inverse) * self.n_groups

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.n_recorded + int(self.band.max(initial=0)) + 1

    def refusal(self, code: int) -> str:
        """Return why no estimate is corrected for a group; empty if one can be."""
        attribute = self.attribute
        if self.kind == "checked" and attribute.checked is not None:
            truth = attribute.checked.codes[attribute.checked.codes >= 0]
            inside = int((truth == code).sum())
            least = min(inside, len(truth) - inside)
            if least < FEWEST_CHECKED:
                return f"only {least} people of one side are checked, under {FEWEST_CHECKED}"
        if self.kind == "matrix" and attribute.error is not None:
            return _refused_matrix(attribute.error)
        if self.kind == "missing" and not attribute.known.any():
            return "no label is known"
        if self.kind == "missing" and not (attribute.codes == code).any():
            return "nobody of the group is known"
        return ""

    def class_values(self, code: int, inverse: np.ndarray) -> np.ndarray:
        """Return the membership of each class of recorded labels, with some inverse matrices.

        ``inverse`` may have leading axes, such as one for replicates.
        """
        values = inverse[..., :, :, code]
        return values.reshape(*values.shape[:-2], -1)

    @cached_property
    def band_counts(self) -> np.ndarray:
        """Number of rows by list, band and class of recorded label."""
        known = self.attribute.known
        n_bands = self.n_classes - self.n_recorded
        cell = (self.lists * n_bands + self.band) * self.n_recorded + self.classes
        size = self.n_lists * n_bands * self.n_recorded
        found = np.bincount(cell[known], minlength=size)
        return found.reshape(self.n_lists, n_bands, self.n_recorded).astype(np.float64)

    def band_values(self, counts: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the membership of unknown rows by band: that of known rows, and one person more.

        ``counts`` has the axes (..., band, class) and ``values`` (..., class).
        """
        total = counts.sum(axis=-1)
        inside = (counts * values[..., None, :]).sum(axis=-1)
        share = inside.sum(axis=-1) / np.maximum(total.sum(axis=-1), 1e-300)
        return np.asarray((inside + share[..., None]) / (total + 1.0))

    def memberships(self, code: int) -> np.ndarray:
        """Return the membership of each row in a group; NaN where nothing is known of it."""
        attribute = self.attribute
        if self.kind == "probabilities" and attribute.probability is not None:
            return np.asarray(attribute.probability[:, code])
        if self.kind == "checked" and attribute.checked is not None:
            proxy = self._proxy(code)
            truth, rate = attribute.checked.codes, attribute.checked.rate
            change = ((truth == code) - proxy) / rate
            return np.where(truth >= 0, proxy + change, proxy)
        values = self.class_values(code, self.inverse)
        bands = self.band_values(self.band_counts.sum(axis=0), values)
        return np.concatenate([values, bands])[self.classes]

    def _proxy(self, code: int) -> np.ndarray:
        """Return what was guessed before checking: a probability, the label, or its share."""
        attribute = self.attribute
        inside = (attribute.codes == code).astype(np.float64)
        share = inside[attribute.known].mean() if attribute.known.any() else 0.5
        proxy = np.where(attribute.known, inside, share)
        if attribute.probability is None:
            return proxy
        given = attribute.probability[:, code]
        return np.where(np.isnan(given), proxy, given)

    @cached_property
    def cells(self) -> np.ndarray:
        """The cell of each row in which drawn labels are alike: its band and bin of the proxy."""
        if self.kind != "checked":
            return self.band.astype(np.int64)
        attribute = self.attribute
        if attribute.probability is None:
            proxy = attribute.codes + 1
        elif self.n_groups == 2:
            chance = np.nan_to_num(attribute.probability[:, 0], nan=0.5)
            cuts = np.quantile(chance, np.arange(1, PROXY_BINS) / PROXY_BINS)
            proxy = np.searchsorted(cuts, chance, side="right")
        else:
            proxy = np.nan_to_num(attribute.probability).argmax(axis=1)
        return self.band * (int(proxy.max(initial=0)) + 1) + proxy

    @cached_property
    def cell_counts(self) -> np.ndarray:
        """Number of people, by list, cell and class, from whom the shares of cells are learned.

        The classes are recorded labels, or verified ones, who count once for each person that they
        represent.
        """
        attribute = self.attribute
        if self.kind == "checked" and attribute.checked is not None:
            classes, number = attribute.checked.codes, self.n_groups
            weight = 1.0 / attribute.checked.rate
        else:
            classes, number = np.where(attribute.known, self.classes, -1), self.n_recorded
            weight = np.ones(len(self.lists))
        n_cells, used = int(self.cells.max(initial=0)) + 1, classes >= 0
        cell = (self.lists * n_cells + self.cells) * number + classes
        found = np.bincount(cell[used], weight[used], self.n_lists * n_cells * number)
        return found.reshape(self.n_lists, n_cells, number)

    def imputed(self, number: int, seed: int) -> list[np.ndarray]:
        """Return draws of all labels; asked again with the same arguments, the same ones."""
        kept: dict[tuple[int, int], list[np.ndarray]] = self.__dict__.setdefault("_imputed", {})
        if (number, seed) not in kept:
            rng = generator(seed, 7)
            kept.clear()
            drawn = (self._labels(*each, rng) for each in self._parameters(number, rng))
            kept[number, seed] = [codes for block in drawn for codes in block]
        return kept[number, seed]

    def _parameters(
        self, number: int, rng: np.random.Generator
    ) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """Yield blocks of drawn shares of the groups by cell, and of matrices drawn with them."""
        error, block = self.attribute.error, 1
        matrices = None if error is None else drawn_matrices(error, rng, number)
        shares = None
        if self.n_lists == 1 and self.kind in ("missing", "matrix"):
            counts = self.cell_counts[0]
            counts = np.pad(counts, [[0, max(N_BANDS - len(counts), 0)], [0, 0]])
            shares = trend_shares(counts, error, matrices, number, rng)
            block = max(1, BLOCK // (len(self.lists) * self.n_groups))
        for at in range(0, number, block):
            some = slice(at, at + block)
            matrix = None if matrices is None else matrices[some]
            share = None if shares is None else shares[some]
            yield self._cell_shares(matrix, rng)[None] if share is None else share, matrix

    def _cell_shares(self, matrix: np.ndarray | None, rng: np.random.Generator) -> np.ndarray:
        """Return the shares by cell in lists with drawn weights, or drawn shares of one list."""
        weights = rng.exponential(size=self.n_lists) if self.n_lists > 1 else np.ones(1)
        counts = np.tensordot(weights / weights.mean(), self.cell_counts, axes=1)
        if self.n_lists == 1:
            counts = rng.gamma(counts)
        if matrix is not None and self.kind == "matrix":
            counts = counts @ np.linalg.inv(matrix[0]).reshape(-1, self.n_groups)
        counts = np.maximum(counts, 0.0)
        overall = counts.sum(axis=0) / max(counts.sum(), 1e-300)
        return np.asarray((counts + overall) / (counts.sum(axis=1, keepdims=True) + 1.0))

    def _labels(
        self, share: np.ndarray, matrix: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw the labels of all rows that are uncertain, and return all codes of each draw."""
        attribute = self.attribute
        codes, rows = attribute.codes, np.flatnonzero(~attribute.known)
        if self.kind == "checked" and attribute.checked is not None:
            codes = attribute.checked.codes
            rows = np.flatnonzero(codes < 0)
        elif matrix is not None:
            rows = np.arange(len(codes))
        chance = share[:, self.cells[rows]]
        if matrix is not None and self.kind != "checked":
            stratum = np.broadcast_to(
                np.asarray(getattr(attribute.error, "stratum", 0)), len(codes)
            )
            likely = np.moveaxis(matrix, 3, 2)[:, stratum, codes]
            chance = np.where(attribute.known[:, None], chance * likely, chance)
        drawn = np.repeat(codes[None].astype(np.int16), len(share), axis=0)
        drawn[:, rows] = _draw_codes(chance, rng)
        return drawn


def _draw_codes(chance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a code per row with probabilities proportional to those along the last axis."""
    total = np.cumsum(chance, axis=-1)
    point = rng.random(chance.shape[:-1]) * total[..., -1]
    return np.minimum((point[..., None] >= total).sum(axis=-1), chance.shape[-1] - 1)


def inverse_of(error: LabelError | None, n_groups: int) -> np.ndarray:
    """Return the inverse matrix of each stratum; NaN if there is none."""
    if error is None:
        return np.eye(n_groups)[None]
    return np.stack([_inverse(matrix) for matrix in error.matrix])


def _inverse(matrix: np.ndarray) -> np.ndarray:
    try:
        return np.linalg.inv(matrix)
    except np.linalg.LinAlgError:
        return np.full_like(matrix, np.nan)


def drawn_matrices(error: LabelError, rng: np.random.Generator, number: int) -> np.ndarray:
    """Return the matrix several times, drawn anew from its counts if it was estimated."""
    if error.counts is None:
        return np.repeat(error.matrix[None], number, axis=0)
    drawn = rng.gamma(error.counts, size=(number, *error.counts.shape))
    total = drawn.sum(axis=3, keepdims=True)
    return np.where(total > 0, drawn / np.where(total > 0, total, 1.0), error.matrix)


def _refused_matrix(error: LabelError) -> str:
    if error.informedness < LEAST_CORRECTED:
        words = f"J is {error.informedness:.2f}, under {LEAST_CORRECTED:g}"
        return f"recorded labels tell too little: {words}"
    if np.linalg.svd(error.matrix, compute_uv=False).min() < LEAST_SINGULAR:
        return "recorded labels tell too little: the matrix is nearly singular"
    if error.counts is not None and error.counts.sum(axis=2).min() < FEWEST_CHECKED:
        least = int(error.counts.sum(axis=2).min())
        return (
            f"the matrix rests on only {least} people of one group, under {FEWEST_CHECKED} checked"
        )
    return ""


def label_model(attribute: Attribute, offsets: np.ndarray, band: np.ndarray) -> LabelModel:
    """Return the model of an attribute whose rows are sorted by list.

    Verified labels come first, then errors of recording, then probabilities; else unknown people
    are like known ones of their band.
    """
    kind = "missing" if attribute.n_unknown else "known"
    if attribute.checked is not None:
        kind = "checked"
    elif attribute.error is not None:
        kind = "matrix"
    elif attribute.probability is not None and attribute.n_unknown:
        kind = "probabilities"
    return LabelModel(attribute, offsets, band, kind)


def position_bands(position: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return in which tenth of its list each row is; ties have the mean of their ranks.

    Examples
    --------
    >>> position_bands(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0, 5])).tolist()
    [1, 3, 5, 7, 9]
    """
    return bands_of(depth_by_value(-position.astype(np.float64), offsets))
