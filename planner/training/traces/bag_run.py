"""What the agents of recorded runs did, as traces: from the tries in bags, as a folder."""

from __future__ import annotations

import asyncio
import bisect
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from hashlib import sha256
from itertools import groupby
from pathlib import Path

import numpy as np

from planner.evaluation.trace import EpisodeTrace
from planner.parts.calls import parse_call
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.planning.planner_inputs import DeltaLog
from planner.replay.bag import Bag, files_of
from planner.replay.judging import GRAPH, Judged, judge_bag, recordings
from planner.replay.live import DECISIONS, RESULTS, instruction_outcomes
from planner.replay.runs import BagPart, Request, load_task, parts_of
from planner.replay.storage import fields_of
from planner.training.traces.demonstrator import ExplorationRule
from planner.training.traces.folder import (
    TraceFolder,
    TraceManifest,
    check_is_training,
    check_words,
)
from planner.training.traces.record import Provenance, Trace, TraceRecorder
from planner.training.traces.rules import TraceRules, improved, with_searches
from planner.world.agents import capabilities_of_agents
from planner.world.belief import Belief
from planner.world.errors import FileError, PlannerError
from planner.world.files import reading
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
        bag: of one world, as `planner.replay.runs.parts_of` gives them.
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


# The tries of a bag: each world in it that began anew, and which are exported (PARTNR-10).


class Which(StrEnum):
    """Which tries at a task are exported."""

    ALL = "all"
    BEST = "best"


@dataclass(frozen=True, slots=True)
class Tried:
    """What was done in one world of a bag.

    Attributes:
        number: 1 = the first world.
        traces: of one instruction, one for each agent.
    """

    number: int
    traces: tuple[Trace, ...]

    @property
    def words(self) -> str:
        """The task."""
        return self.traces[0].instruction

    @property
    def rank(self) -> tuple[int, float]:
        """The more, the better: solved, then the share that was done."""
        return self.traces[0].reward, self.traces[0].percent_complete


def tries_of_bag(
    path: Path, agents: Sequence[str], which: Which, tell: Callable[[str], None]
) -> list[Tried]:
    """The tries of a bag in which one of these agents made calls, in their order.

    Tries at one task follow each other and have the same words. The best is the one that solved it,
    else the first of those with most done.

    Args:
        path: the bag's folder.
        agents: whose calls; empty = of all that made any.
        which: all, or the best one at each task.
        tell: called with a line for each try of a bag with several.

    Raises:
        LeakError: for a run in a house, of an episode, or with words that are for evaluation.
        PlannerError: for a world with several instructions, or a bag without calls of an agent.
        FileError: for a bag that cannot be read.
    """
    parts = parts_of(Bag(path))
    if len(parts) == 1:
        return [Tried(1, tuple(traces_of_bag(parts[0], agents)))]
    found, missing = list[Tried](), set(agents)
    for number, part in enumerate(parts, 1):
        callers = callers_of(part)
        own = [agent for agent in agents if agent in callers] if agents else callers
        missing -= set(own)
        if not own:
            tell(f"{path}, try {number} of {len(parts)}: nobody to learn from")
            continue
        found.append(Tried(number, tuple(traces_of_bag(part, own))))
        solved, share = found[-1].rank
        how = "solved" if solved else f"{share:.0%} done"
        tell(f"{path}, try {number} of {len(parts)}: {how}, by {', '.join(own)}")
    if missing or not found:
        raise PlannerError(f"{path}: has no calls of {', '.join(sorted(missing)) or 'anybody'}")
    if which is Which.ALL:
        return found
    tasks = groupby(found, key=lambda one: one.words)
    return [max(tries, key=lambda one: one.rank) for _, tries in tasks]


# A folder of traces from bags: one shard for each bag, improved as those of demonstrators are.

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class BagRecipe:
    """How traces are made of recorded runs.

    Attributes:
        bags: their folders, or folders of them.
        agents: whose calls; empty = of all that made any.
        seed: of searches and invented instances.
        rules: what is left out, and invented.
        exploration: how much is explored without finding what was not known.
        consent: which persons agreed that this is made of what they did; "" = nobody was asked.
        tries: which tries at a task of a bag are read.
    """

    bags: tuple[Path, ...]
    agents: tuple[str, ...] = ()
    seed: int = 1
    rules: TraceRules = field(default_factory=TraceRules)
    exploration: ExplorationRule = field(default_factory=ExplorationRule)
    consent: str = ""
    tries: Which = Which.ALL

    def as_record(self, digest: str) -> dict[str, str | int | float | bool]:
        """The recipe for the manifest; `digest` is of the bags' files."""
        found: dict[str, str | int | float | bool] = {
            "bags": digest,
            "agents": " ".join(self.agents),
            "seed": self.seed,
        }
        if self.consent:
            found["consent"] = self.consent
        if self.tries is not Which.ALL:
            found["tries"] = str(self.tries)
        found |= {f"rule {name}": value for name, value in asdict(self.rules).items()}
        return found | {f"explore {name}": v for name, v in asdict(self.exploration).items()}


def make_bag_traces(output: Path, recipe: BagRecipe, tell: Callable[[str], None]) -> TraceManifest:
    """Reads the bags that are missing and writes the manifest.

    Args:
        output: the folder; a new one or one of the same bags and recipe.
        recipe: what to read.
        tell: called with a line for each bag.

    Raises:
        LeakError: for a run in a house, of an episode, or with words that are for evaluation.
        PlannerError: for a world with several instructions, or a bag with no calls of an agent.
        FileError: for a bag that cannot be read.
    """
    bags = [bag for path in recipe.bags for bag in recordings(path)]
    logs = [bag for bag in bags if not bag.is_dir()]
    if logs:
        raise FileError(logs[0], "", "is a log of states, which has no calls: name bags")
    digests = [_digest(bag) for bag in bags]
    for bag, digest in zip(bags, digests, strict=True):
        if digests.count(digest) > 1:
            raise FileError(bag, "", "is named twice, or has a copy")
    every = sha256("\n".join(digests).encode()).hexdigest()[:24]
    folder = TraceFolder(output, recipe.as_record(every), len(bags))
    for number in folder.missing():
        bag = bags[number]
        rng = np.random.default_rng([recipe.seed, int(digests[number][:12], 16)])
        traces = list[Trace]()
        for tried in tries_of_bag(bag, recipe.agents, recipe.tries, tell):
            searched = [with_searches(one, recipe.exploration, rng) for one in tried.traces]
            traces += improved(searched, recipe.rules, rng)
        folder.write(number, traces)
        dropped = "" if traces else ": its task was not solved, so none is kept"
        tell(f"{number + 1} of {len(bags)}, {bag}: {len(traces)} traces{dropped}")
    return folder.finish()


def _digest(bag: Path) -> str:
    """Of a bag's files, by their content."""
    found = sha256()
    with reading(bag):
        for file in files_of(bag):
            with file.open("rb") as stream:
                while part := stream.read(_CHUNK):
                    found.update(part)
    return found.hexdigest()
