import pytest

from equirank import DataError
from equirank.preprocess.dag import DAG_EDGES, read_dag

EDGES = [("sex", "test"), ("test", "score"), ("sex", "score"), ("town", "test")]


class Graph:
    edges = EDGES


@pytest.mark.parametrize(
    "dag",
    [EDGES, tuple(EDGES), {"sex": ["test", "score"], "test": "score", "town": ["test"]}, Graph()],
    ids=["pairs", "tuples", "mapping", "graph"],
)
def test_every_form_says_the_same(dag):
    assert DAG_EDGES.accepts(dag)
    found = read_dag(dag, ["sex"], "test", None)
    assert {node: set(causes) for node, causes in found.causes.items()} == {
        "sex": set(),
        "town": set(),
        "test": {"sex", "town"},
        "score": {"sex", "test"},
    }
    assert found.protected == ("sex",)
    assert found.score == "score"
    assert [found.role(node) for node in ("sex", "town", "test", "score")] == [
        "protected",
        "given",
        "resolving",
        "score",
    ]
    assert set(found.mediators) == {"town", "test"}
    assert found.layers() == {"sex": 0, "town": 0, "test": 1, "score": 2}


def test_causes_come_first_whatever_the_order_of_edges():
    order = list(read_dag(EDGES[::-1], None, None, None).causes)
    assert order.index("sex") < order.index("test") < order.index("score")


def test_nodes_without_causes_are_protected_unless_named():
    assert set(read_dag(EDGES, None, None, None).protected) == {"sex", "town"}


@pytest.mark.parametrize("dag", [[], "sex", [("a",)], [(1, 2)], {}, 7, [("a", "b", "c")]], ids=str)
def test_what_is_no_dag_is_refused(dag):
    assert not DAG_EDGES.accepts(dag)


@pytest.mark.parametrize(
    ("dag", "given", "message"),
    [
        ([("a", "b"), ("b", "c"), ("c", "b")], {}, "no cycle, got b -> c -> b"),
        ([("a", "a")], {}, "no cycle, got a -> a"),
        (EDGES, {"protected": ["sx"]}, "protected must name nodes.*did you mean 'sex'"),
        (EDGES, {"resolving": ["tes"]}, "resolving must name nodes.*did you mean 'test'"),
        (EDGES, {"protected": ["test"]}, "'test' is protected and a mediator too.*'sex'"),
        (EDGES, {"resolving": "sex"}, "resolving must name mediators, and 'sex' is protected"),
        (EDGES, {"resolving": "score"}, "'score' is the score"),
        (EDGES, {"outcome": "points"}, "outcome must be a node"),
        (EDGES, {"outcome": "test"}, "'test' has effects"),
        ([("a", "b"), ("a", "c")], {}, "ends of the dag, got None for \\['b', 'c'\\]"),
    ],
    ids=str,
)
def test_bad_dags_are_errors(dag, given, message):
    given = {"protected": None, "resolving": None, "outcome": None} | given
    with pytest.raises(DataError, match=message):
        read_dag(dag, **given)
