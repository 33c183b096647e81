"""The emulated robot's frame tree, in the SDK's names."""

from __future__ import annotations

from typing import Any

from planner.world.geometry import Pose
from sim_bridge.spot.convert import fill_tree
from sim_bridge.spot.emulator.body_geometry import SENSORS, WRIST_TO_HAND_M
from sim_bridge.spot.emulator.house_world import BODY_HEIGHT_M, LYING_HEIGHT_M
from sim_bridge.spot.emulator.machine import Machine, Posture

ODOM, VISION, BODY, HAND = "odom", "vision", "body", "hand"
FLAT_BODY, GROUND, FEET = "flat_body", "gpe", "feet_center"
WRIST = "link_wr1"
# The wrist's last joint relative to the hand frame.
WRIST_IN_HAND = Pose((-WRIST_TO_HAND_M, 0.0, 0.0))
# Both frames begin at the body where the robot was switched on and drift apart; a program that
# takes one for the other must not get away with it.
VISION_IN_ODOM = Pose.planar(0.3, -0.2, 0.4, 0.05)


def body_in_base(machine: Machine) -> Pose:
    """The SDK's body frame, at the centre of the trunk, in `base_link` on the ground."""
    standing = machine.posture in (Posture.STANDING, Posture.SITTING_DOWN)
    return Pose((0.0, 0.0, BODY_HEIGHT_M if standing else LYING_HEIGHT_M))


def odom_in_map(machine: Machine) -> Pose:
    """Odometry starts at the body's pose where the robot was switched on."""
    return machine.world.boot


def tree(machine: Machine) -> dict[str, tuple[str, Pose]]:
    """Each frame's parent and its pose in that; body is the root."""
    world = machine.world
    body = body_in_base(machine)
    to_body = body.inverse()
    base_in_odom = odom_in_map(machine).inverse().compose(world.base)
    odom_in_body = base_in_odom.compose(body).inverse()
    hand_in_body = to_body.compose(machine.arm_hand or world.hand())
    wrist_in_body = hand_in_body.compose(WRIST_IN_HAND)
    upright = Pose((0.0, 0.0, 0.0))
    found = {
        BODY: ("", upright),
        ODOM: (BODY, odom_in_body),
        VISION: (BODY, odom_in_body.compose(VISION_IN_ODOM)),
        # The body of an emulated robot never tilts.
        FLAT_BODY: (BODY, upright),
        # The floor of every house is level, under the feet; turned as odometry is.
        GROUND: (ODOM, Pose(base_in_odom.position_m)),
        FEET: (BODY, to_body),
        HAND: (BODY, hand_in_body),
        WRIST: (BODY, wrist_in_body),
        f"arm0.{WRIST}": (BODY, wrist_in_body),
    }
    where = {camera: to_body.compose(world.camera(camera)) for camera in set(SENSORS.values())}
    for frame, camera in SENSORS.items():
        found[frame] = (BODY, where[camera])
    return found


def fill(snapshot: Any, machine: Machine) -> None:
    """Writes the current tree."""
    fill_tree(snapshot, tree(machine))


def in_map(machine: Machine, frame: str, pose: Pose) -> Pose:
    """A pose in one of the robot's frames, in the map.

    Raises:
        KeyError: for an unknown frame.
    """
    odom, base = odom_in_map(machine), machine.world.base
    if frame == ODOM:
        return odom.compose(pose)
    if frame == VISION:
        return odom.compose(VISION_IN_ODOM).compose(pose)
    if frame in ("base_link", FEET):
        return base.compose(pose)
    parent, found = tree(machine)[frame]
    of_parent = odom if parent == ODOM else base.compose(body_in_base(machine))
    return of_parent.compose(found).compose(pose)
