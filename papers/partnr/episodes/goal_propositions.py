"""The propositions of an evaluation while it is checked, without what is said twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from planner.grounding.scene import Scene, is_room_kind
from planner.language.goal_form import Description, Move, Request
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


# Takes out of a derived evaluation what is said twice.

_ORDER_WORDS = frozenset({"then", "after", "next", "finally", "before", "later", "first", "once"})


def is_ordered(words: list[str]) -> bool:
    """Whether some word of an instruction says that one thing comes after another."""
    beside = [words[k : k + 2] == ["next", "to"] for k in range(len(words))]
    return any(
        word in _ORDER_WORDS and not is_beside
        for word, is_beside in zip(words, beside, strict=True)
    )


def repeats(items: Sequence[Proposition], words: list[str]) -> set[int]:
    """The propositions that say nothing new.

    "Bring the toys to the table. Place the doll on the table" names the doll twice. "Move them to
    the shelf. Place them next to each other on the shelf" has one step, unless a word says that
    one is after the other.
    """
    found: set[int] = set()
    for item in items:
        for later in items[item.index + 1 :]:
            if not _is_same(item, later) or {item.index, later.index} & found:
                continue
            if item.step == later.step:
                found.add(later.index)
            elif item.step is not None and later.step == item.step + 1 and not is_ordered(words):
                found.add((item if _arranged(later, items) else later).index)
            elif item.placing and _arranged(later, items) and _stays(item, later, items):
                found.add(later.index)
    return found


def _is_same(one: Proposition, other: Proposition) -> bool:
    """Whether both ask for the same of one thing."""
    if one.function != other.function or len(one.names) != 1 or len(other.names) != 1:
        return False
    mine, theirs = (one.names, one.second), (other.names, other.second)
    return mine == theirs or (one.function in NEAR and mine == theirs[::-1])


def _stays(item: Proposition, later: Proposition, items: Sequence[Proposition]) -> bool:
    """Whether a thing is not moved away between two steps that put it at the same place."""
    if item.step is None or later.step is None:
        return False
    return not any(
        set(other.names) & set(item.names)
        for other in items
        if other.placing and other.step is not None and item.step < other.step < later.step
    )


def _arranged(placed: Proposition, items: Sequence[Proposition]) -> bool:
    """Whether its step also says how the things lie there."""
    near = [item for item in items if item.step == placed.step and item.function in NEAR]
    return any(set(placed.names) & {*item.names, *item.second} for item in near)


def without(
    dropped: set[int], evaluation: Mapping[str, JsonValue], items: Sequence[Proposition]
) -> tuple[dict[str, JsonValue], list[Proposition]]:
    """The evaluation and its propositions without some, and with new indices."""
    left = [item for item in items if item.index not in dropped]
    new = {item.index: k for k, item in enumerate(left)}

    def renumbered(indices: JsonValue) -> list[JsonValue]:
        return [new[i] for i in list_of(indices) if isinstance(i, int) and i in new]

    propositions = list_of(evaluation["propositions"])
    constraints: list[JsonValue] = []
    for constraint in list_of(evaluation["constraints"]):
        if not isinstance(constraint, dict):
            continue
        if "groups" in constraint:
            groups: list[JsonValue] = [
                group for group in map(renumbered, list_of(constraint["groups"])) if group
            ]
            if len(groups) > 1:
                constraints.append({**constraint, "groups": groups})
            continue
        changed = {
            **constraint,
            "proposition_indices": renumbered(constraint["proposition_indices"]),
        }
        if "arg_indices" in constraint:
            pairs = zip(
                list_of(constraint["proposition_indices"]),
                list_of(constraint["arg_indices"]),
                strict=True,
            )
            changed["arg_indices"] = [a for i, a in pairs if i in new]
            if len(list_of(changed["arg_indices"])) < 2:
                continue
        constraints.append(changed)
    dependencies: list[JsonValue] = []
    for gate in list_of(evaluation["dependencies"]):
        if not isinstance(gate, dict):
            continue
        about, on = renumbered(gate["proposition_indices"]), renumbered(gate["depends_on"])
        if about and on:
            dependencies.append({**gate, "proposition_indices": about, "depends_on": on})
    return {
        **evaluation,
        "propositions": [propositions[item.index] for item in left],
        "constraints": constraints,
        "dependencies": dependencies,
    }, [replace(item, index=new[item.index]) for item in left]
