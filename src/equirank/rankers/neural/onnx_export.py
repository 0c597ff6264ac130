"""ONNX export: the scorer as a graph, written by hand from the network's own steps."""

from pathlib import Path
from typing import Any

import numpy as np

from ...core.extras import require
from .checkpoint import replaced
from .network import Model

__all__ = ["write_onnx"]

#: The operator set: old enough for every runtime still in use.
OPSET = 13
OPERATORS = {"tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid"}


def write_onnx(path: Any, model: Model, weights: dict[str, np.ndarray]) -> None:
    """Write standardisation, layers and output as one graph: float32 ``X`` to ``score``."""
    onnx = require("onnx", "neural")
    require("onnx.helper", "neural")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes: list[Any] = []
    constants: dict[str, np.ndarray] = {}
    now = "X"

    def add(operator: str, *inputs: str, **attributes: Any) -> str:
        name = f"{operator.lower()}_{len(nodes)}"
        nodes.append(helper.make_node(operator, [now, *inputs], [name], **attributes))
        return name

    def constant(name: str, values: np.ndarray) -> str:
        constants[name] = np.ascontiguousarray(values, dtype=np.float32)
        return name

    now = add("Sub", constant("input.mean", weights["input.mean"]))
    now = add("Div", constant("input.scale", weights["input.scale"]))
    for part in (model.features, model.output):
        for step, names in part.steps():
            if step == "noise":
                w1, w2, eta = (weights[name] for name in names)
                now = add("Mul", constant(names[0], w1))
                now = add("Add", constant(f"{names[1]}.shift", w2 * eta))
            elif step == "linear":
                now = add("Gemm", *(constant(name, weights[name]) for name in names), transB=1)
            else:
                now = add(OPERATORS[step])
    if model.classes:
        now = add("Softmax", axis=-1)
        now = add("MatMul", constant("output.values", weights["output.values"][:, None]))
    constants["axis"] = np.array([1], dtype=np.int64)
    nodes.append(helper.make_node("Squeeze", [now, "axis"], ["score"]))
    graph = helper.make_graph(
        nodes,
        "scorer",
        [helper.make_tensor_value_info("X", kind, ["rows", model.features.widths[0]])],
        [helper.make_tensor_value_info("score", kind, ["rows"])],
        [onnx.numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    onnx.checker.check_model(made, full_check=True)
    with replaced(Path(path)) as partial:
        partial.write_bytes(made.SerializeToString())
