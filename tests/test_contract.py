"""The contract: walks the public lists, so that a new name is tested the day it exists."""

import ast
import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from sklearn.utils.estimator_checks import check_estimator

import equirank
from equirank import Metric, Ranker, Reranker
from equirank.core.registry import metric_names, parse_metric, public_class
from equirank.testing.ranker_checks import check_ranker, check_reranker, with_groups

ROOT = Path(equirank.__file__).parent
#: What an example would only repeat: these are raised or caught, not called.
RAISED = {"InfeasibleError", "FormatError", "MissingExtraError", "EquirankWarning"}
#: Public base classes, which authors subclass and nobody calls.
BASES = {"Guaranteed"}


def stub_names(stub):
    """What a stub gives to the outside, read without importing anything."""
    names = []
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            names += [alias.asname or alias.name for alias in node.names]
    return names


def room_of(stub):
    return ".".join(["equirank", *stub.parent.relative_to(ROOT).parts])


STUBS = sorted(ROOT.rglob("__init__.pyi"))
PUBLIC = [(room_of(stub), name) for stub in STUBS for name in stub_names(stub)]
THINGS = {(room, name): getattr(importlib.import_module(room), name, None) for room, name in PUBLIC}
CLASSES = {name: thing for (_, name), thing in THINGS.items() if inspect.isclass(thing)}


def leaves(base):
    """Public classes made to be used: subclasses of a base that are not a base themselves."""
    return sorted(
        (
            kind
            for kind in CLASSES.values()
            if issubclass(kind, base) and kind is not base and kind.__name__ not in BASES
        ),
        key=lambda kind: kind.__name__,
    )


def ids(values):
    return [getattr(value, "__name__", str(value)) for value in values]


@pytest.mark.parametrize(("room", "name"), PUBLIC, ids=[f"{r}.{n}" for r, n in PUBLIC])
def test_every_public_name_imports_and_explains_itself(room, name):
    thing = getattr(importlib.import_module(room), name)
    assert thing is THINGS[room, name]
    if inspect.ismodule(thing):
        assert (thing.__doc__ or "").strip()
        return
    text = inspect.getdoc(thing) or ""
    first = text.split("\n\n")[0].replace("\n", " ")
    assert first.endswith((".", ":")), f"{name} has no first sentence"
    assert len(first) <= 200
    assert thing.__name__ == name
    assert thing.__module__.startswith("equirank.")


@pytest.mark.parametrize("name", sorted({name for _, name in PUBLIC}))
def test_what_users_call_has_a_running_example(name):
    thing = next(thing for (_, other), thing in THINGS.items() if other == name)
    if inspect.ismodule(thing) or name in RAISED:
        return
    tests = doctest.DocTestFinder(recurse=True).find(thing, name)
    assert any(test.examples for test in tests), f"{name} has no example"


@pytest.mark.parametrize("stub", STUBS, ids=room_of)
def test_the_list_of_a_room_is_its_stub(stub):
    room = importlib.import_module(room_of(stub))
    listed = stub_names(stub)
    assert len(listed) == len(set(listed))
    assert set(room.__all__) - {"__version__"} == set(listed)
    assert set(listed) <= set(dir(room))
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(room, "no_such_name")  # noqa: B009


def test_every_room_that_is_lazy_has_a_stub():
    lazy = {
        path.parent
        for path in ROOT.rglob("__init__.py")
        if "attach_stub" in path.read_text(encoding="utf-8")
    }
    assert {stub.parent for stub in STUBS} == lazy
    assert ROOT in lazy


def test_no_public_name_is_the_name_of_a_room():
    rooms = {module.name for module in pkgutil.iter_modules([str(ROOT)])}
    for (room, name), thing in THINGS.items():
        if room == "equirank" and name in rooms:
            assert inspect.ismodule(thing)


def test_the_names_that_outsiders_call():
    wanted = [
        "as_ranking_data",
        "RankingData",
        "Ranking",
        "Evaluation",
        "evaluate",
        "read_csv",
        "read_parquet",
        "read_letor",
        "write_letor",
        "make_ranking",
        "QueryKFold",
        "query_train_test_split",
        "load",
        "DataError",
        "InfeasibleError",
        "MissingExtraError",
        "EquirankWarning",
    ]
    assert set(wanted) <= set(equirank.__all__)
    functions = [
        "dcg",
        "ndcg",
        "precision",
        "recall",
        "average_precision",
        "reciprocal_rank",
        "err",
        "average_rank",
        "auc",
        "rnd",
        "rkl",
        "rrd",
        "exposure_by_group",
        "exposure_gap",
    ]
    metrics = importlib.import_module("equirank.metrics")
    assert set(functions) <= set(metrics.__all__)
    assert equirank.__version__


def test_the_checks_are_public():
    testing = importlib.import_module("equirank.testing")
    assert {"check_metric", "check_ranker", "check_reranker", "with_groups"} <= set(testing.__all__)


# what each kind must hold


def test_the_walk_finds_the_metrics():
    assert {kind.__name__ for kind in leaves(Metric)} == set(metric_names())
    assert len(metric_names()) >= 14


@pytest.mark.parametrize("kind", leaves(Metric), ids=ids(leaves(Metric)))
def test_every_metric_passes_through_its_string(kind):
    metric = kind() @ 10 if kind.takes_k else kind()
    assert parse_metric(str(metric)) == metric
    assert str(parse_metric(str(metric))) == str(metric)
    assert public_class(kind.__name__) is kind


@pytest.mark.parametrize("kind", leaves(Metric), ids=ids(leaves(Metric)))
def test_every_metric_has_its_function_in_the_same_file(kind):
    room = importlib.import_module("equirank.metrics")
    module = importlib.import_module(kind.__module__)
    function = getattr(room, kind.__module__.rpartition(".")[2])
    assert function.__module__ == module.__name__
    assert function.__name__.replace("_", "") == kind.__name__.lower()


def stands_alone(kind):
    """Whether it can be made without another model; who wraps one has tests of its own."""
    given = getattr(kind, "test_params", {})
    wanted = inspect.signature(kind.__init__).parameters.values()
    return all(
        p.default is not p.empty or p.name in given or p.name == "self" or p.kind == p.VAR_KEYWORD
        for p in wanted
    )


RANKERS = [kind for kind in leaves(Ranker) if stands_alone(kind)]
RERANKERS = [kind for kind in leaves(Reranker) if stands_alone(kind)]


def make(kind):
    """An object with its defaults, or with the parameters a class gives for its tests."""
    return kind(**getattr(kind, "test_params", {}))


def shifty_scores(model, data):
    """Scores that depend on where a row stands."""
    return data.X[:, 0] + range(data.n_rows)


def walk_ranker(kind):
    """What every ranker is put through."""
    check_ranker(make(kind))
    needy = "sensitive_features" in kind.fit_needs | kind.predict_needs
    check_estimator(with_groups(make(kind)) if needy else make(kind), on_skip=None)


@pytest.mark.parametrize("kind", RANKERS, ids=ids(RANKERS))
def test_every_ranker_keeps_the_contract(kind):
    walk_ranker(kind)


#: An example of each ranker that cannot be made without another model.
WRAPPED = {"Reranked": {"estimator": "RankBoost", "reranker": "DetGreedy"}}


@pytest.mark.parametrize("kind", leaves(Ranker), ids=ids(leaves(Ranker)))
def test_every_ranker_ranks_alike_after_save_and_load(kind, tmp_path):
    assert stands_alone(kind) or kind.__name__ in WRAPPED, "WRAPPED needs an example of it"
    parts = WRAPPED.get(kind.__name__, {})
    model = kind(**{k: make(CLASSES[v]) for k, v in parts.items()}) if parts else make(kind)
    known, new = (equirank.datasets.make_ranking(n_queries=9, random_state=seed) for seed in (0, 1))
    model.fit(known)
    model.save(tmp_path / "model")
    back = equirank.load(tmp_path / "model")
    assert back.predict(new).tobytes() == model.predict(new).tobytes()
    assert back.rank(new).position.tobytes() == model.rank(new).position.tobytes()
    if hasattr(model, "_draw"):
        draws = [each.rank(new, n_draws=3, random_state=0).position for each in (model, back)]
        assert draws[0].tobytes() == draws[1].tobytes()
    back.save(tmp_path / "again")
    again = equirank.load(tmp_path / "again")
    assert again.predict(new).tobytes() == model.predict(new).tobytes()


@pytest.mark.parametrize("kind", RERANKERS, ids=ids(RERANKERS))
def test_every_reranker_keeps_the_contract(kind):
    check_reranker(make(kind))


def test_the_walk_itself_works(monkeypatch):
    from reference_ranker import GroupRidgeRanker, ReverseReranker, RidgeRanker

    monkeypatch.setitem(CLASSES, "RidgeRanker", RidgeRanker)
    monkeypatch.setitem(CLASSES, "GroupRidgeRanker", GroupRidgeRanker)
    monkeypatch.setitem(CLASSES, "ReverseReranker", ReverseReranker)
    new = {kind for kind in leaves(Ranker) if stands_alone(kind)} - set(RANKERS)
    assert {RidgeRanker, GroupRidgeRanker} == new
    assert {ReverseReranker} == set(leaves(Reranker)) - set(RERANKERS)
    walk_ranker(GroupRidgeRanker)
    walk_ranker(RidgeRanker)

    with pytest.raises((AssertionError, TypeError)):
        walk_ranker(type("Forgetful", (RidgeRanker,), {"_scores": lambda self, data: None}))
    constant = {"_fit": lambda self, data: setattr(self, "coef_", data.X[0])}
    with pytest.raises(AssertionError):
        walk_ranker(type("Shifty", (RidgeRanker,), constant | {"_scores": shifty_scores}))
