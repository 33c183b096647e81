"""The robot's interfaces over ROS, in a thread and a context of their own; see `RobotPort`."""

from __future__ import annotations

import atexit
import contextlib
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import rclpy
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
from nav2_msgs.action import ComputePathToPose, NavigateToPose
from nav2_msgs.msg import SpeedLimit
from nav_msgs.msg import OccupancyGrid, Odometry
from planner.ros.robot_camera import CameraSource, RobotCamera
from planner.world.robot_picture import CameraNews
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import BatteryState, JointState
from shape_msgs.msg import SolidPrimitive
from std_msgs.msg import Header, String
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planner.ros import qos
from planner.ros.conversions import point_m, pose_message, pose_record
from planner.ros.message_bounds import bounds_of
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.observation import CameraFrame
from sim_bridge.frame_history import FrameHistory
from sim_bridge.ros.backend import RosBackend
from sim_bridge.ros.dead_man.process import DeadMan
from sim_bridge.ros.grasps import Grasp, Standing
from sim_bridge.ros.options import Controller, GripperKind, RosOptions, default_ros
from sim_bridge.ros.port import Errand, FloorMap, Interface, Readings, Shot, State, Waypoint

# For how long a zero velocity is repeated after a recall, unless the base stands before.
ZERO_S, ZERO_LEAST_S, ZERO_HZ = 2.0, 0.3, 20.0
LOOK_HZ = 5.0
# A link of /tf that changes seldom, such as the localiser's, holds for so long.
HOLD_S, LOCALISER_HOLD_S = 0.1, 2.0
REACHED_M = 0.01
# Several publishers tell of joints and frames; each fixed frame is sent once.
_MOVING = QoSProfile(depth=100, reliability=ReliabilityPolicy.BEST_EFFORT)
_STATIC = QoSProfile(
    depth=100,
    reliability=ReliabilityPolicy.RELIABLE,
    durability=DurabilityPolicy.TRANSIENT_LOCAL,
)
_ENDS = {
    GoalStatus.STATUS_SUCCEEDED: State.SUCCEEDED,
    GoalStatus.STATUS_CANCELED: State.CANCELED,
    GoalStatus.STATUS_ABORTED: State.ABORTED,
}


def make_backend(options: RosOptions | None = None) -> RosBackend:
    """The backend with a port of its own."""
    options = options or default_ros()
    return RosBackend(RosPort(options), options)


class RosPort:
    """Everything is sent from the thread that listens, so no caller waits for the network."""

    def __init__(self, options: RosOptions) -> None:
        """Starts to listen."""
        self.options, self._lock = options, threading.Lock()
        self._frames, self._news = FrameHistory(), CameraNews()
        self._said: dict[str, Any] = {"joints": {}}
        self._errands: dict[int, tuple[Errand, Any]] = {}
        self._zero_until_s = self._zero_from_s = -math.inf
        self._limit_m_s: float | None = None
        self._description = ""
        self._skew_s = math.inf
        self._context = Context()
        rclpy.init(context=self._context)
        self._node: Any = rclpy.create_node(
            "bridge_robot", context=self._context, use_global_arguments=False
        )
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._make_clients()
        self._subscribe()
        self._node.create_timer(1.0 / ZERO_HZ, self._send_zero)
        self._node.create_timer(1.0 / LOOK_HZ, self._look_for_servers)
        self._dead_man = DeadMan(options)
        self._thread = threading.Thread(target=self._spin, name="robot-ear", daemon=True)
        self._thread.start()
        # A thread that still spins when the interpreter ends would crash the process.
        atexit.register(self.close)

    def _make_clients(self) -> None:
        options, node = self.options, self._node
        kinds: dict[str, type] = {options.navigation.navigate: NavigateToPose}
        if options.navigation.path:
            kinds[options.navigation.path] = ComputePathToPose
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
        self._clients = {name: ActionClient(node, kind, name) for name, kind in kinds.items()}
        self._servers = dict.fromkeys(self._clients, False)
        service = options.grasping.service
        self._grasp_planner = node.create_client(GraspPlanning, service) if service else None
        nav = options.navigation
        self._velocity = node.create_publisher(
            TwistStamped if nav.stamped else Twist, nav.velocity, 1
        )
        self._limits = (
            node.create_publisher(SpeedLimit, nav.speed_limit, 1) if nav.speed_limit else None
        )
        event = options.arm.event if options.arm.method == "moveit" else ""
        self._events = node.create_publisher(String, event, 1) if event else None

    def _subscribe(self) -> None:
        options, listen = self.options, self._node.create_subscription
        listen(Odometry, options.odometry, self._on_odometry, qos.STATE_INPUT)
        listen(JointState, options.joint_states, self._on_joints, _MOVING)
        listen(TFMessage, "/tf", self._on_frames, _MOVING)
        listen(TFMessage, "/tf_static", self._on_fixed, _STATIC)
        listen(String, options.description, self._on_description, qos.LATCHED)
        if options.navigation.map:
            listen(OccupancyGrid, options.navigation.map, self._on_map, qos.LATCHED)
        if options.battery is not None:
            listen(BatteryState, options.battery.topic, self._on_battery, qos.STATE_INPUT)
        camera = options.camera
        source = CameraSource(
            camera.image, camera.info, camera.depth, camera.transport, camera.depth_transport
        )
        self._camera = RobotCamera(self._node, source, self.now_s, self._age_s, self._on_picture)

    def _spin(self) -> None:
        with contextlib.suppress(ExternalShutdownException):
            self._executor.spin()

    def _do(self, work: Callable[[], None]) -> None:
        """Has the listening thread do something."""
        if self._context.ok():
            self._executor.create_task(work)

    # Listening

    def now_s(self) -> float:
        """A steady clock."""
        return time.monotonic()

    def _age_s(self, stamp_s: float, heard_s: float) -> float:
        """How old a stamp of the robot's clock is, judged by the promptest odometry."""
        return heard_s - stamp_s - (0.0 if math.isinf(self._skew_s) else self._skew_s)

    def _tell(self, **news: Any) -> None:
        with self._lock:
            self._said.update(news)

    def _refuses(self, message: Any, topic: str) -> bool:
        problem = bounds_of(type(message)).problem(message, 0.0)
        if problem:
            self._tell(wrong=f"a message of {topic} is not used: {problem}")
        return bool(problem)

    def _on_odometry(self, message: Odometry) -> None:
        if self._refuses(message, self.options.odometry):
            return
        heard_s, stamp_s = self.now_s(), _seconds(message.header.stamp)
        # The least delay that was seen; it grows slowly, for clocks that drift.
        self._skew_s = min(self._skew_s + 1e-5, heard_s - stamp_s)
        twist = message.twist.twist
        self._tell(
            heard_s=heard_s,
            linear_m_s=math.hypot(twist.linear.x, twist.linear.y),
            angular_rad_s=float(twist.angular.z),
            odometry=pose_record(message.pose.pose),
        )

    def _on_joints(self, message: JointState) -> None:
        if self._refuses(message, self.options.joint_states):
            return
        # Several publishers may each tell of some joints.
        news = dict(zip(message.name, map(float, message.position), strict=False))
        with self._lock:
            self._said["joints"] = {**self._said["joints"], **news}

    def _on_frames(self, message: TFMessage) -> None:
        if not self._refuses(message, "/tf"):
            for link in message.transforms:
                self._frames.move(
                    link.header.frame_id, link.child_frame_id, _seconds(link.header.stamp),
                    _pose_of(link.transform),
                )  # fmt: skip

    def _on_fixed(self, message: TFMessage) -> None:
        if not self._refuses(message, "/tf_static"):
            for link in message.transforms:
                self._frames.fix(
                    link.header.frame_id, link.child_frame_id, _pose_of(link.transform)
                )

    def _on_description(self, message: String) -> None:
        self._description = str(message.data)

    def _on_map(self, message: OccupancyGrid) -> None:
        info, topic = message.info, self.options.navigation.map
        cells = np.array(message.data, np.int8)
        if cells.size != info.width * info.height or not info.resolution > 0:
            self._tell(wrong=f"a message of {topic} is not used: its cells do not fill the map")
            return
        shaped = cells.reshape(info.height, info.width)
        self._tell(map=FloorMap(shaped, float(info.resolution), pose_record(info.origin)))

    def _on_battery(self, message: BatteryState) -> None:
        battery = self.options.battery
        share = float(message.percentage) / (100.0 if battery and battery.percent else 1.0)
        if 0.0 <= share <= 1.0:
            self._tell(battery=share)
        elif not math.isnan(share):
            self._tell(wrong=f"a battery of {share:.0%}; does it report percent (battery.percent)?")

    def _on_picture(self, news: CameraNews) -> None:
        self._news = news

    def _look_for_servers(self) -> None:
        self._servers = {name: each.server_is_ready() for name, each in self._clients.items()}
        if self._limits is not None and self._limit_m_s is not None:
            # Nav2 may have started again since.
            self._limits.publish(SpeedLimit(header=self._head(), speed_limit=self._limit_m_s))

    def readings(self) -> Readings:
        """The newest readings; tells the watchdog that the bridge is alive."""
        with self._lock:
            said = dict(self._said)
            moves = any(errand.runs for errand, _ in self._errands.values())
        self._dead_man.alive(moves=moves)
        names, pose_in = self.options.frames, self._frames.pose_in
        on_floor = pose_in(names.odom, names.base)
        localised = pose_in(names.map, names.odom)
        known = localised is not None and on_floor is not None
        frame = self._news.pictures[-1].frame if self._news.pictures else ""
        return Readings(
            now_s=self.now_s(),
            base=localised.compose(on_floor) if known and localised and on_floor else None,
            tip=pose_in(names.base, self.options.arm.tip),
            optical=pose_in(names.base, frame) if frame else None,
            servers=self._servers,
            **said,
        )

    def shot(self) -> Shot | str:
        """The newest picture with the frames of its time."""
        news, names = self._news, self.options.frames
        topic = self.options.camera.image
        if self.now_s() - news.heard_s > 1.0:
            return f"no picture has come on {topic} for a second"
        for picture in reversed(news.pictures):
            at_s = picture.stamp_s
            localised = self._frames.pose_in(names.map, names.odom, at_s, LOCALISER_HOLD_S)
            on_floor = self._frames.pose_in(names.odom, names.base, at_s, HOLD_S)
            optical = self._frames.pose_in(names.base, picture.frame, at_s, HOLD_S)
            if localised is None or on_floor is None or optical is None:
                continue
            pixels = picture.pixels()
            frame = CameraFrame(pixels.rgb, pixels.depth_m, None, pixels.intrinsics, optical)
            return Shot(at_s, localised.compose(on_floor), frame)
        return news.problem or f"/tf does not tell where the frame of {topic} was"

    def open(self) -> str:
        """Waits until everything that moving takes was heard once."""
        options, until_s = self.options, self.now_s() + self.options.wait_s
        while True:
            lacking = self._lacking()
            if not lacking:
                return self._description
            if self.now_s() > until_s:
                raise PlannerError(f"{options.name}: {lacking}")
            self._dead_man.alive(moves=False)
            time.sleep(0.05)

    def _lacking(self) -> str:
        options, now = self.options, self.readings()
        names = options.frames
        joints = [name for name in options.arm.joints if name not in now.joints]
        told = [part for name in joints for part in options.arm.shared.get(name, (name,))]
        wrong = f" ({now.wrong})" if now.wrong else ""
        if math.isinf(now.heard_s):
            return f"nothing was received on {options.odometry}{wrong}; is the robot running?"
        if now.base is None:
            return (
                f"/tf does not connect {names.map!r} to {names.odom!r} and {names.base!r}; is the "
                "robot localised (frames)?"
            )
        missing = [name for name in told if name not in now.joints]
        if missing:
            return f"{options.joint_states} does not tell of the joint {missing[0]!r}"
        if not self._description:
            return f"nothing was received on {options.description}"
        if options.navigation.map and now.map is None:
            return f"no map was received on {options.navigation.map}"
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
                return
            with self._lock:
                self._errands[id(errand)] = (errand, handle)
            if errand.recalled or not errand.runs:
                # Recalled, or given up, before it was accepted.
                handle.cancel_goal_async()
            else:
                errand.state = State.ACTIVE
            handle.get_result_async().add_done_callback(ended)

        def ended(future: Any) -> None:
            answer = future.result()
            with self._lock:
                self._errands.pop(id(errand), None)
            if not errand.runs:
                return
            if read is not None:
                read(errand, answer.result)
            errand.state = _ENDS.get(answer.status, State.ABORTED)

        with self._lock:
            self._errands[id(errand)] = (errand, None)
        self._do(send)
        return errand

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
            way = [({gripper.joint: position}, 1.0)]
            message = FollowJointTrajectory.Goal(trajectory=_trajectory((gripper.joint,), way))
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
        in_base = self._frames.pose_in(base, frame)
        if in_base is None:
            return None
        tip = in_base.compose(pose_record(message.grasp_pose.pose))
        tool = tip.compose(self.options.arm.grip_in_tip)
        return Grasp(tool, thing.size_m[1], tool.position_m[2] - thing.support_m, "service")

    # Stopping

    def limit(self, speed_m_s: float) -> None:
        """Tells Nav2 the greatest speed, now and again and again."""
        if speed_m_s != self._limit_m_s:
            self._limit_m_s = speed_m_s
            self._do(self._look_for_servers)

    def recall(self) -> None:
        """Cancels all goals and commands zero velocity until the base stands."""
        with self._lock:
            running = list(self._errands.values())
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
        with self._lock:
            said = self._said
            moves = abs(said.get("linear_m_s", 0.0)) + abs(said.get("angular_rad_s", 0.0)) > 0.01
        if not moves and now_s - self._zero_from_s > ZERO_LEAST_S:
            return
        stamped = self.options.navigation.stamped
        head = self._head(self.options.frames.base)
        self._velocity.publish(TwistStamped(header=head) if stamped else Twist())

    def close(self) -> None:
        """Recalls everything, gives that a moment, and stops listening."""
        atexit.unregister(self.close)
        if not self._context.ok():
            self._dead_man.close()
            return
        self.recall()
        time.sleep(ZERO_LEAST_S)
        self._dead_man.close()
        rclpy.shutdown(context=self._context)
        self._thread.join(5.0)
        self._node.destroy_node()


def _seconds(stamp: Any) -> float:
    return float(stamp.sec) + float(stamp.nanosec) * 1e-9


def _pose_of(transform: Any) -> Pose:
    turned = transform.rotation
    return Pose(point_m(transform.translation), (turned.x, turned.y, turned.z, turned.w))


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
