"""A wrong argument at any entry point: one line that names it, with the nearest name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from planner import cli
from planner.command_line import EXIT_USAGE
from planner.world.errors import did_you_mean

MAKEFILE = Path(__file__).parents[2] / "Makefile"
WRONG = {
    "up backend:=embeded": ("argument backend: 'embeded'", "'embedded'"),
    "up plannr:=react": ("argument plannr: unknown", "'planner'"),
    "up --plannr react": ("unrecognized arguments: --plannr", "'--planner'"),
    "up planner:=raect model:=m": ("argument planner: 'raect'", "'react'"),
    "up episode:=night_light_9": ("argument episode: there is no episode", "'night_light_0'"),
    "up house:=trane_0": ("argument house: there is no house 'trane_0'", "'train_0'"),
    "up episode:=no/such.json": ("argument episode: there is no file no/such.json", ""),
    "up camera_hz:=fast": ("argument camera_hz: 'fast' is not a number", ""),
    "run night_light_9": ("there is no episode 'night_light_9'", "'night_light_0'"),
    "run night_light_0 --memory learnt": ("argument --memory: invalid choice", "'learned'"),
    "run night_light_0 --agents two": ("argument --agents: invalid int value: 'two'", ""),
    "run no/such.json": ("no/such.json: cannot be read", ""),
    "run night_light_0 --skill-kind lerned": ("option skill_kind: expected one of oracle", ""),
    "run night_light_0 --skill-kind learned --skill-hand-policy p": ("p: cannot be read", ""),
    "run night_light_0 --skill-policy p": ("option skill_policy: is of skill_kind learned", ""),
    "bench heldout --out x --skill-noise 99": ("option skill_noise: 99.0 is greater than 10", ""),
    "bench heldout --out x --skill-kind learned --skill-policy /no/such": (
        "/no/such: cannot be read",
        "",
    ),
    "up planner:=expert skill_kind:=noisi": ("argument skill_kind: 'noisi'", "'noisy'"),
    "bench nosuch": ("there is no suite 'nosuch'", ""),
    "bench heldot": ("there is no suite 'heldot'", "'heldout'"),
    "bench compar RUN_A RUN_B": ("there is no suite 'compar'", "'compare'"),
    "bench heldout --out x --plannr react": ("unrecognized arguments: --plannr", "'--planner'"),
    "demo --task demo_diner": ("argument task: there is no episode 'demo_diner'", "'demo_dinner'"),
    "demo demo_diner": ("argument task: there is no episode 'demo_diner'", "'demo_dinner'"),
    "demo --planner tuor": ("argument --planner: invalid choice: 'tuor'", "'tour'"),
    "demo --backend embeded": ("argument --backend: invalid choice: 'embeded'", "'embedded'"),
    "demo --planner tour --house trane_0": ("argument house: there is no house", "'train_0'"),
    "demo --agents many": ("argument agents: 'many'", ""),
    "check planner exprt": ("there is no planner 'exprt'", "'expert'?"),
    "evalute": ("invalid choice: 'evalute'", "'evaluate'"),
    "episodes lst": ("invalid choice: 'lst'", "'list'"),
    "houses draw trane_0 -o x.png": ("there is no house 'trane_0'", "'train_0'"),
}


def ended(words: list[str]) -> int:
    try:
        return cli.main(words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else -1


OF_A_PAPER = {
    "up planner:=rescue_rules episode:=night_light_0": (
        "argument planner: rescue_rules needs agents that can carry, discard_supplies, drop_off, ",
        "",
    ),
}


@pytest.mark.parametrize(
    ("command", "named", "near"),
    [
        *((command, *told) for command, told in WRONG.items()),
        *(
            pytest.param(command, *told, marks=pytest.mark.needs("papers"))
            for command, told in OF_A_PAPER.items()
        ),
    ],
)
def test_it_is_reported_in_one_line_with_the_nearest_name(
    command: str,
    named: str,
    near: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert ended(command.split()) == EXIT_USAGE
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.count("\n") == 1
    assert named in shown.err
    assert ("did you mean" in shown.err) == bool(near)
    assert near in shown.err
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_make_demo_ends_without_a_traceback(tmp_path: Path, outside_make: dict[str, str]) -> None:
    planner = tmp_path / "planner"
    planner.write_text(f'#!/bin/sh\nexec {sys.executable} -m planner.cli "$@"\n')
    planner.chmod(0o755)
    made = subprocess.run(
        ["make", "-f", str(MAKEFILE), "-o", "setup", "demo", "TASK=demo_diner", f"BIN={tmp_path}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=outside_make,
    )
    assert made.returncode == 2
    first, *others = made.stderr.splitlines()
    assert first == (
        "error: argument task: there is no episode 'demo_diner'; did you mean 'demo_dinner'?"
    )
    # What make itself adds.
    assert all(line.startswith("make") for line in others)


def test_capitals_are_no_difference_and_what_is_far_is_not_offered() -> None:
    assert did_you_mean("EMBEDED", ["embedded", "spot"]) == "; did you mean 'embedded'?"
    assert did_you_mean("unity", ["embedded", "spot"]) == ""
    assert did_you_mean("x", []) == ""
