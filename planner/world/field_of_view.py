"""What an agent sees in a world without images, by rules on the positions in a world state.

An agent sees what is in its room, in front of it within its camera's opening angle, and not inside
anything closed. There is no occlusion.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping

from planner.world.agents import body_of
from planner.world.geometry import Vec3
from planner.world.observation import Sighting
from planner.world.openness import is_open
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation

_DEFAULT_ANGLE_RAD = 1.25
# Things this close are seen in any direction, since the agent stands at them.
_AT_HAND_M = 0.3


def sightings(
    state: WorldState, agent: str, names: Collection[str] | None = None
) -> Iterator[Sighting]:
    """What an agent sees now; nothing if there is no such agent.

    Args:
        state: of the world.
        agent: who looks.
        names: of the entities to look for, and the order of the sightings; None = all of the world.
    """
    viewer = state.entities.get(agent)
    if viewer is not None:
        yield from sightings_of(viewer, state.entities, names)


def sightings_of(
    viewer: EntityState,
    entities: Mapping[str, EntityState],
    names: Collection[str] | None = None,
) -> Iterator[Sighting]:
    """`sightings` of an agent that may stand elsewhere than the world says."""
    (x, y, _), room, in_view = viewer.pose.position_m, viewer.room, view_of(viewer)
    for name in entities if names is None else names:
        entity = entities.get(name)
        if entity is None or entity.room != room:
            continue
        if entity.kind is EntityKind.ROOM or name == viewer.name:
            continue
        point = _middle(entity)
        if in_view(point) and not is_enclosed(entity, entities):
            away_m = math.hypot(point[0] - x, point[1] - y)
            yield Sighting(name, 1.0, max(away_m, _AT_HAND_M), (0.0, 0.0), point)


def faces(viewer: EntityState, point_m: Vec3) -> bool:
    """Whether a point is in front of an agent, within its camera's opening angle."""
    return view_of(viewer)(point_m)


def view_of(viewer: EntityState) -> Callable[[Vec3], bool]:
    """`faces` of one agent, for many points."""
    x, y, _ = viewer.pose.position_m
    yaw_rad, half_rad = viewer.pose.yaw_rad, _angle_rad(viewer.class_name) / 2

    def in_view(point_m: Vec3) -> bool:
        dx, dy = point_m[0] - x, point_m[1] - y
        if math.hypot(dx, dy) <= _AT_HAND_M:
            return True
        turn_rad = math.remainder(math.atan2(dy, dx) - yaw_rad, math.tau)
        return abs(turn_rad) <= half_rad

    return in_view


def is_enclosed(entity: EntityState, entities: Mapping[str, EntityState]) -> bool:
    """Whether an entity is, directly or indirectly, inside something closed."""
    while entity.kind is EntityKind.OBJECT:
        parent = entities.get(entity.parent or "")
        if parent is None:
            return False
        if entity.relation is Relation.WITHIN and is_open(parent.openness) is False:
            return True
        entity = parent
    return False


def _middle(entity: EntityState) -> Vec3:
    x, y, z = entity.pose.position_m
    return (x, y, z + entity.size_m[2] / 2)


def _angle_rad(kind: str) -> float:
    body = body_of(kind)
    if body is None or "hand" not in body.cameras:
        return _DEFAULT_ANGLE_RAD
    return body.cameras["hand"].horizontal_fov_rad
