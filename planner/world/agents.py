"""Sizes, speeds, cameras and abilities of agents, and what they see in a world without images."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from planner.world.belief import Belief
from planner.world.files import FileModel, read_model
from planner.world.geometry import Vec3
from planner.world.observation import Sighting
from planner.world.primitive import Capabilities, DriveLimits, PrimitiveName, primitive_named
from planner.world.shapes import Part
from planner.world.share import config_dir
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import MAX_HANDS, AgentKind, EntityKind, Hand, Relation, is_open

KnownPrimitive = Annotated[str, AfterValidator(primitive_named)]
Positive = Annotated[float, Field(gt=0)]


class CameraMount(FileModel):
    """A pinhole camera: pose in `base_link`, rest tilt (down positive), intrinsics."""

    position_m: Vec3
    tilt_rad: float
    width_px: Annotated[int, Field(ge=16, le=4096)] = 384
    height_px: Annotated[int, Field(ge=16, le=4096)] = 384
    horizontal_fov_rad: Annotated[float, Field(gt=0.2, lt=2.8)]
    near_m: Positive = 0.05
    far_m: Positive = 20.0


class Body(FileModel):
    """One kind of agent.

    `hand_m` is the resting right or only hand in `base_link`; a left one is its mirror image. Reach
    is horizontal.
    """

    kind: AgentKind
    radius_m: Positive
    height_m: Positive
    speed_m_s: Positive
    turn_speed_rad_s: Positive
    look_speed_rad_s: Positive
    reach_m: Positive
    reach_height_m: tuple[float, float]
    hands: Annotated[int, Field(ge=1, le=MAX_HANDS)] = 1
    hand_m: Vec3
    primitives: tuple[KnownPrimitive, ...]
    cameras: dict[Literal["hand", "body"], CameraMount]
    parts: tuple[Part, ...]

    def hand_at_m(self, hand: Hand) -> Vec3:
        """A resting hand in `base_link`."""
        x, y, z = self.hand_m
        return (x, -y if hand is Hand.LEFT else y, z)

    def capabilities(
        self,
        *,
        ground_truth: bool = False,
        primitives: Collection[str] | None = None,
        cameras: Iterable[str] | None = None,
        drives: bool = False,
    ) -> Capabilities:
        """What this body can do, with the primitives and cameras of a backend or else its own.

        `drives`: whether the backend carries out velocities, up to the speeds of this body.
        """
        named = self.primitives if primitives is None else primitives
        limits = DriveLimits(self.speed_m_s, self.turn_speed_rad_s, self.look_speed_rad_s)
        return Capabilities(
            kind=self.kind.value,
            primitives=frozenset([*named, PrimitiveName.DRIVE] if drives else named),
            cameras=tuple(self.cameras if cameras is None else cameras),
            reach_m=self.reach_m,
            radius_m=self.radius_m,
            ground_truth=ground_truth,
            hands=self.hands,
            drive=limits if drives else None,
        )


class _AgentFile(FileModel):
    version: Literal[1]
    bodies: tuple[Body, ...]


@lru_cache(maxsize=1)
def default_bodies() -> dict[AgentKind, Body]:
    """The shipped bodies by kind."""
    bodies = read_model(config_dir() / "agents.yaml", _AgentFile).bodies
    return {body.kind: body for body in bodies}


def body_of(kind: str) -> Body | None:
    """The shipped body of a kind; None for an unknown kind."""
    return _bodies_by_word().get(kind)


@lru_cache(maxsize=1)
def _bodies_by_word() -> dict[str, Body]:
    return {item.value: body for item, body in default_bodies().items()}


def capabilities_of(kind: str) -> Capabilities | None:
    """The capabilities of a body by the shipped file; None for an unknown kind."""
    body = body_of(kind)
    return None if body is None else body.capabilities()


def capabilities_of_agents(belief: Belief) -> dict[str, Capabilities]:
    """The capabilities of each believed agent by its kind; agents of unknown kinds are left out."""
    agents = {
        node.name: capabilities_of(node.class_name) for node in belief.of_kind(EntityKind.AGENT)
    }
    return {name: able for name, able in agents.items() if able is not None}


# What an agent sees in a world without images, by rules on the positions in a world state.
#
# An agent sees what is in its room, in front of it within its camera's opening angle, and not
# inside anything closed. There is no occlusion.

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
    viewer: EntityState, entities: Mapping[str, EntityState], names: Collection[str] | None = None
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
    yaw_rad = viewer.pose.yaw_rad
    half_rad = hand_angle_rad(viewer.class_name, _DEFAULT_ANGLE_RAD) / 2

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


def hand_angle_rad(kind: str, usual_rad: float) -> float:
    """The opening angle of a kind's hand camera; `usual_rad` where it has none."""
    body = body_of(kind)
    if body is None or "hand" not in body.cameras:
        return usual_rad
    return body.cameras["hand"].horizontal_fov_rad
