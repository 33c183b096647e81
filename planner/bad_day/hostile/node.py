"""A node that sends hostile inputs to whatever a running stack listens to.

What there is to send to, and of which type, is found in the ROS graph and in the definitions.
Left out is what ends or reconfigures nodes as it should:

- transitions of managed nodes that there are: an operator may deactivate and shut down;
- a good value for `use_sim_time`: it takes a node's clock away, as asked;
- large pictures: small and broken ones are sent, since large ones test the network alone.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import rclpy
from action_msgs.srv import CancelGoal
from lifecycle_msgs.srv import ChangeState
from planner_msgs.srv import LoadEpisode
from rcl_interfaces.msg import Parameter, ParameterType
from rcl_interfaces.srv import ListParameters, SetParameters, SetParametersAtomically
from rclpy.action.client import ActionClient
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
)
from rclpy.serialization import deserialize_message, serialize_message

from planner.bad_day.hostile.values import Values
from planner.network import confine
from planner.ros.clients import ServiceCall
from planner.ros.guard import GuardedExecutor
from planner.ros.lockstep import FreshMemory
from planner.ros.qos import message_class
from planner.ros.subscriptions import PolledGroup, PolledSubscription
from planner.world import topics
from planner.world.errors import PlannerError

NAME = "hostile"
# Shares of the inputs.
_MESSAGE, _BROKEN, _REQUEST, _GOAL = 0.55, 0.12, 0.23, 0.10
_PICTURES = ("sensor_msgs/msg/Image", "sensor_msgs/msg/CompressedImage")
# Numbers above those of the transitions that there are.
_NO_TRANSITION = 100
_MAX_PENDING, _SERVED_AFTER = 30, 8
# Wall seconds.
_FIND_S, _BREATH_S = 2.0, 0.002
_RETRY_S, _BEGIN_S = 20.0, 60.0


class Attacker:
    """Sends inputs drawn from a seed; `counts` has them by what they were sent to."""

    def __init__(self, domain: int, seed: int) -> None:
        """Joins the graph of a ROS domain."""
        self.counts: Counter[str] = Counter()
        self._chance = Random(seed)
        self._values = Values(self._chance)
        self._context = Context()
        confine(os.environ)
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node(NAME, context=self._context)
        self._executor = GuardedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._group = PolledGroup()
        self._publishers: dict[str, Any] = {}
        self._heard: dict[str, tuple[PolledSubscription, bytes]] = {}
        self._clients: dict[str, Any] = {}
        self._actions: dict[str, Any] = {}
        self._parameters: dict[str, list[str]] = {}
        # Of its publishers, by which its own messages are told from true ones.
        self._own: set[bytes] = set()
        self._pending: list[tuple[float, Any]] = []

    def close(self) -> None:
        """Leaves the graph."""
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.shutdown(context=self._context)

    def look(self) -> None:
        """Finds what there is; to be repeated, as topics come late.

        Raises:
            PlannerError: if nothing is found.
        """
        until_s = time.monotonic() + _RETRY_S
        while not self._found():
            if time.monotonic() > until_s:
                raise PlannerError("no topics, services and actions are found")
            time.sleep(_FIND_S / 10)
        self._ask_for_parameters()

    def _found(self) -> bool:
        own = self._node.get_fully_qualified_name()
        self._topics = {
            name: types[0]
            for name, types in sorted(self._node.get_topic_names_and_types())
            if any(s.node_name != NAME for s in self._node.get_subscriptions_info_by_topic(name))
        }
        self._services = {
            name: types[0]
            for name, types in sorted(self._node.get_service_names_and_types())
            if not name.startswith(f"{own}/") and "/_action/" not in name
        }
        ends = "/_action/send_goal"
        self._goals = {
            name.removesuffix(ends): types[0].removesuffix("_SendGoal")
            for name, types in sorted(self._node.get_service_names_and_types())
            if name.endswith(ends)
        }
        return bool(self._topics and self._services and self._goals)

    def _ask_for_parameters(self) -> None:
        for name, kind in self._services.items():
            if not kind.endswith("/ListParameters") or name in self._parameters:
                continue
            client = self._client(name, ListParameters)
            if client is None:
                continue
            found = self._parameters[name] = []

            def keep(done: Any, found: list[str] = found) -> None:
                found.extend(done.result().result.names)

            client.call_async(ListParameters.Request()).add_done_callback(keep)

    def send(self, count: int, is_over: Callable[[], bool]) -> None:
        """Sends this many inputs, fewer if it is over."""
        sent = 0
        while sent < count and not is_over():
            draw = self._chance.random()
            if draw < _MESSAGE:
                done = self._message()
            elif draw < _MESSAGE + _BROKEN:
                done = self._message(broken=True)
            elif draw < _MESSAGE + _BROKEN + _REQUEST:
                done = self._request()
            else:
                done = self._goal()
            sent += done
            # One wait on all clients costs more than several inputs.
            if sent % _SERVED_AFTER == 0:
                self._serve()

    def _serve(self) -> None:
        """Takes answers; waits while too many have not come."""
        self._executor.spin_once(timeout_sec=_BREATH_S)
        for _ in range(_SERVED_AFTER):
            self._executor.spin_once(timeout_sec=0.0)
        now_s = time.monotonic()
        self._pending = [(s, f) for s, f in self._pending if not f.done() and now_s - s < _RETRY_S]
        until_s = now_s + _FIND_S
        while len(self._pending) > _MAX_PENDING and time.monotonic() < until_s:
            self._executor.spin_once(timeout_sec=_BREATH_S)
            self._pending = [(s, f) for s, f in self._pending if not f.done()]

    # Topics

    def _message(self, *, broken: bool = False) -> bool:
        name = self._chance.choice(list(self._topics))
        try:
            kind = message_class(self._topics[name])
        except PlannerError:
            return False
        data = self._true_message(name, kind)
        message = self._values.broken(data)
        if not broken:
            message = self._values.changed(deserialize_message(data, kind))
        try:
            self._publisher(name, kind).publish(message)
        except rclpy_implementation.RCLError:
            # Its readers do not keep up.
            return False
        self.counts[f"{'bytes' if broken else 'message'} {name}"] += 1
        return True

    def _true_message(self, name: str, kind: Any) -> bytes:
        """The newest of a topic, or an empty one."""
        if self._topics[name] in _PICTURES:
            return bytes(serialize_message(kind()))
        if name not in self._heard:
            profile = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
            heard = PolledSubscription(self._node, kind, name, profile, self._group, None)
            self._heard[name] = (heard, bytes(serialize_message(kind())))
        heard, newest = self._heard[name]
        while (found := heard.take()) is not None:
            if found.publisher not in self._own:
                newest = bytes(found.data)
        self._heard[name] = (heard, newest)
        return newest

    def _publisher(self, name: str, kind: Any) -> Any:
        """Offers what every reader asks for, such as a deadline for heartbeats."""
        if name not in self._publishers:
            readers = self._node.get_subscriptions_info_by_topic(name)
            asked = [reader.qos_profile for reader in readers if reader.node_name != NAME]
            profile = QoSProfile(
                depth=20,
                history=HistoryPolicy.KEEP_LAST,
                reliability=ReliabilityPolicy.RELIABLE,
                durability=DurabilityPolicy.TRANSIENT_LOCAL,
            )
            if asked:
                profile.deadline = min(each.deadline for each in asked)
                lease = min(asked, key=lambda each: each.liveliness_lease_duration)
                if lease.liveliness == LivelinessPolicy.MANUAL_BY_TOPIC:
                    profile.liveliness = lease.liveliness
                    profile.liveliness_lease_duration = lease.liveliness_lease_duration
            self._publishers[name] = self._node.create_publisher(kind, name, profile)
            own = self._node.get_publishers_info_by_topic(name)
            self._own |= {bytes(p.endpoint_gid) for p in own if p.node_name == NAME}
        return self._publishers[name]

    # Services

    def _client(self, name: str, kind: Any) -> Any:
        """The client of a service that is there; None while it is not found."""
        if name not in self._clients:
            self._clients[name] = self._node.create_client(kind, name)
        client = self._clients[name]
        return client if client.service_is_ready() else None

    def _request(self) -> bool:
        name = self._chance.choice(list(self._services))
        try:
            kind = message_class(self._services[name])
        except PlannerError:
            return False
        client = self._client(name, kind)
        if client is None:
            return False
        request = kind.Request()
        if kind in (SetParameters, SetParametersAtomically):
            self._set_parameters(name, request)
        else:
            self._values.changed(request)
        if kind is ChangeState:
            request.transition.id = self._chance.randint(_NO_TRANSITION, 255)
            request.transition.label = "explode"
        self._pending.append((time.monotonic(), client.call_async(request)))
        self.counts[f"request {name}"] += 1
        return True

    def _set_parameters(self, service: str, request: Any) -> None:
        node = service.rpartition("/")[0]
        known = self._parameters.get(f"{node}/list_parameters") or [""]
        for _ in range(self._chance.choice((1, 1, 3))):
            parameter = self._values.changed(Parameter(name=self._chance.choice(known)))
            if self._chance.random() < 0.3:
                parameter.value.type = self._chance.choice((10, 99, 255))
            is_flag = parameter.value.type == ParameterType.PARAMETER_BOOL
            if not (is_flag and parameter.name == "use_sim_time"):
                request.parameters.append(parameter)

    # Actions

    def _goal(self) -> bool:
        name = self._chance.choice(list(self._goals))
        package, part, kind_name = self._goals[name].split("/")
        action = message_class(f"{package}/{part}/{kind_name}")
        if name not in self._actions:
            self._actions[name] = ActionClient(self._node, action, name)
        client = self._actions[name]
        if not client.server_is_ready():
            return False
        if self._chance.random() < 0.2:
            return self._cancel(name)
        sent = client.send_goal_async(self._values.changed(action.Goal()))
        if self._chance.random() < 0.7:
            sent.add_done_callback(_cancels)
        self._pending.append((time.monotonic(), sent))
        self.counts[f"goal {name}"] += 1
        return True

    def _cancel(self, name: str) -> bool:
        """Asks to cancel goals that there are not, or all of a time."""
        client = self._client(f"{name}/_action/cancel_goal", CancelGoal)
        if client is None:
            return False
        request = self._values.changed(CancelGoal.Request())
        self._pending.append((time.monotonic(), client.call_async(request)))
        self.counts[f"cancel {name}"] += 1
        return True


def begin_anew(domain: int, episode: str) -> str:
    """Loads an episode and waits for the memory of it; returns why it cannot be, or ""."""
    context = Context()
    rclpy.init(context=context, domain_id=domain)
    node = rclpy.create_node(f"{NAME}_operator", context=context)
    executor = GuardedExecutor(context=context)
    executor.add_node(node)

    async def load() -> str:
        memory = FreshMemory(node)
        await memory.listen()
        request = LoadEpisode.Request(episode=episode)
        try:
            answer = await ServiceCall(node, LoadEpisode, topics.LOAD_WORLD, request).end(_RETRY_S)
            if answer.success:
                await memory.begun(_BEGIN_S)
        except PlannerError as error:
            return str(error)
        return "" if answer.success else str(answer.message)

    try:
        task = executor.create_task(load)
        executor.spin_until_future_complete(task, 2 * _BEGIN_S)
        return str(task.result()) if task.done() else "no answer"
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.shutdown(context=context)


def _cancels(sent: Any) -> None:
    handle = sent.result()
    if handle is not None and handle.accepted:
        handle.cancel_goal_async()
        handle.get_result_async()
