"""Whether a derived evaluation can only mean one thing, and what PARTNR's records add to it."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from planner.grounding.fitting import Fitting
from planner.grounding.kinds import is_room_kind
from planner.grounding.records import Grounding
from planner.grounding.scene import Scene
from planner.language.description import Description, PlaceOf
from planner.language.goal_form import Goal, Make, Move, Request
from planner.language.words import Relation
from planner.world.vocabulary import EntityKind

_PLACES = {"is_on_top": "receptacles", "is_inside": "receptacles", "is_in_room": "rooms"}
_AT_THE_END = "TerminalSatisfactionConstraint"
# One thing on "the table" may be told to stay; nobody says so of several that share a table.
_MIN_MOVED_TOGETHER = 2
_PLACING = frozenset({*_PLACES, "is_on_floor"})
_NEAR = frozenset({"is_next_to", "is_clustered"})


class UnclearError(Exception):
    """Words without exactly one meaning in the scene; the message says which and why."""


@dataclass(frozen=True)
class _Proposition:
    """One proposition; `step` is None without an order, `second` the names at the place."""

    index: int
    function: str
    request: int
    step: int | None
    names: tuple[str, ...]
    second: tuple[str, ...] = ()

    @property
    def placing(self) -> bool:
        return self.function in _PLACING


def checked(goal: Goal, grounding: Grounding, scene: Scene) -> dict[str, JsonValue]:
    """The evaluation, with what cannot count early gated.

    Raises:
        UnclearError: if it may mean something else, or cannot be done.
    """
    evaluation: dict[str, JsonValue] = copy.deepcopy(dict(grounding.evaluation or {}))
    items = _items(goal, grounding, evaluation)
    items = [_of_things(item, scene) for item in items]
    _refuse_moved_before(goal, items, scene)
    _refuse_back(goal, items, scene)
    items = _moved_away(goal, items, evaluation, scene)
    items = _where_neighbours_are(items, evaluation, scene)
    _refuse_two_places(items, scene)
    _refuse_apart(goal, items)
    _refuse_again(items)
    if all(_holds(item, scene) for item in items):
        raise UnclearError("it is so already")
    _write(evaluation, items)
    _end_before_neighbours_leave(evaluation, items)
    dependencies = _list(evaluation["dependencies"])
    dependencies += [*_neighbours_gated(items), *_later_gated(items, dependencies)]
    evaluation["dependencies"] = dependencies
    return evaluation


def _items(
    goal: Goal, grounding: Grounding, evaluation: Mapping[str, JsonValue]
) -> list[_Proposition]:
    steps: list[int | None] = [k for k, step in enumerate(goal.steps) for _ in step]
    steps += [None] * len(goal.any_time)
    found = []
    for index, (item, request) in enumerate(
        zip(_list(evaluation["propositions"]), grounding.requests, strict=True)
    ):
        if not isinstance(item, dict) or not isinstance(args := item["args"], dict):
            raise TypeError(f"expected a proposition, got {item!r}")
        function = str(item["function_name"])
        lists = [_names(value) for value in args.values() if isinstance(value, list)]
        if function == "is_clustered":
            members = [_names(entry) for entry in _list(args["entities"])]
            lists = [tuple(name for member in members for name in member)]
        second = lists[1] if len(lists) > 1 else ()
        found.append(_Proposition(index, function, request, steps[request], lists[0], second))
    return found


def _of_things(item: _Proposition, scene: Scene) -> _Proposition:
    """Takes "next to the lamp" for the lamp that can be carried, not for a floor lamp."""
    objects = tuple(n for n in item.second if scene.things[n].kind is EntityKind.OBJECT)
    return replace(item, second=objects) if item.function == "is_next_to" and objects else item


def _refuse_moved_before(goal: Goal, items: Sequence[_Proposition], scene: Scene) -> None:
    """Refuses "all these objects from the table" where an earlier step brings or takes some."""
    fitting = Fitting(scene, {})
    for item in items:
        request = goal.requests[item.request]
        if item.step is None or not isinstance(request, Move | Make):
            continue
        everything = [t for t in request.things if isinstance(t, Description) and t.kind == "thing"]
        there = {n for t in everything for place in t.where for n in fitting.names(place.anchor)}
        for other in items:
            earlier = other.placing and other.step is not None and other.step < item.step
            brought = there & {*other.second, *_rooms(other, scene)}
            if earlier and (brought or (there and set(other.names) & set(item.names))):
                raise UnclearError("what is there changes in an earlier step")


def _refuse_back(goal: Goal, items: Sequence[_Proposition], scene: Scene) -> None:
    """Refuses "back to the table" where that may be the one that they came from or another one."""
    begun: set[str] = set()
    for request in dict.fromkeys(item.request for item in items):
        own = [item for item in items if item.request == request and item.function in _PLACES]
        again = own and all(begun >= set(item.names) and len(item.second) > 1 for item in own)
        if again and _is_definite(goal.requests[request]) and all(_holds(i, scene) for i in own):
            raise UnclearError("it is not clear whether it goes back to where it was")
        begun |= {name for item in own for name in item.names}


def _moved_away(
    goal: Goal,
    items: list[_Proposition],
    evaluation: Mapping[str, JsonValue],
    scene: Scene,
) -> list[_Proposition]:
    """Takes out the place where the things are: who says "put it on a table" means another.

    Raises:
        UnclearError: if "the table" may be where they are.
    """
    found = list(items)
    begun: set[str] = set()
    for request in dict.fromkeys(item.request for item in items):
        own = [item for item in items if item.request == request and item.function in _PLACES]
        fresh = [item for item in own if not begun & set(item.names)]
        leaving = goal.requests[request]
        stays = isinstance(leaving, Move) and any(
            isinstance(place.anchor, PlaceOf) for place in leaving.to
        )
        here = [_here(name, item, scene) for item in fresh for name in item.names]
        there = {place for item in fresh for place in item.second}
        tied = any({item.index for item in fresh} & tie for tie in _ties(evaluation))
        if len(set(here)) > 1 and not tied and all(_holds(item, scene) for item in fresh):
            raise UnclearError("it is so already")
        # Where they are at several places, any place will do that all of them come to.
        if not stays and len(set(here)) == 1 and here[0] in there:
            if _is_definite(leaving) and not _says_from(leaving):
                if _beside_a_thing(leaving) or _arranged(fresh, items):
                    continue
                if len(here) < _MIN_MOVED_TOGETHER:
                    raise UnclearError("it is at such a place already")
            for item in fresh:
                left = tuple(name for name in item.second if name not in here)
                if not left:
                    raise UnclearError(f"{item.names[0]} is there already")
                found[item.index] = replace(item, second=left)
        begun |= {name for item in own for name in item.names}
    return found


def _is_definite(request: Request) -> bool:
    """Whether a place is one in particular: "the table", or any room."""
    anchors = [place.anchor for place in request.to] if isinstance(request, Move) else []
    return any(
        not isinstance(anchor, Description) or anchor.definite or is_room_kind(anchor.kind)
        for anchor in anchors
    )


def _beside_a_thing(request: Request) -> bool:
    return isinstance(request, Move) and any(p.relation is Relation.NEXT_TO for p in request.to)


def _arranged(placed: Sequence[_Proposition], items: Sequence[_Proposition]) -> bool:
    """Whether several things shall be next to each other, which they can become where they are."""
    names = {name for item in placed for name in item.names}
    return any(
        item.function in _NEAR
        and item.step == placed[0].step
        and names >= {*item.names, *item.second}
        for item in items
    )


def _says_from(request: Request) -> bool:
    """Whether it says where all of the things are, so that the place must be another one."""
    return isinstance(request, Move) and all(
        isinstance(thing, Description) and bool(thing.where) for thing in request.things
    )


def _here(name: str, item: _Proposition, scene: Scene) -> str:
    thing = scene.things[name]
    return (thing.room if item.function == "is_in_room" else thing.parent) or ""


def _where_neighbours_are(
    items: list[_Proposition], evaluation: Mapping[str, JsonValue], scene: Scene
) -> list[_Proposition]:
    """For "on the table next to the book": the table that the book is on.

    Raises:
        UnclearError: if the book is elsewhere, or may be at several of the places.
    """
    found = list(items)
    for beside in [item for item in items if item.function == "is_next_to"]:
        if any(scene.things[name].kind is not EntityKind.OBJECT for name in beside.second):
            continue
        for number, item in enumerate(found):
            if item.step != beside.step or item.function not in _PLACES:
                continue
            if not set(item.names) & set(beside.names) or set(item.names) & set(beside.second):
                continue
            spots = _spots(beside, item, found, scene)
            left = tuple(name for name in item.second if name in spots)
            if not left:
                raise UnclearError("what to be next to is elsewhere")
            if len(left) > 1 and not _tied(item, beside.second, found, evaluation):
                raise UnclearError("it is not clear which place what to be next to is at")
            found[number] = replace(item, second=left)
    return found


def _spots(
    beside: _Proposition, item: _Proposition, items: Sequence[_Proposition], scene: Scene
) -> set[str]:
    """Where what to be next to is then, as the names of the placed thing's predicate."""
    spots: set[str] = set()
    for name in beside.second:
        planned = [
            other
            for other in items
            if name in other.names
            and other.function in _PLACES
            and (other.step or 0) <= (item.step or 0)
        ]
        last = max((other.step or 0 for other in planned), default=0)
        latest = [other for other in planned if (other.step or 0) == last]
        places = [place for other in latest for place in other.second]
        places = places or [_here(name, item, scene)]
        rooms = [scene.things[place].room or "" for place in places if place in scene.things]
        spots |= {*places, *(rooms if item.function == "is_in_room" else ())}
    return spots


def _tied(
    item: _Proposition,
    neighbours: Sequence[str],
    items: Sequence[_Proposition],
    evaluation: Mapping[str, JsonValue],
) -> bool:
    """Whether the placed thing and its neighbour are sent to the same one of several places."""
    others = {o.index for o in items if set(neighbours) & set(o.names) and o.function in _PLACES}
    return any(item.index in tie and tie & others for tie in _ties(evaluation))


def _ties(evaluation: Mapping[str, JsonValue]) -> list[set[int]]:
    """The propositions of each tie to the same argument."""
    return [
        {index for index in _list(constraint["proposition_indices"]) if isinstance(index, int)}
        for constraint in _list(evaluation["constraints"])
        if isinstance(constraint, dict) and constraint["type"] == "SameArgConstraint"
    ]


def _refuse_two_places(items: Sequence[_Proposition], scene: Scene) -> None:
    for item in items:
        for other in items[item.index + 1 :]:
            if item.step != other.step or not set(item.names) & set(other.names):
                continue
            if not (item.placing and other.placing) or len(item.names) > 1:
                continue
            rooms = "is_in_room" in (item.function, other.function)
            if not set(_rooms(item, scene)) & set(_rooms(other, scene)) or (
                not rooms and (item.function, item.second) != (other.function, other.second)
            ):
                raise UnclearError("one thing is sent to two places at once")


def _refuse_apart(goal: Goal, items: Sequence[_Proposition]) -> None:
    """Refuses neighbours that are sent to different places, or to one and another one."""
    for beside in items:
        if beside.function not in _NEAR:
            continue
        about = {*beside.names, *beside.second}
        for function in _PLACES:
            placed = [
                item
                for item in items
                if item.function == function
                and item.step == beside.step
                and about & set(item.names)
            ]
            places = [set(item.second) for item in placed]
            requests = {item.request for item in placed}
            apart = len(requests) > 1 and any(_is_another(goal.requests[k]) for k in requests)
            if places and (not set.intersection(*places) or apart):
                raise UnclearError("what shall be next to each other is sent to different places")


def _is_another(request: Request) -> bool:
    """Whether it says "another table"."""
    return isinstance(request, Move) and any(
        isinstance(place.anchor, Description)
        and (place.anchor.elsewhere or place.anchor.other_than)
        for place in request.to
    )


def _refuse_again(items: Sequence[_Proposition]) -> None:
    """Refuses two steps that are the same, of which the second can not come later."""
    for item in items:
        for later in items:
            same = (item.function, item.names, item.second)
            if same == (later.function, later.names, later.second) and (
                (later.step or 0) - (item.step or 0) == 1
            ):
                raise UnclearError("two steps are the same")


def _rooms(item: _Proposition, scene: Scene) -> Iterator[str]:
    if item.function == "is_on_floor":
        yield from (room.name for room in scene.of_kind(EntityKind.ROOM))
    for name in item.second:
        yield scene.things[name].room or ""


def _holds(item: _Proposition, scene: Scene) -> bool:
    if item.function not in _PLACES:
        return False
    return all(_here(name, item, scene) in item.second for name in item.names)


def _neighbours_gated(items: Sequence[_Proposition]) -> Iterator[JsonValue]:
    """Next to each other at their destinations, not on the way there (PARTNR-E1)."""
    for item in items:
        if item.function not in _NEAR:
            continue
        about = {*item.names, *item.second}
        heads: list[JsonValue] = [
            other.index
            for other in items
            if other.placing and other.step == item.step and about & set(other.names)
        ]
        if heads:
            yield {
                "proposition_indices": [item.index],
                "depends_on": heads,
                "relation_type": "while_satisfied",
            }


def _later_gated(
    items: Sequence[_Proposition], dependencies: Sequence[JsonValue]
) -> Iterator[JsonValue]:
    """A later room or neighbourhood counts only after the earlier steps (PARTNR-E7).

    Agents pass through rooms on the way to others.
    """
    gated = {
        index
        for gate in dependencies
        if isinstance(gate, dict) and gate["relation_type"] == "after_satisfied"
        for index in _list(gate["proposition_indices"])
    }
    for item in items:
        if item.step is None or item.index in gated:
            continue
        if item.function not in {"is_in_room", *_NEAR}:
            continue
        earlier: list[JsonValue] = [
            other.index for other in items if other.step is not None and other.step < item.step
        ]
        if earlier:
            yield {
                "proposition_indices": [item.index],
                "depends_on": earlier,
                "relation_type": "after_satisfied",
            }


def _write(evaluation: Mapping[str, JsonValue], items: Sequence[_Proposition]) -> None:
    for document, item in zip(_list(evaluation["propositions"]), items, strict=True):
        args = document["args"] if isinstance(document, dict) else None
        key = "entities_b" if item.function == "is_next_to" else _PLACES.get(item.function)
        if isinstance(args, dict) and key is not None:
            args[key] = list(item.second)


def _end_before_neighbours_leave(
    evaluation: Mapping[str, JsonValue], items: Sequence[_Proposition]
) -> None:
    """What is next to something that a later step moves need not be so at the end."""
    passing = {
        item.index
        for item in items
        for later in items
        if item.function in _NEAR
        and later.placing
        and (item.step or 0) < (later.step or 0)
        and {*item.names, *item.second} & set(later.names)
    }
    constraints = _list(evaluation["constraints"])
    for constraint in constraints:
        if isinstance(constraint, dict) and constraint["type"] == _AT_THE_END:
            lasting = _list(constraint["proposition_indices"])
            constraint["proposition_indices"] = [i for i in lasting if i not in passing]
            return
    if passing:
        lasting = [item.index for item in items if item.index not in passing]
        constraints.append({"type": _AT_THE_END, "proposition_indices": lasting})


def _list(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _names(value: JsonValue) -> tuple[str, ...]:
    return tuple(name for name in _list(value) if isinstance(name, str))
