"""Messages that no node of ours sends, on topics between the nodes: dropped, and nobody ends."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bridge_harness import Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Point
from node_processes import running
from planner_msgs.msg import (
    Entity,
    EntityList,
    EntityState,
    Evaluation,
    InstructStatus,
    MemoryUpdate,
    Operation,
    SkillReport,
    WorldGraph,
    WorldGraphEdge,
    WorldGraphNode,
    WorldInfo,
    WorldState,
)
from rclpy.qos import DurabilityPolicy, QoSProfile

from planner.ros import qos
from planner.world import topics
from planner.world.episode import Episode
from planner.world.house import House

NAN = float("nan")
# For each topic one message of each kind of wrong, and who reads it.
WRONG: dict[str, tuple[list[Any], set[str]]] = {
    topics.WORLD_STATE: (
        [
            WorldState(keyframe=True, entities=[EntityState(name="cup_1", relation="beside")]),
            WorldState(keyframe=True, entities=[EntityState(name="cup_1", kind=9)]),
            WorldState(keyframe=True, entities=[EntityState(name="cup_1", openness=NAN)]),
            WorldState(entities=[EntityState(name="agent 0", kind=EntityState.KIND_AGENT)]),
        ],
        {"evaluator", "memory", "console"},
    ),
    topics.INSTRUCT_STATUS: (
        [InstructStatus(state=255), InstructStatus(agents=["agent 0"])],
        {"evaluator", "console", "narrator"},
    ),
    topics.MEMORY_UPDATES: (
        [MemoryUpdate(operations=[Operation(kind=3)])],
        {"task_planner", "narrator"},
    ),
    topics.MEMORY_ENTITIES: (
        [EntityList(entities=[Entity(position=Point(x=1e18))])],
        {"task_planner"},
    ),
    topics.WORLD_INFO: (
        [WorldInfo(agents=["agent 0"], layout="x"), WorldInfo(agents=["../.."], house_json="{")],
        {"skill_executor", "task_planner", "evaluator", "console"},
    ),
    topics.WORLD_GRAPH: (
        [
            WorldGraph(nodes=[WorldGraphNode(name="cup_1", kind=4)]),
            WorldGraph(nodes=[WorldGraphNode(name="agent 0", kind=WorldGraphNode.KIND_AGENT)]),
            WorldGraph(edges=[WorldGraphEdge(child="a", parent="a", relation="on")]),
            WorldGraph(edges=[WorldGraphEdge(child="a", parent="b", relation="by")]),
        ],
        {"skill_executor", "task_planner", "console"},
    ),
    topics.SKILL_RESULTS: (
        [SkillReport(agent="agent_0", code=9999), SkillReport(agent="")],
        {"memory", "console", "narrator"},
    ),
    topics.EVALUATION: ([Evaluation(status=7)], {"console", "narrator"}),
    topics.EVALUATION_RESULT: ([Evaluation(percent_complete=NAN)], {"console", "narrator"}),
}
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


def test_what_is_out_of_bounds_is_dropped_by_every_reader_and_ends_none(
    client: Client, small_house: House, small_episode: Episode, tmp_path: Path
) -> None:
    task = write_world(tmp_path, small_house, small_episode)
    named = {"episode": task}
    nodes: dict[str, dict[str, object]] = {
        "memory": named,
        "skill_executor": named,
        "task_planner": {**named, "planner": "expert"},
        "evaluator": {},
        "console": {"port": 0},
        "recorder": {"folder": tmp_path / "bag"},
        # Waits for the operator, as with a real robot, and listens meanwhile.
        "narrator": {**named, "attended": True, "record": tmp_path},
    }
    heard = client.listen(DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS)

    def droppers() -> set[str]:
        """The nodes that have said that they dropped something."""
        return {
            status.hardware_id
            for message in heard
            for status in message.status
            if status.name.endswith(": callbacks") and status.values[1].value != "0"
        }

    with ExitStack() as stack:
        stack.enter_context(bridge(episode=task))
        running_nodes = {
            name: stack.enter_context(running(name, **given)) for name, given in nodes.items()
        }
        publishers = {
            topic: client.node.create_publisher(type(messages[0]), f"/{topic}", LATCHED)
            for topic, (messages, _) in WRONG.items()
        }
        for topic, (_, readers) in WRONG.items():
            count, wanted = publishers[topic].get_subscription_count, len(readers)
            client.wait(lambda count=count, wanted=wanted: count() >= wanted, topic)

        def unsaid() -> set[tuple[str, str]]:
            """Topics and readers that have said nothing yet of what is wrong on them."""
            return {
                (topic, name)
                for topic, (_, readers) in WRONG.items()
                for name in readers
                if f"{topic} is not read: " not in running_nodes[name].log
            }

        def send() -> bool:
            """Sends again what the newest message of another has taken the place of."""
            for topic in {topic for topic, _ in unsaid()}:
                for message in WRONG[topic][0]:
                    publishers[topic].publish(message)
            client.idle(0.5)
            return not unsaid()

        client.wait(send, f"word of {sorted(unsaid())}")
        everyone = set().union(*(readers for _, readers in WRONG.values()))
        client.wait(lambda: droppers() >= everyone, f"word of {everyone}")
        client.idle(1.0)
        assert {name: node.poll() for name, node in running_nodes.items()} == dict.fromkeys(nodes)
    assert "Traceback" not in "".join(node.log for node in running_nodes.values())
