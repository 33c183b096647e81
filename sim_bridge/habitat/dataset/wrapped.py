"""Meshes of other data sets in the frame of our things: the whole file under one more node."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from planner.world.errors import FileError
from planner.world.files import parse_json, read_bytes
from planner.world.geometry import FloatArray
from planner.world.house import ObjectPlacement
from sim_bridge.habitat.dataset.axes import points_to_habitat
from sim_bridge.habitat.models import ThingModel

_HEADER, _CHUNK = struct.Struct("<4sII"), struct.Struct("<I4s")


def thing_mesh(model: ThingModel, item: ObjectPlacement) -> bytes:
    """A GLB of a model with the size of a thing, whose underside's middle is the origin.

    Textures and compressed meshes stay as they are.

    Raises:
        FileError: if the file is no GLB, or needs files beside it.
    """
    stretch = np.array(model.stretch(item))
    turn = stretch[:, None] * np.array(model.turn)
    low, size = np.array(model.low_m), np.array(model.size_m)
    shift = -stretch * (low + size * (0.5, 0.5, 0.0))
    matrix = np.eye(4)
    matrix[:3, :3] = points_to_habitat(turn.T).T
    matrix[:3, 3] = points_to_habitat(shift[None])[0]
    return wrapped(Path(model.mesh), matrix)


def wrapped(path: Path, matrix: FloatArray) -> bytes:
    """The content of a GLB file, everything in it moved by a (4, 4) matrix in its own axes.

    Raises:
        FileError: if the file is no GLB, or needs files beside it.
    """
    tree, rest = _read(path)
    for kind in ("buffers", "images"):
        for number, entry in enumerate(tree.get(kind, [])):
            uri = entry.get("uri", "data:")
            if not uri.startswith("data:"):
                raise FileError(path, f"{kind}.{number}.uri", f"needs {uri!r} beside it")
    nodes, scenes = tree.setdefault("nodes", []), tree.get("scenes", [])
    if not nodes or not scenes:
        raise FileError(path, "scenes", "there are none")
    scene = scenes[tree.get("scene", 0)]
    nodes.append({"matrix": matrix.T.ravel().tolist(), "children": list(scene.get("nodes", []))})
    scene["nodes"] = [len(nodes) - 1]
    text = json.dumps(tree, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    chunk = _CHUNK.pack(len(text), b"JSON") + text
    return _HEADER.pack(b"glTF", 2, _HEADER.size + len(chunk) + len(rest)) + chunk + rest


def _read(path: Path) -> tuple[dict[str, Any], bytes]:
    try:
        content = read_bytes(path)
        magic, version, _ = _HEADER.unpack_from(content)
        length, kind = _CHUNK.unpack_from(content, _HEADER.size)
        start = _HEADER.size + _CHUNK.size
        if (magic, version, kind) != (b"glTF", 2, b"JSON") or start + length > len(content):
            raise FileError(path, "", "is no GLB file")
        tree = parse_json(content[start : start + length].decode("utf-8"), path)
    except (struct.error, ValueError):
        raise FileError(path, "", "is no GLB file") from None
    if not isinstance(tree, dict):
        raise FileError(path, "", "is no GLB file")
    return tree, content[start + length :]
