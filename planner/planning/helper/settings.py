"""Makes HELPER's planners as their options say."""

from __future__ import annotations

from datetime import UTC, datetime

from planner.planning.helper.asking import Asking
from planner.planning.helper.diagnosis import ImageTextMatcher, load_matcher
from planner.planning.helper.examples import Examples, open_memory
from planner.planning.helper.model_author import ModelAuthor, is_of
from planner.planning.helper.options import (
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
from planner.planning.helper.program_memory import ProgramMemory
from planner.planning.helper.program_planner import LoopOptions, OnConfirmed, ProgramPlanner
from planner.planning.helper.program_record import ProgramRecord, RecordKind
from planner.planning.helper.retrieval_author import RetrievalAuthor
from planner.planning.part import PlannerRequest
from planner.planning.planner import Planner
from planner.world.errors import PlannerError


def make_helper(request: PlannerRequest) -> Planner:
    """The planner `helper` for one task.

    Raises:
        PlannerError: without a model, for a file that is not a program memory, or a folder that is
            not a model.
    """
    from planner.planning.helper.right_replies import RightReplies

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
