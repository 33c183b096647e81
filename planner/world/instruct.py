"""States and results of instructions, by the numbers in the ROS interface."""

from __future__ import annotations

from enum import IntEnum


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
