"""The package of examples/, installed beside this project: its parts are found, run and checked."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "household_parts"

# What a dialogue offers a robot, and the grammar of its turn.
OFFERED = """
import sys
from importlib import import_module
from planner.models.replies.turn import Ability, TurnForm, Words, turn_grammar
prompts = import_module(f"{sys.argv[1]}.partnr.prompts")
verbs = prompts.offered(None, with_tools=False)
print(prompts.tool_lines(verbs, False))
words = Words(("cup_0",), ("fridge_0",), ())
print(turn_grammar(words, {"agent_0": Ability(verbs)}, TurnForm.THOUGHT).text)
"""

# Longer than a command takes on a busy machine, and shorter than a test may.
COMMAND_LIMIT_S = 240

# Forks once per command, as most of the time of each would be the same imports. A command that
# hangs ends with the stacks of its threads, so that the next one gets its own answer.
COMMANDS = """
import faulthandler, json, os, sys
import planner.app.embedded_run, planner.bench.runs.cli, planner.commands.check
import planner.commands.run, planner.doctor, planner.up
from planner.cli import main
for line in sys.stdin:
    words, out, err = json.loads(line)
    child = os.fork()
    if child == 0:
        for path, stream in ((out, 1), (err, 2)):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        faulthandler.dump_traceback_later(LIMIT_S, exit=True)
        sys.argv = ["planner", *words]
        sys.exit(main())
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
""".replace("LIMIT_S", str(COMMAND_LIMIT_S))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a process that has the package."""
    target, source = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("source")
    # A build leaves files beside what it builds.
    shutil.copytree(EXAMPLE, source, dirs_exist_ok=True)
    words = ["install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target"]
    subprocess.run([sys.executable, "-m", "pip", *words, str(target), str(source)], check=True)
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), *sys.path])}


@dataclass(frozen=True)
class Done:
    """The end of a command."""

    returncode: int
    stdout: str
    stderr: str


class Planner:
    """The command `planner` where the package is installed."""

    def __init__(self, process: subprocess.Popen[str], folder: Path) -> None:
        self._process = process
        self._out, self._err = folder / "out", folder / "err"

    def __call__(self, *words: str) -> Done:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([words, str(self._out), str(self._err)]), file=self._process.stdin)
        self._process.stdin.flush()
        status = int(self._process.stdout.readline())
        return Done(status, self._out.read_text(), self._err.read_text())


@pytest.fixture(scope="module")
def planner(
    installed: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Planner]:
    words = [sys.executable, "-c", COMMANDS]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, env=installed, text=True, **pipes) as process:
        yield Planner(process, tmp_path_factory.mktemp("said"))


def test_every_file_is_short() -> None:
    for path in EXAMPLE.rglob("*.py"):
        assert len(path.read_text().splitlines()) < 80, path


@pytest.mark.slow
def test_help_and_doctor_show_its_parts(planner: Planner) -> None:
    chosen = ("planner:=lights_out", "model:=one_liner")
    shown = " ".join(planner("up", *chosen, "--help").stdout.split())
    assert "lights_out" in shown
    assert "slow_hands" in shown
    assert "--max_rooms VALUE rooms to look into (default: 20)" in shown
    assert "lights_out" in planner("bench", "all", "--help").stdout
    examined = planner("doctor")
    assert examined.returncode == 0, examined.stdout + examined.stderr
    told = examined.stdout
    assert "near-sighted" in planner("bench", "memory", "--help").stdout
    assert "near-sighted" in shown
    assert "lights_out (household-parts)" in told
    assert "near-sighted (household-parts)" in told
    assert "PutAway (household-parts)" in told
    assert "calls_a_minute (household-parts)" in told
    assert "evenings (household-parts)" in told
    assert "evenings" in planner("bench", "--help").stdout
    assert "bedtimes (household-parts)" in told
    assert "rooms (household-parts)" in told
    assert "the rooms of a house" in planner("--help").stdout
    assert "slow_hands (household-parts)" in told
    assert "one_liner (household-parts)" in told
    assert "--line VALUE what the model one_liner says" in shown
    of_run = " ".join(planner("run", "--planner", "lights_out", "--help").stdout.split())
    assert "--max-rooms VALUE rooms to look into (default: 20)" in of_run


@pytest.mark.slow
def test_a_house_is_written_in_its_format(planner: Planner, tmp_path: Path) -> None:
    done = planner("houses", "export", "inventory", "train_0", "-o", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "kitchen_0: fridge_0\n" in (tmp_path / "train_0.txt").read_text()
    assert "inventory: a list of the furniture" in planner("houses", "export", "--help").stdout
    refused = planner("houses", "export", "inventory", "train_0", "-o", "x", "--scenes", "y")
    assert refused.stderr == "error: --scenes: inventory shows the house by our recipes only\n"


@pytest.mark.slow
def test_faults_are_scheduled_for_its_form(planner: Planner) -> None:
    done = planner("bad-day", "--task", "naps", "--runs", "3", "--list")
    assert done.returncode == 0, done.stderr
    events = [line.split(": ", 1)[1].split("; ") for line in done.stdout.splitlines()]
    assert len(events) == 3
    assert {event.split()[2] for run in events for event in run} == {"freeze"}
    assert "naps" not in planner("bad-day", "--runs", "30", "--list").stdout


@pytest.mark.slow
def test_its_planner_runs_an_episode_with_its_option(planner: Planner, tmp_path: Path) -> None:
    words = ("--planner", "lights_out", "--max-rooms", "3", "--out", str(tmp_path / "run"))
    done = planner("bench", "night_light_0", *words)
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


@pytest.mark.slow
def test_its_command_and_its_table_are_called(planner: Planner) -> None:
    done = planner("rooms", "train_0")
    assert done.returncode == 0, done.stderr
    assert "kitchen" in done.stdout
    assert planner("bench", "table", "bedtimes").stdout.split() == [
        *("ROW", "SOLVED"),
        *("lamps", "leaflet", "1.00"),
    ]
    refused = planner("bench", "table", "bedtimes", "--as", "lamp=RUN")
    assert refused.returncode == 2


@pytest.mark.slow
def test_an_episode_is_run_with_its_chat_model(planner: Planner, tmp_path: Path) -> None:
    words = ("--planner", "react", "--model", "one_liner", "--line", "Done[]")
    done = planner("run", "night_light_0", *words, "-o", str(tmp_path))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "planner: done after 1 decisions" in done.stdout, done.stdout


@pytest.mark.needs("papers")
@pytest.mark.slow
def test_a_model_is_told_of_its_skill_and_calls_it(
    planner: Planner, installed: dict[str, str], tmp_path: Path
) -> None:
    things = ("butter_dish_0", "milk_carton_0", "juice_carton_0")
    calls = [*(f"PutAway[{thing}, fridge_0]" for thing in things), "Done[]"]
    script = tmp_path / "replies.txt"
    script.write_text("\n\n".join(f"Thought: next.\n{call}\nAssigned!" for call in calls))
    words = ("--planner", "partnr_react", "--model", f"scripted:{script}", "--memory", "full")
    run = ("run", "leftovers_0", *words, "--agents", "1", "--no-images", "-o", str(tmp_path))
    done = planner(*run)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PutAway[juice_carton_0, fridge_0]" in done.stdout
    assert "percent_complete: 1.00" in done.stdout
    shown = subprocess.run(
        [sys.executable, "-c", OFFERED, "papers"],
        env=installed,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "- PutAway: fetches an object and puts it into furniture" in shown
    assert 'putaway ::= "PutAway[" object "," ws furniture "]"' in shown
    assert shown.index("- Place:") < shown.index("- PutAway:")


@pytest.mark.slow
def test_its_skill_is_checked(planner: Planner) -> None:
    done = planner("check", "skill", "PutAway")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed   does_to_the_world_what_the_memory_notes" in done.stdout
    done = planner("check", "skill", "PutAway", "--call", "PutAway[cup_0]")
    assert done.stderr == ("error: --call: PutAway takes 2 arguments (object, furniture), not 1\n")


@pytest.mark.slow
def test_an_episode_is_run_with_its_memory(planner: Planner, tmp_path: Path) -> None:
    words = ("--memory", "near-sighted", "--max-distance-m", "6", "-o", str(tmp_path))
    done = planner("run", "night_light_0", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    words = ("--memory", "near-sighted", "--max-distance-m", "11", "-o", str(tmp_path))
    done = planner("run", "night_light_0", *words)
    assert done.stderr == "error: option max_distance_m: 11.0 is greater than 10\n"


@pytest.mark.slow
def test_a_wrong_option_is_one_line(planner: Planner, tmp_path: Path) -> None:
    words = ("--planner", "lights_out", "--max-rooms", "0", "--out", str(tmp_path / "run"))
    done = planner("bench", "night_light_0", *words)
    assert done.returncode == 2
    assert done.stderr == "error: option max_rooms: 0 is less than 1\n"
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_its_episodes_are_imported_and_generated(planner: Planner, tmp_path: Path) -> None:
    words = tmp_path / "monday.txt"
    words.write_text("Bring me the cup.\n\nTidy up.\n", encoding="utf-8")
    done = planner("episodes", "import", "lists", str(words), "-o", str(tmp_path / "in"))
    assert done.returncode == 0, done.stderr
    assert "read 3 tasks from 1 files\nimported 2," in done.stdout
    assert "  monday.txt  line 2  says nothing\n" in done.stdout
    assert (tmp_path / "in" / "monday-2.json").is_file()
    assert "an instruction a line" in planner("episodes", "import", "--help").stdout
    done = planner("episodes", "generate", "bedtimes", "-o", str(tmp_path / "made"))
    assert done.stdout == f"wrote 2 episodes to {tmp_path / 'made'}\n", done.stderr
    examined = planner("doctor")
    assert examined.returncode == 0, examined.stdout + examined.stderr
    told = examined.stdout
    assert "lists (household-parts)" in told
    assert "bedtimes (household-parts)" in told


@pytest.mark.slow
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
