"""Files of neural rankers: checkpoints of a run, and export to ONNX."""

import hashlib
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
from ...core.persistence import SavedFiles, parse_json
from .network import Model
from .training_loop import State

__all__ = [
    "read_checkpoint",
    "read_weights",
    "replaced",
    "stored_seed",
    "write_checkpoint",
    "write_onnx",
]


NAME = "checkpoint.safetensors"
NOTES = ("identity", "numbers")


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


def read_weights(files: SavedFiles, name: str, model: Model) -> dict[str, np.ndarray]:
    """Return the weights in a file of a saved model, which must be those of its network."""
    raw, path = files.read(name), str(files.folder / name)
    safetensors = require("safetensors.numpy", "neural")
    try:
        found: dict[str, np.ndarray] = safetensors.load(raw)
    except Exception as error:  # whatever safetensors makes of a damaged file
        raise FormatError(f"{path!r} is damaged: {error}") from error
    width = (model.features.widths[0],)
    shapes: dict[str, Any] = {**model.shapes(), "input.mean": width, "input.scale": width}
    if model.features.noise:
        shapes[f"{model.features.name}.eta"] = width
    if model.classes:
        shapes["output.values"] = (model.output.widths[-1],)
    for key, shape in shapes.items():
        got = found[key].shape if key in found else None
        if got != shape or found[key].dtype.kind != "f":
            raise FormatError(f"{path!r} is damaged: {key} must have the shape {shape}, got {got}")
    return found


def write_checkpoint(folder: Any, state: State, identity: dict[str, Any]) -> None:
    """Write the state and the identity of a run; the file is replaced atomically."""
    safetensors = require("safetensors.torch", "neural")
    tensors = {name: getattr(state, name) for name in ("weights", "first", "second", "best")}
    tensors |= {f"kept.{step}": values for step, values in state.kept.items()}
    numbers = {name: getattr(state, name) for name in ("step", "epoch", "losses", "watched")}
    notes = {"identity": json.dumps(identity, sort_keys=True), "numbers": json.dumps(numbers)}
    with replaced(Path(folder) / NAME) as path:
        plain = {name: values.detach().contiguous() for name, values in tensors.items()}
        notes["digest"] = json.dumps(_digest(notes, plain))
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
    texts = {name: json.dumps(notes[name], sort_keys=name == "identity") for name in NOTES}
    if notes.get("digest", _digest(texts, found)) != _digest(texts, found):
        raise FormatError(
            f"{str(path)!r} is damaged: its contents differ from those that were saved"
        )
    try:
        steps = sorted(int(name[5:]) for name in found if name.startswith("kept."))
        kept = {step: found[f"kept.{step}"] for step in steps}
        tensors = {name: found[name] for name in ("weights", "first", "second", "best")}
        return State(**tensors, **notes["numbers"], kept=kept)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{str(path)!r} is damaged: {error!r}") from None


def _digest(notes: dict[str, str], tensors: dict[str, Any]) -> str:
    """Return a digest of the notes and the tensors of a checkpoint."""
    digest = hashlib.sha256(json.dumps(notes, sort_keys=True).encode())
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(tensors[name].detach().cpu().numpy().tobytes())
    return digest.hexdigest()


def _notes(path: Path) -> dict[str, Any]:
    safetensors = require("safetensors", "neural")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            texts = file.metadata().items()
            notes = {name: parse_json(text, repr(str(path))) for name, text in texts}
        if not all(isinstance(notes.get(name), dict) for name in NOTES):
            raise ValueError("it has no identity and no numbers")
        int(notes["identity"]["seed"])
        return notes
    except (safetensors.SafetensorError, AttributeError, TypeError, KeyError, ValueError) as error:
        raise FormatError(f"{str(path)!r} is not a checkpoint: {error}") from None


#: Version of the ONNX operator set, supported by all current runtimes.
OPSET = 13
OPERATORS = {"tanh": "Tanh", "relu": "Relu", "sigmoid": "Sigmoid"}


def write_onnx(path: Any, model: Model, weights: dict[str, np.ndarray]) -> None:
    """Write standardisation, layers and output as one graph: float32 ``X`` to ``score``."""
    onnx = require("onnx", "onnx")
    require("onnx.helper", "onnx")
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
