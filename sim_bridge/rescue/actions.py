"""The actions of an agent and how they end (LLAMAR-A4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from planner.world.errors import PlannerError
from sim_bridge.rescue.fire import Supply
from sim_bridge.rescue.grid import Cell, Direction


class Verb(StrEnum):
    """What an agent can do."""

    MOVE = "Move"
    NAVIGATE_TO = "NavigateTo"
    EXPLORE = "Explore"
    GET_SUPPLY = "GetSupply"
    STORE_SUPPLY = "StoreSupply"
    USE_SUPPLY = "UseSupply"
    CLEAR_INVENTORY = "ClearInventory"
    CARRY = "Carry"
    DROP_OFF = "DropOff"
    IDLE = "Idle"
    DONE = "Done"


class Failure(StrEnum):
    """Why an action failed."""

    BLOCKED = "blocked"
    NOT_VISIBLE = "not_visible"
    NO_FREE_CELL = "no_free_cell"
    NOT_INTERACTABLE = "not_interactable"
    FULL = "full"
    EMPTY = "empty"
    NO_SUPPLY = "no_supply"
    WRONG_TYPE = "wrong_type"
    NOT_ALL_DROPPED = "not_all_dropped"
    RESTRICTED_ACTION = "restricted_action"


@dataclass(frozen=True, slots=True)
class Action:
    """One action of one agent.

    Attributes:
        verb: what is done.
        target: the name of what it is done to; for DropOff the deposit; "" = none.
        supply: of UseSupply, and of GetSupply at a deposit.
        person: of DropOff.
        direction: of Move.
        cell: of NavigateTo, where to go instead of to a target; only bridges ask for it.
    """

    verb: Verb
    target: str = ""
    supply: Supply | None = None
    person: str = ""
    direction: Direction | None = None
    cell: Cell | None = None

    def __str__(self) -> str:
        words = [self.direction, self.target, self.supply, self.person, self.cell]
        given = ", ".join(str(word) for word in words if word)
        return f"{self.verb}({given})" if given else f"{self.verb}()"


@dataclass(frozen=True, slots=True)
class ActionResult:
    """How one agent's action of a joint step ended.

    Attributes:
        action: as carried out: a fire's name in NavigateTo became that of its first region.
        failure: None = it succeeded.
    """

    action: Action
    failure: Failure | None = None

    @property
    def succeeded(self) -> bool:
        """Whether it succeeded."""
        return self.failure is None


Choice = TypeVar("Choice", bound=StrEnum)

_CALL = re.compile(r"\s*(\w+)\s*(?:\(\s*([^()]*?)\s*\))?\s*")
# How many arguments each verb takes; two for what may also have a second one.
_COUNTS: dict[Verb, tuple[int, ...]] = {
    Verb.MOVE: (1,),
    Verb.NAVIGATE_TO: (1,),
    Verb.EXPLORE: (0,),
    Verb.GET_SUPPLY: (1, 2),
    Verb.STORE_SUPPLY: (1,),
    Verb.USE_SUPPLY: (2,),
    Verb.CLEAR_INVENTORY: (0,),
    Verb.CARRY: (1,),
    Verb.DROP_OFF: (2,),
    Verb.IDLE: (0,),
    Verb.DONE: (0,),
}


def parse_action(text: str) -> Action:
    """Reads `UseSupply(CaldorFire, Sand)`.

    Raises:
        PlannerError: saying what is wrong.
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise PlannerError(f"expected an action such as Carry(LostPersonTimmy), got {text!r}")
    try:
        verb = Verb(match[1])
    except ValueError:
        known = ", ".join(Verb)
        raise PlannerError(f"there is no action {match[1]!r}; there are {known}") from None
    words = [word.strip() for word in match[2].split(",")] if match[2] else []
    if len(words) not in _COUNTS[verb] or not all(words):
        takes = " or ".join(map(str, _COUNTS[verb]))
        raise PlannerError(f"{verb} takes {takes} arguments, got {text!r}")
    if verb is Verb.MOVE:
        return Action(verb, direction=_one_of(Direction, words[0]))
    if verb is Verb.DROP_OFF:
        return Action(verb, words[0], person=words[1])
    if len(words) == 2:
        return Action(verb, words[0], supply=_one_of(Supply, words[1]))
    return Action(verb, words[0]) if words else Action(verb)


def _one_of(kind: type[Choice], word: str) -> Choice:
    try:
        return kind(word)
    except ValueError:
        raise PlannerError(f"expected one of {', '.join(kind)}, got {word!r}") from None
