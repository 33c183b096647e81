"""Whether a recorded /world/state is laid out as `planner.world.world_bytes` reads it.

That module reads bytes and not fields, so that a bag of another version of the messages would be
misread without a word.
"""

from __future__ import annotations

from functools import cache

from rosbags.typesys import TypesysError, get_types_from_msg

WORLD_STATE = "planner_msgs/msg/WorldState"
# The fields of our own messages; those of std_msgs and geometry_msgs do not change.
FIELDS = {
    WORLD_STATE: """
        std_msgs/Header header
        string house
        string episode_id
        uint64 revision
        uint64 sim_step
        planner_msgs/EntityState[] entities
    """,
    "planner_msgs/msg/EntityState": """
        uint8 kind
        string name
        string class_name
        int32 instance_id
        string parent
        string relation
        string room
        geometry_msgs/Pose pose
        geometry_msgs/Vector3 size
        string[] affordances
        planner_msgs/NamedState[] states
        float32 openness
        string holding
    """,
    "planner_msgs/msg/NamedState": """
        string name
        bool value
    """,
}


# Reading definitions takes longer than judging a short bag: once for all bags of a kind.
@cache
def difference(type_name: str, definition: str) -> str:
    """Say in what a recorded type is another one than ours; "" where it is the same.

    Args:
        type_name: as the bag names the topic's type.
        definition: its text with those of all messages in it (`ros2msg`).
    """
    if type_name != WORLD_STATE:
        return f"is of type {type_name}, not {WORLD_STATE}"
    try:
        recorded = get_types_from_msg(definition, type_name)
    except (TypesysError, ValueError):
        return f"has a definition of {type_name} that cannot be read"
    for name, fields in FIELDS.items():
        if name not in recorded or recorded[name][1] != get_types_from_msg(fields, name)[name][1]:
            return f"was recorded with another version of {name} than this planner reads"
    return ""
