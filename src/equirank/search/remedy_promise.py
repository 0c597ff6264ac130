"""The promise of each remedy for new lists, from lists on which nothing was searched."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core import inputs
from ..core.attribute import Attribute
from ..core.errors import DataError
from ..core.ranking import Ranking
from ..reports.number_words import level_words
from .guarantee import promise
from .remedies import Remedy, RemedyPromise
from .remedy_candidates import EVERYONE_ELSE, Candidate, Situation
from .remedy_search import list_losses
from .targets import Target

__all__ = ["Calibration", "with_promises"]

#: Strengths that are tested, from the one that just reaches the target, near which they are denser,
#: to the strongest.
N_STRENGTHS = 17


@dataclass(frozen=True, eq=False)
class Calibration:
    """Lists for promises, and the probability with which a promise may fail."""

    ranking: Ranking
    target: Target
    delta: float

    def situation(self, searched: Situation) -> Situation:
        """Return the situation of these lists, with the sides and the scale of those searched."""
        data = self.ranking.data
        name = next(iter(searched.seen.sensitive))
        attribute = self.target.attribute(data)
        sides = np.full(data.n_rows, -1, dtype=np.int32)
        names = (searched.promoted, searched.others)
        labels = [str(each) for each in attribute.categories]
        for at, label in enumerate(names):
            if label in labels:
                sides[attribute.codes == labels.index(label)] = at
        if EVERYONE_ELSE in names:
            sides[(sides < 0) & (attribute.codes >= 0)] = names.index(EVERYONE_ELSE)
        seen = replace(data, sensitive={name: Attribute(inputs.frozen(sides), names)})
        found = Situation(self.ranking, self.target, *names, seen, searched.seed, searched.shown)
        # A strength means the same as in the lists that were searched.
        found.__dict__.update(spread=searched.spread, bonuses=searched.bonuses)
        return found


@dataclass(frozen=True, eq=False)
class _CalibrationPath:
    """A remedy on the calibration lists, as `promise` takes it."""

    candidate: Candidate
    situation: Situation
    strengths: np.ndarray

    def losses(self, strength: float) -> np.ndarray:
        """Return the loss of each list, in [0, 1]."""
        return list_losses(self.candidate, self.situation, strength)


def with_promises(
    tried: list[tuple[Candidate, Remedy, float]], searched: Situation, given: Calibration
) -> tuple[list[Remedy], list[str]]:
    """Return the remedies with their promises, and remarks.

    Each remedy is tested from its strongest setting down to the one that just reaches the target.
    """
    target = given.target
    shift = getattr(target, "shift", 0.0)
    at_most = 1.0 - target.limit if target.upwards else target.limit - shift
    remedies = [remedy for _, remedy, _ in tried]
    if not searched.promoted:
        return remedies, ["Nothing is promised for new lists: the target is about several groups."]
    situation = given.situation(searched)

    def loss(_: Any) -> Any:
        raise NotImplementedError  # the losses are those of the path

    found = []
    for candidate, remedy, strength in tried:
        if candidate.of_model:
            found.append(remedy)
            continue
        steps = np.linspace(0.0, 1.0, N_STRENGTHS) ** 2
        path = _CalibrationPath(candidate, situation, strength + (1.0 - strength) * steps)
        try:
            made = promise(path, loss, at_most, given.delta)
        except DataError as error:
            return remedies, [f"Nothing is promised for new lists: {error}."]
        value = None if not made else candidate.value(searched, float(made.candidate))
        wanted = f"{target.plain_words(searched.shown)}: {target.wanted}"
        sentence = _words(remedy, wanted, value, made, given)
        promised = RemedyPromise(value, given.delta, made.n_lists, sentence)
        found.append(replace(remedy, promise=promised))
    return found, []


def _words(remedy: Remedy, wanted: str, value: float | None, made: Any, given: Calibration) -> str:
    target = f"the target ({wanted}) on average"
    sure = f"{level_words(1.0 - given.delta)} confidence"
    if value is not None:
        return (
            f"On new lists drawn like the {made.n_lists:,} of the calibration part, {remedy.name} "
            f"with {remedy.strength_name} = {value:.4g} keeps {target} ({sure})."
        )
    more = (
        f"about {int(made.needed):,} would be needed"
        if np.isfinite(made.needed)
        else "more lists like these would not help"
    )
    return (
        f"With the {made.n_lists:,} lists of the calibration part it cannot be promised that "
        f"{remedy.name} keeps {target} on new lists ({sure}); {more}."
    )
