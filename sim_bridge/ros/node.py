"""The robot's interfaces over ROS, in a thread and a context of their own; see `RobotPort`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory, GripperCommand, ParallelGripperCommand
from geometry_msgs.msg import PoseStamped, Twist, TwistStamped
from moveit_msgs.action import MoveGroup
from moveit_msgs.msg import (
    BoundingVolume,
    CollisionObject,
    Constraints,
    JointConstraint,
    OrientationConstraint,
    PositionConstraint,
)
from moveit_msgs.srv import GraspPlanning
from nav2_msgs.action import BackUp, ComputePathToPose, NavigateToPose
from nav2_msgs.msg import SpeedLimit
from nav_msgs.msg import OccupancyGrid
from rclpy.action.client import ActionClient
from sensor_msgs.msg import BatteryState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Header, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planner.ros import qos
from planner.ros.conversions import point_m, pose_message, pose_record
from planner.ros.robot_camera import CameraSource
from planner.ros.subscriptions import listen
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from sim_bridge.external.node import RobotEar, RobotTopics
from sim_bridge.ros.backend import RosBackend
from sim_bridge.ros.dead_man.process import DeadMan
from sim_bridge.ros.grasps import Grasp, Standing
from sim_bridge.ros.options import CAMERA, Controller, GripperKind, RosOptions, default_ros
from sim_bridge.ros.port import Errand, FloorMap, Interface, RobotState, State, Waypoint

# For how long a zero velocity is repeated after a recall, unless the base stands before.
ZERO_S, ZERO_LEAST_S, ZERO_HZ = 2.0, 0.3, 20.0
LOOK_HZ = 5.0
REACHED_M = 0.01
DRIVES = (Interface.NAVIGATE, Interface.BACK_UP)
_ENDS = {
    GoalStatus.STATUS_SUCCEEDED: State.SUCCEEDED,
    GoalStatus.STATUS_CANCELED: State.CANCELED,
    GoalStatus.STATUS_ABORTED: State.ABORTED,
}


def make_backend(options: RosOptions | None = None) -> RosBackend:
    """The backend with a port of its own."""
    options = options or default_ros()
    return RosBackend(RosPort(options), options)


def topics_of(options: RosOptions) -> RobotTopics:
    """Where the robot is heard."""
    camera, frames = options.camera, options.frames
    source = CameraSource(
        camera.image, camera.info, camera.depth, camera.transport, camera.depth_transport
    )
    return RobotTopics(
        odometry=options.odometry,
        odometry_frames=(frames.odom,),
        body=frames.base,
        joints=options.joint_states,
        cameras={CAMERA: source},
    )


class RosPort(RobotEar):
    """Everything is sent from the thread that listens, so no caller waits for the network."""

    def __init__(self, options: RosOptions) -> None:
        """Starts to listen."""
        self.options = options
        self._state = RobotState()
        self._running: dict[int, tuple[Errand, Any]] = {}
        self._zero_until_s = self._zero_from_s = -math.inf
        self._limit_m_s: float | None = None
        self._hand_m_s = 0.0
        self._mode = ""
        self._dead_man = DeadMan(options)
        super().__init__(topics_of(options), "bridge_ros")

    def _subscribe(self) -> None:
        super()._subscribe()
        options, node = self.options, self._node
        text = "/robot_description"
        listen(node, String, options.description, self._on_description, qos.LATCHED, text)
        if options.navigation.map:
            listen(node, OccupancyGrid, options.navigation.map, self._on_map, qos.LATCHED)
        if options.battery is not None:
            listen(node, BatteryState, options.battery.topic, self._on_battery, qos.STATE_INPUT)
        self._make_clients()
        self._node.create_timer(1.0 / ZERO_HZ, self._send_zero)
        self._node.create_timer(1.0 / LOOK_HZ, self._look_for_servers)

    def _make_clients(self) -> None:
        options, node = self.options, self._node
        kinds: dict[str, type] = {options.navigation.navigate: NavigateToPose}
        if options.navigation.path:
            kinds[options.navigation.path] = ComputePathToPose
        if options.navigation.back_up:
            kinds[options.navigation.back_up] = BackUp
        if options.arm.method == "moveit":
            kinds[options.arm.move_action] = MoveGroup
        else:
            kinds |= {each.action: FollowJointTrajectory for each in options.arm.controllers}
        if options.head is not None:
            kinds[options.head.action] = FollowJointTrajectory
        kinds[options.gripper.action] = {
            GripperKind.GRIPPER_COMMAND: GripperCommand,
            GripperKind.PARALLEL: ParallelGripperCommand,
            GripperKind.TRAJECTORY: FollowJointTrajectory,
        }[options.gripper.kind]
        self._clients: dict[str, Any] = {
            name: ActionClient(node, kind, name) for name, kind in kinds.items()
        }
        self._hear(servers=dict.fromkeys(self._clients, False))
        service = options.grasping.service
        self._grasp_planner: Any = node.create_client(GraspPlanning, service) if service else None
        modes = options.modes
        names = () if modes is None else (modes.drive, modes.move)
        self._modes: dict[str, Any] = {name: node.create_client(Trigger, name) for name in names}
        nav = options.navigation
        self._velocity = node.create_publisher(
            TwistStamped if nav.stamped else Twist, nav.velocity, 1
        )
        self._limits = (
            node.create_publisher(SpeedLimit, nav.speed_limit, 1) if nav.speed_limit else None
        )
        event = options.arm.event if options.arm.method == "moveit" else ""
        self._events = node.create_publisher(String, event, 1) if event else None

    def _do(self, work: Callable[[], None]) -> None:
        """Has the listening thread do something."""
        if self._context.ok():
            self._executor.create_task(work)

    # Listening

    def state(self) -> RobotState:
        """What was heard besides its motion and its pictures."""
        return self._state

    def alive(self) -> None:
        """Tells the watchdog that the caller is alive."""
        with self._lock:
            moves = any(errand.runs for errand, _ in self._running.values())
        self._dead_man.alive(moves=moves)

    def _hear(self, **news: Any) -> None:
        self._state = replace(self._state, **news)

    def _on_description(self, message: String) -> None:
        self._hear(description=str(message.data))

    def _on_map(self, message: OccupancyGrid) -> None:
        info, topic = message.info, self.options.navigation.map
        cells = np.array(message.data, np.int8)
        if cells.size != info.width * info.height or not info.resolution > 0:
            self._hear(wrong=f"a message of {topic} is not used: its cells do not fill the map")
            return
        shaped = cells.reshape(info.height, info.width)
        self._hear(map=FloorMap(shaped, float(info.resolution), pose_record(info.origin)))

    def _on_battery(self, message: BatteryState) -> None:
        battery = self.options.battery
        share = float(message.percentage) / (100.0 if battery and battery.percent else 1.0)
        if 0.0 <= share <= 1.0:
            self._hear(battery=share)
        elif not math.isnan(share):
            self._hear(wrong=f"a battery of {share:.0%}; does it report percent (battery.percent)?")

    def _look_for_servers(self) -> None:
        self._hear(servers={n: each.server_is_ready() for n, each in self._clients.items()})
        if self._limits is not None and self._limit_m_s is not None:
            # Nav2 may have started again since.
            self._limits.publish(SpeedLimit(header=self._head(), speed_limit=self._limit_m_s))

    def open(self) -> str:
        """Waits until everything that moving takes was heard once."""
        options, until_s = self.options, self.now_s() + self.options.wait_s
        while True:
            lacking = self._lacking()
            if not lacking:
                return self.state().description
            if self.now_s() > until_s:
                raise PlannerError(f"{options.name}: {lacking}")
            self.alive()
            time.sleep(0.05)

    def _lacking(self) -> str:
        options, heard, state = self.options, self.readings(), self.state()
        names = options.frames
        wrong = heard.wrong or state.wrong
        why = f" ({wrong})" if wrong else ""
        if math.isinf(heard.at_s):
            return f"nothing was received on {options.odometry}{why}; is the robot running?"
        if heard.frames.pose_in(names.map, names.odom) is None:
            return (
                f"/tf does not connect {names.map!r} to {names.odom!r}; is the robot localised "
                "(frames)?"
            )
        arm = options.arm
        told = [p for n in arm.joints for p in ((n,) if n in heard.joints else arm.parts(n))]
        missing = [name for name in (*told, options.gripper.joint) if name not in heard.joints]
        if missing:
            return f"{options.joint_states} does not tell of the joint {missing[0]!r}{why}"
        if not state.description:
            return f"nothing was received on {options.description}"
        if options.navigation.map and state.map is None:
            return f"no map was received on {options.navigation.map}{why}"
        return ""

    # Sending

    def _head(self, frame: str = "") -> Header:
        return Header(stamp=self._node.get_clock().now().to_msg(), frame_id=frame)

    def _send(
        self,
        interface: Interface,
        name: str,
        goal: Any,
        read: Callable[[Errand, Any], None] | None,
        feedback: Callable[[Errand, Any], None] | None = None,
    ) -> Errand:
        errand, client = Errand(name, interface, self.now_s()), self._clients[name]

        def send() -> None:
            if errand.recalled:
                errand.state = State.CANCELED
            elif (mode := self._mode_of(interface)) != self._mode:
                self._switch(mode, errand, send)
            elif not client.server_is_ready():
                errand.state, errand.text = State.DEAD, "no action server of that name"
            else:
                sent = client.send_goal_async(goal, feedback_callback=heard)
                sent.add_done_callback(answered)

        def heard(message: Any) -> None:
            errand.heard_s = self.now_s()
            if feedback is not None:
                feedback(errand, message.feedback)

        def answered(future: Any) -> None:
            handle = future.result()
            errand.heard_s = self.now_s()
            if not handle.accepted:
                errand.state = State.REJECTED
                self._mode = ""  # somebody else may have changed it
                return
            with self._lock:
                self._running[id(errand)] = (errand, handle)
            if errand.recalled or not errand.runs:
                # Recalled, or given up, before it was accepted.
                handle.cancel_goal_async()
            else:
                errand.state = State.ACTIVE
            handle.get_result_async().add_done_callback(ended)

        def ended(future: Any) -> None:
            answer = future.result()
            with self._lock:
                self._running.pop(id(errand), None)
            if not errand.runs:
                return
            if read is not None:
                read(errand, answer.result)
            errand.state = _ENDS.get(answer.status, State.ABORTED)
            if errand.state is not State.SUCCEEDED:
                self._mode = ""

        with self._lock:
            self._running[id(errand)] = (errand, None)
        self._do(send)
        return errand

    def _mode_of(self, interface: Interface) -> str:
        """The service that has to be asked before a goal; empty where none has to."""
        modes = self.options.modes
        if modes is None:
            return ""
        if interface in (Interface.PATH, Interface.GRASPS):
            return self._mode
        return modes.drive if interface in DRIVES else modes.move

    def _switch(self, mode: str, errand: Errand, then: Callable[[], None]) -> None:
        """Asks a driver for a mode."""
        client = self._modes[mode]
        if not client.service_is_ready():
            errand.state, errand.text = State.DEAD, f"no service {mode} (modes)"
            return

        def answered(future: Any) -> None:
            answer = future.result()
            errand.heard_s = self.now_s()
            if answer.success:
                self._mode = mode
                then()
            else:
                errand.state, errand.text = State.REJECTED, f"{mode}: {answer.message}"

        client.call_async(Trigger.Request()).add_done_callback(answered)

    def navigate(self, goal: Pose) -> Errand:
        """Sends Nav2 to a pose of the robot's map."""

        def feedback(errand: Errand, message: Any) -> None:
            errand.left_m = float(message.distance_remaining)

        message = NavigateToPose.Goal(pose=self._in_map(goal))
        name = self.options.navigation.navigate
        return self._send(Interface.NAVIGATE, name, message, _nav_result, feedback)

    def plan_way(self, goal: Pose) -> Errand:
        """Asks Nav2 for a way to a pose of the robot's map."""

        def result(errand: Errand, message: Any) -> None:
            _nav_result(errand, message)
            points = (point_m(each.pose.position) for each in message.path.poses)
            errand.way_m = tuple((x, y) for x, y, _ in points)

        message = ComputePathToPose.Goal(goal=self._in_map(goal))
        return self._send(Interface.PATH, self.options.navigation.path, message, result)

    def back_up(self, distance_m: float, speed_m_s: float) -> Errand:
        """Has Nav2 drive straight backwards."""
        message = BackUp.Goal(speed=speed_m_s)
        # The sign does not matter to Nav2, which backs up by what the action is called.
        message.target.x = distance_m
        message.time_allowance.sec = math.ceil(2 * distance_m / speed_m_s) + 1
        return self._send(Interface.BACK_UP, self.options.navigation.back_up, message, _nav_result)

    def _in_map(self, pose: Pose) -> PoseStamped:
        frame = self.options.frames.map
        return PoseStamped(header=self._head(frame), pose=pose_message(pose))

    def follow(self, controller: Controller, way: Sequence[Waypoint]) -> Errand:
        """Has a controller of joints move through positions."""
        message = FollowJointTrajectory.Goal(trajectory=_trajectory(controller.joints, way))
        return self._send(Interface.TRAJECTORY, controller.action, message, _control_result)

    def reach(self, tool: Pose, turn_rad: float) -> Errand:
        """Has MoveIt bring the gripper to a pose in the base."""
        arm, base = self.options.arm, self.options.frames.base
        tip = tool.compose(arm.grip_in_tip.inverse())
        ball = SolidPrimitive(type=SolidPrimitive.SPHERE, dimensions=[REACHED_M / 2])
        place = PositionConstraint(
            header=self._head(base),
            link_name=arm.tip,
            constraint_region=BoundingVolume(
                primitives=[ball], primitive_poses=[pose_message(Pose(tip.position_m))]
            ),
            weight=1.0,
        )
        turned = OrientationConstraint(
            header=self._head(base),
            link_name=arm.tip,
            orientation=pose_message(tip).orientation,
            absolute_x_axis_tolerance=turn_rad,
            absolute_y_axis_tolerance=turn_rad,
            absolute_z_axis_tolerance=turn_rad,
            weight=1.0,
        )
        return self._plan(
            Constraints(position_constraints=[place], orientation_constraints=[turned])
        )

    def pose_arm(self, joints: Mapping[str, float]) -> Errand:
        """Has MoveIt bring the arm into a posture."""
        return self._plan(
            Constraints(
                joint_constraints=[
                    JointConstraint(
                        joint_name=name,
                        position=value,
                        tolerance_above=0.01,
                        tolerance_below=0.01,
                        weight=1.0,
                    )
                    for name, value in joints.items()
                ]
            )
        )

    def _plan(self, goal: Constraints) -> Errand:
        arm, message = self.options.arm, MoveGroup.Goal()
        request = message.request
        request.group_name, request.goal_constraints = arm.group, [goal]
        request.num_planning_attempts, request.allowed_planning_time = 3, arm.plan_s
        request.max_velocity_scaling_factor = arm.velocity_scaling
        request.max_acceleration_scaling_factor = arm.velocity_scaling
        # Obeyed where MoveIt's adapter for it is loaded.
        request.cartesian_speed_limited_link = arm.tip
        request.max_cartesian_speed = self._hand_m_s
        request.start_state.is_diff = True
        message.planning_options.planning_scene_diff.is_diff = True
        message.planning_options.planning_scene_diff.robot_state.is_diff = True

        def result(errand: Errand, answer: Any) -> None:
            errand.code = int(answer.error_code.val)

        return self._send(Interface.MOVEIT, arm.move_action, message, result)

    def grip(self, position: float) -> Errand:
        """Moves the gripper's joint."""
        gripper = self.options.gripper
        if gripper.kind is GripperKind.TRAJECTORY:
            fingers = (gripper.joint, *gripper.others)
            way = [(dict.fromkeys(fingers, position), 1.0)]
            message = FollowJointTrajectory.Goal(trajectory=_trajectory(fingers, way))
            return self._send(Interface.GRIPPER, gripper.action, message, _control_result)
        if gripper.kind is GripperKind.PARALLEL:
            wanted = ParallelGripperCommand.Goal()
            wanted.command.name, wanted.command.position = [gripper.joint], [position]
            wanted.command.effort = [gripper.effort]
        else:
            wanted = GripperCommand.Goal()
            wanted.command.position, wanted.command.max_effort = position, gripper.effort
        # How far the fingers are is read from the joint states.
        return self._send(Interface.GRIPPER, gripper.action, wanted, None)

    def plan_grasps(self, thing: Standing) -> Errand:
        """Asks a service of others for grasps."""
        name, client = self.options.grasping.service, self._grasp_planner
        errand = Errand(name, Interface.GRASPS, self.now_s())
        if client is None or not client.service_is_ready():
            errand.state, errand.text = State.DEAD, "no service of that name"
            return errand
        box = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=list(thing.size_m))
        x, y, z = thing.center_m
        target = CollisionObject(
            header=self._head(self.options.frames.base),
            id="target",
            primitives=[box],
            primitive_poses=[pose_message(Pose.planar(x, y, thing.yaw_rad, z))],
        )
        request = GraspPlanning.Request(group_name=self.options.arm.group, target=target)

        def answered(future: Any) -> None:
            answer = future.result()
            errand.code = int(answer.error_code.val)
            errand.grasps = tuple(
                found for each in answer.grasps if (found := self._grasp(each, thing)) is not None
            )
            good = errand.code == 1 and errand.grasps
            errand.state = State.SUCCEEDED if good else State.ABORTED

        self._do(lambda: client.call_async(request).add_done_callback(answered))
        return errand

    def _grasp(self, message: Any, thing: Standing) -> Grasp | None:
        """A grasp of others, the best first by their order; None if its frame is unknown."""
        frame, base = message.grasp_pose.header.frame_id, self.options.frames.base
        in_base = self.readings().frames.pose_in(base, frame)
        if in_base is None:
            return None
        tip = in_base.compose(pose_record(message.grasp_pose.pose))
        tool = tip.compose(self.options.arm.grip_in_tip)
        return Grasp(tool, thing.size_m[1], tool.position_m[2] - thing.support_m, "service")

    # Stopping

    def limit(self, speed_m_s: float, hand_m_s: float) -> None:
        """Tells Nav2 the greatest speed now and again and again, and MoveIt with each goal."""
        self._hand_m_s = hand_m_s
        if speed_m_s != self._limit_m_s:
            self._limit_m_s = speed_m_s
            self._do(self._look_for_servers)

    def recall(self) -> None:
        """Cancels all goals and commands zero velocity until the base stands."""
        with self._lock:
            running = list(self._running.values())
            for errand, _ in running:
                errand.recalled = True
        now_s = self.now_s()
        self._zero_from_s, self._zero_until_s = now_s, now_s + ZERO_S

        def cancel() -> None:
            for _, handle in running:
                if handle is not None:
                    handle.cancel_goal_async()
            if self._events is not None and running:
                self._events.publish(String(data="stop"))
            self._send_zero()

        self._do(cancel)

    def _send_zero(self) -> None:
        now_s = self.now_s()
        if now_s > self._zero_until_s:
            return
        heard = self.readings()
        moves = abs(heard.linear_m_s) + abs(heard.angular_rad_s) > 0.01
        if not moves and now_s - self._zero_from_s > ZERO_LEAST_S:
            return
        stamped = self.options.navigation.stamped
        head = self._head(self.options.frames.base)
        self._velocity.publish(TwistStamped(header=head) if stamped else Twist())

    def leave(self) -> None:
        """Stops listening without a word to the robot; safe to call twice."""
        self._dead_man.close()
        super().close()

    def close(self) -> None:
        """Recalls everything, gives that a moment, and stops listening; safe to call twice."""
        if self._context.ok():
            self.recall()
            time.sleep(ZERO_LEAST_S)
        self.leave()


def _trajectory(joints: Sequence[str], way: Sequence[Waypoint]) -> JointTrajectory:
    points = [
        JointTrajectoryPoint(
            positions=[float(positions[name]) for name in joints],
            time_from_start=Duration(sec=int(at_s), nanosec=int((at_s % 1.0) * 1e9)),
        )
        for positions, at_s in way
    ]
    return JointTrajectory(joint_names=list(joints), points=points)


def _nav_result(errand: Errand, message: Any) -> None:
    errand.code = int(message.error_code)
    # Before Kilted there are no words.
    errand.text = str(getattr(message, "error_msg", ""))


def _control_result(errand: Errand, message: Any) -> None:
    errand.code, errand.text = int(message.error_code), str(message.error_string)
