"""The `Backend` of a Spot, or of the emulator."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

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
from sim_bridge.embedded.options import default_options
from sim_bridge.map_model import MapModel
from sim_bridge.one_robot import Command, OneRobot, Outcome, Routine
from sim_bridge.runtime import refusal_of
from sim_bridge.safety.health import Health, SpeedLimit
from sim_bridge.safety.options import EstopMode, Rule, SafetyOptions, Timeouts, default_safety
from sim_bridge.spot.connection import RobotAddress, resolve_address
from sim_bridge.spot.convert import BodyState, optical_of
from sim_bridge.spot.emulator.faults import FaultScript
from sim_bridge.spot.emulator.machine import SteppedClock
from sim_bridge.spot.emulator.server import SpotEmulator
from sim_bridge.spot.layout import read_annotated
from sim_bridge.spot.link import SpotLink
from sim_bridge.spot.localisation import GraphLink, Localisation, read_graph
from sim_bridge.spot.options import SpotOptions, Target, default_spot
from sim_bridge.spot.permit import EstopProcess, Permit
from sim_bridge.spot.picture import Cameras, Picture
from sim_bridge.spot.routines import PRIMITIVES, before_dock, off_dock, onto_dock, routine
from sim_bridge.spot.supervision import POSTURE_TIMEOUT_S, Supervision
from sim_bridge.spot.workers import Motion, WorkerThreads

DEFAULT_TIMEOUT_S = 120.0
# Round trips up to this long need no lower speed.
PROMPT_ROUND_TRIP_S = 0.05
_PICTURES_FAULT = "no pictures"
_TICK_S = 0.05
_GATE = "gate"
_EMULATOR_TIMEOUT_S = 60.0


class SpotBackend(OneRobot):
    """One Spot with an arm; see `sim_bridge.backend.Backend` and `sim_bridge.safety.health`.

    With `target: emulator` time is stepped and ground truth is known, as in a simulator; even so
    the backend
    uses only the SDK, over TLS. With a real robot only `reset`, `operate`, `stow`,
    `take_lease` and `close` wait for it; all other calls leave that to threads
    (sim_bridge/spot/workers.py).
    """

    def __init__(
        self, options: SpotOptions | None = None, safety: SafetyOptions | None = None
    ) -> None:
        """Starts the emulator if configured; connects at the first `reset`."""
        super().__init__()
        self.options = options or default_spot()
        self.safety = safety or default_safety()
        self.simulated = self.options.target is Target.EMULATOR
        layout = self.options.layout
        self._annotated = read_annotated(Path(layout)) if layout else None
        self._clock = SteppedClock()
        self.emulator: SpotEmulator | None = None
        if self.simulated:
            script = FaultScript(troubles=self.options.troubles)
            world = default_options().model_copy(update={"noise": self.options.noise})
            self.emulator = SpotEmulator(self._clock, options=world, script=script)
            self.emulator.calls.keep_requests = False
            if self.options.dock is not None:
                x, y, _ = self.options.dock.pose
                self.emulator.machine.docks[self.options.dock.number] = (x, y)
        self._watch: Supervision | None = None
        self._day_s = 0.0
        self._permit = Permit()
        self.motion = Motion(self.clock_s, self._permit, self._stop_robot, self._expired)
        self._workers: WorkerThreads | None = None
        self._on_answer: Callable[[], None] = lambda: None

    def _expired(self) -> bool:
        return self._watch is not None and time.monotonic() > self._watch.link.limit.until_s

    def notify(self, on_answer: Callable[[], None]) -> None:
        """Registers `on_answer`, called when a stop was answered; before the first episode."""
        self._on_answer = on_answer

    # Time

    def clock_s(self) -> float:
        """The SDK's time: the emulator's, or the time of day."""
        return self._clock.now_s() if self.simulated else time.time()

    def now_s(self) -> float:
        """Emulator: seconds since the episode's start. Robot: time of day.

        The latter is monotonic from the episode's start, even if the computer's clock is set.
        """
        if not self._agent:
            return 0.0
        if self.emulator is not None:
            return self.emulator.world.world.time_s
        return self._day_s + time.monotonic()

    def step(self, dt_s: float) -> None:
        """Advances time, reads the robot's state and continues its primitive."""
        self._check_step(dt_s)
        self._pass(dt_s)
        if self._workers is not None:
            self._report_alive(self._workers)
            self._end_unheard()
        elif self.watch.refresh():
            self.motion.advance()
        else:
            self._end_unheard()

    def _report_alive(self, workers: WorkerThreads) -> None:
        """Reports that the main loop is alive."""
        workers.report_alive()
        if self.watch.estop is not None:
            self.watch.estop.alive()

    def _end_unheard(self) -> None:
        """Ends the primitive after a lost link; the last command expires by itself (rule 7).

        An arm command still in transit has no end time, so a stop is sent after it.
        """
        silent_s = self.clock_s() - self.watch.good_s
        if silent_s > self.safety.link.stale_after_s:
            text = f"no answer from the robot for {silent_s:.1f} s"
            ended = self.motion.end(
                PrimitiveCode.BACKEND_FAULT, text, rule=Rule.LINK_LOST, reason="COMMS_LOST"
            )
            if ended and self._workers is not None:
                self._workers.halt()

    def _pass(self, dt_s: float) -> None:
        if self.emulator is not None:
            self._clock.advance(dt_s)
            self.emulator.advance()

    # Episodes

    def reset(self, house: House, episode: Episode, seed: int) -> None:
        """Loads a layout and an episode; on failure nothing changes.

        The emulator's world is reset and its robot is claimed, powered and standing, as simulated
        agents are. A real robot stays as it is.
        """
        self._check_team(episode)
        annotated = self._annotated
        layout = house if annotated is None else annotated.house
        poses = {} if annotated is None else annotated.poses
        known = MapModel(layout, episode, seed, self.safety, poses)
        if self.emulator is not None:
            self.emulator.load(house, episode, seed)
        if self.motion.end(PrimitiveCode.CANCELED, "the episode was replaced"):
            self._stop_robot()
        self.motion.forget()
        self._connect()
        watch = self.watch
        self.map = known
        self._agent = episode.agents[0].uid
        if self._workers is None:
            watch.forget()
            watch.refresh()
            watch.localisation.update(watch.state.odometry)
            if not self.simulated:
                self._workers = WorkerThreads(
                    watch, self.motion, self._cameras.look, watch.tidy, self._on_answer
                )
                watch.stopper = self._workers
        if self.emulator is not None:
            self._make_ready()
            self.emulator.zero_time()
            watch.refresh()
        self._day_s = time.time() - time.monotonic()

    def _connect(self) -> None:
        if self._watch is not None:
            return
        safety, options = self.safety, self.options
        if self.simulated:
            if safety.estop.mode is EstopMode.ENDPOINT:
                raise PlannerError(
                    "safety: estop.mode endpoint is for a robot in real time, not for an emulator "
                    "whose time is stepped"
                )
            # The emulator's time does not advance during a call, however long that takes.
            fields = dict.fromkeys(Timeouts.model_fields, _EMULATOR_TIMEOUT_S)
            safety = safety.model_copy(update={"timeouts": Timeouts(**fields)})
        fiducials = options.fiducials if self._annotated is None else self._annotated.fiducials
        graph = None
        if options.graph:
            zones, margin_m = safety.keep_out.zones, safety.keep_out.margin_m
            graph = read_graph(Path(options.graph), fiducials, zones, margin_m)
        where = self._where()
        link = SpotLink(
            where, safety, self.clock_s, self._permit, separate_channels=not self.simulated
        )
        link.connect()
        found = Localisation(link, fiducials, self.clock_s)
        watch = Supervision(link, found, safety, self._wait)
        if graph is not None:
            found.graph = GraphLink(link, graph, safety)
        if safety.estop.mode is EstopMode.ENDPOINT:
            watch.estop = EstopProcess(where, safety)
        self._watch = watch
        self._cameras = Cameras(link, options, self._report_pictures)

    def _where(self) -> RobotAddress:
        if self.emulator is not None:
            emulator = self.emulator
            return RobotAddress(
                emulator.address,
                emulator.port,
                str(emulator.authority),
                emulator.user,
                emulator.password,
            )
        return resolve_address(self.options.address, self.options.port, self.options.certificate)

    def _make_ready(self) -> None:
        for command in (Command.CLAIM, Command.POWER_ON, Command.STAND):
            outcome = self.operate(self._agent, command)
            if not outcome.success:
                raise PlannerError(f"spot: {command}: {outcome.message}")

    def close(self) -> None:
        """Stops the robot, gives the lease back and ends the connection."""
        self.motion.end(PrimitiveCode.STOPPED, "the world was closed")
        if self._workers is not None:
            self._workers.close()
        watch, self._watch = self._watch, None
        if watch is not None:
            for step in (watch.halt, watch.link.release):
                if watch.link.lease is not None:
                    watch.attempt(step)
            if watch.estop is not None:
                watch.estop.close()
            watch.link.close()
        if self.emulator is not None:
            self.emulator.close()

    # Robot state

    @property
    def watch(self) -> Supervision:
        """The supervision of the robot.

        Raises:
            PlannerError: before the first episode.
        """
        if self._watch is None:
            raise PlannerError("no episode is loaded")
        return self._watch

    @property
    def link(self) -> SpotLink:
        """The connection."""
        return self.watch.link

    @property
    def graph(self) -> GraphLink | None:
        """The recorded map, if configured."""
        return self.watch.localisation.graph

    @property
    def state(self) -> BodyState:
        """The last known state of the robot."""
        return self.watch.state

    @property
    def physique(self) -> Body:
        """The dimensions of its body."""
        return default_bodies()[self.options.agent_kind]

    @property
    def base(self) -> Pose:
        """`base_link` in the map, as localised."""
        return self.watch.base

    def to_odom(self, pose: Pose) -> Pose:
        """A pose of the map in the odometry frame."""
        return self.watch.localisation.odom_in_map.inverse().compose(pose)

    # Supervised

    def obey(self, safety: SafetyOptions) -> None:
        """Sets the parameters of the safety rules; before the first episode."""
        if self._watch is None:
            self.safety = safety

    def health(self, agent: str) -> Health:
        """The last known health of the robot."""
        self._check_agent(agent)
        return self.watch.health()

    def limit_speed(self, agent: str, limit: SpeedLimit) -> None:
        """Bounds every mobility command from now on."""
        self._check_agent(agent)
        # State and commands are delayed by the round trip (rule 11), so the speed is reduced by the
        # extra distance that the robot would walk meanwhile.
        lives_s = self.safety.motion.command_ttl_s
        late_s = max(0.0, self.watch.round_trip_s - PROMPT_ROUND_TRIP_S)
        linear_m_s = limit.linear_m_s * lives_s / (lives_s + late_s)
        self.link.limit = replace(limit, linear_m_s=linear_m_s)

    def clear_faults(self, agent: str, cause: str) -> None:
        """Clears the behaviour faults of one cause."""
        self._check_agent(agent)
        clear = partial(self.watch.clear_faults, cause)
        if self._workers is None:
            clear()
        else:
            threading.Thread(target=clear, name="spot-faults", daemon=True).start()

    def take_lease(self, agent: str) -> Outcome:
        """Takes the lease by force, for a person who was shown its owner."""
        self._check_agent(agent)
        return self.watch.take_lease()

    def stow(self, agent: str, within_s: float) -> Outcome:
        """Folds the arm, unless the gripper holds something."""
        self._check_agent(agent)
        return self.watch.stow(within_s)

    def begin(self, agent: str, command: Command) -> Outcome | None:
        """Starts a Trigger service's command; None while it is running."""
        self._check_agent(agent)
        return self.watch.begin(command)

    def ended(self, agent: str) -> Outcome | None:
        """The outcome of the command; None while it is running."""
        self._check_agent(agent)
        return self.watch.ended()

    def operate(self, agent: str, command: Command, within_s: float = POSTURE_TIMEOUT_S) -> Outcome:
        """Carries out a Trigger service's command and waits for the robot."""
        self._check_agent(agent)
        return self.watch.operate(command, within_s)

    def _wait(self) -> None:
        if self.simulated:
            self._pass(_TICK_S)
        else:
            time.sleep(_TICK_S)
            if self._workers is not None:
                self._report_alive(self._workers)

    # Sensing

    def capabilities(self, agent: str) -> Capabilities:
        """What the robot can do."""
        self._check_agent(agent)
        return self.physique.capabilities(
            ground_truth=self.simulated, primitives=PRIMITIVES, cameras=self.options.cameras
        )

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        """What the robot senses now."""
        self._check_agent(agent)
        for camera in cameras:
            if camera not in self.options.cameras:
                known = ", ".join(self.options.cameras)
                raise PlannerError(f"{agent} has no camera {camera!r}; it has {known}")
        state, base = self.state, self.base
        pictures = self._cameras.take(cameras) if self._workers is None else self._newest(cameras)
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
            # Ground truth of the same moment, emulator only.
            with self.emulator.calls.lock:
                instances = self.emulator.world.shoot(camera).images.instances
                instances = np.ascontiguousarray(np.rot90(instances, picture.turns))
                missed = self.emulator.overlooked()
            if missed:
                instances = np.where(np.isin(instances, list(missed)), 0, instances)
        return CameraFrame(
            rgb=picture.rgb,
            depth_m=picture.depth_m,
            instances=instances,
            intrinsics=picture.intrinsics,
            pose=pose,
        )

    def _newest(self, cameras: Sequence[str]) -> Mapping[str, Picture]:
        return self._cameras.newest(cameras)

    def _report_pictures(self, why: str) -> None:
        """Shows missing pictures as a fault on the robot's tablet."""
        if why:
            self.watch.report(_PICTURES_FAULT, why)
        else:
            self.watch.resolve(_PICTURES_FAULT)

    def look(self) -> Picture:
        """Takes a picture with the hand camera."""
        return self._cameras.take(("hand",))["hand"]

    def world_state(self) -> WorldState | None:
        """Ground truth of the emulator; None for a real robot."""
        if self.emulator is None or not self._agent:
            return None
        return self.emulator.truth()

    # Acting

    def start(self, agent: str, primitive: Primitive) -> Handle:
        """Starts a primitive; a refusal is its polled result."""
        refusal = self._refusal(agent, primitive)
        if refusal is not None:
            return self.motion.refuse(refusal)
        frame = self._frame_of(primitive.frame)
        reference = primitive.reference_m
        steps = routine(
            self,
            replace(primitive, heading_rad=primitive.heading_rad + frame.yaw_rad),
            frame.apply(primitive.target_m),
            None if reference is None else frame.apply(reference),
        )
        return self._begin(primitive, steps)

    def _begin(self, primitive: Primitive, steps: Routine) -> Handle:
        handle = self.motion.begin(steps, primitive.timeout_s or DEFAULT_TIMEOUT_S)
        if self._workers is None:
            self.motion.advance()
        else:
            self._workers.move()
        return handle

    def dock(self, agent: str) -> Handle | None:
        """Starts walking to the configured dock and docking; None without a dock."""
        self._check_agent(agent)
        dock = self.options.dock
        if dock is None or self.motion.busy:
            return None
        return self._begin(before_dock(dock), onto_dock(self, dock))

    def undock(self, agent: str) -> Handle | None:
        """Starts undocking."""
        self._check_agent(agent)
        dock = self.options.dock
        if dock is None or self.motion.busy:
            return None
        return self._begin(before_dock(dock), off_dock(self))

    def _frame_of(self, frame: str) -> Pose:
        if frame == "map":
            return Pose((0.0, 0.0, 0.0))
        return self.watch.localisation.odom_in_map if frame.endswith("/odom") else self.base

    def _refusal(self, agent: str, primitive: Primitive) -> PrimitiveResult | None:
        if not self._agent:
            return PrimitiveResult(PrimitiveCode.NO_WORLD, "no episode is loaded")
        if agent != self._agent:
            return PrimitiveResult(PrimitiveCode.UNKNOWN_AGENT, f"there is no agent {agent!r}")
        can = replace(self.capabilities(agent), kind="Spot")
        return refusal_of(agent, can, primitive, busy=self.motion.busy)

    def poll(self, handle: Handle) -> PrimitiveStatus:
        """How a primitive stands."""
        return self.motion.poll(handle)

    def cancel(self, handle: Handle) -> None:
        """Ends a primitive and stops the robot."""
        if not self.poll(handle).done:
            self.motion.end(PrimitiveCode.CANCELED, "canceled")
            self._stop_robot()

    def stop(self, agent: str) -> None:
        """Stops the robot at once, without waiting for a real one."""
        self._check_agent(agent)
        self.motion.end(PrimitiveCode.STOPPED, "the agent was stopped")
        self._permit.withdraw()
        self._stop_robot()

    def pause(self, agent: str) -> None:
        """Halts the robot and sends no motion until `resume`; never waits.

        A walk can resume. An arm motion cannot, so it ends.
        """
        self._check_agent(agent)
        if not self.motion.hold(_GATE):
            rule = Rule.EXECUTIVE_LOST
            text = f"{agent} may not move: its executive fell silent, and an arm cannot be paused"
            self.motion.end(PrimitiveCode.NOT_ALLOWED, text, rule=rule, reason=rule.name)
            self.motion.hold(_GATE)
        self._stop_robot()

    def resume(self, agent: str) -> None:
        """Resumes a paused walk."""
        self._check_agent(agent)
        self.motion.let_go(_GATE)

    def _stop_robot(self) -> None:
        # If this fails, the last command expires by itself (rule 1).
        if self._workers is not None:
            self._workers.halt()
            return
        self.watch.attempt(self.watch.halt)
        self.watch.attempt(self.watch.read_state)
