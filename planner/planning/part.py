"""The record of a planner, and the planner that the parameters select."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from planner.models.caller import OnCall, ignore_call
from planner.models.chat import ChatModel
from planner.models.replies.turn import Naming
from planner.parts.catalog import Catalog
from planner.parts.option import Option, Options, OptionValue, read_options
from planner.planning.planner import AgentResult, Context, Decision, Planner, Task
from planner.planning.planner_model import Axes, DialogueOptions
from planner.world.errors import PlannerError
from planner.world.primitive import PrimitiveName
from planner.world.skill import SkillCall

INTERFACE = 2


@dataclass(frozen=True, slots=True)
class PlannerRequest(Options):
    """The arguments for making a planner; one request for each task.

    Attributes:
        name: of the part.
        language_model: for planners that use one; see `model`.
        axes: the experiment's axes (PARTNR's `control` and `memory_source` among them).
        dialogue: limits and options of the dialogues with the model.
        options: the values of all declared options.
        on_call: called with each call of the model.
    """

    name: str
    task: Task
    language_model: ChatModel | None = None
    axes: Axes = field(default_factory=Axes)
    dialogue: DialogueOptions = field(default_factory=DialogueOptions)
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    on_call: OnCall = ignore_call

    @property
    def model(self) -> ChatModel:
        """The language model.

        Raises:
            PlannerError: if none was given; names the parameters that set one.
        """
        if self.language_model is None:
            raise PlannerError(needs_model(self.name))
        return self.language_model


# Whether something is so: always, never, or by the values of the options.
When: TypeAlias = bool | Callable[[Mapping[str, OptionValue]], bool]


def _is_so(when: When, options: Mapping[str, OptionValue]) -> bool:
    return when if isinstance(when, bool) else when(options)


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a planner cannot do without.

    Attributes:
        model: a language model.
        goal: the structured goal of an episode.
        full_memory: a memory that is complete from the start.
        primitives: what each agent of the task must be able to do.
        options: names of those of its options that may not be empty.
    """

    model: bool = False
    goal: bool = False
    full_memory: When = False
    primitives: frozenset[PrimitiveName] = frozenset()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What a planner is shown of an episode and its world.

    Attributes:
        changes: the changes of the memory instead of its content.
        goal: the structured goal of the episode, although it can do without.
        pictures: those of the agents' cameras (`Context.picture`).
        naming: how it refers to entities.
    """

    changes: bool = False
    goal: When = False
    pictures: When = False
    naming: Naming = Naming.NAMES


@dataclass(frozen=True, slots=True, kw_only=True)
class Asks:
    """Whom a planner may ask, and in which form models reply.

    Attributes:
        model: a language model, but it works without one, too.
        person: the person who gave the task, whatever `max_questions` is.
        team: its agents say something to each other (`Decision.messages`).
        bare_replies: a reply is only one agent's call, without a thought before it.
        tells_replies: its requests tell what right replies are, so that the privileged model
            `teacher` can answer them.
    """

    model: bool = False
    person: bool = False
    team: bool = False
    bare_replies: bool = False
    tells_replies: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerPart:
    """The record of a planner.

    Attributes:
        summary: one line for the help.
        make: makes a planner for one task; raises `PlannerError`.
        for_text: the planner to use instead where an instruction has no structured goal; "" = none.
        options: beyond those that all planners have.
        interface: the version of this record that it was written for.
    """

    summary: str
    make: Callable[[PlannerRequest], Planner]
    needs: Needs = Needs()
    reads: Reads = Reads()
    asks: Asks = Asks()
    for_text: str = ""
    options: tuple[Option, ...] = ()
    interface: int = INTERFACE

    def lacking(self, options: Mapping[str, OptionValue]) -> str:
        """The first option without which no planner can be made, and that is empty; "" = none."""
        return next((name for name in self.needs.options if not options.get(name)), "")

    def needs_full_memory(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether the memory must be complete from the start, with these options."""
        return _is_so(self.needs.full_memory, options)

    def reads_goal(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether it reads the goal although it could do without, with these options."""
        return _is_so(self.reads.goal, options)

    def reads_pictures(self, options: Mapping[str, OptionValue]) -> bool:
        """Whether it reads the agents' cameras, with these options."""
        return _is_so(self.reads.pictures, options)


PLANNERS: Catalog[PlannerPart] = Catalog(
    "planner", "planner.planning.planners", "PLANNERS", f"{__name__}:PlannerPart", INTERFACE
)


def needs_model(name: str) -> str:
    """The error message for a planner that was given no model."""
    return (
        f"The planner `{name}` needs a language model: set the parameter `model` to the model's "
        "name and `model_url` to the address of its OpenAI-compatible server, such as "
        "http://127.0.0.1:8000/v1."
    )


# Refuses a task whose agents lack the primitives that a planner's record requires.


def lacking(planner: str, required: Collection[str], agent: str, able: Collection[str]) -> str:
    """Why a planner cannot be used with an agent, as a sentence; "" = it can.

    Args:
        planner: its name.
        required: primitives.
        agent: its name.
        able: the agent's primitives.
    """
    missing = ", ".join(sorted(set(required) - set(able)))
    return f"{planner} needs agents that can {missing}; {agent} cannot" if missing else ""


class WrappedPlanner:
    """A `planner.planning.planner.Planner` around another one, whose name it has."""

    def __init__(self, planner: Planner) -> None:
        self.inner, self.name = planner, planner.name

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Passes the results on."""
        self.inner.observe(results)


class CheckedPlanner(WrappedPlanner):
    """A planner that gives up if an agent cannot do enough."""

    def __init__(self, planner: Planner, required: Collection[str], task: Task) -> None:
        """Checks the task's agents at each decision, by their bodies and the world."""
        super().__init__(planner)
        self._required, self._task = required, task

    async def decide(self, context: Context) -> Decision:
        """The planner's decision; ends the task if an agent lacks a primitive."""
        for agent in self._task.agents:
            able = context.capabilities.get(agent)
            primitives = able.primitives if able is not None else frozenset()
            if why := lacking(self.name, self._required, agent, primitives):
                return Decision(failure=f"{why}.")
        return await self.inner.decide(context)


# Lets a robot explore the house before a planner begins, for any planner (HELPER-2.8.6).

EXPLORE = SkillCall("ExploreHouse", ())


class ExploreFirst(WrappedPlanner):
    """A planner whose task's first agent explores the house first.

    The others wait. If the house cannot be explored, the task ends with the reason: without a map
    of its own the robot has nothing to plan its ways on.
    """

    def __init__(self, planner: Planner, task: Task) -> None:
        super().__init__(planner)
        self._explorer = task.agents[0]
        self._is_explored = False
        self._failure = ""

    async def decide(self, context: Context) -> Decision:
        """Exploring until that has ended, then the planner's decisions."""
        if self._failure:
            return Decision(failure=f"The house could not be explored: {self._failure}")
        if self._is_explored:
            return await self.inner.decide(context)
        if self._explorer not in context.idle:
            return Decision()
        thought = "There is no map of the house yet."
        return Decision({self._explorer: EXPLORE}, thought=thought)

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Passes on the results of the planner's own calls."""
        if self._is_explored:
            super().observe(results)
            return
        for each in results:
            self._is_explored |= each.result.succeeded
            self._failure = "" if each.result.succeeded else each.result.text


def unwrapped(planner: Planner) -> Planner:
    """The planner without the wrappers of this file."""
    while isinstance(planner, WrappedPlanner):
        planner = planner.inner
    return planner


# Makes the planner that the parameters select.


@dataclass(frozen=True, slots=True)
class PlannerChoice:
    """The chosen planner and its options.

    Attributes:
        name: in the catalog of planners.
        axes: of the experiment; `control` and `memory_source` configure the PARTNR planners, the
            others are only recorded.
        dialogue: limits and options of the dialogues with the model.
        options: values that differ from the defaults.
        explores_first: whether a robot explores the house before the planner begins.
    """

    name: str = "expert"
    axes: Axes = field(default_factory=Axes)
    dialogue: DialogueOptions = field(default_factory=DialogueOptions)
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    explores_first: bool = False

    @property
    def part(self) -> PlannerPart:
        """The planner's record.

        Raises:
            PartError: if there is no planner of this name, or it cannot be used.
        """
        return PLANNERS.get(self.name)

    def for_task(self, task: Task) -> PlannerChoice:
        """The planner that carries out a task: another one if this one cannot read plain text."""
        other = self.part.for_text if task.goal is None else ""
        return replace(self, name=other, options={}) if other else self


def make_planner(
    choice: PlannerChoice, task: Task, model: ChatModel | None, on_call: OnCall = ignore_call
) -> Planner:
    """A planner for one task.

    Args:
        choice: the planner and its options.
        task: to carry out.
        model: for planners that use one.
        on_call: called with each call of the model.

    Raises:
        PlannerError: for an unknown name, an unreadable goal, or a missing model.
    """
    choice = choice.for_task(task)
    part = choice.part
    if part.needs.model and model is None:
        raise PlannerError(needs_model(choice.name))
    options = read_options(part.options, choice.options)
    request = PlannerRequest(
        choice.name, task, model, choice.axes, choice.dialogue, options, on_call
    )
    planner = part.make(request)
    required = part.needs.primitives
    if choice.explores_first:
        planner = ExploreFirst(planner, task)
    return CheckedPlanner(planner, required, task) if required else planner
