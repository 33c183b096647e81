"""A Spot behind the bridge's `Backend` protocol, or the emulator in a robot's place."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

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
    PrimitiveName,
    PrimitiveResult,
    PrimitiveStatus,
)
from planner.world.state import WorldState
from sim_bridge.backend import Handle
from sim_bridge.control import Command, Outcome
from sim_bridge.embedded.backend import bad_numbers
from sim_bridge.safety.health import Health, Lease, SpeedLimit
from sim_bridge.safety.options import SafetyOptions, Timeouts, default_safety
from sim_bridge.spot.body import BodyState, flat, optical_of, read_state
from sim_bridge.spot.convert import pose_in
from sim_bridge.spot.emulator.clock import SteppedClock
from sim_bridge.spot.emulator.faults import FaultScript
from sim_bridge.spot.emulator.server import SpotEmulator
from sim_bridge.spot.eyes import Picture, read_picture
from sim_bridge.spot.link import (
    CLIENT_NAME,
    LEASE_ERRORS,
    SDK_ERRORS,
    SpotLink,
    Where,
    explain,
    where_is,
)
from sim_bridge.spot.map_model import MapModel
from sim_bridge.spot.options import SpotOptions, Target, default_spot
from sim_bridge.spot.routines import Routine, routine

RETAIN_S = 0.5
LOCALISE_S = 2.0
DEFAULT_TIMEOUT_S = 120.0
# How long a robot may take to switch its motors on, to stand up or to sit down.
POSTURE_PATIENCE_S = 15.0
_TICK_S = 0.05
_PATIENT_S = 60.0


@dataclass(slots=True)
class _Running:
    """A primitive under way, or its end."""

    primitive: Primitive
    routine: Routine | None
    ends_s: float
    status: PrimitiveStatus


class SpotBackend:
    """One Spot with an arm; see `sim_bridge.backend.Backend` and `sim_bridge.safety.health`.

    With `target: emulator` time is stepped and the truth is known, as in a simulator; all that
    the backend itself learns and does still goes through the SDK and TLS.
    """

    def __init__(
        self, options: SpotOptions | None = None, safety: SafetyOptions | None = None
    ) -> None:
        """Starts the emulator where one is asked for; connects at the first `reset`."""
        self.options = options or default_spot()
        self.safety = safety or default_safety()
        self.simulated = self.options.target is Target.EMULATOR
        self._clock = SteppedClock()
        self.emulator: SpotEmulator | None = None
        if self.simulated:
            script = FaultScript(troubles=self.options.troubles)
            self.emulator = SpotEmulator(self._clock, script=script)
            self.emulator.calls.keep_requests = False
        self._link: SpotLink | None = None
        self._agent = ""
        self._began_s = 0.0
        self._handles: list[_Running] = []
        self._current: Handle | None = None
        self._forget()

    def _forget(self) -> None:
        self._state: BodyState | None = None
        self._odom_in_map = Pose((0.0, 0.0, 0.0))
        self._good_s = self._retained_s = self._localised_s = -math.inf
        self._owner, self._epoch = "", ""

    # Time

    def clock_s(self) -> float:
        """The SDK's time: the emulator's, or that of the day."""
        return self._clock.now_s() if self.simulated else time.time()

    def now_s(self) -> float:
        """Seconds since the episode's start."""
        if self.emulator is not None:
            return self.emulator.world.world.time_s if self._agent else 0.0
        return self.clock_s() - self._began_s if self._agent else 0.0

    def step(self, dt_s: float) -> None:
        """Lets time pass, hears how the robot is and goes on with what it does."""
        if not (math.isfinite(dt_s) and dt_s > 0):
            raise PlannerError(f"a step takes a finite time above 0, not {dt_s}")
        if not self._agent:
            raise PlannerError("no episode is loaded")
        self._pass(dt_s)
        if self._refresh():
            self._advance()
        elif self._current is not None:
            self._end_unheard(self._current)

    def _end_unheard(self, handle: Handle) -> None:
        """Ends what nobody can follow any more; what was sent last ends by itself (rule 7)."""
        silent_s = self.clock_s() - self._good_s
        if silent_s > self.safety.link.stale_after_s:
            text = f"no word from the robot for {silent_s:.1f} s"
            lost = PrimitiveResult(PrimitiveCode.BACKEND_FAULT, text, {"reason": "COMMS_LOST"})
            self._end(handle, lost)

    def _pass(self, dt_s: float) -> None:
        if self.emulator is not None:
            self._clock.advance(dt_s)
            self.emulator.advance()

    # Episodes

    @property
    def agents(self) -> tuple[str, ...]:
        """The one robot, once an episode is loaded."""
        return (self._agent,) if self._agent else ()

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Takes up a layout and an episode; a failed one changes nothing.

        The emulator's world begins anew and its robot is claimed, powered and standing, as
        simulated agents are. A real world and a real robot stay as they are.
        """
        if len(episode.agents) != 1:
            raise PlannerError(
                f"episode {episode.episode_id}: one Spot is one agent, not {len(episode.agents)}"
            )
        known = MapModel(house, episode, seed)
        if self.emulator is not None:
            self.emulator.load(house, episode, seed)
        self._end_all(PrimitiveCode.CANCELED, "the episode was replaced")
        self._handles.clear()
        self._connect()
        self.map = known
        self._agent = episode.agents[0].uid
        self._forget()
        self._refresh()
        self._localise()
        if self.emulator is not None:
            self._make_ready()
            self.emulator.zero_time()
            self._refresh()
        self._began_s = self.clock_s()

    def _connect(self) -> None:
        if self._link is not None:
            return
        safety = self.safety
        if self.simulated:
            # The emulator's time stands still in a call, however long this machine takes for it.
            patient = Timeouts(
                state_s=_PATIENT_S, command_s=_PATIENT_S, lease_s=_PATIENT_S, image_s=_PATIENT_S
            )
            safety = safety.model_copy(update={"timeouts": patient})
        link = SpotLink(self._where(), safety, self.clock_s)
        link.connect()
        self._link = link

    def _where(self) -> Where:
        if self.emulator is not None:
            emulator = self.emulator
            return Where(
                emulator.address,
                emulator.port,
                str(emulator.authority),
                emulator.user,
                emulator.password,
            )
        return where_is(self.options.address, self.options.port, self.options.certificate)

    def _make_ready(self) -> None:
        for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
            outcome = self.operate(self._agent, command)
            if not outcome.success:
                raise PlannerError(f"spot: {command}: {outcome.message}")

    def close(self) -> None:
        """Stops the robot, gives the lease back and ends the connection."""
        self._end_all(PrimitiveCode.STOPPED, "the world was closed")
        link, self._link = self._link, None
        if link is not None:
            for step in (link.halt, link.release):
                if link.lease is not None:
                    self._try(step)
            link.close()
        if self.emulator is not None:
            self.emulator.close()

    # What the robot says

    @property
    def link(self) -> SpotLink:
        """The connection.

        Raises:
            PlannerError: before the first episode.
        """
        if self._link is None:
            raise PlannerError("no episode is loaded")
        return self._link

    @property
    def state(self) -> BodyState:
        """The last that the robot said of itself.

        Raises:
            PlannerError: before it said anything.
        """
        if self._state is None:
            raise PlannerError("spot: the robot has not said anything yet")
        return self._state

    @property
    def physique(self) -> Body:
        """The measures of its body."""
        return default_bodies()[self.options.agent_kind]

    @property
    def base(self) -> Pose:
        """`base_link` in the map, as localised."""
        return flat(self._odom_in_map.compose(self.state.odometry))

    def to_odom(self, pose: Pose) -> Pose:
        """A pose of the map in the odometry frame."""
        return self._odom_in_map.inverse().compose(pose)

    def _try(self, call: Callable[[], object]) -> str:
        """A call that may fail; why it did, or empty."""
        try:
            call()
        except SDK_ERRORS as error:
            return explain(error)
        return ""

    def _refresh(self) -> bool:
        """Hears how the robot is, if it answers; while it is silent nothing else is asked of it."""
        now_s = self.clock_s()
        why = self._try(self._read_state)
        if why:
            return False
        self._good_s = now_s
        if now_s - self._retained_s >= RETAIN_S:
            self._retained_s = now_s
            self._try(self._read_lease)
            if self.link.lease is not None and self._lease() is Lease.OURS:
                self._try(self.link.retain)
        if now_s - self._localised_s >= LOCALISE_S:
            self._try(self._localise)
        return True

    def _read_state(self) -> None:
        self._state = read_state(self.link.state())

    def _read_lease(self) -> None:
        self._owner, self._epoch = self.link.owner(), self.link.epoch()

    def _localise(self) -> None:
        """Finds the map's odometry frame by the markers that the robot sees.

        Raises:
            PlannerError: where it never saw one of those that are configured.
        """
        known = {fiducial.tag: fiducial for fiducial in self.options.fiducials}
        for marker in self.link.markers():
            tag = marker.apriltag_properties
            if tag.tag_id in known:
                frame = tag.frame_name_fiducial_filtered or tag.frame_name_fiducial
                in_odom = pose_in(marker.transforms_snapshot, "odom", frame)
                self._odom_in_map = flat(known[tag.tag_id].in_map.compose(in_odom.inverse()))
                self._localised_s = self.clock_s()
                return
        if math.isinf(self._localised_s):
            tags = ", ".join(map(str, sorted(known))) or "none is configured"
            raise PlannerError(f"spot: it sees none of the markers of the layout ({tags})")

    # Supervised

    def _lease(self) -> Lease:
        if not self._owner:
            return Lease.FREE
        mine = self._owner.startswith(CLIENT_NAME) and self.link.lease is not None
        return Lease.OURS if mine else Lease.OTHERS

    def health(self, agent: str) -> Health:
        """The last that is known of the robot."""
        self._check_agent(agent)
        state = self._state
        if state is None:
            return Health(age_s=math.inf, powered=False, standing=False)
        return Health(
            age_s=max(0.0, self.clock_s() - self._good_s),
            epoch=self._epoch,
            lease=self._lease(),
            owner=self._owner,
            battery=state.battery,
            estopped=state.estopped,
            powered=state.powered,
            standing=state.standing,
            faults=state.faults,
        )

    def limit_speed(self, agent: str, limit: SpeedLimit) -> None:
        """Bounds every mobility command from now on."""
        self._check_agent(agent)
        self.link.limit = limit

    def clear_faults(self, agent: str, cause: str) -> None:
        """Clears the behaviour faults of one cause."""
        self._check_agent(agent)
        for number in self.state.fault_numbers.get(cause, []):
            self._try(lambda number=number: self.link.clear_fault(number))  # type: ignore[misc]

    def take_lease(self, agent: str) -> Outcome:
        """Takes the lease by force, for a person who was told its owner's name."""
        self._check_agent(agent)
        return self._done(self.link.take, "the lease was taken", lambda: True)

    def operate(self, agent: str, command: Command) -> Outcome:
        """Carries out what a Trigger service asks, and waits for the robot."""
        self._check_agent(agent)
        link = self.link
        deeds: Mapping[Command, tuple[Callable[[], object], str, Callable[[], bool]]] = {
            Command.CLAIM: (self._claim, "claimed", lambda: True),
            Command.RELEASE: (link.release, "released", lambda: True),
            Command.POWER_ON: (
                lambda: link.power(on=True),
                "motors on",
                lambda: self.state.powered,
            ),
            Command.POWER_OFF: (
                lambda: link.power(on=False),
                "motors off",
                lambda: not self.state.powered,
            ),
            Command.STAND: (link.stand, "standing", lambda: self.state.standing),
            Command.SIT: (link.sit, "sitting", lambda: not self.state.standing),
            Command.STOP: (self._halt, "stopped", lambda: True),
            Command.ESTOP_GENTLE: (link.sit, "sitting", lambda: not self.state.standing),
            Command.ESTOP_HARD: (
                lambda: link.power(on=False),
                "motors cut",
                lambda: not self.state.powered,
            ),
            Command.ESTOP_RELEASE: (lambda: None, "released", lambda: True),
        }
        call, text, there = deeds[command]
        return self._done(call, text, there)

    def _claim(self) -> None:
        if self.link.lease is None or self._lease() is not Lease.OURS:
            self.link.claim()

    def _halt(self) -> None:
        if self.link.lease is not None and self._lease() is Lease.OURS:
            self.link.halt()

    def _done(self, call: Callable[[], object], text: str, there: Callable[[], bool]) -> Outcome:
        why = self._try(call)
        if why:
            return Outcome(False, why)
        self._retained_s = -math.inf
        until_s = self.clock_s() + POSTURE_PATIENCE_S
        while self.clock_s() < until_s:
            self._refresh()
            if there():
                return Outcome(True, text)
            self._wait()
        return Outcome(False, f"the robot did not get there within {POSTURE_PATIENCE_S:.0f} s")

    def _wait(self) -> None:
        if self.simulated:
            self._pass(_TICK_S)
        else:
            time.sleep(_TICK_S)

    # Sensing

    def capabilities(self, agent: str) -> Capabilities:
        """What the robot can do."""
        self._check_agent(agent)
        body = self.physique
        return Capabilities(
            kind=body.kind.value,
            primitives=frozenset(body.primitives),
            cameras=tuple(self.options.cameras),
            reach_m=body.reach_m,
            radius_m=body.radius_m,
            ground_truth=self.simulated,
        )

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        """What the robot senses now."""
        self._check_agent(agent)
        for camera in cameras:
            if camera not in self.options.cameras:
                known = ", ".join(self.options.cameras)
                raise PlannerError(f"{agent} has no camera {camera!r}; it has {known}")
        state, base = self.state, self.base
        pictures = self._pictures(cameras)
        optical = {name: optical_of(self.physique, state, name) for name in self.options.cameras}
        frames = {}
        for name, picture in pictures.items():
            on_base = state.odometry.inverse().compose(picture.in_odom)
            optical[name] = on_base
            frames[name] = self._frame(name, picture, base.compose(on_base))
        return Observation(
            stamp_s=self.now_s(),
            agent=agent,
            base=base,
            odometry=state.odometry,
            linear_m_s=state.linear_m_s,
            angular_rad_s=state.angular_rad_s,
            hand=state.hand,
            joints=state.joints,
            gripper_opening=state.gripper_opening,
            holding=state.holding,
            cameras=frames,
            optical=optical,
        )

    def _frame(self, camera: str, picture: Picture, pose: Pose) -> CameraFrame:
        instances = None
        if self.emulator is not None:
            # The truth of the same moment, which no robot could tell.
            with self.emulator.calls.lock:
                instances = self.emulator.world.shoot(camera).images.instances
        return CameraFrame(
            rgb=picture.rgb,
            depth_m=picture.depth_m,
            instances=instances,
            intrinsics=picture.lens,
            pose=pose,
        )

    def _pictures(self, cameras: Sequence[str]) -> dict[str, Picture]:
        if not cameras:
            return {}
        names = [name for camera in cameras for name in self.options.cameras[camera]]
        try:
            answers = self.link.images(names, self.options.jpeg_quality)
        except SDK_ERRORS as error:
            raise PlannerError(f"spot: no pictures: {explain(error)}") from error
        return {
            camera: read_picture(answers[2 * index], answers[2 * index + 1])
            for index, camera in enumerate(cameras)
        }

    def look(self) -> Picture:
        """A picture of the hand's camera."""
        return self._pictures(("hand",))["hand"]

    def world_state(self) -> WorldState | None:
        """The emulator's truth; nobody knows that of a real world."""
        if self.emulator is None or not self._agent:
            return None
        return self.emulator.truth()

    def _check_agent(self, agent: str) -> None:
        if not agent or agent != self._agent:
            raise PlannerError(f"there is no agent {agent!r}; there are {', '.join(self.agents)}")

    # Acting

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Begins a primitive; a refusal is its polled result."""
        handle = Handle(len(self._handles))
        refusal = self._refusal(agent, primitive)
        if refusal is not None:
            ended = PrimitiveStatus("refused", 0.0, refusal)
            self._handles.append(_Running(primitive, None, 0.0, ended))
            return handle
        frame = self._frame_of(primitive.frame)
        reference = primitive.reference_m
        steps = routine(
            self,
            replace(primitive, heading_rad=primitive.heading_rad + frame.yaw_rad),
            frame.apply(primitive.target_m),
            None if reference is None else frame.apply(reference),
        )
        ends_s = self.clock_s() + (primitive.timeout_s or DEFAULT_TIMEOUT_S)
        status = PrimitiveStatus("starting", 0.0, None)
        self._handles.append(_Running(primitive, steps, ends_s, status))
        self._current = handle
        self._advance()
        return handle

    def _frame_of(self, frame: str) -> Pose:
        if frame == "map":
            return Pose((0.0, 0.0, 0.0))
        return self._odom_in_map if frame.endswith("/odom") else self.base

    def _refusal(self, agent: str, primitive: Primitive) -> PrimitiveResult | None:
        if not self._agent:
            return PrimitiveResult(PrimitiveCode.NO_WORLD, "no episode is loaded")
        if agent != self._agent:
            return PrimitiveResult(PrimitiveCode.UNKNOWN_AGENT, f"there is no agent {agent!r}")
        if primitive.name not in set(PrimitiveName):
            text = f"there is no primitive {primitive.name!r}"
            return PrimitiveResult(PrimitiveCode.UNKNOWN_PRIMITIVE, text)
        if primitive.name not in self.physique.primitives:
            return PrimitiveResult(PrimitiveCode.NOT_ABLE, f"a Spot cannot {primitive.name}")
        if primitive.frame not in ("map", f"{agent}/odom", f"{agent}/base_link"):
            return PrimitiveResult(
                PrimitiveCode.BAD_FRAME,
                f"frame {primitive.frame!r} is none of map, {agent}/odom, {agent}/base_link",
            )
        problem = bad_numbers(primitive)
        if problem:
            return PrimitiveResult(PrimitiveCode.BAD_TARGET, problem)
        if self._current is not None:
            return PrimitiveResult(PrimitiveCode.BUSY, f"{agent} is doing something else")
        return None

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """How a primitive stands."""
        if not 0 <= handle < len(self._handles):
            raise PlannerError(f"this world gave out no primitive {handle}")
        return self._handles[handle].status

    def cancel(self, handle: Handle) -> None:
        """Ends a primitive and stops the robot."""
        if not self.poll(handle).done:
            self._end(handle, PrimitiveResult(PrimitiveCode.CANCELED, "canceled"))
            self._stop_robot()

    def stop(self, agent: str) -> None:
        """Stops the robot at once."""
        self._check_agent(agent)
        if self._current is not None:
            stopped = PrimitiveResult(PrimitiveCode.STOPPED, "the agent was stopped")
            self._end(self._current, stopped)
        self._stop_robot()

    def _stop_robot(self) -> None:
        # Where this fails, what was sent last ends by itself (rule 1).
        self._try(self._halt)
        self._try(self._read_state)

    def _advance(self) -> None:
        handle = self._current
        if handle is None:
            return
        running = self._handles[handle]
        if running.routine is None:
            return
        try:
            phase, progress = next(running.routine)
            running.status = PrimitiveStatus(phase, min(1.0, progress), None)
            if self.clock_s() >= running.ends_s - 1e-9:
                self._end(handle, PrimitiveResult(PrimitiveCode.TIMED_OUT, "took too long"))
                self._stop_robot()
        except StopIteration as stop:
            self._end(handle, stop.value)
        except LEASE_ERRORS as error:
            why = {"reason": "LEASE_LOST"}
            self._end(handle, PrimitiveResult(PrimitiveCode.NOT_ALLOWED, explain(error), why))
        except (*SDK_ERRORS, PlannerError) as error:
            self._end(handle, PrimitiveResult(PrimitiveCode.BACKEND_FAULT, explain(error)))
            self._stop_robot()

    def _end(self, handle: Handle, result: PrimitiveResult) -> None:
        running = self._handles[handle]
        if running.routine is not None:
            running.routine.close()
            running.routine = None
        progress = 1.0 if result.succeeded else running.status.progress
        running.status = PrimitiveStatus("done", progress, result)
        self._current = None

    def _end_all(self, code: PrimitiveCode, text: str) -> None:
        if self._current is not None:
            self._end(self._current, PrimitiveResult(code, text))
