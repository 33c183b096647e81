"""Ground truth as planner_msgs/WorldState; `planner.world.wire` reads it back."""

from __future__ import annotations

from geometry_msgs.msg import Vector3
from planner_msgs.msg import EntityState as EntityMessage
from planner_msgs.msg import NamedState
from planner_msgs.msg import WorldState as WorldMessage

from planner.ros.conversions import header, pose_message
from planner.world.look import look_states
from planner.world.state import EntityState
from planner.world.state_updates import StateUpdate
from planner.world.vocabulary import EntityKind

_KIND_NUMBERS = {
    EntityKind.ROOM: EntityMessage.KIND_ROOM,
    EntityKind.FURNITURE: EntityMessage.KIND_FURNITURE,
    EntityKind.OBJECT: EntityMessage.KIND_OBJECT,
    EntityKind.AGENT: EntityMessage.KIND_AGENT,
}


class StateMessages:
    """Builds messages of updates; messages of unchanged entities are cached.

    A keyframe has some hundred entities, and building one takes 20 us.
    """

    def __init__(self) -> None:
        self._made: dict[str, tuple[EntityState, EntityMessage]] = {}

    def message(self, update: StateUpdate) -> WorldMessage:
        """The message of an update, in frame `map`."""
        state = update.state
        made = {name: self._of(entity) for name, entity in state.entities.items()}
        if update.keyframe:
            self._made = made
        else:
            self._made.update(made)
        return WorldMessage(
            header=header(state.stamp_s, "map"),
            house=state.house,
            episode_id=state.episode_id,
            revision=state.revision,
            sim_step=state.step,
            keyframe=update.keyframe,
            sequence=update.sequence or 0,
            entities=[message for _, message in made.values()],
            removed=list(update.removed),
        )

    def _of(self, entity: EntityState) -> tuple[EntityState, EntityMessage]:
        known = self._made.get(entity.name)
        return known if known and known[0] is entity else (entity, entity_message(entity))


def entity_message(entity: EntityState) -> EntityMessage:
    """The message of one entity."""
    states = {**(entity.states or {}), **look_states(entity.look)}
    depth_m, width_m, height_m = map(float, entity.size_m)
    return EntityMessage(
        kind=_KIND_NUMBERS[entity.kind],
        name=entity.name,
        class_name=entity.class_name,
        instance_id=entity.instance_id,
        parent=entity.parent or "",
        relation=entity.relation or "",
        room=entity.room or "",
        pose=pose_message(entity.pose),
        size=Vector3(x=depth_m, y=width_m, z=height_m),
        affordances=[str(affordance) for affordance in entity.affordances],
        states=[NamedState(name=str(name), value=value) for name, value in states.items()],
        openness=-1.0 if entity.openness is None else float(entity.openness),
        holding=entity.holding or "",
        hands=[name or "" for name in entity.hands],
    )
