"""Right goals with one mistake each, to see how many of them the second reading notices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pydantic import ValidationError

from planner.language.description import Description, Place
from planner.language.equivalence import same_meaning
from planner.language.goal_form import Goal, Make, Move, Request
from planner.language.words import Actor, Amount, Relation

_OTHER_STATE = {
    "powered on": "powered off",
    "powered off": "powered on",
    "open": "closed",
    "closed": "open",
    "filled": "empty",
    "clean": "filled",
    "sliced": "cooked",
    "dusted": "watered",
    "watered": "dusted",
}
_OTHER_RELATION = {
    Relation.ON_TOP: Relation.UNDER,
    Relation.IN: Relation.NEXT_TO,
    Relation.AT: Relation.BEHIND,
    Relation.NEXT_TO: Relation.ON_TOP,
    Relation.UNDER: Relation.ON_TOP,
    Relation.BEHIND: Relation.IN_FRONT_OF,
    Relation.IN_FRONT_OF: Relation.BEHIND,
    Relation.LEFT_OF: Relation.RIGHT_OF,
    Relation.RIGHT_OF: Relation.LEFT_OF,
}


def _with(goal: Goal, old: Request, new: Request | None) -> Goal:
    """The goal with a request replaced or, if there is no new one, left out."""
    steps = [
        [new if item is old else item for item in step if item is not old or new is not None]
        for step in goal.steps
    ]
    free = [new if item is old else item for item in goal.any_time if item is not old or new]
    return Goal.model_validate(
        {
            "steps": tuple(tuple(step) for step in steps if step),
            "any_time": tuple(item for item in free if item is not None),
        }
    )


def swapped(goal: Goal) -> Iterator[Goal]:
    """What is moved, and where to, changed for each other."""
    for item in goal.requests:
        if isinstance(item, Move) and len(item.things) == len(item.to) == 1:
            (thing,), (place,) = item.things, item.to
            if isinstance(thing, Description) and isinstance(place.anchor, Description):
                to = (Place(relation=place.relation, anchor=thing),)
                yield _with(
                    goal, item, item.model_copy(update={"things": (place.anchor,), "to": to})
                )


def dropped(goal: Goal) -> Iterator[Goal]:
    """One request, or one of several things, left out."""
    for item in goal.requests:
        if len(goal.requests) > 1:
            yield _with(goal, item, None)
        if isinstance(item, Move | Make) and len(item.things) > 1:
            yield _with(goal, item, item.model_copy(update={"things": item.things[1:]}))


def recounted(goal: Goal) -> Iterator[Goal]:
    """Another number of what is moved or changed."""
    for item in goal.requests:
        if not isinstance(item, Move | Make) or not isinstance(item.things[0], Description):
            continue
        thing = item.things[0]
        changes: dict[str, object] = {"count": 2, "definite": False}
        if thing.count is Amount.ALL:
            changes = {"count": 1, "definite": True}
        elif isinstance(thing.count, int) and thing.count > 1:
            changes = {"count": thing.count + 1}
        new = (thing.model_copy(update=changes), *item.things[1:])
        yield _with(goal, item, item.model_copy(update={"things": new}))


def unordered(goal: Goal) -> Iterator[Goal]:
    """All steps at once, and in the opposite order."""
    if len(goal.steps) > 1:
        together = tuple(item for step in goal.steps for item in step)
        yield Goal(steps=(together,), any_time=goal.any_time)
        yield Goal(steps=goal.steps[::-1], any_time=goal.any_time)


def restated(goal: Goal) -> Iterator[Goal]:
    """Another state."""
    for item in goal.requests:
        if isinstance(item, Make) and item.states[0] in _OTHER_STATE:
            states = (_OTHER_STATE[item.states[0]],)
            yield _with(goal, item, item.model_copy(update={"states": states}))


def relocated(goal: Goal) -> Iterator[Goal]:
    """Another relation to the place."""
    for item in goal.requests:
        if isinstance(item, Move) and item.to and isinstance(item.to[0].anchor, Description):
            place = item.to[0]
            other = Place(relation=_OTHER_RELATION[place.relation], anchor=place.anchor)
            yield _with(goal, item, item.model_copy(update={"to": (other, *item.to[1:])}))


def redescribed(goal: Goal) -> Iterator[Goal]:
    """A colour, material, size or state of the thing given to the place instead."""
    for item in goal.requests:
        if not isinstance(item, Move) or not item.to:
            continue
        thing, place = item.things[0], item.to[0]
        if not isinstance(thing, Description) or not isinstance(place.anchor, Description):
            continue
        for field in ("color", "material", "size", "states"):
            look = getattr(thing, field)
            if look and not getattr(place.anchor, field):
                empty = () if field == "states" else None
                anchor = place.anchor.model_copy(update={field: look})
                changed = {
                    "things": (thing.model_copy(update={field: empty}), *item.things[1:]),
                    "to": (Place(relation=place.relation, anchor=anchor), *item.to[1:]),
                }
                yield _with(goal, item, item.model_copy(update=changed))


def reassigned(goal: Goal) -> Iterator[Goal]:
    """The speaker does it, or no longer does."""
    for item in goal.requests:
        who = None if item.who is Actor.SPEAKER else Actor.SPEAKER
        yield _with(goal, item, item.model_copy(update={"who": who}))


MUTATIONS: Mapping[str, Callable[[Goal], Iterator[Goal]]] = {
    "thing and place swapped": swapped,
    "request or thing dropped": dropped,
    "another number": recounted,
    "another order": unordered,
    "another state": restated,
    "another relation": relocated,
    "look of another noun": redescribed,
    "another actor": reassigned,
}


def mutated(goal: Goal) -> Iterator[tuple[str, Goal]]:
    """Goals that differ from a right one by one mistake, with what that is."""
    for name, mutation in MUTATIONS.items():
        goals = mutation(goal)
        while True:
            try:
                other = next(goals)
            except (StopIteration, ValidationError):
                break  # The rest would not be goals.
            if not same_meaning(goal, other):
                yield name, other
