"""LETOR files for training and prediction: the columns are the numbers of the features."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .config_table import Place, shown
from .data_columns import DataColumns, plain_groups

if TYPE_CHECKING:
    from ..core.data import RankingData
    from .config import DataTable

__all__ = ["read_letor_prediction", "read_letor_training"]


def read_letor_training(table: "DataTable") -> "tuple[RankingData, DataColumns]":
    """Read SVMlight with query ids; sensitive, cost and features are numbers of features."""
    from ..datasets.letor import read_letor

    for key in ("query", "relevance", "id"):
        if getattr(table, key) is not None:
            table.place.key(key).fail("must be left out for LETOR, whose lines begin with it")
    data = read_letor(table.path)
    every = [str(number + 1) for number in range(data.n_features)]
    cost = None if table.cost is None else _column(data, table.cost, table.place.key("cost"))
    people = {name: _column(data, name, table.place.key("sensitive")) for name in table.sensitive}
    if table.features is None:
        other = {*table.sensitive, table.cost}
        features = tuple(name for name in every if name not in other)
    else:
        features = table.features
        for name in features:
            _column(data, name, table.place.key("features"))
    data = _with(data, features, people, cost, table.missing_sensitive)
    columns = DataColumns(
        format="letor",
        query=None,
        relevance=None,
        cost=table.cost,
        id=None,
        sensitive=table.sensitive,
        features=features,
        categories={},
        encoding=table.encoding,
        groups=plain_groups(data),
        missing_sensitive=table.missing_sensitive,
    )
    return data, columns


def read_letor_prediction(path: str, columns: DataColumns, sensitive: bool) -> "RankingData":
    """Read a file to predict for; a feature that no line has is 0, as SVMlight means it."""
    from ..datasets.letor import read_letor

    needed = [*columns.features, *(columns.sensitive if sensitive else ())]
    data = read_letor(path)
    least = max(int(name) for name in needed)
    if data.n_features < least:
        data = read_letor(path, n_features=least)
    place = Place(path)
    people = {name: _column(data, name, place) for name in columns.sensitive if sensitive}
    return _with(data, columns.features, people, None, columns.missing_sensitive)


def _column(data: "RankingData", number: str, place: Place) -> Any:
    if not number.isdecimal() or not 1 <= int(number) <= data.n_features:
        place.fail(
            f"must be the number of a feature from 1 to {data.n_features} for LETOR, "
            f"got {shown(number)}"
        )
    return data.to_original(data.X[:, int(number) - 1])


def _with(
    data: "RankingData", features: tuple[str, ...], people: Any, cost: Any, missing: Any
) -> "RankingData":
    """Choose the features and add what was said about people and costs."""
    from ..core.columns import frozen_matrix
    from ..core.data import as_ranking_data

    if people or cost is not None:
        more = as_ranking_data(
            qid=data.to_original(data.qids[data.query_of_rows()]),
            sensitive_features=people or None,
            cost=cost,
            missing_sensitive=missing,
        )
        data = replace(data, sensitive=more.sensitive, cost=more.cost)
    if features != tuple(str(number + 1) for number in range(data.n_features)):
        data = replace(data, X=frozen_matrix(data.X[:, [int(name) - 1 for name in features]]))
    return replace(data, feature_names=features)
