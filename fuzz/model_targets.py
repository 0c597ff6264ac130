"""Saved models with damaged files: loaded as saved, or refused."""

import random
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import equirank
from equirank import Reranker
from equirank.allocation import EquityOfAttention
from equirank.core.registry import find

from .mutation import halves, mutated
from .target import Case, Fault, Target

__all__ = ["MODELS", "TARGETS"]

_RNG = np.random.default_rng(0)
_X = _RNG.normal(size=(24, 3))
_Y = np.clip(np.round(_X[:, 0] + 1.0), 0, 3)
_QID = np.repeat([1, 2, 3], 8)
_SEX = np.where(_X[:, 1] > 0, "a", "b")

#: One model per format of files: class and parameters.
MODELS: dict[str, dict[str, Any]] = {
    "RankSVM": {},
    "RankBoost": {"n_estimators": 3},
    "LambdaMART": {"n_estimators": 3, "min_child_samples": 1, "random_state": 0},
    "RegressionRanker": {},
    "DirectRanker": {"random_state": 0, "n_epochs": 2},
    "DELTR": {"random_state": 0},
    "FAStarIR": {"p": 0.4, "protected": "a", "k": 4},
    "PrefixConstraints": {"lower": {"a": 0.2}},
    "EquityOfAttention": {"k": 2},
}


def _use(model: Any) -> list[float]:
    """Return what a model computes for fixed data."""
    if isinstance(model, Reranker):
        result: Any = model.rerank(_X[:, 0], sensitive_features=_SEX, qid=_QID)
        return result.position.astype(float).tolist()
    if isinstance(model, EquityOfAttention):
        return [float(each) for each in model.rank_next([0.3, 0.2, 0.5])]
    return model.predict(_X).tolist()


@cache
def _saved(name: str) -> tuple[dict[str, bytes], list[float]]:
    """Return the files of a saved model, and what it computes after loading."""
    model = find(name)(**MODELS[name])
    if isinstance(model, EquityOfAttention):
        for _ in range(3):
            model.rank_next([0.5, 0.25, 0.25])
    elif not isinstance(model, Reranker):
        model.fit(_X, _Y, qid=_QID, sensitive_features=_SEX)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        model.save(path)
        files = {
            file.relative_to(path).as_posix(): file.read_bytes()
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
        return files, _use(equirank.load(path))


def _drawn(name: str) -> Callable[[random.Random], Case]:
    def draw(rng: random.Random) -> Case:
        files, expected = _saved(name)
        chosen = rng.choice(sorted(files))
        way, files = rng.random(), dict(files)
        if way < 0.03:
            del files[chosen]
        elif way < 0.06:
            depth = rng.choice([100, 5000, 100_000])
            files[chosen] = rng.choice([b"[", b'{"a":']) * depth
        elif way < 0.3:  # one byte
            data = bytearray(files[chosen])
            if data:
                data[rng.randrange(len(data))] = rng.randrange(256)
            files[chosen] = bytes(data)
        elif way < 0.98:
            files[chosen] = mutated(rng, files[chosen], (b"tree_sizes=", b"Tree=0", b'"dtype"'))
        sealed = chosen != "model.json" or b'"digest"' in _saved(name)[0]["model.json"]
        return {"files": files, "changed": chosen, "expected": expected, "sealed": sealed}

    return draw


def _run(case: Case, folder: Path) -> None:
    """Load and use a model; a damaged file that has a digest must not change the result."""
    path = folder / "model"
    for name, data in case["files"].items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    path.mkdir(exist_ok=True)
    model = equirank.load(path)
    result = _use(model)
    if case["sealed"] and result != case["expected"]:
        raise Fault("value", f"{case['changed']} is damaged, and the model computes other numbers")


def _smaller(case: Case) -> Iterator[Case]:
    changed = case["changed"]
    if changed in case["files"]:
        for data in halves(case["files"][changed]):
            yield case | {"files": case["files"] | {changed: data}}


#: Packages without which a model cannot be fitted or saved.
_PACKAGES = {
    "LambdaMART": ("lightgbm",),
    "RegressionRanker": ("skops",),
    "DirectRanker": ("torch", "safetensors"),
    "DELTR": ("torch", "safetensors"),
}

TARGETS = [
    Target(f"model {name}", "models", _drawn(name), _run, smaller=_smaller)
    for name in MODELS
    if all(find_spec(package) for package in _PACKAGES.get(name, ()))
]
