"""The `Backend` of a mobile manipulator with Nav2 and MoveIt or ros2_control."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from planner.world.agents import Body
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.observation import Observation
from planner.world.primitive import (
    Capabilities,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveResult,
    PrimitiveStatus,
)
from sim_bridge.backend import Handle
from sim_bridge.embedded.house_ground import HouseGround
from sim_bridge.embedded.manipulation import RefusalError
from sim_bridge.embedded.options import default_options
from sim_bridge.embedded.world import KinematicWorld
from sim_bridge.map_model import MapModel
from sim_bridge.one_robot import Command, Ended, OneRobot, Outcome, Routine, Stage
from sim_bridge.ros.driving import WALKING, Held, carry
from sim_bridge.ros.handling import routine
from sim_bridge.ros.model import Model
from sim_bridge.ros.options import CAMERA, RosOptions, default_ros
from sim_bridge.ros.port import RobotPort
from sim_bridge.ros.senses import Senses, check_map
from sim_bridge.runtime import refusal_of
from sim_bridge.safety.health import Fault, Health, Lease, SpeedLimit
from sim_bridge.safety.options import Rule, SafetyOptions, default_safety

DEFAULT_TIMEOUT_S = 180.0
STARTING = "starting"
PRIMITIVES = frozenset({
    PrimitiveName.NAVIGATE, PrimitiveName.LOOK, PrimitiveName.PICK, PrimitiveName.PLACE,
    PrimitiveName.OPEN, PrimitiveName.CLOSE,
})  # fmt: skip
# The base may overshoot its limit by this, for so long, before it is stopped.
SPEED_SPARE, SPEEDING_S = 1.25, 0.5
Value = TypeVar("Value")


@dataclass(slots=True)
class _Running:
    """A running or ended primitive."""

    routine: Routine | None
    ends_s: float
    status: PrimitiveStatus


class RosBackend(OneRobot):
    """One robot; see `sim_bridge.backend.Backend` and `sim_bridge.safety.health.Supervised`.

    All calls come from the bridge's thread and none waits for the robot, but `reset` and what says
    so: goals are sent and their answers looked at in `step`, as the routines of `routines.py` say.
    The robot has no lease, no motor switch and no posture of its own in standard types: claim,
    power and stand are permissions that this backend keeps, and grants only while the robot's
    servers are there.
    """

    simulated = False

    def __init__(
        self,
        port: RobotPort,
        options: RosOptions | None = None,
        safety: SafetyOptions | None = None,
    ) -> None:
        """Talks to the robot through `port`, which it closes in the end."""
        super().__init__()
        self.options = options or default_ros()
        self.safety = safety or default_safety()
        self.port = port
        self.body: Body = self.options.body
        self.senses = Senses(port, self.options)
        self.held: Held | None = None
        self._model: Model | None = None
        self._map: MapModel | None = None
        self._handles: list[_Running] = []
        self._current: Handle | None = None
        self._paused = False
        self._ready = {"claimed": False, "powered": False, "standing": False}
        self._limit = SpeedLimit(self.safety.motion.speed_m_s, self.safety.motion.turn_speed_rad_s)
        self._speeding_s: float | None = None
        self._speeding = ""
        self._order: tuple[Command, Routine] | None = None
        self._outcome: Outcome | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="ros-compute")

    # Episodes and time

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads a layout once the robot is heard; nothing of the robot changes.

        Raises:
            PlannerError: if the robot is not heard, its description lacks a joint or link of the
                settings, its map does not show the house, or the episode is not of it.
        """
        self._check_team(episode)
        # As a simulator does it: this raises where the episode's things are not of this house.
        KinematicWorld(HouseGround(house), episode, seed, default_catalogue(), default_options())
        known = MapModel(house, episode, seed, self.safety, body=self.body)
        if self._model is None:
            self._model = Model(self.port.open(), self.options)
            self.senses.arm_links = self._model.arm_links
        self.senses.look()
        check_map(self.senses.state.map, house, self.options)
        self.senses.begun_s = self.port.now_s()
        self._end(PrimitiveCode.CANCELED, "the episode was replaced")
        self._handles.clear()
        self._map, self._agent = known, episode.agents[0].uid

    def now_s(self) -> float:
        """The time of day, without jumps."""
        return self.port.now_s() if self._agent else 0.0

    def step(self, dt_s: float) -> None:
        """Looks at the robot and continues its primitive; time passes by itself."""
        self._check_step(dt_s)
        self.port.alive()
        self.senses.look()
        self._watch_speed()
        self._watch_hand()
        self._follow_order()
        self._advance()

    def close(self) -> None:
        """Recalls every goal, lets the base stand and stops listening."""
        self._end(PrimitiveCode.STOPPED, "the world was closed")
        self.port.close()
        self._worker.shutdown(wait=False, cancel_futures=True)

    # Sensing

    @property
    def map(self) -> MapModel:
        """The layout.

        Raises:
            PlannerError: before the first episode.
        """
        if self._map is None:
            raise PlannerError("no episode is loaded")
        return self._map

    @property
    def model(self) -> Model:
        """The robot's kinematics.

        Raises:
            PlannerError: before the first episode.
        """
        if self._model is None:
            raise PlannerError("no episode is loaded")
        return self._model

    def capabilities(self, agent: str) -> Capabilities:
        """What it can do."""
        self._check_agent(agent)
        return self.body.capabilities(primitives=PRIMITIVES, cameras=(CAMERA,))

    def observe(self, agent: str, cameras: Sequence[str] = (CAMERA,)) -> Observation:
        """The newest readings, and the newest picture with its own pose.

        Raises:
            PlannerError: for an unknown camera, or if pictures or frames are missing.
        """
        self._check_agent(agent)
        self.senses.look()
        return self.senses.observe(agent, cameras=cameras, holding=self.held is not None)

    def picture_after(self, agent: str, camera: str, stamp_s: float) -> Observation | None:
        """See `sim_bridge.backend.PictureSource`."""
        self._check_agent(agent)
        self.senses.check_camera(agent, camera)
        return self.senses.picture_after(agent, stamp_s, holding=self.held is not None)

    def picture_fault(self, agent: str) -> str:
        """See `sim_bridge.backend.PictureSource`."""
        self._check_agent(agent)
        return self.senses.picture_fault()

    # Primitives

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Starts a primitive; a refusal is its polled result."""
        handle = Handle(len(self._handles))
        refusal = self._refusal(agent, primitive)
        if refusal is not None:
            self._handles.append(_Running(None, 0.0, PrimitiveStatus("refused", 0.0, refusal)))
            return handle
        to_map = self._to_map(primitive.frame)
        target = to_map.apply(primitive.target_m)
        beside = None if primitive.reference_m is None else to_map.apply(primitive.reference_m)
        ends_s = self.port.now_s() + (primitive.timeout_s or DEFAULT_TIMEOUT_S)
        steps = routine(self, primitive, target, beside)
        self._handles.append(_Running(steps, ends_s, PrimitiveStatus(STARTING, 0.0, None)))
        self._current = handle
        return handle

    def _refusal(self, agent: str, primitive: Primitive) -> PrimitiveResult | None:
        if not self._agent:
            return PrimitiveResult(PrimitiveCode.NO_WORLD, "no episode is loaded")
        if agent != self._agent:
            return PrimitiveResult(PrimitiveCode.UNKNOWN_AGENT, f"there is no agent {agent!r}")
        can, busy = self.capabilities(agent), self._current is not None
        refusal = refusal_of(agent, can, primitive, busy=busy)
        if refusal is None and self.senses.lost:
            why = {"reason": "NO_POSE"}
            return PrimitiveResult(PrimitiveCode.BACKEND_FAULT, self.senses.lost, why)
        return refusal

    def _to_map(self, frame: str) -> Pose:
        if frame == "map":
            return Pose((0.0, 0.0, 0.0))
        if frame.endswith("/base_link"):
            return self.senses.base
        return self.senses.base.compose(self.senses.moment.odometry.inverse())

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """The status of a primitive.

        Raises:
            PlannerError: for an unknown handle.
        """
        if not 0 <= handle < len(self._handles):
            raise PlannerError(f"unknown primitive handle: {handle}")
        return self._handles[handle].status

    def cancel(self, handle: Handle) -> None:
        """Ends a primitive and recalls its goals."""
        if not self.poll(handle).done:
            self._end(PrimitiveCode.CANCELED, "canceled")

    def stop(self, agent: str) -> None:
        """Recalls every goal and commands zero velocity, whether anything runs here or not."""
        self._check_agent(agent)
        self._drop_order("the agent was stopped")
        if not self._end(PrimitiveCode.STOPPED, "the agent was stopped"):
            self.port.recall()

    def _end(self, code: PrimitiveCode, text: str, *, rule: int = 0, **evidence: str) -> bool:
        """Ends the running primitive; False if there is none."""
        if self._current is None:
            return False
        self.port.recall()
        running = self._handles[self._current]
        if running.routine is not None:
            running.routine.close()
        self._finish(running, PrimitiveResult(code, text, evidence, rule=rule))
        return True

    def _advance(self) -> None:
        if self._current is None or self._paused:
            return
        running = self._handles[self._current]
        if running.routine is None:
            return
        end: PrimitiveResult | None = None
        try:
            phase, progress = next(running.routine)
        except StopIteration as stop:
            end = stop.value
        except RefusalError as refusal:
            end = refusal.result
        except PlannerError as error:
            end = PrimitiveResult(PrimitiveCode.BACKEND_FAULT, str(error))
        if end is None:
            running.status = PrimitiveStatus(phase, min(1.0, max(0.0, progress)), None)
            if self.port.now_s() >= running.ends_s:
                self._end(PrimitiveCode.TIMED_OUT, "took too long")
            return
        if not end.succeeded:
            # Whatever still runs of it must not go on by itself.
            self.port.recall()
        self._finish(running, end)

    def _finish(self, running: _Running, result: PrimitiveResult) -> None:
        progress = 1.0 if result.succeeded else running.status.progress
        running.status = PrimitiveStatus("done", progress, result)
        running.routine = None
        self._current = None

    # For routines

    def hold(self, held: Held | None) -> None:
        """Records what the gripper holds."""
        self.held = held
        self.senses.holds = held is not None

    def compute(self, work: Callable[[], Value]) -> Generator[Stage, None, Value]:
        """Has a thread compute something, so that a stop is heard meanwhile."""
        future = self._worker.submit(work)
        while not future.done():
            yield "thinking", 0.5
        return future.result()

    # Supervised

    def obey(self, safety: SafetyOptions) -> None:
        """Sets the parameters of the safety rules; before the first episode."""
        if not self._agent:
            self.safety = safety

    def health(self, agent: str) -> Health:
        """The robot's health as far as standard types tell it."""
        self._check_agent(agent)
        state = self.senses.state
        faults = [
            Fault(f"no action server {name}", "NO_SERVER", blocks=False) for name in state.missing
        ]
        if self.senses.lost:
            faults.append(Fault(self.senses.lost, "NO_POSE", blocks=True))
        if self._speeding:
            faults.append(Fault(self._speeding, "SPEEDING", blocks=True))
        return Health(
            age_s=self.port.now_s() - self.senses.heard.at_s,
            lease=Lease.OURS if self._ready["claimed"] else Lease.FREE,
            battery=state.battery,
            powered=self._ready["powered"],
            standing=self._ready["standing"],
            faults=tuple(faults),
        )

    def pause(self, agent: str) -> None:
        """Halts: a drive is sent again by `resume`, anything else ends."""
        self._check_agent(agent)
        if self._paused:
            return
        self._paused = True
        if self._current is not None:
            phase = self._handles[self._current].status.phase
            if phase not in (STARTING, WALKING):
                rule = int(Rule.EXECUTIVE_LOST)
                self._end(PrimitiveCode.STOPPED, "it was interrupted", rule=rule)
        self.port.recall()

    def resume(self, agent: str) -> None:
        """Goes on with what was paused."""
        self._check_agent(agent)
        self._paused = False

    def limit_speed(self, agent: str, limit: SpeedLimit) -> None:
        """Bounds the base's speed: Nav2 is told, and what it does is measured."""
        self._check_agent(agent)
        if limit.linear_m_s != self._limit.linear_m_s or self._speeding_s is None:
            self.port.limit(limit.linear_m_s, self.safety.motion.hand_speed_m_s)
        self._limit = limit

    def _watch_speed(self) -> None:
        """Stops a base that is faster than it may be: Nav2 need not obey `speed_limit`."""
        speed = abs(self.senses.heard.linear_m_s)
        now_s = self.port.now_s()
        if self._current is None or speed <= SPEED_SPARE * self._limit.linear_m_s + 0.02:
            self._speeding_s = None
            return
        if self._speeding_s is None:
            self._speeding_s = now_s
        if now_s - self._speeding_s > SPEEDING_S:
            self._speeding = (
                f"it drives {speed:.2f} m/s where {self._limit.linear_m_s:.2f} m/s are allowed; "
                f"{self.options.navigation.speed_limit or 'navigation.speed_limit'} is not obeyed"
            )
            self._end(PrimitiveCode.BACKEND_FAULT, self._speeding, reason="SPEEDING")
            self._speeding_s = None

    def _watch_hand(self) -> None:
        """Forgets what the fingers do not hold any more, whoever took it."""
        gripper = self.options.gripper
        position = self.senses.heard.joints.get(gripper.joint)
        if self.held is None or position is None:
            return
        if gripper.opening_m(position) <= gripper.empty_m:
            self.hold(None)

    def clear_faults(self, agent: str, cause: str) -> None:
        """Clears what was found too fast; a claim asks for it."""
        self._check_agent(agent)
        del cause

    def take_lease(self, agent: str) -> Outcome:
        """There is no lease that others could hold."""
        self._check_agent(agent)
        return Outcome(False, "this robot has no lease; claim it")

    def stow(self, agent: str, within_s: float) -> Outcome:
        """Folds the arm of an empty gripper and waits for it."""
        self._check_agent(agent)
        if self.held is not None or not self._ready["standing"]:
            return Outcome(True, "the arm stays as it is")
        return self._run_through(carry(self), within_s, "arm folded")

    def begin(self, agent: str, command: Command) -> Outcome | None:
        """Carries out a Trigger service's command; only `sit` takes time: it folds the arm."""
        self._check_agent(agent)
        self._drop_order(f"{command} took its place")
        if command is Command.SIT and self.held is None and self._ready["standing"]:
            self._ready["standing"] = False
            self._outcome, self._order = None, (command, self._sitting())
            return None
        return self._switch(command)

    def _sitting(self) -> Routine:
        yield from carry(self)
        return PrimitiveResult(PrimitiveCode.SUCCESS, "stopped, arm folded")

    def ended(self, agent: str) -> Outcome | None:
        """The outcome of the command; None while it is under way."""
        self._check_agent(agent)
        return self._outcome

    def operate(self, agent: str, command: Command, within_s: float = 15.0) -> Outcome:
        """Carries out a Trigger service's command and waits for the robot."""
        self._check_agent(agent)
        outcome = self.begin(agent, command)
        until_s = self.port.now_s() + within_s
        while outcome is None and self.port.now_s() < until_s:
            self._wait_a_moment()
            self._follow_order()
            outcome = self._outcome
        if outcome is None:
            self._drop_order("took too long")
        return outcome or Outcome(False, f"{command} took longer than {within_s:.0f} s")

    def _switch(self, command: Command) -> Outcome:
        """Grants or withdraws a permission; grants need a robot that can be moved."""
        if command in (Command.POWER_ON, Command.STAND):
            missing = self.port.state().missing
            if missing:
                return Outcome(
                    False, f"no action server {', '.join(missing)}; is the robot's software up?"
                )
        changes = {
            Command.CLAIM: {"claimed": True},
            Command.RELEASE: {"claimed": False, "powered": False, "standing": False},
            Command.POWER_ON: {"powered": True},
            Command.POWER_OFF: {"powered": False, "standing": False},
            Command.STAND: {"standing": True},
            Command.SIT: {"standing": False},
            Command.ESTOP_GENTLE: {"powered": False, "standing": False},
            Command.ESTOP_HARD: {"powered": False, "standing": False},
        }
        self._ready |= changes.get(command, {})
        if command is Command.CLAIM:
            self._speeding = ""
        if command not in (Command.CLAIM, Command.POWER_ON, Command.STAND):
            self.port.recall()
        return Outcome(True, f"{command}: done")

    def _follow_order(self) -> None:
        if self._order is None:
            return
        command, steps = self._order
        try:
            next(steps)
        except StopIteration:
            self._order, self._outcome = None, self._switch(command)
        except (Ended, PlannerError) as error:
            self._order, self._outcome = None, Outcome(False, f"{command}: {error}")

    def _drop_order(self, why: str) -> None:
        if self._order is not None:
            self._order[1].close()
            self._outcome = Outcome(False, why)
        self._order = None

    def _wait_a_moment(self) -> None:
        """Lets the robot be heard, where a caller waits."""
        time.sleep(0.02)
        self.port.alive()
        self.senses.look()

    def _run_through(
        self, steps: Generator[Stage, None, None], within_s: float, text: str
    ) -> Outcome:
        until_s = self.port.now_s() + within_s
        try:
            for _ in steps:
                if self.port.now_s() > until_s:
                    self.port.recall()
                    return Outcome(False, f"took longer than {within_s:.0f} s")
                self._wait_a_moment()
        except (Ended, PlannerError) as error:
            return Outcome(False, str(error))
        return Outcome(True, text)
