"""Which derived goals are refused, because the words may mean something else."""

from __future__ import annotations

from collections.abc import Sequence

from planner.episodes.partnr.goal_propositions import (
    NEAR,
    PLACES,
    Proposition,
    UnclearError,
    is_definite,
    is_so,
    rooms_of,
)
from planner.grounding.fitting import Fitting
from planner.grounding.scene import Scene
from planner.language.description import Description
from planner.language.goal_form import Goal, Make, Move, Request
from planner.world.vocabulary import EntityKind


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
