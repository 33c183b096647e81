"""An episode in this process, recorded into a bag as the nodes' messages would be."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from message_types import STORE

from planner.app.embedded_run import prepare_embedded
from planner.app.run import RunResult
from planner.app.run_options import RunOptions
from planner.memory.memory import Memory
from planner.memory.updater import MemoryUpdater
from planner.models.caller import ModelCall
from planner.planning.expert.expert import Expert
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.planning.session import Event
from planner.recorder.bag_writer import BagWriter, Topic
from planner.world.belief import Belief, Entity, MemoryChange, OperationKind, Source
from planner.world.episode import Episode
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.observation import Observation
from planner.world.picture_codec import COLOUR_FORMAT, DEPTH_FORMAT, encode_colour, encode_depth
from planner.world.skill import SkillResult
from planner.world.state import EntityState, StateUpdate, UpdateEncoder, WorldState
from planner.world.topics import InstructState
from planner.world.vocabulary import EntityKind, Relation
from sim_bridge.embedded.backend import EmbeddedBackend

KINDS = (EntityKind.ROOM, EntityKind.FURNITURE, EntityKind.OBJECT, EntityKind.AGENT)
OPERATIONS = (OperationKind.ADD, OperationKind.UPDATE, OperationKind.REMOVE)
SOURCES = (Source.SEEN, Source.TOLD, Source.INFERRED)
RELATIONS = {None: "in", Relation.ON: "on", Relation.WITHIN: "within", Relation.HELD: "held_by"}
# The wall's clock when the world's is 0.
BEGIN_NS = 1_700_000_000_000_000_000


def new(type_name: str, /, **fields: Any) -> Any:
    return STORE.types[type_name](**fields)


def stamp(seconds: float) -> Any:
    nanoseconds = round(seconds * 1e9)
    return new("builtin_interfaces/msg/Time", sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)


def head(seconds: float, frame: str = "map") -> Any:
    return new("std_msgs/msg/Header", stamp=stamp(seconds), frame_id=frame)


def point(at: Sequence[float]) -> Any:
    return new("geometry_msgs/msg/Point", x=float(at[0]), y=float(at[1]), z=float(at[2]))


def vector(at: Sequence[float]) -> Any:
    return new("geometry_msgs/msg/Vector3", x=float(at[0]), y=float(at[1]), z=float(at[2]))


def turn(q: Sequence[float]) -> Any:
    x, y, z, w = map(float, q)
    return new("geometry_msgs/msg/Quaternion", x=x, y=y, z=z, w=w)


def pose(of: Pose) -> Any:
    return new(
        "geometry_msgs/msg/Pose", position=point(of.position_m), orientation=turn(of.orientation)
    )


def states(of: Any) -> list[Any]:
    return [
        new("planner_msgs/msg/NamedState", name=str(name), value=value)
        for name, value in (of or {}).items()
    ]


def key_values(of: dict[str, str]) -> list[Any]:
    return [new("diagnostic_msgs/msg/KeyValue", key=k, value=v) for k, v in of.items()]


def world_message(update: StateUpdate) -> Any:
    state = update.state
    return new(
        "planner_msgs/msg/WorldState",
        header=head(state.stamp_s),
        house=state.house,
        episode_id=state.episode_id,
        revision=state.revision,
        sim_step=state.step,
        keyframe=update.keyframe,
        sequence=update.sequence or 0,
        entities=[_world_entity(entity) for entity in state.entities.values()],
        removed=list(update.removed),
    )


def _world_entity(entity: EntityState) -> Any:
    return new(
        "planner_msgs/msg/EntityState",
        kind=KINDS.index(entity.kind),
        name=entity.name,
        class_name=entity.class_name,
        instance_id=entity.instance_id,
        parent=entity.parent or "",
        relation=str(entity.relation or ""),
        room=entity.room or "",
        pose=pose(entity.pose),
        size=vector(entity.size_m),
        affordances=[str(a) for a in entity.affordances],
        states=states(entity.states),
        openness=-1.0 if entity.openness is None else entity.openness,
        holding=entity.holding or "",
        hands=[name or "" for name in entity.hands],
    )


def links_message(stamp_s: float, poses: dict[str, Pose]) -> Any:
    transforms = [
        new(
            "geometry_msgs/msg/TransformStamped",
            header=head(stamp_s),
            child_frame_id=child,
            transform=new(
                "geometry_msgs/msg/Transform",
                translation=vector(at.position_m),
                rotation=turn(at.orientation),
            ),
        )
        for child, at in poses.items()
    ]
    return new("tf2_msgs/msg/TFMessage", transforms=transforms)


def image_message(stamp_s: float, frame_id: str, encoding: str, pixels: Any) -> Any:
    data = np.ascontiguousarray(pixels).view(np.uint8).reshape(-1)
    height, width = pixels.shape[:2]
    return new(
        "sensor_msgs/msg/Image",
        header=head(stamp_s, frame_id),
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=0,
        step=data.size // height,
        data=data,
    )


def compressed_message(stamp_s: float, frame_id: str, kind: str, data: bytes) -> Any:
    return new(
        "sensor_msgs/msg/CompressedImage",
        header=head(stamp_s, frame_id),
        format=kind,
        data=np.frombuffer(data, np.uint8),
    )


def info_message(stamp_s: float, frame_id: str, lens: Any) -> Any:
    fx, fy, cx, cy = map(float, (lens.fx_px, lens.fy_px, lens.cx_px, lens.cy_px))
    return new(
        "sensor_msgs/msg/CameraInfo",
        header=head(stamp_s, frame_id),
        height=lens.height_px,
        width=lens.width_px,
        distortion_model="plumb_bob",
        d=np.zeros(5),
        k=np.array([fx, 0, cx, 0, fy, cy, 0, 0, 1], float),
        r=np.eye(3).reshape(-1),
        p=np.array([fx, 0, cx, 0, 0, fy, cy, 0, 0, 0, 1, 0], float),
        binning_x=0,
        binning_y=0,
        roi=new(
            "sensor_msgs/msg/RegionOfInterest",
            x_offset=0,
            y_offset=0,
            height=0,
            width=0,
            do_rectify=False,
        ),
    )


def hand_message(stamp_s: float, opening: float) -> Any:
    return new(
        "sensor_msgs/msg/JointState",
        header=head(stamp_s, ""),
        name=["gripper"],
        position=np.array([opening], float),
        velocity=np.zeros(0),
        effort=np.zeros(0),
    )


def entity_message(entity: Entity) -> Any:
    unseen = entity.seen_distance_m is None
    return new(
        "planner_msgs/msg/Entity",
        id=entity.entity_id,
        name=entity.name,
        is_furniture=entity.is_furniture,
        description=entity.description,
        room=entity.room or "",
        position=point(entity.position_m),
        seen_distance_m=float("nan") if unseen else entity.seen_distance_m,
        seen=stamp(entity.seen_s or 0.0),
        picked=entity.picked,
    )


def change_message(change: MemoryChange) -> Any:
    return new(
        "planner_msgs/msg/MemoryUpdate",
        header=head(change.stamp_s),
        sequence=change.sequence,
        source=change.author,
        operations=[
            new(
                "planner_msgs/msg/Operation",
                kind=OPERATIONS.index(edit.kind),
                entity=entity_message(edit.entity),
            )
            for edit in change.edits
        ],
    )


def list_message(memory: Memory) -> Any:
    told = memory.snapshot()
    return new(
        "planner_msgs/msg/EntityList",
        header=head(told.stamp_s),
        sequence=told.sequence,
        entities=[entity_message(entity) for entity in told.entities],
    )


def graph_message(belief: Belief) -> Any:
    nodes, edges = [], []
    for node in belief.nodes.values():
        age_s = max(0.0, belief.stamp_s - node.stamp_s)
        x, y, z = node.position_m
        at = replace(Pose.planar(x, y, node.heading_rad or 0.0), position_m=(x, y, z))
        nodes.append(
            new(
                "planner_msgs/msg/WorldGraphNode",
                kind=KINDS.index(node.kind),
                name=node.name,
                class_name=node.class_name,
                entity_id=node.entity_id or 0,
                description=node.description,
                room=node.room or "",
                pose=pose(at),
                size=vector(node.size_m),
                affordances=[str(a) for a in node.affordances],
                states=states(node.states),
                openness=-1.0 if node.openness is None else node.openness,
                holding=node.holding or "",
                hands=[name or "" for name in node.hands],
                source=SOURCES.index(node.source),
                age_s=age_s,
            )
        )
        if node.parent is not None:
            edges.append(
                new(
                    "planner_msgs/msg/WorldGraphEdge",
                    child=node.name,
                    relation=RELATIONS[node.relation],
                    parent=node.parent,
                    source=SOURCES.index(node.source),
                    age_s=age_s,
                )
            )
    return new(
        "planner_msgs/msg/WorldGraph",
        header=head(belief.stamp_s),
        sequence=belief.sequence,
        nodes=nodes,
        edges=edges,
    )


def result_fields(result: SkillResult) -> dict[str, Any]:
    return {
        "has_position": result.position_m is not None,
        "position": point(result.position_m or (0.0, 0.0, 0.0)),
        "has_holding": result.holding is not None,
        "holding": result.holding or "",
        "hands": [name or "" for name in result.hands or ()],
        "duration_s": math.nan if result.duration_s is None else result.duration_s,
        "part_of": result.part_of,
        "rule": result.rule,
        "evidence": key_values(dict(result.evidence)),
    }


def report_message(event: Event) -> Any:
    result = event.result
    assert result is not None
    return new(
        "planner_msgs/msg/SkillReport",
        header=head(event.stamp_s),
        agent=event.agent,
        call=str(event.call),
        code=int(result.code),
        text=result.text,
        **result_fields(result),
    )


def trace_message(stamp_s: float, call: ModelCall) -> Any:
    return new(
        "planner_msgs/msg/PlannerTrace",
        header=head(stamp_s),
        planner=call.planner,
        model=call.model,
        agents=list(call.agents),
        cycle=call.cycle,
        prompt=call.prompt,
        grammar=call.grammar,
        reply=call.reply,
        calls=list(call.calls),
        error=call.error,
        prompt_tokens=call.usage.prompt_tokens,
        cached_tokens=call.usage.cached_tokens,
        reply_tokens=call.usage.reply_tokens,
        first_token_s=float("nan"),
        latency_s=float("nan"),
        parameters=key_values(dict(call.parameters)),
        role=call.role.value,
    )


class Recording:
    """A bag in the making; messages are received in the order in which they are put."""

    def __init__(self, folder: Path, house: House, episode: Episode) -> None:
        self.folder = folder
        self.writer = BagWriter(folder)
        self._topics: dict[str, int] = {}
        self._last_ns = BEGIN_NS
        self.writer.attach("house.json", "application/json", _json(house), BEGIN_NS)
        self.writer.attach(
            "episode.json",
            "application/json",
            _json(episode.model_copy(update={"house": house.name})),
            BEGIN_NS,
        )

    def put(self, topic: str, type_name: str, message: Any, stamp_s: float) -> None:
        if topic not in self._topics:
            text = STORE.generate_msgdef(type_name, ros_version=2)[0]
            self._topics[topic] = self.writer.add_topic(Topic(topic, type_name, text, ""))
        self._last_ns = max(self._last_ns + 1000, BEGIN_NS + round(stamp_s * 1e9))
        data = bytes(STORE.serialize_cdr(message, type_name))
        self.writer.write(self._topics[topic], self._last_ns, self._last_ns, data)


def _json(model: Any) -> bytes:
    return json.dumps(model.model_dump(mode="json")).encode()


class Tracing:
    """A planner whose decisions are recorded as the task-planner node does."""

    def __init__(self, planner: Planner, stage: Stage) -> None:
        self._planner, self._stage = planner, stage
        self._cycle = 0

    @property
    def name(self) -> str:
        return self._planner.name

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        self._planner.observe(results)

    async def decide(self, context: Context) -> Decision:
        self._stage.tell_belief(context.belief)
        decision = await self._planner.decide(context)
        if decision.calls and "expert" in self._planner.name:
            self._cycle += 1
            now = {a: str(c) for a, c in {**context.running, **decision.calls}.items()}
            told = tuple(
                "" if now.get(a) == "Done[]" else now.get(a, "") for a in context.task.agents
            )
            call = ModelCall(
                self._planner.name,
                "",
                context.task.agents,
                self._cycle,
                reply=decision.thought,
                calls=told,
            )
            self._stage.tell_call(call)
        return decision


class Stage:
    """Runs an episode and records it."""

    def __init__(
        self,
        folder: Path,
        house: House,
        episode: Episode,
        *,
        pictures: bool = False,
        compressed: bool = False,
        keep_every: int = 1,
        live: Callable[[House, Callable[[], WorldState | None]], MemoryUpdater] | None = None,
        make_planner: Callable[[Task, Callable[[ModelCall], None]], Planner] | None = None,
        acting: Sequence[str] = (),
        foreign_names: bool = False,
    ) -> None:
        """`keep_every` n-th picture goes into the bag, as a recorder that thins them does."""
        self.house, self.episode = house, episode
        self.recording = Recording(folder, house, episode)
        self._pictures, self._compressed, self._keep_every = pictures, compressed, keep_every
        self._looks: dict[str, int] = {}
        self._updates = UpdateEncoder()
        self._hands: dict[str, float] = {}
        self._now_s = 0.0
        self._backend = EmbeddedBackend()
        self.live: Memory | None = None
        if live is not None:
            self.live = Memory(
                house.layout,
                live(house.layout, self._backend.world_state),
                agents={agent.uid: agent.kind for agent in episode.agents},
                foreign_names=foreign_names,
            )
        make = make_planner or (lambda task, _tell: Expert(task))
        self._run = prepare_embedded(
            self._backend,
            house,
            episode,
            lambda task: Tracing(make(task, self.tell_call), self),
            RunOptions(acting=acting, images=pictures, on_event=self._hear, watch=self._watch),
        )
        self._text_of = -1
        memory = self.live or self._run.memory
        self.recording.put(
            "/memory/entities", "planner_msgs/msg/EntityList", list_message(memory), 0.0
        )

    def play(self, then: Callable[[], None] = lambda: None) -> RunResult:
        """Runs to the end, does something `then`, and closes the bag."""
        try:
            result = self._run.run()
            then()
            return result
        finally:
            self._tell_changes()
            self._backend.close()
            self.recording.writer.close()

    def tell_belief(self, belief: Belief) -> None:
        self._tell_changes()
        self._now_s = belief.stamp_s
        message = graph_message(belief)
        self.recording.put("/world_graph", "planner_msgs/msg/WorldGraph", message, self._now_s)

    def tell_world(self) -> None:
        """The true state, which is otherwise only recorded with each look of an agent."""
        state = self._backend.world_state()
        assert state is not None
        self.recording.put(
            "/world/state",
            "planner_msgs/msg/WorldState",
            world_message(self._updates.encode(state)),
            state.stamp_s,
        )

    def tell_status(self, state: InstructState) -> None:
        """The status of the only instruction."""
        kind = "planner_msgs/msg/InstructStatus"
        texts = ("planner", "model", "house", "episode_id", "goal", "text", "question", "plan")
        fields = dict.fromkeys(texts, "") | {k: [] for k in ("dialogue", "calls", "evidence")}
        fields |= {"header": head(self._now_s), "id": "0", "code": 0, "cycle": 0}
        agents = [agent.uid for agent in self.episode.agents]
        asked = self.episode.instruction
        message = new(kind, **fields, instruction=asked, agents=agents, state=int(state))
        self.recording.put("/instruct/status", kind, message, self._now_s)

    def tell_call(self, call: ModelCall) -> None:
        message = trace_message(self._now_s, call)
        self.recording.put("/planner/trace", "planner_msgs/msg/PlannerTrace", message, self._now_s)

    def _hear(self, event: Event) -> None:
        if event.result is None or str(event.call) == "Done[]":
            return
        self.recording.put(
            "/skills/results", "planner_msgs/msg/SkillReport", report_message(event), event.stamp_s
        )
        if self.live is not None:
            self.live.note_result(event.agent, event.call, event.result, event.stamp_s)
        self._tell_changes()

    def _watch(self, observation: Observation, _memory: Memory) -> None:
        self._tell_changes()
        self.tell_world()
        if not self._pictures:
            return
        self._tell_frames(observation)
        seen = self._looks[observation.agent] = self._looks.get(observation.agent, -1) + 1
        self._tell_pictures(observation, kept=seen % self._keep_every == 0)
        if self.live is not None:
            self.live.observe(observation)
        self._tell_changes()

    def _tell_changes(self) -> None:
        memory = self.live or self._run.memory
        for change in memory.deltas_since(max(self._text_of, 0)).changes:
            self.recording.put(
                "/memory/updates",
                "planner_msgs/msg/MemoryUpdate",
                change_message(change),
                change.stamp_s,
            )
            self.recording.put(
                "/memory/entities",
                "planner_msgs/msg/EntityList",
                list_message(memory),
                change.stamp_s,
            )
            self._text_of = change.sequence

    def _tell_frames(self, observation: Observation) -> None:
        agent, base = observation.agent, observation.base
        frames = {
            f"{agent}/base_link": base,
            f"{agent}/odom": base.compose(observation.odometry.inverse()),
            f"{agent}/hand": base.compose(observation.hand),
            f"{agent}/hand_optical": observation.cameras["hand"].pose,
        }
        message = links_message(observation.stamp_s, frames)
        self.recording.put("/tf", "tf2_msgs/msg/TFMessage", message, observation.stamp_s)
        opening = observation.gripper_opening
        if self._hands.get(agent) != opening:
            self._hands[agent] = opening
            self.recording.put(
                f"/{agent}/gripper_state",
                "sensor_msgs/msg/JointState",
                hand_message(observation.stamp_s, opening),
                observation.stamp_s,
            )

    def _tell_pictures(self, observation: Observation, *, kept: bool) -> None:
        agent, stamp_s = observation.agent, observation.stamp_s
        frame = observation.cameras["hand"]
        frame_id = f"{agent}/hand_optical"
        put = self.recording.put
        put(
            f"/{agent}/depth_registered/hand/camera_info",
            "sensor_msgs/msg/CameraInfo",
            info_message(stamp_s, frame_id, frame.intrinsics),
            stamp_s,
        )
        if not kept:
            return
        ids = image_message(stamp_s, frame_id, "32SC1", frame.instances)
        put(f"/{agent}/instances/hand/image", "sensor_msgs/msg/Image", ids, stamp_s)
        colour, depth = f"/{agent}/camera/hand/image", f"/{agent}/depth_registered/hand/image"
        if self._compressed:
            kind = "sensor_msgs/msg/CompressedImage"
            packed = encode_colour(frame.rgb)
            message = compressed_message(stamp_s, frame_id, COLOUR_FORMAT, packed)
            put(f"{colour}/compressed", kind, message, stamp_s)
            packed = encode_depth(frame.depth_m)
            message = compressed_message(stamp_s, frame_id, DEPTH_FORMAT, packed)
            put(f"{depth}/compressedDepth", kind, message, stamp_s)
            return
        kind = "sensor_msgs/msg/Image"
        put(colour, kind, image_message(stamp_s, frame_id, "rgb8", frame.rgb), stamp_s)
        metres = np.where(frame.depth_m > 0, frame.depth_m, np.float32("nan"))
        put(depth, kind, image_message(stamp_s, frame_id, "32FC1", metres), stamp_s)
