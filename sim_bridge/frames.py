"""The tree of frames: map -> <agent>/odom -> <agent>/base_link -> <agent>/hand, cameras."""

from __future__ import annotations

from dataclasses import dataclass

from planner.world.geometry import Pose, Vec3
from planner.world.observation import Observation
from planner.world.primitive import Primitive

MAP = "map"
ARM_CAMERA = "hand"
# Joints of simulated bodies: the arm pans about the base and its camera tilts. `HAND_MOUNT` is the
# frame at the base that pans.
PAN_JOINT, TILT_JOINT = "hand_pan", "hand_tilt"
HAND_MOUNT = "hand_mount"


@dataclass(frozen=True, slots=True)
class Link:
    """The pose of frame `child` in frame `parent` at `stamp_s`; None for one that never changes."""

    parent: str
    child: str
    pose: Pose
    stamp_s: float | None = None


def optical_frame(agent: str, camera: str) -> str:
    """The frame that a camera's images are in: z forward, x right, y down (REP-103)."""
    return f"{agent}/{camera}_optical_frame"


def moving_links(observation: Observation) -> list[Link]:
    """The links that change, at the observation's stamp.

    map -> odom carries what localisation corrects, odom -> base_link is smooth (REP-105).
    The hand camera is mounted on the hand, every other one on the base.
    """
    agent, stamp_s = observation.agent, observation.stamp_s
    base, hand = f"{agent}/base_link", f"{agent}/hand"
    correction = observation.base.compose(observation.odometry.inverse())
    links = [
        Link(MAP, f"{agent}/odom", correction, stamp_s),
        Link(f"{agent}/odom", base, observation.odometry, stamp_s),
        Link(base, hand, observation.hand, stamp_s),
    ]
    if PAN_JOINT in observation.joints:
        pan = Pose.planar(0.0, 0.0, observation.joints[PAN_JOINT])
        links.append(Link(base, f"{agent}/{HAND_MOUNT}", pan, stamp_s))
    for camera, in_base in observation.optical.items():
        frame = optical_frame(agent, camera)
        if camera == ARM_CAMERA:
            in_hand = observation.hand.inverse().compose(in_base)
            links.append(Link(hand, frame, in_hand, stamp_s))
        else:
            links.append(Link(base, frame, in_base, stamp_s))
    return links


def fixed_links(agent: str) -> list[Link]:
    """The links that never change: Spot and spot_ros2 call the base `body`."""
    return [Link(f"{agent}/base_link", f"{agent}/body", Pose((0.0, 0.0, 0.0)))]


def in_map(primitive: Primitive, frame: Pose | None) -> tuple[Vec3, Vec3 | None, float]:
    """Target, reference and heading of a primitive in the map.

    Args:
        primitive: with points in its frame.
        frame: the frame's pose in the map; None for the map itself.
    """
    target_m, reference_m = primitive.target_m, primitive.reference_m
    if frame is None:
        return target_m, reference_m, primitive.heading_rad
    return (
        frame.apply(target_m),
        None if reference_m is None else frame.apply(reference_m),
        primitive.heading_rad + frame.yaw_rad,
    )
