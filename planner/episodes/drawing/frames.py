"""An evaluation's frames, one for each temporal group, and the panel beside each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from planner.episodes.drawing.shapes import (
    INK,
    SOFT,
    Box,
    Colour,
    Part,
    Path,
    Shape,
    below,
    beside,
    line_height,
    over,
    proposition_colour,
    text_lines,
    wrapped,
)
from planner.evaluation.constraints import phrase
from planner.evaluation.task import (
    Dependency,
    DependencyMode,
    Evaluation,
    GateRelation,
    Predicate,
    Proposition,
    Tie,
    TieKind,
    asked_state,
)
from planner.world.catalogue import sliced_from
from planner.world.state import EntityState
from planner.world.vocabulary import Relation, floor_name

_PLACED = {Predicate.IS_ON_TOP: Relation.ON, Predicate.IS_INSIDE: Relation.WITHIN}
# Stands for the floors of all rooms.
ANY_FLOOR = "any floor"


@dataclass(frozen=True, slots=True)
class Spot:
    """What a thing is on or in; `slice_of` names the thing of which it will be a slice."""

    holder: str
    relation: Relation
    slice_of: str = ""


@dataclass(frozen=True, slots=True)
class Placement:
    """A proposition as arrows: `number` of the things go to any one of the targets.

    Attributes:
        index: of the proposition.
        relation: None for targets that are rooms.
        same: all of them go to the same target.
    """

    index: int
    things: tuple[str, ...]
    targets: tuple[str, ...]
    relation: Relation | None
    number: int
    same: bool

    @property
    def is_choice(self) -> bool:
        """Whether things or targets may be chosen, which is drawn as dotted arrows."""
        return self.number < len(self.things) or len(self.targets) > 1


@dataclass(frozen=True, slots=True)
class Frame:
    """A temporal group.

    Attributes:
        title: "" if the evaluation has no order.
        indices: of its propositions.
        spots: where things are when it begins, as far as the earlier groups determine it.
        states: what the earlier groups determine of states.
        unsure: things that an earlier group may have moved, to one of several places.
        placements: its propositions that place things.
    """

    title: str
    indices: tuple[int, ...]
    spots: Mapping[str, Spot]
    states: Mapping[str, Mapping[str, bool]]
    unsure: frozenset[str]
    placements: tuple[Placement, ...]


def frames_of(evaluation: Evaluation, entities: Mapping[str, EntityState]) -> tuple[Frame, ...]:
    """The frames in order of time; what has no order, if anything has, comes last.

    Args:
        evaluation: what is to be drawn.
        entities: rooms, furniture and things at the start.
    """
    spots = {
        name: Spot(entity.parent, entity.relation)
        for name, entity in entities.items()
        if entity.parent is not None and entity.relation is not None
    }
    for name in (name for p in evaluation.propositions for part in p.lists for name in part):
        whole = sliced_from(name) if name not in spots else None
        if whole is not None and whole in spots:
            spots[name] = Spot(spots[whole].holder, spots[whole].relation, whole)
    states: dict[str, dict[str, bool]] = {}
    unsure: set[str] = set()
    ordered, free = temporal_groups(evaluation)
    found = []
    for k, group in enumerate(ordered):
        title = f"Step {k + 1} of {len(ordered)}" if len(ordered) > 1 else ""
        placements = tuple(_placements(evaluation, group))
        now = {name: dict(values) for name, values in states.items()}
        found.append(Frame(title, group, dict(spots), now, frozenset(unsure), placements))
        for placement in placements:
            after = _moved(placement, spots)
            spots.update(after)
            unsure = (unsure | set(placement.things)) - after.keys()
        for name, state, value in _changes(evaluation, group):
            states.setdefault(name, {})[state] = value
    if free:
        placements = tuple(_placements(evaluation, free))
        found.append(replace(found[0], title="At any time", indices=free, placements=placements))
    return tuple(found)


def temporal_groups(evaluation: Evaluation) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
    """Groups of propositions, each after the one before, and those without an order."""
    level = {i: 0 for edge in evaluation.edges for i in edge}
    if not level:
        return [tuple(range(len(evaluation.propositions)))], ()
    for _ in level:
        for one, other in evaluation.edges:
            level[other] = max(level[other], level[one] + 1)
    groups = [
        tuple(sorted(i for i in level if level[i] == k)) for k in range(max(level.values()) + 1)
    ]
    return groups, tuple(i for i in range(len(evaluation.propositions)) if i not in level)


def order_is_groups(evaluation: Evaluation) -> bool:
    """Whether the order says just this: all of a group before any of the next."""
    groups, _ = temporal_groups(evaluation)
    edges = {(i, j) for one, other in pairwise(groups) for i in one for j in other}
    return edges == set(evaluation.edges)


def _placements(evaluation: Evaluation, group: Sequence[int]) -> Iterator[Placement]:
    for i in group:
        item = evaluation.propositions[i]
        things, number = item.lists[0], item.number
        if item.predicate in _PLACED:
            relation = _PLACED[Predicate(item.predicate)]
            yield Placement(i, things, item.lists[1], relation, number, item.is_same)
        elif item.predicate == Predicate.IS_IN_ROOM:
            yield Placement(i, things, item.lists[1], None, number, item.is_same)
        elif item.predicate == Predicate.IS_ON_FLOOR:
            rooms = _rooms_of(evaluation, group, item)
            floors = tuple(map(floor_name, rooms)) or (ANY_FLOOR,)
            yield Placement(i, things, floors, Relation.ON, number, same=False)


def _rooms_of(evaluation: Evaluation, group: Sequence[int], floor: Proposition) -> tuple[str, ...]:
    """The rooms that things have to be in that have to be on the floor."""
    found = (
        other.lists[1]
        for other in (evaluation.propositions[j] for j in group)
        if other.predicate == Predicate.IS_IN_ROOM and set(other.lists[0]) & set(floor.lists[0])
    )
    return next(found, ())


def _moved(placement: Placement, spots: Mapping[str, Spot]) -> dict[str, Spot]:
    """Where things are after a step, if there is only one possibility."""
    if placement.is_choice or placement.targets == (ANY_FLOOR,):
        return {}
    target, relation = placement.targets[0], placement.relation
    if relation is None:
        target, relation = floor_name(target), Relation.ON
    return {thing: Spot(target, relation) for thing in placement.things if thing in spots}


def _changes(evaluation: Evaluation, group: Sequence[int]) -> Iterator[tuple[str, str, bool]]:
    """The entity, state and value of what a step makes so, if there is no choice."""
    for item in (evaluation.propositions[i] for i in group):
        asked = asked_state(item.predicate)
        if asked is not None and item.number == len(item.lists[0]):
            yield from ((name, *asked) for name in item.lists[0])


# The panel beside a frame: its propositions in words, special relations, ties and gates.

WIDTH = 320.0
_SIZE, _HEAD_SIZE = 12.0, 12.5
_GLYPH_WIDTH = 46.0
_BLANK, _BAD = "#dde1e7", "#c02626"


def notes(
    evaluation: Evaluation, frame: Frame, colours: Mapping[str, Colour], unknown: Sequence[str]
) -> Part:
    """The panel of a frame; `unknown` are names in it that nothing in the house has."""
    lines = [_proposition(evaluation, i) for i in frame.indices]
    special = [
        *_relations(evaluation, frame, colours),
        *(_tie(evaluation, tie) for tie in evaluation.ties if _concerns(tie, frame)),
    ]
    gates = list(_gates(evaluation, frame))
    strange = _paragraph(", ".join(unknown), WIDTH, _BAD)
    return below(
        [
            _head("Has to come true"),
            *lines,
            *([_head("Relations and ties"), *special] if special else []),
            *([_head("When it counts"), *gates] if gates else []),
            *([_head("Not in this house"), strange] if unknown else []),
        ],
        7,
    )


def _head(text: str) -> Part:
    return Part(
        WIDTH,
        line_height(_HEAD_SIZE) + 4,
        tuple(text_lines([text], 0, 4, _HEAD_SIZE, SOFT, bold=True)),
    )


def _paragraph(text: str, width: float, colour: Colour = INK) -> Part:
    lines = wrapped(text, _SIZE, width)
    height = len(lines) * line_height(_SIZE)
    return Part(width, height, tuple(text_lines(lines, 0, 0, _SIZE, colour)))


def _proposition(evaluation: Evaluation, i: int) -> Part:
    colour = proposition_colour(i)
    badge = over(
        [
            Part(24, 16, (Box(0, 0, 24, 16, colour, radius=3),)),
            Part(24, 16, tuple(text_lines([str(i)], 8 if i < 10 else 4, 0.5, _SIZE, "#ffffff"))),
        ]
    )
    lasts = "" if i in evaluation.terminal else " (need not last)"
    text = _paragraph(phrase(evaluation.propositions[i]) + lasts, WIDTH - 34)
    return beside([badge, text], 10)


def _relations(
    evaluation: Evaluation, frame: Frame, colours: Mapping[str, Colour]
) -> Iterator[Part]:
    """Nearness, as boxes side by side."""
    for i in frame.indices:
        item = evaluation.propositions[i]
        if item.predicate not in (Predicate.IS_NEXT_TO, Predicate.IS_CLUSTERED):
            continue
        fills = [colours.get(names[0], _BLANK) for names in item.lists[:3]]
        shapes = [Box(2 + 14 * k, 2, 12, 12, fill, radius=2) for k, fill in enumerate(fills)]
        yield _legend(shapes, f"{i}: {phrase(item)}")


def _tie(evaluation: Evaluation, tie: Tie) -> Part:
    """The same or different arguments, as two boxes with the sign between."""
    fills = [proposition_colour(i) for i, _ in tie.members[:2]]
    shapes: list[Shape] = [
        Box(30 * k + 1, 2, 12, 12, fill, radius=2) for k, fill in enumerate(fills)
    ]
    shapes += [Path(((17, y), (27, y)), INK, 1.8) for y in (6, 10)]
    same = tie.kind is TieKind.SAME
    if not same:
        shapes.append(Path(((19, 14), (25, 2)), INK, 1.8))
    words = {
        evaluation.propositions[i].argument_names[k].lstrip("*").rstrip("s") for i, k in tie.members
    }
    numbers = [str(i) for i, _ in tie.members]
    noun = words.pop() if len(words) == 1 else "entity"
    text = f"{_listed(numbers)}: {'the same' if same else 'a different'} {noun}"
    return _legend(shapes, text)


def _legend(shapes: Sequence[Shape], text: str) -> Part:
    glyph = Part(_GLYPH_WIDTH, 16, tuple(shapes))
    return beside([glyph, _paragraph(text, WIDTH - _GLYPH_WIDTH - 6)], 6)


def _concerns(tie: Tie, frame: Frame) -> bool:
    return any(i in frame.indices for i, _ in tie.members)


def _gates(evaluation: Evaluation, frame: Frame) -> Iterator[Part]:
    gated: dict[str, list[str]] = {}
    for gate in evaluation.dependencies:
        inside = [str(i) for i in gate.gated if i in frame.indices]
        gated.setdefault(_moment(gate), []).extend(inside)
    for moment, indices in gated.items():
        if indices:
            yield _paragraph(f"{_listed(indices)}: {moment}", WIDTH)
    if not order_is_groups(evaluation):
        for i in frame.indices:
            before = [str(one) for one, other in evaluation.edges if other == i]
            if before:
                yield _paragraph(f"{i}: later than {_listed(before)}", WIDTH)


def _moment(gate: Dependency) -> str:
    heads = _listed([str(i) for i in gate.depends_on], gate.mode)
    plural = len(gate.depends_on) > 1
    match gate.relation:
        case GateRelation.WHILE_SATISFIED:
            return f"while {heads} {'hold' if plural else 'holds'}"
        case GateRelation.AFTER_SATISFIED:
            return f"after {heads} {'have' if plural else 'has'} come true"
        case GateRelation.AFTER_UNSATISFIED:
            return f"after {heads} {'hold' if plural else 'holds'} no longer"


def _listed(words: Sequence[str], mode: DependencyMode = DependencyMode.ALL) -> str:
    link = "and" if mode is DependencyMode.ALL else "or"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {link} {words[-1]}"
