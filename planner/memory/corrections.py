"""What a person corrects in the memory, as operations on the entity list.

The list marks what comes of them as told. All of it stands in EPM's text, so that a correction
is the same whether it comes over `/memory/edit` or is made in process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from planner.memory.updater import Operation
from planner.memory.wording import describe, read_description
from planner.world.catalogue import default_catalogue
from planner.world.entity import Entity, OperationKind
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.states import default_states

# How far above the middle of a box its top lies is all that is known of furniture here.
_TOP = 0.5
OPENNESS_WORDS = ("open", "closed")
_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class CorrectionError(PlannerError):
    """A correction that makes no sense; its text names the field and the reason."""


def add(words: str, position_m: Vec3, name: str | None = None) -> Operation:
    """A new thing, such as `add("cup dirty", (1.0, 2.0, 0.8))`."""
    if not read_description(words).class_name:
        raise CorrectionError(f"what: {words!r} names no known object")
    if name is not None:
        _check_name(name)
    return Operation(
        OperationKind.ADD, description=words, position_m=_finite(position_m), name=name
    )


def move(entity: Entity, position_m: Vec3) -> Operation:
    """It is there; what it is on follows from the layout."""
    _movable(entity)
    text = describe(entity.class_name, _states(entity))
    return _update(entity, _put_down(entity, text), _finite(position_m))


def move_onto(entity: Entity, piece: Entity) -> Operation:
    """It is on that furniture, or within where that has no top."""
    _movable(entity)
    if not piece.is_furniture:
        raise CorrectionError(f"onto: {piece.name} is not furniture")
    x, y, z = piece.position_m
    text = describe(entity.class_name, _states(entity), "", piece.entity_id)
    top_m = z + _TOP * piece.size_m[2]
    return _update(entity, _put_down(entity, text), (x, y, top_m))


def remove(entity: Entity) -> Operation:
    """There is no such thing."""
    _movable(entity)
    return Operation(OperationKind.REMOVE, entity_id=entity.entity_id)


def rename(entity: Entity, words: str) -> Operation:
    """It is something else: `rename(cup, "mug")` calls it mug_149 and describes it so."""
    _movable(entity)
    said = read_description(words)
    if not said.class_name:
        raise CorrectionError(f"to: {words!r} names no known object")
    support = read_description(entity.description).support_id
    text = describe(said.class_name, {**_states(entity), **said.states}, "", support)
    name = f"{said.class_name}_{entity.entity_id}"
    return _update(entity, text, entity.position_m, None if name == entity.name else name)


def set_state(entity: Entity, word: str) -> Operation:
    """It is as a word of a state says, such as `dirty`; furniture also open or closed."""
    word = word.strip().lower()
    support = read_description(entity.description).support_id
    if word in OPENNESS_WORDS:
        if not entity.is_furniture:
            raise CorrectionError(
                f"state: {entity.name} is not furniture, and only furniture opens and closes"
            )
        text = describe(entity.class_name, _states(entity), word, support)
        return _update(entity, text, entity.position_m)
    table = default_states()
    words = table.by_word()
    if word not in words:
        known = ", ".join((*words, *OPENNESS_WORDS))
        raise CorrectionError(f"state: {word!r} is none of {known}")
    state = words[word][0]
    catalogue = default_catalogue()
    known_class = catalogue.object_name(entity.class_name)
    if known_class is not None and not entity.is_furniture:
        able = catalogue.objects[known_class].affordances
        if table.affordance_of[state] not in able:
            raise CorrectionError(f"state: a {entity.class_name} is never {word}")
    others = {s: v for s, v in _states(entity).items() if s != state}
    # The usual state is not written by itself, so that the word is.
    text = f"{describe(entity.class_name, others)} {word}"
    if support is not None:
        text += f" with the Object.{support}"
    return _update(entity, text, entity.position_m)


def _update(entity: Entity, text: str, position_m: Vec3, name: str | None = None) -> Operation:
    return Operation(
        OperationKind.UPDATE, entity.entity_id, description=text, position_m=position_m, name=name
    )


def _states(entity: Entity) -> Mapping[str, bool]:
    """Those that are known; of an entity that came over ROS they stand in its text."""
    return {**read_description(entity.description).states, **entity.states}


def _put_down(entity: Entity, text: str) -> str:
    return f"{text} placed" if entity.picked else text


def _movable(entity: Entity) -> None:
    if entity.is_furniture:
        raise CorrectionError(f"{entity.name} is furniture, and its position comes from the layout")


def _finite(position_m: Vec3) -> Vec3:
    for axis, value in zip("xyz", position_m, strict=True):
        if not math.isfinite(value):
            raise CorrectionError(f"at: {axis} is {value}, expected a finite number")
    return position_m


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise CorrectionError(f"name: {name!r}: expected lower-case letters, digits, _ and -")
