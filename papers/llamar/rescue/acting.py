"""Joint steps: what each action of an agent does, when it fails and how it ends (LLAMAR-A4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from papers.llamar.rescue.scenes import (
    HEADINGS,
    NEAR,
    Cell,
    Direction,
    Fire,
    Intensity,
    Scene,
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


# The checklist and scores of a scene, and what agents observe of it as text.

HORIZON_STEPS = 35
# Keeps the balance of teams that did nothing useful defined.
_EPSILON = 1e-4
_REGION = "_Region_"


@dataclass(frozen=True, slots=True)
class Scores:
    """LLaMAR's measures of one run (LLAMAR-5).

    Attributes:
        success: whether the whole checklist is done.
        transport_rate: share of the checklist that is done.
        coverage: share of the objects acted on with success.
        coverage_attempted: the same with or without success.
        balance: least over most actions of an agent that did, or repeated, an item.
        balance_all: the same of all successful actions but Idle and Done.
        steps: joint steps.
    """

    success: bool
    transport_rate: float
    coverage: float
    coverage_attempted: float
    balance: float
    balance_all: float
    steps: int


class Checklist:
    """What a scene asks for, and what of it is done.

    Attributes:
        subtasks: the items, such as `UseSupply(CaldorFire, Sand)`.
        objects: what must be acted on: fires, persons, deposits, the reservoirs that are needed.
        done: the items that are done, with who did them and in which joint step, from 1.
    """

    def __init__(
        self, scene: Scene, agents: tuple[str, ...], horizon_steps: int = HORIZON_STEPS
    ) -> None:
        """Nothing is done yet.

        Args:
            scene: the scene.
            agents: the names of those that act.
            horizon_steps: joint steps after this many count no more.
        """
        self._horizon_steps = horizon_steps
        self.subtasks = tuple(_subtasks(scene))
        needed = _needed(scene)
        self.objects = (
            *(fire.name for fire in scene.fires),
            *(person.name for person in scene.persons),
            *(deposit.name for deposit in scene.deposits),
            *(reservoir.name for reservoir in scene.reservoirs if reservoir.name in needed),
        )
        self.done: dict[str, tuple[str, int]] = {}
        self._asked = frozenset(self.subtasks)
        self._steps = 0
        self._useful = dict.fromkeys(agents, 0)
        self._all = dict.fromkeys(agents, 0)
        self._acted: set[str] = set()
        self._tried: set[str] = set()

    @staticmethod
    def of(world: RescueWorld) -> Checklist:
        """That of a world's scene; persons whom an agent sees at the start are spotted."""
        checklist = Checklist(world.scene, tuple(world.agents))
        for agent, person in world.spotted_at_start:
            checklist._do(f"Spot({person})", agent)
        return checklist

    def note(self, step: JointStep) -> None:
        """Takes up one joint step, unless the horizon was reached or the list is done."""
        if self._steps == self._horizon_steps or not self.left:
            return
        self._steps += 1
        spotters = {agent for agent, _ in step.spotted}
        for agent, result in zip(self._useful, step.results, strict=True):
            action = result.action
            if action.verb in (Verb.IDLE, Verb.DONE):
                continue
            named = {name for name in (_whole(action.target), action.person) if name}
            self._tried |= named
            if not result.succeeded:
                continue
            self._acted |= named
            self._all[agent] += 1
            items = [item for item in _items(action) if item in self._asked]
            for item in items:
                self._do(item, agent)
            if items or agent in spotters:
                self._useful[agent] += 1
        for agent, person in step.spotted:
            self._do(f"Spot({person})", agent)
        for agent, fire in step.ended:
            self._do(f"EndFire({fire})", agent)

    @property
    def left(self) -> tuple[str, ...]:
        """The items that are not done."""
        return tuple(item for item in self.subtasks if item not in self.done)

    def scores(self) -> Scores:
        """The scores so far."""
        objects = set(self.objects)
        return Scores(
            success=len(self.done) == len(self.subtasks),
            transport_rate=len(self.done) / len(self.subtasks),
            coverage=len(objects & self._acted) / len(objects),
            coverage_attempted=len(objects & self._tried) / len(objects),
            balance=_balance(self._useful),
            balance_all=_balance(self._all),
            steps=self._steps,
        )

    def _do(self, item: str, agent: str) -> None:
        if item in self._asked:
            self.done.setdefault(item, (agent, self._steps))


def _balance(counts: dict[str, int]) -> float:
    return min(counts.values()) / (max(counts.values()) + _EPSILON)


def _needed(scene: Scene) -> frozenset[str]:
    """The reservoirs of the supplies that the scene's fires need."""
    supplies = {fire.kind.supply for fire in scene.fires}
    return frozenset(r.name for r in scene.reservoirs if r.supply in supplies)


def _subtasks(scene: Scene) -> Iterator[str]:
    for fire in scene.fires:
        yield f"NavigateTo({fire.name})"
        yield f"UseSupply({fire.name}, {fire.kind.supply})"
        yield f"EndFire({fire.name})"
    for person in scene.persons:
        yield f"NavigateTo({person.name})"
        yield f"Spot({person.name})"
        yield f"Carry({person.name})"
        # Which deposit does not matter.
        yield f"DropOff({person.name})"
    for deposit in scene.deposits:
        yield f"NavigateTo({deposit.name})"
    for reservoir in scene.reservoirs:
        if reservoir.name in _needed(scene):
            yield f"NavigateTo({reservoir.name})"
            yield f"GetSupply({reservoir.name})"


def _items(action: Action) -> Iterator[str]:
    """The items that an action does."""
    whole = _whole(action.target)
    if action.verb is Verb.DROP_OFF:
        yield f"DropOff({action.person})"
    elif action.verb is Verb.USE_SUPPLY:
        yield f"UseSupply({whole}, {action.supply})"
    elif whole:
        yield f"{action.verb}({whole})"
    if whole and action.verb is not Verb.NAVIGATE_TO:
        yield f"NavigateTo({whole})"


def _whole(name: str) -> str:
    """The fire of a region; other names stay."""
    return name.partition(_REGION)[0]


# What agents observe, as text for language models (LLAMAR-A2).


def visible_names(world: RescueWorld, agent: Agent) -> list[str]:
    """What an agent can name: burning fires and regions, what stands there, persons, agents."""
    groups = (world.fires, world.regions, world.reservoirs, world.deposits, world.persons)
    names = (name for group in (*groups, world.agents) for name in group)
    return [name for name in names if world.is_visible(agent, name)]


def observation_text(world: RescueWorld, agent: Agent) -> str:
    """The cells around an agent, what it sees elsewhere, and the names of all that."""
    near = ", ".join(f"{direction}: {_cell(world, agent, direction)}" for direction in Direction)
    names = visible_names(world, agent)
    elsewhere = "; ".join(_description(world, agent, name) for name in names)
    return (
        f"Around: {near}\nIn sight: {elsewhere or 'nothing'}\nNames: {', '.join(names) or 'none'}"
    )


def _cell(world: RescueWorld, agent: Agent, direction: Direction) -> str:
    dx, dy = direction.offset
    cell = (agent.cell[0] + dx, agent.cell[1] + dy)
    if not is_inside(cell) or not world.is_free(cell, agent):
        return "Obstacle"
    for fire in world.fires.values():
        level = fire.intensity(cell)
        if level is not Intensity.NONE:
            return f"{fire.name} burning, {level.word}"
    return "Empty"


def _description(world: RescueWorld, agent: Agent, name: str) -> str:
    reach = ", in reach" if world.is_near(agent, name) else ""
    return f"{name} ({', '.join(_facts(world, name))}{reach})"


def _facts(world: RescueWorld, name: str) -> Iterator[str]:
    cell = world.cell_of(name)
    if name in world.fires:
        fire = world.fires[name]
        yield f"{fire.kind} fire, put out with {fire.kind.supply}, {fire.average.word} on average"
    elif name in world.regions:
        fire, middle = world.regions[name]
        yield f"region of {fire.name}, {fire.around(middle).word}"
    elif name in world.reservoirs:
        yield f"reservoir of {world.reservoirs[name].supply}"
    elif name in world.deposits:
        stock = world.deposits[name].stock
        kept = ", ".join(f"{count} {supply}" for supply, count in stock.items())
        yield f"deposit with {kept}"
    elif name in world.persons:
        person = world.persons[name]
        yield f"lost person, held by {len(person.holders)} of at least {person.needed}"
    else:
        yield "agent"
    if cell is not None:
        yield f"at {cell}"
