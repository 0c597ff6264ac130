"""Functions made from metric classes: signature, documentation, errors and warnings."""

import inspect
import pickle
import subprocess
import sys
import warnings
from dataclasses import dataclass
from typing import ClassVar, Literal

import pytest

from equirank import EquirankWarning, Metric, metrics
from equirank.core.docstrings import docstring_sections
from equirank.core.metric_function import function_name, metric_function
from equirank.core.registry import metric_names
from equirank.metrics import csdcg, individual_amortised_attention, ndcg, rnd

DERIVED = [name for name in map(function_name, metric_names()) if name != "fa_star_ir_test"]


@dataclass(frozen=True, repr=False, kw_only=True)
class TopShare(Metric):
    """Top share: what the first item has of all relevance.

    Body.

    Parameters
    ----------
    power : float
        The exponent.

    Examples
    --------
    >>> TopShare()
    TopShare
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    power: float = 1.0
    kind: Literal["a", "b"] = "a"

    @classmethod
    def from_arrays(cls, *args, scale: int = 1, **arguments):
        """Take a scale.

        Parameters
        ----------
        scale, kind : int
            Further ones.
        """
        metric, arrays = super().from_arrays(**arguments)
        return metric, arrays


def test_signature():
    function = metric_function(TopShare, __name__)
    assert str(inspect.signature(function)) == (
        "(y_true: Any, y_score: Any, *, qid: Any = None, scale: int = 1, k: int | None = None, "
        "power: float = 1.0, kind: Literal['a', 'b'] = 'a', "
        "ties: Literal['average', 'stable'] = 'average', per_query: bool = False, "
        "undefined: Literal['skip', 'zero', 'one', 'raise'] = 'skip') -> Any"
    )
    assert function.__annotations__["power"] is float


def test_keywords_that_from_arrays_adds_follow_the_one_before():
    assert list(inspect.signature(csdcg).parameters)[2:7] == [
        *("qid", "k", "cost", "combine", "normalized"),
    ]
    names = list(inspect.signature(individual_amortised_attention).parameters)
    assert names[:4] == ["y_true", "rankings", "qid", "ids"]
    assert names[-3:] == ["per_query", "return_groups", "undefined"]


def test_docstring_has_every_part():
    text = inspect.getdoc(metric_function(TopShare, __name__))
    assert text.startswith("Compute the top share: what the first item has of all relevance.\n\nB")
    parts = docstring_sections(text)
    assert list(parts) == ["", "Parameters", "Returns", "Examples"]
    assert ">>> TopShare()" in parts["Examples"]
    assert "    The exponent." in parts["Parameters"]
    assert {"scale : int", "kind : int"} <= set(parts["Parameters"])


@pytest.mark.parametrize("name", DERIVED)
def test_every_argument_is_documented(name):
    function = getattr(metrics, name)
    parts = docstring_sections(inspect.getdoc(function))
    heads = [line.partition(" :")[0] for line in parts["Parameters"] if line[:1].strip()]
    assert heads == list(inspect.signature(function).parameters)
    assert max(map(len, (function.__doc__ or "").splitlines())) <= 100


def test_names():
    assert (ndcg.__name__, ndcg.__qualname__) == ("ndcg", "ndcg")
    assert ndcg.__module__ == "equirank.metrics.functions"
    assert pickle.loads(pickle.dumps(ndcg)) is ndcg is metrics.ndcg


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ndcg([1], [2], cut=3), r"ndcg\(\) got an unexpected keyword argument 'cut'"),
        (lambda: ndcg([1]), r"ndcg\(\) missing a required argument: 'y_score'"),
        (lambda: rnd([1], ["a"], [1]), r"rnd\(\) too many positional arguments"),
    ],
)
def test_wrong_arguments(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_arguments_are_checked_where_all_options_are_given():
    given = inspect.signature(ndcg).parameters.values()
    options = {p.name: p.default for p in given if p.default is not p.empty}
    assert ndcg([1, 0], [2, 1], **options) == 1.0
    assert ndcg(y_true=[1, 0], y_score=[2, 1]) == 1.0
    with pytest.raises(TypeError, match=r"ndcg\(\) missing a required argument: 'y_score'"):
        ndcg([1], **options)
    with pytest.raises(TypeError, match=r"ndcg\(\) multiple values for argument 'y_true'"):
        ndcg([1], [2], y_true=[1])


def test_warnings_name_the_line_that_calls():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        ndcg([0, 0], [1, 2])
    assert [(w.category, w.filename) for w in found] == [(EquirankWarning, __file__)]


@pytest.mark.slow
def test_first_use_loads_one_metric():
    code = """
import sys
from equirank.metrics import ndcg
ndcg([0, 1], [0.9, 0.5])
loaded = {name for name in sys.modules if name.startswith("equirank.metrics.")}
print(sorted(loaded), bool({"numba", "sklearn", "scipy.stats"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    wanted = ["functions", "relevance", "relevance.gain"]
    assert done.stdout.strip() == f"{[f'equirank.metrics.{name}' for name in wanted]} False"


def test_there_is_no_function_without_a_class():
    with pytest.raises(AttributeError, match="no attribute 'no_such'"):
        metrics.functions.no_such  # noqa: B018
