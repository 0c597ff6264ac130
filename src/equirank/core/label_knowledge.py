"""What is known of labels beside the label itself: probabilities, errors of recording, checks."""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import inputs
from .attribute import Attribute, CheckedLabels, LabelError
from .errors import DataError, EquirankWarning, listed, outer_stacklevel, suggest
from .labels import encode

if TYPE_CHECKING:
    from .data import RankingData

__all__ = [
    "RATE",
    "STRATUM",
    "TRUE",
    "Knowledge",
    "detail_columns",
    "known_attribute",
    "split_details",
    "with_details",
    "with_knowledge",
]

#: Columns such as ``race[white]`` tell more of the labels in ``race``.
DETAIL = re.compile(r"([^\[\]]+)\[([^\[\]]+)\]", re.DOTALL)
#: Words in brackets that are no group: the verified label, its rate of checking, the stratum.
TRUE, RATE, STRATUM = "true", "rate", "stratum"
#: Most that the probabilities of a row may differ from 1 in sum.
SUM_ERROR = 1e-6


def detail_columns(frame: Any, values: Any) -> Any:
    """Return the names of attributes together with those of columns that tell more of them.

    ``race`` then names ``race[white]`` and ``race[true]`` of a frame as well. Anything but names is
    returned as it is.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"race": ["w"], "race[w]": [1.0], "age": [30]})
    >>> detail_columns(frame, "race")
    ['race', 'race[w]']
    """
    if frame is None or not isinstance(values, str | list | tuple):
        return values
    return with_details([str(column) for column in frame.columns], values)


def with_details(columns: Sequence[str], values: Any) -> Any:
    """Return names of attributes with those of the columns that tell more of them.

    Examples
    --------
    >>> with_details(["race", "race[w]", "age"], "race")
    ['race', 'race[w]']
    """
    names = [values] if isinstance(values, str) else values
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        return values
    owner = {c: found[1] for c in columns if (found := DETAIL.fullmatch(c)) is not None}
    if not owner or not set(names) <= {*columns, *owner.values()}:
        return values
    details = [column for column in owner if owner[column] in names and column not in names]
    return [name for name in names if name in columns] + details if details else values


def split_details(
    columns: Mapping[str, np.ndarray],
) -> tuple[dict[str, np.ndarray], dict[str, dict[str, np.ndarray]]]:
    """Return the labels by attribute, and what is told of them by attribute and word in brackets.

    An attribute without a column of labels has unknown labels only.

    Examples
    --------
    >>> labels, details = split_details({"race": np.array(["w"]), "race[w]": np.array([1.0])})
    >>> labels, details
    ({'race': array(['w'], dtype='<U1')}, {'race': {'w': array([1.])}})
    """
    labels: dict[str, np.ndarray] = {}
    details: dict[str, dict[str, np.ndarray]] = {}
    for name, column in columns.items():
        found = DETAIL.fullmatch(name)
        if found is None:
            labels[name] = column
        else:
            details.setdefault(found[1], {})[found[2]] = column
            labels.setdefault(found[1], np.full(len(column), None, dtype=object))
    return labels | {n: v for n, v in columns.items() if n in labels}, details


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What a caller tells of one attribute beside its labels.

    Attributes
    ----------
    details : mapping of str to ndarray
        The columns with the attribute's name and a word in brackets, by that word.
    error : LabelError or None
        How labels were recorded.
    rate : float or None
        The probability of each row to be checked.
    """

    details: Mapping[str, np.ndarray]
    error: LabelError | None = None
    rate: float | None = None

    @property
    def probabilities(self) -> dict[str, np.ndarray]:
        """The columns of probabilities, by group."""
        other = (TRUE, RATE, STRATUM)
        return {word: column for word, column in self.details.items() if word not in other}


def known_attribute(
    name: str,
    values: np.ndarray,
    missing: str,
    groups: Sequence[Any] | None,
    knowledge: Knowledge,
) -> Attribute:
    """Return the attribute of labels and of what else is told of them, or raise for the first row.

    Parameters
    ----------
    name : str
        The attribute.
    values : ndarray
        Its labels.
    missing : {"error", "unknown", "category"}
        Treatment of a row without a label and without probabilities.
    groups : sequence or None
        All groups, if the caller names them.
    knowledge : Knowledge
        Probabilities, verified labels and errors.
    """
    if not knowledge.details and knowledge.error is None:
        if knowledge.rate is not None:
            raise DataError(
                f"checked_rate needs verified labels in a column {f'{name}[{TRUE}]'!r}, "
                "and there are none"
            )
        return Attribute(*encode(name, values, missing, groups))
    probabilities, told = knowledge.probabilities, knowledge.details
    if probabilities and missing == "category":
        raise DataError(
            f'missing_sensitive must not be "category" beside probabilities of {name!r}: a row '
            "without a label has the groups of its probabilities"
        )
    _check_details(name, knowledge)
    policy = "unknown" if probabilities else missing
    seen = encode(name, values, policy, groups)[1]
    if groups is None:
        more = encode(f"{name}[{TRUE}]", told[TRUE], "unknown")[1] if TRUE in told else ()
        stated = () if knowledge.error is None else knowledge.error.groups or ()
        groups = _union(seen, (*more, *stated), probabilities)
        if seen:
            _warn_of_groups(name, [str(group) for group in (*seen, *more)], probabilities)
    codes, categories = encode(name, values, policy, groups)
    made = Attribute(codes, categories)
    if probabilities:
        made = _with_probability(name, made, probabilities, missing)
    if TRUE in told:
        made = replace(made, checked=_checked(name, made, knowledge))
    if knowledge.error is not None:
        made = replace(made, error=_recorded(name, made, knowledge.error, told.get(STRATUM)))
    return made


def with_knowledge(data: "RankingData", name: str, knowledge: Knowledge) -> "RankingData":
    """Return data whose attribute has what else is told of its labels.

    ``knowledge`` has columns in input order. Without the attribute, all of its labels are unknown.
    """
    labels = np.full(data.n_rows, None, dtype=object)
    groups = None
    if name in data.sensitive:
        labels = data.to_original(data.sensitive[name].labels())
        if knowledge.error is None and not knowledge.details:
            groups = data.sensitive[name].categories
    made = known_attribute(name, labels, "unknown", groups, knowledge)
    rows = slice(None) if data.rows is None else data.caller_rank
    return replace(data, sensitive={**data.sensitive, name: made.take(rows)})


def _check_details(name: str, knowledge: Knowledge) -> None:
    """Raise if columns or arguments have no effect, or contradict one another."""
    told, error = knowledge.details, knowledge.error
    if error is not None and not isinstance(error, LabelError):
        raise DataError(f"label_error[{name!r}] must be a LabelError, got {type(error).__name__}")
    if error is not None and knowledge.probabilities:
        raise DataError(
            f"label_error[{name!r}] must not be given beside probabilities: {name!r} has columns "
            f"for {listed(knowledge.probabilities)}, and a label is either guessed with "
            "probabilities or recorded with known errors"
        )
    for word, needed, there in (
        (RATE, f"verified labels in a column {f'{name}[{TRUE}]'!r}", TRUE in told),
        (STRATUM, f"label_error for {name!r}", error is not None),
    ):
        if word in told and not there:
            raise DataError(f"sensitive_features[{f'{name}[{word}]'!r}] needs {needed}")
    if knowledge.rate is not None and (TRUE not in told or RATE in told):
        got = f"there is a column {f'{name}[{RATE}]'!r}" if TRUE in told else "there are none"
        raise DataError(
            f"checked_rate needs verified labels in a column {f'{name}[{TRUE}]'!r} and no rates "
            f"of rows, and {got}"
        )


def _union(seen: Iterable[Any], more: Iterable[Any], words: Iterable[str]) -> list[Any]:
    """Return all groups once; the words of columns name a group by its text."""
    groups = list(dict.fromkeys([*seen, *more]))
    texts = {str(group) for group in groups}
    return groups + [word for word in words if word not in texts]


def _warn_of_groups(name: str, labels: Sequence[str], words: Iterable[str]) -> None:
    """Warn of groups that have probabilities and that no label names, as a misspelling has."""
    for word in words:
        if word not in labels:
            warnings.warn(
                f"probabilities of {name!r} name the group {word!r}, which counts as a further "
                f"group, since no row has this label (labels: {listed(labels)})"
                f"{suggest(word, labels)}",
                EquirankWarning,
                stacklevel=outer_stacklevel(),
            )


def _with_probability(
    name: str, labels: Attribute, columns: Mapping[str, np.ndarray], missing: str
) -> Attribute:
    """Return labels with the probability of each group; certain rows have a label."""
    texts = [str(group) for group in labels.categories]
    table = np.zeros((len(labels.codes), len(texts)))
    empty = np.ones(len(table), dtype=bool)
    for word, column in columns.items():
        label = f"sensitive_features[{f'{name}[{word}]'!r}]"
        if word not in texts:
            raise DataError(
                f"{label} must be the probability of one of the groups of {name!r} "
                f"({listed(texts)}), and {word!r} is none{suggest(word, texts)}"
            )
        numbers = inputs.as_floats(label, np.asarray(column))
        inputs.refuse(label, numbers, (numbers < 0) | (numbers > 1), "a probability in [0, 1]")
        table[:, texts.index(word)] = numbers
        empty &= np.isnan(numbers)
    owner = f"the probabilities of {name!r}"
    gaps = np.isnan(table).any(axis=1)
    inputs.refuse(owner, table.sum(axis=1), gaps & ~empty, "all given or all missing in a row")
    lacking = empty & ~labels.known
    if missing == "error" and lacking.any():
        raise DataError(
            f"sensitive_features[{name!r}] must name a group or have probabilities, got neither "
            f'in row {int(lacking.argmax())}; missing_sensitive="unknown" keeps such rows unknown'
        )
    table[empty] = np.nan
    total = np.where(empty, 1.0, table.sum(axis=1))
    inputs.refuse(owner, total, np.abs(total - 1) > SUM_ERROR, "1 in sum")
    return _settled(name, labels, table, empty)


def _settled(name: str, labels: Attribute, table: np.ndarray, empty: np.ndarray) -> Attribute:
    """Return labels and probabilities that agree: a label is certain, and so is its probability."""
    rows = np.flatnonzero(labels.known)
    certain = ~empty & (table.max(axis=1, initial=0.0, where=~empty[:, None]) == 1)
    guess = np.where(certain, np.where(empty[:, None], 0, table).argmax(axis=1), -1)
    wrong = rows[certain[rows] & (guess[rows] != labels.codes[rows])]
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"sensitive_features[{name!r}] must agree with its probabilities, got the label "
            f"{labels.categories[labels.codes[row]]!r} and probability 1 of "
            f"{labels.categories[guess[row]]!r} in row {row}"
        )
    unsure = rows[~certain[rows] & ~empty[rows]]
    if len(unsure):
        warnings.warn(
            f"{len(unsure):,} rows have a label of {name!r} and probabilities that are not 0 or 1, "
            f"the first in row {int(unsure[0])}; the label counts as known. Leave the label empty "
            "where it is a guess",
            EquirankWarning,
            stacklevel=outer_stacklevel(),
        )
    table[rows] = 0
    table[rows, labels.codes[rows]] = 1
    codes = np.where(labels.known, labels.codes, guess).astype(np.int32)
    return replace(labels, codes=codes, probability=table)


def _checked(name: str, labels: Attribute, knowledge: Knowledge) -> CheckedLabels:
    """Return the verified labels and the rate at which each row was checked."""
    column = f"{name}[{TRUE}]"
    truth = encode(column, knowledge.details[TRUE], "unknown", labels.categories)[0]
    if not (truth >= 0).any():
        raise DataError(f"sensitive_features[{column!r}] must hold a verified label, and has none")
    if RATE in knowledge.details:
        label = f"sensitive_features[{f'{name}[{RATE}]'!r}]"
        rate = inputs.as_floats(label, np.asarray(knowledge.details[RATE]))
    else:
        label = "checked_rate"
        share = float((truth >= 0).mean()) if knowledge.rate is None else knowledge.rate
        rate = np.full(len(truth), float(share))
    bad = ~((rate > 0) & (rate <= 1))
    inputs.refuse(label, rate, bad, f"a probability in (0, 1] of checking {name!r}")
    return CheckedLabels(truth, rate)


def _recorded(
    name: str, labels: Attribute, error: LabelError, stratum: np.ndarray | None
) -> LabelError:
    """Return the errors in the order of the groups, with the stratum of each row."""
    owner = f"label_error[{name!r}]"
    error.check(owner)
    error = error.with_groups(labels.categories, owner)
    strata, n_rows = error.matrix.shape[0], len(labels.codes)
    given = error.stratum if stratum is None else stratum
    if given is None:
        if strata > 1:
            raise DataError(
                f"{owner} has {strata} strata, and the stratum of each row is not given; pass it "
                f"as its stratum, or in a column {f'{name}[{STRATUM}]'!r}"
            )
        return replace(error, stratum=np.zeros(n_rows, dtype=np.int32))
    rows = np.asarray(given)
    if rows.shape != (n_rows,):
        raise DataError(f"{owner}.stratum must have one value per row ({n_rows}), got {rows.shape}")
    names = list(range(strata)) if error.strata is None else list(error.strata)
    place = {str(stratum): at for at, stratum in enumerate(names)}
    words, inverse = np.unique(rows.astype(str), return_inverse=True)
    codes = np.array([place.get(_plain(word), -1) for word in words], dtype=np.int32)[inverse]
    inputs.refuse(f"the stratum of {name!r}", rows, codes < 0, f"one with a matrix in {owner}")
    return replace(error, stratum=codes)


def _plain(word: str) -> str:
    """Return the text of a whole number without the ``.0`` of a float."""
    return word.removesuffix(".0")
