"""The right replies of SmartLLM's two stages, and the same with one fault (LLAMAR-D80, LLAMAR-D92).

The program follows from the goal and from what the memory knows before the first step. What nobody
has seen by then is explored for once, and named as the next instance of its class would be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from planner.models.chat import ModelError
from planner.models.reference import Fault, Knows, Reader, ReferenceReply
from planner.planning.goal import read_goal
from planner.planning.llamar.actions import EXPLORE, IDLE, Action, Repertoire
from planner.planning.llamar.instances import class_of, number_of
from planner.planning.llamar.right_actions import RightTeam
from planner.planning.llamar.right_reading import Reading, known_to, reading_of
from planner.planning.llamar.right_scene import INVENTED
from planner.planning.llamar.right_subtasks import Errand, errands, errands_of_words
from planner.planning.llamar.role import PromptingRole
from planner.planning.llamar.smart_program import Function, Step
from planner.planning.llamar.smart_roles import AllocatingRole, DecomposingRole, functions_text
from planner.planning.llamar.state import Situation
from planner.planning.planner import Task

_ROBOT = "robot"


@dataclass
class RightProgram:
    """A `planner.planning.llamar.asking.RightReplies` for one task.

    Attributes:
        task: with its goal.
        team: what it has seen.
    """

    task: Task
    team: RightTeam
    _stages: tuple[tuple[str, ...], ...] = field(default=())

    async def __call__(
        self,
        role: PromptingRole,
        situation: Situation,
        random: Random,
        reader: Reader,
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
