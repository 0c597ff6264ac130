"""The pages that lead to a method name only what exists."""

import re
from pathlib import Path
from types import ModuleType

import pytest

import equirank

DOCS = Path(__file__).parents[2] / "docs"
MEMBERS = [getattr(equirank, name) for name in equirank.__all__]
PACKAGES = [equirank, *(member for member in MEMBERS if isinstance(member, ModuleType))]
PUBLIC = {name for package in PACKAGES for name in package.__all__}


@pytest.mark.parametrize("page", ["choosing", "explain", "neighbours", "world_views"])
def test_every_name_exists(page):
    text = re.sub(r"```.*?```", "", (DOCS / f"{page}.md").read_text(encoding="utf-8"), flags=re.S)
    named = {word for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}
    named = {word for word in named if re.match(r"[A-Z]\w*[a-z]|[A-Z]{3}", word)}
    assert len(named) > 2
    assert named <= PUBLIC, f"{page}.md names {sorted(named - PUBLIC)}"


def test_the_chooser_links_to_every_guide_it_can():
    text = (DOCS / "choosing.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\]\((\w+)\.md\)", text))
    assert {"audit", "boosting", "lambdamart", "policies", "preprocess", "reranking"} <= linked
