"""The file that tells Habitat which meshes of a data set draw things and bodies.

The reader knows no simulator, and the simulator no data set; here both are at hand.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.houses.hssd.categories import object_classes
from planner.houses.hssd.dataset import HssdDataset
from planner.houses.hssd.movables import Movables
from planner.world.errors import FileError
from planner.world.vocabulary import AgentKind
from sim_bridge.habitat.dataset.urdf_body import body_mesh
from sim_bridge.habitat.models import BodyModel, Models, ThingModel

# Of which axis is up; SMPL-X's humanoids stand along y.
_UP: Mapping[AgentKind, str] = {AgentKind.ROBOT: "z", AgentKind.HUMAN: "y"}


@dataclass(frozen=True, slots=True)
class Indexed:
    """What an index has, and the models that were left out, each with the reason."""

    models: Models
    left_out: tuple[str, ...]


def index_models(
    classes: Collection[str],
    scenes: Path,
    objects: Sequence[Path],
    bodies: Mapping[AgentKind, Path],
) -> Indexed:
    """The movable models of some classes, and the URDFs of bodies.

    A model whose mesh is missing or no GLB is left out: such things are drawn with our meshes.

    Raises:
        FileError: if a folder, a table or a URDF is missing or invalid.
    """
    movables = Movables(objects)
    class_of = object_classes(HssdDataset(scenes))
    things: list[ThingModel] = []
    left_out: list[str] = []
    for name in movables.names:
        class_name = class_of.get(name)
        if class_name is None or class_name not in classes:
            continue
        try:
            mesh = movables.mesh_of(name)
        except FileError as error:
            left_out.append(str(error))
            continue
        if mesh is None:
            continue
        size = mesh.high_m - mesh.low_m
        if not size.min() > 0:
            left_out.append(f"{mesh.file}: is flat")
            continue
        document = {
            "name": name,
            "class_name": class_name,
            "mesh": str(mesh.file.resolve()),
            "turn": mesh.turn.tolist(),
            "low_m": mesh.low_m.tolist(),
            "size_m": size.tolist(),
        }
        things.append(ThingModel.model_validate(document))
    drawn = {
        kind: BodyModel.model_validate({"urdf": str(path.resolve()), "up": _UP[kind]})
        for kind, path in bodies.items()
    }
    for model in drawn.values():
        # One that cannot be drawn is told before anything runs.
        body_mesh(model)
    return Indexed(Models(version=1, things=tuple(things), bodies=drawn), tuple(left_out))


def write_index(models: Models, folder: Path) -> Path:
    """Writes an index under a name of its content; returns the file.

    Raises:
        FileError: if it cannot be written.
    """
    text = json.dumps(models.model_dump(mode="json"), indent=1) + "\n"
    path = folder / f"models-{hashlib.sha256(text.encode()).hexdigest()[:8]}.json"
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None
    return path
