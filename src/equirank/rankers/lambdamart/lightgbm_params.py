"""Parameters and input of LightGBM: names, constraints, check of stored trees."""

import os
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError, FormatError, suggest
from ...core.pair_cost import PairCost
from ...core.params import Check, Instance, Vector
from ...core.random import as_seed
from ...core.registry import parse_metrics

__all__ = [
    "BASE",
    "COLUMNS",
    "DISTANCE",
    "PAIR_COST",
    "RANKING_DATA",
    "as_matrix",
    "check_names",
    "check_trees",
    "defaults_beside",
    "lightgbm_names",
    "lightgbm_params",
    "metric_name",
    "n_threads",
    "try_options",
    "without_output",
]


#: Parameters of LightGBM that a class or one of its own parameters sets, with the reason to refuse.
RESERVED = {
    "objective": "the class sets it",
    "metric": "the metric watched is a metric of equirank",
    "num_iterations": "use n_estimators",
    "learning_rate": "use learning_rate",
    "num_leaves": "use num_leaves",
    "min_data_in_leaf": "use min_child_samples",
    "early_stopping_round": "use early_stopping",
    "num_threads": "use n_jobs",
    "seed": "use random_state",
    "num_class": "the class sets it",
    "categorical_feature": "use categorical",
    "lambdarank_truncation_level": "use truncation",
    "lambdarank_norm": "use normalize",
    "sigmoid": "use sigma",
    "verbosity": "the library prints nothing",
}


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads; None and -1 mean all cores available to this process."""
    if n_jobs is None or n_jobs < 1:
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else (os.cpu_count() or 1)
    return int(n_jobs)


def lightgbm_names() -> frozenset[str]:
    """Return all names and aliases of LightGBM's parameters; empty if they are not known."""
    aliases = getattr(require("lightgbm", "lightgbm").basic, "_ConfigAliases", None)
    if aliases is None:
        return frozenset()
    names = set(aliases._get_all_param_aliases())
    return frozenset(names.union(*(aliases.get(name) for name in names)))


def check_names(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise `DataError` for names that LightGBM does not accept or that `RESERVED` lists."""
    lightgbm = require("lightgbm", "lightgbm")
    aliases = getattr(lightgbm.basic, "_ConfigAliases", None)
    if aliases is None:
        return
    lightgbm_names = set(aliases._get_all_param_aliases())
    every = {name: aliases.get(name) for name in lightgbm_names}
    for name in given:
        for main, reason in RESERVED.items():
            if name in every.get(main, {main}):
                raise DataError(f"{name} must not be given to {owner}: {reason}")
        if not any(name in names for names in every.values()):
            hint = suggest(name, [*known, *lightgbm_names])
            raise DataError(
                f"{name} must be a parameter of {owner} or of LightGBM, and is neither{hint}"
            )


def lightgbm_params(
    *,
    learning_rate: float,
    num_leaves: int,
    min_child_samples: int,
    n_jobs: int | None,
    random_state: Any,
    options: dict[str, Any],
) -> dict[str, Any]:
    """Return the parameters for LightGBM; ``options`` of the user override the defaults.

    Histograms are built by column and in a fixed order, so that neither the number of threads nor
    the load of the machine changes a result.
    """
    params: dict[str, Any] = {
        "learning_rate": learning_rate,
        "num_leaves": num_leaves,
        "min_data_in_leaf": min_child_samples,
        "num_threads": n_threads(n_jobs),
        "verbosity": -1,
        "deterministic": True,
    }
    if not {"force_row_wise", "force_col_wise"} & set(options):
        params["force_col_wise"] = True
    if random_state is not None:
        params["seed"] = as_seed(random_state) % (2**31 - 1)
    return params | options


def defaults_beside(options: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    """Return the defaults that the options of the user do not state under any name."""
    aliases = getattr(require("lightgbm", "lightgbm").basic, "_ConfigAliases", None)
    return {
        name: value
        for name, value in defaults.items()
        if not (aliases.get(name) if aliases is not None else {name}) & options.keys()
    }


def try_options(owner: str, params: dict[str, Any], n_features: int) -> None:
    """Raise `DataError` for values that LightGBM refuses, by a booster of a few made-up rows.

    LightGBM would print the same error before it raises it.
    """
    lightgbm = require("lightgbm", "lightgbm")
    aliases = getattr(lightgbm.basic, "_ConfigAliases", None)
    if aliases is None or n_features > 10_000:  # rows of so many columns would take long
        return
    left_out = aliases.get("machines", "num_machines", "machine_list_filename")
    params = {name: value for name, value in params.items() if name not in left_out}
    params |= {"objective": "none" if callable(params.get("objective")) else "regression"}
    X = np.random.default_rng(0).random((64, n_features))
    try:
        with without_output():
            rows = lightgbm.Dataset(X, X[:, 0], params=params | {"feature_pre_filter": False})
            lightgbm.Booster(params, rows)
    except lightgbm.basic.LightGBMError as error:
        words = re.sub(r" at \S+, line \d+ \.$", "", str(error).strip())
        raise DataError(
            f"the options of {owner} for LightGBM must be accepted by it: {words}"
        ) from None


class _Held:
    """Output of this process while LightGBM writes to it, for any number of threads."""

    lock = Lock()
    n_blocks = 0
    #: Each file descriptor, a copy of it, and the file that it leads to meanwhile.
    files: tuple[tuple[int, int, Any], ...] = ()


@contextmanager
def without_output() -> Iterator[None]:
    """Hold back stdout and stderr of this process, and drop the lines of LightGBM.

    LightGBM writes to the file descriptors, whatever its verbosity: an error before it is raised,
    and "Listening..." in the thread that waits for other machines. Lines of others are written when
    the block ends, so this is for short blocks.
    """
    with _Held.lock:
        _Held.n_blocks += 1
        if _Held.n_blocks == 1:
            _Held.files = tuple(_hold(descriptor) for descriptor in (1, 2))
    try:
        yield
    finally:
        with _Held.lock:
            _Held.n_blocks -= 1
            if _Held.n_blocks == 0:
                for held in _Held.files:
                    _release(*held)


def _hold(descriptor: int) -> tuple[int, int, Any]:
    """Lead a file descriptor to a temporary file; a copy of -1 means that it is closed."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    try:
        copy = os.dup(descriptor)
    except OSError:
        return descriptor, -1, None
    file = tempfile.TemporaryFile()  # noqa: SIM115 (_release closes it)
    os.dup2(file.fileno(), descriptor)
    return descriptor, copy, file


def _release(descriptor: int, copy: int, file: Any) -> None:
    """Restore a file descriptor, and write what others wrote meanwhile."""
    if copy < 0:
        return
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os.dup2(copy, descriptor)
    os.close(copy)
    with file:
        file.seek(0)
        rest = re.sub(rb"(?m)^\[LightGBM\] .*\n\n?", b"", file.read())
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def as_matrix(X: Any) -> Any:
    """Return X, a sparse array as the SciPy matrix that LightGBM accepts."""
    if hasattr(X, "tocsr"):
        from scipy.sparse import csr_matrix

        return csr_matrix(X)
    return X


def _is_base(value: Any) -> bool:
    return value is None or hasattr(value, "predict") or Vector().accepts(value)


def _are_columns(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(
        isinstance(part, str) or (isinstance(part, int) and part >= 0) for part in value
    )


RANKING_DATA = Instance(RankingData, "a RankingData")
PAIR_COST = Instance(PairCost, "a PairCost")
DISTANCE = Check(callable, "a function of (count, cut, n, size)")
BASE = Check(_is_base, "a model with predict, a score for each row, or None")
COLUMNS = Check(_are_columns, "a list of columns of X, by name or number")


def metric_name(*words: str) -> Check:
    """Return the constraint of metrics or their names; a class may accept further words."""

    def accepts_one(value: Any) -> bool:
        if isinstance(value, str) and value in words:
            return True
        try:
            return len(parse_metrics(value)) == 1
        except DataError:
            return False

    def accepts(value: Any) -> bool:
        if not isinstance(value, (list, tuple)):
            return accepts_one(value)
        return len(value) > 0 and all(map(accepts_one, value))

    others = "".join(f", or {word!r}" for word in words)
    return Check(accepts, f"a metric or its name, such as 'NDCG@10'{others}, or a list of them")


#: Lists of a stored tree with one value per leaf, and with one per inner node.
PER_LEAF = ("leaf_value", "leaf_weight", "leaf_count")
PER_NODE = (
    *("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child"),
    *("internal_value", "internal_weight", "internal_count"),
)
#: Exponents outside the range of doubles, on which LightGBM ends the process.
TOO_LARGE = re.compile(rb"e[-+]?0*(30[89]|3[1-9]\d|[4-9]\d\d|\d{4})")
WHOLE = frozenset({"split_feature", "decision_type", "left_child", "right_child"})


def check_trees(raw: bytes, name: str, n_features: int) -> None:
    """Raise `FormatError` unless a text is a complete booster whose trees are valid.

    LightGBM ends the process, or reads outside its memory, on some texts that are cut short or
    changed. The text must have its end marks, and every tree the stated length, the stated number
    of values, existing features, and children that follow their node.
    """

    def fail(reason: str) -> Any:
        raise FormatError(f"{name} is damaged: {reason}")

    begin, end = raw.find(b"\n\nTree=0\n") + 2, raw.find(b"\nend of trees\n") + 1
    if not raw.startswith(b"tree\n") or begin < 2 or end < begin:
        fail("it is not a complete text of LightGBM's trees")
    if re.search(rb"\nparameters:\n(\[\w+: [^\n]*\]\n)*\nend of parameters\n", raw[end:]) is None:
        fail("its list of parameters is missing or incomplete")
    try:
        head = _entries(raw[5:begin].replace(b"\naverage_output\n", b"\n"))
        sizes = [int(size) for size in head[b"tree_sizes"].split()]
        last = int(head[b"max_feature_idx"])
        counts = {len(head[key].split()) for key in (b"feature_names", b"feature_infos")}
        classes = {int(head[key]) for key in (b"num_class", b"num_tree_per_iteration")}
        n_classes = classes.pop()
    except (KeyError, ValueError) as error:
        fail(f"its head has no valid entry {error}")
    if counts != {last + 1} or last + 1 != n_features:
        fail(f"its head must describe {n_features} features")
    if classes or n_classes < 1 or len(sizes) % n_classes:
        fail("its number of classes is invalid")
    if min(sizes) < 1 or begin + sum(sizes) != end:
        fail(f"its trees must have {sum(sizes)} bytes, got {end - begin}")
    for number, size in enumerate(sizes):
        block = raw[begin : begin + size]
        begin += size
        if not block.startswith(b"Tree=%d\n" % number):
            fail(f"tree {number} is not where it should be")
        try:
            valid = _is_tree(_entries(block), n_features)
        except (KeyError, ValueError):
            valid = False
        if not valid:
            fail(f"tree {number} is invalid")


def _entries(block: bytes) -> dict[bytes, bytes]:
    """Return the lines ``key=value`` of a block, which must be different and have no other form."""
    pairs = [line.split(b"=", 1) for line in block.split(b"\n") if line]
    found = {key: value for key, *values in pairs for value in values}
    if len(found) != len(pairs):
        raise ValueError("of another form")
    return found


def _is_tree(lines: dict[bytes, bytes], n_features: int) -> bool:
    """Return whether the entries of a tree fit together."""

    def numbers(key: str, count: int, kind: type = np.float64) -> np.ndarray:
        text = lines[key.encode()]
        if re.fullmatch(rb"[-+0-9.einfa ]*", text) is None or TOO_LARGE.search(text):
            raise ValueError
        values = np.array([int(word) if kind is int else float(word) for word in text.split()])
        if len(values) != count:
            raise ValueError
        return values

    n_leaves, n_cat = int(lines[b"num_leaves"]), int(lines[b"num_cat"])
    float(lines[b"shrinkage"])
    for key in PER_LEAF:
        if key == "leaf_value" or (n_leaves > 1 and key.encode() in lines):
            numbers(key, n_leaves)
    if n_leaves > 1:
        found = {
            key: numbers(key, n_leaves - 1, int if key in WHOLE else float)
            for key in PER_NODE
            if key in WHOLE or key == "threshold" or key.encode() in lines
        }
        nodes = np.arange(n_leaves - 1)
        for child in (found["left_child"], found["right_child"]):
            inner = child >= 0
            if (child[inner] <= nodes[inner]).any() or (child >= n_leaves - 1).any():
                return False
            if (child < -n_leaves).any():
                return False
        if (found["split_feature"] < 0).any() or (found["split_feature"] >= n_features).any():
            return False
        chosen = found["threshold"][found["decision_type"] & 1 == 1]
        if (chosen != np.floor(chosen)).any() or (chosen < 0).any() or (chosen >= n_cat).any():
            return False
    if n_cat > 0:
        bounds = numbers("cat_boundaries", n_cat + 1, int)
        if bounds[0] != 0 or (np.diff(bounds) < 0).any():
            return False
        bits = numbers("cat_threshold", int(bounds[-1]), int)
        if (bits < 0).any() or (bits >= 1 << 32).any():
            return False
    if lines[b"is_linear"] == b"0":
        return n_leaves >= 1
    numbers("leaf_const", n_leaves)
    counts = numbers("num_features", n_leaves, int)
    used = numbers("leaf_features", int(counts.sum()), int)
    numbers("leaf_coeff", len(used))
    return bool((counts >= 0).all() and (used >= 0).all() and (used < n_features).all())
