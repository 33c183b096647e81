"""How soon a robot with Nav2 stands still behind a slow network, and when its bridge dies.

    python benchmarks/bench_robot_stop.py [--tries N] [--deaths N]

`planner robot-emulator` and a bridge with `backend:=ros` run in two network namespaces, joined by
a link that delays every Ethernet frame, so that Nav2's actions, /cmd_vel and pictures (compressed)
are DDS over a network. The robot drives at the greatest speed that is allowed; then stop is called
over ROS beside the bridge, or the bridge is killed or suspended. When the robot stands is known to
its odometry, which the emulator stamps at 30 Hz and which a client beside it records: up to 0.03 s
late. Emulator, client and link stand for machines of their own and get a nice value of -10 where
the system allows it. Needs root and `make robot-interfaces`.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml
from machine import print_table

from planner.bad_day.processes import End, PacketFaults, PacketLink
from planner.environment import ros_environment
from planner.network import RANGE
from planner.up import find_executable
from planner.world.errors import PlannerError
from planner.world.house_checks import load_house
from planner.world.share import config_dir
from sim_bridge.opening import bare_episode
from sim_bridge.pacing import raise_priority

ROUND_TRIPS_S = (0.0, 0.05, 0.1, 0.2, 0.3)
# What is asked for at a round trip of 0.1 s.
WANTED_S, AT_S = 0.4, 0.1
DEATH_S = 1.5
FULL_M_S, STILL = 0.49, 0.01
# Both ends of a long way through the house.
PLACES = ((4.3, 2.2), (1.2, 8.0))
RULES = "version: 1\napproval: {where: never}\nexecutive: {where: never}\n"
AGENT = "agent_0"
WAIT_S, PATIENCE_S = 90.0, 9.0
Row = tuple[str, str, str]


def operate() -> None:
    """A client beside the bridge: carries out the words of its input, one answer a line."""
    import rclpy
    from planner_msgs.action import ExecutePrimitive
    from rclpy.action.client import ActionClient
    from std_srvs.srv import Trigger

    rclpy.init()
    node = rclpy.create_node("bench_operator")
    names = ("claim", "power_on", "stand", "stop")
    services: dict[str, Any] = {
        name: node.create_client(Trigger, f"/{AGENT}/{name}") for name in names
    }
    goals: Any = ActionClient(node, ExecutePrimitive, f"/{AGENT}/primitive")
    for line in sys.stdin:
        word, *numbers = line.split()
        if word == "drive":
            goal = ExecutePrimitive.Goal(name="navigate")
            goal.target.header.frame_id = "map"
            goal.target.point.x, goal.target.point.y = map(float, numbers)
            goal.heading_rad = goal.standoff_m = float("nan")
            goals.wait_for_server()
            future: Any = goals.send_goal_async(goal)
        else:
            services[word].wait_for_service()
            future = services[word].call_async(Trigger.Request())
        asked_s = time.time()
        rclpy.spin_until_future_complete(node, future, timeout_sec=WAIT_S)
        told = future.result()
        done = bool(told is not None and (told.accepted if word == "drive" else told.success))
        words = getattr(told, "message", "no answer" if told is None else "")
        answer = {"asked_s": asked_s, "answered_s": time.time(), "done": done, "text": words}
        print(json.dumps(answer), flush=True)


def witness() -> None:
    """A client beside the robot: prints the stamp and both speeds of each message of odometry."""
    import rclpy
    from nav_msgs.msg import Odometry

    rclpy.init()
    node = rclpy.create_node("bench_witness")

    def heard(message: Odometry) -> None:
        stamp, twist = message.header.stamp, message.twist.twist
        print(stamp.sec + stamp.nanosec * 1e-9, twist.linear.x, twist.angular.z, flush=True)

    node.create_subscription(Odometry, "/odom", heard, 100)
    rclpy.spin(node)


class Scene:
    """The robot, the link, a bridge that may be replaced, and who asks and who watches."""

    def __init__(self, stack: ExitStack, link: PacketLink, folder: Path) -> None:
        self._folder, self.link, self._stack = folder, link, stack
        self._heard: list[tuple[float, float, float]] = []
        house = load_house("train_0")
        bare = bare_episode(house, 1)
        self._episode = folder / "episode.json"
        news = {"objects": (), "episode_id": "long_way"}
        self._episode.write_text(bare.model_copy(update=news).model_dump_json())
        settings = yaml.safe_load((config_dir() / "ros.yaml").read_text("utf-8"))
        # As one does over a network.
        settings["camera"] |= {"transport": "compressed", "depth_transport": "compressedDepth"}
        (folder / "ros.yaml").write_text(yaml.safe_dump(settings))
        (folder / "safety.yaml").write_text(RULES)
        emulator = ("-m", "planner.cli", "robot-emulator", "--episode", str(self._episode))
        self._start(link.far, "emulator", -10, *emulator)
        watcher = self._start(link.far, "witness", -10, __file__, "--role", "witness")
        threading.Thread(target=self._listen, args=(watcher,), daemon=True).start()
        self._goal = 0
        self.begin()

    def begin(self) -> None:
        """Starts a bridge and an operator, and enables the robot."""
        parameters = {
            "backend": "ros",
            "backend_config": self._folder / "ros.yaml",
            "safety_config": self._folder / "safety.yaml",
            "episode": self._episode,
        }
        words = [part for name, value in parameters.items() for part in ("-p", f"{name}:={value}")]
        executable = str(find_executable("bridge"))
        self.bridge = self._start(self.link.near, "bridge", 0, executable, "--ros-args", *words)
        self._operator = self._start(self.link.near, "operator", 0, __file__, "--role", "operate")
        for word in ("claim", "power_on", "stand"):
            # Until all servers of the robot are found behind the link.
            until_s = time.monotonic() + WAIT_S
            while not (answer := self.ask(word))["done"]:
                assert time.monotonic() < until_s, answer
                time.sleep(0.5)

    def end(self) -> None:
        """Ends the bridge and the operator."""
        for each in (self._operator, self.bridge):
            each.kill()
            each.wait()

    def _start(self, end: End, name: str, nice: int, *words: str) -> subprocess.Popen[str]:
        base = {**os.environ, "PLANNER_NETWORK": "open", RANGE: "SUBNET"}
        log = self._stack.enter_context((self._folder / f"{name}.log").open("a"))
        before = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, 0, nice)
        try:
            process = subprocess.Popen(
                end.inside(sys.executable, *words),
                env=ros_environment(base),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE if name in ("witness", "operator") else log,
                stderr=log,
                text=True,
            )
        finally:
            os.setpriority(os.PRIO_PROCESS, 0, before)
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        return process

    def _listen(self, watcher: subprocess.Popen[str]) -> None:
        assert watcher.stdout is not None
        for line in watcher.stdout:
            stamp_s, linear, angular = map(float, line.split())
            self._heard.append((stamp_s, linear, angular))

    def ask(self, words: str) -> dict[str, float]:
        """Has the operator do something; its answer."""
        assert self._operator.stdin is not None
        assert self._operator.stdout is not None
        print(words, file=self._operator.stdin, flush=True)
        while not select.select([self._operator.stdout], [], [], 1.0)[0]:
            log = self._folder / "bridge.log"
            assert self.bridge.poll() is None, log.read_text()[-500:]
        answer: dict[str, float] = json.loads(self._operator.stdout.readline())
        return answer

    def until_fast(self) -> None:
        """Drives along the house until the robot is as fast as it may be."""
        for _ in range(8):
            x, y = PLACES[self._goal]
            assert self.ask(f"drive {x} {y}")["done"]
            until_s = time.monotonic() + PATIENCE_S
            while time.monotonic() < until_s:
                latest = self._heard[-3:]
                if len(latest) == 3 and min(abs(each[1]) for each in latest) >= FULL_M_S:
                    return
                time.sleep(0.01)
            # It arrived before it was fast enough.
            self._goal = 1 - self._goal
            self.ask("stop")
        raise AssertionError("the robot does not reach its speed")

    def stood_s(self, since_s: float) -> float:
        """Watches for 4 s; seconds since then until the first odometry after which it stood."""
        time.sleep(4.0)
        after = [each for each in list(self._heard) if each[0] >= since_s]
        moved = [at for at, (_, *speeds) in enumerate(after) if max(map(abs, speeds)) >= STILL]
        if not moved:
            return 0.0
        return after[moved[-1] + 1][0] - since_s if moved[-1] + 1 < len(after) else float("inf")


def stops(scene: Scene, tries: int) -> list[Row]:
    """Seconds from the call of stop to standing, and to its answer."""
    rows = []
    for round_trip_s in ROUND_TRIPS_S:
        scene.link.faults = PacketFaults(round_trip_s=round_trip_s)
        time.sleep(1.0)
        stood, answered = [], []
        for _ in range(tries):
            scene.until_fast()
            answer = scene.ask("stop")
            assert answer["done"], answer
            stood.append(scene.stood_s(answer["asked_s"]))
            answered.append(answer["answered_s"] - answer["asked_s"])
        limit_s = WANTED_S if round_trip_s == AT_S else None
        rows.append(row(f"stands, {round_trip_s * 1e3:.0f} ms of round trip", stood, limit_s))
        rows.append(row("  stop answered", answered))
        print(*rows[-2], file=sys.stderr)
    return rows


def deaths(scene: Scene, number: signal.Signals, tries: int) -> list[Row]:
    """Seconds from the bridge's death to standing."""
    scene.link.faults = PacketFaults(round_trip_s=AT_S)
    stood = []
    for _ in range(tries):
        scene.until_fast()
        scene.bridge.send_signal(number)
        stood.append(scene.stood_s(time.time()))
        scene.end()
        scene.begin()
    return [row(f"stands after {number.name}, 100 ms of round trip", stood, DEATH_S)]


def row(what: str, times: Sequence[float], limit_s: float | None = None) -> Row:
    """A figure beside its limit, if it has one."""
    figure = f"median {statistics.median(times):.3f} s, worst {max(times):.3f} s"
    if limit_s is None:
        return what, figure, ""
    return what, figure, f"{limit_s:g} s: {'holds' if max(times) <= limit_s else 'DOES NOT HOLD'}"


@contextmanager
def a_scene(keep: Path | None) -> Iterator[Scene]:
    """A robot and a bridge before it, over a link."""
    with ExitStack() as stack:
        folder = keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        link = stack.enter_context(PacketLink())
        yield Scene(stack, link, folder)


def main() -> None:
    """Prints one line per figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=10, help="of each stop")
    parser.add_argument("--deaths", type=int, default=5, help="of each way to die")
    parser.add_argument("--keep", type=Path, help="folder for the logs")
    parser.add_argument("--role", choices=("operate", "witness"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    roles: dict[str, Callable[[], None]] = {"operate": operate, "witness": witness}
    if given.role:
        roles[given.role]()
        return
    os.environ["ROS_DOMAIN_ID"] = "87"
    # Whoever ends it also ends the processes in the namespaces.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    if os.geteuid() != 0:
        print("nothing measured: two network namespaces need root")
        return
    if problem := raise_priority(-10):
        print(f"the link shares the machine as any process does: {problem}")
    try:
        with a_scene(given.keep) as scene:
            rows = stops(scene, given.tries)
            for number in (signal.SIGKILL, signal.SIGSTOP):
                rows += deaths(scene, number, given.deaths)
    except PlannerError as error:
        print(f"nothing measured: {error}")
        return
    print_table(f"a robot behind a network, {given.tries} stops, {given.deaths} deaths each", rows)


if __name__ == "__main__":
    main()
