"""Planner `llamar_smart_llm`: its two stages, their prompts and their right replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from papers.llamar import prompt
from papers.llamar.actions import EXPLORE, IDLE, Action, Repertoire, Verb
from papers.llamar.joint_planner import MAX_ATTEMPTS, Asking, Ended, JointPlanner, Moment
from papers.llamar.prompt import PromptingRole
from papers.llamar.right_actions import Reading, RightTeam, known_to, reading_of
from papers.llamar.right_replies import INVENTED
from papers.llamar.right_subtasks import Errand, errands, errands_of_words
from papers.llamar.smart_program import (
    Allocation,
    AllocationReply,
    Function,
    Functions,
    FunctionsReply,
    ProgramRun,
    Step,
)
from papers.llamar.state import HORIZON, Situation
from papers.llamar.team import ActionOptions, JointPlan, Team, setting_of, verbs_of
from papers.llamar.translator import PlainTranslator, class_of, number_of
from planner.models.chat import Fault, Knows, Message, ModelError, Reader, ReferenceReply, Role
from planner.planning.expert.facts import read_goal
from planner.planning.planner import Task

# What SmartLLM asks its model before the first step: functions, then calls (LLAMAR-D90).

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


# The right replies of SmartLLM's two stages, and the same with one fault (LLAMAR-D80, LLAMAR-D92).
#
# The program follows from the goal and from what the memory knows before the first step. What
# nobody has seen by then is explored for once, and named as the next instance of its class would
# be.

_ROBOT = "robot"


@dataclass
class RightProgram:
    """A `papers.llamar.joint_planner.RightReplies` for one task.

    Attributes:
        task: with its goal.
        team: what it has seen.
    """

    task: Task
    team: RightTeam
    _stages: tuple[tuple[str, ...], ...] = field(default=())

    async def __call__(
        self, role: PromptingRole, situation: Situation, random: Random, reader: Reader
    ) -> ReferenceReply:
        """The right reply of a stage.

        Raises:
            ModelError: without a goal, for one that cannot be written with the paper's actions, or
                for a role of another planner.
        """
        match role:
            case DecomposingRole():
                reads_prompt = reader.knows is Knows.PROMPT
                instances = self.team.team.instances
                reading = reading_of(role, situation, instances) if reads_prompt else None
                return self._decomposing(reading, random)
            case AllocatingRole():
                return self._allocating(role, random)
            case _:
                raise ModelError(f"SmartLLM has no role {type(role).__name__}")

    def _decomposing(self, reading: Reading | None, random: Random) -> ReferenceReply:
        if self.team.team.options.repertoire is Repertoire.RESCUE:
            raise ModelError("the model teacher knows no replies of SmartLLM in search and rescue")
        context, instances = self.team.context, self.team.team.instances
        names = frozenset(instances.names)
        if reading is not None:
            context = replace(context, belief=known_to(reading, context.belief, instances))
            names = reading.names
        found = (
            errands(read_goal(self.task.goal), context, instances, names)
            if self.task.goal is not None
            else errands_of_words(self.task.instruction, context, instances, names)
        )
        functions = [_function(errand) for errand in found]
        if not functions:
            functions = [Function("wait", (_ROBOT,), (Step(0, IDLE),))]
        last = max((errand.stage for errand in found), default=0)
        stages = [
            tuple(errand.name for errand in found if errand.stage == stage)
            for stage in range(last + 1)
        ]
        self._stages = tuple(filter(None, stages)) or (("wait",),)
        faulty = {
            fault: functions_text({one.name: one for one in wrong})
            for fault, wrong in _faulty_functions(functions, sorted(names), random).items()
        }
        right = functions_text({one.name: one for one in functions})
        return ReferenceReply(right, faulty, acts=True)

    def _allocating(self, role: AllocatingRole, random: Random) -> ReferenceReply:
        """Of the functions that there are, which a fault of the first stage may have changed."""
        written = role.functions.by_name
        known = [tuple(name for name in stage if name in written) for stage in self._stages]
        rest = tuple(name for name in written if not any(name in stage for stage in known))
        stages = list(filter(None, [*known, rest]))
        found: dict[Fault, list[tuple[str, ...]]] = {}
        every = [name for stage in stages for name in stage]
        one = random.choice(every)
        found[Fault.INVENTED_ENTITY] = _exchanged(stages, one, f"find_the_{INVENTED.lower()}")
        others = [name for name in every if name != one]
        if others:
            found[Fault.WRONG_ENTITY] = _exchanged(stages, one, random.choice(others))
            kept = [tuple(name for name in stage if name != one) for stage in stages]
            found[Fault.SKIPPED_STEP] = list(filter(None, kept))
            found[Fault.EARLY_DONE] = [(every[0],)]
        found[Fault.REPEATED_STEP] = [*stages, (one,)]
        return ReferenceReply(
            _allocation(stages, role.names),
            {fault: _allocation(wrong, role.names) for fault, wrong in found.items()},
            acts=True,
        )


def _function(errand: Errand) -> Function:
    return Function(errand.name, (_ROBOT,), tuple(Step(0, action) for action in errand.actions))


def _faulty_functions(
    functions: Sequence[Function], known: Sequence[str], random: Random
) -> dict[Fault, list[Function]]:
    """One step of one function is wrong; of `EARLY_DONE` all but the first are missing."""
    found: dict[Fault, list[Function]] = {}
    at = random.randrange(len(functions))
    one = functions[at]
    step = random.randrange(len(one.steps))

    def with_steps(*steps: Step) -> list[Function]:
        changed = replace(one, steps=(*one.steps[:step], *steps, *one.steps[step + 1 :]))
        return [*functions[:at], changed, *functions[at + 1 :]]

    right = one.steps[step]
    found[Fault.REPEATED_STEP] = with_steps(right, right)
    if len(one.steps) > 1:
        found[Fault.SKIPPED_STEP] = with_steps()
    if len(functions) > 1:
        found[Fault.EARLY_DONE] = list(functions[:1])
    if right.action.verb.takes_thing:
        name = right.action.argument
        invented = f"{INVENTED}{class_of(name)}_{number_of(name) + 1}"
        found[Fault.INVENTED_ENTITY] = with_steps(Step(0, replace(right.action, argument=invented)))
        others = [other for other in known if other != name]
        if others:
            wrong = Action(right.action.verb, random.choice(others), right.action.relation)
            found[Fault.WRONG_ENTITY] = with_steps(Step(0, wrong))
    elif right.action == EXPLORE:
        found[Fault.WRONG_ENTITY] = with_steps(Step(0, IDLE))
    return found


def _exchanged(stages: Sequence[tuple[str, ...]], one: str, other: str) -> list[tuple[str, ...]]:
    return [tuple(other if name == one else name for name in stage) for stage in stages]


def _allocation(stages: Sequence[tuple[str, ...]], robots: Sequence[str]) -> str:
    """Each stage's functions on threads, the robots in turn; the next stage waits for them."""
    lines: list[str] = []
    count = 0
    for stage in stages:
        threads: list[str] = []
        for place, name in enumerate(stage):
            count += 1
            robot = robots[place % len(robots)]
            threads.append(f"t{count}")
            lines.append(f"t{count} = threading.Thread(target={name}, args=({robot},))")
        lines += [f"{thread}.start()" for thread in threads]
        lines += [f"{thread}.join()" for thread in threads]
    return "\n".join(lines)


class PlanningOnce:
    """A `papers.llamar.joint_planner.Mind` that asks its model in the first step only."""

    def __init__(self, asking: Asking, team: Team, options: ActionOptions) -> None:
        self._asking, self._names, self._options = asking, team.names, options
        self._run: ProgramRun | None = None
        # How actions ended that failed: nobody decides by them, but they are told at the end.
        self._failed: list[str] = []

    @property
    def evidence(self) -> Mapping[str, str]:
        """How much of the program was given to the robots."""
        run = self._run
        return {"program_steps": "none" if run is None else f"{run.given} of {run.steps}"}

    async def judge(self, moment: Moment) -> str:
        """Never says that the task is over: the end of the program does."""
        self._failed += [one.text for one in moment.attempts if not one.succeeded]
        return ""

    async def act(self, moment: Moment) -> JointPlan | Ended | None:
        """The next actions of the program; after its end how many of them failed."""
        if self._run is None:
            planned = await self._plan(moment)
            if planned is None:
                why = f"no program came in {MAX_ATTEMPTS} replies: {self._asking.problem}"
                return Ended(why)
            self._run = ProgramRun(*planned)
        actions = self._run.next()
        if not actions:
            return Ended(self._outcome_text(), is_done=True)
        written = {name: str(actions.get(name, IDLE)) for name in self._names}
        return moment.plan(written, [name.replace("_", " ") for name in self._run.running])

    def _outcome_text(self) -> str:
        run, failed = self._run, self._failed
        if run is None or not failed:
            return "the program has ended"
        return f"the program has ended; {len(failed)} of {run.given} actions failed: {failed[0]}"

    async def _plan(self, moment: Moment) -> tuple[Functions, Allocation] | None:
        situation = Situation(
            task=moment.task, views=moment.views, setting=setting_of(self._options)
        )
        functions = await self._asking.ask(DecomposingRole(self._options), situation)
        if functions is None:
            return None
        role = AllocatingRole(self._names, functions)
        allocation = await self._asking.ask(role, situation)
        return None if allocation is None else (functions, allocation)


def make_smart_llm(
    task: Task, asking: Asking, options: ActionOptions | None = None, *, horizon: int = HORIZON
) -> JointPlanner:
    """The planner for one task.

    Raises:
        PlannerError: for a team that is too large.
    """
    options = options or ActionOptions()
    team = Team(task.agents, PlainTranslator(), options)
    planner = JointPlanner(task, PlanningOnce(asking, team, options), team, asking, horizon)
    asking.right = RightProgram(task, planner.right)
    return planner
