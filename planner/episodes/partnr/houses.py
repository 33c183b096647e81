"""One generated house per PARTNR scene: what its entries need, and how its names map.

The instruction files name furniture (`chest_of_drawers_4`) and regions of scenes that we cannot
ship. A scene's house has every room and piece that any of its entries starts from, and what their
wording requires: "another living room table" needs one more than those in use. The pieces of the
house then get the scene's names, so that an entry can be read as it is.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from planner.episodes.partnr.instruction_file import Entry
from planner.episodes.wording import PLURAL_ONLY, Item, Lexicon, Noun, NounKind, Word
from planner.houses.generator import generate_house
from planner.world.catalogue import Catalogue
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import check_house

MAX_ROOMS_OF_A_CLASS = 6
MAX_PIECES_OF_A_CLASS = 9
_SEEDS_TRIED = 24
# On which instructions put several things.
_SMALL = ("chair", "stool", "nightstand", "bench")

# Where to put furniture that an instruction names without a room.
_USUAL_ROOM = {
    "bed": "bedroom",
    "nightstand": "bedroom",
    "wardrobe": "bedroom",
    "chest_of_drawers": "bedroom",
    "fridge": "kitchen",
    "oven": "kitchen",
    "counter": "kitchen",
    "cabinet": "kitchen",
    "sink": "kitchen",
    "dishwasher": "kitchen",
    "microwave": "kitchen",
    "toilet": "bathroom",
    "bathtub": "bathroom",
    "shower": "bathroom",
    "washer_dryer": "laundry_room",
}
# These are not moved to another room because of a sentence's context alone.
_BOUND_TO_ROOM = frozenset(_USUAL_ROOM) - {"chest_of_drawers", "counter", "cabinet"}
_EVERY_HOUSE = ("living_room", "kitchen", "bedroom", "bathroom", "hallway")
_NAME = re.compile(r"^(?P<stem>.+)_(?P<index>\d{1,3})$")


SENTENCE_ENDS = frozenset(".?!;")
OTHER_WORDS = frozenset({"another", "other", "new", "different"})


@dataclass(frozen=True, slots=True)
class SceneHouse:
    """A scene's house and the mapping of its names.

    Attributes:
        house: the house; its pieces have the scene's names if the scene has them.
        rooms: region of the scene to room of the house.
        furniture: furniture of the scene to furniture of the house.
        unknown: names of the scene without a counterpart, with the reason.
    """

    house: House
    rooms: dict[str, str]
    furniture: dict[str, str]
    unknown: dict[str, str]


@dataclass
class _Needs:
    """What a scene's house must have; accumulated while its entries are read."""

    counts: dict[str, int] = field(default_factory=dict)
    pieces: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def room(self, class_name: str, count: int) -> None:
        self.counts[class_name] = max(self.counts.get(class_name, 0), count)

    def require(self, room: str, furniture: str, count: int) -> None:
        needed = min(count, MAX_PIECES_OF_A_CLASS)
        self.pieces[room][furniture] = max(self.pieces[room][furniture], needed)

    def rooms_of(self, class_name: str) -> list[str]:
        return [f"{class_name}_{index}" for index in range(self.counts.get(class_name, 0))]


@dataclass(frozen=True, slots=True)
class _Located:
    """The scene's names: region to room, furniture to class and room, or what is wrong."""

    rooms: dict[str, str]
    furniture: dict[str, tuple[str, str]]
    unknown: dict[str, str]


def build_scene_house(
    scene_id: str, entries: Sequence[Entry], seed: int, catalogue: Catalogue, lexicon: Lexicon
) -> SceneHouse:
    """The house in which all entries of a scene can be run.

    Raises:
        PlannerError: if no house with these rooms and pieces was found.
    """
    located = _locate(entries, catalogue)
    needs = _needs_of_start(located)
    for entry in entries:
        _add_needs_of_states(needs, entry, located, catalogue)
        _add_needs_of_words(needs, entry, located, lexicon)
    name = f"partnr-{scene_id}"
    house = _generate(name, scene_seed(seed, scene_id), needs, catalogue)
    return _named(house, located)


def house_with(
    name: str,
    seed: int,
    rooms: Mapping[str, str],
    furniture: Mapping[str, tuple[str, str]],
    catalogue: Catalogue,
) -> SceneHouse:
    """A house that has the rooms and furniture of another one.

    Args:
        name: the house's.
        seed: determines it.
        rooms: the other's name of a room to ours, `<class>_<n>`.
        furniture: the other's name, which the piece keeps, to its class and our room.
        catalogue: of the classes.

    Raises:
        PlannerError: if no house with these rooms and pieces was found.
    """
    located = _Located(dict(rooms), dict(furniture), {})
    return _named(_generate(name, seed, _needs_of_start(located), catalogue), located)


def scene_seed(seed: int, *words: str) -> int:
    """A seed for one part of an import, independent of the other parts.

    It fits a signed 32-bit integer, which every message and file can hold.
    """
    text = "/".join((str(seed), *words))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


# Initial states.


def _locate(entries: Sequence[Entry], catalogue: Catalogue) -> _Located:
    """Finds each region's room and each furniture's class and room, by co-occurrence."""
    unknown: dict[str, str] = {}
    rooms: dict[str, str] = {}
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    maybe: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        for record in entry.things:
            for region in record.regions:
                _locate_region(region, rooms, unknown, catalogue)
            homes = sorted({rooms[region] for region in record.regions if region in rooms})
            for name in record.furniture_names:
                if name != "floor":
                    maybe[name].update(homes)
                    votes[name].update(homes if len(record.regions) == 1 else ())
        for states in entry.furniture:
            named = [region for region in states.regions if _NAME.match(region)]
            for region in named:
                _locate_region(region, rooms, unknown, catalogue)
            homes = sorted({rooms[region] for region in named if region in rooms})
            for name in states.names:
                maybe[name].update(homes)
                votes[name].update(homes if len(states.regions) == 1 else ())
    furniture: dict[str, tuple[str, str]] = {}
    # Furniture with a stated room first; the others fill the emptiest rooms.
    for name in sorted(maybe, key=lambda word: (not votes[word], _order(word))):
        class_name = _class_of(name, catalogue)
        if class_name is None:
            unknown[name] = f"furniture {name!r} has no known class"
        elif votes[name]:
            max_count = max(votes[name].values())
            home = min(room for room, count in votes[name].items() if count == max_count)
            furniture[name] = (class_name, home)
        elif maybe[name]:
            load = Counter(room for _, room in furniture.values())
            home = min(maybe[name], key=lambda room: (load[room], room))
            furniture[name] = (class_name, home)
        else:
            unknown[name] = f"no entry of its scene says which room furniture {name!r} is in"
    return _Located(rooms, furniture, unknown)


def _locate_region(
    region: str, rooms: dict[str, str], unknown: dict[str, str], catalogue: Catalogue
) -> None:
    match = _NAME.match(region)
    class_name = catalogue.room_name(match["stem"]) if match else None
    if match is None or class_name is None:
        unknown[region] = f"region {region!r} has no known class"
    elif int(match["index"]) >= MAX_ROOMS_OF_A_CLASS:
        unknown[region] = f"region {region!r}: a house has at most {MAX_ROOMS_OF_A_CLASS} of these"
    else:
        rooms[region] = f"{class_name}_{int(match['index'])}"


def _class_of(name: str, catalogue: Catalogue) -> str | None:
    match = _NAME.match(name)
    return catalogue.furniture_name(match["stem"]) if match else None


def _order(name: str) -> tuple[str, int]:
    match = _NAME.match(name)
    return (match["stem"], int(match["index"])) if match else (name, 0)


def _needs_of_start(located: _Located) -> _Needs:
    needs = _Needs()
    for class_name in _EVERY_HOUSE:
        needs.room(class_name, 1)
    for room in located.rooms.values():
        class_name, index = _order(room)
        needs.room(class_name, index + 1)
    for (furniture, room), count in Counter(located.furniture.values()).items():
        needs.require(room, furniture, count)
    return needs


def _add_needs_of_states(
    needs: _Needs, entry: Entry, located: _Located, catalogue: Catalogue
) -> None:
    """Adds a piece, or as many as required, of furniture with an initial state in a room."""
    for record in entry.furniture:
        count = record.number[0] if record.number is not None else 1
        rooms = [located.rooms[region] for region in record.regions if region in located.rooms]
        classes = [catalogue.furniture_name(word) for word in record.classes]
        for room, class_name in itertools.product(rooms, classes):
            if class_name is not None:
                needs.require(room, class_name, count)


# Wording.


def _add_needs_of_words(needs: _Needs, entry: Entry, located: _Located, lexicon: Lexicon) -> None:
    """Adds the rooms and furniture that an instruction mentions."""
    items = lexicon.items(entry.instruction)
    used = _used_at_start(entry, located)
    for at, item in enumerate(items):
        if isinstance(item, Noun) and item.kind is NounKind.ROOM:
            for class_name in item.classes:
                needs.room(class_name, 2 if _other_room(items, at) else 1)
    for at, item in enumerate(items):
        if isinstance(item, Noun) and item.kind is NounKind.FURNITURE:
            furniture = sorted(item.classes)[0]
            room_class = _room_meant(items, at, furniture)
            needs.room(room_class, 1)
            _add_piece(needs, room_class, furniture, used, other=_says_other(items, at))
            if item.plural and item.text not in PLURAL_ONLY:
                needs.require(_max_needed(needs, room_class, furniture), furniture, 2)


def _used_at_start(entry: Entry, located: _Located) -> Counter[tuple[str, str]]:
    """How many pieces of each class in each room the entry's objects start from."""
    names = {name for record in entry.things for name in record.furniture_names}
    return Counter(located.furniture[name] for name in names if name in located.furniture)


def _add_piece(
    needs: _Needs, room_class: str, furniture: str, used: Counter[tuple[str, str]], *, other: bool
) -> None:
    rooms = needs.rooms_of(room_class)
    taken = [room for room in rooms if used[furniture, room]]
    if furniture not in _BOUND_TO_ROOM or other:
        for room in taken:
            # One more than those in use, so that there is something to move to.
            needs.require(room, furniture, used[furniture, room] + 1)
    if not taken and not any(needs.pieces[room][furniture] for room in rooms):
        # "Another" room of the class, hence the last one.
        needs.require(rooms[-1 if other else 0], furniture, 1)


def _max_needed(needs: _Needs, room_class: str, furniture: str) -> str:
    """The room of a class that already has most pieces of a furniture class; first of equals."""
    return max(needs.rooms_of(room_class), key=lambda room: needs.pieces[room][furniture])


def _says_other(items: Sequence[Item], at: int) -> bool:
    before = items[max(0, at - 2) : at]
    return any(isinstance(item, Word) and item.text in OTHER_WORDS for item in before)


def _other_room(items: Sequence[Item], at: int) -> bool:
    """Whether "another" refers to the room: not in "another bedroom chair"."""
    after = items[at + 1] if at + 1 < len(items) else None
    of_furniture = isinstance(after, Noun) and after.kind is NounKind.FURNITURE
    return _says_other(items, at) and not of_furniture


def _room_meant(items: Sequence[Item], at: int, furniture: str) -> str:
    """The room class that a furniture word belongs to: stated, implied, or from context."""
    before, after = items[:at], items[at + 1 :]
    if before and isinstance(before[-1], Noun) and before[-1].kind is NounKind.ROOM:
        return _only(before[-1])
    if after and isinstance(after[0], Word) and after[0].text == "in":
        for item in after[1:4]:
            if isinstance(item, Noun):
                if item.kind is NounKind.ROOM:
                    return _only(item)
                break
            if item.text in SENTENCE_ENDS:
                break
    noun = items[at]
    if isinstance(noun, Noun) and noun.room_hint is not None:
        return noun.room_hint
    context = [i for i in before if isinstance(i, Noun) and i.kind is NounKind.ROOM]
    if context and furniture not in _BOUND_TO_ROOM:
        return _only(context[-1])
    return _USUAL_ROOM.get(furniture, "living_room")


def _only(noun: Noun) -> str:
    return sorted(noun.classes)[0]


# House.


def _generate(name: str, seed: int, needs: _Needs, catalogue: Catalogue) -> House:
    required = {room: dict(pieces) for room, pieces in needs.pieces.items() if pieces.total()}
    problem: PlannerError | None = None
    for attempt in range(_SEEDS_TRIED):
        try:
            house = generate_house(
                name,
                seed + attempt,
                rooms=needs.counts,
                required=required,
                objects=0,
                wide=_SMALL,
            )
        except PlannerError as error:
            problem = error
            continue
        findings = check_house(house, catalogue)
        if not findings:
            return house
        problem = PlannerError(str(findings[0]))
    raise PlannerError(f"no house has the rooms and furniture of the scene: {problem}")


def _named(house: House, located: _Located) -> SceneHouse:
    """Gives the scene's names to pieces of the right class in the right room."""
    unknown = dict(located.unknown)
    free: dict[tuple[str, str], list[str]] = defaultdict(list)
    for piece in house.furniture:
        free[piece.class_name, piece.room].append(piece.name)
    new_names: dict[str, str] = {}
    for name in sorted(located.furniture, key=_order):
        spot = located.furniture[name]
        if free[spot]:
            new_names[free[spot].pop(0)] = name
        else:
            unknown[name] = f"the house has too few {spot[0]} in {spot[1]} for {name!r}"
    taken = set(new_names.values()) | {room.name for room in house.rooms}
    for piece in house.furniture:
        if piece.name not in new_names:
            new_names[piece.name] = _next_name(piece.class_name, taken)
            taken.add(new_names[piece.name])
    furniture = tuple(
        piece.model_copy(update={"name": new_names[piece.name]}) for piece in house.furniture
    )
    document = house.model_copy(update={"furniture": furniture}).model_dump()
    rooms = {region: room for region, room in located.rooms.items() if region not in unknown}
    known = {name: name for name in located.furniture if name not in unknown}
    return SceneHouse(House.model_validate(document), rooms, known, unknown)


def _next_name(class_name: str, taken: Iterable[str]) -> str:
    index = 0
    while f"{class_name}_{index}" in set(taken):
        index += 1
    return f"{class_name}_{index}"
