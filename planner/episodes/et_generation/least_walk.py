"""The plan with the least walk of all that do what words say (ETPLAN-2.2, ETPLAN-C39).

Words name classes: an apple may be any apple. The ground truth is the shortest of the ways to do it
with any of them and in any order, and who knows the whole house finds the same one, by this file.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, product

from planner.episodes.et_generation.house_facts import Entity, HouseFacts
from planner.episodes.et_generation.idea import Idea, Link
from planner.episodes.et_generation.plans import Plan, plans
from planner.episodes.et_generation.sense import fits_at, fits_in_thing
from planner.episodes.et_generation.walking import Stand, Walking
from planner.world.episode import Prior
from planner.world.vocabulary import Relation

# So many readings are walked, those that are the shortest from middle to middle. Our houses have 24
# at most for a text, a large scene graph may have many thousands.
_MOST_WALKED = 500
_FACING_M = 5.0
_RELATIONS = {"ON": Relation.ON, "INSIDE": Relation.WITHIN}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What words ask for: an idea with the names that each of its letters may stand for.

    Attributes:
        idea: with its relations; its names are examples.
        targets, seconds, nests, places: names for A, A2, B (where it is a nest) and C; empty where
            the idea has no such letter.
    """

    idea: Idea
    targets: tuple[str, ...]
    seconds: tuple[str, ...] = ()
    nests: tuple[str, ...] = ()
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LeastWalk:
    """The shortest plan, and the idea with the names that it uses."""

    idea: Idea
    plan: Plan
    walk_m: float


def least_walk(
    facts: HouseFacts,
    walking: Walking,
    wanted: Wanted,
    start: Stand,
    arms: int = 1,
    prior: Prior = "P",
) -> LeastWalk | None:
    """The shortest plan; None if nothing fits what is wanted, or there is no way.

    Args:
        facts: of the house as it is.
        walking: in the same house.
        wanted: what to do.
        start: where the robot is.
        arms: how many things it may carry at a time.
        prior: what it knows; with a map, furniture is walked to without its room.
    """
    best: LeastWalk | None = None
    for idea in _nearly_shortest(facts, walking, wanted, start, arms):
        for plan in plans(facts, idea, start.room, arms, prior):
            # Rounded, so that what is equally far is chosen by name.
            walk_m = round(walking.plan_m(start, plan), 6)
            if walk_m == math.inf:
                continue
            if best is None or (walk_m, plan) < (best.walk_m, best.plan):
                best = LeastWalk(idea, plan, walk_m)
    return best


def _nearly_shortest(
    facts: HouseFacts, walking: Walking, wanted: Wanted, start: Stand, arms: int
) -> Iterator[Idea]:
    rough = [
        (walk_m, idea)
        for idea in _readings(wanted)
        if (walk_m := _rough_m(walking, idea, start, arms)) < math.inf
    ]
    rough.sort(key=lambda one: (one[0], tuple(one[1].letters.items())))
    fitting = (idea for _, idea in rough if _fits(facts, walking, idea))
    yield from islice(fitting, _MOST_WALKED)


def _readings(wanted: Wanted) -> Iterator[Idea]:
    """The idea with each choice of names."""
    idea = wanted.idea
    for target, second, nest, place in product(
        wanted.targets, wanted.seconds or ("",), wanted.nests or ("",), wanted.places or ("",)
    ):
        names = [name for name in (target, second, nest, place) if name]
        if len(set(names)) == len(names):
            yield replace(
                idea,
                target=target,
                second=second,
                nest=_to(idea.nest, nest),
                place=_to(idea.place, place),
            )


def _to(link: Link | None, name: str) -> Link | None:
    return None if link is None or not name else Link(link.relation, name)


def _rough_m(walking: Walking, idea: Idea, start: Stand, arms: int) -> float:
    """The least walk from middle to middle, whatever has to be opened."""
    place = idea.place.name if idea.place else ""
    if idea.nest is not None:
        return _through_m(walking, start, idea.target, idea.nest.name, place)
    if not idea.second:
        return _through_m(walking, start, idea.target, *([place] if place else []))
    one, other = idea.target, idea.second
    ways: list[tuple[str, ...]] = [(one, place, other, place)]
    if arms > 1:
        ways += [(one, other, place), (other, one, place)]
    return min(_through_m(walking, start, *way) for way in ways)


def _through_m(walking: Walking, start: Stand, *names: str) -> float:
    total, at = 0.0, start
    for name in names:
        total += walking.rough_m(at, name)
        at = name  # type: ignore[assignment]
    return total


def _fits(facts: HouseFacts, walking: Walking, idea: Idea) -> bool:
    """Whether things go where they shall: by size, and not from where they are already."""
    place, nest = idea.place, idea.nest
    if nest is not None:
        inner, holder = walking.sized(idea.target), walking.sized(nest.name)
        if not fits_in_thing(inner, holder) or facts.holds(nest.relation, idea.target, nest.name):
            return False
    if place is None:
        return True
    moved = [nest.name] if nest else [name for name in (idea.target, idea.second) if name]
    if any(facts.holds(place.relation, name, place.name) for name in moved):
        return False
    sized: tuple[Entity, ...] = tuple(walking.sized(name) for name in moved)
    return fits_at(sized, facts.entities[place.name], _RELATIONS[place.relation])


def standing(
    facts: HouseFacts, names: Iterable[str], relation: str, others: Sequence[str]
) -> tuple[str, ...]:
    """The names that stand in a relation to one of some others."""
    return tuple(
        name
        for name in names
        if any(name != other and _stands(facts, relation, name, other) for other in others)
    )


def _stands(facts: HouseFacts, relation: str, name: str, other: str) -> bool:
    if relation not in ("CLOSE", "FACING") or other in facts.room_class:
        return facts.holds(relation, name, other)
    if facts.room_of(name) != facts.room_of(other) or not facts.holds(relation, name, other):
        return False
    one, two = facts.entities[name].middle_m, facts.entities[other].middle_m
    return relation == "CLOSE" or math.dist(one[:2], two[:2]) < _FACING_M


def wanted_of(idea: Idea, facts: HouseFacts) -> Wanted:
    """An idea as its words say it: with all of a class, if they stand as it says."""
    of_class = idea.variables(facts)
    targets, places = of_class["A"], of_class.get("C", ())
    if idea.source is not None:
        targets = standing(facts, targets, idea.source.relation, of_class["B"])
    if idea.room:
        places = standing(facts, places, "INSIDE", of_class["D"])
    return Wanted(idea, targets, of_class.get("A2", ()), of_class["B"] if idea.nest else (), places)


def with_anchors(idea: Idea, facts: HouseFacts) -> Idea:
    """An idea whose B and D are the ones that A and C stand at."""
    if idea.source is not None:
        relation = idea.source.relation
        others = facts.of_class[facts.class_of(idea.source.name)]
        anchor = next(o for o in others if standing(facts, [idea.target], relation, [o]))
        idea = replace(idea, source=Link(relation, anchor))
    if idea.room and idea.place is not None:
        idea = replace(idea, room=facts.room_of(idea.place.name))
    return idea
