"""Relations in worlds of edges: parent, relation and room, as the state has them.

The counterpart of the boxes and rays in `predicates`, used for scenes with `has_edges`.
"""

from __future__ import annotations

from collections.abc import Mapping

from planner.world.state import EntityState, chain_of
from planner.world.vocabulary import Relation

Entities = Mapping[str, EntityState]


def edge_on(entities: Entities, name: str) -> frozenset[str]:
    """What an entity is on: the floor of its room, furniture or a thing."""
    entity = entities.get(name)
    if entity is None or entity.relation is not Relation.ON or entity.parent is None:
        return frozenset()
    return frozenset({entity.parent})


def edge_inside(entities: Entities, name: str, receptacle: str) -> bool:
    """Whether an entity is in another one, or on or in something that is."""
    return any(
        entity.parent == receptacle and entity.relation is Relation.WITHIN
        for entity in chain_of(entities, name)
    )


def edge_in_room(entities: Entities, name: str, room: str) -> bool:
    """Whether an entity is anywhere in a room."""
    entity = entities.get(name)
    return entity is not None and entity.room == room
