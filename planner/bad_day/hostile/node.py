"""A node that sends hostile inputs to whatever a running stack listens to.

What there is to send to, and of which type, is found in the ROS graph and in the definitions.
Left out is what ends or reconfigures nodes as it should:

- transitions of managed nodes that there are: an operator may deactivate and shut down;
- a good value for `use_sim_time`: it takes a node's clock away, as asked;
- large pictures: small and broken ones are sent, since large ones test the network alone.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
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

from planner.network import confine
from planner.ros.clients import ServiceCall
from planner.ros.guard import GuardedExecutor
from planner.ros.lockstep import FreshMemory
from planner.ros.qos import message_class
from planner.ros.subscriptions import PolledGroup, PolledSubscription
from planner.world import topics
from planner.world.errors import PlannerError

# Values that no sane node sends, for fields of any message; knows no ROS.
#
# A message that is wrong everywhere is refused at its first field. So most inputs are a true
# message in which one to three fields are changed, and some are bytes that are no message at all.

# In the notation of rclpy's `get_fields_and_field_types`.
_ARRAY = re.compile(
    r"(?:sequence<(?P<item>[^,]*)(?:,\s*(?P<limit>\d+))?>|(?P<of>.*)\[(?P<size>\d+)\])$"
)
_TEXT = re.compile(r"w?string(?:<(?P<limit>\d+)>)?$")
_INTEGER = re.compile(r"(?P<sign>u?)int(?P<bits>8|16|32|64)$")
_FILLER = "structure_needs_at_least_one_member"
_LARGEST_FLOAT = 3.4028234663852886e38
_NUMBERS = (
    *(float("nan"), float("inf"), float("-inf"), 0.0, -0.0, 1e-320, 0.5, -1.0, 3.0),
    *(1e6, 1e9, 1e18, -1e18, 1e38, -1e38, 1e308),
)
_LONG = 20_000
_TEXTS = (
    *("", " ", "\n", "a\0b", "x" * 300, "x" * _LONG, "ü" * 300, "\u202e\u0000\uffff", "%s%n", "{}"),
    *("[" * 2000, '{"a":' * 500, "NaN", "1e999", "../..", "/etc/passwd", "~", "a/b", "/", "__ns"),
    *("map", "odom", "base_link", "agent_0", "agent_1", "agent_99", "agent_0/odom", "unknown"),
    *("on", "within", "held", "beside", "navigate", "look", "drive", "pick", "place", "stop"),
    *("Wait[]", "Explore[kitchen_1]", "Pick[cup_0]", "Place[cup_0, on, table_0, None, None]"),
    *("Pick[" * 300, "Navigate[]", "Done[]", "FindObjectTool[cup]", "yes", "no", "use_sim_time"),
)
_WORDS = (b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\1", b"\xfe\0\0\0")
_SIZES = (0, 1, 2, 3, 70, 300)
_MAX_DEPTH = 6


class Values:
    """Draws from one source of chance, so that a seed gives the same inputs to the same topics."""

    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def changed(self, message: Any) -> Any:
        """Changes one to three fields of a message, which is also returned."""
        for _ in range(self._chance.choice((1, 1, 2, 3))):
            self._change(message, 0)
        return message

    def _change(self, message: Any, depth: int) -> None:
        types = {n: t for n, t in message.get_fields_and_field_types().items() if n != _FILLER}
        if not types:
            return
        name = self._chance.choice(sorted(types))
        text, value = types[name], getattr(message, name)
        array = _ARRAY.match(text)
        inner = (array["item"] or array["of"]) if array else text
        # A part of a service or an action cannot be made anew.
        is_part = "/" in inner and array is None and _class_of(inner) is None
        if is_part or ("/" in inner and depth < _MAX_DEPTH and self._chance.random() < 0.8):
            if array is None:
                self._change(value, depth + 1)
                return
            if len(value):
                self._change(self._chance.choice(value), depth + 1)
                return
        setattr(message, name, self._value(text, depth))

    def _value(self, text: str, depth: int) -> Any:
        """A value of a type."""
        array = _ARRAY.match(text)
        if array is None:
            return self._single(text, depth)
        if array["of"]:
            return [self._single(array["of"], depth) for _ in range(int(array["size"]))]
        most = int(array["limit"] or _SIZES[-1])
        if "/" in array["item"] and _class_of(array["item"]) is None:
            return []
        count = min(most, self._chance.choice(_SIZES if depth < 2 else _SIZES[:3]))
        one = self._single(array["item"], depth)
        # Many of a kind, as a broken sender's, and cheap to make.
        return [self._single(array["item"], depth) if n < 3 else one for n in range(count)]

    def _single(self, text: str, depth: int) -> Any:
        chance = self._chance
        if text == "boolean":
            return chance.random() < 0.5
        if text in ("byte", "octet"):
            return bytes([chance.randrange(256)])
        if text in ("double", "float"):
            number = chance.choice(_NUMBERS)
            is_small = text == "double" or not abs(number) > _LARGEST_FLOAT
            return number if is_small or number in (float("inf"), float("-inf")) else 0.0
        if (found := _TEXT.match(text)) is not None:
            return chance.choice(_TEXTS)[: int(found["limit"] or 10 * _LONG)]
        if (whole := _INTEGER.match(text)) is not None:
            values = 2 ** int(whole["bits"])
            low = 0 if whole["sign"] else -values // 2
            high = low + values - 1
            return chance.choice((low, high, 0, 1, max(low, -1), chance.randint(0, 12), high // 2))
        message = _class_of(text)()
        if depth < _MAX_DEPTH:
            for _ in range(2):
                self._change(message, depth + 1)
        return message

    def broken(self, data: bytes) -> bytes:
        """Bytes that are hardly a message any more."""
        chance, damaged = self._chance, bytearray(data)
        ways: Sequence[Callable[[], bytes]] = (
            lambda: bytes(damaged[: chance.randrange(len(damaged) + 1)]),
            lambda: bytes(damaged[:4]) + b"\xff" * chance.choice((4, 8, 64, 4000)),
            lambda: chance.randbytes(chance.choice((1, 3, 4, 12, 200))),
            lambda: bytes([damaged[0], damaged[1] ^ 1, *damaged[2:]]) if len(damaged) > 1 else b"",
            lambda: self._overwritten(damaged),
        )
        return chance.choice(ways)()

    def _overwritten(self, data: bytearray) -> bytes:
        """With words as lengths and counts might be: huge, or of bytes that are not there."""
        for _ in range(self._chance.choice((1, 2, 8))):
            at = self._chance.randrange(max(1, len(data) - 3))
            data[at : at + 4] = self._chance.choice(_WORDS)
        return bytes(data)


def _class_of(text: str) -> Any:
    """The class of a message's type; None for a part of a service or an action."""
    package, _, name = text.partition("/")
    return getattr(import_module(f"{package}.msg"), name, None)


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
