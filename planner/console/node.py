"""Node `console`: serves the page of the running stack."""

from __future__ import annotations

import gc
import json
import math
import os
import threading
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from nav_msgs.msg import OccupancyGrid
from planner_msgs.msg import (
    ApprovalQuestion,
    Evaluation,
    InstructStatus,
    PlannerTrace,
    SkillReport,
    WorldGraph,
    WorldInfo,
    WorldState,
)
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import Image
from std_msgs.msg import Bool

from planner.console.access import (
    DEFAULT_PORT,
    LOOPBACK,
    TOKEN,
    Access,
    LiveShow,
    Pictures,
    access_to,
)
from planner.console.connection import Hub
from planner.console.dispatcher import OrderDispatcher, SessionRecord
from planner.console.facts import Table, asked_picture, jpeg_of
from planner.console.live.node import StackOrders
from planner.console.protocol import Hello
from planner.console.rights import Visitor
from planner.console.server import Server
from planner.console.view import View
from planner.models.ledger import read_prices
from planner.ros import parameters, qos
from planner.ros.clients import wall_clock
from planner.ros.conversions import COLOUR_ENCODINGS, rgb_array
from planner.ros.guard import GuardedExecutor, guard_of
from planner.ros.lifecycle import run_node
from planner.ros.subscriptions import PolledGroup, PolledSubscription, reader
from planner.security.policy import OPERATOR, OVERRIDE, enclave_of, is_secured, join_as
from planner.world import topics
from planner.world.errors import PlannerError

# Wall seconds between two looks at the world's state and the memory, at the servers of skills, at
# the rates of topics.
POLL_S, WATCH_S, RATES_S = 0.04, 0.5, 2.0
# Of the looks at these, how many go by until one at the other topics: looking at twenty that have
# nothing costs more than what comes.
POLLS_OF_ALL = 4
# Between two pictures of a camera.
PICTURE_PERIOD_S = 0.5
# Between two messages that are large, and of which the newest says everything; how many may come
# sooner after a quiet time. The memory only where there is a true world: else the page draws by it
# where agents are.
WHOLE_PERIOD_S = 1.0
_WHOLE = {topics.MAP: 1, topics.WORLD_GRAPH: 3}
_CAMERA = "hand"
_SHARED: tuple[tuple[type[Any], str, QoSProfile], ...] = (
    (WorldInfo, topics.WORLD_INFO, qos.LATCHED), (WorldState, topics.WORLD_STATE, qos.TRUTH),
    (WorldGraph, topics.WORLD_GRAPH, qos.LATCHED), (OccupancyGrid, topics.MAP, qos.LATCHED),
    (InstructStatus, topics.INSTRUCT_STATUS, qos.LATCHED),
    (Evaluation, topics.EVALUATION, qos.EVENTS),
    (Evaluation, topics.EVALUATION_RESULT, qos.LATCHED),
    (SkillReport, topics.SKILL_RESULTS, qos.EVENTS),
    (PlannerTrace, topics.PLANNER_TRACE, qos.EVENTS),
    (PlannerTrace, topics.MEMORY_TRACE, qos.EVENTS),
    (PlannerTrace, topics.SKILLS_TRACE, qos.EVENTS),
    (DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS),
)  # fmt: skip
_OF_AGENT: tuple[tuple[type[Any], str, QoSProfile], ...] = (
    (ApprovalQuestion, topics.QUESTION, qos.LATCHED),
    (DiagnosticStatus, topics.SAFETY_STATE, qos.LATCHED),
    (Bool, topics.MOTION_ALLOWED, qos.LATCHED),
)


class _Topic:
    """One topic that the node polls."""

    def __init__(
        self, node: Node, kind: type[Any], name: str, profile: QoSProfile, group: PolledGroup
    ) -> None:
        self.name = name
        self.count = 0
        self.is_fast = name in (topics.WORLD_STATE, topics.WORLD_GRAPH)
        self._is_whole = name in _WHOLE
        self._due_s = 0.0
        self._number = 0
        self._messages = PolledSubscription(node, kind, name, profile, group, None)
        self._read = reader(node, kind, name)

    def take(self, now_s: float, *, has_truth: bool) -> Any:
        """The oldest message, or None, also where it is out of bounds or the next is not due."""
        if now_s < self._due_s or (found := self._messages.take()) is None:
            return None
        if self._is_whole and (has_truth or self.name != topics.WORLD_GRAPH):
            quiet_s = now_s - (_WHOLE[self.name] - 1) * WHOLE_PERIOD_S
            self._due_s = max(self._due_s, quiet_s) + WHOLE_PERIOD_S
        # Newer ones took the place of those between, which have come all the same.
        self.count += max(1, found.number - self._number) if self._number else 1
        self._number = found.number if self._is_whole else 0
        return self._read(found.data)


class _Camera:
    """Pictures of one agent, of which most are left where they came."""

    def __init__(self, node: Node, agent: str, group: PolledGroup) -> None:
        name = topics.of_agent(agent, topics.colour_image(_CAMERA))
        self._messages = PolledSubscription(node, Image, name, qos.IMAGE_INPUT, group, None)
        self._due_s = 0.0
        # One thread takes, another one ends it.
        self._lock = threading.Lock()

    def take(self, now_s: float) -> bytes | None:
        """The newest picture, serialised, when one is due."""
        newest = None
        with self._lock:
            while now_s >= self._due_s and (found := self._messages.take()) is not None:
                newest = found.data
        if newest is not None:
            self._due_s = now_s + PICTURE_PERIOD_S
        return newest

    def destroy(self) -> None:
        """Unsubscribes."""
        with self._lock:
            self._due_s = math.inf
            self._messages.destroy()


class ConsoleNode(Node):
    """Shows the stack to pages and passes their orders on; has no power of its own."""

    def __init__(self) -> None:
        """Takes the port.

        Raises:
            PlannerError: if a parameter, the port or the record cannot be used.
        """
        super().__init__("console")
        self._group = PolledGroup()
        self._hub = Hub()
        prices = parameters.text(
            self, "prices", "", "file of what models cost; empty = no cost is shown"
        )
        self._view = View(Table(self._hub.changed), read_prices(prices))
        self._pictures = Pictures()
        self._read_picture = reader(self, Image, topics.colour_image(_CAMERA))
        self._cameras: dict[str, _Camera] = {}
        self._failure: Exception | None = None
        self._polls = 0
        self._counted_s = time.monotonic()
        self._orders = StackOrders(self, _may_operate(), self._view.has_ended)
        self._declare()
        self._topics = [
            _Topic(self, kind, name, profile, self._group) for kind, name, profile in _SHARED
        ]
        self._agents: tuple[str, ...] = ()
        clock = wall_clock()
        self.create_timer(WATCH_S, self._watch, clock=clock)
        self.create_timer(RATES_S, self._count, clock=clock)

    def _declare(self) -> None:
        host = parameters.text(self, "host", LOOPBACK, "address to listen on")
        port = parameters.whole(
            self, "port", DEFAULT_PORT, "port of the page; 0 = any free one", min_value=0
        )
        read_only = parameters.flag(self, "read_only", False, "no page may give orders")
        record = parameters.text(self, "record", "", "file for who did what; empty = none")
        access = access_to(host, port, os.environ.get(TOKEN, ""), read_only=read_only)
        self._record = SessionRecord(record)
        self._dispatcher = OrderDispatcher(
            self._view,
            self._orders,
            self._record,
            time.monotonic,
            lambda delay_s: self._hub.call(delay_s, self._dispatcher.expire_seats),
        )
        self._server = Server(access, self._hub, self._make_show)

    def begin(self, executor: GuardedExecutor) -> None:
        """Serves pages, and carries out orders in this executor."""
        self._orders.start(executor)
        self._server.start()
        # What lives as long as the process is not looked at by the garbage collector again.
        gc.freeze()
        self._hub.every(POLL_S, self._poll)
        for address in self._server.addresses():
            print(f"console: {address}", flush=True)

    def destroy_node(self) -> None:
        """Ends the server, and what was begun here."""
        self._server.stop()
        self._orders.close()
        self._record.close()
        super().destroy_node()

    def _make_show(self, hello: Hello, *, may_order: bool) -> LiveShow:
        visitor = Visitor(hello.session, may_order, hello.name)
        return LiveShow(self._dispatcher, visitor, self._pictures)

    # Topics

    def _poll(self) -> None:
        """Takes what has come, in the server's loop: waking the executor costs far more."""
        try:
            now_s = time.monotonic()
            self._polls += 1
            for topic in self._topics:
                if self._polls % POLLS_OF_ALL and not topic.is_fast:
                    continue
                while (message := topic.take(now_s, has_truth=self._view.has_truth)) is not None:
                    self._view.take(topic.name, message)
            for agent, camera in tuple(self._cameras.items()):
                if (data := camera.take(now_s)) is not None:
                    self._show_picture(agent, data)
        except Exception as error:
            # Reported in the executor's thread, not to be lost in this loop, which goes on.
            self._failure = error

    def _watch(self) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            guard_of(self).contain(failure, "a message or a picture")
        self._orders.watch()
        if self._view.agents != self._agents:
            self._follow(self._view.agents)
        self._switch_cameras()

    def _follow(self, agents: Collection[str]) -> None:
        for agent in agents:
            if agent in self._agents:
                continue
            self._orders.advertise(agent)
            of_agent = (
                _Topic(self, kind, topics.of_agent(agent, name), profile, self._group)
                for kind, name, profile in _OF_AGENT
            )
            self._topics = [*self._topics, *of_agent]
            name = topics.of_agent(agent, topics.ASKS_IMAGE)
            taker = self._asked_taker(agent)
            self.create_subscription(Image, name, taker, qos.LATCHED, raw=True)
        self._agents = tuple(dict.fromkeys((*self._agents, *agents)))

    def _count(self) -> None:
        now_s = time.monotonic()
        passed_s, self._counted_s = now_s - self._counted_s, now_s
        for topic in self._topics:
            rate, topic.count = topic.count / passed_s, 0
            self._view.table.set("rates", topic.name, round(rate, 1))

    def _switch_cameras(self) -> None:
        wanted = self._agents if self._orders.shows_pictures else ()
        for agent in [agent for agent in self._cameras if agent not in wanted]:
            self._cameras.pop(agent).destroy()
        for agent in wanted:
            if agent not in self._cameras:
                self._cameras[agent] = _Camera(self, agent, self._group)

    def _show_picture(self, agent: str, data: bytes) -> None:
        if (found := self._jpeg(agent, data)) is not None:
            self._pictures.put(agent, found[1])
            self._hub.changed()

    def _asked_taker(self, agent: str) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            if (found := self._jpeg(agent, data)) is not None:
                name = asked_picture(agent, found[0].header.stamp)
                self._pictures.put_asked(agent, name, found[1])
                self._hub.changed()

        return take

    def _jpeg(self, agent: str, data: bytes) -> tuple[Image, bytes] | None:
        """A picture of colours, and for the page; None for one that cannot be shown."""
        picture: Image | None = self._read_picture(data)
        if picture is None or picture.encoding not in COLOUR_ENCODINGS:
            return None
        try:
            return picture, jpeg_of(rgb_array(picture))
        except PlannerError as error:
            self.get_logger().warning(f"{agent}: picture ignored: {error}")
            return None


def _may_operate() -> bool:
    """Whether this process has the operator's keys, or there are none."""
    identity = os.environ.get(OVERRIDE, "")
    return not is_secured(os.environ) or identity == enclave_of(OPERATOR)


def run_console(access: Access, record: str, prices: str, namespace: str) -> int:
    """Runs the node as the operator's command; returns the exit status.

    Args:
        access: the address.
        record: file for who did what; "" = none.
        prices: file of what models cost; "" = none.
        namespace: of the stack.

    Raises:
        PlannerError: if keys do not allow the namespace.
    """
    join_as(os.environ, OPERATOR, namespace)
    words = ["console", "--ros-args", "-r", f"__ns:={namespace}"]
    for pair in topics.NAMESPACE_REMAPPINGS:
        words += ["-r", ":=".join(pair)]
    given: dict[str, bool | int | str] = {
        "host": access.host,
        "port": access.port,
        "read_only": access.read_only,
        "record": record,
        "prices": prices,
    }
    for name, value in given.items():
        # JSON is YAML, as which ROS reads a value.
        words += ["-p", f"{name}:={json.dumps(value)}"]
    return main(words)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the node until it is stopped; `argv` defaults to the process's arguments."""
    nodes: list[ConsoleNode] = []

    def make() -> ConsoleNode:
        nodes.append(ConsoleNode())
        return nodes[0]

    def make_executor() -> GuardedExecutor:
        executor = GuardedExecutor()
        nodes[0].begin(executor)
        return executor

    return run_node(make, argv, make_executor=make_executor)
