"""What is taken of a robot's messages before anything is reckoned with it."""

from __future__ import annotations

import math

import pytest
from geometry_msgs.msg import Quaternion

from planner.world.errors import PlannerError
from sim_bridge.external.node import topics_of, unit_pose
from sim_bridge.external.options import ExternalOptions


def test_a_rotation_that_was_rounded_is_one() -> None:
    pose = unit_pose((1.0, 2.0, 3.0), Quaternion(x=0.0, y=0.0, z=0.7071, w=0.7071))
    assert pose.yaw_rad == pytest.approx(math.pi / 2)
    assert math.hypot(*pose.orientation) == pytest.approx(1.0)


@pytest.mark.parametrize("w", [0.0, 0.5, 2.0, math.nan])
def test_what_is_no_rotation_is_refused(w: float) -> None:
    with pytest.raises(PlannerError, match="is not of length 1"):
        unit_pose((0.0, 0.0, 0.0), Quaternion(x=0.0, y=0.0, z=0.0, w=w))


def test_the_topics_are_those_of_spot_ros2() -> None:
    topics = topics_of(ExternalOptions(namespace="rex", transport="compressed"))
    assert topics.odometry == "/rex/odometry"
    assert topics.odometry_frames == ("rex/odom", "rex/vision")
    hand = topics.cameras["hand"]
    assert (hand.colour, hand.colour_transport) == ("/rex/camera/hand/image", "compressed")
    assert (hand.depth, hand.depth_transport) == (
        "/rex/depth_registered/hand/image",
        "compressedDepth",
    )
