"""DaskFairLambdaMART: FairLambdaMART trained on partitioned data by the workers of Dask."""

import os
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from ..core.environment import require
from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..core.pair_explanation import PairExplanation
from ..core.params import check_params
from ..core.random import as_seed
from ..core.ranking import Ranking
from ..costs import ClassImbalanceCost, ListedPairCost
from ..engines.dask_tasks import compute, open_frame
from ..rankers.lambdamart.fair_lambdamart import FairLambdaMART
from ..rankers.lambdamart.lightgbm_params import try_options
from .bin_edges import Bins, Ranges, make_bins, max_bin_of, sample_rows, write_edges
from .partitions import Lists, current_client, parts_of, roles_of
from .survey import Survey, survey
from .tree_growth import Plan, grow_part, make_plan, watch
from .workers import network_params, pinned

__all__ = ["DaskFairLambdaMART"]


#: Rows from which LightGBM makes bins whose edges are known.
ROWS_SHOWN = 1000
#: Rows from which edges are found by default: 200 for each of 255 bins.
ROWS_BINNED = 50_000


class DaskFairLambdaMART:
    """FairLambdaMART trained on partitioned data: one task on each worker of a Dask cluster.

    Each worker holds whole queries, computes the exact gradient of its own lists, groups and costs,
    and grows the same trees as the others over LightGBM's network. Bin edges are found once, from
    rows of all partitions. The model equals that of one machine with the same edges up to rounding,
    except for small leaves: across machines LightGBM estimates the rows of a leaf from its Hessian
    (see Notes). The rows of a query in several partitions are brought together first. Ties and
    lists of one group are treated as in `FairLambdaMART`.

    `fit` takes a Dask frame and names of its columns instead of X and y, so this class is not an
    estimator of scikit-learn; the ranker of one machine, which `to_local` returns, is one.

    Parameters
    ----------
    client : distributed.Client, optional
        The cluster; by default the current client.
    **params
        Parameters of `FairLambdaMART` and of LightGBM. Useful ones here are ``time_out`` (minutes)
        and ``bin_construct_sample_cnt`` (rows from which edges are found, by default 50,000).
        ``n_jobs`` is per worker, by default the worker's number of threads. ``validation`` lists
        are copied to every worker. ``base`` must be a fitted model or None.

    Attributes
    ----------
    model_ : FairLambdaMART
        The fitted ranker of one machine.
    bin_edges_ : list of ndarray or None
        The upper bounds of each feature's bins except the last; None if ``forcedbins_filename``
        was given.
    notes_ : list of str
        How the data were distributed: queries brought together, rows of each worker.

    Notes
    -----
    LightGBM requires ``min_child_samples`` rows on both sides of a split (with 0, at least none),
    by an estimate that rounds in every bin. With ``min_child_samples=0`` and
    ``min_sum_hessian_in_leaf`` at least ``max_bin / 2`` times the mean Hessian of a row, no
    estimate has an effect, and the model equals that of one machine to 1e-12. This is similar to a
    minimum of ``max_bin / 2`` rows per leaf.

    References
    ----------
    Meng et al., A communication-efficient parallel algorithm for decision tree, NeurIPS 2016.

    Examples
    --------
    >>> from equirank.distributed import DaskFairLambdaMART
    >>> ranker = DaskFairLambdaMART(alpha=0.3, n_estimators=50)
    >>> ranker.alpha, ranker.get_params()["num_leaves"]
    (0.3, 31)

    With ``client = distributed.Client(n_workers=2)`` running and a folder of Parquet files,
    ``ranker.fit("applications/", query="job", relevance="grade", sensitive="sex")`` trains on both
    workers, and ``ranker.to_local().save("model/")`` saves the ranker for one machine.
    """

    def __init__(self, *args: Any, client: Any = None, **params: Any) -> None:
        self.client = client
        self._ranker = FairLambdaMART(*args, **params)

    def __getattr__(self, name: str) -> Any:
        """Return a parameter of the ranker."""
        ranker = self.__dict__.get("_ranker")
        if ranker is None or name not in ranker.get_params(deep=False):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        return getattr(ranker, name, ranker.get_params(deep=False)[name])

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a parameter of the ranker, or any other attribute."""
        ranker = self.__dict__.get("_ranker")
        if ranker is not None and name in ranker.get_params(deep=False):
            ranker.set_params(**{name: value})
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        """Show the parameters that differ from their defaults."""
        return repr(self._ranker).replace("FairLambdaMART(", "DaskFairLambdaMART(", 1)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the ranker, and the client."""
        return {**self._ranker.get_params(deep=deep), "client": self.client}

    def set_params(self, **params: Any) -> Self:
        """Set parameters."""
        if "client" in params:
            self.client = params.pop("client")
        self._ranker.set_params(**params)
        return self

    def fit(
        self,
        data: Any,
        *,
        query: str | Literal[False] | None = None,
        relevance: str | Literal[False] | None = None,
        sensitive: str | Sequence[str] | None = None,
        cost: str | Literal[False] | None = None,
        query_weight: str | None = None,
        features: Any = None,
    ) -> Self:
        """Learn to rank.

        Parameters
        ----------
        data : dask.dataframe.DataFrame or path
            The rows, or a folder of Parquet files.
        query, relevance : str, optional
            Names of columns, recognised as in `read_csv` if omitted; ``query=False`` makes all
            rows one list, which a single worker must hold.
        sensitive : str or list of str
            The sensitive attributes.
        cost : str, optional
            The column of the costs; no costs if omitted.
        query_weight : str, optional
            The column of the query weights, equal within a query.
        features : list of str, optional
            The columns to learn from; by default all other numeric columns. Columns of text must
            be named, and are treated as categories.
        """
        model = self._checked()
        client = current_client(self.client)
        frame = open_frame(data)
        roles = roles_of(
            frame,
            query=query,
            relevance=relevance,
            cost=False if cost is None else cost,
            score=False,
            position=False,
            sensitive=sensitive,
            features=features,
            weight=query_weight,
        )
        if "relevance" not in roles.single:
            raise DataError("relevance must name the column of the relevance, and none was found")
        if not roles.sensitive:
            raise DataError("sensitive must be given: FairLambdaMART needs it to fit")
        if not roles.features:
            raise DataError("features must name at least one column, and none is left")
        params = model.lightgbm_params() | {"objective": model.objective}
        try_options(type(self).__name__, params, len(roles.features))
        by = [model.by] if isinstance(model.by, (list, tuple)) else []
        lists = Lists(roles, weight=query_weight)
        parts = client.compute(parts_of(frame, lists.columns))  # read once, stored on the workers
        seen = survey(parts, lists, client, cross=by)
        model.n_features_in_ = len(roles.features)
        model.feature_names_in_ = np.asarray(roles.features, dtype=object)
        model.categories_ = dict(seen.lists.text)
        model.groups_ = {name: list(labels) for name, labels in seen.lists.categories.items()}
        seen.probe.attribute(model.by)
        plan = make_plan(model, parts, seen, client)
        bins = self._bins(model, parts, seen, client)
        self._train(model, plan, seen, bins, client)
        self.model_, self.bin_edges_ = model, bins.edges
        self._bin_params = {**bins.params, "bin_construct_sample_cnt": seen.n_rows}
        return self

    def _checked(self) -> FairLambdaMART:
        """Return a ranker of one machine with these parameters, after checking them."""
        model = FairLambdaMART(**self._ranker.get_params(deep=False))
        check_params(type(self).__name__, model.get_params(deep=False), FairLambdaMART.params)
        model.lightgbm_params()
        if model.early_stopping is not None and model.validation is None:
            raise DataError(
                "validation of DaskFairLambdaMART must be given with early_stopping: a share of "
                "the queries, or a RankingData"
            )
        whole = isinstance(model.pair_cost, (ClassImbalanceCost, ListedPairCost))
        if whole or str(getattr(model.pair_cost, "matrix", "")) == "centroid":
            raise DataError(
                "pair_cost of DaskFairLambdaMART must depend on the two items alone: "
                f"{model.pair_cost!r} looks at all rows, which no worker has"
            )
        if model.n_models > 1:
            raise DataError(
                "n_models of DaskFairLambdaMART must be 1: each worker would draw its own rows, "
                f"got {model.n_models}"
            )
        if model.warm_start:
            raise DataError(
                "warm_start of DaskFairLambdaMART must be False: give the earlier ranker as base"
            )
        if model.base is not None:
            if not hasattr(model.base, "predict"):
                raise DataError(
                    "base of DaskFairLambdaMART must be a fitted model or None: scores cannot be "
                    "matched with the rows of partitions"
                )
            try:
                check_is_fitted(model.base)
            except NotFittedError:
                raise DataError("base of DaskFairLambdaMART must be fitted already") from None
        return model

    def _bins(self, model: FairLambdaMART, parts: list[Any], seen: Survey, client: Any) -> Bins:
        """Return the bin edges, found from a sample of the rows of all partitions.

        Edges of numbers are found column by column, on all workers. LightGBM itself bins categories
        and applies a file with forced bins, for which one task needs the whole sample.
        """
        delayed = require("dask", "dask").delayed
        given = model.options
        seed = 0 if model.random_state is None else as_seed(model.random_state)

        def sampled(n_rows: int, columns: Any = None) -> list[Any]:
            each = [round(min(1.0, n_rows / seen.n_rows) * rows) for rows in seen.part_rows]
            return [
                delayed(sample_rows, pure=False)(part, seen.lists, rows, seed, at, columns)
                for at, (part, rows) in enumerate(zip(parts, each, strict=True))
                if rows > 0
            ]

        names = ("bin_construct_sample_cnt", "subsample_for_bin")
        wanted = int(next((given[n] for n in names if n in given), ROWS_BINNED))
        forced = given.pop("forcedbins_filename", None)
        n = len(seen.low)
        columns = model.categorical_columns(as_ranking_data(np.zeros((1, n)), [0]))
        ranges = Ranges(seen.low, seen.high, seen.missing, tuple(columns))
        make = delayed(make_bins, pure=False)
        if forced is not None or ranges.categorical:
            text = None if forced is None else Path(forced).read_text("utf-8")
            complete = wanted >= seen.n_rows
            task = make(sampled(wanted), ranges, given, text, None, complete)
        else:
            shares = np.array_split(np.arange(n), max(1, min(n, len(client.nthreads()))))
            edges = delayed(Ranges.edges, pure=False)
            tasks = [
                edges(ranges, sampled(wanted, share.tolist()), share.tolist(), max_bin_of(given))
                for share in shares
            ]
            found = [column for part in compute(tasks, client) for column in part]
            task = make(sampled(min(wanted, ROWS_SHOWN)), ranges, given, None, found, False)
        bins: Bins = compute([task], client)[0]
        return bins

    def _train(
        self, model: FairLambdaMART, plan: Plan, seen: Survey, bins: Bins, client: Any
    ) -> None:
        plan.wait(client)
        shipped, workers = replace(bins, edges=None), list(plan.ready)
        futures = {
            address: client.submit(
                grow_part, plan.blank, plan.ready[address], shipped,
                network_params(workers, plan.ports, rank), plan.valid, rank,
                plan.cores.get(address, ()), **pinned(address),
            )
            for rank, address in enumerate(workers)
        }  # fmt: skip
        grown = watch(client, futures, plan.ports)
        digest = blake2b("".join(part.fingerprint for part in grown).encode(), digest_size=16)
        first = grown[0]
        model.finish(first.trees, first.best_iteration, first.validation_scores, digest.hexdigest())
        self.notes_ = [
            f"{seen.n_torn} of {seen.n_queries} queries were in more than one partition, and were "
            "brought together",
            f"{len(workers)} workers held {', '.join(str(part.n_rows) for part in grown)} rows",
        ]
        if len(workers) > 1 and model.min_child_samples > 0:
            self.notes_.append(
                f"min_child_samples = {model.min_child_samples} holds approximately: across "
                "machines LightGBM estimates the rows of a leaf from its Hessian"
            )

    def to_local(self) -> FairLambdaMART:
        """Return the fitted ranker of one machine, which predicts, explains, saves and loads."""
        if "model_" not in vars(self):
            raise NotFittedError("this DaskFairLambdaMART must be fitted first: call fit")
        return self.model_

    def predict(self, X: Any) -> Any:
        """Return scores: a Dask Series for a Dask DataFrame, else an array.

        Parameters
        ----------
        X : array-like, data frame, RankingData or dask.dataframe.DataFrame
            Features; a Dask frame may contain other columns.
        """
        model = self.to_local()
        frames = require("dask.dataframe", "dask")
        if isinstance(X, frames.DataFrame):
            names = [str(name) for name in model.feature_names_in_]
            return X[names].map_partitions(_predicted, model, meta=("score", np.float64))
        return model.predict(X)

    def rank(self, X: Any, y: Any = None, **given: Any) -> Ranking:
        """Rank rows in memory, as `FairLambdaMART.rank` does."""
        return self.to_local().rank(X, y, **given)

    def explain_pair(self, X: Any, a: int, b: int, **given: Any) -> PairExplanation:
        """Explain why row a ranks above row b, as `FairLambdaMART.explain_pair` does."""
        return self.to_local().explain_pair(X, a, b, **given)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Save the ranker of one machine to a folder that `equirank.load` reads."""
        self.to_local().save(Path(folder))

    def bin_params(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Write the bin edges to a file, and return the parameters that apply them elsewhere.

        Parameters
        ----------
        path : path
            A JSON file in LightGBM's format.

        Returns
        -------
        dict
            For `FairLambdaMART`, which then grows the same trees on one machine, up to rounding.
            They make LightGBM read all rows, since a rare sign or missing value changes bins.
        """
        self.to_local()
        if self.bin_edges_ is None:
            raise DataError(
                "bin_edges_ must be known, but forcedbins_filename was given to fit: give the "
                "same file to the other ranker"
            )
        write_edges(path, self.bin_edges_)
        return {"forcedbins_filename": os.fspath(path), **self._bin_params}


def _predicted(frame: Any, model: FairLambdaMART) -> Any:
    import pandas as pd

    scores = model.predict(frame) if len(frame) else np.zeros(0)
    return pd.Series(scores, index=frame.index, name="score")
