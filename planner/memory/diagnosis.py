"""What a memory in use says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from planner.memory.background import BackgroundUpdater
from planner.memory.memory import Memory


class Condition(NamedTuple):
    """The condition of one part of the memory node.

    Attributes:
        name: of the part.
        problem: "" where there is none.
        is_error: whether the problem loses data.
        values: details by name.
    """

    name: str
    problem: str
    is_error: bool
    values: Mapping[str, str]


def conditions(
    memory: Memory | None,
    worker: BackgroundUpdater | None,
    settings: Mapping[str, str],
    notes: Mapping[str, str],
    problem: str,
) -> list[Condition]:
    """How the store is, and what is remembered.

    Args:
        memory: None while the world is not known.
        worker: who makes edits of pictures in a thread of its own, if somebody does.
        settings: told first, by name.
        notes: told last, by name: what was lost or could not be read.
        problem: why there is no memory, or why it sees nothing, where that is known.
    """
    values = dict(settings)
    if worker is not None:
        values.update({name: str(count) for name, count in worker.counts.items()})
    fault, doubts = "", [problem or "the world is not known yet"]
    if memory is not None:
        fault, doubts = memory.fault, [*memory.disagreements(), *filter(None, [problem])]
        values["sequence"] = str(memory.sequence)
        values["operations refused"] = str(memory.refused)
        values["last refused"] = memory.refusal
        values["entities"] = str(len(memory.entities))
    if worker is not None and worker.failure:
        doubts = [*doubts, f"the update from the last image failed: {worker.failure}"]
    return [
        Condition("memory: store", fault and f"not stored: {fault}", True, {}),
        Condition("memory: entities", "; ".join(doubts), False, {**values, **notes}),
    ]
