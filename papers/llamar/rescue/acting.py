"""Joint steps: what each action of an agent does, when it fails and how it ends (LLAMAR-A4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from papers.llamar.rescue.scenes import (
    HEADINGS,
    NEAR,
    Cell,
    Fire,
    away,
    is_inside,
    offsets_by_distance,
)
from papers.llamar.rescue.world import (
    Action,
    ActionResult,
    Agent,
    Failure,
    JointStep,
    RescueWorld,
    Verb,
)
from planner.world.errors import PlannerError

EXPLORED_CELLS = 20
# No heading is taken that the border would cut shorter than this.
_AT_LEAST_CELLS = 15
_WHILE_CARRYING = frozenset({Verb.NAVIGATE_TO, Verb.MOVE, Verb.CARRY, Verb.DROP_OFF})

Act: TypeAlias = Callable[[RescueWorld, Agent, Action], Failure | None]


def joint_step(world: RescueWorld, actions: Sequence[Action]) -> JointStep:
    """Carries out one action of each agent, in their order; then fires and persons move on.

    Args:
        world: is changed.
        actions: one for each agent.

    Raises:
        PlannerError: if there are more or fewer.
    """
    if len(actions) != len(world.agents):
        raise PlannerError(f"expected {len(world.agents)} actions, got {len(actions)}")
    world.begin_step()
    agents = world.agents.values()
    results = [act(world, agent, action) for agent, action in zip(agents, actions, strict=True)]
    return world.end_step(with_shared_drop_off(results))


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
