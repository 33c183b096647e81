"""AI2-THOR's classes and floor plans in terms of our catalogue."""

from __future__ import annotations

import re
from collections.abc import Mapping

from planner.episodes.partnr.placement import UnplaceableError
from planner.world.catalogue import Catalogue, FurnitureClass, ObjectClass

# Where neither the name nor an alias of ours says it; AI2-THOR's words in lower case.
_OBJECTS: Mapping[str, str] = {
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
_FURNITURE: Mapping[str, str] = {
    "armchair": "armchair",
    "countertop": "counter",
    "drawer": "chest_of_drawers",
    "sinkbasin": "sink",
    "stoveburner": "oven",
}
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PLAN = re.compile(r"FloorPlan([0-9]{1,3})(?:_physics)?")
# The first number of each kind of room; there are thirty of each.
_ROOMS: Mapping[int, str] = {1: "kitchen", 201: "living_room", 301: "bedroom", 401: "bathroom"}
_ROOMS_OF_A_KIND = 30


def meaning_of(word: str, catalogue: Catalogue) -> ObjectClass | FurnitureClass:
    """What a class of AI2-THOR is here.

    Raises:
        UnplaceableError: if we have nothing like it.
    """
    spaced = _CAPITAL.sub(" ", word)
    thing = _OBJECTS.get(word.lower()) or catalogue.object_name(spaced)
    if thing is not None:
        return catalogue.objects[thing]
    piece = _FURNITURE.get(word.lower()) or catalogue.furniture_name(spaced)
    if piece is not None:
        return catalogue.furniture[piece]
    raise UnplaceableError(f"our catalogue has nothing like {word!r}")


def room_of(floor_plan: str) -> str:
    """The class of room of a floor plan.

    Raises:
        UnplaceableError: if AI2-THOR has no such one.
    """
    match = _PLAN.fullmatch(floor_plan)
    number = int(match[1]) if match else 0
    for first, room in _ROOMS.items():
        if first <= number < first + _ROOMS_OF_A_KIND:
            return room
    raise UnplaceableError(f"AI2-THOR has no floor plan {floor_plan!r}")
