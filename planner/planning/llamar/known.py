"""What the team has met: the things that actions may name, with what can be done to each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Protocol

from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue
from planner.world.house import Furniture, House
from planner.world.receptacle import part_by_word
from planner.world.record import record
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Relation


class Instances(Protocol):
    """The team's names of things."""

    @property
    def names(self) -> tuple[str, ...]:
        """All instance names, in the order in which they were first seen."""

    def entity_of(self, name: str) -> str | None:
        """The memory's name of an instance; None if there is no such instance."""


@record
class KnownThing:
    """Something that an action may name.

    Attributes:
        name: of the instance, such as `Apple_1`.
        entity: the memory's name.
        class_name: as in the memory.
        is_movable: whether it can be picked up.
        opens: whether it opens and closes.
        puts: where Put puts things; None if it holds none.
        affordances: as in the catalogue, and those that its states need.
        states: those that it is known to have.
    """

    name: str
    entity: str
    class_name: str
    is_movable: bool
    opens: bool = False
    puts: Relation | None = None
    affordances: frozenset[str] = frozenset()
    states: frozenset[str] = frozenset()


def known_things(
    names: Iterable[str], instances: Instances, belief: Belief, layout: House
) -> dict[str, KnownThing]:
    """What is known, by instance name, in the order of `names`.

    Args:
        names: the instances that may be named: the team's, or those that one robot has seen.
        instances: the team's names.
        belief: of now; what is no longer in it is left out.
        layout: for the shape of furniture.
    """
    found: dict[str, KnownThing] = {}
    for name in names:
        node = belief.nodes.get(instances.entity_of(name) or "")
        if node is not None:
            found[name] = known_thing(name, node, layout)
    return found


def known_thing(name: str, node: BeliefNode, layout: House) -> KnownThing:
    """One entity of the memory under the team's name."""
    piece = layout.furniture_by_name.get(node.name)
    is_movable = node.kind is EntityKind.OBJECT
    return KnownThing(
        name=name,
        entity=node.name,
        class_name=node.class_name,
        is_movable=is_movable,
        opens=bool(piece.joints) if piece is not None else node.openness is not None,
        puts=_thing_puts(node) if is_movable else _furniture_puts(node, piece),
        affordances=_affordances(node),
        states=frozenset(state for state, has_it in node.states.items() if has_it),
    )


def _thing_puts(node: BeliefNode) -> Relation | None:
    for relation in (Relation.WITHIN, Relation.ON):
        if part_by_word(node.class_name, relation) is not None:
            return relation
    return None


def _furniture_puts(node: BeliefNode, piece: Furniture | None) -> Relation | None:
    """Into what is open or has no top, else as things of its class are kept (LLAMAR-D22)."""
    if piece is None:
        return usual_relation().get(node.class_name, Relation.ON)
    if not piece.interiors:
        return Relation.ON if piece.surfaces else None
    if not piece.surfaces or (node.openness or 0.0) > 0:
        return Relation.WITHIN
    return usual_relation().get(node.class_name, Relation.WITHIN)


@cache
def usual_relation() -> Mapping[str, Relation]:
    """How most classes of things are kept at each class of furniture, by the catalogue."""
    weights: dict[str, Counter[Relation]] = {}
    for item in default_catalogue().objects.values():
        for place in item.places:
            weights.setdefault(place.furniture, Counter())[place.relation] += 1
    return {name: counted.most_common(1)[0][0] for name, counted in weights.items()}


def _affordances(node: BeliefNode) -> frozenset[str]:
    """Its own or its class's, and what only some states need, such as burning."""
    own = frozenset(node.affordances) or _class_affordances(node.class_name)
    if not node.states:
        return own
    affordance_of = default_states().affordance_of
    return own.union(affordance_of[state] for state in node.states if state in affordance_of)


@cache
def _class_affordances(class_name: str) -> frozenset[str]:
    catalogue = default_catalogue()
    cls = catalogue.objects.get(class_name) or catalogue.furniture.get(class_name)
    return frozenset(cls.affordances) if cls is not None else frozenset()
