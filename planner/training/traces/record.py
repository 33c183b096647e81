"""One agent's dialogue in EPM's format, recorded in any planner's run or in the console."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from planner.models.chat import Message, Speaker
from planner.models.replies.turn import END_OF_TURN
from planner.parts.calls import parse_call
from planner.planning.numbered_dialogue import (
    SYSTEM,
    Wording,
    entity_line,
    numbered,
    offered,
    opening_text,
    result_turn,
)
from planner.planning.planner import AgentResult, Context, Decision, Planner
from planner.planning.short_dialogue import SHORT_SYSTEM, ShortDialogue
from planner.world.belief import Belief
from planner.world.errors import FileError
from planner.world.files import FileModel, read_lines
from planner.world.skill import SUCCESS_TEXT, CallError, SkillCall, SkillName
from planner.world.vocabulary import EntityKind

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


def messages_of(trace: Trace, wording: Wording = Wording.PAPER) -> list[Message]:
    """The chat with a model: header, opening, then a call and a result in turn.

    It ends with the last call. Calls that are not `learned` are in it as well: which are trained on
    is up to the caller (`learned_calls`).
    """
    short = ShortDialogue(trace.instruction, trace.entities) if wording is Wording.SHORT else None
    first = (
        short.opening(trace.verbs)
        if short is not None
        else opening_text(trace.instruction, trace.entities, trace.verbs)
    )
    system = SHORT_SYSTEM if short is not None else SYSTEM
    found = [Message(Speaker.SYSTEM, system), Message(Speaker.USER, first)]
    for number, turn in enumerate(trace.turns):
        if number:
            before = trace.turns[number - 1]
            told = short.result if short is not None else result_turn
            found.append(Message(Speaker.USER, told(before.result, before.deltas)))
        call = short.call(turn.call) if short is not None else turn.call
        found.append(Message(Speaker.ASSISTANT, f"{call}\n{END_OF_TURN}"))
    return found


def learned_calls(trace: Trace) -> Iterator[tuple[int, str]]:
    """The index in `messages_of` and the call of each turn that is to be imitated."""
    for number, turn in enumerate(trace.turns):
        if turn.learned:
            yield 2 + 2 * number, turn.call


# Records what any planner does as traces, one for each agent of a run.

WAIT = SkillCall(SkillName.WAIT)


@dataclass
class _Dialogue:
    """One agent's dialogue as it grows."""

    verbs: tuple[str, ...]
    entities: tuple[str, ...]
    positions_m: dict[int, Point]
    sequence: int
    turns: list[TraceTurn] = field(default_factory=list)
    share: float = 0.0
    open: bool = False
    result: str = ""


class TraceRecorder:
    """A planner that passes everything on to another one, and keeps it."""

    def __init__(
        self,
        planner: Planner,
        team: Sequence[str],
        share: Callable[[], float],
        is_learned: Callable[[str, SkillCall], bool] = lambda _agent, _call: True,
        shown: Callable[[str], SkillCall | None] = lambda _agent: None,
    ) -> None:
        """Wraps a planner.

        Args:
            planner: decides.
            team: all agents of the task.
            share: of the goal that holds now, 0 to 1.
            is_learned: whether a call of an agent is to be imitated.
            shown: what an agent should have called in the last decision; None = not known.
        """
        self._planner, self._team = planner, tuple(team)
        self._share, self._is_learned = share, is_learned
        self._shown = shown
        self._dialogues: dict[str, _Dialogue] = {}
        self._instruction = ""

    @property
    def name(self) -> str:
        """The other planner's."""
        return self._planner.name

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps the results, and passes them on."""
        for ended in results:
            dialogue = self._dialogues.get(ended.agent)
            if dialogue is not None and dialogue.open:
                dialogue.result = ended.result.text
        self._planner.observe(results)

    async def decide(self, context: Context) -> Decision:
        """The other planner's decision."""
        self._instruction = context.task.instruction
        for agent in context.idle:
            self._catch_up(agent, context)
        decision = await self._planner.decide(context)
        for agent in context.idle:
            call = decision.calls.get(agent)
            if call is not None:
                self._begin_turn(agent, call, context)
            elif context.running and not self._waits(agent):
                self._begin_turn(agent, WAIT, context)
        return decision

    def traces(
        self, provenance: Provenance, *, reward: bool, percent_complete: float
    ) -> list[Trace]:
        """The traces of the run, which has ended."""
        found = []
        for agent, dialogue in self._dialogues.items():
            self._close(dialogue, ())
            found.append(
                Trace(
                    instruction=self._instruction,
                    agent=agent,
                    team=self._team,
                    verbs=dialogue.verbs,
                    entities=dialogue.entities,
                    positions_m=dialogue.positions_m,
                    turns=tuple(dialogue.turns),
                    reward=1 if reward else 0,
                    percent_complete=percent_complete,
                    provenance=provenance,
                )
            )
        return found

    def _waits(self, agent: str) -> bool:
        turns = self._dialogues[agent].turns
        return bool(turns) and turns[-1].call == str(WAIT)

    def _catch_up(self, agent: str, context: Context) -> None:
        dialogue = self._dialogues.get(agent)
        belief = context.belief
        if dialogue is None:
            self._dialogues[agent] = _Dialogue(
                offered(context.capabilities.get(agent)),
                tuple(entity_line(node) for node in numbered(belief)),
                positions_of(belief),
                belief.sequence,
                share=self._share(),
            )
            return
        if self._waits(agent) and not dialogue.result:
            # Waiting goes on: what is told meanwhile belongs to the same turn.
            more = context.deltas(dialogue.sequence)
            last = dialogue.turns[-1]
            dialogue.turns[-1] = last.model_copy(update={"deltas": (*last.deltas, *more)})
            dialogue.sequence = belief.sequence
            return
        self._close(dialogue, context.deltas(dialogue.sequence))
        dialogue.sequence = belief.sequence

    def _close(self, dialogue: _Dialogue, deltas: Sequence[str]) -> None:
        if not dialogue.open:
            return
        share = self._share()
        gain = max(-1.0, min(1.0, round(share - dialogue.share, 6)))
        update = {"result": dialogue.result, "deltas": tuple(deltas), "gain": gain}
        dialogue.turns[-1] = dialogue.turns[-1].model_copy(update=update)
        dialogue.share, dialogue.open, dialogue.result = share, False, ""

    def _begin_turn(self, agent: str, call: SkillCall, context: Context) -> None:
        dialogue = self._dialogues[agent]
        said, is_said = with_numbers(call, context.belief)
        others = {o: str(with_numbers(r, context.belief)[0]) for o, r in context.running.items()}
        should = self._shown(agent)
        shown, is_shown = (
            with_numbers(should, context.belief) if should is not None else ("", False)
        )
        dialogue.turns.append(
            TraceTurn(
                call=str(said),
                others=others,
                learned=is_said and self._is_learned(agent, call),
                shown=str(shown) if is_shown else "",
            )
        )
        dialogue.open = call != WAIT or agent not in context.running
        if call == WAIT:
            dialogue.open = False


def with_numbers(call: SkillCall, belief: Belief) -> tuple[SkillCall, bool]:
    """The call with `Object.N` for names, and whether all of its entities have a number."""
    words: list[str | None] = []
    is_said = True
    for word in call.arguments:
        node = belief.find(word) if word is not None else None
        if node is not None and node.entity_id is not None:
            words.append(f"Object.{node.entity_id}")
            continue
        words.append(word)
        is_said = is_said and node is None
    return SkillCall(call.name, tuple(words)), is_said


def positions_of(belief: Belief) -> dict[int, Point]:
    """The middles of the furniture in `map` by number, metres to a decimetre."""
    return {
        node.entity_id: (round(node.position_m[0], 1), round(node.position_m[1], 1))
        for node in belief.nodes.values()
        if node.kind is EntityKind.FURNITURE and node.entity_id is not None
    }


# A recorded session of the console as demonstrations: whose calls may be used (EPM-2.7).
#
# The record says who did what and who agreed that it is used for training; the bag beside it has
# the calls. Only what persons did who agreed is exported, and the manifest says who they were.

RECORD, BAG = "console.jsonl", "bag"
# Orders whose words or motions a trace holds.
_ACTS = frozenset({"skill", "drive"})
_WORDS = frozenset({"instruct", "answer", "again"})
_CONSENT = "consent"


class _Line(BaseModel):
    """What is read of a line; the others of its fields do not matter here."""

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)

    who: str
    seat: str
    what: str
    refused: str = ""
    order: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Consents:
    """Whose calls of a session may be used.

    Attributes:
        agents: whose persons all agreed, with these persons.
        left_out: agents of whom somebody did not agree, with those persons.
    """

    agents: dict[str, tuple[str, ...]]
    left_out: dict[str, tuple[str, ...]]

    def in_words(self) -> str:
        """For the manifest."""
        return "; ".join(f"{agent}: {', '.join(who)}" for agent, who in self.agents.items())


def consents_of(folder: Path) -> Consents:
    """Who acted in a session, and who of them agreed; the last word of each counts.

    Args:
        folder: of the run, with `console.jsonl` and `bag`.

    Raises:
        FileError: if the record cannot be read, if nobody acted, if nobody of an agent's persons
            agreed, or if the words of somebody who did not agree are part of the task.
    """
    path = folder / RECORD
    lines = _lines(path)
    agreed: dict[str, bool] = {}
    actors: dict[str, dict[str, None]] = {}
    speakers: dict[str, None] = {}
    for number, line in enumerate(lines, 1):
        if line.refused:
            continue
        if line.what == _CONSENT:
            agreed[line.who] = _yes(path, number, line)
        elif line.what in _ACTS:
            actors.setdefault(line.seat, {})[line.who] = None
        elif line.what in _WORDS:
            speakers[line.who] = None
    if not actors:
        raise FileError(path, "", "nobody was a partner in this session: nothing to learn from")
    against = {
        agent: tuple(who for who in persons if not agreed.get(who, False))
        for agent, persons in actors.items()
    }
    left_out = {agent: who for agent, who in against.items() if who}
    agents = {agent: tuple(actors[agent]) for agent in sorted(actors) if agent not in left_out}
    if not agents:
        named = "; ".join(f"{agent}: {', '.join(who)}" for agent, who in left_out.items())
        raise FileError(path, _CONSENT, f"nobody who acted agreed to training ({named})")
    if silent := [who for who in speakers if not agreed.get(who, False)]:
        raise FileError(
            path,
            _CONSENT,
            f"{', '.join(silent)} gave the instruction and did not agree to training",
        )
    return Consents(agents, left_out)


def _lines(path: Path) -> list[_Line]:
    lines = [line.rstrip(b"\r\n") for line in read_lines(path)]
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(_Line.model_validate_json(line))
        except ValidationError as error:
            if number == len(lines) and not line.endswith(b"}"):
                # The process ended within its last line.
                break
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise FileError(path, f"line {number} {where}".strip(), first["msg"]) from None
    return found


def _yes(path: Path, number: int, line: _Line) -> bool:
    yes = line.order.get("yes")
    if not isinstance(yes, bool):
        raise FileError(path, f"line {number} order.yes", f"expected true or false, got {yes!r}")
    return yes
