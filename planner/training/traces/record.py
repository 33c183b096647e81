"""One agent's dialogue in EPM's format, as training reads it (EPM-2.5, EPM-2.7).

A trace has what `react` would have sent and received: the instruction, the entities known at the
start, and turns of a call, its result and the memory's changes after it. Entities are numbers
(`Object.149`); nothing of the episode's structured goal is in it. `messages_of` gives the chat.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator

from planner.models.chat import Message, Speaker
from planner.models.replies.turn_grammar import END_OF_TURN
from planner.parts.calls import parse_call
from planner.planning.prompts.epm import SYSTEM, opening_text, result_turn
from planner.world.files import FileModel
from planner.world.skill import SUCCESS_TEXT, CallError

TRACE_VERSION = 1
Point = tuple[float, float]


class Provenance(FileModel):
    """Where a trace comes from.

    Attributes:
        source: `expert`, `person`, or the name of another planner.
        run: the same for all agents' traces of one run.
        episode_id, house, split, seed: of the run.
        memory: the perception of the run, as of `planner bench --memory`.
        explored: calls that were inserted to look for things.
        invented: tries on invented instances that were inserted.
        dropped: calls of the run that were left out.
    """

    source: str
    run: str
    episode_id: str
    house: str
    split: Literal["train", "val", "test", "none"] = "none"
    seed: int = 0
    memory: str = "privileged"
    task_types: tuple[str, ...] = ()
    explored: Annotated[int, Field(ge=0)] = 0
    invented: Annotated[int, Field(ge=0)] = 0
    dropped: Annotated[int, Field(ge=0)] = 0


class TraceTurn(FileModel):
    """A call and what the agent was told after it.

    Attributes:
        call: such as `Pick[Object.149]`.
        result: the literal text; "" if the run ended before there was one.
        deltas: lines of the memory's changes until the agent's next turn.
        others: what other agents were doing when the call was chosen, by agent.
        gain: how much more of the goal held after the call than before it, -1 to 1.
        learned: whether the call is to be imitated, or only read.
        shown: what the expert would have called instead, or as well, in practice; "" = nothing.
    """

    call: str
    result: str = ""
    deltas: tuple[str, ...] = ()
    others: dict[str, str] = Field(default_factory=dict)
    gain: Annotated[float, Field(ge=-1, le=1)] = 0.0
    learned: bool = True
    shown: str = ""

    @field_validator("call", "shown")
    @classmethod
    def _is_a_call(cls, text: str, info: ValidationInfo) -> str:
        if info.field_name == "shown" and not text:
            return text
        try:
            parse_call(text)
        except CallError as error:
            raise ValueError(str(error)) from None
        return text

    @property
    def succeeded(self) -> bool:
        """Whether the call succeeded."""
        return self.result.startswith(SUCCESS_TEXT)


class Trace(FileModel):
    """One agent's dialogue of one run.

    Attributes:
        instruction: the task's words.
        agent: whose dialogue it is; `team` has all agents, itself among them.
        verbs: the actions that the dialogue offers, in its order.
        entities: lines `Object.100: washer dryer in bathroom_2`.
        positions_m: middles of the furniture in `map` by number; empty = unknown.
        reward: 1 if the task was solved, else 0.
        percent_complete: share of the goal, 0 to 1.
    """

    version: Literal[1] = 1
    instruction: str
    agent: str
    team: tuple[str, ...] = Field(min_length=1)
    verbs: tuple[str, ...]
    entities: tuple[str, ...]
    positions_m: dict[int, Point] = Field(default_factory=dict)
    turns: tuple[TraceTurn, ...]
    reward: Literal[0, 1]
    percent_complete: Annotated[float, Field(ge=0, le=1)]
    provenance: Provenance

    @model_validator(mode="after")
    def _is_of_the_team(self) -> Trace:
        if self.agent not in self.team:
            raise ValueError(f"{self.agent!r} is not in the team {', '.join(self.team)}")
        return self


def messages_of(trace: Trace) -> list[Message]:
    """The chat with a model: header, opening, then a call and a result in turn.

    It ends with the last call. Calls that are not `learned` are in it as well: which are trained on
    is up to the caller (`learned_calls`).
    """
    opening = opening_text(trace.instruction, trace.entities, trace.verbs)
    found = [Message(Speaker.SYSTEM, SYSTEM), Message(Speaker.USER, opening)]
    for number, turn in enumerate(trace.turns):
        if number:
            before = trace.turns[number - 1]
            found.append(Message(Speaker.USER, result_turn(before.result, before.deltas)))
        found.append(Message(Speaker.ASSISTANT, f"{turn.call}\n{END_OF_TURN}"))
    return found


def learned_calls(trace: Trace) -> Iterator[tuple[int, str]]:
    """The index in `messages_of` and the call of each turn that is to be imitated."""
    for number, turn in enumerate(trace.turns):
        if turn.learned:
            yield 2 + 2 * number, turn.call
