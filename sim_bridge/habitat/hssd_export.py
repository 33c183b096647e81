"""Houses that were read from HSSD or another scene data set, for Habitat with its own meshes.

The reader knows no simulator, and the simulator's writer no data set; here both are at hand.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.world.catalogue import default_catalogue
from planner.world.errors import FileError
from planner.world.files import writing
from planner.world.house import House
from planner.world.vocabulary import AgentKind
from sim_bridge.habitat.dataset.configs import HabitatDataset
from sim_bridge.habitat.dataset.foreign import ForeignBody, ForeignScene, export_foreign
from sim_bridge.habitat.dataset.wrapped import body_mesh
from sim_bridge.habitat.dataset.writer import read_dataset
from sim_bridge.habitat.hssd.dataset import HOUSE_PREFIX, HssdDataset, object_classes
from sim_bridge.habitat.hssd.scene import HssdBody, read_scene, scene_of
from sim_bridge.habitat.hssd.urdf import Movables
from sim_bridge.habitat.options import BodyModel, Models, ThingModel

# The file that tells Habitat which meshes of a data set draw things and bodies.
#
# The reader knows no simulator, and the simulator no data set; here both are at hand.

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
    with writing(path):
        path.write_text(text, encoding="utf-8")
    return path


def export_hssd(house: House, scenes: Path, directory: Path) -> HabitatDataset:
    """Writes a house that was read from a scene as a dataset that shows that scene's own meshes.

    Raises:
        PlannerError: where the download is not there.
        FileError: where the house is not of one of its scenes as it is now, or something cannot
            be read or written.
    """
    dataset = HssdDataset(scenes, is_partnr=house.name.startswith(HOUSE_PREFIX))
    scene_id, storey = scene_of(house.name, dataset.prefix)
    scene = read_scene(dataset, scene_id, default_catalogue(), storey)
    if scene.house != house:
        reason = "is not what is read from the scene now: import it anew"
        raise FileError(house.name, "furniture", reason)
    bodies = scene.bodies.values()
    return export_foreign(
        house,
        ForeignScene(
            stage=_foreign(scene.stage),
            furniture={body.piece: _foreign(body) for body in bodies if body.piece},
            others=tuple(_foreign(body) for body in bodies if not body.piece),
            floor_m=scene.floor_m,
        ),
        directory,
    )


def _foreign(body: HssdBody) -> ForeignBody:
    placed = body.placed
    entry = {
        "rotation": list(placed.rotation),
        "uniform_scale": placed.uniform_scale,
        "non_uniform_scale": list(placed.non_uniform_scale),
        "translation_origin": "asset_local" if body.is_asset_local else "COM",
    }
    template = body.template
    return ForeignBody(
        template.path,
        template.document(),
        template.is_articulated,
        placed.translation,
        entry,
        body.joints,
    )


def export_once(house: House, scenes: Path, folder: Path) -> bool:
    """Writes `folder`/NAME as `export_hssd` does, unless it is there; returns whether it wrote.

    It appears whole or not at all.

    Raises:
        PlannerError: as `export_hssd`.
    """
    directory = folder / house.name
    try:
        read_dataset(directory, house)
    except FileError:
        pass
    else:
        return False
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
    try:
        export_hssd(house, scenes, draft)
        shutil.rmtree(directory, ignore_errors=True)
        draft.rename(directory)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return True
