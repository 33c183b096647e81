"""One episode as a picture: a header, then for each temporal group its rooms and its notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.episodes.drawing.arrows import arrows_of
from planner.episodes.drawing.colours import entity_colours
from planner.episodes.drawing.frames import Frame, frames_of
from planner.episodes.drawing.furnishing import Furnishing, Inventory
from planner.episodes.drawing.notes import notes
from planner.episodes.drawing.parts import Part, below, beside, over, rows
from planner.episodes.drawing.shapes import (
    INK,
    LINE,
    SOFT,
    Box,
    Colour,
    Path,
    Picture,
    Shape,
    Text,
    line_height,
    text_bounds,
    text_lines,
    text_width,
    wrapped,
)
from planner.episodes.start_state import start_entities, with_graph_things
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import Evaluation
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind

_MARGIN = 24.0
_ROOMS_WIDTH = 960.0
_MIN_WIDTH = 900.0
_TITLE_SIZE, _TEXT_SIZE, _REMARK_SIZE, _SMALL_SIZE = 17.0, 15.0, 12.5, 11.5


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be drawn.

    Attributes:
        name: the title.
        facts: a line about it.
        text: the instruction.
        evaluation: None if nothing is to be drawn but the texts.
        entities: rooms, furniture and things at the start.
        remarks: lines below the instruction.
    """

    name: str
    facts: str
    text: str
    evaluation: Evaluation | None
    entities: Mapping[str, EntityState]
    remarks: tuple[str, ...] = ()


def draw_episode(episode: Episode, house: House) -> Picture:
    """Draws an episode's task and evaluation.

    Raises:
        PlannerError: if it has no evaluation.
        FileError: if the evaluation is malformed.
    """
    if episode.evaluation is None:
        reason = "only criteria, which are not drawn" if episode.criteria else "no goal to draw"
        raise PlannerError(f"episode {episode.episode_id} has {reason}")
    evaluation = read_evaluation(episode.evaluation, episode.episode_id)
    types = ", ".join(episode.task_types).replace("_", "-")
    facts = "  ·  ".join(filter(None, (episode.house, types)))
    entities = start_entities(with_graph_things(episode, house), house, default_catalogue())
    return draw_task(Task(episode.episode_id, facts, episode.instruction, evaluation, entities))


def draw_task(task: Task) -> Picture:
    """Draws a task and its evaluation."""
    bodies: list[Part] = []
    width = _MIN_WIDTH
    if task.evaluation is not None:
        inventory = Inventory(task.entities, entity_colours(task.evaluation.propositions))
        frames = frames_of(task.evaluation, task.entities)
        bodies = [_body(inventory, task.evaluation, frame) for frame in frames]
        width = max(body.width for body in bodies) + 32
        bodies = [*(_bordered(body, width) for body in bodies), _key(width)]
    framed = below([_header(task, width), *bodies], 18).at(_MARGIN, _MARGIN)
    return Picture(
        f"{task.name}: {task.text}", framed.width + _MARGIN, framed.height + _MARGIN, framed.shapes
    )


def _header(task: Task, width: float) -> Part:
    title = _paragraph(task.name, _TITLE_SIZE, width, INK, bold=True)
    facts = _paragraph(task.facts, _SMALL_SIZE, width, SOFT)
    text = _paragraph(task.text, _TEXT_SIZE, width, INK).at(0, 6)
    remarks = [_paragraph(remark, _REMARK_SIZE, width, SOFT) for remark in task.remarks]
    return below([title, facts, text, *remarks], 2)


def _paragraph(text: str, size: float, width: float, colour: Colour, *, bold: bool = False) -> Part:
    lines = wrapped(text, size, width, bold=bold)
    shapes = text_lines(lines, 0, 0, size, colour, bold=bold)
    return Part(width, len(lines) * line_height(size), tuple(shapes))


def _body(inventory: Inventory, evaluation: Evaluation, frame: Frame) -> Part:
    shown, unknown = _rooms(inventory, evaluation, frame)
    row_width = _ROOMS_WIDTH / 2 - 40 if len(shown) > 1 else _ROOMS_WIDTH * 0.7
    furnishing = Furnishing(inventory, evaluation, frame, row_width)
    blocks = [furnishing.room(room) for room in shown] + furnishing.anywhere()
    lines = [beside(row, 24) for row in rows(blocks, _ROOMS_WIDTH, 24)]
    rooms = below(lines, 34)
    absent = _absent(inventory, evaluation, frame, shown, rooms.width)
    plan = below([rooms, absent], 14).at(0, 30)
    # Words on top, so that no arrow hides a name.
    back = [shape for shape in plan.shapes if not isinstance(shape, Text)]
    words = [shape for shape in plan.shapes if isinstance(shape, Text)]
    taken = [text_bounds(word) for word in words]
    arrows = [s for p in frame.placements for s in arrows_of(p, plan.anchors, taken)]
    # Labels after all lines.
    arrows.sort(key=lambda shape: not isinstance(shape, Path))
    drawn = Part(plan.width, plan.height, (*back, *arrows, *words))
    inside = beside([drawn, notes(evaluation, frame, inventory.colours, unknown).at(0, 10)], 28)
    title = text_lines([frame.title], 0, 0, 14.0, bold=True) if frame.title else []
    head = Part(inside.width, 20 if title else 0, tuple(title))
    return below([head, inside], 0)


def _bordered(body: Part, width: float) -> Part:
    border = Box(0, 0, width, body.height + 26, None, LINE, 1.2, 10)
    return over([Part(width, border.height, (border,)), body.at(16, 12)])


def _rooms(
    inventory: Inventory, evaluation: Evaluation, frame: Frame
) -> tuple[list[str], list[str]]:
    """The rooms of all that a frame's propositions name, and the names that are in none."""
    entities = inventory.entities
    named = sorted(
        {name for i in frame.indices for part in evaluation.propositions[i].lists for name in part}
    )
    rooms: dict[str, str] = {}
    for name in named:
        spot, place = frame.spots.get(name), name
        while spot is not None:
            place, spot = spot.holder, frame.spots.get(spot.holder)
        entity = entities.get(place)
        rooms[name] = entity.room or "" if entity is not None else place.removeprefix("floor_")
    shown = [name for name in entities if name in rooms.values()]
    return shown, [name for name, room in rooms.items() if room not in entities]


def _absent(
    inventory: Inventory,
    evaluation: Evaluation,
    frame: Frame,
    shown: Sequence[str],
    width: float,
) -> Part:
    """The other rooms, with what in them is of a class that the frame is about."""
    classes = {
        entity.class_name
        for i in frame.indices
        for part in evaluation.propositions[i].lists
        for name in part
        if (entity := inventory.entities.get(name)) is not None
    }
    alike: dict[str, list[str]] = {}
    for entity in inventory.entities.values():
        if entity.kind is EntityKind.ROOM and entity.name not in shown:
            alike.setdefault(entity.name, [])
    for entity in inventory.entities.values():
        if entity.class_name in classes and entity.room in alike and entity.name != entity.room:
            alike[entity.room].append(entity.name)
    if not alike:
        return Part(0, 0)
    words = [f"{room} ({', '.join(names)})" if names else room for room, names in alike.items()]
    return _paragraph(f"Not drawn: {', '.join(words)}", _SMALL_SIZE, max(width, 420.0), SOFT)


def _key(width: float) -> Part:
    """What the signs mean."""
    entries = [_entry(shapes, text) for shapes, text in _SIGNS]
    return below([beside(row, 22) for row in rows(entries, width, 22)], 6)


def _entry(shapes: Sequence[Shape], text: str) -> Part:
    words = text_lines([text], 0, 1, _SMALL_SIZE, SOFT)
    return beside(
        [Part(30, 16, tuple(shapes)), Part(text_width(text, _SMALL_SIZE), 16, tuple(words))], 6
    )


_SIGNS: Sequence[tuple[Sequence[Shape], str]] = (
    ((Path(((0, 8), (28, 8)), INK, 2.2),), "all of these"),
    ((Path(((0, 8), (28, 8)), INK, 2.2, dashed=True),), "any of these"),
    ((Box(3, 1, 22, 14, "#2b3038", SOFT, 2, 3),), "where it goes: on top, inside or in the room"),
    ((Box(3, 1, 22, 14, "#1f6fb4", radius=3),), "a thing, in the colour of its first proposition"),
    ((Box(3, 1, 22, 14, "#dde1e7", radius=3),), "a thing that the task is not about"),
)
