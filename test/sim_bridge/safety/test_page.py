"""docs/safety.md: its defaults are the shipped ones, and the tests that it names exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from sim_bridge.safety.options import Rule, default_safety

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
FOLDERS = (
    "test/sim_bridge",
    "test/integration",
    "test/planner/security",
    "test/planner/skills",
)


def rows(title: str) -> list[list[str]]:
    """The cells of the table under a heading."""
    part = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def known_tests() -> set[str]:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("test_*.py")]
    return {
        node.name.removeprefix("test_")
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    }


def test_every_rule_has_a_row_and_at_least_one_test() -> None:
    table = rows("Rules")
    assert [int(number) for number, *_ in table] == [int(rule) for rule in Rule]
    assert all(re.findall(r"`\w+`", tests) for *_, tests in table)


def test_the_defaults_are_those_of_the_shipped_file() -> None:
    told = [pair for *_, default, _ in rows("Rules") for pair in default.split(", ") if pair != "-"]
    assert len(told) > 30
    for pair in told:
        name, value = re.fullmatch(r"`([\w.]+)` (\S+)", pair).groups()  # type: ignore[union-attr]
        held: object = default_safety()
        for part in name.split("."):
            held = getattr(held, part)
        same = str(held).lower() == value if isinstance(held, str | bool) else held == float(value)
        assert same, pair


@pytest.mark.needs("sim_bridge/spot")
def test_every_test_that_is_named_exists() -> None:
    titles = (
        "Rules",
        "What was demanded of the tests",
        "Who can reach the robot",
        "What is wrong, and what is said",
    )
    cells = [row[-1] for title in titles for row in rows(title)]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert len(named) > 60
    assert named - known_tests() == set()
