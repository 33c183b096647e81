"""The seam between the memory and whatever turns observations into operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from planner.world.geometry import Vec3
from planner.world.observation import Observation


class OperationKind(StrEnum):
    """The edits of EPM's grammar."""

    ADD = "Add"
    UPDATE = "Update"
    REMOVE = "Remove"


@dataclass(frozen=True, slots=True)
class Operation:
    """One edit of the entity list (spec/epm.md 2.3).

    Attributes:
        entity_id: of Update and Remove; Add gets the next number.
        pixel: (u, v) in the observation's image, which the list turns into a point with depth.
        description: EPM's text, of Add and Update; the words picked and placed set the flag.
        position_m: the point in `map` where the updater knows it; then `pixel` is not used.
        name: the entity's name where the updater knows it (privileged); None otherwise.
    """

    kind: OperationKind
    entity_id: int | None = None
    pixel: tuple[float, float] | None = None
    description: str = ""
    position_m: Vec3 | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class EntityView:
    """An entity of the list as an updater sees it."""

    entity_id: int
    description: str
    position_m: Vec3
    seen_distance_m: float | None
    picked: bool
    is_furniture: bool
    name: str


class MemoryUpdater(Protocol):
    """Turns one observation into edits; learned and privileged ones share this seat."""

    @property
    def name(self) -> str:
        """As in the bring-up's argument `memory`."""

    def update(
        self, observation: Observation, entities: Sequence[EntityView], last_action: str
    ) -> list[Operation]:
        """The edits that an observation calls for; `last_action` as `Pick[Object.149]` or ''."""
