"""Whom our nodes can be reached by: nobody beyond the loopback, unless they were opened."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pytest
from bridge_harness import Bridge, Client, bridge, write_world
from node_processes import Node, running
from std_srvs.srv import Trigger

from planner.command_line import EXIT_CONFIGURATION
from planner.environment import ros_environment
from planner.network import PROFILES, QOS_FROM_PROFILES, RANGE, TOKEN, reachable_sockets
from planner.world.episode import Episode
from planner.world.house import House

OUTSIDE = Path(__file__).with_name("outside_client.py")
# The one who finds somebody ends sooner.
LOOK_S = 10.0


@dataclass(frozen=True)
class Elsewhere:
    """Another network namespace, joined to this one by a pair of interfaces."""

    name: str
    our_address: str
    their_address: str
    our_interface: str

    @property
    def inside(self) -> tuple[str, ...]:
        """What a command begins with that runs there."""
        return ("ip", "netns", "exec", self.name)

    def sent_bytes(self) -> int:
        """How much came from there."""
        counts = Path("/sys/class/net") / self.our_interface / "statistics"
        return int((counts / "rx_bytes").read_text())

    def run(self, *words: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.inside, *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120.0,
            check=False,
        )


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"no network namespace can be made here: ip {' '.join(words)}: {done.stderr}")


@pytest.fixture
def elsewhere() -> Iterator[Elsewhere]:
    """A second namespace, gone afterwards."""
    if shutil.which("ip") is None:
        pytest.skip("no network namespace can be made here: there is no `ip` (apt: iproute2)")
    # Interfaces have names of at most 15 letters; 198.18.0.0/15 is for tests of networks alone.
    number = os.getpid() % 0x100000
    name, ours, theirs = f"planner-{number}", f"plA{number}", f"plB{number}"
    base = f"198.18.{number % 256}"
    ip("netns", "add", name)
    try:
        ip("link", "add", ours, "type", "veth", "peer", "name", theirs, "netns", name)
        ip("address", "add", f"{base}.1/24", "dev", ours)
        ip("link", "set", ours, "up")
        for words in (
            ("address", "add", f"{base}.2/24", "dev", theirs),
            ("link", "set", theirs, "up"),
            ("link", "set", "lo", "up"),
        ):
            ip("-n", name, *words)
        yield Elsewhere(name, f"{base}.1", f"{base}.2", ours)
    finally:
        # With the namespace goes its interface, and with that the other end.
        subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
        subprocess.run(["ip", "link", "delete", ours], capture_output=True, check=False)


@pytest.fixture
def world(tmp_path: Path, small_house: House, small_episode: Episode) -> Path:
    return write_world(tmp_path, small_house, small_episode)


def stranger(elsewhere: Elsewhere, token: str = "") -> dict[str, Any]:
    """What a client there gets to see and do that names this machine as its peer."""
    environment = {
        **ros_environment({**os.environ, "PLANNER_NETWORK": "open", RANGE: "SUBNET"}),
        "ROS_STATIC_PEERS": elsewhere.our_address,
        TOKEN: token,
    }
    assert PROFILES not in environment
    done = elsewhere.run(sys.executable, str(OUTSIDE), str(LOOK_S), environment=environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_a_client_from_elsewhere_finds_nobody_and_claims_nothing(
    elsewhere: Elsewhere, world: Path
) -> None:
    with bridge(episode=world), running("skill_executor", episode=world):
        found = stranger(elsewhere)
    assert found == {"nodes": [], "answered": False, "said": "", "stop": "", "goal": ""}


def test_where_the_network_was_opened_who_has_no_token_can_only_stop_the_robot(
    elsewhere: Elsewhere, world: Path
) -> None:
    opened = {"PLANNER_NETWORK": "open", TOKEN: "a secret of the house"}
    with bridge(opened, episode=world), running("skill_executor", opened, episode=world):
        found = stranger(elsewhere)
        refusal = f"set {TOKEN} to that of the robot's programs"
        assert found["nodes"], found
        assert refusal in found["said"], found
        assert refusal in found["goal"], found
        assert found["stop"] == "stopped", found
        found = stranger(elsewhere, opened[TOKEN])
        assert (found["said"], found["stop"]) == ("claimed", "stopped"), found
        assert refusal not in found["goal"], found
        said = operated(elsewhere, opened, "claim", "stand")
        assert said == ["claim: claimed", "stand: standing"]
        assert refusal in operated(elsewhere, {**opened, TOKEN: "another secret"}, "claim")[0]


def operated(elsewhere: Elsewhere, settings: dict[str, str], *commands: str) -> list[str]:
    """What `planner operate` there is answered."""
    environment = ros_environment({**os.environ, **settings, RANGE: "SUBNET"})
    environment["ROS_STATIC_PEERS"] = elsewhere.our_address
    words = ("-m", "planner.cli", "operate", "agent_0", *commands)
    done = elsewhere.run(sys.executable, *words, environment=environment)
    return [line.partition(": ")[2] for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_a_task_is_done_by_nodes_of_two_machines(elsewhere: Elsewhere, tmp_path: Path) -> None:
    """The robot's sees, remembers and acts; this one plans and judges (docs/fleet.md)."""
    opened = {"PLANNER_NETWORK": "open", TOKEN: "a secret of the house", RANGE: "SUBNET"}
    near = {
        **ros_environment({**os.environ, **opened}),
        "ROS_STATIC_PEERS": elsewhere.their_address,
    }
    far = {**near, "ROS_STATIC_PEERS": elsewhere.our_address}
    up = (sys.executable, "-m", "planner.cli", "up", "episode:=night_light_0", "planner:=expert")
    with ExitStack() as stack:
        for name, words, environment in (
            ("robot", (*elsewhere.inside, *up, "nodes:=bridge,memory,skill_executor"), far),
            ("desk", (*up, "nodes:=evaluator,task_planner"), near),
        ):
            log = stack.enter_context((tmp_path / name).open("w+"))
            stack.enter_context(interrupted(words, environment, log))
        sent = elsewhere.sent_bytes()
        began_s = time.monotonic()
        instruct = (
            "-m",
            "planner.cli",
            "instruct",
            "--agents",
            "agent_0,agent_1",
            "--wait",
            "120",
            "",
        )
        # The second agent may be heard of seconds after the first.
        for _ in range(20):
            done = subprocess.run(
                [sys.executable, *instruct], env=near, capture_output=True, text=True, check=False
            )
            if "there is no agent" not in done.stdout:
                break
        rate = (elsewhere.sent_bytes() - sent) / (time.monotonic() - began_s) / 1000
        print(f"{rate:.0f} kB/s from the robot's machine")
        said = "".join((tmp_path / name).read_text() for name in ("robot", "desk"))
    assert done.returncode == 0, f"{done.stdout}{done.stderr}{said}"
    assert "verdict: success" in done.stdout
    # Pictures stay where they are made: one camera alone is 4 MB/s.
    assert rate < 1000.0


@contextmanager
def interrupted(
    words: Sequence[str], environment: dict[str, str], log: TextIO
) -> Iterator[subprocess.Popen[str]]:
    """A command, which gets Ctrl-C in the end."""
    process = subprocess.Popen(words, env=environment, stdout=log, stderr=log, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60.0)
        except subprocess.TimeoutExpired:
            process.kill()


def test_an_open_network_without_token_or_keys_is_one_error(world: Path) -> None:
    done = Bridge({"PLANNER_NETWORK": "open", TOKEN: ""}, episode=world)
    assert done.ended() == EXIT_CONFIGURATION
    assert f"set {TOKEN} to the same secret for all programs, or use keys" in done.log
    assert "Traceback" not in done.log


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({}, id="default", marks=pytest.mark.slow),
        pytest.param({RANGE: "LOCALHOST"}, id="localhost", marks=pytest.mark.slow),
        pytest.param({RANGE: "SUBNET", "ROS_STATIC_PEERS": "192.0.2.77"}, id="subnet"),
    ],
)
def test_every_node_binds_to_the_loopback_alone(environment: dict[str, str], world: Path) -> None:
    names = ("skill_executor", "evaluator", "memory", "task_planner")
    with ExitStack() as stack:
        made = stack.enter_context(bridge(environment, episode=world)).process
        nodes: list[Node] = [
            stack.enter_context(running(name, environment, episode=world)) for name in names
        ]
        client = Client()
        stack.callback(client.close)
        client.wait(lambda: {*names} <= {*client.node.get_node_names()}, "all nodes")
        # The control: this process, where nothing confines it.
        assert reachable_sockets()
        for node in (made, *nodes):
            assert reachable_sockets(node.pid) == (), node.log


@pytest.mark.slow
def test_up_with_all_that_it_starts_binds_to_the_loopback_alone(tmp_path: Path) -> None:
    words = ("-m", "planner.cli", "up", "planner:=expert", "episode:=bedside_0")
    # As from a shell in which nothing was set.
    bare = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("FASTDDS", "ROS_AUTO", "PLANNER"))
    }
    client = Client()
    up = subprocess.Popen(
        [sys.executable, *words],
        env=bare,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        names = {"bridge", "memory", "skill_executor", "evaluator", "task_planner"}
        client.wait(lambda: names <= {*client.node.get_node_names()}, "all nodes")
        processes = descendants(up.pid)
        assert len(processes) > len(names)
        assert {pid: reachable_sockets(pid) for pid in processes} == dict.fromkeys(processes, ())
    finally:
        up.send_signal(signal.SIGINT)
        print(up.communicate(timeout=60.0)[0])
        client.close()


def descendants(pid: int) -> list[int]:
    """A process and all that it started, and these."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [pid, *(each for child in children for each in descendants(int(child)))]


def test_programs_that_confine_nothing_themselves_find_the_nodes_on_this_machine(
    world: Path,
) -> None:
    code = (
        "import time, rclpy\n"
        "from std_srvs.srv import Trigger\n"
        "rclpy.init(); node = rclpy.create_node('of_the_user')\n"
        "claim = node.create_client(Trigger, '/agent_0/claim')\n"
        "print(claim.wait_for_service(timeout_sec=60.0))\n"
    )
    with bridge(episode=world):
        for discovery in ("SUBNET", "LOCALHOST", ""):
            environment = {**ros_environment({**os.environ, "PLANNER_NETWORK": "open"})}
            environment.pop(RANGE)
            if discovery:
                environment[RANGE] = discovery
            done = subprocess.run(
                [sys.executable, "-c", code],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            assert done.stdout == "True\n", (discovery, done.stderr)


@pytest.mark.slow
def test_many_nodes_find_one_another_on_the_loopback(world: Path) -> None:
    """Each looks for the first 32 participants of a domain on this machine."""
    count = 20
    code = (
        "import os, sys, rclpy\n"
        "from planner.network import confine\n"
        "confine(os.environ); rclpy.init(); node = rclpy.create_node(sys.argv[1])\n"
        "found = set()\n"
        f"while len(found) < {count}:\n"
        "    rclpy.spin_once(node, timeout_sec=0.1)\n"
        "    found = {n for n in node.get_node_names() if n.startswith('one_of_many')}\n"
        "print(len(found), flush=True)\n"
        "sys.stdin.read()\n"
    )
    many = [
        subprocess.Popen(
            [sys.executable, "-c", code, f"one_of_many_{number}"],
            env=ros_environment(os.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(count)
    ]
    try:
        for each in many:
            assert each.stdout is not None
            assert each.stdout.readline() == f"{count}\n"
        with bridge(episode=world):
            client = Client()
            try:
                client.wait(lambda: client.node.count_publishers("/agent_0/odometry"), "the bridge")
                answer = client.call(Trigger, "/agent_0/claim")
                assert answer.message
            finally:
                client.close()
    finally:
        for each in many:
            each.kill()
            each.communicate()


LATCHED_STATES = """
import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

def touched_mb():
    with open("/proc/self/status") as status:
        return next(int(each.split()[1]) for each in status if each.startswith("RssAnon")) / 1024

rclpy.init()
node = rclpy.create_node("latching")
publisher = node.create_publisher(
    String, "states", QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
)
small, large = String(data="x" * 300), String(data="y" * 200_000)
publisher.publish(large)
before = touched_mb()
for number in range(20_000):
    publisher.publish(large if number % 101 == 0 else small)
print(touched_mb() - before)
"""


@pytest.mark.parametrize("large_messages", [False, True])
def test_a_queue_takes_the_memory_of_what_is_in_it(large_messages: bool) -> None:
    """The middleware's own choice keeps the largest size that each place of a queue ever had."""

    def grown_mb(environment: dict[str, str]) -> float:
        words = [sys.executable, "-c", LATCHED_STATES]
        return float(subprocess.check_output(words, env=environment, timeout=120.0))

    ours = ros_environment(os.environ, large_messages=large_messages)
    # Ten of 0.2 MB are in the queue at a time, 200 have been.
    assert grown_mb(ours) < 10.0
    assert grown_mb({**ours, QOS_FROM_PROFILES: "0"}) > 20.0
