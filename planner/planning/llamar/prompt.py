"""What the prompts of all roles are made of: a block of `key: value` lines, one message each."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from planner.models.chat import Message, Speaker
from planner.planning.llamar.state import NONE, AgentView, Situation

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
