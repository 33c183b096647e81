"""The world as a MuJoCo model: for rendering, rays, the bodies they cross, and as MJCF."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import mujoco
import numpy as np
from numpy.typing import NDArray

from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.errors import FileError
from planner.world.files import writing
from planner.world.furnishing import thing_parts
from planner.world.geometry import FloatArray, Vec3, quaternion_from_yaw
from planner.world.house import Furniture, House
from planner.world.person import person_parts
from planner.world.shapes import Axis, Part, Shape, solids
from sim_bridge.embedded.entities import Thing
from sim_bridge.embedded.sensing import NEAR_M
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.geometry import Ray, Slab, structure_slabs

# A ray to a point this near has no direction.
MIN_RAY_M = 1e-9

GROUP_STRUCTURE = 0
GROUP_FURNITURE = 1
GROUP_THING = 2
GROUP_AGENT = 3
GROUP_CEILING = 4
GROUP_HIDDEN = 5

_TYPES = {
    Shape.BOX: mujoco.mjtGeom.mjGEOM_BOX,
    Shape.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
    Shape.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    Shape.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
    Shape.ELLIPSOID: mujoco.mjtGeom.mjGEOM_ELLIPSOID,
}
_HALF = math.sqrt(0.5)
# MuJoCo's round shapes are along z: quaternions (w, x, y, z) from z to the axis.
_LAY = {Axis.X: (_HALF, 0.0, _HALF, 0.0), Axis.Y: (_HALF, -_HALF, 0.0, 0.0)}
# Newer MuJoCo returns normals through an additional argument before the count.
_RAYS_GIVE_NORMALS = "normal" in (mujoco.mj_multiRay.__doc__ or "")


def house_spec(house: House, catalogue: Catalogue) -> mujoco.MjSpec:
    """The structure and furniture of a house, without things and agents."""
    spec = mujoco.MjSpec()
    spec.modelname = house.name
    quality = spec.visual.quality
    quality.offsamples = 0
    quality.shadowsize = 0
    quality.numslices = 14
    quality.numstacks = 7
    quality.numquads = 1
    spec.visual.headlight.ambient = [0.55, 0.55, 0.55]
    spec.visual.headlight.diffuse = [0.3, 0.3, 0.3]
    spec.visual.headlight.specular = [0.0, 0.0, 0.0]
    spec.worldbody.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=[0, 0, 10],
        dir=[0.35, 0.5, -0.8],
        diffuse=[0.4, 0.39, 0.37],
        specular=[0, 0, 0],
        castshadow=False,
    )
    for slab in structure_slabs(house, catalogue):
        _add_slab(spec.worldbody, slab)
    for piece in house.furniture:
        _add_furniture(spec, piece)
    return spec


def _add_slab(body: mujoco.MjsBody, slab: Slab) -> None:
    x, y, z, w = quaternion_from_yaw(slab.yaw_rad)
    body.add_geom(
        type=mujoco.mjtGeom.mjGEOM_BOX,
        pos=list(slab.center_m),
        size=list(slab.half_m),
        quat=[w, x, y, z],
        rgba=[*slab.rgb, 1.0],
        group=GROUP_CEILING if slab.is_ceiling else GROUP_STRUCTURE,
        contype=0,
        conaffinity=0,
    )


def _add_furniture(spec: mujoco.MjSpec, piece: Furniture) -> None:
    x, y, z, w = quaternion_from_yaw(piece.yaw_rad)
    body = spec.worldbody.add_body(
        name=piece.name, pos=[piece.x_m, piece.y_m, 0.0], quat=[w, x, y, z]
    )
    bodies: dict[str | None, mujoco.MjsBody] = {None: body}
    for joint in piece.joints:
        child = body.add_body(name=f"{piece.name}/{joint.name}")
        slide = joint.kind == "slide"
        child.add_joint(
            name=f"{piece.name}/{joint.name}",
            type=mujoco.mjtJoint.mjJNT_SLIDE if slide else mujoco.mjtJoint.mjJNT_HINGE,
            axis=list(joint.axis),
            pos=list(joint.origin),
        )
        child.mass = 1.0
        child.inertia = [1.0, 1.0, 1.0]
        child.explicitinertial = True
        bodies[joint.name] = child
    for part in piece.drawn_parts:
        add_part(bodies[part.joint], part, GROUP_FURNITURE)


def add_part(body: mujoco.MjsBody, part: Part, group: int) -> None:
    """Adds a part in metres to a body."""
    for solid in solids(part):
        _add_solid(body, solid.part, solid.yaw_rad, group)


def _add_solid(body: mujoco.MjsBody, part: Part, yaw_rad: float, group: int) -> None:
    sx, sy, sz = (s / 2 for s in part.size)
    if part.shape in (Shape.BOX, Shape.ELLIPSOID):
        size = [sx, sy, sz]
    elif part.shape is Shape.SPHERE:
        size = [min(sx, sy, sz), 0.0, 0.0]
    else:
        along, across = {
            Axis.X: (sx, min(sy, sz)),
            Axis.Y: (sy, min(sx, sz)),
            Axis.Z: (sz, min(sx, sy)),
        }[part.axis]
        cap = across if part.shape is Shape.CAPSULE else 0.0
        size = [across, max(along - cap, 1e-4), 0.0]
    quat = _LAY.get(part.axis, (1.0, 0.0, 0.0, 0.0))
    if part.shape in (Shape.BOX, Shape.ELLIPSOID, Shape.SPHERE):
        quat = (math.cos(yaw_rad / 2), 0.0, 0.0, math.sin(yaw_rad / 2))
    body.add_geom(
        type=_TYPES[part.shape],
        pos=list(part.center),
        size=size,
        quat=list(quat),
        rgba=[*part.rgb, 1.0],
        group=group,
        contype=0,
        conaffinity=0,
    )


def _parts(thing: Thing, catalogue: Catalogue) -> Iterable[Part]:
    person = thing.person
    if person is not None:
        return person_parts(person.posture, person.gesture, person.clothes)
    return thing_parts(catalogue.objects[thing.class_name], thing.size_m, thing.color)


class Scene:
    """A compiled world and its poses. `sync` follows the world's changes."""

    def __init__(self, world: KinematicWorld, house: mujoco.MjSpec, catalogue: Catalogue) -> None:
        """Adds the episode's things and agents to a house's spec and compiles it."""
        spec = house.copy()
        for thing in world.things.values():
            body = spec.worldbody.add_body(name=thing.name, mocap=True)
            for part in _parts(thing, catalogue):
                add_part(body, part, GROUP_THING)
        for agent in world.agents.values():
            body = spec.worldbody.add_body(name=agent.name, mocap=True)
            for part in agent.body.parts:
                add_part(body, part, GROUP_AGENT)
        self.world = world
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self._synced = self._synced_scenery = -1
        self._index()
        self.sync()

    def _index(self) -> None:
        model, world = self.model, self.world
        instance_of_body = np.zeros(model.nbody, np.int32)
        self._mocap: dict[str, int] = {}
        self._body_of: dict[str, int] = {}
        self._qpos: dict[tuple[str, str], tuple[int, float]] = {}
        for name, piece in world.pieces.items():
            instance_of_body[model.body(name).id] = piece.instance_id
            for joint in piece.record.joints:
                key = f"{name}/{joint.name}"
                instance_of_body[model.body(key).id] = piece.instance_id
                address = int(model.jnt_qposadr[model.joint(key).id])
                self._qpos[name, joint.name] = (address, joint.travel)
        for name in (*world.things, *world.agents):
            body = model.body(name).id
            instance_of_body[body] = world.entity(name).instance_id
            self._mocap[name] = int(model.body_mocapid[body])
            self._body_of[name] = int(body)
        self.instance_of_geom: NDArray[np.int32] = instance_of_body[model.geom_bodyid]
        self.groups: NDArray[np.int32] = model.geom_group.copy()
        self._ray_groups = np.array([1, 1, 1, 0, 0, 0], np.uint8)

    @property
    def revision(self) -> int:
        """The world's revision at the last `sync`."""
        return self._synced

    def sync(self) -> None:
        """Updates all poses from the world."""
        world = self.world
        if self._synced == world.revision:
            return
        for agent in world.agents.values():
            self._place(agent.name, (agent.x_m, agent.y_m, 0.0), agent.yaw_rad)
            for thing in world.carried_by(agent):
                self._place_thing(thing)
        if self._synced_scenery != world.scenery_revision:
            self._place_scenery()
        mujoco.mj_kinematics(self.model, self.data)
        self._synced = world.revision

    def sync_scenery(self) -> None:
        """The same without agents and what they hold: enough for rays that pass through them."""
        if self._synced_scenery != self.world.scenery_revision:
            self._place_scenery()
            mujoco.mj_kinematics(self.model, self.data)

    def _place_scenery(self) -> None:
        world = self.world
        for thing in world.things.values():
            self._place_thing(thing)
        for (name, joint), (address, travel) in self._qpos.items():
            self.data.qpos[address] = travel * world.pieces[name].opening[joint]
        self._synced_scenery = world.scenery_revision

    def _place_thing(self, thing: Thing) -> None:
        self._place(thing.name, (thing.x_m, thing.y_m, thing.z_m), thing.yaw_rad)

    def _place(self, name: str, position_m: Vec3, yaw_rad: float) -> None:
        index = self._mocap[name]
        self.data.mocap_pos[index] = position_m
        half = yaw_rad / 2
        self.data.mocap_quat[index] = (math.cos(half), 0.0, 0.0, math.sin(half))

    def first_hit(self, origin_m: Vec3, towards_m: Vec3) -> tuple[int, float]:
        """The first instance that a ray hits, and its distance; (-1, inf) for none.

        Agents, what they hold and ceilings are transparent; 0 is structure.
        """
        self.sync_scenery()
        direction = np.subtract(towards_m, origin_m)
        length = math.hypot(*direction)
        # MuJoCo aborts the process for a ray without direction.
        if not MIN_RAY_M <= length < math.inf:
            return -1, math.inf
        self.model.geom_group[:] = self.groups
        for agent in self.world.agents.values():
            for thing in self.world.carried_by(agent):
                # A hand in the way would move aside, with everything that it holds.
                held = self.model.geom_bodyid == self._body_of[thing.name]
                self.model.geom_group[held] = GROUP_HIDDEN
        hit = np.full(1, -1, np.int32)
        distance = mujoco.mj_ray(
            self.model,
            self.data,
            np.asarray(origin_m, np.float64),
            direction / length,
            self._ray_groups,
            1,
            -1,
            hit,
        )
        if hit[0] < 0:
            return -1, math.inf
        return int(self.instance_of_geom[hit[0]]), float(distance)

    def cast(
        self,
        eye_m: FloatArray,
        directions: FloatArray,
        groups: NDArray[np.uint8],
        hits: NDArray[np.int32],
        ranges_m: FloatArray,
        far_m: float,
        without: str = "",
    ) -> None:
        """Casts (n, 3) unit rays from one point; fills in the geoms hit and their distances.

        `without` names an entity that rays pass through.
        """
        body = self._body_of[without] if without else -1
        flat = np.ascontiguousarray(directions).ravel()
        arguments = (self.model, self.data, eye_m, flat, groups, 1, body, hits, ranges_m)
        if _RAYS_GIVE_NORMALS:
            mujoco.mj_multiRay(*arguments, None, len(directions), far_m)
        else:
            mujoco.mj_multiRay(*arguments, len(directions), far_m)

    def sees(self, origin_m: Vec3, points_m: Iterable[Vec3], instances: frozenset[int]) -> bool:
        """Whether any point is in view: nothing, or one of `instances`, is hit before it."""
        for point in points_m:
            instance, distance = self.first_hit(origin_m, point)
            if instance in instances or distance >= math.dist(origin_m, point) - NEAR_M:
                return True
        return False


# All the bodies that a ray enters, in MuJoCo's geometry.

# Newer MuJoCo also returns the normal.
_GIVES_NORMAL = "normal" in (mujoco.mju_rayGeom.__doc__ or "")
# A body is around a ray's origin if the ray backwards leaves it farther away than this.
_TOUCHING_M = 1e-6


def crossed_instances(scene: Scene, ray: Ray, far_m: float) -> list[int]:
    """The instances of furniture and things that a ray enters, nearest first, each once.

    Every shape is convex, so that a ray from inside one only leaves it.
    """
    scene.sync()
    model, data = scene.model, scene.data
    origin, direction = np.asarray(ray.origin_m), np.asarray(ray.direction)
    solid = np.isin(scene.groups, (GROUP_FURNITURE, GROUP_THING))
    to_middle = data.geom_xpos - origin
    along = to_middle @ direction
    beside = np.linalg.norm(to_middle - along[:, None] * direction, axis=1)
    radius = model.geom_rbound
    near = solid & (beside <= radius) & (along >= -radius) & (along <= far_m + radius)
    hits: dict[int, float] = {}
    for geom in np.flatnonzero(near).tolist():
        distance = _distance(scene, geom, origin, direction)
        if not 0.0 <= distance <= far_m:
            continue
        if _distance(scene, geom, origin, -direction) > _TOUCHING_M:
            continue
        instance = int(scene.instance_of_geom[geom])
        hits[instance] = min(distance, hits.get(instance, distance))
    return sorted(hits, key=lambda instance: (hits[instance], instance))


def _distance(scene: Scene, geom: int, origin: FloatArray, direction: FloatArray) -> float:
    """To the first surface of a shape ahead; -1 if there is none."""
    model, data = scene.model, scene.data
    arguments = (
        data.geom_xpos[geom],
        data.geom_xmat[geom],
        model.geom_size[geom],
        origin,
        direction,
        int(model.geom_type[geom]),
    )
    if _GIVES_NORMAL:
        return float(mujoco.mju_rayGeom(*arguments, None))
    return float(mujoco.mju_rayGeom(*arguments))


# Exports a house as an MJCF file, for MuJoCo without this project.


def export_mujoco(house: House, directory: Path) -> Path:
    """Writes `<house>.xml`: the embedded simulator's model of the house and its things.

    Drawers, doors and lids are joints with their travel as range; things are mocap bodies. Nothing
    collides, as in the embedded simulator.

    Raises:
        FileError: if a class is not in the catalogue or the file cannot be written.
    """
    known = default_catalogue()
    spec = house_spec(house, known)
    spec.compiler.degree = False
    for piece in house.furniture:
        for joint in piece.joints:
            element = spec.joint(f"{piece.name}/{joint.name}")
            element.range = [min(0.0, joint.travel), max(0.0, joint.travel)]
            element.limited = mujoco.mjtLimited.mjLIMITED_TRUE
    for i, item in enumerate(house.objects):
        if item.class_name not in known.objects:
            reason = f"unknown class {item.class_name!r} of {item.name}"
            raise FileError(house.name, f"objects.{i}.class_name", reason)
        x, y, z, yaw = item.pose
        qx, qy, qz, qw = quaternion_from_yaw(yaw)
        body = spec.worldbody.add_body(
            name=item.name, pos=[x, y, z], quat=[qw, qx, qy, qz], mocap=True
        )
        for part in thing_parts(known.objects[item.class_name], item.size_m, item.color):
            add_part(body, part, GROUP_THING)
    spec.compile()
    path = directory / f"{house.name}.xml"
    with writing(path):
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(spec.to_xml(), encoding="utf-8")
    return path
