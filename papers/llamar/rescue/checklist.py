"""The checklist and scores of a scene, and what agents observe of it as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from papers.llamar.rescue.scenes import Direction, Intensity, Scene, is_inside
from papers.llamar.rescue.world import Action, Agent, JointStep, RescueWorld, Verb

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
