"""Cost of the memory: an update, a picture, a belief, the store, and latency over ROS.

Repeat with: python benchmarks/bench_memory.py [--house NAME] [--seconds S] [--no-ros]

Over ROS a camera and a world are played to the real node at 10 Hz: 20 objects move between two
places, so that every picture yields an update; its arrival is compared with the picture's stamp.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from machine import print_table

from planner.environment import ros_environment
from planner.memory.memory import Memory
from planner.memory.privileged import PrivilegedUpdater
from planner.memory.settings import open_memory
from planner.memory.wording import entity_line
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.observation import CameraFrame, Intrinsics, Observation, Sighting
from planner.world.share import config_dir
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation

ROOT = Path(__file__).resolve().parents[1]
ENTITIES, DETECTIONS, CAMERA_HZ = 1000, 20, 10.0
ROUNDS = 300
Row = tuple[str, str, str]


def milliseconds(action: Callable[[], object], rounds: int = ROUNDS) -> list[float]:
    """CPU milliseconds of the process, independent of other work on the machine."""
    taken = []
    for _ in range(rounds):
        begin = time.process_time()
        action()
        taken.append((time.process_time() - begin) * 1000)
    return taken


def told(values: list[float]) -> str:
    ordered = sorted(values)
    return f"{statistics.median(values):.2f} ms, p99 {ordered[int(0.99 * len(ordered))]:.2f} ms"


def crowd(house: House, count: int) -> WorldState:
    """This many cups on the floor of the first room."""
    room = house.rooms[0]
    middle = room.shape.representative_point()
    things = {
        f"cup_{n}": EntityState(
            name=f"cup_{n}",
            kind=EntityKind.OBJECT,
            class_name="cup",
            instance_id=n + 1,
            pose=Pose((middle.x, middle.y, 0.01 * n)),
            size_m=(0.1, 0.1, 0.1),
            parent=f"floor_{room.name}",
            relation=Relation.ON,
            room=room.name,
        )
        for n in range(count)
    }
    return WorldState(0.0, 0, 0, house.name, "bench", things)


def moved(state: WorldState) -> WorldState:
    """The world with the visible objects moved by half a metre."""

    def elsewhere(entity: EntityState) -> EntityState:
        x, y, z = entity.pose.position_m
        return replace(entity, pose=Pose((x + 0.5, y, z)))

    shown = itertools.islice(state.entities.items(), DETECTIONS)
    entities = {**state.entities, **{name: elsewhere(entity) for name, entity in shown}}
    return replace(state, entities=entities)


def picture() -> CameraFrame:
    """The first `DETECTIONS` instances as squares of 40 pixels."""
    instances = np.zeros((384, 384), np.int32)
    for n in range(DETECTIONS):
        row, column = divmod(n, 8)
        instances[row * 48 : row * 48 + 40, column * 48 : column * 48 + 40] = n + 1
    lens = Intrinsics(384, 384, 277.0, 277.0, 192.0, 192.0)
    depth_m = np.full((384, 384), 2.0, np.float32)
    rgb = np.zeros((384, 384, 3), np.uint8)
    return CameraFrame(rgb, depth_m, instances, lens, Pose((0.0, 0.0, 0.0)))


class Scene:
    """A memory of `ENTITIES` entities in a world that changes or not."""

    def __init__(self, house: House, folder: Path | None) -> None:
        here = crowd(house, ENTITIES - len(house.furniture))
        self._states = (here, moved(here))
        self._now = here
        self._stamps = itertools.count()
        self._shown = [Sighting(name, 0.01, 2.0, (9, 9), (0, 0, 0)) for name in here.entities]
        updater = PrivilegedUpdater(lambda: self._now, sightings=lambda _agent: self._shown)
        self.memory = open_memory(
            house, updater, folder=folder, episode="bench", agents={}, clock_s=1e12
        )
        self.look()
        assert len(self.memory.snapshot().entities) == ENTITIES
        self._shown = self._shown[:DETECTIONS]

    def look(self) -> None:
        self.memory.observe(Observation.at_rest(next(self._stamps)))

    def move(self) -> None:
        self._now = self._states[self._now is self._states[0]]
        self.look()

    def move_and_believe(self) -> None:
        self.move()
        self.memory.belief(0.0)


def in_process(house: House) -> list[Row]:
    rows = []
    for title, folder in (
        ("", None),
        (", stored", Path(tempfile.mkdtemp(prefix="planner-bench-"))),
    ):
        scene = Scene(house, folder)
        rows.append((f"update, nothing new{title}", told(milliseconds(scene.look)), "< 2 ms"))
        text = f"update, {DETECTIONS} things moved{title}"
        rows.append((text, told(milliseconds(scene.move)), "< 2 ms"))
        if folder is None:
            rows.append(("update and belief", told(milliseconds(scene.move_and_believe)), ""))
            text = "\n".join(entity_line(entity) for entity in scene.memory.entities)
            rows.append(("text for a model", f"{len(text.encode()) / 1e3:.0f} kB", "< 1 MB"))
        scene.memory.close()
    state, stamps, frame = crowd(house, ENTITIES), itertools.count(), picture()
    # An unchanged world is skipped: here every picture shows another one.
    states = itertools.cycle((state, moved(state)))
    memory = Memory(house, PrivilegedUpdater(lambda: next(states)))
    looks = milliseconds(lambda: memory.observe(Observation.at_rest(next(stamps), frame)))
    rows.append((f"update from pictures, {DETECTIONS} instances", told(looks), ""))
    return rows


def over_ros(house: House, seconds: float) -> list[Row]:
    words = [f"house:={house.name}", f"update_period:={1 / CAMERA_HZ}"]
    arguments = [word for pair in words for word in ("-p", pair)]
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    # The player replaces the bridge and sends as the bridge does.
    profile = config_dir() / "dds" / "fastdds_bridge.xml"
    environment = ros_environment(os.environ)
    os.environ.setdefault("FASTDDS_DEFAULT_PROFILES_FILE", str(profile))
    node = subprocess.Popen(
        [sys.executable, str(ROOT / "nodes" / "memory"), "--ros-args", *arguments],
        env=environment,
    )
    try:
        latencies, share = play(house, seconds, node.pid)
    finally:
        node.send_signal(signal.SIGINT)
        node.wait(30)
    expected = int(seconds * CAMERA_HZ)
    return [
        (f"camera stamp to memory update over ROS, {CAMERA_HZ:g} Hz", told(latencies), "p99 < 50"),
        ("updates of pictures", f"{len(latencies)} of {expected}", ""),
        ("the node meanwhile", f"{share:.0%} of a core", ""),
    ]


def play(house: House, seconds: float, pid: int) -> tuple[list[float], float]:
    """Publishes a camera, its frames and the world; returns latencies in ms and the CPU share."""
    import rclpy
    from planner_msgs.msg import MemoryUpdate
    from planner_msgs.msg import WorldState as WorldMessage
    from sensor_msgs.msg import CameraInfo, Image
    from tf2_msgs.msg import TFMessage

    from planner.ros import conversions, qos
    from planner.ros.conversions import header, transform_message
    from planner.ros.sightings import StateMessages
    from planner.world.memory_wire import stamp_seconds
    from planner.world.state import UpdateEncoder

    rclpy.init()
    node = rclpy.create_node("bench_camera")
    depth = node.create_publisher(Image, "/agent_0/depth_registered/hand/image", qos.IMAGE)
    info = node.create_publisher(
        CameraInfo, "/agent_0/depth_registered/hand/camera_info", qos.IMAGE
    )
    instances = node.create_publisher(Image, "/agent_0/instances/hand/image", qos.IMAGE)
    frames = node.create_publisher(TFMessage, "/tf", qos.TF)
    world = node.create_publisher(WorldMessage, "/world/state", qos.TRUTH)
    latencies: list[float] = []

    def hear(message: MemoryUpdate) -> None:
        latencies.append((time.time() - stamp_seconds(message.header.stamp)) * 1000)

    node.create_subscription(MemoryUpdate, "/memory/updates", hear, qos.EVENTS)
    here = crowd(house, 230)
    states = itertools.cycle((here, moved(here)))
    frame, updates, messages = picture(), UpdateEncoder(), StateMessages()
    chain = ("map", "agent_0/odom", "agent_0/base_link", "agent_0/hand", "agent_0/optical")

    def expose() -> None:
        stamp_s = time.time()
        state = replace(next(states), stamp_s=stamp_s)
        world.publish(messages.message(updates.encode(state)))
        head = header(stamp_s, chain[-1])
        info.publish(conversions.camera_info(head, frame.intrinsics))
        depth.publish(conversions.depth_message(head, frame.depth_m, "32FC1"))
        instances.publish(conversions.instances_message(head, frame.instances))
        links = itertools.pairwise(chain)
        origin = Pose((0.0, 0.0, 0.0))
        frames.publish(
            TFMessage(transforms=[transform_message(stamp_s, a, b, origin) for a, b in links])
        )

    def spin(for_s: float) -> None:
        end = time.monotonic() + for_s
        while (left := end - time.monotonic()) > 0:
            rclpy.spin_once(node, timeout_sec=left)

    while not latencies:
        expose()
        spin(1 / CAMERA_HZ)
    latencies.clear()
    # As the bridge does; the player's own pauses must not count.
    gc.freeze()
    cpu_s, begin = cpu_seconds(pid), time.monotonic()
    for due_s in beats(seconds):
        spin(due_s - time.monotonic())
        expose()
    spin(0.5)
    share = (cpu_seconds(pid) - cpu_s) / (time.monotonic() - begin)
    node.destroy_node()
    rclpy.shutdown()
    return latencies, share


def beats(seconds: float) -> Iterator[float]:
    begin = time.monotonic()
    for n in range(int(seconds * CAMERA_HZ)):
        yield begin + n / CAMERA_HZ


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--house", default="bench_8x60x150")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--no-ros", action="store_true")
    args = parser.parse_args()
    house = load_house(args.house)
    rows = in_process(house)
    if not args.no_ros:
        rows += over_ros(house, args.seconds)
    title = f"memory, {ENTITIES} entities, {DETECTIONS} detections a picture"
    print_table(title, rows)


if __name__ == "__main__":
    main()
