"""Write the vectors: run as ``python -m conformance.generate`` from the top folder."""

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .cases import Case, plain_cases, random_cases
from .catalogue import METRICS, Metric
from .definitions import DEFINITIONS, BadInput, Result, written
from .odd_cases import (
    leakage_cases,
    merit_cases,
    overlap_cases,
    policy_cases,
    ranking_cases,
    test_cases,
)

SCHEMA = 1
TOLERANCE = 1e-12
TARGET = Path(__file__).parents[1] / "src" / "equirank" / "testing" / "vectors"


def cases(name: str, metric: Metric) -> Iterator[Case]:
    """Return all cases of a metric but the golden ones."""
    odd = {
        "test": lambda: test_cases(name),
        "rankings": lambda: ranking_cases(metric.options, name, ids="amortised" in name),
        "merit_draws": lambda: merit_cases(metric.options, name),
        "overlap": lambda: overlap_cases(metric.options, name),
        "policy": lambda: policy_cases(metric.options, name, others=False),
        "policies": lambda: policy_cases(metric.options, name, others=True),
        "leakage": lambda: leakage_cases(metric.options),
    }
    if metric.shape in odd:
        yield from odd[metric.shape]()
        return
    yield from plain_cases(metric.shape, metric.options)
    yield from random_cases(metric.shape, metric.options, name, 20)


def expected(name: str, inputs: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
    """Compute what a case must give."""
    try:
        found = DEFINITIONS[name](inputs, options)
    except BadInput as error:
        return {"error": str(error)}
    if isinstance(found, dict):
        return {**found, "p_value": written(found["p_value"])}
    if isinstance(found, list):
        return {"values": [v if isinstance(v, bool) else written(v) for v in found]}
    if not isinstance(found, Result):
        return {"value": written(found)}
    result: dict[str, Any] = {
        "per_query": [written(value) for value in found.per_query],
        "value": written(found.value),
    }
    if found.groups is not None and options.get("protected") is None:
        result["groups"] = {group: written(value) for group, value in found.groups.items()}
    return result


def plain(value: Any) -> Any:
    """Write numbers that JSON does not know as words."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity"
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


def case(
    name: str, title: str, inputs: Any, options: Any, working: str | None = None
) -> dict[str, Any]:
    """Write one case."""
    result = {"name": title, "inputs": plain(inputs), "options": options}
    if working is not None:
        result["working"] = working
    return {**result, "expected": expected(name, inputs, options)}


def text(name: str) -> str:
    """Return the file of one metric: its facts a line each, then a line per case."""
    metric = METRICS[name]
    facts = {
        "schema_version": SCHEMA,
        "metric": name,
        "object": metric.object,
        "formula": metric.formula,
        "reference": metric.reference,
        "direction": metric.direction,
        "bounds": [metric.low, metric.high],
        "tolerance": TOLERANCE,
    }
    rows = [case(name, g["name"], g["inputs"], g["options"], g["working"]) for g in metric.golden]
    seen = [(row["inputs"], row["options"]) for row in rows]
    titles = {str(row["name"]): 1 for row in rows}
    for title, inputs, options in cases(name, metric):
        row = case(name, title, inputs, options)
        if (row["inputs"], row["options"]) not in seen:
            seen.append((row["inputs"], row["options"]))
            titles[title] = titles.get(title, 0) + 1
            if titles[title] > 1:
                row["name"] = f"{title} ({titles[title]})"
            rows.append(row)
    lines = [
        f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        for key, value in facts.items()
    ]
    body = ",\n".join(f"    {json.dumps(row, ensure_ascii=False)}" for row in rows)
    return "{\n" + ",\n".join(lines) + ',\n  "cases": [\n' + body + "\n  ]\n}\n"


def main() -> None:
    """Write all files, or those of the metrics named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("metrics", nargs="*", help="names of metrics; all without any")
    parser.add_argument("--out", type=Path, default=TARGET, help="the folder to write to")
    asked = parser.parse_args()
    for name in asked.metrics:
        if name not in METRICS:
            parser.error(f"{name} has no table in conformance/catalogue.toml (name the function)")
        if name not in DEFINITIONS:
            parser.error(f"{name} is in no __all__ of a module of conformance/definitions")
    asked.out.mkdir(parents=True, exist_ok=True)
    for name in asked.metrics or METRICS:
        (asked.out / f"{name}.json").write_text(text(name), encoding="utf-8")


if __name__ == "__main__":
    main()
