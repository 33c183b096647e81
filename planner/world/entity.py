"""Entities in the memory's list, and its numbered changes (EPM-2.1, EPM-9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from planner.world.belief import Source
from planner.world.geometry import Vec3
from planner.world.hands import Hand
from planner.world.look import UNKNOWN_LOOK, Look
from planner.world.record import record
from planner.world.second_guess import Guesses
from planner.world.vocabulary import Relation

FIRST_ID = 100


class OperationKind(StrEnum):
    """The edits of EPM's grammar."""

    ADD = "Add"
    UPDATE = "Update"
    REMOVE = "Remove"


@record
class Entity:
    """One entry of the entity list; it may be wrong.

    Attributes:
        entity_id: 100 + number of entities added before; never reused.
        name: unique; the layout's, the updater's, or `<class>_<id>`.
        class_name: semantic class of the catalogue, or a model's free text.
        is_furniture: whether it comes from the house's layout.
        description: EPM's text: class, then states, then `with the Object.N`.
        position_m: in `map`; the middle of furniture, the seen point of a thing.
        seen_distance_m: camera distance when last seen; None if never seen by a camera.
        picked: held by an agent.
        size_m: extent along its own axes; zeros if unknown.
        parent: furniture, floor or agent that it is on, within or held by; a furniture's room.
        relation: to the parent; None for furniture and if unknown.
        hand: of the agent that holds it; None if unknown.
        look: as far as it is known.
        maybe: what else it may be; see `planner.world.second_guess`.
        room: None if unknown; for a held thing, the room of its holder.
        states: only known ones.
        openness: of furniture, 0 closed to 1 open; None if unknown or nothing opens.
        source: of the newest information.
        stamp_s: when the source last confirmed it, seconds of the world's clock.
        seen_s: when a camera last saw it; None = never.
    """

    entity_id: int
    name: str
    class_name: str
    is_furniture: bool
    description: str
    position_m: Vec3
    seen_distance_m: float | None = None
    picked: bool = False
    size_m: Vec3 = (0.0, 0.0, 0.0)
    parent: str | None = None
    relation: Relation | None = None
    room: str | None = None
    states: Mapping[str, bool] = field(default_factory=dict)
    openness: float | None = None
    source: Source = Source.TOLD
    stamp_s: float = 0.0
    seen_s: float | None = None
    hand: Hand | None = None
    look: Look = UNKNOWN_LOOK
    maybe: Guesses = ()

    @property
    def is_named_by_memory(self) -> bool:
        """Whether its name is the memory's own, as no updater gave one."""
        return self.name == f"{self.class_name}_{self.entity_id}"


def carriers(entities: Iterable[Entity]) -> dict[str, str]:
    """Who holds what: agents by the names of held things and of all that is in or on those."""
    known = {entity.name: entity for entity in entities if not entity.is_furniture}
    found: dict[str, str] = {}
    for name in known:
        seen: list[str] = []
        at: Entity | None = known[name]
        while at is not None and at.name not in seen:
            seen.append(at.name)
            if at.picked and at.parent is not None:
                found[name] = at.parent
                break
            at = known.get(at.parent or "")
    return found


@record
class Edit:
    """One applied operation: the entity after it; for a removal, the removed entity."""

    kind: OperationKind
    entity: Entity


@dataclass(frozen=True, slots=True)
class MemoryChange:
    """The edits of one step, in the order in which they were applied.

    Attributes:
        sequence: increases by one with every change; the initial list has 0.
        stamp_s: of the observation or action behind the edits.
        author: updater, action or person that made them.
    """

    sequence: int
    stamp_s: float
    author: str
    edits: tuple[Edit, ...]
