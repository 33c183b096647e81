"""The class names of two simulators, VirtualHome and AI2-THOR, in the words of our catalogue.

VirtualHome writes words without spaces (`coffeetable`); most are names or aliases of ours. The
table has the others: a synonym, or our nearest class, which the episode's notes mention.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from planner.episodes.importing.importer import UnplaceableError
from planner.houses.generator import generate_house
from planner.world.catalogue import Catalogue, FurnitureClass, ObjectClass, RoomClass
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import check_house


class WordKind(StrEnum):
    """What a word names."""

    ROOM = "room"
    FURNITURE = "furniture"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class SimulatorWord:
    """Our meaning of a word of VirtualHome; `nearest` if it is not exactly the same."""

    kind: WordKind
    class_name: str
    nearest: bool = False


_SAME = {
    "bananas": "banana", "barsoap": "soap", "bathroomcabinet": "cabinet",
    "bathroomcounter": "counter", "bottlewater": "bottle", "breadslice": "bread_slice",
    "cereal": "cereal_box", "clothespants": "jeans", "clothesshirt": "t_shirt",
    "coffeemaker": "coffee_machine", "cookingpot": "pot", "cutleryfork": "fork",
    "cutleryknife": "knife", "dishbowl": "bowl", "dishwashingliquid": "dish_soap",
    "fryingpan": "pan", "juice": "juice_carton", "milk": "milk_carton", "mouse": "computer_mouse",
    "mousemat": "mouse_pad", "photoframe": "picture_frame", "remotecontrol": "remote_control",
    "slippers": "slipper", "stall": "shower", "tablelamp": "lamp", "toiletpaper": "toilet_roll",
    "towel": "bath_towel", "wallpictureframe": "picture_frame", "washingsponge": "sponge",
    "waterglass": "glass", "wine": "wine_bottle",
}  # fmt: skip
_NEAREST = {
    "alcohol": "wine_bottle", "amplifier": "speaker", "box": "storage_box",
    "candybar": "chocolate_bar", "ceilinglamp": "floor_lamp", "chocolatesyrup": "bottle",
    "closet": "wardrobe", "closetdrawer": "chest_of_drawers", "clothespile": "sweater",
    "coffeepot": "jug", "computer": "laptop", "condimentbottle": "bottle",
    "condimentshaker": "salt_shaker", "cpuscreen": "tv", "crayons": "pencil_case",
    "creamybuns": "bread", "deodorant": "spray_bottle", "faucet": "sink",
    "hairproduct": "shampoo_bottle", "kitchencounterdrawer": "counter", "milkshake": "glass",
    "mincedmeat": "can", "notes": "notebook", "oventray": "tray", "poundcake": "cake",
    "powersocket": "power_strip", "pudding": "yogurt", "salad": "bowl", "stovefan": "oven",
    "sundae": "yogurt", "towelrack": "shelves", "toy": "stuffed_toy", "walllamp": "floor_lamp",
    "wallshelf": "shelves",
}  # fmt: skip
_BIND = re.compile(r"[\s_-]+")


class SimulatorWords:
    """The lookup; builds its index once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._known: dict[str, SimulatorWord] = {}
        self._add(WordKind.OBJECT, catalogue.objects.values())
        self._add(WordKind.FURNITURE, catalogue.furniture.values())
        self._add(WordKind.ROOM, catalogue.rooms.values())
        by_name = {word.class_name: word.kind for word in self._known.values()}
        for table, nearest in ((_SAME, False), (_NEAREST, True)):
            for word, class_name in table.items():
                self._known[word] = SimulatorWord(by_name[class_name], class_name, nearest)

    def _add(
        self, kind: WordKind, classes: Iterable[ObjectClass | FurnitureClass | RoomClass]
    ) -> None:
        for item in classes:
            for word in (item.name, *item.aliases):
                self._known[_BIND.sub("", word.lower())] = SimulatorWord(kind, item.name)

    def find(self, word: str) -> SimulatorWord | None:
        """What a word names; None if our catalogue has nothing like it."""
        return self._known.get(_BIND.sub("", word.lower()))


def room_hint(word: str) -> str | None:
    """The class of room in a furniture word: a `kitchencabinet` is in a kitchen."""
    return next((room for room in ("kitchen", "bathroom") if word.startswith(room)), None)


# AI2-THOR's classes and floor plans.

# Where neither the name nor an alias of ours says it; AI2-THOR's words in lower case.
_THOR_OBJECTS: Mapping[str, str] = {
    "butterknife": "knife", "computer": "laptop", "creditcard": "credit_card",
    "dishsponge": "sponge", "houseplant": "plant_container", "keychain": "keychain",
    "peppershaker": "pepper_mill", "remotecontrol": "remote_control", "saltshaker": "salt_shaker",
    "soapbottle": "soap_dispenser", "tissuebox": "tissue_box",
}  # fmt: skip
_THOR_FURNITURE: Mapping[str, str] = {
    "armchair": "armchair",
    "countertop": "counter",
    "drawer": "chest_of_drawers",
    "sinkbasin": "sink",
    "stoveburner": "oven",
}
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PLAN = re.compile(r"FloorPlan([0-9]{1,3})(?:_physics)?")
# The first number of each kind of room; there are thirty of each.
_THOR_ROOMS: Mapping[int, str] = {1: "kitchen", 201: "living_room", 301: "bedroom", 401: "bathroom"}
_ROOMS_OF_A_KIND = 30


def thor_class(word: str, catalogue: Catalogue) -> ObjectClass | FurnitureClass:
    """What a class of AI2-THOR is here.

    Raises:
        UnplaceableError: if we have nothing like it.
    """
    spaced = _CAPITAL.sub(" ", word)
    thing = _THOR_OBJECTS.get(word.lower()) or catalogue.object_name(spaced)
    if thing is not None:
        return catalogue.objects[thing]
    piece = _THOR_FURNITURE.get(word.lower()) or catalogue.furniture_name(spaced)
    if piece is not None:
        return catalogue.furniture[piece]
    raise UnplaceableError(f"our catalogue has nothing like {word!r}")


def thor_room(floor_plan: str) -> str:
    """The class of room of a floor plan.

    Raises:
        UnplaceableError: if AI2-THOR has no such one.
    """
    match = _PLAN.fullmatch(floor_plan)
    number = int(match[1]) if match else 0
    for first, room in _THOR_ROOMS.items():
        if first <= number < first + _ROOMS_OF_A_KIND:
            return room
    raise UnplaceableError(f"AI2-THOR has no floor plan {floor_plan!r}")


# Houses generated for scenes of other data sets: what they need, and how their names map.

MAX_ROOMS_OF_A_CLASS = 6
MAX_PIECES_OF_A_CLASS = 9
_SEEDS_TRIED = 24
# On which instructions put several things.
_SMALL = ("chair", "stool", "nightstand", "bench")
_EVERY_HOUSE = ("living_room", "kitchen", "bedroom", "bathroom", "hallway")
NUMBERED = re.compile(r"^(?P<stem>.+)_(?P<index>\d{1,3})$")


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
class HouseNeeds:
    """What a scene's house must have; accumulated while its tasks are read."""

    counts: dict[str, int] = field(default_factory=dict)
    pieces: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def room(self, class_name: str, count: int) -> None:
        """Adds so many rooms of a class in all."""
        self.counts[class_name] = max(self.counts.get(class_name, 0), count)

    def require(self, room: str, furniture: str, count: int) -> None:
        """Adds so many pieces of a class in a room in all, as far as a room has them."""
        needed = min(count, MAX_PIECES_OF_A_CLASS)
        self.pieces[room][furniture] = max(self.pieces[room][furniture], needed)

    def rooms_of(self, class_name: str) -> list[str]:
        """The names of its rooms of a class."""
        return [f"{class_name}_{index}" for index in range(self.counts.get(class_name, 0))]


@dataclass(frozen=True, slots=True)
class LocatedNames:
    """The scene's names: region to room, furniture to class and room, or what is wrong."""

    rooms: dict[str, str]
    furniture: dict[str, tuple[str, str]]
    unknown: dict[str, str]


def scene_seed(seed: int, *words: str) -> int:
    """A seed for one part of an import, independent of the other parts.

    It fits a signed 32-bit integer, which every message and file can hold.
    """
    text = "/".join((str(seed), *words))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") >> 1


def name_order(name: str) -> tuple[str, int]:
    """A name as its class and number, for sorting."""
    match = NUMBERED.match(name)
    return (match["stem"], int(match["index"])) if match else (name, 0)


def needs_of(located: LocatedNames) -> HouseNeeds:
    """The scene's rooms and furniture, and the rooms that every house has."""
    needs = HouseNeeds()
    for class_name in _EVERY_HOUSE:
        needs.room(class_name, 1)
    for room in located.rooms.values():
        class_name, index = name_order(room)
        needs.room(class_name, index + 1)
    for (furniture, room), count in Counter(located.furniture.values()).items():
        needs.require(room, furniture, count)
    return needs


def scene_house(
    name: str, seed: int, needs: HouseNeeds, located: LocatedNames, catalogue: Catalogue
) -> SceneHouse:
    """A house with all that is needed, whose pieces have the scene's names.

    Raises:
        PlannerError: if no house with these rooms and pieces was found.
    """
    return _named(_generate(name, seed, needs, catalogue), located)


def _generate(name: str, seed: int, needs: HouseNeeds, catalogue: Catalogue) -> House:
    required = {room: dict(pieces) for room, pieces in needs.pieces.items() if pieces.total()}
    problem: PlannerError | None = None
    for attempt in range(_SEEDS_TRIED):
        try:
            house = generate_house(
                name, seed + attempt, rooms=needs.counts, required=required, objects=0, wide=_SMALL
            )
        except PlannerError as error:
            problem = error
            continue
        findings = check_house(house, catalogue)
        if not findings:
            return house
        problem = PlannerError(str(findings[0]))
    raise PlannerError(f"no house has the rooms and furniture of the scene: {problem}")


def _named(house: House, located: LocatedNames) -> SceneHouse:
    """Gives the scene's names to pieces of the right class in the right room."""
    unknown = dict(located.unknown)
    free: dict[tuple[str, str], list[str]] = defaultdict(list)
    for piece in house.furniture:
        free[piece.class_name, piece.room].append(piece.name)
    new_names: dict[str, str] = {}
    for name in sorted(located.furniture, key=name_order):
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
