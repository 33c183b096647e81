"""The state of a rescue scene and the actions that change it (LLAMAR-A1 to LLAMAR-A4)."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

from papers.llamar.rescue.scenes import (
    NEAR,
    SIZE,
    Cell,
    Direction,
    Fire,
    FireRecord,
    PersonRecord,
    Scene,
    Supply,
    away,
    is_inside,
)
from planner.world.errors import PlannerError

# The names of agents in LLaMAR's prompts, and one more for its sixth place.
AGENT_NAMES = ("Alice", "Bob", "Charlie", "David", "Emma", "Finn")
CAPACITY = 3
CARRIERS = 2
# Fires advance at every second joint step.
_STEPS_PER_TICK = 2


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


class RescueWorld:
    """One episode; `papers.llamar.rescue.acting.joint_step` is the only thing that changes it.

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

    def begin_step(self) -> None:
        """Starts the notes of a joint step, for `papers.llamar.rescue.acting.joint_step`."""
        self._spotted, self._ended = [], []

    def end_step(self, results: Sequence[ActionResult]) -> JointStep:
        """After all actions of a joint step: fires and persons move on."""
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
