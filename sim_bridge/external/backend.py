"""A robot that runs spot_ros2, behind the bridge's `Backend` protocol: looked at, not moved."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from planner.world.agents import Body, default_bodies
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.observation import CameraFrame, Observation
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveResult,
    PrimitiveStatus,
)
from planner.world.state import WorldState
from sim_bridge.backend import Handle
from sim_bridge.control import Command, Outcome
from sim_bridge.external.options import ExternalOptions, default_external
from sim_bridge.external.readings import RobotListener, RobotReadings
from sim_bridge.safety.health import Health, Lease, SpeedLimit
from sim_bridge.safety.options import SafetyOptions

# The body's frame of a standing Spot is higher than this over the ground.
STANDING_M = 0.35
# So long a robot that speaks of wrong frames is listened to before it is given up.
WRONG_S = 1.0
_NO_MOTION = (
    "the backend 'external' observes a robot that other software drives and sends it no motion; "
    "use backend:=spot to drive it"
)
# Joints as spot_ros2 calls them: the claw, 0 closed and -1.57 rad wide open.
_CLAW = "arm_f1x"


class ExternalBackend:
    """One robot that others drive; see `sim_bridge.backend.Backend` and `Supervised`.

    Whether it is powered and whose it is standard types do not say: what its Trigger services
    answered to us is believed until they say otherwise.
    """

    simulated = False

    def __init__(self, listener: RobotListener, options: ExternalOptions | None = None) -> None:
        """Listens with `listener`, which it closes in the end."""
        self.options = options or default_external()
        self._listener = listener
        self._agent = ""
        self._day_s = 0.0
        self._results: list[PrimitiveResult] = []
        self._claimed = self._powered = False

    # Episodes and time

    @property
    def agents(self) -> tuple[str, ...]:
        """The one robot, once an episode is loaded."""
        return (self._agent,) if self._agent else ()

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Takes up a layout, once the robot was heard; nothing of the robot changes.

        Raises:
            PlannerError: where it is not heard, or speaks of frames that are not expected.
        """
        if len(episode.agents) != 1:
            raise PlannerError(
                f"{episode.title}: one robot is one agent, not {len(episode.agents)}"
            )
        del house, seed  # the world is as it is
        self._wait_for_it()
        self._agent = episode.agents[0].uid
        self._results.clear()
        self._day_s = time.time() - self._listener.now_s()

    def _wait_for_it(self) -> None:
        ends_s, wrong_s = self._listener.now_s() + self.options.wait_s, math.inf
        while math.isinf(self._listener.readings().at_s):
            topic, wrong = f"/{self.options.namespace}/odometry", self._listener.readings().wrong
            if wrong:
                wrong_s = min(wrong_s, self._listener.now_s())
            if self._listener.now_s() >= min(ends_s, wrong_s + WRONG_S):
                raise PlannerError(
                    f"external: {wrong}"
                    if wrong
                    else f"external: nothing was heard on {topic}; is spot_ros2 running under this "
                    "name (namespace in config/external.yaml), in this ROS domain?"
                )
            time.sleep(0.02)

    def now_s(self) -> float:
        """The time of day, which goes on evenly from when the layout was taken up."""
        return self._day_s + self._listener.now_s() if self._agent else 0.0

    def step(self, dt_s: float) -> None:
        """Time passes by itself."""
        if not (math.isfinite(dt_s) and dt_s > 0):
            raise PlannerError(f"a step takes a finite time above 0, not {dt_s}")
        if not self._agent:
            raise PlannerError("no episode is loaded")

    def close(self) -> None:
        """Stops listening; the robot stays as it is."""
        self._listener.close()

    # Sensing

    @property
    def _body(self) -> Body:
        return default_bodies()[self.options.agent_kind]

    def capabilities(self, agent: str) -> Capabilities:
        """It can be looked at, and nothing else."""
        self._check_agent(agent)
        return Capabilities(
            kind=self._body.kind.value,
            primitives=frozenset(),
            cameras=self.options.cameras,
            reach_m=self._body.reach_m,
            radius_m=self._body.radius_m,
            ground_truth=False,
        )

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        """What was heard last.

        Raises:
            PlannerError: for an unknown camera, or one whose pictures or frames do not come.
        """
        self._check_agent(agent)
        readings = self._listener.readings()
        odometry = _flat(readings.body)
        base = self._odom_in_map(readings).compose(odometry)
        places: dict[str, Pose | str] = {
            name: self._on_base(readings, name) for name in self.options.cameras
        }
        optical: dict[str, Pose] = {
            name: place for name, place in places.items() if isinstance(place, Pose)
        }
        frames: dict[str, CameraFrame] = {}
        for camera in cameras:
            on_base = places.get(camera, f"{agent} has no camera {camera!r}")
            if isinstance(on_base, str):
                raise PlannerError(on_base)
            seen = readings.pictures[camera]
            frames[camera] = CameraFrame(
                rgb=seen.rgb,
                depth_m=seen.depth_m,
                instances=None,
                intrinsics=seen.intrinsics,
                pose=base.compose(on_base),
            )
        hand = readings.pose_in(self._frame("body"), self._frame("hand"))
        upright = odometry.inverse().compose(readings.body)
        return Observation(
            stamp_s=self.now_s(),
            agent=agent,
            base=base,
            odometry=odometry,
            linear_m_s=readings.linear_m_s,
            angular_rad_s=readings.angular_rad_s,
            hand=Pose(self._body.hand_m) if hand is None else upright.compose(hand),
            joints=dict(readings.joints),
            gripper_opening=self._opening(readings),
            holding=False,
            cameras=frames,
            optical=optical,
        )

    def _on_base(self, readings: RobotReadings, camera: str) -> Pose | str:
        """A camera's optical frame in `base_link`, the body put upright, or why it is unknown."""
        name = self.options.namespace
        if camera not in readings.pictures:
            why = f" ({readings.wrong})" if readings.wrong else ""
            return (
                f"external: no pictures yet; are /{name}/camera/{camera}/image and "
                f"/{name}/depth_registered/{camera}/image published?{why}"
            )
        frame = readings.pictures[camera].frame
        on_body = readings.pose_in(self._frame("body"), frame)
        if on_body is None:
            return (
                f"external: /tf has no way from {self._frame('body')!r} to {frame!r}, the frame of "
                f"the pictures of {camera}"
            )
        return _flat(readings.body).inverse().compose(readings.body).compose(on_body)

    def _frame(self, name: str) -> str:
        return f"{self.options.namespace}/{name}"

    def _odom_in_map(self, readings: RobotReadings) -> Pose:
        if self.options.map_frame:
            found = readings.pose_in(self.options.map_frame, self._frame("odom"))
            if found is not None:
                return _flat(found)
        return self.options.odometry_frame

    def _opening(self, readings: RobotReadings) -> float:
        claw = next((v for name, v in readings.joints.items() if name.endswith(_CLAW)), 0.0)
        return min(1.0, max(0.0, claw / -1.5708))

    def world_state(self) -> WorldState | None:
        """Nobody knows the truth of a real world."""
        return None

    def _check_agent(self, agent: str) -> None:
        if not agent or agent != self._agent:
            raise PlannerError(f"there is no agent {agent!r}; there are {', '.join(self.agents)}")

    # No acting

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Refuses: motion is sent by whoever drives the robot."""
        unknown = agent != self._agent
        code = PrimitiveCode.UNKNOWN_AGENT if unknown else PrimitiveCode.NOT_ABLE
        text = f"there is no agent {agent!r}" if unknown else f"{primitive.name}: {_NO_MOTION}"
        self._results.append(PrimitiveResult(code, text))
        return Handle(len(self._results) - 1)

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """How a primitive was refused."""
        if not 0 <= handle < len(self._results):
            raise PlannerError(f"this world gave out no primitive {handle}")
        return PrimitiveStatus("refused", 0.0, self._results[handle])

    def cancel(self, handle: Handle) -> None:
        """Nothing is under way."""
        self.poll(handle)

    def stop(self, agent: str) -> None:
        """Asks the robot to stop, where we may ask it and have claimed it."""
        self._check_agent(agent)
        if self._claimed and self.options.triggers:
            self._listener.trigger(Command.STOP, self.options.trigger_s)

    # Supervised

    def obey(self, safety: SafetyOptions) -> None:
        """Nothing of ours drives this robot, so there are no numbers to obey."""

    def health(self, agent: str) -> Health:
        """What standard types tell of it."""
        self._check_agent(agent)
        readings = self._listener.readings()
        standing = readings.body.position_m[2] > STANDING_M
        return Health(
            age_s=self._listener.now_s() - readings.at_s,
            lease=Lease.OURS if self._claimed else Lease.FREE,
            powered=self._powered or standing,
            standing=standing,
        )

    def pause(self, agent: str) -> None:
        """We send it no motion that could be paused."""

    def resume(self, agent: str) -> None:
        """We paused nothing."""

    def limit_speed(self, agent: str, limit: SpeedLimit) -> None:
        """We send it no motion that could be bounded."""

    def clear_faults(self, agent: str, cause: str) -> None:
        """Its faults are told in types of its own only."""

    def take_lease(self, agent: str) -> Outcome:
        """Asks spot_ros2 to take the lease; the gate lets a person do so, at the second word."""
        self._check_agent(agent)
        return self._trigger("take_lease")

    def dock(self, agent: str) -> Handle | None:
        """No motion of ours; whoever drives it docks it."""
        self._check_agent(agent)
        return None

    def undock(self, agent: str) -> Handle | None:
        """No motion of ours."""
        self._check_agent(agent)
        return None

    def stow(self, agent: str, within_s: float) -> Outcome:
        """Folds the arm of a robot that is ours."""
        self._check_agent(agent)
        return self._trigger("arm_stow", within_s) if self._claimed else Outcome(True, "not ours")

    def begin(self, agent: str, command: Command) -> Outcome | None:
        """The same as `operate`: spot_ros2 answers at the end."""
        return self.operate(agent, command)

    def ended(self, agent: str) -> Outcome | None:
        """Nothing that was begun goes on."""
        raise PlannerError(f"external: no command of {agent!r} is under way")

    def operate(self, agent: str, command: Command, within_s: float = math.inf) -> Outcome:
        """Passes a Trigger service on to spot_ros2, which has the same names."""
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


def _flat(pose: Pose) -> Pose:
    x, y, _ = pose.position_m
    return Pose.planar(x, y, pose.yaw_rad)
