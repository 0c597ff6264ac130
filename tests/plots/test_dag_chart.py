import numpy as np
import pytest

from equirank import DataError
from equirank.plots import causal_dag
from equirank.preprocess import CausalFairScores


@pytest.fixture(scope="module")
def effects():
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 200)
    test = (sex == "m") + rng.normal(size=200)
    X = {"sex": sex, "test": test, "points": test + rng.normal(size=200)}
    dag = [("sex", "test"), ("test", "points"), ("sex", "points")]
    return CausalFairScores(dag, resolving="test", reference="m").fit(X).effects(X, n_boot=20)


def rows(chart, layer):
    spec = chart.to_dict()["layer"][layer]
    return spec["data"]["values"]


@pytest.mark.slow
def test_every_edge_is_drawn_with_its_effect(effects):
    chart = causal_dag(effects, digits=3)
    edges = rows(chart, 0)
    assert len(edges) == 3
    values = {f"{row['value']:+.3f}" for row in effects.edges}
    shown = {label["label"][-1].split(" ")[0] for label in rows(chart, 3)}
    assert shown == values
    assert [edge["kind"] for edge in edges].count("protected") == 2


def test_an_interval_that_holds_zero_is_dashed(effects):
    certain = {
        (row["cause"], row["effect"]): row["low"] > 0 or row["high"] < 0 for row in effects.edges
    }
    assert sorted(edge["certain"] for edge in rows(causal_dag(effects), 0)) == sorted(
        certain.values()
    )
    assert certain["test", "points"]


@pytest.mark.slow
def test_causes_stand_left_of_their_effects_and_roles_have_colours(effects):
    nodes = causal_dag(effects).to_dict()["layer"][4]["layer"][0]
    nodes = nodes.get("data") or causal_dag(effects).to_dict()["layer"][4]["data"]
    place = {node["node"]: node["x"] for node in nodes["values"]}
    assert place["sex"] < place["test"] < place["points"]
    role = {node["node"]: node["role"] for node in nodes["values"]}
    assert role == {"sex": "protected", "test": "resolving mediator", "points": "score"}


def test_words_cover_no_node(effects):
    chart = causal_dag(effects, width=700, height=400)
    nodes = chart.to_dict()["layer"][4]
    nodes = (nodes.get("data") or nodes["layer"][0]["data"])["values"]
    for label in rows(chart, 3):
        for node in nodes:
            far = abs(label["x"] - node["x"]) * 700 > 20 or abs(label["y"] - node["y"]) * 400 > 20
            assert far, (label, node)


@pytest.mark.slow
def test_it_can_be_drawn(effects):
    import vl_convert

    svg = vl_convert.vegalite_to_svg(causal_dag(effects).to_json())
    assert "points" in svg


def test_other_things_are_refused():
    with pytest.raises(DataError, match=r"CausalFairScores\.effects, got int"):
        causal_dag(3)
