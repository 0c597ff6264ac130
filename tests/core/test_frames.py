"""Columns of a frame by name, categories as codes, `like` and the policy for unseen values."""

import datetime as dt
import warnings

import numpy as np
import pytest

from equirank import DataError, EquirankWarning, Ranker, as_ranking_data, evaluate
from equirank.core import frames

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
try:
    import polars as pl
except ImportError:  # make test-all has it
    pl = None

BRANDS = ["Ora", None, "Ivo", "Ora", "Zoe", "Ivo"]
COLUMNS = {
    "price": [1.5, 2.0, np.nan, 3.0, 0.5, 2.5],
    "stock": [1, 2, 3, 4, 5, 6],
    "brand": BRANDS,
    "grade": [0, 1, 2, 0, 1, 0],
    "query": ["q2", "q1", "q2", "q1", "q2", "q1"],
    "seller": ["s", "t", "t", "s", "s", "t"],
    "sku": list("abcdef"),
}
NAMES = {"y": "grade", "qid": "query", "sensitive_features": ["seller"], "ids": "sku"}
FRAMES = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "pandas object": lambda columns: pd.DataFrame(columns).astype({"brand": object}),
    "pandas category": lambda columns: pd.DataFrame(columns).astype({"brand": "category"}),
    "pandas arrow": lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
    "pyarrow": lambda columns: pa.table(columns),
    "pyarrow dictionary": lambda columns: pa.table(
        columns | {"brand": pa.array(columns["brand"]).dictionary_encode()}
    ),
}
POLARS = {
    "polars": lambda columns: pl.DataFrame(columns, strict=False),
    "polars categorical": lambda columns: pl.DataFrame(columns, strict=False).with_columns(
        pl.col("brand").cast(pl.Categorical)
    ),
    "polars enum": lambda columns: pl.DataFrame(columns, strict=False).with_columns(
        pl.col("brand").cast(pl.Enum(["Zoe", "Ora", "none", "Ivo"]))
    ),
}
FRAMES |= POLARS if pl else {}
CLASSES = [pd.DataFrame, pa.table, *([pl.DataFrame] if pl else [])]


def slow_codes(values):
    """Return codes and categories by a loop."""
    labels = sorted({value for value in values if value is not None})
    return [np.nan if v is None else float(labels.index(v)) for v in values], tuple(labels)


@pytest.fixture
def frame():
    return pd.DataFrame(COLUMNS)


@pytest.mark.parametrize("block", [2, 1 << 15])
@pytest.mark.parametrize("kind", FRAMES)
def test_all_libraries_give_the_same_numbers(kind, block, monkeypatch):
    monkeypatch.setattr(frames, "BLOCK", block)
    data = as_ranking_data(FRAMES[kind](COLUMNS), **NAMES)
    codes, labels = slow_codes(BRANDS)
    expected = np.array([COLUMNS["price"], COLUMNS["stock"], codes]).T
    np.testing.assert_array_equal(data.to_original(data.X), expected)
    assert data.categories == {"brand": labels}
    assert data.feature_names == ("price", "stock", "brand")
    assert data.to_original(data.ids).tolist() == COLUMNS["sku"]
    assert data.qids.tolist() == ["q2", "q1"]
    assert data.attribute("seller").categories == ("s", "t")
    assert data.X.dtype == np.float64
    assert not data.X.flags.writeable


@pytest.mark.parametrize("kind", FRAMES)
def test_another_frame_is_encoded_like_the_first(kind):
    data = as_ranking_data(pd.DataFrame(COLUMNS), **NAMES)
    swapped = {name: values[3:5][::-1] for name, values in reversed(COLUMNS.items())}
    found = as_ranking_data(FRAMES[kind](swapped), qid="query", like=data)
    np.testing.assert_array_equal(found.to_original(found.X), [[0.5, 5.0, 2.0], [3.0, 4.0, 1.0]])
    assert found.categories == data.categories
    recoded = as_ranking_data(as_ranking_data(FRAMES[kind](swapped), qid=0), like=data)
    np.testing.assert_array_equal(recoded.X, found.to_original(found.X))
    assert recoded.feature_names == data.feature_names


def test_features_are_all_columns_that_nothing_names(frame):
    assert as_ranking_data(frame, y="grade").feature_names == (
        *("price", "stock", "brand", "query", "seller", "sku"),
    )
    chosen = as_ranking_data(frame, **NAMES, features=["brand", "stock"])
    assert chosen.feature_names == ("brand", "stock")
    assert as_ranking_data(frame, **NAMES, features=()).X is None
    assert as_ranking_data(frame[["grade", "query"]], y="grade", qid="query").X is None
    mapped = as_ranking_data(frame, sensitive_features={"who": "seller"}, features=["price"])
    assert list(mapped.sensitive) == ["who"]
    labels = as_ranking_data(frame[["price"]], sensitive_features=COLUMNS["seller"])
    assert labels.attribute().categories == ("s", "t")


def test_numbers_can_be_categories():
    for values in ([3, 1, None], [3.0, 1.0, np.nan]):
        for kind in CLASSES:
            data = as_ranking_data(kind({"shop": values}), categorical=["shop"])
            assert data.categories == {"shop": ("1", "3")}
            np.testing.assert_array_equal(data.X[:, 0], [1.0, 0.0, np.nan])
    mixed = as_ranking_data(pd.DataFrame({"shop": ["b", 1, None]}, dtype=object))
    assert mixed.categories == {"shop": ("1", "b")}
    with pytest.raises(DataError, match=r"X\['shop'\].*whole numbers.*got 1.5 in row 0"):
        as_ranking_data(pd.DataFrame({"shop": [1.5]}), categorical=["shop"])


def test_float32_stays_float32_up_to_its_whole_numbers(monkeypatch):
    frame = pd.DataFrame({"x": np.float32([1, 2, 3]), "brand": ["b", "a", "c"]})
    data = as_ranking_data(frame)
    assert data.X.dtype == np.float32
    assert data.X.tolist() == [[1, 1], [2, 0], [3, 2]]
    monkeypatch.setattr(frames, "MOST_CODES", 2)
    with pytest.raises(DataError, match=r"X\['brand'\] must have at most 2 categories.*got 3"):
        as_ranking_data(frame)
    assert as_ranking_data(frame.astype({"x": "float64"})).X.dtype == np.float64


def test_a_column_without_a_value_is_a_missing_number():
    for kind in CLASSES:
        frame = kind({"a": [None, None]})
        data = as_ranking_data(frame)
        assert np.isnan(data.X).all()
        assert data.categories == {}


@pytest.mark.parametrize(
    "values",
    [
        [dt.date(2020, 1, 1)],
        [dt.datetime(2020, 1, 1)],
        [dt.timedelta(1)],
        [[1, 2]],
        [{"b": 1}],
    ],
)
def test_dates_and_lists_are_refused_by_name(values):
    for kind in CLASSES:
        with pytest.raises(DataError, match=r"'when'.*leave it out of features"):
            as_ranking_data(kind({"x": [1.0], "when": values}))
        assert as_ranking_data(kind({"x": [1.0], "when": values}), features=["x"]).n_features == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"y": "grad"}, "y must name a column of X .*did you mean 'grade'"),
        ({"sensitive_features": ["seller", "sex"]}, "sensitive_features must name a column"),
        ({"features": ["cost"]}, "features must name a column of X"),
        ({"features": "price"}, "features must be a list of names"),
        ({"y": "grade", "features": ["grade"]}, "must not contain the relevance 'grade'"),
        ({"categorical": ["brnd"]}, "categorical must name features.*did you mean 'brand'"),
        ({"categorical": None}, "'brand' has type"),
        ({"unseen": "ignore"}, "unseen must be one of 'error', 'missing'"),
        ({"like": 3}, "like must be a RankingData or a fitted ranker, got int"),
    ],
)
def test_wrong_names_are_said(frame, given, words):
    with pytest.raises(DataError, match=words):
        as_ranking_data(frame, **given)


def test_names_need_a_frame_and_like_states_the_columns(frame):
    with pytest.raises(DataError, match="y must be an array, got the name 'grade'"):
        as_ranking_data(np.zeros((2, 1)), "grade")
    with pytest.raises(DataError, match="features must be omitted, since X is no data frame"):
        as_ranking_data(np.zeros((2, 1)), features=["a"])
    data = as_ranking_data(frame, **NAMES)
    with pytest.raises(DataError, match="features must be omitted beside like"):
        as_ranking_data(frame, like=data, features=["price"])
    with pytest.raises(DataError, match="X must be a data frame, since like has categories"):
        as_ranking_data(np.zeros((2, 3)), like=data)
    with pytest.raises(DataError, match=r"feature names of fit .*and lacks 'price'"):
        as_ranking_data(frame.drop(columns="price"), like=data)


def test_unseen_categories_and_groups_are_an_error_or_missing(frame):
    data = as_ranking_data(frame, **NAMES)
    new = frame.assign(brand=["Ora", "Neu", "Neu", None, "Ivo", "Ora"], seller=list("sttsxs"))
    made = as_ranking_data(new, **NAMES)
    for given in (new, made):
        names = NAMES if given is new else {}
        with pytest.raises(
            DataError, match=r"X\['brand'\].*3 values.*got 'Neu' in row 1 \(unseen in 2 of 6 rows\)"
        ):
            as_ranking_data(given, **names, like=data)
        with pytest.warns(EquirankWarning) as caught:
            found = as_ranking_data(given, **names, like=data, unseen="missing")
        assert len(caught) == 1
        assert caught[0].filename == __file__
        assert "X['brand'] (2 of 6 rows, first 'Neu' in row 1)" in str(caught[0].message)
        assert "sensitive_features['seller'] (1 of 6 rows, first 'x' in row 4)" in str(
            caught[0].message
        )
        np.testing.assert_array_equal(
            found.to_original(found.X)[:, 2], [1, np.nan, np.nan, np.nan, 0, 1]
        )
        assert found.to_original(found.attribute("seller").codes).tolist() == [0, 1, 1, 0, -1, 0]
        assert found.attribute("seller").categories == ("s", "t")
    with pytest.raises(DataError, match=r"sensitive_features\['seller'\].*got 'x' in row 4"):
        as_ranking_data(new.assign(brand=BRANDS), **NAMES, like=data)


def test_known_groups_may_be_many_in_a_short_frame():
    seller = [f"s{at % 30}" for at in range(600)]
    data = as_ranking_data(pd.DataFrame({"x": 1.0, "seller": seller}), sensitive_features="seller")
    few = pd.DataFrame({"x": 1.0, "seller": seller[29::-1]})
    with pytest.raises(DataError, match="got 30 different values in 30 rows"):
        as_ranking_data(few, sensitive_features="seller")
    found = as_ranking_data(few, sensitive_features="seller", like=data)
    assert found.attribute().labels().tolist() == seller[29::-1]


def test_ids_among_the_features_are_told():
    frame = pd.DataFrame({"x": np.arange(300.0), "sku": [f"i{at}" for at in range(300)]})
    with pytest.warns(EquirankWarning, match=r"X\['sku'\] has 300 categories.*likely an id"):
        as_ranking_data(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_ranking_data(frame, ids="sku")


def test_selections_and_fingerprints_keep_the_categories(frame):
    data = as_ranking_data(frame, **NAMES)
    assert data.select([1]).categories == data.categories
    renamed = as_ranking_data(frame.assign(brand=frame["brand"].str.upper()), **NAMES)
    np.testing.assert_array_equal(renamed.X, data.X)
    assert renamed.fingerprint() != data.fingerprint()


class Numbers(Ranker):
    """A ranker of numbers only."""

    def _fit(self, data):
        self.sum_ = 1.0

    def _scores(self, data):
        return np.nan_to_num(data.X).sum(axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class Coded(Numbers):
    """A ranker that uses codes."""

    takes_categories = True


def test_rankers_take_names_and_keep_the_encoding(frame, tmp_path):
    import equirank

    model = Coded().fit(frame.drop(columns=["seller", "sku"]), "grade", qid="query")
    assert model.feature_names_in_.tolist() == ["price", "stock", "brand"]
    assert model.categories_ == {"brand": ["Ivo", "Ora", "Zoe"]}
    assert model.unseen_ == "error"
    expected = np.nan_to_num(as_ranking_data(frame, **NAMES, like=model).X).sum(axis=1)
    data = as_ranking_data(frame, **NAMES)
    np.testing.assert_array_equal(model.predict(frame), data.to_original(expected))
    np.testing.assert_array_equal(model.predict(frame[list(frame)[::-1]]), model.predict(frame))
    few = frame.iloc[3:5]  # their own codes would be 0 and 1
    np.testing.assert_array_equal(model.predict(as_ranking_data(few, qid=0)), model.predict(few))
    model.save(tmp_path / "model")
    again = equirank.load(tmp_path / "model", classes=[Coded])
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_the_policy_is_stored_and_overridden(frame, tmp_path):
    import equirank

    new = frame.assign(brand="Neu")
    Coded().fit(as_ranking_data(frame, **NAMES, unseen="missing")).save(tmp_path / "model")
    model = equirank.load(tmp_path / "model", classes=[Coded])
    with pytest.warns(EquirankWarning, match="'Neu' in row 0") as caught:
        found = model.predict(new)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(found, model.predict(frame.assign(brand=None)))
    with pytest.raises(DataError, match="got 'Neu' in row 0"):
        model.predict(new, unseen="error")
    with pytest.raises(DataError, match="unseen must be one of"):
        model.predict(new, unseen="ignore")
    assert as_ranking_data(as_ranking_data(frame, **NAMES), unseen="missing").unseen == "missing"
    strict = Coded().fit(as_ranking_data(frame, **NAMES))
    with pytest.warns(EquirankWarning, match="'Neu'"):
        assert strict.rank(new, qid="query", unseen="missing").data.n_queries == 2


def test_learners_without_categories_name_the_columns(frame):
    data = as_ranking_data(frame, **NAMES)
    with pytest.raises(DataError, match=r"Numbers needs .* categories in 'brand'.*OneHotEncoder"):
        Numbers().fit(data)
    with pytest.raises(DataError, match=r"Numbers needs .* categories in 'brand'.*OneHotEncoder"):
        Numbers().fit(frame, "grade", qid="query", sensitive_features=["seller", "sku"])


def test_evaluate_and_rerank_take_columns(frame):
    from equirank.rerankers import DetGreedy

    data = as_ranking_data(frame, **NAMES, score=COLUMNS["stock"], features=())
    names = NAMES | {"score": "stock"}
    found = evaluate(frame, "NDCG@10, ExposureGap", **names, n_boot=0, n_permutations=0)
    expected = evaluate(data, "NDCG@10, ExposureGap", n_boot=0, n_permutations=0)
    assert found["NDCG@10"] == expected["NDCG@10"]
    assert found["ExposureGap"] == expected["ExposureGap"]
    with pytest.raises(DataError, match="y must be None beside a RankingData"):
        evaluate(data, "NDCG@10", y="grade")
    with pytest.raises(TypeError, match=r"evaluate.*unexpected keyword argument 'quid'"):
        evaluate(frame, "NDCG@10", quid="query")
    with pytest.raises(DataError, match="data must be a RankingData or a data frame, got list"):
        evaluate([1], "NDCG@10")
    expected = DetGreedy()(data.ranking()).position
    for given, columns in (
        (data.ranking(), {}),
        (data, {}),
        (frame, {"score": "stock", "qid": "query", "sensitive_features": "seller"}),
    ):
        np.testing.assert_array_equal(DetGreedy().rerank(given, **columns).position, expected)
    with pytest.raises(DataError, match="qid must be None beside a Ranking"):
        DetGreedy().rerank(data.ranking(), qid="query")
    with pytest.raises(DataError, match="score must be None beside a list of scores"):
        DetGreedy().rerank([1.0, 2.0], score="stock")
