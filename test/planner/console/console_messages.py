"""Messages for the page, with the fields of those of ROS."""

from __future__ import annotations

import math
from types import SimpleNamespace as Message
from typing import Any


def header(stamp_s: float) -> Message:
    return Message(stamp=Message(sec=int(stamp_s), nanosec=round(stamp_s % 1 * 1e9)))


def point(x: float, y: float, z: float = 0.0) -> Message:
    return Message(x=x, y=y, z=z)


def pose(x: float, y: float, yaw: float = 0.0) -> Message:
    turned = Message(x=0.0, y=0.0, z=math.sin(yaw / 2), w=math.cos(yaw / 2))
    return Message(position=point(x, y), orientation=turned)


def entity(name: str, x: float = 0.0, y: float = 0.0, *, kind: int = 2, **more: Any) -> Message:
    """Of planner_msgs/EntityState."""
    fields = {
        "kind": kind,
        "name": name,
        "class_name": name.rpartition("_")[0],
        "parent": "table_0",
        "relation": "on",
        "room": "kitchen_0",
        "pose": pose(x, y),
        "size": point(0.1, 0.1, 0.1),
        "affordances": [],
        "states": [],
        "openness": -1.0,
        "hands": [],
    }
    return Message(**{**fields, **more})


def state(sequence: int, *entities: Message, keyframe: bool = False, **more: Any) -> Message:
    """Of planner_msgs/WorldState."""
    fields = {"header": header(sequence / 10), "sequence": sequence, "removed": []}
    return Message(**{**fields, "keyframe": keyframe, "entities": list(entities), **more})


def info(*agents: str, house_json: str = "") -> Message:
    """Of planner_msgs/WorldInfo."""
    return Message(
        header=header(0.0),
        backend="embedded",
        simulated=True,
        house="home",
        house_json=house_json,
        episode_id="",
        agents=list(agents),
        bodies=["robot"] * len(agents),
        version="1",
    )


def graph(stamp_s: float, *nodes: Message) -> Message:
    """Of planner_msgs/WorldGraph, all on table_0."""
    edges = [Message(child=node.name, relation="on", parent="table_0") for node in nodes]
    return Message(header=header(stamp_s), nodes=list(nodes), edges=edges)


def believed(name: str, age_s: float, x: float = 0.0) -> Message:
    """Of planner_msgs/WorldGraphNode."""
    more = {"entity_id": 101, "description": name, "source": 0, "age_s": age_s}
    return entity(name, x, **more)


def instruction(state_number: int, *agents: str) -> Message:
    """Of planner_msgs/InstructStatus."""
    return Message(
        header=header(1.0),
        id="a",
        instruction="Bring the cup.",
        agents=list(agents),
        dialogue=[],
        planner="words",
        model="",
        state=state_number,
        code=0,
        text="",
        question="",
        cycle=1,
        plan="",
        calls=["Pick[cup_0]"] * len(agents),
    )


def trace(prompt: str, reply: str, error: str = "") -> Message:
    """Of planner_msgs/PlannerTrace."""
    return Message(
        header=header(2.0),
        planner="react",
        model="small",
        role="",
        agents=["agent_0"],
        cycle=1,
        prompt=prompt,
        reply=reply,
        calls=["Wait[]"],
        error=error,
        prompt_tokens=100,
        cached_tokens=60,
        reply_tokens=10,
        latency_s=0.5,
        parameters=[],
    )


def judgement(stamp_s: float, status: int, **parts: bool) -> Message:
    """Of planner_msgs/Evaluation: whether each part counts, by its words, `__` for blanks."""
    propositions = [
        Message(
            text=words.replace("__", " "),
            satisfied=counts,
            holds=counts,
            detail=f"{words} is open.",
        )
        for words, counts in parts.items()
    ]
    share = sum(parts.values()) / len(parts) if parts else 0.0
    return Message(
        header=header(stamp_s),
        episode_id="",
        status=status,
        scoring="strict",
        variant="boxes",
        percent_complete=share,
        propositions=propositions,
        explanation="",
    )


def skill_report(stamp_s: float, agent: str, call: str, code: int = 0, text: str = "") -> Message:
    """Of planner_msgs/SkillReport: a call that took 2 s."""
    return Message(
        header=header(stamp_s),
        agent=agent,
        call=call,
        code=code,
        text=text,
        duration_s=2.0,
        rule=0,
        part_of="",
    )


def question(agent: str, stamp_s: float, **more: Any) -> Message:
    """Of planner_msgs/ApprovalQuestion, with a picture of the same stamp."""
    fields = {
        "question_id": "q1",
        "agent": agent,
        "primitive": "pick",
        "thing_class": "cup",
        "why": "hands wait for the operator",
        "target": Message(point=point(1.0, 2.0, 3.0)),
        "picture_frame": f"{agent}/hand",
        "has_pixel": True,
        "issued": header(stamp_s).stamp,
        "expires": header(stamp_s + 60.0).stamp,
    }
    return Message(**{**fields, **more})
