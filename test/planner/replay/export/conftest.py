"""Bags of a short run that the test writes message by message, without ROS."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from message_types import STORE
from rosbags.interfaces import Nodetype

from planner.recorder.bag_writer import BagWriter, Topic

# The wall clock when the world's clock showed 0.
START_NS = 1_790_000_000_000_000_000
LATE_NS = 5_000_000
WIDTH_PX, HEIGHT_PX = 64, 48
INSTRUCTION = "Bring the cup to the table, please."


def message(type_name: str, fields: dict[str, Any]) -> Any:
    """A message with some fields; all others are zero or empty, quaternions turn nothing."""
    unknown = fields.keys() - {name for name, _ in STORE.fielddefs[type_name][1]}
    assert not unknown, f"{type_name} has no {unknown}"
    made = {name: _value(kind, fields.get(name)) for name, kind in STORE.fielddefs[type_name][1]}
    if type_name.endswith("/Quaternion") and not any(made.values()):
        made["w"] = 1.0
    return STORE.types[type_name](**made)


def _value(kind: Any, given: Any) -> Any:
    node, what = kind
    if node is Nodetype.NAME:
        return message(what, given or {})
    if node is Nodetype.BASE:
        return given if given is not None else {"string": "", "bool": False}.get(what[0], 0)
    (item_node, item), length = what
    if item_node is Nodetype.NAME:
        return [message(item, one) for one in given or ()]
    if item[0] == "string":
        return list(given or ())
    dtype = {"octet": "uint8"}.get(item[0], item[0])
    return np.array(given if given is not None else np.zeros(length), dtype)


class Tape:
    """A bag in the making; times are seconds of the world's clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer = BagWriter(folder)
        self._topics: dict[str, tuple[int, str]] = {}

    def put(self, topic: str, type_name: str, time_s: float, /, late_ns: int = LATE_NS, **fields):
        """A message with its stamp, received a little later."""
        full = type_name.replace("/", "/msg/")
        names = [name for name, _ in STORE.fielddefs[full][1]]
        if "header" in names:
            frame = fields.pop("frame_id", "")
            fields["header"] = {"stamp": stamp(time_s), "frame_id": frame}
        self.put_made(topic, full, time_s, message(full, fields), late_ns)

    def put_made(
        self, topic: str, full: str, time_s: float, made: Any, late_ns: int = LATE_NS
    ) -> None:
        """A message that is there already, of a type's full name."""
        if topic not in self._topics:
            text = STORE.generate_msgdef(full, ros_version=2)[0]
            self._topics[topic] = (self.writer.add_topic(Topic(topic, full, text, "")), full)
        data = bytes(STORE.serialize_cdr(made, full))
        received_ns = START_NS + round(time_s * 1e9) + late_ns
        self.writer.write(self._topics[topic][0], received_ns, received_ns, data)

    def picture(self, agent: str, time_s: float, **options: Any) -> None:
        """A picture of one colour, which tells the time: `shade(time_s)`."""
        pixels = np.full((HEIGHT_PX, WIDTH_PX, 3), shade(time_s), np.uint8)
        self.put(
            f"/{agent}/camera/hand/image",
            "sensor_msgs/Image",
            time_s,
            frame_id=f"{agent}/hand_optical_frame",
            height=HEIGHT_PX,
            width=WIDTH_PX,
            encoding="rgb8",
            step=3 * WIDTH_PX,
            data=pixels.reshape(-1),
            **options,
        )

    def clock(self, time_s: float) -> None:
        """A tick: the world is a simulator's."""
        self.put("/clock", "rosgraph_msgs/Clock", time_s, clock=stamp(time_s))

    def close(self) -> Path:
        self.writer.close()
        return self.folder


def stamp(time_s: float) -> dict[str, int]:
    whole = math.floor(time_s)
    return {"sec": whole, "nanosec": round((time_s - whole) * 1e9)}


def shade(time_s: float) -> int:
    return (40 + round(20 * time_s)) % 256


def base_pose(time_s: float) -> tuple[float, float, float]:
    """Where agent_0 is in its odometry's frame: an arc."""
    return (2 * math.sin(0.2 * time_s), 2 * (1 - math.cos(0.2 * time_s)), 0.2 * time_s)


ODOM_IN_MAP = (1.0, 2.0, 0.5)


def _turn(yaw: float) -> dict[str, float]:
    return {"z": math.sin(yaw / 2), "w": math.cos(yaw / 2)}


def _link(parent: str, child: str, time_s: float, x: float, y: float, yaw: float):
    return {
        "header": {"stamp": stamp(time_s), "frame_id": parent},
        "child_frame_id": child,
        "transform": {"translation": {"x": x, "y": y}, "rotation": _turn(yaw)},
    }


def body(tape: Tape, time_s: float, agent: str = "agent_0") -> None:
    """Clock, frames, odometry and joints at a time."""
    x, y, yaw = base_pose(time_s)
    tape.clock(time_s)
    links = [
        _link("map", f"{agent}/odom", time_s, *ODOM_IN_MAP),
        _link(f"{agent}/odom", f"{agent}/base_link", time_s, x, y, yaw),
        _link(f"{agent}/base_link", f"{agent}/hand_optical_frame", time_s, 0.2, 0.0, 0.0),
    ]
    tape.put("/tf", "tf2_msgs/TFMessage", time_s, transforms=links)
    tape.put(
        f"/{agent}/odometry",
        "nav_msgs/Odometry",
        time_s,
        frame_id=f"{agent}/odom",
        child_frame_id=f"{agent}/base_link",
        pose={"pose": {"position": {"x": x, "y": y}, "orientation": _turn(yaw)}},
        twist={"twist": {"linear": {"x": 0.4}, "angular": {"z": 0.2}}},
    )
    joints = {"name": ["hand_pan", "hand_tilt"], "position": [0.1 * time_s, 0.45]}
    tape.put(f"/{agent}/joint_states", "sensor_msgs/JointState", time_s, **joints)


def story(tape: Tape) -> None:
    """What was asked, planned, called, answered and judged."""
    trace = {"planner": "react", "model": "m", "cycle": 1, "prompt_tokens": 70, "latency_s": 0.5}
    tape.put(
        "/planner/trace",
        "planner_msgs/PlannerTrace",
        0.5,
        agents=["agent_0"],
        calls=["Navigate[table_1]"],
        prompt="The prompt.",
        reply="Navigate[table_1]",
        first_token_s=math.nan,
        **trace,
    )
    done = {"agent": "agent_0", "code": 0, "text": "Successful execution!", "duration_s": 1.5}
    results, report = "/skills/results", "planner_msgs/SkillReport"
    tape.put(results, report, 2.0, call="Navigate[table_1]", **done)
    failed = {"agent": "agent_0", "code": 11, "text": "Unexpected failure! - Too far."}
    failed["duration_s"] = math.nan
    trace.update(cycle=2, prompt_tokens=80)
    kind = "planner_msgs/PlannerTrace"
    tape.put("/planner/trace", kind, 2.2, agents=["agent_0"], calls=["Pick[cup_0]"], **trace)
    tape.put(results, report, 3.0, call="Pick[cup_0]", **failed)
    trace.update(cycle=3, error="no such call")
    tape.put("/planner/trace", kind, 3.1, agents=["agent_0"], calls=["Fly[cup_0]"], **trace)
    trace.update(cycle=4, error="")
    tape.put("/planner/trace", kind, 3.2, agents=["agent_0"], calls=["Navigate[cup_0]"], **trace)
    propositions = [{"text": "cup_0 on table_1", "satisfied": False, "first_step": -1}]
    judged = {"percent_complete": 0.25, "propositions": propositions, "explanation": "Not yet."}
    tape.put("/evaluation", "planner_msgs/Evaluation", 2.5, **judged)


def status(tape: Tape, time_s: float, instruction: str = INSTRUCTION, plan: str = "go") -> None:
    said = {"instruction": instruction, "agents": ["agent_0"], "plan": plan, "state": 1}
    tape.put("/instruct/status", "planner_msgs/InstructStatus", time_s, **said)


def run(folder: Path, *, end_s: float = 4.0, agents: tuple[str, ...] = ("agent_0",)) -> Path:
    """A whole run: 10 Hz motion, 5 Hz pictures, the story."""
    tape = Tape(folder)
    gripper = {"name": ["gripper"], "position": [1.0]}
    for agent in agents:
        tape.put(f"/{agent}/gripper_state", "sensor_msgs/JointState", 0.0, **gripper)
    status(tape, 0.1)
    for number in range(round(end_s * 10) + 1):
        for agent in agents:
            body(tape, number / 10, agent)
            if number % 2 == 0:
                tape.picture(agent, number / 10)
    story(tape)
    return tape.close()


@pytest.fixture
def tapes(tmp_path: Path) -> SimpleNamespace:
    """What it takes to write bags: `run(NAME)` and the parts of one."""
    return SimpleNamespace(
        run=lambda name="bag", **options: run(tmp_path / name, **options),
        tape=lambda name="bag": Tape(tmp_path / name),
        body=body,
        story=story,
        status=status,
        stamp=stamp,
        shade=shade,
        base_pose=base_pose,
        odom_in_map=ODOM_IN_MAP,
        instruction=INSTRUCTION,
        start_ns=START_NS,
        size_px=(WIDTH_PX, HEIGHT_PX),
    )
