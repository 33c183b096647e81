"""Converts poses, times, frame trees and the robot's state from the SDK's messages."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bosdyn.api import geometry_pb2, robot_state_pb2

from planner.world.agents import Body
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, quaternion_from_matrix
from sim_bridge.embedded.sensing import optical_rotation
from sim_bridge.safety.health import Fault

NS = 1_000_000_000


def pose_message(pose: Pose) -> Any:
    """An SE3Pose."""
    (x, y, z), (qx, qy, qz, qw) = pose.position_m, pose.orientation
    return geometry_pb2.SE3Pose(
        position=geometry_pb2.Vec3(x=x, y=y, z=z),
        rotation=geometry_pb2.Quaternion(x=qx, y=qy, z=qz, w=qw),
    )


def pose_of(message: Any) -> Pose:
    """The pose of an SE3Pose; a rotation of length 0 means identity."""
    p, q = message.position, message.rotation
    length = (q.x**2 + q.y**2 + q.z**2 + q.w**2) ** 0.5
    if length < 1e-9:
        return Pose((p.x, p.y, p.z))
    turned = (q.x / length, q.y / length, q.z / length, q.w / length)
    return Pose((p.x, p.y, p.z), turned)


def set_stamp(message: Any, seconds: float) -> None:
    """Writes seconds into a Timestamp or Duration."""
    ns = round(seconds * NS)
    message.seconds, message.nanos = ns // NS, ns % NS


def seconds_of(message: Any) -> float:
    """Seconds of a Timestamp or Duration."""
    return float(message.seconds) + float(message.nanos) / NS


def fill_tree(snapshot: Any, parents: Mapping[str, tuple[str, Pose]]) -> None:
    """Writes a tree of frames; `parents` gives each child its parent and its pose in that."""
    for child, (parent, pose) in parents.items():
        edge = snapshot.child_to_parent_edge_map[child]
        edge.parent_frame_name = parent
        edge.parent_tform_child.CopyFrom(pose_message(pose))


def pose_in(snapshot: Any, frame: str, child: str) -> Pose:
    """The pose of `child` in `frame`, through the root.

    Raises:
        PlannerError: if the tree lacks the frame, or is not a tree.
    """
    return _to_root(snapshot, frame).inverse().compose(_to_root(snapshot, child))


def _to_root(snapshot: Any, frame: str) -> Pose:
    edges, pose = snapshot.child_to_parent_edge_map, Pose((0.0, 0.0, 0.0))
    for _ in range(len(edges) + 1):
        if frame not in edges:
            raise PlannerError(f"the robot's frame tree has no frame {frame!r}")
        edge = edges[frame]
        if not edge.parent_frame_name:
            return pose
        pose = pose_of(edge.parent_tform_child).compose(pose)
        frame = edge.parent_frame_name
    raise PlannerError("the robot's frame tree has a cycle")


# Converts the robot's state messages.

_STANDING = (
    robot_state_pb2.BehaviorState.STATE_STANDING,
    robot_state_pb2.BehaviorState.STATE_STEPPING,
)

# In the SDK's body frame: in front of and above the body, close to the folded pose.
FOLD_M = (0.75, 0.0, 0.25)


@dataclass(frozen=True, slots=True)
class BodyState:
    """The robot at one instant.

    Attributes:
        odometry: `base_link` (the body projected upright onto the ground) in the odometry frame,
            whose origin is where the body was when the robot was switched on, not the ground.
        body_height_m: of the SDK's body frame above the ground.
        hand: the hand in `base_link`.
        battery: state of charge, 0 to 1.
        docked: whether the dock powers it.
        powered, off: motor power; while it comes or goes, neither: the robot is not yet safe to
            approach.
    """

    odometry: Pose
    body_height_m: float
    hand: Pose
    linear_m_s: float
    angular_rad_s: float
    joints: dict[str, float]
    gripper_opening: float
    holding: bool
    powered: bool
    off: bool
    standing: bool
    estopped: bool
    battery: float | None
    docked: bool
    faults: tuple[Fault, ...]
    fault_numbers: dict[str, list[int]]


def hand_before_body(state: BodyState) -> Pose:
    """The hand's pose before the arm is folded, in the odometry frame."""
    x, y, z = FOLD_M
    return state.odometry.compose(Pose((x, y, state.body_height_m + z)))


def read_state(state: Any) -> BodyState:
    """Converts a RobotState.

    Raises:
        PlannerError: if its frames form no tree.
    """
    kinematic = state.kinematic_state
    tree = kinematic.transforms_snapshot
    body = pose_in(tree, "odom", "body")
    ground_m = pose_in(tree, "odom", "gpe").position_m[2]
    x, y, height_m = body.position_m
    base = Pose.planar(x, y, body.yaw_rad, ground_m)
    velocity = kinematic.velocity_of_body_in_odom
    heading = base.yaw_rad
    forward = velocity.linear.x * math.cos(heading) + velocity.linear.y * math.sin(heading)
    sideways = velocity.linear.y * math.cos(heading) - velocity.linear.x * math.sin(heading)
    speed = math.hypot(forward, sideways)
    arm = state.manipulator_state
    power = state.power_state
    numbers: dict[str, list[int]] = {}
    faults = []
    for fault in state.behavior_fault_state.faults:
        cause = robot_state_pb2.BehaviorFault.Cause.Name(fault.cause).removeprefix("CAUSE_")
        numbers.setdefault(cause, []).append(fault.behavior_fault_id)
        faults.append(Fault(f"behavior fault {fault.behavior_fault_id}", cause, True))
    critical = robot_state_pb2.SystemFault.SEVERITY_CRITICAL
    faults += [
        Fault(fault.name, "SYSTEM", fault.severity == critical)
        for fault in state.system_fault_state.faults
    ]
    stops = robot_state_pb2.EStopState
    charged = power.HasField("locomotion_charge_percentage")
    return BodyState(
        odometry=base,
        body_height_m=height_m - ground_m,
        hand=base.inverse().compose(pose_in(tree, "odom", "hand")),
        linear_m_s=math.copysign(speed, forward) if speed else 0.0,
        angular_rad_s=float(velocity.angular.z),
        joints={joint.name: joint.position.value for joint in kinematic.joint_states},
        gripper_opening=min(1.0, max(0.0, arm.gripper_open_percentage / 100.0)),
        holding=bool(arm.is_gripper_holding_item),
        powered=power.motor_power_state == robot_state_pb2.PowerState.MOTOR_POWER_STATE_ON,
        off=power.motor_power_state == robot_state_pb2.PowerState.MOTOR_POWER_STATE_OFF,
        standing=state.behavior_state.state in _STANDING,
        # All of them must be known to be released before the robot runs.
        estopped=any(stop.state != stops.STATE_NOT_ESTOPPED for stop in state.estop_states),
        docked=power.shore_power_state == robot_state_pb2.PowerState.STATE_ON_SHORE_POWER,
        battery=power.locomotion_charge_percentage.value / 100.0 if charged else None,
        faults=tuple(faults),
        fault_numbers=numbers,
    )


def stamp_s(state: Any) -> float:
    """The stamp of a state, on the robot's clock."""
    return seconds_of(state.kinematic_state.acquisition_timestamp)


def optical_of(body: Body, state: BodyState, camera: str) -> Pose:
    """A camera's optical frame in `base_link` by the body's dimensions, without a picture."""
    mount = body.cameras[camera]  # type: ignore[index]
    pan, tilt, lift_m = 0.0, mount.tilt_rad, 0.0
    if camera == "hand":
        pan, tilt = state.joints.get("arm0.sh0", 0.0), state.joints.get("arm0.wr0", 0.0)
        lift_m = state.hand.position_m[2] - body.hand_m[2]
    x, y, z = mount.position_m
    c, s = math.cos(pan), math.sin(pan)
    turned = quaternion_from_matrix(optical_rotation(pan, tilt))
    return Pose((x * c - y * s, x * s + y * c, z + lift_m), turned)
