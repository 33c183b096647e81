"""The evaluator node in a process of its own, judging states that the tests or a bridge publish."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bridge_harness import LATCHED, TIMEOUT_S, Client, bridge, write_world
from node_processes import running
from planner_msgs.msg import Evaluation, WorldGraph
from planner_msgs.msg import WorldState as WorldMessage
from std_srvs.srv import Trigger

from planner.command_line import EXIT_CONFIGURATION
from planner.replay.bag import Bag
from planner.replay.live import live_verdicts
from planner.ros import qos
from planner.ros.memory_messages import GraphMessages
from planner.ros.sightings import StateMessages
from planner.world.belief import Belief, BeliefNode
from planner.world.episode import Criteria, Episode
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.state import UpdateEncoder, WorldState
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

# The cup, and after it the apple, to the other table.
GOAL = {
    "propositions": [
        {"function_name": "is_on_top", "args": {"objects": [name], "receptacles": ["table_1"]}}
        for name in ("cup_0", "apple_0")
    ],
    "constraints": [{"type": "TemporalConstraint", "edges": [[0, 1]]}],
}


@pytest.fixture
def task(tmp_path: Path, small_house: House, small_episode: Episode) -> Path:
    episode = small_episode.model_copy(update={"evaluation": GOAL})
    return write_world(tmp_path, small_house, episode)


class World:
    """Publishes states as the bridge does: latched, a keyframe and then changes."""

    def __init__(self, client: Client, house: House, episode: Episode) -> None:
        backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
        backend.reset(house, episode, 0)
        state = backend.world_state()
        assert state is not None
        self.start: WorldState = state
        self.now: WorldState = state
        self._client = client
        self._updates, self._messages = UpdateEncoder(), StateMessages()
        self._publisher = client.node.create_publisher(WorldMessage, "/world/state", qos.TRUTH)
        self._forgets = False

    def forget(self) -> None:
        """From now on keeps no more than the newest state, whole, for those who join."""
        self._client.node.destroy_publisher(self._publisher)
        kind, topic = WorldMessage, "/world/state"
        self._publisher = self._client.node.create_publisher(kind, topic, LATCHED)
        self._forgets = True

    def publish(self, *, lost: bool = False) -> None:
        update = self._updates.encode(self.now, keyframe=self._forgets)
        if lost:
            return
        self._publisher.publish(self._messages.message(update))
        # The bridge's states are a tick apart.
        self._client.idle(0.1)

    def repeat(self) -> None:
        """The newest state once more, whole."""
        update = self._updates.repeat()
        assert update is not None
        self._publisher.publish(self._messages.message(update))

    def put(self, name: str, x: float, y: float, z: float, *, lost: bool = False) -> None:
        """Moves a thing and lets ten simulation steps pass."""
        moved = replace(self.now.entities[name], pose=Pose.planar(x, y, 0.0, z))
        self.now = replace(
            self.now,
            stamp_s=self.now.stamp_s + 0.1,
            step=self.now.step + 10,
            revision=self.now.revision + 1,
            entities={**self.now.entities, name: moved},
        )
        self.publish(lost=lost)

    def lose(self, name: str) -> None:
        """An entity is no longer in the state."""
        left = {n: entity for n, entity in self.now.entities.items() if n != name}
        self.now = replace(self.now, step=self.now.step + 10, entities=left)
        self.publish()

    def begin_again(self) -> None:
        self.now = self.start
        self.publish()


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def world(client: Client, small_house: House, small_episode: Episode) -> World:
    return World(client, small_house, small_episode)


@pytest.fixture
def place(small_house: House) -> tuple[float, float, float]:
    table = small_house.furniture_by_name["table_1"]
    return (table.x_m, table.y_m, table.surfaces[0].center[2])


def on_table(world: World, name: str, place: tuple[float, float, float], dy: float) -> None:
    x, y, z = place
    world.put(name, x, y + dy, z)


def latest(client: Client, heard: list[Any], fits: Callable[[Any], bool]) -> Any:
    return client.wait(lambda: next((m for m in reversed(heard) if fits(m)), None), "an evaluation")


def test_a_task_is_followed_and_judged_when_it_is_said_to_be_over(
    task: Path, client: Client, world: World, place: tuple[float, float, float]
) -> None:
    heard = client.listen(Evaluation, "/evaluation")
    world.publish()
    with running("evaluator", episode=task) as process:
        first = latest(client, heard, lambda m: len(m.propositions) == 2)
        assert (first.status, first.percent_complete) == (Evaluation.RUNNING, 0.0)
        assert first.propositions[0].text == "cup_0 on top of table_1"
        assert first.propositions[0].first_step == -1
        on_table(world, "cup_0", place, -0.2)
        half = latest(client, heard, lambda m: m.percent_complete == 0.5)
        assert half.propositions[0].satisfied
        assert half.propositions[1].reason == "never"
        assert "apple_0" in half.explanation
        on_table(world, "apple_0", place, 0.2)
        latest(client, heard, lambda m: m.percent_complete == 1.0)
        answer = client.call(Trigger, "/evaluation/finish")
        assert answer.success
        assert answer.message.startswith("success  percent_complete: 1.00  sim_steps: 20")
        # What happens afterwards is not part of the task, and the verdict stays for late joiners.
        world.put("cup_0", 1.5, 1.5, 0.0)
        verdict = client.hear(Evaluation, "/evaluation/result", LATCHED)
        assert (verdict.status, verdict.percent_complete) == (Evaluation.SUCCEEDED, 1.0)
        assert (verdict.scoring, verdict.explanation, verdict.sim_step) == ("strict", "", 20)
        assert [p.first_step for p in verdict.propositions] == [10, 20]
        facts = (verdict.variant, verdict.seen_from_step, verdict.unseen_states)
        assert facts == ("boxes", 0, 0)
        assert client.call(Trigger, "/evaluation/finish").message == answer.message
        # The same episode from its beginning is another run.
        world.begin_again()
        on_table(world, "apple_0", place, 0.2)
        on_table(world, "cup_0", place, -0.2)
        answer = client.call(Trigger, "/evaluation/finish")
        assert "failure  percent_complete: 0.50" in answer.message
        assert '"apple_0 on top of table_1" was done before "cup_0' in answer.message
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 0


def believed(state: WorldState, stamp_s: float) -> Belief:
    """A state as robots that have seen all of it believe it."""
    nodes = {}
    for entity in state.entities.values():
        x, y, z = entity.pose.position_m
        nodes[entity.name] = BeliefNode(
            name=entity.name,
            kind=entity.kind,
            class_name=entity.class_name,
            entity_id=entity.instance_id,
            position_m=(x, y, z + entity.size_m[2] / 2),
            size_m=entity.size_m,
            room=entity.room,
            affordances=entity.affordances,
        )
    return Belief(stamp_s, state.revision, nodes)


def test_a_world_that_nobody_knows_is_judged_as_it_is_believed(
    task: Path, client: Client, world: World, place: tuple[float, float, float]
) -> None:
    heard = client.listen(Evaluation, "/evaluation")
    graphs = client.node.create_publisher(WorldGraph, "/world_graph", LATCHED)
    messages = GraphMessages()
    # The layout, before anything was seen at the time of day.
    graphs.publish(messages.message(believed(world.now, 0.0)))
    with running("evaluator", episode=task, world="perceived") as process:
        latest(client, heard, lambda m: len(m.propositions) == 2)
        graphs.publish(messages.message(believed(world.now, 500.0)))
        latest(client, heard, lambda m: m.header.stamp.sec == 500)
        for n, (name, dy) in enumerate((("cup_0", -0.2), ("apple_0", 0.2)), start=1):
            on_table(world, name, place, dy)
            graphs.publish(messages.message(believed(world.now, 500.0 + n)))
            latest(client, heard, lambda m, n=n: m.percent_complete == n / 2)
        assert client.call(Trigger, "/evaluation/finish").message.startswith("success")
        verdict = client.hear(Evaluation, "/evaluation/result", LATCHED)
        assert (verdict.variant, verdict.start_s) == ("perceived", 500.0)
        assert [p.first_step for p in verdict.propositions] == [30, 60]
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT_S) == 0
    with running("evaluator", world="perceived") as process:
        assert process.wait(TIMEOUT_S) == EXIT_CONFIGURATION
        said = process.log
        assert "set the parameter `episode`" in said


def test_a_memory_that_comes_back_begins_no_other_run(
    task: Path, client: Client, world: World, place: tuple[float, float, float]
) -> None:
    heard = client.listen(Evaluation, "/evaluation")
    results = client.listen(Evaluation, "/evaluation/result", LATCHED)
    graphs = client.node.create_publisher(WorldGraph, "/world_graph", LATCHED)
    messages = GraphMessages()

    def tell(stamp_s: float, state: WorldState) -> None:
        graphs.publish(messages.message(believed(state, stamp_s)))

    tell(500.0, world.now)
    with running("evaluator", episode=task, world="perceived"):
        latest(client, heard, lambda m: len(m.propositions) == 2)
        on_table(world, "cup_0", place, -0.2)
        tell(501.0, world.now)
        latest(client, heard, lambda m: m.percent_complete == 0.5)
        stored = world.now
        # Nothing has changed at 502.3 s, so that the store is half a second behind.
        tell(502.3, stored)
        latest(client, heard, lambda m: m.header.stamp.sec == 502)
        tell(501.8, stored)
        on_table(world, "apple_0", place, 0.2)
        tell(504.0, world.now)
        done = latest(client, heard, lambda m: m.percent_complete == 1.0)
        assert [p.first_step for p in done.propositions] == [30, 120]
        answer = client.call(Trigger, "/evaluation/finish")
        assert answer.message.startswith("success")
        # After the verdict: from a store, then without one.
        tell(503.5, world.now)
        tell(0.0, world.start)
        client.idle(1.0)
        assert client.call(Trigger, "/evaluation/finish").message == answer.message
        assert heard[-1].status == Evaluation.SUCCEEDED
        assert [m.sim_step for m in results] == [120]


@pytest.mark.parametrize("gives_up", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_verdict_reaches_a_recorder_that_is_delayed_while_the_judge_ends(
    task: Path, tmp_path: Path, client: Client, world: World, gives_up: bool
) -> None:
    """Ended before or after it has given up waiting for the recorder."""
    heard = client.listen(Evaluation, "/evaluation")
    results = client.listen(Evaluation, "/evaluation/result")
    world.publish()
    folder = tmp_path / "bag"
    with (
        running("recorder", folder=folder) as recorder,
        running("evaluator", episode=task) as process,
    ):
        latest(client, heard, lambda m: len(m.propositions) == 2)
        client.wait(lambda: _listeners(client, "/evaluation/result") == 2, "a recorder")
        # Until the judge knows it, too: the middleware matches one topic after another.
        client.idle(1.0)
        recorder.send_signal(signal.SIGSTOP)
        try:
            asker = client.node.create_client(Trigger, "/evaluation/finish")
            client.wait(asker.service_is_ready, "the judge")
            answer = asker.call_async(Trigger.Request())
            # As the narrator does, which ends the run once it hears the verdict.
            client.wait(lambda: results, "the verdict")
            if gives_up:
                client.wait(answer.done, "the answer")
            process.send_signal(signal.SIGINT)
            client.idle(1.0)
        finally:
            recorder.send_signal(signal.SIGCONT)
        assert process.wait(TIMEOUT_S) == 0
        client.idle(0.5)
        recorder.send_signal(signal.SIGINT)
        assert recorder.wait(TIMEOUT_S) == 0
    (verdict,) = live_verdicts(Bag(folder))
    assert (verdict.episode_id, verdict.success) == ("small", False)


def _listeners(client: Client, topic: str) -> int:
    return len(client.node.get_subscriptions_info_by_topic(topic))


def test_what_was_achieved_survives_the_death_of_the_node(
    task: Path, tmp_path: Path, client: Client, world: World, place: tuple[float, float, float]
) -> None:
    given = {"episode": task, "store": tmp_path / "latches"}
    heard = client.listen(Evaluation, "/evaluation")
    world.forget()
    world.publish()
    with running("evaluator", **given) as process:
        latest(client, heard, lambda m: len(m.propositions) == 2)
        on_table(world, "cup_0", place, -0.2)
        latest(client, heard, lambda m: m.percent_complete == 0.5)
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT_S)
    heard.clear()
    on_table(world, "apple_0", place, 0.2)
    with running("evaluator", **given) as process:
        latest(client, heard, lambda m: m.percent_complete == 1.0)
        # Without the latches both would have come true in the first state that it saw.
        assert client.call(Trigger, "/evaluation/finish").message.startswith("success")
        verdict = client.hear(Evaluation, "/evaluation/result", LATCHED)
        assert [p.first_step for p in verdict.propositions] == [10, 20]
        assert verdict.unseen_states == 10
        assert not list((tmp_path / "latches").iterdir())


def test_criteria_are_judged_and_survive_the_death_of_the_node(
    tmp_path: Path,
    client: Client,
    world: World,
    place: tuple[float, float, float],
    small_house: House,
    small_episode: Episode,
) -> None:
    # The apple has to be on the table before the cup is, and may be taken away again.
    criteria = Criteria(
        variables={"A": ("apple_0",), "B": ("cup_0",), "T": ("table_1",)},
        intermediate=(("ON", "A", "T"),),
        success=(("ON", "B", "T"),),
    )
    episode = small_episode.model_copy(update={"criteria": criteria})
    task = write_world(tmp_path, small_house, episode)
    given = {"episode": task, "store": tmp_path / "latches"}
    heard = client.listen(Evaluation, "/evaluation")
    world.publish()
    with running("evaluator", **given) as process:
        said = latest(client, heard, lambda m: m.explanation)
        assert said.criteria == "not met"
        assert said.criteria_explanation == said.explanation
        assert said.explanation.startswith("At the end cup_0 is not on table_1.")
        on_table(world, "apple_0", place, 0.2)
        latest(client, heard, lambda m: m.percent_complete == 0.5)
        process.send_signal(signal.SIGKILL)
        process.wait(TIMEOUT_S)
    heard.clear()
    world.put("apple_0", 1.5, 1.5, 0.0)
    on_table(world, "cup_0", place, -0.2)
    with running("evaluator", **given) as process:
        latest(client, heard, lambda m: m.percent_complete == 1.0)
        answer = client.call(Trigger, "/evaluation/finish")
        assert answer.message.startswith("success  percent_complete: 1.00")
        verdict = client.hear(Evaluation, "/evaluation/result", LATCHED)
        assert verdict.criteria == "met"


def test_without_a_goal_it_says_so(
    tmp_path: Path, client: Client, world: World, small_house: House, small_episode: Episode
) -> None:
    path = write_world(tmp_path, small_house, small_episode)
    heard = client.listen(Evaluation, "/evaluation")
    world.publish()
    with running("evaluator", episode=path):
        said = latest(client, heard, lambda m: m.episode_id == "small")
        assert (said.status, len(said.propositions)) == (Evaluation.RUNNING, 0)
        assert said.explanation == "episode small has no goal, so nothing can be judged"
        answer = client.call(Trigger, "/evaluation/finish")
        assert (answer.success, answer.message) == (False, said.explanation)


def test_a_broken_goal_is_reported_at_the_start(
    tmp_path: Path, small_house: House, small_episode: Episode
) -> None:
    goal = {"propositions": [{**GOAL["propositions"][0], "function_name": "is_above"}]}
    broken = small_episode.model_copy(update={"evaluation": goal})
    with running("evaluator", episode=write_world(tmp_path, small_house, broken)) as process:
        assert process.wait(TIMEOUT_S) == EXIT_CONFIGURATION
        output = process.log
    assert "evaluation.propositions.0" in output
    assert "is_above" in output
    assert "Traceback" not in output


def test_the_bridges_states_are_judged_from_the_beginning(task: Path, client: Client) -> None:
    heard = client.listen(Evaluation, "/evaluation")
    with bridge(episode=task, seed=0), running("evaluator", episode=task):
        said = latest(client, heard, lambda m: len(m.propositions) == 2)
        assert said.episode_id == "small"
        assert said.percent_complete == 0.0
        assert said.seen_from_step == 0
        answer = client.call(Trigger, "/evaluation/finish")
        assert answer.message.startswith("failure  percent_complete: 0.00")


def test_a_state_that_was_lost_is_reported_and_nothing_is_judged_by_halves(
    task: Path, client: Client, world: World, place: tuple[float, float, float]
) -> None:
    heard = client.listen(Evaluation, "/evaluation")
    world.publish()
    with running("evaluator", episode=task):
        latest(client, heard, lambda m: len(m.propositions) == 2)
        x, y, z = place
        world.put("cup_0", x, y - 0.2, z, lost=True)
        # A change of a state that the judge lacks.
        on_table(world, "apple_0", place, 0.2)
        heard.clear()
        assert latest(client, heard, lambda m: m.sim_step == 0).percent_complete == 0.0
        world.repeat()
        assert latest(client, heard, lambda m: m.sim_step == 20).unseen_states == 1
        answer = client.call(Trigger, "/evaluation/finish")
        # Both came true in the first state that was seen, so neither was before the other.
        assert "sim_steps: 20" in answer.message


def test_what_the_goal_names_and_is_gone_is_an_error_with_its_name_and_no_verdict(
    task: Path, client: Client, world: World
) -> None:
    heard = client.listen(Evaluation, "/evaluation")
    world.publish()
    with running("evaluator", episode=task) as process, running("memory", episode=task) as memory:
        latest(client, heard, lambda m: len(m.propositions) == 2)
        client.wait(
            lambda: "of an agent, such as" in memory.log, "a memory that has the first state"
        )
        world.lose("book_0")
        latest(client, heard, lambda m: m.sim_step == 10)
        world.lose("cup_0")
        gone = "cup_0, which the goal names, is gone from the world's state at step 20"
        latest(client, heard, lambda m: m.explanation == gone)
        answer = client.call(Trigger, "/evaluation/finish")
        assert (answer.success, answer.message) == (False, gone)
        assert gone in process.log
        client.wait(
            lambda: "cup_0 is gone from the world's state" in memory.log, "the memory's error"
        )
        # It was a state without it; with it the judge goes on.
        world.now = replace(world.start, step=30, stamp_s=0.3)
        world.publish()
        latest(client, heard, lambda m: m.sim_step == 30 and m.explanation != gone)
        assert "percent_complete: 0.00" in client.call(Trigger, "/evaluation/finish").message
