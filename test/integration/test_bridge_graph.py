"""The graph world over ROS: a foreign graph file as house, primitives, and the edges as truth."""

from collections.abc import Iterator
from pathlib import Path

import graph_kitchen as kitchen
import pytest
from bridge_harness import Bridge, Client, bridge
from diagnostic_msgs.msg import DiagnosticArray
from node_processes import ending, running
from planner_msgs.srv import LoadEpisode

from planner.command_line import EXIT_CONFIGURATION
from planner.episodes.episode_file import write_episode
from planner.world.episode import AgentPlacement
from planner.world.house_checks import load_house
from planner.world.primitive import PrimitiveCode
from planner.world.vocabulary import AgentKind, Relation

AGENTS = (
    AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT),
    AgentPlacement(uid="agent_1", kind=AgentKind.HUMAN),
)


# Before the fixtures: one bridge runs in a domain.
def test_a_bridge_ends_with_the_reason_why_a_graph_is_refused(tmp_path: Path) -> None:
    document = kitchen.graph()
    document["nodes"][4]["states"] = ["SPARKLING"]
    bad = kitchen.written(tmp_path, document)
    made = Bridge(backend="graph", house=bad)
    with ending(made.process):
        assert made.ended() == EXIT_CONFIGURATION
    errors = [line for line in made.log.splitlines() if str(bad) in line]
    assert len(errors) == 1, made.log
    assert "nodes.4.states" in errors[0]
    assert "SPARKLING" in errors[0]
    assert "Traceback" not in made.log


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kitchen.written(tmp_path_factory.mktemp("graph"))


@pytest.fixture(scope="module")
def shared(graph: Path) -> Iterator[Client]:
    # Not as fast as it can: a walk must outlast a request that comes during it.
    with bridge(backend="graph", house=graph, rate=4.0):
        made = Client()
        yield made
        made.close()


@pytest.fixture
def client(shared: Client, graph: Path) -> Iterator[Client]:
    answer = shared.call(LoadEpisode, "/world/load", house=str(graph))
    assert answer.success, answer.message
    yield shared
    shared.forget()


def test_primitives_move_edges_over_ros(client: Client) -> None:
    before = client.state()
    fridge = before.entities["fridge_10"].box.center_m
    pear = before.entities["pear_14"]
    assert (pear.parent, pear.relation) == ("fridge_10", Relation.WITHIN)
    assert client.do("navigate", fridge).code == PrimitiveCode.SUCCESS
    assert client.do("pick", pear.box.center_m).code == PrimitiveCode.CLOSED
    assert client.do("open", fridge).code == PrimitiveCode.SUCCESS
    assert client.do("pick", pear.box.center_m).code == PrimitiveCode.SUCCESS
    held = client.wait(
        lambda: (now := client.state()).entities["agent_0"].holding and now, "the pear"
    )
    assert held.entities["pear_14"].relation is Relation.HELD
    assert held.entities["fridge_10"].openness == 1.0


def test_a_memory_that_needs_pictures_says_that_there_are_none(client: Client, graph: Path) -> None:
    heard = client.listen(DiagnosticArray, "/diagnostics")

    def problems() -> list[str]:
        statuses = [s for m in heard for s in m.status if s.name == "memory: entities"]
        return [s.message for s in statuses if "no pictures" in s.message]

    with running("memory", house=graph, updater="learned") as memory:
        client.wait(problems, "the memory's problem")
        assert problems()[0] == "this world has no pictures, which updater:=learned needs"
    # The log is complete once the process has ended.
    assert memory.log.count("has no pictures") == 1


def test_a_graph_that_cannot_be_loaded_leaves_the_world_as_it_is(
    client: Client, tmp_path: Path
) -> None:
    fridge = client.state().entities["fridge_10"].box.center_m
    walk = client.start("navigate", fridge)
    document = kitchen.graph()
    document["edges"].append(kitchen.edge(kitchen.PEAR, "ON", 99))
    bad = kitchen.written(tmp_path, document)
    answer = client.call(LoadEpisode, "/world/load", house=str(bad))
    assert not answer.success
    assert answer.message.startswith(f"{bad}: edges.{len(document['edges']) - 1}"), answer.message
    assert "99" in answer.message
    assert "\n" not in answer.message
    assert walk.result().code == PrimitiveCode.SUCCESS


def test_a_world_loaded_while_agents_act_ends_what_they_do(client: Client, tmp_path: Path) -> None:
    fridge = client.state().entities["fridge_10"].box.center_m
    walk = client.start("navigate", fridge)
    document = kitchen.graph()
    document["nodes"] = [n for n in document["nodes"] if n["id"] != kitchen.PEAR]
    document["edges"] = [e for e in document["edges"] if e["from_id"] != kitchen.PEAR]
    other = kitchen.written(tmp_path, document)
    answer = client.call(LoadEpisode, "/world/load", house=str(other))
    assert answer.success, answer.message
    assert walk.result().code == PrimitiveCode.CANCELED
    client.wait(lambda: "pear_14" not in client.state().entities, "the other world")
    assert client.do("navigate", fridge).code == PrimitiveCode.SUCCESS


def test_one_of_two_agents_gets_a_thing(client: Client, graph: Path, tmp_path: Path) -> None:
    episode = kitchen.task(load_house(graph)).model_copy(
        update={"agents": AGENTS, "house": str(graph)}
    )
    path = write_episode(episode, tmp_path)
    answer = client.call(LoadEpisode, "/world/load", episode=str(path))
    assert answer.success, answer.message
    client.wait(lambda: "agent_1" in client.state().entities, "the second agent")
    bowl = client.state().entities["bowl_12"].box.center_m
    walks = [client.start("navigate", bowl, agent.uid) for agent in AGENTS]
    assert [walk.result().code for walk in walks] == [PrimitiveCode.SUCCESS] * 2
    picks = [client.start("pick", bowl, agent.uid, tolerance_m=0.05) for agent in AGENTS]
    codes = {pick.result().code for pick in picks}
    # The second one's pick began before the first one's ended, or after.
    lost = codes - {PrimitiveCode.SUCCESS}
    assert len(codes) == 2
    assert lost <= {PrimitiveCode.HELD_BY_OTHER, PrimitiveCode.NOTHING_THERE}
    holders = [a.uid for a in AGENTS if "bowl_12" in client.state().entities[a.uid].hands]
    assert len(holders) == 1
