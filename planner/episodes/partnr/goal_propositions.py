"""The propositions of an evaluation while it is checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planner.grounding.kinds import is_room_kind
from planner.grounding.scene import Scene
from planner.language.description import Description
from planner.language.goal_form import Move, Request
from planner.world.vocabulary import EntityKind

PLACES = {"is_on_top": "receptacles", "is_inside": "receptacles", "is_in_room": "rooms"}
PLACING = frozenset({*PLACES, "is_on_floor"})
NEAR = frozenset({"is_next_to", "is_clustered"})
_MOVED = frozenset({
    "move", "moving", "bring", "bringing", "take", "taking", "carry", "carrying", "return",
    "returning", "relocate", "transfer", "get", "fetch", "shift",
})  # fmt: skip
_AT_REST = frozenset({
    "put", "putting", "place", "placing", "set", "setting", "arrange", "arranging", "should",
    "keep",
})  # fmt: skip


class UnclearError(Exception):
    """Words without exactly one meaning in the scene; the message says which and why."""


@dataclass(frozen=True)
class Proposition:
    """One proposition; `step` is None without an order, `second` the names at the place."""

    index: int
    function: str
    request: int
    step: int | None
    names: tuple[str, ...]
    second: tuple[str, ...] = ()

    @property
    def placing(self) -> bool:
        """Whether it says where things are."""
        return self.function in PLACING


def is_definite(request: Request) -> bool:
    """Whether a place is one in particular: "the table", or any room."""
    anchors = [place.anchor for place in request.to] if isinstance(request, Move) else []
    return any(
        not isinstance(anchor, Description) or anchor.definite or is_room_kind(anchor.kind)
        for anchor in anchors
    )


def is_placed(words: Sequence[str], request: Request) -> bool:
    """Whether each thing is told where to be, not moved there: what is there already may stay.

    "Move the cup to the table" means a table where it is not yet; "place the cup on the table" is
    satisfied by any, as PARTNR's evaluations are.
    """
    if not isinstance(request, Move):
        return False
    said: list[str] = []
    for thing in request.things:
        noun = tuple(thing.kind.split()) if isinstance(thing, Description) else ()
        verb, last = "", ""
        for k, word in enumerate(words):
            verb = word if word in _MOVED | _AT_REST else verb
            if noun and tuple(words[k : k + len(noun)]) == noun:
                last = verb
        said.append(last)
    return all(verb in _AT_REST for verb in said)


def place_of(name: str, item: Proposition, scene: Scene) -> str:
    """Where a thing is at the start, as what the proposition has in its second list."""
    thing = scene.things[name]
    return (thing.room if item.function == "is_in_room" else thing.parent) or ""


def number_of(item: Proposition, evaluation: Mapping[str, JsonValue]) -> int:
    """How many of its things it is about."""
    document = list_of(evaluation["propositions"])[item.index]
    args = document["args"] if isinstance(document, dict) else None
    number = args.get("number", 1) if isinstance(args, dict) else 1
    return number if isinstance(number, int) else 1


def ties_of(evaluation: Mapping[str, JsonValue]) -> list[set[int]]:
    """The propositions of each tie to the same argument."""
    return [
        {index for index in list_of(constraint["proposition_indices"]) if isinstance(index, int)}
        for constraint in list_of(evaluation["constraints"])
        if isinstance(constraint, dict) and constraint["type"] == "SameArgConstraint"
    ]


def rooms_of(item: Proposition, scene: Scene) -> Iterator[str]:
    """The rooms in which it can become true."""
    if item.function == "is_on_floor":
        yield from (room.name for room in scene.of_kind(EntityKind.ROOM))
    for name in item.second:
        yield scene.things[name].room or ""


def is_so(item: Proposition, scene: Scene) -> bool:
    """Whether all of the things are at such a place at the start."""
    if item.function not in PLACES:
        return False
    return all(place_of(name, item, scene) in item.second for name in item.names)


def list_of(value: JsonValue) -> list[JsonValue]:
    """A list of a document; empty for anything else."""
    return value if isinstance(value, list) else []


def names_in(value: JsonValue) -> tuple[str, ...]:
    """The names in a list of a document."""
    return tuple(name for name in list_of(value) if isinstance(name, str))
