"""Grounds the words of a call to entities and points (EPM-2.6, PARTNR-6.1).

An entity is a remembered position. Furniture is grounded in the layout: the piece of the right role
with the nearest surface within the gate. Things can only be grounded by the backend: the remembered
position is sent together with the gate, and the backend's answer decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from planner.skills.results import RefusalError, nothing_near
from planner.world.belief import Belief, BeliefNode
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from planner.world.receptacle import holds_things
from planner.world.skill import Role, SkillCode
from planner.world.vocabulary import EntityKind

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
}


def ground(
    word: str,
    role: Role,
    belief: Belief,
    layout: House,
    gate_m: float,
    point_m: Vec3 | None = None,
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
    if target.kind not in _ALLOWED[role] or (
        role is Role.RECEPTACLE and target.is_thing and not _holds_things(target, layout)
    ):
        sentence = f"{target.name} is {_a(target.kind)}, where {_a(role)} is needed."
        raise RefusalError(SkillCode.WRONG_ROLE, sentence)
    return target


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
