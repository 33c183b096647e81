"""The motion of one agent's body at a constant rate: LeRobot's `observation.state` and `action`.

State: the base's pose in `map` and its measured velocity, the joints, the gripper; the newest
message of each up to the frame's time. Bags contain the measured motion, not the motor commands, so
an action is the motion until the next frame: the mean velocity of the base in its own frame, and
the positions of joints and gripper at the next frame. A state and its action give the next state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.replay.export.source import Received, Source
from planner.replay.export.timeline import Steps
from planner.world.errors import FileError
from planner.world.geometry import IDENTITY, Pose, wrap_angle_rad

_BASE_STATE = ("x.pos", "y.pos", "theta.pos", "x.vel", "theta.vel")
_BASE_ACTION = ("x.vel", "y.vel", "theta.vel")
_MAP = "map"
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BodyNames:
    """Names of the numbers of state and action, as in LeRobot's own mobile robots.

    `x`, `y` in metres and `theta` in radians, `.vel` per second; joints in radians, the gripper's
    opening from 0 to 1.
    """

    joints: tuple[str, ...]
    gripper: tuple[str, ...]

    @property
    def state(self) -> tuple[str, ...]:
        """Of `observation.state`."""
        return (*_BASE_STATE, *self._parts)

    @property
    def action(self) -> tuple[str, ...]:
        """Of `action`."""
        return (*_BASE_ACTION, *self._parts)

    @property
    def _parts(self) -> tuple[str, ...]:
        return tuple(f"{name}.pos" for name in (*self.joints, *self.gripper))


@dataclass(frozen=True, slots=True)
class _Base:
    pose: Pose
    linear_m_s: float
    angular_rad_s: float


@dataclass(frozen=True, slots=True)
class Body:
    """The recorded motion of one agent, and the time span in which all of it is known."""

    names: BodyNames
    first_s: float
    last_s: float
    _base: Steps[_Base]
    _odometry_frame: Steps[Pose]
    _joints: Steps[tuple[float, ...]]
    _gripper: Steps[tuple[float, ...]]

    def states(self, times_s: Sequence[float]) -> Floats:
        """The states at some times, (n, len(names.state)) float32."""
        rows = [self._state(time_s) for time_s in times_s]
        return np.array(rows, np.float32).reshape(len(rows), len(self.names.state))

    def _state(self, time_s: float) -> list[float]:
        base = _known(self._base.at(time_s))
        frame = self._odometry_frame.at(time_s) or Pose((0.0, 0.0, 0.0))
        pose = frame.compose(base.pose)
        x, y, _ = pose.position_m
        parts = (*(self._joints.at(time_s) or ()), *(self._gripper.at(time_s) or ()))
        return [x, y, pose.yaw_rad, base.linear_m_s, base.angular_rad_s, *parts]


def read_body(source: Source, agent: str) -> Body:
    """Reads the motion of an agent's body from a bag.

    Raises:
        FileError: if there is no odometry of the agent, or it cannot be read.
    """
    draft = _Draft(agent)
    for message in source.messages((draft.odometry, draft.joints, draft.gripper)):
        source.dispatch(message, draft.add)
    if not len(draft.base):
        known = ", ".join(source.agents) or "none"
        reason = f"has no message; agents of this bag: {known}"
        raise FileError(source.folder, draft.odometry, reason)
    for message in source.messages(("/tf",)):
        source.dispatch(message, draft.add_links)
    return draft.body()


class _Draft:
    """What was read of a body so far."""

    def __init__(self, agent: str) -> None:
        self.odometry = f"/{agent}/odometry"
        self.joints, self.gripper = f"/{agent}/joint_states", f"/{agent}/gripper_state"
        self.base: Steps[_Base] = Steps()
        self._frame = ""
        self._frames: Steps[Pose] = Steps()
        self._names: dict[str, tuple[str, ...]] = {self.joints: (), self.gripper: ()}
        self._parts: dict[str, Steps[tuple[float, ...]]] = {
            self.joints: Steps(),
            self.gripper: Steps(),
        }

    def add(self, message: Received) -> None:
        """Takes a message of odometry, joints or the gripper."""
        if message.topic == self.odometry:
            self._frame = self._frame or str(message.content.header.frame_id)
            self.base.add(message.world_s, _base(message))
            return
        named = tuple(str(name) for name in message.content.name)
        order = self._names[message.topic] = self._names[message.topic] or named
        positions = _in_order(order, named, message)
        if positions is not None:
            self._parts[message.topic].add(message.world_s, positions)

    def add_links(self, message: Received) -> None:
        """Takes a transform from the map to the odometry's frame."""
        for link in message.content.transforms:
            if link.header.frame_id == _MAP and link.child_frame_id == self._frame:
                moved = link.transform
                self._frames.add(message.world_s, _pose(moved.translation, moved.rotation))

    def body(self) -> Body:
        """The complete motion."""
        begins_s = [self.base.span_s[0]]
        begins_s += [steps.span_s[0] for steps in self._parts.values() if len(steps)]
        begins_s += [self._frames.span_s[0]] if len(self._frames) else []
        return Body(
            BodyNames(self._names[self.joints], self._names[self.gripper]),
            max(begins_s),
            self.base.span_s[1],
            self.base,
            self._frames,
            self._parts[self.joints],
            self._parts[self.gripper],
        )


def actions(states: Floats, fps: int) -> Floats:
    """The motion from each of (n, k) states to the next, (n, k - 2) float32.

    After the last state the base stands, and joints and gripper keep their positions.
    """
    after = np.concatenate((states[1:], states[-1:])).astype(np.float64)
    now = states.astype(np.float64)
    moved, yaw = after[:, :2] - now[:, :2], now[:, 2]
    forward = np.cos(yaw) * moved[:, 0] + np.sin(yaw) * moved[:, 1]
    left = -np.sin(yaw) * moved[:, 0] + np.cos(yaw) * moved[:, 1]
    turned = np.array([wrap_angle_rad(float(angle)) for angle in after[:, 2] - yaw])
    velocities = np.stack((forward, left, turned), axis=1) * fps
    parts = after[:, len(_BASE_STATE) :]
    return np.concatenate((velocities, parts), axis=1).astype(np.float32)


def _base(message: Received) -> _Base:
    pose, twist = message.content.pose.pose, message.content.twist.twist
    placed = _pose(pose.position, pose.orientation)
    return _Base(placed, float(twist.linear.x), float(twist.angular.z))


def _pose(p: Any, q: Any) -> Pose:
    turn = (float(q.x), float(q.y), float(q.z), float(q.w))
    return Pose((float(p.x), float(p.y), float(p.z)), turn if any(turn) else IDENTITY)


def _in_order(
    order: tuple[str, ...], named: tuple[str, ...], message: Received
) -> tuple[float, ...] | None:
    """A message's positions in the order of the first message's names; None if it lacks some."""
    if len(message.content.position) != len(named):
        return None
    positions = dict(zip(named, map(float, message.content.position), strict=True))
    return tuple(positions[n] for n in order) if positions.keys() >= set(order) else None


def _known(base: _Base | None) -> _Base:
    if base is None:
        raise ValueError("a time before the first odometry")
    return base
