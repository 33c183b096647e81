"""Ground truth for privileged readers: the world's state at the time of a picture."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from planner_msgs.msg import WorldState as WorldMessage
from rclpy.node import Node

from planner.ros import qos
from planner.world import topics
from planner.world.state import WorldState
from planner.world.state_updates import UpdateDecoder, vanished
from planner.world.wire import state_update

# States kept for lookup: over four seconds of ticks with changes.
_KEPT = 128
# Stamps are rounded to nanoseconds.
_EQUAL_S = 1e-6
_BACKWARDS_S = 0.5


class TruthInput:
    """Subscribes to /world/state and keeps the newest states."""

    def __init__(self, node: Node, on_beginning: Callable[[WorldState], None]) -> None:
        """Subscribes; `on_beginning` gets the first state of each world that is loaded."""
        self._states: deque[WorldState] = deque(maxlen=_KEPT)
        self._on_beginning = on_beginning
        self._decoder = UpdateDecoder()
        self._logger = node.get_logger()
        node.create_subscription(WorldMessage, topics.WORLD_STATE, self._on_update, qos.TRUTH_INPUT)

    @property
    def newest_s(self) -> float | None:
        """The stamp of the newest state; None before the first."""
        return self._states[-1].stamp_s if self._states else None

    def at(self, stamp_s: float) -> WorldState | None:
        """The newest state not after `stamp_s`, else the oldest; None before the first."""
        for state in reversed(self._states):
            if state.stamp_s <= stamp_s + _EQUAL_S:
                return state
        return self._states[0] if self._states else None

    def _on_update(self, message: WorldMessage) -> None:
        was_waiting = self._decoder.waiting
        state = self._decoder.decode(state_update(message))
        if self._states and self._decoder.waiting and not was_waiting:
            self._logger.warning("states of the world were lost; waiting for the next keyframe")
        if state is None:
            return
        before = self._states[-1] if self._states else None
        if before is not None and self._decoder.changed is not None:
            removed = [name for name in self._decoder.changed if name not in state.entities]
            for name in vanished(before.entities, state.entities, removed):
                self._logger.error(f"{name} is gone from the world's state at step {state.step}")
        if before is None or _is_another_world(before, state):
            self._states.clear()
            self._on_beginning(state)
        self._states.append(state)


def _is_another_world(before: WorldState, state: WorldState) -> bool:
    places = (before.house, before.episode_id), (state.house, state.episode_id)
    return places[0] != places[1] or state.stamp_s < before.stamp_s - _BACKWARDS_S
