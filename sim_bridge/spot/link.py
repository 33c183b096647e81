"""Commands and queries to one robot by the unmodified SDK, each with a timeout."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from bosdyn.api import (
    basic_command_pb2,
    geometry_pb2,
    manipulation_api_pb2,
    power_pb2,
    robot_state_pb2,
    service_fault_pb2,
)
from bosdyn.api.docking import docking_pb2
from bosdyn.api.spot import robot_command_pb2 as spot_pb2
from bosdyn.client import frame_helpers
from bosdyn.client.docking import DockingClient
from bosdyn.client.exceptions import LeaseUseError, TimedOutError
from bosdyn.client.fault import FaultClient
from bosdyn.client.image import ImageClient, build_image_request
from bosdyn.client.keepalive import KeepaliveClient
from bosdyn.client.lease import Lease, LeaseClient, NotActiveLeaseError, ResourceAlreadyClaimedError
from bosdyn.client.manipulation_api_client import ManipulationApiClient
from bosdyn.client.power import PowerClient
from bosdyn.client.robot_command import RobotCommandBuilder, RobotCommandClient
from bosdyn.client.robot_state import RobotStateClient
from bosdyn.client.sdk import generate_client_name
from bosdyn.client.world_object import WorldObjectClient

from planner.world.geometry import Pose, Vec3
from sim_bridge.safety.health import SpeedLimit
from sim_bridge.safety.options import SafetyOptions
from sim_bridge.spot.connection import LINK_ERRORS, SDK_ERRORS, Channel, Connection, RobotAddress
from sim_bridge.spot.convert import seconds_of
from sim_bridge.spot.permit import (
    KeepalivePolicy,
    LeaseEntry,
    Permit,
    WithdrawnError,
    body_entry,
    establish,
    overtaken,
)

CLIENT_NAME = "planner-bridge"
# The robot rejects expired commands, which would end a motion that should only pause.
MIN_TTL_S = 0.05
ResultT = TypeVar("ResultT")


class SpotLink:
    """A link to one robot. `now_s` is the clock of commands' end times, and the SDK's clock."""

    def __init__(
        self,
        where: RobotAddress,
        safety: SafetyOptions,
        now_s: Callable[[], float],
        permit: Permit | None = None,
        *,
        separate_channels: bool = False,
    ) -> None:
        """Does not connect yet.

        Args:
            where: the robot and the account.
            safety: limits of commands.
            now_s: see above.
            permit: grants commands; None = a new one.
            separate_channels: whether each `Channel` has a connection of its own.
        """
        self._where, self._safety, self.now_s = where, safety, now_s
        # Shown to people by the robot; unique, so that two bridges of one machine differ.
        self._name = f"{CLIENT_NAME}-{secrets.token_hex(3)}"
        self._separate_channels = separate_channels
        self._connections: dict[Channel, Connection] = {}
        self._thread = threading.local()
        self.permit = permit or Permit()
        self.lease: Any = None
        # Guards the lease, which one thread acquires or returns and another retains.
        self._keeping = threading.RLock()
        # Whether a lease request is unanswered.
        self._unanswered = False
        # Whether the hand was moved since the arm was last stowed.
        self.reached_out = False
        self.limit = SpeedLimit(safety.motion.speed_m_s, safety.motion.turn_speed_rad_s)

    # Connecting

    def connect(self) -> None:
        """Logs in, compares clocks and creates the clients.

        Raises:
            PlannerError: what is wrong and what to do, in one sentence.
        """
        first = self._new_connection()
        first.connect()
        self.robot = first.robot
        with first.errors_explained():
            self.sync = establish(first.sync, self._safety.link.most_skew_s)
            self._connections = dict.fromkeys(Channel, first)
            if self._separate_channels:
                for channel in Channel:
                    if channel is not Channel.STATE:
                        self._connections[channel] = self._new_connection()
                        self._connections[channel].connect(self.robot.lease_wallet)
            self._make_clients()

    def _new_connection(self) -> Connection:
        return Connection(self._name, self._where, self._safety, self.now_s)

    @property
    def skew_s(self) -> float:
        """How far the robot's clock is ahead of ours."""
        return self.sync.skew_s

    def synchronize_again(self) -> None:
        """Compares the clocks again, as they drift."""
        self.call(self.sync.compare)

    def _make_clients(self) -> None:
        connections = self._connections
        self._states = connections[Channel.STATE].client(RobotStateClient)
        self._objects = connections[Channel.STATE].client(WorldObjectClient)
        self._images = connections[Channel.PICTURES].client(ImageClient)
        self._picks = connections[Channel.MOTION].client(ManipulationApiClient)
        self._leases = connections[Channel.LEASE].client(LeaseClient)
        self._keepalive = connections[Channel.LEASE].client(KeepaliveClient)
        self._policy = KeepalivePolicy(
            CLIENT_NAME,
            generate_client_name(self._name),
            self._keepalive,
            partial(self.call, channel=Channel.LEASE),
            self._safety,
        )
        self._faults = connections[Channel.LEASE].client(FaultClient)
        both = (Channel.MOTION, Channel.STOP)
        self._commands = {name: connections[name].client(RobotCommandClient) for name in both}
        self._power = {name: connections[name].client(PowerClient) for name in both}
        if self._separate_channels:
            for channel in both:
                connections[channel].warm_up((self._commands[channel], self._power[channel]))
            connections[Channel.LEASE].warm_up((self._leases, self._keepalive))
            connections[Channel.PICTURES].warm_up((self._images,))

    def keep_warm(self) -> None:
        """Uses the stop channel, so that its connection stays open."""
        timeout = self._safety.timeouts.command_s
        power, commands = self._power[Channel.STOP], self._commands[Channel.STOP]
        for ask in (power.power_command_feedback, commands.robot_command_feedback):
            # Command 0 does not exist: any answer will do.
            with suppress(*SDK_ERRORS):
                self.call(partial(ask, 0, timeout=timeout), Channel.STOP)

    @contextmanager
    def urgently(self) -> Iterator[None]:
        """Commands of this thread use the stop channel in this context."""
        self._thread.channel = Channel.STOP
        try:
            yield
        finally:
            self._thread.channel = Channel.MOTION

    @property
    def _channel(self) -> Channel:
        channel: Channel = getattr(self._thread, "channel", Channel.MOTION)
        return channel

    def call(self, call: Callable[[], ResultT], channel: Channel = Channel.STATE) -> ResultT:
        """A call that renews an expired token once."""
        return self._connections[channel].call(call)

    def client(self, kind: Any, channel: Channel = Channel.STATE) -> Any:
        """The client of another service."""
        return self._connections[channel].client(kind)

    def close(self) -> None:
        """Closes the connections; the lease must have been returned before."""
        for connection in self._connections.values():
            connection.close()

    def _look(self, call: Callable[[], ResultT]) -> ResultT:
        """A query, repeated once after a timeout."""
        try:
            return self._do(call)
        except TimedOutError:
            return self._do(call)

    def _do(self, call: Callable[[], ResultT]) -> ResultT:
        """A call on this thread's channel."""
        return self._connections[self._channel].call(call)

    def send(self, send: Callable[[Any], ResultT]) -> ResultT:
        """A command, with the next lease.

        Raises:
            WithdrawnError: if its motion was stopped or paused meanwhile, or a later command of
                ours has reached the robot before this one.
        """
        lease = self.permit.lease(self.body_lease)
        try:
            return self._do(lambda: send(lease))
        except LeaseUseError as error:
            late = self.permit.is_motion and overtaken(error.lease_use_result, self.lease)
            if late or self.permit.withdrawn:
                # The robot has seen the newer lease of a stop.
                raise WithdrawnError from error
            raise

    # Reading

    def state(self) -> Any:
        """The robot's state."""
        return self.call(
            lambda: self._states.get_robot_state(timeout=self._safety.timeouts.state_s)
        )

    def markers(self) -> list[tuple[Any, float]]:
        """The fiducials that the robot detected of late, each with its age in seconds."""
        answer = self.call(
            lambda: self._objects.list_world_objects(timeout=self._safety.timeouts.state_s)
        )
        now_s = seconds_of(answer.header.response_timestamp)
        found = [o for o in answer.world_objects if o.HasField("apriltag_properties")]
        return [(o, now_s - seconds_of(o.acquisition_time)) for o in found]

    def images(self, names: list[str], quality: int) -> list[Any]:
        """Pictures of one moment."""
        images = [build_image_request(name, quality_percent=quality) for name in names]
        timeout = self._safety.timeouts.image_s
        found = self.call(lambda: self._images.get_image(images, timeout=timeout), Channel.PICTURES)
        return list(found)

    def lease_book(self) -> LeaseEntry:
        """The robot's entry for the body lease."""
        timeout = self._safety.timeouts.lease_s
        resources = self.call(lambda: self._leases.list_leases(timeout=timeout), Channel.LEASE)
        return body_entry(resources, self.lease)

    # Lease and keepalive (rules 3, 5 and 6)

    def claim(self) -> None:
        """Acquires the lease, never by force, and ties a keepalive policy to it.

        After a lost answer the robot's lease list shows whether the lease was granted.
        """
        timeout = self._safety.timeouts.lease_s
        with self._keeping:
            try:
                self.lease = self.call(lambda: self._leases.acquire(timeout=timeout), Channel.LEASE)
            except TimedOutError:
                self._unanswered = True
                self._adopt_or_raise()
            except ResourceAlreadyClaimedError:
                if not self._unanswered:
                    raise
                self._adopt_or_raise()
            self._unanswered = False
            self._tie_or_return()

    def _adopt_or_raise(self) -> None:
        """Adopts the lease if the robot granted it in a lost answer, else re-raises."""
        timeout, name = self._safety.timeouts.lease_s, generate_client_name(self._name)
        for resource in self.call(lambda: self._leases.list_leases(timeout=timeout), Channel.LEASE):
            # The name is unique to this process.
            if resource.resource == "body" and resource.lease_owner.client_name == name:
                self.lease = Lease(resource.lease)
                self.robot.lease_wallet.add(self.lease)
                return
        raise

    def _tie_or_return(self) -> None:
        """Ties the policy, or returns the lease if that fails (rule 3)."""
        try:
            self._policy.tie(self.lease)
        except SDK_ERRORS:
            with suppress(*SDK_ERRORS):
                self.release()
            # If that was lost as well, the lease may still be ours.
            self._unanswered = self.lease is not None
            self.lease = None
            raise

    def take(self) -> None:
        """Takes the lease by force; only for a person who was shown its owner."""
        timeout = self._safety.timeouts.lease_s
        with self._keeping:
            self.lease = self.call(lambda: self._leases.take(timeout=timeout), Channel.LEASE)
            self._tie_or_return()

    def body_lease(self) -> Any:
        """The next lease as a message."""
        return self.robot.lease_wallet.advance().lease_proto

    def retain(self) -> None:
        """Retains the lease and checks in with the policy.

        Raises:
            Error: of the SDK, if the robot did not answer or has no policy.
        """
        timeout = self._safety.timeouts.lease_s
        with self._keeping:
            held = self.lease
            if held is None:
                return
            # Not a newer one: it would invalidate a command in transit.
            lease = self.robot.lease_wallet.get_lease()
            self.call(lambda: self._leases.retain_lease(lease, timeout=timeout), Channel.LEASE)
            self._policy.check_in(held)

    def release(self) -> None:
        """Removes the policy and returns the lease.

        Raises:
            Error: of the SDK; without an answer the lease still counts as ours.
        """
        timeout = self._safety.timeouts.lease_s
        with self._keeping:
            self._policy.remove()
            lease = self.lease
            if lease is None:
                return
            newest = None
            with suppress(*SDK_ERRORS):
                newest = self.robot.lease_wallet.get_lease()
            try:
                self.call(lambda: self._leases.return_lease(lease, timeout=timeout), Channel.LEASE)
            except LINK_ERRORS:
                # The SDK drops it before the request.
                if newest is not None:
                    self.robot.lease_wallet.add(newest)
                raise
            except NotActiveLeaseError:
                # An earlier answer was lost, or another client took it.
                pass
            except SDK_ERRORS:
                self.lease = None
                raise
            self.lease = None

    # Commands (rules 1, 2, 9 and 10)

    def power(self, *, on: bool) -> None:
        """Requests motor power; the state shows whether it came on."""
        kinds = power_pb2.PowerCommandRequest
        power_kind = kinds.REQUEST_ON_MOTORS if on else kinds.REQUEST_OFF_MOTORS
        timeout = self._safety.timeouts.command_s
        power = self._power[self._channel]
        self.send(lambda lease: power.power_command(power_kind, lease=lease, timeout=timeout))

    def command(
        self, command: Any, ttl_s: float | None = None, answer_s: float | None = None
    ) -> int:
        """Sends a robot command that expires after `ttl_s`; returns its number.

        `answer_s` is the timeout of the call, by default that of config/safety.yaml.
        """
        ends_s = self.now_s() + (ttl_s or self._safety.motion.command_ttl_s)
        timeout = answer_s or self._safety.timeouts.command_s
        commands = self._commands[self._channel]
        return int(
            self.send(
                lambda lease: commands.robot_command(
                    command,
                    end_time_secs=ends_s,
                    timesync_endpoint=self.sync,
                    lease=lease,
                    timeout=timeout,
                )
            )
        )

    def feedback(self, number: int) -> Any:
        """The feedback of a command."""
        timeout, commands = self._safety.timeouts.command_s, self._commands[self._channel]
        found = self._look(lambda: commands.robot_command_feedback(number, timeout=timeout))
        return found.feedback

    def mobility(self) -> Any:
        """Parameters of every mobility command: speed limit, no stairs, all sensing on."""
        params = RobotCommandBuilder.mobility_params(
            stairs_mode=spot_pb2.MobilityParams.STAIRS_MODE_PROHIBITED
        )
        for limit, sign in ((params.vel_limit.max_vel, 1), (params.vel_limit.min_vel, -1)):
            limit.linear.x = limit.linear.y = sign * self.limit.linear_m_s
            limit.angular = sign * self.limit.angular_rad_s
        padding = self._safety.motion.obstacle_padding_m
        params.obstacle_params.obstacle_avoidance_padding = padding
        return params

    @property
    def walk_ttl_s(self) -> float:
        """Lifetime of a walk that is sent now (rules 1 and 8)."""
        left_s = self.limit.until_s - time.monotonic()
        return max(MIN_TTL_S, min(self._safety.motion.command_ttl_s, left_s))

    def walk_to(self, x_m: float, y_m: float, yaw_rad: float) -> int:
        """Walks to a pose of the odometry frame."""
        return self.command(
            RobotCommandBuilder.synchro_se2_trajectory_point_command(
                x_m, y_m, yaw_rad, frame_helpers.ODOM_FRAME_NAME, params=self.mobility()
            ),
            ttl_s=self.walk_ttl_s,
        )

    def stand(self) -> int:
        """Stands up, or stands still."""
        return self.command(RobotCommandBuilder.synchro_stand_command(params=self.mobility()))

    def sit(self) -> int:
        """Sits down."""
        return self.command(RobotCommandBuilder.synchro_sit_command(params=self.mobility()))

    def sits(self, feedback: Any) -> bool:
        """Whether the feedback of a mobility command reports that the robot sits."""
        return bool(
            feedback.sit_feedback.status == basic_command_pb2.SitCommand.Feedback.STATUS_IS_SITTING
        )

    def halt(self, answer_s: float | None = None) -> None:
        """Stops every motion; `answer_s` is the timeout."""
        self.command(RobotCommandBuilder.stop_command(), answer_s=answer_s)

    def gaze(self, point_m: Vec3) -> int:
        """Points the hand's camera at a point of the odometry frame."""
        self.reached_out = True
        x, y, z = point_m
        motion = self._safety.motion
        return self.command(
            RobotCommandBuilder.arm_gaze_command(
                x,
                y,
                z,
                frame_helpers.ODOM_FRAME_NAME,
                max_linear_vel=motion.hand_speed_m_s,
                max_angular_vel=motion.hand_turn_speed_rad_s,
            ),
            ttl_s=5.0,
        )

    # Docking (rule 15); commands expire unless they are extended (rule 1)

    def dock(self, number: int) -> int:
        """Starts docking at a dock nearby."""
        return self._docking(number, docking_pb2.PREP_POSE_USE_POSE)

    def undock(self) -> int:
        """Starts undocking."""
        client = self.client(DockingClient, Channel.MOTION)
        timeout = self._safety.timeouts.state_s
        dock = self._do(lambda: client.get_docking_state(timeout=timeout))
        return self._docking(dock.dock_id, docking_pb2.PREP_POSE_UNDOCK)

    def _docking(self, number: int, how: int) -> int:
        client = self.client(DockingClient, Channel.MOTION)
        clock, ends = self.sync.clock_identifier, self._docking_ends()
        timeout = self._safety.timeouts.command_s
        return int(
            self.send(
                lambda lease: client.docking_command(
                    number, clock, ends, how, lease=lease, timeout=timeout
                )
            )
        )

    def _docking_ends(self) -> Any:
        ends_s = self.now_s() + self._safety.motion.command_ttl_s
        return self.sync.robot_timestamp_from_local_secs(ends_s)

    def docking(self, command: int) -> str:
        """Extends a docking command; returns the name of its status."""
        client = self.client(DockingClient, Channel.MOTION)
        timeout = self._safety.timeouts.command_s
        feedback = self._look(
            lambda: client.docking_command_feedback_full(
                command, self._docking_ends(), timeout=timeout
            )
        )
        return str(docking_pb2.DockingCommandFeedbackResponse.Status.Name(feedback.status))

    def reach(self, hand: Pose) -> int:
        """Moves the hand to a pose of the odometry frame, within the speed limit."""
        self.reached_out = True
        (x, y, z), (qx, qy, qz, qw) = hand.position_m, hand.orientation
        command = RobotCommandBuilder.arm_pose_command(
            x, y, z, qw, qx, qy, qz, frame_helpers.ODOM_FRAME_NAME, seconds=1.5
        )
        arm = command.synchronized_command.arm_command.arm_cartesian_command
        arm.max_linear_velocity.value = self._safety.motion.hand_speed_m_s
        arm.max_angular_velocity.value = self._safety.motion.hand_turn_speed_rad_s
        return self.command(command, ttl_s=5.0)

    def stow(self) -> int:
        """Stows the arm."""
        self.reached_out = False
        return self.command(RobotCommandBuilder.arm_stow_command(), ttl_s=5.0)

    def carry(self) -> int:
        """Moves the arm to the carry pose, as a held object may be too big to stow."""
        self.reached_out = False
        return self.command(RobotCommandBuilder.arm_carry_command(), ttl_s=5.0)

    def gripper(self, fraction: float) -> int:
        """Opens the gripper to a fraction, 0 to 1."""
        return self.command(
            RobotCommandBuilder.claw_gripper_open_fraction_command(fraction), ttl_s=5.0
        )

    def pick(self, shot: Any, source: Any, pixel: tuple[float, float]) -> int:
        """Starts grasping at a pixel of a picture; returns the command's number."""
        self.reached_out = True
        pick = manipulation_api_pb2.PickObjectInImage(
            pixel_xy=geometry_pb2.Vec2(x=pixel[0], y=pixel[1]),
            transforms_snapshot_for_camera=shot.transforms_snapshot,
            frame_name_image_sensor=shot.frame_name_image_sensor,
            camera_model=source.pinhole,
            walk_gaze_mode=manipulation_api_pb2.PICK_NO_AUTO_WALK_OR_GAZE,
        )
        request = manipulation_api_pb2.ManipulationApiRequest(pick_object_in_image=pick)
        timeout = self._safety.timeouts.command_s

        def send(lease: Any) -> Any:
            request.lease.CopyFrom(lease)
            return self._picks.manipulation_api_command(request, timeout=timeout)

        answer = self.send(send)
        return int(answer.manipulation_cmd_id)

    def pick_state(self, number: int) -> str:
        """The name of a pick's state."""
        request = manipulation_api_pb2.ManipulationApiFeedbackRequest(manipulation_cmd_id=number)
        timeout = self._safety.timeouts.command_s
        answer = self._look(
            lambda: self._picks.manipulation_api_feedback_command(request, timeout=timeout)
        )
        return str(manipulation_api_pb2.ManipulationFeedbackState.Name(answer.current_state))

    def keep_held(self) -> None:
        """Has the robot keep what it holds after a lost connection (rule 13)."""
        override = manipulation_api_pb2.ApiGraspedCarryStateOverride(
            override_request=robot_state_pb2.ManipulatorState.CARRY_STATE_CARRIABLE
        )
        request = manipulation_api_pb2.ApiGraspOverrideRequest(carry_state_override=override)
        timeout = self._safety.timeouts.command_s
        self._do(lambda: self._picks.grasp_override_command(request, timeout=timeout))

    def pull(self, direction: Vec3, *, turns: bool) -> int:
        """Pulls the held handle (direction in the odometry frame); `turns`: on a hinge."""
        self.reached_out = True
        kinds = basic_command_pb2.ConstrainedManipulationCommand.Request
        x, y, z = direction
        wrench = geometry_pb2.Wrench(
            force=geometry_pb2.Vec3(x=x, y=y, z=z), torque=geometry_pb2.Vec3()
        )
        task = kinds.TASK_TYPE_R3_CIRCLE_FORCE if turns else kinds.TASK_TYPE_R3_LINEAR_FORCE
        command = RobotCommandBuilder.constrained_manipulation_command(
            task_type=task,
            init_wrench_direction_in_frame_name=wrench,
            force_limit=40.0,
            torque_limit=4.0,
            frame_name=frame_helpers.ODOM_FRAME_NAME,
            tangential_speed=0.15,
        )
        request = command.full_body_command.constrained_manipulation_request
        request.end_time.CopyFrom(self.sync.robot_timestamp_from_local_secs(self.now_s() + 10.0))
        return self.command(command, ttl_s=10.0)

    # The bridge's own faults, shown on the tablet (rule 16)

    def raise_fault(self, name: str, text: str) -> None:
        """Raises a service fault."""
        fault = service_fault_pb2.ServiceFault(
            fault_id=_fault_id(name),
            error_message=text,
            severity=service_fault_pb2.ServiceFault.SEVERITY_WARN,
        )
        timeout = self._safety.timeouts.command_s
        self.call(lambda: self._faults.trigger_service_fault(fault, timeout=timeout), Channel.LEASE)

    def withdraw_fault(self, name: str) -> None:
        """Clears it again."""
        timeout = self._safety.timeouts.command_s
        fault = _fault_id(name)
        self.call(lambda: self._faults.clear_service_fault(fault, timeout=timeout), Channel.LEASE)

    def clear_fault(self, number: int) -> None:
        """Clears one behaviour fault."""
        timeout, commands = self._safety.timeouts.command_s, self._commands[Channel.MOTION]
        self.send(lambda lease: commands.clear_behavior_fault(number, lease=lease, timeout=timeout))


def _fault_id(name: str) -> Any:
    return service_fault_pb2.ServiceFaultId(fault_name=name, service_name=CLIENT_NAME)
