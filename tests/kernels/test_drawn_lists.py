"""Random swaps and online selection against plain loops."""

import numpy as np
import pytest

from equirank.core.inputs import frozen
from equirank.kernels.counted_random import key_of, uniform
from equirank.kernels.drawn_lists import epsilon_swaps, select_online


def plain(n, k, key, draw, eps):
    people = list(range(n))
    key = np.uint64(key_of(np.uint64(key), np.uint64(draw)))
    for j in range(min(k, n - 1)):
        if uniform(key, np.uint64(2 * j)) < eps:
            at = j + 1 + int(uniform(key, np.uint64(2 * j + 1)) * (n - 1 - j))
            people[j], people[at] = people[at], people[j]
    place = [0] * n
    for j, person in enumerate(people[:k]):
        place[person] = j + 1
    return place


def test_against_a_plain_loop():
    sizes, limits, keys = [1, 5, 4, 7], [1, 5, 2, 3], [9, 8, 7, 6]
    offsets = frozen(np.concatenate([[0], np.cumsum(sizes)]))
    places = epsilon_swaps(
        offsets, np.array(sizes), np.array(limits), np.array(keys, dtype=np.uint64), 0.6, 20
    )
    for q, (n, k, key) in enumerate(zip(sizes, limits, keys, strict=True)):
        for draw in range(20):
            mine = places[offsets[q] : offsets[q + 1], draw].tolist()
            assert mine == plain(n, k, key, draw, 0.6)


RANDOM = np.zeros(0, dtype=np.int64)


def run(
    codes, k, floor, ceiling, *, arrival=RANDOM, warm_up=1 / np.e, deferred=True, draws=1, key=1
):
    n = len(codes)
    return select_online(
        np.asarray(codes, dtype=np.int32),
        frozen(np.array([0, n])),
        np.array([n]),
        np.array([k]),
        np.array([floor]),
        np.array([ceiling]),
        np.asarray(arrival),
        np.array([key], dtype=np.uint64),
        warm_up,
        deferred,
        draws,
    )


def plain_selection(codes, k, floor, ceiling, arrival, warm_up, deferred):
    """Decide one by one, with lists and sets; ranks are the indices, 0 the best."""
    groups = range(len(floor))
    to_come = {g: [r for r in arrival if codes[r] == g] for g in groups}
    look = {g: int(len(to_come[g]) * warm_up) for g in groups}
    watched = {g: sorted(to_come[g][: look[g]])[: floor[g]] for g in groups}
    targets = {g: watched[g] + [np.inf] * (floor[g] - len(watched[g])) for g in groups}
    free = k - sum(floor)
    first = int(len(arrival) * warm_up)
    seen_first = []
    taken, extra, counts, waiting = set(), 0, dict.fromkeys(groups, 0), []
    held = dict.fromkeys(groups, 0)
    arrived = dict.fromkeys(groups, 0)
    for step, rank in enumerate(arrival):
        g = codes[rank]
        arrived[g] += 1
        left = {h: len(to_come[h]) - arrived[h] for h in groups}
        due = {h: floor[h] - counts[h] for h in groups}
        beats = arrived[g] > look[g] and due[g] > 0 and rank < targets[g][due[g] - 1]
        if due[g] > 0 and (beats or left[g] < due[g]):
            taken.add(rank)
            counts[g] += 1
        elif deferred:
            waiting.append(rank)
        else:
            if free - extra <= 0:
                continue
            beats = False
            if step < first:
                seen_first.append(rank)
            else:
                best = sorted(seen_first)[:free]
                best += [np.inf] * (free - len(best))
                beats = rank < best[free - extra - 1]
            room = {h: ceiling[h] - floor[h] - held[h] for h in groups}
            could = sum(max(0, min(room[h], left[h] - due[h])) for h in groups)
            if room[g] > 0 and (beats or could < free - extra):
                taken.add(rank)
                held[g] += 1
                extra += 1
    for rank in sorted(waiting):  # the best that fit, as if all had been there at once
        g = codes[rank]
        if extra < free and held[g] < ceiling[g] - floor[g]:
            taken.add(rank)
            held[g] += 1
            extra += 1
    return taken


def case(rng):
    n, n_groups = int(rng.integers(1, 14)), int(rng.integers(1, 5))
    codes, k = rng.integers(0, n_groups, n), int(rng.integers(1, n + 1))
    sizes = np.bincount(codes, minlength=n_groups)
    ceiling = np.minimum(sizes, rng.integers(0, n + 1, n_groups))
    while ceiling.sum() < k:
        ceiling = np.minimum(sizes, ceiling + 1)
    floor = np.zeros(n_groups, dtype=np.int64)
    for g in rng.integers(0, n_groups, int(rng.integers(0, k + 1))):
        floor[g] += floor[g] < ceiling[g]
    return codes, k, floor, ceiling


@pytest.mark.parametrize("deferred", [True, False])
def test_against_a_plain_version(deferred):
    rng = np.random.default_rng(int(deferred))
    for _ in range(400):
        codes, k, floor, ceiling = case(rng)
        arrival, warm_up = rng.permutation(len(codes)), float(rng.choice([0, 0.2, 1 / np.e, 0.7]))
        given = {"arrival": arrival, "warm_up": warm_up, "deferred": deferred}
        places = run(codes, k, floor, ceiling, **given)[:, 0]
        expected = plain_selection(
            codes.tolist(), k, floor.tolist(), ceiling.tolist(), arrival.tolist(), warm_up, deferred
        )
        assert set(np.flatnonzero(places).tolist()) == expected
        assert places[np.flatnonzero(places)].tolist() == list(range(1, k + 1))


@pytest.mark.parametrize("deferred", [True, False])
def test_floors_and_ceilings_are_met_whatever_comes(deferred):
    rng = np.random.default_rng(5)
    for trial in range(300):
        codes, k, floor, ceiling = case(rng)
        places = run(codes, k, floor, ceiling, deferred=deferred, draws=5, key=trial)
        for draw in places.T:
            counts = np.bincount(codes[draw > 0], minlength=len(floor))
            assert counts.sum() == k
            assert (counts >= floor).all()
            assert (counts <= ceiling).all()


@pytest.mark.slow
def test_the_secretary_finds_the_best_with_the_known_chance():
    n, draws = 60, 20_000
    look = int(n / np.e)
    chance = look / n * sum(1 / i for i in range(look, n))
    for deferred, floor in ((False, 1), (False, 0), (True, 1)):
        places = run(np.zeros(n, dtype=int), 1, [floor], [1], deferred=deferred, draws=draws)
        assert (places[0] > 0).mean() == pytest.approx(chance, abs=0.015)
    waiting = run(np.zeros(n, dtype=int), 1, [0], [1], deferred=True, draws=50)
    assert (waiting[0] > 0).all()  # a waiting list for the only place decides at the end


def test_arrivals_are_uniform():
    places = run(np.zeros(4, dtype=int), 1, [1], [1], warm_up=0.0, draws=20_000)
    assert (places > 0).mean(axis=1) == pytest.approx(np.full(4, 0.25), abs=0.015)
