"""A planner of rules for search and rescue: the reference for that world; it uses no model.

Fires first: agents are spread over them, each fetches the supply that its fire needs, goes to the
hottest region and puts it out. Whoever is not needed scouts for lost persons. Two agents carry each
person who was seen to a deposit. Where an agent is and what it carries follows from its results.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.rescue.goals import Situation, rescue_goal
from planner.world.skill import SkillCall, SkillCode

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
