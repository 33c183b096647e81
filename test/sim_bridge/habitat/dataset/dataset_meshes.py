"""The meshes of a scene dataset as a world that rays go through, in Habitat's axes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import trimesh
from dataset_reading import Body, Matrix, object_bodies, read_scene

Triple = list[float]


class DatasetMeshes:
    """A house's furniture, closed or wide open, and the things of an episode."""

    def __init__(self, request: dict[str, Any]) -> None:
        """Reads the scene that the worker is to open."""
        directory = Path(request["dataset"]).parent
        self._ids: dict[str, int] = dict(request["ids"])
        self._closed, self._open = (
            read_scene(directory, request["scene"], opened=opened) for opened in (False, True)
        )
        self._stands_open: set[int] = set()
        self._things: dict[str, tuple[Path, int]] = {}
        self._poses: dict[str, Triple] = {}
        self._soup: tuple[Matrix, np.ndarray] | None = None

    def add(self, things: list[dict[str, Any]]) -> None:
        self._things = {t["name"]: (Path(t["template"]), t["id"]) for t in things}
        self._soup = None

    def put(self, request: dict[str, Any]) -> None:
        self._poses |= request["poses"]
        for name, joints in request["joints"].items():
            wide = any(position > 0.0 for position in joints.values())
            (self._stands_open.add if wide else self._stands_open.discard)(self._ids[name])
        self._soup = None

    def first(
        self, start: Triple, end: Triple, through: list[str], far_m: float
    ) -> list[float] | None:
        """The id of what a ray towards `end` enters first, and its distance; None for nothing.

        It passes through the things that are named.
        """
        towards = np.array(end) - np.array(start)
        length = float(np.linalg.norm(towards))
        if length == 0.0:
            return None
        passed = {self._things[name][1] for name in through if name in self._things}
        ids, distances = self._entered(start, (towards / length).tolist(), far_m)
        for number, distance in zip(ids.tolist(), distances.tolist(), strict=True):
            if number not in passed:
                return [number, distance]
        return None

    def hits(self, start: Triple, towards: Triple, far_m: float) -> list[int]:
        """The ids of what a ray enters, nearest first; each front of a triangle is one hit."""
        ids, _ = self._entered(start, towards, far_m)
        return [int(number) for number in ids]

    def _entered(
        self, start: Triple, towards: Triple, far_m: float
    ) -> tuple[np.ndarray, np.ndarray]:
        corners, ids = self._triangles()
        origin, ray = _ours(start), _ours(towards)
        a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
        normal = np.cross(b - a, c - a)
        facing = normal @ ray
        with np.errstate(divide="ignore", invalid="ignore"):
            distance = np.einsum("ij,ij->i", a - origin, normal) / facing
            point = origin + distance[:, None] * ray
            inside = np.all(
                [
                    np.einsum("ij,ij->i", np.cross(q - p, point - p), normal) >= -1e-12
                    for p, q in ((a, b), (b, c), (c, a))
                ],
                axis=0,
            )
        hit = (facing < 0) & inside & (distance >= 0) & (distance <= far_m)
        order = np.argsort(distance[hit], kind="stable")
        return ids[hit][order], distance[hit][order]

    def _triangles(self) -> tuple[Matrix, np.ndarray]:
        if self._soup is None:
            bodies = [b for b in self._closed if b.semantic_id not in self._stands_open]
            bodies += [b for b in self._open if b.semantic_id in self._stands_open]
            for name, (config, number) in self._things.items():
                bodies += _thing(config, number, self._poses.get(name, [0.0, 0.0, 0.0, 0.0]))
            self._soup = (
                np.concatenate([body.corners[body.faces] for body in bodies]),
                np.concatenate([np.full(len(body.faces), body.semantic_id) for body in bodies]),
            )
        return self._soup


def _thing(config: Path, number: int, pose: Triple) -> list[Body]:
    x, y, z, yaw = pose
    place = trimesh.transformations.rotation_matrix(yaw, [0, 1, 0])
    place[:3, 3] = (x, y, z)
    return [
        Body(number, body.corners, body.faces) for body in object_bodies(config, np.asarray(place))
    ]


def _ours(point: Triple) -> Matrix:
    x, y, z = point
    return np.array([x, -z, y])
