"""The emulator as one object: a world, a robot, and its services over TLS."""

from __future__ import annotations

import math
import tempfile
from concurrent import futures
from pathlib import Path

import grpc

from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.sqlite_file import ClosedOnExit
from planner.world.state import WorldState
from sim_bridge.embedded.options import EmbeddedOptions
from sim_bridge.spot.emulator import (
    control_services,
    geometry_services,
    identity_services,
    lease_service,
    sensing_services,
)
from sim_bridge.spot.emulator.device_services import Devices, Logs, Upkeep
from sim_bridge.spot.emulator.faults import (
    LINK_KINDS,
    FaultScript,
    LinkFaults,
    LinkRelay,
    Trouble,
    TroubleKind,
)
from sim_bridge.spot.emulator.graph_map_service import Recording
from sim_bridge.spot.emulator.graph_nav_service import GraphNav
from sim_bridge.spot.emulator.house_world import HouseWorld
from sim_bridge.spot.emulator.identity_services import NO_TOKEN, Accounts, Registry, make_identity
from sim_bridge.spot.emulator.machine import Clock, Machine, SteppedClock, WallClock
from sim_bridge.spot.emulator.manipulation_service import Contacts, Docks, Picks
from sim_bridge.spot.emulator.mission_service import Missions
from sim_bridge.spot.emulator.motion_services import Commands
from sim_bridge.spot.emulator.recorded_graph import RecordedGraph
from sim_bridge.spot.emulator.sensing_services import WorldObjects
from sim_bridge.spot.emulator.service import CALL_KINDS, CallFaults, Calls, Recorded

USER, PASSWORD = "user", "emulated-robot"
_THREADS = 8


class SpotEmulator(ClosedOnExit):
    """Speaks Spot's protocol on a port of this machine.

    With a `SteppedClock` nothing moves by itself, and the same calls give the same answers.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        options: EmbeddedOptions | None = None,
        script: FaultScript | None = None,
        port: int = 0,
        link: bool = False,
    ) -> None:
        """Binds the port (0: any free one); call `load` before clients connect.

        Args:
            clock: the robot's time; None is one that is stepped.
            options: of the world.
            script: the faults of this run.
            port: to bind; the link's, if there is one.
            link: whether clients connect through a `LinkRelay`; always so with faults of the link
                in the script.

        Raises:
            PlannerError: if the link's port cannot be used.
            RuntimeError: if the port cannot be used.
        """
        script = script or FaultScript()
        self.clock = clock or SteppedClock()
        self.world = HouseWorld(options)
        self.machine = Machine(self.world, self.clock)
        self._began_s = self.clock.now_s()
        self._due = sorted(script.troubles, key=lambda t: t.at_s)
        self._call_faults = CallFaults(script.seed)
        # Of the only account.
        self.user, self.password = USER, PASSWORD
        self._accounts = Accounts(USER, PASSWORD)
        self.calls = Calls(
            self.machine, before=self._call_faults.before, authorized=self._authorized
        )
        self.machine.on_step = self._on_step
        self._folder = tempfile.TemporaryDirectory(prefix="spot-emulator-")
        identity = make_identity()
        self.authority = Path(self._folder.name) / "authority.pem"
        self.authority.write_bytes(identity.authority_pem)
        self._server = grpc.server(
            futures.ThreadPoolExecutor(_THREADS),
            options=[("grpc.max_receive_message_length", 64 << 20)],
        )
        upkeep = Upkeep()
        graph, self._registry = RecordedGraph(), Registry(self._accounts)
        for services in (
            identity_services.handlers(self._accounts),
            lease_service.handlers(),
            lease_service.keepalive_handlers(),
            control_services.handlers(upkeep.fan_methods()),
            sensing_services.handlers(),
            geometry_services.image_handlers(),
            Commands().handlers(),
            GraphNav(graph).handlers(),
            Recording(graph).handlers(),
            Docks().handlers(),
            Picks().handlers(),
            WorldObjects().handlers(),
            self._registry.handlers(),
            Devices().handlers(),
            upkeep.handlers(),
            geometry_services.handlers(),
            Contacts().handlers(),
            Missions().handlers(),
            Logs().handlers(),
        ):
            for name, methods in services.items():
                self._server.add_generic_rpc_handlers((self.calls.service(name, methods),))
        credentials = grpc.ssl_server_credentials([(identity.key_pem, identity.certificate_pem)])
        self.address = address = "127.0.0.1"
        link = link or script.link != LinkFaults() or any(t.kind in LINK_KINDS for t in self._due)
        own_port: int = self._server.add_secure_port(
            f"{address}:{0 if link else port}", credentials
        )
        self.link = (
            LinkRelay(own_port, script.link, port=port, address=address, target_address=address)
            if link
            else None
        )
        self.port = own_port if self.link is None else self.link.port
        self._server.start()

    def load(self, house: House, episode: Episode, seed: int) -> None:
        """Loads another house; the robot lies switched off at the episode's start.

        Raises:
            PlannerError: if house and episode do not match; everything stays as it was then.
        """
        with self.calls.lock:
            self.world.load(house, episode, seed)
            self.machine.last_s = self.clock.now_s()
            self.machine.reboot()
            self.machine.behavior_faults.clear()
            self.machine.gripper = self.machine.gripper_goal = 0.0
            self.machine.held_handle = self.machine.tool = self.machine.grasp = None
            self.machine.no_go.clear()
            self.machine.docked = 0
            if isinstance(self.clock, WallClock):
                # In real time no call should wait for the renderer's creation.
                self.world.warm_up()

    def advance(self) -> None:
        """Advances the robot to the clock's current time."""
        with self.calls.lock:
            self.machine.advance()

    def zero_time(self) -> None:
        """Starts the episode's own clock now."""
        with self.calls.lock:
            self.machine.advance()
            self.world.world.time_s, self.world.world.steps = 0.0, 0

    def truth(self) -> WorldState | None:
        """The true state of the world, which the protocol does not reveal."""
        with self.calls.lock:
            return self.world.world.snapshot()

    def overlooked(self) -> set[int]:
        """The instances that perception misses now, by the fault script."""
        with self.calls.lock:
            world, missed = self.world.world, self.machine.mishaps.overlooked
            now_s = self.machine.last_s
            return {
                world.things[name].instance_id
                for name, until_s in missed.items()
                if now_s < until_s and name in world.things
            }

    @property
    def requests(self) -> list[Recorded]:
        """All requests so far."""
        return self.calls.requests

    def close(self) -> None:
        """Ends the server and frees the world; safe to call twice."""
        if self.link is not None:
            self.link.close()
        self._server.stop(None).wait(2.0)
        self.world.close()
        self._folder.cleanup()

    # Faults

    def trouble(self, trouble: Trouble) -> None:
        """Injects a fault now."""
        machine, kind = self.machine, trouble.kind
        with self.calls.lock:
            machine.advance()
            if kind in CALL_KINDS:
                self._call_faults.add(trouble)
            elif kind in LINK_KINDS:
                self._link_trouble(trouble)
            elif kind is TroubleKind.DROP_TOKEN:
                self._accounts.drop()
            elif kind is TroubleKind.TAKE_LEASE:
                machine.give_lease(trouble.name or "tablet")
            elif kind is TroubleKind.RETURN_LEASE:
                machine.return_lease()
            elif kind is TroubleKind.REBOOT:
                machine.reboot()
            elif kind is TroubleKind.BEHAVIOR_FAULT:
                machine.halt()
                machine.behavior_faults[machine.next_number()] = trouble.name or "FALL"
            elif kind is TroubleKind.BATTERY:
                machine.battery_percent = trouble.value
            elif kind is TroubleKind.CLOCK_SKEW:
                machine.skew_s = trouble.value
            elif kind is TroubleKind.ESTOP:
                machine.estopped_by_hand = trouble.value != 0
            elif kind is TroubleKind.GRASPS_SLIP:
                machine.mishaps.grasps += trouble.count
            elif kind is TroubleKind.PLACES_STICK:
                machine.mishaps.places += trouble.count
            elif kind is TroubleKind.NO_SERVICE:
                self._accounts.hidden.add(trouble.name)
            elif kind is TroubleKind.OVERLOOK:
                until_s = machine.last_s + trouble.seconds if trouble.seconds else math.inf
                machine.mishaps.overlooked[trouble.name] = until_s

    def forget_call_faults(self) -> None:
        """Removes all pending call faults."""
        self._call_faults.clear()

    def _link_trouble(self, trouble: Trouble) -> None:
        if self.link is None:
            raise PlannerError(f"{trouble.kind}: the emulator has no link")
        if trouble.kind is TroubleKind.LINK_STALL:
            self.link.stall(trouble.seconds)
        elif trouble.kind is TroubleKind.LINK_ROUND_TRIP:
            self.link.change(round_trip_s=trouble.value)
        elif trouble.kind is TroubleKind.LINK_LOSS:
            self.link.change(loss=trouble.value)
        else:
            self.link.cut()

    def _on_step(self, dt_s: float) -> None:
        self.world.pass_time(dt_s)
        self._registry.watch(self.machine)
        while self._due and self._due[0].at_s <= self.machine.last_s - self._began_s:
            self.trouble(self._due.pop(0))

    def _authorized(self, service: str, token: str) -> bool:
        return service.rpartition(".")[2] in NO_TOKEN or self._accounts.holds(token)
