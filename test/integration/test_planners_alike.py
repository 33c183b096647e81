"""Every registered planner, over ROS in lockstep and in process: the same session either way.

In the embedded simulator with pictures, and in the graph world without any.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from bridge_harness import Client, write_world
from node_processes import running
from planner_harness import LATCHED, Instructions, script
from planner_msgs.msg import Evaluation, MemoryUpdate, SkillReport, WorldGraph
from planner_msgs.srv import LoadEpisode

from planner.app.embedded_run import prepare_embedded, prepare_graph
from planner.app.run import EpisodeRun
from planner.app.run_options import RunOptions
from planner.models.chat import ChatModel
from planner.models.model_choice import ModelChoice, make_model
from planner.models.replies.turn import END_OF_TURN
from planner.planning.part import PLANNERS, PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.planning.session import Event
from planner.planning.solved_tasks import SolvedTask, TraceStore
from planner.world.agents import default_bodies
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.memory_wire import stamp_seconds
from planner.world.skill import SkillName
from planner.world.topics import InstructionCode
from planner.world.vocabulary import AgentKind
from planner.world.wire import graph_record
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.graph.backend import GraphBackend

try:
    # What the models of papers' planners reply; a copy of the checkout may be without these.
    import paper_replies
except ModuleNotFoundError as missing:
    if missing.name != "paper_replies":
        raise
    paper_replies = None  # type: ignore[assignment]

Call = tuple[str, str, int, str]
THOUGHT = "Thought: This is the next step."


def _proposition(name: str, thing: str, *places: str) -> dict[str, object]:
    return {"function_name": name, "args": {"objects": [thing], "receptacles": list(places)}}


# By name: what is asked for, and how many agents do it.
ASKED: Mapping[str, tuple[Sequence[Mapping[str, object]], int]] = {
    "cup": ((_proposition("is_on_top", "cup_0", "table_1", "couch_0"),), 1),
    "cup_and_apple": (
        tuple(
            _proposition("is_on_top", thing, "table_1", "couch_0") for thing in ("cup_0", "apple_0")
        ),
        2,
    ),
    "cabinet": ((_proposition("is_inside", "apple_0", "cabinet_0"),), 1),
}
# The same in words.
SAID = {
    "cup": "Put the cup on the couch.",
    "cup_and_apple": "Put the cup and the apple on the couch.",
    "cabinet": "Put the apple in the cabinet.",
}
# What is asked for in a foreign graph, and where an agent sees all of that at first.
ASKED_IN_GRAPH = (_proposition("is_inside", "apple_13", "fridge_10"),)
SEES_TABLE = (3.0, 0.0, -2.2)
GRAPH = "graph"


@dataclass(frozen=True)
class Ended:
    """What a run leaves to compare; no skill executor is asked for Done."""

    code: InstructionCode
    text: str
    evidence: Mapping[str, str]
    calls: tuple[Call, ...]
    success: bool
    percent_complete: float
    satisfied: tuple[tuple[str, bool], ...]


@dataclass
class Stack:
    """The nodes around the task planner, for one episode; `passed`: so did the newest test."""

    task: str
    backend: str
    episode: Episode
    house: House
    path: Path
    folder: Path
    agents: tuple[str, ...]
    client: Client
    passed: bool = False
    # What the skills reported and the memory told of the newest run over ROS, in its order.
    told: list[str] = field(default_factory=list)

    @contextmanager
    def prepared(self, choice: PlannerChoice, model: str | ChatModel = "") -> Iterator[EpisodeRun]:
        """The same without ROS."""

        def planner(task: Task) -> Planner:
            chat = make_model(ModelChoice(model)) if isinstance(model, str) else model
            return make_planner(choice, task, chat)

        if self.backend == GRAPH:
            with closing(GraphBackend()) as graph:
                yield prepare_graph(graph, self.house, self.episode, planner)
        else:
            with closing(EmbeddedBackend()) as embedded:
                yield prepare_embedded(
                    embedded, self.house, self.episode, planner, RunOptions(acting=self.agents)
                )

    @cached_property
    def known_at_first(self) -> set[str]:
        """What the memory knows after the first look."""
        with self.prepared(PlannerChoice("expert")) as run:
            run.steps.begin()
            return set(run.memory.belief(0.0).nodes)

    @cached_property
    def expert_run(self) -> tuple[Ended, list[Event]]:
        """The expert without ROS, whose calls models reply."""
        return in_process(self, PlannerChoice("expert"))

    def load(self, known: set[str]) -> None:
        """Loads the world again; returns when the memory has seen what agents see first."""
        graphs = self.client.listen(WorldGraph, "/world_graph", LATCHED)
        answer = self.client.call(LoadEpisode, "/world/load", episode=str(self.path))
        assert answer.success, answer.message

        def is_ready() -> bool:
            # The newest graph may still be that of the run before.
            belief = graph_record(graphs[-1]) if graphs else None
            return belief is not None and belief.stamp_s < 1.0 and known <= belief.nodes.keys()

        self.client.wait(is_ready, f"a memory that knows {sorted(known)}")


# At every change: these in a world without pictures, one for each way to decide (rules, words, a
# network, a language model). The slow tests have these with a task as well, those that read words
# with each, and all others in a world without pictures, or with, if they look at them; the nightly
# ones have all of it, and with both agents those that decide for both at once.
AT_EVERY_CHANGE = ("expert", "words", "learned", "react")


def _is_fast(world: str, planner: str) -> bool:
    return world == GRAPH and planner in AT_EVERY_CHANGE


def _marks(world: str, planner: str) -> Sequence[pytest.MarkDecorator]:
    if _is_fast(world, planner):
        return ()
    home = "cup" if planner in AT_EVERY_CHANGE or not _fits(GRAPH, planner) else GRAPH
    by_day = world == home or planner in ("words", "learned")
    return (pytest.mark.slow,) if by_day else (pytest.mark.slow, pytest.mark.nightly)


def _fits(world: str, planner: str) -> bool:
    """Others are compared in their own world, such as by test_rescue_stack.py."""
    able, part = default_bodies()[AgentKind.ROBOT].primitives, PLANNERS.get(planner)
    sees = world != GRAPH or not part.reads_pictures({})
    return sees and part.needs.primitives.issubset(able)


def test_planners_at_every_change_exist() -> None:
    assert set(AT_EVERY_CHANGE) < set(PLANNERS.names())


CASES = [
    pytest.param(
        world,
        planner,
        id=f"{world}-{planner}",
        marks=_marks(world, planner),
    )
    for world in (*ASKED, GRAPH)
    for planner in PLANNERS.names()
    if _fits(world, planner)
]


@contextmanager
def started(task: str, folder: Path, house: House, episode: Episode) -> Iterator[Stack]:
    """The nodes around the task planner, in a world of its own."""
    folder.mkdir()
    if task == GRAPH:
        backend, count = GRAPH, 1
        path = write_graph_task(folder)
    else:
        backend = "embedded"
        propositions, count = ASKED[task]
        robot, person = episode.agents
        # It sees the table with all that is asked for from the beginning.
        facing = robot.model_copy(update={"start": (2.2, 1.9, math.pi / 2)})
        asked = episode.model_copy(
            update={
                "instruction": SAID[task],
                "evaluation": {"propositions": list(propositions)},
                "agents": (facing, person),
            }
        )
        path = write_world(folder, house, asked)
    loaded, layout = load_episode(str(path))
    with ExitStack() as nodes:
        nodes.enter_context(
            running("bridge", backend=backend, episode=path, time_mode="fast", idle_time="hold")
        )
        nodes.enter_context(running("memory", episode=path))
        nodes.enter_context(running("skill_executor", episode=path, use_sim_time=True))
        nodes.enter_context(running("evaluator", episode=path))
        client = Client()
        nodes.callback(client.close)
        agents = tuple(agent.uid for agent in loaded.agents)[:count]
        yield Stack(task, backend, loaded, layout, path, folder, agents, client)


class Stacks:
    """The nodes of one world after another; those of a world run on until the next is asked for.

    A fixture with the world as its parameter would start them for each planner.
    """

    def __init__(self, folder: Path, house: House, episode: Episode) -> None:
        self._folder, self._house, self._episode = folder, house, episode
        self._nodes = ExitStack()
        self._stack: Stack | None = None

    def of(self, task: str) -> Stack:
        """The nodes in a world, started where others are running."""
        if self._stack is None or self._stack.task != task:
            self.close()
            # A repeated test begins with nodes of its own, in a folder of its own.
            folder = self._folder / f"{task}_{len(list(self._folder.iterdir()))}"
            self._stack = self._nodes.enter_context(
                started(task, folder, self._house, self._episode)
            )
        return self._stack

    def close(self) -> None:
        self._stack = None
        self._nodes.close()


@pytest.fixture(scope="module")
def stacks(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, small_episode: Episode
) -> Iterator[Stacks]:
    made = Stacks(tmp_path_factory.mktemp("worlds"), small_house, small_episode)
    with closing(made):
        yield made


@pytest.fixture
def stack(stacks: Stacks, world: str) -> Iterator[Stack]:
    found = stacks.of(world)
    found.passed = False
    yield found
    # A test that failed leaves nothing behind for its repetition.
    if not found.passed:
        stacks.close()


def write_graph_task(folder: Path) -> Path:
    """Writes a foreign graph and an episode in it; returns the episode's file."""
    graph = kitchen.written(folder)
    task = kitchen.task(load_house(graph)).model_dump(mode="json")
    task["agents"][0]["start"] = SEES_TABLE
    task |= {
        "house": str(graph),
        "instruction": "Put the apple in the fridge.",
        "evaluation": {"propositions": list(ASKED_IN_GRAPH)},
    }
    path = folder / "task.episode.json"
    path.write_text(json.dumps(task), encoding="utf-8")
    return path


def in_process(stack: Stack, choice: PlannerChoice, model: str = "") -> tuple[Ended, list[Event]]:
    """A run without ROS."""
    with stack.prepared(choice, model) as run:
        result = run.run()
    verdict, outcome = result.verdict, result.outcome
    calls = tuple(
        (event.agent, str(event.call), int(event.result.code), event.result.text)
        for event in result.events
        if event.result is not None and event.call.name != SkillName.DONE
    )
    ended = Ended(
        outcome.code,
        outcome.text,
        outcome.evidence,
        calls,
        verdict.success,
        verdict.percent_complete,
        tuple((p.text, p.satisfied) for p in verdict.propositions),
    )
    return ended, list(result.events)


def over_ros(stack: Stack, planner: str, known: set[str], **parameters: object) -> Ended:
    """A run of the nodes."""
    client = stack.client
    client.forget()
    stack.load(known)
    reports = client.listen(SkillReport, "/skills/results", 100)
    updates = client.listen(MemoryUpdate, "/memory/updates", 1000)
    verdicts = client.listen(Evaluation, "/evaluation/result", 10)
    with running("task_planner", episode=stack.path, planner=planner, **parameters):
        result = Instructions(client).follow(agents=list(stack.agents))
        client.wait(lambda: verdicts, "the verdict")
    stack.told = sorted(map(line, (*reports, *updates)))
    # Parts of Rearrange are reported besides the whole.
    whole = [r for r in reports if not r.part_of]
    verdict = verdicts[-1]
    return Ended(
        InstructionCode(result.code),
        result.text,
        {item.key: item.value for item in result.evidence},
        tuple((r.agent, r.call, int(r.code), r.text) for r in whole),
        verdict.status == Evaluation.SUCCEEDED,
        pytest.approx(verdict.percent_complete),
        tuple((p.text, p.satisfied) for p in verdict.propositions),
    )


def line(message: SkillReport | MemoryUpdate) -> str:
    """What a skill or the memory told, for whom a test has failed."""
    told = (
        f"{message.agent} {message.call}: {message.text}"
        if isinstance(message, SkillReport)
        else f"{message.source}: "
        + "; ".join(f"{o.kind} {o.entity.name} {o.entity.description}" for o in message.operations)
    )
    return f"{stamp_seconds(message.header.stamp):9.2f} {told}"


def replies(events: Sequence[Event], *, bare: bool) -> list[str]:
    """The calls of a run as a model would reply them, in the order in which agents are asked."""
    thought = "" if bare else f"{THOUGHT}\n"
    return [f"{thought}{e.call}\n{END_OF_TURN}" for e in events if e.result is None]


def with_captions(said: Sequence[str], agents: int) -> list[str]:
    """The same where a description of each picture comes first; all agents decide at first."""
    rest = [text for reply in said[agents:] for text in ("A room.", reply)]
    return [*["A room."] * agents, *said[:agents], *rest]


def model_replies(stack: Stack, planner: str) -> list[str]:
    if paper_replies and (said := paper_replies.of(stack, planner)):
        return said
    part = PLANNERS.get(planner)
    said = replies(stack.expert_run[1], bare=part.asks.bare_replies)
    return with_captions(said, len(stack.agents)) if part.reads_pictures({}) else said


@pytest.mark.parametrize(("world", "planner"), CASES)
def test_a_planner_does_the_same_over_ros_and_in_process(stack: Stack, planner: str) -> None:
    part = PLANNERS.get(planner)
    options: dict[str, str] = {}
    parameters: dict[str, str] = {}
    model = ""
    if part.needs.model:
        model = script(stack.folder / f"{planner}.txt", *model_replies(stack, planner))
        parameters["model"] = model
    if any(option.name == "traces" for option in part.options):
        path = stack.folder / f"{planner}_traces.db"
        options["traces"] = parameters["traces"] = str(path)
        with TraceStore(path) as store:
            store.add([SolvedTask("Bring the book to the kitchen.", "Navigate[book_0]")])
    if paper_replies:
        taught = paper_replies.options_of(stack, planner)
        options |= taught
        parameters |= taught
    expected, _ = in_process(stack, PlannerChoice(planner, options=options), model)
    found = over_ros(stack, planner, stack.known_at_first, **parameters)
    assert (found.code, found.text) == (expected.code, expected.text)
    costs = found.evidence.keys() - expected.evidence.keys()
    assert bool(costs) is part.needs.model
    evidence = {key: text for key, text in found.evidence.items() if key not in costs}
    assert replace(found, evidence=evidence) == expected, "\n".join(("over ROS:", *stack.told))
    assert expected.code is InstructionCode.DONE
    fails = paper_replies is not None and paper_replies.ends_early(stack, planner)
    assert expected.success is not fails
    stack.passed = True
