"""The door: every form of data gives the same audit, and little data is no fault."""

import numpy as np
import pytest

import equirank
from equirank import DataError, Ranking, as_ranking_data, audit
from equirank.core.table import Table
from equirank.io import read_file

QUICK = {"n_boot": 30, "n_permutations": 30}
rng = np.random.default_rng(0)
COLUMNS = {
    "qid": np.repeat(range(6), 10),
    "score": rng.normal(size=60),
    "relevance": rng.integers(0, 3, 60),
    "sex": rng.choice(["f", "m"], 60),
    "age": rng.choice(["old", "young"], 60),
}
PEOPLE = {name: COLUMNS[name] for name in ("sex", "age")}


@pytest.fixture(scope="module")
def expected():
    return audit(
        as_ranking_data(
            y=COLUMNS["relevance"],
            qid=COLUMNS["qid"],
            score=COLUMNS["score"],
            sensitive_features=PEOPLE,
        ),
        **QUICK,
    )


FRAMES = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
FORMS = ["mapping", "table", *FRAMES, "named", "arrays"]


def frame(library, columns):
    return getattr(pytest.importorskip(library), FRAMES[library])(columns)


def given_as(form):
    named = {"sensitive": ["sex", "age"], "relevance": "relevance"}
    if form == "arrays":
        arrays = {"query": COLUMNS["qid"], "score": COLUMNS["score"]}
        return None, arrays | {"relevance": COLUMNS["relevance"], "sensitive": PEOPLE}
    if form == "named":
        other = {"q": COLUMNS["qid"], "s": COLUMNS["score"], "r": COLUMNS["relevance"], **PEOPLE}
        return frame("pandas", other), named | {"query": "q", "score": "s", "relevance": "r"}
    if form in FRAMES:
        return frame(form, COLUMNS), named
    return Table(COLUMNS) if form == "table" else COLUMNS, named


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same(form, expected):
    data, named = given_as(form)
    assert audit(data, **named, **QUICK) == expected


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("audit") / "people.csv"
    rows = zip(*(values.tolist() for values in COLUMNS.values()), strict=True)
    lines = [",".join(COLUMNS), *(",".join(map(repr, row)).replace("'", "") for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.slow
@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_file_gives_the_same(kind, file):
    named = {"sensitive": ["sex", "age"], "relevance": "relevance"}
    result = audit(kind(file), **named, **QUICK)
    assert result == audit(read_file(file, **named), **QUICK)
    assert "people.csv" in str(result.provenance.to_dict())
    with pytest.raises(DataError, match="against must have ids"):  # read as a file, too
        audit(kind(file), **named, **QUICK, against=kind(file))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"sensitive": "sexx"}, "people.csv.*did you mean 'sex'"),
        ({"sensitive": PEOPLE["sex"]}, "sensitive must be the name of a column of the file"),
        ({"sensitive": "sex", "score": lambda X: X}, "score must be a column of .*, got a model"),
    ],
)
def test_bad_input_beside_a_file(given, said, file):
    with pytest.raises(DataError, match=said):
        audit(file, **given)


@pytest.mark.slow
@pytest.mark.parametrize("library", FRAMES)
def test_tables_go_back_to_the_library_of_the_input(library):
    data, named = given_as(library)
    table = audit(data, **named, n_boot=0, n_permutations=0).tables["groups"].to_frame()
    assert type(table).__module__.split(".")[0] == library


@pytest.mark.slow
def test_a_ranking_and_its_positions(expected):
    data = as_ranking_data(y=COLUMNS["relevance"], qid=COLUMNS["qid"], sensitive_features=PEOPLE)
    ranking = Ranking.from_scores(data, COLUMNS["score"])
    assert audit(ranking, **QUICK) == expected
    given = COLUMNS | {"rank": ranking.position}
    del given["score"]
    by_place = audit(given, sensitive=["sex", "age"], relevance="relevance", **QUICK)
    assert by_place.facts["positions_given"]
    assert len(by_place.tables["scores"]) == 0
    for name in ("groups", "selection", "gaps", "pairwise"):
        assert by_place.tables[name].to_json() == expected.tables[name].to_json()


@pytest.mark.slow
def test_the_order_of_rows_changes_no_value(expected):
    order = np.random.default_rng(1).permutation(60)
    mixed = {name: values[order] for name, values in COLUMNS.items()}
    result = audit(mixed, sensitive=["sex", "age"], relevance="relevance", **QUICK)
    for table, column in [("gaps", "value"), ("groups", "exposure"), ("selection", "rate")]:
        np.testing.assert_allclose(result.tables[table][column], expected.tables[table][column])


@pytest.mark.slow
def test_seeds():
    one, two, three = (
        audit(COLUMNS, sensitive="sex", **QUICK, random_state=seed) for seed in (1, 1, 2)
    )
    assert one == two
    assert one.tables["gaps"]["p_value"].tolist() != three.tables["gaps"]["p_value"].tolist()
    assert one.facts["random_state"] == 1


@pytest.mark.slow
def test_draws_of_a_policy():
    data = as_ranking_data(
        y=COLUMNS["relevance"], qid=COLUMNS["qid"], sensitive_features={"sex": COLUMNS["sex"]}
    )
    generator = np.random.default_rng(3)
    places = np.concatenate(
        [generator.permuted(np.tile(np.arange(1, 11), (8, 1)), axis=1).T for _ in range(6)]
    )
    result = audit(Ranking.from_positions(data, places), **QUICK)
    mine = COLUMNS["sex"] == "f"
    differences = []
    for query in range(6):
        here = slice(10 * query, 10 * query + 10)
        mean = places[here].mean(axis=1)
        differences.append(mean[mine[here]].mean() - mean[~mine[here]].mean())
    assert result.tables["groups"]["position_difference"][0] == pytest.approx(np.mean(differences))


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [
        {"score": [1], "sensitive": ["a"]},
        {"score": [1, 1], "sensitive": ["a", "b"]},
        {"score": [1, 2, 3], "sensitive": ["a", "a", "a"]},
        {"position": [0, 0], "sensitive": ["a", "b"]},
        {"position": [1, 0, 0], "sensitive": ["a", "b", "b"], "relevance": [0, 0, 0]},
        {"score": [1, 2, 1, 2], "query": [0, 0, 1, 1], "sensitive": ["a", "a", "b", "b"]},
        {"score": [1, 2], "sensitive": {"x": [True, False], "y": [1, 2]}, "relevance": [1, 0]},
        {"score": [1, 2], "query": np.array(["2020-01-01"] * 2, "M8[D]"), "sensitive": [1, 2]},
    ],
)  # fmt: skip
def test_little_data_is_no_fault(given):
    result = audit(**given, **QUICK)
    assert result.verdict
    assert equirank.AuditResult.from_json(result.to_json()) == result


def test_a_category_without_rows():
    data = as_ranking_data(
        score=range(6), qid=[0, 0, 0, 1, 1, 1], sensitive_features=list("abcabb")
    )
    result = audit(data.select([1]), **QUICK)
    assert result.tables["groups"]["size"].tolist() == [1, 2, 0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "score or position must be given"),
        ({"score": [1, 2]}, "sensitive must name at least one attribute"),
        ({"data": 3}, "data must be a RankingData, a Ranking, a file, a data frame"),
        ({"data": COLUMNS, "sensitive": "sexx"}, "did you mean 'sex'"),
        (
            {"data": COLUMNS, "sensitive": "sex", "score": COLUMNS["score"]},
            "score must be the name",
        ),
        ({"data": as_ranking_data(score=[1]), "score": [1]}, "score must be None beside"),
        ({"data": as_ranking_data(y=[1]), "sensitive": None}, "score or position must be given"),
        ({"data": COLUMNS, "sensitive": "sex", "n_boot": -1}, "n_boot"),
        ({"data": COLUMNS, "sensitive": "sex", "level": 1.0}, "level"),
        ({"data": COLUMNS, "sensitive": "sex", "cross": "yes"}, "cross"),
        ({"data": COLUMNS, "sensitive": "sex", "metrics": "NDGC"}, "did you mean 'NDCG'"),
        ({"data": COLUMNS, "sensitive": "sex", "metrics": 'RND(by="age")'}, "by must be one of"),
        ({"data": COLUMNS, "sensitive": "sex", "metrics": "CSDCG"}, "needs costs"),
    ],
)
def test_bad_input(given, said):
    with pytest.raises(DataError, match=said):
        audit(**given)


def test_a_metric_of_groups_nobody_audits():
    with pytest.raises(DataError, match="must be an audited attribute"):
        audit(COLUMNS, sensitive=["sex", "age"], cross=False, metrics='RND(by=("sex", "age"))')


def test_the_public_names():
    assert equirank.audit is audit
    assert {"audit", "AuditResult"} <= set(equirank.__all__)
