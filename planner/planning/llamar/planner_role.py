"""The Planner: which subtasks are open now (LLAMAR-D1)."""

from __future__ import annotations

from planner.models.role import Role
from planner.planning.llamar import prompt
from planner.planning.llamar.list_role import ListRole
from planner.planning.llamar.prompt import Field
from planner.planning.llamar.role import MAX_SUBTASKS, REASON
from planner.planning.llamar.state import NONE, Situation

PLAN = "plan"


class PlannerRole(ListRole):
    """Reads task, observations, subtasks and memory; replies with the whole list of open ones."""

    role = Role.PLANNER
    key = PLAN
    max_subtasks = MAX_SUBTASKS

    def _fields(self, situation: Situation) -> list[Field]:
        return [
            prompt.task(situation),
            *prompt.of_each(situation, prompt.observation),
            *prompt.subtasks(situation),
            prompt.memory(situation),
        ]

    def _system(self, situation: Situation) -> str:
        return _system(situation)


def _system(situation: Situation) -> str:
    return f"""\
You are the planner of a team of {prompt.team_of(situation)} \
{situation.setting.place}. Another module chooses the robots' actions; you keep the list of \
subtasks that are still to be done for the task.
{situation.setting.seeing}{prompt.with_pictures(situation)}
You get these lines:
Task: what the person wants.
<robot>'s observation: the things that the robot sees.
{prompt.OPEN}: your list of the step before; {NONE} at the beginning.
{prompt.COMPLETED}: what is known to be done.
{prompt.MEMORY}: what the team noted about the steps so far.
{prompt.NAMING}
Reply with a dictionary of two keys: "{REASON}", a text, and "{PLAN}", the list of all subtasks \
that are open now. You may keep your list, add to it or change it; adding is better than rewording.
- A subtask is specific: name the thing and where it has to go, as far as they are known, and \
plan to find what nobody has seen yet. "Do the task" is not a subtask.
- Do not say which robot does it.
- Leave out steps that another step includes, such as going somewhere before taking a thing. \
Where one action is enough, such as cleaning a plate, it is one subtask.
- Do not repeat what is completed. When nothing is left to do, the list is empty.
Example: {{"{REASON}": "The apple is on the table. No fridge was seen yet, so it has to be \
found.", "{PLAN}": ["find the fridge", "transport the apple to the fridge"]}}
{prompt.ONLY_DICTIONARY}"""
