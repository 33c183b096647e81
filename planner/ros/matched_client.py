"""An action client that is created anew while it finds no server.

On a busy machine the middleware may leave endpoints unmatched that were announced while a process
started: the client then finds no server for good, although one is there.
"""

from __future__ import annotations

import time
from typing import Any

from rclpy.action.client import ActionClient
from rclpy.node import Node

# Wall seconds without a server after which the client is created anew.
REMATCH_PERIOD_S = 5.0


class MatchedClient:
    """Sends goals to one action; used in the executor's thread."""

    def __init__(
        self, node: Node, action: Any, name: str, period_s: float = REMATCH_PERIOD_S
    ) -> None:
        """Creates the client.

        Args:
            node: its node.
            action: the action's type.
            name: the action's name.
            period_s: wall seconds without a server after which the client is created anew.
        """
        self._node, self._action, self._name = node, action, name
        self._period_s = period_s
        self._client = self._new()
        # Since when no server is found; None while one is.
        self._missing_s: float | None = None

    def is_ready(self) -> bool:
        """Whether a server is found; to be asked again and again while one is waited for."""
        if self._client.server_is_ready():
            self._missing_s = None
            return True
        wall_s = time.monotonic()
        if self._missing_s is None:
            self._missing_s = wall_s
        elif wall_s - self._missing_s > self._period_s:
            self._missing_s = wall_s
            self._client.destroy()
            self._client = self._new()
        return False

    def send(self, goal: Any, **more: Any) -> Any:
        """Sends a goal, as `ActionClient.send_goal_async`."""
        return self._client.send_goal_async(goal, **more)

    def destroy(self) -> None:
        """Takes the client out of the graph."""
        self._client.destroy()

    def _new(self) -> ActionClient[Any, Any, Any]:
        return ActionClient(self._node, self._action, self._name)
