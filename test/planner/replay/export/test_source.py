"""What an export finds in a bag: times, cameras, agents, and no more than is there."""

from __future__ import annotations

import pytest

from planner.replay.export.source import Camera, Source
from planner.world.errors import FileError


def test_cameras_and_agents_are_found_by_their_topics(tapes) -> None:
    tape = tapes.tape()
    tape.picture("agent_0", 0.0)
    tape.put("/agent_0/camera/hand/camera_info", "sensor_msgs/CameraInfo", 0.0)
    tape.put("/agent_0/depth_registered/hand/camera_info", "sensor_msgs/CameraInfo", 0.0)
    depth = "/agent_0/depth_registered/hand/image/compressedDepth"
    tape.put(depth, "sensor_msgs/CompressedImage", 0.0)
    tape.put("/spot/camera/left/image/compressed", "sensor_msgs/CompressedImage", 0.0)
    tapes.body(tape, 0.0, "agent_7")
    source = Source(tape.close())
    assert source.cameras == (
        Camera(
            "agent_0",
            "hand",
            "/agent_0/camera/hand/image",
            depth,
            "/agent_0/camera/hand/camera_info",
        ),
        Camera("spot", "left", "/spot/camera/left/image/compressed"),
    )
    assert source.agents == ("agent_0", "agent_7", "spot")
    with pytest.raises(FileError, match="no such pictures; the bag has those of agent_0's hand"):
        source.camera("agent_1", "hand")


def test_messages_without_a_world_stamp_have_the_clock_at_their_receipt(tapes) -> None:
    tape = tapes.tape()
    for time_s in (0.0, 1.0, 2.0):
        tape.put("/clock", "rosgraph_msgs/Clock", time_s, clock=tapes.stamp(time_s))
    tape.put("/flag", "std_msgs/Bool", 1.5)
    # As nodes log: with the wall clock.
    tape.put("/rosout", "rcl_interfaces/Log", 1.5, stamp=tapes.stamp(1.79e9), msg="hello")
    source = Source(tape.close())
    assert source.simulated
    assert [m.world_s for m in source.messages(("/flag", "/rosout"))] == [1.0, 1.0]
    assert source.received_ns(1_500_000_000) == source.received_ns(2_000_000_000)


def test_only_the_last_of_several_worlds_is_exported(tapes) -> None:
    tape = tapes.tape()
    for number, time_s in enumerate((0.0, 5.0, 10.0, 0.0, 1.0)):
        late = {"late_ns": (number - int(time_s)) * 10**9}
        tape.put("/clock", "rosgraph_msgs/Clock", time_s, clock=tapes.stamp(time_s), **late)
        tape.put("/note", "std_msgs/Header", time_s, stamp=tapes.stamp(time_s), **late)
    source = Source(tape.close())
    assert [m.world_s for m in source.messages(("/note",))] == [0.0, 1.0]


def test_a_robots_bag_has_no_clock_and_its_stamps_are_its_times(tapes) -> None:
    tape = tapes.tape()
    tape.put("/agent_0/odometry", "nav_msgs/Odometry", 1.79e9)
    source = Source(tape.close())
    assert not source.simulated
    assert [m.world_s for m in source.messages(("/agent_0/odometry",))] == [1.79e9]
    assert (source.house, source.instruction) == (None, "")


def test_an_empty_bag_is_refused(tapes) -> None:
    with pytest.raises(FileError, match="holds no message"):
        Source(tapes.tape().close())
