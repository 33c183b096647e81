"""Differences between two entity lists of one house."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from planner.memory.entity_list import POSITION_TOLERANCE_M
from planner.memory.scores import DEFAULT_DISTANCE_M, Placed, score
from planner.world.entity import Entity


class Kind(StrEnum):
    """What differs."""

    ADDED = "added"
    REMOVED = "removed"
    MOVED = "moved"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference of the replayed list from the live one.

    Attributes:
        kind: `added`: only the replayed memory has it; `removed`: only the live one.
        live: the live memory's name of the entity; "" if it has none.
        replayed: the replayed memory's.
        text: the difference in words.
    """

    kind: Kind
    live: str
    replayed: str
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Identifies a difference as long as it lasts."""
        return (self.kind.value, self.live, self.replayed)


def differences(live: Sequence[Entity], replayed: Sequence[Entity]) -> list[Difference]:
    """All differences, in the order of the live list's ids, then of the replayed one's.

    Entities are matched by name, unless the memory made up the name from class and number; then by
    class and place.
    """
    pairs = _pairs(live, replayed)
    partner = {a.entity_id: b for a, b in pairs}
    found: list[Difference] = []
    for entity in live:
        other = partner.get(entity.entity_id)
        if other is None:
            found.append(Difference(Kind.REMOVED, entity.name, "", _location(entity)))
        else:
            found += _between(entity, other)
    paired = {b.entity_id for _, b in pairs}
    found += [
        Difference(Kind.ADDED, "", entity.name, _location(entity))
        for entity in replayed
        if entity.entity_id not in paired
    ]
    return found


def is_same(live: Sequence[Entity], replayed: Sequence[Entity]) -> bool:
    """Whether both lists are equal, as far as messages show."""
    return [_text_of(e) for e in live] == [_text_of(e) for e in replayed]


def _text_of(entity: Entity) -> tuple[object, ...]:
    return (
        entity.entity_id,
        entity.name,
        entity.is_furniture,
        entity.description,
        entity.position_m,
        entity.picked,
        entity.room,
    )


def _pairs(live: Sequence[Entity], replayed: Sequence[Entity]) -> list[tuple[Entity, Entity]]:
    named = {e.name: e for e in replayed if _has_own_name(e)}
    pairs = [
        (entity, named[entity.name])
        for entity in live
        if _has_own_name(entity) and entity.name in named
    ]
    ours = _left(live, (a for a, _ in pairs))
    theirs = _left(replayed, (b for _, b in pairs))
    held = [e for e in theirs if e.picked]
    for entity in [e for e in ours if e.picked]:
        other = next((e for e in held if e.class_name == entity.class_name), None)
        if other is not None:
            held.remove(other)
            pairs.append((entity, other))
    ours = _left(ours, (a for a, _ in pairs))
    theirs = _left(theirs, (b for _, b in pairs))
    by_number = {str(e.entity_id): e for e in ours}
    other_by_number = {str(e.entity_id): e for e in theirs}
    matched = score(_placed(ours), _placed(theirs), DEFAULT_DISTANCE_M)
    return pairs + [
        (by_number[match.remembered], other_by_number[match.true]) for match in matched.matches
    ]


def _has_own_name(entity: Entity) -> bool:
    return entity.is_furniture or not entity.name.endswith(f"_{entity.entity_id}")


def _left(entities: Iterable[Entity], paired: Iterable[Entity]) -> list[Entity]:
    gone = {entity.entity_id for entity in paired}
    return [entity for entity in entities if entity.entity_id not in gone]


def _placed(entities: Iterable[Entity]) -> list[Placed]:
    return [Placed(str(e.entity_id), e.class_name, e.position_m) for e in entities if not e.picked]


def _between(live: Entity, replayed: Entity) -> list[Difference]:
    found = []
    if not ((live.picked and replayed.picked) or live.is_furniture):
        away_m = math.dist(live.position_m, replayed.position_m)
        if away_m > POSITION_TOLERANCE_M:
            text = f"{away_m:.2f} m away, at {_point(replayed)} and not {_point(live)}"
            found.append(Difference(Kind.MOVED, live.name, replayed.name, text))
    parts = [
        f"{what} {now or 'unknown'!r} and not {before or 'unknown'!r}"
        for what, before, now in (
            ("text", live.description, replayed.description),
            ("room", live.room, replayed.room),
            ("picked", _word(live.picked), _word(replayed.picked)),
        )
        if before != now
    ]
    if parts:
        found.append(Difference(Kind.CHANGED, live.name, replayed.name, "; ".join(parts)))
    return found


def _word(flag: bool) -> str:
    return "yes" if flag else "no"


def _location(entity: Entity) -> str:
    where = "picked" if entity.picked else f"at {_point(entity)}"
    return f"{entity.description!r} {where}"


def _point(entity: Entity) -> str:
    return "({:.2f}, {:.2f}, {:.2f})".format(*entity.position_m)
