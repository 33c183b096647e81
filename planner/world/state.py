"""Ground truth at one time, for the evaluator and privileged updaters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planner.world.geometry import Box, Pose, Vec3
from planner.world.hands import Hands, first_held
from planner.world.look import UNKNOWN_LOOK, Look
from planner.world.record import record
from planner.world.vocabulary import EntityKind, Relation


@record
class EntityState:
    """One entity.

    Attributes:
        instance_id: the value in instance images; 0 for rooms.
        pose: of the entity's frame in `map`: middle of the underside, z up.
        size_m: full extent along the entity's own axes.
        parent: what it is on, within or held by; a furniture's room; None for a room.
        relation: None for rooms, furniture and agents.
        room: None outside every room.
        states: only those that the entity's affordances give it.
        openness: 0 closed to 1 open; None if nothing opens.
        hands: what each hand of an agent holds.
        look: of furniture and objects.
    """

    name: str
    kind: EntityKind
    class_name: str
    instance_id: int
    pose: Pose
    size_m: Vec3
    parent: str | None
    relation: Relation | None
    room: str | None
    affordances: tuple[str, ...] = ()
    states: Mapping[str, bool] | None = None
    openness: float | None = None
    hands: Hands = ()
    look: Look = UNKNOWN_LOOK

    @property
    def holding(self) -> str | None:
        """What the first full hand of an agent holds."""
        return first_held(self.hands)

    @property
    def box(self) -> Box:
        """The axis-aligned box around the entity in `map`."""
        x, y, z = self.pose.position_m
        return Box.around((x, y, z + self.size_m[2] / 2), self.size_m, self.pose.yaw_rad)


def chain_of(entities: Mapping[str, EntityState], name: str) -> Iterator[EntityState]:
    """A thing, the thing that it is on or in, and so on, until a parent that is not a thing.

    In a cycle, which only a broken message can have, each entity occurs once.
    """
    seen: set[str] = set()
    entity = entities.get(name)
    while entity is not None and entity.kind is EntityKind.OBJECT and entity.name not in seen:
        seen.add(entity.name)
        yield entity
        entity = entities.get(entity.parent or "")


@record
class WorldState:
    """The whole world at `stamp_s`; `revision` increases with every change except of time."""

    stamp_s: float
    step: int
    revision: int
    house: str
    episode_id: str
    entities: Mapping[str, EntityState]
