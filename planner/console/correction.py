"""A correction that a person makes on the page as an operation on the memory."""

from __future__ import annotations

from collections.abc import Sequence

from planner.console.protocol import Correct
from planner.memory import corrections
from planner.memory.corrections import CorrectionError
from planner.memory.updater import Operation
from planner.world.entity import Entity
from planner.world.geometry import Vec3


def operation_of(correction: Correct, known: Sequence[Entity]) -> Operation:
    """The operation, as `planner memory` makes it.

    Args:
        correction: from the page.
        known: what the memory has now.

    Raises:
        CorrectionError: naming the field and the reason.
    """
    if correction.change == "add":
        return corrections.add(correction.words, _place(correction))
    entity = next((e for e in known if e.entity_id == correction.entity), None)
    if entity is None:
        raise CorrectionError(f"entity: the memory has no number {correction.entity}")
    match correction.change:
        case "remove":
            return corrections.remove(entity)
        case "rename":
            return corrections.rename(entity, correction.words)
        case "state":
            return corrections.set_state(entity, correction.words)
        case "move":
            return corrections.move(entity, _place(correction))
        case "onto":
            piece = next((e for e in known if e.name == correction.words), None)
            if piece is None:
                raise CorrectionError(f"onto: the memory knows no {correction.words!r}")
            return corrections.move_onto(entity, piece)


def _place(correction: Correct) -> Vec3:
    if correction.at is None:
        raise CorrectionError("at: expected a place in the map")
    return correction.at
