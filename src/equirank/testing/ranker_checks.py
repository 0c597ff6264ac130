"""Checks that every ranker and re-ranker must pass, including your own."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.errors import DataError, EquirankWarning, InfeasibleError
from ..core.given_data import as_ranking_data
from ..core.persistence import load
from ..core.ranker import Ranker
from ..core.ranking import Ranking
from ..core.reranker import Reranker

__all__ = ["check_ranker", "check_reranker", "expected_failed_checks", "with_groups"]

#: Checks of scikit-learn that predict after ``fit(X, y)``, and further ones that only fit.
PREDICTING = (
    *("check_dict_unchanged", "check_dtype_object", "check_estimators_dtypes"),
    *("check_estimators_pickle", "check_f_contiguous_array_estimator", "check_fit_idempotent"),
    *("check_fit_score_takes_y", "check_methods_sample_order_invariance"),
    *("check_methods_subset_invariance", "check_pipeline_consistency"),
)
FITTING = (
    *("check_dont_overwrite_parameters", "check_estimators_fit_returns_self"),
    *("check_estimators_nan_inf", "check_estimators_overwrite_params", "check_fit2d_1feature"),
    *("check_fit2d_predict1d", "check_fit_check_is_fitted", "check_n_features_in"),
    *("check_n_features_in_after_fitting", "check_positive_only_tag_during_fit"),
    *("check_readonly_memmap_input", "check_transformer_data_not_an_array"),
    *("check_transformer_general", "check_transformer_preserve_dtypes"),
)
#: Those that only fit, for estimators that accept sparse matrices.
FITTING_SPARSE = (
    *("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "check_estimator_sparse_tag",
)

#: Those that only fit, for estimators that accept weights.
FITTING_WEIGHTS = (
    *("check_sample_weights_list", "check_sample_weights_not_an_array"),
    *("check_sample_weights_not_overwritten", "check_sample_weights_pandas_series"),
    *("check_all_zero_sample_weights_error", "check_sample_weights_shape"),
)
#: Those that compare a row twice with a weight of 2, and no row with a weight of 0.
WEIGHT_AS_COPIES = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)


def expected_failed_checks(estimator: Any) -> dict[str, str]:
    """Return the checks of scikit-learn that an estimator fails for a stated reason.

    Checks that call ``fit(X, y)`` and ``predict(X)`` fail for an estimator that needs
    ``sensitive_features``, which raises `DataError`; `with_groups` runs these checks too. For tree
    rankers a weight of 2 is not the same as the row twice, and a weight of 0 is an error, so the
    checks of that fail. The result is for the parameter of the same name of ``check_estimator`` and
    ``parametrize_with_checks``.

    Parameters
    ----------
    estimator : estimator
        A ranker or a transformer of equirank, or your own.

    Returns
    -------
    dict
        The reason for each check; empty if all checks pass.

    Examples
    --------
    >>> from sklearn.utils.estimator_checks import check_estimator
    >>> from equirank.preprocess import IFair, LearnedFairRepresentation
    >>> from equirank.testing import expected_failed_checks
    >>> model = LearnedFairRepresentation()
    >>> expected_failed_checks(model)["check_n_features_in"]
    'LearnedFairRepresentation.fit needs sensitive_features, and the check passes none'
    >>> found = check_estimator(
    ...     model, expected_failed_checks=expected_failed_checks(model), on_skip=None
    ... )
    >>> expected_failed_checks(IFair())
    {}
    """
    reasons = {}
    meaning = getattr(estimator, "weight_is_no_copy", None)
    if meaning is not None and has_fit_parameter(estimator, "sample_weight"):
        reasons = dict.fromkeys(WEIGHT_AS_COPIES, f"weight 2 is not an item twice: {meaning}")
    is_ranker = isinstance(estimator, Ranker)
    needs = estimator.current_needs() if is_ranker else getattr(estimator, "fit_needs", ())
    method, names = "fit", [*PREDICTING, *FITTING]
    if "sensitive_features" not in needs:
        if "sensitive_features" not in getattr(estimator, "predict_needs", ()):
            return reasons
        method, names = "predict", [*PREDICTING]
    else:
        names.append("check_fit2d_1sample" if is_ranker else "check_transformer_n_iter")
        if get_tags(estimator).input_tags.sparse:
            names.extend(FITTING_SPARSE)
        if reasons:
            names.extend(FITTING_WEIGHTS)
    reason = f"{type(estimator).__name__}.{method} needs sensitive_features"
    return reasons | dict.fromkeys(names, f"{reason}, and the check passes none")


def with_groups(estimator: Any) -> Any:
    """Return a ranker with groups derived from the first column of X, for scikit-learn's checks.

    These checks call ``fit(X, y)``, and a ranker that needs ``sensitive_features`` would fail most
    of them (see `expected_failed_checks`). At prediction all rows belong to one group, because the
    checks require that the score of a row depends on that row only.

    Parameters
    ----------
    estimator : Ranker
        A ranker whose class needs sensitive features to fit.

    Returns
    -------
    Ranker
        Of a subclass of its class, with the same parameters.

    Examples
    --------
    >>> from equirank import Ranker
    >>> from equirank.testing import with_groups
    >>> class FairRanker(Ranker):
    ...     fit_needs = frozenset({"qid", "sensitive_features"})
    >>> with_groups(FairRanker())
    FairRankerWithGroups()
    """
    kind = type(estimator)

    def fit(self: Any, X: Any, y: Any = None, **given: Any) -> Any:
        if given.get("sensitive_features") is None and not isinstance(X, RankingData):
            given["sensitive_features"] = _derived_groups(X)
        return kind.fit(self, X, y, **given)

    def one_group(method: str) -> Callable[..., Any]:
        @wraps(getattr(kind, method))
        def call(self: Any, X: Any, *args: Any, **given: Any) -> Any:
            if given.get("sensitive_features") is None and not isinstance(X, RankingData):
                given["sensitive_features"] = _one_group(X)
            return getattr(kind, method)(self, X, *args, **given)

        return call

    name = f"{kind.__name__}WithGroups"
    members = {"fit": fit, "__init__": kind.__init__, "__module__": __name__}
    if "sensitive_features" in getattr(kind, "predict_needs", ()):
        members |= {method: one_group(method) for method in ("predict", "rank", "score")}
    derived = type(name, (kind,), members)
    globals()[name] = derived
    return derived(**estimator.get_params(deep=False))


def _derived_groups(X: Any) -> Any:
    try:
        matrix = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        if matrix.dtype.kind == "c" or matrix.ndim != 2 or 0 in matrix.shape:
            return np.full(max(1, len(matrix)), "low")
        column = matrix[:, 0].astype(float)
        return np.where(column > np.median(column), "high", "low")
    except (TypeError, ValueError, IndexError):
        return None


def _one_group(X: Any) -> Any:
    try:
        return np.full(X.shape[0] if hasattr(X, "shape") else len(X), "low")
    except (TypeError, IndexError):
        return None


def _say(condition: Any, sentence: str) -> None:
    if not condition:
        raise AssertionError(sentence)


def _sample(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    n = 120
    X = rng.normal(size=(n, 4))
    return {
        "X": X,
        "y": np.clip(np.round(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n)), 0, 3),
        "qid": rng.integers(0, 8, size=n),
        "sensitive_features": np.where(X[:, 2] > 0, "a", "b"),
        "cost": rng.uniform(0.5, 2.0, size=n),
    }


def _given(kind: type[Ranker], sample: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = ("qid", "sensitive_features", "cost")
    return {name: sample[name] for name in names if name in kind.fit_needs}


def _at_prediction(kind: type[Ranker], sample: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = ("qid", "sensitive_features")
    return {name: sample[name] for name in names if name in kind.predict_needs}


def check_ranker(ranker: Ranker) -> None:
    """Check that a ranker follows the conventions of the library.

    Fitting repeats; scores come back in the caller's row order whatever the order of the queries;
    the contributions of `explain_pair` add up to the difference of the scores; a
    `RankingData` gives what arrays give; parameters are left untouched and bad ones refused in
    `fit`; a ranker that does not declare groups is not changed by them; save and load keep the
    predictions for unseen rows, bit for bit.

    Parameters
    ----------
    ranker : Ranker
        Unfitted, with its parameters.

    Raises
    ------
    AssertionError
        Saying what does not hold.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import Ranker
    >>> from equirank.testing import check_ranker
    >>> class InOrder(Ranker):
    ...     def _fit(self, data):
    ...         self.first_ = 0
    ...
    ...     def _scores(self, data):
    ...         return np.arange(data.n_rows)
    >>> check_ranker(InOrder())
    Traceback (most recent call last):
    ...
    AssertionError: InOrder.predict must give scores in the caller's row order
    """
    kind, sample = type(ranker), _sample()
    name = kind.__name__
    given, later = _given(kind, sample), _at_prediction(kind, sample)
    before = repr(ranker.get_params())
    fitted = clone(ranker).fit(sample["X"], sample["y"], **given)
    scores = fitted.predict(sample["X"], **later)
    _say(repr(fitted.get_params()) == before, f"{name}.fit must leave the parameters untouched")
    _say(
        scores.shape == (120,) and np.isfinite(scores).all(),
        f"{name}.predict must give one finite score per row",
    )
    again = clone(ranker).fit(sample["X"], sample["y"], **given).predict(sample["X"], **later)
    _say(np.array_equal(scores, again), f"{name} must return the same scores for the same seed")
    _check_row_order(fitted, name, sample, later, scores)
    _check_data_object(ranker, name, sample, given, later, scores)
    _check_blindness(ranker, name, sample, given, later, scores)
    _check_bad_params(ranker, name, sample, given)
    _check_explaining(fitted, name, sample, later, scores)
    _check_ranking(fitted, name, sample, later, scores)
    new = _sample(1)
    unseen = _at_prediction(kind, new)
    _check_saving(fitted, name, lambda model: model.predict(new["X"], **unseen))


def _check_row_order(
    fitted: Any, name: str, sample: Any, later: dict[str, np.ndarray], scores: np.ndarray
) -> None:
    order = np.random.default_rng(1).permutation(len(scores))
    moved = fitted.predict(sample["X"][order], **{key: v[order] for key, v in later.items()})
    _say(
        np.allclose(moved, scores[order], rtol=1e-9, atol=1e-12),
        f"{name}.predict must give scores in the caller's row order",
    )


def _check_data_object(
    ranker: Any, name: str, sample: Any, given: Any, later: Any, scores: np.ndarray
) -> None:
    data = as_ranking_data(sample["X"], sample["y"], **({"qid": None} | given))
    seen = as_ranking_data(sample["X"], **({"qid": None} | later))
    other = clone(ranker).fit(data).predict(seen)
    _say(
        np.allclose(other, scores, rtol=1e-9, atol=1e-12),
        f"{name} must learn the same from a RankingData as from arrays",
    )


def _check_blindness(
    ranker: Any, name: str, sample: Any, given: Any, later: Any, scores: np.ndarray
) -> None:
    if "sensitive_features" in type(ranker).fit_needs:
        try:
            clone(ranker).fit(sample["X"], sample["y"], qid=sample["qid"])
        except DataError as error:
            _say("sensitive_features" in str(error), f"{name}.fit must name what is missing")
        else:
            raise AssertionError(f"{name}.fit must refuse to fit without sensitive_features")
        return
    shown = given | {"sensitive_features": sample["sensitive_features"]}
    blind = clone(ranker).fit(sample["X"], sample["y"], **shown).predict(sample["X"], **later)
    _say(np.array_equal(blind, scores), f"{name} must not be changed by groups it does not declare")


def _check_bad_params(ranker: Any, name: str, sample: Any, given: Any) -> None:
    for parameter in type(ranker).params:
        bad = clone(ranker)
        bad.set_params(**{parameter: object()})
        try:
            bad.fit(sample["X"], sample["y"], **given)
        except DataError as error:
            _say(parameter in str(error), f"{name}.fit must name the bad parameter {parameter}")
        else:
            raise AssertionError(f"{name}.fit must refuse a bad {parameter}")


def _check_ranking(fitted: Any, name: str, sample: Any, later: Any, scores: np.ndarray) -> None:
    ranking = fitted.rank(sample["X"], sample["y"], **({"qid": sample["qid"]} | later))
    _say(isinstance(ranking, Ranking), f"{name}.rank must return a Ranking")
    _check_permutation(ranking, name)
    for query in np.unique(sample["qid"]):
        rows = ranking.order(query)
        _say(
            (np.diff(scores[rows]) <= 1e-12).all(),
            f"{name}.rank must order the rows of a query by predict's scores",
        )


def _check_explaining(
    fitted: Any, name: str, sample: Any, later: dict[str, np.ndarray], scores: np.ndarray
) -> None:
    """Hold the contributions against the scores, the other way round, and with an equal feature."""
    given = {"qid": sample["qid"]} | later
    a, b = np.flatnonzero(sample["qid"] == sample["qid"][0])[:2].tolist()
    found = fitted.explain_pair(sample["X"], a, b, **given)
    near = 1e-6 * float(np.abs(scores).max())
    _say(
        abs(found["contribution"].sum() - (scores[a] - scores[b])) <= near,
        f"{name}.explain_pair must give contributions that add up to the difference of the scores",
    )
    back = fitted.explain_pair(sample["X"], b, a, **given)
    _say(
        np.allclose(_by_feature(back), -_by_feature(found), rtol=0.0, atol=near),
        f"{name}.explain_pair must turn all signs where a and b are exchanged",
    )
    X = sample["X"].copy()
    X[b, 0] = X[a, 0]
    alike = fitted.explain_pair(X, a, b, **given)
    if alike.method != "shap":
        _say(
            (alike["contribution"][alike["feature"] == "x0"] == 0.0).all(),
            f"{name}.explain_pair must give 0 to a feature that is equal in both rows",
        )


def _by_feature(explanation: Any) -> np.ndarray:
    """Return the contributions in the order of their names."""
    return explanation["contribution"][np.argsort(explanation["feature"].astype(str))]


def _check_permutation(ranking: Ranking, name: str) -> None:
    for _, draw in ranking.draws():
        for query in range(ranking.data.n_queries):
            begin, end = ranking.data.offsets[query : query + 2]
            first = np.sort(draw.position[begin:end])
            last = first if draw.last is None else np.sort(draw.last[begin:end])
            shown = int((first > 0).sum())
            place = np.arange(1, shown + 1)
            inside = (first[first > 0] <= place) & (place <= last[last > 0])
            _say(inside.all(), f"{name} must give every shown row of a query its own position")


def _check_saving(model: Any, name: str, use: Callable[[Any], np.ndarray]) -> None:
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        parts = [part for part in model.get_params().values() if hasattr(part, "get_params")]
        back = load(Path(folder) / "model", classes=[type(each) for each in (model, *parts)])
        names = {path.suffix for path in (Path(folder) / "model").rglob("*")}
    _say(not names & {".pkl", ".pickle", ".joblib"}, f"{name}.save must not write pickles")
    _say(
        use(back).tobytes() == use(model).tobytes(),
        f"{name} must give bit-identical results after save and load",
    )


def check_reranker(reranker: Reranker) -> None:
    """Check that a re-ranker follows the conventions of the library.

    Each list is a permutation of its rows, or the top of one. The result is the same for the same
    input, for any row order, and for arrays as for a `Ranking`. Bad parameters are errors, and save
    and load keep the result. If the guarantee of the result does not hold, the re-ranker raises
    `InfeasibleError` or `DataError`, or issues an `EquirankWarning`; this is checked on
    lists with scores below 0, with one group, and without candidates too. Requests without items,
    of one item and of one group are ranked, or are one of these errors.

    Parameters
    ----------
    reranker : Reranker
        With its parameters.

    Raises
    ------
    AssertionError
        As in `check_ranker`.

    Examples
    --------
    >>> from equirank import Ranking, Reranker
    >>> from equirank.testing import check_reranker
    >>> class Reverse(Reranker):
    ...     def _rerank(self, ranking):
    ...         data = ranking.data
    ...         return Ranking.from_scores(data, -data.to_original(data.score))
    >>> check_reranker(Reverse())
    """
    sample, name = _sample(3), type(reranker).__name__
    scores = sample["X"][:, 0]
    given: dict[str, Any] = {key: sample[key] for key in ("qid", "sensitive_features")}
    given["y_true"] = sample["y"]
    before = repr(reranker.get_params())
    result = reranker.rerank(scores, **given)
    _say(isinstance(result, Ranking), f"{name} must return a Ranking")
    _say(repr(reranker.get_params()) == before, f"{name} must not change its parameters")
    _check_permutation(result, name)
    data = as_ranking_data(
        None,
        sample["y"],
        qid=sample["qid"],
        sensitive_features=sample["sensitive_features"],
        score=scores,
    )
    same = reranker(data.ranking())
    _say(
        np.array_equal(same.position, result.position),
        f"{name} must return the same for a Ranking as for arrays",
    )
    order = np.random.default_rng(1).permutation(len(scores))
    moved = reranker.rerank(scores[order], **{key: v[order] for key, v in given.items()})
    _say(
        np.array_equal(
            moved.data.to_original(moved.position), result.data.to_original(result.position)[order]
        ),
        f"{name} must return the same positions for any row order",
    )
    _check_guarantee(reranker, name, data)
    _check_requests(reranker, name, scores, given)
    for parameter in type(reranker).params:
        bad = clone(reranker)
        bad.set_params(**{parameter: object()})
        try:
            bad.rerank(scores, **given)
        except DataError as error:
            _say(parameter in str(error), f"{name} must name the bad parameter {parameter}")
        else:
            raise AssertionError(f"{name} must refuse a bad {parameter}")
    _check_saving(reranker, name, lambda model: model.rerank(scores, **given).position)


def _check_requests(
    reranker: Reranker, name: str, scores: np.ndarray, given: dict[str, Any]
) -> None:
    """Check that lists without items, of one item and of one group are ranked or refused."""
    groups = given["sensitive_features"]
    lists = {"no item": slice(0), "one item": slice(1), "one group": groups == groups[0]}
    for what, rows in lists.items():
        request = {key: values[rows] for key, values in given.items() if key != "qid"}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", EquirankWarning)
                result = reranker.rerank(scores[rows], **request)
        except (DataError, InfeasibleError):
            continue
        except Exception as error:
            raise AssertionError(
                f"{name} must rank a list with {what}, or raise a DataError or an "
                f"InfeasibleError, got {type(error).__name__}: {error}"
            ) from error
        _say(
            result.data.n_rows == len(scores[rows]),
            f"{name} must keep the rows of a list with {what}",
        )


def _check_guarantee(reranker: Reranker, name: str, data: RankingData) -> None:
    """Check that a guarantee that does not hold is an error or a warning."""
    ((attribute, groups),) = data.sensitive.items()
    first = data.query_of_rows() == 0
    alone = Attribute(np.where(first, 0, groups.codes).astype(np.int32), groups.categories)
    plain = data.ranking()
    rankings = {
        "scores below 0": replace(data, score=np.asarray(data.score) - 10.0).ranking(),
        "scores above 0": replace(data, score=np.exp(np.asarray(data.score))).ranking(),
        "a list with one group": replace(data, sensitive={attribute: alone}).ranking(),
        "a list without candidates": replace(
            plain, position=np.where(first, np.int32(0), plain.position)
        ),
    }
    ways = ["error", "best"] if "on_infeasible" in reranker.get_params() else [None]
    for way, (what, ranking) in product(ways, rankings.items()):
        rule = clone(reranker) if way is None else clone(reranker).set_params(on_infeasible=way)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = rule(ranking)
            except (DataError, InfeasibleError):
                continue
        told = any(issubclass(warning.category, EquirankWarning) for warning in caught)
        _say(
            told or getattr(result, "holds", True),
            f"{name} must raise or warn if its guarantee does not hold ({what})",
        )
