"""Planner `words`: carries out an instruction in plain English with the robot's own memory.

The text becomes a goal over descriptions. Descriptions are bound to what the memory knows, the
machinery of `expert` carries out what is bound and looks for what is not, and each new finding may
bind more. What is unclear is asked; without an answer the rest is done.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pydantic import JsonValue

from planner.grounding.binder import Binder
from planner.grounding.records import Grounding
from planner.grounding.scene import scene_of_belief
from planner.language.goal_form import Goal as Meaning
from planner.models.caller import Caller
from planner.models.chat import ModelError
from planner.planning.expert.expert import DONE, Expert
from planner.planning.expert.facts import Facts
from planner.planning.goal import read_goal
from planner.planning.planner import AgentResult, Context, Decision, Exchange, Task
from planner.planning.words.bound_goal import bound_goal
from planner.planning.words.model_reading import read_by_model
from planner.planning.words.report import Report, impossible_parts, is_impossible, report
from planner.planning.words.understanding import (
    Ended,
    Unclear,
    Understanding,
    Understood,
    understand,
)
from planner.planning.words.wanted import WantedNames
from planner.world.instruct import InstructionCode
from planner.world.skill import SkillCall, SkillCode, SkillName

# Questions of one instruction; what is still unclear then is left out.
MAX_QUESTIONS = 10
# Walks to where the robot shall be at the end that may fail.
MAX_FAILED_WALKS = 3
_TURN = re.compile(r"\n(?=Question: |Answer: )")


class Words:
    """The planner's state for one instruction."""

    def __init__(self, task: Task, caller: Caller | None = None) -> None:
        """`caller`: of the model that reads what the rules do not; None = it is refused."""
        self._caller = caller
        self._text, self._earlier = read_dialogue(task.instruction)
        self._expert = Expert(replace(task, instruction=self._text, goal=None))
        self._understood: Understood | None = None
        self._binder: Binder | None = None
        self._grounding: Grounding | None = None
        self._names = WantedNames()
        self._settled: set[str] = set()
        self._sequence = -1
        self._pursued: object = None
        self._is_there = self._has_begun = False
        # To where the robot shall be at the end: the call, and how those that failed ended.
        self._last_walk: SkillCall | None = None
        self._failed_walks: list[str] = []
        self._published: dict[str, JsonValue] | None = None

    @property
    def name(self) -> str:
        """The value of the bring-up argument `planner`."""
        return "words"

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Records how calls ended."""
        self._expert.observe(results)
        for ended in results:
            if ended.call != self._last_walk:
                continue
            if ended.result.code is SkillCode.SUCCESS:
                self._is_there = True
            else:
                self._failed_walks.append(ended.result.text)

    async def decide(self, context: Context) -> Decision:
        """A question, the next call of each idle agent, or the end with a report."""
        exchanges = (*self._earlier, *context.answers)
        if self._understood is None or self._binder is None:
            found = await self._read(exchanges)
            if isinstance(found, Unclear):
                return Decision(question=found.question)
            if isinstance(found, Ended):
                return _ended(found, context)
            self._understood = found
            self._binder = Binder(found.goal)
        return await self._carry_out(context, exchanges, self._understood, self._binder)

    async def _read(self, exchanges: Sequence[Exchange]) -> Understanding:
        """What the text asks for, by rules or else by the model."""
        found = understand(self._text, exchanges)
        if self._caller is None or not (isinstance(found, Ended) and found.is_unread):
            return found
        try:
            goal = await read_by_model(self._text, self._caller)
        except ModelError as error:
            return replace(found, text=f"{found.text}; no model could read it instead: {error}")
        return found if goal is None else Understood(goal)

    async def _carry_out(
        self,
        context: Context,
        exchanges: Sequence[Exchange],
        understood: Understood,
        binder: Binder,
    ) -> Decision:
        question = self._open_question(context, {e.question: e.answer for e in exchanges}, binder)
        if question:
            return self._published_with(Decision(question=question), binder)
        decision = await self._work(context, binder, understood.goal)
        grounding = self._bind(context, binder)
        worked, decision = decision, self._walk(decision, context, grounding)
        if decision.failure and not worked.failure:
            return self._published_with(decision, binder)
        if decision.failure or DONE in decision.calls.values():
            held = _held_anyway(grounding, context, binder)
            decision = self._end(decision, grounding, understood, held)
        elif decision.calls and not self._has_begun:
            self._has_begun = True
            said = (*impossible_parts(grounding.unbound), decision.thought)
            decision = replace(decision, thought="; ".join(said))
        return self._published_with(decision, binder)

    def _open_question(
        self, context: Context, answers: Mapping[str, str | None], binder: Binder
    ) -> str:
        """Passes on the answers that are there; returns what is to be asked next, "" = nothing."""
        while True:
            questions = (question.text for question in self._bind(context, binder).questions)
            text = next((text for text in questions if text not in self._settled), "")
            if text not in answers:
                return text if len(answers) < MAX_QUESTIONS else ""
            self._settled.add(text)
            answer = answers[text]
            for question in self._bind(context, binder).questions:
                if question.text == text and answer and binder.answered(question, answer):
                    self._grounding = None

    def _bind(self, context: Context, binder: Binder) -> Grounding:
        """The grounding by what is known now."""
        if self._grounding is None or self._sequence != context.belief.sequence:
            self._sequence = context.belief.sequence
            self._grounding = binder.update(scene_of_belief(context.belief, context.layout))
        return self._grounding

    async def _work(self, context: Context, binder: Binder, meaning: Meaning) -> Decision:
        """The next decision for what is bound; what cannot be found no longer holds up the rest."""
        while True:
            grounding = self._bind(context, binder)
            if grounding.evaluation is None and not grounding.sought and not context.running:
                return Decision(dict.fromkeys(context.idle, DONE))
            self._pursue(context, grounding, meaning)
            decision = await self._expert.decide(context)
            if not self._give_up_search(grounding, binder):
                return decision

    def _give_up_search(self, grounding: Grounding, binder: Binder) -> bool:
        """Whether a search has ended without a result since the goal was bound."""
        ended = {
            sought.key
            for sought in grounding.sought
            if self._expert.not_found.issuperset(self._names.of(sought))
        }
        for key in ended:
            binder.give_up(key)
        if ended:
            self._grounding = None
        return bool(ended)

    def _pursue(self, context: Context, grounding: Grounding, meaning: Meaning) -> None:
        wanted = self._names.sought(grounding, context.belief, context.layout)
        goal = bound_goal(grounding, meaning)
        if (goal, wanted) != self._pursued:
            self._pursued = (goal, wanted)
            self._expert.pursue(goal, wanted)

    def _walk(self, decision: Decision, context: Context, grounding: Grounding) -> Decision:
        """When all else is done, the robot goes where it shall be at the end, until it is there."""
        places, robot = _destinations(grounding), context.task.agents[0]
        if not places or self._is_there or decision.calls.get(robot) != DONE:
            return decision
        place = places[-1]
        if len(self._failed_walks) >= MAX_FAILED_WALKS:
            return Decision(failure=f"not done: go to {place} ({self._failed_walks[-1]})")
        self._last_walk = SkillCall(SkillName.NAVIGATE, (place,))
        return Decision({robot: self._last_walk}, f"go to {place}")

    def _end(
        self,
        decision: Decision,
        grounding: Grounding,
        understood: Understood,
        held: frozenset[int],
    ) -> Decision:
        """The report; DONE only if nothing that was understood is left."""
        questions = tuple(q for q in grounding.questions if q.request not in held)
        grounding = replace(grounding, questions=questions)
        told = report(
            grounding,
            self._expert.achieved,
            grounding.questions,
            held,
            understood.left_out,
            decision.failure,
        )
        if told.is_complete and not decision.failure:
            return replace(decision, thought=str(told))
        if decision.end is not InstructionCode.GAVE_UP:
            return decision
        return _incomplete(told, grounding)

    def _published_with(self, decision: Decision, binder: Binder) -> Decision:
        """The decision, with the understood goal whenever that has changed."""
        if binder.understood == self._published:
            return decision
        self._published = binder.understood
        return replace(decision, goal=self._published)


def read_dialogue(instruction: str) -> tuple[str, tuple[Exchange, ...]]:
    """The instruction of a task and earlier questions about it with their answers."""
    text, *turns = _TURN.split(instruction)
    said = [turn.partition(": ")[2] for turn in turns]
    pairs = zip(said[::2], said[1::2], strict=False)
    return text, tuple(Exchange(question, answer or None) for question, answer in pairs)


def _held_anyway(grounding: Grounding, context: Context, binder: Binder) -> frozenset[int]:
    """Requests with a question that nobody answered, of which one of the meanings holds already.

    The evaluator, too, is content with any of the things that are meant alike.
    """
    asked = {question.request for question in grounding.questions}
    if not asked:
        return frozenset()
    found = binder.whichever_is_meant(scene_of_belief(context.belief, context.layout))
    if found.evaluation is None:
        return frozenset()
    facts = Facts(context.belief, context.layout, {}, {}, {})
    holds: dict[int, bool] = {}
    for subgoal, request in zip(read_goal(found.evaluation).subgoals, found.requests, strict=True):
        holds[request] = holds.get(request, True) and facts.holds(subgoal)
    open_still = {part.request for part in (*found.sought, *found.unbound)}
    return frozenset(r for r in asked - open_still if holds.get(r, False))


def _destinations(grounding: Grounding) -> list[str]:
    """One place for each "go to"."""
    variables = (grounding.criteria or {}).get("variables")
    lists = variables.values() if isinstance(variables, Mapping) else ()
    return [str(names[0]) for names in lists if isinstance(names, Sequence)]


def _ended(found: Ended, context: Context) -> Decision:
    if found.code is InstructionCode.DONE:
        return Decision(dict.fromkeys(context.idle, DONE), found.text)
    return Decision(failure=found.text, end=found.code, question=found.question)


def _incomplete(told: Report, grounding: Grounding) -> Decision:
    if grounding.questions:
        question = grounding.questions[0].text
        return Decision(failure=str(told), end=InstructionCode.QUESTION, question=question)
    impossible = not told.done and is_impossible(grounding.unbound)
    end = InstructionCode.BAD_REQUEST if impossible else InstructionCode.GAVE_UP
    return Decision(failure=str(told), end=end)
