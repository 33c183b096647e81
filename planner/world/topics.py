"""Names of topics, services and actions, and the numbers in /instruct's states and results."""

from __future__ import annotations

from enum import IntEnum

# Shared by every node of a ROS graph, in any namespace.
ROSOUT, PARAMETER_EVENTS = "/rosout", "/parameter_events"
DIAGNOSTICS = "/diagnostics"
CLOCK, TF, TF_STATIC = "/clock", "/tf", "/tf_static"
# As in nav2: with these, each namespace has its own frames and its own time.
NAMESPACE_REMAPPINGS = tuple((name, name.lstrip("/")) for name in (TF, TF_STATIC, CLOCK))

# Bridge.
WORLD_STATE, WORLD_INFO, PEOPLE = "world/state", "world/info", "people"
LOAD_WORLD, STEP_WORLD = "world/load", "world/step"
RESTART_WORLD = "world/restart"
LOCKSTEP_MEMORY, LOCKSTEP_SKILLS = "lockstep/memory", "lockstep/skills"
LOCKSTEP_PLANNER, LOCKSTEP_WORLD = "lockstep/planner", "lockstep/world"

# Not recorded unless asked for, a regular expression: voices, and pictures that are rendered only
# for subscribers.
UNRECORDED = r".*/body/(image|camera_info)|.*/voice/(audio|sound)"

# Memory.
WORLD_GRAPH, MEMORY_UPDATES, MEMORY_ENTITIES = "world_graph", "memory/updates", "memory/entities"
MEMORY_TRACE = "memory/trace"
MAP, HOUSE_MARKERS, MEMORY_MARKERS = "map", "house/markers", "memory/markers"
QUERY_MEMORY, EDIT_MEMORY = "memory/query", "memory/edit"
SAVE_MEMORY, LOAD_MEMORY = "memory/save", "memory/load"

# Skill executor, task planner and evaluator.
SKILL_RESULTS, SKILLS_TRACE = "skills/results", "skills/trace"
INSTRUCT, INSTRUCT_STATUS, INSTRUCT_ANSWER = "instruct", "instruct/status", "instruct/answer"
PLANNER_TRACE = "planner/trace"
# Ear and mouth.
VOICE_AUDIO, VOICE_TALK, VOICE_HEARD = "voice/audio", "voice/talk", "voice/heard"
VOICE_SAY, VOICE_SOUND, VOICE_SPEAKING = "voice/say", "voice/sound", "voice/speaking"
EVALUATION, EVALUATION_RESULT = "evaluation", "evaluation/result"
FINISH_EVALUATION = "evaluation/finish"

# For each agent, in its own namespace: see `of_agent`. Each `Command` of an agent is also a service
# of that name.
ODOMETRY, JOINT_STATES, GRIPPER_STATE = "odometry", "joint_states", "gripper_state"
BATTERY_STATE, ROBOT_DESCRIPTION = "battery_state", "robot_description"
SIGHTINGS = "sightings"
SAFETY_STATE, MOTION_ALLOWED = "safety/state", "safety/motion_allowed"
RECEIPTS, SAFETY_HEARTBEAT = "safety/receipts", "safety/heartbeat"
QUESTION, ANSWER = "safety/question", "safety/answer"
ASKS_IMAGE, ASKS_TARGET = "safety/asks/image", "safety/asks/target"
PRIMITIVE, SKILL, SKILL_HEARTBEAT = "primitive", "skill", "skill/heartbeat"
SAYS, SPEECH = "says", "speech"


def of_agent(agent: str, name: str) -> str:
    """The name of an agent's topic, service or action."""
    return f"{agent}/{name}"


def colour_image(camera: str) -> str:
    """An agent's camera: the colour image."""
    return f"camera/{camera}/image"


def colour_info(camera: str) -> str:
    """An agent's camera: the camera info of the colour image."""
    return f"camera/{camera}/camera_info"


def depth_image(camera: str) -> str:
    """An agent's camera: the depth image, in the frame of the colour image."""
    return f"depth_registered/{camera}/image"


def depth_info(camera: str) -> str:
    """An agent's camera: the camera info of the depth image."""
    return f"depth_registered/{camera}/camera_info"


def instances_image(camera: str) -> str:
    """An agent's camera in a simulator: the id of the entity at each pixel."""
    return f"instances/{camera}/image"


# States and results of instructions, by the numbers in the ROS interface.


class InstructionCode(IntEnum):
    """How an instruction ended. The numbers are part of the ROS interface and never change."""

    DONE = 0
    CANCELED = 1
    BUSY = 2
    BAD_REQUEST = 3
    NO_GOAL = 4
    GAVE_UP = 5
    CALL_LIMIT = 6
    MODEL_FAULT = 7
    NOT_READY = 8
    QUESTION = 9
    PLANNER_FAULT = 10
    WORLD_LOST = 11
    STEP_LIMIT = 12

    @classmethod
    def name_of(cls, number: int) -> str:
        """The name of a number received over ROS; an unknown one is returned as digits."""
        known = {int(code): code.name for code in cls}
        return known.get(number, f"CODE_{number}")


class InstructState(IntEnum):
    """The state of an instruction. The numbers are those of planner_msgs/InstructStatus."""

    IDLE = 0
    RUNNING = 1
    WAITING = 2
    DONE = 3
    FAILED = 4
    CANCELED = 5


def one_line(text: str) -> str:
    """Untrusted text on one line, so that no part of it can pass for a line of a dialogue."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
