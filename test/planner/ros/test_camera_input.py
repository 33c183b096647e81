"""The poses of frames at the time of a picture, whatever the order of the messages."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from rclpy.serialization import serialize_message
from tf2_msgs.msg import TFMessage

from planner.memory.node import MemoryNode
from planner.ros.camera_input import FrameTree
from planner.ros.conversions import transform_message
from planner.ros.sightings import StateMessages, TruthInput
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.state import StateUpdate, WorldState


class Topics:
    """Stands for a node: keeps the callbacks of its subscriptions."""

    def __init__(self) -> None:
        self.hear: dict[str, Callable[..., None]] = {}
        self.get_logger = lambda: None
        self.create_timer = lambda *_args, **_more: SimpleNamespace(cancel=lambda: None)

    def create_subscription(
        self, _kind: type, topic: str, callback: Callable[..., None], *_args: Any, **_more: Any
    ) -> None:
        self.hear[topic] = callback


def links(stamp_s: float, x_m: float) -> bytes:
    link = transform_message(stamp_s, "map", "agent_0/base_link", Pose((x_m, 0.0, 0.0)))
    return serialize_message(TFMessage(transforms=[link]))


def test_the_pose_at_a_stamp_is_found_whatever_came_when() -> None:
    topics = Topics()
    heard: list[float | None] = []
    tree = FrameTree(topics, lambda: heard.append(tree.newest_s))
    for stamp_s in (1.0, 1.1, 1.3, 1.2):
        topics.hear["/tf"](links(stamp_s, stamp_s * 10))
    assert heard == pytest.approx([1.0, 1.1, 1.3, 1.2])
    for stamp_s in (1.2, 1.1, 1.3):
        pose = tree.pose("agent_0/base_link", stamp_s)
        assert pose is not None
        assert pose.position_m[0] == pytest.approx(stamp_s * 10)
    assert tree.pose("agent_0/base_link", 1.25) is None
    topics.hear["/tf"](links(1.25, 7.0))
    late = tree.pose("agent_0/base_link", 1.25)
    assert late is not None
    assert late.position_m[0] == pytest.approx(7.0)
    tree.forget()
    assert tree.newest_s is None
    assert tree.pose("agent_0/base_link", 1.2) is None


def test_only_frames_well_before_earlier_ones_tell_of_a_new_world() -> None:
    topics = Topics()
    tree = FrameTree(topics, lambda: None)
    assert not tree.went_back
    for stamp_s in (5.0, 5.1, 4.9, 5.2):
        topics.hear["/tf"](links(stamp_s, 0.0))
        assert not tree.went_back, "messages of several senders come in any order"
    topics.hear["/tf"](links(0.1, 0.0))
    assert tree.went_back
    tree.forget()
    topics.hear["/tf"](links(0.2, 0.0))
    assert not tree.went_back


def test_a_memory_that_skills_told_of_later_moments_is_kept_while_frames_wait_to_be_read() -> None:
    topics = Topics()
    ended: list[float | None] = []
    node = SimpleNamespace(
        _pending={}, _take_persons=lambda: None, _begin=lambda: None, _truth=None
    )
    node._frames = FrameTree(topics, lambda: MemoryNode._on_frames(node))  # type: ignore[arg-type]

    def end() -> None:
        ended.append(node._frames.newest_s)
        node._memory = None
        node._frames.forget()

    node._end_memory = end
    # A skill's report came by the clock, which is ahead of the frames by a second and more.
    node._memory = SimpleNamespace(stamp_s=12.0)
    for stamp_s in (10.0, 10.1, 10.2, 10.1, 10.3):
        topics.hear["/tf"](links(stamp_s, 0.0))
    assert ended == []
    topics.hear["/tf"](links(0.1, 0.0))
    assert ended == [pytest.approx(0.1)], "the world's time restarted"


def test_a_memory_begins_once_in_a_new_world_whose_frames_come_before_its_state() -> None:
    topics = Topics()
    began: list[tuple[str, float]] = []
    node = SimpleNamespace(
        _pending={}, _take_persons=lambda: None, _memory=None, _world=None, _truth=None
    )

    def begin() -> None:
        if node._world is not None and node._frames.newest_s is not None:
            node._memory = SimpleNamespace(stamp_s=node._frames.newest_s)
            began.append((node._world.episode_id, node._frames.newest_s))

    def end() -> None:
        node._memory = None
        node._frames.forget()

    node._begin, node._end_memory = begin, end
    node._frames = FrameTree(topics, lambda: MemoryNode._on_frames(node))  # type: ignore[arg-type]
    node._truth = TruthInput(topics, lambda state: MemoryNode._on_world(node, state))  # type: ignore[arg-type]
    sequence = itertools.count(1)

    def state(episode: str, stamp_s: float) -> None:
        world = WorldState(stamp_s, int(stamp_s * 30), 1, "h", episode, {})
        update = StateUpdate(world, sequence=next(sequence))
        now = {"source_timestamp": time.time_ns()}
        topics.hear["world/state"](StateMessages().message(update), now)

    topics.hear["/tf"](links(9.9, 0.0))
    state("first", 10.0)
    topics.hear["/tf"](links(10.1, 0.0))
    topics.hear["/tf"](links(0.0, 0.0))
    topics.hear["/tf"](links(0.1, 0.0))
    state("second", 0.0)
    topics.hear["/tf"](links(0.2, 0.0))
    assert began == [("first", pytest.approx(9.9)), ("second", pytest.approx(0.1))]
    # The other way round, too.
    topics.hear["/tf"](links(8.0, 0.0))
    state("third", 0.0)
    topics.hear["/tf"](links(0.0, 0.0))
    assert began[2:] == [("third", pytest.approx(0.0))]


def test_frames_of_a_late_picture_are_no_other_world_and_hide_no_others() -> None:
    topics = Topics()
    tree = FrameTree(topics, lambda: None)
    day_s = 1.8e9
    for stamp_s in (0.0, 0.5, 1.0, 1.5, -0.3, 1.6, 0.1):
        topics.hear["/tf"](links(day_s + stamp_s, stamp_s))
        assert not tree.went_back
    for stamp_s in (1.5, -0.3, 1.6, 0.1, 1.0):
        pose = tree.pose("agent_0/base_link", day_s + stamp_s)
        assert pose is not None
        assert pose.position_m[0] == pytest.approx(stamp_s)
    topics.hear["/tf"](links(day_s - 20.0, 0.0))
    assert tree.went_back, "a clock that was set back"
    tree.forget()
    for stamp_s in (5.0, 4.0):
        topics.hear["/tf"](links(stamp_s, 0.0))
    assert tree.went_back, "a simulator that began again"


def test_a_late_picture_waits_for_frames_that_come_after_it() -> None:
    topics = Topics()
    looked: list[float] = []
    node = SimpleNamespace(
        _pending={}, _take_persons=lambda: None, _begin=lambda: None, _truth=None, _lockstep=None
    )
    node._memory = SimpleNamespace(stamp_s=0.0, due=lambda _agent, _stamp_s: True)
    node._frames = FrameTree(topics, lambda: MemoryNode._on_frames(node))  # type: ignore[arg-type]

    def observation(_agent: str, exposure: Any) -> None:
        if node._frames.pose("agent_0/base_link", exposure.stamp_s) is not None:
            looked.append(exposure.stamp_s)
            # Enough is known: the rest of a look is not what is tested here.
            raise PlannerError("seen")

    node._observation, node._unreadable = observation, Counter[str]()
    node._have_done = lambda *_: None
    node._look = lambda *given: MemoryNode._look(node, *given)  # type: ignore[arg-type]
    day_s = 1.8e9
    topics.hear["/tf"](links(day_s + 2.0, 0.0))
    late = SimpleNamespace(stamp_s=day_s + 0.5)
    node._look("agent_0", late)
    topics.hear["/tf"](links(day_s + 2.1, 0.0))
    assert looked == []
    topics.hear["/tf"](links(day_s + 0.5, 0.0))
    assert looked == [day_s + 0.5]
    node._look("agent_0", SimpleNamespace(stamp_s=day_s + 0.9))
    topics.hear["/tf"](links(day_s + 2.7, 0.0))
    assert node._pending == {}, "frames that stay away are not awaited for ever"


def test_frames_of_other_software_are_no_moments_of_ours() -> None:
    topics = Topics()
    tree = FrameTree(topics, lambda: None)
    topics.hear["/tf"](links(1000.0, 1.0))
    for number in range(500):
        link = transform_message(5.0 + number, "map", "spot/odom", Pose((0.0, 0.0, 0.0)))
        topics.hear["/tf"](serialize_message(TFMessage(transforms=[link])))
    assert tree.newest_s == pytest.approx(1000.0)
    assert not tree.went_back
    assert tree.pose("agent_0/base_link", 1000.0) is not None
