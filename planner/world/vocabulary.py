"""The closed sets of words that the world is described with."""

from __future__ import annotations

from enum import StrEnum


class Relation(StrEnum):
    """How an object rests: on a surface, within an interior, or in a hand."""

    ON = "on"
    WITHIN = "within"
    HELD = "held"


class State(StrEnum):
    """Binary states of PARTNR (PARTNR-2.3) in their positive form; absent means no."""

    CLEAN = "clean"
    FILLED = "filled"
    POWERED_ON = "powered_on"


class Affordance(StrEnum):
    """What can be done to an entity."""

    CLEANABLE = "cleanable"
    FILLABLE = "fillable"
    POWERABLE = "powerable"
    OPENABLE = "openable"
    FAUCET = "faucet"


class AgentKind(StrEnum):
    """The bodies there are; config/agents.yaml describes each."""

    ROBOT = "robot"
    HUMAN = "human"


class EntityKind(StrEnum):
    """The levels of the scene graph under the house."""

    ROOM = "room"
    FURNITURE = "furniture"
    OBJECT = "object"
    AGENT = "agent"


AFFORDANCE_OF_STATE = {
    State.CLEAN: Affordance.CLEANABLE,
    State.FILLED: Affordance.FILLABLE,
    State.POWERED_ON: Affordance.POWERABLE,
}

# PARTNR-D6: clean, empty, powered off, closed.
DEFAULT_STATES = {State.CLEAN: True, State.FILLED: False, State.POWERED_ON: False}


def floor_name(room: str) -> str:
    """The furniture node that stands for a room's floor (PARTNR-5.1)."""
    return f"floor_{room}"
