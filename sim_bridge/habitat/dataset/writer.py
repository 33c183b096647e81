"""A house as a Habitat scene dataset: the stage, the furniture, the things, the scenes."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from planner.world.agents import Body
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.errors import FileError
from planner.world.files import FileModel, writing
from planner.world.furnishing import thing_parts
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House, ObjectPlacement
from planner.world.vocabulary import AgentKind
from sim_bridge.geometry import Slab, structure_slabs
from sim_bridge.habitat.dataset import configs
from sim_bridge.habitat.dataset.configs import (
    BASE,
    CONTENTS,
    HabitatDataset,
    Template,
    check_contents,
    joint_handles,
    joint_origin,
    link_name,
    urdf_text,
    write_contents,
)
from sim_bridge.habitat.dataset.meshes import (
    MeshFiles,
    Solid,
    box_triangles,
    part_solids,
    write_file,
    write_meshes,
)
from sim_bridge.habitat.dataset.wrapped import body_mesh, thing_mesh
from sim_bridge.habitat.options import Models

_MESHES, _THINGS, _BODIES = "meshes", "things", "bodies"
_FOLDERS = (
    *(configs.STAGES, configs.OBJECTS, configs.ARTICULATED, configs.SCENES, configs.LIGHTS),
    "semantics",
    *(_MESHES, _THINGS, _BODIES),
)


def export_habitat(
    house: House, directory: Path, catalogue: Catalogue | None = None
) -> HabitatDataset:
    """Writes a house, its things included, as a scene dataset; an older one of it is replaced.

    Ids in semantic images are those of the embedded simulator's instance images: furniture from 1
    on in the order of the house, then things; structure is 0.

    Raises:
        PlannerError: if trimesh is missing.
        FileError: if the house has a class that the catalogue lacks, the directory has other
            contents, or a file cannot be written.
    """
    known = catalogue or default_catalogue()
    _check_classes(house, known)
    make_way(directory)
    _write_stage(house, directory, known)
    for at, piece in enumerate(house.furniture, 1):
        _write_piece(piece, at, directory)
    for at, item in enumerate(house.objects, len(house.furniture) + 1):
        _write_named(item, at, directory, known)
    _write_scene(house, directory, scene_path(house), house.objects)
    _write_scene(house, directory, empty_scene_path(house), ())
    return finish_dataset(house, directory)


def finish_dataset(house: House, directory: Path) -> HabitatDataset:
    """Writes rooms, lights, the scenes, and last the contents that make it a dataset.

    Raises:
        FileError: if a file cannot be written.
    """
    regions = configs.regions_config(house.rooms)
    write_file(directory / regions_path(house), configs.json_bytes(regions))
    lights = configs.json_bytes(configs.lighting_config())
    write_file(directory / lights_path(house), lights)
    config = directory / config_name(house)
    write_file(config, configs.json_bytes(configs.dataset_config()))
    write_contents(house, directory, (path for path in directory.rglob("*") if path.is_file()))
    return _dataset(house, directory)


def read_dataset(directory: Path, house: House) -> HabitatDataset:
    """Reads a dataset that was written from this very house.

    Raises:
        FileError: if it is missing, incomplete, or of another house or version.
    """
    check_contents(directory, house)
    return _dataset(house, directory)


def _dataset(house: House, directory: Path) -> HabitatDataset:
    things = enumerate(house.objects, len(house.furniture) + 1)
    return HabitatDataset(
        directory=directory,
        config=directory / config_name(house),
        scene=scene_path(house),
        empty_scene=empty_scene_path(house),
        stage=directory / stage_path(house),
        furniture={
            piece.name: Template(
                piece.name, directory / piece_path(piece), at, joint_handles(piece)
            )
            for at, piece in enumerate(house.furniture, 1)
        },
        things={
            item.name: Template(item.name, directory / _thing_path(item), at) for at, item in things
        },
    )


# Paths relative to the dataset. habitat-sim takes the first file whose path contains the name in a
# scene, so names are whole paths.


def config_name(house: House) -> str:
    """The dataset's configuration."""
    return f"{house.name}.scene_dataset_config.json"


def stage_path(house: House) -> str:
    """The structure's configuration."""
    return f"{configs.STAGES}/{house.name}.stage_config.json"


def regions_path(house: House) -> str:
    """The rooms."""
    return f"{configs.REGIONS}/{house.name}.semantic_config.json"


def lights_path(house: House) -> str:
    """The lights."""
    return f"{configs.LIGHTS}/{house.name}.lighting_config.json"


def scene_path(house: House) -> str:
    """The scene with the house's things."""
    return f"{configs.SCENES}/{house.name}.scene_instance.json"


def empty_scene_path(house: House) -> str:
    """The scene without things."""
    return f"{configs.SCENES}/{house.name}-furniture.scene_instance.json"


def piece_path(piece: Furniture) -> str:
    """The configuration of a piece of furniture."""
    if piece.joints:
        return f"{configs.ARTICULATED}/{piece.name}/{piece.name}.ao_config.json"
    return f"{configs.OBJECTS}/{piece.name}.object_config.json"


def _thing_path(item: ObjectPlacement) -> str:
    return f"{configs.OBJECTS}/{item.name}.object_config.json"


def export_things(
    objects: Sequence[ObjectPlacement],
    directory: Path,
    first_id: int,
    catalogue: Catalogue | None = None,
    models: Models | None = None,
) -> dict[str, Template]:
    """Adds the templates of an episode's things to a dataset; existing ones are kept.

    Things of one class and size share one configuration, whose semantic id is 0: the simulator's
    instances need `Template.semantic_id`, which counts from `first_id`. What `models` has is drawn
    with its mesh; rays meet ours.

    Raises:
        PlannerError: if trimesh is missing.
        FileError: if a class is unknown, a model cannot be used, or a file cannot be written.
    """
    known = catalogue or default_catalogue()
    templates: dict[str, Template] = {}
    for at, item in enumerate(objects, first_id):
        model = models.of(item) if models is not None else None
        stem = _kind_of(item) if model is None else f"{_kind_of(item)}--{_digest(model)}"
        config = directory / _THINGS / f"{stem}.object_config.json"
        if not config.is_file():
            meshes = _thing_meshes(item, directory, known)
            if model is not None:
                drawn = directory / _MESHES / f"{stem}.glb"
                write_file(drawn, thing_mesh(model, item))
                meshes = MeshFiles(drawn, meshes.touched)
            notes: configs.Document = {"class": item.class_name}
            document = configs.object_config(meshes, config.parent, 0, notes)
            write_file(config, configs.json_bytes(document))
        shown = "" if model is None else model.name
        templates[item.name] = Template(item.name, config, at, model=shown)
    return templates


def _digest(model: FileModel) -> str:
    """Tells models apart whose files may have the same name."""
    return hashlib.sha256(model.model_dump_json().encode()).hexdigest()[:16]


def export_bodies(
    bodies: Mapping[AgentKind, Body], directory: Path, models: Models | None = None
) -> dict[AgentKind, Template]:
    """Adds the agents' bodies to a dataset, each one rigid object with semantic id 0.

    Those of which `models` has a URDF are drawn with its meshes.

    Raises:
        PlannerError: if trimesh is missing.
        FileError: if a model cannot be used, or a file cannot be written.
    """
    templates: dict[AgentKind, Template] = {}
    for kind, body in bodies.items():
        model = models.bodies.get(kind) if models is not None else None
        stem = kind.value if model is None else f"{kind.value}--{_digest(model)}"
        config = directory / _BODIES / f"{stem}.object_config.json"
        if not config.is_file():
            meshes = write_meshes(part_solids(body.parts), config.parent / kind.value)
            if model is not None:
                drawn = config.parent / f"{stem}.glb"
                write_file(drawn, body_mesh(model))
                meshes = MeshFiles(drawn, meshes.touched)
            document = configs.object_config(meshes, config.parent, 0, {"class": kind.value})
            write_file(config, configs.json_bytes(document))
        shown = "" if model is None else Path(model.urdf).stem
        templates[kind] = Template(kind.value, config, 0, model=shown)
    return templates


def _check_classes(house: House, catalogue: Catalogue) -> None:
    for i, room in enumerate(house.rooms):
        if room.class_name not in catalogue.rooms and not house.foreign:
            reason = f"unknown class of room {room.class_name!r}"
            raise FileError(house.name, f"rooms.{i}.class_name", reason)
    for i, item in enumerate(house.objects):
        _check_class(item, f"{house.name}: objects.{i}", catalogue)


def _check_class(item: ObjectPlacement, where: str, catalogue: Catalogue) -> None:
    if item.class_name not in catalogue.objects:
        raise FileError(where, "class_name", f"unknown class {item.class_name!r} of {item.name}")


def make_way(directory: Path) -> None:
    """Removes an older export.

    Raises:
        FileError: if the directory has other contents.
    """
    if directory.exists() and not directory.is_dir():
        raise FileError(directory, "", "is not a directory")
    if not directory.is_dir():
        return
    contents = directory / CONTENTS
    if any(directory.iterdir()) and not contents.is_file():
        raise FileError(directory, "", f"is not empty, and holds no earlier export ({CONTENTS})")
    with writing(directory):
        contents.unlink(missing_ok=True)
        for config in directory.glob("*.scene_dataset_config.json"):
            config.unlink()
        for name in _FOLDERS:
            if (directory / name).is_dir():
                shutil.rmtree(directory / name)


def _write_stage(house: House, directory: Path, catalogue: Catalogue) -> None:
    slabs = [_slab_solid(slab) for slab in structure_slabs(house, catalogue)]
    config = directory / stage_path(house)
    meshes = write_meshes(slabs, config.parent / house.name)
    write_file(config, configs.json_bytes(configs.stage_config(meshes)))


def _slab_solid(slab: Slab) -> Solid:
    return Solid(box_triangles(slab.half_m).turned(slab.yaw_rad).shifted(slab.center_m), slab.rgb)


def _write_piece(piece: Furniture, semantic_id: int, directory: Path) -> None:
    notes = configs.furniture_notes(piece)
    config = directory / piece_path(piece)
    if piece.joints:
        urdf = config.parent / f"{piece.name}.urdf"
        write_file(urdf, urdf_text(piece, _link_meshes(piece, urdf.parent)).encode())
        document = configs.articulated_config(urdf, semantic_id, notes)
    else:
        meshes = write_meshes(part_solids(piece.drawn_parts), config.parent / piece.name)
        document = configs.object_config(meshes, config.parent, semantic_id, notes)
    write_file(config, configs.json_bytes(document))


def _link_meshes(piece: Furniture, folder: Path) -> dict[str, MeshFiles]:
    """Rendering and collision meshes of each link that has parts."""
    origins: dict[str | None, tuple[str, Vec3]] = {None: (BASE, (0.0, 0.0, 0.0))}
    for joint in piece.joints:
        origins[joint.name] = (link_name(joint.name), joint_origin(joint))
    found: dict[str, MeshFiles] = {}
    for mover, (link, origin) in origins.items():
        solids = part_solids((p for p in piece.drawn_parts if p.joint == mover), origin)
        if solids:
            found[link] = write_meshes(solids, folder / link)
    return found


def _write_named(
    item: ObjectPlacement, semantic_id: int, directory: Path, catalogue: Catalogue
) -> None:
    """A configuration for a single thing, for the scene on disk: it has the semantic id."""
    config = directory / _thing_path(item)
    meshes = _thing_meshes(item, directory, catalogue)
    notes: configs.Document = {"name": item.name, "class": item.class_name}
    document = configs.object_config(meshes, config.parent, semantic_id, notes)
    write_file(config, configs.json_bytes(document))


def _kind_of(item: ObjectPlacement) -> str:
    """A file name for all things of one class, size (to a tenth of a millimetre) and colour."""
    x, y, z = (round(extent * 10_000) for extent in item.size_m)
    color = f"_{item.color}" if item.color else ""
    return f"{item.class_name}__{x}_{y}_{z}{color}"


def _thing_meshes(item: ObjectPlacement, directory: Path, catalogue: Catalogue) -> MeshFiles:
    _check_class(item, item.name, catalogue)
    stem = directory / _MESHES / _kind_of(item)
    drawn, touched = (stem.parent / f"{stem.name}{end}" for end in (".glb", ".touch.glb"))
    if touched.is_file():
        return MeshFiles(drawn, touched)
    parts = thing_parts(catalogue.objects[item.class_name], item.size_m, item.color)
    if drawn.is_file() and len({part.rgb for part in parts}) == len(parts):
        return MeshFiles(drawn, drawn)
    return write_meshes(part_solids(parts), stem)


def _write_scene(
    house: House, directory: Path, scene: str, things: Iterable[ObjectPlacement]
) -> None:
    bodies: list[configs.Document] = []
    articulated: list[configs.Document] = []
    for piece in house.furniture:
        template, place = piece_path(piece), (piece.x_m, piece.y_m, 0.0)
        if piece.joints:
            articulated.append(configs.articulated_instance(template, place, piece.yaw_rad))
        else:
            bodies.append(configs.instance(template, place, piece.yaw_rad, fixed=True))
    for item in things:
        x, y, z, yaw = item.pose
        bodies.append(configs.instance(_thing_path(item), (x, y, z), yaw, fixed=False))
    document = configs.scene_config(
        stage_path(house), regions_path(house), lights_path(house), bodies, articulated
    )
    write_file(directory / scene, configs.json_bytes(document))
