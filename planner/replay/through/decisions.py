"""The recorded planner's decisions, and a model whose replies can be replaced by recorded ones."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from planner.models.chat import ChatModel, Completion, ModelError, Request, WrappedModel, cut_at
from planner.models.replies.turn import THOUGHT, Naming, agent_label, word_of
from planner.parts.calls import parse_call, takes_text
from planner.planning.part import PlannerChoice
from planner.planning.planner import AgentResult, Context
from planner.planning.planner_model import Control
from planner.replay.through.recorded import (
    RESULTS,
    STATUS,
    TRACES,
    MessageReceived,
    Recorded,
    SkillEnded,
)
from planner.world.belief import Belief
from planner.world.errors import FileError
from planner.world.memory_wire import stamp_seconds
from planner.world.skill import CallError, SkillCall, SkillName, SkillResult
from planner.world.wire import record_of

DONE = SkillCall(SkillName.DONE)
# A result and the decision that it led to reach the recorder in any order within this time.
_SKEW_NS = 500_000_000
_RUNNING, _ENDED, _QUESTION = 1, 3, "question"


@dataclass(frozen=True, slots=True)
class Reply:
    """One message of /planner/trace: a model's reply, or a decision without a model.

    Attributes:
        began_ns: when the model was called, by the recorder's clock.
        calls: of each of `agents`; "" for none.
    """

    received_ns: int
    began_ns: int
    stamp_s: float
    planner: str
    model: str
    agents: tuple[str, ...]
    cycle: int
    prompt: str
    text: str
    calls: tuple[str, ...]
    error: str
    question: str
    prompt_tokens: int
    reply_tokens: int

    @property
    def is_accepted(self) -> bool:
        """Whether the reply was accepted."""
        return not self.model or any(self.calls) or bool(self.question)

    def given(self) -> dict[str, str]:
        """The calls by agent, without empty ones."""
        return {a: call for a, call in zip(self.agents, self.calls, strict=False) if call}


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction from /instruct/status.

    Attributes:
        goal: as the planner had it; None = only the text.
        is_done: whether the planner ended it as done.
    """

    from_ns: int
    text: str
    agents: tuple[str, ...]
    dialogue: tuple[str, ...]
    goal: Mapping[str, JsonValue] | None
    house: str
    episode_id: str
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class RecordedDecision:
    """One decision of the recorded planner.

    Attributes:
        began_ns: when the planner was asked, by the recorder's clock.
        received_ns: when it had decided.
        stamp_s: of its belief, for decisions without a model.
        idle: the agents that needed a call.
        running: the calls of the others.
        calls: the decided calls; idle agents that are not in it stayed idle.
        results: calls that ended since the previous decision.
        ends: how the calls ended, as far as that was recorded.
        replies: of the model, including rejected ones.
    """

    began_ns: int
    received_ns: int
    stamp_s: float
    idle: tuple[str, ...]
    running: Mapping[str, SkillCall]
    calls: Mapping[str, SkillCall]
    results: tuple[AgentResult, ...]
    replies: tuple[Reply, ...]
    question: str = ""
    ends: dict[str, SkillResult] = field(default_factory=dict)

    @property
    def has_model(self) -> bool:
        """Whether a language model decided."""
        return bool(self.replies[-1].model)


@dataclass(frozen=True, slots=True)
class RecordedWork:
    """One instruction and the decisions for it.

    Attributes:
        instruction: None if the bag does not have it.
        agents: of the task.
        lost_results: calls that were followed by another one and whose end was not recorded.
    """

    instruction: Instruction | None
    agents: tuple[str, ...]
    decisions: tuple[RecordedDecision, ...]
    lost_results: int


def recorded_work(recorded: Recorded) -> list[RecordedWork]:
    """The instructions and decisions of the recorded planner.

    Raises:
        FileError: if the bag has no decision, or one that cannot be read.
    """
    replies: list[Reply] = []
    ended: list[SkillEnded] = []
    instructions: dict[str, Instruction] = {}
    for event in recorded.events((TRACES, RESULTS, STATUS)):
        if isinstance(event, SkillEnded):
            if not event.is_part:
                ended.append(event)
        elif isinstance(event, MessageReceived) and event.topic == TRACES:
            replies.append(_reply(event))
        elif isinstance(event, MessageReceived) and int(event.content.state) == _RUNNING:
            instruction = _instruction(event, recorded.bag.folder)
            instructions.setdefault(str(event.content.id), instruction)
        elif isinstance(event, MessageReceived) and int(event.content.state) == _ENDED:
            begun = instructions.get(str(event.content.id))
            if begun is not None:
                instructions[str(event.content.id)] = replace(begun, is_done=True)
    if not replies:
        raise FileError(recorded.bag.folder, TRACES, "has no decision of a planner")
    return [
        _work(instruction, own, ended, recorded.bag.folder)
        for instruction, own in _by_instruction(list(instructions.values()), replies)
    ]


def _reply(event: MessageReceived) -> Reply:
    content = event.content
    latency_s = float(content.latency_s)
    # A reply that never came, or a clock that was set, would give an absurd duration.
    usable = math.isfinite(latency_s) and 0.0 <= latency_s <= 3600.0
    calls_by_agent = {str(item.key): str(item.value) for item in content.parameters}
    return record_of(
        Reply,
        content,
        received_ns=event.received_ns,
        began_ns=event.received_ns - (round(latency_s * 1e9) if usable else 0),
        stamp_s=stamp_seconds(content.header.stamp),
        text=str(content.reply),
        question=calls_by_agent.get(_QUESTION, ""),
    )


def _instruction(event: MessageReceived, at: Path) -> Instruction:
    content = event.content
    goal: JsonValue = None
    try:
        goal = json.loads(content.goal) if content.goal else None
    except (ValueError, RecursionError) as error:
        raise FileError(at, f"{STATUS}.goal", f"is no JSON: {error}") from None
    return record_of(
        Instruction,
        content,
        from_ns=event.received_ns,
        text=str(content.instruction),
        goal=goal if isinstance(goal, dict) else None,
        is_done=False,
    )


def _by_instruction(
    instructions: Sequence[Instruction], replies: Sequence[Reply]
) -> list[tuple[Instruction | None, list[Reply]]]:
    """The replies of each instruction; without instructions, a first cycle starts a new one."""
    if instructions:
        found: list[tuple[Instruction | None, list[Reply]]] = []
        ends = [instruction.from_ns for instruction in instructions[1:]] + [2**63]
        for number, (instruction, end_ns) in enumerate(zip(instructions, ends, strict=True)):
            # The first one also has the replies before its status was received.
            from_ns = instruction.from_ns if number else 0
            own = [reply for reply in replies if from_ns <= reply.received_ns < end_ns]
            if own:
                found.append((instruction, own))
        return found
    runs: list[list[Reply]] = []
    for reply in replies:
        begins = not reply.model and reply.cycle == 1
        if not runs or (begins and runs[-1][-1].cycle >= 1):
            runs.append([])
        runs[-1].append(reply)
    return [(None, run) for run in runs]


def _work(
    instruction: Instruction | None, replies: Sequence[Reply], ended: Sequence[SkillEnded], at: Path
) -> RecordedWork:
    agents = instruction.agents if instruction is not None else ()
    agents = agents or tuple(sorted({agent for reply in replies for agent in reply.agents}))
    following = _Following(agents, ended, at)
    for reply in replies:
        following.take(reply)
    following.end(is_done=instruction is not None and instruction.is_done)
    return RecordedWork(instruction, agents, tuple(following.decisions), following.lost_results)


class _Following:
    """Follows a session through its replies and results."""

    def __init__(self, agents: Sequence[str], ended: Iterable[SkillEnded], at: Path) -> None:
        self.decisions: list[RecordedDecision] = []
        self.lost_results = 0
        self._agents, self._at = tuple(agents), at
        self._ended = list(ended)
        self._running: dict[str, tuple[SkillCall, RecordedDecision]] = {}
        self._done: set[str] = set()
        self._group: list[Reply] = []

    def take(self, reply: Reply) -> None:
        """Takes the next reply; those of one decision are grouped."""
        if self._group and self._is_another(reply):
            self._close()
        self._group.append(reply)
        if not reply.model:
            self._close()

    def end(self, *, is_done: bool) -> None:
        """Closes the last decision; looks up how its calls ended.

        `is_done`: whether the planner ended the instruction as done; if its last replies give no
        calls, that is what they decided.
        """
        self._close()
        last = self.decisions[-1] if self.decisions else None
        if is_done and last is not None and last.idle == self._agents and not last.calls:
            self.decisions[-1] = replace(last, calls=dict.fromkeys(last.idle, DONE))
        for agent in list(self._running):
            self._finish(agent, 2**63)

    def _is_another(self, reply: Reply) -> bool:
        """Whether a reply starts another decision than the current group's."""
        decided = {a for r in self._group if r.is_accepted for a in r.agents}
        if not decided:
            return False
        if decided & set(reply.agents):
            return True
        # All idle agents are asked at the same time.
        return reply.began_ns > max(r.received_ns for r in self._group) + _SKEW_NS

    def _close(self) -> None:
        group, self._group = self._group, []
        if not group:
            return
        calls_by_agent: dict[str, str] = {}
        for reply in group:
            if reply.is_accepted:
                calls_by_agent.update(reply.given())
        began_ns = min(reply.began_ns for reply in group)
        results = self._results_until(began_ns, calls_by_agent)
        idle = tuple(a for a in self._agents if a not in self._running and a not in self._done)
        calls = {
            agent: self._parsed(calls_by_agent[agent]) for agent in idle if agent in calls_by_agent
        }
        question = next((reply.question for reply in group if reply.question), "")
        if not calls and not question and not group[-1].model:
            # A decision without a model is published only if an agent got a call, and an agent that
            # is done has none.
            calls = dict.fromkeys(idle, DONE)
        decision = RecordedDecision(
            began_ns=began_ns,
            received_ns=group[-1].received_ns,
            stamp_s=group[-1].stamp_s,
            idle=idle,
            running={agent: call for agent, (call, _) in self._running.items()},
            calls=calls,
            results=tuple(results),
            replies=tuple(group),
            question=question,
        )
        self.decisions.append(decision)
        for agent, call in calls.items():
            if call == DONE:
                self._done.add(agent)
            else:
                self._running[agent] = (call, decision)

    def _results_until(self, began_ns: int, calls_by_agent: Mapping[str, str]) -> list[AgentResult]:
        """Ends the calls that had ended when a decision began, in the order of their ends."""
        results = []
        for agent, (call, _) in list(self._running.items()):
            replaced = agent in calls_by_agent and calls_by_agent[agent] != str(call)
            if calls_by_agent.get(agent) == str(call) and not self._is_repeated(agent, call):
                # The planner did not know of its end, if its result was recorded later.
                continue
            limit_ns = began_ns + _SKEW_NS if replaced else began_ns
            result = self._finish(agent, limit_ns)
            if result is not None:
                results.append(result)
            elif replaced:
                self.lost_results += 1
                del self._running[agent]
        results.sort(key=lambda result: (result[0], result[1].agent))
        return [result for _, result in results]

    def _is_repeated(self, agent: str, call: SkillCall) -> bool:
        """Whether an agent's next two results are both of this call, so it was given twice."""
        following = [ended.call for ended in self._ended if ended.agent == agent][:2]
        return following == [call, call]

    def _finish(self, agent: str, limit_ns: int) -> tuple[int, AgentResult] | None:
        """Ends an agent's call by its result, if that came in time."""
        call, decision = self._running[agent]
        for number, ended in enumerate(self._ended):
            if ended.received_ns > limit_ns:
                return None
            same = ended.agent == agent and ended.call == call
            if same and ended.received_ns >= decision.began_ns:
                del self._ended[number], self._running[agent]
                decision.ends[agent] = ended.result
                result = AgentResult(agent, call, ended.result, ended.ended_s)
                return ended.received_ns, result
        return None

    def _parsed(self, text: str) -> SkillCall:
        try:
            return parse_call(text)
        except CallError as error:
            raise FileError(self._at, TRACES, str(error)) from None


# A model whose replies can be replaced by recorded ones, so that a dialogue can be continued.


class SubstituteModel(WrappedModel):
    """Passes calls on to a model, except those whose reply is given in advance."""

    def __init__(self, model: ChatModel) -> None:
        super().__init__(model)
        self._replies: list[str] | None = None

    def __deepcopy__(self, _memo: object) -> SubstituteModel:
        """Copies of a planner share the model."""
        return self

    @contextmanager
    def replying(self, texts: Sequence[str]) -> Iterator[None]:
        """Answers the next calls with these texts, and refuses any further one."""
        self._replies = list(reversed(texts))
        try:
            yield
        finally:
            self._replies = None

    async def complete(self, request: Request) -> Completion:
        """See `ChatModel`.

        Raises:
            ModelError: if the given reply was rejected and the planner asks again.
        """
        if self._replies is None:
            return await self._model.complete(request)
        if not self._replies:
            raise ModelError("the last given answer was not accepted")
        return Completion(cut_at(self._replies.pop(), request.stop))


def rendered_turn(
    choice: PlannerChoice, context: Context, recorded: RecordedDecision
) -> list[tuple[tuple[str, ...], list[str]]]:
    """What a planner's model would have to reply for the recorded calls: agents and texts.

    If the same planner was recorded, it is what its model said, rejected replies included.

    Raises:
        ModelError: if this planner cannot express the calls.
    """
    own: dict[tuple[str, ...], list[str]] = {}
    for reply in recorded.replies:
        if reply.model and reply.planner == choice.name:
            own.setdefault(reply.agents, []).append(reply.text)
    team = own.get(context.task.agents)
    if team and len(context.task.agents) > 1:
        # Of a planner that decides for all at once, whatever its axes say.
        return [(context.idle, team)]
    if choice.axes.control is Control.CENTRALIZED and not choice.part.asks.bare_replies:
        said = own.get(context.task.agents) or [_team_turn(context, recorded)]
        return [(context.idle, said)]
    return [
        ((agent,), own.get((agent,)) or [_own_turn(choice, call, context.belief)])
        for agent, call in recorded.calls.items()
    ]


def _own_turn(choice: PlannerChoice, call: SkillCall, belief: Belief) -> str:
    text = str(_named(call, belief, choice.part.reads.naming))
    return text if choice.part.asks.bare_replies else f"{THOUGHT}\n{text}"


def _team_turn(context: Context, recorded: RecordedDecision) -> str:
    calls = {**recorded.running, **recorded.calls}
    if all(call.name == SkillName.DONE for call in calls.values()):
        return f"{THOUGHT}\n{SkillName.DONE.value}[]"
    lines = [THOUGHT]
    for number, agent in enumerate(context.task.agents):
        if agent not in calls:
            raise ModelError(f"{agent} was given no call, which a team's turn cannot say")
        lines.append(f"{agent_label(number)}: {_named(calls[agent], context.belief, Naming.NAMES)}")
    return "\n".join(lines)


def _named(call: SkillCall, belief: Belief, naming: Naming) -> SkillCall:
    if takes_text(call.name):
        return call
    words = []
    for word in call.arguments:
        node = belief.find(word) if word is not None else None
        words.append(word if node is None else word_of(node, naming) or word)
    return SkillCall(call.name, tuple(words))
