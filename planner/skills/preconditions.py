"""Preconditions of calls (PARTNR-6.1, PARTNR-D44 to PARTNR-D49).

Only what a robot can know in advance: syntax, roles, abilities, belief. The backend decides about
reach, visibility, doors and free space.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.evaluation.task import NEXT_TO_M
from planner.skills.attempt import Attempt
from planner.skills.grounding import Target, ground
from planner.skills.results import RefusalError, no_placement
from planner.world.beside import parts_beside
from planner.world.catalogue import default_catalogue
from planner.world.receptacle import part_by_word
from planner.world.skill import Role, SkillCode
from planner.world.vocabulary import Relation

NEXT_TO = "next_to"

ENTITY_ROLES = frozenset(
    {
        Role.OBJECT,
        Role.FURNITURE,
        Role.RECEPTACLE,
        Role.ROOM,
        Role.OBJECT_OR_FURNITURE,
        Role.TARGET,
        Role.REFERENCE,
    }
)

_RELATIONS = {"on": Relation.ON, "within": Relation.WITHIN}


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's interpreted arguments; absent ones are None.

    Attributes:
        entities: all that the call names, in its order.
        target: the first of them; for Place the furniture.
        thing: for Place, the object.
        relation: for Place.
        reference: for Place, what to put it next to.
        text: of a skill that takes free text.
    """

    target: Target | None = None
    thing: Target | None = None
    relation: Relation | None = None
    reference: Target | None = None
    text: str = ""
    entities: tuple[Target, ...] = ()


def check(attempt: Attempt) -> Arguments:
    """The call's arguments, grounded.

    Raises:
        RefusalError: with the first precondition that does not hold.
    """
    call, part, capabilities = attempt.call, attempt.part, attempt.scene.capabilities
    if not part.abilities <= capabilities.primitives:
        sentence = f"A {capabilities.kind} cannot do {call.name}."
        raise RefusalError(SkillCode.NOT_ABLE, sentence)
    if len(call.arguments) != len(part.roles):
        sentence = f"{call.name} takes {len(part.roles)} arguments, not {len(call.arguments)}."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)
    arguments = _read(attempt)
    if part.affordance is not None and arguments.target is not None:
        _check_affordance(attempt, arguments.target, part.affordance)
    for precondition in part.preconditions:
        precondition(attempt, arguments)
    return arguments


def _read(attempt: Attempt) -> Arguments:
    part = attempt.part
    if part.takes_text:
        return Arguments(text=attempt.call.arguments[0] or "")
    if not part.roles:
        return Arguments()
    named = [
        index
        for index, (role, word) in enumerate(zip(part.roles, attempt.call.arguments, strict=True))
        if role in ENTITY_ROLES and word is not None
    ]
    _check_points(attempt, len(named))
    if Role.RELATION in part.roles:
        return _read_place(attempt, named)
    found = tuple(_ground(attempt, i, role, named) for i, role in enumerate(part.roles))
    return Arguments(target=found[0], entities=found)


def _check_points(attempt: Attempt, count: int) -> None:
    """Checks that given points match the call's entities in number."""
    if attempt.points is not None and len(attempt.points) != count:
        sentence = f"The call names {count} entities and brings {len(attempt.points)} points."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)


def _ground(attempt: Attempt, index: int, role: Role, named: list[int]) -> Target:
    """The entity of an argument; `named` are the indices of arguments that name entities."""
    word = attempt.call.arguments[index]
    if word is None:
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, f"Expected {role.value}, got None.")
    point_m = None
    if attempt.points is not None:
        point_m = attempt.points[named.index(index)]
    gate_m = attempt.scene.options.grounding_gate_m
    return ground(word, role, attempt.belief, attempt.scene.layout, gate_m, point_m)


def _check_not_held_by_other(attempt: Attempt, target: Target) -> None:
    node = attempt.belief.base_of(target.node) if target.node is not None else None
    if node is None or node.relation is not Relation.HELD or node.parent == attempt.scene.agent:
        return
    sentence = f"{target.name} is held by the other agent."
    raise RefusalError(SkillCode.HELD_BY_OTHER, sentence)


def _read_place(attempt: Attempt, named: list[int]) -> Arguments:
    _, relation_word, _, constraint, reference_word = attempt.call.arguments
    relation = _RELATIONS.get((relation_word or "").lower())
    if relation is None:
        sentence = f"The relation is on or within, not {relation_word}."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)
    if constraint is not None and constraint.lower() != NEXT_TO:
        sentence = f"The constraint is {NEXT_TO} or None, not {constraint}."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)
    if (constraint is None) != (reference_word is None):
        sentence = f"{NEXT_TO} and its reference come together, or both are None."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)
    thing = _ground(attempt, 0, Role.OBJECT, named)
    target = _ground(attempt, 2, Role.RECEPTACLE, named)
    if target.is_thing:
        _check_holder(attempt, thing, target, relation)
    reference = None
    if reference_word is not None:
        reference = _ground(attempt, 4, Role.REFERENCE, named)
        _check_reference(thing, target, relation, reference)
    entities = (thing, target, *((reference,) if reference is not None else ()))
    return Arguments(target, thing, relation, reference, entities=entities)


def _check_holder(attempt: Attempt, thing: Target, target: Target, relation: Relation) -> None:
    """A thing can be put into, or onto, another one that has a hollow or a top for it."""
    node = target.node
    # In a graph world its properties say so, which only the world knows.
    by_class = attempt.scene.layout.graph is None
    if node is None or (by_class and part_by_word(node.class_name, relation) is None):
        part = "top" if relation is Relation.ON else "inside"
        sentence = f"{no_placement(target.name)} {target.name} has no {part}."
        raise RefusalError(SkillCode.NO_PLACEMENT, sentence)
    base = attempt.belief.base_of(node)
    if thing.name in (node.name, base.name) or base.parent == attempt.scene.agent:
        sentence = f"{no_placement(target.name)} {target.name} is in the agent's own hand."
        raise RefusalError(SkillCode.NO_PLACEMENT, sentence)
    if base.relation is Relation.HELD:
        sentence = f"{target.name} is held by the other agent."
        raise RefusalError(SkillCode.HELD_BY_OTHER, sentence)


# Preconditions for records


def hand_is_free(attempt: Attempt, arguments: Arguments) -> None:
    """A hand of the agent is free, and the first entity is in no other agent's.

    Raises:
        RefusalError: otherwise.
    """
    # PARTNR-D49: in the paper's second failure trace nothing checked this.
    held_already = arguments.entities and arguments.entities[0].name in attempt.held
    if held_already or None not in attempt.hands:
        raise RefusalError(SkillCode.ALREADY_HOLDING, attempt.already_holding())
    if arguments.entities:
        _check_not_held_by_other(attempt, arguments.entities[0])


def thing_is_in_hand(attempt: Attempt, arguments: Arguments) -> None:
    """A hand of the agent holds the first entity.

    Raises:
        RefusalError: otherwise.
    """
    thing = arguments.entities[0]
    if thing.name not in attempt.held:
        raise RefusalError(SkillCode.NOT_HOLDING, f"The agent is not holding {thing.name}.")


def thing_can_be_fetched(attempt: Attempt, arguments: Arguments) -> None:
    """The agent holds the first entity, or can pick it up: as in Rearrange.

    Raises:
        RefusalError: otherwise.
    """
    if arguments.entities[0].name not in attempt.held:
        hand_is_free(attempt, arguments)


def _check_reference(thing: Target, target: Target, relation: Relation, reference: Target) -> None:
    """A thing must be on the target already (PARTNR-6.1, PARTNR-C26), furniture beside it."""
    if reference.is_thing and reference.name != thing.name:
        node = reference.node
        if node is not None and node.parent in (target.name, target.piece and target.piece.name):
            return
    elif reference.piece is not None:
        if target.is_floor and reference.room == target.room:
            return
        piece = target.piece
        if piece is not None and parts_beside(piece, relation, reference.piece, NEXT_TO_M):
            return
        sentence = f"{no_placement(target.name)} It has no place next to {reference.name}."
        raise RefusalError(SkillCode.REFERENCE_ELSEWHERE, sentence)
    sentence = f"{no_placement(target.name)} {reference.name} is not on {target.name}."
    raise RefusalError(SkillCode.REFERENCE_ELSEWHERE, sentence)


def _check_affordance(attempt: Attempt, target: Target, needed: str) -> None:
    known = _affordances(target)
    if known is not None and needed not in known:
        sentence = f"{target.name} is not {needed}."
        raise RefusalError(SkillCode.NO_AFFORDANCE, sentence)
    if target.is_thing:
        _check_not_held_by_other(attempt, target)


def _affordances(target: Target) -> tuple[str, ...] | None:
    """The affordances of an entity; None if unknown."""
    if target.piece is not None:
        return target.piece.affordances
    if target.is_floor:
        return ()
    node = target.node
    if node is None:
        return None
    if node.affordances:
        return tuple(node.affordances)
    cls = default_catalogue().objects.get(node.class_name)
    return cls.affordances if cls is not None else None
