"""What the result codes of Nav2, MoveIt and ros2_control mean for a primitive.

The numbers are those of nav2_msgs, moveit_msgs and control_msgs; each becomes one code of ours and
one sentence, so that a planner learns the same from every robot.
"""

from __future__ import annotations

from planner.world.primitive import PrimitiveCode
from sim_bridge.ros.port import Errand, Interface, State

_Meaning = tuple[PrimitiveCode, str]

_UNREACHABLE, _BLOCKED = PrimitiveCode.UNREACHABLE, PrimitiveCode.BLOCKED
_FAULT, _TOO_FAR = PrimitiveCode.BACKEND_FAULT, PrimitiveCode.TOO_FAR

# NavigateToPose hands on the codes of its planner (200s) and controller (100s).
_NAVIGATION: dict[int, _Meaning] = {
    9001: (_FAULT, "its behaviour tree could not be loaded"),
    9002: (_FAULT, "a transform is missing or too old"),
    9003: (_BLOCKED, "it took too long"),
    9000: (_BLOCKED, "it gave up"),
    101: (_FAULT, "it does not know its controller"),
    102: (_FAULT, "a transform is missing or too old"),
    103: (_UNREACHABLE, "its path is not valid"),
    104: (_BLOCKED, "something stands in the way"),
    105: (_BLOCKED, "the robot makes no progress; something stands in the way"),
    106: (_BLOCKED, "no motion is free of collisions; something stands in the way"),
    107: (_FAULT, "its controller took too long"),
    108: (_FAULT, "its controller took too long"),
    710: (_BLOCKED, "it gave up backing up"),
    711: (_BLOCKED, "backing up took too long"),
    712: (_FAULT, "a transform is missing or too old"),
    713: (_FAULT, "it does not accept the distance"),
    714: (_BLOCKED, "something stands behind the robot"),
    200: (_UNREACHABLE, "it found no way"),
    201: (_FAULT, "it does not know its planner"),
    202: (_FAULT, "a transform is missing or too old"),
    203: (_UNREACHABLE, "the robot is outside of its map"),
    204: (_UNREACHABLE, "the place to stand is outside of its map"),
    205: (_BLOCKED, "the robot stands in an obstacle of its map"),
    206: (_UNREACHABLE, "the place to stand is occupied in its map"),
    207: (_UNREACHABLE, "it found no way in time"),
    208: (_UNREACHABLE, "there is no way to the place to stand"),
}
_MOVEIT: dict[int, _Meaning] = {
    -1: (_TOO_FAR, "it found no motion to there"),
    -2: (_TOO_FAR, "it found no valid motion to there"),
    -3: (_BLOCKED, "something came into the way of the arm"),
    -4: (_BLOCKED, "the arm did not follow its motion"),
    -5: (_FAULT, "it gets no data from its sensors"),
    -6: (_TOO_FAR, "it found no motion to there in time"),
    -7: (_FAULT, "another client took the arm over"),
    -10: (_BLOCKED, "the arm is in collision where it is"),
    -11: (_BLOCKED, "the arm's present posture violates a constraint"),
    -12: (_TOO_FAR, "the arm would collide there"),
    -13: (_TOO_FAR, "the goal violates a constraint"),
    -14: (_TOO_FAR, "the goal cannot be met"),
    -15: (_FAULT, "it does not know the group (arm.group)"),
    -16: (_FAULT, "it does not accept the goal"),
    -17: (_FAULT, "it does not accept the robot's state"),
    -18: (_FAULT, "it does not know the link (arm.tip)"),
    -21: (_FAULT, "it cannot transform the goal's frame"),
    -22: (_FAULT, "it cannot check for collisions"),
    -23: (_FAULT, "its state of the robot is too old"),
    -24: (_FAULT, "its sensor data are too old"),
    -25: (_FAULT, "it cannot talk to its parts"),
    -27: (_TOO_FAR, "the goal is not a valid state"),
    -29: (_FAULT, "it crashed"),
    -30: (_FAULT, "it aborted"),
    -31: (_TOO_FAR, "the arm does not get there"),
}
_TRAJECTORY: dict[int, _Meaning] = {
    -1: (_FAULT, "it does not accept the motion"),
    -2: (_FAULT, "its joints are others than in the settings"),
    -3: (_FAULT, "the motion's time lies in the past"),
    -4: (_BLOCKED, "the joints did not follow; something is in the way"),
    -5: (_BLOCKED, "the joints did not get there; something is in the way"),
}
_MEANINGS = {
    Interface.NAVIGATE: _NAVIGATION,
    Interface.PATH: _NAVIGATION,
    Interface.BACK_UP: _NAVIGATION,
    Interface.MOVEIT: _MOVEIT,
    Interface.TRAJECTORY: _TRAJECTORY,
    Interface.GRIPPER: _TRAJECTORY,
    Interface.GRASPS: _MOVEIT,
}


def explain(errand: Errand) -> tuple[PrimitiveCode, str]:
    """The code and the sentence of a goal that did not succeed."""
    who = errand.server
    if errand.state is State.REJECTED:
        return _FAULT, f"{who} rejected the goal{_words(errand)}"
    if errand.state is State.CANCELED:
        return PrimitiveCode.STOPPED, f"{who}: the goal was canceled by someone else"
    known = _MEANINGS[errand.interface].get(errand.code)
    if known is None:
        return _FAULT, f"{who} failed with the code {errand.code}{_words(errand)}"
    code, text = known
    return code, f"{who}: {text} (code {errand.code}{_words(errand, ': ')})"


def does_not_get_there(errand: Errand) -> bool:
    """Whether another pose may be tried: the arm was not moved, or stopped at an obstacle."""
    known = _MEANINGS[errand.interface].get(errand.code)
    aborted = errand.state is State.ABORTED
    return aborted and known is not None and known[0] in (_TOO_FAR, _BLOCKED)


def _words(errand: Errand, before: str = ": ") -> str:
    # Of a foreign program: bounded, on one line.
    text = " ".join(errand.text.split())[:200]
    return f"{before}{text}" if text else ""
