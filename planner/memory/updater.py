"""The interface of memory updaters, which turn observations into operations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from planner.world.entity import Entity, OperationKind
from planner.world.geometry import Vec3
from planner.world.hands import Hand
from planner.world.look import UNKNOWN_LOOK, Look
from planner.world.observation import Observation
from planner.world.record import record
from planner.world.second_guess import Guesses
from planner.world.vocabulary import Relation


@record
class Facts:
    """What an updater knows beyond EPM's text; None of it = it is parsed from the text.

    Attributes as in `planner.world.entity.Entity`; an unknown look leaves the known one, as None
    leaves what else it may be.
    """

    class_name: str
    size_m: Vec3 = (0.0, 0.0, 0.0)
    parent: str | None = None
    relation: Relation | None = None
    room: str | None = None
    states: Mapping[str, bool] | None = None
    openness: float | None = None
    hand: Hand | None = None
    look: Look = UNKNOWN_LOOK
    maybe: Guesses | None = None


@record
class Operation:
    """One edit of the entity list (EPM-2.3).

    Attributes:
        entity_id: of Update and Remove; Add gets the next number. An Update without one is of
            the agent `name`, which is at `position_m`.
        pixel: (u, v) in the observation's image, which the list turns into a point with depth.
        description: EPM's text, of Add and Update; the words picked and placed set the flag.
        position_m: the point in `map` where the updater knows it; then `pixel` is not used.
        name: the entity's name where the updater knows it (privileged); None otherwise.
        distance_m: from the camera, where `position_m` is given and a camera saw it.
        facts: what the updater knows besides the text.
    """

    kind: OperationKind
    entity_id: int | None = None
    pixel: tuple[float, float] | None = None
    description: str = ""
    position_m: Vec3 | None = None
    name: str | None = None
    distance_m: float | None = None
    facts: Facts | None = None


class MemoryUpdater(Protocol):
    """Turns one observation into edits of the entity list."""

    @property
    def name(self) -> str:
        """As in the bring-up's argument `memory`."""

    def update(
        self, observation: Observation, entities: Sequence[Entity], last_action: str
    ) -> list[Operation]:
        """The edits for an observation; `last_action` as `Pick[Object.149]` or ''.

        Unchanged things may be returned as Updates: the list distinguishes them
        from changes.
        """


@runtime_checkable
class Counting(Protocol):
    """An updater that counts what it could not use."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Counts by description, for the diagnostics."""
