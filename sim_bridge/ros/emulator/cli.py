"""`planner robot-emulator`: a mobile manipulator with Nav2, MoveIt and ros2_control, emulated."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import fields

from planner.environment import ros_environment
from planner.world.errors import PlannerError
from sim_bridge.opening import default_house, open_world


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add = parser.add_argument
    add("--house", default="", help="name or file; default: the first shipped")
    add("--episode", default="", help="name or file; default: the bare house")
    add("--seed", type=int, default=0)
    add("--namespace", default="", help="of all its names; /tf is /NAMESPACE/tf")
    add("--image-encoding", default="rgb8", choices=("rgb8", "bgr8", "rgba8", "mono8"))
    add("--depth-encoding", default="16UC1", choices=("16UC1", "32FC1"))
    parallel = "control_msgs/ParallelGripperCommand instead of GripperCommand"
    add("--parallel-gripper", action="store_true", help=parallel)
    stalling = "a gripper that stalls succeeds; else it aborts, as by ros2_control's default"
    add("--allow-stalling", action="store_true", help=stalling)
    add("--stamped-cmd-vel", action="store_true", help="geometry_msgs/TwistStamped on cmd_vel")
    add("--goal-tolerance", type=float, default=0.1, metavar="M", help="of Nav2's goal checker")
    add("--goal-tolerance-yaw", type=float, default=0.1, metavar="RAD", help="likewise")
    add("--fail-grasps", type=float, default=0.0, metavar="SHARE", help="of grasps that slip")
    add("--truth", action="store_true", help="publish /world/state, as a simulator's referee")
    add("--seconds", type=float, default=0.0, help="stop after this time; 0 = never")


def run(args: argparse.Namespace) -> int:
    """Serves until it is interrupted.

    Raises:
        PlannerError: for an invalid argument, or if the interfaces are not installed.
    """
    for name, most in (("fail_grasps", 1.0), ("goal_tolerance", 2.0), ("goal_tolerance_yaw", 3.2)):
        if not 0 <= getattr(args, name) <= most:
            option = name.replace("_", "-")
            raise PlannerError(f"--{option}: expected 0 to {most:g}, got {getattr(args, name)}")
    if not re.fullmatch(r"(/?[A-Za-z_]\w*)*/?", args.namespace, re.ASCII):
        raise PlannerError(f"--namespace: {args.namespace!r} is no name in ROS")
    house = args.house or ("" if args.episode else default_house())
    opened = open_world(house, args.episode, args.seed, 1)
    os.environ.update(ros_environment(os.environ, large_messages=True))
    try:
        from sim_bridge.ros.emulator.node import serve
    except ImportError as error:
        raise PlannerError(
            f"the emulator needs the interfaces of Nav2, MoveIt and ros2_control ({error}): "
            "make robot-interfaces"
        ) from error
    from sim_bridge.ros.emulator.house import RobotHouse
    from sim_bridge.ros.emulator.joint_control import RobotModel, shipped_urdf
    from sim_bridge.ros.emulator.simulation import Settings, Simulation

    args.seed = opened.seed
    settings = Settings(**{each.name: getattr(args, each.name) for each in fields(Settings)})
    place = RobotHouse(opened.house, opened.episode, opened.seed, args.fail_grasps)
    serve(Simulation(place, RobotModel(shipped_urdf()), settings), args.seconds)
    return 0
