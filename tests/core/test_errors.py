"""Errors, the warning and the logger."""

import logging
import pickle

import pytest

import equirank
from equirank.core.errors import logger


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("DataError", ValueError),
        ("InfeasibleError", ValueError),
        ("FormatError", ValueError),
        ("MissingExtraError", ImportError),
        ("EquirankWarning", UserWarning),
        ("OneListWarning", equirank.EquirankWarning),
        ("FairnessOverfitWarning", equirank.EquirankWarning),
        ("NoHeadroomWarning", equirank.EquirankWarning),
    ],
)
def test_errors_are_public_and_of_the_kind_python_users_catch(name, base):
    kind = getattr(equirank, name)
    assert issubclass(kind, base)
    assert kind.__doc__
    again = pickle.loads(pickle.dumps(kind("what happened")))
    assert type(again) is kind
    assert str(again) == "what happened"


def test_the_kinds_differ():
    kinds = [equirank.DataError, equirank.InfeasibleError, equirank.FormatError]
    for kind in kinds:
        assert not any(issubclass(kind, other) for other in kinds if other is not kind)


def test_the_logger_has_no_handler():
    assert logger is logging.getLogger("equirank")
    assert logger.handlers == []
    assert logger.level == logging.NOTSET
    assert logger.propagate
