"""The small scene of `hssd_layout` with everything that makes real scenes hard to read."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from hssd_layout import FLOOR_M, MODELS, SCENE, STAND_MODEL, write_hssd

from planner.world.house import House
from sim_bridge.habitat.dataset.meshes import Solid, box_triangles, write_glb

ASIDE_MODEL = "9c" * 20
"""A table whose mesh lies 0.4 m beside its origin; placed mirrored at ASIDE_AT."""
ASIDE_AT, ASIDE_M = (1.5, 1.5), 0.4
UPSTAIRS_M = 3.0
AJAR = 0.25
"""The lower limit of each joint of the chest and the cabinet."""


def edit(path: Path, change: Callable[[Any], None]) -> None:
    document = json.loads(path.read_text("utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def write_nasty(folder: Path, house: House) -> Path:
    """As `write_hssd`: mirrored, mislabelled, crossing, ajar, textured, on two storeys."""
    write_hssd(folder, house)
    edit(folder / "semantics/scenes" / f"{SCENE}.semantic_config.json", _spoil_regions)
    edit(folder / "scenes-partnr-filtered" / f"{SCENE}.scene_instance.json", _spoil_bodies)
    for piece in ("chest_of_drawers_0", "cabinet_0"):
        model = MODELS[piece]
        ajar(folder / "urdf" / model / f"{model}.urdf", AJAR)
    table = folder / "objects" / MODELS["table_0"][0] / f"{MODELS['table_0']}.glb"
    table.write_bytes(textured(table.read_bytes()))
    _aside(folder)
    # A mesh in another format.
    stand = folder / "objects" / STAND_MODEL[0]
    (stand / f"{STAND_MODEL}.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    edit(
        stand / f"{STAND_MODEL}.object_config.json",
        lambda document: document.update(render_asset=f"{STAND_MODEL}.obj"),
    )
    table_of_classes = folder / "metadata/fpmodels-with-decomposed.csv"
    rows = table_of_classes.read_text("utf-8").replace(",table\n", ",Table\n", 1)
    table_of_classes.write_text(f"{rows}{ASIDE_MODEL},x,table\n", encoding="utf-8")
    return folder


def _spoil_regions(document: Any) -> None:
    kitchen, living_room = document["region_annotations"]
    kitchen["label"] = "Chef's 2nd wine cellar"
    # A corner that was passed twice: the outline crosses itself in a loop of a few centimetres.
    first, after = (np.array(living_room["poly_loop"][k]) for k in (0, 1))
    towards = np.sign(after - first) * 0.03
    aside = np.array([towards[2], 0.0, -towards[0]])
    passed = np.array([2 * towards + aside, towards - aside, towards + aside]) + first
    living_room["poly_loop"][1:1] = passed.tolist()
    height = FLOOR_M + UPSTAIRS_M
    attic = {**kitchen, "name": "region.2", "label": "bedroom", "floor_height": height}
    attic["poly_loop"] = [[x, height, z] for x, _, z in kitchen["poly_loop"]]
    # Half its size, so that the ground floor is the main storey.
    nook = {**kitchen, "name": "region.3", "label": "closet"}
    nook["poly_loop"] = [[20.0, 0.0, 0.0], [20.5, 0.0, 0.0], [20.5, 0.0, 0.5]]
    document["region_annotations"] += [attic, nook]


def _spoil_bodies(document: Any) -> None:
    for body in document["object_instances"]:
        if body["template_name"] in (MODELS["sink_0"], MODELS["couch_0"]):
            # Our meshes are the same on both sides, so nothing else may change.
            body["non_uniform_scale"] = [-1.0, 1.0, 1.0]
    table = next(b for b in document["object_instances"] if b["template_name"] == MODELS["table_0"])
    x, y, z = table["translation"]
    document["object_instances"] += [
        {**table, "translation": [x, y + UPSTAIRS_M, z]},
        {
            "template_name": ASIDE_MODEL,
            "translation": [ASIDE_AT[0], FLOOR_M, -ASIDE_AT[1]],
            "non_uniform_scale": [-1.0, 1.0, 1.0],
        },
    ]


def _aside(folder: Path) -> None:
    place = folder / "objects" / ASIDE_MODEL[0]
    place.mkdir(parents=True, exist_ok=True)
    box = box_triangles((0.2, 0.2, 0.2)).shifted((ASIDE_M, 0.0, 0.2))
    write_glb([Solid(box, (0.5, 0.5, 0.5))], place / f"{ASIDE_MODEL}.glb")
    note = {"position": [ASIDE_M, 0.4, 0.0], "scale": [0.2, 0.0, 0.2]}
    (place / f"{ASIDE_MODEL}.object_config.json").write_text(
        json.dumps(
            {
                "render_asset": f"{ASIDE_MODEL}.glb",
                "user_defined": {"receptacle_aabb_top": note},
            }
        )
    )


def ajar(urdf: Path, low: float) -> None:
    """Has every joint closed at `low` instead of 0, in the same place."""
    robot = ET.fromstring(urdf.read_bytes())  # noqa: S314 - our own file
    for joint in robot.findall("joint"):
        limit, axis, origin = joint.find("limit"), joint.find("axis"), joint.find("origin")
        if limit is None or axis is None:
            continue
        assert origin is not None
        along = np.array([float(word) for word in axis.get("xyz", "").split()])
        name = "xyz" if joint.get("type") == "prismatic" else "rpy"
        before = np.array([float(word) for word in origin.get(name, "0 0 0").split()])
        # Axes of our doors are an axis of the frame, so their angles are added.
        origin.set(name, " ".join(map(str, before - along * low)))
        for end in ("lower", "upper"):
            limit.set(end, str(float(limit.get(end, "0")) + low))
    urdf.write_text(ET.tostring(robot, encoding="unicode"), encoding="utf-8")


def textured(glb: bytes) -> bytes:
    """The same GLB file with a picture on its meshes, in its own buffer."""
    length = struct.unpack_from("<I", glb, 12)[0]
    document, data = json.loads(glb[20 : 20 + length]), glb[28 + length :]
    picture = b"\x89PNG\r\n\x1a\n" + bytes(56)
    document["bufferViews"].append(
        {"buffer": 0, "byteOffset": len(data), "byteLength": len(picture)}
    )
    document["buffers"][0]["byteLength"] = len(data) + len(picture)
    document["images"] = [{"bufferView": len(document["bufferViews"]) - 1, "mimeType": "image/png"}]
    document["textures"] = [{"source": 0}]
    for material in document.get("materials", []):
        material.setdefault("pbrMetallicRoughness", {})["baseColorTexture"] = {"index": 0}
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    data += picture
    head = struct.pack("<III", 0x46546C67, 2, 12 + 8 + len(text) + 8 + len(data))
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text
    return head + chunks + struct.pack("<II", len(data), 0x004E4942) + data
