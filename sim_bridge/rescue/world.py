"""The state of a rescue scene, which advances by joint steps (LLAMAR-A1 to LLAMAR-A4)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.world.errors import PlannerError
from sim_bridge.rescue import acting
from sim_bridge.rescue.acting import Action, ActionResult, Verb
from sim_bridge.rescue.scenes import (
    NEAR,
    SIZE,
    Cell,
    Fire,
    FireRecord,
    PersonRecord,
    Scene,
    Supply,
    away,
    is_inside,
)

# The names of agents in LLaMAR's prompts, and one more for its sixth place.
AGENT_NAMES = ("Alice", "Bob", "Charlie", "David", "Emma", "Finn")
CAPACITY = 3
CARRIERS = 2
# Fires advance at every second joint step.
_STEPS_PER_TICK = 2


@dataclass(slots=True)
class Agent:
    """An agent; a person fills its inventory.

    Attributes:
        carried: the person that it holds; "" = none.
        heading: of its last exploration.
    """

    name: str
    cell: Cell
    supplies: dict[Supply, int] = field(default_factory=lambda: dict.fromkeys(Supply, 0))
    carried: str = ""
    heading: Cell | None = None

    @property
    def free_slots(self) -> int:
        """How many more units it can take."""
        return 0 if self.carried else CAPACITY - sum(self.supplies.values())

    def drop_supplies(self) -> None:
        """Discards all supplies."""
        self.supplies = dict.fromkeys(Supply, 0)


@dataclass(slots=True)
class Person:
    """A lost person.

    Attributes:
        radius: in whole cells; who is this close sees the person and can take hold.
        needed: how many have to hold the person before they can carry.
        holders: the agents that hold the person, in the order of their `Carry`.
        dropping: those of them that have put the person down since all were at a deposit.
        deposit: where the person was brought; "" = nowhere yet.
    """

    name: str
    cell: Cell
    radius: float
    needed: int
    spotted: bool = False
    holders: list[str] = field(default_factory=list)
    dropping: set[str] = field(default_factory=set)
    deposit: str = ""

    @property
    def is_carried(self) -> bool:
        """Whether enough agents hold the person."""
        return len(self.holders) >= self.needed


@dataclass(frozen=True, slots=True)
class Reservoir:
    """An infinite source of one supply."""

    name: str
    supply: Supply
    cell: Cell


@dataclass(slots=True)
class Deposit:
    """Where people are brought; `stock` has no limit."""

    name: str
    cell: Cell
    stock: dict[Supply, int] = field(default_factory=lambda: dict.fromkeys(Supply, 0))


@dataclass(frozen=True, slots=True)
class JointStep:
    """What happened in one joint step.

    Attributes:
        results: of each agent's action, in the agents' order.
        spotted: who spotted which person.
        ended: the fires that went out, and by whose action.
    """

    results: tuple[ActionResult, ...]
    spotted: tuple[tuple[str, str], ...]
    ended: tuple[tuple[str, str], ...]

    @property
    def all_done(self) -> bool:
        """Whether each agent said `Done`."""
        return all(result.action.verb is Verb.DONE for result in self.results)


class RescueWorld:
    """One episode; `step` is the only thing that changes it.

    Attributes:
        scene: its initial state.
        agents: by name, in the order in which they act.
        steps: how many joint steps have been made.
        rng: of fires and explorations.
        spotted_at_start: who saw which person from the first cells.
    """

    def __init__(self, scene: Scene, agents: int | Sequence[str] = 2, seed: int = 0) -> None:
        """Builds the initial state.

        Args:
            scene: the scene.
            agents: how many, or their names.
            seed: determines the phases of fires and the headings of explorations.

        Raises:
            PlannerError: if the scene has no place for that many agents.
        """
        names = AGENT_NAMES[:agents] if isinstance(agents, int) else tuple(agents)
        count = agents if isinstance(agents, int) else len(names)
        if not 1 <= count <= len(scene.starts) or len(set(names)) != count:
            places = len(scene.starts)
            raise PlannerError(f"{scene.name}: expected 1 to {places} agents, got {agents}")
        self.scene = scene
        self.rng = random.Random(seed)
        self.steps = 0
        pairs = zip(names, scene.starts, strict=False)
        self.agents = {name: Agent(name, cell) for name, cell in pairs}
        self.fires = {record.name: fire_of(record, self.rng) for record in scene.fires}
        self.reservoirs = {r.name: Reservoir(r.name, r.supply, r.cell) for r in scene.reservoirs}
        self.deposits = {d.name: Deposit(d.name, d.cell) for d in scene.deposits}
        self.persons = {person.name: _person(person) for person in scene.persons}
        stores = [reservoir.cell for reservoir in scene.reservoirs]
        self._fixed = frozenset((*stores, *(deposit.cell for deposit in scene.deposits)))
        self._regions = {
            fire.region_name(index): (fire, cell)
            for fire in self.fires.values()
            for index, cell in enumerate(fire.regions)
        }
        self._spotted: list[tuple[str, str]] = []
        self._ended: list[tuple[str, str]] = []
        self.spotted_at_start: tuple[tuple[str, str], ...] = ()
        self.look_at_start()

    def look_at_start(self) -> None:
        """Spots the persons near the agents; again, if these were placed elsewhere."""
        for person in self.persons.values():
            person.spotted = False
        self._spotted = []
        self._spot()
        self.spotted_at_start = tuple(self._spotted)

    # Reading

    def agent(self, name: str) -> Agent:
        """An agent by name.

        Raises:
            PlannerError: if there is none.
        """
        if name not in self.agents:
            raise PlannerError(f"there is no agent {name!r}; there are {', '.join(self.agents)}")
        return self.agents[name]

    @property
    def regions(self) -> dict[str, tuple[Fire, Cell]]:
        """The fires' regions by name."""
        return self._regions

    @property
    def is_over(self) -> bool:
        """Whether no fire burns and every person has been brought to a deposit."""
        fires, persons = self.fires.values(), self.persons.values()
        return not any(fire.burns for fire in fires) and all(person.deposit for person in persons)

    def cell_of(self, name: str) -> Cell | None:
        """Where something that has a name and a place is; None for a fire as a whole."""
        if name in self._regions:
            return self._regions[name][1]
        found = (
            self.reservoirs.get(name)
            or self.deposits.get(name)
            or self.persons.get(name)
            or self.agents.get(name)
        )
        return found.cell if found is not None else None

    def is_near(self, agent: Agent, name: str) -> bool:
        """Whether an agent is within the radius of something."""
        fire = self.fires.get(name)
        if fire is None and name in self._regions:
            fire = self._regions[name][0]
        if fire is not None:
            return fire.is_near(agent.cell)
        person = self.persons.get(name)
        cell = self.cell_of(name)
        return cell is not None and away(agent.cell, cell) <= (person.radius if person else NEAR)

    def is_visible(self, agent: Agent, name: str) -> bool:
        """Whether an agent sees something; false for what does not exist."""
        if name in self._regions:
            fire, cell = self._regions[name]
            return bool(fire.around(cell))
        if name in self.fires:
            return self.fires[name].burns
        if name in self.persons:
            return self.persons[name].spotted and not self.persons[name].deposit
        if name in self.agents:
            return name != agent.name and self.is_near(agent, name)
        return name in self.reservoirs or name in self.deposits

    def is_free(self, cell: Cell, agent: Agent) -> bool:
        """Whether an agent can be in a cell of the grid; a person blocks all, also who carries."""
        if cell == agent.cell:
            return True
        if not is_inside(cell) or cell in self._fixed:
            return False
        if any(other.cell == cell for other in self.agents.values()):
            return False
        return not any(
            person.cell == cell for person in self.persons.values() if not person.deposit
        )

    # Acting

    def step(self, actions: Sequence[Action]) -> JointStep:
        """Carries out one action of each agent, in their order; then fires and persons move on.

        Args:
            actions: one for each agent.

        Raises:
            PlannerError: if there are more or fewer.
        """
        if len(actions) != len(self.agents):
            raise PlannerError(f"expected {len(self.agents)} actions, got {len(actions)}")
        self._spotted, self._ended = [], []
        results = []
        for agent, action in zip(self.agents.values(), actions, strict=True):
            results.append(acting.act(self, agent, action))
        results = acting.with_shared_drop_off(results)
        self.steps += 1
        if self.steps % _STEPS_PER_TICK == 0:
            for fire in self.fires.values():
                fire.tick()
        for person in self.persons.values():
            if person.is_carried and not person.deposit:
                person.cell = self.agents[person.holders[0]].cell
        self._spot()
        return JointStep(tuple(results), tuple(self._spotted), tuple(self._ended))

    def spot_from(self, agent: Agent) -> None:
        """An agent looks for lost persons from where it is."""
        for person in self.persons.values():
            if not person.spotted and away(agent.cell, person.cell) <= person.radius:
                person.spotted = True
                self._spotted.append((agent.name, person.name))

    def fire_ended(self, agent: Agent, fire: Fire) -> None:
        """Notes that an agent put out the last burning cell."""
        self._ended.append((agent.name, fire.name))

    def _spot(self) -> None:
        for agent in self.agents.values():
            self.spot_from(agent)


def fire_of(record: FireRecord, rng: random.Random) -> Fire:
    """A scene's fire at the start; `rng` determines its phase."""
    return Fire.in_box(
        record.name,
        record.kind,
        corner=record.corner,
        width=record.width,
        height=record.height,
        lit=record.lit,
        rng=rng,
    )


def _person(record: PersonRecord) -> Person:
    last = SIZE - 1
    farthest = max(
        away(record.cell, corner) for corner in ((0, 0), (last, 0), (0, last), (last, last))
    )
    return Person(
        record.name,
        record.cell,
        radius=math.floor(record.find_probability * farthest),
        needed=CARRIERS + record.extra_load,
    )
