"""Full observability (PARTNR-5.2): a belief equal to ground truth, for privileged planners."""

from __future__ import annotations

from planner.memory.wording import describe
from planner.world.belief import Belief, BeliefNode, Source
from planner.world.entity import FIRST_ID
from planner.world.state import WorldState
from planner.world.vocabulary import EntityKind


def full_belief(state: WorldState) -> Belief:
    """A belief with every entity as it is, numbered in the order of names."""
    nodes: dict[str, BeliefNode] = {}
    number = FIRST_ID
    order = {EntityKind.ROOM: 0, EntityKind.FURNITURE: 1, EntityKind.OBJECT: 2, EntityKind.AGENT: 3}
    for entity in sorted(state.entities.values(), key=lambda e: (order[e.kind], e.name)):
        numbered = entity.kind is EntityKind.OBJECT or (
            entity.kind is EntityKind.FURNITURE and entity.class_name != "floor"
        )
        x, y, z = entity.pose.position_m
        nodes[entity.name] = BeliefNode(
            name=entity.name,
            kind=entity.kind,
            class_name=entity.class_name,
            entity_id=number if numbered else None,
            position_m=(x, y, z + entity.size_m[2] / 2),
            size_m=entity.size_m,
            room=entity.name if entity.kind is EntityKind.ROOM else entity.room,
            parent=entity.parent,
            relation=entity.relation,
            affordances=entity.affordances,
            states=entity.states or {},
            openness=entity.openness,
            hands=entity.hands,
            source=Source.TOLD,
            stamp_s=state.stamp_s,
            description=describe(entity.class_name, entity.states) if numbered else "",
            look=entity.look,
            heading_rad=entity.pose.yaw_rad if entity.kind is EntityKind.AGENT else None,
        )
        number += int(numbered)
    return Belief(state.stamp_s, state.revision, nodes)
