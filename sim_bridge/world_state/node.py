"""`/world/state`: the true world of a simulator, as changes with keyframes."""

from __future__ import annotations

import time
from collections import Counter

from planner_msgs.msg import WorldState
from rclpy.node import Node

from planner.ros import qos
from planner.ros.safe_publisher import SafePublisher
from planner.ros.world_messages import StateMessages
from planner.world import topics
from planner.world.state_updates import StateUpdate, UpdateEncoder
from sim_bridge.runtime import Runtime

# Wall seconds after the last change until a keyframe repeats it, for readers that missed it.
KEYFRAME_WAIT_S = 1.0
# Wall seconds after a state until it is repeated for a reader that has not acknowledged it, and how
# often. A message that was lost on the way is sent again only when its reader learns of a newer
# one, or after seconds: the last state of a run might come too late for a bag.
ACKNOWLEDGE_WAIT_S, MAX_REPEATS = 0.4, 5


class WorldStateTopic:
    """Publishes changes, and a keyframe for each late joiner."""

    def __init__(self, node: Node, runtime: Runtime, losses: Counter[str]) -> None:
        """Advertises the topic."""
        self._runtime = runtime
        self._publisher = SafePublisher(node, WorldState, topics.WORLD_STATE, qos.TRUTH, losses)
        self._encoder, self._messages = UpdateEncoder(), StateMessages()
        self._revision = -1
        # When the first change after the newest keyframe was sent, wall seconds.
        self._changed_since_s: float | None = None
        # When the newest message was sent, wall seconds, and how often its state may be repeated.
        self._sent_s = 0.0
        self._repeats_left = 0

    def begin(self) -> None:
        """Publishes the world that was just loaded.

        The message stays for late joiners until the next one: they get the beginning and, from
        the next call of `publish` on, the present.
        """
        self._revision = -1
        self._publish(begins=True)

    def publish(self) -> None:
        """Publishes the state if it changed or a subscriber joined."""
        if self._publisher.has_subscribers:
            self._publish(begins=False)

    def _publish(self, *, begins: bool) -> None:
        state, joined = self._runtime.world_state(), self._publisher.has_new_subscribers
        if state is None:
            return
        if state.revision != self._revision:
            self._revision = state.revision
            self._repeats_left = MAX_REPEATS
            self._send(self._encoder.encode(state, keyframe=begins or joined))
        elif joined:
            # It may find this publisher only after the message, and not ask for it.
            self._repeats_left = MAX_REPEATS
            self._repeat()

    def keep_readable(self, wall_s: float) -> None:
        """Repeats the newest state as a keyframe for readers that may not have it.

        That is, if no keyframe has followed a change for a while, or if a reader has not
        acknowledged the state.
        """
        since_s = self._changed_since_s
        if since_s is not None and wall_s - since_s >= KEYFRAME_WAIT_S:
            self._repeat()
        elif self._repeats_left and wall_s - self._sent_s >= ACKNOWLEDGE_WAIT_S:
            # A reader that died is listed for a while, hence the limit.
            if self._publisher.wait_for_acks(0.0):
                self._repeats_left = 0
                return
            self._repeats_left -= 1
            self._repeat()

    def _repeat(self) -> None:
        update = self._encoder.repeat()
        if update is not None:
            self._send(update)

    def _send(self, update: StateUpdate) -> None:
        sent = self._publisher.publish(self._messages.message(update))
        self._sent_s = time.monotonic()
        if sent and update.keyframe:
            self._changed_since_s = None
        elif self._changed_since_s is None:
            self._changed_since_s = time.monotonic()
