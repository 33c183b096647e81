"""An episode's world in habitat-sim: its rendering and ray casts.

habitat-sim follows our world: changes are copied to it before each request, and the poses that it
reports are compared with ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from planner.world.agents import Body, CameraMount
from planner.world.catalogue import Catalogue
from planner.world.geometry import FloatArray, Pose, Vec3, quaternion_from_matrix, wrap_angle_rad
from planner.world.house import ObjectPlacement
from planner.world.vocabulary import AgentKind, Relation
from sim_bridge.embedded.entities import Thing
from sim_bridge.embedded.sensing import NEAR_M, Images, View, intrinsics_of
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.geometry import Ray
from sim_bridge.habitat.dataset.configs import HabitatDataset, Template
from sim_bridge.habitat.dataset.foreign import is_foreign
from sim_bridge.habitat.dataset.meshes import to_habitat
from sim_bridge.habitat.dataset.writer import export_bodies, export_things
from sim_bridge.habitat.options import Models
from sim_bridge.habitat.process import HabitatError, HabitatProcess
from sim_bridge.habitat.worker import Pictures, picture_bytes

# habitat-sim uses 32-bit floats.
_SAME_M = 1e-3
_SAME_RAD = 1e-3
_FAR_M = 100.0
# In one request, which has to be answered soon.
_RAYS_AT_ONCE = 200
# From our optical frame (x right, y down, z forward) to Habitat's cameras (x right, y up, z back).
_FLIP = np.diag([1.0, -1.0, -1.0])
# From our axes to Habitat's.
_AXES = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


@dataclass(frozen=True, slots=True)
class CameraIntrinsics:
    """The intrinsics of a camera, as far as habitat-sim distinguishes them."""

    width_px: int
    height_px: int
    fx_px: float
    near_m: float
    far_m: float

    @staticmethod
    def of(view: View) -> CameraIntrinsics:
        """A view's intrinsics."""
        lens = view.intrinsics
        return CameraIntrinsics(lens.width_px, lens.height_px, lens.fx_px, view.near_m, view.far_m)

    def asked(self) -> dict[str, float]:
        """In the worker's format."""
        hfov = 2 * math.degrees(math.atan(self.width_px / 2 / self.fx_px))
        return {
            "width": self.width_px,
            "height": self.height_px,
            "hfov_deg": hfov,
            "near_m": self.near_m,
            "far_m": self.far_m,
        }


def lenses_of(bodies: Iterable[Body]) -> dict[CameraIntrinsics, str]:
    """A name for each different camera of some bodies."""
    found: dict[CameraIntrinsics, str] = {}
    for body in bodies:
        for mount in body.cameras.values():
            found.setdefault(_lens(mount), f"lens_{len(found)}")
    return found


def _lens(mount: CameraMount) -> CameraIntrinsics:
    lens = intrinsics_of(mount)
    return CameraIntrinsics(lens.width_px, lens.height_px, lens.fx_px, mount.near_m, mount.far_m)


def memory_bytes(lenses: Iterable[CameraIntrinsics]) -> int:
    """Memory for the pictures of the largest camera."""
    return max(picture_bytes(lens.width_px, lens.height_px) for lens in lenses)


def camera_pose(pose: Pose) -> tuple[Vec3, tuple[float, float, float, float]]:
    """An optical frame of the map as position and quaternion (x, y, z, w) of a Habitat camera."""
    turn: FloatArray = _AXES @ pose.rotation() @ _FLIP
    return to_habitat(pose.position_m), quaternion_from_matrix(turn)


class Sandbox:
    """The content of a habitat-sim: one house at a time, and the things of one world."""

    def __init__(
        self, process: HabitatProcess, lenses: Mapping[CameraIntrinsics, str], gpu: int | None
    ) -> None:
        """Takes a process that has just started, and the cameras that will be used."""
        self.process = process
        self.lenses = lenses
        self._gpu = gpu
        self.house: HabitatDataset | None = None
        self.world: KinematicWorld | None = None

    def open(self, dataset: HabitatDataset) -> None:
        """Loads a house, unless it is loaded already.

        Raises:
            HabitatError: if habitat-sim cannot, or a piece of furniture is missing in it.
        """
        if self.house is dataset:
            return
        self.house = self.world = None
        reply = self.process.ask(
            "open_house",
            dataset=str(dataset.config),
            scene=dataset.empty_scene,
            gpu=self._gpu,
            cameras={name: lens.asked() for lens, name in self.lenses.items()},
            ids={name: template.semantic_id for name, template in dataset.furniture.items()},
        )
        missing = cast(Sequence[str], reply["missing"])
        if missing:
            raise HabitatError(f"{dataset.config}: the scene lacks {', '.join(missing)}")
        self.house = dataset


class HabitatScene:
    """A world rendered by habitat-sim; see `embedded.rays.Rays`."""

    def __init__(
        self,
        world: KinematicWorld,
        sandbox: Callable[[], Sandbox],
        dataset: HabitatDataset,
        catalogue: Catalogue,
        models: Models | None = None,
    ) -> None:
        """Writes the templates of the episode's things and bodies, and loads everything.

        `sandbox` returns the running habitat-sim; `models` has meshes of a data set.

        Raises:
            HabitatError: if habitat-sim cannot.
            FileError: for a model that cannot be used.
        """
        self._world, self._sandbox, self._dataset = world, sandbox, dataset
        placed = [_placement(thing) for thing in world.things.values()]
        first = len(world.pieces) + 1
        things = export_things(placed, dataset.directory, first, catalogue, models)
        kinds = {agent.body.kind: agent.body for agent in world.agents.values()}
        bodies = export_bodies(kinds, dataset.directory, models)
        self.drawn_from = _drawn_from(dataset, things, bodies)
        configs = {name: template.config for name, template in things.items()}
        configs |= {a.name: bodies[a.body.kind].config for a in world.agents.values()}
        self._things = [
            {"name": name, "template": str(config), "id": world.entity(name).instance_id}
            for name, config in configs.items()
        ]
        self._sent: dict[str, tuple[float, ...]] = {}
        # The world's at the last `sync`.
        self.revision = -1
        self.sync()

    def sync(self) -> None:
        """Copies changes to habitat-sim.

        Raises:
            HabitatError: if habitat-sim cannot, or reports other poses afterwards.
        """
        box, world = self._sandbox(), self._world
        if box.world is not world:
            box.open(self._dataset)
            box.process.ask("add", things=self._things, seed=world.seed)
            self._sent.clear()
            self.revision = -1
            box.world = world
        if self.revision == world.revision:
            return
        poses = {a.name: (a.x_m, a.y_m, 0.0, a.yaw_rad) for a in world.agents.values()}
        poses |= {t.name: (t.x_m, t.y_m, t.z_m, t.yaw_rad) for t in world.things.values()}
        moved = {name: at for name, at in poses.items() if self._sent.get(name) != at}
        opened = {
            name: {j.name: abs(j.travel) * piece.opening[j.name] for j in piece.record.joints}
            for name, piece in world.pieces.items()
            if piece.opening and self._sent.get(name) != tuple(piece.opening.values())
        }
        self._put(moved, opened)
        self._sent |= moved
        self._sent |= {name: tuple(world.pieces[name].opening.values()) for name in opened}
        self.revision = world.revision

    def _put(
        self,
        moved: Mapping[str, tuple[float, float, float, float]],
        opened: Mapping[str, Mapping[str, float]],
    ) -> None:
        asked = {n: (*to_habitat((x, y, z)), yaw) for n, (x, y, z, yaw) in moved.items()}
        reply = self._sandbox().process.ask("put", poses=asked, joints=opened)
        there = cast(Mapping[str, Sequence[float]], reply["poses"])
        for name, at in asked.items():
            x, y, z, yaw = there[name]
            apart_m = math.dist(at[:3], (x, y, z))
            if apart_m > _SAME_M or abs(wrap_angle_rad(yaw - at[3])) > _SAME_RAD:
                raise HabitatError(f"habitat-sim has {name} {apart_m:.3f} m from where it was put")
        joints = cast(Mapping[str, Mapping[str, float]], reply["joints"])
        for name, positions in opened.items():
            for joint, position in positions.items():
                if abs(joints[name][joint] - position) > _SAME_M:
                    raise HabitatError(
                        f"habitat-sim has {name}'s {joint} at {joints[name][joint]:.3f}, "
                        f"not at {position:.3f}"
                    )

    # Rendering

    def draw(self, view: View) -> Images:
        """Renders a camera's (h, w) pictures, which are not reused.

        Raises:
            HabitatError: if habitat-sim cannot, or no body has such a camera.
        """
        self.sync()
        box, lens = self._sandbox(), CameraIntrinsics.of(view)
        camera = box.lenses.get(lens)
        if camera is None:
            raise HabitatError(f"no body has a camera of {lens.width_px}x{lens.height_px}")
        hidden = next(
            (a.name for a in self._world.agents.values() if a.instance_id == view.hidden), ""
        )
        position, rotation = camera_pose(view.pose)
        box.process.ask("view", camera=camera, position=position, rotation=rotation, hidden=hidden)
        shared = Pictures(box.process.memory, lens.width_px, lens.height_px)
        depth = shared.depth.copy()
        # Nothing is measured beyond the camera's range.
        depth[depth >= view.far_m] = 0.0
        images = Images(shared.rgb.copy(), depth, shared.ids.copy())
        for pixels in (images.rgb, images.depth_m, images.instances):
            pixels.setflags(write=False)
        return images

    # Rays

    def first_hit(self, origin_m: Vec3, towards_m: Vec3) -> tuple[int, float]:
        """The first instance that a ray hits, and its distance; (-1, inf) for none."""
        return self._cast(origin_m, [towards_m])[0]

    def sees(self, origin_m: Vec3, points_m: Iterable[Vec3], instances: frozenset[int]) -> bool:
        """Whether any point is in view: nothing, or one of `instances`, is hit before it."""
        points = list(points_m)
        hits = self._cast(origin_m, points)
        return any(
            instance in instances or distance >= math.dist(origin_m, point) - NEAR_M
            for point, (instance, distance) in zip(points, hits, strict=True)
        )

    def _cast(self, origin_m: Vec3, points_m: Sequence[Vec3]) -> list[tuple[int, float]]:
        self.sync()
        agents = self._world.agents.values()
        # A hand in the way would move aside, with everything that it holds.
        through = [name for agent in agents for name in (agent.name, *agent.held)]
        start = to_habitat(origin_m)
        rays = [(start, to_habitat(point)) for point in points_m]
        reply = self._sandbox().process.ask("rays", rays=rays, through=through, far_m=_FAR_M)
        hits = cast(Sequence[Sequence[float] | None], reply["hits"])
        return [(-1, math.inf) if hit is None else (int(hit[0]), float(hit[1])) for hit in hits]

    def crossed(self, rays: Sequence[Ray], far_m: float) -> list[list[int]]:
        """The instances that each ray enters within a distance, nearest first, each once.

        Raises:
            HabitatError: if habitat-sim cannot.
        """
        self.sync()
        found: list[list[int]] = []
        for first in range(0, len(rays), _RAYS_AT_ONCE):
            some = rays[first : first + _RAYS_AT_ONCE]
            asked = [(to_habitat(ray.origin_m), to_habitat(ray.direction)) for ray in some]
            reply = self._sandbox().process.ask("hits", rays=asked, far_m=far_m)
            found += [
                list(dict.fromkeys(hit)) for hit in cast(Sequence[Sequence[int]], reply["hits"])
            ]
        return found


def _drawn_from(
    dataset: HabitatDataset, things: Mapping[str, Template], bodies: Mapping[AgentKind, Template]
) -> str:
    """Whose meshes are drawn: of the house, how many things, and each kind of body."""
    shown = sum(bool(template.model) for template in things.values())
    house = "of its data set" if is_foreign(dataset) else "ours"
    words = [f"house {house}", f"things {shown} of {len(things)} of a data set"]
    words += [f"{kind.value} {template.model or 'ours'}" for kind, template in bodies.items()]
    return ", ".join(words)


def _placement(thing: Thing) -> ObjectPlacement:
    return ObjectPlacement(
        name=thing.name,
        class_name=thing.class_name,
        size_m=thing.size_m,
        pose=(thing.x_m, thing.y_m, thing.z_m, thing.yaw_rad),
        parent=thing.parent,
        relation=Relation.ON,
        part=thing.part,
    )
