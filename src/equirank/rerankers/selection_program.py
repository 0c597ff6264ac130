"""One choice of k with floors and in-group fairness, as programs with whole numbers."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .integer_program import Program, Solution

__all__ = ["Choosing", "Chosen", "Group", "choose", "igf_of"]


#: What rounding may do to a level.
TOLERANCE = 1e-7


@dataclass(frozen=True, eq=False)
class Group:
    """One group of one attribute: its members (indices, highest merit first) and its floor."""

    key: Any
    label: Any
    members: np.ndarray
    floor: int


@dataclass(frozen=True, eq=False)
class Choosing:
    """What is asked of one choice: merits and cells of the candidates best first, the groups, k."""

    merit: np.ndarray
    cells: np.ndarray
    groups: list[Group]
    k: int
    igf: str
    level: float
    leximin: bool
    time_limit: float


@dataclass(frozen=True, eq=False)
class Chosen:
    """Who is accepted, the gap to the best, and why the bounds could not be met ("" if so)."""

    accepted: np.ndarray
    gap: float
    reason: str = ""


def igf_of(asked: Choosing, group: Group, accepted: np.ndarray) -> float:
    """Return a group's in-group fairness; NaN where nobody of it is accepted."""
    merit, taken = asked.merit[group.members], accepted[group.members]
    if not taken.any():
        return float("nan")
    if asked.igf == "ratio":
        rejected = merit[~taken]
        return 1.0 if not len(rejected) else min(1.0, float(merit[taken].min() / rejected.max()))
    shares = [
        float(merit[taken & (merit >= least)].sum() / merit[merit >= least].sum())
        for least in merit[taken]
    ]
    return min(shares)


def choose(asked: Choosing, closest: bool) -> Chosen:
    """Choose; where bounds cannot be met give the reason, and with ``closest`` the closest choice.

    Raises nothing: the caller decides what a reason means.
    """
    best_first = np.arange(len(asked.merit)) < asked.k
    if asked.k == 0:
        return Chosen(best_first, 0.0)
    model = _Model(asked)
    floors, level = [min(g.floor, len(g.members)) for g in asked.groups], asked.level
    reason = _too_few(asked)
    if reason and not closest:
        return Chosen(best_first, np.inf, reason)
    if not reason:
        found = model.best(floors, level, asked.leximin)
        if found.x is not None:
            return Chosen(model.read(found), found.gap)
        if not found.infeasible:
            return Chosen(best_first, np.inf, "no choice was found in time; raise time_limit")
        reason = _clash(model, asked, floors)
        if not closest:
            return Chosen(best_first, np.inf, reason)
    missing = model.fewest_missing(floors)
    floors = [max(0, floor - missing) for floor in floors]
    found = model.best(floors, level, asked.leximin)
    if found.x is None:
        found = model.best(floors, 0.0, True)
    if found.x is None:
        return Chosen(best_first, np.inf, reason)
    return Chosen(model.read(found), found.gap, reason)


def _too_few(asked: Choosing) -> str:
    for group in asked.groups:
        there = len(group.members)
        if group.floor > there:
            return f"{group.floor} of group {group.label!r} are asked for, and the list has {there}"
        if group.floor > asked.k:
            return f"{group.floor} of group {group.label!r} are asked for in {asked.k} places"
    return ""


def _clash(model: "_Model", asked: Choosing, floors: list[int]) -> str:
    """Return whether the floors clash, and from which group on, or whether the level is too high."""
    asked_for = [at for at, floor in enumerate(floors) if floor]
    for count in range(1, len(asked_for) + 1):
        some = [floor if at in asked_for[:count] else 0 for at, floor in enumerate(floors)]
        if model.best(some, 0.0, False).infeasible:
            group = asked.groups[asked_for[count - 1]]
            return (
                f"{group.floor} of group {group.label!r} do not fit into {asked.k} places beside "
                "the other floors"
            )
    return f"the floors leave no choice with an IGF-{asked.igf} of {asked.level:g} in every group"


class _Model:
    """The programs of one choice over those who can be in the best one: k of each cell."""

    def __init__(self, asked: Choosing) -> None:
        self.asked = asked
        keep = np.zeros(len(asked.merit), dtype=bool)
        for cell in np.unique(asked.cells):
            mine = np.flatnonzero(asked.cells == cell)
            keep[mine[np.argsort(-asked.merit[mine], kind="stable")][: asked.k]] = True
        self.kept = np.flatnonzero(keep)
        self.at = np.full(len(asked.merit), -1)
        self.at[self.kept] = np.arange(len(self.kept))

    def read(self, found: Solution) -> np.ndarray:
        """Return who is accepted."""
        accepted = np.zeros(len(self.asked.merit), dtype=bool)
        x = np.asarray(found.x)[: len(self.kept)]
        accepted[self.kept[np.argsort(-x, kind="stable")[: self.asked.k]]] = True
        return accepted

    def _choices(self, floors: list[int], missing: bool = False) -> tuple[Program, np.ndarray]:
        """Write who may be chosen under the floors; a last variable counts what is missing."""
        program = Program()
        x = program.variables(len(self.kept), whole=True)
        program.row(x, np.ones(len(x)), low=float(self.asked.k), high=float(self.asked.k))
        extra = program.variables(1, top=float(self.asked.k)) if missing else x[:0]
        for group, floor in zip(self.asked.groups, floors, strict=True):
            mine = x[self._columns(group)]
            if floor > 0:
                both = np.append(mine, extra)
                program.row(both, np.ones(len(both)), low=float(floor))
        return program, extra if missing else x

    def _columns(self, group: Group) -> np.ndarray:
        at = self.at[group.members]
        return at[at >= 0]

    def fewest_missing(self, floors: list[int]) -> int:
        """Return the smallest number that all floors must be lowered by."""
        program, extra = self._choices(floors, missing=True)
        found = program.solve(extra, [-1.0], time_limit=self.asked.time_limit)
        return self.asked.k if found.x is None else int(np.ceil(found.x[extra[0]] - 1e-6))

    def best(self, floors: list[int], level: float, leximin: bool) -> Solution:
        """Return the choice of the largest total merit under floors, level and leximin."""
        limits: list[float] = []
        gap = 0.0
        if leximin:
            for _ in self.asked.groups:
                found, worst = self._lower_worst(floors, level, limits)
                if found.x is None:
                    return found
                gap = max(gap, found.gap)
                limits.append(worst + TOLERANCE)
                if worst <= TOLERANCE:
                    break
        program, x = self._choices(floors)
        self._keep_level(program, x, level)
        if limits:
            self._keep_limits(program, x, limits)
        merit = self.asked.merit[self.kept]
        found = program.solve(x, merit - merit.min(), time_limit=self.asked.time_limit)
        return replace(found, gap=max(gap, found.gap))

    def _keep_level(self, program: Program, x: np.ndarray, level: float) -> None:
        if level <= 0:
            return
        for group in self.asked.groups:
            if self.asked.igf == "ratio":
                self._keep_ratio(program, x, group, level)
            else:
                for own, above, share in self._shares(group):
                    columns = np.append(x[above], x[own])
                    program.row(columns, np.append(share, -level), low=0.0)

    def _keep_ratio(self, program: Program, x: np.ndarray, group: Group, level: float) -> None:
        """Let nobody in before all whose merit times the level is higher."""
        merit = self.asked.merit[group.members]
        all_above = self._all_in(program, x, group)
        for i, member in enumerate(group.members):
            if self.at[member] < 0:
                continue
            ahead = int(np.searchsorted(-merit, -merit[i] / level * (1 + 1e-12)))
            if ahead > 0:
                columns = [x[self.at[member]], all_above[ahead - 1]]
                program.row(columns, [1.0, -1.0], high=0.0)

    def _all_in(self, program: Program, x: np.ndarray, group: Group) -> np.ndarray:
        """Write for each member whether it and all above it are accepted."""
        all_in = program.variables(len(group.members))
        for i, member in enumerate(group.members):
            if self.at[member] >= 0:
                program.row([all_in[i], x[self.at[member]]], [1.0, -1.0], high=0.0)
            else:
                program.row([all_in[i]], [1.0], high=0.0)
            if i > 0:
                program.row([all_in[i], all_in[i - 1]], [1.0, -1.0], high=0.0)
        return all_in

    def _shares(self, group: Group) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """Return for each member its column, the columns at or above it and their shares."""
        merit, found = self.asked.merit[group.members], []
        for i, member in enumerate(group.members):
            if self.at[member] < 0:
                continue
            above = group.members[merit >= merit[i]]
            known = above[self.at[above] >= 0]
            share = self.asked.merit[known] / self.asked.merit[above].sum()
            found.append((int(self.at[member]), self.at[known], share))
        return found

    # leximin: the loss of a group is -log of its ratio, or 1 - its aggregated value

    def _lower_worst(
        self, floors: list[int], level: float, limits: list[float]
    ) -> tuple[Solution, float]:
        """Make the next largest loss as small as can be, the larger ones kept at their limits."""
        program, x = self._choices(floors)
        self._keep_level(program, x, level)
        losses = self._keep_limits(program, x, limits)
        worst = program.variables(1, top=self._range())
        exempt = program.variables(len(losses), whole=True)
        for loss, free in zip(losses, exempt, strict=True):
            program.row([loss, worst[0], free], [1.0, -1.0, -self._range()], high=0.0)
        program.row(exempt, np.ones(len(exempt)), high=float(len(limits)))
        found = program.solve(worst, [-1.0], time_limit=self.asked.time_limit)
        if found.x is None:
            return found, 0.0
        values = [igf_of(self.asked, group, self.read(found)) for group in self.asked.groups]
        known = sorted((self._loss(value) for value in values), reverse=True)
        return found, known[len(limits)]

    def _loss(self, value: float) -> float:
        if np.isnan(value):
            return 0.0
        return float(-np.log(value)) if self.asked.igf == "ratio" else 1.0 - value

    def _range(self) -> float:
        if self.asked.igf != "ratio":
            return 1.0
        return float(np.log(self.asked.merit.max() / self.asked.merit.min())) + 1e-3

    def _keep_limits(self, program: Program, x: np.ndarray, limits: list[float]) -> np.ndarray:
        """Write each group's loss; at most ``p`` groups may lose more than the p-th limit."""
        losses = program.variables(len(self.asked.groups), top=self._range())
        for loss, group in zip(losses, self.asked.groups, strict=True):
            self._write_loss(program, x, group, int(loss))
        for count, limit in enumerate(limits):
            exempt = program.variables(len(losses), whole=True)
            for loss, free in zip(losses, exempt, strict=True):
                program.row([loss, free], [1.0, -self._range()], high=limit)
            program.row(exempt, np.ones(len(exempt)), high=float(count))
        return losses

    def _write_loss(self, program: Program, x: np.ndarray, group: Group, loss: int) -> None:
        if not len(group.members):
            return
        if self.asked.igf == "aggregated":
            for own, above, share in self._shares(group):
                columns = np.concatenate([x[above], [loss, x[own]]])
                program.row(columns, np.concatenate([share, [1.0, -1.0]]), low=0.0)
            return
        high = np.log(self.asked.merit[group.members] / self.asked.merit.min())
        all_in = self._all_in(program, x, group)
        lowest = program.variables(1, top=self._range())
        for i, member in enumerate(group.members):
            if self.at[member] >= 0:
                pair = [lowest[0], x[self.at[member]]]
                program.row(pair, [1.0, self._range()], high=high[i] + self._range())
        # loss >= (log of the highest rejected) - (log of the lowest accepted)
        drop = high - np.append(high[1:], 0.0)
        columns = np.concatenate([[loss, lowest[0]], all_in])
        program.row(columns, np.concatenate([[1.0, 1.0], drop]), low=float(high[0]))
