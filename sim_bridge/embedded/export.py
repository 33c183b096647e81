"""Exports a house as an MJCF file, for MuJoCo without this project."""

from __future__ import annotations

from pathlib import Path

import mujoco

from planner.world.appearance import thing_parts
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.errors import FileError
from planner.world.geometry import quaternion_from_yaw
from planner.world.house import House
from sim_bridge.embedded.scene import GROUP_THING, add_part, house_spec


def export_mujoco(house: House, directory: Path, catalogue: Catalogue | None = None) -> Path:
    """Writes `<house>.xml`: the embedded simulator's model of the house and its things.

    Drawers, doors and lids are joints with their travel as range; things are mocap bodies. Nothing
    collides, as in the embedded simulator.

    Raises:
        FileError: if a class is not in the catalogue or the file cannot be written.
    """
    known = catalogue or default_catalogue()
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
    try:
        directory.mkdir(parents=True, exist_ok=True)
        path.write_text(spec.to_xml(), encoding="utf-8")
    except OSError as error:
        raise FileError(path, "", f"cannot be written: {error.strerror}") from None
    return path
