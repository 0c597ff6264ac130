"""Every parameter of every estimator does something: two values, two fitted results.

A parameter that needs another one to have an effect is tested beside it (`CASES`), and without it
must not be silent: it raises, or warns by its name. `IDLE` lists the parameters that change no
result, each with its reason.
"""

import warnings
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import blake2b

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from test_contract import EXEMPT, RANKERS, RERANKERS, external_model

from equirank import as_ranking_data
from equirank.core.attribute import Attribute
from equirank.core.params import AnyOf, Choice, Optional
from equirank.core.registry import find
from equirank.costs import GroupPairCost, ListedPairCost
from equirank.preprocess import PrefixSharesOracle
from equirank.rankers import AdaRank, RankBoost
from equirank.rerankers.group_bounds import NoBounds

CLASSIFIERS = ["RankingClassifier", "CostSensitiveAdaBoost"]
TRANSFORMERS = ["IFair", "LearnedFairRepresentation", "FairScoringWeights", "CausalFairScores"]
SAMPLERS = ["UniformSampler", "RowNormSampler", "LeverageSampler", "KMedoidsSampler"]
ALL = [*RANKERS, *RERANKERS, *CLASSIFIERS, *TRANSFORMERS, *SAMPLERS, "Reranked", "Blend"]


HERE = "tests/test_parameters.py"


def test_every_public_estimator_is_here():
    from equirank.core.registry import public_names

    packages = ("rankers", "rerankers", "preprocess")
    names = {name for each in packages for name in public_names(f"equirank.{each}")}
    estimators = {name for name in names if hasattr(find(name), "get_params")}
    lacking = sorted(estimators - {*ALL, "Guaranteed"})  # a base class
    assert not lacking, f"add {lacking} to CLASSIFIERS, TRANSFORMERS or SAMPLERS of {HERE}"
    assert estimators == set(ALL) | {"Guaranteed"}, f"CLASSIFIERS and so on of {HERE} name more"
    assert set(EXEMPT) >= {*CLASSIFIERS, *TRANSFORMERS, *SAMPLERS}


# the data


def lists(seed, n_lists=8, rows=10, missing=False):
    """Lists with two attributes, costs and weights; the last feature has few values."""
    rng = np.random.default_rng(seed)
    n = n_lists * rows
    sex = np.concatenate([rng.permutation(list("abbabbabba")[:rows]) for _ in range(n_lists)])
    race = np.concatenate([rng.permutation(list("xyzxyzxyzx")[:rows]) for _ in range(n_lists)])
    X = rng.normal(size=(n, 4))
    X[:, 3] = rng.integers(0, 8, n)
    y = np.clip(np.round(X[:, 0] + X[:, 1] + X[:, 3] % 2 + 0.5 * rng.normal(size=n)), 0, 3)
    X[:, 1] += 2.0 * (sex == "a")
    X[:, 2] -= 0.8 * y
    score = np.exp(X[:, 0] + X[:, 1] - 4.0 * (sex == "a"))
    X[rng.random(X.shape) < 0.3 * missing] = np.nan
    return as_ranking_data(
        X,
        y,
        qid=np.repeat(np.arange(n_lists), rows),
        sensitive_features={"sex": sex, "race": race},
        cost=rng.uniform(0.5, 2.0, n),
        query_weight=np.repeat(rng.uniform(0.5, 2.0, n_lists), rows),
        score=score,
    )


@cache
def data(kind, seed=0):
    made = lists(seed, *((60, 3) if kind == "many" else ()), missing=kind == "missing")
    if kind == "tied":
        return replace(made, score=np.round(np.log(made.score)))
    return guessed(made, seed) if kind == "guessed" else made


def guessed(made, seed):
    """The lists with probabilities of the first attribute instead of its labels."""
    p = np.where(made.sensitive["sex"].codes == 0, 0.9, 0.15)
    p = p + np.random.default_rng(seed).uniform(-0.1, 0.05, len(p))
    unknown = Attribute(np.full(len(p), -1, np.int32), ("a", "b"), np.stack([p, 1 - p], axis=1))
    return replace(made, sensitive=made.sensitive | {"sex": unknown})


# what a fitted estimator is


def feed(digest, value, depth=0):
    """Add a value to a digest: numbers and texts, in arrays, lists, dicts and fitted parts."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        digest.update(
            f"{value.dtype}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()
        )
    elif isinstance(value, (list, tuple, np.ndarray)):
        for part in value:
            feed(digest, part, depth)
    elif isinstance(value, dict):
        for name, part in value.items():
            digest.update(str(name).encode())
            feed(digest, part, depth)
    elif value is None or isinstance(value, (bool, int, float, str, np.generic)):
        digest.update(repr(value).encode())
    elif hasattr(value, "to_dict"):
        feed(digest, value.to_dict(), depth)
    elif hasattr(value, "get_params") and depth < 3:
        feed(digest, {k: v for k, v in vars(value).items() if k.endswith("_")}, depth + 1)


def results(model, kind):
    """What an estimator learns and returns."""
    name, known, new = type(model).__name__, data(kind), data(kind, 1)
    if name in RERANKERS:
        ranking = model(known.ranking())
        yield [ranking.position, ranking.weights, ranking.holds, ranking.data.score]
        yield [getattr(ranking, name, None) for name in ("score", "report", "igf")]
        return
    if name in SAMPLERS:
        drawn = model.sample(data("many"))
        yield [drawn.indices, drawn.weights]
        return
    if name in CLASSIFIERS:
        y = (known.y > 1) * 1 + (known.y > 2) * (name == "RankingClassifier")
        model.fit(known.X, y, cost=known.cost)
        yield model.predict(new.X)
        if hasattr(model, "predict_proba"):
            yield model.predict_proba(new.X)
    elif name == "CausalFairScores":
        columns = {"sex": labels(known, "sex"), "race": 1.0 * known.sensitive["race"].codes}
        columns |= {"test": known.X[:, 0], "passed": 1.0 * (known.X[:, 1] > 0)}
        columns |= {"points": known.X[:, 0] + known.y, "wage": known.X[:, 2] + known.y}
        yield model.fit(columns).transform(columns)
    elif name in TRANSFORMERS:
        people = {"sensitive_features": labels(known, "sex")} if name != "IFair" else {}
        columns = known.X if name != "FairScoringWeights" else np.abs(known.X[:, :3])
        model.fit(columns, known.y, **people)
        yield model.transform(columns)
    else:
        model.fit(known)
        yield [model.predict(new), model.rank(new).position]
        if hasattr(model, "_draw"):
            yield model.rank(new, n_draws=3, random_state=0).position
    yield {k: v for k, v in vars(model).items() if k.endswith("_") and k != "data_fingerprint_"}


def labels(known, name):
    return np.array(known.sensitive[name].categories)[known.sensitive[name].codes]


def outcome(model, kind="plain"):
    """A digest of the results or the error, and what was warned of."""
    digest = blake2b(digest_size=12)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            for part in results(clone(model), kind):
                feed(digest, part)
        except ValueError as error:
            return f"{type(error).__name__}: {error}", [str(each.message) for each in caught]
    return digest.hexdigest(), [str(each.message) for each in caught]


# the values


@dataclass(frozen=True)
class Case:
    """A second value, what must be set beside it, and the data that it needs."""

    value: object
    beside: dict = field(default_factory=dict)
    data: str = "plain"


#: Quick parameters of each class.
BASE = {
    "Reranked": lambda: {"estimator": Ridge(), "reranker": find("DetGreedy")(by="sex")},
    "Blend": lambda: {"rankers": [("rules", RankBoost(5)), ("metrics", AdaRank(n_estimators=3))]},
    "ExternalRanker": lambda: {"model": external_model()},
    "RankingClassifier": lambda: {"ranker": find("RankBoost")(5)},
    "CostSensitiveAdaBoost": lambda: {"n_estimators": 5},
    "CausalFairScores": lambda: {"dag": DAG, "protected": "sex", "outcome": "points"},
    "FairScoringWeights": lambda: {"oracle": ORACLE, "n_samples": 40, "n_refine": 50},
    "IFair": lambda: {"n_prototypes": 3, "max_iter": 8, "n_init": 2, "protected": [3]},
    "LearnedFairRepresentation": lambda: {"n_prototypes": 3, "max_iter": 8, "n_init": 2},
    "BalancedSelection": lambda: {"lower": {"a": 3, "x": 3}, "k": 6, "by": None},
    "FAStarIR": lambda: {"p": {"a": 0.6}},
    "ImplicitBiasFloor": lambda: {"phi": 0.5, "protected": "a", "k": 5},
    "OnlineSelection": lambda: {"lower": {"a": 2}, "k": 5},
    "RankBoostPlus": lambda: {"n_estimators": 30, "max_bins": 3},
    "DirectRanker": lambda: {"by": None},
    "FairReduction": lambda: {
        "estimator": RankBoost(5),
        "constraint": "rank_parity",
        "max_iter": 6,
        "eps": 0.01,
    },
    "SoftRank": lambda: {"n_epochs": 2, "batch_size": 4},
    "FairPGRank": lambda: {"n_epochs": 2, "by": None},
    **{name: lambda: {"size": 0.5} for name in SAMPLERS},
}
DAG = [("sex", "test"), ("sex", "points"), ("test", "points"), ("sex", "passed")]
DAG += [("passed", "points"), ("test", "wage"), ("sex", "wage"), ("race", "points")]
ORACLE = PrefixSharesOracle(k=10, low=0.5, protected="a")
LISTED = ListedPairCost([0, 1], [2, 3], [5.0, 2.0], other=1.0)
STOP = {"validation": 0.3}
UNEQUAL = {"proportions": {"a": 0.9, "b": 0.1}}
#: The second value of each parameter that does not follow from its type, by class or for all.
CASES = {
    # shared
    "by": "race",
    "random_state": 1,
    "validation": 0.3,
    "early_stopping": Case(1, STOP),
    "metric": Case("NDCG@2", STOP),
    "k": 3,
    "tol": 0.9,
    "pair_cost": GroupPairCost([[1.0, 2.0], [3.0, 1.0]], by="sex"),
    "max_pairs": Case(1, {"pair_cost": LISTED}),
    "protected": "b",
    # boosting
    "AdaRank.metric": "Precision@3",
    "AdaRank.max_repeats": 1,
    "threshold": 2.0,
    "smoothing": 0.5,
    "max_bins": 2,
    "missing": Case("abstain", data="missing"),
    "pair_sample": Case(20, {"pair_cost": LISTED}),
    "FairReduction.tol": 100.0,
    "record_errors": False,
    "dtype": Case("float64", {"pair_cost": LISTED}),
    "independence": Case("strict", {"independence_tol": 0.99}),
    "independence_tol": Case(0.99, {"independence": "strict"}),
    "RankBoost.calibration_folds": Case(4, {"calibration": "sigmoid"}),
    "RankBoostPlus.calibration_folds": Case(4, {"calibration": "sigmoid"}),
    "BipartiteRankBoost.calibration_folds": Case(4, {"calibration": "sigmoid"}),
    "FairReduction.estimator": RankBoost(2),
    "FairReduction.random_state": Case(1, {"estimator": RankBoost(5, validation=0.3)}),
    "RankBoost.random_state": Case(1, STOP),
    "BipartiteRankBoost.random_state": Case(1, STOP),
    "RankBoostPlus.random_state": Case(1, STOP),
    "AdaRank.random_state": Case(1, STOP),
    # trees
    "LambdaMART.random_state": Case(1, STOP),
    "FairLambdaMART.random_state": Case(1, STOP),
    "MART.random_state": Case(1, STOP),
    "McRank.random_state": Case(1, STOP),
    "McRank.early_stopping": Case(1, STOP | {"n_estimators": 40, "learning_rate": 1.0}),
    "last_cut": Case(True, {"cutoff": 8}),
    "same_block": Case(True, {"strategy": "fair_first"}),
    "Blend.rankers": [("rules", RankBoost(5)), ("more", RankBoost(1))],
    "Blend.weights": [9.0, 1.0],
    "truncation": 2,
    "min_child_samples": 20,
    "cutoff": 3,
    "over_groups": Case("worst", {"by": "race"}),
    "base": Ridge(),
    "categorical": Case([3], {"min_data_per_group": 1, "cat_smooth": 0, "cat_l2": 0}),
    # pointwise and pairwise
    "ClassifierRanker.estimator": DecisionTreeClassifier(max_depth=2),
    "RegressionRanker.estimator": Ridge(100.0),
    "ClassifierRanker.output": Case("decision", {"scheme": "ordinal"}),
    "RankSVM.gamma": Case(0.1, {"kernel": "rbf"}),
    "degree": Case(2, {"kernel": "poly"}),
    "coef0": Case(1.0, {"kernel": "poly"}),
    "n_components": Case(5, {"kernel": "rbf"}),
    "RankSVM.random_state": Case(1, {"kernel": "rbf", "n_components": 5}),
    "RankSVM.max_iter": 1,
    "PreferenceRanker.classifier": DecisionTreeClassifier(max_depth=2),
    "PreferenceRanker.max_pairs": 20,
    "ExternalRanker.model": Ridge(),
    "ExternalRanker.lists": Case(None),
    "ExternalRanker.prefit": True,
    # networks
    **{
        f"{name}.early_stopping": Case(1, STOP | {"n_epochs": 12, "learning_rate": 0.5})
        for name in RANKERS
        if "schedule" in find(name).__fields__
    },
    "layers": (5,),
    "adversary_layers": (3,),
    "DirectRanker.fairness": Case("both", {"by": "sex"}),
    "DirectRanker.adversary_layers": Case((3,), {"fairness": "both", "by": "sex"}),
    "DirectRanker.adversary_rate": Case(1.0, {"fairness": "both", "by": "sex"}),
    "DirectRanker.gamma": Case(5.0, {"fairness": "both", "by": "sex"}),
    "DirectRanker.by": Case("race", {"fairness": "both", "by": "sex"}),
    "DELTR.activation": Case("relu", {"layers": (3,)}),
    "DELTR.protected": "a",
    "ListNet.target": Case("distribution", {"top": 2}),
    "ListNet.n_draws": Case(1, {"top": 2, "target": "distribution"}),
    "column": Case(3, {"constraint": "continuous"}),
    "l2": Case(0.5, {"compat": "fairsearch"}),
    "batch_size": 3,
    "max_steps": 1,
    "clip": 1e-4,
    "top": 2,
    # policies
    "lam": Case(5.0, {"disparity": "individual"}),
    "FairPGRank.disparity": Case("individual", {"lam": 1.0}),
    "FairPGRank.by": Case("race", {"disparity": "group", "lam": 5.0}),
    "FairPGRank.layers": Case((5,), {"model": "mlp", "engine": "torch"}),
    "FairPGRank.model": Case("mlp", {"engine": "torch"}),
    "baseline": Case("mean", {"gradient": "reinforce"}),
    "merit": Case(np.sqrt, {"disparity": "individual", "lam": 5.0}),
    "max_disparity": Case(0.5, {"disparity": "individual"}),
    # re-rankers
    "proportions": {"a": 0.8, "b": 0.2},
    "BalancedSelection.lower": {"a": 3, "y": 3},
    "BalancedSelection.on_infeasible": Case("best", {"lower": {"a": 5}}),
    "level": 0.9,
    "DetCons.on_infeasible": Case("best", UNEQUAL),
    "DetConstSort.on_infeasible": Case("best", UNEQUAL),
    "DetGreedy.on_infeasible": Case("best", UNEQUAL),
    "DetRelaxed.on_infeasible": Case("best", UNEQUAL),
    "ExposureOptimal.lower": {"a": 0.6},
    "ExposureOptimal.upper": {"a": 0.3},
    "penalty": 0.01,
    "ExposureOptimal.on_infeasible": Case("best", {"lower": {"a": 0.95}}),
    "FAStarIR.labels": Case("chance", data="guessed"),
    "ScoreBonus.tied_first": Case(0.5, data="tied"),
    "PrefixConstraints.labels": Case("chance", data="guessed"),
    "ExposureOptimal.labels": Case("expected", data="guessed"),
    "chance": Case(0.5, {"labels": "chance"}, "guessed"),
    "over": Case("prefix", {"labels": "chance"}, "guessed"),
    "PrefixConstraints.over": Case(
        "prefix", {"labels": "chance", "lower": {"a": 0.3}, "upper": None}, "guessed"
    ),
    "FAStarIR.p": {"a": 0.3},
    "FAStarIR.protected": Case("b", {"p": 0.6}),
    "FAStarIR.by": Case("race", {"p": None}),
    "FAStarIR.on_infeasible": Case("best", {"p": {"a": 0.9}}),
    "phi": 0.9,
    "ImplicitBiasFloor.on_infeasible": Case("best", {"k": 10, "phi": 0.99}),
    "ImpactRatioFloor.on_infeasible": Case("best", {"ratio": 90.0}),
    "ImpactRatioFloor.ratio": 1.3,
    "OnlineSelection.lower": {"a": 4},
    "OnlineSelection.upper": {"b": 2},
    "OnlineSelection.on_infeasible": Case("best", {"lower": {"a": 5}}),
    "PrefixConstraints.lower": {"a": 0.35},
    "PrefixConstraints.upper": {"b": 0.6},
    "PrefixConstraints.on_infeasible": Case("best", {"lower": {"a": 0.8}}),
    "RooneyRule.on_infeasible": Case("best", {"count": 5}),
    "Reranked.estimator": Ridge(1000.0),
    "reranker": find("DetGreedy")({"a": 0.8, "b": 0.2}, by="sex"),
    # classifiers
    "RankingClassifier.ranker": RankBoost(2),
    "RankingClassifier.class_cost": [[0, 1, 9], [9, 0, 9], [1, 1, 0]],
    "class_cost": (5.0, 1.0),
    # transformers and samplers
    "IFair.protected": [2],
    "n_pairs": 10,
    "n_init": 6,
    "n_refine": 1,
    "oracle": PrefixSharesOracle(k=10, low=0.4, protected="a"),
    "FairScoringWeights.weights": [3, 1, 1],
    "dag": DAG[1:],
    "resolving": "test",
    "reference": "b",
    "CausalFairScores.protected": ["sex", "race"],
    "outcome": "wage",
    "regressor": DecisionTreeRegressor(max_depth=2),
    "CausalFairScores.classifier": DecisionTreeClassifier(max_depth=1),
    "size": 0.25,
    "n_top": Case(2, {"represent": "top"}),
    "sketch": 3,
    "max_queries": 2,
    "KMedoidsSampler.max_iter": 1,
}
#: Parameters that change no result, with the reason.
IDLE = {
    "n_jobs": "a number of threads",
    "device": "a device, of which the machine of the tests has one",
    "checkpoint": "a folder for the state of a run, which continues with the same result",
    "PreferenceRanker.batch_size": "pairs per call of the classifier: a bound on memory",
    "warm_start": "continues an earlier fit; the first fit is the same",
    "time_limit": "the longest search for a list; short lists need none",
    "PreferredRankBoost.random_state": "draws rows for quantiles, of more rows than here",
    "LearnedFairRepresentation.protected": "the columns of groups, if groups are not given to fit",
    "ContinuousFairness.on_infeasible": "a parameter of all re-rankers; each list has a transport",
    "UncertainMerit.phi": "merit is certain in a ranking of one draw, as here",
    "UncertainMerit.method": "the same",
    "UncertainMerit.discount": "the same",
    "ImpactRatioFloor.reference": "there are two groups, so everyone else is the other one",
    "ScoreBonus.tied_first": "acts on ties, which these scores lack; tests/search has some",
}
#: Parameters that have no effect alone and do not warn, with the reason.
QUIET = {
    "random_state": "one seed may be given to models that draw and to models that do not",
    "last_cut": "a cutoff that is a multiple of the step, and the end of a list, are no new prefix",
    "max_pairs": "a bound on memory, which is not reached",
    "n_components": "scikit-learn's checks set it in every estimator; its description says so",
    "on_infeasible": "only lists whose bounds cannot hold need it",
    "independence": "few stumps are in the span of others",
    "over_groups": "two groups have one difference",
    "categorical": "LightGBM splits categories only if they have enough rows",
    "dtype": "the precision of listed pairs; whether pairs are listed depends on the costs",
}


def base(name):
    kind = find(name)
    names = list(kind.__fields__)
    quick = {"by": "sex", "random_state": 0, "n_estimators": 6, "min_child_samples": 3}
    quick |= {"num_leaves": 5, "n_epochs": 2}
    given = dict(getattr(kind, "test_params", {}))
    given |= {key: value for key, value in quick.items() if key in names}
    return given | BASE.get(name, dict)()


def case(name, parameter, now):
    """The second value of a parameter: as listed, else another word, number or truth value."""
    for key in (f"{name}.{parameter}", parameter):
        if key in CASES:
            found = CASES[key]
            return found if isinstance(found, Case) else Case(found)
    if isinstance(now, bool):
        return Case(not now)
    if isinstance(now, (int, float)):
        return Case(now + 1 if isinstance(now, int) else now / 2 or 0.5)
    for word in words(find(name).params.get(parameter)):
        if word != now:
            return Case(word)
    raise AssertionError(
        f"add a second value of {parameter} to CASES of {HERE}: "
        f'"{name}.{parameter}": VALUE, or Case(VALUE, PARAMETERS TO SET BESIDE IT)'
    )


def is_unbound(name):
    """Whether a re-ranker states no bounds: none of its lists can be infeasible."""
    if name not in RERANKERS or f"{name}.on_infeasible" in CASES:
        return False
    return isinstance(find(name)(**base(name))(data("plain").ranking()).bounds, NoBounds)


def words(constraint):
    if isinstance(constraint, Choice):
        return list(constraint.words)
    parts = {Optional: lambda c: [c.part], AnyOf: lambda c: c.parts}.get(type(constraint))
    return [] if parts is None else [w for part in parts(constraint) for w in words(part)]


#: What to do about a parameter without effect, by how often it is right.
ADVICE = (
    f"if it is used, add what shows it to CASES of {HERE}, as Case(VALUE, PARAMETERS TO SET BESIDE "
    "IT), for on_infeasible parameters that no list can meet; if no result can show it, add the "
    "reason to IDLE"
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_two_values_give_two_results(name):
    kind, given = find(name), base(name)
    plain = outcome(kind(**given))
    assert plain[1] == [], plain
    assert ": " not in plain[0], plain
    assert plain == outcome(kind(**given)), "the result must repeat"
    faults = []
    for parameter in kind.__fields__:
        keys = {parameter, f"{name}.{parameter}"}
        if keys & IDLE.keys() or (parameter == "on_infeasible" and is_unbound(name)):
            continue
        now = given.get(parameter, kind.__fields__[parameter].default)
        tried = case(name, parameter, now)
        usual = plain if tried.data == "plain" else outcome(kind(**given), tried.data)
        beside = given | tried.beside
        first = outcome(kind(**beside), tried.data) if tried.beside else usual
        second = outcome(kind(**beside | {parameter: tried.value}), tried.data)
        if first[0] == second[0]:
            faults.append(
                f"{parameter}: {now!r} and {tried.value!r} give the same result; {ADVICE}"
            )
        if not tried.beside or keys & QUIET.keys():
            continue
        alone, said = outcome(kind(**given | {parameter: tried.value}), tried.data)
        if alone == usual[0] and not any(f"{parameter} of {name}" in each for each in said):
            faults.append(
                f"{parameter}: {tried.value!r} has no effect alone, in silence; declare in "
                f"only_with what it needs, or add the reason to QUIET of {HERE}"
            )
    assert not faults, "\n".join(faults)


def test_a_parameter_without_effect_is_found(monkeypatch):
    """Break a ranker: its parameter is read, but changes nothing."""
    from equirank.rankers import PRank

    monkeypatch.setattr(PRank, "_fit", lambda self, data: setattr(self, "coef_", data.X[0]))
    monkeypatch.setattr(PRank, "_scores", lambda self, data: data.X @ self.coef_)
    with pytest.raises(AssertionError, match="average: True and False give the same result"):
        test_two_values_give_two_results("PRank")


@pytest.mark.parametrize("name", ALL)
def test_the_lists_of_parameters_are_of_parameters_that_exist(name):
    fields = find(name).__fields__
    for table in (CASES, IDLE, QUIET):
        own = {key.partition(".")[2] for key in table if key.startswith(f"{name}.")}
        assert own <= set(fields)
    assert all(other in fields for other, _ in find(name).only_with.values())
    assert set(find(name).only_with) <= set(fields)
