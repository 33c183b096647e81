"""The robot's kinematics, from its own URDF, computed by MuJoCo and solved by SciPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.etree import ElementTree as ET

import mujoco
import numpy as np
from scipy.optimize import least_squares

from planner.world.errors import PlannerError
from planner.world.geometry import FloatArray, Pose, Vec3
from sim_bridge.ros.options import RosOptions

# What is drawn or simulated is not needed, and its files are often elsewhere.
_UNUSED = (
    *("inertial", "visual", "collision", "material", "transmission", "gazebo", "ros2_control"),
    "sensor",
)
MAX_DESCRIPTION = 10_000_000
POSITION_M, ANGLE_RAD = 0.004, 0.05
# An error of a radian counts as much as one of this many metres.
_RADIAN_M = 0.2
_RANDOM_TRIES = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """A joint that moves: its bounds, and where it is in MuJoCo's vector of positions."""

    low: float
    high: float
    index: int


class Model:
    """Forward and inverse kinematics of the arm and the head, in the frame of the base."""

    def __init__(self, urdf: str, options: RosOptions) -> None:
        """Reads a description and checks that it has the joints and links of the settings.

        Raises:
            PlannerError: naming the field of the settings, the name and the reason.
        """
        self.options = options
        self._grip = options.arm.grip_in_tip
        self._model = _compiled(urdf)
        self._data = mujoco.MjData(self._model)
        self._root = _root_of(urdf)
        arm, head = options.arm, options.head
        self._axes: dict[str, tuple[Axis, ...]] = {}
        for number, controller in enumerate(arm.controllers):
            for place, name in enumerate(controller.joints):
                field = f"arm.controllers.{number}.joints.{place}"
                self._axes[name] = self._axes_of(name, arm.shared.get(name, (name,)), field)
        for place, name in enumerate(head.joints if head is not None else ()):
            self._axes[name] = self._axes_of(name, (name,), f"head.joints.{place}")
        self._base = self._body(options.frames.base, "frames.base")
        self._tip = self._body(arm.tip, "arm.tip")
        self._camera = self._body(head.camera, "head.camera") if head is not None else 0
        for what in ("carry", "ready"):
            for name, value in getattr(arm, what).items():
                low, high = self.bounds(name)
                if not low - 1e-3 <= value <= high + 1e-3:
                    raise PlannerError(
                        f"{options.name}: arm.{what}.{name}: {value:g} is not within the joint's "
                        f"limits, {low:g} to {high:g}"
                    )

    def _axes_of(self, name: str, parts: Sequence[str], field: str) -> tuple[Axis, ...]:
        found = []
        for part in parts:
            number = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_JOINT, part)
            if number < 0:
                raise PlannerError(
                    f"{self.options.name}: {field}: the robot's description has no joint {part!r} "
                    f"that moves"
                )
            joint = self._model.joint(number)
            low, high = (float(v) for v in joint.range)
            if not joint.limited:
                low, high = -np.pi, np.pi
            found.append(Axis(low, high, int(joint.qposadr[0])))
        del name
        return tuple(found)

    def _body(self, name: str, field: str) -> int:
        if name == self._root:
            return 0  # MuJoCo makes the root link its world
        number = int(mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_BODY, name))
        if number < 0:
            raise PlannerError(
                f"{self.options.name}: {field}: the robot's description has no link {name!r}"
            )
        return number

    @property
    def arm_links(self) -> tuple[str, ...]:
        """The links that the arm's joints move, from the shoulder to the tip."""
        places = {axis.index for name in self.options.arm.joints for axis in self._axes[name]}
        joints = map(self._model.joint, range(self._model.njnt))
        moved = {int(joint.bodyid[0]) for joint in joints if int(joint.qposadr[0]) in places}
        return tuple(self._model.body(number).name for number in sorted({*moved, self._tip}))

    def bounds(self, joint: str) -> tuple[float, float]:
        """The limits of a joint of a controller, rad or m."""
        axes = self._axes[joint]
        return sum(axis.low for axis in axes), sum(axis.high for axis in axes)

    @property
    def wrong_axes(self) -> str:
        """What of `arm.approach` and `arm.closing` contradicts the description; empty for nothing.

        The fingers lie beyond the wrist along `approach`, and what the gripper's joint moves it
        moves along `closing`: a joint that slides lies along it, one that turns across it.
        """
        arm, gripper = self.options.arm, self.options.gripper
        tool = self.tool(arm.ready)
        out, closing = tool.rotation()[:, 0], tool.rotation()[:, 1]
        wrist = self._model.joint(arm.parts(arm.joints[-1])[-1])
        at_m = np.array(self._in_base(int(wrist.bodyid[0])).position_m)
        beyond = np.array(tool.position_m) - at_m
        if np.linalg.norm(beyond) > 0.02 and beyond @ out < 0.5 * np.linalg.norm(beyond):
            return f"arm.approach: {arm.approach} of {arm.tip!r} does not point out of the gripper"
        finger = mujoco.mj_name2id(self._model, mujoco.mjtObj.mjOBJ_JOINT, gripper.joint)
        if finger < 0:
            return ""
        base = self._data.xmat[self._base].reshape(3, 3)
        along = abs(float((base.T @ self._data.xaxis[finger]) @ closing))
        slides = self._model.jnt_type[finger] == mujoco.mjtJoint.mjJNT_SLIDE
        if along < 0.8 if slides else along > 0.5:
            return (
                f"arm.closing: {arm.closing} of {arm.tip!r} is not the direction in which "
                f"{gripper.joint!r} moves the finger"
            )
        return ""

    # Forward

    def tool(self, joints: Mapping[str, float]) -> Pose:
        """The gripper in the base: x out of it, y along which it closes, origin between the tips.

        `joints` has the arm's; others are as last set, or 0.
        """
        self._set(joints)
        return self._in_base(self._tip).compose(self._grip)

    def optical(self, joints: Mapping[str, float]) -> Pose:
        """The camera's optical frame in the base."""
        self._set(joints)
        return self._in_base(self._camera)

    def _set(self, joints: Mapping[str, float]) -> None:
        for name, value in joints.items():
            axes = self._axes.get(name, ())
            for axis in axes:
                self._data.qpos[axis.index] = value / len(axes)
        mujoco.mj_kinematics(self._model, self._data)

    def _in_base(self, body: int) -> Pose:
        def pose(number: int) -> Pose:
            at = self._data.xpos[number].copy()
            return Pose.from_matrix(at, self._data.xmat[number].reshape(3, 3).copy())

        return pose(self._base).inverse().compose(pose(body))

    # Inverse

    def solve(
        self,
        tool: Pose,
        start: Mapping[str, float],
        *,
        turn_rad: float = ANGLE_RAD,
        anew: bool = True,
    ) -> dict[str, float] | None:
        """Joint positions that bring the gripper to a pose of the base; None = out of reach.

        Args:
            tool: as `tool` returns it.
            start: positions of the arm's joints from which the search begins.
            turn_rad: how far it may be turned from the pose's orientation.
            anew: whether other beginnings are tried, too, from which the arm would swing far.
        """
        found = self._search(tool, start, turn_rad, anew=anew)
        return None if found is None else dict(zip(self.options.arm.joints, found, strict=False))

    def aside(self, tools: Sequence[Pose], start: Mapping[str, float]) -> float | None:
        """How far the base has to slide along its x so that the arm gets to one of some poses, m.

        Returns:
            0 where it need not, or cannot slide; None where no pose is within reach anyway.
        """
        slide = self.options.arm.slide
        if slide is None or any(self.solve(tool, start) is not None for tool in tools):
            return 0.0
        for tool in tools:
            found = self._search(tool, start, ANGLE_RAD, slide_m=slide.range_m)
            if found is not None:
                return found[-1]
        return None

    def _search(
        self,
        tool: Pose,
        start: Mapping[str, float],
        turn_rad: float,
        *,
        anew: bool = True,
        slide_m: float = 0.0,
    ) -> list[float] | None:
        """Joints of the arm that bring the gripper to a pose, and last how far it slides."""
        names = self.options.arm.joints
        bounds = [self.bounds(name) for name in names]
        if slide_m:
            bounds.append((-slide_m, slide_m))
        low, high = (np.array(v) for v in zip(*bounds, strict=True))
        want_m, want = np.array(tool.position_m), tool.rotation()
        weight = _RADIAN_M * min(1.0, ANGLE_RAD / turn_rad)

        def reached(values: FloatArray) -> tuple[FloatArray, FloatArray]:
            now = self.tool(dict(zip(names, values, strict=False)))
            turned = Pose.from_matrix(np.zeros(3), want.T @ now.rotation()).orientation
            gap = np.array(now.position_m) - want_m
            gap[0] += values[-1] if slide_m else 0.0
            return gap, np.array(turned[:3])

        def error(values: FloatArray) -> FloatArray:
            gap, turned = reached(values)
            return np.concatenate([gap, 2 * weight * turned])

        rng = np.random.default_rng(7)
        rest = [0.0] * (len(bounds) - len(names))
        starts = [np.array([*(start[n] for n in names), *rest])]
        if anew:
            starts.append(np.array([*(self.options.arm.ready[n] for n in names), *rest]))
            starts += [rng.uniform(low, high) for _ in range(_RANDOM_TRIES)]
        for first in starts:
            margin = 1e-6
            found = least_squares(
                error, np.clip(first, low + margin, high - margin), bounds=(low, high), max_nfev=60
            )
            gap, turned = reached(found.x)
            angle = 2 * float(np.arcsin(min(1.0, float(np.linalg.norm(turned)))))
            if np.linalg.norm(gap) <= POSITION_M and angle <= turn_rad + ANGLE_RAD:
                return [float(v) for v in found.x]
        return None

    def gaze(self, point_m: Vec3, joints: Mapping[str, float]) -> dict[str, float]:
        """Positions of the head's joints that look at a point of the base as straight as they can.

        Raises:
            PlannerError: without a head.
        """
        head = self.options.head
        if head is None:
            raise PlannerError(f"{self.options.name}: it has no head to turn")
        names = head.joints
        low, high = (np.array(v) for v in zip(*(self.bounds(n) for n in names), strict=True))

        def error(values: FloatArray) -> FloatArray:
            optical = self.optical({**joints, **dict(zip(names, values, strict=True))})
            seen = np.array(optical.inverse().apply(point_m))
            straight = np.array([0.0, 0.0, 1.0])
            return np.asarray(seen / max(float(np.linalg.norm(seen)), 1e-6) - straight)

        best: tuple[float, FloatArray] | None = None
        for first in (np.array([joints.get(n, 0.0) for n in names]), np.zeros(len(names))):
            found = least_squares(
                error, np.clip(first, low + 1e-6, high - 1e-6), bounds=(low, high), max_nfev=60
            )
            if best is None or found.cost < best[0] - 1e-9:
                best = (float(found.cost), found.x)
        chosen = best[1] if best is not None else np.zeros(len(names))
        return {name: float(v) for name, v in zip(names, chosen, strict=True)}


def _parsed(urdf: str) -> ET.Element:
    if len(urdf) > MAX_DESCRIPTION:
        raise PlannerError(f"robot_description: longer than {MAX_DESCRIPTION} characters")
    try:
        robot = ET.fromstring(urdf)  # noqa: S314 - expat bounds the expansion of entities itself
    except ET.ParseError as error:
        raise PlannerError(f"robot_description: is not well formed: {error}") from None
    if robot.tag != "robot":
        raise PlannerError(f"robot_description: is no URDF; its root is <{robot.tag}>")
    return robot


def _root_of(urdf: str) -> str:
    robot = _parsed(urdf)
    children = {child.get("link") for child in robot.findall("joint/child")}
    roots = [link.get("name", "") for link in robot.findall("link")]
    return next((name for name in roots if name not in children), "")


def _compiled(urdf: str) -> mujoco.MjModel:
    robot = _parsed(urdf)
    for parent in list(robot.iter()):
        for child in list(parent):
            if child.tag in _UNUSED:
                parent.remove(child)
    for joint in robot.findall("joint"):
        limit = joint.find("limit")
        if limit is not None and limit.get("lower", "0") == limit.get("upper", "0"):
            joint.remove(limit)  # of fingers that are drawn only; MuJoCo would warn
    # Frames of fixed joints are needed as well; masses are not, and often missing.
    ET.SubElement(
        ET.SubElement(robot, "mujoco"),
        "compiler",
        fusestatic="false",
        balanceinertia="true",
        boundmass="0.001",
        boundinertia="0.000001",
    )
    try:
        return mujoco.MjModel.from_xml_string(ET.tostring(robot, encoding="unicode"))
    except ValueError as error:
        raise PlannerError(f"robot_description: cannot be used: {error}") from None
