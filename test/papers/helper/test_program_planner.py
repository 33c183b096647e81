"""HELPER's loop in a toy world, with authors that write what a test says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from planning_toys import ToyWorld, play

from papers.helper.author import FailedStatement
from papers.helper.model_author import is_of
from papers.helper.program_planner import LoopOptions, ProgramPlanner
from papers.helper.programs.parsing import parse_program
from papers.helper.programs.program import Program
from papers.helper.request_words import QUESTION
from planner.planning.planner import Context, Task
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.topics import InstructionCode

ROBOT, PERSON = "agent_0", "agent_1"
CUP_TO_DESK = """\
cup = InteractionObject("Mug")
table = InteractionObject("DiningTable", landmark="Bed")
cup.pickup()
cup.put_down()
"""
TASK = Task("Put the cup down somewhere.", (ROBOT,))


@dataclass
class Scripted:
    """Writes programs, repairs and places from lists; the last one again and again."""

    programs: Sequence[str] = (CUP_TO_DESK,)
    repairs: Sequence[str] = ()
    near: tuple[str, ...] = ()
    asked: list[str] = field(default_factory=list)
    failures: list[FailedStatement] = field(default_factory=list)
    located: list[str] = field(default_factory=list)
    problem: str = "the script is empty"

    @property
    def evidence(self) -> Mapping[str, str]:
        return {}

    async def program(self, dialogue: str, context: Context) -> Program | None:
        assert context.idle
        self.asked.append(dialogue)
        if not self.programs:
            return None
        return parse_program(self.programs[min(len(self.asked), len(self.programs)) - 1])

    async def repair(
        self, failure: FailedStatement, dialogue: str, context: Context
    ) -> Program | None:
        assert dialogue
        assert context.idle
        self.failures.append(failure)
        if len(self.failures) > len(self.repairs):
            return None
        return parse_program(self.repairs[len(self.failures) - 1], corrective=True)

    async def places(self, target: str, dialogue: str, context: Context) -> tuple[str, ...]:
        assert dialogue
        assert context.idle
        self.located.append(target)
        return self.near


def planner(
    author: Scripted,
    task: Task = TASK,
    kept: Callable[[str, str], str] = lambda _said, _program: "",
    **options: object,
) -> ProgramPlanner:
    made = LoopOptions(**options)  # type: ignore[arg-type]  # the options' names are checked there
    return ProgramPlanner("helper", task, author, made, is_of, kept)


def test_a_program_is_carried_out_and_the_task_is_done(toy_world: Callable[..., ToyWorld]) -> None:
    outcome = play(planner(Scripted()), toy_world(), TASK)
    assert outcome.done
    picked, *_ = (call for call in outcome.of(ROBOT) if call.startswith("Pick"))
    assert picked == "Pick[cup_0]"
    assert outcome.decisions[-1].evidence["programs"] == "1"


def test_the_ablest_agent_acts_and_the_others_are_done(
    toy_world: Callable[..., ToyWorld],
) -> None:
    task = Task(TASK.instruction, (ROBOT, PERSON))
    outcome = play(planner(Scripted(), task), toy_world(), task)
    assert outcome.of(ROBOT) == ["Done[]"]
    assert "Pick[cup_0]" in outcome.of(PERSON)


@pytest.mark.parametrize(
    ("answers", "questions", "inputs"),
    [
        (("done",), 1, 1),
        (("The cup is still on the table.", "The cup is still there."), 2, 3),
        ((None,), 1, 1),
        (("The cup is still on the table.", "Done, thanks."), 2, 2),
    ],
)
def test_check_38_the_person_is_asked_at_most_twice(
    toy_world: Callable[..., ToyWorld],
    answers: Sequence[str | None],
    questions: int,
    inputs: int,
) -> None:
    """HELPER-C38: fails, fails, succeeds; and succeeds at once."""
    author = Scripted()
    outcome = play(planner(author, feedback_rounds=2), toy_world(), TASK, answers=answers)
    assert outcome.done
    assert [one.question for one in outcome.decisions].count(QUESTION) == questions
    assert len(author.asked) == inputs
    assert author.asked[1:] == [
        f"<Driver> {QUESTION} <Commander> {said}" for said in answers[: inputs - 1]
    ]


@pytest.mark.parametrize(
    ("answer", "kept"), [("done", 1), ("not done", 0), (None, 0), ("x" * 100_000, 0)]
)
def test_check_6_only_what_a_person_confirms_is_kept(
    toy_world: Callable[..., ToyWorld], answer: str | None, kept: int
) -> None:
    """HELPER-C6: under the original instruction."""
    memory: list[tuple[str, str]] = []

    def keep(said: str, program: str) -> str:
        memory.append((said, program))
        return ""

    made = planner(Scripted(), kept=keep, feedback_rounds=1)
    play(made, toy_world(), TASK, answers=(answer,))
    assert len(memory) == kept
    assert memory in ([], [(TASK.instruction, CUP_TO_DESK)])


def test_no_question_without_feedback(toy_world: Callable[..., ToyWorld]) -> None:
    outcome = play(planner(Scripted()), toy_world(), TASK, answers=("done",))
    assert outcome.done
    assert not any(one.question for one in outcome.decisions)


def test_a_person_who_was_content_before_ends_the_task_at_once(
    toy_world: Callable[..., ToyWorld],
) -> None:
    task = Task(f"{TASK.instruction}\nQuestion: {QUESTION}\nAnswer: done", (ROBOT,))
    author = Scripted()
    outcome = play(planner(author, task), toy_world(), task)
    assert outcome.done
    assert (outcome.of(ROBOT), author.asked) == (["Done[]"], [])


def test_without_a_program_the_task_ends_with_the_reason(
    toy_world: Callable[..., ToyWorld],
) -> None:
    outcome = play(planner(Scripted(programs=())), toy_world(), TASK)
    assert outcome.failure == "no program: the script is empty"


def never_grasps(agent: str, call: SkillCall) -> SkillResult | None:
    assert agent
    if call.name != "Pick":
        return None
    return SkillResult.failure(SkillCode.GRASP_FAILED, "The grasp failed.")


class GraspsLater:
    """The first grasps fail."""

    def __init__(self, failures: int) -> None:
        self.left = failures

    def __call__(self, agent: str, call: SkillCall) -> SkillResult | None:
        if call.name == "Pick" and self.left:
            self.left -= 1
            return never_grasps(agent, call)
        return None


def test_a_repair_is_inserted_and_the_statement_tried_again(
    toy_world: Callable[..., ToyWorld],
) -> None:
    closer = "agent = AgentCorrective()\nagent.move_closer()\n"
    author = Scripted(repairs=(closer,))
    outcome = play(planner(author), toy_world(fault=GraspsLater(1)), TASK)
    assert outcome.done
    calls = outcome.of(ROBOT)
    at = calls.index("Move[Ahead]")
    assert (calls[at - 1], calls[at + 1]) == ("Pick[cup_0]", "Pick[cup_0]")
    (failure,) = author.failures
    assert (failure.statement, failure.code) == ("cup.pickup()", SkillCode.GRASP_FAILED)


def test_repairs_of_one_statement_are_bounded_and_it_is_left_out(
    toy_world: Callable[..., ToyWorld],
) -> None:
    closer = "agent = AgentCorrective()\nagent.move_closer()\n"
    author = Scripted(repairs=(closer,) * 50)
    outcome = play(planner(author), toy_world(fault=never_grasps), TASK)
    assert "cup.pickup() failed" in outcome.failure
    assert len([one for one in author.failures if one.statement == "cup.pickup()"]) == 2


def test_without_the_rectifier_nothing_is_repaired(toy_world: Callable[..., ToyWorld]) -> None:
    author = Scripted(repairs=("do_nothing()\n",))
    outcome = play(planner(author, rectifier=False), toy_world(fault=never_grasps), TASK)
    assert author.failures == []
    assert "cup.pickup() failed" in outcome.failure


def test_check_36_what_is_missing_is_looked_for_where_the_locator_says(
    toy_world: Callable[..., ToyWorld],
) -> None:
    """HELPER-C36: in the order of its answer, without what the house does not have."""
    author = Scripted(programs=(CUP_TO_DESK,), near=("Bathtub", "DiningTable"))
    outcome = play(planner(author), toy_world("cup_0"), TASK)
    assert outcome.done
    assert author.located == ["Mug"]
    assert outcome.of(ROBOT)[0].startswith("ExploreFurniture[table_")


def test_without_the_locator_rooms_are_looked_at_first(
    toy_world: Callable[..., ToyWorld],
) -> None:
    author = Scripted(near=("DiningTable",))
    outcome = play(planner(author, locator=False), toy_world("cup_0"), TASK)
    assert author.located == []
    assert outcome.of(ROBOT)[0].startswith("ExploreFurniture[floor_")


def test_check_39_the_loop_ends_at_the_limit_that_is_reached(
    toy_world: Callable[..., ToyWorld],
) -> None:
    """HELPER-C39: with limits that a small task reaches."""
    failing = play(planner(Scripted(), max_failures=1), toy_world(fault=never_grasps), TASK)
    stepping = play(planner(Scripted(), max_steps=2), toy_world(), TASK)
    for outcome, limit, words in (
        (failing, "failure_limit", "failure limit: 1 skill calls failed"),
        (stepping, "step_limit", "step limit: 2 skill calls were made"),
    ):
        last = outcome.decisions[-1]
        assert (outcome.failure, last.end) == (words, InstructionCode.CALL_LIMIT)
        assert last.evidence["limit"] == limit
