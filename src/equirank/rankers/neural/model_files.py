"""Files of neural rankers: checkpoints of a run, and export to ONNX."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from ...core.environment import require
from ...core.errors import DataError, FormatError
from .network import Model
from .training_loop import State

__all__ = ["read_checkpoint", "replaced", "stored_seed", "write_checkpoint", "write_onnx"]


NAME = "checkpoint.safetensors"


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """Yield a temporary path beside the target, and rename it to the target after writing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def write_checkpoint(folder: Any, state: State, identity: dict[str, Any]) -> None:
    """Write the state and the identity of a run; the file is replaced atomically."""
    safetensors = require("safetensors.torch", "neural")
    tensors = {name: getattr(state, name) for name in ("weights", "first", "second", "best")}
    tensors |= {f"kept.{step}": values for step, values in state.kept.items()}
    numbers = {name: getattr(state, name) for name in ("step", "epoch", "losses", "watched")}
    notes = {"identity": json.dumps(identity, sort_keys=True), "numbers": json.dumps(numbers)}
    with replaced(Path(folder) / NAME) as path:
        plain = {name: values.detach().contiguous() for name, values in tensors.items()}
        safetensors.save_file(plain, path, metadata=notes)


def stored_seed(folder: Any) -> int | None:
    """Return the seed of the run in a folder, or None if there is no run."""
    if not (Path(folder) / NAME).exists():
        return None
    return int(_notes(Path(folder) / NAME)["identity"]["seed"])


def read_checkpoint(folder: Any, identity: dict[str, Any], device: Any) -> State | None:
    """Return the state of the run in a folder, or None if there is no run.

    Raises
    ------
    DataError
        If the run has other data or other parameters.
    """
    path = Path(folder) / NAME
    if not path.exists():
        return None
    notes = _notes(path)
    if notes["identity"] != json.loads(json.dumps(identity)):
        other = [key for key, value in notes["identity"].items() if identity.get(key) != value]
        raise DataError(
            "checkpoint must be a new folder, or contain a run on this data with these parameters; "
            f"{str(folder)!r} differs in {', '.join(other) or 'its parameters'}"
        )
    found = require("safetensors.torch", "neural").load_file(path, device=str(device))
    steps = sorted(int(name[5:]) for name in found if name.startswith("kept."))
    kept = {step: found[f"kept.{step}"] for step in steps}
    tensors = {name: found[name] for name in ("weights", "first", "second", "best")}
    return State(**tensors, **notes["numbers"], kept=kept)


def _notes(path: Path) -> dict[str, Any]:
    safetensors = require("safetensors", "neural")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            return {name: json.loads(text) for name, text in file.metadata().items()}
    except (safetensors.SafetensorError, AttributeError, ValueError) as error:
        raise FormatError(f"{str(path)!r} is not a checkpoint: {error}") from None


#: Version of the ONNX operator set, supported by all current runtimes.
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
