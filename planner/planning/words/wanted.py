"""What to look for so that more of a goal can be bound, in names that the search understands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.grounding.records import Grounding, Missing, OpenEnded
from planner.planning.expert.sought import Sought
from planner.planning.expert.usual_places import usual_furniture_of
from planner.world.belief import Belief
from planner.world.catalogue import default_catalogue
from planner.world.house import House
from planner.world.vocabulary import floor_name

ANY_CLASS = "thing"


class WantedNames:
    """Names `CLASS_?NUMBER` for descriptions that too few known things fit."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, sought: Missing | OpenEnded) -> tuple[str, ...]:
        """The names of one description, always the same ones; furniture is known already."""
        number = self._numbers.setdefault(sought.key, len(self._numbers))
        furniture = default_catalogue().furniture
        classes = (name for name in sought.classes or (ANY_CLASS,) if name not in furniture)
        return tuple(f"{name}_?{number}" for name in classes)

    def sought(self, grounding: Grounding, belief: Belief, layout: House) -> Mapping[str, Sought]:
        """Every name with its description, and the furniture and floors to look at.

        For "all cups" these are all rooms, and where cups and the like are usually kept: to open
        everything takes ten minutes in a large house.
        """
        found: dict[str, Sought] = {}
        for sought in grounding.sought:
            places = _places(sought.where, belief, layout)
            is_open = isinstance(sought, OpenEnded)
            if is_open and not places:
                places = _usual(sought.classes, layout)
            wanted = Sought(sought.words, places, by_one=is_open)
            found |= dict.fromkeys(self.of(sought), wanted)
        return found


def _usual(classes: Iterable[str], layout: House) -> frozenset[str]:
    usual = usual_furniture_of(tuple(classes))
    pieces = {piece.name for piece in layout.furniture if piece.class_name in usual}
    return frozenset(pieces | {floor_name(room.name) for room in layout.rooms})


def _places(where: tuple[str, ...], belief: Belief, layout: House) -> frozenset[str]:
    found: set[str] = set()
    for name in where:
        if name in layout.rooms_by_name:
            found |= {piece.name for piece in layout.furniture if piece.room == name}
            found.add(floor_name(name))
        elif name in layout.furniture_by_name:
            found.add(name)
        elif (node := belief.nodes.get(name)) is not None:
            found.add(belief.base_of(node).parent or name)
    return frozenset(found)
