"""`--to rerun`: a recording for Rerun's viewer: what moves, the task, and the blueprint."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.replay.export import rerun_stream
from planner.replay.export.rerun_stream import (
    APPLICATION,
    MAP,
    Cameras,
    Recording,
    blueprint,
    draw_house,
)
from planner.replay.export.source import (
    EVALUATION,
    RESULTS,
    STATUS,
    TRACE,
    VERDICT,
    Call,
    Received,
    Source,
    Story,
    read_story,
)
from planner.replay.states import STATES, recorded_states
from planner.world.belief import take_guesses
from planner.world.shapes import take_look
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind, held_words
from planner.world.wire import hands_record

# What moves in Rerun: frames of /tf, the true objects, and the robots' belief.

TF, TF_STATIC = "/tf", "/tf_static"
WORLD_GRAPH = "/world_graph"
_KINDS = ("room", "furniture", "object", "agent")
_ORIGINS = ("seen", "told", "inferred")
_ORIGIN_RGB = {"seen": (60, 170, 70), "told": (70, 120, 215), "inferred": (230, 155, 40)}
_TRUE_RGB = {
    EntityKind.FURNITURE: (110, 110, 120),
    EntityKind.OBJECT: (225, 60, 80),
    EntityKind.AGENT: (150, 70, 190),
}
_UNKNOWN_SIZE_M = 0.08
# Rows of one frame that are logged together.
_BATCH = 10_000


class Frames:
    """The transforms of /tf and /tf_static, and the paths of the agents' bases."""

    TOPICS = (TF, TF_STATIC)

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._rows: dict[str, list[tuple[Received, Any]]] = {}

    def add(self, message: Received) -> None:
        """Takes a message; its transforms are logged in batches."""
        import rerun as rr

        for link in message.content.transforms:
            child, parent = str(link.child_frame_id), str(link.header.frame_id)
            if not child or not parent or child == parent:
                continue
            if message.topic == TF_STATIC:
                moved = link.transform
                transform = rr.Transform3D(
                    translation=_vector(moved.translation),
                    quaternion=rr.Quaternion(xyzw=_turn(moved.rotation)),
                    parent_frame=parent,
                    child_frame=child,
                )
                self._recording.log_static(rerun_stream.frame(child), transform)
                continue
            rows = self._rows.setdefault(child, [])
            rows.append((message, link))
            if len(rows) >= _BATCH:
                self._send(child)

    def finish(self) -> None:
        """Logs the rest."""
        for child in list(self._rows):
            self._send(child)

    def _send(self, child: str) -> None:
        import rerun as rr

        rows = self._rows.pop(child)
        columns = rr.Transform3D.columns(
            translation=[_vector(link.transform.translation) for _, link in rows],
            quaternion=[_turn(link.transform.rotation) for _, link in rows],
            parent_frame=[str(link.header.frame_id) for _, link in rows],
            child_frame=[child] * len(rows),
        )
        self._recording.send(rerun_stream.frame(child), [m for m, _ in rows], columns)


class Truth:
    """The true world's furniture, objects and agents as boxes, whenever they change."""

    def __init__(self, recording: Recording, source: Source) -> None:
        self._recording, self._source = recording, source
        self._entities: Mapping[str, EntityState] = {}

    def add_all(self) -> None:
        """Logs all states of the bag.

        Raises:
            FileError: if the bag's states cannot be read.
        """
        source = self._source
        for received_ns, state, changed, _ in recorded_states(source.bag):
            if received_ns < source.begin_ns:
                continue
            stamp_ns = round(state.stamp_s * 1e9)
            self._recording.at(Received(STATES, source.types[STATES], received_ns, stamp_ns, None))
            self._draw_changed(state.entities, changed if self._entities else None)

    def _draw_changed(
        self, entities: Mapping[str, EntityState], changed: tuple[str, ...] | None
    ) -> None:
        import rerun as rr

        names = entities.keys() | self._entities.keys() if changed is None else changed
        for name in sorted(names):
            entity = entities.get(name)
            if entity is None:
                self._recording.log(rerun_stream.truth(name), rr.Clear(recursive=False))
            elif entity.kind is not EntityKind.ROOM:
                self._draw(entity)
        self._entities = entities

    def _draw(self, entity: EntityState) -> None:
        import rerun as rr

        words = [state for state, holds in (entity.states or {}).items() if holds]
        if entity.openness:
            words.append(f"{100 * entity.openness:.0f} % open")
        if entity.holding:
            words.append(f"holds {held_words(entity.hands)}")
        label = f"{entity.name}: {', '.join(words)}" if words else entity.name
        is_agent = entity.kind is EntityKind.AGENT
        place = entity.pose.apply((0.0, 0.0, entity.size_m[2] / 2))
        box = rr.Boxes3D(
            centers=[place],
            half_sizes=[tuple(extent / 2 for extent in entity.size_m)],
            quaternions=[entity.pose.orientation],
            colors=[_TRUE_RGB[entity.kind]],
            labels=[label],
            # Labels are shown for the belief; two at each place would hide everything.
            show_labels=is_agent,
        )
        self._recording.log_in_map(rerun_stream.truth(entity.name), box)
        if is_agent:
            x, y, _ = entity.pose.position_m
            point = rr.Points3D([(x, y, 0.03)], colors=[_TRUE_RGB[entity.kind]], radii=0.03)
            self._recording.log_in_map(rerun_stream.way(entity.name), point)


class BelievedWorld:
    """/world_graph as boxes, as a graph and as text, whenever it changes."""

    TOPICS = (WORLD_GRAPH,)

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._drawn: dict[str, tuple[object, ...]] = {}
        self._text = ""

    def add(self, message: Received) -> None:
        """Takes one graph."""
        import rerun as rr

        content = message.content
        parents = {str(e.child): (str(e.relation), str(e.parent)) for e in content.edges}
        now: dict[str, tuple[object, ...]] = {}
        for node in content.nodes:
            if _KINDS[int(node.kind) % len(_KINDS)] not in ("object", "agent"):
                continue
            seen = _appearance(node)
            now[str(node.name)] = seen
            if self._drawn.get(str(node.name)) != seen:
                self._draw(node)
        for name in self._drawn.keys() - now.keys():
            self._recording.log(rerun_stream.belief(name), rr.Clear(recursive=False))
        self._drawn = now
        text = graph_text(content.nodes, parents)
        if text != self._text:
            self._text = text
            self._recording.log(rerun_stream.BELIEF_TEXT, _plain(text))
            self._draw_graph(content)

    def _draw(self, node: Any) -> None:
        import rerun as rr

        size = [float(v) for v in (node.size.x, node.size.y, node.size.z)]
        label = f"{node.name} ({node.entity_id})" if node.entity_id else str(node.name)
        box = rr.Boxes3D(
            centers=[_vector(node.pose.position)],
            half_sizes=[[(extent or _UNKNOWN_SIZE_M) / 2 for extent in size]],
            quaternions=[_turn(node.pose.orientation)],
            colors=[_ORIGIN_RGB[_origin(node)]],
            labels=[f"{label}: {node.description}" if node.description else label],
        )
        self._recording.log_in_map(rerun_stream.belief(str(node.name)), box)

    def _draw_graph(self, content: Any) -> None:
        import rerun as rr

        names = [str(node.name) for node in content.nodes]
        edges = [(str(e.child), str(e.parent)) for e in content.edges]
        if names:
            graph = rr.GraphNodes(names, labels=names)
            self._recording.log(
                rerun_stream.GRAPH, graph, rr.GraphEdges(edges, graph_type="directed")
            )


def graph_text(nodes: list[Any], parents: Mapping[str, tuple[str, str]]) -> str:
    """A world graph as text, by room: places, states, and where the information comes from."""
    by_room: dict[str, list[str]] = {}
    for node in nodes:
        kind = _KINDS[int(node.kind) % len(_KINDS)]
        if kind == "room":
            continue
        relation, parent = parents.get(str(node.name), ("", ""))
        states, _ = take_look({str(state.name): bool(state.value) for state in node.states})
        states, guesses = take_guesses(states)
        words = [state if holds else f"not {state}" for state, holds in states.items()]
        if node.openness > 0:
            words.append(f"{100 * node.openness:.0f} % open")
        if node.holding:
            words.append(f"holds {held_words(hands_record(node))}")
        words += [f"maybe {name} ({100 * score:.0f} %)" for name, score in guesses]
        line = f"{kind} {node.name}"
        if relation and kind != "furniture":
            line += f", {relation} {parent}"
        if words:
            line += f" [{', '.join(words)}]"
        by_room.setdefault(str(node.room) or "nowhere known", []).append(f"{line}, {_origin(node)}")
    rooms = (
        f"{room}\n" + "".join(f"  {line}\n" for line in by_room[room]) for room in sorted(by_room)
    )
    return "".join(rooms)


def log_root(recording: Recording) -> None:
    """The frame of everything below /world: x forward, z up, as in ROS."""
    import rerun as rr

    axes = rr.ViewCoordinates.RIGHT_HAND_Z_UP
    recording.log_static(rerun_stream.WORLD, axes, rr.CoordinateFrame(MAP))


def _appearance(node: Any) -> tuple[object, ...]:
    return (
        *_vector(node.pose.position),
        *_turn(node.pose.orientation),
        *_vector(node.size),
        int(node.entity_id),
        str(node.description),
        int(node.source),
    )


def _origin(node: Any) -> str:
    return _ORIGINS[int(node.source)] if int(node.source) < len(_ORIGINS) else "inferred"


def _vector(value: Any) -> tuple[float, float, float]:
    return (float(value.x), float(value.y), float(value.z))


def _turn(value: Any) -> tuple[float, float, float, float]:
    turn = (float(value.x), float(value.y), float(value.z), float(value.w))
    # All zeros means that the field was not filled in.
    return turn if any(turn) and all(map(math.isfinite, turn)) else (0.0, 0.0, 0.0, 1.0)


def _plain(text: str) -> Any:
    import rerun as rr

    return rr.TextDocument(text, media_type=rr.MediaType.TEXT)


# The task in Rerun: calls as states, texts, logs, and numbers over time.

UPDATES, ROSOUT = "/memory/updates", "/rosout"
_LEVELS = ((50, "CRITICAL"), (40, "ERROR"), (30, "WARN"), (20, "INFO"), (0, "DEBUG"))
_OPERATIONS = ("ADD", "UPDATE", "REMOVE")


class StoryLogger:
    """Logs the messages about the task."""

    TOPICS = (STATUS, TRACE, RESULTS, EVALUATION, VERDICT, UPDATES, ROSOUT)

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._texts: dict[str, str] = {}
        self._handlers = {
            STATUS: self._status,
            TRACE: self._trace,
            RESULTS: self._result,
            EVALUATION: self._evaluation,
            VERDICT: self._evaluation,
            UPDATES: self._memory,
            ROSOUT: self._node,
        }

    def add(self, message: Received) -> None:
        """Takes one message of `TOPICS`."""
        self._handlers[message.topic](message.content)

    def begin(self, story: Story) -> None:
        """Logs what is valid at all times: the episode's instruction, if no message has it."""
        import rerun as rr

        steps = rr.SeriesLines(interpolation_mode="StepAfter", names="percent complete")
        self._recording.log_static(rerun_stream.PROGRESS, steps)
        for at_s, text in story.instruction:
            if at_s == -math.inf:
                document = rr.TextDocument(text, media_type=rr.MediaType.TEXT)
                self._recording.log_static(rerun_stream.INSTRUCTION, document)

    def _status(self, content: Any) -> None:
        for path, text in (
            (rerun_stream.INSTRUCTION, content.instruction),
            (rerun_stream.PLAN, content.plan),
            (rerun_stream.QUESTION, content.question),
        ):
            self._text(path, str(text))

    def _trace(self, content: Any) -> None:
        agents = [str(agent) for agent in content.agents]
        calls = [str(call) for call in content.calls]
        parsed = "; ".join(f"{a}: {c}" for a, c in zip(agents, calls, strict=False))
        words = f"cycle {content.cycle}: {content.error or parsed or 'nothing new'}"
        self._log(rerun_stream.PLANNER_LOG, words, "WARN" if content.error else "INFO")
        self._text(rerun_stream.PROMPT, str(content.prompt))
        self._text(rerun_stream.REPLY, str(content.reply))
        for name in ("prompt_tokens", "cached_tokens", "reply_tokens"):
            self._number(f"{rerun_stream.TOKENS}/{name}", float(getattr(content, name)))
        for name in ("latency_s", "first_token_s"):
            self._number(f"{rerun_stream.SECONDS}/{name}", float(getattr(content, name)))

    def _result(self, content: Any) -> None:
        level = "INFO" if int(content.code) == 0 else "WARN"
        words = f"{content.agent}: {content.call}: {content.text}"
        self._log(rerun_stream.CALL_LOG, words, level)

    def _evaluation(self, content: Any) -> None:
        self._number(rerun_stream.PROGRESS, float(content.percent_complete))
        lines = [f"[{'x' if p.satisfied else ' '}] {p.text}" for p in content.propositions]
        status = ("running", "success", "failure")[min(int(content.status), 2)]
        explanation = f"\n\n{content.explanation}" if content.explanation else ""
        self._text(rerun_stream.JUDGE_TEXT, "\n".join([status, *lines]) + explanation)

    def _memory(self, content: Any) -> None:
        for operation in content.operations:
            kind = _OPERATIONS[min(int(operation.kind), len(_OPERATIONS) - 1)]
            entity = operation.entity
            words = f"{kind} {entity.id} {entity.name}: {entity.description}"
            self._log(rerun_stream.MEMORY_LOG, f"{words} ({content.source})", "INFO")

    def _node(self, content: Any) -> None:
        level = next(word for least, word in _LEVELS if int(content.level) >= least)
        self._log(rerun_stream.NODE_LOG, f"{content.name}: {content.msg}", level)

    def _text(self, path: str, text: str) -> None:
        import rerun as rr

        # Plain, so that no text of a bag is rendered as Markdown, with its links and pictures.
        if self._texts.get(path, "") != text:
            self._texts[path] = text
            self._recording.log(path, rr.TextDocument(text, media_type=rr.MediaType.TEXT))

    def _log(self, path: str, text: str, level: str) -> None:
        import rerun as rr

        self._recording.log(path, rr.TextLog(text, level=level))

    def _number(self, path: str, value: float) -> None:
        import rerun as rr

        if math.isfinite(value):
            self._recording.log(path, rr.Scalars([value]))


def log_calls(recording: Recording, source: Source, calls: tuple[Call, ...]) -> None:
    """Logs each agent's running call as a state: a lane of the time line."""
    import rerun as rr

    changes: dict[tuple[str, float], str] = {}
    for call in calls:
        if call.ended_s is not None:
            changes.setdefault((call.agent, call.ended_s), "")
        changes[call.agent, call.began_s] = call.call
    for (agent, at_s), state in sorted(changes.items(), key=lambda item: item[0][1]):
        world_ns = round(at_s * 1e9)
        recording.at_times(source.received_ns(world_ns), world_ns)
        recording.log(rerun_stream.call(agent), rr.StateChange(state=state))


def write_rrd(source: Source, path: Path) -> None:
    """Writes the recording.

    Raises:
        FileError: if the bag cannot be read.
        OSError: if the file system refuses.
    """
    import rerun as rr

    name = source.folder.resolve().name
    cameras = [(camera.agent, camera.name) for camera in source.cameras]
    # The viewer merges recordings with the same id: keep bags with the same name apart.
    identity = f"{name}-{source.bag.start_ns}"
    was_strict = rr.strict_mode()
    # Make errors of Rerun exceptions, instead of lines in the log.
    rr.set_strict_mode(True)
    try:
        with rr.RecordingStream(APPLICATION, recording_id=identity) as stream:
            stream.save(path, default_blueprint=blueprint(cameras, source.house))
            stream.send_recording_name(name)
            _log_all(source, Recording(stream, simulated=source.simulated))
            stream.flush()
            stream.disconnect()
    finally:
        rr.set_strict_mode(was_strict)


def _log_all(source: Source, recording: Recording) -> None:
    log_root(recording)
    if source.house is not None:
        draw_house(recording, source.house)
    truth = Truth(recording, source)
    truth.add_all()
    story = read_story(source)
    log_calls(recording, source, story.calls)
    teller, frames = StoryLogger(recording), Frames(recording)
    teller.begin(story)
    eyes = Cameras(recording, source)
    parts = (teller, frames, BelievedWorld(recording))
    by_topic = {topic: part.add for part in parts for topic in part.TOPICS}
    by_topic.update(dict.fromkeys(eyes.topics, eyes.add))
    for message in source.messages(list(by_topic)):
        recording.at(message)
        source.dispatch(message, by_topic[message.topic])
    frames.finish()
