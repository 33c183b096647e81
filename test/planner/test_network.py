import fcntl
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from planner import network
from planner.network import (
    TOKEN,
    confine,
    free_shared_memory,
    is_loopback_only,
    reachable_sockets,
    token_of,
    unused_segments,
)
from planner.world.errors import PlannerError
from planner.world.share import config_dir

PROFILES, RANGE = "FASTDDS_DEFAULT_PROFILES_FILE", "ROS_AUTOMATIC_DISCOVERY_RANGE"
KEYS = {"ROS_SECURITY_ENABLE": "true", "ROS_SECURITY_STRATEGY": "Enforce"}
NAMESPACE = "{http://www.eprosima.com}"


def confined(*, large_messages: bool = False, **environment: str) -> dict[str, str]:
    confine(environment, large_messages=large_messages)
    return environment


def profile(environment: dict[str, str]) -> str:
    path = Path(environment[PROFILES])
    assert path.is_file()
    return path.name


@pytest.mark.parametrize("discovery", ["", "LOCALHOST", "SUBNET", "localhost"])
def test_ros_stays_on_the_loopback_whatever_the_discovery_range(discovery: str) -> None:
    made = confined(**{RANGE: discovery})
    assert profile(made) == "fastdds_loopback.xml"
    assert made[RANGE] == "SYSTEM_DEFAULT"
    assert made["RMW_FASTRTPS_USE_QOS_FROM_XML"] == "1"
    assert is_loopback_only(made)


def test_no_discovery_at_all_stays_so() -> None:
    made = confined(**{RANGE: "OFF"})
    assert (profile(made), made[RANGE]) == ("fastdds_loopback.xml", "OFF")


def test_a_sender_of_pictures_has_more_shared_memory_on_the_loopback_and_off_it() -> None:
    assert profile(confined(large_messages=True)) == "fastdds_bridge_loopback.xml"
    made = confined(large_messages=True, PLANNER_NETWORK="open")
    assert profile(made) == "fastdds_bridge.xml"


def test_a_child_of_a_confined_process_gets_what_it_needs_itself() -> None:
    parent = confined()
    assert confined(large_messages=True, **parent) == confined(large_messages=True)
    assert confined(**confined(large_messages=True)) == parent


def test_one_setting_opens_it_also_where_a_parent_was_confined() -> None:
    for before in ({}, confined(), confined(large_messages=True)):
        made = confined(**before, PLANNER_NETWORK="open")
        assert made == {"PLANNER_NETWORK": "open", RANGE: "SUBNET"}
        assert not is_loopback_only(made)


def test_once_open_the_discovery_range_is_ros_own_affair() -> None:
    made = confined(PLANNER_NETWORK="Open", **{RANGE: "LOCALHOST"})
    assert made[RANGE] == "LOCALHOST"
    assert is_loopback_only(made)


@pytest.mark.parametrize(
    ("environment", "token"),
    [
        ({}, ""),
        ({TOKEN: "x"}, ""),
        ({"PLANNER_NETWORK": "open", TOKEN: "a secret of ours"}, "a secret of ours"),
        ({"PLANNER_NETWORK": "open", **KEYS}, ""),
    ],
)
def test_a_token_is_needed_on_an_open_network_without_keys(
    environment: dict[str, str], token: str
) -> None:
    assert token_of(environment) == token


@pytest.mark.parametrize(
    ("environment", "reason"),
    [
        ({}, "PLANNER_NETWORK=open without SROS 2 lets every machine command the robots"),
        ({**KEYS, "ROS_SECURITY_STRATEGY": "Permissive"}, f"set {TOKEN} to the same secret"),
        ({TOKEN: "short"}, f"{TOKEN}: expected at least 12 visible ASCII characters, got 5"),
        ({TOKEN: "with a line\nend"}, "visible ASCII"),
    ],
)
def test_without_a_good_token_an_open_network_is_one_error(
    environment: dict[str, str], reason: str
) -> None:
    with pytest.raises(PlannerError, match=reason):
        token_of({"PLANNER_NETWORK": "open", **environment})


@pytest.mark.parametrize(("network", "discovery"), [("", "LOCALHOST"), ("open", "SUBNET")])
def test_a_profile_of_ones_own_stays(network: str, discovery: str) -> None:
    made = confined(PLANNER_NETWORK=network, **{PROFILES: "/etc/my_dds.xml"})
    assert made[PROFILES] == "/etc/my_dds.xml"
    assert made[RANGE] == discovery


def test_other_middlewares_are_only_asked_to_look_at_this_machine() -> None:
    made = confined(RMW_IMPLEMENTATION="rmw_cyclonedds_cpp")
    assert PROFILES not in made
    assert made[RANGE] == "LOCALHOST"
    assert profile(confined(RMW_IMPLEMENTATION="rmw_fastrtps_dynamic_cpp"))


def test_a_word_that_is_neither_is_refused() -> None:
    with pytest.raises(
        PlannerError, match="PLANNER_NETWORK: expected loopback or open, got 'opne'"
    ):
        confined(PLANNER_NETWORK="opne")


def test_without_our_profile_nothing_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.network.config_dir", lambda: tmp_path)
    with pytest.raises(PlannerError, match=r"fastdds_loopback\.xml is missing"):
        confined()


def test_whoever_joins_ros_confines_itself_first() -> None:
    # Within the bridge, or started by it; in a process that was started with `ros_environment`.
    confined_already = {
        "sim_bridge/external/node.py",
        "sim_bridge/ros/dead_man/node.py",
        "sim_bridge/ros/emulator/node.py",
        "planner/network_probe.py",
    }
    root = config_dir().parent
    joining = {
        path.relative_to(root).as_posix(): text
        for folder in ("papers", "planner", "sim_bridge")
        for path in (root / folder).rglob("*.py")
        if re.search(r"^\s+rclpy\.init\(", text := path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert len(joining) > 4
    careless = {name for name, text in joining.items() if "confine(os.environ" not in text}
    assert careless - confined_already == set()


@pytest.mark.parametrize("name", ["fastdds_loopback.xml", "fastdds_bridge_loopback.xml"])
def test_a_loopback_profile_names_no_other_address(name: str) -> None:
    tree = ET.parse(config_dir() / "dds" / name)  # noqa: S314 - our own file
    kinds = [each.text for each in tree.iter(f"{NAMESPACE}type")]
    assert kinds == ["SHM", "UDPv4"]
    assert [each.text for each in tree.iter(f"{NAMESPACE}useBuiltinTransports")] == ["false"]
    addresses = [each.text for each in tree.iter(f"{NAMESPACE}address")]
    assert addresses == ["127.0.0.1"] * 3


def test_the_bridge_has_the_same_buffers_on_the_loopback_as_off_it() -> None:
    def sizes(name: str) -> list[tuple[str, str | None]]:
        tree = ET.parse(config_dir() / "dds" / name)  # noqa: S314 - our own file
        kept = ("segment_size", "maxMessageSize", "sendBufferSize", "receiveBufferSize")
        return [
            (tag, each.text)
            for each in tree.iter()
            if (tag := each.tag.removeprefix(NAMESPACE)) in kept
        ]

    assert len(sizes("fastdds_bridge.xml")) == 4
    assert sizes("fastdds_bridge_loopback.xml") == sizes("fastdds_bridge.xml")


INET, INET6 = socket.AF_INET, socket.AF_INET6
UDP, TCP = socket.SOCK_DGRAM, socket.SOCK_STREAM


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def bound(stack: ExitStack, family: int, kind: int, address: str) -> tuple[socket.socket, int]:
    try:
        made = stack.enter_context(socket.socket(family, kind))
        made.bind((address, 0))
    except OSError as error:
        pytest.skip(f"no such socket here: {error}")
    return made, made.getsockname()[1]


@pytest.mark.parametrize(
    ("family", "address", "shown"),
    [
        (INET, "0.0.0.0", "udp 0.0.0.0"),  # noqa: S104 - what is looked for
        (INET6, "::", "udp6 ::"),
        (INET6, "::ffff:0.0.0.0", "udp6 0.0.0.0"),
    ],
)
def test_bound_to_every_address_is_reachable(
    stack: ExitStack, family: int, address: str, shown: str
) -> None:
    _, port = bound(stack, family, UDP, address)
    assert f"{shown}:{port}" in reachable_sockets()


@pytest.mark.parametrize(
    ("family", "address"),
    [(INET, "127.0.0.1"), (INET, "127.1.2.3"), (INET6, "::1"), (INET6, "::ffff:127.0.0.1")],
)
def test_bound_to_the_loopback_is_not(stack: ExitStack, family: int, address: str) -> None:
    before = reachable_sockets()
    bound(stack, family, UDP, address)
    assert reachable_sockets() == before


def test_a_server_counts_and_its_connections_do_not(stack: ExitStack) -> None:
    server, port = bound(stack, INET, TCP, "0.0.0.0")  # noqa: S104
    assert f"tcp 0.0.0.0:{port}" not in reachable_sockets()
    server.listen()
    assert reachable_sockets().count(f"tcp 0.0.0.0:{port}") == 1
    stack.enter_context(socket.create_connection(("127.0.0.1", port)))
    accepted, _ = server.accept()
    stack.enter_context(accepted)
    server.close()
    assert not [found for found in reachable_sockets() if found.endswith(f":{port}")]


def test_other_processes_count_for_themselves(stack: ExitStack) -> None:
    _, port = bound(stack, INET, UDP, "0.0.0.0")  # noqa: S104
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        assert not [each for each in reachable_sockets(other.pid) if each.endswith(f":{port}")]
        other.communicate(b"\n")


def test_a_process_that_is_not_there_is_an_error() -> None:
    with pytest.raises(FileNotFoundError):
        reachable_sockets(0x7FFFFFFF)


def test_only_shared_memory_of_the_dead_is_freed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "_SHARED_MEMORY", tmp_path)
    owned, left, young = (tmp_path / f"fastdds_{digit * 16}" for digit in "abc")
    other = tmp_path / "fastdds_port7411"
    locks = [path.with_name(f"{path.name}_el") for path in (owned, left, young, other)]
    for path in (owned, left, young, other, *locks):
        path.write_bytes(b"")
        os.utime(path, (1e9, 1e9))
    os.utime(locks[2])
    with locks[0].open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert unused_segments() == [left]
        free_shared_memory()
        free_shared_memory([owned])
    assert sorted(tmp_path.iterdir()) == sorted({owned, young, other, *locks} - {left, locks[1]})
    free_shared_memory([owned, young])
    assert sorted(tmp_path.iterdir()) == [other, locks[3]]
