"""The workspace: state, undo and redo, refusals, settings, hostile files and bounded caches."""

import json
import pickle
import re
from dataclasses import replace

import pytest

from equirank.auditing.notes import NO_IDS
from equirank.plots.theme import FOCUS
from equirank.studio.answers import Limits, StudioError
from equirank.studio.findings import ONE_LIST
from equirank.studio.history import AnswerCache, History
from equirank.studio.regions import Regions
from equirank.studio.workspace import Workspace, examples, read_upload, run_job

pytestmark = pytest.mark.slow

SEXES = "fm"
PEOPLE = "list,id,sex,age,score,other,stars\n" + "\n".join(
    f"L{i // 10},p{i},{SEXES[i % 2]},{20 + i % 45},{(37 * i) % 101 - 30 * (i % 2 == 0)},{i},{i % 3}"
    for i in range(80)
)
REMEDY = {"method": "PrefixConstraints", "by": "sex", "k": 4, "lower": {"f": 0.5}}


def loaded(text=PEOPLE, name="people.csv", **limits):
    workspace = Workspace(Limits(**limits))
    content = text if isinstance(text, bytes) else text.encode()
    return workspace, workspace.load_file(name, content)


def changed(workspace, **patch):
    state = workspace.patch(workspace.state()["revision"], patch)
    json.dumps(state, allow_nan=False)
    return state


def role_of(state, name):
    return next(each["role"] for each in state["file"]["columns"] if each["name"] == name)


def finished(workspace, kind, **more):
    job = workspace.job(kind, workspace.state()["revision"], **more)
    answer = pickle.loads(pickle.dumps(run_job(pickle.loads(pickle.dumps(job)))))
    found = workspace.finish(job, answer)
    json.dumps(found, allow_nan=False)
    return found


def test_a_file_is_guessed_with_reasons_and_asks_what_is_unclear():
    _, state = loaded()
    roles = {each["name"]: each["role"] for each in state["file"]["columns"]}
    assert roles == {"list": "query", "id": "id", "sex": "sensitive", "age": "ask",
                     "score": "score", "other": "unused", "stars": "ask"}  # fmt: skip
    assert all(each["reason"] for each in state["file"]["columns"])
    assert state["file"]["words"] == "people.csv: 80 people in 8 lists"
    assert state["first_list"]["size"] == 10
    scores = [each["score"] for each in state["first_list"]["people"]]
    assert scores == sorted(scores, reverse=True)
    assert state["step"] == "report"
    assert state["recipe"]["audit"]["date"]


def test_locked_steps_name_what_is_missing():
    workspace = Workspace()
    assert {each["missing"] for each in workspace.state()["steps"][1:]} == {"Open a file first."}
    workspace, state = loaded("a,b\nx,y\nz,w\n")
    missing = {each["key"]: each["missing"] for each in state["steps"]}
    assert missing["columns"] == ""
    words = "Name the column of the group to look at and of the score or the position."
    assert missing["findings"] == missing["remedy"] == words
    for work in (workspace.quick_audit, workspace.remedy_facts):
        with pytest.raises(StudioError, match="Name the column") as error:
            work(state["revision"])
        assert error.value.status == 422


def test_roles_move_columns():
    workspace, state = loaded()
    state = changed(workspace, roles={"other": "score_lower"})
    assert (role_of(state, "other"), role_of(state, "score")) == ("score_lower", "unused")
    assert state["recipe"]["data"]["higher_first"] is False
    assert state["first_list"]["people"][0]["score"] == 0  # the lowest
    state = changed(workspace, roles={"stars": "relevance", "sex": "unused"})
    assert state["steps"][2]["missing"] == "Name the column of the group to look at."
    state = changed(workspace, roles={"sex": "sensitive", "age": "unused"})
    assert role_of(state, "age") == "unused"
    for roles in ({"nobody": "score"}, {"sex": "ask"}, {"sex": "boss"}):
        with pytest.raises(StudioError, match="no such column or role"):
            changed(workspace, roles=roles)


def test_the_order_turns_round_and_back():
    workspace, state = loaded()
    first = [each["person"] for each in state["first_list"]["people"]]
    state = changed(workspace, turn_round=True)
    assert [each["person"] for each in state["first_list"]["people"]] == first[::-1]
    assert changed(workspace, turn_round=True)["first_list"]["people"][0]["person"] == first[0]
    state = changed(workspace, roles={"score": "unused", "other": "position"})
    assert role_of(state, "other") == "position"
    assert role_of(changed(workspace, turn_round=True), "other") == "score"


def test_offers_merge_labels_and_make_bands():
    text = PEOPLE.replace(",f,", ",F,", 3).replace(",f,", ",Female,", 9)
    workspace, state = loaded(text)
    column = next(each for each in state["file"]["columns"] if each["name"] == "sex")
    assert [offer["words"] for offer in column["offers"]] == [
        "“F”, “f” and “Female” look alike. Treat them as one group, “Female”?",
    ]
    state = changed(workspace, **column["offers"][0]["patch"])
    column = next(each for each in state["file"]["columns"] if each["name"] == "sex")
    assert [(each["label"], each["rows"]) for each in column["labels"]] == [
        ("Female", 40), ("m", 40)
    ]  # fmt: skip
    assert column["offers"] == []
    groups = {one["group"] for one in workspace.remedy_facts(state["revision"])["groups"]}
    assert groups == {"Female", "m"}
    age = next(each for each in state["file"]["columns"] if each["name"] == "age")
    state = changed(workspace, **age["offers"][0]["patch"])
    facts = workspace.remedy_facts(state["revision"])
    assert 'equirank remedy FILE --target "sex x age=' in facts["crossed"]
    assert "For a group of two columns together" in Regions().settings(facts)["settings"]
    groups = {one["group"] for one in workspace.remedy_facts(state["revision"])["groups"]}
    assert {"under 35", "35 to 49", "50 and over"} <= groups
    column = next(each for each in state["file"]["columns"] if each["name"] == "age")
    assert column["offers"] == []


def test_a_german_file_is_guessed_and_foreign_words_for_unknown_are_offered():
    rows = [f"S{i // 10};{'wm'[i % 2]};{20 + i % 45};{i},5" for i in range(60)]
    rows[3] = rows[3].replace(";m;", ";k. A.;")
    text = "Stelle;Geschlecht;Alter (Jahre);Punktzahl\n" + "\n".join(rows)
    workspace, state = loaded(text)
    roles = {each["name"]: each["role"] for each in state["file"]["columns"]}
    assert roles == {
        "Stelle": "query", "Geschlecht": "sensitive", "Alter (Jahre)": "ask", "Punktzahl": "score"
    }  # fmt: skip
    sex, age = state["file"]["columns"][1:3]
    assert [offer["button"] for offer in (*sex["offers"], *age["offers"])] == [
        "Count as unknown", "Use these bands"
    ]  # fmt: skip
    state = changed(workspace, **sex["offers"][0]["patch"])
    groups = workspace.remedy_facts(state["revision"])["groups"]
    assert {one["group"] for one in groups} == {"w", "m"}
    assert [each["label"] for each in state["file"]["columns"][1]["labels"]] == ["w", "m"]
    remedy = {"method": "PrefixConstraints", "by": "Geschlecht", "k": 6, "lower": {"w": 1.0}}
    head = workspace.try_remedy(state["revision"], 1, remedy)["head"][0]
    assert "person with Geschlecht unknown" in head or 'in group "m" (Geschlecht)' in head


def test_undo_redo_and_a_drag_is_one_entry():
    workspace, state = loaded()
    start = state["recipe"]
    for k in range(2, 8):
        state = workspace.patch(state["revision"], {"audit": {"k": [k]}}, drag="slider-1")
    assert state["undo"] == 1
    state = workspace.patch(state["revision"], {"audit": {"k": [9]}}, drag="slider-2")
    assert state["undo"] == 2
    assert workspace.undo()["recipe"]["audit"]["k"] == [7]
    state = workspace.undo()
    assert (state["recipe"], state["redo"]) == (start, 2)
    unchanged = workspace.undo()
    assert unchanged["revision"] == state["revision"]
    assert workspace.redo()["recipe"]["audit"]["k"] == [7]
    state = changed(workspace, audit={"k": [3]})
    assert state["redo"] == 0


def test_undo_walks_the_last_hundred():
    workspace, _ = loaded()
    for k in range(1, 131):
        changed(workspace, audit={"seed": k})
    steps = 0
    while workspace.state()["undo"]:
        workspace.undo()
        steps += 1
    assert steps == 100
    assert workspace.recipe.audit["seed"] == 30
    history = History(workspace.recipe)
    assert not history.undo()


def test_an_old_revision_is_refused_everywhere():
    workspace, state = loaded()
    old = state["revision"]
    changed(workspace, audit={"k": [3]})
    works = [
        lambda: workspace.patch(old, {}),
        lambda: workspace.quick_audit(old),
        lambda: workspace.job("audit", old),
        lambda: workspace.try_remedy(old, 1, REMEDY),
        lambda: workspace.remedy_facts(old),
    ]
    for work in works:
        with pytest.raises(StudioError, match="Changed in another tab") as error:
            work()
        assert error.value.status == 409
        assert error.value.to_dict()["error"]["kind"] == "revision"


@pytest.mark.parametrize(
    "patch",
    [
        {"data": {"name": "x.csv"}},
        {"data": {"sha256": "0"}},
        {"looked_at": {"settings": 0}},
        {"audit": {"k": [0]}},
        {"audit": {"nothing": 1}},
        {"audit": 3},
        {"data": {"score": "absent"}},
        {"remedy": [{"method": "os.system"}]},
        {"remedy": [{"method": "RooneyRule", "path": "/etc/passwd"}]},
        {"remedy": "all"},
        {"compare": {"name": "/etc/passwd"}},
        {"compare": {"score": "absent"}},
        {"unkeep": 0},
        {"keep": True},
        {"files": {}},
    ],
)
def test_a_bad_patch_changes_nothing(patch):
    workspace, state = loaded()
    with pytest.raises(StudioError):
        workspace.patch(state["revision"], patch)
    assert workspace.state() == state


def test_no_finding_before_its_interval_and_test():
    workspace, state = loaded()
    quick = workspace.quick_audit(state["revision"])
    json.dumps(quick, allow_nan=False)
    assert not quick["complete"]
    assert quick["headline"] is None
    assert quick["statements"] == []
    assert quick["waiting"] == "Working out how sure this is"
    assert not any("confidence interval" in note for note in quick["notes"])
    assert [bar["people"] for bar in quick["bars"]] == [40, 40]
    changed(workspace, audit={"n_boot": 60})
    full = finished(workspace, "audit")
    assert full["complete"]
    marks = {one["mark"] for one in full["statements"]}
    assert marks <= {"Sure", "Cannot tell", "Not measured"}
    assert "Not measured" in marks
    job = workspace.job("audit", workspace.state()["revision"])
    assert workspace.cached(job) == full


def test_settings_are_tried_kept_and_counted():
    workspace, state = loaded()
    state = changed(workspace, shown={"sex=f": "women"}, audit={"k": [4], "protected": ["sex=f"]})
    facts = workspace.remedy_facts(state["revision"])
    names = [each["plain_name"] for each in facts["methods"]]
    assert names[:3] == ["Only change who is selected", "Nothing beyond chance", "At least a share"]
    page = Regions().settings(facts)["settings"]
    assert facts["crossed"] == ""
    lowering = sum(each["two_sided"] for each in facts["methods"])
    assert page.count("can also lower") == page.count("can also lower the group") == lowering == 2
    assert "both ways" not in page
    for seq, method in enumerate(facts["methods"]):
        answer = workspace.try_remedy(state["revision"], seq, method["remedy"])
        json.dumps(answer, allow_nan=False)
        assert answer["seq"] == seq
        joins, leaves = answer["moves"]["joins"], answer["moves"]["leaves"]
        assert sum(joins.values()) == sum(leaves.values())
        assert len(answer["head"]) == 2
    assert workspace.state()["recipe"]["looked_at"]["settings"] == 5
    state = changed(workspace, remedy=[REMEDY])
    state = changed(workspace, keep=True)
    state = changed(workspace, remedy=[{**REMEDY, "lower": {"f": 0.25}}])
    assert [one["lower"] for one in state["recipe"]["remedy"]] == [{"f": 0.25}, {"f": 0.5}]
    assert state["kept"][0]["words"] == "At least a share: at least 50% women"
    assert workspace.remedy_facts(state["revision"])["methods"][2]["current"]
    state = changed(workspace, remedy=None)
    assert [one["kept"] for one in state["recipe"]["remedy"]] == [True]
    assert "remedy" not in changed(workspace, unkeep=0)["recipe"]


def test_at_most_four_settings_are_kept():
    workspace, _ = loaded()
    for share in (0.1, 0.2, 0.3, 0.4):
        changed(workspace, remedy=[{**REMEDY, "lower": {"f": share}}])
        changed(workspace, keep=True)
    changed(workspace, remedy=[REMEDY])
    with pytest.raises(StudioError, match="at most 4 kept"):
        changed(workspace, keep=True)


def test_an_impossible_guarantee_names_the_lists():
    lines = ["list,sex,score"] + [f"A,{'f' if i < 5 else 'm'},{i}" for i in range(10)]
    lines += [f"V03,{'f' if i < 2 else 'm'},{i}" for i in range(10)]
    workspace, state = loaded("\n".join(lines))
    changed(workspace, shown={"sex=f": "women"}, audit={"protected": ["sex=f"], "k": [10]})
    rule = {"method": "RooneyRule", "by": "sex", "k": 5, "protected": "f", "count": 4}
    state = workspace.state()
    answer = workspace.try_remedy(state["revision"], 1, rule)
    assert answer["guarantee"]["misses"] == [
        "Kept in 1 of 2 lists. The others have the closest order.",
        "V03 would need 4 women in the top 5 and has 2.",
    ]
    assert answer["guarantee"]["after"] == 1


def test_an_empty_guarantee_says_so_and_no_relevance_too():
    workspace, state = loaded()
    weak = {"method": "ContinuousFairness", "by": "sex", "k": 4, "theta": 0.5}
    answer = workspace.try_remedy(state["revision"], 1, weak)
    assert answer["guarantee"]["empty"]
    assert answer["guarantee"]["words"] == "below 100%"
    assert any("no recorded relevance" in note for note in answer["notes"])
    state = changed(workspace, roles={"stars": "relevance"})
    answer = workspace.try_remedy(state["revision"], 1, weak)
    assert not any("no recorded relevance" in note for note in answer["notes"])


def test_a_path_marks_where_the_selected_change():
    workspace, _ = loaded()
    state = changed(workspace, remedy=[REMEDY], audit={"protected": ["sex=f"]})
    path = finished(workspace, "path", remedy=REMEDY, points=13)
    assert len(path["points"]) == 13
    control = workspace.remedy_facts(state["revision"])["methods"][2]["controls"][0]
    assert (control["value"], control["unit"], control["path"]) == (50.0, "%", "lower.f")
    assert 50.0 in control["steps"]
    assert control["same"] == "From 50% to 74% the same people are selected."
    with pytest.raises(StudioError, match="points"):
        workspace.job("path", state["revision"], remedy=REMEDY, points=10**9)


def test_people_come_in_pages_and_are_explained():
    workspace, state = loaded(
        "list,id,sex,score\n" + "\n".join(f"{i // 150},p{i},{'fm'[i % 2]},{i}" for i in range(300))
    )
    page = workspace.people()
    assert (page["total"], len(page["people"]), page["next"]) == (300, 100, 100)
    assert workspace.people(after=200)["next"] is None
    assert workspace.people("1")["people"][0]["person"] == "p299"
    found = workspace.people(find="P29", remedy=REMEDY)
    assert found["total"] == 11
    assert "new_position" in found["people"][0]
    answer = workspace.explain(REMEDY, "p299", "1")
    json.dumps(answer, allow_nan=False)
    assert answer["sentences"]
    assert workspace.explain(None, "p299", "1")["sentences"]
    for work in (lambda: workspace.people("9"), lambda: workspace.explain(None, "nobody")):
        with pytest.raises(StudioError) as error:
            work()
        assert error.value.status == 404
    assert state["file"]["lists"] == 2


def test_two_scores_and_two_files_are_compared():
    workspace, state = loaded()
    with pytest.raises(StudioError, match="second file"):
        workspace.quick_compare(state["revision"])
    state = changed(workspace, compare={"score": "other"})
    quick = workspace.quick_compare(state["revision"])
    assert quick["unmatched"] == []
    assert quick["summaries"]
    assert quick["statements"] == []
    fewer = "\n".join(PEOPLE.split("\n")[:-10])
    state = workspace.load_file("later.csv", fewer.encode(), "other")
    assert state["recipe"]["against"]["name"] == "later.csv"
    changed(workspace, audit={"n_boot": 40})
    answer = finished(workspace, "compare")
    assert "1 lists are only in this ranking." in answer["unmatched"]
    assert "10 people are only in this ranking." in answer["unmatched"]
    with pytest.raises(StudioError, match="has no column"):
        workspace.load_file("x.csv", b"a,b\n1,2\n", "other")


def test_one_list_against_one_list_has_no_interval():
    workspace, _ = loaded("\n".join(PEOPLE.split("\n")[:11]))
    changed(workspace, compare={"score": "other"}, audit={"n_boot": 20})
    answer = finished(workspace, "compare")
    assert ONE_LIST in answer["refusals"]
    assert answer["summaries"]


@pytest.mark.slow
def test_examples_are_ready_to_audit():
    for example in examples():
        workspace = Workspace()
        state = workspace.load_example(example["key"])
        assert state["step"] == "report"
        assert state["file"]["example"]
        assert workspace.quick_audit(state["revision"])["bars"]
    with pytest.raises(StudioError):
        Workspace().load_example("nothing")


def test_a_recipe_waits_for_its_file_and_warns_of_another_hash():
    workspace, _ = loaded()
    changed(workspace, remedy=[REMEDY], audit={"k": [4]})
    text = workspace.download("recipe").content.decode()
    other = Workspace()
    assert other.load_recipe(text)["waiting_for"] == "people.csv"
    state = other.load_file("people.csv", PEOPLE.encode())
    assert state["warnings"] == []
    assert state["toml"] == text
    third = Workspace()
    third.load_recipe(text)
    state = third.load_file("people.csv", PEOPLE.replace(",0,", ",1,").encode())
    assert "contents differ" in state["warnings"][0]
    assert state["waiting_for"] == ""
    with pytest.raises(StudioError, match=r"line 2: \[data\] foreign"):
        other.load_recipe("[data]\nforeign = 1\n")
    lacking = Workspace()
    lacking.load_recipe(text)
    with pytest.raises(StudioError, match="names the column 'list'"):
        lacking.load_file("x.csv", b"sex,score\nf,2\nm,3\n")
    assert lacking.state()["file"] is None


def test_errors_name_the_column_and_offer_a_way_out():
    workspace, _ = loaded(PEOPLE.replace("p5,m,", "p5,m,", 1).replace(",2\n", ",\n", 1))
    state = changed(workspace, roles={"stars": "relevance"})
    with pytest.raises(StudioError) as error:
        workspace.quick_audit(state["revision"])
    assert error.value.where["column"] == "stars"
    labels = [action["label"] for action in error.value.actions]
    assert labels == ["Count a missing relevance as 0", "Do not use stars"]
    state = workspace.patch(state["revision"], error.value.actions[0]["patch"])
    assert workspace.quick_audit(state["revision"])["bars"]


def test_large_files_are_refused():
    with pytest.raises(StudioError, match="larger --max-mb") as error:
        read_upload("a.csv", b"x" * 11, Limits(max_bytes=10))
    assert error.value.status == 413
    with pytest.raises(StudioError, match="larger --max-rows"):
        read_upload("a.csv", b"a,b\n1,2\n2,3\n", Limits(max_rows=1))
    again = pickle.loads(pickle.dumps(error.value))
    assert again.to_dict() == error.value.to_dict()


@pytest.mark.parametrize(
    "content",
    [
        PEOPLE.encode("utf-16"),
        PEOPLE.encode("utf-8-sig"),
        PEOPLE.replace(",", ";").encode("cp1252"),
        PEOPLE.replace("p3,", "<b>\u202ep3</b>,").encode(),
        PEOPLE.replace("sex", "</script>{{ 7 * 7 }}").encode(),
        PEOPLE.replace("p3,", '"=cmd()",').encode(),
    ],
)
def test_odd_files_are_read(content):
    workspace, state = loaded(content, name="../../etc/x\\<script>.csv")
    assert state["file"]["rows"] == 80
    assert state["file"]["name"] == "<script>.csv"
    assert "name" in state["recipe"]["data"]
    column = state["file"]["columns"][2]["name"]
    state = changed(workspace, roles={column: "sensitive"})
    state = changed(workspace, remedy=[{**REMEDY, "by": column}])
    assert workspace.try_remedy(state["revision"], 1, state["recipe"]["remedy"][0])["head"]
    rows = workspace.download("list").content.decode().splitlines()
    assert len(rows) == 81
    assert not any(cell.startswith("=") for row in rows for cell in row.split(","))


def test_duplicate_headers_ties_and_odd_scores_have_words():
    _, state = loaded("score,score,sex\n" + "\n".join(f"1,{i},{'fm'[i % 2]}" for i in range(30)))
    assert any("score.2" in warning for warning in state["file"]["warnings"])
    workspace, state = loaded("score,sex\n" + "\n".join(f"1,{'fm'[i % 2]}" for i in range(30)))
    assert any("tied" in text for text in workspace.quick_audit(state["revision"])["warnings"])
    workspace, state = loaded("score,sex\ninf,f\n2,m\n3,f\n")
    with pytest.raises(StudioError) as error:
        workspace.quick_audit(state["revision"])
    assert error.value.where == {"column": "score", "row": 2}


@pytest.mark.gate
def test_ten_thousand_columns_are_read():
    names = ",".join(f"c{i}" for i in range(10_000))
    rows = "\n".join(",".join(str(i % 7) for i in range(10_000)) for _ in range(3))
    _, state = loaded(f"{names}\n{rows}\n")
    assert len(state["file"]["columns"]) == 10_000


def test_forget_drops_everything():
    workspace, _ = loaded()
    changed(workspace, remedy=[REMEDY])
    state = workspace.forget()
    assert state["file"] is None
    assert state["recipe"] == {"format": "equirank recipe", "version": 1}
    assert (state["undo"], state["redo"]) == (0, 0)
    with pytest.raises(StudioError, match="Open a file first"):
        workspace.download("recipe")


def test_cached_answers_are_bounded_in_bytes():
    cache = AnswerCache(100)
    for at in range(50):
        cache.put(f"k{at}", at, 7)
        assert cache.n_bytes <= 100
    assert cache.get("k49") == 49
    assert cache.get("k0") is None
    cache.put("k49", "large", 101)
    assert cache.get("k49") is None
    workspace, _ = loaded()
    changed(workspace, audit={"n_boot": 10})
    assert 0 < workspace._cache.n_bytes <= workspace.limits.cache_bytes or finished(
        workspace, "audit"
    )
    small, _ = loaded(cache_bytes=1000)
    changed(small, audit={"n_boot": 10})
    job = small.job("audit", small.state()["revision"])
    assert small.finish(job, run_job(job))["complete"]
    assert small.cached(job) is None
    assert small._cache.n_bytes <= 1000


def test_a_job_is_told_of_progress_and_ends_by_it():
    workspace, state = loaded()
    seen = []
    job = workspace.job("audit", state["revision"])
    run_job(replace(job, payload={**job.payload}), lambda share, words: seen.append(share))
    assert seen == sorted(seen)
    assert seen[0] == 0.0
    assert seen[-1] == 1.0

    def stop(share, words):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_job(job, stop)


def test_the_group_of_interest_keeps_its_colour_whatever_the_setting():
    workspace, _ = loaded()
    state = changed(workspace, audit={"k": [4], "protected": ["sex=f"]})
    for remedy in (None, REMEDY, {**REMEDY, "lower": {"m": 0.75}}):
        answer = workspace.try_remedy(state["revision"], 1, remedy)
        drawn = Regions().tried(answer)["slope"]
        key = drawn[drawn.index('class="key"') :].split("<bdi>")
        assert key[1].startswith("f<")
        assert FOCUS in key[0]


def test_a_refused_patch_settles_no_column():
    workspace, before = loaded()
    assert role_of(before, "age") == "ask"
    with pytest.raises(StudioError, match="no such column or role"):
        changed(workspace, roles={"age": "unused", "sex": "boss"})
    assert workspace.state() == before


def test_counts_by_position_and_shares_of_groups_are_said():
    workspace, _ = loaded()
    state = changed(workspace, shown={"sex=f": "women"}, audit={"protected": ["sex=f"]})
    counts = {"method": "PrefixConstraints", "by": "sex", "k": 4, "lower": {"f": [0, 1, 1, 5]}}
    shares = {"method": "FAStarIR", "by": "sex", "k": 4, "p": {"f": 0.5}}
    tried = [workspace.try_remedy(state["revision"], 1, each) for each in (counts, shares)]
    assert tried[0]["guarantee"]["words"] == (
        "every prefix keeps the lower and upper bounds of each group."
    )
    assert tried[0]["guarantee"]["misses"][1] == "L0 cannot keep the guarantee."
    assert tried[1]["guarantee"]["words"].startswith(
        "no beginning of a list has fewer people of these groups than chance would leave there "
        "with a share of 50% women;"
    )
    for each in (counts, shares):
        changed(workspace, remedy=[each])
        state = changed(workspace, keep=True)
        facts = workspace.remedy_facts(state["revision"])
        assert not any(method["current"] for method in facts["methods"])
    assert [kept["words"] for kept in state["kept"]] == [
        "At least a share: at least 0, 1, 1, 5 women in the top 1, 2, ...",
        "Nothing beyond chance: share expected by chance 50% women",
    ]
    changed(workspace, remedy=[{"method": "EpsilonGreedy"}])
    with pytest.raises(StudioError, match="no setting that a path could vary"):
        finished(workspace, "path", remedy={"method": "EpsilonGreedy"})


def test_a_fault_in_a_setting_is_said_and_the_state_answers(monkeypatch):
    workspace, _ = loaded()
    changed(workspace, remedy=[REMEDY])

    def broken(*given):
        raise KeyError("a secret of the data")

    monkeypatch.setattr("equirank.recipes.remedy_settings.try_setting", broken)
    state = changed(workspace, keep=True)
    assert state["kept"][0]["words"].startswith(
        "At least a share: this setting cannot be shown (KeyError at test_workspace.py:"
    )
    monkeypatch.setattr("equirank.studio.workspace.first_list", broken)
    state = workspace.state()
    assert state["first_list"] is None
    assert "The first list cannot be shown (KeyError at" in state["warnings"][-1]
    assert "secret" not in json.dumps(state)


def test_the_command_on_the_page_is_one_line_with_the_whole_name():
    rows = PEOPLE.encode()
    for name, shown in (
        ("my people.csv", "&#39;my people.csv&#39;"),
        ("a\nboom.csv", "$&#39;a\\012boom.csv&#39;"),
    ):
        workspace = Workspace()
        workspace.load_file(name, rows)
        state = workspace.accept(read_upload(f"b {name}", rows), "other")
        page = Regions().state(state)["regions"]["take"]
        command = page.partition('id="code">')[2].partition("</pre>")[0]
        assert command.startswith(f"equirank run recipe.toml --data {shown} --against ")
        assert command.endswith(" --out result/")
        assert command.isprintable()


def test_findings_say_who_recurs_and_that_rows_without_ids_are_people():
    workspace, state = loaded()
    assert not any("people" in note for note in workspace.quick_audit(state["revision"])["notes"])
    state = changed(workspace, roles={"id": "unused"})
    assert NO_IDS in workspace.quick_audit(state["revision"])["notes"]
    everybody = re.sub(r",p(\d+),", lambda found: f",p{int(found[1]) % 40},", PEOPLE)
    workspace, state = loaded(everybody)
    found = finished(workspace, "audit")
    why = "all 40 people in 80 rows of 8 lists appear more than once"
    assert why in found["headline"]["sentence"]
    assert found["headline"]["status"] == "described"
    assert workspace.remedy_facts(state["revision"])["methods"]
