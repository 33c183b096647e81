"""A planner that does nothing but carry out one program; what fails ends the task."""

from __future__ import annotations

from papers.helper.programs.interpreter import Interpreter
from papers.helper.programs.parsing import parse_program
from papers.helper.programs.program import Failed, Finished, Missing
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.world.skill import SkillCall, SkillName


class ProgramPlayer:
    """Plays a program for the first agent of a task; a planner for tests."""

    name = "program"

    def __init__(self, task: Task, text: str, *, checks_preconditions: bool = True) -> None:
        self.agent = task.agents[0]
        program = parse_program(text)
        self.interpreter = Interpreter(
            program, agent=self.agent, checks_preconditions=checks_preconditions
        )

    async def decide(self, context: Context) -> Decision:
        step = self.interpreter.next(context)
        match step:
            case SkillCall():
                return Decision({self.agent: step})
            case Finished():
                return Decision({agent: SkillCall(SkillName.DONE) for agent in context.idle})
            case Failed():
                return Decision(failure=f"{step.step}: {step.call}: {step.text}")
            case Missing():
                return Decision(failure=f"there is no {step.class_name}")

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        for one in results:
            if one.call.name != SkillName.DONE:
                self.interpreter.observe(one.result)
