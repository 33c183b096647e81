"""Times, points and poses between our records and ROS messages.

Every number becomes a `float` on the way out: an int in a float field does not
raise, it aborts the process when the message is sent.
"""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, PoseStamped, Quaternion, Transform, TransformStamped, Vector3
from geometry_msgs.msg import Pose as PoseMessage
from std_msgs.msg import Header

from planner.world.geometry import Pose, Vec3


def time_message(stamp_s: float) -> Time:
    """Seconds of a clock that started at 0 or later, to the nanosecond."""
    nanoseconds = round(stamp_s * 1e9)
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def header(stamp_s: float, frame: str) -> Header:
    """A header with these two."""
    return Header(stamp=time_message(stamp_s), frame_id=frame)


def point_message(point_m: Vec3) -> Point:
    """A point in metres."""
    x, y, z = map(float, point_m)
    return Point(x=x, y=y, z=z)


def point_m(message: Point | Vector3) -> Vec3:
    """A point or vector as a tuple."""
    return (float(message.x), float(message.y), float(message.z))


def pose_message(pose: Pose) -> PoseMessage:
    """A pose; quaternions are (x, y, z, w) on both sides."""
    x, y, z, w = map(float, pose.orientation)
    return PoseMessage(
        position=point_message(pose.position_m), orientation=Quaternion(x=x, y=y, z=z, w=w)
    )


def pose_record(message: PoseMessage) -> Pose:
    """The inverse of `pose_message`."""
    turn = message.orientation
    return Pose(
        point_m(message.position), (float(turn.x), float(turn.y), float(turn.z), float(turn.w))
    )


def stamped_pose(stamp_s: float, frame: str, pose: Pose) -> PoseStamped:
    """A pose with its time and frame."""
    return PoseStamped(header=header(stamp_s, frame), pose=pose_message(pose))


def transform_message(stamp_s: float, parent: str, child: str, pose: Pose) -> TransformStamped:
    """The pose of frame `child` in frame `parent`, as tf expects it."""
    x, y, z = map(float, pose.position_m)
    qx, qy, qz, qw = map(float, pose.orientation)
    return TransformStamped(
        header=header(stamp_s, parent),
        child_frame_id=child,
        transform=Transform(
            translation=Vector3(x=x, y=y, z=z),
            rotation=Quaternion(x=qx, y=qy, z=qz, w=qw),
        ),
    )
