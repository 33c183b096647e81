"""Finding entities by words."""

from __future__ import annotations

import re
from collections.abc import Iterable

from planner.world.entity import Entity

_WORD = re.compile(r"[^\W_]+")
# A word that is only part of one of the entity's counts less than a whole one.
_PART = 0.5


def search(
    entities: Iterable[Entity], text: str, room: str = "", limit: int = 0
) -> list[tuple[Entity, float]]:
    """The entities that match, with the share of the words that each has, 0 to 1.

    Args:
        entities: sorted by id.
        text: words in any order, looked for in names, classes, descriptions and rooms; ""
            matches everything with 1.
        room: only those of this room; "" = every room.
        limit: most results; 0 = no limit.

    Returns:
        Best first, equals by id.
    """
    wanted = _words(text)
    found = []
    for entity in entities:
        if room and entity.room != room:
            continue
        score = _score(entity, wanted) if wanted else 1.0
        if score > 0:
            found.append((entity, score))
    found.sort(key=lambda item: (-item[1], item[0].entity_id))
    return found[:limit] if limit else found


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _score(entity: Entity, wanted: list[str]) -> float:
    own = _words(f"{entity.name} {entity.class_name} {entity.description} {entity.room or ''}")
    own_set = set(own)
    total = 0.0
    for word in wanted:
        if word in own_set:
            total += 1
        elif any(word in other for other in own):
            total += _PART
    return total / len(wanted)
