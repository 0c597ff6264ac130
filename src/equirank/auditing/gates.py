"""Expressions such as ``RND@50.low>0.3``, which decide whether an audit fails."""

from dataclasses import dataclass, replace
from math import isnan
from typing import Any

from ..core.errors import DataError
from ..core.metric import GroupMetric, Metric
from ..core.registry import parse_metric
from ..core.rules import SIGNS, take_rule_apart
from .measured import short_name
from .measures import PositionDifference

__all__ = ["Expression", "read_expression"]


FORM = '"RND@50>0.3" or "RND@50.low>0.3"'


@dataclass(frozen=True)
class Expression:
    """A comparison of a metric's value, interval end or p-value with a number."""

    text: str
    metric: Metric
    what: str
    sign: str
    limit: float

    def concerns(self, row: dict[str, Any]) -> bool:
        """Return whether the expression applies to a row of the gaps or metrics."""
        if not isinstance(self.metric, GroupMetric):
            return bool(row["name"] == str(self.metric))
        if row["metric"] != short_name(self.metric):
            return False
        by, protected = self.metric.by, self.metric.protected
        wanted = None if by is None else " x ".join([by] if isinstance(by, str) else by)
        crossed = " x " in row["attribute"]
        if wanted is None and crossed:
            return False
        if wanted is not None and row["attribute"] != wanted:
            return False
        return protected is None or row["group"] == str(protected)

    def held_by(self, rows: list[dict[str, Any]]) -> list[str]:
        """Return a line for each row for which it holds; an undefined number is an error."""
        found = []
        for row in rows:
            value = float(row[self.what])
            names = [name for name in (row.get("attribute"), row.get("group")) if name]
            where = f" of {', '.join(names)}" if names else ""
            if isnan(value):
                raise DataError(
                    f"{self.text!r} cannot be evaluated: {self.what} of {row['metric']}{where} is "
                    "undefined"
                )
            if SIGNS[self.sign](value, self.limit):
                found.append(f"{self.text}: {self.what}{where} is {value:.4g}")
        return found


def read_expression(text: str) -> Expression:
    """Return the parsed expression.

    Examples
    --------
    >>> read_expression("RND@50.low>0.3")
    Expression(text='RND@50.low>0.3', metric=RND@50, what='low', sign='>', limit=0.3)
    """
    rule = take_rule_apart(text, FORM)
    try:
        limit = float(rule.limit)
    except ValueError:
        limit = float("nan")
    if isnan(limit):
        raise DataError(f"expression {text!r} cannot be read; it looks like {FORM}")
    own = rule.metric.split("(")[0].strip() == PositionDifference.__name__
    metric = _own(rule.metric) if own else parse_metric(rule.metric)
    return Expression(text.strip(), metric, rule.part, rule.sign, limit)


def _own(name: str) -> Metric:
    """Return the position difference, which is not a public metric."""
    read = parse_metric(name.strip().replace(PositionDifference.__name__, "ExposureGap", 1))
    options: dict[str, Any] = {"by": read.by, "protected": read.protected}  # type: ignore[attr-defined]
    return replace(PositionDifference(), **options)
