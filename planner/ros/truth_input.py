"""Ground truth for the few that may read it: the state of the world at the time of a picture."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from planner_msgs.msg import WorldState as WorldMessage
from rclpy.node import Node

from planner.ros import qos
from planner.ros.world_reader import WorldReader
from planner.world import topics
from planner.world.serialized import stamp_of
from planner.world.state import WorldState

# States kept to go back to: over four seconds of ticks that each change something.
_KEPT = 128
# Stamps go through nanoseconds and back.
_EQUAL_S = 1e-6
_BACKWARDS_S = 0.5


@dataclass(slots=True)
class _Heard:
    stamp_s: float
    data: bytes
    state: WorldState | None = None

    def read(self, reader: WorldReader) -> WorldState:
        if self.state is None:
            self.state = reader.read(self.data)
        return self.state


class TruthInput:
    """Listens to /world/state; reads only the messages that are asked for.

    One comes with every tick in which an agent moves, many more than pictures.
    """

    def __init__(self, node: Node, on_beginning: Callable[[WorldState], None]) -> None:
        """Subscribes; `on_beginning` gets the first state of each world that is loaded."""
        self._heard: deque[_Heard] = deque(maxlen=_KEPT)
        self._on_beginning = on_beginning
        self._reader = WorldReader()
        node.create_subscription(
            WorldMessage, topics.WORLD_STATE, self._on_data, qos.LATCHED, raw=True
        )

    @property
    def newest_s(self) -> float | None:
        """The stamp of the newest state, which stands until another comes; None before any."""
        return self._heard[-1].stamp_s if self._heard else None

    def at(self, stamp_s: float) -> WorldState | None:
        """The newest state that is not after `stamp_s`, else the oldest; None before any."""
        for heard in reversed(self._heard):
            if heard.stamp_s <= stamp_s + _EQUAL_S:
                return heard.read(self._reader)
        return self._heard[0].read(self._reader) if self._heard else None

    def _on_data(self, data: bytes) -> None:
        heard = _Heard(stamp_of(data), data)
        begins = not self._heard or heard.stamp_s < self._heard[-1].stamp_s - _BACKWARDS_S
        if begins or heard.stamp_s < _BACKWARDS_S:
            # A world that was loaded while the last one was as young shows in its names only.
            state = heard.read(self._reader)
            before = self._heard[-1].read(self._reader) if self._heard else None
            begins = begins or before is None or _place(state) != _place(before)
            if begins:
                self._heard.clear()
                self._on_beginning(state)
        self._heard.append(heard)


def _place(state: WorldState) -> tuple[str, str]:
    return state.house, state.episode_id
