"""Converts poses, times and frame trees between the SDK's messages and ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bosdyn.api import geometry_pb2

from planner.world.errors import PlannerError
from planner.world.geometry import Pose

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
