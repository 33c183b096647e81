"""CONTRIBUTING.md against the tree: what it sends a contributor to is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
PATHS = sorted(
    word
    for word in set(re.findall(r"`([^`\n]+)`", PAGE))
    if re.fullmatch(r"(?:[a-z_]+/)+(?:[a-z_]+\.(?:py|md))?|[a-z]+\.(?:toml|txt)", word)
)
# "`Planner` of `planner/planning/planner.py`"
NAMES = re.findall(r"`(\w+)`\s+(?:of|in|and its branch in)\s+`([a-z_/]+\.py)`", PAGE)
PARTS = ("planner", "memory updater", "backend", "skill", "chat model", "metric", "bench suite")


def test_there_is_something_to_check() -> None:
    assert len(PATHS) > 25
    assert len(NAMES) > 8


@pytest.mark.needs("papers", "sim_bridge/spot", "sim_bridge/habitat")
@pytest.mark.parametrize("path", PATHS)
def test_every_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("name", "path"), NAMES)
def test_every_name_is_defined_where_the_page_says(name: str, path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^(?:class|def) {name}\b|^{name}(?::|\s=)", text, re.MULTILINE)


@pytest.mark.parametrize("part", PARTS)
def test_every_part_says_how_it_is_checked(part: str) -> None:
    section = re.search(rf"^### An? {part}\n(.*?)(?=^### |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert "\nCheck: " in section[1]
