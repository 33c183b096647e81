"""What the agents of a recorded run did, as traces: persons, robots of any planner (EPM-2.7).

All is read from the bag: calls from the skill executors' reports, whoever made them, what was known
from the memory's topics, the verdict from the world's states.
"""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field

from planner.evaluation.trace import EpisodeTrace
from planner.parts.calls import parse_call
from planner.planning.delta_log import DeltaLog
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.replay.bag import Bag
from planner.replay.bag_parts import BagPart
from planner.replay.fields import fields_of
from planner.replay.instructions import instruction_outcomes
from planner.replay.judging import GRAPH, Judged, judge_bag
from planner.replay.runs import Request
from planner.replay.task import load_task
from planner.replay.trace_calls import DECISIONS, RESULTS
from planner.training.traces.guard import check_is_training, check_words
from planner.training.traces.record import Provenance, Trace
from planner.training.traces.recorder import TraceRecorder
from planner.world.agents import capabilities_of_agents
from planner.world.belief import Belief
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.memory_wire import (
    change_record,
    duration_of,
    entity_record,
    result_record,
    stamp_seconds,
)
from planner.world.skill import CallError, SkillCall, SkillName, SkillResult
from planner.world.wire import graph_record

PERSON = "person"
_LISTS, _CHANGES = "/memory/entities", "/memory/updates"
_DONE = SkillCall(SkillName.DONE)
_STAMP_S = 1e-6


@dataclass(frozen=True, slots=True)
class _Call:
    """A call that ended, seconds of the world's clock; `planner` is "" if none decided it."""

    agent: str
    call: SkillCall
    result: SkillResult
    began_s: float
    ended_s: float
    planner: str


@dataclass(slots=True)
class _Recorded:
    """What a bag says, in order."""

    calls: list[_Call] = field(default_factory=list)
    beliefs: list[Belief] = field(default_factory=list)
    stamps_s: list[float] = field(default_factory=list)
    changes: DeltaLog = field(default_factory=DeltaLog)
    author: str = ""

    def begin_anew(self, stamp_s: float) -> None:
        """The memory is of another world from now on, whose clock says this."""
        self.beliefs.clear()
        self.stamps_s.clear()
        # Ended late, of the world before; what a person began at once is of this one.
        self.calls = [call for call in self.calls if call.ended_s <= stamp_s + _STAMP_S]

    def belief_at(self, stamp_s: float) -> Belief:
        """The newest belief by then, or the first one."""
        at = bisect.bisect_right(self.stamps_s, stamp_s + _STAMP_S)
        return self.beliefs[max(0, at - 1)]


class _Said:
    """A planner that says what was done."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.next: Decision = Decision()

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Does nothing."""

    async def decide(self, context: Context) -> Decision:  # noqa: ARG002 - it was decided
        """The recorded call."""
        return self.next


def traces_of_bag(bag: Bag, agents: Sequence[str] = ()) -> list[Trace]:
    """One trace for each agent that made calls in a bag's run, in order of their names.

    Args:
        bag: of one world, as `planner.replay.bag_parts.parts_of` gives them.
        agents: whose; empty = all that made calls.

    Raises:
        LeakError: for a run in a house, of an episode, or with words that are for evaluation.
        PlannerError: for a bag of several instructions, without calls, or an agent without any.
        FileError: for a bag that cannot be read, or not be judged.
    """
    path = bag.folder
    judged = judge_bag(bag, Request(traced=True))
    spoken = list(dict.fromkeys(one.instruction for one in instruction_outcomes(bag)))
    if len(spoken) > 1:
        raise PlannerError(f"{path}: has {len(spoken)} instructions, and a trace is of one")
    episode, house = load_task(bag)
    words = next(iter(spoken), "") or (episode.instruction if episode is not None else "")
    if not words:
        raise PlannerError(f"{path}: has neither an instruction nor an episode with one")
    if episode is not None and words == episode.instruction:
        check_is_training(episode, house)
    else:
        check_words(str(path), house.name, words)
    found = _read(bag)
    team = tuple(dict.fromkeys(sorted(call.agent for call in found.calls)))
    missing = [agent for agent in agents if agent not in team]
    if not team or missing:
        of = f" of {missing[0]}" if missing else ""
        raise PlannerError(
            f"{path}: has no calls{of}; there are calls of {', '.join(team) or 'nobody'}"
        )
    verdict = judged.verdict if isinstance(judged, Judged) else None
    trace = judged.trace if isinstance(judged, Judged) else None
    provenance = Provenance(
        source=PERSON,
        run=run_of(bag),
        episode_id=episode.episode_id if episode is not None else "",
        house=house.name,
        split=episode.split if episode is not None else "none",
        seed=episode.seed if episode is not None else 0,
        memory=found.author or "privileged",
        task_types=episode.task_types if episode is not None else (),
    )
    task = Task(words, team)
    replayed = _Replay(found, task, house.layout, trace)
    return replayed.traces(
        agents or team,
        provenance,
        reward=verdict is not None and verdict.success,
        percent_complete=verdict.percent_complete if verdict is not None else 0.0,
    )


def callers_of(bag: Bag) -> list[str]:
    """The agents that made calls in a run, in order of their names.

    Raises:
        FileError: for a bag that cannot be read.
    """
    return sorted({call.agent for call in _read(bag).calls})


def run_of(bag: Bag) -> str:
    """Names a run in the traces of it."""
    part = f" try {bag.number} of {bag.count}" if isinstance(bag, BagPart) else ""
    return "/".join(bag.folder.resolve().parts[-2:]) + part


def _read(bag: Bag) -> _Recorded:
    found = _Recorded()
    decided: dict[tuple[str, str], tuple[float, str]] = {}
    free_s: dict[str, float] = {}
    for message in bag.messages((GRAPH, _LISTS, _CHANGES, DECISIONS, RESULTS)):
        content = message.content
        with fields_of(bag.folder, message.topic):
            stamp_s = stamp_seconds(content.header.stamp)
            if message.topic == GRAPH:
                if found.stamps_s and stamp_s < found.stamps_s[-1] - _STAMP_S:
                    found.begin_anew(stamp_s)
                found.beliefs.append(graph_record(content))
                found.stamps_s.append(stamp_s)
            elif message.topic == _LISTS:
                entities = [entity_record(one) for one in content.entities]
                found.changes.snapshot(stamp_s, int(content.sequence), entities)
            elif message.topic == _CHANGES:
                change = change_record(content)
                found.changes.change(change)
                found.author = found.author or change.author
            elif message.topic == DECISIONS:
                for agent, call in zip(content.agents, content.calls, strict=False):
                    decided[agent, call] = stamp_s, str(content.planner)
            else:
                agent, call = str(content.agent), str(content.call)
                result, took_s = result_record(content), duration_of(content)
                chosen_s, planner = decided.pop((agent, call), (None, ""))
                start_s = stamp_s - took_s if took_s is not None else free_s.get(agent, 0.0)
                began_s = min(stamp_s, start_s if chosen_s is None else chosen_s)
                found.calls.append(
                    _Call(agent, _parsed(bag, call), result, began_s, stamp_s, planner)
                )
                free_s[agent] = stamp_s
    if not found.beliefs:
        raise FileError(bag.folder, GRAPH, "has no message, so what was known is unknown")
    if found.changes.broken:
        raise FileError(bag.folder, _CHANGES, "has gaps that no later list of entities closes")
    found.calls.sort(key=lambda one: (one.began_s, one.ended_s, one.agent))
    return found


def _parsed(bag: Bag, text: str) -> SkillCall:
    try:
        return parse_call(text)
    except CallError as error:
        raise FileError(bag.folder, RESULTS, f"has the call {text!r}: {error}") from None


class _Replay:
    """Tells a recorder what happened, as if it happened now."""

    def __init__(
        self, found: _Recorded, task: Task, layout: House, judged: EpisodeTrace | None
    ) -> None:
        self._found, self._task, self._layout, self._judged = found, task, layout, judged
        # Those that the memory numbered at any time: a person handles what it does not know yet.
        self._numbers = {
            node.name: node.entity_id
            for belief in found.beliefs
            for node in belief.nodes.values()
            if node.entity_id is not None
        }
        self._step = 0

    def traces(
        self,
        agents: Sequence[str],
        provenance: Provenance,
        *,
        reward: bool,
        percent_complete: float,
    ) -> list[Trace]:
        made = []
        for agent in agents:
            own = [call for call in self._found.calls if call.agent == agent]
            # What no planner decided, somebody did.
            source = next((call.planner for call in own if call.planner), PERSON)
            recorder = asyncio.run(self._told(agent, own, source, solved=reward))
            more = provenance.model_copy(update={"source": source})
            made += recorder.traces(more, reward=reward, percent_complete=percent_complete)
        return made

    async def _told(
        self, agent: str, own: Sequence[_Call], source: str, *, solved: bool
    ) -> TraceRecorder:
        said = _Said(source)
        recorder = TraceRecorder(said, self._task.agents, self._share)
        steps = self._steps(agent)
        for number, call in enumerate(own):
            self._step = steps[min(number, len(steps) - 1)][0] if steps else 0
            numbered = self._numbered(call.call)
            said.next = Decision({agent: numbered})
            await recorder.decide(self._context(agent, call.began_s))
            recorder.observe((AgentResult(agent, numbered, call.result, call.ended_s),))
        self._step = steps[-1][1] if steps else 0
        said.next = Decision({agent: _DONE}) if solved else Decision()
        await recorder.decide(self._context(agent, self._found.stamps_s[-1]))
        return recorder

    def _steps(self, agent: str) -> list[tuple[int, int]]:
        """Where each of an agent's calls began and ended, in steps of the judged trace."""
        calls = self._judged.calls if self._judged is not None else ()
        return [(call.started_step, call.ended_step) for call in calls if call.agent == agent]

    def _share(self) -> float:
        return self._judged.percent_at(self._step) if self._judged is not None else 0.0

    def _context(self, agent: str, now_s: float) -> Context:
        belief = self._found.belief_at(now_s)
        running = {
            call.agent: self._numbered(call.call)
            for call in self._found.calls
            if call.agent != agent and call.began_s <= now_s < call.ended_s
        }
        return Context(
            self._task,
            belief,
            self._layout,
            capabilities_of_agents(belief),
            running,
            (agent,),
            now_s,
            lambda since: self._found.changes.lines(since, belief.sequence),
        )

    def _numbered(self, call: SkillCall) -> SkillCall:
        words = tuple(
            f"Object.{self._numbers[word]}" if word in self._numbers else word
            for word in call.arguments
        )
        return SkillCall(call.name, words)
