"""The words that describe the world: enumerations, hands, and when something counts as open."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias


class Relation(StrEnum):
    """How an object rests: on a surface, within an interior, or in a hand."""

    ON = "on"
    WITHIN = "within"
    HELD = "held"


class Affordance(StrEnum):
    """What can be done with an entity because of its construction; states add further ones."""

    OPENABLE = "openable"
    FAUCET = "faucet"


class AgentKind(StrEnum):
    """The kinds of bodies; config/agents.yaml describes each."""

    ROBOT = "robot"
    HUMAN = "human"
    RESCUER = "rescuer"


class EntityKind(StrEnum):
    """The levels of the scene graph under the house."""

    ROOM = "room"
    FURNITURE = "furniture"
    OBJECT = "object"
    AGENT = "agent"


def floor_name(room: str) -> str:
    """The furniture node for a room's floor (PARTNR-5.1)."""
    return f"floor_{room}"


# Hands: which a body has, and what each of them holds.
#
# What an agent holds is one entry for each hand of its body, None for an empty one, the right hand
# first. The only hand of a body counts as its right one. An agent of whom nothing is known has no
# entries.

Hands: TypeAlias = tuple[str | None, ...]


class Hand(StrEnum):
    """One hand of a body."""

    RIGHT = "right"
    LEFT = "left"

    @property
    def slot(self) -> int:
        """Its place in `Hands`."""
        return _ORDER.index(self)


_ORDER = (Hand.RIGHT, Hand.LEFT)
MAX_HANDS = len(_ORDER)


def held_things(hands: Hands) -> tuple[str, ...]:
    """What is held, the right hand's first."""
    return tuple(name for name in hands if name is not None)


def first_held(hands: Hands) -> str | None:
    """What the first full hand holds."""
    return next((name for name in hands if name is not None), None)


def thing_in(hands: Hands, hand: Hand) -> str | None:
    """What a hand holds; None also for a hand that there is not."""
    return hands[hand.slot] if hand.slot < len(hands) else None


def hand_holding(hands: Hands, thing: str) -> Hand | None:
    """The hand that holds a thing."""
    return _ORDER[hands.index(thing)] if thing in hands else None


def free_hand(hands: Hands) -> Hand | None:
    """The first empty hand."""
    return _ORDER[hands.index(None)] if None in hands else None


def with_thing(hands: Hands, hand: Hand, thing: str | None) -> Hands:
    """The same, but for one hand, which holds `thing` or nothing then.

    Hands that were not known of before are empty.
    """
    index = hand.slot
    hands = (*hands, *(None,) * (index + 1 - len(hands)))
    return (*hands[:index], thing, *hands[index + 1 :])


def hand_words(hand: Hand, count: int) -> str:
    """A hand of a body with `count` hands in words: "the hand", or "the left hand"."""
    return f"the {hand} hand" if count > 1 else "the hand"


def holding_hand_words(hands: Hands, thing: str) -> str:
    """The hand that holds a thing, in words; "" unless there is more than one hand."""
    hand = hand_holding(hands, thing)
    return hand_words(hand, len(hands)) if hand is not None and len(hands) > 1 else ""


def held_words(hands: Hands) -> str:
    """What is held: "cup_0 in the right hand and jug_0 in the left hand", or "cup_0" with one hand.

    "" for empty hands.
    """
    words = ((thing, holding_hand_words(hands, thing)) for thing in held_things(hands))
    return " and ".join(f"{thing} in {hand}" if hand else thing for thing, hand in words)


def hand_states(hands: Hands) -> str:
    """Every hand of a body: "right hand: cup_0, left hand: empty", or "hand: empty"."""
    names = [f"{hand} hand" for hand in _ORDER] if len(hands) > 1 else ["hand"]
    pairs = zip(names, hands, strict=False)
    return ", ".join(f"{name}: {thing or 'empty'}" for name, thing in pairs)


# When furniture and things that open count as open.

# Share of the way that the widest door, drawer or lid is open.
OPEN_FROM = 0.5


def is_open(openness: float | None) -> bool | None:
    """Whether something is open; None if nothing opens or it is unknown.

    Args:
        openness: of the widest joint, 0 closed to 1 open.
    """
    return None if openness is None else openness >= OPEN_FROM
