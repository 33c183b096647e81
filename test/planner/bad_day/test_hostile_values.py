"""What hostile inputs are made of: the same by a seed, and messages that can be sent."""

from __future__ import annotations

from random import Random

import pytest
from geometry_msgs.msg import PoseWithCovariance
from planner_msgs.action import FollowInstruction
from planner_msgs.msg import EntityState, MemoryUpdate, WorldState
from planner_msgs.srv import EditMemory
from rclpy.serialization import deserialize_message, serialize_message
from tf2_msgs.msg import TFMessage

from planner.bad_day.hostile.node import Values

# The last has a part of an action as a field.
KINDS = [
    *(WorldState, MemoryUpdate, EditMemory.Request, TFMessage, PoseWithCovariance),
    FollowInstruction.Impl.SendGoalService.Request,
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_changed_can_be_sent_and_is_hardly_ever_the_same(kind: type) -> None:
    values, empty = Values(Random(1)), str(kind())
    changed = [values.changed(kind()) for _ in range(100)]
    for each in changed:
        deserialize_message(serialize_message(each), kind)
    assert sum(str(each) != empty for each in changed) > 60


def test_a_field_deep_in_a_true_message_is_changed_and_the_rest_stays() -> None:
    values, found = Values(Random(2)), set()
    for _ in range(300):
        message = WorldState(house="h", entities=[EntityState(name="cup_1", relation="on")])
        values.changed(message)
        if len(message.entities) == 1 and message.house == "h":
            entity = message.entities[0]
            found |= {n for n in ("name", "relation") if getattr(entity, n) not in ("cup_1", "on")}
    assert found == {"name", "relation"}


def test_a_seed_gives_the_same_again() -> None:
    def drawn(seed: int) -> list[object]:
        values = Values(Random(seed))
        return [(str(values.changed(WorldState())), values.broken(bytes(64))) for _ in range(50)]

    assert drawn(1) == drawn(1) != drawn(2)
