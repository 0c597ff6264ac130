"""The plan of an audit: attributes, protected groups, cutoffs and resampling."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

import numpy as np

from ..core.data import Attribute, RankingData
from ..core.errors import DataError, suggest
from ..core.named_groups import named_groups
from ..core.outcomes import Decision, DecisionRule
from ..core.params import Integer, check_params
from ..core.ranking import Ranking
from ..metrics import NDCG

__all__ = ["Audited", "Plan", "choose_ks", "make_plan"]


#: Joins the names of crossed attributes.
TIMES = " x "
#: Default cutoffs, used if the lists are longer.
DEFAULT_KS = (10, 50)


@dataclass(frozen=True, eq=False)
class Audited:
    """An attribute of an audit, or several crossed.

    Attributes
    ----------
    by : tuple of str
        The columns.
    attribute : Attribute
        Its codes and groups.
    protected : tuple of int
        Codes of the protected groups.
    focus : int
        Code of the group shown in charts: the protected one, else the one ranked lowest.
    reference : int or None
        Code of the group that the others are compared with; None for everyone else.
    """

    by: tuple[str, ...]
    attribute: Attribute
    protected: tuple[int, ...] = ()
    focus: int = 0
    reference: int | None = None

    @property
    def name(self) -> str:
        """The name, with crossed columns joined."""
        return TIMES.join(self.by)

    @property
    def key(self) -> Any:
        """The value for ``by`` of a metric."""
        return self.by[0] if len(self.by) == 1 else self.by

    @property
    def crossed(self) -> bool:
        """Whether it crosses several columns."""
        return len(self.by) > 1

    @property
    def groups(self) -> list[str]:
        """The groups' names."""
        return [str(category) for category in self.attribute.categories]

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.attribute.categories)

    def focused(self, focus: int) -> "Audited":
        """Return a copy with another focus."""
        return replace(self, focus=focus)


@dataclass(frozen=True, eq=False)
class Plan:
    """The ranking to audit, and the settings."""

    ranking: Ranking
    audited: tuple[Audited, ...]
    decisions: tuple[Decision, ...]
    step: int
    level: float
    n_boot: int
    n_permutations: int
    seed: int
    ordered: bool = True
    scored: bool = False
    shown: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    gains: tuple[NDCG, ...] = ()

    @property
    def ks(self) -> tuple[int, ...]:
        """The cutoffs, if the top k of each list are selected."""
        return tuple(each.scope["k"] for each in self.decisions if "k" in each.scope)

    @property
    def data(self) -> RankingData:
        """The ranked data."""
        return self.ranking.data

    @property
    def one_list(self) -> bool:
        """Whether there is only one list."""
        return self.data.n_queries == 1


def make_plan(
    ranking: Ranking,
    *,
    protected: Any,
    rule: DecisionRule,
    cross: bool,
    level: float,
    n_boot: int,
    n_permutations: int,
    seed: int,
    reference: Any = None,
    ordered: bool = True,
    scored: bool = False,
    shown: Mapping[str, Mapping[Any, str]] | None = None,
    gains: Sequence[NDCG] = (),
) -> Plan:
    """Return the plan: attributes, intersections, protected groups, references and decisions."""
    data = ranking.data
    if not data.sensitive:
        raise DataError("sensitive must name at least one attribute, got none")
    keys: list[tuple[str, ...]] = [(name,) for name in data.sensitive]
    if cross:
        keys += list(combinations(data.sensitive, 2))
    audited = [Audited(by, data.attribute(by[0] if len(by) == 1 else by)) for by in keys]
    audited = [each for each in audited if each.n_groups]  # two labels may never be known together
    named = _codes_by_attribute("protected", protected, audited)
    references = _codes_by_attribute("reference", reference, audited)
    for name, codes in references.items():
        if len(codes) > 1:
            raise DataError(f"reference must be one group of {name!r}, got {len(codes)}")
    audited = [
        replace(
            each,
            protected=named[each.name],
            focus=(*named[each.name], 0)[0],
            reference=(*references[each.name], None)[0],
        )
        for each in audited
    ]
    median = float(np.median(np.diff(data.offsets)))
    if scored and data.score is None:
        raise DataError("scored must be False for data without scores")
    decisions = rule.decisions(ranking, choose_ks(rule.k, median) if ordered else ())
    _check_references(audited, decisions)
    return Plan(
        ranking,
        tuple(audited),
        decisions,
        10 if median >= 50 else max(2, int(median // 5)),
        level,
        n_boot,
        n_permutations,
        seed,
        ordered,
        scored,
        _shown_names(shown or {}, audited),
        tuple(gains),
    )


def _shown_names(
    given: Mapping[str, Mapping[Any, str]], audited: Iterable[Audited]
) -> dict[str, dict[str, str]]:
    """Return the names of groups in sentences, by attribute; unknown groups are an error."""
    if not isinstance(given, Mapping) or not all(isinstance(v, Mapping) for v in given.values()):
        raise DataError(f'shown must look like {{"sex": {{"female": "women"}}}}, got {given!r}')
    known = {each.name: each for each in audited}
    found: dict[str, dict[str, str]] = {}
    for name, names in given.items():
        if name not in known:
            hint = suggest(str(name), list(known))
            raise DataError(
                f"shown must name one of the attributes {', '.join(map(repr, known))}, got "
                f"{name!r}{hint}"
            )
        each = known[name]
        codes = {each.attribute.code(group, f"shown of {name!r}"): group for group in names}
        found[name] = {each.groups[code]: str(names[group]) for code, group in codes.items()}
    return found


def _check_references(audited: Iterable[Audited], decisions: Iterable[Decision]) -> None:
    """Raise if nobody of a reference group is selected, so that no ratio to it is defined."""
    for each in audited:
        if each.reference is None:
            continue
        inside = each.attribute.codes == each.reference
        for decision in decisions:
            if not decision.selected[inside].sum() > 0:
                raise DataError(
                    f"reference must have somebody selected ({decision.name}), and group "
                    f"{each.groups[each.reference]!r} of {each.name!r} has nobody"
                )


def choose_ks(k: Any, median: float) -> tuple[int, ...]:
    """Return the given cutoffs; else 10 and 50 if lists are longer, else half a list.

    Examples
    --------
    >>> choose_ks(None, 53.0), choose_ks(None, 20.0), choose_ks(None, 8.0), choose_ks(5, 8.0)
    ((10, 50), (10,), (4,), (5,))
    """
    if k is None:
        return tuple(each for each in DEFAULT_KS if each < median) or (max(1, int(median // 2)),)
    several = tuple(k) if isinstance(k, Iterable) and not isinstance(k, str) else (k,)
    if not several:
        raise DataError("k must contain at least one cutoff, got none")
    for each in several:
        check_params("audit", {"k": each}, {"k": Integer(1)})
    return tuple(sorted({int(each) for each in several}))


def _codes_by_attribute(
    argument: str, given: Any, audited: list[Audited]
) -> dict[str, tuple[int, ...]]:
    """Return the codes of the named groups of each attribute."""
    found: dict[str, tuple[int, ...]] = {each.name: () for each in audited}
    known = {each.name: each.attribute for each in audited}
    for name, group in named_groups(given, known, argument):
        if name not in known:
            hint = suggest(name, list(known))
            raise DataError(
                f"{argument} must name one of the attributes {', '.join(map(repr, known))}, "
                f"got {name!r}{hint}"
            )
        code = known[name].code(group, f"{argument} of {name!r}")
        if code not in found[name]:
            found[name] = (*found[name], code)
    return found
