"""A world that is only perceived, such as a real robot's, as states that can be judged.

The predicates then work on the boxes that the memory has (spec/partnr.md 13.4); every result says
so by its variant, because what was not seen, or seen wrongly, is judged as it is believed to be.
"""

from __future__ import annotations

from planner.world.belief import Belief, BeliefNode
from planner.world.geometry import Pose
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind

# A real world has no simulation steps: PARTNR's simulator makes 30 of them a second.
STEPS_PER_S = 30.0
FLOOR_CLASS = "floor"


def perceived_state(
    belief: Belief, house: str, episode_id: str, start_s: float = 0.0
) -> WorldState:
    """What is believed, as a state of the world.

    Args:
        belief: the memory's snapshot; its boxes stand upright along the map's axes.
        house: name of the layout.
        episode_id: of the task.
        start_s: when the task began, seconds of the belief's clock; the state's step counts
            thirtieths of a second from there.
    """
    return WorldState(
        stamp_s=belief.stamp_s,
        step=max(0, round((belief.stamp_s - start_s) * STEPS_PER_S)),
        revision=belief.sequence,
        house=house,
        episode_id=episode_id,
        entities={
            name: _entity(node)
            for name, node in belief.nodes.items()
            if node.class_name != FLOOR_CLASS
        },
    )


def _entity(node: BeliefNode) -> EntityState:
    x, y, z = node.position_m
    is_room = node.kind is EntityKind.ROOM
    return EntityState(
        name=node.name,
        kind=node.kind,
        class_name=node.class_name,
        instance_id=node.entity_id or 0,
        pose=Pose((x, y, z - node.size_m[2] / 2)),
        size_m=node.size_m,
        parent=node.parent,
        relation=node.relation,
        room=node.name if is_room else node.room,
        affordances=node.affordances,
        states=dict(node.states) or None,
        openness=node.openness,
        holding=node.holding,
    )
