"""The SDK's example programs and spot_wrapper, unmodified, against the emulator.

Neither is ours nor in this repository. SPOT_SDK_EXAMPLES names the folder `python/examples` of a
checkout of spot-sdk, SPOT_WRAPPER one of spot_wrapper, SPOT_SDK_PYTHON the Python with their
packages (docs/spot.md); without these the tests are skipped, and the list is still checked.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from emulated_robot import emulated
from foreign_programs import (
    DOCK,
    SEED,
    Program,
    examples_folder,
    listed,
    missing,
    put_before_thing,
    run,
)
from recorded_map import record

from sim_bridge.opening import default_house, open_world

DRIVER = Path(__file__).with_name("drive_spot_wrapper.py")
PAGE = Path(__file__).parents[3] / "docs" / "spot.md"
LISTED = listed()
# What spot_wrapper itself gets wrong, with any robot: names that its own classes or the SDK lack.
OWN_FAULTS = {
    "is_stopping": "'RobotState' object has no attribute 'is_stopping'",
    "spot_check.get_feedback": "object is not subscriptable",
    "spot_arm.manipulation_command": "unexpected keyword argument 'end_time_secs'",
    "spot_arm.grasp_3d": "cmd_id",
    # It has no lidar, and the wrapper asks the lidar that it says is None.
    "point_clouds": "'NoneType' object has no attribute 'async_task'",
}


def test_at_least_thirty_programs_are_listed_and_the_page_names_each() -> None:
    programs = {program.program for program in LISTED.programs}
    assert len(programs) >= 30
    page = PAGE.read_text()
    shown = {word.strip("`") for word in page.replace("|", " ").replace(",", " ").split()}
    assert programs <= shown
    for left in LISTED.left_out:
        assert set(left.programs) <= shown
        assert left.why in page


@pytest.mark.skipif(examples_folder() is None, reason="SPOT_SDK_EXAMPLES names no checkout")
def test_every_example_is_run_or_left_out_with_a_reason() -> None:
    folder = examples_folder()
    assert folder is not None
    there = {path.name for path in folder.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    named = {program.program.split("/")[0] for program in LISTED.programs}
    named |= {name.split("/")[0] for left in LISTED.left_out for name in left.programs}
    assert there == named


@pytest.mark.skipif(examples_folder() is None, reason="SPOT_SDK_EXAMPLES names no checkout")
@pytest.mark.parametrize("program", LISTED.programs, ids=lambda program: program.name)
def test_an_example_of_the_sdk_runs(program: Program, tmp_path: Path) -> None:
    folder = examples_folder()
    assert folder is not None
    lacks = missing(program)
    if lacks:
        pytest.skip(f"its Python lacks {lacks}")
    outcome = run(program, folder, tmp_path)
    assert not outcome.why, f"{outcome.why}\n{outcome.output[-3000:]}"


@pytest.mark.skipif("SPOT_WRAPPER" not in os.environ, reason="SPOT_WRAPPER names no checkout")
def test_the_whole_public_interface_of_spot_wrapper_works(tmp_path: Path) -> None:
    opened = open_world(default_house(), "", SEED, 1)
    record(opened.house, tmp_path / "map")
    (tmp_path / "out").mkdir()
    with emulated() as emulator:
        _, thing = put_before_thing(emulator.world)
        world = emulator.world
        x, y, _ = world.base.apply((-0.6, 0.0, 0.0))
        emulator.machine.docks = {DOCK: (x, y)}
        point = world.boot.inverse().apply(thing)
        assert math.isfinite(sum(point))
        done = subprocess.run(
            [
                os.environ.get("SPOT_SDK_PYTHON", sys.executable),
                str(DRIVER),
                str(emulator.port),
                str(emulator.authority),
                emulator.user,
                emulator.password,
                str(tmp_path / "map"),
                str(DOCK),
                str(tmp_path / "out"),
                *map(str, point),
            ],
            env={**os.environ, "PYTHONPATH": os.environ["SPOT_WRAPPER"], "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("REPORT ")]
    assert lines, done.stderr[-3000:]
    said = json.loads(lines[0].removeprefix("REPORT "))
    assert said.pop("not called") == []
    wrong = {name: why for name, why in said.items() if why != "ok"}
    assert set(wrong) <= set(OWN_FAULTS), wrong
    assert all(OWN_FAULTS[name] in why for name, why in wrong.items()), wrong
    assert len(said) > 100
