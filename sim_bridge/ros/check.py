"""`planner check robot`: whether a robot's settings fit its description, or the running robot.

Nothing is sent to the robot.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from planner.parts.catalog import Finding, Report, Verdict
from planner.world.errors import PlannerError
from planner.world.files import read_model, read_text
from planner.world.geometry import Pose, Vec3
from sim_bridge.backend import make_backend
from sim_bridge.ros.backend import RosBackend
from sim_bridge.ros.grasps import TURNS_RAD, towards
from sim_bridge.ros.model import Model
from sim_bridge.ros.options import CAMERA, RosOptions
from sim_bridge.ros.port import RobotPort
from sim_bridge.ros.senses import Senses

# Places before the robot, in the direction in which its arm reaches: m ahead, to the left, up.
AHEAD_M = (0.5, 0.7, 0.9)
LEFT_M = (-0.2, 0.0, 0.2)
UP_M = (0.05, 0.3, 0.55, 0.8, 1.05, 1.3)
# Of the fingers' direction, for a grasp from above.
CLOSING_RAD = (math.pi / 2, 0.0, math.pi / 4, -math.pi / 4)


def check_robot(file: Path, urdf: Path | None, *, reach: bool = True) -> Report:
    """What was checked of a robot's settings, and what is wrong.

    Args:
        file: the settings.
        urdf: the description; None = that of the running robot, which has to be heard as well.
        reach: whether to try where the arm gets to.

    Raises:
        PlannerError: if a file cannot be read.
    """
    settings = read_model(file, RosOptions)
    if urdf is None:
        findings, text = _of_running(file, settings)
    else:
        findings, text = [], read_text(urdf)
    if text:
        findings += of_description(file, settings, text, reach=reach)
    return Report(tuple(findings))


# Against a description


def of_description(
    file: Path, options: RosOptions, urdf: str, *, reach: bool = True
) -> list[Finding]:
    """Findings about settings and a URDF; those of a file that does not fit end with the first."""
    try:
        model = Model(urdf, options)
    except PlannerError as error:
        return [Finding("description", Verdict.FAILED, f"{file}: {error}")]
    found = [_passed(f"joint {name}", _range(model, name)) for name in _joints(options)]
    found.append(_passed("arm.tip", options.arm.tip))
    if model.wrong_axes:
        wrong = f"{file}: {options.name}: {model.wrong_axes}"
        found.append(Finding("gripper's axes", Verdict.FAILED, wrong))
    else:
        axes = f"out of the gripper {options.arm.approach}, closing {options.arm.closing}"
        found.append(_passed("gripper's axes", axes))
    for what in ("carry", "ready"):
        joints = getattr(options.arm, what)
        found.append(_passed(f"arm.{what}", _tool_text(model.tool(joints))))
    if options.head is not None:
        found.append(_passed("head.camera", _camera_text(model, options)))
    if reach:
        found += [_passed(f"reach {name}", text) for name, text in _reach(model)]
    return found


def _passed(check: str, text: str) -> Finding:
    return Finding(check, Verdict.PASSED, text)


def _joints(options: RosOptions) -> tuple[str, ...]:
    return tuple(name for each in options.controllers for name in each.joints)


def _range(model: Model, name: str) -> str:
    low, high = model.bounds(name)
    parts = model.options.arm.parts(name)
    of = f", shared by {', '.join(parts)}" if parts != (name,) else ""
    return f"{low:.2f} to {high:.2f}{of}"


def _at(point_m: Vec3) -> str:
    return f"x {point_m[0]:.2f}, y {point_m[1]:.2f}, z {point_m[2]:.2f} m"


def _tool_text(tool: Pose) -> str:
    out = [f"{value:.1f}" for value in tool.rotation()[:, 0] + 0.0]
    return f"gripper at {_at(tool.position_m)}, pointing along ({', '.join(out)})"


def _camera_text(model: Model, options: RosOptions) -> str:
    straight = dict.fromkeys(options.head.joints if options.head else (), 0.0)
    seen = model.optical({**options.arm.carry, **straight})
    x, y, z = seen.rotation()[:, 2] + 0.0
    return (
        f"at {_at(seen.position_m)} with the head's joints at 0, "
        f"looking along ({x:.1f}, {y:.1f}, {z:.1f})"
    )


def _reach(model: Model) -> Iterator[tuple[str, str]]:
    places = list(itertools.product(AHEAD_M, LEFT_M, UP_M))
    for name, tools in (("from above", from_above), ("from a side", from_sides)):
        share = reach_share(model, places, tools)
        where = f"{AHEAD_M[0]:g} to {AHEAD_M[-1]:g} m before it, {UP_M[0]:g} to {UP_M[-1]:g} m high"
        yield name, f"{share:.0%} of {len(places)} places {where}; collisions are not looked for"


def reach_share(
    model: Model, places: Sequence[Vec3], tools: Callable[[Vec3], Iterator[Pose]]
) -> float:
    """The share of places at which the arm can take something.

    Args:
        model: the robot.
        places: x in the direction in which the arm reaches, y to the left of it, z up.
        tools: poses of the gripper for a place, of which one is enough.
    """
    arm = model.options.arm
    turn = Pose.planar(0.0, 0.0, arm.side_rad)

    def gets_to(place: Vec3) -> bool:
        poses = [turn.compose(tool) for tool in tools(place)]
        if arm.slide is not None:
            return any(model.aside([pose], arm.ready) is not None for pose in poses)
        # Most places that cannot be reached cannot be in any direction.
        if model.solve(poses[0], arm.ready, turn_rad=math.pi) is None:
            return False
        return any(model.solve(pose, arm.ready) is not None for pose in poses)

    return sum(gets_to(place) for place in places) / len(places)


def from_above(place: Vec3) -> Iterator[Pose]:
    """Poses that come down on a place."""
    for yaw in CLOSING_RAD:
        yield towards(place, (0.0, 0.0, -1.0), (math.cos(yaw), math.sin(yaw), 0.0))


def from_sides(place: Vec3) -> Iterator[Pose]:
    """Poses that come level to a place, more or less away from the robot."""
    for turn in TURNS_RAD:
        way = math.atan2(place[1], place[0]) + turn
        closing = (-math.sin(way), math.cos(way), 0.0)
        yield towards(place, (math.cos(way), math.sin(way), 0.0), closing)


# Against the running robot


def _of_running(file: Path, options: RosOptions) -> tuple[list[Finding], str]:
    backend = make_backend("ros", str(file))
    if not isinstance(backend, RosBackend):
        raise PlannerError("the backend 'ros' was replaced by another package's")
    port = backend.port
    try:
        until_s = port.now_s() + options.wait_s
        while (found := of_running(port, options)) and port.now_s() < until_s:
            if all(each.verdict is not Verdict.FAILED for each in found):
                break
            port.alive()
            time.sleep(0.2)
        return found, port.state().description
    finally:
        port.leave()


def of_running(port: RobotPort, options: RosOptions) -> list[Finding]:
    """What of the settings is heard from the robot by now, and what is missing."""
    heard, state, names = port.readings(), port.state(), options.frames
    wrong = heard.wrong or state.wrong
    why = f" ({wrong})" if wrong else ""

    def line(field: str, name: str, missing: str) -> Finding:
        if missing:
            return Finding(field, Verdict.FAILED, f"missing: {missing}{why}")
        return _passed(field, f"found: {name}")

    senses = Senses(port, options)
    nothing = math.isinf(heard.at_s)
    lost = heard.frames.pose_in(names.map, names.odom) is None
    arm, gripper = options.arm, options.gripper
    told = [p for n in _joints(options) for p in ((n,) if n in heard.joints else arm.parts(n))]
    silent = [name for name in (*told, gripper.joint) if name not in heard.joints]
    found = [
        line("odometry", options.odometry, f"nothing on {options.odometry}" if nothing else ""),
        line(
            "frames",
            f"{names.map} to {names.odom}",
            f"/tf does not connect {names.map!r} to {names.odom!r}" if lost else "",
        ),
        line(
            "joint_states",
            f"{len(told) + 1} joints on {options.joint_states}",
            f"{options.joint_states} does not tell of {', '.join(silent)}" if silent else "",
        ),
        line("camera", options.camera.image, _no_picture(senses)),
        line(
            "description",
            options.description,
            "" if state.description else f"nothing on {options.description}",
        ),
    ]
    if where := options.navigation.map:
        found.append(line("navigation.map", where, "" if state.map else f"nothing on {where}"))
    if options.battery is not None:
        topic = options.battery.topic
        known = state.battery is not None
        text = f"found: {topic}" if known else f"no usable charge on {topic}; it is not needed"
        found.append(Finding("battery", Verdict.PASSED if known else Verdict.SKIPPED, text))
    for name, there in state.servers.items():
        found.append(line("action server", name, "" if there else f"no action server {name}"))
    return found


def _no_picture(senses: Senses) -> str:
    senses.look()
    if fault := senses.picture_fault():
        return fault
    try:
        return "" if senses.shot() else f"/tf does not tell where the camera {CAMERA!r} is"
    except PlannerError as error:
        return str(error)
