"""What an agent sees now, in team-wide names, in a household or in search and rescue."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from papers.llamar.state import NONE, AgentView, Situation
from planner.models.chat import Message, Role, Speaker
from planner.models.replies.dictionary import DictionaryReply, Entries, TextKey, TextsKey
from planner.models.replies.form import ReplyForm
from planner.planning.walking import Sightline, is_nameable, no_sightline, visible
from planner.world.agents import body_of
from planner.world.belief import UNNAMED_CLASS, Belief, BeliefNode, Source
from planner.world.vocabulary import EntityKind, Relation

# What an agent sees now, in team-wide names, in a household or in search and rescue.

# Team-wide names of things: `Apple_2` is the second apple that anyone of the team has seen.
#
# They are shared by all agents and stable for the task (LLAMAR-D4). The memory has other names
# for the same entities (`apple_13`, `Object.149`), which models of this method never read.

_WORD = re.compile(r"[A-Za-z0-9]+")
_ENTITY = re.compile(r"\w+")
_COMPASS = ("east", "north", "west", "south")


def shown_class(class_name: str) -> str:
    """A class as names have it: `chest_of_drawers` becomes `ChestOfDrawers`."""
    words = _WORD.findall(class_name) or [UNNAMED_CLASS]
    return "".join(word[:1].upper() + word[1:] for word in words)


class InstanceNames:
    """The instances seen so far, in the order in which they were first seen."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._entities: dict[str, str] = {}
        self._classes: dict[str, list[str]] = {}
        self._seen_by: dict[str, set[str]] = {}

    def see(self, nodes: Iterable[BeliefNode], agent: str | None = None) -> None:
        """Names what is new.

        Args:
            nodes: of the belief, in order; what cannot be named is passed over.
            agent: the memory's name of who sees them; None = somebody of the team.
        """
        for node in nodes:
            if not is_nameable(node):
                continue
            if node.name not in self._names:
                shown = shown_class(node.class_name)
                alike = self._classes.setdefault(shown, [])
                name = f"{shown}_{len(alike) + 1}"
                alike.append(name)
                self._names[node.name] = name
                self._entities[name] = node.name
            if agent is not None:
                self._seen_by.setdefault(node.name, set()).add(agent)

    def name_of(self, entity: str) -> str | None:
        """The instance name of an entity of the memory; None if nobody has seen it."""
        return self._names.get(entity)

    def entity_of(self, name: str) -> str | None:
        """The memory's name of an instance; None if there is no such instance."""
        return self._entities.get(name)

    def spoken(self, text: str) -> str:
        """A text with instance names in place of the memory's."""
        return _ENTITY.sub(lambda found: self._names.get(found[0], found[0]), text)

    def was_seen_by(self, name: str, agent: str) -> bool:
        """Whether this very agent has seen an instance, not only somebody of the team."""
        return agent in self._seen_by.get(self._entities.get(name, ""), ())

    @property
    def names(self) -> tuple[str, ...]:
        """All instance names, in the order in which they were first seen."""
        return tuple(self._entities)

    @property
    def classes(self) -> tuple[str, ...]:
        """All classes of which an instance was seen, as names have them."""
        return tuple(self._classes)

    def of_class(self, shown: str) -> tuple[str, ...]:
        """The instances of a class, `Drawer_1` first; empty if none was seen."""
        return tuple(self._classes.get(shown, ()))


# What is in view, by instance names.


def note_seen(
    names: InstanceNames,
    belief: Belief,
    agent: str,
    sightline: Sightline = no_sightline,
    among: Sequence[BeliefNode] | None = None,
) -> tuple[str, ...]:
    """Names what an agent sees now; returns the instance names of these."""
    nodes = visible(belief, agent, sightline, among)
    names.see(nodes, agent)
    return tuple(name for node in nodes if (name := names.name_of(node.name)) is not None)


def note_met(names: InstanceNames, belief: Belief) -> None:
    """Names what the team's cameras have seen in passing."""
    names.see(node for node in belief.nodes.values() if node.source is Source.SEEN)


def state_words(belief: Belief, agent: str, names: InstanceNames) -> str:
    """Where an agent is in the map (metres), where it faces, and what it holds."""
    node = belief.nodes.get(agent)
    if node is None:
        return "unknown"
    x, y, _ = node.position_m
    held = [names.name_of(thing) or thing for thing in node.hands if thing is not None]
    facing = f", facing {compass(node.heading_rad)}" if node.heading_rad is not None else ""
    # Adding 0.0 turns a negative zero into zero.
    return (
        f"({round(x, 2) + 0.0:.2f}, {round(y, 2) + 0.0:.2f}){facing}, "
        f"holding {' and '.join(held) or 'nothing'}"
    )


def compass(heading_rad: float) -> str:
    """The nearest of four directions: +x of the map is east, +y north."""
    return _COMPASS[round(heading_rad / (math.pi / 2)) % 4]


# What agents observe in search and rescue, as the prompts have it (LLAMAR-A24).
#
# Everything known is in sight from everywhere there. What no longer burns is left out, as in the
# published world.

# The keys of a result's evidence that say what a rescuer carries.
SUPPLIES = frozenset({"sand", "water"})
_HEATS = ("low", "medium", "high")


def rescue_observation(names: InstanceNames, belief: Belief, agent: str) -> tuple[str, ...]:
    """Each thing with its instance name and what is known of it."""
    nodes = [node for node in belief.nodes.values() if is_nameable(node)]
    shown = [node for node in nodes if node.states.get("burning", True)]
    names.see(shown, agent)
    viewer = belief.nodes.get(agent)
    found = []
    for node in shown:
        facts = ", ".join((*_facts(node, names), *_nearness(viewer, node)))
        name = names.name_of(node.name) or node.name
        found.append(f"{name} ({facts})" if facts else name)
    return tuple(found)


def _facts(node: BeliefNode, names: InstanceNames) -> Iterator[str]:
    if "burning" in node.states:
        kind = "chemical fire" if node.states.get("chemical") else "fire"
        yield kind if node.kind is EntityKind.FURNITURE else f"part of a {kind}"
        yield from (f"{heat} heat" for heat in _HEATS if node.states.get(f"heat_{heat}"))
    yield from (
        f"gives {supply}" for supply in sorted(SUPPLIES) if node.states.get(f"gives_{supply}")
    )
    if node.relation is Relation.HELD:
        yield "carried"
    elif node.relation is Relation.WITHIN and node.parent is not None:
        yield f"in {names.name_of(node.parent) or node.parent}"


def _nearness(viewer: BeliefNode | None, node: BeliefNode) -> Iterator[str]:
    body = None if viewer is None else body_of(viewer.class_name)
    if viewer is None or body is None:
        return
    if math.dist(viewer.position_m[:2], node.position_m[:2]) <= body.reach_m:
        yield "near"


def carrying_words(state: str, carried: Mapping[str, str] | None) -> str:
    """An agent's state with what it carries, as its last result said; nothing before the first."""
    held = carried or {}
    units = ", ".join(f"{held.get(supply) or 0} {supply}" for supply in sorted(SUPPLIES))
    person = held.get("person")
    return f"{state}, supplies: {units}" + (f", with a hold on {person}" if person else "")


Field = tuple[str, str]
TASK = "Task"
OPEN, COMPLETED = "Robots' open subtasks", "Robots' completed subtasks"
SUBTASK, MEMORY = "Robots' subtask", "Robots' combined memory"
OBSERVATION, STATE = "observation", "state"
PREVIOUS_ACTION, PREVIOUS_FAILURES = "previous action", "previous failures"

NAMING = (
    "Things are named <class>_<number>, such as Cabinet_1 and Cabinet_2; all robots use the same "
    "names."
)
ONLY_DICTIONARY = "Write the dictionary and nothing else. Think step by step in its reason."


def own(name: str, what: str) -> str:
    """The key of one agent's field: `Alice's state`."""
    return f"{name}'s {what}"


def block(fields: Sequence[Field]) -> str:
    """The fields in braces, one a line."""
    lines = "\n".join(f"{key}: {value}" for key, value in fields)
    return f"{{\n{lines}\n}}"


def read_block(text: str) -> dict[str, str]:
    """The fields of a block, by key; lines that are none are passed over."""
    pairs = (line.partition(": ") for line in text.splitlines())
    return {key: value for key, colon, value in pairs if colon}


def one_line(text: str) -> str:
    """A text as a field holds it."""
    return " ".join(text.split())


def listed(items: Sequence[str]) -> str:
    """A list as JSON; `None` where it is empty."""
    return json.dumps(list(items), ensure_ascii=False) if items else NONE


def of_each(situation: Situation, *of_view: Callable[[AgentView], Field]) -> list[Field]:
    """Fields of every agent, agent by agent."""
    return [make(view) for view in situation.views for make in of_view]


def observation(view: AgentView) -> Field:
    """What an agent sees."""
    return own(view.name, OBSERVATION), listed(view.observation)


def state(view: AgentView) -> Field:
    """Where an agent is and what it holds."""
    return own(view.name, STATE), view.state


def previous_action(view: AgentView) -> Field:
    """What an agent did in the step before."""
    return own(view.name, PREVIOUS_ACTION), view.previous_action or NONE


def previous_failures(view: AgentView) -> Field:
    """What an agent failed at since its last success."""
    return own(view.name, PREVIOUS_FAILURES), listed(view.previous_failures)


def task(situation: Situation) -> Field:
    """The instruction."""
    return TASK, one_line(situation.task)


def subtasks(situation: Situation) -> list[Field]:
    """The open and the completed ones."""
    return [
        (OPEN, listed(situation.open_subtasks)),
        (COMPLETED, listed(situation.completed_subtasks)),
    ]


def memory(situation: Situation) -> Field:
    """The team's text."""
    return MEMORY, situation.memory or NONE


def messages(system: str, situation: Situation, fields: Sequence[Field]) -> tuple[Message, ...]:
    """The prompt of one call; the pictures are in the order of the agents."""
    pictures = tuple(view.picture for view in situation.views if view.picture is not None)
    return Message(Speaker.SYSTEM, system), Message(Speaker.USER, block(fields), pictures)


def team_of(situation: Situation) -> str:
    """The team in words: `2 robots, Alice and Bob,`."""
    names = [view.name for view in situation.views]
    if len(names) == 1:
        return f"one robot, {names[0]},"
    return f"{len(names)} robots, {_and(names)},"


def with_pictures(situation: Situation) -> str:
    """A sentence on the pictures, which some cameras may lack; "" where there are none."""
    names = [view.name for view in situation.views if view.picture is not None]
    return f" The pictures are of the cameras of {_and(names)}, in this order." if names else ""


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


# What all four roles have in common.


class ReadReply(Protocol):
    """What is read from a reply."""

    @property
    def dropped(self) -> tuple[str, ...]:
        """What was left out of it, in words."""


ReadT = TypeVar("ReadT", bound=ReadReply)
ValueT_co = TypeVar("ValueT_co", covariant=True)

MAX_SUBTASKS = 32
REASON = "reason"
FAILURE_REASON = "failure reason"


class PromptingRole(Protocol):
    """The side of a role that a model reads."""

    @property
    def role(self) -> Role:
        """Under which its calls are traced, and by which a model may be chosen."""

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt."""


class TeamRole(PromptingRole, Protocol[ReadT, ValueT_co]):
    """One role: its prompt, the form of its reply, and what a reply says."""

    def form(self, situation: Situation) -> ReplyForm[ReadT]:
        """The form of the reply."""

    def value(self, entries: ReadT) -> ValueT_co:
        """What a reply of that form says."""


# A role that replies with a list of subtasks, and why these: the Planner and the Verifier.


@dataclass(frozen=True, slots=True)
class SubtaskList:
    """Subtasks as the role names them, and why these."""

    subtasks: tuple[str, ...]
    reason: str


class ListRole(ABC):
    """A `papers.llamar.prompt.TeamRole`.

    Attributes:
        role: under which its calls are traced.
        key: of the list in the reply.
        max_subtasks: of the list.
    """

    role: ClassVar[Role]
    key: ClassVar[str]
    max_subtasks: ClassVar[int]

    @abstractmethod
    def _fields(self, situation: Situation) -> list[Field]:
        """The fields of the prompt."""

    @abstractmethod
    def _system(self, situation: Situation) -> str:
        """What the role has to do."""

    def messages(self, situation: Situation) -> tuple[Message, ...]:
        """The prompt, its fields in the paper's order."""
        return messages(self._system(situation), situation, self._fields(situation))

    def form(self, situation: Situation) -> DictionaryReply:  # noqa: ARG002 - always the same
        """A reason and a list."""
        return DictionaryReply((TextKey(REASON), TextsKey(self.key, self.max_subtasks)))

    def value(self, entries: Entries) -> SubtaskList:
        """The list."""
        return SubtaskList(entries.texts(self.key), entries.text(REASON))


# The Planner: which subtasks are open now (LLAMAR-D1).

PLAN = "plan"


class PlannerRole(ListRole):
    """Reads task, observations, subtasks and memory; replies with the whole list of open ones."""

    role = Role.PLANNER
    key = PLAN
    max_subtasks = MAX_SUBTASKS

    def _fields(self, situation: Situation) -> list[Field]:
        return [
            task(situation),
            *of_each(situation, observation),
            *subtasks(situation),
            memory(situation),
        ]

    def _system(self, situation: Situation) -> str:
        return f"""\
You are the planner of a team of {team_of(situation)} \
{situation.setting.place}. Another module chooses the robots' actions; you keep the list of \
subtasks that are still to be done for the task.
{situation.setting.seeing}{with_pictures(situation)}
You get these lines:
Task: what the person wants.
<robot>'s observation: the things that the robot sees.
{OPEN}: your list of the step before; {NONE} at the beginning.
{COMPLETED}: what is known to be done.
{MEMORY}: what the team noted about the steps so far.
{NAMING}
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
{ONLY_DICTIONARY}"""


# The Verifier: which subtasks are complete (LLAMAR-D1).

COMPLETED_SUBTASKS = "completed subtasks"


class VerifierRole(ListRole):
    """Reads what was done and what is seen after it; replies with all completed subtasks."""

    role = Role.VERIFIER
    key = COMPLETED_SUBTASKS
    # All that were ever open may be complete.
    max_subtasks = 4 * MAX_SUBTASKS

    def _fields(self, situation: Situation) -> list[Field]:
        return [
            task(situation),
            *of_each(situation, observation, state, previous_action),
            *subtasks(situation),
            memory(situation),
        ]

    def _system(self, situation: Situation) -> str:
        return f"""\
You are the verifier of a team of {team_of(situation)} \
{situation.setting.place}. After each step you judge which subtasks are done.
{situation.setting.seeing}{with_pictures(situation)}
You get these lines:
Task: what the person wants.
<robot>'s observation: the things that the robot sees after the step.
<robot>'s state: where the robot is, where it faces and what it holds.
<robot>'s previous action: what it did in the step, and whether that worked.
{OPEN}: what is still to be done.
{COMPLETED}: what was judged to be done before.
{MEMORY}: what the team noted about the steps so far.
{NAMING}
Reply with a dictionary of two keys: "{REASON}", a text, and "{COMPLETED_SUBTASKS}", the list of \
all subtasks that are done, those of before among them; it may be empty.
- Copy the subtasks from the lists word by word. What was never open cannot be done.
- A subtask is done only when its result is there: a thing that is in a hand, or that a robot \
stands in front of, is not yet where it has to be. An action that failed has changed nothing.
Example: {{"{REASON}": "Bob put the apple in the fridge and that worked. The bread is still in \
Alice's hand.", "{COMPLETED_SUBTASKS}": ["transport the apple to the fridge"]}}
{ONLY_DICTIONARY}"""
