"""Write the lowest versions that pyproject.toml allows, as constraints for pip.

``make test-lowest`` installs them: those of the base and of the extra ``test-all`` with all it
names. A package that constraints.txt pins keeps that version.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINNED = re.findall(
    r"^([\w.-]+)==", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE
)


def lower_bounds(requirements: list[str]) -> dict[str, str]:
    """Return the lower bound of each package, following the extras of equirank itself."""
    found: dict[str, str] = {}
    for requirement in requirements:
        if own := re.fullmatch(r"equirank\[(.*)\]", requirement):
            for extra in own[1].split(","):
                found |= lower_bounds(PROJECT["optional-dependencies"][extra])
        elif bound := re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\d.]+)(?:,!=.*)?", requirement):
            found[bound[1]] = bound[2]
        else:
            sys.exit(f"pyproject.toml: expected name>=version, found {requirement!r}")
    return found


lowest = lower_bounds(PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test-all"])
for name, version in sorted(lowest.items()):
    if name not in PINNED:
        sys.stdout.write(f"{name}=={version}\n")
