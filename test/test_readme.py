"""README.md: its code runs, its pictures are small, its figures are those of the files."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import badges
import pytest
import yaml
from PIL import Image

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"```python\n(.*?)```", README, re.S)


def test_the_code_is_ten_lines_and_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert len([line for line in CODE.splitlines() if line.strip()]) <= 10
    names: dict[str, object] = {}
    exec(compile(CODE, "README.md", "exec"), names)  # noqa: S102 - our own page
    said = capsys.readouterr().out
    assert said.startswith("True ")
    assert names["info"]["percent_complete"] >= 0.0  # type: ignore[index]
    names["env"].close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "frames"), [("demo", 50), ("console", 30)])
def test_the_moving_pictures_move_and_are_small(name: str, frames: int) -> None:
    path = ROOT / "docs" / f"{name}.webp"
    assert path.stat().st_size < 3_000_000
    assert f"](docs/{name}.webp)" in README
    with Image.open(path) as picture:
        assert picture.n_frames > frames


def test_badges_say_what_the_files_say() -> None:
    for name, (word, value) in badges.facts().items():
        path = ROOT / "docs" / "badges" / f"{name}.svg"
        assert path.read_text(encoding="utf-8") == badges.badge(word, value)
        assert f"](docs/badges/{name}.svg)" in README


def test_the_architecture_s_picture_names_the_nodes() -> None:
    picture = ET.parse(ROOT / "docs" / "architecture.svg")  # noqa: S314 - our own file
    words = " ".join(text.strip() for text in picture.getroot().itertext())
    for node in ("bridge", "memory", "skill executor", "task planner", "evaluator", "recorder"):
        assert node in words
        assert (ROOT / "nodes" / node.replace(" ", "_")).is_file()


def test_the_citation_has_what_readers_of_it_need() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["license"] == "Apache-2.0"
    assert {"cff-version", "message", "title", "authors", "version"} <= citation.keys()
