"""The Verifier: which subtasks are complete (LLAMAR-D1)."""

from __future__ import annotations

from planner.models.role import Role
from planner.planning.llamar import prompt
from planner.planning.llamar.list_role import ListRole
from planner.planning.llamar.prompt import Field
from planner.planning.llamar.role import MAX_SUBTASKS, REASON
from planner.planning.llamar.state import Situation

COMPLETED_SUBTASKS = "completed subtasks"


class VerifierRole(ListRole):
    """Reads what was done and what is seen after it; replies with all completed subtasks."""

    role = Role.VERIFIER
    key = COMPLETED_SUBTASKS
    # All that were ever open may be complete.
    max_subtasks = 4 * MAX_SUBTASKS

    def _fields(self, situation: Situation) -> list[Field]:
        return [
            prompt.task(situation),
            *prompt.of_each(situation, prompt.observation, prompt.state, prompt.previous_action),
            *prompt.subtasks(situation),
            prompt.memory(situation),
        ]

    def _system(self, situation: Situation) -> str:
        return _system(situation)


def _system(situation: Situation) -> str:
    return f"""\
You are the verifier of a team of {prompt.team_of(situation)} \
{situation.setting.place}. After each step you judge which subtasks are done.
{situation.setting.seeing}{prompt.with_pictures(situation)}
You get these lines:
Task: what the person wants.
<robot>'s observation: the things that the robot sees after the step.
<robot>'s state: where the robot is, where it faces and what it holds.
<robot>'s previous action: what it did in the step, and whether that worked.
{prompt.OPEN}: what is still to be done.
{prompt.COMPLETED}: what was judged to be done before.
{prompt.MEMORY}: what the team noted about the steps so far.
{prompt.NAMING}
Reply with a dictionary of two keys: "{REASON}", a text, and "{COMPLETED_SUBTASKS}", the list of \
all subtasks that are done, those of before among them; it may be empty.
- Copy the subtasks from the lists word by word. What was never open cannot be done.
- A subtask is done only when its result is there: a thing that is in a hand, or that a robot \
stands in front of, is not yet where it has to be. An action that failed has changed nothing.
Example: {{"{REASON}": "Bob put the apple in the fridge and that worked. The bread is still in \
Alice's hand.", "{COMPLETED_SUBTASKS}": ["transport the apple to the fridge"]}}
{prompt.ONLY_DICTIONARY}"""
