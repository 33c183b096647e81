"""The interfaces as built: present, with the types that design and documents promise."""

import math

import pytest
from planner_msgs.action import ExecutePrimitive, ExecuteSkill, FollowInstruction
from planner_msgs.msg import EntityState, MemoryUpdate, WorldGraph, WorldState
from planner_msgs.srv import LoadEpisode, StepWorld
from rclpy.serialization import deserialize_message, serialize_message
from tf2_msgs.msg import TFMessage


@pytest.mark.parametrize("action", [ExecutePrimitive, ExecuteSkill, FollowInstruction])
def test_every_result_has_a_code_a_text_and_evidence(action: type) -> None:
    fields = action.Result.get_fields_and_field_types()
    assert fields["code"] == "int32"
    assert fields["text"] == "string"
    assert fields["evidence"] == "sequence<diagnostic_msgs/KeyValue>"


def test_a_world_survives_the_wire() -> None:
    cup = EntityState(kind=EntityState.KIND_OBJECT, name="cup_1", parent="table_1", relation="on")
    sent = WorldState(house="cottage", revision=2**63, entities=[cup])
    assert deserialize_message(serialize_message(sent), WorldState) == sent


def test_numbers_that_mean_free_survive_the_wire() -> None:
    goal = ExecutePrimitive.Goal(name="navigate", heading_rad=math.nan, standoff_m=math.nan)
    back = deserialize_message(serialize_message(goal), ExecutePrimitive.Goal)
    assert math.isnan(back.heading_rad)
    assert math.isnan(back.standoff_m)


def test_services_and_snapshots_have_their_fields() -> None:
    assert LoadEpisode.Request(seed=-1).seed == -1
    assert StepWorld.Request().duration_s == 0.0
    assert MemoryUpdate().sequence == 0
    assert WorldGraph().nodes == []


def test_the_frames_message_has_its_standard_name() -> None:
    assert TFMessage.get_fields_and_field_types() == {
        "transforms": "sequence<geometry_msgs/TransformStamped>"
    }
