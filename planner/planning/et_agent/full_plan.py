"""What the agent does where everything is known: the true plan of what the words ask for.

It is chosen by the code that makes the ground truth of generated tasks (ETPLAN-C39).
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.episodes.et_generation.categories import Category
from planner.episodes.et_generation.house_facts import HouseFacts, facts_of
from planner.episodes.et_generation.idea import Idea, Link, RelationWord
from planner.episodes.et_generation.least_walk import LeastWalk, Wanted, least_walk, standing
from planner.episodes.et_generation.walking import Stand, Walking
from planner.planning.et_agent.errand import Errand, Sought, Where
from planner.planning.et_agent.known import Known
from planner.planning.et_agent.prior import Prior
from planner.planning.et_agent.reading import is_nested
from planner.planning.et_agent.walk import Walk
from planner.world.belief import BeliefNode
from planner.world.house import House, ObjectPlacement
from planner.world.vocabulary import EntityKind, Relation

_WHERE: dict[Where, RelationWord] = {
    Where.INSIDE: "INSIDE",
    Where.ON: "ON",
    Where.CLOSE: "CLOSE",
    Where.FACING: "FACING",
}


def full_plan(
    walk: Walk, errands: Sequence[Errand], *, jointly: bool, arms: int, prior: Prior
) -> LeastWalk | None:
    """The plan with the least walk; None if no generated task asks for such a thing.

    Args:
        walk: whose knowledge is complete.
        errands: the parts of the task.
        jointly: whether they bring two things to one place.
        arms: how many things may be carried at a time.
        prior: FP for a plan that walks to furniture without its room first.
    """
    known = walk.known
    if known.room is None or any(known.hands):
        return None
    facts = facts_of(_house(walk.context.layout, list(known.entities.values())))
    wanted = _Words(known, facts).wanted(errands, jointly=jointly)
    if wanted is None:
        return None
    stand = Stand(known.here_m[:2], known.room)
    return least_walk(facts, Walking(facts), wanted, stand, arms, prior.value)


def _house(layout: House, nodes: Sequence[BeliefNode]) -> House:
    """The layout with the things that are known."""
    things = []
    for node in nodes:
        relation = node.relation
        if node.kind is not EntityKind.OBJECT or node.parent is None:
            continue
        if relation is not Relation.ON and relation is not Relation.WITHIN:
            continue
        x, y, z = node.position_m
        things.append(
            ObjectPlacement.model_construct(
                name=node.name,
                class_name=node.class_name,
                size_m=node.size_m,
                pose=(x, y, z - node.size_m[2] / 2, 0.0),
                parent=node.parent,
                relation=relation,
            )
        )
    return layout.model_copy(update={"objects": tuple(things)})


class _Words:
    """The names that the words of a task may stand for."""

    def __init__(self, known: Known, facts: HouseFacts) -> None:
        self._known, self._facts = known, facts

    def wanted(self, errands: Sequence[Errand], *, jointly: bool) -> Wanted | None:
        """What is wanted; None if it is none of the generator's forms."""
        if len(errands) == 1:
            return self._one(errands[0])
        if len(errands) != 2:
            return None
        first, second = errands
        if jointly and first.place == second.place:
            one, other = self._one(first), self._names(second.target)
            return None if one is None or not other else _with_second(one, other)
        if is_nested([first, second]):
            return self._nested(first, second)
        return None

    def _one(self, errand: Errand) -> Wanted | None:
        targets = self._names(errand.target)
        if not targets:
            return None
        if errand.place is None:
            return Wanted(Idea(Category.NAVIGATION, targets[0]), targets)
        places = self._names(errand.place)
        if not places:
            return None
        idea = Idea(Category.MANIPULATION, targets[0], place=self._link(places[0], errand))
        return Wanted(idea, targets, places=places)

    def _nested(self, first: Errand, second: Errand) -> Wanted | None:
        inner, outer = self._one(first), self._one(second)
        if inner is None or outer is None or inner.idea.place is None:
            return None
        idea = Idea(
            Category.TEMPORAL, inner.targets[0], nest=inner.idea.place, place=outer.idea.place
        )
        return Wanted(idea, inner.targets, nests=inner.places, places=outer.places)

    def _link(self, name: str, errand: Errand) -> Link:
        within = self._known.takes(name, errand.where) is Relation.WITHIN
        return Link("INSIDE" if within else "ON", name)

    def _names(self, sought: Sought) -> tuple[str, ...]:
        """By name, as equally far ones are chosen by name."""
        names = sorted(self._known.fitting(sought))
        if sought.where is None or sought.anchor is None:
            return tuple(names)
        others = self._known.fitting(sought.anchor)
        # What boxes say where that is more than the memory knows, as who faces whom.
        return standing(self._facts, names, _WHERE[sought.where], others) or tuple(names)


def _with_second(one: Wanted, other: tuple[str, ...]) -> Wanted:
    idea = Idea(Category.TWO_OBJECTS, one.targets[0], second=other[0], place=one.idea.place)
    return Wanted(idea, one.targets, seconds=other, places=one.places)
