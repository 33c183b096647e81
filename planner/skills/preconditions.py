"""Grounds the words of a call to entities and points, and checks its preconditions."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.evaluation.task import NEXT_TO_M
from planner.skills.attempt import Attempt
from planner.skills.results import RefusalError, no_placement, nothing_near
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.person import PERSON_CLASS
from planner.world.receptacle import holds_things, part_by_word, parts_beside
from planner.world.skill import ENTITY_ROLES, Role, SkillCode
from planner.world.vocabulary import EntityKind, Relation

# Grounds the words of a call to entities and points (EPM-2.6, PARTNR-6.1).
#
# An entity is a remembered position. Furniture is grounded in the layout: the piece of the right
# role with the nearest surface within the gate. Things can only be grounded by the backend: the
# remembered position is sent together with the gate, and the backend's answer decides.

_FLOOR = "floor_"


@dataclass(frozen=True, slots=True)
class Target:
    """The entity that an argument means.

    Attributes:
        name: as in the memory; used in texts.
        kind: furniture (including floors), room or object.
        point_m: the remembered position, map frame.
        node: the belief about it; None for a room or piece known only from the layout.
        piece: the furniture of the layout, or None.
        room: for a floor or a room, that room; for furniture the room it stands in.
    """

    name: str
    kind: EntityKind
    point_m: Vec3
    node: BeliefNode | None = None
    piece: Furniture | None = None
    room: str | None = None

    @property
    def is_floor(self) -> bool:
        """Whether it is the floor of a room."""
        return self.kind is EntityKind.FURNITURE and self.piece is None

    @property
    def is_thing(self) -> bool:
        """Whether it is a movable object."""
        return self.kind is EntityKind.OBJECT


_ALLOWED: dict[Role, frozenset[EntityKind]] = {
    Role.OBJECT: frozenset({EntityKind.OBJECT}),
    Role.FURNITURE: frozenset({EntityKind.FURNITURE}),
    Role.RECEPTACLE: frozenset({EntityKind.FURNITURE, EntityKind.OBJECT}),
    Role.ROOM: frozenset({EntityKind.ROOM}),
    Role.OBJECT_OR_FURNITURE: frozenset({EntityKind.OBJECT, EntityKind.FURNITURE}),
    Role.TARGET: frozenset({EntityKind.OBJECT, EntityKind.FURNITURE, EntityKind.ROOM}),
    Role.REFERENCE: frozenset({EntityKind.OBJECT, EntityKind.FURNITURE}),
    Role.PERSON: frozenset({EntityKind.OBJECT}),
    Role.DESTINATION: frozenset({EntityKind.FURNITURE, EntityKind.ROOM}),
}


def ground(
    word: str, role: Role, belief: Belief, layout: House, gate_m: float, point_m: Vec3 | None = None
) -> Target:
    """The entity that an argument of this role means.

    Args:
        word: the argument.
        role: what it must be.
        belief: for remembered positions.
        layout: the rooms and the furniture.
        gate_m: maximum distance between a surface and the position.
        point_m: the position given by the caller, instead of the memory's.

    Raises:
        RefusalError: if it is unknown, has another role, or cannot be grounded.
    """
    node = belief.find(word)
    if point_m is not None:
        node = _at(node, word, role, point_m)
    if node is None:
        target = _of_layout(word, layout)
        if target is None:
            raise RefusalError(SkillCode.UNKNOWN_ENTITY, f"{word} is not known.")
    else:
        target = _of_node(node, role, layout, gate_m)
    if (
        target.kind not in _ALLOWED[role]
        or (role is Role.RECEPTACLE and target.is_thing and not _holds_things(target, layout))
        or (role is Role.PERSON and not _is_person(target))
    ):
        sentence = f"{target.name} is {_a(target.kind)}, where {_a(role)} is needed."
        raise RefusalError(SkillCode.WRONG_ROLE, sentence)
    return target


def _is_person(target: Target) -> bool:
    # Of a point that a caller gives, only the world knows what is there.
    return target.node is not None and target.node.class_name in (PERSON_CLASS, "")


def _at(node: BeliefNode | None, word: str, role: Role, point_m: Vec3) -> BeliefNode:
    """The entity at a point given by the caller, which may have an unknown name."""
    if node is not None:
        return replace(node, position_m=point_m)
    is_furniture = role in (Role.FURNITURE, Role.RECEPTACLE)
    kind = EntityKind.FURNITURE if is_furniture else EntityKind.OBJECT
    return BeliefNode(word, kind, "", None, point_m)


def furniture_at(point_m: Vec3, layout: House, gate_m: float) -> Furniture | None:
    """The piece of the layout with the surface nearest to a point, within the gate."""
    ranked = [
        (piece.box.distance_m(point_m), math.dist(piece.box.center_m, point_m), index)
        for index, piece in enumerate(layout.furniture)
    ]
    best = min(ranked, default=None)
    if best is None or best[0] > gate_m:
        return None
    return layout.furniture[best[2]]


def _of_layout(word: str, layout: House) -> Target | None:
    """Rooms, floors and furniture are known from the layout, even with an empty memory."""
    piece = layout.furniture_by_name.get(word)
    if piece is not None:
        return _furniture(piece, None)
    room = word.removeprefix(_FLOOR)
    if room not in layout.rooms_by_name:
        return None
    middle = layout.rooms_by_name[room].shape.representative_point()
    kind = EntityKind.ROOM if room == word else EntityKind.FURNITURE
    return Target(word, kind, (middle.x, middle.y, 0.0), room=room)


def _of_node(node: BeliefNode, role: Role, layout: House, gate_m: float) -> Target:
    is_floor = node.kind is EntityKind.FURNITURE and node.class_name == "floor"
    if node.kind is EntityKind.ROOM or is_floor:
        target = _of_layout(node.name, layout)
        if target is None:
            raise RefusalError(SkillCode.NOT_GROUNDED, nothing_near(node.position_m))
        return target
    # In a graph world a thing may be of any class, and the memory names nothing in free text.
    unsure = layout.graph is None and _may_be_furniture(node, role)
    if node.kind is EntityKind.FURNITURE or unsure:
        return _furniture(_piece_of(node, layout, gate_m), node)
    return Target(node.name, node.kind, node.position_m, node, room=node.room)


def _may_be_furniture(node: BeliefNode, role: Role) -> bool:
    """A learned memory names furniture in free text and cannot tell it from objects."""
    if role not in (Role.FURNITURE, Role.RECEPTACLE) or node.kind is not EntityKind.OBJECT:
        return False
    return default_catalogue().object_name(node.class_name) is None


def _piece_of(node: BeliefNode, layout: House, gate_m: float) -> Furniture:
    # Prefer its own piece at equal distance: a chair under a table is inside the table's box.
    own = layout.furniture_by_name.get(node.name)
    if own is not None and own.box.distance_m(node.position_m) <= gate_m:
        return own
    piece = furniture_at(node.position_m, layout, gate_m)
    if piece is None:
        raise RefusalError(SkillCode.NOT_GROUNDED, nothing_near(node.position_m))
    return piece


def _furniture(piece: Furniture, node: BeliefNode | None) -> Target:
    name = node.name if node is not None else piece.name
    point = node.position_m if node is not None else piece.box.center_m
    return Target(name, EntityKind.FURNITURE, point, node, piece, piece.room)


def _holds_things(target: Target, layout: House) -> bool:
    # In a graph world its properties say so, which only the world knows.
    return layout.graph is not None or (
        target.node is not None and holds_things(target.node.class_name)
    )


def _a(word: str) -> str:
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


NEXT_TO = "next_to"

_RELATIONS = {"on": Relation.ON, "within": Relation.WITHIN}


def required(target: Target | None) -> Target:
    """What the preconditions made sure of."""
    if target is None:
        raise ValueError("internal error: no target after the preconditions")
    return target


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


def grounded(attempt: Attempt) -> Arguments:
    """The call's arguments, grounded.

    Raises:
        RefusalError: with the first that the body or an argument does not satisfy.
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
    found = tuple(
        _ground(attempt, i, role, named)
        for i, role in enumerate(part.roles)
        if role is not Role.TEXT and (role is not Role.DESTINATION or i in named)
    )
    text = attempt.call.arguments[-1] if part.roles[-1] is Role.TEXT else None
    return Arguments(target=found[0], entities=found, text=text or "")


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
