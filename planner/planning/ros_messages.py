"""Messages between agents over ROS: each is said on its sender's topic and heard from there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from planner.planning.messages import TeamMessage

# Wall seconds after which a message that was sent and not heard is given up.
ECHO_TIMEOUT_S = 2.0


class RosMessages:
    """What the agents of one instruction have heard; used in the planner's event loop.

    A message counts once it came back over its topic, so that a planner decides by what every
    listener has heard, and others may speak for agents, too.
    """

    def __init__(
        self,
        agents: Sequence[str],
        send: Callable[[TeamMessage], None],
        changed: Callable[[], Awaitable[None]],
        log: Callable[[str], None],
    ) -> None:
        """Takes what publishes a message, and what returns after anything was received."""
        self._order = {agent: place for place, agent in enumerate(agents)}
        self._send, self._changed, self._log = send, changed, log
        self._sent: list[TeamMessage] = []
        self._new: list[TeamMessage] = []
        self._heard: tuple[TeamMessage, ...] = ()

    @property
    def heard(self) -> tuple[TeamMessage, ...]:
        """All so far, oldest first; those of one moment in the order of the agents."""
        return self._heard

    def say(self, message: TeamMessage) -> None:
        """Publishes a message."""
        self._sent.append(message)
        self._send(message)

    def hear(self, message: TeamMessage) -> None:
        """Receives a message from a topic."""
        if message in self._sent:
            self._sent.remove(message)
        self._new.append(message)

    async def settle(self) -> None:
        """Waits until all that was said has been heard."""
        try:
            async with asyncio.timeout(ECHO_TIMEOUT_S):
                while self._sent:
                    await self._changed()
        except TimeoutError:
            for message in self._sent:
                self._log(f"a message of {message.sender} was lost: {message.text[:80]!r}")
            self._sent.clear()
        last = len(self._order)
        self._new.sort(key=lambda message: self._order.get(message.sender, last))
        self._heard += tuple(self._new)
        self._new.clear()
