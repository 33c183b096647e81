"""Which furniture stands open, by what pictures show of it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from planner.memory.learned.detector import FrameDetections
from planner.memory.learned.network import Array
from planner.memory.updater import Facts, Operation
from planner.memory.wording import describe
from planner.world.entity import Entity, OperationKind
from planner.world.house import Furniture, House

# Points that a look must show of a piece; how much each look counts; when it is one or the other.
_MIN_POINTS, _SHARE, _OPEN_LOGIT, _MAX_LOGIT = 40, 0.3, 1.5, 4.0
_BESIDE_M = 0.03


class Openings:
    """How open each piece of a house looks, smoothed: one odd picture opens nothing.

    Attributes:
        seen: how much each piece that was seen looks open (above 0) rather than closed.
    """

    def __init__(self, layout: House) -> None:
        """Takes the house's layout."""
        self._limits = {p.name: _limits(p) for p in layout.furniture if p.joints}
        self.seen: dict[str, float] = {}

    def update(self, look: FrameDetections, entities: Iterable[Entity]) -> list[Operation]:
        """Updates of furniture that is seen open or closed and was thought otherwise."""
        operations = []
        columns = np.ascontiguousarray(look.points_m.T)
        for entity in entities:
            limits = self._limits.get(entity.name)
            if limits is None:
                continue
            logits = look.open_logits[_inside(limits, columns)]
            if len(logits) < _MIN_POINTS:
                continue
            mean = float(np.mean(np.clip(logits, -_MAX_LOGIT, _MAX_LOGIT)))
            now = (1 - _SHARE) * self.seen.get(entity.name, 0.0) + _SHARE * mean
            self.seen[entity.name] = now
            was_open = (entity.openness or 0.0) >= 0.5
            if (now > _OPEN_LOGIT and not was_open) or (now < -_OPEN_LOGIT and was_open):
                operations.append(_opened(entity, open_=not was_open))
        return operations


def _limits(piece: Furniture) -> Array:
    """(3, 2) least and greatest coordinates of what belongs to the piece."""
    box = piece.box
    limits: Array = np.array([box.minimum_m, box.maximum_m], np.float32).T
    return limits + np.array([-_BESIDE_M, _BESIDE_M], np.float32)


def _inside(limits: Array, columns: Array) -> NDArray[np.intp]:
    """Which of the points, as (3, n) coordinates, lie within; axis by axis, for speed."""
    found = np.arange(columns.shape[1])
    for values, (low, high) in zip(columns, limits, strict=True):
        part = values[found]
        found = found[(part >= low) & (part <= high)]
        if not found.size:
            break
    return found


def _opened(entity: Entity, *, open_: bool) -> Operation:
    openness = 1.0 if open_ else 0.0
    facts = Facts(
        entity.class_name, entity.size_m, entity.parent, None, entity.room, entity.states, openness
    )
    return Operation(
        OperationKind.UPDATE,
        entity_id=entity.entity_id,
        description=describe(entity.class_name, entity.states, "open" if open_ else "closed"),
        position_m=entity.position_m,
        facts=facts,
    )
