"""A fitted ranker in an MLflow run: parameters, metrics, the saved folder and its card."""

import inspect
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.environment import library_version, require
from ..core.errors import DataError
from ..core.evaluation import Evaluation
from ..core.persistence import load, save
from ..core.ranker import Ranker

__all__ = ["ServedRanker", "log_mlflow"]


#: Length of the longest value of a parameter that every tracking server accepts.
LONGEST = 500
#: Folder of the model inside the files of the pyfunc model.
FOLDER = "ranker"
#: Packages of rankers whose scores need an extra.
EXTRAS = {"equirank.rankers.lambdamart": "lightgbm", "equirank.rankers.neural": "neural"}


def log_mlflow(model: Ranker, evaluation: Evaluation | None = None, card: Any = None) -> Any:
    """Log a fitted ranker to the active MLflow run, or to a new one that ends afterwards.

    The run receives the parameters (including LightGBM's own), the metrics with the ends of their
    confidence intervals (``NDCG_at_10``, ``NDCG_at_10.low``, ``NDCG_at_10.high``), the whole
    evaluation as ``evaluation.json``, the card as ``card.html``, and a model of flavour ``pyfunc``.
    The files of the model are the folder that ``save`` writes, so nothing is pickled:
    ``mlflow.pyfunc.load_model`` reads it with `equirank.load`. Undefined values are in
    ``evaluation.json`` only.

    Parameters
    ----------
    model : Ranker
        A fitted ranker.
    evaluation : Evaluation, optional
        The result of `evaluate`, such as that of held-out lists.
    card : object with ``to_html()``, str or path, optional
        A model card or an audit, the text of a page, or an HTML file.

    Returns
    -------
    mlflow.models.model.ModelInfo
        With ``model_uri`` and ``run_id``.

    Notes
    -----
    It needs the extra ``mlflow``. Its ``predict`` takes a frame with the columns of `fit`, and
    returns one score per row. Further columns are ignored, except ``qid`` and the sensitive
    attributes if the ranker needs them to predict.

    Examples
    --------
    >>> from equirank import log_mlflow
    >>> log_mlflow("a model")
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: model of log_mlflow must be a fitted Ranker, got str
    """
    if not isinstance(model, Ranker) or not hasattr(model, "is_fitted_"):
        raise DataError(f"model of log_mlflow must be a fitted Ranker, got {type(model).__name__}")
    if evaluation is not None and not isinstance(evaluation, Evaluation):
        raise DataError(
            f"evaluation of log_mlflow must be an Evaluation, got {type(evaluation).__name__}"
        )
    page = None if card is None else _page(card)
    values = {} if evaluation is None else _values(evaluation)
    params = {"class": type(model).__name__}
    params |= {name: _text(value) for name, value in model.get_params(deep=False).items()}
    mlflow = require("mlflow", "mlflow")
    require("mlflow.pyfunc", "mlflow")
    with tempfile.TemporaryDirectory() as place:
        save(model, Path(place) / FOLDER)  # raises before a run begins
        with mlflow.start_run() if mlflow.active_run() is None else nullcontext():
            mlflow.log_params(params)
            if evaluation is not None:
                mlflow.log_metrics(values)
                mlflow.log_text(evaluation.to_json(), "evaluation.json")
            if page is not None:
                mlflow.log_text(page, "card.html")
            given = inspect.signature(mlflow.pyfunc.log_model).parameters
            return mlflow.pyfunc.log_model(
                **{"name" if "name" in given else "artifact_path": "model"},
                loader_module=__name__,
                data_path=place,
                pip_requirements=_requirements(model),
            )


def _page(card: Any) -> str:
    """Return the HTML text of a card."""
    if hasattr(card, "to_html"):
        return str(card.to_html())
    if isinstance(card, str) and card.lstrip().startswith("<"):
        return card
    if isinstance(card, (str, os.PathLike)):
        return Path(card).read_text(encoding="utf-8")
    raise DataError(
        "card of log_mlflow must be a card with to_html, the text of a page or a file, got "
        f"{type(card).__name__}"
    )


def _values(evaluation: Evaluation) -> dict[str, float]:
    """Return the finite values of an evaluation by names that MLflow accepts."""
    found: dict[str, float] = {}
    owners: dict[str, tuple[Any, Any]] = {}
    for row in evaluation.summary():
        name = metric_key(row["metric"])
        if row["group"] is not None:
            name += f".{metric_key(str(row['group']))}"
        if owners.setdefault(name, (row["metric"], row["group"])) != (row["metric"], row["group"]):
            raise DataError(
                f"metrics of evaluation must have different names in MLflow, got {name} twice"
            )
        parts = {"": "value", ".low": "low", ".high": "high", ".p_value": "p_value"}
        for ending, column in parts.items():
            if row[column] is not None and np.isfinite(row[column]):
                found[f"{name}{ending}"] = float(row[column])
    return found


def metric_key(name: str) -> str:
    """Return a name with letters, digits, ``_``, ``-`` and ``.`` only.

    Examples
    --------
    >>> metric_key("NDCG@10"), metric_key("RND(step=5)@50")
    ('NDCG_at_10', 'RND_step_5_at_50')
    """
    words = re.sub(r"[^0-9A-Za-z_.-]+", "_", name.replace("@", "_at_").replace(")", ""))
    return re.sub(r"_+", "_", words).strip("_") or "_"


def _text(value: Any) -> str:
    """Return the value of a parameter as text."""
    if isinstance(value, RankingData):
        text = f"RankingData {value.fingerprint()}"
    elif isinstance(value, np.ndarray):
        text = f"array of shape {value.shape}"
    else:
        text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _parts(model: Any) -> Iterator[Any]:
    """Yield a model and the models that it contains."""
    yield model
    for value in vars(model).values():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(each, Ranker) and each is not model:
                yield from _parts(each)


def _requirements(model: Any) -> list[str]:
    """Return what must be installed to load the model."""
    kinds = {kind.__module__ for part in _parts(model) for kind in type(part).__mro__}
    extras = sorted(
        extra for package, extra in EXTRAS.items() if any(k.startswith(package) for k in kinds)
    )
    names = f"[{','.join(extras)}]" if extras else ""
    return [f"equirank{names}=={library_version()}"]


class ServedRanker:
    """A saved ranker with the ``predict`` of MLflow's pyfunc models.

    Parameters
    ----------
    ranker : Ranker
        Fitted.
    """

    def __init__(self, ranker: Ranker) -> None:
        self.ranker = ranker

    def predict(self, model_input: Any, params: Any = None) -> np.ndarray:
        """Return one score per row of a frame, or of an array if the model has no names."""
        columns = getattr(model_input, "columns", None)
        given: dict[str, Any] = {}
        if columns is not None:
            if "qid" in self.ranker.predict_needs:
                given["qid"] = self._column(model_input, "qid")
            if "sensitive_features" in self.ranker.predict_needs:
                given["sensitive_features"] = {
                    name: self._column(model_input, name) for name in self.ranker.groups_
                }
            names = getattr(self.ranker, "feature_names_in_", None)
            if names is None:
                others = {*given, *given.get("sensitive_features", ())}
                model_input = np.asarray(model_input[[c for c in columns if c not in others]])
            else:
                for name in names:
                    self._column(model_input, name)
                model_input = model_input[list(names)]
        return self.ranker.predict(model_input, **given)

    @staticmethod
    def _column(frame: Any, name: Any) -> Any:
        if name not in frame.columns:
            raise DataError(f"the input must have a column {name!r}, got {list(frame.columns)}")
        return frame[name]


def _load_pyfunc(path: str) -> ServedRanker:
    """Load the model of a run; MLflow calls this function by its name."""
    return ServedRanker(load(Path(path) / FOLDER))
