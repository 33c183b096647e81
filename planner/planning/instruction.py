"""From what somebody asks for to a task: whose words they are, whose goal, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.planning.planner import Task
from planner.planning.session import InstructionCode
from planner.world.episode import Episode
from planner.world.errors import PlannerError

# A page of text; what is longer was not meant as an instruction.
MOST_CHARACTERS = 10_000
MOST_TURNS = 100


class RequestError(PlannerError):
    """A request that cannot be followed; `code` is the result's."""

    def __init__(self, code: InstructionCode, text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Request:
    """What came over the action; the fields are those of FollowInstruction."""

    instruction: str
    agents: tuple[str, ...] = ()
    dialogue: tuple[str, ...] = ()


def task_of(request: Request, episode: Episode | None, known_agents: Sequence[str]) -> Task:
    """The task of a request. The text is only data: nothing in it is carried out by itself.

    An empty instruction means the episode's. The episode's goal belongs to the episode's
    instruction and to no other words.

    Args:
        request: from anybody.
        episode: the one that is loaded, or None.
        known_agents: those there are, in their order.

    Raises:
        RequestError: saying in one sentence what is wrong.
    """
    words = normal(request.instruction)
    asked = normal(episode.instruction) if episode is not None else ""
    if not words and episode is None:
        raise RequestError(
            InstructionCode.BAD_REQUEST,
            "the instruction is empty and no episode is loaded that brings one",
        )
    length = len(request.instruction) + sum(len(turn) for turn in request.dialogue)
    if length > MOST_CHARACTERS or len(request.dialogue) > MOST_TURNS:
        raise RequestError(
            InstructionCode.BAD_REQUEST,
            f"the instruction has {length} characters; at most {MOST_CHARACTERS} are read",
        )
    for name in request.agents:
        if name not in known_agents:
            there = ", ".join(known_agents) or "none"
            raise RequestError(
                InstructionCode.BAD_REQUEST, f"there is no agent {name[:80]!r}; there are {there}"
            )
    agents = tuple(dict.fromkeys(request.agents)) or tuple(known_agents)
    of_episode = episode is not None and words in ("", asked)
    text = asked if of_episode else words
    for number, turn in enumerate(request.dialogue):
        text += f"\n{'Answer' if number % 2 else 'Question'}: {normal(turn)}"
    return Task(
        instruction=text,
        agents=agents,
        goal=episode.evaluation if of_episode and episode is not None else None,
        seed=episode.seed if episode is not None else 0,
    )


def normal(text: str) -> str:
    """One line: no character of a text can pass for a line of a dialogue."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
