"""Who may command robots on an open network without SROS 2: programs that have its token.

Each program shows a proof that is of no use to others: a topic named after the token and the GUID
of its participant. ROS does not report who calls a service; service introspection does.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import uuid
from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from rclpy.service_introspection import ServiceIntrospectionState
from service_msgs.msg import ServiceEventInfo
from std_msgs.msg import Empty

from planner.network import TOKEN, token_of
from planner.ros import qos
from planner.ros.polled_subscription import PolledGroup, PolledSubscription

# Endpoints of one participant share this prefix of their GUIDs.
_PARTICIPANT = slice(0, 12)
_PROFILE = QoSProfile(depth=1)


def prove(node: Node) -> None:
    """Shows that this process has the token, where one is needed; to be called before its clients.

    Raises:
        PlannerError: without a token that can be used.
    """
    if token := token_of(os.environ):
        node.create_publisher(Empty, _proof(token, _own(node)), _PROFILE)


class Callers:
    """Tells whether the program that has just called a service has the token.

    Only for executors of one thread, which call a service's callback as soon as they have taken the
    request: the newest event is the one of that request.
    """

    def __init__(self, node: Node, server: Any, event: Any, service: str) -> None:
        """Does nothing where no token is needed.

        Args:
            node: that serves.
            server: the service, or the action server whose goals are requested by it.
            event: the service's type of introspection events.
            service: its name, relative to the node's namespace.

        Raises:
            PlannerError: without a token that can be used.
        """
        self._node, self._event = node, event
        self._token = token_of(os.environ)
        self._events: PolledSubscription | None = None
        if not self._token:
            return
        self._own = _own(node)
        server.configure_introspection(
            node.get_clock(), qos.EVENTS, ServiceIntrospectionState.CONTENTS
        )
        self._events = PolledSubscription(
            node, event, f"{service}/_service_event", qos.EVENTS, PolledGroup(), None
        )

    def refusal(self) -> str:
        """Why the call that is being answered is refused; "" = it is not. Once for each call."""
        if self._events is None:
            return ""
        caller = None
        while (found := self._events.take()) is not None:
            info = deserialize_message(found.data, self._event).info
            # Events of others are not ours, whatever they say.
            is_ours = bytes(found.publisher)[_PARTICIPANT] == self._own
            if is_ours and info.event_type == ServiceEventInfo.REQUEST_RECEIVED:
                caller = bytes(info.client_gid)[_PARTICIPANT]
        if caller is not None and _is_shown(self._node, self._token, caller):
            return ""
        return (
            f"the network is open, and this program has not shown its token: set {TOKEN} to that "
            "of the robot's programs (docs/setup.md)"
        )

    def destroy(self) -> None:
        """Ends listening."""
        if self._events is not None:
            self._events.destroy()


def _proof(token: str, participant: bytes) -> str:
    shown = hmac.new(token.encode(), participant, hashlib.sha256).hexdigest()
    return f"/planner/known/has_{shown}"


def _is_shown(node: Node, token: str, participant: bytes) -> bool:
    shown = node.get_publishers_info_by_topic(_proof(token, participant))
    return any(bytes(each.endpoint_gid)[_PARTICIPANT] == participant for each in shown)


def _own(node: Node) -> bytes:
    """The GUID of this process's participant, which rclpy tells only of publishers."""
    topic = f"/planner/known/of_{uuid.uuid4().hex}"
    publisher = node.create_publisher(Empty, topic, _PROFILE)
    try:
        (own,) = node.get_publishers_info_by_topic(topic)
        return bytes(own.endpoint_gid)[_PARTICIPANT]
    finally:
        node.destroy_publisher(publisher)
