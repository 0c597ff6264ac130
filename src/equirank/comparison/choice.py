"""Rules such as ``NDCG@10 >= 0.99 * best``: read, never evaluated as code."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..core.errors import DataError
from ..core.rules import SIGNS, take_rule_apart

__all__ = ["Rule", "on_front", "read_rules"]


FORM = '"NDCG@10 >= 0.99 * best" or "RND@50 <= 0.2"'
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
#: The word between rules, where an even number of quotes follows: not inside a name.
AND = re.compile(r"""\s+and(?:\s+|$)(?=(?:[^"']*["'][^"']*["'])*[^"']*$)""")
LIMITS = (
    re.compile(rf"(?P<number>{NUMBER})"),
    re.compile(rf"(?P<factor>{NUMBER})\s*\*\s*best"),
    re.compile(rf"best\s*\*\s*(?P<factor>{NUMBER})"),
    re.compile(rf"best\s*(?P<step>[+-])\s*(?P<number>{NUMBER})"),
    re.compile(r"best"),
)


@dataclass(frozen=True)
class Rule:
    """A rule: a metric (or an end of its interval) held against ``factor * best + shift``."""

    text: str
    metric: str
    part: str
    sign: str
    factor: float
    shift: float

    def holds(self, values: np.ndarray, best: float) -> np.ndarray:
        """Say of each value whether the rule holds; rounding does not decide, unknown is no."""
        limit = self.factor * best + self.shift if self.factor else self.shift
        slack = 1e-12 * max(1.0, abs(limit))
        slack = slack if self.sign in (">=", "<=") else 0.0
        limit += -slack if self.sign[0] == ">" else slack
        return np.array([v == v and SIGNS[self.sign](v, limit) for v in values.tolist()])


def read_rules(text: str) -> list[Rule]:
    """Read one rule, or several joined by ``and``.

    Examples
    --------
    >>> read_rules("NDCG@10 >= 0.99 * best")[0].factor
    0.99
    >>> [rule.metric for rule in read_rules("NDCG@10 >= best - 0.01 and RND@50.high <= 0.2")]
    ['NDCG@10', 'RND@50']
    """
    if not isinstance(text, str):
        raise DataError(f"the rule of pick must be a text such as {FORM}, got {text!r}")
    return [_read(part) for part in AND.split(text.strip())]


def _read(text: str) -> Rule:
    pieces = take_rule_apart(text, FORM)
    for form in LIMITS:
        found = form.fullmatch(pieces.limit)
        if found is None or pieces.part == "p_value":
            continue
        given = found.groupdict()
        shift = float(given.get("number") or 0.0)
        shift = -shift if given.get("step") == "-" else shift
        factor = 1.0 if "best" in pieces.limit else 0.0
        factor = float(given["factor"]) if given.get("factor") else factor
        return Rule(text.strip(), pieces.metric, pieces.part, pieces.sign, factor, shift)
    raise DataError(f"expression {text!r} cannot be read; it looks like {FORM}")


def on_front(columns: Mapping[str, np.ndarray], higher: Mapping[str, bool]) -> np.ndarray:
    """Say of each point whether no other is at least as good in all columns and better in one.

    A point with an undefined value is not on the front. Of equal points all are.

    Examples
    --------
    >>> columns = {"a": np.array([1.0, 2.0, 1.0]), "b": np.array([1.0, 2.0, 3.0])}
    >>> on_front(columns, {"a": True, "b": False})
    array([ True,  True, False])
    """
    signed = np.stack([v if higher[name] else -v for name, v in columns.items()])
    no_worse = np.all(signed[:, None, :] >= signed[:, :, None], axis=0)
    better = np.any(signed[:, None, :] > signed[:, :, None], axis=0)
    return np.asarray(~(no_worse & better).any(axis=1) & ~np.isnan(signed).any(axis=0))
