"""Search and rescue by rules: what a task asks for, and the reference planner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field

from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.world.belief import Belief, BeliefNode
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall, SkillCode
from planner.world.vocabulary import Relation

_HEAT = {"heat_low": 1, "heat_medium": 2, "heat_high": 3}


@dataclass(frozen=True, slots=True)
class RescueGoal:
    """The fires to put out, the persons to bring in, and the deposits where they may go."""

    fires: tuple[str, ...]
    persons: tuple[str, ...]
    deposits: tuple[str, ...]

    def without(self, names: Set[str]) -> RescueGoal:
        """Less some fires and persons."""
        return RescueGoal(
            tuple(name for name in self.fires if name not in names),
            tuple(name for name in self.persons if name not in names),
            self.deposits,
        )


def rescue_goal(task: Task) -> RescueGoal:
    """Reads the episode's goal.

    Raises:
        PlannerError: if it asks for anything but fires that are out and persons in deposits.
    """
    propositions = (task.goal or {}).get("propositions")
    fires: list[str] = []
    persons: list[str] = []
    deposits: dict[str, None] = {}
    for index, item in enumerate(propositions if isinstance(propositions, list) else []):
        name = item.get("function_name") if isinstance(item, dict) else None
        arguments = item.get("args") if isinstance(item, dict) else None
        if not isinstance(arguments, dict) or name not in ("is_extinguished", "is_inside"):
            where = f"evaluation.propositions.{index}"
            raise PlannerError(f"{where}: the rules know is_extinguished and is_inside, not {name}")
        objects = [str(each) for each in _listed(arguments.get("objects"))]
        if name == "is_extinguished":
            fires += objects
        else:
            persons += objects
            deposits |= dict.fromkeys(str(each) for each in _listed(arguments.get("receptacles")))
    if not fires and not persons:
        raise PlannerError("the task has no fires to put out and no persons to bring in")
    return RescueGoal(tuple(fires), tuple(persons), tuple(deposits))


def _listed(value: object) -> list[object]:
    return list(value) if isinstance(value, list | tuple) else []


class Situation:
    """The belief about the things of a rescue task."""

    def __init__(self, goal: RescueGoal, belief: Belief) -> None:
        self._goal, self._belief = goal, belief

    @property
    def fires(self) -> tuple[str, ...]:
        """The fires of the goal that are not known to be out."""
        return tuple(name for name in self._goal.fires if self._burns(name))

    @property
    def persons(self) -> tuple[str, ...]:
        """The persons of the goal who were seen and are in no deposit yet."""
        nodes = self._belief.nodes
        return tuple(name for name in self._missing() if name in nodes)

    @property
    def unseen(self) -> tuple[str, ...]:
        """The persons of the goal whom nobody has seen."""
        return tuple(name for name in self._missing() if name not in self._belief.nodes)

    def is_carried(self, person: str) -> bool:
        """Whether enough agents hold a person."""
        node = self._belief.nodes.get(person)
        return node is not None and node.relation is Relation.HELD

    def regions(self, fire: str) -> list[tuple[str, int]]:
        """The regions of a fire that burn, with their heat, the hottest first."""
        found = [
            (node.name, heat_of(node))
            for node in self._belief.nodes.values()
            if node.parent == fire and heat_of(node)
        ]
        return sorted(found, key=lambda region: (-region[1], region[0]))

    def supply_of(self, fire: str) -> str:
        """What puts a fire out, `sand` or `water`."""
        node = self._belief.nodes.get(fire)
        return "sand" if node is not None and node.states.get("chemical") else "water"

    def source_of(self, supply: str) -> str | None:
        """A reservoir of a supply."""
        return next(
            (n.name for n in self._belief.nodes.values() if n.states.get(f"gives_{supply}")), None
        )

    def _burns(self, name: str) -> bool:
        node = self._belief.nodes.get(name)
        return node is None or node.states.get("burning", True)

    def _missing(self) -> Iterator[str]:
        for name in self._goal.persons:
            node = self._belief.nodes.get(name)
            if node is None or node.parent not in self._goal.deposits:
                yield name


def heat_of(node: BeliefNode) -> int:
    """1 to 3 for what burns, 0 for what does not."""
    return max((heat for state, heat in _HEAT.items() if node.states.get(state)), default=0)


# A planner of rules for search and rescue: the reference for that world; it uses no model.
#
# Fires first: agents are spread over them, each fetches the supply that its fire needs, goes to
# the hottest region and puts it out. Whoever is not needed scouts for lost persons. Two agents
# carry each person who was seen to a deposit. Where an agent is and what it carries follows from
# its results.

CAPACITY = 3
_CARRIERS = 2
# Units of supply that are worth one more agent at a fire.
_HEAT_PER_AGENT = 3
_DONE = SkillCall("Done")


@dataclass(slots=True)
class _Rescuer:
    """What is known of one agent.

    Attributes:
        at: the entity that it went to last; "" = nowhere in particular.
        supplies: units by supply.
        holds: the person that it holds.
    """

    at: str = ""
    supplies: dict[str, int] = field(default_factory=lambda: {"sand": 0, "water": 0})
    holds: str = ""


class RescueRules:
    """See the module."""

    name = "rescue_rules"

    def __init__(self, task: Task) -> None:
        """Reads the goal.

        Raises:
            PlannerError: if it is none of this world's.
        """
        self._goal = rescue_goal(task)
        self._left: frozenset[str] = frozenset()
        self._team = {agent: _Rescuer() for agent in task.agents}

    def leave(self, names: Iterable[str]) -> None:
        """Takes fires for out and persons for brought in, instead of those told before."""
        self._left = frozenset(names)

    async def decide(self, context: Context) -> Decision:
        """The calls for the idle agents; one that has to wait for others gets none."""
        situation = Situation(self._goal.without(self._left), context.belief)
        if not situation.fires and not situation.persons and not situation.unseen:
            return Decision(calls=dict.fromkeys(context.idle, _DONE), thought="all is done")
        self._let_go(Situation(self._goal, context.belief))
        jobs = self._jobs(situation)
        calls = {agent: call for agent in context.idle if (call := jobs.get(agent)) is not None}
        return Decision(calls=calls)

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps where each agent is and what it carries."""
        for ended in results:
            self._note(self._team[ended.agent], ended)

    def _note(self, who: _Rescuer, ended: AgentResult) -> None:
        name, succeeded = ended.call.name, ended.result.succeeded
        target = ended.call.arguments[0] if ended.call.arguments else None
        if name == "Navigate":
            who.at = target or "" if succeeded else ""
        elif name == "Scout":
            who.at = ""
        elif name.startswith("Take"):
            supply = name.removeprefix("Take").lower()
            if succeeded:
                who.supplies[supply] += 1
            elif ended.result.code is SkillCode.NEED_UNMET:
                # The slots are full after all.
                who.supplies[supply] = max(1, who.supplies[supply])
            else:
                who.at = ""
        elif name.startswith("Use"):
            supply = name.removeprefix("Use").lower()
            if succeeded or ended.result.code is SkillCode.NEED_UNMET:
                who.supplies[supply] = max(0, who.supplies[supply] - 1)
            else:
                who.at = ""
        elif name == "Carry":
            if succeeded:
                who.holds, who.supplies = target or "", {"sand": 0, "water": 0}
            else:
                who.at = ""
        elif name == "DropOff" and succeeded:
            who.holds = ""

    # Jobs

    def _let_go(self, situation: Situation) -> None:
        """Nobody holds who is in a deposit."""
        delivered = set(self._goal.persons).difference(situation.persons, situation.unseen)
        for who in self._team.values():
            if who.holds in delivered:
                who.holds = ""

    def _jobs(self, situation: Situation) -> dict[str, SkillCall | None]:
        """What each agent should do now, were it idle; None = wait."""
        free = [agent for agent, who in self._team.items() if not who.holds]
        jobs: dict[str, SkillCall | None] = {}
        for person in situation.persons:
            jobs |= self._rescue(situation, person, free)
        jobs |= self._fight(situation, free)
        for agent in free:
            jobs[agent] = SkillCall("Scout") if situation.unseen else None
        return jobs

    def _rescue(
        self, situation: Situation, person: str, free: list[str]
    ) -> dict[str, SkillCall | None]:
        """The jobs of those who carry a person; takes further ones from the free agents."""
        holders = [agent for agent, who in self._team.items() if who.holds == person]
        carried = situation.is_carried(person) and len(holders) >= _CARRIERS
        jobs: dict[str, SkillCall | None] = {}
        wanted = 0 if carried else max(1, _CARRIERS - len(holders))
        # With fires burning, carrying starts only if all who are needed are there.
        if holders or not situation.fires or len(free) > len(situation.fires) + 1:
            for agent in free[-wanted:] if wanted else []:
                free.remove(agent)
                near = self._team[agent].at == person
                jobs[agent] = SkillCall("Carry" if near else "Navigate", (person,))
        deposit = self._goal.deposits[0]
        arrived = all(self._team[agent].at == deposit for agent in holders)
        for agent in holders:
            if not carried:
                jobs[agent] = None
            elif self._team[agent].at != deposit:
                jobs[agent] = SkillCall("Navigate", (deposit,))
            else:
                jobs[agent] = SkillCall("DropOff", (deposit,)) if arrived else None
        return jobs

    def _fight(self, situation: Situation, free: list[str]) -> dict[str, SkillCall | None]:
        """The jobs of those who put out fires, as many as these need."""
        jobs: dict[str, SkillCall | None] = {}
        burning = [(fire, situation.regions(fire)) for fire in situation.fires]
        needed = {fire: sum(heat for _, heat in regions) for fire, regions in burning}
        turn = 0
        while free and any(needed[fire] > 0 for fire, _ in burning):
            fire, regions = burning[turn % len(burning)]
            if needed[fire] > 0 and regions:
                agent = self._fittest(free, situation.supply_of(fire))
                free.remove(agent)
                rank = turn // len(burning)
                jobs[agent] = self._put_out(
                    situation, agent, fire, regions[rank % len(regions)][0], needed[fire]
                )
                needed[fire] -= _HEAT_PER_AGENT
            turn += 1
        return jobs

    def _fittest(self, free: list[str], supply: str) -> str:
        """A free agent that has the supply already, or nothing else."""
        other = "water" if supply == "sand" else "sand"

        def cost(agent: str) -> tuple[int, int]:
            held = self._team[agent].supplies
            return (held[other], -held[supply])

        return min(free, key=cost)

    def _put_out(
        self, situation: Situation, agent: str, fire: str, region: str, units: int
    ) -> SkillCall | None:
        who, supply = self._team[agent], situation.supply_of(fire)
        source = situation.source_of(supply)
        slots = CAPACITY - sum(who.supplies.values())
        held, word = who.supplies[supply], supply.capitalize()
        if source is not None and slots and held < units and (not held or who.at == source):
            if who.at != source:
                return SkillCall("Navigate", (source,))
            return SkillCall(f"Take{word}", (source,))
        if not held:
            # Full of what puts out other fires.
            return SkillCall("DiscardSupplies") if not slots else None
        if who.at == region or (who.at in self._regions_of(situation, fire)):
            return SkillCall(f"Use{word}", (fire,))
        return SkillCall("Navigate", (region,))

    @staticmethod
    def _regions_of(situation: Situation, fire: str) -> set[str]:
        return {name for name, _ in situation.regions(fire)}
