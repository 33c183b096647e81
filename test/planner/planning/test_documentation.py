"""docs/planning.md against the code: no planner, code or parameter is left out."""

from __future__ import annotations

import re
from pathlib import Path

from planner.planning.instruction import MAX_CHARACTERS
from planner.planning.part import PLANNERS
from planner.world.topics import InstructionCode

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")


def test_every_planner_is_documented() -> None:
    assert [name for name in PLANNERS.names() if f"`{name}`" not in PAGE] == []


def test_every_code_is_documented_with_its_number() -> None:
    told = dict(re.findall(r"^\| (\d+) \| ([A-Z_]+) \|", PAGE, re.MULTILINE))
    assert told == {str(int(code)): code.name for code in InstructionCode}
    assert f"{MAX_CHARACTERS:,} characters" in PAGE


def test_every_parameter_of_the_node_is_documented() -> None:
    folder = ROOT / "planner" / "planning"
    source = "".join((folder / name).read_text("utf-8") for name in ("node.py", "settings.py"))
    declared = r'(?:parameters\.\w+|_word|_path|_price)\(\s*(?:self|node),\s*"(\w+)"'
    names = re.findall(declared, source)
    # The constant of an option is called as it is.
    names += [each.lower() for each in re.findall(r"parameters.declare\(node, ([A-Z_]+)\)", source)]
    names += [option.name for part in PLANNERS.usable().values() for option in part.options]
    assert {"planner", "wait", "control", "model_wait", "whole_list", "price_reply"} <= set(names)
    rows = "".join(line for line in PAGE.splitlines() if line.startswith("| `"))
    assert [name for name in names if f"`{name}`" not in rows] == []
