"""A real bridge in its own process, and a client that talks to it as any other node would."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rclpy
from action_msgs.msg import GoalStatus
from diagnostic_msgs.msg import DiagnosticStatus
from node_processes import Node, ending
from planner_msgs.action import ExecutePrimitive
from planner_msgs.msg import WorldState as WorldMessage
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_srvs.srv import Trigger

from planner.ros import qos
from planner.world.episode import Episode
from planner.world.house import House, write_house
from planner.world.state import UpdateDecoder, WorldState
from planner.world.wire import state_update

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60.0
LATCHED = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
BEST_EFFORT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)


def write_world(folder: Path, house: House, episode: Episode) -> Path:
    """Writes a house and an episode in it; returns the episode's file."""
    write_house(house, folder / f"{house.name}.json")
    document = episode.model_dump(mode="json")
    document["house"] = str(folder / f"{house.name}.json")
    path = folder / f"{episode.episode_id}.episode.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


class Bridge:
    """The bridge's process."""

    def __init__(
        self,
        environment: dict[str, str] | None = None,
        *,
        namespace: str = "/",
        **parameters: object,
    ) -> None:
        self.process = Node("bridge", environment, namespace=namespace, **parameters)

    @property
    def log(self) -> str:
        return self.process.log

    def ready(self) -> Bridge:
        deadline = time.monotonic() + TIMEOUT_S
        while "time is" not in self.log:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.02)
        return self

    def ended(self, number: int | None = None) -> int:
        """Sends a signal, if one is given, and returns the exit status."""
        if number is not None:
            self.process.send_signal(number)
        return self.process.wait(TIMEOUT_S)


@contextmanager
def bridge(
    environment: dict[str, str] | None = None, *, namespace: str = "/", **parameters: object
) -> Iterator[Bridge]:
    """A bridge that is ready, and gone afterwards."""
    made = Bridge(environment, namespace=namespace, **parameters)
    with ending(made.process):
        yield made.ready()


class Client:
    """A node of its own context that waits for what should come."""

    def __init__(self, name: str = "client") -> None:
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node(name, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self._subscriptions: list[Any] = []
        self._states: list[WorldState] = []
        self._updates = UpdateDecoder()
        self._actions: dict[str, ActionClient] = {}

    def close(self) -> None:
        self.executor.shutdown()
        # rclpy leaves these be, and with them the whole participant until they are collected.
        for waitable in [w for w in self.node.waitables if isinstance(w, ActionClient)]:
            waitable.destroy()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def wait(
        self, met: Callable[[], Any], what: str = "something", limit: float = TIMEOUT_S
    ) -> Any:
        deadline = time.monotonic() + limit
        while not (value := met()):
            if time.monotonic() > deadline:
                nodes = ", ".join(sorted(self.node.get_node_names()))
                raise AssertionError(f"{what} did not come within {limit} s; nodes: {nodes}")
            self.executor.spin_once(timeout_sec=0.02)
        return value

    def idle(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=0.02)

    def listen(self, kind: type, topic: str, qos: Any = 10) -> list[Any]:
        """A list that fills with the messages of a topic, until `forget`."""
        heard: list[Any] = []
        self._subscriptions.append(self.node.create_subscription(kind, topic, heard.append, qos))
        return heard

    def forget(self) -> None:
        """Ends all listening."""
        while self._subscriptions:
            self.node.destroy_subscription(self._subscriptions.pop())

    def hear(self, kind: type, topic: str, qos: Any = 10) -> Any:
        """The next message of a topic."""
        heard: list[Any] = []
        subscription = self.node.create_subscription(kind, topic, heard.append, qos)
        self.wait(lambda: heard, topic)
        self.node.destroy_subscription(subscription)
        return heard[-1]

    def receipts(self, agent: str = "agent_0") -> list[DiagnosticStatus]:
        """A list that fills with an agent's receipts from now on."""
        heard = self.listen(DiagnosticStatus, f"/{agent}/safety/receipts", 1000)
        # A publisher that we have found has not yet found us. The answer is to no question.
        self.wait(
            lambda: (
                not self.call(Trigger, f"/{agent}/safety/refuse").success
                and self.idle(0.2) is None
                and heard
            ),
            "a receipt",
        )
        heard.clear()
        return heard

    def state(self) -> WorldState:
        """Ground truth now: the first call gets the beginning, then the present."""
        if not self._states:
            self.node.create_subscription(
                WorldMessage, "/world/state", self._on_state, qos.TRUTH_INPUT
            )
            self.wait(lambda: self._states, "/world/state")
        self.idle(0.5)
        return self._states[-1]

    def _on_state(self, message: WorldMessage) -> None:
        state = self._updates.decode(state_update(message))
        if state is not None:
            self._states[:] = [state]

    def call(self, kind: type, name: str, **fields: object) -> Any:
        """Calls a service, and again every ten seconds.

        The middleware drops an answer if it has not matched its reader within a tenth of a second.
        """
        client = self.node.create_client(kind, name)
        self.wait(client.service_is_ready, name)
        began_s, asked = time.monotonic(), []

        def answered() -> Any:
            if time.monotonic() - began_s >= 10.0 * len(asked):
                asked.append(client.call_async(kind.Request(**fields)))
            return next((answer for answer in asked if answer.done()), None)

        answer = self.wait(answered, f"the answer of {name}")
        self.node.destroy_client(client)
        return answer.result()

    def action(self, agent: str = "agent_0") -> ActionClient:
        if agent not in self._actions:
            made = ActionClient(self.node, ExecutePrimitive, f"/{agent}/primitive")
            self._actions[agent] = made
            self.wait(made.server_is_ready, f"the action of {agent}")
        return self._actions[agent]

    def start(self, name: str, target: Any = None, agent: str = "agent_0", **more: Any) -> Pursuit:
        """Sends a goal and returns it once accepted."""
        goal = ExecutePrimitive.Goal(name=name, heading_rad=math.nan, standoff_m=math.nan)
        goal.target.header.frame_id = more.pop("frame", "map")
        if target is not None:
            goal.target.point.x, goal.target.point.y, goal.target.point.z = map(float, target)
        for field, value in more.items():
            setattr(goal, field, value)
        pursuit = Pursuit(self)
        sent = self.action(agent).send_goal_async(goal, feedback_callback=pursuit.feedback.append)
        self.wait(sent.done, "the goal's acceptance")
        pursuit.handle = sent.result()
        assert pursuit.handle.accepted
        return pursuit

    def do(self, name: str, target: Any = None, agent: str = "agent_0", **more: Any) -> Any:
        """Carries out a primitive; returns its result message."""
        return self.start(name, target, agent, **more).result()


def refusals(receipts: list[DiagnosticStatus]) -> list[DiagnosticStatus]:
    """The receipts of commands that were refused."""
    return [receipt for receipt in receipts if receipt.level == DiagnosticStatus.WARN]


class Pursuit:
    """A goal under way."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.handle: Any = None
        self.feedback: list[Any] = []
        self.status = GoalStatus.STATUS_UNKNOWN

    def result(self) -> Any:
        asked = self.handle.get_result_async()
        self.client.wait(asked.done, "the goal's result")
        self.status = asked.result().status
        return asked.result().result

    def cancel(self) -> None:
        asked = self.handle.cancel_goal_async()
        self.client.wait(asked.done, "the cancel's answer")


@contextmanager
def asking_bridge(folder: Path, house: House, episode: Episode) -> Iterator[Client]:
    """A client of a simulator's bridge that asks before hands do anything, as before a robot."""
    safety = folder / "safety.yaml"
    safety.write_text("version: 1\napproval: {where: always, timeout_s: 300.0}\n")
    with bridge(episode=write_world(folder, house, episode), safety_config=safety):
        made = Client()
        yield made
        made.close()
