"""What moves in Rerun: frames of /tf, the true objects, and the robots' belief."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.replay.export import rerun_paths
from planner.replay.export.rerun_stream import MAP, Recording
from planner.replay.export.source import Received, Source
from planner.replay.states import STATES, recorded_states
from planner.world.hands import held_words
from planner.world.look import take_look
from planner.world.second_guess import take_guesses
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind
from planner.world.wire import hands_record

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
                self._recording.log_static(rerun_paths.frame(child), transform)
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
        self._recording.send(rerun_paths.frame(child), [m for m, _ in rows], columns)


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
                self._recording.log(rerun_paths.truth(name), rr.Clear(recursive=False))
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
        self._recording.log_in_map(rerun_paths.truth(entity.name), box)
        if is_agent:
            x, y, _ = entity.pose.position_m
            point = rr.Points3D([(x, y, 0.03)], colors=[_TRUE_RGB[entity.kind]], radii=0.03)
            self._recording.log_in_map(rerun_paths.way(entity.name), point)


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
            self._recording.log(rerun_paths.belief(name), rr.Clear(recursive=False))
        self._drawn = now
        text = graph_text(content.nodes, parents)
        if text != self._text:
            self._text = text
            self._recording.log(rerun_paths.BELIEF_TEXT, _plain(text))
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
        self._recording.log_in_map(rerun_paths.belief(str(node.name)), box)

    def _draw_graph(self, content: Any) -> None:
        import rerun as rr

        names = [str(node.name) for node in content.nodes]
        edges = [(str(e.child), str(e.parent)) for e in content.edges]
        if names:
            graph = rr.GraphNodes(names, labels=names)
            self._recording.log(
                rerun_paths.GRAPH, graph, rr.GraphEdges(edges, graph_type="directed")
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
    recording.log_static(rerun_paths.WORLD, axes, rr.CoordinateFrame(MAP))


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
