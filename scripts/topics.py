"""Write docs/topics.md: what the nodes publish and subscribe to, determined from running nodes.

.venv/bin/python scripts/topics.py > docs/topics.md
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.environment import ros_environment

EPISODE = "night_light_0"
PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "bridge": {"episode": EPISODE, "agents": "1", "time_mode": "fast", "idle_time": "hold"},
    "memory": {"updater": "privileged"},
    "skill_executor": {},
    "task_planner": {"planner": "expert"},
    "evaluator": {},
    "narrator": {"episode": EPISODE},
    "tour": {},
}
TIMEOUT_S = 120.0
# Every node has them.
STANDARD = ("/rosout", "/parameter_events")
HEAD = """# Topics

Every topic of our nodes with its type and the QoS that it is published with, as
`scripts/topics.py` found it in the nodes; `test/integration/test_topics.py` compares it with them
and with the running graph. `A` is an agent, `C` a camera (`hand`, `body`). Latched is transient
local: a late subscriber gets the last messages. The recorder subscribes to all of them, the
console to those that its page shows; `planner instruct` and the console publish `/instruct/answer`,
too, and the console `/A/skill/heartbeat`. A world without pictures has `/A/sightings`
instead of the topics of cameras. With the planner `llamar_coela` the task planner publishes what
agents say on `/A/says` (std_msgs/msg/String, reliable, keep last 100) and subscribes to it.
Those of ear and mouth are in [voice.md](voice.md).
Services, actions and what a topic means: [bridge.md](bridge.md) and the docstrings in `nodes/`.

| topic | type | QoS | published by | subscribed to by |
|---|---|---|---|---|
"""


@dataclass
class Row:
    """One topic."""

    types: set[str] = field(default_factory=set)
    offered: set[str] = field(default_factory=set)
    asked: set[str] = field(default_factory=set)
    publishers: set[str] = field(default_factory=set)
    subscribers: set[str] = field(default_factory=set)

    def cells(self, name: str) -> str:
        """The row in the page."""
        qos = self.offered or self.asked
        columns = (self.types, qos, self.publishers, self.subscribers)
        return " | ".join([f"`{name}`", *(", ".join(sorted(column)) for column in columns)])


def main() -> int:
    """Prints the page."""
    environment = ros_environment(os.environ)
    if environment.get("LD_LIBRARY_PATH") != os.environ.get("LD_LIBRARY_PATH"):
        # The linker reads it at process start.
        os.execve(sys.executable, [sys.executable, *sys.argv], environment)  # noqa: S606
    page = sys.stdout
    with redirect_stdout(sys.stderr):
        rows = table()
    page.write(HEAD)
    for name in sorted(rows):
        page.write(f"| {rows[name].cells(name)} |\n")
    return 0


def table() -> dict[str, Row]:
    """The topics by their names in the page."""
    from lifecycle_msgs.msg import TransitionEvent
    from rclpy.lifecycle import LifecycleNode
    from rclpy.qos import QoSProfile

    rows: defaultdict[str, Row] = defaultdict(Row)
    with running_nodes() as nodes:
        for node in nodes:
            for publisher in node.publishers:
                row = rows[general(publisher.topic_name)]
                row.types.add(type_name(publisher.msg_type))
                row.offered.add(qos_words(publisher.qos_profile))
                row.publishers.add(node.get_name())
            for subscription in node.subscriptions:
                row = rows[general(subscription.topic_name)]
                row.types.add(type_name(subscription.msg_type))
                row.asked.add(qos_words(subscription.qos_profile))
                row.subscribers.add(node.get_name())
            if isinstance(node, LifecycleNode):
                # Published by rcl, so no list of the node has it.
                row = rows[f"{node.get_fully_qualified_name()}/transition_event"]
                row.types.add(type_name(TransitionEvent))
                row.offered.add(qos_words(QoSProfile(depth=10)))
                row.publishers.add(node.get_name())
    return {n: row for n, row in rows.items() if n not in STANDARD and "/_" not in n}


@contextmanager
def running_nodes() -> Iterator[list[Any]]:
    """All our nodes in this process, after discovery."""
    import rclpy
    from rclpy.executors import SingleThreadedExecutor

    from planner.evaluation.node import EvaluatorNode
    from planner.memory.node import MemoryNode
    from planner.narrator.node import NarratorNode
    from planner.network import confine
    from planner.planning.node import TaskPlannerNode
    from planner.recorder.node import RecorderNode
    from planner.skills.node import SkillExecutorNode
    from planner.tour.node import TourNode
    from sim_bridge.node import BridgeNode

    confine(os.environ, large_messages=True)
    words = [
        ("-p", f"{node}:{name}:={value}")
        for node, parameters in PARAMETERS.items()
        for name, value in parameters.items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        words.append(("-p", f"recorder:folder:={Path(folder) / 'bag'}"))
        rclpy.init(args=["--ros-args", *(word for pair in words for word in pair)])
        bridge, recorder = BridgeNode(), RecorderNode()
        above = [MemoryNode(), SkillExecutorNode(), TaskPlannerNode()]
        managed = [*above, EvaluatorNode()]
        for node in managed:
            node.start()
        nodes = [bridge, *managed]
        executor = SingleThreadedExecutor()
        for node in nodes:
            executor.add_node(node)
        deadline = time.monotonic() + TIMEOUT_S
        while not all(map(has_met_an_agent, above)):
            if time.monotonic() > deadline:
                raise TimeoutError("not all nodes found the agent")
            bridge.run_due()
            executor.spin_once(timeout_sec=0.01)
        # These would act if they were spun; the recorder subscribes to everything.
        nodes += [NarratorNode(), TourNode(), Published("recorder", list(recorder.publishers))]
        yield nodes
        for node in nodes[::-1]:
            node.destroy_node()
        recorder.destroy_node()
        rclpy.shutdown()


@dataclass
class Published:
    """A node represented by its publishers only."""

    name: str
    publishers: list[Any]
    subscriptions: tuple[Any, ...] = ()

    def get_name(self) -> str:
        """As a node's."""
        return self.name

    def destroy_node(self) -> None:
        """As a node's; the real one is destroyed where it was created."""


def has_met_an_agent(node: Any) -> bool:
    """Whether a node has its topics for each agent, which it creates at once."""
    ends = (*node.publishers, *node.subscriptions)
    return any(end.topic_name.startswith("/agent_") for end in ends)


def general(name: str) -> str:
    """A topic's name with `A` for the agent and `C` for the camera."""
    words = name.split("/")
    if words[1].startswith("agent_"):
        words[1] = "A"
        words = ["C" if word in ("hand", "body") else word for word in words]
    return "/".join(words)


def type_name(message: type) -> str:
    """The name of a message's type, as `ros2 topic type` prints it."""
    return f"{message.__module__.split('.')[0]}/msg/{message.__name__}"


def qos_words(profile: Any) -> str:
    """A profile in the page's words."""
    words = [profile.reliability.name.lower().replace("_", " ")]
    if profile.durability.name == "TRANSIENT_LOCAL":
        words.append("latched")
    words.append(f"keep last {profile.depth}")
    if profile.liveliness.name == "MANUAL_BY_TOPIC":
        words.append(f"deadline and liveliness {profile.deadline.nanoseconds * 1e-9:g} s")
    return ", ".join(words)


if __name__ == "__main__":
    sys.exit(main())
