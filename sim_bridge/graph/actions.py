"""VirtualHome's actions, and their preconditions by name (ETPLAN-3.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from planner.world.errors import PlannerError
from planner.world.graph_file import word_of


class Verb(StrEnum):
    """What an agent can do in the graph world."""

    WALK = "WALK"
    FIND = "FIND"
    TURNRIGHT = "TURNRIGHT"
    TURNLEFT = "TURNLEFT"
    TURNTO = "TURNTO"
    OPEN = "OPEN"
    CLOSE = "CLOSE"
    GRAB = "GRAB"
    PUT = "PUT"
    PUTIN = "PUTIN"
    PUTOBJBACK = "PUTOBJBACK"
    DROP = "DROP"
    POUR = "POUR"
    SWITCHON = "SWITCHON"
    SWITCHOFF = "SWITCHOFF"
    PLUGIN = "PLUGIN"
    PLUGOUT = "PLUGOUT"
    WIPE = "WIPE"
    SIT = "SIT"
    LIE = "LIE"
    STANDUP = "STANDUP"
    SLEEP = "SLEEP"
    WAKEUP = "WAKEUP"
    LOOKAT = "LOOKAT"
    POINTAT = "POINTAT"
    WATCH = "WATCH"
    GREET = "GREET"
    TOUCH = "TOUCH"
    TYPE = "TYPE"
    PUSH = "PUSH"
    PULL = "PULL"
    MOVE = "MOVE"
    SQUEEZE = "SQUEEZE"
    DRINK = "DRINK"
    EAT = "EAT"
    READ = "READ"
    CUT = "CUT"


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
    HAS_PLUG = "has plug"
    IS_PLUGGED_IN = "plugged in"
    IS_PLUGGED_OUT = "plugged out"
    CLEANABLE = "cleanable"
    STANDING = "standing"
    SEATED = "sitting or lying"
    SAME_ROOM = "same room"
    MADE_FOR_IT = "made for it"
    TOOL_HELD = "knife held"


class Need(StrEnum):
    """Where a thing has to be for an action that changes nothing."""

    HELD = "held"
    NEAR = "near"
    SAME_ROOM = "same room"


@dataclass(frozen=True, slots=True)
class Deed:
    """An action that changes no state of the world.

    Attributes:
        need: where its target has to be.
        properties: VirtualHome's, of which the target has one; none asked for if empty.
        classes: that may be without the property.
    """

    need: Need
    properties: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()


_SQUEEZED = """
    check cleaning_solution dish_soap food_lemon food_peanut_butter paper rag shampoo soap sponge
    tooth_paste towel
"""
# As VirtualHome's own executor has them. It asks besides that what is looked at is faced; here
# looking turns to it.
DEEDS: Mapping[Verb, Deed] = {
    Verb.LOOKAT: Deed(Need.SAME_ROOM),
    Verb.POINTAT: Deed(Need.SAME_ROOM),
    Verb.WATCH: Deed(Need.SAME_ROOM, frozenset({"LOOKABLE"})),
    Verb.GREET: Deed(Need.SAME_ROOM, frozenset({"PERSON"}), frozenset({"character"})),
    Verb.TOUCH: Deed(Need.NEAR),
    Verb.TYPE: Deed(Need.NEAR, frozenset({"HAS_SWITCH"}), frozenset({"keyboard"})),
    Verb.PUSH: Deed(Need.NEAR),
    Verb.PULL: Deed(Need.NEAR, frozenset({"MOVABLE"}), frozenset({"button", "chair", "curtain"})),
    Verb.MOVE: Deed(Need.NEAR, frozenset({"MOVABLE"}), frozenset({"button", "chair", "curtain"})),
    Verb.SQUEEZE: Deed(Need.NEAR, frozenset({"CLOTHES"}), frozenset(_SQUEEZED.split())),
    Verb.DRINK: Deed(Need.HELD, frozenset({"DRINKABLE", "RECIPIENT"})),
    Verb.READ: Deed(Need.HELD, frozenset({"READABLE"})),
    Verb.EAT: Deed(Need.NEAR, frozenset({"EATABLE"})),
    Verb.CUT: Deed(Need.NEAR, frozenset({"CUTTABLE"})),
}
# The property of what an agent sits or lies on.
SEATS: Mapping[Verb, str] = {Verb.SIT: "SITTABLE", Verb.LIE: "LIEABLE"}


@dataclass(frozen=True, slots=True)
class Action:
    """One action of one agent; `target` and `place` are names of nodes."""

    verb: Verb
    target: str = ""
    place: str = ""


# A number is a node's id, in programs after how often its class was named: (319) or (1.319).
_NUMBER = r"\((?:\d{1,9}\.)?(\d{1,9})\)"
_LINE = re.compile(
    r"^\s*(?:<char\d+>\s*)?\[(\w{1,20})\]"
    r"((?:\s*<[^<>]{1,80}>\s*\((?:\d{1,9}\.)?\d{1,9}\))*)\s*(?:\[[\d.]{1,20}\])?\s*$"
)
_ARGUMENT = re.compile(r"<([^<>]{1,80})>\s*" + _NUMBER)
_ALIASES = {
    "PUTBACK": Verb.PUT,
    "PUTON": Verb.PUT,
    "WASH": Verb.WIPE,
    "RINSE": Verb.WIPE,
    "SCRUB": Verb.WIPE,
    "RUN": Verb.WALK,
    "RELEASE": Verb.DROP,
}
_NONE = (Verb.TURNLEFT, Verb.TURNRIGHT, Verb.STANDUP, Verb.SLEEP, Verb.WAKEUP)
_ARGUMENTS = {**dict.fromkeys(_NONE, 0), Verb.PUT: 2, Verb.PUTIN: 2, Verb.POUR: 2}


def script_action(line: str) -> Action:
    """Parses a script line, such as `<char0> [putin] <apple> (211) <fridge> (103)`.

    Raises:
        PlannerError: if it is not a script line, or not an action of this world.
    """
    match = _LINE.match(line[:500])
    if match is None:
        raise PlannerError(f"{line[:60]!r} is not a script line")
    word = match[1].upper()
    names = [f"{word_of(word)}_{number}" for word, number in _ARGUMENT.findall(match[2])]
    if word == "PUTOFF" or (word == "PUTON" and len(names) == 1):
        raise PlannerError(f"{line[:60]!r}: {word}: nobody wears clothes in this world")
    verb = _ALIASES.get(word) or (Verb(word) if word in set(Verb) else None)
    if verb is None:
        raise PlannerError(f"{line[:60]!r}: there is no action {word}")
    expected = _ARGUMENTS.get(verb, 1)
    if len(names) != expected:
        raise PlannerError(f"{line[:60]!r}: {verb} takes {expected} arguments, got {len(names)}")
    return Action(verb, *names)
