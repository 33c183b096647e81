"""`Commander`: the code of docs/python_api.md against a whole stack, and what it refuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from bridge_harness import write_world

from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.furnishing import build_furniture
from planner.world.house import House

PAGE = Path(__file__).parents[2] / "docs" / "python_api.md"
TIMEOUT_S = 120.0


def home(small_house: House) -> House:
    """The small house with a bedroom in place of the living room, and a lamp in it that is on."""
    cls = default_catalogue().furniture["floor_lamp"]
    lamp = build_furniture(cls, "floor_lamp_0", "bedroom_0", 4.8, 3.4, 0.0, cls.size_min_m)
    lamp = lamp.model_copy(update={"states": {**lamp.states, "powered_on": True}})
    changed = {"name": "home", "furniture": (*small_house.furniture, lamp)}
    text = (
        small_house.model_copy(update=changed)
        .model_dump_json(by_alias=True)
        .replace("living_room", "bedroom")
    )
    return House.model_validate_json(text)


@pytest.fixture(scope="module")
def stack(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Iterator[Path]:
    """A whole stack with a task that an instruction without words carries out; gives its log."""
    folder = tmp_path_factory.mktemp("up")
    # In a large house the search for more lamps takes minutes.
    house, places = home(small_house), {"objects": ["cup_0"], "receptacles": ["table_1"]}
    asked = {
        "house": house.name,
        "instruction": "Bring the cup to the table in the bedroom.",
        "evaluation": {"propositions": [{"function_name": "is_on_top", "args": places}]},
    }
    episode = write_world(folder, house, small_episode.model_copy(update=asked))
    log = folder / "up.log"
    # The world goes on while programs start: few pictures, or it does little else than draw.
    words = [f"episode:={episode}", "planner:=expert", "pace:=3.0", "cameras:=hand"]
    with log.open("w") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "planner.cli", "up", *words, "camera_hz:=1.0"],
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield log
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)
        print(log.read_text())


def program(code: str) -> subprocess.CompletedProcess[str]:
    """A user's program, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S * 2,
        check=False,
    )


@pytest.mark.slow
def test_the_code_of_the_page_runs(stack: Path) -> None:
    (code,) = re.findall(r"```python skip\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    until_s = time.monotonic() + TIMEOUT_S
    while "task_planner" not in stack.read_text() and time.monotonic() < until_s:
        time.sleep(0.1)
    done = program(code.replace("Commander()", f"Commander(wait_s={TIMEOUT_S})"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Ended(succeeded=True, code='SUCCESS', text='Successful")
    ended, known = done.stdout.splitlines()[:2]
    assert ended.endswith("hands=(None,))")
    assert "lamp" in known


@pytest.mark.slow
def test_tasks_end_are_stopped_and_refused(stack: Path) -> None:
    code = f"""
from planner.commander.node import Commander
from planner.world.errors import PlannerError
with Commander(wait_s={TIMEOUT_S}) as robots:
    robots.instruct("")
    print(robots.wait({TIMEOUT_S}).code)
    robots.skill("Explore[kitchen_0]")
    try:
        robots.instruct("Sing.")
    except PlannerError as error:
        print(error)
    robots.stop()
    ended = robots.wait({TIMEOUT_S})
    print(ended.succeeded, ended.code)
    robots.skill("Navigate[no_such_place]")
    print(robots.wait({TIMEOUT_S}).code)
    try:
        robots.skill("Dance[]")
    except PlannerError as error:
        print(error)
"""
    done = program(code)
    assert done.returncode == 0, done.stdout + done.stderr
    first, busy, stopped, unknown, dance = done.stdout.splitlines()
    assert first == "DONE"
    assert busy == "a goal is still active: wait for its end, or stop it"
    assert stopped in ("False CANCELED", "False NOT_ALLOWED")
    assert unknown == "UNKNOWN_ENTITY"
    assert "there is no skill 'Dance'" in dance


def test_an_absent_node_is_one_error() -> None:
    code = """
from planner.commander.node import Commander
from planner.world.errors import PlannerError
with Commander("/nowhere", wait_s=0.5) as robots:
    try:
        robots.memory()
    except PlannerError as error:
        print(error)
"""
    done = program(code)
    assert done.stdout == "no server for memory/query; is a memory running? (planner up)\n", done
