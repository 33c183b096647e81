"""What an agent senses, with noise; requests for pictures, and ray casting."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from planner.world.agents import CameraMount
from planner.world.errors import PlannerError
from planner.world.geometry import FloatArray, Pose, Vec3
from planner.world.observation import (
    CameraFrame,
    DepthImage,
    InstanceImage,
    Intrinsics,
    Observation,
    RgbImage,
)
from sim_bridge.embedded.entities import Agent, Piece, Thing
from sim_bridge.embedded.sensor_model import SHINY
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.geometry import PAN_JOINT, TILT_JOINT

# The request for a picture and its result, whatever the renderer.


@dataclass(frozen=True, slots=True)
class View:
    """A pinhole camera: `pose` is its optical frame (z forward, y down) in `map`.

    `hidden` is an instance that is left out: the body that carries the camera. Without `instances`
    no instance ids are rendered, which halves the cost.
    """

    pose: Pose
    intrinsics: Intrinsics
    near_m: float
    far_m: float
    hidden: int = -1
    ceiling: bool = True
    instances: bool = True


@dataclass(frozen=True, slots=True)
class Images:
    """(h, w, 3) uint8 colours, (h, w) float32 metres (0: nothing), (h, w) int32 instances.

    Instances may be all 0 if the view did not request them. Read-only: the images of an unchanged
    world are reused.
    """

    rgb: RgbImage
    depth_m: DepthImage
    instances: InstanceImage


def intrinsics_of(mount: CameraMount) -> Intrinsics:
    """Square pixels, principal point in the centre (pixel centres at integers)."""
    focal = mount.width_px / 2 / math.tan(mount.horizontal_fov_rad / 2)
    return Intrinsics(
        width_px=mount.width_px,
        height_px=mount.height_px,
        fx_px=focal,
        fy_px=focal,
        cx_px=(mount.width_px - 1) / 2,
        cy_px=(mount.height_px - 1) / 2,
    )


def observation(
    world: KinematicWorld,
    agent: Agent,
    cameras: Sequence[str],
    draw: Callable[[View], Images] | None,
    *,
    instances: bool = True,
) -> Observation:
    """Everything the agent senses now; pictures with or without instance ids.

    Raises:
        PlannerError: for an unknown camera.
    """
    true_base = Pose.planar(agent.x_m, agent.y_m, agent.yaw_rad)
    base = true_base
    rng = None
    errs = world.errs
    if world.is_noisy:
        rng = np.random.default_rng([world.seed, 3, agent.instance_id, world.steps])
        base = _localised(world, agent, rng)
    frames: dict[str, CameraFrame] = {}
    for name in cameras:
        mount = next((m for key, m in agent.body.cameras.items() if key == name), None)
        if mount is None or draw is None:
            known = ", ".join(agent.body.cameras)
            raise PlannerError(f"{agent.name} has no camera {name!r}; it has {known}")
        if rng is not None and rng.random() < world.options.noise.dropped_frames:
            continue
        on_base = camera_on_base(agent, name, mount)
        view = View(
            pose=true_base.compose(on_base) if errs is None else errs.camera(agent, on_base),
            intrinsics=intrinsics_of(mount),
            near_m=mount.near_m,
            far_m=mount.far_m,
            hidden=agent.instance_id,
            instances=instances or (errs is not None and errs.needs_instances),
        )
        images = draw(view)
        rgb, depth = taken(world, agent, name, images, view.intrinsics, world.steps)
        if rng is not None and world.options.noise.depth_m > 0:
            noise = rng.normal(0.0, world.options.noise.depth_m, depth.shape).astype(np.float32)
            depth = np.where(depth > 0, np.maximum(depth + noise, 1e-3), 0.0).astype(np.float32)
        frames[name] = CameraFrame(
            rgb=rgb,
            depth_m=depth,
            instances=images.instances if instances else None,
            intrinsics=view.intrinsics,
            pose=base.compose(on_base),
        )
    dx, dy, dyaw = agent.odometry_drift
    odometry = Pose.planar(agent.x_m + dx, agent.y_m + dy, agent.yaw_rad + dyaw)
    x, y, z = agent.hand_in_base()
    holding = agent.holding is not None
    return Observation(
        stamp_s=world.time_s,
        agent=agent.name,
        base=base,
        odometry=odometry,
        linear_m_s=agent.linear_m_s,
        angular_rad_s=agent.angular_rad_s,
        hand=Pose.planar(x, y, agent.pan_rad, z),
        joints={PAN_JOINT: agent.pan_rad, TILT_JOINT: agent.tilt_rad},
        gripper_opening=0.0 if holding else 1.0,
        holding=holding,
        cameras=frames,
        optical={
            name: camera_on_base(agent, name, mount) for name, mount in agent.body.cameras.items()
        },
    )


def taken(
    world: KinematicWorld,
    agent: Agent,
    camera: str,
    images: Images,
    intrinsics: Intrinsics,
    number: int,
) -> tuple[RgbImage, DepthImage]:
    """Colours and depth of a picture as the world's sensors have it; `number` is that of its time.

    With sensors that find holes by what shines, `images` need instance ids.
    """
    errs = world.errs
    if errs is None:
        return images.rgb, images.depth_m
    stream = (agent.instance_id, [*map(str, agent.body.cameras)].index(camera), number)
    shiny = _shiny(world, images.instances) if errs.needs_instances else None
    depth_m = errs.depth(images.depth_m, images.rgb, intrinsics, shiny, stream)
    return errs.colours(images.rgb, stream), depth_m


def _localised(world: KinematicWorld, agent: Agent, rng: np.random.Generator) -> Pose:
    noise = world.options.noise
    dx, dy = rng.normal(0.0, 1.0, 2) * noise.position_m
    dyaw = rng.normal(0.0, 1.0) * noise.heading_rad
    base = Pose.planar(agent.x_m + float(dx), agent.y_m + float(dy), agent.yaw_rad + float(dyaw))
    return base if world.errs is None else world.errs.localised(agent, base)


def _shiny(world: KinematicWorld, instances: InstanceImage) -> NDArray[np.bool_]:
    """(h, w) which pixels show glass or metal."""
    shines = np.zeros(int(instances.max(initial=0)) + 1, np.bool_)
    entities: list[Thing | Piece] = [*world.things.values(), *world.pieces.values()]
    for entity in entities:
        if entity.look.material in SHINY and entity.instance_id < len(shines):
            shines[entity.instance_id] = True
    return shines[instances]


def camera_on_base(agent: Agent, name: str, mount: CameraMount) -> Pose:
    """A camera's optical frame in `base_link`; the hand's follows pan and tilt."""
    if name == "hand":
        return _swung(mount.position_m, agent.pan_rad, agent.tilt_rad)
    return _swung(mount.position_m, 0.0, mount.tilt_rad)


@lru_cache(maxsize=256)
def _swung(position_m: Vec3, pan: float, tilt: float) -> Pose:
    """A camera's frame in `base_link`; cached, as cameras rarely move."""
    c, s = math.cos(pan), math.sin(pan)
    x, y, z = position_m
    position = np.array([x * c - y * s, x * s + y * c, z])
    return Pose.from_matrix(position, optical_rotation(pan, tilt))


def optical_rotation(pan_rad: float, tilt_rad: float) -> FloatArray:
    """(3, 3) rotation of an optical frame (z forward, x right, y down) in the body's frame.

    It points along the pan and down by the tilt.
    """
    cp, sp = math.cos(pan_rad), math.sin(pan_rad)
    ct, st = math.cos(tilt_rad), math.sin(tilt_rad)
    right = (sp, -cp, 0.0)
    down = (-st * cp, -st * sp, -ct)
    forward = (ct * cp, ct * sp, -st)
    return np.array([right, down, forward]).T


# Ray casting, which the rules of reach and sight need.

# A hit this near to a point is the point itself.
NEAR_M = 0.02


class Rays(Protocol):
    """Rays through the current world, in the map frame."""

    def first_hit(self, origin_m: Vec3, towards_m: Vec3) -> tuple[int, float]:
        """The first instance that a ray hits, and its distance; (-1, inf) for none.

        Agents, what they hold and ceilings are transparent; 0 is structure.
        """

    def sees(self, origin_m: Vec3, points_m: Iterable[Vec3], instances: frozenset[int]) -> bool:
        """Whether any point is in view: nothing, or one of `instances`, is hit before it."""
