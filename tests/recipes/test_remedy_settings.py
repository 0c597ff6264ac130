"""Settings of remedies by plain names: where the selected change, and who joins and leaves."""

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.io.files import FileInMemory
from equirank.recipes.recipe import Recipe
from equirank.recipes.recipe_run import RecipeRun
from equirank.recipes.remedy_settings import choices, completed, setting_path, try_setting

# Some lists have too few people of a group for the largest shares.
pytestmark = pytest.mark.filterwarnings("ignore::equirank.EquirankWarning")


@pytest.fixture(scope="module")
def run():
    rng = np.random.default_rng(3)
    lines = ["list,race,score"]
    for at in range(8):
        for _ in range(12):
            race = "abc"[int(rng.integers(0, 3))]
            lines.append(f"{at},{race},{rng.normal() - (race == 'a'):.4f}")
    data = {"query": "list", "score": "score", "sensitive": ["race"]}
    recipe = Recipe.from_dict({"data": data, "audit": {"k": [5]}})
    return RecipeRun(recipe, FileInMemory("r.csv", "\n".join(lines).encode()))


def selected(result, k):
    return {row for row, place in enumerate(result.places.tolist()) if 0 < place <= k}


@pytest.mark.slow
@pytest.mark.parametrize("at", range(5))
def test_ranges_are_those_of_every_single_step(run, at):
    choice = choices(run.data, "race", "a", 5, None)[at]
    rough = setting_path(run, choice.setting, "a", 7)
    assert bool(rough.ranges) != choice.kind.two_sided
    path = setting_path(run, choice.setting, "a", 61) if choice.kind.two_sided else rough
    keys, control, _, high = choice.controls[0]
    n_steps = round((high - control.low) / control.step)
    sets = []
    for step in range(n_steps + 1):
        value = round(control.low + step * control.step, 6)
        moved = dict(choice.setting)
        whole = int(value) if control.step == 1 else value
        moved[keys[0]] = {**moved[keys[0]], "a": whole} if len(keys) > 1 else whole
        result = run.reranked(completed(moved, run.data, "a"))
        sets.append((value, selected(result, 5)))
    expected = []
    for value, people in sets:
        if expected and expected[-1][2] == people:
            expected[-1][1] = value
        else:
            expected.append([value, value, people])
    assert path.ranges == [(low, high) for low, high, _ in expected]
    assert [value for value, _ in path.points] == sorted({value for value, _ in path.points})
    assert len(rough.points) == min(7, n_steps + 1)


def test_at_least_never_lowers_the_group_and_near_a_share_does(run):
    offered = {choice.kind.__name__: choice for choice in choices(run.data, "race", "a", 5, None)}
    for name in ("FAStarIR", "PrefixConstraints", "RooneyRule"):
        assert not offered[name].kind.two_sided
        for _, tried in setting_path(run, offered[name].setting, "a", 5).points:
            before, after = tried.share("a")
            assert after >= before - 1e-12
    assert offered["DetGreedy"].kind.two_sided
    least = completed({**offered["DetGreedy"].setting, "proportions": {"a": 0.0}}, run.data, "a")
    before, after = try_setting(run, least).share("a")
    assert after < before


def test_who_joins_and_leaves_is_counted(run):
    setting = {"method": "PrefixConstraints", "by": "race", "k": 5, "lower": {"a": 0.4}}
    tried = try_setting(run, setting)
    old = {r for r, p in enumerate(tried.result.places_before.tolist()) if 0 < p <= 5}
    new = selected(tried.result, 5)
    labels = run.data.attribute("race").labels()
    for joins, rows in ((True, new - old), (False, old - new)):
        counts = {}
        for row in rows:
            counts[labels[row]] = counts.get(labels[row], 0) + 1
        assert tried.changed(joins) == counts
    assert sum(tried.moved_lists.values()) == len(tried.result.moves)
    score = np.mean([np.mean(run.data.score[sorted(new)])])
    name, _, after = tried.measure("mean score")
    assert name == "mean score of the first 5"
    assert after == pytest.approx(score)  # all lists have 5 selected people


def test_without_a_setting_nobody_moves(run):
    tried = try_setting(run, None)
    assert tried.changed(True) == tried.changed(False) == {}
    assert not tried.result.guaranteed


def test_shares_are_completed_to_one(run):
    for share in (0.0, 0.1, 0.333, 0.57, 1.0):
        found = completed({"method": "DetGreedy", "proportions": {"a": share}}, run.data, "a")
        shares = found["proportions"]
        assert shares["a"] == share
        assert sum(shares.values()) == pytest.approx(1.0, abs=1e-9)
        assert {type(value) for value in shares.values()} == {float}
        run.reranked(found | {"k": 5})
    assert completed({"lower": {"a": 29 * 0.01}}, run.data, "a") == {"lower": {"a": 0.29}}


def test_present_values_are_kept_and_four_groups_have_another_method(run):
    own = {"method": "PrefixConstraints", "by": "race", "k": 5, "lower": {"b": 0.25}}
    found = choices(run.data, "race", "b", 5, own)[1]
    assert found.setting == own
    assert found.controls[0][2] == 0.25
    four = as_ranking_data(position=[1, 2, 3, 4], sensitive_features={"g": list("abcd")})
    offered = choices(four, "g", "a", 2, None)
    assert [each.kind.__name__ for each in offered][2] == "DetConstSort"
    assert offered[-1].lacks == "it needs a score"
