"""Recordings of a small world in which the test moves things: logs of states, and bags."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from mcap.writer import Writer
from message_types import STORE

from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Verdict
from planner.recorder.bag_writer import BagWriter, Topic
from planner.replay.states import StateLogWriter
from planner.world.geometry import Pose
from planner.world.state import EntityState, StateUpdate, UpdateEncoder, WorldState
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

KINDS = (EntityKind.ROOM, EntityKind.FURNITURE, EntityKind.OBJECT, EntityKind.AGENT)
GOAL = {
    "propositions": [
        {"function_name": "is_on_top", "args": {"objects": [name], "receptacles": ["table_1"]}}
        for name in ("cup_0", "apple_0")
    ],
    "constraints": [{"type": "TemporalConstraint", "edges": [[0, 1]]}],
}


def _new(type_name: str, /, **fields):
    return STORE.types[type_name](**fields)


def _stamp(seconds: float):
    whole = int(seconds)
    return _new("builtin_interfaces/msg/Time", sec=whole, nanosec=round((seconds - whole) * 1e9))


def _header(seconds: float):
    return _new("std_msgs/msg/Header", stamp=_stamp(seconds), frame_id="map")


def _entity(entity: EntityState):
    (x, y, z), (qx, qy, qz, qw) = entity.pose.position_m, entity.pose.orientation
    sx, sy, sz = entity.size_m
    return _new(
        "planner_msgs/msg/EntityState",
        kind=KINDS.index(entity.kind),
        name=entity.name,
        class_name=entity.class_name,
        instance_id=entity.instance_id,
        parent=entity.parent or "",
        relation=str(entity.relation or ""),
        room=entity.room or "",
        pose=_new(
            "geometry_msgs/msg/Pose",
            position=_new("geometry_msgs/msg/Point", x=x, y=y, z=z),
            orientation=_new("geometry_msgs/msg/Quaternion", x=qx, y=qy, z=qz, w=qw),
        ),
        size=_new("geometry_msgs/msg/Vector3", x=sx, y=sy, z=sz),
        affordances=[str(a) for a in entity.affordances],
        states=[
            _new("planner_msgs/msg/NamedState", name=str(k), value=v)
            for k, v in (entity.states or {}).items()
        ],
        openness=-1.0 if entity.openness is None else entity.openness,
        holding=entity.holding or "",
        hands=[name or "" for name in entity.hands],
    )


def world_message(state: WorldState):
    """The whole of a state."""
    return update_message(StateUpdate(state, sequence=state.revision))


def update_messages(states: Sequence[WorldState]):
    """As the bridge sends them."""
    encoder = UpdateEncoder()
    return [update_message(encoder.encode(state)) for state in states]


def update_message(update: StateUpdate):
    state = update.state
    return _new(
        "planner_msgs/msg/WorldState",
        header=_header(state.stamp_s),
        house=state.house,
        episode_id=state.episode_id,
        revision=state.revision,
        sim_step=state.step,
        keyframe=update.keyframe,
        sequence=update.sequence,
        entities=[_entity(e) for e in state.entities.values()],
        removed=list(update.removed),
    )


def verdict_message(verdict: Verdict, stamp_s: float, **changes):
    fields = {
        "header": _header(stamp_s),
        "episode_id": verdict.episode_id,
        "sim_step": verdict.sim_steps,
        "status": 1 if verdict.success else 2,
        "scoring": str(verdict.mode),
        "percent_complete": verdict.percent_complete,
        "propositions": [
            _new(
                "planner_msgs/msg/PropositionState",
                index=p.index,
                text=p.text,
                holds=p.holds,
                satisfied=p.satisfied,
                first_step=-1 if p.first_step is None else p.first_step,
                reason=str(p.reason or ""),
                detail=p.detail,
            )
            for p in verdict.propositions
        ],
        "explanation": verdict.explanation,
        "variant": str(verdict.variant),
        "seen_from_step": 0,
        "unseen_states": 0,
        "start_s": math.nan,
        "criteria": "",
        "criteria_explanation": "",
    }
    return _new("planner_msgs/msg/Evaluation", **{**fields, **changes})


def skill_message(agent: str, call: str, ended_s: float, code: int = 0):
    return _new(
        "planner_msgs/msg/SkillReport",
        header=_header(ended_s),
        agent=agent,
        call=call,
        code=code,
        text="",
        has_position=False,
        position=_new("geometry_msgs/msg/Point", x=0.0, y=0.0, z=0.0),
        has_holding=False,
        holding="",
        hands=[],
        duration_s=math.nan,
        rule=0,
        part_of="",
        evidence=[],
    )


def decision_message(stamp_s: float, agents: Sequence[str], calls: Sequence[str], cycle: int):
    return _new(
        "planner_msgs/msg/PlannerTrace",
        header=_header(stamp_s),
        planner="react",
        model="m",
        agents=list(agents),
        cycle=cycle,
        prompt="",
        grammar="",
        reply="",
        calls=list(calls),
        error="",
        prompt_tokens=7,
        cached_tokens=0,
        reply_tokens=3,
        first_token_s=0.0,
        latency_s=0.0,
        parameters=[],
        role="planner",
    )


def graph_message(state: WorldState, stamp_s: float):
    """A state as robots that have seen all of it believe it."""
    nodes, edges = [], []
    for n, entity in enumerate(state.entities.values()):
        (x, y, z), (sx, sy, sz) = entity.pose.position_m, entity.size_m
        nodes.append(
            _new(
                "planner_msgs/msg/WorldGraphNode",
                kind=KINDS.index(entity.kind),
                name=entity.name,
                class_name=entity.class_name,
                entity_id=n,
                description="",
                room=entity.room or "",
                pose=_new(
                    "geometry_msgs/msg/Pose",
                    position=_new("geometry_msgs/msg/Point", x=x, y=y, z=z + sz / 2),
                    orientation=_new("geometry_msgs/msg/Quaternion", x=0.0, y=0.0, z=0.0, w=1.0),
                ),
                size=_new("geometry_msgs/msg/Vector3", x=sx, y=sy, z=sz),
                affordances=[str(a) for a in entity.affordances],
                states=[],
                openness=-1.0,
                holding="",
                hands=[],
                source=0,
                age_s=0.0,
            )
        )
        if entity.parent and entity.relation:
            edges.append(
                _new(
                    "planner_msgs/msg/WorldGraphEdge",
                    child=entity.name,
                    relation={"held": "held_by"}.get(str(entity.relation), str(entity.relation)),
                    parent=entity.parent,
                    source=0,
                    age_s=0.0,
                )
            )
    return _new(
        "planner_msgs/msg/WorldGraph",
        header=_header(stamp_s),
        sequence=state.revision,
        nodes=nodes,
        edges=edges,
    )


def info_message(house_json: str = "", episode_json: str = "", **changes):
    fields = {
        "header": _header(0.0),
        "backend": "embedded",
        "simulated": True,
        "house": "small",
        "layout": "small",
        "house_json": house_json,
        "episode_id": "small",
        "episode_json": episode_json,
        "agents": ["agent_0"],
        "bodies": ["spot"],
        "seed": 0,
        "time_mode": "paced",
        "rate": 1.0,
        "idle_time": "run",
        "version": "0.1.0",
        "sensors_json": "",
    }
    return _new("planner_msgs/msg/WorldInfo", **{**fields, **changes})


def instruct_message(instruction: str, state: int, text: str = "", **changes):
    fields = {
        "header": _header(1.0),
        "id": "0a",
        "instruction": instruction,
        "agents": ["agent_0"],
        "dialogue": [],
        "planner": "react",
        "model": "m",
        "house": "small",
        "episode_id": "",
        "goal": "",
        "state": state,
        "code": 0,
        "text": text,
        "question": "",
        "cycle": 1,
        "plan": "",
        "calls": [],
        "evidence": [],
    }
    return _new("planner_msgs/msg/InstructStatus", **{**fields, **changes})


TYPES = {
    "/world/info": "planner_msgs/msg/WorldInfo",
    "/instruct/status": "planner_msgs/msg/InstructStatus",
    "/world/state": "planner_msgs/msg/WorldState",
    "/evaluation": "planner_msgs/msg/Evaluation",
    "/evaluation/result": "planner_msgs/msg/Evaluation",
    "/skills/results": "planner_msgs/msg/SkillReport",
    "/planner/trace": "planner_msgs/msg/PlannerTrace",
    "/world_graph": "planner_msgs/msg/WorldGraph",
}


class McapBag:
    """A bag as any MCAP writer may make it, message by message."""

    def __init__(self, folder: Path, **options) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        library = options.pop("library", "planner")
        name = options.pop("name", f"{folder.name}_0.mcap")
        self._stream = (folder / name).open("wb")
        self.writer = Writer(self._stream, **options)
        self.writer.start(profile="ros2", library=library)
        self._channels: dict[str, int] = {}
        self._count = 0

    def channel(self, topic: str, type_name: str, text: str, encoding: str = "ros2msg", qos=""):
        schema = self.writer.register_schema(type_name, encoding, text.encode())
        about = {"offered_qos_profiles": qos} if qos else {}
        self._channels[topic] = self.writer.register_channel(topic, "cdr", schema, about)

    def put(self, topic: str, message, sequence: int = 0, time_ns: int | None = None) -> McapBag:
        self._count += 1
        time_ns = self._count if time_ns is None else time_ns
        if topic not in self._channels:
            text = STORE.generate_msgdef(TYPES[topic], ros_version=2)[0]
            self.channel(topic, TYPES[topic], text)
        if not isinstance(message, bytes):
            message = bytes(STORE.serialize_cdr(message, TYPES[topic]))
        self.writer.add_message(self._channels[topic], time_ns, message, time_ns - 1, sequence)
        return self

    def close(self) -> Path:
        self.writer.finish()
        self._stream.close()
        return self.folder

    def cut(self) -> Path:
        """As a killed recorder leaves it."""
        self.writer.flush()
        self._stream.flush()
        data = Path(self._stream.name).read_bytes()
        self._stream.close()
        Path(self._stream.name).write_bytes(data)
        return self.folder


class Film:
    """The small world in the making, and its recordings."""

    def __init__(self, folder: Path, house, episode) -> None:
        self.house, self.folder = house, folder
        self.episode = episode.model_copy(update={"evaluation": GOAL})
        self.path = folder / "small.json"
        (folder / "houses").mkdir()
        for path, model in (
            (folder / "houses" / "small.json", house),
            (self.path, self.episode),
        ):
            path.write_text(json.dumps(model.model_dump(mode="json")), encoding="utf-8")
        backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
        backend.reset(house, self.episode, 0)
        state = backend.world_state()
        assert state is not None
        self.states = [state]

    def put(self, name: str, dy: float = 0.0, z: float | None = None) -> Film:
        """A thing on table_1, ten steps after the last state."""
        table = self.house.furniture_by_name["table_1"]
        height = table.surfaces[0].center[2] if z is None else z
        last = self.states[-1]
        moved = replace(
            last.entities[name], pose=Pose.planar(table.x_m, table.y_m + dy, 0.0, height)
        )
        return self.then({**last.entities, name: moved})

    def then(self, entities) -> Film:
        last = self.states[-1]
        self.states.append(
            replace(
                last,
                stamp_s=last.stamp_s + 1 / 3,
                step=last.step + 10,
                revision=last.revision + 1,
                entities=entities,
            )
        )
        return self

    def solved(self) -> Film:
        return self.put("cup_0", -0.2).put("apple_0", 0.2)

    def verdict(self) -> Verdict:
        evaluation = read_evaluation(GOAL, "e")
        judge = Evaluator(evaluation, self.house, self.states[0])
        for state in self.states[1:]:
            judge.update(state)
        return judge.finish()

    def everything(self, name: str = "everything", **options) -> McapBag:
        """A bag with all that is read of one, with sequence numbers from 1; not closed yet."""
        bag = McapBag(self.folder / name, **options)
        house, episode = (json.dumps(m.model_dump(mode="json")) for m in (self.house, self.episode))
        bag.put("/world/info", info_message(house, episode), 1)
        for n, message in enumerate(update_messages(self.states)):
            bag.put("/world/state", message, n + 1)
        bag.put("/planner/trace", decision_message(0.1, ["agent_0"], ["Wait[]"], 1), 1)
        bag.put("/skills/results", skill_message("agent_0", "Wait[]", 0.3), 1)
        bag.put("/instruct/status", instruct_message("put both on the table", 3, "done"), 1)
        bag.put("/world_graph", graph_message(self.states[-1], 1.0), 1)
        bag.put("/evaluation/result", verdict_message(self.verdict(), 9.0), 1)
        bag.writer.add_metadata("planner.recording", {"version": "1"})
        bag.writer.add_attachment(0, 0, "house.json", "application/json", house.encode())
        bag.writer.add_attachment(0, 0, "episode.json", "application/json", episode.encode())
        return bag

    def log(self, name: str = "states.jsonl") -> Path:
        path = self.folder / name
        with path.open("wb") as stream:
            writer = StateLogWriter(stream)
            for state in self.states:
                writer.write(state)
        return path

    def bag(self, name: str = "bag", *messages, live: bool = True, close: bool = True) -> Path:
        """States, then (topic, message) pairs, then the live verdict."""
        writer = BagWriter(self.folder / name)
        told = [("/world/state", message) for message in update_messages(self.states)]
        told += messages
        if live:
            told.append(("/evaluation/result", verdict_message(self.verdict(), 9.0)))
        topics = {}
        for n, (topic, message) in enumerate(told):
            if topic not in topics:
                text = STORE.generate_msgdef(TYPES[topic], ros_version=2)[0]
                topics[topic] = writer.add_topic(Topic(topic, TYPES[topic], text, ""))
            data = bytes(STORE.serialize_cdr(message, TYPES[topic]))
            writer.write(topics[topic], n + 1, n + 1, data)
        if close:
            writer.close()
        else:
            writer.flush()
        return self.folder / name


@pytest.fixture
def film(tmp_path: Path, small_house, small_episode) -> Film:
    return Film(tmp_path, small_house, small_episode)


@pytest.fixture
def messages() -> SimpleNamespace:
    return SimpleNamespace(
        graph=graph_message,
        world=world_message,
        updates=update_messages,
        verdict=verdict_message,
        skill=skill_message,
        decision=decision_message,
        info=info_message,
        instruct=instruct_message,
        bag=McapBag,
        store=STORE,
    )
