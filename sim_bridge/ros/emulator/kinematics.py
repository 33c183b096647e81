"""The robot's links and joints, as MuJoCo reads them from its URDF.

All forward kinematics, of the published frames as of the planner, is MuJoCo's.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence

import mujoco
import mujoco.minimize
import numpy as np

from planner.world.geometry import FloatArray, Pose, quaternion_from_matrix
from planner.world.share import config_dir

ROOT, GRASP, CAMERA = "base_footprint", "gripper_grasping_frame", "head_camera_rgb_optical_frame"
ARM = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "upperarm_roll_joint",
    "elbow_flex_joint",
    "forearm_roll_joint",
    "wrist_flex_joint",
    "wrist_roll_joint",
)
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
