"""Paths and ids of a written dataset, for loading it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal
from xml.etree import ElementTree as ET

from pydantic import Field

from planner.world.errors import FileError
from planner.world.files import FileModel, parse_model, read_document
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House, Interior, Joint, Room, Surface, house_json
from sim_bridge.habitat.dataset.meshes import MeshFiles, to_habitat, write_file, yaw_to_habitat

# Paths and ids of a written dataset, for loading it.


@dataclass(frozen=True, slots=True)
class JointHandle:
    """A joint of an articulated object: URDF joint `name`, which moves link `link`.

    `travel` is its position when open, metres or radians above 0; closed is 0. These are the limits
    in the URDF, whose axis is reversed if our own joint opens the other way.
    """

    name: str
    kind: Literal["slide", "hinge"]
    travel: float

    @property
    def link(self) -> str:
        """The link that it moves."""
        return link_name(self.name)


def link_name(joint: str) -> str:
    """The URDF's name of the link that a joint moves."""
    return f"{joint}_link"


@dataclass(frozen=True, slots=True)
class Template:
    """How an entity is made in Habitat.

    Attributes:
        name: ours.
        config: `*.object_config.json`, or `*.ao_config.json` for articulated objects.
        semantic_id: the entity's id in instance images; several things may share one config, which
            then says 0.
        joints: empty for a rigid object.
        model: of another data set, whose mesh it shows; "" = ours.
    """

    name: str
    config: Path
    semantic_id: int
    joints: tuple[JointHandle, ...] = ()
    model: str = ""


@dataclass(frozen=True, slots=True)
class HabitatDataset:
    """A Habitat scene dataset on disk.

    Attributes:
        config: value for `scene_dataset_config_file`.
        scene: value for `scene_id`, for the house with the things of its file.
        empty_scene: the same without things, for an episode's own.
        stage: the structure.
        furniture: by name.
        things: by name.
    """

    directory: Path
    config: Path
    scene: str
    empty_scene: str
    stage: Path
    furniture: Mapping[str, Template]
    things: Mapping[str, Template]


# Articulated furniture as URDF, in Habitat's axes: a base, and a link per drawer, door or lid.

BASE = "base"
_TYPES = {"slide": "prismatic", "hinge": "revolute"}
_DECIMALS = 6


def joint_handles(piece: Furniture) -> tuple[JointHandle, ...]:
    """The joints of a piece in its order; all open towards the upper limit."""
    return tuple(JointHandle(joint.name, joint.kind, abs(joint.travel)) for joint in piece.joints)


def joint_origin(joint: Joint) -> Vec3:
    """The link's frame relative to the piece's when closed: on the hinge."""
    return joint.origin if joint.kind == "hinge" else (0.0, 0.0, 0.0)


def urdf_text(piece: Furniture, meshes: Mapping[str, MeshFiles]) -> str:
    """The URDF of a piece; `meshes` by link, with files beside it."""
    robot = ET.Element("robot", name=piece.name)
    _add_link(robot, BASE, meshes.get(BASE))
    for joint, handle in zip(piece.joints, joint_handles(piece), strict=True):
        _add_link(robot, handle.link, meshes.get(handle.link))
        element = ET.SubElement(robot, "joint", name=joint.name, type=_TYPES[joint.kind])
        ET.SubElement(element, "parent", link=BASE)
        ET.SubElement(element, "child", link=link_name(joint.name))
        ET.SubElement(element, "origin", xyz=_numbers(to_habitat(joint_origin(joint))))
        ET.SubElement(element, "axis", xyz=_numbers(to_habitat(_opening_axis(joint))))
        # habitat-lab takes the lower limit for closed and the upper for open.
        limit = {"lower": 0.0, "upper": handle.travel, "effort": 100.0, "velocity": 10.0}
        ET.SubElement(element, "limit", {name: _number(value) for name, value in limit.items()})
    ET.indent(robot, " ")
    return '<?xml version="1.0"?>\n' + ET.tostring(robot, encoding="unicode") + "\n"


def _add_link(robot: ET.Element, name: str, meshes: MeshFiles | None) -> None:
    link = ET.SubElement(robot, "link", name=name)
    inertial = ET.SubElement(link, "inertial")
    # Not simulated; without values Habitat would estimate them from the boxes and move the link's
    # frame to its centre of mass.
    ET.SubElement(inertial, "origin", xyz="0 0 0", rpy="0 0 0")
    ET.SubElement(inertial, "mass", value="1")
    ET.SubElement(inertial, "inertia", ixx="1", ixy="0", ixz="0", iyy="1", iyz="0", izz="1")
    if meshes is None:
        return
    for tag, path in (("visual", meshes.drawn), ("collision", meshes.touched)):
        geometry = ET.SubElement(ET.SubElement(link, tag), "geometry")
        ET.SubElement(geometry, "mesh", filename=path.name)


def _opening_axis(joint: Joint) -> Vec3:
    """The joint's axis as a unit vector, reversed if needed so that positive positions open it."""
    length = math.copysign(math.hypot(*joint.axis), joint.travel)
    x, y, z = (value / length for value in joint.axis)
    return (x, y, z)


def _numbers(values: Vec3) -> str:
    return " ".join(_number(value) for value in values)


def _number(value: float) -> str:
    # Adding zero turns -0 into 0.
    return repr(round(value, _DECIMALS) + 0.0)


Document = dict[str, object]

# Folders of each kind of file; habitat-sim finds them through the dataset's configuration.
STAGES, OBJECTS, ARTICULATED, SCENES, REGIONS, LIGHTS = (
    "stages", "objects", "urdf", "scenes", "semantics/scenes", "lighting",
)  # fmt: skip
_CAMERA_LIGHTS = 3
# Height up to which something is on a surface; habitat-lab draws samples from this box.
_SURFACE_HALF_HEIGHT_M = 0.005


def json_bytes(document: object) -> bytes:
    """A file's content."""
    return (json.dumps(document, indent=1) + "\n").encode()


def dataset_config() -> Document:
    """`*.scene_dataset_config.json`: the paths of all others."""
    return {
        "stages": {"paths": {".json": [STAGES]}},
        "objects": {"paths": {".json": [OBJECTS]}},
        "articulated_objects": {"paths": {".json": [f"{ARTICULATED}/*"]}},
        "light_setups": {"paths": {".json": [LIGHTS]}},
        "scene_instances": {"paths": {".json": [SCENES]}},
        "semantic_scene_descriptor_instances": {"paths": {".json": [REGIONS]}},
    }


def stage_config(meshes: MeshFiles) -> Document:
    """`*.stage_config.json` of meshes beside it."""
    return {
        "render_asset": meshes.drawn.name,
        "collision_asset": meshes.touched.name,
        **_UPRIGHT,
        "margin": 0.0,
        "is_collidable": True,
    }


def object_config(
    meshes: MeshFiles, folder: Path, semantic_id: int, user_defined: Document
) -> Document:
    """`*.object_config.json` in `folder` for a body with its origin as in ours."""
    return {
        "render_asset": _from(folder, meshes.drawn),
        "collision_asset": _from(folder, meshes.touched),
        **_UPRIGHT,
        "COM": [0.0, 0.0, 0.0],
        "margin": 0.0,
        "mass": 1.0,
        "use_bounding_box_for_collision": False,
        "join_collision_meshes": False,
        "is_collidable": True,
        "semantic_id": semantic_id,
        "user_defined": user_defined,
    }


def articulated_config(urdf: Path, semantic_id: int, user_defined: Document) -> Document:
    """`*.ao_config.json` of a URDF beside it."""
    return {
        "urdf_filepath": urdf.name,
        "base_type": "fixed",
        "inertia_source": "urdf",
        "link_order": "urdf_order",
        "render_mode": "link_visuals",
        "semantic_id": semantic_id,
        "user_defined": user_defined,
    }


def furniture_notes(piece: Furniture) -> Document:
    """Additional fields of a configuration: the name, class and receptacles.

    Receptacles are habitat-lab's boxes (half extents, in the link's frame): flat for a surface, the
    whole hollow for an interior.
    """
    notes: Document = {"name": piece.name, "class": piece.class_name}
    joints = {joint.name: joint for joint in piece.joints}
    for surface in piece.surfaces:
        notes[f"receptacle_aabb_{surface.name}"] = _receptacle(surface, None, bool(joints))
    for interior in piece.interiors:
        mover = joints[interior.joint] if interior.moves and interior.joint is not None else None
        notes[f"receptacle_aabb_{interior.name}"] = _receptacle(interior, mover, bool(joints))
    return notes


def _receptacle(place: Surface | Interior, mover: Joint | None, articulated: bool) -> Document:
    center = place.center
    if mover is not None:
        ox, oy, oz = joint_origin(mover)
        center = (center[0] - ox, center[1] - oy, center[2] - oz)
    if isinstance(place, Interior):
        half = (place.size[0] / 2, place.size[2] / 2, place.size[1] / 2)
    else:
        half = (place.size[0] / 2, _SURFACE_HALF_HEIGHT_M, place.size[1] / 2)
    link: Document = {}
    if articulated:
        link = {"parent_link": BASE if mover is None else link_name(mover.name)}
    return {
        "name": f"receptacle_aabb_{place.name}",
        "position": _rounded(to_habitat(center)),
        "scale": _rounded(half),
        "up": [0.0, 1.0, 0.0],
        **link,
    }


def instance(template: str, position_m: Vec3, yaw_rad: float, *, fixed: bool) -> Document:
    """An entry of a scene: a template at a pose; `fixed` bodies are part of the navmesh."""
    return {
        "template_name": template,
        "translation_origin": "asset_local",
        "translation": _rounded(to_habitat(position_m)),
        "rotation": [round(value, 9) for value in yaw_to_habitat(yaw_rad)],
        "motion_type": "STATIC" if fixed else "KINEMATIC",
    }


def articulated_instance(template: str, position_m: Vec3, yaw_rad: float) -> Document:
    """The same for articulated objects."""
    entry = instance(template, position_m, yaw_rad, fixed=False)
    return {**entry, "fixed_base": True, "auto_clamp_joint_limits": True}


def lighting_config() -> Document:
    """`*.lighting_config.json`: close to our lighting, with Phong shading and no ambient light.

    Three lights that move with the camera stand for ambient light; the fourth is the embedded
    simulator's sun.
    """
    turns = [0.5 + 2 * math.pi * k / _CAMERA_LIGHTS for k in range(_CAMERA_LIGHTS)]
    lights: dict[str, object] = {
        f"camera_{k}": _light((0.9165 * math.cos(t), 0.9165 * math.sin(t), -0.4), 0.5, "camera")
        for k, t in enumerate(turns)
    }
    return {"lights": {**lights, "sun": _light((0.35, -0.8, -0.5), 0.4, "global")}}


def _light(direction: Vec3, intensity: float, frame: str) -> Document:
    return {
        "type": "directional",
        "direction": _rounded(direction),
        "color": [1.0, 1.0, 1.0],
        "intensity": intensity,
        "position_model": frame,
    }


def scene_config(
    stage: str,
    regions: str,
    lights: str,
    bodies: Iterable[Document],
    articulated: Iterable[Document],
) -> Document:
    """`*.scene_instance.json`: a stage, its rooms, and the bodies in it."""
    return {
        "translation_origin": "asset_local",
        "stage_instance": {"template_name": stage},
        "default_lighting": lights,
        "object_instances": list(bodies),
        "articulated_object_instances": list(articulated),
        "semantic_scene_instance": regions,
    }


def regions_config(rooms: Iterable[Room]) -> Document:
    """`*.semantic_config.json`: the rooms as upright prisms."""
    return {"region_annotations": [_region(room) for room in rooms]}


def _region(room: Room) -> Document:
    x0, y0, x1, y1 = room.shape.bounds
    return {
        "name": room.name,
        "label": room.class_name,
        "poly_loop": [_rounded(to_habitat((x, y, 0.0))) for x, y in room.polygon_m],
        "floor_height": 0.0,
        "extrusion_height": room.height_m,
        "min_bounds": _rounded((x0, 0.0, -y1)),
        "max_bounds": _rounded((x1, room.height_m, -y0)),
    }


_UPRIGHT: Mapping[str, object] = {
    "up": [0.0, 1.0, 0.0],
    "front": [0.0, 0.0, -1.0],
    "units_to_meters": 1.0,
    "force_flat_shading": False,
    "shader_type": "phong",
}


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(value, 6) + 0.0 for value in values]


def _from(folder: Path, path: Path) -> str:
    return path.name if path.parent == folder else f"../{path.parent.name}/{path.name}"


# `dataset.json`: identifies a dataset's house, so that no wrong or incomplete one is loaded.

CONTENTS = "dataset.json"
CONTENTS_VERSION = 1
_HOW = "make it anew: planner houses export habitat HOUSE -o DIR"


class Contents(FileModel):
    """The house that a dataset was written from, and its files, relative to this one."""

    version: int
    house: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    files: tuple[str, ...]


def layout_hash(house: House) -> str:
    """A hash of a house without its things, which episodes replace."""
    return hashlib.sha256(house_json(house.layout).encode()).hexdigest()


def write_contents(house: House, directory: Path, files: Iterable[Path]) -> None:
    """Writes it.

    Raises:
        FileError: if it cannot be written.
    """
    names = sorted(file.relative_to(directory).as_posix() for file in files)
    contents = Contents(
        version=CONTENTS_VERSION, house=house.name, sha256=layout_hash(house), files=tuple(names)
    )
    write_file(directory / CONTENTS, json_bytes(contents.model_dump(mode="json")))


def check_contents(directory: Path, house: House) -> None:
    """Checks that a directory has the complete dataset of a house as it is now.

    Raises:
        FileError: naming the file, the field and the reason, in one line.
    """
    if not directory.is_dir():
        raise FileError(directory, "", f"there is no such directory; {_HOW}")
    path = directory / CONTENTS
    if not path.is_file():
        raise FileError(directory, "", f"is not a dataset of ours, it has no {CONTENTS}; {_HOW}")
    document = read_document(path)
    version = document.get("version") if isinstance(document, dict) else None
    if version != CONTENTS_VERSION:
        reason = f"is {version!r}, and this version of planner reads {CONTENTS_VERSION}; {_HOW}"
        raise FileError(path, "version", reason)
    contents = parse_model(document, Contents, path)
    if contents.house != house.name:
        raise FileError(path, "house", f"is {contents.house!r}, not {house.name!r}; {_HOW}")
    if contents.sha256 != layout_hash(house):
        raise FileError(path, "sha256", f"is of another {house.name} than the one given; {_HOW}")
    for index, name in enumerate(contents.files):
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            raise FileError(path, f"files.{index}", f"{name!r} is not within the dataset")
        if not (directory / name).is_file():
            raise FileError(path, f"files.{index}", f"{name} is missing; {_HOW}")
