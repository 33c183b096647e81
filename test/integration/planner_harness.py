"""Our nodes as processes, a client of /instruct, and the task planner without other nodes."""

from __future__ import annotations

import signal
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bridge_harness import Client
from node_processes import Node
from planner_msgs.action import ExecuteSkill, FollowInstruction
from planner_msgs.msg import WorldGraph
from rclpy.action import ActionClient, ActionServer
from rclpy.qos import DurabilityPolicy, QoSProfile
from unique_identifier_msgs.msg import UUID

from planner.ros.goal_server import ActionPeers, accept_timeout_s
from planner.ros.memory_messages import GraphMessages
from planner.world.belief import Belief, BeliefNode
from planner.world.house import House, write_house
from planner.world.vocabulary import EntityKind, Relation

ROOT = Path(__file__).resolve().parents[2]
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Process:
    """One of our nodes in its own process; `restart` after a kill."""

    def __init__(self, executable: str, **parameters: object) -> None:
        self._make = partial(Node, executable, **parameters)
        self._processes: list[Node] = []
        self.start()

    def start(self) -> None:
        """Starts it, anew where it has ended; the log goes on."""
        self.process = self._make()
        self._processes.append(self.process)

    @property
    def log(self) -> str:
        return "".join(process.log for process in self._processes)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(30)


class Instructions:
    """A client of /instruct."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.action = ActionClient(client.node, FollowInstruction, "/instruct")
        client.wait(self.action.server_is_ready, "/instruct")
        self.feedback: list[Any] = []

    def send(self, instruction: str = "", **fields: Any) -> Any:
        """Sends until a planner accepts: one that was killed may be listed for a while.

        Under one id, as the product's client does: if only the acceptance was lost, the instruction
        is carried out already, and another one would be refused as BUSY.
        """
        goal = FollowInstruction.Goal(instruction=instruction, **fields)
        number = UUID(uuid=list(uuid.uuid4().bytes))
        ends = ActionPeers(self.client.node, "/instruct")
        while True:
            timeout_s, began_s = accept_timeout_s(ends.servers()), time.monotonic()
            sent = self.action.send_goal_async(
                goal,
                feedback_callback=lambda m: self.feedback.append(m.feedback),
                goal_uuid=number,
            )
            self.client.wait(
                lambda s=sent, p=timeout_s, b=began_s: s.done() or time.monotonic() > b + p,
                "acceptance",
            )
            if sent.done():
                return sent.result()
            # The client accepts one answer for an id, and forgets a canceled one when it spins.
            sent.cancel()
            self.client.idle(0.1)

    def result(self, handle: Any, limit: float = 120.0) -> tuple[Any, int]:
        asked = handle.get_result_async()
        self.client.wait(asked.done, "the end of the instruction", limit)
        return asked.result().result, asked.result().status

    def follow(self, instruction: str = "", **fields: Any) -> Any:
        return self.result(self.send(instruction, **fields))[0]


# Starts the node; gives its process and the list that gets when each call began, and the call.
Start = Callable[..., tuple[Process, list[Any]]]


@contextmanager
def planner_alone(folder: Path, small_house: House, client: Client) -> Iterator[Start]:
    """The node with a body that does everything at once and a memory that sees it."""
    house = folder / "small.json"
    write_house(small_house, house)
    graph = client.node.create_publisher(WorldGraph, "/world_graph", LATCHED)
    messages, begun = GraphMessages(), list[Any]()
    made: list[Process] = []
    servers = []

    def serve(goal: Any) -> Any:
        begun.append((time.monotonic(), goal.request.call))
        goal.succeed()
        return ExecuteSkill.Result(code=0, text="Successful execution!")

    def start(*, memory: bool = True, **parameters: object) -> tuple[Process, list[Any]]:
        if memory:
            graph.publish(messages.message(belief_of_house(small_house)))
        servers.append(ActionServer(client.node, ExecuteSkill, "/agent_0/skill", serve))
        made.append(Process("task_planner", house=house, **parameters))
        return made[-1], begun

    try:
        yield start
    finally:
        statuses = [process.stop() for process in made]
        for server in servers:
            server.destroy()
    assert statuses == [0] * len(made), "".join(process.log for process in made)


def belief_of_house(house: House) -> Belief:
    nodes = {
        piece.name: BeliefNode(
            piece.name,
            EntityKind.FURNITURE,
            piece.class_name,
            100 + number,
            (piece.x_m, piece.y_m, 0.4),
            room=piece.room,
            parent=piece.room,
            description=piece.class_name,
        )
        for number, piece in enumerate(house.furniture)
    }
    nodes["cup_0"] = BeliefNode(
        "cup_0",
        EntityKind.OBJECT,
        "cup",
        150,
        (2.2, 3.2, 0.8),
        parent="table_0",
        relation=Relation.ON,
    )
    nodes["agent_0"] = BeliefNode(
        "agent_0", EntityKind.AGENT, "robot", None, (1.5, 2.0, 0.0), room="kitchen_0"
    )
    return Belief(1.0, 1, nodes)


def script(path: Path, *replies: str) -> str:
    path.write_text("\n\n".join(replies))
    return f"scripted:{path}"
