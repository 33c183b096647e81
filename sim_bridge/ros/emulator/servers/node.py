"""Nav2's, ros2_control's and MoveIt's action servers of the emulated robot.

Each serves one goal at a time: the newest replaces the running one, as theirs do.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from lifecycle_msgs.msg import State
from lifecycle_msgs.srv import GetState
from moveit_msgs.action import MoveGroup as MoveGroupAction
from moveit_msgs.msg import Constraints, MoveItErrorCodes, RobotState, RobotTrajectory
from moveit_msgs.srv import GetPositionIK
from nav2_msgs.action import ComputePathToPose, NavigateThroughPoses, NavigateToPose
from nav2_msgs.msg import WaypointStatus
from nav_msgs.msg import Path
from rclpy.action.server import ActionServer, CancelResponse, GoalResponse
from rclpy.node import Node
from sensor_msgs.msg import JointState
from shape_msgs.msg import SolidPrimitive
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planner.ros.conversions import point_m, pose_record, stamped_pose
from planner.world.geometry import IDENTITY, FloatArray, Pose, Quaternion
from sim_bridge.ros.emulator import motion_planning, navigation
from sim_bridge.ros.emulator.joint_control import (
    INVALID_GOAL,
    OLD_HEADER_TIMESTAMP,
    Ended,
    Status,
    Trajectory,
)
from sim_bridge.ros.emulator.kinematics import FINGERS, GRASP, ROOT
from sim_bridge.ros.emulator.motion_planning import LinkGoal, MotionFault, MotionRequest
from sim_bridge.ros.emulator.move_group import Motion, MoveGroup
from sim_bridge.ros.emulator.simulation import CONTROLLERS, Simulation

# Called once with the result and how the goal ended.
Conclude = Callable[[Any, Status], None]


class OneGoalServer(ActionServer[Any, Any, Any]):
    """Passes goals to `begin`, which concludes each later by the function that it is given."""

    def __init__(
        self,
        node: Node,
        action: Any,
        name: str,
        begin: Callable[[Any, Conclude], None],
        stop: Callable[[], None],
        accept: Callable[[Any], bool] = lambda _: True,
    ) -> None:
        super().__init__(
            node,
            action,
            name,
            execute_callback=lambda _: action.Result(),
            goal_callback=lambda g: GoalResponse.ACCEPT if accept(g) else GoalResponse.REJECT,
            handle_accepted_callback=self._take,
            cancel_callback=self._cancel,
        )
        self._begin, self._stop = begin, stop
        self._current: Any = None
        self._is_dead = False

    @property
    def request(self) -> Any:
        """The goal that is being served, or None."""
        return None if self._current is None else self._current.request

    def notify_execute(self, goal_handle: Any, execute_callback: Any) -> None:
        """Runs no goal in a callback, which rclpy would poll until it ends."""

    def tell(self, feedback: Any) -> None:
        """Sends feedback of the goal that is being served."""
        goal = self._current
        if goal is not None and goal.is_active:
            goal.publish_feedback(feedback)

    def die(self) -> None:
        """Goes without a word, as a process that was killed."""
        self._is_dead = True
        self.destroy()

    def _take(self, goal: Any) -> None:
        goal.execute()
        self._current = goal
        self._begin(goal.request, lambda result, status: self._conclude(goal, result, status))

    def _conclude(self, goal: Any, result: Any, status: Status) -> None:
        if self._is_dead:
            return
        if goal is self._current:
            self._current = None

        def end(handle: Any) -> Any:
            if status is Status.SUCCEEDED:
                handle.succeed()
            elif handle.is_cancel_requested:
                handle.canceled()
            else:
                handle.abort()
            return result

        super().notify_execute(goal, end)

    def _cancel(self, goal: Any) -> CancelResponse:
        if goal is self._current:
            self._stop()
        return CancelResponse.ACCEPT


# ros2_control


class Controllers:
    """The joint trajectory controllers and the gripper's."""

    def __init__(self, node: Node, simulation: Simulation, *, parallel_gripper: bool) -> None:
        self._simulation, self._node = simulation, node
        self._followers = {
            name: OneGoalServer(
                node,
                FollowJointTrajectory,
                f"{name}/follow_joint_trajectory",
                partial(self._follow, name),
                partial(simulation.hold, name),
            )
            for name in CONTROLLERS
        }
        action = ParallelGripperCommand if parallel_gripper else GripperCommand
        begin = self._grip_joints if parallel_gripper else self._grip
        self._gripper = OneGoalServer(
            node,
            action,
            "gripper_controller/gripper_cmd",
            begin,
            lambda: simulation.hold("gripper"),
        )
        self._is_parallel = parallel_gripper

    def tell(self) -> None:
        """Sends feedback of what runs."""
        simulation = self._simulation
        for name, server in self._followers.items():
            if server.request is not None:
                follower = simulation.followers[name]
                desired, actual = follower.desired, simulation.q[follower.places]
                feedback = FollowJointTrajectory.Feedback(joint_names=list(follower.joints))
                feedback.header.stamp = self._node.get_clock().now().to_msg()
                for part, values in (
                    (feedback.desired, desired),
                    (feedback.actual, actual),
                    (feedback.error, desired - actual),
                ):
                    part.positions = values.tolist()
                server.tell(feedback)
        if self._gripper.request is not None:
            self._gripper.tell(self._fingers(self._gripper.action_type.Feedback(), ""))

    def _follow(self, name: str, goal: Any, conclude: Conclude) -> None:
        def done(ended: Ended) -> None:
            result = FollowJointTrajectory.Result(error_code=ended.code, error_string=ended.text)
            conclude(result, ended.status)

        try:
            trajectory = trajectory_record(goal)
        except ValueError as error:
            done(Ended(Status.ABORTED, INVALID_GOAL, str(error)))
            return
        fault = trajectory.fault(CONTROLLERS[name], self._simulation.robot)
        stamp = goal.trajectory.header.stamp
        sent_s = stamp.sec + stamp.nanosec * 1e-9
        now_s = self._node.get_clock().now().nanoseconds * 1e-9
        if fault is None and sent_s > 0 and sent_s + trajectory.times_s[-1] < now_s:
            fault = (OLD_HEADER_TIMESTAMP, "the trajectory ends in the past")
        if fault is not None:
            done(Ended(Status.ABORTED, *fault))
            return
        self._simulation.follow(name, trajectory, done)

    def _grip(self, goal: Any, conclude: Conclude) -> None:
        command = goal.command
        self._simulation.grip(
            command.position,
            command.max_effort,
            0.0,
            lambda e: conclude(self._fingers(GripperCommand.Result(), e.text), e.status),
        )

    def _grip_joints(self, goal: Any, conclude: Conclude) -> None:
        result, command = ParallelGripperCommand.Result(), goal.command
        if len(command.position) != 1 or list(command.name) not in ([], [FINGERS[0]]):
            conclude(self._fingers(result, ""), Status.ABORTED)
            return
        self._simulation.grip(
            # A finger's joint moves half of the gap.
            2 * command.position[0],
            command.effort[0] if command.effort else 0.0,
            2 * command.velocity[0] if command.velocity else 0.0,
            lambda e: conclude(self._fingers(result, e.text), e.status),
        )

    def _fingers(self, message: Any, how: str) -> Any:
        """Fills in a result or feedback of either version."""
        gripper = self._simulation.gripper
        if self._is_parallel:
            message.state = JointState(
                name=[FINGERS[0]], position=[gripper.gap_m / 2], effort=[float(gripper.effort_n)]
            )
        else:
            message.position, message.effort = float(gripper.gap_m), float(gripper.effort_n)
        for flag, word in (("stalled", "stalled"), ("reached_goal", "reached")):
            if hasattr(message, flag):
                setattr(message, flag, how == word)
        return message


def trajectory_record(goal: Any) -> Trajectory:
    """A goal of FollowJointTrajectory.

    Raises:
        ValueError: if its points have not the same number of values.
    """
    points = goal.trajectory.points
    speeds = [list(point.velocities) for point in points]
    return Trajectory(
        tuple(goal.trajectory.joint_names),
        np.array([_seconds(point.time_from_start) for point in points]),
        np.array([list(point.positions) for point in points], dtype=float),
        np.array(speeds, dtype=float) if any(speeds) else None,
        {each.name: each.position for each in goal.path_tolerance},
        {each.name: each.position for each in goal.goal_tolerance},
        _seconds(goal.goal_time_tolerance),
    )


# Nav2


class Nav2:
    """bt_navigator, planner_server and amcl, as far as others see them."""

    def __init__(self, node: Node, simulation: Simulation) -> None:
        self._simulation, self._node = simulation, node

        def stop() -> None:
            simulation.hold("navigation")

        # While one navigator works, requests to the other are rejected.
        self._to = OneGoalServer(
            node, NavigateToPose, "navigate_to_pose", self._go_to, stop,
            lambda _: self._through.request is None,
        )  # fmt: skip
        self._through = OneGoalServer(
            node, NavigateThroughPoses, "navigate_through_poses", self._go_through, stop,
            lambda _: self._to.request is None,
        )  # fmt: skip
        self._path = OneGoalServer(
            node, ComputePathToPose, "compute_path_to_pose", self._plan, lambda: None
        )
        self._states = [
            node.create_service(GetState, f"{name}/get_state", _active)
            for name in ("bt_navigator", "amcl", "planner_server", "controller_server")
        ]

    def die(self) -> None:
        """Takes all of it down, without answers to its goals."""
        for server in (self._to, self._through, self._path):
            server.die()
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
        for server in (self._to, self._through):
            if server.request is not None:
                feedback = server.action_type.Feedback(
                    navigation_time=_duration(progress.since_s),
                    estimated_time_remaining=_duration(progress.remaining_s),
                    number_of_recoveries=progress.recoveries,
                    distance_remaining=float(progress.distance_m),
                )
                feedback.current_pose = stamped_pose(self._now_s(), "map", here)
                if server is self._through:
                    feedback.number_of_poses_remaining = progress.poses_left
                server.tell(feedback)

    def _go_to(self, goal: Any, conclude: Conclude) -> None:
        self._go([goal.pose], goal.behavior_tree, NavigateToPose, conclude)

    def _go_through(self, goal: Any, conclude: Conclude) -> None:
        self._go(list(goal.poses.goals), goal.behavior_tree, NavigateThroughPoses, conclude)

    def _go(self, stamped: list[Any], tree: str, action: Any, conclude: Conclude) -> None:
        def done(ended: Ended) -> None:
            result = action.Result(error_code=ended.code, error_msg=ended.text)
            if action is NavigateThroughPoses:
                result.waypoint_statuses = _waypoints(stamped, ended)
            conclude(result, ended.status)

        simulation = self._simulation
        poses = [simulation.in_map(p.header.frame_id, pose_record(p.pose)) for p in stamped]
        fault: tuple[int, str] | None = None
        if tree:
            fault = action.Result.FAILED_TO_LOAD_BEHAVIOR_TREE, f"no behavior tree {tree!r}"
        elif None in poses:
            frame = stamped[poses.index(None)].header.frame_id
            fault = action.Result.TF_ERROR, f"no transform from {frame!r} to 'map'"
        elif not poses:
            fault = action.Result.UNKNOWN, "no poses were given"
        if fault is not None:
            done(Ended(Status.ABORTED, *fault))
            return
        simulation.navigate([pose for pose in poses if pose is not None], done)

    def _plan(self, goal: Any, conclude: Conclude) -> None:
        simulation, result = self._simulation, ComputePathToPose.Result()
        target = simulation.in_map(goal.goal.header.frame_id, pose_record(goal.goal.pose))
        start: Pose | None = simulation.base.estimate
        if goal.use_start:
            start = simulation.in_map(goal.start.header.frame_id, pose_record(goal.start.pose))
        found: Any
        if goal.planner_id not in ("", "GridBased"):
            found = navigation.PlanFault(
                navigation.INVALID_PLANNER, f"no planner {goal.planner_id!r}; there is GridBased"
            )
        elif target is None or start is None:
            found = navigation.PlanFault(navigation.TF_ERROR, "no transform to 'map'")
        else:
            found = simulation.planner.plan(start, target)
        if isinstance(found, navigation.PlanFault):
            result.error_code, result.error_msg = found.code, found.text
            conclude(result, Status.ABORTED)
            return
        now_s = self._now_s()
        poses = navigation.path_poses(found, target or Pose((0.0, 0.0, 0.0)))
        result.path = Path(poses=[stamped_pose(now_s, "map", pose) for pose in poses])
        result.path.header = result.path.poses[0].header
        conclude(result, Status.SUCCEEDED)

    def _now_s(self) -> float:
        return float(self._node.get_clock().now().nanoseconds * 1e-9)


def _active(_: Any, response: Any) -> Any:
    response.current_state = State(id=State.PRIMARY_STATE_ACTIVE, label="active")
    return response


def _waypoints(stamped: list[Any], ended: Ended) -> list[WaypointStatus]:
    """All reached, or the end of the way is not."""
    failed = ended.status is not Status.SUCCEEDED
    statuses = []
    for index, pose in enumerate(stamped):
        status = WaypointStatus(waypoint_index=index, waypoint_pose=pose)
        status.waypoint_status = WaypointStatus.FAILED if failed else WaypointStatus.COMPLETED
        if failed:
            status.error_code, status.error_msg = ended.code, ended.text
        statuses.append(status)
    return statuses


# MoveIt


class MoveIt:
    """move_group: its action, and inverse kinematics alone."""

    def __init__(self, node: Node, simulation: Simulation, seed: int) -> None:
        self._simulation, self._node = simulation, node
        self._group = MoveGroup(simulation, seed)
        self._server = OneGoalServer(
            node, MoveGroupAction, "move_action", self._move, self._group.cancel
        )
        self._service = node.create_service(GetPositionIK, "compute_ik", self._compute_ik)

    def die(self) -> None:
        """Takes it down, without an answer to its goal; controllers go on with what they have."""
        self._server.die()
        self._node.destroy_service(self._service)
        self._group.close()

    def _move(self, goal: Any, conclude: Conclude) -> None:
        asked, options = goal.request, goal.planning_options

        def done(motion: Motion) -> None:
            result = MoveGroupAction.Result(planning_time=float(motion.planning_s))
            result.error_code = _code(motion.code, motion.text)
            if motion.trajectory is not None:
                planned = RobotTrajectory(joint_trajectory=_joint_trajectory(motion.trajectory))
                result.planned_trajectory = planned
                result.trajectory_start.joint_state = self._joint_state(self._simulation.q)
                if motion.status is Status.SUCCEEDED and not options.plan_only:
                    result.executed_trajectory = planned
            conclude(result, motion.status)

        request: MotionRequest | MotionFault
        if len(asked.goal_constraints) != 1:
            request = MotionFault(
                motion_planning.INVALID_GOAL_CONSTRAINTS, "expected one set of goal constraints"
            )
        else:
            request = self._request(asked.group_name, asked.goal_constraints[0])
        start = self._start(asked.start_state)
        path = asked.path_constraints
        if isinstance(start, MotionFault):
            request = start
        elif path.joint_constraints or path.position_constraints or path.orientation_constraints:
            request = MotionFault(
                motion_planning.PLANNING_FAILED, "this planner takes no path constraints"
            )
        if isinstance(request, MotionFault) or isinstance(start, MotionFault):
            fault = request if isinstance(request, MotionFault) else MotionFault(0, "")
            self._group.cancel()
            done(Motion(Status.ABORTED, fault.code, fault.text))
            return
        request = MotionRequest(
            request.group,
            request.joints,
            request.link,
            asked.max_velocity_scaling_factor,
            asked.allowed_planning_time,
        )
        self._group.begin(request, start, plan_only=options.plan_only, done=done)

    def _request(self, group: str, goal: Constraints) -> MotionRequest | MotionFault:
        """Goal constraints, in `base_footprint`."""
        bounds = {
            each.joint_name: (each.position, each.tolerance_below, each.tolerance_above)
            for each in goal.joint_constraints
        }
        places, turns = goal.position_constraints, goal.orientation_constraints
        if not places and not turns:
            return MotionRequest(group, bounds)
        if len(places) > 1 or len(turns) > 1 or bounds or goal.visibility_constraints:
            return MotionFault(
                motion_planning.INVALID_GOAL_CONSTRAINTS,
                "expected joints, or one position and one orientation of a link",
            )
        link = (places or turns)[0].link_name or GRASP
        if places and turns and places[0].link_name != turns[0].link_name:
            return MotionFault(
                motion_planning.INVALID_LINK_NAME, "position and orientation are of two links"
            )
        parts: dict[str, Any] = {"link": link}
        for each in (*places, *turns):
            frame = self._simulation.in_base(each.header.frame_id or ROOT)
            if frame is None:
                return MotionFault(
                    motion_planning.FRAME_TRANSFORM_FAILURE, f"no frame {each.header.frame_id!r}"
                )
            if each in places:
                region = each.constraint_region
                if len(region.primitives) != 1 or len(region.primitive_poses) != 1:
                    return MotionFault(
                        motion_planning.INVALID_GOAL_CONSTRAINTS, "expected one shape as region"
                    )
                size = list(region.primitives[0].dimensions)
                parts["offset_m"] = point_m(each.target_point_offset)
                parts["region"] = frame.compose(pose_record(region.primitive_poses[0]))
                if region.primitives[0].type == SolidPrimitive.BOX:
                    parts["half_m"] = tuple(value / 2 for value in size)
                else:
                    # Of a cylinder or cone, the radius is the second.
                    parts["radius_m"] = min(size)
            else:
                turned = Pose((0.0, 0.0, 0.0), _quaternion(each.orientation))
                parts["rotation"] = frame.rotation() @ turned.rotation()
                parts["tolerance_rad"] = (
                    each.absolute_x_axis_tolerance,
                    each.absolute_y_axis_tolerance,
                    each.absolute_z_axis_tolerance,
                )
        return MotionRequest(group, {}, LinkGoal(**parts))

    def _start(self, state: RobotState) -> FloatArray | MotionFault | None:
        """All joints of a start state; None: as they are."""
        names = list(state.joint_state.name)
        if not names:
            return None
        unknown = [name for name in names if name not in self._simulation.robot.index]
        if unknown or len(names) != len(state.joint_state.position):
            text = f"unknown joints {unknown}" if unknown else "not one position for each joint"
            return MotionFault(motion_planning.INVALID_ROBOT_STATE, text)
        q = self._simulation.q.copy()
        q[self._simulation.robot.indices(names)] = list(state.joint_state.position)
        return q

    def _compute_ik(self, request: Any, response: Any) -> Any:
        asked = request.ik_request
        goal = asked.pose_stamped
        frame = self._simulation.in_base(goal.header.frame_id or ROOT)
        start = self._start(asked.robot_state)
        if frame is None or isinstance(start, MotionFault):
            response.error_code = _code(motion_planning.FRAME_TRANSFORM_FAILURE, "frame or joints")
            return response
        pose = frame.compose(pose_record(goal.pose))
        link = LinkGoal(asked.ik_link_name or GRASP, region=pose, rotation=pose.rotation())
        wanted = MotionRequest(asked.group_name, {}, link, 1.0, _seconds(asked.timeout))
        found = self._group.solve(wanted, self._simulation.q.copy() if start is None else start)
        if isinstance(found, MotionFault):
            response.error_code = _code(found.code, found.text)
        elif found is None:
            response.error_code = _code(motion_planning.NO_IK_SOLUTION, "no solution")
        else:
            response.error_code = _code(motion_planning.SUCCESS, "")
            response.solution.joint_state = self._joint_state(found)
        return response

    def _joint_state(self, q: FloatArray) -> JointState:
        return JointState(name=list(self._simulation.robot.joints), position=q.tolist())


def _code(value: int, text: str) -> MoveItErrorCodes:
    return MoveItErrorCodes(val=value, message=text, source="move_group")


def _joint_trajectory(trajectory: Trajectory) -> JointTrajectory:
    message = JointTrajectory(joint_names=list(trajectory.joints))
    for k, time_s in enumerate(trajectory.times_s):
        point = JointTrajectoryPoint(positions=trajectory.positions[k].tolist())
        if trajectory.velocities is not None:
            point.velocities = trajectory.velocities[k].tolist()
        point.time_from_start = _duration(float(time_s))
        message.points.append(point)
    return message


def _quaternion(message: Any) -> Quaternion:
    """A rotation; one that was left empty is none."""
    turn = (float(message.x), float(message.y), float(message.z), float(message.w))
    size = math.hypot(*turn)
    return (turn[0] / size, turn[1] / size, turn[2] / size, turn[3] / size) if size else IDENTITY


def _seconds(duration: Duration) -> float:
    return float(duration.sec + duration.nanosec * 1e-9)


def _duration(seconds: float) -> Duration:
    nanoseconds = round(max(0.0, seconds) * 1e9)
    return Duration(sec=nanoseconds // 10**9, nanosec=nanoseconds % 10**9)
