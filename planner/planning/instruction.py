"""Turns a request into a task: words, goal and agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from planner.planning.planner import Task, Terms, terms_of
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.instruct import InstructionCode, one_line

# About a page of text; anything longer is not an instruction.
MAX_CHARACTERS = 10_000
MAX_TURNS = 100


class RequestError(PlannerError):
    """A request that cannot be carried out; `code` becomes the result's."""

    def __init__(self, code: InstructionCode, text: str) -> None:
        self.code = code
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Request:
    """A goal of the action; the fields are those of FollowInstruction."""

    instruction: str
    agents: tuple[str, ...] = ()
    dialogue: tuple[str, ...] = ()


def task_of(request: Request, episode: Episode | None, known_agents: Sequence[str]) -> Task:
    """The task of a request. The text is only data; nothing in it is executed.

    An empty instruction means the episode's. The episode's goal applies only to the episode's own
    instruction.

    Args:
        request: untrusted input.
        episode: the loaded one, or None.
        known_agents: in their order.

    Raises:
        RequestError: with the reason in one sentence.
    """
    if not one_line(request.instruction) and episode is None:
        raise RequestError(
            InstructionCode.BAD_REQUEST,
            "the instruction is empty, and no loaded episode provides one",
        )
    if is_too_long(request):
        raise RequestError(
            InstructionCode.BAD_REQUEST,
            f"the instruction has {_length(request)} characters; at most {MAX_CHARACTERS} are read",
        )
    for name in request.agents:
        if name not in known_agents:
            there = ", ".join(known_agents) or "none"
            raise RequestError(
                InstructionCode.BAD_REQUEST, f"there is no agent {name[:80]!r}; there are {there}"
            )
    agents = tuple(dict.fromkeys(request.agents)) or tuple(known_agents)
    text = instruction_text(request, episode)
    for number, turn in enumerate(request.dialogue):
        text += f"\n{'Answer' if number % 2 else 'Question'}: {one_line(turn)}"
    return Task(
        instruction=text,
        agents=agents,
        goal=goal_of(request, episode),
        seed=episode.seed if episode is not None else 0,
        terms=terms_of_request(request, episode),
    )


def instruction_text(request: Request, episode: Episode | None) -> str:
    """The instruction in one line: the episode's if the request has none."""
    if episode is not None and _is_episodes(request, episode):
        return one_line(episode.instruction)
    return one_line(request.instruction)


def goal_of(request: Request, episode: Episode | None) -> Mapping[str, JsonValue] | None:
    """The structured goal of a request; None if there is only text."""
    if episode is not None and _is_episodes(request, episode):
        return episode.evaluation
    return None


def terms_of_request(request: Request, episode: Episode | None) -> Terms | None:
    """The terms of the episode's task; None for another one."""
    if episode is not None and _is_episodes(request, episode):
        return terms_of(episode)
    return None


def is_too_long(request: Request) -> bool:
    """Whether a request exceeds the size limit."""
    return _length(request) > MAX_CHARACTERS or len(request.dialogue) > MAX_TURNS


def _length(request: Request) -> int:
    return len(request.instruction) + sum(len(turn) for turn in request.dialogue)


def _is_episodes(request: Request, episode: Episode) -> bool:
    return one_line(request.instruction) in ("", one_line(episode.instruction))
