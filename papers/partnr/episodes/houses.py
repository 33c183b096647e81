"""One generated house per PARTNR scene: what its entries need, and how its names map.

The instruction files name furniture (`chest_of_drawers_4`) and regions of scenes that we cannot
ship. A scene's house has every room and piece that any of its entries starts from, and what their
wording requires: "another living room table" needs one more than those in use. The pieces of the
house then get the scene's names, so that an entry can be read as it is.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Sequence

from papers.partnr.episodes.instruction_file import Entry
from planner.episodes.importing.scene_house import (
    MAX_ROOMS_OF_A_CLASS,
    NUMBERED,
    HouseNeeds,
    LocatedNames,
    SceneHouse,
    name_order,
    needs_of,
    scene_house,
    scene_seed,
)
from planner.episodes.wording import PLURAL_ONLY, Item, Lexicon, Noun, NounKind, Word
from planner.world.catalogue import Catalogue

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


SENTENCE_ENDS = frozenset(".?!;")
OTHER_WORDS = frozenset({"another", "other", "new", "different"})


def build_scene_house(
    scene_id: str, entries: Sequence[Entry], seed: int, catalogue: Catalogue, lexicon: Lexicon
) -> SceneHouse:
    """The house in which all entries of a scene can be run.

    Raises:
        PlannerError: if no house with these rooms and pieces was found.
    """
    located = _locate(entries, catalogue)
    needs = needs_of(located)
    for entry in entries:
        _add_needs_of_states(needs, entry, located, catalogue)
        _add_needs_of_words(needs, entry, located, lexicon)
    name = f"partnr-{scene_id}"
    return scene_house(name, scene_seed(seed, scene_id), needs, located, catalogue)


# Initial states.


def _locate(entries: Sequence[Entry], catalogue: Catalogue) -> LocatedNames:
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
            named = [region for region in states.regions if NUMBERED.match(region)]
            for region in named:
                _locate_region(region, rooms, unknown, catalogue)
            homes = sorted({rooms[region] for region in named if region in rooms})
            for name in states.names:
                maybe[name].update(homes)
                votes[name].update(homes if len(states.regions) == 1 else ())
    furniture: dict[str, tuple[str, str]] = {}
    # Furniture with a stated room first; the others fill the emptiest rooms.
    for name in sorted(maybe, key=lambda word: (not votes[word], name_order(word))):
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
    return LocatedNames(rooms, furniture, unknown)


def _locate_region(
    region: str, rooms: dict[str, str], unknown: dict[str, str], catalogue: Catalogue
) -> None:
    match = NUMBERED.match(region)
    class_name = catalogue.room_name(match["stem"]) if match else None
    if match is None or class_name is None:
        unknown[region] = f"region {region!r} has no known class"
    elif int(match["index"]) >= MAX_ROOMS_OF_A_CLASS:
        unknown[region] = f"region {region!r}: a house has at most {MAX_ROOMS_OF_A_CLASS} of these"
    else:
        rooms[region] = f"{class_name}_{int(match['index'])}"


def _class_of(name: str, catalogue: Catalogue) -> str | None:
    match = NUMBERED.match(name)
    return catalogue.furniture_name(match["stem"]) if match else None


def _add_needs_of_states(
    needs: HouseNeeds, entry: Entry, located: LocatedNames, catalogue: Catalogue
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


def _add_needs_of_words(
    needs: HouseNeeds, entry: Entry, located: LocatedNames, lexicon: Lexicon
) -> None:
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


def _used_at_start(entry: Entry, located: LocatedNames) -> Counter[tuple[str, str]]:
    """How many pieces of each class in each room the entry's objects start from."""
    names = {name for record in entry.things for name in record.furniture_names}
    return Counter(located.furniture[name] for name in names if name in located.furniture)


def _add_piece(
    needs: HouseNeeds,
    room_class: str,
    furniture: str,
    used: Counter[tuple[str, str]],
    *,
    other: bool,
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


def _max_needed(needs: HouseNeeds, room_class: str, furniture: str) -> str:
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
