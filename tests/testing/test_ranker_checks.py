"""check_ranker and check_reranker: good ones pass, each broken one is told what is wrong."""

from typing import ClassVar

import numpy as np
import pytest
from reference_ranker import (
    GroupRidgeRanker,
    NoisyRanker,
    ReverseReranker,
    RidgeRanker,
    SwapTopReranker,
)

from equirank import (
    DataError,
    EquirankWarning,
    InfeasibleError,
    Ranking,
    Reranker,
    as_ranking_data,
    preprocess,
    rankers,
    rerankers,
)
from equirank.core.explain_pair import Parts
from equirank.core.params import Number
from equirank.core.ranker import Ranker
from equirank.rerankers import Guaranteed, Reranking, TableBounds
from equirank.rerankers.guaranteed import HELD, Missed, candidates
from equirank.testing.ranker_checks import (
    check_ranker,
    check_reranker,
    expected_failed_checks,
    with_groups,
)


class SeesGroups(RidgeRanker):
    """Lifts one group's scores when predicting, as it declares."""

    fit_needs: ClassVar = frozenset({"qid", "sensitive_features"})
    predict_needs: ClassVar = frozenset({"sensitive_features"})

    def _scores(self, data):
        lift = data.attribute().codes
        return (data.X - self.mean_) @ self.coef_ + lift


@pytest.mark.parametrize(
    "ranker",
    [RidgeRanker(), RidgeRanker(penalty=3), GroupRidgeRanker(), NoisyRanker(), SeesGroups()],
    ids=lambda ranker: type(ranker).__name__,
)
def test_good_rankers_pass(ranker):
    assert check_ranker(ranker) is None
    assert not hasattr(ranker, "coef_")


@pytest.mark.parametrize("reranker", [ReverseReranker(), SwapTopReranker()])
def test_good_rerankers_pass(reranker):
    assert check_reranker(reranker) is None


# broken rankers, one fault each


class ChangesParams(RidgeRanker):
    def _fit(self, data):
        super()._fit(data)
        self.penalty = self.penalty + 1


class Random(RidgeRanker):
    def _fit(self, data):
        super()._fit(data)
        self.coef_ = self.coef_ + np.random.default_rng().normal(size=self.coef_.shape)


class NaNScores(RidgeRanker):
    def _scores(self, data):
        return np.full(data.n_rows, np.nan)


class ShortScores(RidgeRanker):
    def _scores(self, data):
        return super()._scores(data)[:-1]


class RowNumber(RidgeRanker):
    def _scores(self, data):
        return np.arange(data.n_rows) / data.n_rows


class ForgetsArrays(RidgeRanker):
    def _fit(self, data):
        super()._fit(data)
        self._kept = self.coef_
        del self.coef_

    def _scores(self, data):
        return data.X @ getattr(self, "_kept", np.zeros(data.n_features))


class Unchecked(RidgeRanker):
    def fit(self, X, y=None, **given):
        self.penalty_ = self.penalty
        self.penalty = 1.0
        try:
            return super().fit(X, y, **given)
        finally:
            self.penalty = self.penalty_
            del self.penalty_


class VagueParams(RidgeRanker):
    def fit(self, X, y=None, **given):
        if not isinstance(self.penalty, float):
            raise DataError("something is wrong")
        return super().fit(X, y, **given)


class Peeks(RidgeRanker):
    def fit(self, X, y=None, *, sensitive_features=None, **given):
        super().fit(X, y, **given)
        if sensitive_features is not None:
            self.coef_ = self.coef_ * 2
        return self


class PretendsToNeedGroups(GroupRidgeRanker):
    def fit(self, X, y=None, **given):
        if given.get("sensitive_features") is None and isinstance(X, np.ndarray):
            given["sensitive_features"] = np.where(X[:, 0] > 0, "a", "b")
        return super().fit(X, y, **given)


class ArraysOnly(RidgeRanker):
    def fit(self, X, y=None, **given):
        super().fit(X, y, **given)
        if y is None:
            self.coef_ = self.coef_ * 2
        return self


class RanksUpsideDown(RidgeRanker):
    def rank(self, X, y=None, **given):
        ranking = super().rank(X, y, **given)
        return ReverseReranker()(ranking)


class RanksAsList(RidgeRanker):
    def rank(self, X, y=None, **given):
        return super().rank(X, y, **given).order


class SavesPickle(RidgeRanker):
    def _save_files(self, folder):
        (folder / "model.pkl").write_bytes(b"")


class LosesPart(RidgeRanker):
    """Says that its score is a sum over features, and leaves one out."""

    def _parts(self, data):
        return Parts(data.X * self.coef_ * [1, 1, 1, 0])


class OneSided(RidgeRanker):
    """Explains one way round only."""

    def explain_pair(self, X, a, b, **given):
        found = super().explain_pair(X, a, b, **given)
        if a > b:
            found.columns["contribution"] = -found["contribution"]
        return found


class Credulous(RidgeRanker):
    """Gives a part to a feature that is the same in both rows."""

    def _parts(self, data):
        parts = data.X * self.coef_
        sign = np.sign(data.X[:, 1] - data.X[::-1, 1])
        parts[:, 0] += sign
        parts[:, 1] -= sign
        return Parts(parts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (LosesPart, "contributions that add up"),
        (OneSided, "must turn all signs"),
        (Credulous, "must give 0 to a feature that is equal"),
        (ChangesParams, "must leave the parameters untouched"),
        (Random, "same scores for the same seed"),
        (NaNScores, "one finite score per row"),
        (ShortScores, "one finite score per row"),
        (RowNumber, "caller's row order"),
        (ForgetsArrays, "after save and load"),
        (Unchecked, "must refuse a bad penalty"),
        (VagueParams, "must name the bad parameter penalty"),
        (Peeks, "must not be changed by groups"),
        (PretendsToNeedGroups, "must refuse to fit without sensitive_features"),
        (ArraysOnly, "the same from a RankingData"),
        (RanksUpsideDown, "must order the rows of a query"),
        (RanksAsList, "must return a Ranking"),
        (SavesPickle, "must not write pickles"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_ranker_is_told_what_is_wrong(kind, words):
    with pytest.raises(AssertionError, match=words) as caught:
        check_ranker(kind(penalty=1.0))
    assert kind.__name__ in str(caught.value)


# broken re-rankers, one fault each


def in_callers_rows(ranking, stored):
    return Ranking.from_positions(ranking.data, ranking.data.to_original(np.asarray(stored)))


class RandomReranker(Reranker):
    def _rerank(self, ranking):
        rng = np.random.default_rng()
        sizes = np.diff(ranking.data.offsets)
        return in_callers_rows(ranking, np.concatenate([rng.permutation(n) + 1 for n in sizes]))


class RowOrderReranker(Reranker):
    def _rerank(self, ranking):
        sizes = np.diff(ranking.data.offsets)
        return in_callers_rows(ranking, np.concatenate([np.arange(1, n + 1) for n in sizes]))


class ListReranker(Reranker):
    def _rerank(self, ranking):
        return ranking.position


class TwoFirsts(Reranker):
    def _rerank(self, ranking):
        return Ranking(ranking.data, np.ones(ranking.data.n_rows, dtype=np.int32))


class ArraysDifferently(ReverseReranker):
    def rerank(self, y_score, **given):
        return super().rerank(-np.asarray(y_score), **given)


class UncheckedReranker(SwapTopReranker):
    def _rerank(self, ranking):
        return ranking

    def __call__(self, ranking):
        return self._rerank(ranking)


class VagueReranker(SwapTopReranker):
    params: ClassVar = {"places": Number(2, 2)}

    def __call__(self, ranking):
        if self.places != 2:
            raise DataError("something is wrong")
        return super().__call__(ranking)


class ChangingReranker(SwapTopReranker):
    params: ClassVar = {}

    def _rerank(self, ranking):
        self.places = self.places + 1
        return super()._rerank(ranking)


class FirstOf(Guaranteed):
    """Puts the best item of group "b" first; says nothing where there is none."""

    guarantee = "the first position goes to b"

    def _rerank(self, ranking):
        pool = self._pool(ranking)
        code = pool.groups.code("b")
        there = candidates(pool)[:, code]
        self._tell(pool, there, code)
        slots = np.concatenate(
            [
                np.arange(begin, begin + n)
                for begin, n in zip(pool.offsets, pool.limit, strict=False)
            ]
        )
        query = np.repeat(np.arange(len(pool.limit)), pool.limit)
        mine = pool.codes[slots] == code
        seen = np.cumsum(mine) - np.concatenate([[0], np.cumsum(there)])[query]
        order = slots[np.lexsort((slots, ~(mine & (seen == 1)), query))]
        least = np.zeros((1, pool.n_groups), dtype=np.int64)
        least[0, code] = 1
        start = np.zeros(len(pool.limit), dtype=np.int64)
        bounds = TableBounds(self.guarantee, least, None, start, start + 1)
        made = {"bounds": bounds, "reranker": self}
        return Reranking.from_order(ranking, pool.order[order], pool.out_offsets, **made)

    def _tell(self, pool, there, code):
        pass


class TellingFirstOf(FirstOf):
    """Reports what is missing, also in lists without positions."""

    def _tell(self, pool, there, code):
        prefix = np.where(there > 0, HELD, np.minimum(pool.limit, 1))
        missed = Missed(prefix, np.full(len(there), code))
        self._report(pool, missed, lambda *_: 1, "leave the list out")


class FailsWithoutItems(ReverseReranker):
    """Looks at the first item of every list."""

    def _rerank(self, ranking):
        first = ranking.data.score[0]
        return super()._rerank(ranking) if np.isfinite(first) else ranking


def test_requests_of_all_kinds_are_ranked_or_refused():
    with pytest.raises(AssertionError, match=r"must rank a list with no item, .* got IndexError"):
        check_reranker(FailsWithoutItems())


def test_guarantee_must_hold_or_be_reported():
    check_reranker(TellingFirstOf())
    with pytest.raises(AssertionError, match=r"FirstOf must raise or warn.*\(a list with one"):
        check_reranker(FirstOf())


def test_list_without_candidates_can_miss_its_guarantee():
    data = as_ranking_data(None, score=[2, 1], qid=["x", "y"], sensitive_features=["b", "b"])
    ranking = Ranking.from_positions(data, [0, 1])
    with pytest.raises(InfeasibleError, match=r"in query 'x': it needs 1 of group 'b'.*has 0;"):
        TellingFirstOf()(ranking)
    rule = TellingFirstOf(on_infeasible="best")
    with pytest.warns(EquirankWarning, match="query 'x'"):
        assert rule(ranking).order("y").tolist() == [1]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (RandomReranker, "the same"),
        (RowOrderReranker, "for any row order"),
        (ListReranker, "must return a Ranking"),
        (TwoFirsts, "its own position"),
        (ArraysDifferently, "the same for a Ranking as for arrays"),
        (UncheckedReranker, "must refuse a bad places"),
        (VagueReranker, "must name the bad parameter places"),
        (ChangingReranker, "must not change its parameters"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_reranker_is_told_what_is_wrong(kind, words):
    with pytest.raises(AssertionError, match=words) as caught:
        check_reranker(kind())
    assert kind.__name__ in str(caught.value)


# groups for scikit-learn's checks


def test_with_groups_derives_groups_from_the_first_column():
    X = np.arange(12.0).reshape(6, 2)
    model = with_groups(GroupRidgeRanker(penalty=3.0))
    assert isinstance(model, GroupRidgeRanker)
    assert isinstance(model, Ranker)
    assert model.penalty == 3.0
    assert model.get_params() == {"penalty": 3.0}
    model.fit(X, np.arange(6))
    assert model.groups_ == {"sensitive": ["high", "low"]}
    given = model.fit(X, np.arange(6), sensitive_features=list("ababab"))
    assert given.groups_ == {"sensitive": ["a", "b"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        *("GroupRidgeRanker", "LearnedFairRepresentation", "Reranked"),
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in (
                *("ConstrainedPairwise", "DELTR", "DebiasClassifier", "FairLambdaMART"),
                *("FairReduction", "PairwiseRegularised", "PreferredRankBoost"),
            )
        ),
    ],
)
def test_the_list_of_expected_failures_is_exact(name):
    from sklearn.utils.estimator_checks import check_estimator

    if name == "Reranked":
        model = rerankers.Reranked(RidgeRanker(), rerankers.FAStarIR())
    elif name == "GroupRidgeRanker":
        model = GroupRidgeRanker()
    else:
        pytest.importorskip("lightgbm" if name == "FairLambdaMART" else "numpy")
        kind = getattr(preprocess if name == "LearnedFairRepresentation" else rankers, name)
        model = kind(**getattr(kind, "test_params", {}))
    listed = expected_failed_checks(model)
    found = check_estimator(model, expected_failed_checks=listed, on_skip=None, on_fail=None)
    status = {each["check_name"]: each["status"] for each in found}
    assert [check for check, word in status.items() if word == "failed"] == []
    assert [check for check in listed if status.get(check) == "passed"] == []
    assert list(status.values()).count("xfail") >= 10


def test_estimators_without_groups_have_no_expected_failures():
    assert expected_failed_checks(RidgeRanker()) == {}
    assert expected_failed_checks(preprocess.LearnedFairRepresentation(protected=[0])) == {}


def test_a_weight_is_no_copy_of_an_item():
    pytest.importorskip("lightgbm")
    wanted = {
        f"check_sample_weight_equivalence_on_{kind}_data": (
            "weight 2 is not an item twice: pairs are multiplied by sqrt(w_i w_j)"
        )
        for kind in ("dense", "sparse")
    }
    assert expected_failed_checks(rankers.LambdaMART()) == wanted
    assert expected_failed_checks(rankers.MART()).keys() == wanted.keys()
    assert wanted.items() <= expected_failed_checks(rankers.FairLambdaMART()).items()
