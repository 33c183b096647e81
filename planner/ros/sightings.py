"""Ground truth as messages and for privileged readers, and sightings without pictures."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import time_ns

from geometry_msgs.msg import Vector3
from planner_msgs.msg import Entity, EntityList, NamedState
from planner_msgs.msg import EntityState as EntityMessage
from planner_msgs.msg import WorldState as WorldMessage
from rclpy.node import Node
from rclpy.subscription import MessageInfo, Subscription

from planner.ros import qos
from planner.ros.clients import wall_clock
from planner.ros.conversions import header, point_message, pose_message, time_message
from planner.ros.guard import SafePublisher
from planner.ros.subscriptions import listen
from planner.world import topics
from planner.world.memory_wire import sightings_record, stamp_seconds
from planner.world.observation import Sighting
from planner.world.person import person_states
from planner.world.shapes import look_states
from planner.world.state import EntityState, StateUpdate, UpdateDecoder, WorldState, vanished
from planner.world.vocabulary import EntityKind
from planner.world.wire import state_update

_MAP = "map"


@dataclass(frozen=True, slots=True)
class Seen:
    """What an agent saw at one instant."""

    stamp_s: float
    sightings: tuple[Sighting, ...]


class SightingsTopic:
    """Publishes what one agent sees: of each entity the name, its place and its distance."""

    def __init__(self, node: Node, agent: str, losses: Counter[str]) -> None:
        self._publisher = SafePublisher(
            node, EntityList, topics.of_agent(agent, topics.SIGHTINGS), qos.IMAGE, losses
        )

    @property
    def subscriber_count(self) -> int:
        """Number of subscribers."""
        return self._publisher.subscriber_count

    @property
    def has_new_subscribers(self) -> bool:
        """Whether a subscriber joined after the last message."""
        return self._publisher.has_new_subscribers

    def publish(self, stamp_s: float, sightings: Sequence[Sighting]) -> None:
        """Publishes what is seen at a time of the world's clock."""
        seen = time_message(stamp_s)
        entities = [
            Entity(
                name=sighting.name,
                position=point_message(sighting.position_m),
                seen_distance_m=float(sighting.distance_m),
                seen=seen,
            )
            for sighting in sightings
        ]
        self._publisher.publish(EntityList(header=header(stamp_s, _MAP), entities=entities))

    def destroy(self) -> None:
        """Removes the topic."""
        self._publisher.destroy()


class SightingsInput:
    """Subscribes to what one agent sees; see `CameraInput`."""

    def __init__(
        self,
        node: Node,
        agent: str,
        is_due: Callable[[float], bool],
        on_seen: Callable[[Seen], None],
    ) -> None:
        """Subscribes.

        Args:
            node: subscribes.
            agent: its namespace.
            is_due: whether what was seen at a stamp is needed.
            on_seen: gets it.
        """
        self.losses: Counter[str] = Counter()
        self._node = node

        def receive(message: EntityList) -> None:
            stamp_s = stamp_seconds(message.header.stamp)
            if is_due(stamp_s):
                on_seen(Seen(stamp_s, sightings_record(message)))

        topic = topics.of_agent(agent, topics.SIGHTINGS)
        self._subscription = listen(node, EntityList, topic, receive, qos.IMAGE_INPUT)

    def destroy(self) -> None:
        """Removes the subscription."""
        self._node.destroy_subscription(self._subscription)


# Ground truth for privileged readers: the world's state at the time of a picture.

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


# Ground truth as planner_msgs/WorldState; `planner.world.wire` reads it back.

_KIND_NUMBERS = {
    EntityKind.ROOM: EntityMessage.KIND_ROOM,
    EntityKind.FURNITURE: EntityMessage.KIND_FURNITURE,
    EntityKind.OBJECT: EntityMessage.KIND_OBJECT,
    EntityKind.AGENT: EntityMessage.KIND_AGENT,
}


class StateMessages:
    """Builds messages of updates; messages of unchanged entities are cached.

    A keyframe has some hundred entities, and building one takes 20 us.
    """

    def __init__(self) -> None:
        self._made: dict[str, tuple[EntityState, EntityMessage]] = {}

    def message(self, update: StateUpdate) -> WorldMessage:
        """The message of an update, in frame `map`."""
        state = update.state
        made = {name: self._of(entity) for name, entity in state.entities.items()}
        if update.keyframe:
            self._made = made
        else:
            self._made.update(made)
        return WorldMessage(
            header=header(state.stamp_s, "map"),
            house=state.house,
            episode_id=state.episode_id,
            revision=state.revision,
            sim_step=state.step,
            keyframe=update.keyframe,
            sequence=update.sequence or 0,
            entities=[message for _, message in made.values()],
            removed=list(update.removed),
        )

    def _of(self, entity: EntityState) -> tuple[EntityState, EntityMessage]:
        known = self._made.get(entity.name)
        return known if known and known[0] is entity else (entity, entity_message(entity))


def entity_message(entity: EntityState) -> EntityMessage:
    """The message of one entity."""
    states = {**(entity.states or {}), **look_states(entity.look), **person_states(entity.person)}
    depth_m, width_m, height_m = map(float, entity.size_m)
    return EntityMessage(
        kind=_KIND_NUMBERS[entity.kind],
        name=entity.name,
        class_name=entity.class_name,
        instance_id=entity.instance_id,
        parent=entity.parent or "",
        relation=entity.relation or "",
        room=entity.room or "",
        pose=pose_message(entity.pose),
        size=Vector3(x=depth_m, y=width_m, z=height_m),
        affordances=[str(affordance) for affordance in entity.affordances],
        states=[NamedState(name=str(name), value=value) for name, value in states.items()],
        openness=-1.0 if entity.openness is None else float(entity.openness),
        holding=entity.holding or "",
        hands=[name or "" for name in entity.hands],
    )
