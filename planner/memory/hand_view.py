"""What an agent saw and from where, for the node and for recorded pictures alike."""

from __future__ import annotations

from collections.abc import Sequence

from planner.world.geometry import Pose
from planner.world.observation import CameraFrame, Grip, Observation, Sighting

CAMERA = "hand"


def hand_observation(
    agent: str,
    stamp_s: float,
    frame: CameraFrame | None,
    *,
    base: Pose,
    odom: Pose,
    hand: Pose,
    optical: Pose | None,
    grip: Grip,
    sightings: Sequence[Sighting] | None = None,
) -> Observation:
    """One exposure of the hand's camera, or what is seen without one.

    Args:
        agent: whose hand.
        stamp_s: of the exposure, on the world's clock.
        frame: the pictures; None = there are none.
        base: the agent's `base_link` in `map` at that time.
        odom: its odometry frame in `map`.
        hand: its hand in `map`.
        optical: the camera's optical frame in `map`; None = there is no camera.
        grip: of the hand.
        sightings: what the agent sees, from a world without pictures.
    """
    in_base = base.inverse()
    return Observation(
        stamp_s=stamp_s,
        agent=agent,
        base=base,
        odometry=odom.inverse().compose(base),
        linear_m_s=0.0,
        angular_rad_s=0.0,
        hand=in_base.compose(hand),
        joints={},
        gripper_opening=grip.opening,
        holding=grip.holding,
        cameras={} if frame is None else {CAMERA: frame},
        optical={} if optical is None else {CAMERA: in_base.compose(optical)},
        sightings=sightings,
    )
