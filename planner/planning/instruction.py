"""Turns a request into a task, and the status of the newest instruction, as published."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from planner.conversation.talk import Revision, Said
from planner.planning.planner import Task, Terms, terms_of
from planner.planning.session import Outcome, Status
from planner.world.episode import MAX_AGENTS, Episode
from planner.world.errors import PlannerError
from planner.world.topics import InstructionCode, InstructState, one_line

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


def agents_of(episode: Episode | None) -> tuple[str, ...]:
    """The agents of an episode; () without one."""
    return tuple(placement.uid for placement in episode.agents) if episode is not None else ()


def revised(task: Task, revision: Revision) -> Task:
    """A task as it is after somebody changed it."""
    return replace(task, instruction=revision.text, meaning=revision.goal, goal=None)


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


# The status of the newest instruction, as on `/instruct/status`. No ROS here.

MAX_CHARACTERS_OF_NAME = 80


_ENDS = {
    InstructionCode.DONE: InstructState.DONE,
    InstructionCode.CANCELED: InstructState.CANCELED,
    # The result asks a question; the goal has to be sent again with the answer.
    InstructionCode.QUESTION: InstructState.WAITING,
}


@dataclass(frozen=True, slots=True)
class InstructionStatus:
    """The status of one instruction; each change makes a new record.

    Attributes:
        goal_id: of the action, hexadecimal digits; "" before the first instruction.
        dialogue: question, answer, ...; an answer that never came is empty.
        goal: the structured goal as JSON; "" if there is only text.
        code: of the result; 0 while running.
        calls: the running call of each of `agents`; "" = none.
        said: who said what while it was carried out.
    """

    state: InstructState = InstructState.IDLE
    goal_id: str = ""
    instruction: str = ""
    agents: tuple[str, ...] = ()
    dialogue: tuple[str, ...] = ()
    house: str = ""
    episode_id: str = ""
    goal: str = ""
    code: int = 0
    text: str = ""
    question: str = ""
    cycle: int = 0
    plan: str = ""
    calls: tuple[str, ...] = ()
    evidence: Mapping[str, str] = field(default_factory=dict)
    said: tuple[Said, ...] = ()

    def talked(
        self, said: tuple[Said, ...], plan: str, calls: Mapping[str, str]
    ) -> InstructionStatus:
        """Somebody said something about it, and what came of that."""
        now = tuple(calls.get(agent, "") for agent in self.agents)
        return replace(self, said=said, plan=plan, calls=now)

    def understood(self, task: Task, house: str) -> InstructionStatus:
        """The task made of the request: agents, house and goal."""
        return replace(
            self,
            house=house,
            agents=task.agents,
            calls=("",) * len(task.agents),
            goal="" if task.goal is None else json.dumps(task.goal, ensure_ascii=False),
        )

    def understanding(self, goal: Mapping[str, JsonValue]) -> InstructionStatus:
        """What the planner has understood of plain text."""
        return replace(self, goal=json.dumps(goal, ensure_ascii=False))

    def running(self, status: Status) -> InstructionStatus:
        """A new cycle, plan, calls or evidence."""
        calls = tuple(status.calls.get(agent, "") for agent in self.agents)
        return replace(
            self, cycle=status.cycle, plan=status.plan, calls=calls, evidence=dict(status.evidence)
        )

    def asking(self, question: str) -> InstructionStatus:
        """The planner waits for an answer."""
        return replace(self, state=InstructState.WAITING, question=question)

    def answered(self, answer: str | None) -> InstructionStatus:
        """The answer, None after a timeout; the planner continues."""
        turns = (*self.dialogue, self.question, answer or "")
        return replace(self, state=InstructState.RUNNING, question="", dialogue=turns)

    def ended(self, outcome: Outcome) -> InstructionStatus:
        """The end of the instruction."""
        return replace(
            self,
            state=_ENDS.get(outcome.code, InstructState.FAILED),
            code=int(outcome.code),
            text=outcome.text,
            question=outcome.question,
            calls=("",) * len(self.agents),
            evidence=dict(outcome.evidence),
        )


def accepted(
    goal_id: str, request: Request, episode: Episode | None, house: str, agents: Sequence[str]
) -> InstructionStatus:
    """An instruction that was just accepted.

    Args:
        goal_id: of the action.
        request: the client's request.
        episode: the loaded one, or None.
        house: name of the house; "" = not known yet.
        agents: used if the request names none, as far as known.
    """
    goal = goal_of(request, episode)
    names = [name[:MAX_CHARACTERS_OF_NAME] for name in request.agents[:MAX_AGENTS]]
    who = tuple(dict.fromkeys(names)) or tuple(agents)
    return InstructionStatus(
        state=InstructState.RUNNING,
        goal_id=goal_id,
        # A request that was refused for its length is not republished in full.
        instruction=instruction_text(request, episode)[:MAX_CHARACTERS],
        agents=who,
        dialogue=() if is_too_long(request) else request.dialogue,
        house=house,
        episode_id=episode.episode_id if episode is not None else "",
        goal="" if goal is None else json.dumps(goal, ensure_ascii=False),
        calls=("",) * len(who),
    )
