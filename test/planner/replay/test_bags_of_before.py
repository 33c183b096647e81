"""Bags from before states were sent as changes, and results had fields, still read."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest
from message_types import MESSAGES, store_of

from planner.memory.effects import report_record
from planner.recorder.bag_writer import BagWriter, Topic
from planner.replay.bag import Bag
from planner.replay.judging import judge
from planner.replay.report.messages import skill_end
from planner.replay.runs import Request, load_task
from planner.replay.states import recorded_states

BEFORE = Path(__file__).parent / "before"
TYPES = {
    "/world/state": "planner_msgs/msg/WorldState",
    "/skills/results": "planner_msgs/msg/SkillReport",
    "/evaluation/result": "planner_msgs/msg/Evaluation",
}


STORE = store_of(MESSAGES, BEFORE)


def older(topic: str, message, **changes):
    """A message as the definition of before has it."""
    kind = STORE.types[TYPES[topic]]
    names = [field.name for field in fields(kind) if field.name != "__msgtype__"]
    known = {name: getattr(message, name) for name in names if hasattr(message, name)}
    return kind(**{**known, **changes})


def pair(key: str, value: str):
    return STORE.types["diagnostic_msgs/msg/KeyValue"](key=key, value=value)


def written(folder: Path, told) -> Path:
    writer, topics = BagWriter(folder), {}
    for n, (topic, message) in enumerate(told):
        if topic not in topics:
            text = STORE.generate_msgdef(TYPES[topic], ros_version=2)[0]
            topics[topic] = writer.add_topic(Topic(topic, TYPES[topic], text, ""))
        data = bytes(STORE.serialize_cdr(message, TYPES[topic]))
        writer.write(topics[topic], n + 1, n + 1, data)
    writer.close()
    return folder


def bag_of_before(film, messages) -> Path:
    told = [
        ("/world/state", older("/world/state", messages.world(state)))
        for state in film.solved().states
    ]
    report = messages.skill("agent_0", "Pick[cup_0]", 3.0)
    evidence = [("position_m", "1.0, 2.0, 0.5"), ("holding", ""), ("sim_seconds", "1.5")]
    pairs = [pair(*item) for item in (*evidence, ("part_of", "Rearrange[]"))]
    told.append(("/skills/results", older("/skills/results", report, evidence=pairs)))
    metrics = [pair("criteria", ""), pair("start_s", "7.5")]
    verdict = messages.verdict(film.verdict(), 9.0)
    told.append(("/evaluation/result", older("/evaluation/result", verdict, metrics=metrics)))
    return written(film.folder / "before", told)


@pytest.mark.slow
def test_its_states_and_verdict_are_those_of_a_bag_of_today(film, messages) -> None:
    old, new = bag_of_before(film, messages), film.bag("today")
    assert [found.state for found in recorded_states(Bag(old))] == [
        found.state for found in recorded_states(Bag(new))
    ]
    (before,), (today,) = (judge(path, Request(episode=str(film.path))) for path in (old, new))
    assert before.verdict == today.verdict
    assert (before.agrees, today.agrees) == (True, True)
    assert before.live.start_s == 7.5


def test_its_house_is_known_by_its_states(film, messages, monkeypatch) -> None:
    named = []
    monkeypatch.setattr("planner.replay.runs.task_of", lambda _, *of: named.append(of))
    load_task(Bag(bag_of_before(film, messages)))
    assert named == [("small", "small")]


def test_its_results_have_their_facts_in_the_evidence(film, messages) -> None:
    (message,) = Bag(bag_of_before(film, messages)).messages(("/skills/results",))
    _, _, result, _ = report_record(message.content)
    assert (result.position_m, result.holding) == ((1.0, 2.0, 0.5), "")
    assert (result.duration_s, result.part_of) == (1.5, "Rearrange[]")
    assert skill_end(message.content).took_s == 1.5
