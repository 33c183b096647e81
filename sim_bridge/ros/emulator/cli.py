"""`planner robot-emulator`: a mobile manipulator with Nav2, MoveIt and ros2_control, emulated."""

from __future__ import annotations

import argparse
from pathlib import Path

from planner.world.errors import PlannerError
from sim_bridge.opening import default_house, open_world


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--house", default="", help="name or file; default: the first shipped")
    parser.add_argument("--episode", default="", help="name or file; default: the bare house")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--urdf", default="", help="another file with the same joints and frames")
    parser.add_argument("--namespace", default="", help="of all its names; /tf is /NAMESPACE/tf")
    parser.add_argument(
        "--image-encoding", default="rgb8", choices=("rgb8", "bgr8", "rgba8", "mono8")
    )
    parser.add_argument("--depth-encoding", default="16UC1", choices=("16UC1", "32FC1"))
    parser.add_argument(
        "--parallel-gripper",
        action="store_true",
        help="control_msgs/ParallelGripperCommand instead of GripperCommand",
    )
    parser.add_argument(
        "--allow-stalling",
        action="store_true",
        help="a gripper that stalls succeeds; else it aborts, as by ros2_control's default",
    )
    parser.add_argument(
        "--stamped-cmd-vel", action="store_true", help="geometry_msgs/TwistStamped on cmd_vel"
    )
    parser.add_argument(
        "--goal-tolerance", type=float, default=0.1, metavar="M", help="of Nav2's goal checker"
    )
    parser.add_argument("--goal-tolerance-yaw", type=float, default=0.1, metavar="RAD")
    parser.add_argument(
        "--fail-grasps", type=float, default=0.0, metavar="SHARE", help="share of grasps that slip"
    )
    parser.add_argument(
        "--truth", action="store_true", help="publish /world/state, as a simulator's referee"
    )
    parser.add_argument(
        "--seconds", type=float, default=0.0, help="stop after this time; 0 = never"
    )


def run(args: argparse.Namespace) -> int:
    """Serves until it is interrupted.

    Raises:
        PlannerError: for an invalid argument, or if the interfaces are not installed.
    """
    if not 0 <= args.fail_grasps <= 1:
        raise PlannerError(f"--fail-grasps: expected 0 to 1, got {args.fail_grasps}")
    try:
        from sim_bridge.ros.emulator.node import Topics, serve
    except ImportError as error:
        raise PlannerError(
            f"the emulator needs the interfaces of Nav2, MoveIt and ros2_control ({error}): "
            "make robot-interfaces"
        ) from error
    from sim_bridge.ros.emulator.house import RobotHouse
    from sim_bridge.ros.emulator.kinematics import RobotModel, shipped_urdf
    from sim_bridge.ros.emulator.simulation import Behaviour, Simulation

    house = args.house or ("" if args.episode else default_house())
    opened = open_world(house, args.episode, args.seed, 1)
    try:
        urdf = Path(args.urdf).read_text(encoding="utf-8") if args.urdf else shipped_urdf()
    except OSError as error:
        raise PlannerError(f"--urdf: {error}") from error
    behaviour = Behaviour(args.goal_tolerance, args.goal_tolerance_yaw, args.allow_stalling)
    place = RobotHouse(opened.house, opened.episode, opened.seed, args.fail_grasps)
    simulation = Simulation(place, RobotModel(urdf), opened.seed, behaviour)
    topics = Topics(
        args.namespace,
        opened.seed,
        args.image_encoding,
        args.depth_encoding,
        args.parallel_gripper,
        args.stamped_cmd_vel,
        args.truth,
    )
    serve(simulation, urdf, topics, args.seconds)
    return 0
