"""Draws things, furniture with its icons, and rooms, with what they have to become."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from planner.episodes.drawing.frames import ANY_FLOOR, Frame
from planner.episodes.drawing.shapes import (
    INK,
    LINE,
    PAPER,
    SOFT,
    Anchor,
    Box,
    Colour,
    Oval,
    Part,
    Path,
    Point,
    Shape,
    Text,
    below,
    beside,
    line_height,
    over,
    proposition_colour,
    rows,
    text_width,
    wrapped,
)
from planner.episodes.importing.simulator_words import SimulatorWords
from planner.evaluation.task import Evaluation, asked_word
from planner.world.catalogue import default_catalogue
from planner.world.state import EntityState
from planner.world.states import default_states
from planner.world.vocabulary import Relation, floor_name

# Icons of furniture, 64 by 48 pixels, that can be told apart at a glance (PARTNR-4.6).

WIDTH, HEIGHT = 64.0, 48.0

# Strokes: `R x y width height` a rectangle, `O x y radius_x radius_y` an ellipse, `L x y x y ...`
# connected lines; later ones cover earlier ones.
_STROKES: Mapping[str, str] = {
    "armchair": (
        "R 16 6 32 24; R 10 20 8 22; R 46 20 8 22; R 18 28 28 14; L 14 42 14 48; L 50 42 50 48"
    ),
    "bathtub": (
        "L 4 20 8 42 56 42 60 20 4 20; L 12 42 10 48; L 52 42 54 48; L 52 20 52 8 44 8 44 12"
    ),
    "bed": "R 4 8 5 40; R 9 28 48 12; R 11 20 16 8; R 57 22 4 26; L 9 46 57 46",
    "bench": "R 4 24 56 6; L 10 30 10 48; L 54 30 54 48; L 10 40 54 40",
    "cabinet": "R 12 2 40 46; L 32 2 32 48; L 28 22 28 28; L 36 22 36 28",
    "chair": "L 20 4 20 48; L 20 8 26 8; L 20 16 26 16; R 18 26 26 5; L 42 31 42 48",
    "chest_of_drawers": (
        "R 8 8 48 38; L 8 20 56 20; L 8 33 56 33; L 28 14 36 14; L 28 26 36 26; L 28 39 36 39"
    ),
    "couch": (
        "R 8 10 48 22; R 3 20 8 22; R 53 20 8 22; R 11 28 21 14; R 32 28 21 14; "
        "L 8 42 8 48; L 56 42 56 48"
    ),
    "counter": (
        "R 2 14 60 6; R 6 20 52 28; L 24 20 24 48; L 42 20 42 48; L 10 24 18 24; "
        "L 28 24 36 24; L 46 24 54 24"
    ),
    "curtains": (
        "L 2 4 62 4; L 8 4 8 46 14 42 20 46 26 40 26 4; L 14 4 14 42; "
        "L 38 4 38 40 44 46 50 42 56 46 56 4; L 50 4 50 42"
    ),
    "desk": "R 3 16 58 5; R 40 21 18 27; L 40 30 58 30; L 40 39 58 39; L 7 21 7 48",
    "dishwasher": (
        "R 14 4 36 44; L 14 13 50 13; O 20 9 2 2; L 28 9 44 9; L 22 20 42 20; "
        "O 32 33 9 9; O 32 33 4 4"
    ),
    "filing_cabinet": "R 17 2 30 46; L 17 25 47 25; R 26 8 12 6; R 26 31 12 6",
    "floor_lamp": "L 24 4 40 4 46 18 18 18 24 4; L 32 18 32 46; L 22 47 42 47",
    "fridge": "R 17 0 30 48; L 17 18 47 18; L 22 8 22 14; L 22 22 22 34",
    "hamper": (
        "L 14 10 18 48 46 48 50 10 14 10; L 16 22 48 22; L 17 34 47 34; L 26 10 28 48; "
        "L 38 10 36 48"
    ),
    "light_switch": "R 20 6 24 36; R 27 15 10 18; L 27 24 37 24",
    "microwave": "R 6 12 52 32; R 11 17 32 22; L 48 18 53 18; L 48 24 53 24; O 50 34 3 3",
    "nightstand": (
        "R 16 16 32 24; L 16 28 48 28; O 32 22 1.5 1.5; O 32 34 1.5 1.5; L 19 40 19 48; "
        "L 45 40 45 48"
    ),
    "oven": (
        "R 12 4 40 44; L 12 14 52 14; O 19 9 2 2; O 28 9 2 2; O 37 9 2 2; O 46 9 2 2; "
        "R 18 22 28 18; L 20 18 44 18"
    ),
    "shelves": "R 12 0 40 48; L 12 12 52 12; L 12 24 52 24; L 12 36 52 36",
    "shoe_rack": (
        "L 6 14 6 48; L 58 14 58 48; L 6 22 58 22; L 6 38 58 38; "
        "L 14 22 14 17 24 20 24 22; L 36 38 36 33 46 36 46 38"
    ),
    "shower": (
        "L 10 48 54 48; L 14 48 14 2 38 2 38 8; L 30 12 34 8 42 8 46 12 30 12; "
        "L 32 18 30 26; L 38 18 38 28; L 44 18 46 26"
    ),
    "sink": (
        "L 8 24 56 24 50 38 14 38 8 24; L 32 38 32 48; L 32 24 32 10 42 10 42 15; L 24 14 28 14"
    ),
    "stool": "O 32 18 16 5; L 22 22 16 48; L 42 22 48 48; L 19 36 45 36",
    "stove_knob": "O 32 24 16 16; L 32 24 32 10",
    "table": "R 2 14 60 6; L 8 20 8 48; L 56 20 56 48",
    "toilet": "R 10 4 14 26; O 38 26 16 6; L 24 28 30 40 30 48 46 48 46 40 53 28",
    "toy_box": "R 10 20 44 28; L 8 20 12 8 56 8 54 20; O 32 34 6 6; L 32 28 32 40",
    "trash_can": (
        "L 18 14 22 48 42 48 46 14 18 14; L 14 14 50 14; L 28 14 28 9 36 9 36 14; "
        "L 28 20 29 42; L 36 20 35 42"
    ),
    "tv": "R 4 6 56 34; R 8 10 48 26; L 32 40 32 46; L 20 47 44 47",
    "tv_stand": "R 4 24 56 16; L 23 24 23 40; L 41 24 41 40; L 8 40 8 48; L 56 40 56 48",
    "wardrobe": (
        "R 12 0 40 44; L 32 0 32 44; L 29 20 29 26; L 35 20 35 26; L 16 44 16 48; "
        "L 48 44 48 48; L 12 8 52 8"
    ),
    "washer_dryer": (
        "R 12 4 40 44; L 12 13 52 13; O 32 30 12 12; O 32 30 8 8; O 18 8.5 2 2; L 38 8.5 48 8.5"
    ),
    "floor": "L 2 40 62 40; L 10 40 4 47; L 26 40 20 47; L 42 40 36 47; L 58 40 52 47",
}
# For classes without an icon of their own, whose name is written below in any case.
_OTHER = "R 6 6 52 42; L 6 6 58 48; L 58 6 6 48"


def icon(class_name: str, ink: Colour) -> list[Shape]:
    """The icon of a class of furniture (or `floor`), its top left corner at (0, 0)."""
    return [_stroke(word, numbers, ink) for word, numbers in _parsed(class_name)]


def has_icon(class_name: str) -> bool:
    """Whether a class has an icon of its own."""
    return class_name in _STROKES


@lru_cache(maxsize=128)
def _parsed(class_name: str) -> tuple[tuple[str, tuple[float, ...]], ...]:
    drawn = _STROKES.get(class_name)
    if drawn is None:
        # Graphs have furniture by VirtualHome's words.
        known = _words().find(class_name)
        drawn = _OTHER if known is None else _STROKES.get(known.class_name, _OTHER)
    strokes = (stroke.split() for stroke in drawn.split(";"))
    return tuple((word, tuple(map(float, numbers))) for word, *numbers in strokes)


@lru_cache(maxsize=1)
def _words() -> SimulatorWords:
    return SimulatorWords(default_catalogue())


def _stroke(word: str, numbers: tuple[float, ...], ink: Colour) -> Shape:
    if word == "R":
        x, y, width, height = numbers
        return Box(x, y, width, height, PAPER, ink, 1.6, radius=2)
    if word == "O":
        x, y, radius_x, radius_y = numbers
        return Oval(x, y, radius_x, radius_y, PAPER, ink, 1.6)
    points = tuple(zip(numbers[::2], numbers[1::2], strict=True))
    return Path(points, stroke=ink, width=1.6)


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
        more = [_labels(f"and {hidden} more pieces of furniture", SOFT)] if hidden else []
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
        return [
            below([beside(slots, 4), ground, _labels("any room's floor", INK)], 2, centred=True)
        ]

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
        return [self._cell([self._row(held, slots), ground], [_labels("floor", colour)])]

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
            _labels(piece.name, colour or (INK if ink == INK else SOFT), bold=colour is not None),
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
            parts.append(_labels(f"+ {len(names) - len(shown)} more", SOFT))
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
        notes += [_labels("once sliced", SOFT)] if spot.slice_of else []
        notes += [_labels("moved before", SOFT)] if name in self._frame.unsure else []
        part = below(
            [
                loads,
                _box(names, states, colour, is_there=not spot.slice_of),
                _labels(label, colour or SOFT, bold=colour is not None),
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


def _labels(text: str, colour: Colour, *, bold: bool = False) -> Part:
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
    return [_labels(found, SOFT)] if found else []


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
