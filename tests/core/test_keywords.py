"""Shared keywords: what they add to a signature, a docstring and a call."""

import inspect
import pickle
from typing import Annotated, TypedDict, Unpack

import pytest

from equirank import audit, audit_sums, list_sums
from equirank.core.docstrings import describe_as, docstring_sections, parameters
from equirank.core.keywords import Default, shared_keywords
from equirank.io import read_csv, read_excel, read_file, read_parquet
from equirank.rankers import FairLambdaMART, RankBoost


class Near(TypedDict, total=False):
    """Keys of the first kind.

    Parameters
    ----------
    rows : list
        The rows.
    k, step : int
        Numbers.

    Returns
    -------
    tuple
        What was given.
    """

    k: Annotated[int, Default(10)]
    step: int | None


class Far(Near, total=False):
    """Keys of the second kind.

    Parameters
    ----------
    step : int, optional
        Another text.
    far : bool
        Whether it is far.
    """

    far: Annotated[bool, Default(False)]


@shared_keywords(Near, Far)
def take(rows: list, mark: str = "m", *, own: int = 1, **given: Unpack[Far]) -> tuple:
    """Take rows.

    Parameters
    ----------
    own : int
        Its own.
    k : int
        The cutoff.

    Notes
    -----
    A note.
    """
    return rows, mark, own, given


def test_signature_and_call():
    words = "(rows: list, mark: str = 'm', *, own: int = 1, k: int = 10, step: int | None = None, "
    assert str(inspect.signature(take)) == words + "far: bool = False) -> tuple"
    assert take([1]) == ([1], "m", 1, {"k": 10, "step": None, "far": False})
    assert take([1], "n", far=True, own=2) == ([1], "n", 2, {"k": 10, "step": None, "far": True})
    assert take(rows=[]) == ([], "m", 1, {"k": 10, "step": None, "far": False})


def test_unknown_and_missing_arguments():
    with pytest.raises(TypeError, match=r"^take\(\) got an unexpected keyword argument 'fur'$"):
        take([1], fur=True)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'rows'"):
        take(k=1)


def test_docstring():
    sections = docstring_sections(take.__doc__)
    assert list(sections) == ["", "Parameters", "Returns", "Notes"]
    assert sections[""][0] == "Take rows."
    found = parameters(take.__doc__)
    assert list(found) == ["rows", "own", "k", "step", "far"]
    assert found["k"] == "k : int\n    The cutoff."
    assert found["step"] == "step : int, optional\n    Another text."
    assert pickle.loads(pickle.dumps(take)) is take


def test_neighbours_of_one_text_are_one_entry():
    @describe_as(take, Near, sections=("Returns",))
    def other(rows: list, k: int, step: int) -> tuple:
        """Take others."""

    sections = docstring_sections(other.__doc__)
    numbers = ["k, step : int", "    Numbers."]
    assert sections["Parameters"] == ["rows : list", "    The rows.", *numbers, ""]
    assert sections["Returns"][:2] == ["tuple", "    What was given."]
    assert other.__name__ == "other"


@pytest.mark.parametrize(
    "function",
    [read_csv, read_excel, read_file, read_parquet, audit, audit_sums, list_sums, RankBoost.fit,
     FairLambdaMART.fit,
     FairLambdaMART.tradeoff_path, FairLambdaMART.explain_pair],
    ids=lambda function: function.__qualname__,
)  # fmt: skip
def test_every_argument_is_described(function):
    names = [name for name in inspect.signature(function).parameters if name != "self"]
    assert list(parameters(function.__doc__)) == names
