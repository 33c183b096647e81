"""The actions of an agent: what each does, when it fails and how it ends (LLAMAR-A4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from planner.world.errors import PlannerError
from sim_bridge.rescue.scenes import (
    HEADINGS,
    NEAR,
    Cell,
    Direction,
    Fire,
    Supply,
    away,
    is_inside,
    offsets_by_distance,
)

if TYPE_CHECKING:
    from sim_bridge.rescue.world import Agent, RescueWorld


# The actions of an agent and how they end (LLAMAR-A4).


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


EXPLORED_CELLS = 20
# No heading is taken that the border would cut shorter than this.
_AT_LEAST_CELLS = 15
_WHILE_CARRYING = frozenset({Verb.NAVIGATE_TO, Verb.MOVE, Verb.CARRY, Verb.DROP_OFF})

Act: TypeAlias = "Callable[[RescueWorld, Agent, Action], Failure | None]"


def act(world: RescueWorld, agent: Agent, action: Action) -> ActionResult:
    """Carries out one action of one agent."""
    if action.verb in (Verb.IDLE, Verb.DONE):
        return ActionResult(action)
    action = with_region(world, action)
    if agent.carried and action.verb not in _WHILE_CARRYING:
        return ActionResult(action, Failure.RESTRICTED_ACTION)
    for name in (action.target, action.person):
        if name and not world.is_visible(agent, name):
            return ActionResult(action, Failure.NOT_VISIBLE)
    return ActionResult(action, _ACTS[action.verb](world, agent, action))


def with_region(world: RescueWorld, action: Action) -> Action:
    """The action, where NavigateTo names a fire's first region instead of the fire."""
    fire = world.fires.get(action.target)
    if action.verb is not Verb.NAVIGATE_TO or fire is None:
        return action
    return replace(action, target=fire.region_name(0))


def with_shared_drop_off(results: Sequence[ActionResult]) -> list[ActionResult]:
    """The results, where each DropOff succeeded if one of this step did."""
    drops = [result for result in results if result.action.verb is Verb.DROP_OFF]
    if not any(result.failure is None for result in drops):
        return list(results)
    return [replace(each, failure=None) if each in drops else each for each in results]


def _move(world: RescueWorld, agent: Agent, action: Action) -> Failure | None:
    dx, dy = action.direction.offset if action.direction is not None else (0, 0)
    return _go(world, agent, (agent.cell[0] + dx, agent.cell[1] + dy))


def _go(world: RescueWorld, agent: Agent, cell: Cell) -> Failure | None:
    if not world.is_free(cell, agent):
        return Failure.BLOCKED
    agent.cell = cell
    return None


def _navigate(world: RescueWorld, agent: Agent, action: Action) -> Failure | None:
    middle = action.cell or world.cell_of(action.target)
    cell = None if middle is None else free_cell_near(world, agent, middle)
    if cell is None:
        return Failure.NO_FREE_CELL
    agent.cell = cell
    return None


def free_cell_near(world: RescueWorld, agent: Agent, middle: Cell) -> Cell | None:
    """The free cell nearest to a cell, among equals the one nearest to the agent.

    None if there is none from which the agent could act on what is in that cell.
    """
    found: list[Cell] = []
    best = 0.0
    for dx, dy in offsets_by_distance(NEAR):
        cell = (middle[0] + dx, middle[1] + dy)
        distance = away(middle, cell)
        if found and distance > best:
            break
        if world.is_free(cell, agent):
            found.append(cell)
            best = distance
    return min(found, key=lambda cell: away(agent.cell, cell), default=None)


def _explore(world: RescueWorld, agent: Agent, _action: Action) -> Failure | None:
    x, y = agent.cell
    open_headings = [
        (dx, dy)
        for dx, dy in HEADINGS
        if is_inside((x + dx * _AT_LEAST_CELLS, y + dy * _AT_LEAST_CELLS))
    ]
    # Neither on nor back the same way, if there is another.
    last = agent.heading or (0, 0)
    fresh = [each for each in open_headings if each not in (last, (-last[0], -last[1]))]
    heading = world.rng.choice(fresh or open_headings)
    agent.heading = heading
    moved = False
    for _ in range(EXPLORED_CELLS):
        ahead = (agent.cell[0] + heading[0], agent.cell[1] + heading[1])
        if _go(world, agent, ahead) is not None:
            break
        moved = True
        world.spot_from(agent)
    return None if moved else Failure.BLOCKED


def _get_supply(world: RescueWorld, agent: Agent, action: Action) -> Failure | None:
    reservoir = world.reservoirs.get(action.target)
    deposit = world.deposits.get(action.target)
    if (reservoir is None and deposit is None) or not world.is_near(agent, action.target):
        return Failure.NOT_INTERACTABLE
    if reservoir is not None:
        if action.supply not in (None, reservoir.supply):
            return Failure.WRONG_TYPE
        if not agent.free_slots:
            return Failure.FULL
        agent.supplies[reservoir.supply] += 1
        return None
    if deposit is None or action.supply is None:
        return Failure.WRONG_TYPE
    if not agent.free_slots:
        return Failure.FULL
    taken = min(agent.free_slots, deposit.stock[action.supply])
    if not taken:
        return Failure.EMPTY
    deposit.stock[action.supply] -= taken
    agent.supplies[action.supply] += taken
    return None


def _store_supply(world: RescueWorld, agent: Agent, action: Action) -> Failure | None:
    deposit = world.deposits.get(action.target)
    if deposit is None or not world.is_near(agent, action.target):
        return Failure.NOT_INTERACTABLE
    for supply, count in agent.supplies.items():
        deposit.stock[supply] += count
    agent.drop_supplies()
    return None


def _use_supply(world: RescueWorld, agent: Agent, action: Action) -> Failure | None:
    fire = _fire(world, action.target)
    if fire is None or not fire.is_near(agent.cell):
        return Failure.NOT_INTERACTABLE
    if action.supply is None or not agent.supplies[action.supply]:
        return Failure.NO_SUPPLY
    agent.supplies[action.supply] -= 1
    if action.supply is not fire.kind.supply:
        return Failure.WRONG_TYPE
    if not fire.damp(agent.cell):
        return Failure.NOT_INTERACTABLE
    if not fire.burns:
        world.fire_ended(agent, fire)
    return None


def _fire(world: RescueWorld, name: str) -> Fire | None:
    region = world.regions.get(name)
    return region[0] if region is not None else world.fires.get(name)


def _clear_inventory(_world: RescueWorld, agent: Agent, _action: Action) -> Failure | None:
    agent.drop_supplies()
    return None


def _carry(world: RescueWorld, agent: Agent, action: Action) -> Failure | None:
    person = world.persons.get(action.target)
    if person is None or agent.carried or person.is_carried:
        return Failure.NOT_INTERACTABLE
    if not world.is_near(agent, person.name):
        return Failure.NOT_INTERACTABLE
    agent.drop_supplies()
    agent.carried = person.name
    person.holders.append(agent.name)
    return None


def _drop_off(world: RescueWorld, agent: Agent, action: Action) -> Failure | None:
    person, deposit = world.persons.get(action.person), world.deposits.get(action.target)
    if person is None or deposit is None or agent.carried != person.name or not person.is_carried:
        return Failure.NOT_INTERACTABLE
    holders = [world.agents[name] for name in person.holders]
    if not all(away(holder.cell, deposit.cell) <= NEAR for holder in holders):
        person.dropping.clear()
        return Failure.NOT_INTERACTABLE
    person.dropping.add(agent.name)
    if len(person.dropping) < len(holders):
        return Failure.NOT_ALL_DROPPED
    person.deposit, person.cell = deposit.name, deposit.cell
    person.holders.clear()
    for holder in holders:
        holder.carried = ""
    return None


_ACTS: dict[Verb, Act] = {
    Verb.MOVE: _move,
    Verb.NAVIGATE_TO: _navigate,
    Verb.EXPLORE: _explore,
    Verb.GET_SUPPLY: _get_supply,
    Verb.STORE_SUPPLY: _store_supply,
    Verb.USE_SUPPLY: _use_supply,
    Verb.CLEAR_INVENTORY: _clear_inventory,
    Verb.CARRY: _carry,
    Verb.DROP_OFF: _drop_off,
}
