"""CausalFairScores: the scores that people would have in one reference group."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self, TypedDict, Unpack

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core import inputs
from ..core.data import RankingData
from ..core.errors import DataError
from ..core.given_data import as_ranking_data, refuse_beside
from ..core.keywords import Default, shared_keywords
from ..core.params import AnyOf, Check, Integer, Label, Number, Optional, check_params
from ..core.random import as_seed
from ..core.ranking import Ranking
from ..core.table import Table
from .causal_effects import CausalEffects, CausalRankTest, measure_effects, rank_test
from .dag import DAG_EDGES, Dag, read_dag
from .fair_transformer import FairTransformer, sensitive_labels
from .structural_model import (
    Equation,
    People,
    StructuralModel,
    check_variation,
    fit_model,
    people_of,
    reference_codes,
)

__all__ = ["CausalFairScores"]


def _model(method: str) -> Check:
    """Return the constraint of a scikit-learn model with a method."""
    return Check(
        lambda value: hasattr(value, "fit") and hasattr(value, method),
        f"a scikit-learn model with {method}",
    )


def _are_names(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return isinstance(names, (list, tuple, set, frozenset)) and all(
        isinstance(name, str) for name in names
    )


_NAMES = Check(_are_names, "a name or a list of names")
_GROUP = Check(
    lambda value: isinstance(value, Mapping) and len(value) > 0, "a mapping of attributes to groups"
)


class ResampleKeywords(TypedDict, total=False):
    """People, and the samples that are drawn of them.

    Parameters
    ----------
    X, sensitive_features, y
        As in `transform`.
    n_boot : int, default=200
        Number of samples.
    random_state : int, Generator, RandomState or None
        Seed.
    """

    sensitive_features: Any
    y: Any
    n_boot: Annotated[int, Default(200)]
    random_state: Annotated[Any, Default(0)]


class CausalFairScores(FairTransformer):
    """Score people as if all belonged to one group, by a causal model of how groups affect scores.

    The DAG states the causes: protected attributes, mediators, and finally the score. Each mediator
    and the score have a structural equation: linear with separate coefficients for each group of
    their protected causes, logistic for a binary mediator, or a scikit-learn model. A
    counterfactual score sets the protected attributes to the reference group and propagates it
    through the DAG with each person's residuals. Resolving mediators, whose differences are
    accepted, stay as observed. Without a reference the result is the mean over all groups that
    occur.

    Coefficients are those of `fit`; `transform` uses the group and score of the new people. Equal
    people get equal scores. A constant score or mediator is an error, and so is a group that does
    not occur in `fit`.

    Parameters
    ----------
    dag : list of pairs, mapping or graph
        Pairs ``(cause, effect)`` of column names, a mapping of each cause to its effects, or a
        graph with ``edges`` (such as networkx). Columns of an array are ``x0, x1, ...``.
    resolving : name or list of names, optional
        The mediators whose differences between groups are accepted.
    reference : label or mapping, optional
        The reference group: a label, or with several protected attributes one label for each, as
        in ``{"sex": "m", "race": "White"}``. None: the mean over all groups.
    protected : name or list of names, optional
        The protected attributes. None: all nodes without causes.
    outcome : str, optional
        The score. None: the end of the DAG.
    regressor, classifier : scikit-learn models, optional
        Models that replace the equations of numbers and of binary mediators. Their features are
        group indicators and the other causes. A model with them cannot be saved.

    Attributes
    ----------
    equations_ : dict of str to dict
        Per node its ``kind``, the protected causes ``by``, the other ``causes``, and ``coef``: per
        group (of ``groups``) an intercept and one slope per cause.
    categories_ : dict of str to list
        The groups of each protected attribute.
    combinations_ : list of dict
        The groups that occur, crossed over all protected attributes.

    References
    ----------
    Yang, Loftus and Stoyanovich, Causal intersectionality and fair ranking, FORC 2021. Kusner,
    Loftus, Russell and Silva, Counterfactual fairness, NeurIPS 2017.

    Examples
    --------
    Men get ten points directly, and twenty through a test that counts half:

    >>> import numpy as np
    >>> from equirank.preprocess import CausalFairScores
    >>> X = {"sex": ["f", "m", "f", "m"], "test": [60.0, 80.0, 50.0, 70.0]}
    >>> X["points"] = [30.0, 50.0, 25.0, 45.0]
    >>> dag = [("sex", "test"), ("sex", "points"), ("test", "points")]
    >>> CausalFairScores(dag, reference="m").fit(X).transform(X)[:, 0]
    array([50., 50., 45., 45.])
    >>> CausalFairScores(dag, resolving="test", reference="m").fit(X).transform(X)[:, 0]
    array([40., 50., 35., 45.])
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    __metadata_request__transform: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    positional = ("dag",)
    dag: Annotated[Any, DAG_EDGES]
    resolving: Annotated[Any, Optional(_NAMES)] = None
    reference: Annotated[Any, Optional(AnyOf(Label(), _GROUP))] = None
    protected: Annotated[Any, Optional(Label(many=True))] = None
    outcome: Annotated[str | None, Optional(Label())] = None
    regressor: Annotated[Any, Optional(_model("predict"))] = None
    classifier: Annotated[Any, Optional(_model("predict_proba"))] = None

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Fit the structural equations.

        Parameters
        ----------
        X : data frame, mapping of columns, array-like or RankingData
            The columns of the DAG; others are ignored. A `RankingData` includes its features, its
            sensitive attributes, and its relevance as the score if no column has that name.
        y : array-like, optional
            The score, if it is not a column of X.
        sensitive_features : array-like, data frame or dict, optional
            The protected attributes, if they are not columns of X.
        """
        self._check_params()
        dag = self._dag()
        columns = self._columns(X, y, sensitive_features, fitting=True)
        people = people_of(dag, columns)
        check_variation(dag, people)
        model = fit_model(people, dag, self.regressor, self.classifier)
        self.categories_ = {name: list(people.labels[name]) for name in dag.protected}
        self.combinations_ = [
            {name: people.labels[name][code] for name, code in group.items()}
            for group in model.groups
        ]
        self.equations_ = {
            node: {
                "kind": equation.kind,
                "by": list(equation.by),
                "causes": list(equation.causes),
                "groups": [people.words(equation.by, code) for code in range(len(equation.coef))],
                "coef": equation.coef.tolist(),
                "ends": None if equation.ends is None else list(equation.ends),
            }
            for node, equation in model.equations.items()
        }
        self._fitted = model
        self._reference()  # raises if it does not exist
        return self

    def transform(self, X: Any, *, sensitive_features: Any = None, y: Any = None) -> np.ndarray:
        """Return the counterfactual score of each row, as one column.

        Parameters
        ----------
        X : data frame, mapping of columns, array-like or RankingData
            As in `fit`, the observed score included.
        sensitive_features, y : array-like, optional
            As in `fit`.
        """
        people = self._given(X, y, sensitive_features)
        return self._model().scores(people, self._reference())[:, None]

    def fit_transform(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> np.ndarray:
        """Fit, and return the counterfactual scores of the same rows."""
        fitted = self.fit(X, y, sensitive_features=sensitive_features)
        return fitted.transform(X, y=y, sensitive_features=sensitive_features)

    def counterfactuals(
        self, X: Any, reference: Any = None, *, sensitive_features: Any = None, y: Any = None
    ) -> Table:
        """Return every node as it would be if all people belonged to one group.

        Parameters
        ----------
        X, sensitive_features, y
            As in `transform`.
        reference : label or mapping, optional
            The group; None: that of the constructor.

        Returns
        -------
        Table
            One column per mediator, and the score.
        """
        people = self._given(X, y, sensitive_features)
        group = self._reference(reference)
        if group is None:
            raise DataError("reference of counterfactuals must name a group, got None")
        world = self._model().world(people, group)
        dag = self._model().dag
        return Table({node: world[node] for node in (*dag.mediators, dag.score)})

    def rank(self, X: Any, *, sensitive_features: Any = None, y: Any = None) -> Ranking:
        """Rank the rows by their counterfactual scores.

        Parameters
        ----------
        X, sensitive_features, y
            As in `transform`; a `RankingData` is ranked list by list.
        """
        people = self._given(X, y, sensitive_features)
        score = self._model().scores(people, self._reference())
        if isinstance(X, RankingData):
            return Ranking.from_scores(X, score)
        groups = {
            name: np.asarray(people.labels[name], dtype=object)[codes]
            for name, codes in people.codes.items()
        }
        return Ranking.from_scores(
            as_ranking_data(None, score=score, sensitive_features=groups, max_groups=len(score)),
            score,
        )

    @shared_keywords(ResampleKeywords)
    def effects(
        self, X: Any, *, confidence: float = 0.95, **given: Unpack[ResampleKeywords]
    ) -> CausalEffects:
        """Estimate the effects of groups on the score, relative to the reference group.

        Effects are means over the given people. ``direct``: only the equation of the score is that
        of the group. ``indirect``: the mediators that are not resolving change too. ``resolved``:
        the resolving mediators change too. ``total`` is the sum. The counterfactual score removes
        the direct and indirect parts. Without a reference the largest group is used. Intervals are
        percentiles over people resampled within groups, with all equations refitted.

        Parameters
        ----------
        n_boot : int, default=200
            Number of resamples; 0 for no intervals.
        confidence : float, default=0.95
            Level of the intervals.

        Returns
        -------
        CausalEffects
            ``groups`` is a table of effects per group and part (direct, indirect, resolved, total),
            ``edges`` of the effect of every edge, both with interval ends ``low`` and ``high``;
            ``nodes`` lists the nodes with their role and layer.
        """
        check_params(
            "effects",
            {"n_boot": given["n_boot"], "confidence": confidence},
            {"n_boot": Integer(0), "confidence": Number(0, 1, open_low=True, open_high=True)},
        )
        people = self._given(X, given["y"], given["sensitive_features"])
        model = self._model()
        reference = self._reference()
        if reference is None:
            joint = people.joint(model.dag.protected)
            row = int(np.argmax(joint == np.bincount(joint).argmax()))
            reference = {name: int(people.codes[name][row]) for name in model.dag.protected}
        return measure_effects(
            model,
            people,
            reference,
            lambda some: fit_model(some, model.dag, self.regressor, self.classifier),
            given["n_boot"],
            confidence,
            as_seed(given["random_state"]),
        )

    @shared_keywords(ResampleKeywords)
    def rank_test(
        self, X: Any, y_score: Any = None, **given: Unpack[ResampleKeywords]
    ) -> CausalRankTest:
        """Test whether a ranking is causally fair: the same positions in any group.

        Parameters
        ----------
        X
            As in `transform`; all rows are one list.
        y_score : array-like, optional
            The scores of the tested ranking; None: the observed score.
        n_boot : int, default=200
            Number of samples for the p-value.

        Returns
        -------
        CausalRankTest
            ``statistic`` is the largest mean move between two groups, as a share of the list;
            ``p_value`` its probability without effects of groups except through resolving
            mediators. ``groups`` is a table of positions per group, ``pairs`` of moves per pair.
        """
        check_params("rank_test", {"n_boot": given["n_boot"]}, {"n_boot": Integer(1)})
        people = self._given(X, given["y"], given["sensitive_features"])
        model = self._model()
        score = people.values[model.dag.score]
        if y_score is not None:
            score = np.asarray(inputs.numbers("y_score", y_score), dtype=np.float64)
            inputs.same_length({"X": people.values[model.dag.score], "y_score": score})
        return rank_test(model, people, score, given["n_boot"], as_seed(given["random_state"]))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of the output column, which is that of the score."""
        check_is_fitted(self)
        return np.array([self._model().dag.score], dtype=object)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the fitted equations, which `_model` restores."""
        state = dict(super().__getstate__())
        if self.regressor is None and self.classifier is None:
            state.pop("_fitted", None)
        return state

    def _dag(self) -> Dag:
        return read_dag(self.dag, self.protected, self.resolving, self.outcome)

    def _model(self) -> StructuralModel:
        """Return the fitted equations, rebuilt from their coefficients after loading."""
        if "_fitted" not in self.__dict__:
            dag = self._dag()
            equations = {
                node: Equation(
                    node,
                    tuple(parts["by"]),
                    tuple(parts["causes"]),
                    parts["kind"],
                    np.array(parts["coef"], dtype=np.float64),
                    None if parts["ends"] is None else (parts["ends"][0], parts["ends"][1]),
                )
                for node, parts in self.equations_.items()
            }
            ordered = {node: equations[node] for node in dag.causes if node in equations}
            groups = tuple(
                {name: self.categories_[name].index(group[name]) for name in dag.protected}
                for group in self.combinations_
            )
            self._fitted = StructuralModel(dag, ordered, groups)
        return self._fitted

    def _given(self, X: Any, y: Any, sensitive_features: Any) -> People:
        check_is_fitted(self)
        columns = self._columns(X, y, sensitive_features, fitting=False)
        return people_of(self._model().dag, columns, self.categories_)

    def _columns(
        self, X: Any, y: Any, sensitive_features: Any, *, fitting: bool
    ) -> dict[str, np.ndarray]:
        """Return all columns by name, in input order."""
        score = self._dag().score
        if isinstance(X, RankingData):
            refuse_beside({"y": y, "sensitive_features": sensitive_features})
            found = sensitive_labels(X)
            if X.y is not None:
                found[score] = X.to_original(X.y)
            matrix = self._features_of(X, fitting) if X.X is not None else None
            names = X.feature_names or [f"x{at}" for at in range(X.n_features)]
            if matrix is not None:
                found |= dict(zip(names, matrix.T, strict=True))
            return found
        found = {}
        if y is not None and score not in (X if _is_mapping(X) else getattr(X, "columns", ())):
            found[score] = np.asarray(inputs.vector(score, y))
        if sensitive_features is not None:
            found |= inputs.attributes(sensitive_features)
        found |= self._table(X, fitting)
        inputs.same_length(found)
        return found

    def _table(self, X: Any, fitting: bool) -> dict[str, np.ndarray]:
        if _is_mapping(X):
            columns = {str(name): np.asarray(inputs.vector(str(name), v)) for name, v in X.items()}
            if fitting:
                self.n_features_in_ = len(columns)
            return columns
        if hasattr(X, "columns"):
            validate_data(self, X, reset=fitting, skip_check_array=True)
            return inputs.attributes(X)
        matrix = validate_data(
            self, X, reset=fitting, dtype=np.float64, ensure_min_samples=2 if fitting else 1
        )
        return {f"x{at}": column for at, column in enumerate(np.asarray(matrix).T)}

    def _reference(self, reference: Any = None) -> dict[str, int] | None:
        """Return the reference group as a code per attribute."""
        wanted = self.reference if reference is None else reference
        if wanted is None:
            return None
        model = self._model()
        return reference_codes(wanted, model.dag.protected, self.categories_, model.groups)


def _is_mapping(X: Any) -> bool:
    """Return whether X is a mapping of columns; some sparse arrays are mappings too."""
    return isinstance(X, Mapping) and not hasattr(X, "tocsr")
