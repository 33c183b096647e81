"""Where things are relative to others, by what is known of them."""

from __future__ import annotations

import math
from collections.abc import Collection

from planner.grounding.scene import Scene, Thing
from planner.language.words import Relation as Word
from planner.world.vocabulary import EntityKind, Relation

# Descriptions are looser than PARTNR's is_next_to: a lamp next to the bed stands on a nightstand.
NEAR_M = 1.0


def is_at(scene: Scene, thing: Thing, word: Word, anchor: Thing) -> bool:
    """Whether a thing is where a preposition says, relative to an anchor."""
    if thing.name == anchor.name:
        return False
    if anchor.kind is EntityKind.ROOM:
        return word in (Word.IN, Word.AT, Word.ON_TOP) and thing.room == anchor.name
    if anchor.kind is EntityKind.AGENT:
        held = thing.parent == anchor.name
        return held or (thing.room is not None and thing.room == anchor.room)
    if word in (Word.ON_TOP, Word.IN, Word.AT):
        return _rests(scene, thing, word, anchor)
    near = thing.room == anchor.room and thing.box.horizontal_gap_m(anchor.box) <= NEAR_M
    if word is Word.NEXT_TO:
        return near
    if word is Word.UNDER:
        over = thing.box.horizontal_gap_m(anchor.box) <= 0.0
        return over and thing.box.minimum_m[2] < anchor.box.maximum_m[2] / 2
    return near and _side(thing, anchor) is word


def _rests(scene: Scene, thing: Thing, word: Word, anchor: Thing) -> bool:
    """Whether it is on or in the anchor, or in what is; "in the shelf" is on a board."""
    upper = thing
    for holder in scene.holders(thing.name):
        if holder.name == anchor.name:
            if word is Word.AT:
                return True
            if word is Word.IN:
                return upper.relation is Relation.WITHIN or not anchor.hollow
            return upper.relation is Relation.ON or not anchor.surface
        upper = holder
    return False


def _side(thing: Thing, anchor: Thing) -> Word:
    """On which side of furniture something is, for somebody who faces its front."""
    (x, y, _), (ax, ay, _) = thing.position_m, anchor.position_m
    turn = math.atan2(y - ay, x - ax) - anchor.yaw_rad
    ahead, left = math.cos(turn), math.sin(turn)
    if abs(ahead) >= abs(left):
        return Word.IN_FRONT_OF if ahead > 0 else Word.BEHIND
    # Seen from the front, its own left is on the right.
    return Word.RIGHT_OF if left > 0 else Word.LEFT_OF


def leftmost(things: Collection[Thing], eye: Thing | None) -> list[Thing]:
    """Things from left to right, as somebody sees them; from the map's south if nobody is known."""
    if not things:
        return []
    xs = [thing.position_m for thing in things]
    middle = tuple(sum(p[k] for p in xs) / len(xs) for k in (0, 1))
    ex, ey = eye.position_m[:2] if eye is not None else (middle[0], middle[1] - 1.0)
    dx, dy = middle[0] - ex, middle[1] - ey
    # Rightwards is the way of looking, turned by a quarter clockwise.
    return sorted(things, key=lambda t: (t.position_m[0] - ex) * dy - (t.position_m[1] - ey) * dx)
