"""The contract: checks every public name, so that a new one is tested from its first day.

Names are read from the public lists without importing anything, and each test imports what it
checks: collecting the tests stays quick.
"""

import ast
import contextlib
import doctest
import gc
import importlib
import inspect
import pickle
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import equirank
from equirank import DataError
from equirank.core.metric_function import function_name, metric_function
from equirank.core.registry import find, metric_names, parse_metric, public_class, public_names

ROOT = Path(equirank.__file__).parent
#: Raised or caught, not called: an example would only repeat the class.
RAISED = {"InfeasibleError", "FormatError", "MissingExtraError", "EquirankWarning"}
RAISED |= {"FairnessOverfitWarning", "NoHeadroomWarning", "OneListWarning"}


def stub_names(stub):
    """The names that a stub lists, read without importing anything."""
    names = []
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            names += [alias.asname or alias.name for alias in node.names]
    return names


def package_of(stub):
    return ".".join(["equirank", *stub.parent.relative_to(ROOT).parts])


STUBS = sorted(stub for stub in ROOT.rglob("__init__.pyi"))
PUBLIC = [(package_of(stub), name) for stub in STUBS for name in stub_names(stub)]
PUBLIC += [("equirank.costs", name) for name in public_names("equirank.costs")]


def thing_of(package, name):
    return getattr(importlib.import_module(package), name)


def classes_in(*packages):
    """Public names that begin with a capital letter."""
    names = {name for each in packages for name in public_names(f"equirank.{each}")}
    return sorted(name for name in names if name[0].isupper())


#: Public classes that are not put through the common checks, each with its reason.
EXEMPT = {
    "Bounds": "a protocol that authors implement",
    "Family": "what a search draws from, no estimator",
    "Guaranteed": "a base class",
    "TableBounds": "bounds that authors return",
    "Reranking": "a result",
    "FairObjective": "a function of scores; tests/rankers/lambdamart checks it",
    "RankingClassifier": "a classifier; tests/rankers/test_ranking_classifier.py checks it",
    "CostSensitiveAdaBoost": "a classifier; tests/rankers/boosting checks it",
    "CausalFairScores": "a transformer; tests/preprocess checks it",
    "FairScoringWeights": "a transformer; tests/preprocess checks it",
    "IFair": "a transformer; tests/preprocess checks it",
    "LearnedFairRepresentation": "a transformer; tests/preprocess checks it",
    "ExposureGapOracle": "a rule for rankings, no estimator",
    "FAStarIROracle": "a rule for rankings, no estimator",
    "MetricOracle": "a rule for rankings, no estimator",
    "PrefixSharesOracle": "a rule for rankings, no estimator",
    "KMedoidsSampler": "selects queries; tests/preprocess checks it",
    "LeverageSampler": "selects queries; tests/preprocess checks it",
    "RowNormSampler": "selects queries; tests/preprocess checks it",
    "UniformSampler": "selects queries; tests/preprocess checks it",
    "EquityOfAttention": "keeps a state over a stream of lists; tests/allocation checks it",
    "ExposureAllocation": "takes users x items; tests/allocation checks it",
    "NashAllocation": "takes users x items; tests/allocation checks it",
    "UserItemPolicy": "a result",
    "TradeoffSearch": "a search over rankers; tests/search checks it",
    "TradeoffScorer": "a scorer",
    "DaskFairLambdaMART": "needs a Dask cluster; tests/distributed checks it",
    "Mixture": "a policy; tests/policies checks it",
    "PlackettLuce": "a policy; tests/policies checks it",
    "Policy": "a base class",
}
METRICS = metric_names()
RANKERS = [name for name in classes_in("rankers") if name not in EXEMPT and name != "Blend"]
RERANKERS = [name for name in classes_in("rerankers") if name not in EXEMPT and name != "Reranked"]
#: An example of each ranker that cannot be made without another model.
WRAPPED = {
    "Reranked": {"estimator": "RankBoost", "reranker": "DetGreedy"},
    "Blend": {"rankers": [("a", "RankBoost"), ("b", "MART")]},
}


def external_model():
    """A learner of another library, for the ranker that wraps one."""
    from lightgbm import LGBMRanker

    return LGBMRanker(n_estimators=5, min_child_samples=2, n_jobs=1)


def test_every_public_class_is_checked_or_has_a_reason():
    packages = "metrics rankers rerankers preprocess allocation search distributed policies"
    classes = classes_in(*packages.split())
    checked = {*METRICS, *RANKERS, *RERANKERS, *WRAPPED}
    lacking = sorted(set(classes) - checked - set(EXEMPT))
    assert not lacking, f"state in EXEMPT of tests/test_contract.py which test checks {lacking}"
    assert checked | set(EXEMPT) == set(classes), "EXEMPT names what is no public class"
    assert len(checked) + len(EXEMPT) == len(classes)
    assert len(METRICS) >= 41
    assert len(RANKERS) >= 25
    assert len(RERANKERS) >= 13


@pytest.mark.parametrize("package", sorted({package for package, _ in PUBLIC}))
def test_every_public_name_imports_and_is_documented(package):
    for name in (name for home, name in PUBLIC if home == package):
        thing = thing_of(package, name)
        if inspect.ismodule(thing):
            assert (thing.__doc__ or "").strip(), name
            continue
        text = inspect.getdoc(thing) or ""
        first = text.split("\n\n")[0].replace("\n", " ")
        assert first.endswith((".", ":")), f"{name} has no first sentence"
        assert len(first) <= 200, name
        assert thing.__name__ == name
        assert thing.__module__.startswith("equirank."), name
        if name not in RAISED:
            tests = doctest.DocTestFinder(recurse=True).find(thing, name)
            assert any(test.examples for test in tests), f"{name} has no example"


@pytest.mark.parametrize("stub", STUBS, ids=package_of)
def test_the_list_of_a_package_is_its_stub(stub):
    package = importlib.import_module(package_of(stub))
    listed = stub_names(stub)
    assert len(listed) == len(set(listed)), f"{stub} lists a name twice"
    named = f"{stub.relative_to(ROOT.parent)} must list the public names, each once"
    assert set(package.__all__) - {"__version__"} == set(listed), named
    assert set(listed) <= set(dir(package))
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(package, "no_such_name")  # noqa: B009


def test_every_lazy_package_has_a_stub():
    lazy = {
        path.parent
        for path in ROOT.rglob("__init__.py")
        if "attach_stub" in path.read_text(encoding="utf-8")
    }
    assert {stub.parent for stub in STUBS} == lazy, "a package lists its names in __init__.pyi"
    assert ROOT in lazy


def test_every_name_has_one_home():
    homes = {}
    for package, name in PUBLIC:
        homes.setdefault(name, []).append(package)
    # the subpackages of metrics are listed by metrics
    assert not {name: found for name, found in homes.items() if len(found) > 1}


def test_no_public_name_is_that_of_a_module_beside_it():
    """An import of the module would replace the name in the package."""
    for stub in STUBS:
        beside = {module.name for module in pkgutil.iter_modules([str(stub.parent)])}
        shared = beside & set(stub_names(stub))
        assert all(inspect.ismodule(thing_of(package_of(stub), name)) for name in shared), shared


def test_the_names_that_outside_checks_use():
    wanted = {
        "equirank": "evaluate audit compare as_ranking_data RankingData Ranking Evaluation "
        "AuditResult Comparison Ranker Reranker Metric load QueryKFold query_train_test_split "
        "DataError InfeasibleError FormatError MissingExtraError EquirankWarning",
        "equirank.io": "read_csv read_letor read_parquet read_pairs write_letor "
        "read_trec write_trec from_ranx to_ranx to_ir_measures",
        "equirank.datasets": "make_ranking make_yahoo_like hiring_path load_german load_compas",
        "equirank.allocation": "EquityOfAttention NashAllocation ExposureAllocation",
        "equirank.metrics": "dcg ndcg precision recall average_precision reciprocal_rank err "
        "average_rank auc rnd rkl rrd exposure_by_group exposure_gap",
        "equirank.testing": "check_metric check_ranker check_reranker with_groups run_conformance "
        "expected_failed_checks",
    }
    for package, names in wanted.items():
        assert set(names.split()) <= set(importlib.import_module(package).__all__)
    assert equirank.__version__


# what each kind must satisfy


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_passes_through_its_string(name):
    kind = find(name)
    assert issubclass(kind, equirank.Metric)
    metric = kind() @ 10 if kind.takes_k else kind()
    assert parse_metric(str(metric)) == metric
    assert str(parse_metric(str(metric))) == str(metric)
    assert public_class(name) is kind


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_function_derived_from_it(name):
    assert function_name(name) in public_names("equirank.metrics"), "run make generate"
    kind, function = find(name), find(function_name(name))
    if function.__module__ == kind.__module__:  # written, since it returns a result object
        assert "Result" in str(inspect.signature(function).return_annotation)
        return
    made = metric_function(kind, "equirank.metrics.functions")
    assert inspect.signature(function) == inspect.signature(made)
    assert function.__doc__ == made.__doc__
    assert pickle.loads(pickle.dumps(function)) is function


def make(name):
    """An object with its defaults, or with the parameters that its class states for tests."""
    kind = find(name)
    parts = {
        key: make(part) if isinstance(part, str) else [(label, make(each)) for label, each in part]
        for key, part in WRAPPED.get(name, {}).items()
    }
    parts |= {"model": external_model()} if name == "ExternalRanker" else {}
    return kind(**parts, **getattr(kind, "test_params", {}))


def walk_ranker(model):
    """The checks of every ranker: our own and those of scikit-learn."""
    from sklearn.utils.estimator_checks import check_estimator

    from equirank.testing import check_ranker, expected_failed_checks, with_groups

    check_ranker(model)
    grouped = "sensitive_features" in model.fit_needs | model.predict_needs
    if grouped:
        check_estimator(with_groups(model), on_skip=None)
    else:
        listed = expected_failed_checks(model)
        check_estimator(model, expected_failed_checks=listed, on_skip=None)


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKERS)
def test_every_ranker_keeps_the_contract(name):
    assert issubclass(find(name), equirank.Ranker)
    walk_ranker(make(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*RANKERS, *WRAPPED])
def test_every_ranker_ranks_alike_after_save_and_load(name, tmp_path):
    model = make(name)
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


@pytest.mark.slow
@pytest.mark.parametrize("name", RERANKERS)
def test_every_reranker_keeps_the_contract(name):
    from equirank.testing import check_reranker

    assert issubclass(find(name), equirank.Reranker)
    check_reranker(make(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", RERANKERS)
def test_reranking_many_lists_keeps_no_memory(name):
    reranker, rng = make(name), np.random.default_rng(0)

    def rerank(n_times):
        for n in rng.integers(8, 20, n_times).tolist():
            data = equirank.as_ranking_data(
                None,
                rng.integers(0, 3, n),
                qid=np.zeros(n, dtype=int),
                score=rng.normal(size=n),
                sensitive_features=np.where(np.arange(n) % 2, "a", "b"),
            )
            with contextlib.suppress(DataError):
                reranker(data.ranking())
        gc.collect()
        return len(gc.get_objects())

    gc.freeze()  # what exists already is neither collected nor counted
    before = rerank(5)
    assert rerank(40) - before < 20


def shifty_scores(model, data):
    """Scores that depend on the index of a row."""
    return data.X[:, 0] + range(data.n_rows)


@pytest.mark.slow
def test_the_checks_fail_for_broken_rankers():
    from reference_ranker import GroupRidgeRanker, RidgeRanker

    walk_ranker(GroupRidgeRanker())
    walk_ranker(RidgeRanker())
    with pytest.raises((AssertionError, TypeError)):
        walk_ranker(type("Forgetful", (RidgeRanker,), {"_scores": lambda self, data: None})())
    constant = {"_fit": lambda self, data: setattr(self, "coef_", data.X[0])}
    with pytest.raises(AssertionError):
        walk_ranker(type("Shifty", (RidgeRanker,), constant | {"_scores": shifty_scores})())
