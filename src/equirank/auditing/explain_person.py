"""explain_person: explain to one person its position, what was decided, and what weighed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any, Unpack

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.explain_pair import as_dense
from ..core.keywords import shared_keywords
from ..core.outcomes import DecisionRule, cutoff_parts, yes_or_no
from ..core.ranking import Ranking
from ..reports.provenance import HeadingKeywords, Provenance
from .nearest_change import Crossing, Feature, features_of, nearest_changes
from .person_explanation import PersonExplanation

__all__ = ["explain_person"]


#: Ids that are compared with an unknown one, and the similarity that is worth a suggestion.
MOST_COMPARED, SIMILAR = 50_000, 0.5


# Long, since every option is a parameter.
@shared_keywords(HeadingKeywords)
def explain_person(
    data: RankingData,
    id: Any,
    *,
    model: Any = None,
    of: Any = None,
    selected: str | None = None,
    yes: Sequence[str] | None = None,
    k: int | None = None,
    cutoff: str | None = None,
    fixed: Sequence[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
    random_state: Any = 0,
    **heading: Unpack[HeadingKeywords],
) -> PersonExplanation:
    """Explain to one person its position, what was decided, and what would have changed it.

    With a model, the result states which features weigh most, in comparison with the last person
    selected (or the first one not selected), and the nearest changes with which the model selects
    the person. Each change is confirmed by scoring the list again with the changed features and
    all other people unchanged. Values of other people and their ids are not in the result. Tied
    people have a range of positions. A list of one person has nobody to compare with.

    Parameters
    ----------
    data : RankingData
        The lists, with ids, and with scores or positions, or with the features of the model.
    id : label
        The person.
    model : Ranker, optional
        The fitted model that ranks; without it, the scores or positions of the data do.
    of : label, optional
        The list, if the id occurs in several.
    selected : str, optional
        Name of a recorded decision in ``data.outcomes``.
    yes : sequence of str, optional
        Its words for selected; by default yes, true and 1 in any case.
    k : int, optional
        The top k of each list are selected.
    cutoff : str, optional
        Such as ``"score>=70"``: who reaches the score is selected.
    fixed : sequence of str
        Features that cannot change; sensitive attributes never do.
    categories : mapping of str to sequence of str, optional
        Labels of features that are categories, encoded as codes or as indicators ``name=label``.
        By default the categories of the data.
    random_state : int, Generator, RandomState or None
        Seed, if contributions are sampled.

    Returns
    -------
    PersonExplanation
        With ``sentences``, ``features``, ``changes``, ``to_html`` and ``to_json``.

    Raises
    ------
    DataError
        If the id is unknown or occurs several times, or an argument is invalid.

    Examples
    --------
    >>> from equirank import as_ranking_data, explain_person
    >>> data = as_ranking_data(score=[70, 50, 60], ids=["a", "b", "c"])
    >>> found = explain_person(data, "b", k=2)
    >>> found.status, found.sentences[0]
    ('not selected', 'Your application was ranked at position 3 of 3.')
    """
    record = Provenance.given(**heading).with_inputs(
        data, model=None if model is None else type(model).__name__, selected=selected, yes=yes,
        k=k, cutoff=cutoff, fixed=list(fixed), random_state=random_state,
    )  # fmt: skip
    for name, given in {"fixed": fixed, "categories": categories}.items():
        if model is None and given:
            raise DataError(f"{name} must be omitted without a model, whose features it names")
    row = _row_of(data, id, of)
    query = int(np.searchsorted(data.offsets, row, side="right")) - 1
    own_list = data.select([query])
    at = row - int(data.offsets[query])
    ranked = _ranked(own_list, model)
    rule = _rule(ranked, selected, yes, k, cutoff)
    status, chance = rule.status(ranked, at)
    other, who = _compared(ranked, rule, at)
    features: list[dict[str, Any]] = []
    changes, left_out = None, list[str]()
    if model is not None:
        names, free, left_out = _features(own_list, model, fixed, categories)
        if other is not None:
            features = _weights(ranked, model, at, other, names, random_state)
        if status in ("not selected", "tied") and rule.selects is not None:
            crossing = Crossing(own_list, at, model, rule.selects)
            changes = nearest_changes(crossing, free, as_dense(data.X))
    score = ranked.data.score
    return PersonExplanation(
        id=_plain(data.ids[row]),  # type: ignore[index]
        query=_plain(data.qids[query]) if data.n_queries > 1 else None,
        first=int(ranked.position[at]),
        last=int((ranked.position if ranked.last is None else ranked.last)[at]),
        n_people=own_list.n_rows,
        score=None if score is None else float(score[at]),
        rule=rule.words,
        status=status,
        chance=chance,
        n_selected=rule.n_selected,
        below_selected=0 if rule.chosen is None else rule.passed_over(ranked, at),
        boundary=rule.boundary(ranked),
        by_cutoff=rule.limit is not None,
        compared_with=who if features else None,
        model=None if model is None else type(model).__name__,
        method=features[0]["method"] if features else None,
        moved_from=_moved_from(own_list, model, at),
        features=[{name: each[name] for name in ("feature", "value", "contribution")}
                  for each in features],
        changes=changes,
        fixed=left_out,
        provenance=record,
    )  # fmt: skip


def _row_of(data: RankingData, id: Any, of: Any) -> int:
    """Return the stored row of an id; an unknown or repeated id is an error."""
    if data.ids is None:
        raise DataError("ids must be given: the data have no ids, so no person can be found")
    labels = [str(label) for label in data.ids.tolist()]
    lists = data.qids[data.query_of_rows()]
    known = {str(label) for label in data.qids.tolist()}
    if of is not None and str(of) not in known:
        raise DataError(f"of must be one of the lists, got {of!r}")
    found = [row for row, label in enumerate(labels) if label == str(id)]
    chosen = [row for row in found if of is None or str(lists[row]) == str(of)]
    if not found:
        near = _nearest(str(id), labels)
        hint = f"; the nearest ids are {', '.join(map(repr, near))}" if near else ""
        raise DataError(f"id must be one of the data's ids, got {str(id)!r}{hint}")
    if not chosen:
        place = ", ".join(dict.fromkeys(repr(str(lists[row])) for row in found[:10]))
        raise DataError(f"id must be in the list {str(of)!r}, got {str(id)!r}, which is in {place}")
    if len(chosen) > 1:
        where = {str(lists[row]) for row in chosen}
        rows = ", ".join(str(data.place(row)[1] + 1) for row in chosen[:10])
        hint = "; of names the list" if len(where) == len(chosen) else ""
        raise DataError(
            f"id must occur once, got {str(id)!r}, which occurs {len(chosen)} times (rows {rows})"
            f"{hint}"
        )
    return chosen[0]


def _nearest(word: str, labels: Sequence[str]) -> list[str]:
    """Return the three labels most similar to a word; equally similar ones in their order."""
    matcher = SequenceMatcher(b=word, autojunk=False)
    found: list[tuple[float, str]] = []
    for label in list(dict.fromkeys(labels))[:MOST_COMPARED]:
        matcher.set_seq1(label)
        if matcher.real_quick_ratio() >= SIMILAR and matcher.quick_ratio() >= SIMILAR:
            found.append((matcher.ratio(), label))
    found.sort(key=lambda each: (-each[0], each[1]))
    return [label for ratio, label in found[:3] if ratio >= SIMILAR]


def _ranked(data: RankingData, model: Any) -> Ranking:
    if model is None:
        return data.ranking()
    scores = np.asarray(model.predict(data), dtype=np.float64)
    return Ranking.from_scores(replace(data, position=None), scores)


@dataclass(frozen=True, eq=False)
class _Rule:
    """What decides in one list: a recorded column, the top k, a cutoff, or nothing."""

    words: str | None
    #: Whether a changed score, with some others at least as high, is selected; None: unknown.
    selects: Any = None
    #: Recorded decisions per row: 1, 0, or -1 if undecided.
    chosen: np.ndarray | None = None
    k: int | None = None
    #: Per row, whether it is selected for certain.
    sure: np.ndarray | None = None
    #: The score that a cutoff names.
    limit: float | None = None

    @property
    def n_selected(self) -> int | None:
        if self.k is not None:
            return self.k
        return None if self.sure is None else int(self.sure.sum())

    def status(self, ranked: Ranking, at: int) -> tuple[str, float | None]:
        """Return what was decided about a person, and the chance if a tie decides."""
        if self.sure is None:
            return "no decision", None
        if self.chosen is not None and self.chosen[at] < 0:
            return "undecided", None
        first, last = _span(ranked, at)
        if self.k is not None and 0 < first <= self.k < last:
            return "tied", (self.k - first + 1) / (last - first + 1)
        return ("selected" if self.sure[at] else "not selected"), None

    def passed_over(self, ranked: Ranking, at: int) -> int:
        """Return how many people ranked below were selected although this person was not."""
        if self.chosen is None or self.chosen[at] != 0:
            return 0
        last = ranked.position if ranked.last is None else ranked.last
        return int(((self.chosen == 1) & (ranked.position > last[at])).sum())

    def follows(self, ranked: Ranking) -> bool:
        """Return whether everyone selected is ranked above everyone who is not."""
        if self.sure is None:
            return False
        yes, no = ranked.position[self.sure], ranked.position[~self.sure]
        return not len(yes) or not len(no) or bool(yes.max() < no.min())

    def boundary(self, ranked: Ranking) -> float | None:
        """Return the cutoff, or the lowest selected score if decisions follow the ranking."""
        score = ranked.data.score
        if self.limit is not None:
            return self.limit
        if score is None or self.sure is None or not self.sure.any() or not self.follows(ranked):
            return None
        return float(score[self.sure].min())


def _span(ranked: Ranking, at: int) -> tuple[int, int]:
    last = ranked.position if ranked.last is None else ranked.last
    return int(ranked.position[at]), int(last[at])


def _rule(ranked: Ranking, selected: Any, yes: Sequence[str] | None, k: Any, cutoff: Any) -> _Rule:
    """Return what decides; two ways are an error."""
    DecisionRule(selected=selected, cutoff=cutoff, yes=yes, k=k)
    if selected is not None:
        return _recorded(ranked, selected, yes)
    if cutoff is not None:
        return _reached(ranked, cutoff)
    if k is None:
        return _Rule(None)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise DataError(f"k must be a whole number of at least 1, got {k!r}")
    shown = ranked.position > 0
    last = ranked.position if ranked.last is None else ranked.last
    top = min(int(k), int(shown.sum()))
    return _Rule(
        f"The top {k} of each list are selected.",
        lambda score, above: above < top,
        k=top,
        sure=shown & (last <= top),
    )


def _reached(ranked: Ranking, cutoff: Any) -> _Rule:
    name, sign, limit = cutoff_parts(cutoff)
    if name != "score" or sign not in (">=", ">"):
        raise DataError(f'cutoff must be written as "score>=70" or "score>70", got {cutoff!r}')
    score = ranked.data.score
    if score is None:
        raise DataError("cutoff needs scores, and the data has none")
    strict = sign == ">"

    def reach(values: np.ndarray) -> np.ndarray:
        return values > limit if strict else values >= limit

    words = f"above {limit:g}" if strict else f"of at least {limit:g}"
    return _Rule(
        f"Everyone with a score {words} is selected.",
        lambda score, above: reach(score),
        sure=np.asarray(reach(score)),
        limit=limit,
    )


def _recorded(ranked: Ranking, name: str, yes: Sequence[str] | None) -> _Rule:
    """Return the rule of a recorded decision, whose words are read row by row."""
    recorded = yes_or_no("selected", ranked.data, name, yes)
    decided = np.where(np.isnan(recorded), -1, np.nan_to_num(recorded)).astype(np.int8)
    rule = _Rule(f'The decision is recorded under "{name}".', chosen=decided, sure=decided == 1)
    count = int((decided == 1).sum())
    if rule.follows(ranked) and count:
        rule = replace(rule, selects=lambda score, above: above < count)
    return rule


def _compared(ranked: Ranking, rule: _Rule, at: int) -> tuple[int | None, str | None]:
    """Return the row to compare with, and who that is in words."""
    order = _order(ranked)
    others = [row for row in order.tolist() if row != at]
    if not others:
        return None, None
    if rule.sure is not None and rule.follows(ranked):
        chosen = [row for row in others if rule.sure[row]]
        left = [row for row in others if not rule.sure[row]]
        if not rule.sure[at] and chosen:
            return chosen[-1], "the last person selected"
        if rule.sure[at] and left:
            return left[0], "the first person not selected"
    first = int(order[0]) != at
    return others[0], f"the person ranked {'first' if first else 'second'}"


def _order(ranked: Ranking) -> np.ndarray:
    """Return the stored rows of one list, best first; rows that are not shown come last."""
    last = np.where(ranked.position > 0, ranked.position, ranked.data.n_rows + 1)
    return np.argsort(last, kind="stable")


def _features(
    data: RankingData,
    model: Any,
    fixed: Sequence[str],
    categories: Mapping[str, Sequence[str]] | None,
) -> tuple[list[Feature], list[Feature], list[str]]:
    """Return all features, those that may change, and the names of those that may not."""
    if data.X is None:
        raise DataError("data must have features (X) for a model")
    names = _names(data, model)
    categories = data.categories if categories is None else categories
    every, _ = features_of(names, categories, ())
    own = {feature.name for feature in every}
    never = [*fixed, *(name for name in data.sensitive if name in own and name not in fixed)]
    return every, features_of(names, categories, never)[1], never


def _names(data: RankingData, model: Any) -> list[str]:
    names = getattr(model, "feature_names_in_", data.feature_names)
    return [f"x{at}" for at in range(data.n_features)] if names is None else list(map(str, names))


def _weights(
    ranked: Ranking, model: Any, at: int, other: int, features: Sequence[Feature], seed: Any
) -> list[dict[str, Any]]:
    """Return the contribution of each feature to the difference of two scores, largest first.

    Only the values of the first person are included.
    """
    data = ranked.data
    rows = [int(data.caller_rank[each]) for each in (at, other)]
    found = model.explain_pair(replace(data, score=None), *rows, random_state=seed)
    part = dict(zip(found["feature"].tolist(), found["contribution"].tolist(), strict=True))
    own = as_dense(data.X)[at]
    names = _names(data, model)
    weights: list[dict[str, Any]] = []
    for feature in features:
        value = sum(part.pop(names[column]) for column in feature.columns)
        words = feature.words(feature.value(own))
        weights.append({"feature": feature.name, "value": words, "contribution": float(value)})
    for name, value in part.items():  # groups, and terms in brackets such as (re-ranker)
        words = _group_words(data, name, at)
        weights.append({"feature": name, "value": words, "contribution": float(value)})
    weights = [each | {"method": found.method} for each in weights if each["contribution"]]
    return sorted(weights, key=lambda each: -abs(each["contribution"]))


def _group_words(data: RankingData, name: str, at: int) -> str:
    """Return a person's group of an attribute; nothing for other terms of the score."""
    attribute = data.sensitive.get(name)
    if attribute is None:
        return ""
    code = int(attribute.codes[at])
    return "unknown" if code < 0 else str(attribute.categories[code])


def _moved_from(data: RankingData, model: Any, at: int) -> int | None:
    """Return the position before a re-ranker, if the model has one and it moved the person."""
    if not hasattr(model, "reranker"):
        return None
    found = model.rank(data)
    before, now = found.places_before, found.places
    return int(before[at]) if before[at] != now[at] else None


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return value if isinstance(value, (int, float, str)) else str(value)
