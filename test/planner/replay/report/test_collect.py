"""A bag in, its report out: whole bags, poor ones, and ones that are not as expected."""

from __future__ import annotations

import math

import numpy as np
import pytest
from made_bags import new, stamp

from planner.replay.report.collect import collect
from planner.replay.report.document import Level


def report_of(folder, picture_bytes=1_000_000):
    return collect(folder, "bag", picture_bytes).report


def test_a_whole_bag(film) -> None:
    film.solved()
    found = report_of(film.everything().close())
    assert found.about.house == found.plan.house == "small"
    assert (found.about.episode_id, found.about.planner) == ("small", "react")
    assert found.about.instruction == "put both on the table"
    assert found.verdicts.final
    assert found.verdicts.agree is True
    assert [p.satisfied for p in found.verdicts.bag.propositions] == [True, True]
    assert [(p.percent_complete, p.satisfied) for p in found.progress] == [
        (0.0, (False, False)),
        (0.5, (True, False)),
        (1.0, (True, True)),
    ]
    assert [p.t_s for p in found.progress] == pytest.approx([0.0, 1 / 3, 2 / 3], abs=0.01)
    cup = next(thing for thing in found.things if thing.name == "cup_0")
    assert len(cup.places) == 2
    assert [(i.state, i.text) for i in found.instructions] == [("done", "done")]
    assert {path.source for path in found.paths} == {"world_state"}
    assert found.calls[0].call == "Wait[]"
    assert not found.faults
    assert not found.notices


def test_a_long_bag_that_is_judged_beside_the_pass_gives_the_same(film, monkeypatch) -> None:
    film.solved()
    bag = film.everything().close()
    here = report_of(bag)
    monkeypatch.setattr("planner.replay.report.collect._LONG", 1)
    assert report_of(bag) == here


def test_a_bag_that_was_cut_short_says_so_first(film) -> None:
    film.put("cup_0")
    found = report_of(film.bag("cut", live=False, close=False))
    assert found.about.cut_short
    assert found.notices[0].level is Level.ERROR
    assert "cut short" in found.notices[0].text
    assert not found.verdicts.final


def test_a_verdict_that_differs_from_the_live_one_is_not_final(film, messages) -> None:
    film.solved()
    wrong = messages.verdict(film.verdict(), 9.0, percent_complete=0.5, status=2)
    told = [("/world/info", messages.info(*film_texts(film))), ("/evaluation/result", wrong)]
    found = report_of(film.bag("bag", *told, live=False))
    assert (found.verdicts.bag.success, found.verdicts.live.success) == (True, False)
    assert (found.verdicts.agree, found.verdicts.final) == (False, False)
    assert found.notices[0].level is Level.ERROR
    assert "not the one" in found.notices[0].text


def test_missing_states_are_reported_with_their_time(film, messages) -> None:
    film.put("cup_0", -0.2).put("apple_0", 0.2)
    bag = messages.bag(film.folder / "gap")
    bag.put("/world/info", messages.info(*film_texts(film)), 1, 1)
    for sequence, state in zip((1, 2, 9), film.states, strict=True):
        bag.put("/world/state", messages.world(state), sequence, sequence * 1_000_000_000)
    found = report_of(bag.close())
    assert not found.verdicts.final
    assert "6 states of the world are missing" in found.verdicts.reason
    states = next(t for t in found.topics if t.name == "/world/state")
    assert [(gap.from_s, gap.to_s, gap.missing) for gap in states.gaps if gap.missing] == [
        (2.0, 9.0, 6)
    ]
    assert any("6 messages" in notice.text for notice in found.notices)


def film_texts(film) -> list[str]:
    return [model.model_dump_json() for model in (film.house, film.episode)]


def test_a_bag_without_anything_that_is_known_still_has_topics(record) -> None:
    bag = record()
    for i in range(10):
        bag.say("/chatter", "std_msgs/msg/String", i / 2, data=f"hello {i}")
    found = report_of(bag.close())
    (topic,) = found.topics
    assert (topic.name, topic.messages, topic.rate_hz) == ("/chatter", 10, 2.0)
    assert (found.plan, found.memory, found.verdicts.bag, found.paths) == (None, None, None, ())
    assert found.about.clock == "receipt"
    assert [notice.level for notice in found.notices] == [Level.INFO, Level.INFO]


def test_an_empty_bag_is_a_report_that_says_so(record) -> None:
    found = report_of(record().close())
    assert found.topics == ()
    assert "There is no message in the bag." in [notice.text for notice in found.notices]


def test_paths_go_through_the_frames_and_not_by_odometry(record) -> None:
    bag = record()
    for i in range(20):
        bag.clock(i / 2)
        pose = new("nav_msgs/msg/Odometry")
        pose.pose.pose.position.x = 77.0
        bag.say("/agent_0/odometry", "nav_msgs/msg/Odometry", i / 2, pose=pose.pose)
        odom = bag.frame("map", "agent_0/odom", i / 2, 5.0, 0.0, math.pi / 2)
        bag.frames(i / 2, odom, bag.frame("agent_0/odom", "agent_0/base_link", i / 2, i / 10, 0.0))
    (path,) = report_of(bag.close()).paths
    assert (path.agent, path.source) == ("agent_0", "tf")
    assert path.points[0][1:3] == (5.0, 0.0)
    assert path.points[-1][1:3] == (5.0, 1.9)


def test_odometry_alone_draws_no_path(record) -> None:
    bag = record()
    for i in range(5):
        bag.say("/agent_0/odometry", "nav_msgs/msg/Odometry", float(i))
    assert report_of(bag.close()).paths == ()


def test_faults_are_reported_once_with_how_often(record) -> None:
    bag = record()
    for i in range(5):
        bad = new("diagnostic_msgs/msg/DiagnosticStatus", level=2, name="arm", message="hot")
        well = new("diagnostic_msgs/msg/DiagnosticStatus", level=0, name="leg", message="ok")
        bag.say("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", float(i), status=[bad, well])
        for level in (20, 30, 40):
            bag.say(
                "/rosout",
                "rcl_interfaces/msg/Log",
                float(i),
                stamp=stamp(float(i)),
                level=level,
                name="node",
                msg=f"level {level}",
            )
    bag.say(
        "/agent_0/safety/receipts",
        "diagnostic_msgs/msg/DiagnosticStatus",
        2.0,
        level=1,
        name="agent_0: pick",
        message="not allowed",
        values=[new("diagnostic_msgs/msg/KeyValue", key="rule", value="7")],
    )
    faults = report_of(bag.close()).faults
    told = {(f.kind, f.level, f.source, f.text): (f.first_s, f.last_s, f.count) for f in faults}
    assert told == {
        ("diagnostics", Level.ERROR, "arm", "hot"): (0.0, 4.0, 5),
        ("log", Level.WARNING, "node", "level 30"): (0.0, 4.0, 5),
        ("log", Level.ERROR, "node", "level 40"): (0.0, 4.0, 5),
        ("refused", Level.WARNING, "agent_0: pick", "not allowed (rule 7)"): (2.0, 2.0, 1),
    }


def test_a_world_that_was_loaded_again_is_a_restart(record) -> None:
    bag = record()
    for i in range(40):
        bag.clock(i / 2, float(i % 20))
    (fault,) = report_of(bag.close()).faults
    assert (fault.kind, fault.first_s) == ("restart", 19.0)


def test_messages_of_another_type_count_as_unreadable_and_the_rest_is_reported(record) -> None:
    bag = record()
    bag.say("/skills/results", "std_msgs/msg/String", 1.0, data="done")
    bag.say("/planner/trace", "std_msgs/msg/Header", 1.0, frame_id="x")
    bag.write("/memory/updates", "planner_msgs/msg/MemoryUpdate", 1.0, b"\x00\x01\x00\x00\xff")
    bag.write("/tf", "tf2_msgs/msg/TFMessage", 1.0, b"\x00\x01\x00\x00\xff\xff\xff\xff")
    bag.say("/instruct/status", "planner_msgs/msg/InstructStatus", 2.0, instruction="tidy up")
    found = report_of(bag.close())
    broken = {"/skills/results", "/planner/trace", "/memory/updates", "/tf"}
    assert {f.source for f in found.faults if f.kind == "unreadable"} == broken
    assert {t.name for t in found.topics if t.unreadable} == broken
    assert found.about.instruction == "tidy up"


def evidence(**texts: str) -> list[object]:
    return [new("diagnostic_msgs/msg/KeyValue", key=key, value=text) for key, text in texts.items()]


def test_subtasks_of_a_team_are_reported_as_they_change(record) -> None:
    bag = record()
    told = (
        {"joint_steps": "0"},
        {"open_subtasks": '["find a cup", "bring it"]', "completed_subtasks": "[]"},
        {"open_subtasks": '["find a cup", "bring it"]', "completed_subtasks": "[]"},
        {
            "open_subtasks": '["bring it"]',
            "completed_subtasks": '["find a cup"]',
            "team_memory": "Cup_1 is on Table_2.",
        },
    )
    for t_s, texts in enumerate(told, start=1):
        listed = evidence(**texts)
        bag.say("/instruct/status", "planner_msgs/msg/InstructStatus", t_s, evidence=listed)
    found = report_of(bag.close()).subtasks
    assert [(s.t_s, s.open, s.completed) for s in found] == [
        (1.0, ("find a cup", "bring it"), ()),
        (3.0, ("bring it",), ("find a cup",)),
    ]
    assert [s.memory for s in found] == ["", "Cup_1 is on Table_2."]


@pytest.mark.parametrize("text", ["find a cup", '{"a": 1}', "[1, 2]", "3"])
def test_subtasks_that_are_no_list_of_texts_are_unreadable(record, text: str) -> None:
    bag = record()
    status = "planner_msgs/msg/InstructStatus"
    bag.say("/instruct/status", status, 1.0, evidence=evidence(open_subtasks=text))
    found = report_of(bag.close())
    assert found.subtasks == ()
    (fault,) = found.faults
    assert (fault.kind, fault.source) == ("unreadable", "/instruct/status")


def test_numbers_that_are_none_do_not_reach_the_report(record) -> None:
    bag = record()
    position = new("geometry_msgs/msg/Point", x=math.nan)
    entity = new("planner_msgs/msg/Entity", id=100, name="cup", position=position)
    edit = new("planner_msgs/msg/Operation", entity=entity)
    bag.say("/memory/updates", "planner_msgs/msg/MemoryUpdate", 1.0, operations=[edit])
    bag.say("/evaluation", "planner_msgs/msg/Evaluation", 1.0, percent_complete=math.nan)
    found = report_of(bag.close())
    assert found.memory is None
    assert [p.percent_complete for p in found.progress] == [0.0]


def test_pictures_keep_to_their_share_of_the_page(record) -> None:
    bag = record()
    noise = np.random.default_rng(0).integers(0, 255, 320 * 320 * 3, np.uint8)
    for i in range(30):
        for agent in ("agent_0", "agent_1"):
            bag.say(
                f"/{agent}/camera/hand/image",
                "sensor_msgs/msg/Image",
                float(i),
                height=320,
                width=320,
                encoding="rgb8",
                step=960,
                data=noise,
            )
    made = collect(bag.close(), "bag", 400_000)
    assert len(made.report.pictures) == len(made.jpegs)
    assert {p.agent for p in made.report.pictures} == {"agent_0", "agent_1"}
    assert sum(map(len, made.jpegs)) < 400_000
