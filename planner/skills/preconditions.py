"""What must hold before a call may touch the world (PARTNR-6.1, PARTNR-D44 to PARTNR-D49).

Only what a robot can know beforehand: syntax, roles, abilities, what is believed.
Reach, sight, doors and free space are the backend's to judge.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.skills.attempt import Attempt
from planner.skills.grounding import Target, ground
from planner.skills.results import RefusalError, no_placement
from planner.world.catalogue import default_catalogue
from planner.world.primitive import PrimitiveName
from planner.world.skill import ARGUMENT_ROLES, FREE_TEXT_TOOLS, Role, SkillCode, SkillName
from planner.world.vocabulary import Affordance, Relation

NEXT_TO = "next_to"

_WALKING = frozenset({PrimitiveName.NAVIGATE})
_LOOKING = frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK})

ABILITIES: dict[str, frozenset[PrimitiveName]] = {
    SkillName.NAVIGATE: _WALKING,
    SkillName.EXPLORE: _LOOKING,
    SkillName.EXPLORE_FURNITURE: _LOOKING,
    SkillName.OPEN: frozenset({PrimitiveName.OPEN}),
    SkillName.CLOSE: frozenset({PrimitiveName.CLOSE}),
    SkillName.PICK: frozenset({PrimitiveName.PICK}),
    SkillName.PLACE: frozenset({PrimitiveName.PLACE}),
    SkillName.REARRANGE: _WALKING | {PrimitiveName.PICK, PrimitiveName.PLACE},
    SkillName.CLEAN: frozenset({PrimitiveName.CLEAN}),
    SkillName.FILL: frozenset({PrimitiveName.FILL}),
    SkillName.POUR: frozenset({PrimitiveName.POUR}),
    SkillName.POWER_ON: frozenset({PrimitiveName.POWER_ON}),
    SkillName.POWER_OFF: frozenset({PrimitiveName.POWER_OFF}),
}

NEEDED_AFFORDANCE: dict[str, Affordance] = {
    SkillName.CLEAN: Affordance.CLEANABLE,
    SkillName.FILL: Affordance.FILLABLE,
    SkillName.POUR: Affordance.FILLABLE,
    SkillName.POWER_ON: Affordance.POWERABLE,
    SkillName.POWER_OFF: Affordance.POWERABLE,
}

ENTITY_ROLES = frozenset(
    {
        Role.OBJECT,
        Role.FURNITURE,
        Role.ROOM,
        Role.OBJECT_OR_FURNITURE,
        Role.TARGET,
        Role.REFERENCE,
    }
)

_RELATIONS = {"on": Relation.ON, "within": Relation.WITHIN}
_PLACING = frozenset({SkillName.PLACE, SkillName.REARRANGE})


@dataclass(frozen=True, slots=True)
class Arguments:
    """A call's arguments as the skills read them; absent ones are None."""

    target: Target | None = None
    thing: Target | None = None
    relation: Relation | None = None
    reference: Target | None = None
    text: str = ""


def able(skill: str, primitives: frozenset[PrimitiveName]) -> bool:
    """Whether an agent with these primitives can do the skill."""
    return ABILITIES.get(skill, frozenset()) <= primitives


def check(attempt: Attempt) -> Arguments:
    """The call's arguments, grounded.

    Raises:
        RefusalError: with the first precondition that does not hold.
    """
    call, capabilities = attempt.call, attempt.scene.capabilities
    if not able(call.name, capabilities.primitives):
        sentence = f"A {capabilities.kind} cannot do {call.name}."
        raise RefusalError(SkillCode.NOT_ABLE, sentence)
    roles = ARGUMENT_ROLES[call.name]
    if len(call.arguments) != len(roles):
        sentence = f"{call.name} takes {len(roles)} arguments, not {len(call.arguments)}."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)
    if call.name in FREE_TEXT_TOOLS:
        return Arguments(text=call.arguments[0] or "")
    if call.name in _PLACING:
        return _check_place(attempt)
    if not roles:
        return Arguments()
    _check_points(attempt)
    target = _ground(attempt, 0, roles[0])
    if call.name == SkillName.PICK:
        _check_pick(attempt, target)
    if call.name in NEEDED_AFFORDANCE:
        _check_affordance(attempt, target)
    if call.name == SkillName.POUR:
        _check_pour(attempt, target)
    return Arguments(target=target)


def _check_points(attempt: Attempt) -> None:
    """Where points are given, there is one for each entity of the call."""
    if attempt.points is None:
        return
    wanted = len(_entities(attempt))
    if len(attempt.points) != wanted:
        sentence = f"The call names {wanted} entities and brings {len(attempt.points)} points."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)


def _entities(attempt: Attempt) -> list[int]:
    """The positions of the arguments that name entities."""
    roles = ARGUMENT_ROLES[attempt.call.name]
    pairs = zip(roles, attempt.call.arguments, strict=True)
    return [i for i, (role, word) in enumerate(pairs) if role in ENTITY_ROLES and word is not None]


def _ground(attempt: Attempt, index: int, role: Role) -> Target:
    word = attempt.call.arguments[index]
    if word is None:
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, f"None is no {role.value}.")
    point_m = None
    if attempt.points is not None:
        point_m = attempt.points[_entities(attempt).index(index)]
    gate_m = attempt.scene.options.grounding_gate_m
    return ground(word, role, attempt.belief, attempt.scene.layout, gate_m, point_m)


def _check_pick(attempt: Attempt, target: Target) -> None:
    # PARTNR-D49: the paper's second failure trace exists because nobody checked this.
    holding = attempt.holding
    if holding is not None:
        sentence = f"The agent is already holding {holding}."
        raise RefusalError(SkillCode.ALREADY_HOLDING, sentence)
    _check_not_held_by_other(attempt, target)


def _check_not_held_by_other(attempt: Attempt, target: Target) -> None:
    node = target.node
    if node is None or node.relation is not Relation.HELD or node.parent == attempt.scene.agent:
        return
    sentence = f"{target.name} is held by the other agent."
    raise RefusalError(SkillCode.HELD_BY_OTHER, sentence)


def _check_place(attempt: Attempt) -> Arguments:
    _, relation_word, _, constraint, reference_word = attempt.call.arguments
    _check_points(attempt)
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
    thing = _ground(attempt, 0, Role.OBJECT)
    target = _ground(attempt, 2, Role.FURNITURE)
    reference = None
    if reference_word is not None:
        reference = _ground(attempt, 4, Role.REFERENCE)
        _check_reference(thing, target, reference)
    _check_hand(attempt, thing)
    return Arguments(target, thing, relation, reference)


def _check_hand(attempt: Attempt, thing: Target) -> None:
    holding = attempt.holding
    if holding == thing.name:
        return
    if attempt.call.name == SkillName.PLACE:
        raise RefusalError(SkillCode.NOT_HOLDING, f"The agent is not holding {thing.name}.")
    if holding is not None:
        sentence = f"The agent is already holding {holding}."
        raise RefusalError(SkillCode.ALREADY_HOLDING, sentence)
    _check_not_held_by_other(attempt, thing)


def _check_reference(thing: Target, target: Target, reference: Target) -> None:
    """The reference must be on the target already (PARTNR-6.1, PARTNR-C26)."""
    if reference.is_thing and reference.name != thing.name:
        node = reference.node
        if node is not None and node.parent in (target.name, target.piece and target.piece.name):
            return
    elif reference.piece is not None and target.is_floor and reference.room == target.room:
        # Next to a table, on the floor of its room.
        return
    sentence = f"{no_placement(target.name)} {reference.name} is not on {target.name}."
    raise RefusalError(SkillCode.REFERENCE_ELSEWHERE, sentence)


def _check_affordance(attempt: Attempt, target: Target) -> None:
    needed = NEEDED_AFFORDANCE[attempt.call.name]
    known = _affordances(target)
    if known is not None and needed not in known:
        sentence = f"{target.name} is not {needed.value}."
        raise RefusalError(SkillCode.NO_AFFORDANCE, sentence)
    if target.is_thing:
        _check_not_held_by_other(attempt, target)


def _check_pour(attempt: Attempt, target: Target) -> None:
    """Pouring is from the hand into something else."""
    holding = attempt.holding
    if holding is None:
        sentence = "The agent is not holding an object to pour from."
        raise RefusalError(SkillCode.NOT_HOLDING, sentence)
    if holding == target.name:
        sentence = f"{holding} is what the agent holds: it cannot be poured into itself."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)


def _affordances(target: Target) -> tuple[Affordance, ...] | None:
    """What an entity affords as far as is known; None where it is not."""
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
