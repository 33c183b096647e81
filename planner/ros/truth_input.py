"""Ground truth for privileged readers: the world's state at the time of a picture."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import time_ns

from planner_msgs.msg import WorldState as WorldMessage
from rclpy.node import Node
from rclpy.subscription import MessageInfo, Subscription

from planner.ros import qos
from planner.ros.checked_subscription import listen
from planner.ros.waiting import wall_clock
from planner.world import topics
from planner.world.state import WorldState
from planner.world.state_updates import UpdateDecoder, vanished
from planner.world.wire import state_update

# States kept for lookup: over four seconds of ticks with changes.
_KEPT = 128
# Stamps are rounded to nanoseconds.
_EQUAL_S = 1e-6
_BACKWARDS_S = 0.5
# Wall seconds without a message after which what was heard last is the present: a bag that plays
# sends nothing to who joins late, and clocks of two machines differ.
_QUIET_S = 1.0
# Such periods without any state from a bridge that is there, after which it is subscribed to anew:
# on a busy machine the middleware may leave the two unmatched.
_UNMATCHED_PERIODS = 5


class TruthInput:
    """Subscribes to /world/state and keeps the newest states."""

    def __init__(self, node: Node, on_beginning: Callable[[WorldState], None]) -> None:
        """Subscribes; `on_beginning` gets the first state of each world that is loaded.

        The bridge keeps states of all worlds that it had, and sends them first. None of these is
        the present one: that is known by a message sent after the subscription, as the bridge
        sends to each new subscriber. Of the first world, `on_beginning` gets the state then.
        """
        self._states: deque[WorldState] = deque(maxlen=_KEPT)
        self._on_beginning = on_beginning
        self._decoder = UpdateDecoder()
        self._logger = node.get_logger()
        self._is_present, self._heard, self._quiet_periods = False, 0, 0
        self._node = node
        self._subscription = self._subscribe()
        self._quiet = node.create_timer(_QUIET_S, self._on_quiet, clock=wall_clock())

    @property
    def newest_s(self) -> float | None:
        """The stamp of the newest state; None before the first."""
        return self._states[-1].stamp_s if self._states else None

    def is_ahead_of(self, stamp_s: float) -> bool:
        """Whether the newest state must be of an earlier world than frames with this stamp."""
        return self.newest_s is not None and self.newest_s > stamp_s + _BACKWARDS_S

    def at(self, stamp_s: float) -> WorldState | None:
        """The newest state not after `stamp_s`, else the oldest; None before the first."""
        for state in reversed(self._states):
            if state.stamp_s <= stamp_s + _EQUAL_S:
                return state
        return self._states[0] if self._states else None

    def _subscribe(self) -> Subscription[WorldMessage]:
        self._subscribed_ns = time_ns()
        return listen(
            self._node, WorldMessage, topics.WORLD_STATE, self._on_update, qos.TRUTH_INPUT
        )

    def _on_quiet(self) -> None:
        if self._heard == 0:
            self._begin()
            self._subscribe_again()
        self._heard = 0

    def _subscribe_again(self) -> None:
        """Subscribes anew if a bridge is there of which no state came."""
        if self._states or not self._node.count_publishers(topics.WORLD_STATE):
            self._quiet_periods = 0
            return
        self._quiet_periods += 1
        if self._quiet_periods >= _UNMATCHED_PERIODS:
            self._quiet_periods = 0
            self._logger.warning(
                f"no message of {topics.WORLD_STATE} has come; subscribing anew", once=True
            )
            self._node.destroy_subscription(self._subscription)
            self._subscription = self._subscribe()

    def _begin(self) -> None:
        """What was heard last is the present."""
        if self._states and not self._decoder.waiting and not self._is_present:
            self._is_present = True
            self._quiet.cancel()
            self._on_beginning(self._states[-1])

    def _on_update(self, message: WorldMessage, info: MessageInfo) -> None:
        self._heard += 1
        self._decode(message)
        if info["source_timestamp"] >= self._subscribed_ns:
            self._begin()

    def _decode(self, message: WorldMessage) -> None:
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
            if self._is_present:
                self._on_beginning(state)
        self._states.append(state)


def _is_another_world(before: WorldState, state: WorldState) -> bool:
    places = (before.house, before.episode_id), (state.house, state.episode_id)
    return places[0] != places[1] or state.stamp_s < before.stamp_s - _BACKWARDS_S
