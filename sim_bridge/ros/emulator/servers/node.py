"""Nav2's, ros2_control's and MoveIt's servers of the emulated robot.

Each action serves one goal at a time: the newest replaces the running one, as theirs do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from moveit_msgs.action import MoveGroup as MoveGroupAction
from moveit_msgs.msg import Constraints, MoveItErrorCodes, RobotState
from nav2_msgs.action import BackUp, ComputePathToPose, NavigateThroughPoses, NavigateToPose
from nav2_msgs.msg import SpeedLimit, WaypointStatus
from rclpy.action.server import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planner.ros.conversions import header, point_m, stamped_pose
from planner.world.geometry import IDENTITY, FloatArray, Pose, Quaternion
from sim_bridge.ros.emulator import joint_control, motion_planning, navigation
from sim_bridge.ros.emulator.joint_control import (
    FINGERS,
    GRASP,
    ROOT,
    Ended,
    GoalError,
    Status,
    Trajectory,
)
from sim_bridge.ros.emulator.motion_planning import LinkGoal, Motion, MotionRequest, MoveGroup
from sim_bridge.ros.emulator.navigation import SPEED_M_S
from sim_bridge.ros.emulator.simulation import CONTROLLERS, Done, Simulation


class OneGoalServer(ActionServer[Any, Any, Any]):
    """Passes each goal to `begin` with the function that ends it later.

    Args:
        begin: may also raise GoalError.
        stop: ends the goal that runs as canceled.
        result: the result's message for an end.
        is_free: whether a goal may be accepted.
    """

    def __init__(
        self,
        node: Node,
        action: Any,
        name: str,
        begin: Callable[[Any, Done], None],
        stop: Callable[[], None],
        result: Callable[[Any, Any], Any],
        is_free: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(
            node,
            action,
            name,
            execute_callback=lambda _: action.Result(),
            goal_callback=lambda _: GoalResponse.ACCEPT if is_free() else GoalResponse.REJECT,
            handle_accepted_callback=self._take,
            cancel_callback=self._cancel,
        )
        self._begin, self._stop, self._result = begin, stop, result
        self.current: Any = None
        self._is_dead = False

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Runs no goal in a callback, which rclpy would poll until it ends."""

    def tell(self, **feedback: Any) -> None:
        """Sends feedback of the goal that runs, if one does."""
        goal = self.current
        if goal is not None and goal.is_active:
            goal.publish_feedback(self.action_type.Feedback(**feedback))

    def die(self) -> None:
        """Goes without a word, as a process that was killed."""
        self._is_dead = True
        self.destroy()

    def _take(self, goal: Any) -> None:
        goal.execute()
        self.current = goal
        done = partial(self._end, goal)
        try:
            self._begin(goal.request, done)
        except GoalError as error:
            done(error.ended)
        except Exception as error:  # no goal ends the process
            self._logger.error(f"{type(error).__name__}: {error}")
            done(Ended(Status.ABORTED, 0, str(error)))

    def _end(self, goal: Any, ended: Ended) -> None:
        if self._is_dead:
            return
        if goal is self.current:
            self.current = None

        def end(handle: Any) -> Any:
            if ended.status is Status.SUCCEEDED:
                handle.succeed()
            elif handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return self._result(goal.request, ended)

        super().notify_execute(goal, end)

    def _cancel(self, goal: Any) -> CancelResponse:
        if goal is self.current:
            self._stop()
        return CancelResponse.ACCEPT


class Controllers:
    """ros2_control: the joint trajectory controllers and the gripper's."""

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation, self._node = simulation, node
        self._is_parallel = simulation.settings.parallel_gripper
        self._followers = {
            name: OneGoalServer(
                node,
                FollowJointTrajectory,
                f"{name}/follow_joint_trajectory",
                partial(self._follow, name),
                partial(simulation.hold, name),
                lambda _, e: FollowJointTrajectory.Result(error_code=e.code, error_string=e.text),
            )
            for name in CONTROLLERS
        }
        self._gripper = OneGoalServer(
            node,
            ParallelGripperCommand if self._is_parallel else GripperCommand,
            "gripper_controller/gripper_cmd",
            self._grip,
            partial(simulation.hold, "gripper"),
            self._gripped,
        )

    def tell(self) -> None:
        """Sends feedback of what runs."""
        for name, server in self._followers.items():
            follower = self._simulation.followers[name]
            desired, actual = follower.desired, self._simulation.q[follower.places]
            server.tell(
                joint_names=list(follower.joints),
                desired=JointTrajectoryPoint(positions=desired.tolist()),
                actual=JointTrajectoryPoint(positions=actual.tolist()),
                error=JointTrajectoryPoint(positions=(desired - actual).tolist()),
            )
        self._gripper.tell(**self._fingers())

    def _follow(self, name: str, goal: Any, done: Done) -> None:
        points = goal.trajectory.points
        if len({(len(p.positions), len(p.velocities)) for p in points}) > 1:
            raise GoalError(
                joint_control.INVALID_GOAL, "points differ in how many values they have"
            )
        trajectory = Trajectory(
            tuple(goal.trajectory.joint_names),
            np.array([_seconds(p.time_from_start) for p in points]),
            np.array([list(p.positions) for p in points], dtype=float),
            np.array([list(p.velocities) for p in points], dtype=float)
            if points and points[0].velocities
            else None,
            {each.name: each.position for each in goal.path_tolerance},
            {each.name: each.position for each in goal.goal_tolerance},
            _seconds(goal.goal_time_tolerance),
        )
        trajectory.check(CONTROLLERS[name], self._simulation.robot)
        sent_s = _seconds(goal.trajectory.header.stamp)
        if 0 < sent_s < _now_s(self._node) - trajectory.times_s[-1]:
            raise GoalError(joint_control.OLD_HEADER_TIMESTAMP, "the trajectory ends in the past")
        self._simulation.follow(name, trajectory, done)

    def _grip(self, goal: Any, done: Done) -> None:
        command = goal.command
        if not self._is_parallel:
            self._simulation.grip(command.position, command.max_effort, 0.0, done)
            return
        if len(command.position) != 1 or list(command.name) not in ([], [FINGERS[0]]):
            raise GoalError(0, f"expected one position of {FINGERS[0]}")
        effort, speed = (
            float(each[0]) if each else 0.0 for each in (command.effort, command.velocity)
        )
        # A finger's joint moves half of the gap.
        self._simulation.grip(2 * command.position[0], effort, 2 * speed, done)

    def _gripped(self, _: Any, ended: Ended) -> Any:
        flags = {"stalled": ended.text == "stalled", "reached_goal": ended.text == "reached"}
        action = self._gripper.action_type
        return action.Result(
            **{**flags, **{k: v for k, v in self._fingers().items() if k not in flags}}
        )

    def _fingers(self) -> dict[str, Any]:
        """The fields of feedback, in either version."""
        gripper = self._simulation.gripper
        gap_m, effort_n = float(gripper.gap_m), float(gripper.effort_n)
        if self._is_parallel:
            state = JointState(name=[FINGERS[0]], position=[gap_m / 2], effort=[effort_n])
            return {"state": state}
        return {"position": gap_m, "effort": effort_n, "stalled": effort_n > 0}


class Nav2:
    """bt_navigator, planner_server and amcl, as far as others see them."""

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation, self._node = simulation, node
        # While one navigator works, requests to the other are rejected.
        self._to, self._through = (
            OneGoalServer(
                node,
                action,
                name,
                partial(self._go, action.Result),
                partial(simulation.hold, "navigation"),
                partial(self._went, action.Result),
                partial(self._is_free, name),
            )
            for action, name in (
                (NavigateToPose, "navigate_to_pose"),
                (NavigateThroughPoses, "navigate_through_poses"),
            )
        )
        self._path = OneGoalServer(
            node, ComputePathToPose, "compute_path_to_pose", self._plan, lambda: None, self._planned
        )
        self._back = OneGoalServer(
            node,
            BackUp,
            "backup",
            self._back_up,
            partial(simulation.hold, "navigation"),
            lambda _, ended: BackUp.Result(error_code=ended.code, error_msg=ended.text),
            lambda: self._to.current is None and self._through.current is None,
        )
        self._limits = node.create_subscription(SpeedLimit, "speed_limit", self._limit, 10)
        self._states = [
            node.create_service(GetState, f"{name}/get_state", _active)
            for name in ("bt_navigator", "amcl", "planner_server", "controller_server")
        ]

    def die(self) -> None:
        """Takes all of it down, without answers to its goals."""
        for server in (self._to, self._through, self._path, self._back):
            server.die()
        self._node.destroy_subscription(self._limits)
        self._simulation.crash_navigation()
        for service in self._states:
            self._node.destroy_service(service)

    def tell(self) -> None:
        """Sends feedback of what runs."""
        simulation = self._simulation
        with simulation.lock:
            if not simulation.navigator.is_active:
                return
            here = simulation.base.estimate
            progress = simulation.navigator.progress(here, simulation.now_s)
        told = {
            "current_pose": stamped_pose(_now_s(self._node), "map", here),
            "navigation_time": _duration(progress.since_s),
            "estimated_time_remaining": _duration(progress.remaining_s),
            "number_of_recoveries": progress.recoveries,
            "distance_remaining": float(progress.distance_m),
        }
        self._to.tell(**told)
        self._through.tell(**told, number_of_poses_remaining=progress.poses_left)

    def _is_free(self, name: str) -> bool:
        other = self._through if name == "navigate_to_pose" else self._to
        return other.current is None

    def _go(self, codes: Any, goal: Any, done: Done) -> None:
        if goal.behavior_tree:
            text = f"no behavior tree {goal.behavior_tree!r}"
            raise GoalError(codes.FAILED_TO_LOAD_BEHAVIOR_TREE, text)
        stamped = list(goal.poses.goals) if hasattr(goal, "poses") else [goal.pose]
        if not stamped:
            raise GoalError(codes.UNKNOWN, "no poses were given")
        self._simulation.navigate([self._in_map(p, codes.TF_ERROR) for p in stamped], done)

    def _back_up(self, goal: Any, done: Done) -> None:
        allowance_s = _seconds(goal.time_allowance)
        self._simulation.back_up(float(goal.target.x), float(goal.speed), allowance_s, done)

    def _limit(self, message: SpeedLimit) -> None:
        share = SPEED_M_S / 100 if message.percentage else 1.0
        self._simulation.limit_speed(float(message.speed_limit) * share)

    def _went(self, result: Any, goal: Any, ended: Ended) -> Any:
        message = result(error_code=ended.code, error_msg=ended.text)
        if hasattr(goal, "poses"):
            # Of a way that ends early, it is not told how many poses were reached.
            reached = ended.status is Status.SUCCEEDED
            status = WaypointStatus.COMPLETED if reached else WaypointStatus.FAILED
            message.waypoint_statuses = [
                WaypointStatus(waypoint_status=status, waypoint_index=k, waypoint_pose=pose)
                for k, pose in enumerate(goal.poses.goals)
            ]
        return message

    def _plan(self, goal: Any, done: Done) -> None:
        if goal.planner_id not in ("", "GridBased"):
            text = f"no planner {goal.planner_id!r}; there is GridBased"
            raise GoalError(navigation.INVALID_PLANNER, text)
        start, target = self._simulation.base.estimate, self._in_map(goal.goal, navigation.TF_ERROR)
        if goal.use_start:
            start = self._in_map(goal.start, navigation.TF_ERROR)
        corners = self._simulation.planner.plan(start, target)
        done(Planned(Status.SUCCEEDED, poses=tuple(navigation.path_poses(corners, target))))

    def _planned(self, _: Any, ended: Ended) -> Any:
        result = ComputePathToPose.Result(error_code=ended.code, error_msg=ended.text)
        now_s = _now_s(self._node)
        result.path.header = header(now_s, "map")
        if isinstance(ended, Planned):
            result.path.poses = [stamped_pose(now_s, "map", pose) for pose in ended.poses]
        return result

    def _in_map(self, stamped: Any, code: int) -> Pose:
        pose = self._simulation.in_map(stamped.header.frame_id, _pose(stamped.pose))
        if pose is None:
            raise GoalError(code, f"no transform from {stamped.header.frame_id!r} to 'map'")
        return pose


class MoveIt:
    """move_group's action."""

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation = simulation
        self._group = MoveGroup(simulation, simulation.settings.seed)
        self._server = OneGoalServer(
            node, MoveGroupAction, "move_action", self._move, self._group.cancel, self._moved
        )

    def die(self) -> None:
        """Takes it down, without an answer to its goal; controllers go on with what they have."""
        self._server.die()
        self._group.close()

    def _move(self, goal: Any, done: Done) -> None:
        asked = goal.request
        self._group.cancel()
        path = asked.path_constraints
        if path.joint_constraints or path.position_constraints or path.orientation_constraints:
            text = "this planner takes no path constraints"
            raise GoalError(motion_planning.PLANNING_FAILED, text)
        if len(asked.goal_constraints) != 1:
            text = f"expected one set of goal constraints, got {len(asked.goal_constraints)}"
            raise GoalError(motion_planning.INVALID_GOAL_CONSTRAINTS, text)
        request = MotionRequest(
            asked.group_name,
            *self._goal(asked.goal_constraints[0]),
            asked.max_velocity_scaling_factor,
            asked.allowed_planning_time,
        )
        start = self._start(asked.start_state)
        self._group.begin(request, start, plan_only=goal.planning_options.plan_only, done=done)

    def _moved(self, goal: Any, ended: Ended) -> Any:
        result = MoveGroupAction.Result(error_code=_code(ended))
        if isinstance(ended, Motion) and ended.trajectory is not None:
            result.planning_time = float(ended.planning_s)
            result.planned_trajectory.joint_trajectory = _joint_trajectory(ended.trajectory)
            if ended.status is Status.SUCCEEDED and not goal.planning_options.plan_only:
                result.executed_trajectory = result.planned_trajectory
        return result

    def _goal(
        self, goal: Constraints
    ) -> tuple[dict[str, tuple[float, float, float]], LinkGoal | None]:
        """Joints, or a link's place in `base_footprint`."""
        joints = {
            each.joint_name: (each.position, each.tolerance_below, each.tolerance_above)
            for each in goal.joint_constraints
        }
        places, turns = goal.position_constraints, goal.orientation_constraints
        links = {each.link_name for each in (*places, *turns)}
        wrong = len(places) > 1 or len(turns) > 1 or len(links) > 1 or goal.visibility_constraints
        if wrong or (links and joints):
            text = "expected joints, or one position and one orientation of one link"
            raise GoalError(motion_planning.INVALID_GOAL_CONSTRAINTS, text)
        parts: dict[str, Any] = {}
        for place in places:
            region = place.constraint_region
            if len(region.primitives) != 1 or len(region.primitive_poses) != 1:
                text = "expected one shape as region"
                raise GoalError(motion_planning.INVALID_GOAL_CONSTRAINTS, text)
            frame, size = self._frame(place.header), list(region.primitives[0].dimensions)
            parts["offset_m"] = point_m(place.target_point_offset)
            parts["region"] = frame.compose(_pose(region.primitive_poses[0]))
            if region.primitives[0].type == SolidPrimitive.BOX:
                parts["half_m"] = tuple(value / 2 for value in size)
            else:
                # A ball, or one that is as wide as a cylinder.
                parts["radius_m"] = min(size)
        for turn in turns:
            turned = Pose((0.0, 0.0, 0.0), _quaternion(turn.orientation))
            parts["rotation"] = self._frame(turn.header).compose(turned).rotation()
            parts["tolerance_rad"] = (
                turn.absolute_x_axis_tolerance,
                turn.absolute_y_axis_tolerance,
                turn.absolute_z_axis_tolerance,
            )
        return joints, LinkGoal(next(iter(links)) or GRASP, **parts) if links else None

    def _frame(self, head: Header) -> Pose:
        frame = self._simulation.in_base(head.frame_id or ROOT)
        if frame is None:
            text = f"no frame {head.frame_id!r}"
            raise GoalError(motion_planning.FRAME_TRANSFORM_FAILURE, text)
        return frame

    def _start(self, state: RobotState) -> FloatArray | None:
        """All joints of a start state; None: as they are."""
        names, places = list(state.joint_state.name), list(state.joint_state.position)
        if not names:
            return None
        if len(names) != len(places) or not set(names) <= set(self._simulation.robot.joints):
            text = "the start state has unknown joints, or not one position for each"
            raise GoalError(motion_planning.INVALID_ROBOT_STATE, text)
        q = self._simulation.q.copy()
        q[self._simulation.robot.indices(names)] = places
        return q


@dataclass(frozen=True)
class Planned(Ended):
    """The end of a goal of ComputePathToPose."""

    poses: tuple[Pose, ...] = ()


def _active(_: Any, response: Any) -> Any:
    response.current_state = State(id=State.PRIMARY_STATE_ACTIVE, label="active")
    return response


def _code(ended: Ended) -> MoveItErrorCodes:
    return MoveItErrorCodes(val=ended.code, message=ended.text, source="move_group")


def _joint_trajectory(trajectory: Trajectory) -> JointTrajectory:
    speeds = trajectory.velocities
    points = [
        JointTrajectoryPoint(
            positions=trajectory.positions[k].tolist(),
            velocities=[] if speeds is None else speeds[k].tolist(),
            time_from_start=_duration(float(time_s)),
        )
        for k, time_s in enumerate(trajectory.times_s)
    ]
    return JointTrajectory(joint_names=list(trajectory.joints), points=points)


def _pose(message: Any) -> Pose:
    return Pose(point_m(message.position), _quaternion(message.orientation))


def _quaternion(message: Any) -> Quaternion:
    """A rotation; one that was left empty is none."""
    turn = (float(message.x), float(message.y), float(message.z), float(message.w))
    size = math.hypot(*turn)
    return (turn[0] / size, turn[1] / size, turn[2] / size, turn[3] / size) if size else IDENTITY


def _now_s(node: Node) -> float:
    return float(node.get_clock().now().nanoseconds * 1e-9)


def _seconds(message: Any) -> float:
    return float(message.sec + message.nanosec * 1e-9)


def _duration(seconds: float) -> Duration:
    nanoseconds = round(max(0.0, seconds) * 1e9)
    return Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
