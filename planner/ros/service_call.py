"""One call of a service in a coroutine of an executor."""

from __future__ import annotations

import time
from typing import Any

from rclpy.node import Node

from planner.ros.pause import pause
from planner.world.errors import PlannerError

_POLL_S = 0.05


class ServiceCall:
    """A call that is sent once its server is discovered; the client is there from now on."""

    def __init__(self, node: Node, kind: Any, name: str, request: object) -> None:
        """Creates the client.

        Args:
            node: in whose executor `end` runs.
            kind: of the service.
            name: of the service.
            request: of that kind.
        """
        self._node, self._name, self._request = node, name, request
        self._client: Any = node.create_client(kind, name)

    async def end(self, wait_s: float) -> Any:
        """The answer; wall seconds. The client is gone then.

        Raises:
            PlannerError: if there is none in time.
        """
        ends_s = time.monotonic() + wait_s
        try:
            while not self._client.service_is_ready():
                if time.monotonic() > ends_s:
                    raise PlannerError(f"nobody serves {self._name}; is the stack running?")
                await pause(self._node, _POLL_S)
            answer = self._client.call_async(self._request)
            while not answer.done():
                if time.monotonic() > ends_s:
                    raise PlannerError(f"{self._name} did not answer within {wait_s:g} s")
                await pause(self._node, _POLL_S)
            return answer.result()
        finally:
            self._node.destroy_client(self._client)
