"""What an export finds in a bag: times, cameras, agents, and no more than is there."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.replay.export.source import Call, Camera, Source, Steps, read_story
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


TIMES = st.floats(-1e6, 1e6)


@given(st.lists(st.tuples(TIMES, st.integers())), TIMES)
def test_what_holds_is_the_newest_up_to_then(pairs, time_s) -> None:
    steps: Steps[int] = Steps()
    for at_s, value in pairs:
        steps.add(at_s, value)
    before = [at_s for at_s, _ in pairs if at_s <= time_s]
    expected = [value for at_s, value in pairs if before and at_s == max(before)]
    assert steps.at(time_s) == (expected[-1] if expected else None)
    assert [at_s for at_s, _ in steps] == sorted(at_s for at_s, _ in pairs)


def test_calls_begin_by_evidence_or_by_the_planners_word_and_the_last_one_is_open(tapes) -> None:
    story = read_story(Source(tapes.run()))
    done = Call("agent_0", "Navigate[table_1]", 0.5, 2.0, 0, "Successful execution!")
    failed = Call("agent_0", "Pick[cup_0]", 2.2, 3.0, 11, "Unexpected failure! - Too far.")
    # What the planner was refused was never called.
    assert story.calls == (done, failed, Call("agent_0", "Navigate[cup_0]", 3.2))
    assert story.running("agent_0", 1.0) == done
    assert story.running("agent_0", 2.1) is None
    assert story.running("agent_0", 9.0) == story.calls[2]
    assert story.running("agent_1", 1.0) is None
    assert story.result("agent_0", 1.9) is None
    assert story.result("agent_0", 2.5) == done
    assert story.result("agent_0", 3.5) == failed


def test_instruction_plan_and_progress_hold_from_when_they_were_said(tapes) -> None:
    story = read_story(Source(tapes.run()))
    assert story.instruction.at(0.05) is None
    assert story.instruction.at(0.1) == tapes.instruction
    assert story.plan.at(4.0) == "go"
    assert [story.progress.at(t) for t in (2.4, 2.5)] == [None, pytest.approx(0.25)]
    assert story.verdict is None


def test_a_call_that_ended_with_the_judges_word_is_not_open(tapes) -> None:
    tape = tapes.tape()
    tapes.story(tape)
    tape.put("/evaluation/result", "planner_msgs/Evaluation", 5.0, status=2, percent_complete=0.5)
    story = read_story(Source(tape.close()))
    assert story.verdict is False
    assert all(call.ended_s is not None for call in story.calls)


def test_a_call_named_again_while_it_runs_began_when_it_was_first_named(tapes) -> None:
    tape = tapes.tape()
    said = {"agents": ["agent_1"], "calls": ["Open[fridge_1]"]}
    for time_s in (1.0, 2.0, 3.0):
        tape.put("/planner/trace", "planner_msgs/PlannerTrace", time_s, **said)
    ended = {"agent": "agent_1", "call": "Open[fridge_1]", "text": "ok"}
    ended["duration_s"] = math.nan
    tape.put("/skills/results", "planner_msgs/SkillReport", 4.0, **ended)
    assert read_story(Source(tape.close())).calls == (
        Call("agent_1", "Open[fridge_1]", 1.0, 4.0, 0, "ok"),
    )


def test_a_bag_without_a_story_has_an_empty_one(tapes) -> None:
    tape = tapes.tape()
    tapes.body(tape, 0.0)
    story = read_story(Source(tape.close()))
    assert (story.calls, story.verdict) == ((), None)
    assert not len(story.instruction) + len(story.plan) + len(story.progress)
