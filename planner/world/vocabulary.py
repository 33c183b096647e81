"""The enumerations used to describe the world."""

from __future__ import annotations

from enum import StrEnum


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
