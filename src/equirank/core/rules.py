"""Parsing of rules such as ``RND@50.low > 0.3``."""

import operator
import re
from collections.abc import Callable
from typing import NamedTuple

from .errors import DataError

__all__ = ["PARTS", "SIGNS", "RuleText", "take_rule_apart"]


SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
#: What of a metric may be compared.
PARTS = ("value", "low", "high", "p_value")
COMPARED = re.compile(r"(?P<left>.*)(?P<sign>>=|<=|>|<)(?P<right>[^<>=]+)$", re.DOTALL)
LEFT = re.compile(rf"(?P<metric>.+?)(?:\.(?P<part>{'|'.join(PARTS)}))?\s*$", re.DOTALL)


class RuleText(NamedTuple):
    """Parts of a rule: the metric, its column, the comparison and the text of the limit."""

    metric: str
    part: str
    sign: str
    limit: str


def take_rule_apart(text: str, looks_like: str) -> RuleText:
    """Return the parts of a rule, or raise an error that shows the syntax.

    Examples
    --------
    >>> take_rule_apart("NDCG@10 >= 0.99 * best", "...")
    RuleText(metric='NDCG@10', part='value', sign='>=', limit='0.99 * best')
    >>> take_rule_apart("RND@50.low>0.3", "...").part
    'low'
    """
    compared = COMPARED.match(text.strip())
    left = LEFT.match(compared["left"].strip()) if compared else None
    if compared is None or left is None or not compared["right"].strip():
        raise DataError(f"expression {text!r} cannot be read; it looks like {looks_like}")
    return RuleText(
        left["metric"], left["part"] or "value", compared["sign"], compared["right"].strip()
    )
