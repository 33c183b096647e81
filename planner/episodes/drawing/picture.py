"""One episode as a picture: a header, then for each temporal group its rooms and its notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.episodes.drawing.frames import Frame, Placement, frames_of, notes
from planner.episodes.drawing.furnishing import THING_WIDTH, Furnishing, Inventory
from planner.episodes.drawing.shapes import (
    INK,
    LINE,
    PAPER,
    SOFT,
    Anchor,
    Box,
    Colour,
    Part,
    Path,
    Picture,
    Point,
    Shape,
    Text,
    below,
    beside,
    entity_colours,
    line_height,
    over,
    proposition_colour,
    rows,
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

# Arrows from where things are to where they are to go: solid for all, dotted for a choice.

_WIDTH = 2.2
_HEAD = 9.0
_LABEL_SIZE = 11.0
_STEPS = 28
# Control points are not above it, so that no curve leaves its frame.
_TOP = -8.0

Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom."""
Taken = list[Rectangle]


def arrows_of(placement: Placement, anchors: Mapping[Anchor, Point], taken: Taken) -> list[Shape]:
    """The arrows of a proposition, under their label; none for what is not drawn.

    Args:
        placement: the proposition.
        anchors: of things and slots.
        taken: where no label may be; the labels are added.
    """
    colour, index = proposition_colour(placement.index), str(placement.index)
    starts = _known(anchors, [("entity", name) for name in placement.things])
    ends = _known(anchors, [("slot", index, name) for name in placement.targets])
    if not starts or not ends:
        return []
    dotted, label = placement.is_choice, _label(placement)
    if len(starts) > 1 and len(ends) > 1:
        # Through one point, since every thing may go to every target.
        middle = _mean([_mean(starts), _mean(ends)])
        joint = (middle[0], middle[1] - 26)
        found = [s for start in starts for s in _arrow(start, joint, colour, dotted, head=False)]
        found += [s for end in ends for s in _arrow(joint, end, colour, dotted)]
        return [*found, *_tag(label or "any", [joint], colour, taken)]
    found = [s for a in starts for b in ends for s in _arrow(a, b, colour, dotted)]
    if label:
        curve = _curve(starts[0], ends[0])
        places = [curve[round(t * _STEPS)] for t in (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)]
        found += _tag(label, places, colour, taken)
    return found


def _known(anchors: Mapping[Anchor, Point], keys: Iterable[Anchor]) -> list[Point]:
    """Different points; things that are drawn as a stack have one in common."""
    return list(dict.fromkeys(anchors[key] for key in keys if key in anchors))


def _label(placement: Placement) -> str:
    """How many of the things are needed, if not all or just one of many places for one."""
    words = []
    if placement.number < len(placement.things):
        words.append(f"{placement.number} of {len(placement.things)}")
    if placement.same and len(placement.targets) > 1:
        words.append("same place")
    return ", ".join(words)


def _mean(points: list[Point]) -> Point:
    return (sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points))


def _arrow(
    start: Point, end: Point, colour: Colour, dotted: bool, *, head: bool = True
) -> list[Shape]:
    curve = _curve(start, end)
    tip = curve[-1]
    shapes: list[Shape] = []
    if head:
        back = next(p for p in reversed(curve) if math.dist(p, tip) >= _HEAD * 0.8)
        angle = math.atan2(tip[1] - back[1], tip[0] - back[0])
        wings = [
            (tip[0] - _HEAD * math.cos(angle + side), tip[1] - _HEAD * math.sin(angle + side))
            for side in (0.45, -0.45)
        ]
        curve = [p for p in curve if math.dist(p, tip) > _HEAD * 0.7]
        shapes.append(Path((tip, *wings), fill=colour))
    points = tuple(curve)
    return [Path(points, PAPER, _WIDTH + 2.5), Path(points, colour, _WIDTH, dashed=dotted), *shapes]


def _curve(start: Point, end: Point) -> list[Point]:
    """A curve that leaves upwards, or sideways if it leads down, and arrives from above."""
    height = 26 + 0.16 * math.dist(start, end)
    (x0, y0), (x3, y3) = (start[0], start[1] - 1), (end[0], end[1] - 2)
    leaves, arrives = (x0, max(y0 - height, _TOP)), (x3, max(y3 - height, _TOP))
    side = 1.0 if x3 >= x0 else -1.0
    if y3 > y0 + 60:
        x0, y0 = x0 + side * THING_WIDTH / 2, y0 + 9
        leaves = (x0 + side * (14 + 0.2 * abs(x3 - x0)), y0)
    elif y3 < y0 - 60:
        # Past the target and down into it.
        arrives = (x3 - side * 36, max(y3 - 70, 3 * _TOP))
    found = []
    for k in range(_STEPS + 1):
        t = k / _STEPS
        a, b, c, d = (1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3
        x = a * x0 + b * leaves[0] + c * arrives[0] + d * x3
        found.append((x, a * y0 + b * leaves[1] + c * arrives[1] + d * y3))
    return found


def _tag(text: str, places: Sequence[Point], colour: Colour, taken: Taken) -> list[Shape]:
    """A label at the first of several places that is free, or else at the first one."""
    width, height = text_width(text, _LABEL_SIZE, bold=True) + 10, 16.0
    boxes = [(x - width / 2, y - height / 2, x + width / 2, y + height / 2) for x, y in places]
    box = next((one for one in boxes if not any(_meet(one, other) for other in taken)), boxes[0])
    taken.append(box)
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return [
        Box(box[0], box[1], width, height, PAPER, colour, 1.5, 7),
        Text(x, y, text, _LABEL_SIZE, colour, "middle", bold=True),
    ]


def _meet(a: Rectangle, b: Rectangle) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


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
    inventory: Inventory, evaluation: Evaluation, frame: Frame, shown: Sequence[str], width: float
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
