"""Arrows from where things are to where they are to go: solid for all, dotted for a choice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from planner.episodes.drawing.colours import proposition_colour
from planner.episodes.drawing.frames import Placement
from planner.episodes.drawing.furnishing import THING_WIDTH
from planner.episodes.drawing.parts import Anchor
from planner.episodes.drawing.shapes import PAPER, Box, Colour, Path, Point, Shape, Text, text_width

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
    return [
        Path(points, PAPER, _WIDTH + 2.5),
        Path(points, colour, _WIDTH, dashed=dotted),
        *shapes,
    ]


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
