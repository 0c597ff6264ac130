"""Parameters as annotated fields: constructor, constraints, and descriptions."""

import importlib
import inspect
import pickle
import textwrap
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from sklearn.base import BaseEstimator, clone

import equirank
from equirank import DataError, EquirankWarning
from equirank.core.declared import GIVEN, Declared, check_fairness_weight, complete_docstring
from equirank.core.docstrings import parameters as documented
from equirank.core.params import Integer, Number, Optional, check_params


class Base(Declared, BaseEstimator):
    """A base class.

    Parameters
    ----------
    n_rounds : int
        Number of rounds.
    rate : float
        Step size.
    """

    positional: ClassVar[tuple[str, ...]] = ("n_rounds",)
    kind: ClassVar[str] = "base"

    n_rounds: Annotated[int, Integer(1)] = 10
    rate: Annotated[float, Number(0.0)] = 0.5
    random_state: Any = None
    fitted_: int
    _cache: int


class Child(Base):
    """A subclass.

    Parameters
    ----------
    depth : int, optional
        Depth of a tree.

    Examples
    --------
    >>> 1 + 1
    2
    """

    n_rounds = 20
    depth: Annotated[int | None, Optional(Integer(1))] = None


class Needy(Declared):
    positional: ClassVar[tuple[str, ...]] = ("first",)

    last: int = 3
    needed: str
    first: int


def parameters(kind):
    named = inspect.signature(kind).parameters.items()
    return {name: each for name, each in named if each.kind is not each.VAR_POSITIONAL}


def test_the_signature_lists_fields_with_defaults_and_types():
    assert list(parameters(Base)) == ["n_rounds", "rate", "random_state"]
    assert parameters(Base)["rate"].default == 0.5
    assert parameters(Base)["rate"].annotation is float
    assert set(parameters(Child)) == {"n_rounds", "rate", "random_state", "depth"}


def test_only_positional_parameters_may_be_passed_by_position():
    assert Base(3).n_rounds == Child(3).n_rounds == 3
    kinds = {name: each.kind.name for name, each in parameters(Child).items()}
    assert kinds.pop("n_rounds") == "POSITIONAL_OR_KEYWORD"
    assert set(kinds.values()) == {"KEYWORD_ONLY"}
    with pytest.raises(TypeError, match=r"Base\(\) too many positional arguments"):
        Base(3, 0.1)


def test_an_unknown_or_missing_argument_is_an_error_that_names_the_class():
    with pytest.raises(TypeError, match=r"Child\(\) got an unexpected keyword argument 'dept'"):
        Child(dept=3)
    with pytest.raises(TypeError, match=r"Needy\(\) missing a required .*'first'"):
        Needy(needed="x")
    with pytest.raises(TypeError, match=r"Needy\(\) missing a required .*'needed'"):
        Needy(1)
    assert vars(Needy(1, needed="x")) == {"first": 1, "needed": "x", "last": 3}


def test_a_subclass_changes_a_default_and_keeps_the_constraint():
    assert Base().n_rounds == 10
    assert Child().n_rounds == 20
    assert parameters(Child)["n_rounds"].default == 20
    assert str(Child.params["n_rounds"]) == "an integer >= 1"
    assert set(Base.params) == {"n_rounds", "rate"}
    assert set(Child.params) == {"n_rounds", "rate", "depth"}
    with pytest.raises(DataError, match="rate of Child must be a number >= 0, got -1"):
        check_params("Child", Child(rate=-1).get_params(), Child.params)


def test_a_field_declared_again_takes_the_new_constraint_if_there_is_one():
    class Plain(Base):
        rate: float = 2.0

    class Narrow(Base):
        rate: Annotated[float, Number(0.0, 1.0)] = 1.0

    assert str(Plain.params["rate"]) == "a number >= 0"
    assert str(Narrow.params["rate"]) == "a number in [0, 1]"
    assert (Plain().rate, Narrow().rate) == (2.0, 1.0)


def test_class_variables_and_learned_attributes_are_no_parameters():
    assert not {"kind", "positional", "params", "fitted_", "_cache"} & set(parameters(Base))


def test_annotations_may_be_strings(tmp_path, monkeypatch):
    source = """
    from __future__ import annotations
    from typing import Annotated, ClassVar
    from equirank.core.declared import Declared
    from equirank.core.params import Integer

    class Late(Declared):
        word: ClassVar[str] = "x"
        count: Annotated[int, Integer(2)] = 2

    class Unknown(Declared):
        word: ClassVar[Elsewhere] = "x"
        count: Elsewhere = 2
    """
    (tmp_path / "late_annotations.py").write_text(textwrap.dedent(source))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("late_annotations")
    assert list(parameters(module.Late)) == list(parameters(module.Unknown)) == ["count"]
    assert str(module.Late.params["count"]) == "an integer >= 2"


def test_a_constructor_written_by_hand_stays_in_use():
    class Written(Base):
        def __init__(self, both=1):
            super().__init__(both, rate=both)
            self.both = both

    class Below(Written):
        extra: int = 3

    assert list(parameters(Below)) == ["both"]
    assert (Below(4).n_rounds, Below(4).rate) == (4, 4)


def test_estimators_are_cloned_printed_and_pickled():
    model = Child(7, depth=2)
    assert clone(model).get_params() == model.get_params()
    assert repr(model) == "Child(depth=2, n_rounds=7)"
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()
    assert model.set_params(rate=3).rate == 3
    with pytest.raises(ValueError, match="Invalid parameter 'rte'"):
        model.set_params(rte=3)


class Conditional(Base):
    """Some parameters need others."""

    only_with: ClassVar = {"rate": ("n_rounds", (1, 2)), "widths": ("random_state", GIVEN)}
    widths: Any = (3,)


class Grandchild(Conditional):
    """Inherits the conditions and adds one."""

    only_with: ClassVar = {"more": ("widths", GIVEN)}
    more: bool = False


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rate": 0.25}, "rate of Grandchild has no effect: n_rounds must be 1, 2, got 10"),
        ({"widths": (4,)}, "has no effect: random_state must be given, got None"),
        ({"more": True, "widths": ()}, "has no effect: widths must be given, got ()"),
    ],
)  # fmt: skip
def test_a_parameter_that_is_set_without_effect_warns(given, words):
    with pytest.warns(EquirankWarning) as caught:
        Grandchild(**given).check_declared()
    assert any(words in str(each.message) for each in caught)
    assert {each.filename for each in caught} != {inspect.getfile(Declared)}


def test_a_parameter_with_effect_or_at_its_default_does_not_warn():
    Grandchild().check_declared()
    Grandchild(rate=0.25, n_rounds=2, widths=(4,), random_state=0, more=True).check_declared()
    with pytest.raises(DataError, match="n_rounds of Grandchild must be an integer >= 1, got 0"):
        Grandchild(n_rounds=0).check_declared()


class Weighted(Base):
    """A fairness term and its weight."""

    term: Any = None
    weight: float = 0.5


def test_a_fairness_weight_needs_its_term_and_a_term_its_weight():
    words = r"term of Weighted must be given with weight=2.0, which is its weight, got None"
    with pytest.raises(DataError, match=words):
        check_fairness_weight(Weighted(weight=2.0), "term", "weight")
    for quiet in ({}, {"weight": 0.0}, {"term": "gap"}, {"term": "gap", "weight": 2.0}):
        check_fairness_weight(Weighted(**quiet), "term", "weight")
    idle = Weighted(term="gap", weight=0.0)
    check_fairness_weight(idle, "term", "weight", searched=True)
    words = "term of Weighted has no effect: its weight weight is 0"
    with pytest.warns(EquirankWarning, match=words):
        check_fairness_weight(idle, "term", "weight")


def test_descriptions_are_inherited():
    described = documented(Child.__doc__)
    assert list(described) == list(parameters(Child))
    assert described["rate"] == "rate : float\n    Step size."
    assert described["depth"] == "depth : int, optional\n    Depth of a tree."
    assert described["random_state"].endswith("\n    Seed.")  # from the shared table
    text = inspect.getdoc(Child)
    assert text.startswith("A subclass.\n\nParameters\n---")
    assert text.endswith("Examples\n--------\n>>> 1 + 1\n2")
    assert complete_docstring(Child) == Child.__doc__


def test_a_docstring_without_parameters_gets_the_section_before_the_next():
    class Short(Base):
        """A class.

        References
        ----------
        A book.
        """

    assert Short.__doc__.index("rate : float") < Short.__doc__.index("References")
    assert "Parameters" not in (Needy.__doc__ or "")


def test_a_grouped_description_is_read_for_each_name():
    text = "Words.\n\nParameters\n----------\na, b : int\n    Two numbers.\nc\n    One.\n"
    assert documented(text) == {
        "a": "a : int\n    Two numbers.",
        "b": "b : int\n    Two numbers.",
        "c": "c\n    One.",
    }
    assert documented("No parameters.") == documented(None) == {}
    documented(text).clear()
    assert list(documented(text)) == ["a", "b", "c"]


def public_estimators():
    root = Path(equirank.__file__).parent
    found = {}
    for stub in sorted(root.rglob("__init__.pyi")):
        module = importlib.import_module(
            ".".join(["equirank", *stub.parent.relative_to(root).parts])
        )
        things = (getattr(module, name) for name in module.__all__)
        found |= {
            kind.__name__: kind
            for kind in things
            if inspect.isclass(kind) and issubclass(kind, (Declared, BaseEstimator))
        }
    return [kind for _, kind in sorted(found.items()) if parameters(kind)]


def test_every_estimator_describes_its_parameters_and_no_others():
    for kind in public_estimators():
        described, named = documented(kind.__doc__), parameters(kind)
        assert {name.lstrip("*") for name in described} == set(named), kind
        if hasattr(kind.__init__, "_from_fields"):
            fields = {name for name, each in named.items() if each.kind != each.VAR_KEYWORD}
            assert set(kind.__fields__) == fields, kind
            assert set(kind.params) <= set(named), kind
        assert all("\n" in text for text in described.values()), kind
