"""All the bodies that a ray enters, in MuJoCo's geometry."""

from __future__ import annotations

import mujoco
import numpy as np

from planner.world.geometry import FloatArray
from sim_bridge.embedded.scene import GROUP_FURNITURE, GROUP_THING, Scene
from sim_bridge.geometry import Ray

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
