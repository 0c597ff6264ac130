"""What a search for alternatives can draw, and how a drawn candidate is fitted."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from typing import Any

import numpy as np
from sklearn.base import clone

from ..comparison.cell import as_method, fit, rank, seeded_clone
from ..comparison.store import describe
from ..core import inputs
from ..core.data import RankingData
from ..core.errors import DataError, suggest
from ..core.random import generator
from ..core.ranker import Ranker
from ..core.ranking import Ranking
from ..preprocess.fair_transformer import FairTransformer
from ..preprocess.query_samplers import QuerySampler
from ..rankers.lambdamart.fair_lambdamart import FairLambdaMART
from .stacked_fits import fit_all, stacks

__all__ = ["Alternative", "Family", "Space", "Trial", "fit_trials", "jobs", "without_columns"]

#: Largest seed of a trial.
MOST_SEEDS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Family:
    """A family of rankers: an estimator, the values of its parameters, and what precedes it.

    Parameters
    ----------
    estimator : estimator
        A ranker, or whatever `compare` takes.
    space : mapping of str to values
        Of each parameter (``estimator__k`` for one of a part) a list of values, drawn uniformly;
        ``{"low": 0.01, "high": 0.3, "log": True}``, drawn uniformly (on a log scale), as an integer
        where both ends are; or a distribution of SciPy.
    path : mapping of str to list, optional
        One parameter and its values, all of which a trial fits: they are candidates that are not
        independent of each other. `FairLambdaMART` fits a path of ``alpha`` on shared bins, neural
        rankers fit theirs as one stack.
    prepare : list of transformer or None
        Transformers of the features, such as `IFair`, of which one is drawn; None is none.
    sample : list of sampler or None
        Samplers of the lists to fit to, such as `KMedoidsSampler`, of which one is drawn.
    weight : float
        Relative probability of the family.

    Examples
    --------
    >>> from equirank.rankers import RankSVM
    >>> from equirank.search import Family
    >>> sorted(Family(RankSVM(), {"C": {"low": 0.01, "high": 100, "log": True}}).space)
    ['C']
    """

    estimator: Any
    space: Mapping[str, Any] = field(default_factory=dict)
    path: Mapping[str, Sequence[Any]] | None = None
    prepare: Sequence[Any] = ()
    sample: Sequence[Any] = ()
    weight: float = 1.0

    def check(self, name: str) -> None:
        """Raise if a parameter is unknown or its values cannot be drawn."""
        where = f"families[{name!r}]"
        known = as_method(self.estimator).get_params(deep=True)
        if self.path is not None and (len(self.path) != 1 or not all(map(len, self._path_values))):
            raise DataError(f"{where}.path must be one parameter with its values, got {self.path}")
        for parameter in (*self.space, *(self.path or ())):
            if parameter not in known:
                hint = suggest(parameter, sorted(known))
                kind = type(self.estimator).__name__
                raise DataError(f"{where} has no parameter {parameter!r} of {kind}{hint}")
        if set(self.path or ()) & set(self.space):
            raise DataError(f"{where}: a parameter must be in space or in path, not in both")
        for parameter, values in self.space.items():
            _check_values(values, f"{where}.space[{parameter!r}]")
        for each in self.sample:
            if each is not None and not isinstance(each, QuerySampler):
                raise DataError(f"{where}.sample must be samplers or None, got {each!r}")
        for each in self.prepare:
            if each is not None and not hasattr(each, "transform"):
                raise DataError(f"{where}.prepare must be transformers or None, got {each!r}")
        if not self.weight > 0:
            raise DataError(f"{where}.weight must be above 0, got {self.weight}")

    @property
    def _path_values(self) -> list[Sequence[Any]]:
        return list((self.path or {}).values())

    def described(self) -> dict[str, Any]:
        """Return the family for the record."""
        parts: dict[str, Any] = {"space": self.space, "path": self.path, "prepare": self.prepare}
        parts |= {"sample": self.sample, "weight": self.weight}
        found: dict[str, Any] = {"estimator": describe(as_method(self.estimator))}
        return found | {name: describe(each, name) for name, each in parts.items()}


def _check_values(values: Any, where: str) -> None:
    if hasattr(values, "rvs"):
        return
    if isinstance(values, Mapping):
        unknown = set(values) - {"low", "high", "log"}
        ends = [values.get(end) for end in ("low", "high")]
        numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in ends)
        if unknown or not numbers or not ends[0] < ends[1]:  # type: ignore[operator]
            raise DataError(f"{where} must have low < high, and may have log, got {dict(values)}")
        if values.get("log") and ends[0] <= 0:  # type: ignore[operator]
            raise DataError(f"{where} must have low above 0 on a log scale, got {ends[0]}")
    elif isinstance(values, str) or not isinstance(values, Iterable) or not list(values):
        raise DataError(f"{where} must be values, or low and high, got {values!r}")


def _draw(values: Any, rng: np.random.Generator) -> Any:
    """Return one value of a list, a range or a distribution."""
    if hasattr(values, "rvs"):
        found = values.rvs(random_state=np.random.RandomState(int(rng.integers(MOST_SEEDS))))
        return found.item() if hasattr(found, "item") else found
    if isinstance(values, Mapping):
        low, high = values["low"], values["high"]
        whole = isinstance(low, int) and isinstance(high, int)
        if values.get("log"):
            drawn = exp(rng.uniform(log(low), log(high + whole)))
        else:
            drawn = rng.uniform(low, high + whole)
        return min(int(drawn), high) if whole else float(drawn)
    listed = list(values)
    return listed[int(rng.integers(len(listed)))]


@dataclass(frozen=True)
class Trial:
    """One draw of a search: a family, its parameters, features, what precedes it, and a seed.

    Attributes
    ----------
    number : int
        Counts the draws; 0 is the baseline, steered trials are -1, -2 and so on.
    family : str
        Name of the family.
    params : dict
        The drawn parameters.
    left_out : tuple of str
        Names of the groups of columns that are left out.
    prepare, sample : int or None
        Index of the transformer and of the sampler in the family.
    seed : int
        Seed of the model and its parts.
    parent : int or None
        Number of the trial that a steered one was made from.
    """

    number: int
    family: str
    params: dict[str, Any]
    left_out: tuple[str, ...]
    prepare: int | None
    sample: int | None
    seed: int
    parent: int | None = None

    @property
    def independent(self) -> bool:
        """Whether it is a draw from the stated search, which the certificate counts."""
        return self.number > 0 and self.parent is None

    def name(self, point: Mapping[str, Any]) -> str:
        """Return the name of a candidate of the trial."""
        if self.number == 0:
            return "baseline"
        at = "".join(f", {name} {value!r}" for name, value in point.items())
        number = f"{self.number}" if self.parent is None else f"{self.parent}.{-self.number}"
        return f"{self.family} {number}{at}"


class Space:
    """The stated search: families, groups of columns that may be left out, and a seed.

    Trial i is the same whatever the number of trials, so a search can be continued. The trials are
    independent draws: a family by weight, each parameter on its own, each subset of the groups of
    columns with equal probability, a seed.

    Parameters
    ----------
    families : mapping of str to Family
        The families.
    leave_out : mapping of str to list of str
        Groups of columns by name.
    feature_names : sequence of str or None
        The columns of the data; a column of categories that is encoded is named by its beginning.
    seed : int
        Seed of the search.
    baseline : estimator, optional
        The ranker in use, which is no draw; by default the estimator of the first family.
    """

    def __init__(
        self,
        families: Mapping[str, Family],
        leave_out: Mapping[str, Sequence[str]],
        feature_names: Sequence[str] | None,
        seed: int,
        baseline: Any = None,
    ) -> None:
        self.families, self.seed = dict(families), seed
        first = next(iter(self.families.values())).estimator
        self.baseline = Family(first if baseline is None else baseline)
        for name, family in self.families.items():
            family.check(name)
        self.columns = {
            name: _columns(name, columns, feature_names) for name, columns in leave_out.items()
        }
        self.n_features = 0 if feature_names is None else len(feature_names)

    def trial(self, number: int) -> Trial:
        """Return a draw from the search."""
        rng = generator(self.seed, 31, number)
        weights = np.array([family.weight for family in self.families.values()])
        name = list(self.families)[int(rng.choice(len(weights), p=weights / weights.sum()))]
        family = self.families[name]
        params = {each: _draw(values, rng) for each, values in sorted(family.space.items())}
        left_out = self._left_out(rng)
        prepare, sample = (
            int(rng.integers(len(listed))) if listed else None
            for listed in (family.prepare, family.sample)
        )
        seed = int(rng.integers(MOST_SEEDS))
        return Trial(number, name, params, left_out, prepare, sample, seed)

    def first(self) -> Trial:
        """Return trial 0, the baseline, as it is and with all features."""
        return Trial(0, "baseline", {}, (), None, None, self.seed)

    def family(self, trial: Trial) -> Family:
        """Return the family of a trial."""
        return self.families[trial.family] if trial.number else self.baseline

    def _left_out(self, rng: np.random.Generator) -> tuple[str, ...]:
        """Return a subset of the groups of columns that leaves a column."""
        names = list(self.columns)
        while names:
            chosen = tuple(name for name in names if rng.random() < 0.5)
            if len(self.dropped(chosen)) < self.n_features:
                return chosen
        return ()

    def neighbour(self, trial: Trial, number: int) -> Trial:
        """Return a trial that differs from another in one respect, which is drawn anew."""
        rng = generator(self.seed, 37, -number)
        family = self.family(trial)
        choices = [*sorted(family.space), *(["left_out"] if self.columns else []), "seed"]
        what = choices[int(rng.integers(len(choices)))]
        changed = replace(trial, number=number, parent=trial.number)
        if what == "seed":
            return replace(changed, seed=int(rng.integers(MOST_SEEDS)))
        if what == "left_out":
            return replace(changed, left_out=self._left_out(rng))
        return replace(changed, params=trial.params | {what: _draw(family.space[what], rng)})

    def dropped(self, left_out: Iterable[str]) -> np.ndarray:
        """Return the columns of X that groups of columns contain."""
        parts = [self.columns[name] for name in left_out]
        return np.unique(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.int64)

    def described(self) -> dict[str, Any]:
        """Return the search for the record."""
        families = {name: family.described() for name, family in self.families.items()}
        columns = {name: listed.tolist() for name, listed in self.columns.items()}
        found = {"families": families, "leave_out": columns, "seed": self.seed}
        return found | {"baseline": self.baseline.described()}


def _columns(group: str, names: Sequence[str], known: Sequence[str] | None) -> np.ndarray:
    """Return the indices of named columns, with all that encode the categories of one."""
    if known is None:
        raise DataError("leave_out needs data whose features have names")
    found: list[int] = []
    for name in [names] if isinstance(names, str) else names:
        own = [at for at, each in enumerate(known) if each == name or each.startswith(f"{name}=")]
        if not own:
            hint = suggest(str(name), list(known))
            raise DataError(f"leave_out[{group!r}] must name features, got {name!r}{hint}")
        found += own
    if not found:
        raise DataError(f"leave_out[{group!r}] must name at least one feature, got none")
    return np.array(found, dtype=np.int64)


def without_columns(data: RankingData, dropped: np.ndarray) -> RankingData:
    """Return data without some columns of X."""
    if len(dropped) == 0:
        return data
    kept = np.setdiff1d(np.arange(data.n_features), dropped)
    names = None if data.feature_names is None else [data.feature_names[at] for at in kept]
    return _with_features(data, data.X[:, kept], names)


def _with_features(data: RankingData, X: Any, names: Sequence[str] | None) -> RankingData:
    known = set(names or ())
    return replace(
        data,
        X=inputs.frozen_matrix(X),
        feature_names=None if names is None else tuple(names),
        categories={name: each for name, each in data.categories.items() if name in known},
    )


@dataclass(frozen=True, eq=False)
class Alternative:
    """A fitted candidate: the columns that it leaves out, its transformer and its ranker.

    Attributes
    ----------
    ranker : estimator
        The ranker, fitted to the remaining columns.
    dropped : ndarray of int
        The columns of X that are left out.
    transformer : transformer or None
        The fitted transformer of the remaining columns.
    """

    ranker: Any
    dropped: np.ndarray
    transformer: Any = None

    def prepared(self, data: RankingData) -> RankingData:
        """Return data as the ranker takes them."""
        data = without_columns(data, self.dropped)
        if self.transformer is None:
            return data
        ours = isinstance(self.transformer, FairTransformer)
        found = np.asarray(self.transformer.transform(data if ours else data.X))
        return _with_features(data, found[data.caller_rank] if ours else found, None)

    def rank(self, data: RankingData) -> Ranking:
        """Return the ranking of lists."""
        return rank(self.ranker, self.prepared(data), n_draws=None, seed=0)


def _ready(space: Space, trial: Trial, part: RankingData) -> tuple[Alternative, RankingData]:
    """Return what precedes the ranker of a trial, fitted, and the data to fit the ranker to."""
    family, dropped = space.family(trial), space.dropped(trial.left_out)
    data = without_columns(part, dropped)
    if trial.sample is not None and family.sample[trial.sample] is not None:
        data = seeded_clone(family.sample[trial.sample], trial.seed).sample(data).data
    transformer = None
    if trial.prepare is not None and family.prepare[trial.prepare] is not None:
        transformer = seeded_clone(family.prepare[trial.prepare], trial.seed)
        ours = isinstance(transformer, FairTransformer)
        transformer = transformer.fit(data) if ours else transformer.fit(data.X, data.y)
    narrow = Alternative(None, dropped[:0], transformer)
    return Alternative(None, dropped, transformer), narrow.prepared(data)


def model_of(space: Space, trial: Trial) -> Any:
    """Return the unfitted ranker of a trial."""
    model = seeded_clone(as_method(space.family(trial).estimator), trial.seed)
    return model.set_params(**{name: _fresh(value) for name, value in trial.params.items()})


def _fresh(value: Any) -> Any:
    return clone(value) if hasattr(value, "get_params") else value


def jobs(space: Space, trials: Sequence[Trial]) -> list[list[Trial]]:
    """Return the trials that are fitted together: neural ones of one shape on the same features."""
    together: dict[tuple[str, ...], list[Trial]] = {}
    found = []
    for trial in trials:
        family = space.family(trial)
        plain = family.path is None and not family.prepare and not family.sample
        if plain and isinstance(model_of(space, trial), Ranker):
            together.setdefault(trial.left_out, []).append(trial)
        else:
            found.append([trial])
    for some in together.values():
        stacked = stacks([model_of(space, trial) for trial in some])
        found += [[some[at] for at in stack] for stack in stacked]
    return sorted(found, key=lambda job: job[0].number)


Point = tuple[dict[str, Any], Alternative]


def fit_trials(
    space: Space, trials: Sequence[Trial], part: RankingData, steer: RankingData
) -> list[list[Point] | str]:
    """Fit the trials of a job; return the points of each, or the error that stopped it.

    Parameters
    ----------
    space : Space
        The search.
    trials : sequence of Trial
        One of `jobs`.
    part, steer : RankingData
        The lists to fit to; those that validate paths and early stopping.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before, data = _ready(space, trials[0], part)
            models = [_watching(model_of(space, trial), before, steer) for trial in trials]
            path = space.family(trials[0]).path
            if path is not None:
                return [list(_path(models[0], path, before, data, steer))]
            if len(models) == 1:
                return [[({}, replace(before, ranker=fit(models[0], data)))]]
            errors = fit_all(models, data)
    except Exception as error:  # noqa: BLE001 - any exception is the result of the trial
        return [f"{type(error).__name__}: {error}"] * len(trials)
    return [
        [({}, replace(before, ranker=model))] if error is None else f"DataError: {error}"
        for model, error in zip(models, errors, strict=True)
    ]


def _watching(model: Any, before: Alternative, steer: RankingData) -> Any:
    """Return a model whose early stopping, if it has one, watches the steering lists."""
    params = model.get_params(deep=False)
    if params.get("early_stopping") is not None and "validation" in params:
        return model.set_params(validation=before.prepared(steer))
    return model


def _path(
    model: Any,
    path: Mapping[str, Sequence[Any]],
    before: Alternative,
    data: RankingData,
    steer: RankingData,
) -> Iterable[Point]:
    """Yield the fitted candidates of a path, all at once where the ranker can."""
    ((parameter, values),) = path.items()
    rankers = [clone(model).set_params(**{parameter: _fresh(value)}) for value in values]
    if isinstance(model, FairLambdaMART) and parameter == "alpha":
        model.set_params(validation=before.prepared(steer))
        rankers = model.tradeoff_path(list(values), data).rankers
    elif all(isinstance(ranker, Ranker) for ranker in rankers):
        for error in fit_all(rankers, data):
            if error is not None:
                raise error
    else:
        rankers = [fit(ranker, data) for ranker in rankers]
    for value, ranker in zip(values, rankers, strict=True):
        yield {parameter: value}, replace(before, ranker=ranker)
