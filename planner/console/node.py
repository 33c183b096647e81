"""Node `console`: serves the page of the running stack."""

from __future__ import annotations

import json
import os
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
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import CompressedImage, Image
from std_msgs.msg import Bool

from planner.console.access import DEFAULT_PORT, LOOPBACK, TOKEN, Access, access_to
from planner.console.connection import Hub
from planner.console.desk import Desk
from planner.console.facts import asked_picture
from planner.console.live.node import StackOrders
from planner.console.protocol import Hello
from planner.console.server import Server
from planner.console.session_record import SessionRecord
from planner.console.show import LiveShow, Pictures
from planner.console.table import Table
from planner.console.view import View
from planner.console.visitor import Visitor
from planner.models.price_table import read_prices
from planner.ros import parameters, qos
from planner.ros.compressed_pictures import COLOUR_SUFFIX, compressed
from planner.ros.lifecycle import run_node
from planner.ros.polled_subscription import PolledGroup, PolledSubscription
from planner.ros.waiting import wall_clock
from planner.security.enclave import OVERRIDE, enclave_of, is_secured, join_as
from planner.security.policy import OPERATOR
from planner.world import topics
from planner.world.errors import PlannerError

# Wall seconds between two looks at the topics, at the servers of skills, at the rates of topics.
POLL_S, WATCH_S, RATES_S = 0.04, 0.2, 2.0
# Of each camera.
PICTURE_PERIOD_S = 0.5
_CAMERA = "hand"
_SHARED: tuple[tuple[type[Any], str, QoSProfile], ...] = (
    (WorldInfo, topics.WORLD_INFO, qos.LATCHED),
    (WorldState, topics.WORLD_STATE, qos.TRUTH),
    (WorldGraph, topics.WORLD_GRAPH, qos.LATCHED),
    (OccupancyGrid, topics.MAP, qos.LATCHED),
    (InstructStatus, topics.INSTRUCT_STATUS, qos.LATCHED),
    (Evaluation, topics.EVALUATION, qos.EVENTS),
    (Evaluation, topics.EVALUATION_RESULT, qos.LATCHED),
    (SkillReport, topics.SKILL_RESULTS, qos.EVENTS),
    (PlannerTrace, topics.PLANNER_TRACE, qos.EVENTS),
    (PlannerTrace, topics.MEMORY_TRACE, qos.EVENTS),
    (PlannerTrace, topics.SKILLS_TRACE, qos.EVENTS),
    (DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS),
)
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
        self.name, self._kind = name, kind
        self.count = 0
        self._messages = PolledSubscription(node, kind, name, profile, group, None)

    def take(self) -> Any:
        """The oldest message, or None."""
        found = self._messages.take()
        if found is None:
            return None
        self.count += 1
        return deserialize_message(found.data, self._kind)


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
        self._cameras: dict[str, Any] = {}
        self._shown_s: dict[str, float] = {}
        self._counted_s = time.monotonic()
        self._orders = StackOrders(self, _may_operate(), self._view.has_ended)
        self._declare()
        self._topics = [
            _Topic(self, kind, name, profile, self._group) for kind, name, profile in _SHARED
        ]
        self._agents: tuple[str, ...] = ()
        clock = wall_clock()
        self.create_timer(POLL_S, self._poll, clock=clock)
        self.create_timer(WATCH_S, self._orders.watch, clock=clock)
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
        self._desk = Desk(
            self._view,
            self._orders,
            self._record,
            time.monotonic,
            lambda delay_s: self._hub.call(delay_s, self._desk.expire_seats),
        )
        self._server = Server(access, self._hub, self._make_show)

    def begin(self, executor: SingleThreadedExecutor) -> None:
        """Serves pages, and carries out orders in this executor."""
        self._orders.start(executor)
        self._server.start()
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
        return LiveShow(self._desk, visitor, self._pictures)

    # Topics

    def _poll(self) -> None:
        for topic in self._topics:
            while (message := topic.take()) is not None:
                self._view.take(topic.name, message)
        self._orders.drive_on()
        if self._view.agents != self._agents:
            self._follow(self._view.agents)
        self._switch_cameras()

    def _follow(self, agents: Collection[str]) -> None:
        for agent in agents:
            if agent in self._agents:
                continue
            self._orders.advertise(agent)
            self._topics += [
                _Topic(self, kind, topics.of_agent(agent, name), profile, self._group)
                for kind, name, profile in _OF_AGENT
            ]
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
        wanted = self._orders.shown_agents
        for agent in [agent for agent in self._cameras if agent not in wanted]:
            self.destroy_subscription(self._cameras.pop(agent))
        for agent in wanted:
            if agent not in self._cameras:
                name = topics.of_agent(agent, topics.colour_image(_CAMERA))
                self._cameras[agent] = self.create_subscription(
                    Image, name, self._picture_taker(agent), qos.IMAGE_INPUT, raw=True
                )

    def _picture_taker(self, agent: str) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            now_s = time.monotonic()
            if now_s - self._shown_s.get(agent, 0.0) < PICTURE_PERIOD_S:
                return
            self._shown_s[agent] = now_s
            if (found := self._jpeg(agent, data)) is not None:
                self._pictures.put(agent, bytes(found.data))
                self._hub.changed()

        return take

    def _asked_taker(self, agent: str) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            if (found := self._jpeg(agent, data)) is not None:
                name = asked_picture(agent, found.header.stamp)
                self._pictures.put_asked(agent, name, bytes(found.data))
                self._hub.changed()

        return take

    def _jpeg(self, agent: str, data: bytes) -> CompressedImage | None:
        """A picture of colours for the page; None for one that cannot be shown."""
        try:
            suffix, packed = compressed(data)
        except PlannerError as error:
            self.get_logger().warning(f"{agent}: picture ignored: {error}")
            return None
        return deserialize_message(packed, CompressedImage) if suffix == COLOUR_SUFFIX else None


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
        words += ["-p", f"{name}:={yaml_scalar(value)}"]
    return main(words)


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the node until it is stopped; `argv` defaults to the process's arguments."""
    nodes: list[ConsoleNode] = []

    def make() -> ConsoleNode:
        nodes.append(ConsoleNode())
        return nodes[0]

    def make_executor() -> SingleThreadedExecutor:
        executor = SingleThreadedExecutor()
        nodes[0].begin(executor)
        return executor

    return run_node(make, argv, make_executor=make_executor)


def yaml_scalar(value: bool | int | str) -> str:
    """A parameter's value as ROS reads it from the command line; JSON is YAML."""
    return json.dumps(value)
