"""The link between two namespaces does to frames what it says."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from planner.bad_day.processes import PacketFaults, PacketLink, segments_of
from planner.world.errors import PlannerError

# Each waits on a clock.
pytestmark = pytest.mark.slow
PORT = 5005
# Prints how long each answer took, null where none came, and the numbers in the order they came.
ASK = """
import json, socket, sys, time
there, count, together = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "together"
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.connect((there, PORT))
taken, came = [], []
if together:
    for number in range(count):
        one.send(str(number).encode())
        time.sleep(0.002)
    one.settimeout(1.5)
    try:
        while True:
            came.append(int(one.recv(100)))
    except TimeoutError:
        pass
else:
    one.settimeout(1.0)
    for number in range(count):
        began = time.monotonic()
        one.send(str(number).encode())
        try:
            while int(one.recv(100)) != number:
                pass
            taken.append(time.monotonic() - began)
        except TimeoutError:
            taken.append(None)
print(json.dumps({"taken": taken, "came": came}))
""".replace("PORT", str(PORT))
ANSWER = """
import socket
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind(("0.0.0.0", PORT))
print("ready", flush=True)
while True:
    data, who = one.recvfrom(100)
    one.sendto(data, who)
""".replace("PORT", str(PORT))


@pytest.fixture(scope="module")
def link() -> Iterator[PacketLink]:
    if os.geteuid() != 0:
        pytest.skip("a packet link needs root")
    try:
        made = PacketLink(seed=3)
    except PlannerError as error:
        pytest.skip(str(error))
    with made:
        yield made


@contextmanager
def answering(link: PacketLink) -> Iterator[None]:
    words = link.far.inside(sys.executable, "-c", ANSWER)
    running = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert running.stdout is not None
        assert running.stdout.readline() == "ready\n"
        yield
    finally:
        running.kill()
        running.communicate()


def ask(link: PacketLink, count: int, how: str = "each") -> tuple[list[float | None], list[int]]:
    words = [sys.executable, "-c", ASK, link.far.address, str(count), how]
    done = subprocess.run(
        link.near.inside(*words), capture_output=True, text=True, check=True, timeout=60
    )
    found = json.loads(done.stdout)
    return found["taken"], found["came"]


def test_frames_take_half_of_the_round_trip_each_way(link: PacketLink) -> None:
    with answering(link):
        for delay_s in (0.0, 0.1, 0.3):
            link.faults = PacketFaults(round_trip_s=delay_s)
            # The first asks for the other's hardware address.
            taken = [each for each in ask(link, 6)[0][1:] if each is not None]
            assert len(taken) == 5
            assert min(taken) >= delay_s
            assert statistics.median(taken) < delay_s + 0.25


def test_frames_are_lost(link: PacketLink) -> None:
    with answering(link):
        link.faults = PacketFaults()
        ask(link, 1)
        link.faults = PacketFaults(loss=0.2)
        _, came = ask(link, 200, "together")
    # Of 200 there and back 64 % are left; the bounds are five standard deviations away.
    assert 94 < len(came) < 162
    assert came == sorted(came)


def test_frames_overtake_one_another(link: PacketLink) -> None:
    with answering(link):
        link.faults = PacketFaults()
        ask(link, 1)
        link.faults = PacketFaults(reordered=0.2)
        _, came = ask(link, 200, "together")
    assert sorted(came) == list(range(200))
    assert came != sorted(came)


def test_a_stalled_link_delivers_nothing_until_it_continues(link: PacketLink) -> None:
    with answering(link):
        link.faults = PacketFaults()
        ask(link, 1)
        link.faults = PacketFaults(stalled=True)
        taken, _ = ask(link, 2)
        assert taken == [None, None]
        link.faults = replace(link.faults, stalled=False)
        assert any(each is not None for each in ask(link, 5)[0])


def test_nothing_is_left_behind() -> None:
    if os.geteuid() != 0:
        pytest.skip("a packet link needs root")
    try:
        made = PacketLink()
    except PlannerError as error:
        pytest.skip(str(error))
    names = {made.near.namespace, made.far.namespace}
    made.close()
    time.sleep(0.1)
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    assert not names & {*listed.stdout.split()}


def test_a_process_that_is_gone_has_mapped_nothing() -> None:
    assert segments_of(2**22 + 1) == set()
