"""The output that EPM's model should give for an image, from ground truth (EPM-2.4).

Ours where the paper is silent: only things in the image, or whose place is in the image, get an
operation, since each needs pixel coordinates; a point without depth gets none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from planner.memory.camera import point_at_pixel, project
from planner.memory.operations import MODEL_IMAGE_PX
from planner.memory.sightings import Visibility, sightings_of_images
from planner.memory.updater import Operation
from planner.memory.wording import PICKED, PLACED, describe, words_of
from planner.world.entity import Entity, OperationKind
from planner.world.geometry import Vec3
from planner.world.observation import CameraFrame, Sighting
from planner.world.openness import OPEN_FROM
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation

# 0.001 % of the image, closer than 6 m.
TRAINING_VISIBILITY = Visibility(0.00001, 0.0, math.nextafter(6.0, 0.0))
PHANTOM_SHARE = 0.01
# A phantom was supposedly seen from this much further than the measured depth at its place.
_PHANTOM_BEHIND_M = (0.3, 2.0)


class SampleKind(StrEnum):
    """What a sample teaches; with several operations, the rarest kind counts."""

    NONE = "none"
    UPDATE = "update"
    ADD = "add"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class LabelRules:
    """The paper's rules with their numbers.

    Attributes:
        visibility: when a thing is in view.
        update_known: whether a known thing on visible furniture is updated although nothing
            happened to it, which is the literal rule of the paper.
        phantom_share: share of steps that get a phantom to remove.
    """

    visibility: Visibility = TRAINING_VISIBILITY
    update_known: bool = True
    phantom_share: float = PHANTOM_SHARE


def labels(
    frame: CameraFrame, state: WorldState, known: Sequence[Entity], rules: LabelRules
) -> list[Operation]:
    """The correct operations for an image, with pixels of the model's image size.

    Names are those of ground truth, so that added things can be identified.
    """
    names = {e.instance_id: e.name for e in state.entities.values() if e.instance_id > 0}
    seen = {s.name: s for s in sightings_of_images(frame, names) if rules.visibility.shows(s)}
    by_name = {entity.name: entity for entity in known}
    made: list[Operation] = []
    for name, truth in state.entities.items():
        sighting, entity = seen.get(name), by_name.get(name)
        if truth.kind is EntityKind.FURNITURE and sighting and entity:
            operation = _furniture(entity, truth, sighting)
        elif truth.kind is EntityKind.OBJECT:
            operation = _thing(frame, entity, truth, sighting, _Supports(seen, by_name), rules)
        else:
            continue
        if operation is None or operation.pixel is None:
            continue
        if not isinstance(point_at_pixel(frame, operation.pixel), str):
            made.append(_scaled(operation, frame))
    return made


def kind_of(operations: Sequence[Operation]) -> SampleKind:
    """The kind of sample that these operations make."""
    kinds = {operation.kind for operation in operations}
    if OperationKind.REMOVE in kinds:
        return SampleKind.REMOVE
    if OperationKind.ADD in kinds:
        return SampleKind.ADD
    return SampleKind.UPDATE if kinds else SampleKind.NONE


def phantom(
    frame: CameraFrame, classes: Sequence[str], number: int, rng: np.random.Generator
) -> Entity | None:
    """A thing that does not exist, at a point in view, remembered from further away than it is.

    None if the image has no depth.
    """
    rows, columns = np.nonzero(np.isfinite(frame.depth_m) & (frame.depth_m > 0))
    if not rows.size:
        return None
    index = int(rng.integers(rows.size))
    found = point_at_pixel(frame, (float(columns[index]), float(rows[index])))
    if isinstance(found, str):
        return None
    point_m, depth_m = found
    class_name = classes[int(rng.integers(len(classes)))]
    return Entity(
        entity_id=number,
        name=f"phantom_{number}",
        class_name=class_name,
        is_furniture=False,
        description=words_of(class_name),
        position_m=point_m,
        seen_distance_m=depth_m + float(rng.uniform(*_PHANTOM_BEHIND_M)),
    )


@dataclass(frozen=True, slots=True)
class _Supports:
    """The numbered furniture in view."""

    seen: Mapping[str, Sighting]
    known: Mapping[str, Entity]

    def number(self, parent: str | None) -> int | None:
        entity = self.known.get(parent or "")
        shown = entity is not None and entity.is_furniture and entity.name in self.seen
        return entity.entity_id if entity is not None and shown else None


def _furniture(entity: Entity, truth: EntityState, sighting: Sighting) -> Operation | None:
    if truth.openness is None:
        return None
    is_open, was_open = truth.openness >= OPEN_FROM, (entity.openness or 0.0) >= OPEN_FROM
    if is_open == was_open:
        return None
    return Operation(
        OperationKind.UPDATE,
        entity_id=entity.entity_id,
        pixel=sighting.pixel,
        description=describe(entity.class_name, None, "open" if is_open else "closed"),
    )


def _thing(
    frame: CameraFrame,
    entity: Entity | None,
    truth: EntityState,
    sighting: Sighting | None,
    supports: _Supports,
    rules: LabelRules,
) -> Operation | None:
    held = truth.relation is Relation.HELD
    support = None if held else supports.number(truth.parent)
    text = describe(truth.class_name, None, "", support)
    if entity is None:
        if sighting is None or held:
            return None
        pixel = sighting.pixel
        return Operation(OperationKind.ADD, pixel=pixel, description=text, name=truth.name)
    if entity.picked != held:
        # A picked thing is located at its old place, which may be outside the image by now.
        where = entity.position_m if held else truth.box.center_m
        pixel_ = sighting.pixel if sighting is not None else _pixel(frame, where)
        return Operation(
            OperationKind.UPDATE,
            entity_id=entity.entity_id,
            pixel=pixel_,
            description=f"{text} {PICKED if held else PLACED}",
        )
    if held or sighting is None or support is None or not rules.update_known:
        return None
    return Operation(
        OperationKind.UPDATE, entity_id=entity.entity_id, pixel=sighting.pixel, description=text
    )


def _pixel(frame: CameraFrame, point_m: Vec3) -> tuple[float, float] | None:
    projected = project(frame.intrinsics, frame.pose, np.array([point_m], float))[0]
    u, v, depth_m = (float(value) for value in projected)
    intrinsics = frame.intrinsics
    inside = depth_m > 0 and 0 <= u < intrinsics.width_px and 0 <= v < intrinsics.height_px
    return (u, v) if inside else None


def _scaled(operation: Operation, frame: CameraFrame) -> Operation:
    """The operation with integer pixels of the model's image size."""
    assert operation.pixel is not None  # noqa: S101 - checked by the caller
    u, v = operation.pixel
    intrinsics = frame.intrinsics
    column = min(MODEL_IMAGE_PX - 1, int(u * MODEL_IMAGE_PX / intrinsics.width_px))
    row = min(MODEL_IMAGE_PX - 1, int(v * MODEL_IMAGE_PX / intrinsics.height_px))
    return Operation(
        operation.kind,
        operation.entity_id,
        (float(column), float(row)),
        operation.description,
        name=operation.name,
    )
