"""PairExplanation: why one item ranks above another, as a table and in sentences."""

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .table import Table

__all__ = ["PairExplanation", "PairFacts"]

#: Sentences about the method.
METHODS = {
    "exact": "The contributions are exact.",
    "shap": "The contributions are differences of SHAP values.",
}
#: The row of a re-ranker, and the additional columns of SHAP values.
RERANKER, SHAP = "(re-ranker)", ("shap_a", "shap_b", "difference")
#: Number of features named on either side.
NAMED = 4


@dataclass(frozen=True)
class PairFacts:
    """Facts about an explained pair; see `PairExplanation`."""

    a: Any
    b: Any
    score_a: float
    score_b: float
    model: str
    method: str
    n_draws: int = 0
    ids: bool = False
    reasons: tuple[Any, ...] = ()


class PairExplanation(Table):
    """Why item a ranks above (or below) item b: the contribution of each feature.

    A table with one row per feature, the largest contribution first: ``feature``, ``value_a``,
    ``value_b``, ``contribution`` (positive in favour of a) and ``standard_error`` (0 if nothing was
    drawn). The contributions sum to ``score_a - score_b``. Terms other than features are in
    brackets: ``(base)`` is the initial model of trees, ``(re-ranker)`` the change of a re-ranker.
    SHAP values of trees add ``shap_a``, ``shap_b`` and ``difference``.

    Attributes
    ----------
    a, b : int or label
        The rows, or their ids if the data have ids.
    score_a, score_b, difference : float
        The two scores and their difference.
    method : {"exact", "shap", "sampled"}
        Exact Shapley values between the two rows (the terms, if the score is a sum over features);
        the difference of SHAP values; or Shapley values estimated from ``n_draws`` orders.
    n_draws : int
        Number of orders of the features that were drawn.
    model : str
        The class of the ranker.
    reasons : tuple of Explanation
        After a re-ranker: explanations of the positions of a and b.

    Examples
    --------
    >>> from equirank.rankers import RankBoost
    >>> X, y = [[1.0, 5.0], [2.0, 5.0], [3.0, 1.0]], [0, 1, 2]
    >>> explanation = RankBoost(n_estimators=5).fit(X, y).explain_pair(X, 2, 0)
    >>> explanation["feature"].tolist()
    ['x0', 'x1']
    >>> bool(abs(explanation["contribution"].sum() - explanation.difference) < 1e-9)
    True
    >>> print(str(explanation).split(":")[0])
    Row 2 ranks above row 0
    """

    def __init__(
        self, columns: Mapping[str, Any], facts: PairFacts, backend: str | None = None
    ) -> None:
        super().__init__(columns, backend)
        self.facts = facts
        self.a, self.b = facts.a, facts.b
        self.score_a, self.score_b = facts.score_a, facts.score_b
        self.model, self.method, self.n_draws = facts.model, facts.method, facts.n_draws
        self.reasons = facts.reasons

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        values: Sequence[Any],
        contribution: np.ndarray,
        standard_error: np.ndarray,
        facts: PairFacts,
        *,
        more: Mapping[str, np.ndarray] | None = None,
        backend: str | None = None,
    ) -> "PairExplanation":
        """Create an explanation, the largest contribution first.

        Parameters
        ----------
        names : sequence of str
            The features and other terms.
        values : sequence of two sequences
            Values of a and of b.
        contribution, standard_error : ndarray
            One per term.
        facts : PairFacts
            The pair.
        more : mapping, optional
            Further columns.
        backend : str, optional
            Name of the data frame library.
        """
        order = np.argsort(-np.abs(contribution), kind="stable")

        def sort(column: Any) -> Any:
            if isinstance(column, np.ndarray):
                return column[order]
            return [column[at] for at in order.tolist()]

        columns = {
            "feature": sort(list(names)),
            "value_a": sort(_one_kind(values[0])),
            "value_b": sort(_one_kind(values[1])),
            "contribution": contribution[order],
            "standard_error": standard_error[order],
        }
        columns |= {name: sort(column) for name, column in (more or {}).items()}
        return cls(columns, facts, backend)

    @property
    def difference(self) -> float:
        """Score of a minus score of b."""
        return self.score_a - self.score_b

    @property
    def sentences(self) -> tuple[str, ...]:
        """The explanation as sentences."""
        first, second = self.name("a", first=True), self.name("b")
        gap, said = self.difference, []
        scores = f"{self.score_a:.4g} against {self.score_b:.4g}"
        if gap == 0:
            said.append(f"{first} and {second} have the same score, {self.score_a:.4g}.")
        else:
            where = "above" if gap > 0 else "below"
            said.append(f"{first} ranks {where} {second}: its score is {scores} ({gap:+.4g}).")
        said += self._sides()
        said.append(self._how())
        return (*said, *(line for reason in self.reasons for line in reason.sentences))

    def name(self, which: str, first: bool = False) -> str:
        """Return the id of item ``"a"`` or ``"b"``, or its row; ``first`` starts a sentence."""
        item = getattr(self.facts, which)
        return str(item) if self.facts.ids else f"{'Row' if first else 'row'} {item}"

    def words(self, row: int) -> str:
        """Return the feature of a row of the table with the values of both items."""
        feature = str(self["feature"][row])
        if feature.startswith("("):
            return feature
        values = (_short(self[column][row]) for column in ("value_a", "value_b"))
        return f"{feature} ({' against '.join(values)})"

    def __str__(self) -> str:
        """Return the sentences, one per line."""
        return "\n".join(self.sentences)

    def reranked(
        self, score_a: float, score_b: float, model: str, reasons: Sequence[Any]
    ) -> "PairExplanation":
        """Return the explanation with a row for the change of a re-ranker, and its reasons.

        Parameters
        ----------
        score_a, score_b : float
            The scores after re-ranking.
        model : str
            The class of the re-ranked model.
        reasons : sequence of Explanation
            Explanations of the positions of a and b.
        """
        given = {name: list(column) for name, column in self.columns.items()}
        moved = score_a - self.score_a, score_b - self.score_b
        row = {"feature": RERANKER, "value_a": moved[0], "value_b": moved[1]}
        row |= {"contribution": moved[0] - moved[1], "standard_error": 0.0}
        columns = {name: [*column, row.get(name, np.nan)] for name, column in given.items()}
        facts = replace(
            self.facts, score_a=score_a, score_b=score_b, model=model, reasons=tuple(reasons)
        )
        return PairExplanation.of(
            columns["feature"],
            (columns["value_a"], columns["value_b"]),
            np.array(columns["contribution"], dtype=np.float64),
            np.array(columns["standard_error"], dtype=np.float64),
            facts,
            more={name: np.array(columns[name]) for name in SHAP if name in columns},
            backend=self.backend,
        )

    def _repr_html_(self) -> str:
        said = "<br>".join(html.escape(line) for line in self.sentences)
        return f"<p>{said}</p>{super()._repr_html_()}"

    def _sides(self) -> list[str]:
        """Return sentences on the features in favour of a and of b."""
        part = self["contribution"]
        said, left = [], part != 0
        for word, side in ((self.name("a"), part > 0), (self.name("b"), part < 0)):
            rows = np.flatnonzero(side)[:NAMED].tolist()
            left[rows] = False
            parts = ", ".join(f"{self.words(row)} {part[row]:+.4g}" for row in rows)
            said += [f"For {word}: {parts}."] if rows else []
        if left.any():
            many = "One other" if left.sum() == 1 else f"{left.sum()} others together"
            said.append(f"{many}: {part[left].sum():+.4g}.")
        return said

    def _how(self) -> str:
        if self.method in METHODS:
            return METHODS[self.method]
        most = float(self["standard_error"].max(initial=0.0))
        return (
            f"The contributions are estimated from {self.n_draws} random orders of the "
            f"features; their largest standard error is {most:.2g}."
        )


def _one_kind(values: Sequence[Any]) -> Sequence[Any]:
    """Return values as text if some are text, since a frame column has one type."""
    if not any(isinstance(value, str) for value in values):
        return values
    return [None if value is None else _short(value) for value in values]


def _short(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return "missing"
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)
