"""VirtualHome's actions, and their preconditions by name (ETPLAN-3.1)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from planner.world.errors import PlannerError
from planner.world.graph_file import word_of


class Verb(StrEnum):
    """What an agent can do in the graph world."""

    WALK = "WALK"
    TURNRIGHT = "TURNRIGHT"
    TURNLEFT = "TURNLEFT"
    OPEN = "OPEN"
    CLOSE = "CLOSE"
    GRAB = "GRAB"
    PUT = "PUT"
    PUTIN = "PUTIN"
    SWITCHON = "SWITCHON"
    SWITCHOFF = "SWITCHOFF"
    WIPE = "WIPE"


class Precondition(StrEnum):
    """Preconditions of actions; the first violated one is reported."""

    EXISTS = "exists"
    REACHABLE = "reachable"
    NEAR = "close"
    FREE_HAND = "free hand"
    GRABBABLE = "grabbable"
    NOT_HELD = "not held"
    HELD = "held"
    OPENABLE = "openable"
    IS_OPEN = "open"
    IS_CLOSED = "closed"
    CONTAINER_OPEN = "container open"
    CAN_HOLD = "can hold"
    HAS_SWITCH = "has switch"
    CLEANABLE = "cleanable"


@dataclass(frozen=True, slots=True)
class Action:
    """One action of one agent; `target` and `place` are names of nodes."""

    verb: Verb
    target: str = ""
    place: str = ""


_LINE = re.compile(r"^\s*(?:<char\d+>\s*)?\[(\w{1,20})\]((?:\s*<[^<>]{1,80}>\s*\(\d{1,9}\))*)\s*$")
_ARGUMENT = re.compile(r"<([^<>]{1,80})>\s*\((\d{1,9})\)")
_ALIASES = {"PUTBACK": Verb.PUT, "PUTON": Verb.PUT, "WASH": Verb.WIPE}
_ARGUMENTS = {Verb.TURNLEFT: 0, Verb.TURNRIGHT: 0, Verb.PUT: 2, Verb.PUTIN: 2}


def script_action(line: str) -> Action:
    """Parses a script line, such as `<char0> [putin] <apple> (211) <fridge> (103)`.

    Raises:
        PlannerError: if it is not a script line, or not an action of this world.
    """
    match = _LINE.match(line[:500])
    if match is None:
        raise PlannerError(f"{line[:60]!r} is not a script line")
    word = match[1].upper()
    verb = _ALIASES.get(word) or (Verb(word) if word in set(Verb) else None)
    if verb is None:
        raise PlannerError(f"{line[:60]!r}: there is no action {word}")
    names = [f"{word_of(word)}_{number}" for word, number in _ARGUMENT.findall(match[2])]
    expected = _ARGUMENTS.get(verb, 1)
    if len(names) != expected:
        raise PlannerError(f"{line[:60]!r}: {verb} takes {expected} arguments, got {len(names)}")
    return Action(verb, *names)
