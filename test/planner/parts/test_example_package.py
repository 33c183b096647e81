"""The package of examples/, installed beside this project: its parts are found, run and checked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "household_parts"

# What a dialogue offers a robot, and the grammar of its turn.
OFFERED = """
from planner.models.replies.turn_grammar import Ability, TurnForm, Words, turn_grammar
from planner.planning.prompts.partnr import offered, tool_lines
verbs = offered(None, with_tools=False)
print(tool_lines(verbs, False))
words = Words(("cup_0",), ("fridge_0",), ())
print(turn_grammar(words, {"agent_0": Ability(verbs)}, TurnForm.THOUGHT).text)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has the package."""
    target, source = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("source")
    # A build leaves files beside what it builds.
    shutil.copytree(EXAMPLE, source, dirs_exist_ok=True)
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target"]
    subprocess.run([sys.executable, "-m", "pip", *words, str(target), str(source)], check=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), *sys.path])}


def planner(installed: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "planner.cli", *words]
    return subprocess.run(command, env=installed, capture_output=True, text=True, check=False)


def test_every_file_is_short() -> None:
    for path in EXAMPLE.rglob("*.py"):
        assert len(path.read_text().splitlines()) < 80, path


def test_help_and_doctor_show_its_parts(installed: dict[str, str]) -> None:
    shown = " ".join(planner(installed, "up", "--help").stdout.split())
    assert "lights_out" in shown
    assert "slow_hands" in shown
    assert "--max_rooms VALUE rooms to look into (default: 20)" in shown
    assert "lights_out" in planner(installed, "bench", "all", "--help").stdout
    told = planner(installed, "doctor").stdout
    assert "near-sighted" in planner(installed, "bench", "memory", "--help").stdout
    assert "near-sighted" in shown
    assert "lights_out (household-parts)" in told
    assert "near-sighted (household-parts)" in told
    assert "PutAway (household-parts)" in told
    assert "calls_a_minute (household-parts)" in told
    assert "evenings (household-parts)" in told
    assert "evenings" in planner(installed, "bench", "--help").stdout
    assert "slow_hands (household-parts)" in told
    assert "one_liner (household-parts)" in told
    assert "--line VALUE what the model one_liner says" in shown


def test_its_planner_runs_an_episode_with_its_option(
    installed: dict[str, str], tmp_path: Path
) -> None:
    words = ("--planner", "lights_out", "--max-rooms", "3", "--out", str(tmp_path / "run"))
    done = planner(installed, "bench", "night_light_0", *words)
    assert done.returncode == 0, done.stderr
    settings = json.loads((tmp_path / "run" / "manifest.json").read_text())["settings"]
    assert settings["options"] == {"max_rooms": 3}
    row = json.loads((tmp_path / "run" / "rows.jsonl").read_text().splitlines()[0])
    assert row["planner"] == "lights_out"
    assert row["metrics"]["calls_a_minute"] > 0
    assert "calls_a_minute" in done.stdout
    assert row["error"] is None
    assert row["verdict"]["end"] == "done"
    assert row["verdict"]["percent_complete"] == 0.5, "it switches off the two lamps of the goal"


def test_an_episode_is_run_with_its_chat_model(installed: dict[str, str], tmp_path: Path) -> None:
    words = ("--planner", "react", "--model", "one_liner", "--line", "Done[]")
    done = planner(installed, "run", "night_light_0", *words, "-o", str(tmp_path))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "planner: done after 1 decisions" in done.stdout, done.stdout


def test_a_model_is_told_of_its_skill_and_calls_it(
    installed: dict[str, str], tmp_path: Path
) -> None:
    things = ("butter_dish_0", "milk_carton_0", "juice_carton_0")
    calls = [*(f"PutAway[{thing}, fridge_0]" for thing in things), "Done[]"]
    script = tmp_path / "replies.txt"
    script.write_text("\n\n".join(f"Thought: next.\n{call}\nAssigned!" for call in calls))
    words = ("--planner", "partnr_react", "--model", f"scripted:{script}", "--memory", "full")
    run = ("run", "leftovers_0", *words, "--agents", "1", "--no-images", "-o", str(tmp_path))
    done = planner(installed, *run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PutAway[juice_carton_0, fridge_0]" in done.stdout
    assert "percent_complete: 1.00" in done.stdout
    shown = subprocess.run(
        [sys.executable, "-c", OFFERED], env=installed, capture_output=True, text=True, check=True
    ).stdout
    assert "- PutAway: fetches an object and puts it into furniture" in shown
    assert 'putaway ::= "PutAway[" object "," ws furniture "]"' in shown
    assert shown.index("- Place:") < shown.index("- PutAway:")


def test_its_skill_is_checked(installed: dict[str, str]) -> None:
    done = planner(installed, "check", "skill", "PutAway")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed   does_to_the_world_what_the_memory_notes" in done.stdout
    done = planner(installed, "check", "skill", "PutAway", "--call", "PutAway[cup_0]")
    assert done.stderr == ("error: --call: PutAway takes 2 arguments (object, furniture), not 1\n")


def test_an_episode_is_run_with_its_memory(installed: dict[str, str], tmp_path: Path) -> None:
    words = ("--memory", "near-sighted", "--max-distance-m", "6", "-o", str(tmp_path))
    done = planner(installed, "run", "night_light_0", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    words = ("--memory", "near-sighted", "--max-distance-m", "11", "-o", str(tmp_path))
    done = planner(installed, "run", "night_light_0", *words)
    assert done.stderr == "error: option max_distance_m: 11.0 is greater than 10\n"


def test_a_wrong_option_is_one_line(installed: dict[str, str], tmp_path: Path) -> None:
    words = ("--planner", "lights_out", "--max-rooms", "0", "--out", str(tmp_path / "run"))
    done = planner(installed, "bench", "night_light_0", *words)
    assert done.returncode == 2
    assert done.stderr == "error: option max_rooms: 0 is less than 1\n"
    assert not (tmp_path / "run").exists()


def test_its_own_tests_pass(installed: dict[str, str]) -> None:
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(EXAMPLE)]
    done = subprocess.run(
        [sys.executable, *words, str(EXAMPLE / "test")],
        env=installed,
        capture_output=True,
        text=True,
        check=False,
        cwd=EXAMPLE,
    )
    assert done.returncode == 0, done.stdout
