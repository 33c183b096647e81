"""The list of the SDK's example programs, and one run of one of them against the emulator.

They are not ours and not in this repository: the variable SPOT_SDK_EXAMPLES names the folder
`python/examples` of a checkout of spot-sdk, SPOT_SDK_PYTHON the Python with their packages.
"""

from __future__ import annotations

import itertools
import math
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import bosdyn.util
from bosdyn.api.graph_nav import map_pb2
from pydantic import Field
from recorded_map import record

from planner.world.files import FileModel, read_model
from planner.world.geometry import Vec3
from sim_bridge.embedded.sensing import intrinsics_of
from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.body_geometry import FRONT_LEFT, mount_of
from sim_bridge.spot.emulator.house_world import Handle, HouseWorld
from sim_bridge.spot.emulator.machine import Motors, Posture, WallClock
from sim_bridge.spot.emulator.recorded_graph import RecordedGraph, nearest
from sim_bridge.spot.emulator.server import SpotEmulator

LIST = Path(__file__).with_name("sdk_examples.yaml")
RUN_PROGRAM = Path(__file__).parents[3] / "sim_bridge" / "spot" / "run_program.py"
SEED = 7
DOCK = 520
# Beside the robot's first place, so that a program which docks finds it.
DOCK_AHEAD_M = 0.8
THING_AHEAD_M, DOOR_AHEAD_M, ROBOT_RADIUS_M = 0.9, 1.5, 0.3


class Program(FileModel):
    """One program with its arguments, and what shows that it ran."""

    program: str
    args: tuple[str, ...] = ()
    keys: tuple[tuple[float, str], ...] = ()
    click: tuple[float, float] | None = None
    timeout_s: Annotated[float, Field(gt=0, le=300)] = 90.0
    needs: tuple[str, ...] = ()
    expect: str = ""
    calls: tuple[str, ...] = ()
    # Programs that only Ctrl-C ends do not all say how they ended; some end with 1 in any case.
    exit: Literal["ok", "any"] = "ok"
    # In front of what it begins: anywhere, a thing that it sees and can take, a handle that the
    # gripper already holds, with the motors on, or a door whose handle a front camera sees.
    begins: Literal["anywhere", "thing", "handle", "door"] = "anywhere"

    @property
    def name(self) -> str:
        """The program and what of its arguments tells it from its other runs."""
        words = [word for word in self.args if "{" not in word]
        return " ".join([self.program, *words])


class LeftOut(FileModel):
    """Programs that are not run, and why."""

    programs: tuple[str, ...]
    why: str


class Programs(FileModel):
    """All of the examples."""

    version: Literal[1] = 1
    programs: tuple[Program, ...]
    left_out: tuple[LeftOut, ...] = ()


def listed() -> Programs:
    """The list in this folder."""
    return read_model(LIST, Programs)


def examples_folder() -> Path | None:
    """Where the programs are, if anywhere."""
    named = os.environ.get("SPOT_SDK_EXAMPLES", "")
    return Path(named) if named else None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended; `why` is empty where the program ran as it should."""

    why: str
    output: str
    wall_s: float


def missing(program: Program) -> str:
    """The first package that a program needs and its Python lacks; empty for none."""
    python = os.environ.get("SPOT_SDK_PYTHON", sys.executable)
    for name in program.needs:
        done = subprocess.run([python, "-c", f"import {name}"], capture_output=True, check=False)
        if done.returncode != 0:
            return name
    return ""


def run(program: Program, examples: Path, folder: Path) -> Outcome:
    """Starts an emulator of its own, gives it the program, and looks at what came of it."""
    bosdyn.util.set_clock_source(time.time)
    opened = open_world(default_house(), "", SEED, 1)
    out, the_map, copy = folder / "out", folder / "map", folder / "program"
    out.mkdir()
    uses_map = any("{map}" in word for word in program.args)
    graph = record(opened.house, the_map) if uses_map else map_pb2.Graph()
    source = examples / program.program
    # A copy, as some write beside themselves.
    shutil.copytree(source.parent, copy, symlinks=True)
    with SpotEmulator(WallClock()) as emulator:
        emulator.load(opened.house, opened.episode, opened.seed)
        x, y, _ = emulator.machine.world.base.apply((DOCK_AHEAD_M, 0.0, 0.0))
        emulator.machine.docks = {DOCK: (x, y)}
        click = _begin(emulator, program)
        here, beside = waypoints(emulator, graph) if uses_map else ("", "")
        fills = {
            "here": here,
            "beside": beside,
            "host": emulator.address,
            "map": the_map,
            "out": out,
            "examples": examples,
        }
        command = [
            os.environ.get("SPOT_SDK_PYTHON", sys.executable),
            str(RUN_PROGRAM),
            f"--port={emulator.port}",
            f"--certificate={emulator.authority}",
            *([] if click is None else ["--click", *map(str, click)]),
            str(copy / source.name),
            *(word.format(**fills) for word in program.args),
        ]
        environment = {
            **{k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "DISPLAY")},
            "BOSDYN_CLIENT_USERNAME": emulator.user,
            "BOSDYN_CLIENT_PASSWORD": emulator.password,
            "MPLBACKEND": "Agg",
            "SDL_VIDEODRIVER": "dummy",
            "TERM": "xterm",
            "HOME": str(out),
        }
        began_s = time.monotonic()
        keys = [(at_s, text.format(**fills)) for at_s, text in program.keys]
        status, output = _at_terminal(command, copy, environment, keys, program.timeout_s)
        wall_s = time.monotonic() - began_s
        called = {recorded.method for recorded in emulator.requests}
    return Outcome(_judge(program, status, output, called), output, wall_s)


def _begin(emulator: SpotEmulator, program: Program) -> tuple[float, float] | None:
    """Puts the robot where the program needs it; where in a window it is to click, if at all."""
    machine, world = emulator.machine, emulator.world
    if program.begins == "handle":
        machine.motors, machine.posture = Motors.ON, Posture.STANDING
        piece = next(p for p in world.world.pieces.values() if p.record.joints)
        machine.held_handle = Handle(piece, piece.record.joints[0])
    if program.begins == "thing":
        return put_before_thing(world)[0]
    if program.begins == "door":
        return put_before_door(world)
    return program.click


def put_before_thing(world: HouseWorld) -> tuple[tuple[float, float], Vec3]:
    """Puts the robot before a thing that its hand's camera sees; where in the picture and map."""
    for thing in world.world.things.values():
        target = thing.center_m
        for turn in range(16):
            yaw = turn * math.pi / 8
            x = target[0] - THING_AHEAD_M * math.cos(yaw)
            y = target[1] - THING_AHEAD_M * math.sin(yaw)
            if not world.world.ground.grid(ROBOT_RADIUS_M).is_free(x, y):
                continue
            world.world.move_agent(world.agent, x, y, yaw)
            world.boot_here()
            shares = _seen_at(world, target)
            camera = world.base.compose(world.camera("hand"))
            if shares and world.between(camera.position_m, target)[0] == thing.instance_id:
                return shares, target
    raise AssertionError("the house has nothing to take")


def put_before_door(world: HouseWorld) -> tuple[float, float]:
    """Puts the robot before a closed handle that its front left camera sees.

    Returns:
        Where it is, as shares of the two front pictures side by side, right one first, both turned
        clockwise by a quarter.
    """
    lens = intrinsics_of(mount_of(world.agent, FRONT_LEFT))
    grid = world.world.ground.grid(ROBOT_RADIUS_M)
    for piece, turn in itertools.product(world.world.pieces.values(), range(32)):
        yaw = turn * math.pi / 16
        for joint in piece.record.joints:
            handle = piece.handle(joint)
            x, y = (handle[i] - DOOR_AHEAD_M * (math.cos(yaw), math.sin(yaw))[i] for i in range(2))
            if not grid.is_free(x, y):
                continue
            world.world.move_agent(world.agent, x, y, yaw)
            world.boot_here()
            camera = world.base.compose(world.camera(FRONT_LEFT))
            right, down, ahead = camera.inverse().apply(handle)
            if ahead <= 0:
                continue
            column = lens.fx_px * right / ahead + lens.cx_px
            row = lens.fy_px * down / ahead + lens.cy_px
            inside = 20 < column < lens.width_px - 20 and 20 < row < lens.height_px - 20
            instance, point = world.hit(camera, (right / ahead, down / ahead, 1.0))
            found = None if point is None else world.handle_at(instance, point)
            if inside and found is not None and found.joint == joint:
                across = lens.height_px + lens.height_px - 1 - row
                return across / (2 * lens.height_px), column / lens.width_px
    raise AssertionError("the house has nothing to open")


def _seen_at(world: HouseWorld, target: Vec3) -> tuple[float, float] | None:
    """Where the hand's camera sees a point, as shares of its picture."""
    lens = intrinsics_of(mount_of(world.agent, "hand"))
    x, y, z = world.base.compose(world.camera("hand")).inverse().apply(target)
    if z <= 0:
        return None
    across = (lens.fx_px * x / z + lens.cx_px) / lens.width_px
    down = (lens.fy_px * y / z + lens.cy_px) / lens.height_px
    # Programs are clicked by turns there and at the picture's other side.
    return (across, down) if abs(across - 0.5) < 0.02 and 0.1 < down < 0.9 else None


def waypoints(emulator: SpotEmulator, graph: map_pb2.Graph) -> tuple[str, str]:
    """The waypoint of a map where the robot is, and one that an edge joins to it."""
    recorded = RecordedGraph()
    recorded.merge(graph, replace=True)
    here = nearest(recorded.places(), emulator.world.base)
    edges = [{edge.id.from_waypoint, edge.id.to_waypoint} for edge in graph.edges]
    return here, next(min(ends - {here}) for ends in edges if here in ends)


def _judge(program: Program, status: int | None, output: str, called: set[str]) -> str:
    if status is None:
        return f"still running after {program.timeout_s:.0f} s"
    if status != 0 and program.exit == "ok":
        return f"exit status {status}"
    if "Traceback" in output and "KeyboardInterrupt" not in output.rsplit("Traceback", 1)[1]:
        return "an exception"
    if program.expect and not re.search(program.expect, output):
        return f"printed nothing like {program.expect!r}"
    lacking = [method for method in program.calls if method not in called]
    return f"never called {', '.join(lacking)}" if lacking else ""


def _at_terminal(
    command: list[str],
    folder: Path,
    environment: dict[str, str],
    keys: list[tuple[float, str]],
    timeout_s: float,
) -> tuple[int | None, str]:
    """Runs a command at a terminal of its own and types; its status, None if it went on."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        # The terminal becomes the program's own, so that Ctrl-C reaches it.
        ["setsid", "--ctty", *command],
        cwd=folder,
        env=environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    began_s, printed = time.monotonic(), bytearray()
    due = sorted(keys)
    try:
        while True:
            passed_s = time.monotonic() - began_s
            while due and due[0][0] <= passed_s:
                os.write(ours, due.pop(0)[1].encode())
            if select.select([ours], [], [], 0.2)[0]:
                try:
                    part = os.read(ours, 65536)
                except OSError:  # the other end is closed
                    part = b""
                if not part:
                    break
                printed += part
            elif process.poll() is not None or passed_s > timeout_s:
                break
        left_s = max(5.0, timeout_s - (time.monotonic() - began_s))
        with suppress(subprocess.TimeoutExpired):
            if time.monotonic() - began_s <= timeout_s:
                process.wait(left_s)
        status = process.poll()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        os.close(ours)
    return status, printed.decode(errors="replace")
