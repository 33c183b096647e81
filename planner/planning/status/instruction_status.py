"""The status of the newest instruction, as on `/instruct/status`. No ROS here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from planner.planning.instruction import (
    MAX_CHARACTERS,
    Request,
    goal_of,
    instruction_text,
    is_too_long,
)
from planner.planning.planner import Task
from planner.planning.session import Outcome
from planner.planning.session_world import Status
from planner.world.episode import MAX_AGENTS, Episode
from planner.world.instruct import InstructionCode, InstructState

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
            self,
            cycle=status.cycle,
            plan=status.plan,
            calls=calls,
            evidence=dict(status.evidence),
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
