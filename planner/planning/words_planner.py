"""Planner `words`: carries out an instruction in plain English and reports on it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from planner.evaluation.task import Predicate
from planner.grounding.grounder import Binder
from planner.grounding.records import Grounding, Missing, OpenEnded, Question, Unbound, Why
from planner.grounding.scene import scene_of_belief
from planner.language.goal_form import Description, Tell, phrases_of
from planner.language.goal_form import Goal as Meaning
from planner.language.questions import asks
from planner.memory.query import Believed, ask
from planner.models.caller import Caller
from planner.models.chat import ModelError
from planner.planning.company import Company, needs_company
from planner.planning.expert.expert import DONE, Expert
from planner.planning.expert.facts import Facts, Goal, Spot, Subgoal, read_goal
from planner.planning.expert.search import Sought, usual_furniture_of
from planner.planning.knowledge import Knowledge, read_knowledge
from planner.planning.last_calls import LastCalls
from planner.planning.planner import AgentResult, Change, Context, Decision, Exchange, Planner, Task
from planner.planning.understanding import (
    Ended,
    Unclear,
    Understanding,
    Understood,
    read_by_model,
    understand,
)
from planner.world.belief import Belief
from planner.world.catalogue import default_catalogue
from planner.world.house import House
from planner.world.topics import InstructionCode
from planner.world.vocabulary import Relation, floor_name

# The goal that the expert pursues for what an instruction means so far.

NO_GOAL = Goal((), {}, (), (), frozenset())
# A subgoal that never comes true, before those that must wait.
_NEVER = -1


def bound_goal(grounding: Grounding, meaning: Meaning) -> Goal:
    """The propositions that can be worked on.

    Later steps wait while something has yet to be found for an earlier one.
    """
    if grounding.evaluation is None:
        return NO_GOAL
    goal = read_goal(grounding.evaluation)
    steps = [number for number, step in enumerate(meaning.steps) for _ in step]
    sought = [
        steps[wanted.request]
        for wanted in grounding.sought
        if wanted.request < len(steps) and not (isinstance(wanted, Missing) and wanted.condition)
    ]
    if not sought:
        return goal
    before = dict(goal.before)
    for index, request in enumerate(grounding.requests):
        if request < len(steps) and steps[request] > min(sought):
            before[index] |= {_NEVER}
    return replace(goal, before=before)


def with_returns(goal: Goal, returns: Mapping[str, Spot]) -> Goal:
    """A goal, and things back where they were if it is about none of them."""
    count = len(goal.subgoals)
    back = [
        Subgoal(
            count + k,
            Predicate.IS_INSIDE if relation is Relation.WITHIN else Predicate.IS_ON_TOP,
            (name,),
            (place,),
        )
        for k, (name, (relation, place)) in enumerate(
            (name, spot) for name, spot in returns.items() if name not in goal.names
        )
    ]
    return replace(
        goal,
        subgoals=(*goal.subgoals, *back),
        before={**goal.before, **{one.index: frozenset[int]() for one in back}},
    )


# What to look for so that more of a goal can be bound, in names that the search understands.

ANY_CLASS = "thing"


class WantedNames:
    """Names `CLASS_?NUMBER` for descriptions that too few known things fit."""

    def __init__(self, first: int = 0) -> None:
        """`first`: the first number, above those of names that stood for something else."""
        self._numbers: dict[str, int] = {}
        self._first = first

    @property
    def next(self) -> int:
        """The first number that stands for nothing."""
        return self._first + len(self._numbers)

    def of(self, sought: Missing | OpenEnded) -> tuple[str, ...]:
        """The names of one description, always the same ones; furniture is known already."""
        number = self._numbers.setdefault(sought.key, self.next)
        furniture = default_catalogue().furniture
        classes = (name for name in sought.classes or (ANY_CLASS,) if name not in furniture)
        return tuple(f"{name}_?{number}" for name in classes)

    def sought(self, grounding: Grounding, belief: Belief, layout: House) -> Mapping[str, Sought]:
        """Every name with its description, and the furniture and floors to look at.

        For "all cups" these are all rooms, and where cups and the like are usually kept: to open
        everything takes ten minutes in a large house.
        """
        found: dict[str, Sought] = {}
        for sought in grounding.sought:
            places = _places(sought.where, belief, layout)
            is_open = isinstance(sought, OpenEnded)
            if is_open and not places:
                places = _usual(sought.classes, layout)
            wanted = Sought(sought.words, places, by_one=is_open)
            found |= dict.fromkeys(self.of(sought), wanted)
        return found


def _usual(classes: Iterable[str], layout: House) -> frozenset[str]:
    usual = usual_furniture_of(tuple(classes))
    pieces = {piece.name for piece in layout.furniture if piece.class_name in usual}
    return frozenset(pieces | {floor_name(room.name) for room in layout.rooms})


def _places(where: tuple[str, ...], belief: Belief, layout: House) -> frozenset[str]:
    found: set[str] = set()
    for name in where:
        if name in layout.rooms_by_name:
            found |= {piece.name for piece in layout.furniture if piece.room == name}
            found.add(floor_name(name))
        elif name in layout.furniture_by_name:
            found.add(name)
        elif (node := belief.nodes.get(name)) is not None:
            found.add(belief.base_of(node).parent or name)
    return frozenset(found)


# What was done of an instruction and what was not, in its own words.


@dataclass(frozen=True, slots=True)
class Report:
    """The end of an instruction.

    Attributes:
        done: requests that were carried out.
        not_done: those that were not, with the reason.
        remarks: what else the person should know, such as where something is.
    """

    done: tuple[str, ...]
    not_done: tuple[str, ...]
    remarks: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left."""
        return not self.not_done

    def __str__(self) -> str:
        parts = [f"done: {'; '.join(self.done)}"] if self.done else []
        parts += [f"not done: {'; '.join(self.not_done)}"] if self.not_done else []
        return ". ".join([*parts, *self.remarks]) or "nothing had to be done"


def report(
    grounding: Grounding,
    achieved: Collection[int],
    unanswered: Collection[Question],
    held: Collection[int],
    left_out: Sequence[str],
    reason: str = "",
) -> Report:
    """Compares what was asked for with what was achieved.

    Args:
        grounding: the newest.
        achieved: its propositions that are done.
        unanswered: questions without a useful answer.
        held: requests that hold without having been worked on.
        left_out: sentences that were not understood.
        reason: why work ended, if it did not succeed.
    """
    done, not_done = [], []
    for index, words in enumerate(grounding.request_words):
        own = [u for u in grounding.unbound if u.request == index]
        why = _why(grounding, achieved, unanswered, index, own, reason)
        if index in held:
            done.append(words)
        elif why:
            not_done.append(f"{words} ({why})")
        elif not own or any(request == index for request in grounding.requests):
            done.append(words)
    not_done += [f'"{sentence}" (not understood)' for sentence in left_out]
    remarks = tuple(u.text for u in grounding.unbound if not u.fails)
    return Report(tuple(done), tuple(not_done), remarks)


def _why(
    grounding: Grounding,
    achieved: Collection[int],
    unanswered: Collection[Question],
    index: int,
    unbound: Sequence[Unbound],
    reason: str,
) -> str:
    """Why a request is not done; "" if it is."""
    reasons = [f'no answer to "{q.text}"' for q in unanswered if q.request == index]
    sought = [m for m in grounding.missing if m.request == index and not m.condition]
    if not reasons:
        reasons += [f"not found: {m.words}" for m in sought]
    reasons += [u.text for u in unbound if u.fails]
    own = [number for number, request in enumerate(grounding.requests) if request == index]
    if not reasons and not set(own) <= set(achieved):
        reasons.append(reason or "not achieved")
    return ", ".join(dict.fromkeys(reasons))


def impossible_parts(unbound: Sequence[Unbound]) -> tuple[str, ...]:
    """What no house could satisfy, a part each, for the person to know before anything moves."""
    return tuple(f"cannot be done: {u.words} ({u.text})" for u in unbound if _is_hopeless(u))


def _is_hopeless(part: Unbound) -> bool:
    return part.why in (Why.UNFIT, Why.UNSAYABLE)


def is_impossible(unbound: Sequence[Unbound]) -> bool:
    """Whether no house could satisfy what failed."""
    failed = [u for u in unbound if u.fails]
    return bool(failed) and all(map(_is_hopeless, failed))


# Questions of one instruction; what is still unclear then is left out.
MAX_QUESTIONS = 10
_TURN = re.compile(r"\n(?=Question: |Answer: )")


class Words:
    """The planner's state for one instruction."""

    name = "words"

    def __init__(
        self,
        task: Task,
        caller: Caller | None = None,
        knowledge: Knowledge | None = None,
        spoken_by: str | None = None,
    ) -> None:
        """The planner of a task.

        Args:
            task: the instruction.
            caller: of the model that reads what the rules do not; None = it is refused.
            knowledge: what it can answer beside what is remembered; None = the shipped file.
            spoken_by: the person of the world who gave the instruction; "" = nobody there who is
                known, None = to be found out.
        """
        self._caller, self._task = caller, task
        self._knowledge = knowledge or read_knowledge()
        # Who speaks; "" = nobody there who is known, None = to be found out.
        self.spoken_by = spoken_by
        # Of what is asked of people.
        self._company: Company | None = None
        self._text, self._earlier = read_dialogue(task.instruction)
        self._expert = Expert(replace(task, instruction=self._text, goal=None))
        self._understood = None if task.meaning is None else Understood(task.meaning)
        self._binder: Binder | None = None
        # What is in a hand for no goal of now, and where it was; where things were that were moved
        # before the instruction was changed.
        self._returns: dict[str, Spot] = {}
        self._places: Mapping[str, Spot] = {}
        self._grounding: Grounding | None = None
        self._names = WantedNames()
        self._settled: set[str] = set()
        self._sequence = -1
        self._pursued: object = None
        self._has_begun = False
        self._last_calls = LastCalls()
        self._published: dict[str, JsonValue] | None = None

    def take_over(self, former: Planner, change: Change) -> None:
        """Goes on where another `Words` was, whose instruction has been changed."""
        if isinstance(former, Words) and self._understood is not None:
            self.spoken_by = former.spoken_by
            former.hand_over(self, self._understood.goal, change)

    def hand_over(self, heir: Words, meaning: Meaning, change: Change) -> None:
        """Gives what is known of the task to the planner that goes on with it."""
        if self._binder is not None:
            binder = self._binder.continued(meaning, change.other)
            heir.inherit(self._expert, binder, self._names.next, self._returns, change.places)

    def inherit(
        self,
        expert: Expert,
        binder: Binder,
        next_name: int,
        returns: Mapping[str, Spot],
        places: Mapping[str, Spot],
    ) -> None:
        """Takes over what was seen, tried and achieved; arguments as of the attributes."""
        self._expert, self._binder, self._names = expert, binder, WantedNames(next_name)
        self._returns, self._places = dict(returns), places

    @property
    def parts(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What was asked for, in words: what is done, and what is left."""
        grounding = self._grounding
        if self._company is not None:
            return self._company.parts
        if grounding is None:
            return (), ()
        done: list[str] = []
        left: list[str] = []
        for index, words in enumerate(grounding.request_words):
            own = {k for k, request in enumerate(grounding.requests) if request == index}
            is_open = any(part.request == index for part in grounding.sought)
            is_done = own and own <= self._expert.achieved and not is_open
            (done if is_done else left).append(words)
        return tuple(done), tuple(left)

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Records how calls ended."""
        self._expert.observe(results)
        if self._company is not None:
            self._company.observe(results)
        self._last_calls.observe(results)

    async def decide(self, context: Context) -> Decision:
        """A question, the next call of each idle agent, or the end with a report."""
        exchanges = (*self._earlier, *context.answers)
        if self._understood is None:
            found = await self._read(exchanges)
            if isinstance(found, Unclear):
                return Decision(question=found.question)
            if isinstance(found, Ended):
                return self._answered(context) or _ended(found, context)
            if is_told(found.goal) and (answer := self._answered(context)) is not None:
                return answer
            self._understood = found
        goal, is_whole = self._understood.goal, self.spoken_by is None
        if self._company is None and is_whole and needs_company(goal, context.belief):
            task = replace(self._task, instruction=self._text)
            self._company = Company(
                context,
                task,
                goal,
                self._knowledge,
                lambda part, by: Words(part, self._caller, self._knowledge, by),
            )
        if self._company is not None:
            decision = await self._company.decide(context)
            if not self._company.is_unheard:
                return decision
            # Nobody is there: it is asked where the speaker is.
            self._company, self.spoken_by = None, ""
        if self._binder is None:
            self._binder = Binder(self._understood.goal)
        return await self._carry_out(context, exchanges, self._understood, self._binder)

    def _answered(self, context: Context) -> Decision | None:
        """The answer to a question, from what is remembered or known; None if it is none."""
        if asks(self._text):
            memory = Believed(context.belief, context.layout)
            told: str | None = " ".join(ask(memory, self._text).text.splitlines())
        else:
            told = self._knowledge.reply(self._text)
        return None if told is None else Decision(dict.fromkeys(context.idle, DONE), told)

    async def _read(self, exchanges: Sequence[Exchange]) -> Understanding:
        """What the text asks for, by rules or else by the model."""
        found = understand(self._text, exchanges, guesses=self._caller is None)
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
        worked, decision = decision, self._last_calls.after(decision, context, grounding.criteria)
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
            guesses = self._expert.guesses
            scene = scene_of_belief(context.belief, context.layout, guesses, self.spoken_by or "")
            self._grounding = binder.update(scene)
        return self._grounding

    async def _work(self, context: Context, binder: Binder, meaning: Meaning) -> Decision:
        """The next decision for what is bound; what cannot be found no longer holds up the rest."""
        while True:
            grounding = self._bind(context, binder)
            idle = grounding.evaluation is None and not grounding.sought and not self._returns
            if idle and not context.running:
                return Decision(dict.fromkeys(context.idle, DONE))
            self._pursue(context, grounding, meaning)
            guesses = len(self._expert.guesses)
            decision = await self._expert.decide(context)
            if len(self._expert.guesses) > guesses:
                self._grounding = None
                continue
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
        for name, spot in self._places.items():
            node = context.belief.nodes.get(name)
            if node is not None and node.relation is Relation.HELD:
                self._returns.setdefault(name, spot)
        self._places = {}
        goal = with_returns(bound_goal(grounding, meaning), self._returns)
        if (goal, wanted) != self._pursued:
            self._pursued = (goal, wanted)
            self._expert.pursue(goal, wanted)

    def _end(
        self, decision: Decision, grounding: Grounding, understood: Understood, held: frozenset[int]
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
    """Requests whose question nobody answered, one meaning of which holds, as the judge allows."""
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


def is_told(goal: Meaning) -> bool:
    """Whether all that is asked for is to be told what memory knows; a place is looked at first."""
    phrases = [phrase for request in goal.requests for phrase in phrases_of(request)]
    placed = any(isinstance(phrase, Description) and phrase.where for phrase in phrases)
    return not placed and all(isinstance(request, Tell) for request in goal.requests)


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
