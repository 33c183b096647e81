"""HELPER's planners with their options, and its suites."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import partial

from planner.bench.suite import SuitePart, packed
from planner.parts.option import Option, OptionValue
from planner.planning.part import Asks, Needs, PlannerPart, PlannerRequest, Reads
from planner.planning.planner import Planner

# The options of HELPER's planners, which their records declare: one for each ablation.

MEMORY_EXAMPLES, PERCEPT, DIAGNOSIS = "memory_examples", "percept", "diagnosis"
MAX_STEPS = 1000
MAX_FAILURES, MAX_FAILURES_OF_TRUE_PERCEPT = 30, 50
MAX_ROUNDS = 2


class MemoryExamples(StrEnum):
    """Which examples a prompt has.

    RETRIEVED: those nearest to the dialogue. FIXED: the same for every dialogue, the paper's
    ablation of the memory. NONE: none.
    """

    RETRIEVED = "retrieved"
    FIXED = "fixed"
    NONE = "none"


class Percept(StrEnum):
    """What the run knows of the world: PERCEIVED by the memory, or the simulator's TRUE state.

    A run with the true state chooses a memory that reads it, too; here it raises the limit of
    failures, and failures are told from the skills' codes.
    """

    PERCEIVED = "perceived"
    TRUE = "true"


class Diagnosis(StrEnum):
    """What chooses the sentence that describes a failure: the skill's CODE, or the PICTURE."""

    CODE = "code"
    PICTURE = "picture"


class ConfirmedBy(StrEnum):
    """Whose word adds a program to the memory.

    PERSON: that of whoever answers, and never for the instruction of an episode. JUDGE: answers
    are an evaluation's, which also may teach the instructions of episodes.
    """

    PERSON = "person"
    JUDGE = "judge"


MEMORY_OPTIONS = (
    Option(
        "program_memory",
        "",
        "file of programs that were confirmed; empty = the shipped examples, and nothing is kept",
        is_path=True,
    ),
    Option(
        "encoder",
        "",
        "folder of a sentence transformer that finds examples; empty = words are compared",
        is_path=True,
    ),
    Option("person", "", "whose programs they are; empty = nobody's in particular"),
    Option(
        "confirmed_by",
        ConfirmedBy.PERSON.value,
        "whose word adds a program to the memory; only a judge's adds instructions of episodes",
        choices=tuple(each.value for each in ConfirmedBy),
    ),
)
LOOP_OPTIONS = (
    Option("preconditions", True, "whether unmet preconditions of a statement are met before it"),
    Option(
        "feedback_rounds",
        0,
        "how often the person is asked at the end whether anything is missing",
        min_value=0,
        max_value=MAX_ROUNDS,
    ),
    Option(
        "step_limit", MAX_STEPS, "skill calls of a task, at most", min_value=1, max_value=100_000
    ),
    Option(
        "failure_limit",
        0,
        f"failed skill calls that end a task; 0 = {MAX_FAILURES}, or "
        f"{MAX_FAILURES_OF_TRUE_PERCEPT} with percept true",
        min_value=0,
        max_value=100_000,
    ),
    Option(
        PERCEPT,
        Percept.PERCEIVED.value,
        "whether the run's memory perceives the world or reads its true state",
        choices=tuple(each.value for each in Percept),
    ),
)
HELPER_OPTIONS = (
    Option(
        MEMORY_EXAMPLES,
        MemoryExamples.RETRIEVED.value,
        "which examples are in prompts: the nearest ones, always the same, or none",
        choices=tuple(each.value for each in MemoryExamples),
    ),
    Option("examples_shown", 3, "examples in a prompt, at most", min_value=1, max_value=20),
    Option("rectifier", True, "whether a failed statement is repaired by a role of its own"),
    Option("locator", True, "whether the model says near what a missing thing may be"),
    Option(
        DIAGNOSIS,
        Diagnosis.CODE.value,
        "what chooses the sentence that describes a failure: the skill's code, or the picture",
        choices=tuple(each.value for each in Diagnosis),
    ),
    Option(
        "picture_matcher",
        "",
        "folder of an image-text model that compares pictures with sentences of failures",
        is_path=True,
    ),
    *MEMORY_OPTIONS,
    *LOOP_OPTIONS,
)
RETRIEVAL_OPTIONS = (*MEMORY_OPTIONS, *LOOP_OPTIONS)


def wants_pictures(options: Mapping[str, OptionValue]) -> bool:
    """Whether failures are read from pictures."""
    return options.get(DIAGNOSIS) == Diagnosis.PICTURE


def _make_helper(request: PlannerRequest) -> Planner:
    from papers.helper.program_planner import make_helper

    return make_helper(request)


def _make_helper_retrieval(request: PlannerRequest) -> Planner:
    from papers.helper.program_planner import make_retrieval

    return make_retrieval(request)


HELPER = PlannerPart(
    summary="HELPER: a program from a dialogue, by a model shown similar ones; one robot",
    make=_make_helper,
    needs=Needs(model=True),
    reads=Reads(pictures=wants_pictures),
    asks=Asks(tells_replies=True, person=True),
    options=HELPER_OPTIONS,
)

HELPER_RETRIEVAL = PlannerPart(
    summary="HELPER without a model: the nearest remembered program, rebound to the request",
    make=_make_helper_retrieval,
    asks=Asks(person=True),
    options=RETRIEVAL_OPTIONS,
)


# HELPER's suites: TEACh's tasks and personal routines.

SUITES: Mapping[str, SuitePart] = {
    "teach": SuitePart(
        summary="tasks of TEACh's twelve types, given as dialogues or in the middle of one",
        places=partial(packed, "teach"),
    ),
    "routines": SuitePart(
        summary="ten personal routines, taught in full and asked for with no to three changes",
        places=partial(packed, "routines"),
    ),
}
