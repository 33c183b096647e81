"""What of a demo's log is for the screen, and that nothing is missing in the file."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

from planner.demo import is_news, story_writer
from planner.narrator.story import moving_line
from planner.world.errors import PlannerError

STORY = '00:12  agent_0  begins  Pick[cup_0]  ("bring it to the table")'
LINES = [
    ("planner", "narrator started, process 12", False),
    ("planner", "memory died, status 1; restart 1 of 5 in 0.5 s", True),
    ("planner", "narrator is done", False),
    ("narrator", STORY, True),
    ("task_planner", "[INFO] [1795258386.1] [task_planner]: agent_0 begins Pick[cup_0]", False),
    ("memory", "[WARN] [1795258386.1] [memory]: memory is stored again", True),
    ("bridge", "[ERROR] [1795258386.1] [bridge]: no pictures: no OpenGL", True),
    ("bridge", "error: house cottage: no such file", True),
    ("bridge", "Traceback (most recent call last):", True),
    ("bridge", "", False),
]


@pytest.mark.parametrize(("name", "text", "shown"), LINES)
def test_the_story_is_told_once_and_what_went_wrong_is_said(
    name: str, text: str, shown: bool
) -> None:
    assert is_news(name, text) is shown


def test_the_file_has_everything(tmp_path: Path) -> None:
    screen = io.StringIO()
    write = story_writer(tmp_path / "out" / "log.txt", screen)
    for name, text, _ in LINES:
        write(name, text)
    kept = (tmp_path / "out" / "log.txt").read_text().splitlines()
    assert kept == [f"[{name}] {text}" for name, text, _ in LINES]
    assert STORY in screen.getvalue().splitlines()
    assert "[memory] [WARN] [1795258386.1] [memory]: memory is stored again" in screen.getvalue()


def test_the_time_to_the_first_motion_is_reported(tmp_path: Path) -> None:
    screen = io.StringIO()
    write = story_writer(tmp_path / "log.txt", screen)
    write("narrator", moving_line(0.4, "agent_0"))
    write("bridge", "what is moving")
    pattern = r"00:00  agent_0  is moving, \d+\.\d s after the start"
    assert re.fullmatch(pattern, screen.getvalue().splitlines()[0])
    assert screen.getvalue().splitlines()[1] == "[bridge] what is moving"
    assert re.search(pattern, (tmp_path / "log.txt").read_text())


def test_what_all_nodes_say_is_wrong_is_on_the_screen_once(tmp_path: Path) -> None:
    screen = io.StringIO()
    write = story_writer(tmp_path / "log.txt", screen)
    for name in ("bridge", "memory", "narrator"):
        write(name, "error: there is no episode 'x'")
    write("memory", "error: another one")
    assert screen.getvalue().splitlines() == [
        "[bridge] error: there is no episode 'x'",
        "[memory] error: another one",
    ]
    assert len((tmp_path / "log.txt").read_text().splitlines()) == 4


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlannerError, match="cannot be written"):
        story_writer(tmp_path / "file" / "log.txt", io.StringIO())
