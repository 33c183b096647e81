"""Whether a derived evaluation can only mean one thing; which are refused."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from papers.partnr.episodes.goal_propositions import (
    NEAR,
    PLACES,
    Proposition,
    UnclearError,
    is_definite,
    is_placed,
    is_so,
    list_of,
    names_in,
    number_of,
    place_of,
    repeats,
    rooms_of,
    ties_of,
    without,
)
from planner.grounding.drafts import Fitting
from planner.grounding.records import Grounding
from planner.grounding.scene import Scene
from planner.language.goal_form import Description, Goal, Make, Move, PlaceOf, Request
from planner.language.lexicon import Relation
from planner.world.vocabulary import EntityKind

# Which derived goals are refused, because the words may mean something else.


def refuse_moved_before(goal: Goal, items: Sequence[Proposition], scene: Scene) -> None:
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
            brought = there & {*other.second, *rooms_of(other, scene)}
            if earlier and (brought or (there and set(other.names) & set(item.names))):
                raise UnclearError("what is there changes in an earlier step")


def refuse_all_but_one(items: Sequence[Proposition], scene: Scene, words: Sequence[str]) -> None:
    """Refuses "all of them" for what was put next to something: may that be meant, too?"""
    spoken = " ".join(words)
    if not any(
        phrase in spoken for phrase in ("all of them", "them all", "all these", "all of the")
    ):
        return
    for beside in items:
        others = {n for n in beside.second if scene.things[n].kind is EntityKind.OBJECT}
        if beside.function != "is_next_to" or beside.step is None or len(others) != 1:
            continue
        step = beside.step
        before = {n for item in items if item.step == step for n in item.names}
        after = {n for item in items if item.step == step + 1 for n in item.names}
        if len(before) > 1 and before <= after and not others & after:
            raise UnclearError(f"whether all of them includes {min(others)}")


def refuse_back(goal: Goal, items: Sequence[Proposition], scene: Scene) -> None:
    """Refuses "back to the table" where that may be the one that they came from or another one."""
    begun: set[str] = set()
    for request in dict.fromkeys(item.request for item in items):
        own = [item for item in items if item.request == request and item.function in PLACES]
        again = own and all(begun >= set(item.names) and len(item.second) > 1 for item in own)
        if again and is_definite(goal.requests[request]) and all(is_so(i, scene) for i in own):
            raise UnclearError("it is not clear whether it goes back to where it was")
        begun |= {name for item in own for name in item.names}


def refuse_two_places(items: Sequence[Proposition], scene: Scene) -> None:
    """Refuses one thing at two places in one step."""
    for item in items:
        for other in items[item.index + 1 :]:
            if item.step != other.step or not set(item.names) & set(other.names):
                continue
            if not (item.placing and other.placing) or len(item.names) > 1:
                continue
            rooms = "is_in_room" in (item.function, other.function)
            if not set(rooms_of(item, scene)) & set(rooms_of(other, scene)) or (
                not rooms and (item.function, item.second) != (other.function, other.second)
            ):
                raise UnclearError("one thing is sent to two places at once")


def refuse_alone(goal: Goal, items: Sequence[Proposition]) -> None:
    """Refuses "place the cup close by", with nothing that it is to be close to."""
    for k, request in enumerate(goal.requests):
        arranged = isinstance(request, Move) and request.arrangement is not None
        if arranged and not any(item.request == k and item.function in NEAR for item in items):
            raise UnclearError("what it is to be next to is not said")


def refuse_apart(goal: Goal, items: Sequence[Proposition]) -> None:
    """Refuses neighbours that are sent to different places, or to one and another one."""
    for beside in items:
        if beside.function not in NEAR:
            continue
        about = {*beside.names, *beside.second}
        for function in PLACES:
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


def refuse_again(items: Sequence[Proposition]) -> None:
    """Refuses two steps that are the same, of which the second can not come later."""
    for item in items:
        for later in items:
            same = (item.function, item.names, item.second)
            if same == (later.function, later.names, later.second) and (
                (later.step or 0) - (item.step or 0) == 1
            ):
                raise UnclearError("two steps are the same")


_AT_THE_END = "TerminalSatisfactionConstraint"
# One thing on "the table" may be told to stay; nobody says so of several that share a table.
_MIN_MOVED_TOGETHER = 2


def checked(
    goal: Goal, grounding: Grounding, scene: Scene, words: list[str]
) -> dict[str, JsonValue]:
    """The evaluation, with what cannot count early gated; `words` are the instruction's.

    Raises:
        UnclearError: if it may mean something else, or cannot be done.
    """
    evaluation: dict[str, JsonValue] = copy.deepcopy(dict(grounding.evaluation or {}))
    items = _items(goal, grounding, evaluation)
    items = [_of_things(item, scene) for item in items]
    refuse_alone(goal, items)
    evaluation, items = without(repeats(items, words), evaluation, items)
    refuse_moved_before(goal, items, scene)
    refuse_all_but_one(items, scene, words)
    if "back" in words:
        refuse_back(goal, items, scene)
    items = _moved_away(goal, items, evaluation, scene, words)
    items = _where_neighbours_are(items, evaluation, scene)
    refuse_two_places(items, scene)
    refuse_apart(goal, items)
    refuse_again(items)
    if all(is_so(item, scene) for item in items) and _together(goal, items, evaluation, scene):
        raise UnclearError("it is so already")
    _write(evaluation, items)
    _end_before_neighbours_leave(evaluation, items)
    dependencies = list_of(evaluation["dependencies"])
    dependencies += [*_neighbours_gated(items), *_later_gated(items, dependencies)]
    evaluation["dependencies"] = dependencies
    return evaluation


def _items(
    goal: Goal, grounding: Grounding, evaluation: Mapping[str, JsonValue]
) -> list[Proposition]:
    steps: list[int | None] = [k for k, step in enumerate(goal.steps) for _ in step]
    steps += [None] * len(goal.any_time)
    found = []
    for index, (item, request) in enumerate(
        zip(list_of(evaluation["propositions"]), grounding.requests, strict=True)
    ):
        if not isinstance(item, dict) or not isinstance(args := item["args"], dict):
            raise TypeError(f"expected a proposition, got {item!r}")
        function = str(item["function_name"])
        lists = [names_in(value) for value in args.values() if isinstance(value, list)]
        if function == "is_clustered":
            members = [names_in(entry) for entry in list_of(args["entities"])]
            lists = [tuple(name for member in members for name in member)]
        second = lists[1] if len(lists) > 1 else ()
        found.append(Proposition(index, function, request, steps[request], lists[0], second))
    return found


def _of_things(item: Proposition, scene: Scene) -> Proposition:
    """Takes "next to the lamp" for the lamp that can be carried, not for a floor lamp."""
    objects = tuple(n for n in item.second if scene.things[n].kind is EntityKind.OBJECT)
    return replace(item, second=objects) if item.function == "is_next_to" and objects else item


def _moved_away(
    goal: Goal,
    items: list[Proposition],
    evaluation: Mapping[str, JsonValue],
    scene: Scene,
    words: list[str],
) -> list[Proposition]:
    """Takes out the place where the things are: who says "put it on a table" means another.

    Raises:
        UnclearError: if "the table" may be where they are.
    """
    found = list(items)
    begun: set[str] = set()
    for request in dict.fromkeys(item.request for item in items):
        own = [item for item in items if item.request == request and item.function in PLACES]
        fresh = [item for item in own if not begun & set(item.names)]
        leaving = goal.requests[request]
        stays = isinstance(leaving, Move) and any(
            isinstance(place.anchor, PlaceOf) for place in leaving.to
        )
        here = [place_of(name, item, scene) for item in fresh for name in item.names]
        # "A cup" of three on the table is one thing.
        moved = sum(number_of(item, evaluation) for item in fresh)
        there = {place for item in fresh for place in item.second}
        tied = any({item.index for item in fresh} & tie for tie in ties_of(evaluation))
        if len(set(here)) > 1 and not tied and all(is_so(item, scene) for item in fresh):
            raise UnclearError("it is so already")
        # Where they are at several places, any place will do that all of them come to.
        if not stays and len(set(here)) == 1 and here[0] in there:
            if is_definite(leaving) and not _says_from(leaving):
                if _beside_a_thing(leaving) or _arranged(fresh, items):
                    continue
                if moved < _MIN_MOVED_TOGETHER:
                    if not is_placed(words, leaving):
                        raise UnclearError("it is at such a place already")
                    continue
            for item in fresh:
                left = tuple(name for name in item.second if name not in here)
                if not left:
                    raise UnclearError(f"{item.names[0]} is there already")
                found[item.index] = replace(item, second=left)
        begun |= {name for item in own for name in item.names}
    return found


def _together(
    goal: Goal, items: Sequence[Proposition], evaluation: Mapping[str, JsonValue], scene: Scene
) -> bool:
    """Whether what shall be at "the" one and same place is so at the start."""
    definite = [item for item in items if is_definite(goal.requests[item.request])]
    tied = [[item for item in definite if item.index in tie] for tie in ties_of(evaluation)]
    places = [{place_of(n, i, scene) for i in members for n in i.names} for members in tied]
    return all(len(several) <= 1 for several in places)


def _beside_a_thing(request: Request) -> bool:
    return isinstance(request, Move) and any(p.relation is Relation.NEXT_TO for p in request.to)


def _arranged(placed: Sequence[Proposition], items: Sequence[Proposition]) -> bool:
    """Whether several things shall be next to each other, which they can become where they are."""
    names = {name for item in placed for name in item.names}
    return any(
        item.function in NEAR
        and item.step == placed[0].step
        and names >= {*item.names, *item.second}
        for item in items
    )


def _says_from(request: Request) -> bool:
    """Whether it says where all of the things are, so that the place must be another one."""
    return isinstance(request, Move) and all(
        isinstance(thing, Description) and bool(thing.where) for thing in request.things
    )


def _where_neighbours_are(
    items: list[Proposition], evaluation: Mapping[str, JsonValue], scene: Scene
) -> list[Proposition]:
    """For "on the table next to the book": the table that the book is on.

    Raises:
        UnclearError: if the book is elsewhere, or may be at several of the places.
    """
    found = list(items)
    for beside in [item for item in items if item.function == "is_next_to"]:
        if any(scene.things[name].kind is not EntityKind.OBJECT for name in beside.second):
            continue
        for number, item in enumerate(found):
            if item.step != beside.step or item.function not in PLACES:
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
    beside: Proposition, item: Proposition, items: Sequence[Proposition], scene: Scene
) -> set[str]:
    """Where what to be next to is then, as the names of the placed thing's predicate."""
    spots: set[str] = set()
    for name in beside.second:
        planned = [
            other
            for other in items
            if name in other.names
            and other.function in PLACES
            and (other.step or 0) <= (item.step or 0)
        ]
        last = max((other.step or 0 for other in planned), default=0)
        latest = [other for other in planned if (other.step or 0) == last]
        places = [place for other in latest for place in other.second]
        places = places or [place_of(name, item, scene)]
        rooms = [scene.things[place].room or "" for place in places if place in scene.things]
        spots |= {*places, *(rooms if item.function == "is_in_room" else ())}
    return spots


def _tied(
    item: Proposition,
    neighbours: Sequence[str],
    items: Sequence[Proposition],
    evaluation: Mapping[str, JsonValue],
) -> bool:
    """Whether the placed thing and its neighbour are sent to the same one of several places."""
    others = {o.index for o in items if set(neighbours) & set(o.names) and o.function in PLACES}
    return any(item.index in tie and tie & others for tie in ties_of(evaluation))


def _neighbours_gated(items: Sequence[Proposition]) -> Iterator[JsonValue]:
    """Next to each other at their destinations, not on the way there (PARTNR-E1)."""
    for item in items:
        if item.function not in NEAR:
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
    items: Sequence[Proposition], dependencies: Sequence[JsonValue]
) -> Iterator[JsonValue]:
    """A later room or neighbourhood counts only after the earlier steps (PARTNR-E7).

    Agents pass through rooms on the way to others.
    """
    gated = {
        index
        for gate in dependencies
        if isinstance(gate, dict) and gate["relation_type"] == "after_satisfied"
        for index in list_of(gate["proposition_indices"])
    }
    for item in items:
        if item.step is None or item.index in gated:
            continue
        if item.function not in {"is_in_room", *NEAR}:
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


def _write(evaluation: Mapping[str, JsonValue], items: Sequence[Proposition]) -> None:
    for document, item in zip(list_of(evaluation["propositions"]), items, strict=True):
        args = document["args"] if isinstance(document, dict) else None
        key = "entities_b" if item.function == "is_next_to" else PLACES.get(item.function)
        if isinstance(args, dict) and key is not None:
            args[key] = list(item.second)


def _end_before_neighbours_leave(
    evaluation: Mapping[str, JsonValue], items: Sequence[Proposition]
) -> None:
    """What is next to something that a later step moves need not be so at the end."""
    passing = {
        item.index
        for item in items
        for later in items
        if item.function in NEAR
        and later.placing
        and (item.step or 0) < (later.step or 0)
        and {*item.names, *item.second} & set(later.names)
    }
    constraints = list_of(evaluation["constraints"])
    for constraint in constraints:
        if isinstance(constraint, dict) and constraint["type"] == _AT_THE_END:
            lasting = list_of(constraint["proposition_indices"])
            constraint["proposition_indices"] = [i for i in lasting if i not in passing]
            return
    if passing:
        lasting = [item.index for item in items if item.index not in passing]
        constraints.append({"type": _AT_THE_END, "proposition_indices": lasting})
