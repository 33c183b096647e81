"""The class names of two simulators, VirtualHome and AI2-THOR, in the words of our catalogue.

VirtualHome writes words without spaces (`coffeetable`); most are names or aliases of ours. The
table has the others: a synonym, or our nearest class, which the episode's notes mention.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from planner.episodes.importing.importer import UnplaceableError
from planner.world.catalogue import Catalogue, FurnitureClass, ObjectClass, RoomClass


class WordKind(StrEnum):
    """What a word names."""

    ROOM = "room"
    FURNITURE = "furniture"
    OBJECT = "object"


@dataclass(frozen=True, slots=True)
class VirtualHomeWord:
    """Our meaning of a word of VirtualHome; `nearest` if it is not exactly the same."""

    kind: WordKind
    class_name: str
    nearest: bool = False


_SAME = {
    "bananas": "banana",
    "barsoap": "soap",
    "bathroomcabinet": "cabinet",
    "bathroomcounter": "counter",
    "bottlewater": "bottle",
    "breadslice": "bread_slice",
    "cereal": "cereal_box",
    "clothespants": "jeans",
    "clothesshirt": "t_shirt",
    "coffeemaker": "coffee_machine",
    "cookingpot": "pot",
    "cutleryfork": "fork",
    "cutleryknife": "knife",
    "dishbowl": "bowl",
    "dishwashingliquid": "dish_soap",
    "fryingpan": "pan",
    "juice": "juice_carton",
    "milk": "milk_carton",
    "mouse": "computer_mouse",
    "mousemat": "mouse_pad",
    "photoframe": "picture_frame",
    "remotecontrol": "remote_control",
    "slippers": "slipper",
    "stall": "shower",
    "tablelamp": "lamp",
    "toiletpaper": "toilet_roll",
    "towel": "bath_towel",
    "wallpictureframe": "picture_frame",
    "washingsponge": "sponge",
    "waterglass": "glass",
    "wine": "wine_bottle",
}
_NEAREST = {
    "alcohol": "wine_bottle",
    "amplifier": "speaker",
    "box": "storage_box",
    "candybar": "chocolate_bar",
    "ceilinglamp": "floor_lamp",
    "chocolatesyrup": "bottle",
    "closet": "wardrobe",
    "closetdrawer": "chest_of_drawers",
    "clothespile": "sweater",
    "coffeepot": "jug",
    "computer": "laptop",
    "condimentbottle": "bottle",
    "condimentshaker": "salt_shaker",
    "cpuscreen": "tv",
    "crayons": "pencil_case",
    "creamybuns": "bread",
    "deodorant": "spray_bottle",
    "faucet": "sink",
    "hairproduct": "shampoo_bottle",
    "kitchencounterdrawer": "counter",
    "milkshake": "glass",
    "mincedmeat": "can",
    "notes": "notebook",
    "oventray": "tray",
    "poundcake": "cake",
    "powersocket": "power_strip",
    "pudding": "yogurt",
    "salad": "bowl",
    "stovefan": "oven",
    "sundae": "yogurt",
    "towelrack": "shelves",
    "toy": "stuffed_toy",
    "walllamp": "floor_lamp",
    "wallshelf": "shelves",
}
_BIND = re.compile(r"[\s_-]+")


class VirtualHomeWords:
    """The lookup; builds its index once."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._known: dict[str, VirtualHomeWord] = {}
        self._add(WordKind.OBJECT, catalogue.objects.values())
        self._add(WordKind.FURNITURE, catalogue.furniture.values())
        self._add(WordKind.ROOM, catalogue.rooms.values())
        by_name = {word.class_name: word.kind for word in self._known.values()}
        for table, nearest in ((_SAME, False), (_NEAREST, True)):
            for word, class_name in table.items():
                self._known[word] = VirtualHomeWord(by_name[class_name], class_name, nearest)

    def _add(
        self, kind: WordKind, classes: Iterable[ObjectClass | FurnitureClass | RoomClass]
    ) -> None:
        for item in classes:
            for word in (item.name, *item.aliases):
                self._known[_BIND.sub("", word.lower())] = VirtualHomeWord(kind, item.name)

    def find(self, word: str) -> VirtualHomeWord | None:
        """What a word names; None if our catalogue has nothing like it."""
        return self._known.get(_BIND.sub("", word.lower()))


def room_hint(word: str) -> str | None:
    """The class of room in a furniture word: a `kitchencabinet` is in a kitchen."""
    return next((room for room in ("kitchen", "bathroom") if word.startswith(room)), None)


# AI2-THOR's classes and floor plans.

# Where neither the name nor an alias of ours says it; AI2-THOR's words in lower case.
_THOR_OBJECTS: Mapping[str, str] = {
    "butterknife": "knife",
    "computer": "laptop",
    "creditcard": "credit_card",
    "dishsponge": "sponge",
    "houseplant": "plant_container",
    "keychain": "keychain",
    "peppershaker": "pepper_mill",
    "remotecontrol": "remote_control",
    "saltshaker": "salt_shaker",
    "soapbottle": "soap_dispenser",
    "tissuebox": "tissue_box",
}
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
