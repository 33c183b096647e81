"""The forms of runs on this project's simulator and on the emulated robot of backend `ros`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from planner.bad_day.faults import Fault
from planner.bad_day.schedule import FormPart, HarnessMaker, StackTask


def _load_sim() -> HarnessMaker:
    from planner.bad_day.harness import SimHarness

    return SimHarness


def _load_ros() -> HarnessMaker:
    from planner.bad_day.ros_harness import RosHarness

    return RosHarness


def _has_robot_interfaces() -> bool:
    return all(find_spec(name) for name in ("nav2_msgs", "moveit_msgs", "control_msgs"))


# Of machine, processes and operator, in any bridge.
BRIDGE_FAULTS = (
    (Fault.CPU_SHARE, 3), (Fault.BUSY, 1), (Fault.FREEZE, 4), (Fault.KILL, 2),
    (Fault.SECOND_CLIENT, 1), (Fault.SECOND_BRIDGE, 1), (Fault.CALL, 5),
)  # fmt: skip
STACK_FAULTS = (
    (Fault.CPU_SHARE, 3), (Fault.BUSY, 2), (Fault.FULL_DISK, 2), (Fault.FREEZE, 4),
    (Fault.KILL, 4), (Fault.SECOND_CLIENT, 1), (Fault.SECOND_BRIDGE, 1), (Fault.CALL, 1),
)  # fmt: skip
_MODEL_FAULTS = ((Fault.MODEL_SLOW, 3), (Fault.MODEL_DEAD, 3))
_ROS_FAULTS = ((Fault.SERVER_DEAD, 4), (Fault.FREEZE, 3), (Fault.KILL, 3), (Fault.CALL, 2))
_INTERFACES = "the messages of Nav2, MoveIt and ros2_control"
# Enough for a demo and a team to reach their verdict.
_VERDICT_S = 150.0

FORMS: Mapping[str, FormPart] = {
    # For machines without the software of a robot.
    "sim": FormPart(
        summary="bridge node, simulator",
        faults=BRIDGE_FAULTS,
        load=_load_sim,
        in_parallel=True,
        place_in_mix=1,
    ),
    "demo": FormPart(
        summary="whole stack",
        faults=(*STACK_FAULTS, *_MODEL_FAULTS),
        task=StackTask("demo_dinner", 1, _VERDICT_S),
        place_in_mix=0,
    ),
    "team": FormPart(
        summary="whole stack, 2 agents",
        faults=STACK_FAULTS,
        task=StackTask("night_light_0", 0, _VERDICT_S),
        place_in_mix=2,
    ),
    # One at a time too: the robot is a process of its own that renders pictures.
    "ros": FormPart(
        summary="bridge node, Nav2, MoveIt",
        faults=_ROS_FAULTS,
        load=_load_ros,
        number=(1, 3),
        # A goal of 12 s is answered within the 15 s after which a client gives it up.
        longest_freeze_s=2.5,
        recovers=True,
        place_in_mix=3,
        is_installed=_has_robot_interfaces,
        needs=f"{_INTERFACES}: make robot-interfaces",
        left_out=f"no runs of backend ros: without {_INTERFACES} (make robot-interfaces)",
    ),
}
