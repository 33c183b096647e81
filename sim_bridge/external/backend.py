"""A robot that runs spot_ros2, behind the bridge's `Backend` protocol: observed, not moved."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence

from planner.world.agents import Body, default_bodies
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.observation import CameraFrame, CameraNews, Observation, RobotPicture
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveResult,
    PrimitiveStatus,
)
from sim_bridge.backend import Handle
from sim_bridge.external.readings import (
    ExternalOptions,
    FrameNames,
    Moment,
    RobotListener,
    RobotReadings,
    default_external,
    moment_at,
    posed_picture,
)
from sim_bridge.one_robot import Command, OneRobot, Outcome
from sim_bridge.safety.health import Health, Lease, SpeedLimit
from sim_bridge.safety.options import SafetyOptions

# The body frame of a standing Spot is higher than this above the ground.
STANDING_M = 0.35
# Seconds for which a robot may publish unexpected frames before loading fails.
WRONG_S = 1.0
_NO_MOTION = (
    "the backend 'external' observes a robot that other software drives and sends it no motion; "
    "use backend:=spot to drive it"
)
# A stamp that was shifted to our clock and back is not exactly what it was.
_SAME_S = 1e-4
# Joint names of spot_ros2: the claw, 0 closed and -1.57 rad wide open.
_CLAW = "arm_f1x"


class ExternalBackend(OneRobot):
    """One robot driven by other software; see `sim_bridge.backend.Backend` and `Supervised`.

    Standard types do not report power and lease: the outcomes of its Trigger services count until
    they say otherwise.
    """

    simulated = False

    def __init__(self, listener: RobotListener, options: ExternalOptions | None = None) -> None:
        """Subscribes with `listener`, which it closes in the end."""
        self.options = options or default_external()
        super().__init__()
        self._listener = listener
        self._begun_s = -math.inf
        # By camera: when its frames were last known, and why its last picture could not be read.
        self._posed_s: dict[str, float] = {}
        self._unreadable: dict[str, str] = {}
        self._results: list[PrimitiveResult] = []
        self._claimed = self._powered = False

    # Episodes and time

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads a layout once the robot was received; nothing of the robot changes.

        Raises:
            PlannerError: if nothing is received, or frames are not as expected.
        """
        self._check_team(episode)
        del house, seed  # the real world cannot be reset
        self._wait_for_it()
        self._agent = episode.agents[0].uid
        self._results.clear()
        self._begun_s = self._listener.now_s()
        self._posed_s.clear()
        self._unreadable.clear()

    def _wait_for_it(self) -> None:
        ends_s, wrong_s = self._listener.now_s() + self.options.wait_s, math.inf
        while math.isinf(self._listener.readings().at_s):
            wrong = self._listener.readings().wrong
            if wrong:
                wrong_s = min(wrong_s, self._listener.now_s())
            if self._listener.now_s() >= min(ends_s, wrong_s + WRONG_S):
                raise PlannerError(
                    f"external: {wrong}"
                    if wrong
                    else f"external: nothing was received on {self._odometry_topic}; is spot_ros2 "
                    "running under this name (namespace in config/external.yaml), in this ROS "
                    "domain?"
                )
            time.sleep(0.02)

    def now_s(self) -> float:
        """The time of day, without jumps."""
        return self._listener.now_s() if self._agent else 0.0

    def step(self, dt_s: float) -> None:
        """Time passes by itself."""
        self._check_step(dt_s)

    def close(self) -> None:
        """Stops receiving; the robot stays as it is."""
        self._listener.close()

    # Sensing

    @property
    def _body(self) -> Body:
        return default_bodies()[self.options.agent_kind]

    def capabilities(self, agent: str) -> Capabilities:
        """It can be observed, and nothing else."""
        self._check_agent(agent)
        return self._body.capabilities(primitives=(), cameras=self.options.cameras)

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        """The newest odometry, at its stamp, and the newest pictures, each with its own pose.

        Raises:
            PlannerError: for an unknown camera, or one whose pictures or frames are missing.
        """
        self._check_agent(agent)
        readings = self._listener.readings()
        frames: dict[str, CameraFrame] = {}
        for camera in cameras:
            self._check_camera(agent, camera)
            why = self._why_none(readings, camera)
            found = None if why else posed_picture(readings, self._names, camera, -math.inf)
            if found is None:
                raise PlannerError(why or self._why_unposed(readings, camera))
            frames[camera] = _frame(camera, *found)
        moment = moment_at(readings, self._names, None)
        if moment is None:
            raise PlannerError(f"external: nothing was received on {self._odometry_topic}")
        return self._observation(readings, moment, frames)

    def picture_after(self, agent: str, camera: str, stamp_s: float) -> Observation | None:
        """See `PictureSource`."""
        self._check_agent(agent)
        self._check_camera(agent, camera)
        readings = self._listener.readings()
        after_s = stamp_s - readings.shift_s + _SAME_S
        found = posed_picture(readings, self._names, camera, after_s)
        if found is None:
            return None
        picture, moment = found
        try:
            frames = {camera: _frame(camera, picture, moment)}
        except PlannerError as error:
            self._unreadable[camera] = str(error)
            return None
        self._unreadable.pop(camera, None)
        return self._observation(readings, moment, frames)

    def picture_fault(self, agent: str) -> str:
        """See `PictureSource`."""
        self._check_agent(agent)
        readings = self._listener.readings()
        found = (self._camera_fault(readings, camera) for camera in self.options.cameras)
        return "; ".join(filter(None, found))

    def _camera_fault(self, readings: RobotReadings, camera: str) -> str:
        """Why a camera has been of no use for `silent_after_s`."""
        now_s, news = self._listener.now_s(), readings.cameras.get(camera, CameraNews())
        since_s = now_s - self.options.silent_after_s
        if max(self._begun_s, news.good_s) < since_s:
            return self._why_none(readings, camera)
        if camera in self._unreadable:
            return f"external: {self._unreadable[camera]}"
        if posed_picture(readings, self._names, camera, -math.inf) is not None:
            self._posed_s[camera] = now_s
        lately = max(self._begun_s, self._posed_s.get(camera, -math.inf)) >= since_s
        return "" if lately else self._why_unposed(readings, camera)

    def _why_none(self, readings: RobotReadings, camera: str) -> str:
        """Why there is no new picture of a camera; empty if there is."""
        name, news = self.options.namespace, readings.cameras.get(camera, CameraNews())
        since_s = self._listener.now_s() - self.options.silent_after_s
        if news.good_s >= since_s:
            return ""
        if news.heard_s >= since_s and news.problem:
            return f"external: {news.problem}"
        if math.isinf(news.heard_s):
            why = readings.wrong or news.problem
            return (
                f"external: no pictures yet; are /{name}/camera/{camera}/image and "
                f"/{name}/depth_registered/{camera}/image published?{why and f' ({why})'}"
            )
        return (
            f"external: the camera {camera} stopped: no new pictures on "
            f"/{name}/camera/{camera}/image and /{name}/depth_registered/{camera}/image for more "
            f"than {self.options.silent_after_s:g} s"
        )

    def _why_unposed(self, readings: RobotReadings, camera: str) -> str:
        """Why it is unknown where a camera was when it took its newest picture."""
        body, picture = self._names.body, readings.cameras[camera].pictures[-1]
        if not readings.frames.connects(body, picture.frame):
            return (
                f"external: /tf does not connect {body!r} to {picture.frame!r}, the frame of the "
                f"pictures of {camera}"
            )
        return (
            f"external: {self._odometry_topic} and /tf do not tell where "
            f"{picture.frame!r} was when {camera} took its pictures"
        )

    def _observation(
        self, readings: RobotReadings, moment: Moment, frames: Mapping[str, CameraFrame]
    ) -> Observation:
        return Observation(
            stamp_s=moment.stamp_s + readings.shift_s,
            agent=self._agent,
            base=moment.base,
            odometry=moment.odometry,
            linear_m_s=readings.linear_m_s,
            angular_rad_s=readings.angular_rad_s,
            hand=moment.hand or Pose(self._body.hand_m),
            joints=dict(readings.joints),
            gripper_opening=self._opening(readings),
            holding=False,
            cameras=frames,
            optical=moment.optical,
        )

    @property
    def _odometry_topic(self) -> str:
        return f"/{self.options.namespace}/odometry"

    @property
    def _names(self) -> FrameNames:
        return self.options.frames

    def _opening(self, readings: RobotReadings) -> float:
        claw = next((v for name, v in readings.joints.items() if name.endswith(_CLAW)), 0.0)
        return min(1.0, max(0.0, claw / -1.5708))

    def _check_camera(self, agent: str, camera: str) -> None:
        if camera not in self.options.cameras:
            raise PlannerError(f"{agent} has no camera {camera!r}")

    # No motion

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Refuses: only the other software moves the robot."""
        unknown = agent != self._agent
        code = PrimitiveCode.UNKNOWN_AGENT if unknown else PrimitiveCode.NOT_ABLE
        text = f"there is no agent {agent!r}" if unknown else f"{primitive.name}: {_NO_MOTION}"
        self._results.append(PrimitiveResult(code, text))
        return Handle(len(self._results) - 1)

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """The refusal of a primitive."""
        if not 0 <= handle < len(self._results):
            raise PlannerError(f"unknown primitive handle: {handle}")
        return PrimitiveStatus("refused", 0.0, self._results[handle])

    def cancel(self, handle: Handle) -> None:
        """Does nothing: no primitive is running."""
        self.poll(handle)

    def stop(self, agent: str) -> None:
        """Stops the robot, if it has such a service and is claimed."""
        self._check_agent(agent)
        if self._claimed and self.options.triggers:
            self._listener.trigger(Command.STOP, self.options.trigger_s)

    # Supervised

    def obey(self, safety: SafetyOptions) -> None:
        """Does nothing: no driver of ours enforces the rules."""

    def health(self, agent: str) -> Health:
        """The robot's health as far as standard types report it."""
        self._check_agent(agent)
        readings = self._listener.readings()
        body = readings.bodies.at(None)
        standing = body is not None and body.position_m[2] > STANDING_M
        return Health(
            age_s=self._listener.now_s() - readings.at_s,
            lease=Lease.OURS if self._claimed else Lease.FREE,
            powered=self._powered or standing,
            standing=standing,
        )

    def pause(self, agent: str) -> None:
        """Does nothing: we send no motion."""

    def resume(self, agent: str) -> None:
        """Does nothing: we send no motion."""

    def limit_speed(self, agent: str, limit: SpeedLimit) -> None:
        """Does nothing: we send no motion."""

    def clear_faults(self, agent: str, cause: str) -> None:
        """Does nothing: its faults are published only in types of its own."""

    def take_lease(self, agent: str) -> Outcome:
        """Has spot_ros2 take the lease; the gate lets a person do so, at the second request."""
        self._check_agent(agent)
        return self._trigger("take_lease")

    def stow(self, agent: str, within_s: float) -> Outcome:
        """Folds the arm of a claimed robot."""
        self._check_agent(agent)
        return self._trigger("arm_stow", within_s) if self._claimed else Outcome(True, "not ours")

    def begin(self, agent: str, command: Command) -> Outcome | None:
        """The same as `operate`: spot_ros2 answers at the end."""
        return self.operate(agent, command)

    def ended(self, agent: str) -> Outcome | None:
        """None is running."""
        raise PlannerError(f"external: no command of {agent!r} is under way")

    def operate(self, agent: str, command: Command, within_s: float = math.inf) -> Outcome:
        """Calls the Trigger service of spot_ros2 with the same name."""
        self._check_agent(agent)
        outcome = self._trigger(command, within_s)
        if outcome.success:
            self._claimed = {Command.CLAIM: True, Command.RELEASE: False}.get(
                command, self._claimed
            )
            off = (Command.POWER_OFF, Command.ESTOP_HARD, Command.ESTOP_GENTLE)
            self._powered = command is Command.POWER_ON or (self._powered and command not in off)
        return outcome

    def _trigger(self, name: str, within_s: float = math.inf) -> Outcome:
        if not self.options.triggers:
            return Outcome(False, "this robot is only observed (triggers in config/external.yaml)")
        return self._listener.trigger(name, min(within_s, self.options.trigger_s))


def _frame(camera: str, picture: RobotPicture, moment: Moment) -> CameraFrame:
    pixels = picture.pixels()
    return CameraFrame(
        rgb=pixels.rgb,
        depth_m=pixels.depth_m,
        instances=None,
        intrinsics=pixels.intrinsics,
        pose=moment.base.compose(moment.optical[camera]),
    )
