"""Draws things, furniture and rooms, with what they have to become (PARTNR-4.6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from planner.episodes.drawing.colours import proposition_colour
from planner.episodes.drawing.frames import ANY_FLOOR, Frame
from planner.episodes.drawing.icons import HEIGHT, WIDTH, icon
from planner.episodes.drawing.parts import Anchor, Part, below, beside, over, rows
from planner.episodes.drawing.shapes import (
    INK,
    LINE,
    PAPER,
    SOFT,
    Box,
    Colour,
    Oval,
    Point,
    Shape,
    Text,
    line_height,
    text_width,
    wrapped,
)
from planner.evaluation.task import Evaluation, asked_word
from planner.world.state import EntityState
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name

THING_WIDTH, _THING_HEIGHT = 34.0, 24.0
_SLOT = (22.0, 16.0)
_DARK = "#2b3038"
_FAINT = "#aab2bf"
_BYSTANDER = "#dde1e7"
_BACKDROP = "#f6f7f9"
_NAME_SIZE, _NOTE_SIZE, _ROOM_SIZE = 10.5, 10.0, 13.0
_NAME_WIDTH = 80.0
# A room of more pieces shows only those that matter.
_MAX_PIECES = 12
_MAX_BYSTANDERS = 4
_MIN_STACK = 4


@dataclass(frozen=True, slots=True)
class Inventory:
    """What there is to draw.

    Attributes:
        entities: rooms, furniture and things at the start.
        colours: of the entities that the evaluation names.
    """

    entities: Mapping[str, EntityState]
    colours: Mapping[str, Colour]

    def of_room(self, room: str) -> list[EntityState]:
        """The furniture of a room."""
        return [e for e in self.entities.values() if e.parent == room and e.relation is None]


class Furnishing:
    """Draws what one frame shows."""

    def __init__(
        self, inventory: Inventory, evaluation: Evaluation, frame: Frame, row_width: float
    ) -> None:
        """`row_width`: the maximum width of a row of furniture."""
        named = (inventory.entities.get(name) for name in inventory.colours)
        self._classes = {entity.class_name for entity in named if entity is not None}
        self._inventory = inventory
        self._frame = frame
        self._row_width = row_width
        self._pills: dict[str, list[Part]] = {}
        for i in frame.indices:
            proposition = evaluation.propositions[i]
            word = asked_word(proposition.predicate)
            if not word:
                continue
            names = proposition.lists[0]
            choice = f" ({proposition.number} of {len(names)})" if len(names) > 1 else ""
            for name in names:
                pill = _pill(f"to be {word}{choice}", proposition_colour(i))
                self._pills.setdefault(name, []).append(pill)
        self._slots: dict[tuple[str, Relation | None], list[int]] = {}
        for placement in frame.placements:
            for target in placement.targets:
                self._slots.setdefault((target, placement.relation), []).append(placement.index)
        self._roles: dict[str, list[tuple[int, int]]] = {}
        for i, item in enumerate(evaluation.propositions):
            for k, names in enumerate(item.lists):
                for name in names:
                    self._roles.setdefault(name, []).append((i, k))
        self._held: dict[str, list[str]] = {}
        for name, spot in frame.spots.items():
            self._held.setdefault(spot.slice_of or spot.holder, []).append(name)

    def room(self, name: str) -> Part:
        """A room as a box with its furniture, its name underneath."""
        inventory = self._inventory
        pieces = inventory.of_room(name)
        floor = self._floor(floor_name(name))
        shown = [piece for piece in pieces if len(pieces) <= _MAX_PIECES or self._matters(piece)]
        # What the frame is about stands together, first.
        shown.sort(key=lambda piece: not self._takes_part(piece))
        cells = [self._furniture(piece) for piece in shown] + floor
        lines = [beside(_levelled(row), 14) for row in rows(cells, self._row_width, 14)]
        hidden = len(pieces) - len(shown)
        more = [_words(f"and {hidden} more pieces of furniture", SOFT)] if hidden else []
        inside = below([*lines, *more], 18)
        title = beside([*self._slot_parts(name, None), _title(name)], 6, bottoms=True)
        width = max(inside.width, title.width, 120.0) + 28
        frame = Box(0, 0, width, inside.height + 30, _BACKDROP, LINE, 1.2, 8)
        body = over(
            [Part(width, frame.height, (frame,)), inside.at((width - inside.width) / 2, 18)]
        )
        return below([body, title], 6, centred=True)

    def anywhere(self) -> list[Part]:
        """The floor of whatever room, if a proposition allows all of them."""
        slots = self._slot_parts(ANY_FLOOR, Relation.ON)
        if not slots:
            return []
        ground = Part(WIDTH, HEIGHT, tuple(icon("floor", INK)))
        return [below([beside(slots, 4), ground, _words("any room's floor", INK)], 2, centred=True)]

    def _takes_part(self, piece: EntityState) -> bool:
        """Whether a frame needs the piece, or something that is on or in it now."""
        return (
            piece.name in self._pills
            or any((piece.name, relation) in self._slots for relation in Relation)
            or any(name in self._inventory.colours for name in self._held.get(piece.name, ()))
        )

    def _matters(self, piece: EntityState) -> bool:
        return (
            piece.class_name in self._classes
            or piece.name in self._held
            or any((piece.name, relation) in self._slots for relation in Relation)
        )

    def _floor(self, floor: str) -> list[Part]:
        held, slots = self._held.get(floor, []), self._slot_parts(floor, Relation.ON)
        if not held and not slots:
            return []
        ground = Part(WIDTH, HEIGHT, tuple(icon("floor", INK if slots else SOFT)))
        colour = self._inventory.colours.get(floor, SOFT)
        return [self._cell([self._row(held, slots), ground], [_words("floor", colour)])]

    def _furniture(self, piece: EntityState) -> Part:
        """The icon with what is on it above, and what is in it below."""
        colour = self._inventory.colours.get(piece.name)
        held = self._held.get(piece.name, [])
        inside = [name for name in held if self._frame.spots[name].relation is Relation.WITHIN]
        above = self._row(
            [name for name in held if name not in inside], self._slot_parts(piece.name, Relation.ON)
        )
        dark = beside(self._slot_parts(piece.name, Relation.WITHIN), 3)
        ink = INK if colour or held or dark.width or above.width else _FAINT
        states = self._states(piece)
        body = Part(WIDTH, HEIGHT, (*icon(piece.class_name, ink), *_motifs(states, WIDTH, HEIGHT)))
        middle = ((WIDTH - dark.width) / 2, (HEIGHT - dark.height) / 2)
        words = [
            _words(piece.name, colour or (INK if ink == INK else SOFT), bold=colour is not None),
            *_state_notes(states, is_open=bool(piece.openness)),
            *self._pills.get(piece.name, ()),
        ]
        drawer = [_bordered(self._row(inside, []))] if inside else []
        anchor = Part(0, 0, (), {("entity", piece.name): (WIDTH / 2, 0.0)})
        return self._cell([above, over([body, dark.at(*middle), anchor])], [*drawer, *words])

    def _cell(self, above: Sequence[Part], under: Sequence[Part]) -> Part:
        """A column; the anchor `ground` is where its icon ends, to level a row of them."""
        top, bottom = below(above, 3, centred=True), below(under, 3, centred=True)
        whole = below([top, bottom], 4, centred=True)
        return over([whole, Part(0, 0, (), {("ground",): (0.0, top.height)})])

    def _row(self, names: Iterable[str], slots: Sequence[Part]) -> Part:
        """Things and slots, those that the task is not about last, and not too many of them."""
        names = sorted(names, key=lambda name: name not in self._inventory.colours)
        own = [name for name in names if name in self._inventory.colours]
        others = names[len(own) :]
        shown = [*own, *others[:_MAX_BYSTANDERS]]
        parts = [self._thing(stack) for stack in self._stacks(shown)]
        if len(names) > len(shown):
            parts.append(_words(f"+ {len(names) - len(shown)} more", SOFT))
        lines = rows([*slots, *parts], 3 * _NAME_WIDTH, 6)
        return below([beside(line, 6, bottoms=True) for line in lines], 6, centred=True)

    def _stacks(self, names: Sequence[str]) -> list[list[str]]:
        """Things of which any will do as one stack, where there are many."""
        alike: dict[object, list[str]] = {}
        for name in names:
            roles = self._roles.get(name)
            alike.setdefault((name.rpartition("_")[0], *roles) if roles else name, []).append(name)
        found: list[list[str]] = []
        for group in alike.values():
            found += [group] if len(group) >= _MIN_STACK else [[name] for name in group]
        return found

    def _thing(self, names: Sequence[str]) -> Part:
        """A coloured box with a name and states, and with what is on or in it above."""
        name = names[0]
        entity, spot = self._inventory.entities.get(name), self._frame.spots[name]
        states = {} if entity is None else self._states(entity)
        colour = self._inventory.colours.get(name)
        relation = Relation.ON if (name, Relation.ON) in self._slots else Relation.WITHIN
        slots = self._slot_parts(name, relation)
        loads = self._row(self._held.get(name, ()), slots)
        label = name if len(names) == 1 else f"{name} and {len(names) - 1} more"
        notes = _state_notes(states)
        notes += [_words("once sliced", SOFT)] if spot.slice_of else []
        notes += [_words("moved before", SOFT)] if name in self._frame.unsure else []
        part = below(
            [
                loads,
                _box(names, states, colour, is_there=not spot.slice_of),
                _words(label, colour or SOFT, bold=colour is not None),
                *notes,
                *self._pills.get(name, ()),
            ],
            2,
            centred=True,
        )
        return part if loads.height == 0 else _bordered(part)

    def _states(self, entity: EntityState) -> Mapping[str, bool]:
        """Its states when the frame begins."""
        states = dict(entity.states or {})
        for state, value in self._frame.states.get(entity.name, {}).items():
            states = default_states().changed(states, state, value=value)
        return states

    def _slot_parts(self, target: str, relation: Relation | None) -> list[Part]:
        """Dark boxes where things are to go, one for each proposition."""
        width, height = _SLOT
        return [
            Part(
                width,
                height,
                (Box(0, 0, width, height, _DARK, proposition_colour(index), 2.5, 3),),
                {("slot", str(index), target): (width / 2, 0.0)},
            )
            for index in self._slots.get((target, relation), ())
        ]


def _box(
    names: Sequence[str], states: Mapping[str, bool], colour: Colour | None, *, is_there: bool
) -> Part:
    """A thing's box, or those of a stack; arrows to or from any of its things meet it."""
    width, height = THING_WIDTH, _THING_HEIGHT
    fill, edge, thick = colour or _BYSTANDER, PAPER, 1.0
    if not is_there:
        fill, edge, thick = PAPER, colour or LINE, 1.5
    shapes: list[Shape] = [
        Box(shift, shift, width, height, fill, edge, thick, 3, dashed=not is_there)
        for shift in ((6, 3, 0) if len(names) > 1 else (0,))
    ]
    anchors: dict[Anchor, Point] = {("entity", name): (width / 2, 0.0) for name in names}
    return Part(width, height, (*shapes, *_motifs(states, width, height)), anchors)


def _levelled(cells: Sequence[Part]) -> list[Part]:
    """Cells whose icons end at one height."""
    ground = max((cell.anchors[("ground",)][1] for cell in cells), default=0.0)
    return [cell.at(0.0, ground - cell.anchors[("ground",)][1]) for cell in cells]


def _bordered(part: Part) -> Part:
    """What is in or on something, as a tray."""
    width, height = part.width + 10, part.height + 8
    frame = Box(0, 0, width, height, PAPER, LINE, 1, 4)
    return over([Part(width, height, (frame,)), part.at(5, 4)])


def _words(text: str, colour: Colour, *, bold: bool = False) -> Part:
    """A name or a remark, in several lines if it is long."""
    lines = wrapped(text, _NAME_SIZE, _NAME_WIDTH, bold=bold)
    return _lines(lines, _NAME_SIZE, colour, bold=bold)


def _title(name: str) -> Part:
    return _lines([name], _ROOM_SIZE, INK, bold=True)


def _lines(lines: Sequence[str], size: float, colour: Colour, *, bold: bool) -> Part:
    width = max(text_width(line, size, bold=bold) for line in lines)
    step = line_height(size)
    shapes = [
        Text(width / 2, (k + 0.5) * step, line, size, colour, "middle", bold, halo=True)
        for k, line in enumerate(lines)
    ]
    return Part(width, len(lines) * step, tuple(shapes))


def _pill(text: str, colour: Colour) -> Part:
    """What something is to become."""
    lines = wrapped(text, _NOTE_SIZE, _NAME_WIDTH, bold=True)
    words = _lines(lines, _NOTE_SIZE, colour, bold=True)
    frame = Box(0, 0, words.width + 10, words.height + 4, PAPER, colour, 1.5, 8)
    return over([Part(frame.width, frame.height, (frame,)), words.at(5, 2)])


def _state_notes(states: Mapping[str, bool], *, is_open: bool = False) -> list[Part]:
    """The states that differ from the usual ones."""
    table = default_states()
    words = [
        table.word(state, value=value)
        for state, value in states.items()
        if value is not table.usual(state)
    ]
    words += ["open"] if is_open else []
    found = ", ".join(word for word in words if word)
    return [_words(found, SOFT)] if found else []


def _motifs(states: Mapping[str, bool], width: float, height: float) -> list[Shape]:
    """Stains on what is dirty, a level in what is filled, a glow around what is on."""
    found: list[Shape] = []
    if states.get("powered_on"):
        found.append(Box(-4, -4, width + 8, height + 8, None, "#f2b705", 3, 7))
    if states.get("filled"):
        found.append(Box(0, height * 0.45, width, height * 0.55, "#7cc4f2", radius=3))
    if states.get("clean") is False:
        stains = ((0.22, 0.3, 3.2), (0.62, 0.62, 4.2), (0.82, 0.25, 2.4))
        found += [Oval(width * x, height * y, r, r * 0.8, "#6b4a1e") for x, y, r in stains]
    return found
