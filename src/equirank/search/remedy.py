"""remedy: what can be done about a difference between groups, and what it costs."""

from collections.abc import Mapping
from typing import Any, Literal, Unpack

import numpy as np

from ..auditing.audit import audit
from ..auditing.audit_plan import shown_names
from ..auditing.notes import people_remarks, untested_words
from ..core.data import RankingData
from ..core.errors import DataError
from ..core.evaluate import RESAMPLING
from ..core.keywords import shared_keywords
from ..core.params import Flag, Number, Optional, check_params
from ..core.random import as_seed
from ..core.ranking import Ranking
from ..core.recurrence import Recurrence, n_copies
from ..core.registry import find
from ..core.sums_plan import choose_ks
from ..engines.given_ranking import as_ranking, decision_rule
from ..reports.provenance import HeadingKeywords, Provenance
from .list_selection import Selection, refuse_recorded
from .remedies import Remedies
from .remedy_promise import Calibration
from .remedy_search import RemedyPath, RemedySearch
from .targets import crossed_target, read_target, target_of_claim

__all__ = ["RemedyPath", "remedy"]


# Long by its parameters and their documentation.
@shared_keywords(HeadingKeywords)
def remedy(
    data: Any = None,
    target: str | None = None,
    *,
    query: Any = None,
    score: Any = None,
    relevance: Any = None,
    position: Any = None,
    sensitive: Any = None,
    id: Any = None,
    k: Any = None,
    quota: Any = None,
    cutoff: str | None = None,
    selected: Any = None,
    stages: Any = None,
    blind_only: bool = False,
    score_error: float | None = None,
    calibration: Any = None,
    delta: float = 0.1,
    ties: Literal["average", "stable"] = "average",
    n_boot: int = 1000,
    level: float = 0.95,
    random_state: Any = 0,
    max_groups: int | None = None,
    shown: Mapping[str, Mapping[Any, str]] | None = None,
    **heading: Unpack[HeadingKeywords],
) -> Remedies:
    """Find what can be done about a difference between groups, and what each remedy costs.

    Every re-ranker that can act on the kind of target is tried, its strength searched such that
    the target is just reached; further a lottery at the margin, another cutoff, and, given a model,
    leaving out or capping each feature. Remedies that reach the target come first, those with the
    smallest loss in quality at the top; those that select another number of people come last.

    Parameters
    ----------
    data : RankingData, Ranking, path, data frame, mapping of columns, or None
        The ranking, as in `audit`.
    target : str, optional
        What is wanted, in the grammar of gates: ``"sex=female selected at 10 >= 0.8"``,
        ``"race=Black exposure vs White >= 0.9"``, ``"ExposureGap(by='race') <= 0.02"`` (above
        chance; ``raw:`` before it means the bare value). Without it the largest finding of an
        `audit` is the target: a ratio of four fifths or 45% of the pairs, or equality if the
        finding is smaller than that.
    query, score, relevance, position, sensitive, id
        As in `audit`; the ``score`` may be a fitted model.
    k : int, optional
        The top k of each list are selected. By default as in `audit`.
    quota, cutoff
        As in `audit`: the number selected from each list, or ``"score>=70"``. A remedy selects as
        many of each list as these do.
    selected, stages
        Recorded decisions of `audit`. They are an error that says what to give instead: no order
        changes them.
    blind_only : bool
        Whether to try only remedies that do not use the group of a person to decide.
    score_error : float, optional
        Standard error of the scores. A lottery is then at most 1.96 sqrt(2) times as wide: closer
        scores are not told apart.
    calibration : as ``data``, optional
        Further lists from the same source, which promise the target for new lists: with which
        strength of each remedy its mean over new lists is kept with confidence ``1 - delta``.
        Ratios that are pooled over lists have no such promise.
    delta : float
        Probability with which a promise may fail.
    ties : {"average", "stable"}
        As in `audit`.
    n_boot : int
        Bootstrap replicates of the intervals; 0 for none.
    level : float
        Level of the confidence intervals.
    random_state : int, Generator, RandomState or None
        Seed of intervals and of random remedies.
    max_groups : int, optional
        Most groups of an attribute, as in `as_ranking_data`.
    shown : mapping, optional
        Names of groups in sentences, as in `audit`: ``{"sex": {"female": "women"}}``.
    title, purpose, period, author, date
        For the page, as in `audit`.

    Returns
    -------
    Remedies
        ``table`` has one row per remedy, ``best()`` is the cheapest that reaches the target,
        ``apply(name)`` the new order, ``to_html`` writes a page.

    Raises
    ------
    DataError
        If the target cannot be read or measured, or without a target if there is no finding.

    Examples
    --------
    >>> from equirank import remedy
    >>> scores, sex = [8, 7, 6, 5, 4, 3, 2, 1], list("mmmmffff")
    >>> found = remedy(score=scores, sensitive={"sex": sex}, target="sex=f selected at 4 >= 0.8")
    >>> found.before.value, found.best("aware").name, found.best("aware").target.value
    (0.0, 'BalancedSelection', 1.0)
    >>> found.apply("ImpactRatioFloor").order()[:4]
    array([0, 1, 4, 5])
    """
    given: dict[str, Any] = {"n_boot": n_boot, "level": level, "blind_only": blind_only}
    given["score_error"] = score_error
    rules = {name: RESAMPLING[name] for name in ("n_boot", "level")}
    given["delta"] = delta
    rules |= {"delta": Number(0, 1, open_low=True, open_high=True)}
    rules |= {"blind_only": Flag(), "score_error": Optional(Number(0.0, open_low=True))}
    check_params("remedy", given, rules)
    columns = {"query": query, "score": score, "relevance": relevance}
    columns |= {"position": position, "sensitive": sensitive, "id": id}
    refuse_recorded(selected, stages)
    ways = {"selected": None, "yes": None, "cutoff": cutoff, "quota": quota, "k": k}
    rule, columns["outcomes"] = decision_rule(data, ways)
    ranking = as_ranking(data, columns, ties, max_groups, rule)
    if not ranking.data.sensitive:
        raise DataError("sensitive must name at least one attribute, got none")
    seed = as_seed(random_state)
    ks = choose_ks(k, float(np.median(np.diff(ranking.data.offsets))))
    chosen = Selection.by_rule(rule, ranking)
    people = None if ranking.data.ids is None else Recurrence.of(ranking.data.ids)
    sizes = ranking.data.n_rows, ranking.data.n_queries
    untested = untested_words(people, *sizes)
    notes = [f"Nothing is tested, and no number has an interval: {untested}."] if untested else []
    if target is None and untested:
        raise DataError(f"target must be given, since the audit tests nothing: {untested}")
    if target is None:
        way = {"k": list(ks)} if chosen is None else {"quota": rule.quota, "cutoff": rule.cutoff}
        target, claim = _largest_finding(ranking, way, level, seed)
        notes.append(f"The target is that of the largest finding: {claim}")
        if len(ranking.data.sensitive) > 1:
            example = crossed_target(ranking.data, None if chosen else ks[0])
            notes.append(
                "Findings about one attribute were looked at. A group of two attributes together "
                f'is named by a target, such as "{example}".'
            )
    notes += people_remarks(people, *sizes, untested, n_copies(ranking.data))
    wanted = read_target(target, ranking, ks, seed, chosen)
    model = None
    if hasattr(score, "predict") or callable(score):
        model = find("as_ranker")(score, prefit=True)
    provenance = Provenance.given(**heading).with_inputs(
        ranking.data, target=target, k=None if chosen else list(ks), quota=rule.quota,
        cutoff=rule.cutoff, blind_only=blind_only, score_error=score_error, ties=ties,
        n_boot=n_boot, level=level, random_state=seed, max_groups=max_groups,
    )  # fmt: skip
    top = chosen or Selection.top(ranking.data.n_queries, ks[0])
    search = RemedySearch(
        ranking, wanted, top, level, 0 if untested else n_boot, seed,
        shown_names(shown or {}, ranking.data.sensitive),
    )  # fmt: skip
    more = None
    if calibration is not None:
        if data is None:
            raise DataError("calibration must be None beside arrays; pass frames or RankingData")
        given_data = isinstance(calibration, (Ranking, RankingData))
        names = dict.fromkeys(columns) if given_data else columns | {"outcomes": None}
        lists = as_ranking(calibration, names, ties, max_groups, rule)
        if lists.data.fingerprint() == ranking.data.fingerprint():
            raise DataError("calibration must be other lists than data, got the same")
        same = wanted.on_other(lists, Selection.by_rule(rule, lists))
        if untested or _recur(people, lists.data.ids):
            notes.append("Nothing is promised for new lists, since people recur.")
        else:
            more = Calibration(lists, same, delta)
    return search.run(blind_only, score_error, model, notes, provenance, heading["title"], more)


def _recur(people: Recurrence | None, ids: np.ndarray | None) -> bool:
    """Return whether too many people recur in lists with these ids, or in them and other lists."""
    if ids is None:
        return False
    others = Recurrence.of(ids)
    return others.breaks_tests or (people is not None and (people + others).breaks_tests)


def _largest_finding(
    ranking: Ranking, way: dict[str, Any], level: float, seed: int
) -> tuple[str, str]:
    """Return the target of the largest finding that an order can change, and its sentence."""
    result = audit(ranking, **way, level=level, random_state=seed, cross=False)
    for claim in result.findings:
        text = target_of_claim(claim)
        if text is not None:
            return text, claim.sentence
    raise DataError(
        "target must be given: the audit has no finding that an order can change; name what is "
        'wanted, as in "sex=female selected at 10 >= 0.8"'
    )
