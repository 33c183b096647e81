"""Sizes, speeds, cameras and abilities of each kind of agent (config/agents.yaml)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from planner.world.belief import Belief
from planner.world.files import FileModel, read_model
from planner.world.geometry import Vec3
from planner.world.hands import MAX_HANDS, Hand
from planner.world.primitive import Capabilities, DriveLimits, PrimitiveName, primitive_named
from planner.world.shapes import Part
from planner.world.share import config_dir
from planner.world.vocabulary import AgentKind, EntityKind

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
