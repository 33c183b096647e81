"""The robot's links and joints, and their trajectories as ros2_control carries them out."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import mujoco
import mujoco.minimize
import numpy as np

from planner.world.geometry import FloatArray, Pose, quaternion_from_matrix
from planner.world.share import config_dir

# The robot's links and joints, as MuJoCo reads them from its URDF.
#
# All forward kinematics, of the published frames as of the planner, is MuJoCo's.

ROOT, GRASP, CAMERA = "base_footprint", "gripper_grasping_frame", "head_camera_rgb_optical_frame"
ARM = (
    "shoulder_pan_joint", "shoulder_lift_joint", "upperarm_roll_joint", "elbow_flex_joint",
    "forearm_roll_joint", "wrist_flex_joint", "wrist_roll_joint",
)  # fmt: skip
TORSO, HEAD = ("torso_lift_joint",), ("head_pan_joint", "head_tilt_joint")
FINGERS = ("gripper_left_finger_joint", "gripper_right_finger_joint")
# Folded over the base, within its radius.
TUCKED = dict(zip(ARM, (1.0, 1.4, 2.6, -2.3, -0.1, -1.7, 0.0), strict=True))


def shipped_urdf() -> str:
    """The shipped robot's description."""
    return (config_dir() / "robots" / "emulator.urdf").read_text(encoding="utf-8")


class RobotModel:
    """What never changes: names, limits, and which frame hangs on which."""

    def __init__(self, urdf: str) -> None:
        """Reads a URDF of primitive shapes."""
        spec = mujoco.MjSpec.from_string(urdf)
        # Frames without mass are frames all the same.
        spec.compiler.fusestatic = False
        spec.compiler.discardvisual = False
        self.model = spec.compile()
        model = self.model
        self.joints: tuple[str, ...] = tuple(model.joint(i).name for i in range(model.njnt))
        self.index = {name: i for i, name in enumerate(self.joints)}
        self.lower, self.upper = model.jnt_range[:, 0].copy(), model.jnt_range[:, 1].copy()
        # MuJoCo has no velocity limits.
        speeds = {
            str(joint.get("name")): float(limit.get("velocity", "0"))
            for joint in ET.fromstring(urdf).iter("joint")  # noqa: S314 - our own file
            if (limit := joint.find("limit")) is not None
        }
        self.speed = np.array([speeds[name] for name in self.joints])
        self.links: tuple[str, ...] = tuple(model.body(i).name for i in range(1, model.nbody))
        self.parent = {
            model.body(i).name: model.body(model.body_parentid[i]).name
            for i in range(2, model.nbody)
        }
        moving = {model.body(b).name for b in model.jnt_bodyid}
        self.fixed = frozenset(self.parent) - moving

    def zeros(self, values: Mapping[str, float] | None = None) -> FloatArray:
        """All joints at 0, or at the named positions."""
        q = np.zeros(len(self.joints))
        for name, value in (values or {}).items():
            q[self.index[name]] = value
        return q

    def indices(self, names: Sequence[str]) -> list[int]:
        """The places of joints in arrays over all joints."""
        return [self.index[name] for name in names]


class Kinematics:
    """Poses of links for one set of joint positions; for one thread."""

    def __init__(self, robot: RobotModel) -> None:
        self.robot = robot
        self._data = mujoco.MjData(robot.model)
        self.set(robot.zeros())

    @property
    def q(self) -> FloatArray:
        """The positions of all joints that were last set."""
        return np.array(self._data.qpos)

    def set(self, q: FloatArray) -> None:
        """Takes positions of all joints."""
        self._data.qpos[:] = q
        mujoco.mj_kinematics(self.robot.model, self._data)

    def pose(self, link: str) -> Pose:
        """A link's frame in `base_footprint`.

        Raises:
            KeyError: for an unknown link.
        """
        body = self._data.body(link)
        return Pose.from_matrix(body.xpos, body.xmat.reshape(3, 3))

    def on_parent(self, link: str) -> Pose:
        """A link's frame in that of its parent, as robot_state_publisher sends it."""
        parent = self._data.body(self.robot.parent[link])
        child = self._data.body(link)
        turn = parent.xmat.reshape(3, 3).T
        return Pose.from_matrix(turn @ (child.xpos - parent.xpos), turn @ child.xmat.reshape(3, 3))

    def geoms(self) -> tuple[FloatArray, FloatArray]:
        """(n, 3) positions and (n, 3, 3) rotations of all shapes in `base_footprint`."""
        return self._data.geom_xpos.copy(), self._data.geom_xmat.reshape(-1, 3, 3).copy()

    def solve(
        self, residual: Callable[[], FloatArray], q: FloatArray, free: list[int]
    ) -> tuple[FloatArray, float]:
        """Positions of the free joints, within their limits, with the least residual.

        Args:
            residual: of the positions that were last set; (m,).
            q: where to begin, all joints.
            free: the joints that may move.

        Returns:
            The positions of all joints and the norm of their residual.
        """
        q = q.copy()
        low, high = self.robot.lower[free], self.robot.upper[free]

        def at(points: FloatArray) -> FloatArray:
            columns = []
            for point in np.atleast_2d(points.T):
                q[free] = point
                self.set(q)
                columns.append(residual())
            return np.array(columns).T

        start = np.clip(q[free], low + 1e-6, high - 1e-6)
        found, _ = mujoco.minimize.least_squares(
            start, at, bounds=(low, high), max_iter=60, verbose=mujoco.minimize.Verbosity.SILENT
        )
        q[free] = np.clip(found, low, high)
        self.set(q)
        return q, float(np.linalg.norm(residual()))


def rotation_error(target: FloatArray, actual: FloatArray) -> FloatArray:
    """The rotation vector, in the target's frame, from one (3, 3) rotation to the other."""
    x, y, z, w = quaternion_from_matrix(target.T @ actual)
    vector = np.zeros(3)
    mujoco.mju_quat2Vel(vector, np.array([w, x, y, z]), 1.0)
    return vector


class Status(Enum):
    """How a goal ended, as actions tell it."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"


@dataclass(frozen=True)
class Ended:
    """The end of a goal: its action's own code and words."""

    status: Status
    code: int = 0
    text: str = ""


class GoalError(Exception):
    """Why a goal fails, in its action's own code and words."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.ended = Ended(Status.ABORTED, code, text)


# Codes of control_msgs/FollowJointTrajectory.
INVALID_GOAL, INVALID_JOINTS, OLD_HEADER_TIMESTAMP = -1, -2, -3
PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = -4, -5
# What a controller's parameters would say: radians or metres, and seconds.
GOAL_TOLERANCE, GOAL_TIME_S = 0.02, 2.0


@dataclass(frozen=True, slots=True)
class Trajectory:
    """Positions of some joints over time.

    Attributes:
        times_s: (n,) from its start, increasing.
        positions: (n, joints); `velocities` likewise, or None: straight lines between points.
        path_tolerance: by joint; none is named: not watched. Negative: never watched.
        goal_tolerance: by joint, where it differs from the controller's own.
    """

    joints: tuple[str, ...]
    times_s: FloatArray
    positions: FloatArray
    velocities: FloatArray | None = None
    path_tolerance: Mapping[str, float] = field(default_factory=dict)
    goal_tolerance: Mapping[str, float] = field(default_factory=dict)
    goal_time_s: float = 0.0

    def check(self, joints: Sequence[str], robot: RobotModel) -> None:
        """Refuses what a controller of these joints cannot follow.

        Raises:
            GoalError: with the reason.
        """
        if sorted(self.joints) != sorted(joints):
            text = f"expected the joints {list(joints)}, got {list(self.joints)}"
            raise GoalError(INVALID_JOINTS, text)
        places = robot.indices(self.joints)
        shape = (len(self.times_s), len(joints))
        for is_wrong, text in (
            (not len(self.times_s), "the trajectory has no points"),
            (self.positions.shape != shape, "a point has not one position for each joint"),
            (
                self.velocities is not None and self.velocities.shape != shape,
                "a point has velocities, but not one for each joint",
            ),
            (not np.isfinite(self.positions).all(), "a position is not finite"),
            (
                (np.diff(self.times_s, prepend=-1e-9) <= 0).any(),
                "time_from_start does not increase",
            ),
        ):
            if is_wrong:
                raise GoalError(INVALID_GOAL, text)
        low, high = robot.lower[places] - 1e-3, robot.upper[places] + 1e-3
        for joint, values, least, most in zip(
            self.joints, self.positions.T, low, high, strict=True
        ):
            if values.min() < least or values.max() > most:
                raise GoalError(INVALID_GOAL, f"{joint} is to go beyond its limits")

    def at(self, time_s: float, start: FloatArray) -> FloatArray:
        """(joints,) positions at a time; before the first point on the way from `start`."""
        times, points, speeds = self.times_s, self.positions, self.velocities
        if times[0] > 0:
            times, points = np.append(0.0, times), np.vstack([start, points])
            if speeds is not None:
                speeds = np.vstack([np.zeros(len(start)), speeds])
        if time_s >= times[-1]:
            return np.array(points[-1])
        k = int(np.searchsorted(times, time_s, side="right")) - 1
        span = times[k + 1] - times[k]
        u = (time_s - times[k]) / span
        a, b = points[k], points[k + 1]
        if speeds is None:
            return np.array(a + (b - a) * u)
        # Cubic Hermite.
        va, vb = speeds[k] * span, speeds[k + 1] * span
        return np.array(
            (2 * u**3 - 3 * u**2 + 1) * a
            + (u**3 - 2 * u**2 + u) * va
            + (3 * u**2 - 2 * u**3) * b
            + (u**3 - u**2) * vb
        )


class Follower:
    """One joint trajectory controller: moves its joints in an array over all joints."""

    def __init__(self, robot: RobotModel, joints: Sequence[str], q: FloatArray) -> None:
        self.robot, self.joints, self.q = robot, tuple(joints), q
        self.places = robot.indices(joints)
        self._trajectory: Trajectory | None = None
        self.desired = q[self.places].copy()

    def begin(self, trajectory: Trajectory, now_s: float) -> None:
        """Follows a trajectory without faults, instead of what it did."""
        order = [trajectory.joints.index(name) for name in self.joints]
        self._trajectory, self._order, self._began_s = trajectory, order, now_s
        self._start = self.q[self.places].copy()

    def hold(self) -> None:
        """Stays where the joints are."""
        self._trajectory = None
        self.desired = self.q[self.places].copy()

    def step(self, now_s: float, dt_s: float) -> Ended | None:
        """Moves for `dt_s`; tells the end of the trajectory once."""
        trajectory = self._trajectory
        if trajectory is None:
            return None
        start = np.empty(len(self.joints))
        start[self._order] = self._start
        passed_s = now_s - self._began_s
        self.desired = trajectory.at(passed_s, start)[self._order]
        here = self.q[self.places]
        most = self.robot.speed[self.places] * dt_s
        self.q[self.places] = here + np.clip(self.desired - here, -most, most)
        error = np.abs(self.desired - self.q[self.places])
        ended = self._judged(trajectory, passed_s, error)
        if ended is not None:
            self.hold()
        return ended

    def _judged(self, trajectory: Trajectory, passed_s: float, error: FloatArray) -> Ended | None:
        if passed_s < trajectory.times_s[-1]:
            for name, off in zip(self.joints, error, strict=True):
                allowed = trajectory.path_tolerance.get(name, 0.0)
                if 0 < allowed < off:
                    text = f"{name} is {off:.3f} off its path, {allowed:g} is allowed"
                    return Ended(Status.ABORTED, PATH_TOLERANCE_VIOLATED, text)
            return None
        late_s = passed_s - trajectory.times_s[-1]
        bad = [
            f"{name} is {off:.3f} off its goal"
            for name, off in zip(self.joints, error, strict=True)
            if 0 <= (trajectory.goal_tolerance.get(name, 0.0) or GOAL_TOLERANCE) < off
        ]
        if not bad:
            return Ended(Status.SUCCEEDED)
        if late_s > (trajectory.goal_time_s or GOAL_TIME_S):
            return Ended(Status.ABORTED, GOAL_TOLERANCE_VIOLATED, "; ".join(bad))
        return None


# Of ros2_control's gripper controllers, by their documents.
GRIPPER_TOLERANCE_M, STALL_TIMEOUT_S = 0.01, 1.0
OPEN_GAP_M = 0.11


class Gripper:
    """Two fingers that move as one. `gap_m` is the width between them."""

    def __init__(self) -> None:
        self.gap_m = OPEN_GAP_M
        self._goal_m: float | None = None
        self._effort_n = 0.0
        self._speed_m_s = 0.0
        self._stalled_since_s: float | None = None

    @property
    def effort_n(self) -> float:
        """What presses on the thing between the fingers."""
        return self._effort_n if self._stalled_since_s is not None else 0.0

    @property
    def is_closing(self) -> bool:
        """Whether the fingers move towards each other."""
        return self._goal_m is not None and self._goal_m < self.gap_m

    def begin(self, gap_m: float, max_effort_n: float, speed_m_s: float) -> None:
        """Moves towards a width, up to its limits."""
        self._goal_m = min(max(gap_m, 0.0), OPEN_GAP_M)
        self._effort_n = max_effort_n if max_effort_n > 0 else 60.0
        self._speed_m_s = speed_m_s
        self._stalled_since_s = None

    def hold(self) -> None:
        """Stops; what is held stays held."""
        self._goal_m = None

    def step(
        self, now_s: float, dt_s: float, floor_m: float, *, allow_stalling: bool
    ) -> Ended | None:
        """Moves for `dt_s`, down to the width of what is in the way; tells the end once."""
        goal = self._goal_m
        if goal is None:
            return None
        most = self._speed_m_s * dt_s
        wanted = self.gap_m + min(max(goal - self.gap_m, -most), most)
        was, self.gap_m = self.gap_m, max(wanted, min(floor_m, self.gap_m))
        if abs(self.gap_m - goal) <= GRIPPER_TOLERANCE_M and (
            self.gap_m == goal or self.gap_m == was
        ):
            self.hold()
            return Ended(Status.SUCCEEDED, 0, "reached")
        if self.gap_m != was:
            self._stalled_since_s = None
            return None
        if self._stalled_since_s is None:
            self._stalled_since_s = now_s
        if now_s - self._stalled_since_s < STALL_TIMEOUT_S:
            return None
        self.hold()
        return Ended(Status.SUCCEEDED if allow_stalling else Status.ABORTED, 0, "stalled")
