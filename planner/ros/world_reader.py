"""Reading /world/state's bytes; messages that are not in CDR's usual layout are left to rclpy."""

from __future__ import annotations

from planner_msgs.msg import WorldState as WorldMessage
from rclpy.serialization import deserialize_message

from planner.world.state import WorldState
from planner.world.wire import world_record
from planner.world.world_bytes import CDR_LITTLE_ENDIAN, WorldBytes


class WorldReader(WorldBytes):
    """Reads one message after another."""

    def read(self, data: bytes | memoryview) -> WorldState:
        """The state that a serialised WorldState carries.

        Raises:
            PlannerError: for data that are no such message.
        """
        if data[:2] != CDR_LITTLE_ENDIAN:
            return world_record(deserialize_message(bytes(data), WorldMessage))
        return super().read(data)
