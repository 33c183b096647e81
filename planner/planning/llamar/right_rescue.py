"""What each rescuer of a team should do next: for privileged models in search and rescue.

The rules of `planner.planning.rescue` decide instead of the expert, who knows no fires. Prompts
name all that is known there and leave out what no longer burns, so that a reader of prompts knows
what the memory knows; what they say to be done it believes (LLAMAR-D84).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from planner.models.chat import ModelError
from planner.planning.llamar.actions import DONE, IDLE, Action, Verb
from planner.planning.llamar.right_actions import NO_GOAL, RightActions, RightTeam, subtask_words
from planner.planning.llamar.right_reading import Reading
from planner.planning.llamar.team import Team
from planner.planning.planner import AgentResult, Context, Task
from planner.planning.rescue.rules import RescueRules
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall, SkillName

_VERBS = {
    SkillName.NAVIGATE.value: Verb.NAVIGATE_TO,
    "Scout": Verb.EXPLORE,
    "TakeSand": Verb.GET_SAND,
    "TakeWater": Verb.GET_WATER,
    "UseSand": Verb.USE_SAND,
    "UseWater": Verb.USE_WATER,
    "StoreSupplies": Verb.STORE_SUPPLY,
    "DiscardSupplies": Verb.CLEAR_INVENTORY,
    "Carry": Verb.CARRY,
    "DropOff": Verb.DROP_OFF,
}


class RightRescue(RightTeam):
    """Follows a team of rescuers beside its planner."""

    def __init__(self, task: Task, team: Team) -> None:
        """Nothing has happened yet."""
        super().__init__(task, team)
        self._rules: RescueRules | None = None
        self._ended: list[AgentResult] = []

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps how calls ended."""
        self._ended += results

    async def judged(self, _reading: Reading | None) -> Mapping[str, bool | None]:
        """The goal's propositions in words, and whether each holds by the memory.

        Raises:
            ModelError: if the task has no goal of search and rescue.
        """
        return self._judged()

    def _judged(self) -> dict[str, bool | None]:
        expert = self._followed()
        holds = expert.judged(self.context)
        return {subtask_words(each): holds[each.index] for each in expert.subgoals}

    def _known(self, _reading: Reading | None) -> Context:
        return self.context

    def _ruled(self) -> RescueRules:
        if self._task.goal is None:
            raise ModelError(NO_GOAL)
        if self._rules is None:
            try:
                self._rules = RescueRules(self._task)
            except PlannerError as error:
                raise ModelError(f"the model teacher: {error}") from None
        self._rules.observe(tuple(_as_ruled(ended) for ended in self._ended))
        self._ended.clear()
        return self._rules

    async def _decide(self, reading: Reading | None) -> RightActions:
        rules, texts = self._ruled(), self._judged()
        said_done = reading.said_done if reading is not None else frozenset()
        rules.leave(
            name
            for subgoal in self._followed().subgoals
            if subtask_words(subgoal) in said_done
            for name in subgoal.first
        )
        decision = await rules.decide(self.context)
        return RightActions(
            {agent: self._action(decision.calls.get(agent)) for agent in self._task.agents},
            tuple(text for text, holds in texts.items() if not holds),
            tuple(text for text, holds in texts.items() if holds),
        )

    def _action(self, call: SkillCall | None) -> Action:
        if call is None:
            return IDLE
        if call.name == SkillName.DONE:
            return DONE
        verb = _VERBS[call.name]
        if not verb.takes_thing:
            return Action(verb)
        name = self._team.instances.name_of(call.arguments[0] or "")
        # What nobody has named yet is not known to any reader either.
        return Action(verb, name) if name is not None else IDLE


def _as_ruled(ended: AgentResult) -> AgentResult:
    """With the call as the rules would have made it."""
    if ended.call.name != "NavigateTo":
        return ended
    return replace(ended, call=SkillCall(SkillName.NAVIGATE, ended.call.arguments))
