"""What SmartLLM asks its model before the first step: functions, then calls (LLAMAR-D90)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from planner.models.chat import Message
from planner.models.role import Role
from planner.planning.llamar import prompt
from planner.planning.llamar.actions import Action, Verb
from planner.planning.llamar.choices import verbs_of
from planner.planning.llamar.smart_program import (
    Allocation,
    AllocationReply,
    Function,
    Functions,
    FunctionsReply,
)
from planner.planning.llamar.state import Situation
from planner.planning.llamar.team import ActionOptions

OBJECTS, ROBOTS, FUNCTIONS = "Objects", "Robots", "Functions"

_NOTES = """\
- A robot holds one thing at a time, and has to navigate to a thing before anything else is done \
with it. Furniture that is closed has to be opened first.
- There are no loops, conditions or variables."""
_EXAMPLE = """\
def put_apple_in_fridge(robot):
    NavigateTo(robot, "Fridge_1")
    Open(robot, "Fridge_1")
    NavigateTo(robot, "Apple_1")
    Pickup(robot, "Apple_1")
    NavigateTo(robot, "Fridge_1")
    Put(robot, "Fridge_1")
def turn_off_lamp(robot):
    NavigateTo(robot, "Lamp_1")
    ToggleOff(robot, "Lamp_1")"""
_ALLOCATED = """\
task_1 = threading.Thread(target=put_apple_in_fridge, args=(Alice,))
task_2 = threading.Thread(target=turn_off_lamp, args=(Bob,))
task_1.start()
task_2.start()
task_1.join()
task_2.join()"""
_ALONE = """\
put_apple_in_fridge(Alice)
turn_off_lamp(Alice)"""


@dataclass(frozen=True, slots=True)
class DecomposingRole:
    """Reads the task and what the robots see at the start; replies with a function a subtask.

    Attributes:
        options: what the robots can do.
    """

    options: ActionOptions
    role = Role.PLANNER

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt."""
        return prompt.messages(self._system(situation), situation, _fields(situation))

    def form(self, situation: Situation) -> FunctionsReply:  # noqa: ARG002 - of the team only
        """Functions of actions."""
        return FunctionsReply(verbs_of(self.options))

    def value(self, entries: Functions) -> Functions:
        """The functions."""
        return entries

    def _system(self, situation: Situation) -> str:
        calls = "\n".join(f"- {_shown(verb)}" for verb in verbs_of(self.options))
        return f"""\
You plan a whole task of a team of {prompt.team_of(situation)} {situation.setting.place}, once and \
before it begins. Nothing can be changed afterwards.{prompt.with_pictures(situation)}
You get these lines:
Task: what the person wants.
{ROBOTS}: the team.
{OBJECTS}: all that the robots see now.
{prompt.NAMING}
Cut the task into subtasks that can be done independently of each other. Write a Python function \
for each, whose parameters are the robots that it needs, mostly one, and whose lines are actions:
{calls}
{_NOTES}
Example:
{_EXAMPLE}
Write the functions and nothing else. Another module decides which robot calls which."""


@dataclass(frozen=True, slots=True)
class AllocatingRole:
    """Reads the functions; replies with the lines that give them to robots.

    Attributes:
        names: of the robots.
        functions: of the first reply.
    """

    names: tuple[str, ...]
    functions: Functions
    role = Role.ACTOR

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt."""
        fields = [*_fields(situation), (FUNCTIONS, f"\n{self.functions.text}")]
        return prompt.messages(self._system(situation), situation, fields)

    def form(self, situation: Situation) -> AllocationReply:  # noqa: ARG002 - of the team only
        """Threads and calls."""
        return AllocationReply(self.functions.by_name, self.names)

    def value(self, entries: Allocation) -> Allocation:
        """The lines."""
        return entries

    def _system(self, situation: Situation) -> str:
        return f"""\
You give the subtasks of a task to a team of {prompt.team_of(situation)} \
{situation.setting.place}, once and before it begins. All robots have the same skills.
You get the lines Task, {ROBOTS}, {OBJECTS}, which is all that the robots see now, and \
{FUNCTIONS}, a Python function for each subtask.
Write the lines that call each function with its robots. What can be done at the same time by \
different robots is a thread that is started; the program waits where a thread is joined, or where \
a function is called directly. What needs the result of something else comes after it.
Example:
{_ALLOCATED if len(self.names) > 1 else _ALONE}
Write these lines and nothing else."""


def _fields(situation: Situation) -> list[prompt.Field]:
    seen = dict.fromkeys(name for view in situation.views for name in view.observation)
    names = [view.name for view in situation.views]
    return [
        prompt.task(situation),
        (ROBOTS, prompt.listed(names)),
        (OBJECTS, prompt.listed(tuple(seen))),
    ]


def _shown(verb: Verb) -> str:
    """A call of an action in Python, and what it does."""
    if verb.values:
        return f'{verb}(robot, "{verb.values[0]}"): one of {", ".join(verb.values)}'
    if verb is Verb.PUT:
        return f'{verb}(robot, "<receptacle>"): puts down what is in the hand; "on" or "within" \
may follow'
    argument = ', "<object>"' if verb.takes_thing else ""
    return f"{verb}(robot{argument}): {Action(verb, '<object>' if argument else '').words}"


def functions_text(functions: Mapping[str, Function]) -> str:
    """Functions as a model writes them."""
    lines: list[str] = []
    for function in functions.values():
        lines.append(f"def {function.name}({', '.join(function.robots)}):")
        lines += [
            f"    {_written(step.action, function.robots[step.robot])}" for step in function.steps
        ]
    return "\n".join(lines)


def _written(action: Action, robot: str) -> str:
    words = [robot, *(f'"{word}"' for word in (action.argument, action.relation) if word)]
    return f"{action.verb}({', '.join(words)})"
