"""Trees of LightGBM as an ONNX file with one TreeEnsembleRegressor."""

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...core.environment import require
from ...core.errors import DataError
from ...io.files import replacing

__all__ = ["write_onnx_trees"]


#: Versions of the operator sets, supported by all current runtimes.
OPSET, ML_OPSET = 13, 3
#: Numbers up to this size count as 0 in LightGBM.
ZERO = np.float32(1e-35)

#: Ends of intervals with the side on which each is, and the side after the last end.
Split = tuple[list[tuple[np.float32, str]], str]


def write_onnx_trees(
    path: Any, dump: Mapping[str, Any], properties: Mapping[str, Any], owner: str
) -> None:
    """Write trees as one graph: float32 ``X`` (rows x features) to ``score`` (rows).

    Parameters
    ----------
    path : path
        The file.
    dump : mapping
        The result of ``Booster.dump_model``.
    properties : mapping
        Further values, written as JSON into the metadata of the model.
    owner : str
        Class of the ranker, for messages.
    """
    onnx = require("onnx", "onnx")
    require("onnx.helper", "onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    ensemble = _Ensemble()
    for number, tree in enumerate(dump["tree_info"]):
        if "leaf_coeff" in json.dumps(tree["tree_structure"]):
            raise DataError(f"linear_tree of {owner} must be False to export ONNX")
        ensemble.add_tree(number, tree["tree_structure"])
    n_features = int(dump["max_feature_idx"]) + 1
    nodes = [
        helper.make_node(
            "TreeEnsembleRegressor", ["X"], ["scores"], domain="ai.onnx.ml", n_targets=1,
            aggregate_function="SUM", post_transform="NONE", **ensemble.attributes,
        ),
        helper.make_node("Squeeze", ["scores", "axis"], ["score"]),
    ]  # fmt: skip
    graph = helper.make_graph(
        nodes,
        "trees",
        [helper.make_tensor_value_info("X", kind, ["rows", n_features])],
        [helper.make_tensor_value_info("score", kind, ["rows"])],
        [onnx.numpy_helper.from_array(np.array([1], dtype=np.int64), "axis")],
    )
    sets = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", ML_OPSET)]
    made = helper.make_model(graph, opset_imports=sets, ir_version=8)
    helper.set_model_props(made, {key: json.dumps(value) for key, value in properties.items()})
    onnx.checker.check_model(made, full_check=True)
    os.makedirs(os.path.dirname(os.path.abspath(os.fspath(path))), exist_ok=True)
    with replacing(path) as file:
        file.write(made.SerializeToString())


class _Ensemble:
    """Attributes of a TreeEnsembleRegressor, filled tree by tree."""

    def __init__(self) -> None:
        names = [
            *("treeids", "nodeids", "featureids", "modes", "values", "truenodeids"),
            *("falsenodeids", "missing_value_tracks_true"),
        ]
        self.nodes: dict[str, list[Any]] = {name: [] for name in names}
        self.leaves: dict[str, list[Any]] = {
            name: [] for name in ("treeids", "nodeids", "ids", "weights")
        }

    @property
    def attributes(self) -> dict[str, list[Any]]:
        """The attributes by their names in ONNX."""
        nodes = {f"nodes_{name}": values for name, values in self.nodes.items()}
        return nodes | {f"target_{name}": values for name, values in self.leaves.items()}

    def add_tree(self, tree: int, root: Mapping[str, Any]) -> None:
        """Add a tree; every node comes after its parents, since the first one counts as the root.

        A split may take several nodes in a row. They share the two children: a copy for each of
        them would multiply with the depth.
        """
        begin = len(self.nodes["nodeids"])
        first: dict[int, int] = {}  # number of the first ONNX node of a part of the tree
        waiting: list[tuple[str, int, Mapping[str, Any]]] = []
        parts = [root]
        while parts:
            part = parts.pop()
            first[id(part)] = len(self.nodes["nodeids"]) - begin
            if "leaf_value" in part:
                self._add_leaf(tree, first[id(part)], float(part["leaf_value"]))
                continue
            children = {"left": part["left_child"], "right": part["right_child"]}
            ends, last = _split(part)
            to_missing = _side_of_missing(part)
            for at, (end, side) in enumerate(ends):
                node = first[id(part)] + at
                tracks = int(side == to_missing)
                self._add_node(
                    tree, node, int(part["split_feature"]), "BRANCH_LEQ", float(end), tracks
                )
                waiting.append(("truenodeids", begin + node, children[side]))
                if at < len(ends) - 1:
                    self.nodes["falsenodeids"][begin + node] = node + 1
                else:
                    waiting.append(("falsenodeids", begin + node, children[last]))
            parts += [children["right"], children["left"]]
        for name, at, child in waiting:
            self.nodes[name][at] = first[id(child)]

    def _add_leaf(self, tree: int, node: int, value: float) -> None:
        self._add_node(tree, node, 0, "LEAF", 0.0, 0)
        found = {"treeids": tree, "nodeids": node, "ids": 0, "weights": value}
        for name, each in found.items():
            self.leaves[name].append(each)

    def _add_node(
        self, tree: int, node: int, feature: int, mode: str, end: float, tracks: int
    ) -> None:
        for values, each in zip(
            self.nodes.values(), (tree, node, feature, mode, end, 0, 0, tracks), strict=True
        ):
            values.append(each)


def _split(node: Mapping[str, Any]) -> Split:
    """Return the intervals of a feature that go to the left and to the right child."""
    if node["decision_type"] == "==":
        return _of_categories([int(code) for code in str(node["threshold"]).split("||")])
    end = float32_below(float(node["threshold"]))
    before = np.nextafter(-ZERO, np.float32(-np.inf))
    if abs(end) <= ZERO:  # LightGBM takes numbers of this size for 0
        end = before if end < 0 else ZERO
    default = "left" if node["default_left"] else "right"
    if node["missing_type"] != "Zero" or default == ("left" if end >= 0 else "right"):
        return [(end, "left")], "right"
    if default == "right":  # zeros leave the left side
        return [(before, "left"), (ZERO, "right"), (end, "left")], "right"
    return [(end, "left"), (before, "right"), (ZERO, "left")], "right"


def _of_categories(codes: Sequence[int]) -> Split:
    """Return the intervals of the runs of codes that go to the left child.

    Examples
    --------
    >>> ends, last = _of_categories([0, 1, 4])
    >>> [(float(end), side) for end, side in ends], last
    ([(-0.5, 'right'), (1.5, 'left'), (3.5, 'right'), (4.5, 'left')], 'right')
    """
    ends: list[tuple[np.float32, str]] = []
    known = set(codes)
    for code in sorted(known):
        if code - 1 not in known:
            ends.append((np.float32(code - 0.5), "right"))
        if code + 1 not in known:
            ends.append((np.float32(code + 0.5), "left"))
    return ends, "right"


def _side_of_missing(node: Mapping[str, Any]) -> str:
    """Return the side of NaN: by category right, by type of missing values the default, or as 0."""
    if node["decision_type"] == "==":
        return "right"
    if node["missing_type"] == "None":
        return "left" if float(node["threshold"]) >= 0.0 else "right"
    return "left" if node["default_left"] else "right"


def float32_below(value: float) -> np.float32:
    """Return the largest float32 that is not above a number: float32 features split alike.

    Examples
    --------
    >>> float(float32_below(0.5)), float(float32_below(0.1)) < 0.1
    (0.5, True)
    """
    with np.errstate(over="ignore"):
        near = np.float32(value)
    return np.nextafter(near, np.float32(-np.inf)) if float(near) > value else near
