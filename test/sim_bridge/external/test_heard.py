"""What is taken of a robot's messages before anything is reckoned with it."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest
from geometry_msgs.msg import Quaternion
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.waitable import NumberOfEntities, Waitable

from planner.world.errors import PlannerError
from sim_bridge.external.node import RobotEar, topics_of, unit_pose
from sim_bridge.external.readings import ExternalOptions


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


class ShutDownBeforeWaiting(Waitable[None]):
    """Shuts its context down when an executor that found it whole is about to wait."""

    def __init__(self, context: Any) -> None:
        super().__init__(ReentrantCallbackGroup())
        self._shut_down = context

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_error: object) -> None:
        pass

    def get_num_entities(self) -> NumberOfEntities:
        self._shut_down.try_shutdown()
        return NumberOfEntities()

    def add_to_wait_set(self, wait_set: Any) -> None:
        pass

    def is_ready(self, wait_set: Any) -> bool:
        return False


def test_a_signal_between_two_waits_ends_it_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    ear = RobotEar(topics_of(ExternalOptions()), "ear")
    ear._node.add_waitable(ShutDownBeforeWaiting(ear._context))
    # It notices a new waitable when it is woken.
    ear._executor.wake()
    ear._thread.join(20.0)
    assert not ear._thread.is_alive()
    assert [each.exc_value for each in raised] == []
    ear.close()
