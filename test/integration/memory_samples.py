"""Samples for the memory's tests: layouts of plain tables, a flat picture, a small world.

In this folder because it is the one that tests may import from.
"""

from __future__ import annotations

import numpy as np

from planner.memory.entity_list import Provenance
from planner.world.belief import Source
from planner.world.catalogue import default_catalogue
from planner.world.furnishing import build_furniture
from planner.world.geometry import Pose, Vec3
from planner.world.house import House, Room
from planner.world.observation import CameraFrame, Intrinsics
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation

LENS = Intrinsics(384, 384, 192.0, 192.0, 192.0, 192.0)


def layout_of(pieces: int) -> House:
    """One large room with so many tables in a grid, 1.5 m apart."""
    table = default_catalogue().furniture["table"]
    furniture = tuple(
        build_furniture(
            table,
            f"table_{n}",
            "hall_0",
            1 + 1.5 * (n % 10),
            1 + 1.5 * (n // 10),
            0,
            table.size_min_m,
        )
        for n in range(pieces)
    )
    square = ((0, 0), (20, 0), (20, 20), (0, 20))
    hall = Room(name="hall_0", class_name="hallway", polygon_m=square)
    return House(version=1, name="tables", rooms=(hall,), furniture=furniture)


def flat_frame(depth_m: float = 2.0, pose: Pose | None = None) -> CameraFrame:
    """Everything at one depth."""
    return CameraFrame(
        rgb=np.zeros((384, 384, 3), np.uint8),
        depth_m=np.full((384, 384), depth_m, np.float32),
        instances=None,
        intrinsics=LENS,
        pose=pose or Pose((0.0, 0.0, 0.0)),
    )


def seen(frame: CameraFrame | None, stamp_s: float = 1.0) -> Provenance:
    return Provenance(stamp_s, "test", Source.SEEN, "agent_0", frame)


def thing(
    name: str,
    number: int,
    at: Vec3,
    parent: str,
    relation: Relation = Relation.ON,
    room: str | None = "hall_0",
    states: dict[str, bool] | None = None,
) -> EntityState:
    """A small box, its pose given by the middle of its underside."""
    return EntityState(
        name=name,
        kind=EntityKind.OBJECT,
        class_name=name.rpartition("_")[0],
        instance_id=number,
        pose=Pose(at),
        size_m=(0.1, 0.1, 0.1),
        parent=parent,
        relation=relation,
        room=room,
        states=states,
    )


def piece_state(layout: House, index: int, openness: float | None = None) -> EntityState:
    """The truth about a piece of furniture; its instance id is its index + 1."""
    piece = layout.furniture[index]
    return EntityState(
        name=piece.name,
        kind=EntityKind.FURNITURE,
        class_name=piece.class_name,
        instance_id=index + 1,
        pose=piece.pose,
        size_m=piece.size_m,
        parent=piece.room,
        relation=None,
        room=piece.room,
        openness=openness,
    )


def agent_state(name: str, at: Vec3, holding: str | None = None) -> EntityState:
    """A robot."""
    return EntityState(
        name=name,
        kind=EntityKind.AGENT,
        class_name="robot",
        instance_id=900 + int(name[-1]),
        pose=Pose(at),
        size_m=(0.5, 0.5, 1.0),
        parent="hall_0",
        relation=None,
        room="hall_0",
        hands=(holding,),
    )


def world_of(*entities: EntityState, stamp_s: float = 0.0) -> WorldState:
    """A world of these."""
    return WorldState(stamp_s, 0, 0, "tables", "sample", {e.name: e for e in entities})
