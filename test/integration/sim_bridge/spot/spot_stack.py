"""Our nodes before an emulated Spot in real time, and when its body last moved."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bridge_harness import LATCHED, Bridge, Client, bridge, write_world
from diagnostic_msgs.msg import DiagnosticStatus
from planner_harness import Process, belief_of_house
from planner_msgs.msg import Heartbeat, WorldGraph
from std_srvs.srv import Trigger

from planner.ros import qos
from planner.ros.memory_messages import GraphMessages
from planner.world.episode import Episode
from planner.world.house import House
from sim_bridge.spot.emulator.faults import LinkRelay
from sim_bridge.spot.emulator.machine import WallClock
from sim_bridge.spot.emulator.server import SpotEmulator

ROBOT = "agent_0"


class Track:
    """When the emulated body moved, to the emulator's own step, on the clock of the wall."""

    def __init__(self, emulator: SpotEmulator) -> None:
        self.moved_s = 0.0
        self._machine = emulator.machine
        self._before = emulator.machine.on_step
        self._at = self._pose()
        emulator.machine.on_step = self._note

    def _pose(self) -> tuple[float, ...]:
        agent = self._machine.world.agent
        return (agent.x_m, agent.y_m, agent.yaw_rad)

    def _note(self, dt_s: float) -> None:
        if self._before is not None:
            self._before(dt_s)
        now = self._pose()
        if now != self._at:
            self._at, self.moved_s = now, self._machine.last_s


class SpotStack:
    """A bridge before an emulated robot that stands and is ours, and what listens to it."""

    def __init__(
        self,
        emulator: SpotEmulator,
        relay: LinkRelay,
        process: Bridge,
        client: Client,
        world: Path,
        house: House,
    ) -> None:
        self.emulator, self.relay, self.bridge, self.client = emulator, relay, process, client
        self._world, self.house = world, house
        self.heard_s = 0.0
        self.track = Track(emulator)
        self.states = client.listen(DiagnosticStatus, f"/{ROBOT}/safety/state", LATCHED)
        client.node.create_subscription(
            Heartbeat, f"/{ROBOT}/safety/heartbeat", self._hear, qos.HEARTBEAT_INPUT
        )
        self.processes: list[Process] = []

    def _hear(self, _beat: Heartbeat) -> None:
        self.heard_s = time.time()

    def stand(self) -> None:
        for name in ("claim", "power_on", "stand"):
            response = self.client.call(Trigger, f"/{ROBOT}/{name}")
            assert response.success, response.message

    def add(self, executable: str, **parameters: object) -> Process:
        """Starts another of our nodes in the same world."""
        self.processes.append(Process(executable, episode=self._world, **parameters))
        return self.processes[-1]

    def tell_graph(self) -> None:
        """Says what a memory would."""
        graph = self.client.node.create_publisher(WorldGraph, "/world_graph", LATCHED)
        graph.publish(GraphMessages().message(belief_of_house(self.house)))

    @property
    def attended_by(self) -> str:
        values = self.states[-1].values if self.states else []
        return next((item.value for item in values if item.key == "attended_by"), "")

    @property
    def moving(self) -> bool:
        return time.time() - self.track.moved_s < 0.2

    def until_moving(self) -> None:
        # Some way into the walk, so that no turn on the spot begins or ends just now.
        self.client.wait(lambda: self.moving, "that it walks")
        self.client.idle(0.5)
        self.client.wait(lambda: self.moving, "that it walks")

    def until_still(self, seconds: float) -> None:
        """Waits until nothing was heard for so long."""
        self.client.wait(lambda: time.time() - self.heard_s > seconds, "silence")


@contextmanager
def spot_stack(folder: Path, house: House, episode: Episode, safety: str) -> Iterator[SpotStack]:
    """A bridge with these safety rules; whatever was added ends with it."""
    alone = episode.model_copy(update={"agents": episode.agents[:1]})
    rules = folder / "safety.yaml"
    rules.write_text(safety)
    world = write_world(folder, house, alone)
    with SpotEmulator(WallClock()) as emulator, LinkRelay(emulator.port) as relay:
        emulator.calls.keep_requests = False
        emulator.load(house, alone, 0)
        environment = {
            "SPOT_IP": emulator.address,
            "SPOT_PORT": str(relay.port),
            "SPOT_CERTIFICATE": str(emulator.authority),
            "BOSDYN_CLIENT_USERNAME": emulator.user,
            "BOSDYN_CLIENT_PASSWORD": emulator.password,
        }
        parameters = {"backend": "spot", "episode": world, "safety_config": rules, "cameras": "''"}
        with bridge(environment, **parameters) as process:
            client = Client()
            stack = SpotStack(emulator, relay, process, client, world, house)
            try:
                yield stack
            finally:
                ends: list[Callable[[], Any]] = [p.stop for p in stack.processes]
                for end in ends:
                    end()
                for process in stack.processes:
                    print(process.log)
                client.close()
