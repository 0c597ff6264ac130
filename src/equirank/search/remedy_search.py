"""The search for remedies: strengths that just reach a target, and all numbers of each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.environment import progress
from ..core.errors import DataError, InfeasibleError
from ..core.random import generator
from ..core.ranking import Ranking
from ..reports.provenance import Provenance
from .list_selection import Selection
from .remedies import CUTOFF, Line, Remedies, Remedy, Unreachable
from .remedy_candidates import (
    Candidate,
    Made,
    Situation,
    cutoff_reaching,
    feature_candidates,
    reranker_candidates,
)
from .remedy_quality import Quality
from .targets import FEWEST_LISTS, Estimate, GroupTarget, Target

if TYPE_CHECKING:
    from .remedy_promise import Calibration

__all__ = ["RemedyPath", "RemedySearch", "list_losses"]

#: Rows above which strengths are searched in some of the lists first, and rows of those.
LARGE, SAMPLE = 60_000, 20_000
#: Strengths tried at first, further ones where the path is not monotone, and steps of bisection.
GRID, FINE_GRID, STEPS = 9, 33, 12
#: First step beyond the strength of the sample, most steps that follow its slope, how far they go
#: beyond the strength expected, and the share of the way that a value may be beyond the target.
NEAR, NEAR_STEPS, MARGIN, CLOSE = 0.005, 4, 0.02, 0.01
#: Differences of values that count as noise in the check that a path is monotone.
FLAT = 1e-9
#: Points of the line of mixtures; noise in standard deviations of the scores within lists, its most
#: draws, and most rows times draws.
LINE_POINTS, NOISES, NOISE_DRAWS, MOST_NOISE = 6, (0.1, 0.25, 0.5, 1.0, 2.0, 4.0), 20, 400_000


@dataclass(frozen=True, eq=False)
class RemedyPath:
    """A remedy as a function of its strength, for a promise about new lists.

    Attributes
    ----------
    name : str
        Name of the remedy, as in the table.
    strengths : ndarray
        The strengths that were tried, weakest first, each from 0 (weakest) to 1.
    values : ndarray
        The value of the target at each.
    monotone : bool
        Whether the values never fall along the path, or never rise.
    losses : callable
        Maps a strength to the loss of each list, in [0, 1]; NaN for lists without both sides.
        Raises `DataError` if the target is no mean of such losses.
    """

    name: str
    strengths: np.ndarray
    values: np.ndarray
    monotone: bool
    losses: Callable[[float], np.ndarray]


class RemedySearch:
    """The search for remedies of one target."""

    def __init__(
        self,
        ranking: Ranking,
        target: Target,
        selection: Selection,
        level: float,
        n_boot: int,
        seed: int,
        shown: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.situation = Situation.of(ranking, target, seed, shown)
        self.ranking, self.target = ranking, target
        self.selection = selection if target.selection is None else target.selection
        self.level, self.n_boot, self.seed = level, n_boot, seed
        self.sample = _some_lists(self.situation)
        self.quality = Quality(ranking, target.selection)
        self.selected = self.selection.chance(ranking)
        self.before = target.value(ranking)
        self._before: dict[bool, tuple[np.ndarray, np.ndarray]] = {}

    def run(
        self,
        blind_only: bool,
        score_error: float | None,
        model: Any,
        notes: list[str],
        provenance: Provenance,
        title: str | None,
        calibration: "Calibration | None" = None,
    ) -> Remedies:
        """Try every candidate, and return the result."""
        from .remedy_promise import with_promises

        before = self.target.measure(self.ranking, self.level, self.n_boot, self.seed)
        if np.isnan(before.value):
            raise DataError(f"target {self.target.text!r} cannot be measured: it is undefined")
        candidates: list[Candidate] = []
        left_out: list[tuple[str, str]] = []
        found: dict[str, Remedy] = {}
        paths: dict[str, RemedyPath] = {}
        if self.target.reached(before.value):
            notes.append("The target is reached already, so no remedy was searched.")
        else:
            candidates, left_out = reranker_candidates(
                self.situation, blind_only=blind_only, score_error=score_error
            )
            if model is not None:
                more, few = feature_candidates(model, self.ranking.data)
                candidates, left_out = candidates + more, left_out + few
        strengths: dict[str, float] = {}
        for candidate in progress(candidates, "remedies"):
            try:
                made = self._tried(candidate)
                found[candidate.name], paths[candidate.name], strengths[candidate.name] = made
            except (DataError, InfeasibleError) as error:
                left_out.append((candidate.name, str(error)))
        if calibration is not None and found:
            tried = [(c, found[c.name], strengths[c.name]) for c in candidates if c.name in found]
            promised, remarks = with_promises(tried, self.situation, calibration)
            found |= {each.name: each for each in promised}
            notes += remarks
        if candidates and isinstance(self.target, GroupTarget) and self.target.kind == "selected":
            moved = self._cutoff(self.target)
            if moved is None:
                left_out.append((CUTOFF, _no_cutoff(self.target)))
            else:
                found[moved.name] = moved
        return Remedies(
            target=self.target,
            before=before,
            quality_name=self.quality.name,
            quality_before=self.quality.measure(self.ranking, self.level, self.n_boot, self.seed)[
                0
            ],
            remedies=sorted(found.values(), key=_rank),
            not_tried=left_out,
            unreachable=self._unreachable(list(found.values())),
            lines=self._lines() if candidates else [],
            notes=notes,
            ranking=self.ranking,
            ordered=self.situation.ordered,
            selection=self.selection,
            level=self.level,
            seed=self.seed,
            blind_only=blind_only,
            provenance=provenance,
            title=_title(title, self.ranking),
            paths=paths,
            shown=self.situation.shown,
        )

    def _tried(self, candidate: Candidate) -> tuple[Remedy, RemedyPath, float]:
        """Return a candidate at the strength that just reaches the target, its path, and that."""
        few = Quality(self.sample.ranking, self.sample.target.selection)
        path = _Path(candidate, self.sample, few)
        strength = path.search()
        last = path
        if self.sample is not self.situation:
            last = _Path(candidate, self.situation, self.quality)
            strength = last.near(strength, path, self.before)
        made = last.made(strength)
        remedy = self._measured(candidate, strength, made, path.monotone)
        strengths = np.array(sorted(path.values))
        values = np.array([path.values[s] for s in strengths.tolist()])

        def losses(strength: float) -> np.ndarray:
            return list_losses(candidate, self.situation, strength)

        found = RemedyPath(candidate.name, strengths, values, path.monotone, losses)
        return remedy, found, strength

    def _measured(
        self, candidate: Candidate, strength: float, made: Made, monotone: bool
    ) -> Remedy:
        """Return all numbers of a remedy."""
        target = self.target.measure(made.ranking, self.level, self.n_boot, self.seed)
        quality, loss = self.quality.measure(made.ranking, self.level, self.n_boot, self.seed)
        failing = []
        if made.holds is not None:
            failing = self.ranking.data.qids[~made.holds].tolist()
        return Remedy(
            name=candidate.name,
            sentence=candidate.words(self.situation, strength),
            uses_group="aware" if candidate.uses_group else "blind",
            random=candidate.random,
            strength_name=candidate.strength_name,
            strength=candidate.value(self.situation, strength),
            parameters=made.params,
            target=target,
            reached=self.target.reached(target.value),
            quality=quality,
            loss=loss,
            guarantee=made.guarantee if made.result is None or made.holds is not None else "",
            holds=None if made.holds is None else bool(made.holds.all()),
            failing=failing,
            monotone=monotone,
            ranking=made.ranking,
            **self._moves(made.ranking, candidate.random),
        )

    def _moves(self, after: Ranking, random: bool) -> dict[str, Any]:
        """Return how many people move, how far, and how many enter and leave the top k."""
        if random not in self._before:
            before = self.ranking if random else self.situation.ordered
            self._before[random] = _mean_positions(before), self.selection.chance(before)
        old, was = self._before[random]
        distance = np.abs(_mean_positions(after) - old)
        moved = distance > FLAT * len(distance)
        change = self.selection.chance(after) - was
        return {
            "moved": int(moved.sum()),
            "mean_move": float(distance[moved].mean()) if moved.any() else 0.0,
            "largest_move": float(distance.max(initial=0.0)),
            "entered": int((change > 1e-9).sum()),
            "left": int((change < -1e-9).sum()),
            "selected_change": round(float(change.sum()), 6),
        }

    def _cutoff(self, target: GroupTarget) -> Remedy | None:
        """Return the remedy that selects more or fewer people of each list."""
        found = cutoff_reaching(target, self.ranking)
        if found is None:
            return None
        moved = GroupTarget(target.gate, self.ranking.data, found)
        measured = moved.measure(self.ranking, self.level, self.n_boot, self.seed)
        change = found.chance(self.ranking) - self.selected
        strength = float(found.cutoff if found.k is None else found.k)  # type: ignore[arg-type]
        quality, _ = self.quality.measure(self.ranking, self.level, self.n_boot, self.seed)
        return Remedy(
            name=CUTOFF,
            sentence=f"Selected are {found.words} of each list instead of "
            f"{self.selection.words}; the order stays."
            if found.k
            else f"Selected are people with {found.words} instead of {self.selection.words}.",
            uses_group="blind",
            random=False,
            strength_name="cutoff" if found.k is None else "k",
            strength=strength,
            parameters={"cutoff": found.words} if found.k is None else {"k": found.k},
            target=measured,
            reached=True,
            quality=quality,
            loss=Estimate(0.0 if self.quality.known else float("nan")),
            guarantee="",
            holds=None,
            failing=[],
            monotone=True,
            ranking=self.ranking,
            moved=0,
            mean_move=0.0,
            largest_move=0.0,
            entered=int((change > 1e-9).sum()),
            left=int((change < -1e-9).sum()),
            selected_change=round(float(change.sum()), 6),
            keeps_number=False,
            selection=found,
        )

    def _unreachable(self, remedies: list[Remedy]) -> Unreachable | None:
        """Return what is nearest if no remedy reaches the target."""
        if not remedies or any(each.reached for each in remedies):
            return None
        nearest = remedies[0]
        for each in remedies:
            if self.target.better(each.target.value, nearest.target.value):
                nearest = each
        values = self.target.per_list(nearest.ranking)
        missed = [not np.isnan(v) and not self.target.reached(float(v)) for v in values]
        lists = self.ranking.data.qids[np.array(missed, dtype=bool)].tolist()
        value, failing = nearest.target.value, nearest.failing
        bound = nearest.guarantee if failing else ""
        return Unreachable(nearest.name, value, lists, bound, failing)

    def _lines(self) -> list[Line]:
        """Return the lines of random mixtures and of noise in the scores."""
        situation = self.sample
        quality = Quality(situation.ranking, situation.target.selection)
        if situation.ranking.n_draws > 1:
            return []
        mixed = [_mixture(situation.ranking, eps) for eps in np.linspace(0.0, 1.0, LINE_POINTS)]
        lines = [self._line("random mixture", situation, quality, mixed)]
        everyone = bool((situation.ranking.position > 0).all())
        if situation.ranking.data.score is not None and everyone:
            noisy = _noisy(situation.ranking, self.seed)
            lines.append(self._line("score noise", situation, quality, noisy))
        return lines

    def _line(
        self, name: str, situation: Situation, quality: Quality, rankings: Sequence[Ranking]
    ) -> Line:
        values = [situation.target.value(each) for each in rankings]
        return Line(name, values, [quality.value(each) for each in rankings])


def list_losses(candidate: Candidate, situation: Situation, strength: float) -> np.ndarray:
    """Return the loss of each list at a strength, in [0, 1]."""
    target = situation.target
    quantity = getattr(target, "quantity", "metric")
    if not target.mean_of_lists or quantity == "positions":
        raise DataError(
            f"target {target.text!r} is no mean of losses of lists in [0, 1], so there is no "
            "promise of this kind about new lists"
        )
    values = target.per_list(candidate.make(situation, strength).ranking)
    if quantity == "metric":
        values = values - target.shift  # type: ignore[attr-defined]
    return 1.0 - values if target.upwards else values


def _rank(remedy: Remedy) -> tuple[Any, ...]:
    """Return the order of remedies: reached, same number selected, smallest loss, blind."""
    loss = np.inf if np.isnan(remedy.loss.value) else round(remedy.loss.value, 12)
    return (
        not remedy.reached,
        not remedy.keeps_number,
        loss,
        remedy.uses_group == "aware",
        remedy.moved,
        remedy.name,
    )


def _title(title: str | None, ranking: Ranking) -> str:
    source = ranking.data.source
    return title or ("ranking" if source is None or not source.sha256 else source.name)


def _some_lists(situation: Situation) -> Situation:
    """Return a situation of some lists if there are many people."""
    data = situation.ranking.data
    if data.n_rows <= LARGE or data.n_queries < 2 * FEWEST_LISTS:
        return situation
    wanted = max(FEWEST_LISTS, int(data.n_queries * SAMPLE / data.n_rows))
    return situation.on(np.unique(np.linspace(0, data.n_queries - 1, wanted).astype(int)))


def _mean_positions(ranking: Ranking) -> np.ndarray:
    return ranking.expect(lambda position: position.astype(float))


def _no_cutoff(target: GroupTarget) -> str:
    chosen = target.selection
    if chosen is not None and chosen.k is None and chosen.cutoff is None:
        return "the number selected from each list is given"
    return "no other cutoff reaches the target"


class _Path:
    """Values of the target along the strengths of one candidate."""

    def __init__(self, candidate: Candidate, situation: Situation, quality: Quality) -> None:
        self.candidate, self.situation, self.quality = candidate, situation, quality
        self.values: dict[float, float] = {}
        self._last: tuple[float, Made] | None = None

    def made(self, strength: float) -> Made:
        """Return the ranking at a strength; the last one is kept."""
        if self._last is None or self._last[0] != strength:
            self._last = strength, self.candidate.make(self.situation, strength)
        return self._last[1]

    def at(self, strength: float) -> float:
        """Return the value at a strength, computed once."""
        if strength not in self.values:
            made, target = self.made(strength), self.situation.target
            # Who is selected does not depend on the order behind the cutoff.
            ranking = made.top if target.kind == "selected" else made.ranking
            self.values[strength] = target.value(ranking)
        return self.values[strength]

    def _quality(self, strength: float) -> float:
        """Return the quality at a strength."""
        value = self.quality.value(self.made(strength).ranking)
        return -np.inf if np.isnan(value) else round(value, 9)

    def reached(self, strength: float) -> bool:
        """Return whether the target is reached at a strength."""
        value = self.at(strength)
        return not np.isnan(value) and self.situation.target.reached(value)

    @property
    def monotone(self) -> bool:
        """Whether values never fall, or never rise, along the strengths tried."""
        values = np.array([self.values[s] for s in sorted(self.values)])
        steps = np.diff(values[~np.isnan(values)])
        noise = 0.02 if self.candidate.random else FLAT
        return bool((steps >= -noise).all() or (steps <= noise).all())

    def search(self) -> float:
        """Return the strength that just reaches the target, else the nearest that it reaches."""
        if self.candidate.only_full or self.candidate.strength_name == "ratio":
            self.at(1.0)
            return 1.0
        grid = np.linspace(0.0, 1.0, GRID)[1:].tolist()
        for strength in grid:
            self.at(strength)
        if not self.monotone:
            for strength in np.linspace(0.0, 1.0, FINE_GRID)[1:].tolist():
                self.at(strength)
        first = next((s for s in sorted(self.values) if self.reached(s)), None)
        if first is None:
            return self._nearest()
        below = max((s for s in self.values if s < first), default=0.0)
        self._bisect(below, first, STEPS + max(self.candidate.steps, 1).bit_length() - 1)
        reaching = [s for s in self.values if self.reached(s)]
        if self.monotone:
            return min(reaching)
        return max(reaching, key=lambda s: (self._quality(s), -s))

    def _nearest(self) -> float:
        found = next(iter(sorted(self.values)))
        for strength in sorted(self.values):
            if self.situation.target.better(self.values[strength], self.values[found]):
                found = strength
        return found

    def _bisect(self, low: float, high: float, steps: int) -> float:
        """Halve an interval whose upper end reaches the target; return the least that does."""
        for _ in range(steps):
            middle = (low + high) / 2.0
            if self.reached(middle):
                high = middle
            else:
                low = middle
        return high

    def near(self, strength: float, sample: "_Path", before: float) -> float:
        """Return the strength that just reaches the target in all lists, near that of some.

        ``before`` is the value as ranked now. Each step follows the slope of the sample.
        """
        if self.candidate.only_full or self.candidate.strength_name == "ratio":
            return strength
        limit, slope = self.situation.target.limit, sample.slope(strength)
        close = max(CLOSE * abs(limit - before), FLAT)
        jump = abs(sample.at(strength) - limit) > close
        tried = strength
        for _ in range(NEAR_STEPS):
            value = self.at(tried)
            if self.reached(tried) and (jump or abs(value - limit) <= close or tried == 0.0):
                return tried
            if slope == 0.0 or not np.isfinite(value):
                break
            share = 1.0 - MARGIN if self.reached(tried) else 1.0 + MARGIN
            tried = float(np.clip(tried + share * (limit - value) / slope, 0.0, 1.0))
            if tried in self.values:
                break
        reaching = [each for each in self.values if self.reached(each)]
        return min(reaching) if reaching else self._further()

    def _further(self) -> float:
        """Return the first of growing strengths that reaches the target, else the nearest."""
        low, step = max(self.values), NEAR
        while low < 1.0:
            low, step = min(low + step, 1.0), 3.0 * step
            if self.reached(low):
                return low
        return self._nearest()

    def slope(self, strength: float) -> float:
        """Return the slope of the values below a strength, 0 if it is unknown."""
        below = [each for each in self.values if each <= strength - NEAR]
        if not below or np.isnan(self.values[max(below)]):
            return 0.0
        low = max(below)
        return (self.at(strength) - self.at(low)) / (strength - low)


def _mixture(ranking: Ranking, eps: float) -> Ranking:
    """Return the ranking that is replaced by a random order with probability eps."""
    data = ranking.data
    shown = ranking.position > 0
    size = np.bincount(data.query_of_rows(), shown, data.n_queries).astype(np.int32)
    last = ranking.position if ranking.last is None else ranking.last
    position = np.stack([ranking.position, shown.astype(np.int32)], axis=1)
    ends = np.stack([last, np.where(shown, size[data.query_of_rows()], 0)], axis=1)
    weights = np.tile([1.0 - eps, eps], (data.n_queries, 1))
    return Ranking(data, position, ends.astype(np.int32), weights)


def _noisy(ranking: Ranking, seed: int) -> list[Ranking]:
    """Return rankings by scores with more and more noise, each in several draws."""
    data = ranking.data
    score, query = np.asarray(data.score, dtype=float), data.query_of_rows()
    means = np.bincount(query, score) / np.diff(data.offsets)
    scale = float(np.std(score - means[query]))
    draws = int(np.clip(MOST_NOISE // max(data.n_rows, 1), 1, NOISE_DRAWS))
    noise = generator(seed, 17).normal(size=(draws, data.n_rows))
    found = [ranking]
    for share in NOISES:
        drawn = [Ranking.from_scores(replace(data, score=score + share * scale * e)) for e in noise]
        position = np.stack([each.position for each in drawn], axis=1)
        found.append(Ranking(data, position if draws > 1 else position[:, 0]))
    return found
