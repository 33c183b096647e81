"""The tutorial for a robot of one's own says what the settings and the messages are."""

from __future__ import annotations

import re
from pathlib import Path

from planner.world.share import config_dir
from sim_bridge.ros.options import RosOptions

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "tutorials" / "your_robot.md").read_text(encoding="utf-8")


def cells(heading: str) -> list[str]:
    """The first cells of the table below a heading."""
    (section,) = re.findall(rf"^## {heading}$(.*?)^## ", PAGE, re.M | re.S)
    rows = re.findall(r"^\| (.*?) \|", section, re.M)
    return [cell for cell in rows if "`" in cell]


def test_each_setting_has_its_row() -> None:
    named = re.findall(r"`(\w+)`", " ".join(cells("3. The robot's file")))
    assert sorted(named) == sorted(RosOptions.model_fields.keys() - {"version"})


def test_the_sentences_are_those_that_are_said() -> None:
    files = sorted((ROOT / "sim_bridge" / "ros").glob("*.py"))
    source = "".join(file.read_text(encoding="utf-8") for file in files)
    # A sentence of the source may go on in the next line, and has values in braces.
    said = re.sub(r'"\s*\n\s*f?"', "", source)
    said = re.sub(r"\{[^{}\n]*\}", "VALUE", said)
    sentences = cells("When it says")
    assert len(sentences) > 15
    for sentence in sentences:
        words = sentence.strip("`")
        pattern = re.escape(words)
        for shown in ("'map'", "'odom'", "/odom", "NAME", r"\bN\b"):
            pattern = re.sub(re.escape(shown) if shown[0] != "\\" else shown, "VALUE", pattern)
        assert re.search(pattern, said), words


def test_the_public_robots_are_named() -> None:
    for file in (config_dir() / "robots").glob("*.yaml"):
        assert f"`config/robots/{file.name}`" in PAGE
