"""The bridge node: one world behind the ROS interface that all worlds share (docs/bridge.md)."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from itertools import groupby
from threading import Thread
from typing import cast

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from planner_msgs.srv import LoadEpisode, StepWorld
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.exceptions import InvalidHandle
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from planner.ros import parameters, qos
from planner.ros.clients import PeriodicExecutor
from planner.ros.conversions import time_message, transform_message
from planner.ros.domain_lock import DomainLock, domain_id, lock_is_exact
from planner.ros.goal_server import is_of_process, same_host
from planner.ros.guard import SafePublisher, status_name
from planner.ros.lifecycle import run_node
from planner.ros.subscriptions import bounds_of
from planner.world import topics
from planner.world.episode import MAX_AGENTS, MAX_SEED
from planner.world.errors import PlannerError
from sim_bridge.agent.node import AgentInterface
from sim_bridge.backend import BACKENDS, Drawn, make_backend
from sim_bridge.geometry import Link, fixed_links
from sim_bridge.opening import Opened, default_house, open_world
from sim_bridge.pacing import (
    TICK_S,
    IdleTime,
    Lockstep,
    Pacer,
    Periodic,
    TimeMode,
    raise_priority,
    split_step,
    ticks_in,
)
from sim_bridge.runtime import Runtime
from sim_bridge.safety.options import notice
from sim_bridge.world_state.node import (
    LockstepGate,
    PeopleTopic,
    WorldInfoTopic,
    WorldStateTopic,
    declare_nice,
    declare_pace,
    declare_safety,
    declare_sensing,
)

LOAD_FAILED = 1
# Wall seconds to discover bridges on other machines.
DISCOVERY_S = 1.5
# Longest sleep while only a message can wake the bridge: then it checks for lost clients.
IDLE_WAIT_S = 0.05
MAX_WAIT_S = 0.2
# Rate of time, frames and joint states while no agent is busy: each message wakes its subscribers.
IDLE_HZ = 5.0
# A new subscriber may be listed a little before it can receive.
REPEATS = 4
# How long the topics of an agent that a new episode lacks stay, for results under way.
LINGER_S = 2.0


class BridgeNode(Node):
    """Serves one backend over ROS; `run_due` advances time and publishes what is due."""

    def __init__(self) -> None:
        """Loads the world that the parameters name.

        Raises:
            PlannerError: for an invalid parameter, house or episode, or if another bridge runs.
        """
        super().__init__("bridge")
        try:
            self._lock = DomainLock(domain_id(os.environ), self.get_namespace())
            self._refuse_other_bridges()
            self._pace = declare_pace(self)
            self._pacer = Pacer(self._pace)
            self._sensing = declare_sensing(self)
            backend = parameters.text(
                self, "backend", "embedded", "backend to use", choices=BACKENDS.names()
            )
            opened = self._declare_world()
            settings = parameters.text(
                self, "backend_config", "", "file with the backend's settings; empty = shipped"
            )
            self._backend = backend
            sensors = parameters.text(
                self, "sensors", "", "how a simulator's sensors err: name or file; empty = not"
            )
            made = make_backend(backend, settings, Drawn(sensors=sensors))
            self._runtime = Runtime(made, declare_safety(self))
            # Called from another thread, it wakes the executor, which calls `run_due` next.
            self._wake = self.create_guard_condition(lambda: None)
            self._runtime.notify(self._wake.trigger)
            self._is_opening = False
            nice = declare_nice(self)
            self._losses: Counter[str] = Counter()
            self._lockstep = self._declare_lockstep()
            self._make_publishers()
            self._load_world(opened)
        except PlannerError:
            super().destroy_node()
            raise
        if not self._runtime.backend.simulated:
            self.get_logger().warning(notice(BACKENDS.get(backend).physical_stop))
            if problem := raise_priority(nice):
                self.get_logger().warning(problem)
        # Of its own group: what is answered while a world is read must not wait for it.
        apart = ReentrantCallbackGroup()
        self.create_service(LoadEpisode, topics.LOAD_WORLD, self._on_load, callback_group=apart)
        if self._runtime.backend.simulated:
            self.create_service(StepWorld, topics.STEP_WORLD, self._on_step)
            self.create_service(Trigger, topics.RESTART_WORLD, self._on_restart)

    # Start and end

    def _refuse_other_bridges(self) -> None:
        # On this machine the lock is exact. Discovery beyond it may find other bridges; one of this
        # machine that is still listed was killed.
        if lock_is_exact(os.environ):
            return
        own = [gid for gid in self._gids(topics.ROSOUT) if is_of_process(gid, os.getpid())]
        load = self.resolve_service_name(topics.LOAD_WORLD)
        deadline = time.monotonic() + DISCOVERY_S
        while time.monotonic() < deadline:
            for gid in self._gids(f"rr{load}Reply", no_mangle=True):
                if not any(same_host(gid, mine) for mine in own):
                    raise PlannerError(
                        "another machine's bridge runs in this ROS domain and namespace; stop it, "
                        "or give this one a namespace or a ROS_DOMAIN_ID of its own"
                    )
            time.sleep(0.05)

    def _gids(self, topic: str, *, no_mangle: bool = False) -> list[bytes]:
        writers = self.get_publishers_info_by_topic(topic, no_mangle=no_mangle)
        return [bytes(writer.endpoint_gid) for writer in writers]

    def _declare_world(self) -> Opened:
        house = parameters.text(self, "house", "", "name or file; empty = the episode's")
        episode = parameters.text(self, "episode", "", "name or file; empty = only the house")
        seed = parameters.whole(
            self, "seed", 0, "random seed; 0 = the episode's", min_value=0, max_value=MAX_SEED
        )
        self._agent_count = parameters.whole(
            self,
            "agents",
            0,
            "number of agents; 0 = the episode's",
            min_value=0,
            max_value=MAX_AGENTS,
        )
        if not house and not episode:
            opened = open_world(default_house(), episode, seed, self._agent_count)
            return replace(opened, named=False)
        return open_world(house, episode, seed, self._agent_count)

    def _declare_lockstep(self) -> LockstepGate | None:
        simulated = self._runtime.backend.simulated
        fast = self._pace.mode is TimeMode.FAST
        wanted = parameters.flag(
            self,
            "lockstep",
            simulated and fast,
            "whether fast time waits for memory, skills and planner",
        )
        if not wanted:
            return None
        if not (simulated and fast):
            raise PlannerError("parameter lockstep: needs a simulated world and time_mode:=fast")
        holds = self._pace.idle is IdleTime.HOLD
        return LockstepGate(self, self._losses, wait_for_agents=holds)

    def _make_publishers(self) -> None:
        self._ports: dict[str, AgentInterface] = {}
        self._leaving: list[tuple[float, AgentInterface]] = []
        self._one_hz, self._two_hz, self._five_hz = Periodic(1.0), Periodic(2.0), Periodic(5.0)
        self._half_hz = Periodic(0.5)
        # Frames are published with each picture in any case.
        self._idle_schedule = Periodic(IDLE_HZ)
        self._repeats, self._served_s = 0, -1.0
        self._logged_picture_fault = False

        def publisher(kind: type, topic: str, profile: QoSProfile) -> SafePublisher:
            return SafePublisher(self, kind, topic, profile, self._losses)

        self._tf = publisher(TFMessage, topics.TF, qos.TF)
        self._tf_static = publisher(TFMessage, topics.TF_STATIC, qos.TF_STATIC)
        self._diagnostics = publisher(DiagnosticArray, topics.DIAGNOSTICS, qos.DIAGNOSTICS)
        self._clock_publisher = publisher(Clock, topics.CLOCK, qos.CLOCK)
        self._state = WorldStateTopic(self, self._runtime, self._losses)
        self._people = PeopleTopic(self, self._runtime, self._losses)
        self._info = WorldInfoTopic(self, self._runtime, self._backend, self._pace, self._losses)

    def destroy_node(self) -> None:
        """Stops every agent, closes the world and releases the domain lock."""
        self._runtime.close()
        self._lock.close()
        super().destroy_node()

    # Time

    def run_due(self) -> float:
        """Runs the ticks that are due and publishes what is due; returns seconds until the next."""
        wall_s, busy = time.monotonic(), self._active()
        self._take_heartbeats()
        if self._lockstep is not None:
            self._lockstep.take()
        held = self._holds()
        for _ in range(0 if held else self._pacer.due(wall_s, busy)):
            self._tick(TICK_S)
            held = self._holds()
            if held or (busy and not self._active()):
                # The last busy agent has finished: whether time advances is decided anew.
                break
        self._runtime.follow_orders()
        if self._waiting is None or not self._waiting.unseen_pictures():
            # A client that receives a result must be able to rely on a memory that is up to date.
            self._settle()
            if self._lockstep is not None:
                self._lockstep.publish_settled(self._runtime)
        self._run_wall_clock_tasks(time.monotonic())
        if held:
            return IDLE_WAIT_S
        wait_s = self._pacer.wait_s(time.monotonic(), self._active(), self._ticks_until_due())
        return IDLE_WAIT_S if wait_s is None else min(wait_s, MAX_WAIT_S)

    def _active(self) -> bool:
        """Whether an agent is busy, or lockstep waits for a later time."""
        awaited = self._waiting is not None and self._waiting.wakes(self._runtime.now_s())
        return self._runtime.busy or awaited

    def _holds(self) -> bool:
        """Whether time has to wait for a node that has not finished with this moment."""
        wall_s = time.monotonic()
        if self._lockstep is None or not self._lockstep.holds(self._runtime, wall_s):
            return False
        if self._lockstep.waiting.repeats(wall_s):
            links = [link for port in self._ports.values() for link in port.repeat()]
            self._publish_links(self._tf, links)
        return True

    @property
    def _waiting(self) -> Lockstep | None:
        return None if self._lockstep is None else self._lockstep.waiting

    def _ticks_until_due(self) -> int:
        # While no agent moves, several ticks of a simulator run at once, up to the next one that
        # publishes: waking up costs more than the ticks.
        if self._runtime.busy or not self._runtime.backend.simulated:
            return 1
        now_s, quiet = self._runtime.now_s(), self._quiet()
        exposures = [port.until_exposure_s(now_s, quiet) for port in self._ports.values()]
        return ticks_in(min(self._idle_schedule.until_due_s(now_s), *exposures))

    def _quiet(self) -> int | None:
        """The revision of a simulated world in which no agent is busy, else None.

        In stepped mode every exposure is published.
        """
        stepped = self._pace.mode is TimeMode.STEPPED
        if stepped or self._runtime.busy or not self._runtime.backend.simulated:
            return None
        state = self._runtime.world_state()
        return None if state is None else state.revision

    def _take_heartbeats(self) -> None:
        """Processes heartbeats, so that each tick is judged by the newest."""
        for port in self._ports.values():
            port.take_heartbeats()

    def _tick(self, dt_s: float) -> None:
        busy = self._runtime.busy
        self._take_heartbeats()
        self._runtime.step(dt_s)
        now_s = self._runtime.now_s()
        wanted = self._idle_schedule.due(now_s) or busy
        if wanted:
            self._publish_clock()
        self._state.publish()
        self._people.tick(now_s)
        tf_wanted, quiet = self._tf.has_subscribers and wanted, None if busy else self._quiet()
        awaited = self._waiting
        links = [
            link
            for port in self._ports.values()
            for link in port.tick(
                now_s,
                quiet,
                tf_wanted=tf_wanted,
                memory_looks=awaited is None or awaited.needs_picture(port.agent, now_s),
            )
        ]
        if links and self._tf.has_subscribers:
            self._publish_links(self._tf, links)
        for port in self._ports.values():
            port.show_pictures()
        if awaited is not None:
            for port in self._ports.values():
                if port.picture_s is not None:
                    awaited.shown(port.agent, port.picture_s)

    def _settle(self) -> None:
        now_s = self._runtime.now_s()
        for port in self._ports.values():
            port.settle(now_s)
        for receipt in self._runtime.gate.take_receipts():
            if receipt.agent in self._ports:
                self._ports[receipt.agent].publish_receipt(receipt)

    def _run_wall_clock_tasks(self, wall_s: float) -> None:
        """Runs what is scheduled by the wall clock, whether or not simulated time advances."""
        if self._five_hz.due(wall_s):
            if self._lockstep is not None:
                self._lockstep.drop_lost_peers()
            for port in self._ports.values():
                port.watch_clients()
            self._publish_clock()
            self._state.publish()
            self._state.keep_readable(wall_s)
            self._serve_late_joiners()
        while self._leaving and self._leaving[0][0] <= wall_s:
            self._leaving.pop(0)[1].destroy()
        if bool(self._runtime.watch_pictures()) != self._logged_picture_fault:
            # A camera that stops is said at once.
            self._diagnose([p.publish_permission(repeat=False) for p in self._ports.values()])
        if self._two_hz.due(wall_s):
            statuses = [port.publish_permission(repeat=True) for port in self._ports.values()]
            if self._one_hz.due(wall_s):
                self._diagnose(statuses)
                for port in self._ports.values():
                    port.publish_battery()

    def _serve_late_joiners(self) -> None:
        """Publishes the present state again for late joiners while time is paused."""
        stands, self._served_s = self._served_s == self._runtime.now_s(), self._runtime.now_s()
        if self._tf.has_new_subscribers or any(
            port.has_new_subscribers for port in self._ports.values()
        ):
            self._repeats = REPEATS
        # Also now and then: on a busy machine a new subscriber may take long to receive.
        if stands and (self._repeats > 0 or self._half_hz.due(time.monotonic())):
            self._repeats = max(0, self._repeats - 1)
            links = [link for port in self._ports.values() for link in port.repeat()]
            self._publish_links(self._tf, links)

    # Worlds

    def _load_world(self, opened: Opened) -> None:
        """Loads a world; on an error everything stays as it was.

        Raises:
            PlannerError: if house and episode do not match.
        """
        self._runtime.load(opened.house, opened.episode, opened.seed)
        self._opened = opened
        self._settle()
        for agent in [name for name in self._ports if name not in self._runtime.agents]:
            # Its clients still have to get their results, so it is destroyed a little later.
            self._leaving.append((time.monotonic() + LINGER_S, self._ports.pop(agent)))
        for agent in self._runtime.agents:
            if agent not in self._ports:
                self._ports[agent] = AgentInterface(
                    self, self._runtime, agent, self._sensing, self._losses
                )
        for schedule in (self._one_hz, self._two_hz, self._five_hz, self._idle_schedule):
            schedule.restart()
        self._people.restart()
        if self._waiting is not None:
            self._waiting.restart()
        self._info.publish(opened)
        self._publish_clock()
        self._state.begin()
        self._publish_links(
            self._tf_static, [link for agent in self._ports for link in fixed_links(agent)]
        )
        for port in self._ports.values():
            port.restart()
            port.publish_permission(repeat=True)
            port.publish_battery()
        self._publish_links(self._tf, [link for p in self._ports.values() for link in p.repeat()])
        self.get_logger().info(
            f"{self._runtime.house}, {_episode_words(opened)}, seed {opened.seed}: "
            f"{', '.join(self._runtime.agents)}; time is {self._pace.mode}"
        )

    async def _on_load(
        self, request: LoadEpisode.Request, response: LoadEpisode.Response
    ) -> LoadEpisode.Response:
        try:
            self._check_bounds(request)
            self._load_world(await self._opened_aside(request))
        except PlannerError as error:
            response.code, response.message = LOAD_FAILED, str(error)
            self.get_logger().warning(f"/world/load: {error}")
        response.success = response.code != LOAD_FAILED
        response.house, response.episode_id = self._runtime.house, self._runtime.episode_id
        return response

    async def _opened_aside(self, request: LoadEpisode.Request) -> Opened:
        """The world of a request, read in a thread: stop is answered meanwhile.

        Raises:
            PlannerError: naming the file, the field and the reason, or if one is being read.
        """
        if self._is_opening:
            raise PlannerError("another world is being read; try again")
        made: Future[Opened] = Future()

        def read() -> None:
            try:
                made.set_result(
                    open_world(request.house, request.episode, request.seed, self._agent_count)
                )
            except Exception as error:
                # Raised again where it is awaited.
                made.set_exception(error)
            with suppress(InvalidHandle):
                self._wake.trigger()

        self._is_opening = True
        try:
            # A daemon: a file system that never answers must not keep the process.
            Thread(target=read, name="world", daemon=True).start()
            return cast("Opened", await made)
        finally:
            self._is_opening = False

    def _on_restart(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._load_world(self._opened)
            response.success = True
        except PlannerError as error:
            response.message = str(error)
        return response

    def _check_bounds(self, request: LoadEpisode.Request | StepWorld.Request) -> None:
        problem = bounds_of(type(request)).problem(request, self._runtime.now_s())
        if problem:
            raise PlannerError(f"the request is out of bounds: {problem}")

    def _on_step(self, request: StepWorld.Request, response: StepWorld.Response) -> object:
        try:
            self._check_bounds(request)
            if self._pace.mode is not TimeMode.STEPPED:
                raise PlannerError(
                    f"time is {self._pace.mode}; /world/step needs time_mode:=stepped"
                )
            ticks, rest_s = split_step(request.duration_s)
            for _ in range(ticks):
                self._tick(TICK_S)
            if rest_s:
                self._tick(rest_s)
            self._publish_clock()
            response.success = True
        except PlannerError as error:
            response.message = str(error)
        response.stamp = time_message(self._runtime.now_s())
        return response

    # Publishing

    def _publish_clock(self) -> None:
        if self._runtime.backend.simulated and self._clock_publisher.has_subscribers:
            self._clock_publisher.publish(Clock(clock=time_message(self._runtime.now_s())))

    def _publish_links(self, publisher: SafePublisher, links: list[Link]) -> None:
        """Publishes one message for each stamp, as memories expect."""
        now_s = self._runtime.now_s()
        for stamp_s, group in groupby(links, lambda link: link.stamp_s):
            at_s = now_s if stamp_s is None else stamp_s
            publisher.publish(
                TFMessage(
                    transforms=[
                        transform_message(at_s, link.parent, link.child, link.pose)
                        for link in group
                    ]
                )
            )

    def _diagnose(self, statuses: list[DiagnosticStatus]) -> None:
        picture_fault, fault, lost = (
            self._runtime.picture_fault,
            self._runtime.fault,
            dict(self._losses),
        )
        if picture_fault and not self._logged_picture_fault:
            self.get_logger().error(f"no pictures: {picture_fault}")
        elif self._logged_picture_fault and not picture_fault:
            self.get_logger().info("pictures are back")
        self._logged_picture_fault = bool(picture_fault)
        world = {
            "house": self._runtime.house,
            "episode": self._runtime.episode_id,
            "now_s": f"{self._runtime.now_s():.3f}",
            "time_mode": str(self._pace.mode),
            "rate": f"{self._pace.rate:g}",
            "idle_time": str(self._pace.idle),
        }
        message = DiagnosticArray(
            status=[
                _status("bridge: world", fault and f"lost; load an episode: {fault}", world),
                _status("bridge: pictures", picture_fault and f"none: {picture_fault}", {}),
                _status("bridge: people", self._runtime.gate.people.unknown, {}),
                _status(
                    "bridge: publishing",
                    "messages could not be sent and were lost" if lost else "",
                    {topic: str(count) for topic, count in lost.items()},
                ),
                *statuses,
            ]
        )
        for status in message.status:
            status.name = status_name(self, status.name)
        message.header.stamp = time_message(self._runtime.now_s())
        self._diagnostics.publish(message)


def _episode_words(opened: Opened) -> str:
    return f"episode {opened.episode.episode_id}" if opened.has_task else "no episode"


def _status(name: str, warning: str, values: dict[str, str]) -> DiagnosticStatus:
    return DiagnosticStatus(
        level=DiagnosticStatus.WARN if warning else DiagnosticStatus.OK,
        name=name,
        message=warning or "ok",
        hardware_id="bridge",
        values=[KeyValue(key=key, value=value) for key, value in values.items()],
    )


def main() -> int:
    """Runs the node until it is asked to stop; returns the process's exit status."""
    return run_node(BridgeNode, make_executor=PeriodicExecutor, large_messages=True)
