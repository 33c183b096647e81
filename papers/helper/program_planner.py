"""The loop of HELPER, the limits of a task, and HELPER's planners as their options say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from random import Random

from papers.helper.author import FailedStatement, IsOf, ProgramAuthor, RetrievalAuthor, Search
from papers.helper.diagnosis import load_matcher
from papers.helper.model_author import Asking, Examples, ModelAuthor, is_of, open_memory
from papers.helper.parts import (
    DIAGNOSIS,
    MAX_FAILURES,
    MAX_FAILURES_OF_TRUE_PERCEPT,
    MEMORY_EXAMPLES,
    PERCEPT,
    ConfirmedBy,
    Diagnosis,
    MemoryExamples,
    Percept,
)
from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import ProgramRecord, RecordKind
from papers.helper.programs.interpreter import Interpreter
from papers.helper.programs.program import (
    Failed,
    Finished,
    Invocation,
    Missing,
    Program,
    program_text,
    statement_text,
)
from papers.helper.request_words import QUESTION, answered_before, as_dialogue, as_feedback, is_done
from planner.memory.maps.object_map import ImageTextMatcher
from planner.planning.part import PlannerRequest
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.world.errors import PlannerError
from planner.world.geometry import record
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult
from planner.world.topics import InstructionCode

# The limits of one task: skill calls and failures, each an end of its own (HELPER-D43).

# A call that was canceled, or for which the agent was not free, says nothing about the task.
_NO_FAILURES = frozenset({SkillCode.SUCCESS, SkillCode.CANCELED, SkillCode.BUSY})


class Limit(StrEnum):
    """What a task has used up."""

    STEPS = "step_limit"
    FAILURES = "failure_limit"


@dataclass
class Budget:
    """Counts what a task has used.

    Attributes:
        max_steps: skill calls.
        max_failures: skill calls that failed.
    """

    max_steps: int
    max_failures: int
    steps: int = 0
    failures: int = 0

    def count(self, name: str, result: SkillResult) -> None:
        """Counts a call that ended."""
        if name == SkillName.DONE:
            return
        self.steps += 1
        self.failures += result.code not in _NO_FAILURES

    @property
    def used_up(self) -> Limit | None:
        """The limit that is reached; None if none is."""
        if self.failures >= self.max_failures:
            return Limit.FAILURES
        return Limit.STEPS if self.steps >= self.max_steps else None

    @property
    def reason(self) -> str:
        """Why the task ends, in words; "" while it goes on."""
        match self.used_up:
            case Limit.FAILURES:
                return f"failure limit: {self.failures} skill calls failed"
            case Limit.STEPS:
                return f"step limit: {self.steps} skill calls were made"
            case None:
                return ""


_DONE = SkillCall(SkillName.DONE)
# Repairs of one statement and of one task; each is a call of the model and may fail itself.
MAX_REPAIRS_OF_ONE, MAX_REPAIRS = 2, 20
# Called with the dialogue and the text of what was run for it, once a person is content; returns
# why it was not kept, "" = it was.
OnConfirmed = Callable[[str, str], str]


@record
class LoopOptions:
    """How programs are carried out.

    Attributes:
        preconditions: whether unmet preconditions are met before a statement.
        rectifier: whether failed statements are repaired.
        locator: whether the author is asked where missing things may be.
        feedback_rounds: how often the person is asked at the end, at most.
        max_steps, max_failures: the budget.
    """

    preconditions: bool = True
    rectifier: bool = True
    locator: bool = True
    feedback_rounds: int = 0
    max_steps: int = 1000
    max_failures: int = 30


class ProgramPlanner:
    """The state of one task; a `planner.planning.planner.Planner`."""

    def __init__(
        self,
        name: str,
        task: Task,
        author: ProgramAuthor,
        options: LoopOptions,
        is_of: IsOf,
        on_confirmed: OnConfirmed,
    ) -> None:
        """`is_of` reads categories of programs; `on_confirmed` keeps what has proved itself."""
        self.name, self._author, self._options = name, author, options
        self._task, self._is_of = task, is_of
        self._dialogue = as_dialogue(task.instruction)
        self._text = self._dialogue
        self._on_confirmed = on_confirmed
        self._budget = Budget(options.max_steps, options.max_failures)
        self._agent = ""
        self._search = Search("", is_of, Random(task.seed))
        self._interpreter: Interpreter | None = None
        self._programs: list[str] = []
        self._places: dict[str, tuple[str, ...]] = {}
        self._repairs: Counter[str] = Counter()
        self._left_out: list[str] = []
        self._notes: list[str] = []
        self._learned = ""
        self._answers = self._questions = 0
        self._is_searching = self._is_asking = False
        self._asks_left = options.feedback_rounds
        earlier = answered_before(task.instruction)
        self._is_content = earlier is not None and is_done(earlier)

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Passes the robot's results on to the search or the program, whichever they belong to."""
        for ended in results:
            if ended.agent != self._agent:
                continue
            self._budget.count(ended.call.name, ended.result)
            if self._is_searching:
                self._search.observe(ended.result)
            elif self._interpreter is not None:
                self._interpreter.observe(ended.result)

    async def decide(self, context: Context) -> Decision:
        """The robot's next call, the question at the end, or the end.

        Raises:
            ModelError: if the model gives no reply.
        """
        if not self._agent:
            self._agent = _ablest(context)
            self._search = Search(self._agent, self._is_of, Random(self._task.seed))
        idle = [agent for agent in context.idle if agent != self._agent]
        others = dict.fromkeys(idle, _DONE)
        if self._agent not in context.idle:
            return Decision(others)
        decision = await self._decide(context)
        calls = {**decision.calls, **others}
        return Decision(
            calls,
            decision.thought,
            decision.question,
            decision.failure,
            decision.end,
            {**self._author.evidence, **self._evidence()},
        )

    async def _decide(self, context: Context) -> Decision:
        if self._is_content:
            return self._done("the person is content")
        while True:
            if self._is_asking and self._take_answer(context):
                why = self._on_confirmed(self._dialogue, "".join(self._programs))
                self._learned = f"no: {why}" if why else "yes"
                return self._done("done, and the person is content")
            if self._budget.used_up is not None:
                return Decision(failure=self._budget.reason, end=InstructionCode.CALL_LIMIT)
            interpreter = self._interpreter or await self._write(context)
            if interpreter is None:
                return Decision(failure=f"no program: {self._author.problem}")
            decision = await self._go_on(context, interpreter)
            if decision is not None:
                return decision

    async def _write(self, context: Context) -> Interpreter | None:
        """Has a program written for what was said last; None if there is none."""
        program = await self._author.program(self._text, context)
        if program is None:
            return None
        self._programs.append(program_text(program))
        self._notes += program.notes
        self._interpreter = Interpreter(
            program, agent=self._agent, checks_preconditions=self._options.preconditions
        )
        return self._interpreter

    async def _go_on(self, context: Context, interpreter: Interpreter) -> Decision | None:
        """The next step of the program; None if something else has to be tried at once."""
        match interpreter.next(context):
            case SkillCall() as call:
                if self._is_searching:
                    self._search.found()
                self._is_searching = False
                return Decision({self._agent: call}, f"{self._agent}: {call}")
            case Missing() as missing:
                return await self._look_for(missing, context, interpreter)
            case Failed() as failed:
                await self._mend(failed, context, interpreter)
                return None
            case Finished():
                return self._finish()

    async def _look_for(
        self, missing: Missing, context: Context, interpreter: Interpreter
    ) -> Decision | None:
        """The next look for a thing that nobody knows of; the statement is given up if none is."""
        target = missing.class_name
        if target not in self._places:
            ask = self._options.locator
            self._places[target] = (
                await self._author.places(target, self._text, context) if ask else ()
            )
        near = ((missing.landmark,) if missing.landmark else ()) + self._places[target]
        call = self._search.next(context, target, near)
        self._is_searching = call is not None
        if call is None:
            interpreter.not_found(context)
            return None
        return Decision({self._agent: call}, f"{self._agent} looks for {target}: {call}")

    async def _mend(self, failed: Failed, context: Context, interpreter: Interpreter) -> None:
        """Inserts a repair before the failed statement, or gives the statement up."""
        words = statement_text(failed.statement)
        program: Program | None = None
        few = self._repairs[words] < MAX_REPAIRS_OF_ONE and self._repairs.total() < MAX_REPAIRS
        if self._options.rectifier and few:
            self._repairs[words] += 1
            statement = failed.statement
            method = statement.method if isinstance(statement, Invocation) else None
            failure = FailedStatement(self._agent, words, method, failed.code, failed.text)
            program = await self._author.repair(failure, self._text, context)
        if program is None:
            self._left_out.append(f"{words} failed: {failed.text}")
            interpreter.skip()
        else:
            interpreter.insert(program)

    def _finish(self) -> Decision:
        """Asks the person, as often as is wanted; else the end."""
        if self._asks_left > 0:
            self._asks_left -= 1
            self._questions += 1
            self._is_asking = True
            return Decision(question=QUESTION)
        if self._left_out:
            return Decision(failure=f"not all was done: {'; '.join(self._left_out)}")
        return self._done("the program has ended")

    def _take_answer(self, context: Context) -> bool:
        """Takes the answer to the question; returns whether the person is content.

        What is missing is written a program for; without an answer nobody is asked again.
        """
        self._is_asking = False
        new = context.answers[self._answers :]
        self._answers = len(context.answers)
        answer = new[-1].answer if new else None
        if answer is None:
            self._asks_left = 0
        elif is_done(answer):
            return True
        else:
            self._text = as_feedback(QUESTION, answer)
            self._interpreter = None
            self._left_out = []
            self._repairs.clear()
        return False

    def _done(self, thought: str) -> Decision:
        return Decision({self._agent: _DONE}, thought)

    def _evidence(self) -> Mapping[str, str]:
        limit = self._budget.used_up
        return {
            "programs": str(len(self._programs)),
            "program": "".join(self._programs)[:4000],
            "steps": str(self._budget.steps),
            "failures": str(self._budget.failures),
            "limit": limit.value if limit is not None else "",
            "questions": str(self._questions),
            "repairs": str(self._repairs.total()),
            "learned": self._learned,
            "left_out": "; ".join(self._left_out)[:2000],
            "ignored": "; ".join(self._notes)[:2000],
        }


def _ablest(context: Context) -> str:
    """The agent with the most abilities, the first of equals: a robot cannot wash or cook."""
    able = context.capabilities

    def abilities(agent: str) -> int:
        return len(able[agent].primitives) if agent in able else 0

    return max(context.task.agents, key=abilities)


# Makes HELPER's planners as their options say.


def make_helper(request: PlannerRequest) -> Planner:
    """The planner `helper` for one task.

    Raises:
        PlannerError: without a model, for a file that is not a program memory, or a folder that is
            not a model.
    """
    from papers.helper.right_replies import RightReplies

    asking, memory = Asking.of(request), _memory(request)
    asking.right = RightReplies(request.task)
    shown = MemoryExamples(request.text(MEMORY_EXAMPLES))
    count = 0 if shown is MemoryExamples.NONE else request.whole("examples_shown")
    author = ModelAuthor(asking, Examples(memory, count), _matcher(request))
    options = _loop(request, rectifier=request.flag("rectifier"), locator=request.flag("locator"))
    confirmed = _learning(request, memory)
    return ProgramPlanner(request.name, request.task, author, options, is_of, confirmed)


def make_retrieval(request: PlannerRequest) -> Planner:
    """The planner `helper_retrieval` for one task.

    Raises:
        PlannerError: for a file that is not a program memory, or a folder that is not an encoder.
    """
    memory = _memory(request)
    options = _loop(request, rectifier=False, locator=False)
    author, confirmed = RetrievalAuthor(memory), _learning(request, memory)
    return ProgramPlanner(request.name, request.task, author, options, is_of, confirmed)


def _memory(request: PlannerRequest) -> ProgramMemory:
    fixed = request.options.get(MEMORY_EXAMPLES) == MemoryExamples.FIXED
    return open_memory(request.text("program_memory"), request.text("encoder"), fixed=fixed)


def _matcher(request: PlannerRequest) -> ImageTextMatcher | None:
    folder, diagnosis = request.text("picture_matcher"), Diagnosis(request.text(DIAGNOSIS))
    if diagnosis is Diagnosis.CODE or request.text(PERCEPT) == Percept.TRUE:
        return None
    if not folder:
        raise PlannerError("diagnosis picture needs the parameter `picture_matcher`: its folder")
    return load_matcher(folder)


def _loop(request: PlannerRequest, *, rectifier: bool, locator: bool) -> LoopOptions:
    is_true = request.text(PERCEPT) == Percept.TRUE
    usual = MAX_FAILURES_OF_TRUE_PERCEPT if is_true else MAX_FAILURES
    return LoopOptions(
        preconditions=request.flag("preconditions"),
        rectifier=rectifier,
        locator=locator,
        feedback_rounds=request.whole("feedback_rounds"),
        max_steps=request.dialogue.max_cycles or request.whole("step_limit"),
        max_failures=request.whole("failure_limit") or usual,
    )


def _learning(request: PlannerRequest, memory: ProgramMemory) -> OnConfirmed:
    """Keeps what a person has confirmed; of an episode's instruction only where a judge may."""
    judged = ConfirmedBy(request.text("confirmed_by")) is ConfirmedBy.JUDGE
    if not request.text("program_memory"):
        return lambda _dialogue, _program: "no program_memory is set"
    if request.task.goal is not None and not judged:
        return lambda _dialogue, _program: "instructions of episodes are not learned"

    def keep(said: str, program: str) -> str:
        now_s = datetime.now(UTC).timestamp()
        record = ProgramRecord(
            0,
            RecordKind.PLAN,
            said,
            program,
            person=request.text("person"),
            confirmed=True,
            when_s=now_s,
            source="judge" if judged else "person",
        )
        try:
            memory.add(record)
        except PlannerError as error:
            # The person is content: that the memory cannot keep it is no reason to fail.
            return str(error)
        return ""

    return keep
