import os
import subprocess
import sys
from pathlib import Path

import pytest

from planner.ros.domain_lock import DomainLock, domain_id
from planner.ros.goal_server import Peers, is_of_process, running_processes, surely_gone
from planner.world.errors import PlannerError

HOST = bytes.fromhex("010f78fd")


def gid(pid: int, participant: int = 0, host: bytes = HOST) -> bytes:
    return host + pid.to_bytes(2, "little") + bytes([7, 7, participant, 0, 0, 0, 0, 0, 20, 3])


def test_a_process_is_running_until_it_dies_reaped_or_not() -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    low_bits = child.pid & 0xFFFF
    assert child.pid in {pid for pid, _ in running_processes(low_bits)}
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert child.pid not in {pid for pid, _ in running_processes(low_bits)}
    child.wait()
    assert child.pid not in {pid for pid, _ in running_processes(low_bits)}


def test_a_client_that_stays_is_not_lost() -> None:
    own = gid(os.getpid())
    assert is_of_process(own, os.getpid())
    clients = Peers([own], own)
    assert clients.lost([own], 1) == ""
    assert clients.lost([own, gid(5)], 2) == ""


def test_a_client_that_left_in_order_is_lost() -> None:
    clients = Peers([gid(1), gid(2)], None)
    assert clients.lost([gid(1)], 1) != ""


def test_a_killed_client_is_lost_while_the_graph_still_lists_it() -> None:
    alive = {300: frozenset({(300, "11")})}
    clients = Peers([gid(300)], gid(4), lambda bits: alive.get(bits, frozenset()))
    assert clients.lost([gid(300)], 1) == ""
    alive[300] = frozenset({(300, "99")})  # the number was given to another process
    assert "died" in clients.lost([gid(300)], 1)


def test_processes_that_cannot_be_seen_are_left_to_the_graph() -> None:
    elsewhere = gid(300, host=b"\x01\x0f\x00\x00")
    for clients in (
        Peers([elsewhere], gid(4), lambda _bits: frozenset({(1, "1")})),
        Peers([gid(300)], gid(4), lambda _bits: frozenset()),
        Peers([gid(300)], None, lambda _bits: frozenset({(1, "1")})),
    ):
        assert clients.lost([elsewhere, gid(300)], 2) == ""


def test_a_sender_that_was_dead_before_it_could_be_looked_for_is_lost() -> None:
    for dead in (True, False):
        gone = {300: dead}
        sender = Peers([gid(300)], gid(4), lambda _bits: frozenset(), gone=gone.__getitem__)
        assert ("died" in sender.lost([gid(300)], 2)) == dead


def test_a_process_is_surely_gone_only_where_every_container_can_be_seen(tmp_path: Path) -> None:
    def process(pid: int, text: str) -> None:
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "status").write_text(text)

    (tmp_path / "self" / "ns").mkdir(parents=True)
    (tmp_path / "self" / "ns" / "pid").symlink_to("pid:[4026531836]")
    process(500, "Name:\ta: b\nState:\tS (sleeping)\nNSpid:\t500\t12\n")
    process(600, "Name:\tdead\nState:\tZ (zombie)\nNSpid:\t600\n")
    assert [bits for bits in (12, 500, 600, 700) if surely_gone(bits, tmp_path)] == [600, 700]
    (tmp_path / "self" / "ns" / "pid").unlink()
    (tmp_path / "self" / "ns" / "pid").symlink_to("pid:[4026532001]")
    assert not surely_gone(700, tmp_path)


def test_a_server_made_again_in_the_same_process_is_another() -> None:
    first, second = gid(300), gid(300)[:-1] + b"\x09"
    alive = frozenset({(300, "11")})
    for endpoints in (True, False):
        servers = Peers([first], gid(4), lambda _bits: alive, "server", endpoints=endpoints)
        assert bool(servers.lost([second], 1)) == endpoints


def test_a_killed_server_that_is_still_listed_is_doubted_and_not_missed_later() -> None:
    alive = {300: frozenset({(300, "11")})}
    listed = [gid(300), gid(301)]
    servers = Peers(listed, gid(4), lambda bits: alive.get(bits, frozenset()), "server")
    assert servers.doubtful
    assert servers.lost([gid(300)], 1) != ""
    servers.settle()
    assert servers.lost([gid(300)], 1) == ""
    assert servers.lost([], 0) != ""


def test_a_server_that_answers_before_it_is_listed_is_the_one_that_is_followed() -> None:
    alive = {301: frozenset({(301, "12")})}
    servers = Peers([gid(300)], gid(4), lambda bits: alive.get(bits, frozenset()), "server")
    servers.settle()
    assert servers.lost([gid(300)], 1) == ""
    assert servers.lost([gid(300), gid(301)], 2) == ""
    # The lease of the killed one has ended.
    assert servers.lost([gid(301)], 1) == ""
    alive.clear()
    assert servers.lost([gid(301)], 1) != ""


def test_without_ids_only_the_last_client_can_be_missed() -> None:
    clients = Peers([], None)
    assert clients.lost([], 1) == ""
    assert clients.lost([], 0) != ""


def test_the_domain_is_a_number() -> None:
    assert (domain_id({}), domain_id({"ROS_DOMAIN_ID": "7"})) == (0, 7)
    for text in ("home", "-1", "233"):
        with pytest.raises(PlannerError, match=f"ROS_DOMAIN_ID: expected 0 to 232, got '{text}'"):
            domain_id({"ROS_DOMAIN_ID": text})


def test_a_domain_has_one_bridge() -> None:
    first = DomainLock(99_001)
    with pytest.raises(PlannerError, match="domain 99001"):
        DomainLock(99_001)
    DomainLock(99_002).close()
    first.close()
    first.close()
    DomainLock(99_001).close()
