"""A scene of another dataset under our names: its meshes, our ids, joints and rooms.

Nothing of it is copied: our configurations refer to its files in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
from scipy.spatial.transform import Rotation

from planner.world.errors import FileError
from planner.world.files import parse_json, read_bytes, read_text
from planner.world.geometry import Vec3
from planner.world.house import Furniture, House
from sim_bridge.habitat.dataset import configs
from sim_bridge.habitat.dataset.configs import HabitatDataset, link_name
from sim_bridge.habitat.dataset.meshes import write_file
from sim_bridge.habitat.dataset.writer import (
    empty_scene_path,
    finish_dataset,
    lights_path,
    make_way,
    piece_path,
    regions_path,
    scene_path,
    stage_path,
)

_FILES = ("render_asset", "collision_asset", "semantic_asset", "nav_asset", "urdf_filepath")
_LOWER = "lower"
_AT_ZERO = 1e-6


@dataclass(frozen=True, slots=True)
class ForeignBody:
    """A body of a scene.

    Attributes:
        config: the file to name in errors; the paths of its assets are relative to its folder.
        document: the attributes of its template.
        is_articulated: whether it has joints.
        translation: its position in the scene, in Habitat's axes.
        entry: its rotation, scales, and the origin of the translation.
        joints: our name of each of its joints, by the original name.
    """

    config: Path
    document: Mapping[str, object]
    is_articulated: bool
    translation: Vec3
    entry: Mapping[str, object]
    joints: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ForeignScene:
    """A scene.

    Attributes:
        stage: the structure.
        furniture: bodies of our house, by our name.
        others: other bodies: scenery, with id 0.
        floor_m: the height of its floor, which in our copy is 0.
    """

    stage: ForeignBody
    furniture: Mapping[str, ForeignBody]
    others: tuple[ForeignBody, ...]
    floor_m: float


def export_foreign(house: House, scene: ForeignScene, directory: Path) -> HabitatDataset:
    """Writes the dataset of a house that was read from a scene; an older one is replaced.

    Raises:
        FileError: if a piece has no body in the scene, an original file cannot be read, the
            directory has other contents, or a file cannot be written.
    """
    missing = [piece.name for piece in house.furniture if piece.name not in scene.furniture]
    if missing:
        raise FileError(house.name, "furniture", f"{missing[0]} is not in the scene")
    make_way(directory)
    stage = directory / stage_path(house)
    write_file(stage, configs.json_bytes(_with_their_files(scene.stage)))
    bodies: list[configs.Document] = []
    articulated: list[configs.Document] = []
    for semantic_id, piece in enumerate(house.furniture, 1):
        body = scene.furniture[piece.name]
        entry = {"template_name": piece_path(piece), **_on_our_floor(body, scene.floor_m)}
        if body.is_articulated != bool(piece.joints):
            reason = "opens in one of scene and house only"
            raise FileError(house.name, f"furniture.{piece.name}", reason)
        if body.is_articulated:
            _write_articulated(piece, body, semantic_id, directory)
            articulated.append({**entry, "fixed_base": True})
        else:
            document = {**_with_their_files(body), "semantic_id": semantic_id}
            write_file(directory / piece_path(piece), configs.json_bytes(document))
            bodies.append({**entry, "motion_type": "STATIC"})
    for number, body in enumerate(scene.others):
        entry = _scenery(number, body, scene.floor_m, directory)
        (articulated if "fixed_base" in entry else bodies).append(entry)
    document = configs.scene_config(
        stage_path(house), regions_path(house), lights_path(house), bodies, articulated
    )
    document["stage_instance"] = {
        "template_name": stage_path(house),
        **_on_our_floor(scene.stage, scene.floor_m),
    }
    # Episodes bring the things: both scenes are the same.
    for path in (scene_path(house), empty_scene_path(house)):
        write_file(directory / path, configs.json_bytes(document))
    return finish_dataset(house, directory)


def is_foreign(dataset: HabitatDataset) -> bool:
    """Whether a dataset refers to files of another one, as `export_foreign` writes it.

    Raises:
        FileError: if the stage's configuration cannot be read.
    """
    return Path(str(_read(dataset.stage).get("render_asset", ""))).is_absolute()


def _scenery(number: int, body: ForeignBody, floor_m: float, directory: Path) -> configs.Document:
    """A body that our house lacks; articulated ones stay closed, as no agent can open them."""
    name, placed = f"scenery-{number}", _on_our_floor(body, floor_m)
    if body.is_articulated:
        path = f"{configs.ARTICULATED}/{name}/{name}.ao_config.json"
        document = {**_with_their_files(body), "semantic_id": 0, "base_type": "fixed"}
        entry = {"template_name": path, **placed, "fixed_base": True}
    else:
        path = f"{configs.OBJECTS}/{name}.object_config.json"
        document = {**_with_their_files(body), "semantic_id": 0}
        entry = {"template_name": path, **placed, "motion_type": "STATIC"}
    write_file(directory / path, configs.json_bytes(document))
    return entry


def _with_their_files(body: ForeignBody) -> configs.Document:
    """An original template with absolute file paths."""
    document: configs.Document = dict(body.document)
    for name in _FILES:
        asset = document.get(name)
        if isinstance(asset, str) and asset:
            document[name] = str((body.config.parent / asset).resolve())
    document["user_defined"] = {}
    return document


def _write_articulated(
    piece: Furniture, body: ForeignBody, semantic_id: int, directory: Path
) -> None:
    """The URDF with our names of the moving joints and links, and its configuration."""
    document = body.document
    theirs = body.config.parent / str(document.get("urdf_filepath", ""))
    config = directory / piece_path(piece)
    urdf = config.parent / f"{piece.name}.urdf"
    write_file(urdf, _renamed(theirs, body.joints).encode())
    made = configs.articulated_config(urdf, semantic_id, {"name": piece.name})
    for name in ("uniform_scale", "mass_scale", "inertia_source", "shader_type"):
        if name in document:
            made[name] = document[name]
    write_file(config, configs.json_bytes(made))


def _renamed(urdf: Path, joints: Mapping[str, str]) -> str:
    try:
        content = read_bytes(urdf)
        if b"<!" in content.replace(b"<!--", b""):
            raise FileError(urdf, "", "is not a plain URDF")
        robot = ET.fromstring(content)  # noqa: S314 - no entities, see above
    except (ET.ParseError, RecursionError) as error:
        raise FileError(urdf, "", f"is not well formed: {error}") from None
    links: dict[str, str] = {}
    for joint in robot.findall("joint"):
        ours = joints.get(joint.get("name", ""))
        child = joint.find("child")
        if ours is None or child is None:
            continue
        _close_at_zero(joint, urdf)
        joint.set("name", ours)
        links[child.get("link", "")] = link_name(ours)
    for element in robot.iter():
        if element.tag == "link" and element.get("name") in links:
            element.set("name", links[element.get("name", "")])
        if element.tag in ("parent", "child") and element.get("link") in links:
            element.set("link", links[element.get("link", "")])
        if element.tag == "mesh":
            element.set("filename", str((urdf.parent / element.get("filename", "")).resolve()))
    return ET.tostring(robot, encoding="unicode") + "\n"


def _close_at_zero(joint: ET.Element, urdf: Path) -> None:
    """Moves a joint's frame so that it is closed at position 0, as ours are.

    Raises:
        FileError: if it cannot be read.
    """
    limit, axis = joint.find("limit"), joint.find("axis")
    if limit is None:
        return
    low, high = (_numbers(limit, name, 1, urdf)[0] for name in (_LOWER, "upper"))
    if abs(low) < _AT_ZERO or high - low < _AT_ZERO:
        return
    along = np.array(_numbers(axis, "xyz", 3, urdf) if axis is not None else [1.0, 0.0, 0.0])
    if not np.linalg.norm(along) > 0.0:
        raise FileError(urdf, f"joint.{joint.get('name')}.axis", "has no direction")
    along /= np.linalg.norm(along)
    origin = joint.find("origin")
    if origin is None:
        origin = ET.SubElement(joint, "origin")
    turn = Rotation.from_euler("xyz", _numbers(origin, "rpy", 3, urdf))
    if joint.get("type") == "prismatic":
        moved = np.array(_numbers(origin, "xyz", 3, urdf)) + turn.apply(along * low)
        origin.set("xyz", _words(moved))
    else:
        origin.set("rpy", _words((turn * Rotation.from_rotvec(along * low)).as_euler("xyz")))
    limit.set(_LOWER, "0")
    limit.set("upper", _words([high - low]))


def _numbers(element: ET.Element, name: str, count: int, urdf: Path) -> list[float]:
    """The numbers of an attribute; zeros if it is absent."""
    words = element.get(name, " ".join(["0"] * count)).split()
    try:
        found = [float(word) for word in words]
    except ValueError:
        found = []
    if len(found) != count or not np.isfinite(found).all():
        raise FileError(urdf, f"{element.tag}.{name}", f"expected {count} numbers, got {words}")
    return found


def _words(numbers: Iterable[float]) -> str:
    return " ".join(f"{number:.9g}" for number in numbers)


def _on_our_floor(body: ForeignBody, floor_m: float) -> configs.Document:
    x, y, z = body.translation
    return {**body.entry, "translation": [x, y - floor_m, z]}


def _read(config: Path) -> configs.Document:
    document = parse_json(read_text(config), config)
    if not isinstance(document, dict):
        raise FileError(config, "", "is not an object")
    return document
