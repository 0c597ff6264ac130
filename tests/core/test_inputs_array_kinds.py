"""Every kind of array has the numbers of a list, wherever arrays are taken, or is refused."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.exceptions import DataConversionWarning

import equirank
from equirank import DataError, as_ranking_data
from equirank.metrics import exposure_gap, ndcg
from equirank.rankers import RankSVM
from equirank.rerankers import DetGreedy

try:
    import polars as pl
except ImportError:  # make test-all has it
    pl = None

N = 24
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
COLUMNS = {
    "y": RNG.integers(0, 3, N),
    "score": RNG.permutation(N) / 7,
    "qid": np.repeat([1, 2, 3], N // 3),
    "sex": np.tile(["f", "m", "m"], N // 3),
    "ids": np.arange(N) + 2**53,
}


def arrow(values):
    """Return an extension array of pandas that keeps its values in pyarrow."""
    return pd.array(values, dtype=pd.ArrowDtype(pa.array(values).type))


KINDS = {
    "list": np.ndarray.tolist,
    "tuple": lambda values: tuple(values.tolist()),
    "memory view": lambda values: memoryview(values) if values.dtype.kind != "U" else values,
    "object": lambda values: values.astype(object),
    "masked": np.ma.array,
    "pandas Series": pd.Series,
    "pandas Series.values": lambda values: pd.Series(values).values,
    "pandas Series.array": lambda values: pd.Series(values).array,
    "pandas Index": pd.Index,
    "pandas Categorical": pd.Categorical,
    "pandas Series of categories": lambda values: pd.Series(values, dtype="category"),
    "pandas nullable": lambda values: pd.Series(values).convert_dtypes().array,
    "pandas Series of nullables": lambda values: pd.Series(values).convert_dtypes(),
    "pandas in pyarrow": arrow,
    "pandas Series in pyarrow": lambda values: pd.Series(arrow(values)),
    "pandas DataFrame": lambda values: pd.DataFrame({"sensitive": values}),
    "pandas DataFrame of nullables": lambda v: pd.DataFrame({"sensitive": v}).convert_dtypes(),
    "pyarrow Array": pa.array,
    "pyarrow ChunkedArray": lambda values: pa.chunked_array([values[:5], values[5:]]),
    "pyarrow DictionaryArray": lambda values: pa.array(values).dictionary_encode(),
    "pyarrow Table": lambda values: pa.table({"sensitive": values}),
}
if pl is not None:
    KINDS["polars Series"] = pl.Series
    KINDS["polars DataFrame"] = lambda values: pl.DataFrame({"sensitive": values})


def facts(data):
    """Return what data contain, as plain values."""
    people = data.attribute()
    columns = (data.y, data.score, data.qids, data.ids, people.codes)
    return [*(column.tolist() for column in columns), people.categories]


def by_column(y, score, qid, sex, ids):
    return facts(as_ranking_data(X, y, qid=qid, score=score, sensitive_features=sex, ids=ids))


def by_rerank(y, score, qid, sex, ids):
    found = DetGreedy().rerank(score, sensitive_features=sex, qid=qid, y_true=y)
    return found.position.tolist()


def by_fit(y, score, qid, sex, ids):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataConversionWarning)  # of scikit-learn, for one column
        model = RankSVM().fit(X, y, qid=qid)
    return model.predict(X).tolist()


def by_audit(y, score, qid, sex, ids):
    given = {"score": score, "query": qid, "sensitive": {"sex": sex}, "relevance": y, "id": ids}
    found = equirank.audit(**given, n_boot=20, n_permutations=20, random_state=0)
    return str(found.facts), str(found.tables["groups"])


USES = {
    "as_ranking_data": by_column,
    "ndcg": lambda y, score, qid, sex, ids: ndcg(y, score, qid=qid),
    "exposure_gap": lambda y, score, qid, sex, ids: exposure_gap(score, sex, qid=qid),
    "rerank": by_rerank,
    "fit": by_fit,
    "audit": by_audit,
}


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_array_has_the_numbers_of_numpy(kind, use):
    given = {name: KINDS[kind](values) for name, values in COLUMNS.items()}
    assert USES[use](**given) == USES[use](**COLUMNS)


MATRICES = {
    "pandas nullable": lambda values: pd.DataFrame(values, columns=["a", "b"]).convert_dtypes(),
    "pandas in pyarrow": lambda values: pd.DataFrame(
        {"a": arrow(values[:, 0]), "b": arrow(values[:, 1])}
    ),
    "pandas values": lambda values: pd.DataFrame(values).astype("Float64").values,
    "rows of extension arrays": lambda values: [pd.array(row) for row in values],
    "memory view": memoryview,
    "pyarrow": lambda values: pa.table({"a": values[:, 0], "b": values[:, 1]}),
} | ({"polars": lambda values: pl.DataFrame(values, schema=["a", "b"])} if pl else {})


@pytest.mark.parametrize("kind", MATRICES)
def test_features_of_every_kind_have_the_numbers_of_numpy(kind):
    given, y, qid = MATRICES[kind](X), COLUMNS["y"], COLUMNS["qid"]
    assert as_ranking_data(given, y).X.tolist() == X.tolist()
    fitted = RankSVM().fit(given, y, qid=qid)
    wanted = RankSVM().fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(fitted.predict(given), wanted, rtol=1e-12)


LARGE = [2**53 + 1, None, 2**53, 7]
NULLABLE = {
    "list": LARGE,
    "masked": np.ma.array([2**53 + 1, 0, 2**53, 7], mask=[0, 1, 0, 0]),
    "pandas nullable": pd.array(LARGE, "Int64"),
    "pandas Series of nullables": pd.Series(LARGE, dtype="Int64"),
    "pandas in pyarrow": arrow(LARGE),
    "pandas DataFrame of nullables": pd.DataFrame({"a": LARGE}, dtype="Int64"),
    "pyarrow Array": pa.array(LARGE),
    "pyarrow ChunkedArray": pa.chunked_array([LARGE[:2], LARGE[2:]]),
}
if pl is not None:
    NULLABLE |= {"polars Series": pl.Series(LARGE), "polars DataFrame": pl.DataFrame({"a": LARGE})}


@pytest.mark.parametrize("kind", NULLABLE)
def test_whole_numbers_beside_missing_ones_stay_exact(kind):
    values = NULLABLE[kind]
    given = {"score": [4, 3, 2, 1], "ids": values, "missing_sensitive": "unknown"}
    data = as_ranking_data(**given, sensitive_features={"office": values})
    assert data.ids.tolist() == LARGE
    assert data.attribute().labels().tolist() == LARGE
    with pytest.raises(DataError, match="got 9007199254740993 in row 0 and 9007199254740992 in ro"):
        as_ranking_data(y=values, missing_relevance="irrelevant")


@pytest.mark.parametrize(
    "values",
    [
        pd.Categorical(["f", None, "m"]),
        pd.array(["f", None, "m"], "string"),
        pd.Series(["f", None, "m"]).values,
        arrow(["f", None, "m"]),
        pd.arrays.SparseArray([1.0, None, 2.0]),
        pd.array([True, None, False], "boolean"),
        pd.array([1.5, None, 2.0], "Float64"),
    ],
    ids=lambda values: str(values.dtype),
)
def test_missing_labels_of_extension_arrays_are_unknown(values):
    given = {"score": [3, 2, 1], "sensitive_features": values}
    assert as_ranking_data(**given, missing_sensitive="unknown").attribute().n_unknown == 1
    with pytest.raises(DataError, match=r"must name a group, got (None|nan) in row 1"):
        as_ranking_data(**given)


TWO = {"a": [1, 2], "b": [1, 2]}


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (pd.DataFrame(TWO), r"y must be one column, got a data frame with 'a', 'b'"),
        (pa.table(TWO), "y must be one column, got a data frame with 'a', 'b'"),
        (pd.DataFrame(index=[0, 1]), "y must be one column, got a data frame with no column"),
        (
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            "y must be a data frame that can be read, got DataFrame: Expected unique",
        ),
        (
            pa.record_batch({"a": [1, 2]}),
            "y must be a data frame that can be read, got RecordBatch",
        ),
        (np.array([(1, 2)], dtype="i4,i4"), "y must be a number, got .1, 2. in row 0"),
        (pd.array(["x"], "string"), "y must be a number, got 'x' in row 0"),
        (pd.interval_range(0, 2).array, "y must be a number, got Interval"),
        (pa.scalar(3), "y must be one-dimensional"),
        *(
            [(pl.DataFrame(TWO), "y must be one column, got a data frame with 'a', 'b'")]
            if pl
            else []
        ),
        *([(pl.LazyFrame(TWO), "call .collect.. first")] if pl else []),
    ],
)
def test_other_arrays_are_refused_in_one_sentence(y, words):
    with pytest.raises(DataError, match=words) as refused:
        as_ranking_data(y=y)
    assert "\n" not in str(refused.value)


def test_records_are_no_features():
    with pytest.raises(DataError, match="X must hold numbers only, got records"):
        as_ranking_data(np.array([(1, 2)], dtype="i4,i4"))
