"""Records survive the way through messages and back."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import CameraInfo
from tf2_msgs.msg import TFMessage

from planner.ros import conversions
from planner.ros.conversions import (
    header,
    pose_message,
    pose_record,
    time_message,
    transform_message,
)
from planner.ros.primitives import goal_message, result_message, result_record
from planner.ros.sightings import StateMessages
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.memory_wire import stamp_seconds
from planner.world.observation import Intrinsics
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.state import StateUpdate, UpdateEncoder
from planner.world.vocabulary import Relation
from planner.world.wire import first_child_of, frame_of, intrinsics_of, stamp_of, state_update
from sim_bridge.agent.node import read_goal
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.runtime import read_request

HEAD = header(1.5, "camera")


@pytest.mark.parametrize("stamp_s", [0.0, 1 / 30, 12.999999999, 1e6 + 0.25])
def test_times(stamp_s: float) -> None:
    assert stamp_seconds(time_message(stamp_s)) == pytest.approx(stamp_s, abs=1e-9)


def test_poses_of_whole_numbers_too() -> None:
    pose = Pose((1, 2, 3), (0, 0, 0, 1))
    assert pose_record(pose_message(pose)) == pose


def test_the_stamp_of_a_serialised_picture() -> None:
    message = conversions.rgb_message(HEAD, np.arange(72, dtype=np.uint8).reshape(4, 6, 3))
    data = serialize_message(message)
    assert stamp_of(data) == 1.5
    with pytest.raises(ValueError, match="no header"):
        stamp_of(data[:11])


@pytest.mark.parametrize("parent", ["map", "odom", "agent_0/odom", ""])
def test_the_frames_of_serialised_messages(parent: str) -> None:
    picture = conversions.rgb_message(header(1.5, parent), np.zeros((4, 6, 3), np.uint8))
    assert frame_of(serialize_message(picture)) == parent
    link = transform_message(1.5, parent, "agent_0/base_link", Pose((1.0, 2.0, 3.0)))
    data = serialize_message(TFMessage(transforms=[link, link]))
    assert first_child_of(data) == "agent_0/base_link"
    with pytest.raises(ValueError, match="no header"):
        first_child_of(data[:24])


def test_colours() -> None:
    rgb = np.random.default_rng(1).integers(0, 256, (4, 6, 3)).astype(np.uint8)
    message = conversions.rgb_message(HEAD, rgb)
    assert (message.encoding, message.height, message.width, message.step) == ("rgb8", 4, 6, 18)
    assert np.array_equal(conversions.rgb_array(message), rgb)
    message.encoding = "bgr8"
    assert np.array_equal(conversions.rgb_array(message), rgb[..., ::-1])


@pytest.mark.parametrize("encoding", conversions.DEPTH_ENCODINGS)
def test_depth_and_what_was_not_measured(encoding: str) -> None:
    depth = np.array([[0.0, 1.234], [5.0, 0.1]], np.float32)
    message = conversions.depth_message(HEAD, depth, encoding)
    assert message.encoding == encoding
    assert np.allclose(conversions.depth_array(message), depth, atol=6e-4)
    assert conversions.depth_array(message)[0, 0] == 0.0
    raw = np.frombuffer(message.data, np.float32 if encoding == "32FC1" else np.uint16)
    assert np.isnan(raw[0]) if encoding == "32FC1" else raw[0] == 0


def test_rows_may_be_padded() -> None:
    message = conversions.instances_message(HEAD, np.arange(6, dtype=np.int32).reshape(2, 3))
    rows = np.frombuffer(message.data, np.uint8).reshape(2, 12)
    message.data = np.pad(rows, ((0, 0), (0, 4))).tobytes()
    message.step = 16
    assert np.array_equal(conversions.instance_array(message), [[0, 1, 2], [3, 4, 5]])


def test_wrong_pictures_are_reported() -> None:
    message = conversions.rgb_message(HEAD, np.zeros((2, 2, 3), np.uint8))
    for read in (conversions.depth_array, conversions.instance_array):
        with pytest.raises(PlannerError, match="'rgb8' is no"):
            read(message)
    message.height = 3
    with pytest.raises(PlannerError, match="an image of 2x3 rgb8 has 12 bytes"):
        conversions.rgb_array(message)
    with pytest.raises(PlannerError, match="not calibrated"):
        intrinsics_of(CameraInfo())


def test_lenses() -> None:
    lens = Intrinsics(384, 300, 250.0, 251.0, 191.5, 149.5)
    assert intrinsics_of(conversions.camera_info(HEAD, lens)) == lens


@pytest.mark.parametrize(("index", "name"), [(0, "k[0] is -300"), (4, "k[4] is -300")])
def test_a_mirrored_camera_is_named(index: int, name: str) -> None:
    message = CameraInfo()
    message.k[0] = message.k[4] = 300.0
    message.k[index] = -300.0
    with pytest.raises(PlannerError, match=re.escape(name)):
        intrinsics_of(message)


def plain(update: StateUpdate) -> StateUpdate:
    """The update, where no states and an empty set of them are the same."""
    entities = update.state.entities.items()
    same = {name: replace(entity, states=entity.states or None) for name, entity in entities}
    return replace(update, state=replace(update.state, entities=same))


def test_a_world_and_its_changes(small_house: House, small_episode: Episode) -> None:
    backend = EmbeddedBackend()
    backend.reset(small_house, small_episode, 0)
    encoder, messages = UpdateEncoder(), StateMessages()
    first = backend.world_state()
    assert first is not None
    whole = encoder.encode(first)
    assert plain(state_update(messages.message(whole))) == plain(whole)
    backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, (1.0, 1.4, 0.0)))
    for _ in range(30):
        backend.step(1 / 30)
    second = backend.world_state()
    assert second is not None
    change = encoder.encode(replace(second, stamp_s=0.5))
    assert not change.keyframe
    assert set(change.state.entities) == {"agent_0"}
    change = replace(change, removed=("cup_0",))
    assert plain(state_update(messages.message(change))) == plain(change)
    before, after = (messages.message(whole), messages.message(replace(whole, sequence=2)))
    assert all(one is other for one, other in zip(before.entities, after.entities, strict=True))


def test_primitives_come_through_the_bridge_as_they_were_meant() -> None:
    primitive = Primitive(
        PrimitiveName.PLACE,
        (1, 2, 0.5),
        "agent_0/odom",
        Relation.WITHIN,
        (1.0, 0.0, 0.5),
        heading_rad=1,
        standoff_m=0.5,
        views_rad=((0, 0.25),),
        timeout_s=3600,
        tolerance_m=0.5,
    )
    assert read_request("agent_0", ("agent_0",), read_goal(goal_message(primitive))) == primitive
    free = read_request(
        "agent_0",
        ("agent_0",),
        read_goal(goal_message(replace(primitive, heading_rad=math.nan, standoff_m=math.nan))),
    )
    assert isinstance(free, Primitive)
    assert math.isnan(free.heading_rad)
    assert math.isnan(free.standoff_m)


def test_results_and_codes_from_the_future() -> None:
    result = PrimitiveResult(PrimitiveCode.TOO_FAR, "out of reach", {"distance_m": "2.1"})
    message = result_message(result)
    assert result_record(message) == result
    message.code = 999
    assert result_record(message).code is PrimitiveCode.BACKEND_FAULT
    assert "999" in result_record(message).text
