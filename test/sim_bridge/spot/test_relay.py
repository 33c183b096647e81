"""The link before the emulator: what it does to bytes, and to the unmodified SDK."""

from __future__ import annotations

import argparse
import socket
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

import bosdyn.util
from bosdyn.client import create_standard_sdk
from bosdyn.client.exceptions import RpcError
from bosdyn.client.robot_state import RobotStateClient

from planner.world.errors import PlannerError
from sim_bridge.opening import default_house, open_world
from sim_bridge.spot.emulator.cli import add_arguments, script_of
from sim_bridge.spot.emulator.faults import FaultScript, LinkFaults, LinkRelay, Trouble, TroubleKind
from sim_bridge.spot.emulator.machine import WallClock
from sim_bridge.spot.emulator.server import SpotEmulator
from sim_bridge.spot.emulator.service import CallFaults

# A busy machine takes so much longer; what the link makes of a call is told apart all the same.
MARGIN_S = 0.25


class Echo:
    """A server that sends back what it hears."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                one, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(one,), daemon=True).start()

    @staticmethod
    def _answer(one: socket.socket) -> None:
        with one:
            try:
                while data := one.recv(1 << 16):
                    one.sendall(data)
            except OSError:
                return

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    made = Echo()
    yield made
    made.close()


def connect(relay: LinkRelay) -> socket.socket:
    made = socket.create_connection(("127.0.0.1", relay.port), timeout=20)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def round_trip_s(one: socket.socket, data: bytes = b"x") -> float:
    began_s = time.monotonic()
    one.sendall(data)
    left = len(data)
    while left:
        got = one.recv(1 << 16)
        assert got, "the connection ended"
        left -= len(got)
    return time.monotonic() - began_s


@pytest.mark.parametrize("delay_s", [0.0, 0.1, 0.3])
def test_bytes_take_half_of_the_round_trip_each_way(echo: Echo, delay_s: float) -> None:
    with LinkRelay(echo.port, LinkFaults(round_trip_s=delay_s)) as relay, connect(relay) as one:
        # The first waits for the connection too, as with TCP.
        assert round_trip_s(one) >= 2 * delay_s
        taken = [round_trip_s(one) for _ in range(5)]
    assert min(taken) >= delay_s
    assert statistics.median(taken) < delay_s + MARGIN_S


def test_a_delay_slows_nothing_down(echo: Echo) -> None:
    """Ten round trips' worth of pieces, sent at once, arrive after one."""
    delay_s = 0.5
    with LinkRelay(echo.port, LinkFaults(round_trip_s=delay_s)) as relay, connect(relay) as one:
        round_trip_s(one)
        began_s = time.monotonic()
        heard = 0
        for _ in range(10):
            one.sendall(b"y" * 1000)
            time.sleep(0.02)
        while heard < 10_000:
            heard += len(one.recv(1 << 16))
        assert delay_s <= time.monotonic() - began_s < 3 * delay_s


def test_megabytes_pass_unchanged(echo: Echo) -> None:
    sent = bytes(range(256)) * (20 << 12)
    faults = LinkFaults(round_trip_s=0.02, jitter_s=0.01)
    with LinkRelay(echo.port, faults) as relay, connect(relay) as one:
        threading.Thread(target=one.sendall, args=(sent,), daemon=True).start()
        heard = bytearray()
        while len(heard) < len(sent):
            heard += one.recv(1 << 16)
    assert bytes(heard) == sent


def test_a_lost_packet_costs_its_direction_a_retransmission(echo: Echo) -> None:
    with LinkRelay(echo.port, LinkFaults(loss=0.3, seed=5)) as relay, connect(relay) as one:
        taken = [round_trip_s(one) for _ in range(20)]
        assert sum(each >= 0.2 for each in taken) >= 5
        relay.change(loss=0.0)
        round_trip_s(one)
        assert min(round_trip_s(one) for _ in range(5)) < 0.2


def test_the_same_seed_loses_the_same_packets(echo: Echo) -> None:
    patterns = []
    for seed in (5, 5, 6):
        with LinkRelay(echo.port, LinkFaults(loss=0.3, seed=seed)) as relay, connect(relay) as one:
            patterns.append([round(round_trip_s(one) // 0.2) > 0 for _ in range(12)])
    assert patterns[0] == patterns[1] != patterns[2]


def test_a_stalled_link_holds_bytes_and_takes_new_connections(echo: Echo) -> None:
    with LinkRelay(echo.port) as relay, connect(relay) as one:
        round_trip_s(one)
        relay.change(stalled=True)
        one.sendall(b"held")
        with connect(relay) as other:
            other.sendall(b"too")
            for each in (one, other):
                each.settimeout(0.3)
                with pytest.raises(TimeoutError):
                    each.recv(10)
                each.settimeout(20)
            relay.change(stalled=False)
            assert one.recv(10) == b"held"
            assert other.recv(10) == b"too"


def test_stalls_may_overlap(echo: Echo) -> None:
    with LinkRelay(echo.port) as relay, connect(relay) as one:
        round_trip_s(one)
        began_s = time.monotonic()
        relay.stall(0.8)
        relay.stall(0.1)
        round_trip_s(one)
        assert time.monotonic() - began_s >= 0.8


def test_cut_resets_all_and_takes_new_connections(echo: Echo) -> None:
    with LinkRelay(echo.port) as relay, connect(relay) as one:
        round_trip_s(one)
        assert relay.connections == 1
        relay.cut()
        with pytest.raises(ConnectionResetError):
            one.recv(10)
        with connect(relay) as other:
            assert round_trip_s(other) < 20
    with pytest.raises(OSError, match="refused"):
        connect(relay)


def test_ends_and_resets_of_either_side_pass_through(echo: Echo) -> None:
    with LinkRelay(echo.port, LinkFaults(round_trip_s=0.05)) as relay:
        with connect(relay) as one:
            one.sendall(b"last words")
            one.shutdown(socket.SHUT_WR)
            assert one.recv(100) == b"last words"
            assert one.recv(100) == b""
        listener = socket.create_server(("127.0.0.1", 0))
        with listener, LinkRelay(listener.getsockname()[1]) as other, connect(other) as client:
            server, _ = listener.accept()
            server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            server.close()
            with pytest.raises(ConnectionResetError):
                client.recv(10)


def test_a_port_in_use_is_one_clear_error(echo: Echo) -> None:
    with pytest.raises(PlannerError, match=f"port {echo.port} cannot be used"):
        LinkRelay(1, port=echo.port)


# The SDK over it


@pytest.fixture
def emulator() -> Iterator[SpotEmulator]:
    bosdyn.util.set_clock_source(time.time)
    opened = open_world(default_house(), "", 7, 1)
    with SpotEmulator(WallClock(), link=True) as made:
        made.load(opened.house, opened.episode, opened.seed)
        yield made


@pytest.fixture
def states(emulator: SpotEmulator) -> RobotStateClient:
    sdk = create_standard_sdk("tests of the link", cert_resource_glob=str(emulator.authority))
    robot = sdk.create_robot(emulator.address)
    robot.update_secure_channel_port(emulator.port)
    robot.authenticate(emulator.user, emulator.password, timeout=10)
    made = robot.ensure_client(RobotStateClient.default_service_name)
    made.get_robot_state(timeout=10)
    return made


def link_of(emulator: SpotEmulator) -> LinkRelay:
    assert emulator.link is not None
    return emulator.link


def ask(states: Any, timeout_s: float = 10.0) -> float:
    began_s = time.monotonic()
    states.get_robot_state(timeout=timeout_s)
    return time.monotonic() - began_s


@pytest.mark.parametrize("delay_s", [0.02, 0.1, 0.3])
def test_a_state_call_takes_the_round_trip(
    emulator: SpotEmulator, states: RobotStateClient, delay_s: float
) -> None:
    link_of(emulator).change(round_trip_s=delay_s)
    taken = [ask(states) for _ in range(5)]
    assert min(taken) >= delay_s
    assert statistics.median(taken) < delay_s + MARGIN_S


def test_a_call_over_a_stalled_link_ends_with_its_timeout_and_the_link_comes_back(
    emulator: SpotEmulator, states: RobotStateClient
) -> None:
    link_of(emulator).change(stalled=True)
    began_s = time.monotonic()
    with pytest.raises(RpcError):
        states.get_robot_state(timeout=0.4)
    assert time.monotonic() - began_s >= 0.4
    link_of(emulator).change(stalled=False)
    assert ask(states) < 10


def test_a_cut_link_is_connected_again(emulator: SpotEmulator, states: RobotStateClient) -> None:
    link_of(emulator).cut()
    answered = False
    until_s = time.monotonic() + 20
    while not answered and time.monotonic() < until_s:
        try:
            ask(states, 2.0)
            answered = True
        except RpcError:
            time.sleep(0.1)
    assert answered


def carried_out(emulator: SpotEmulator, method: str) -> int:
    return sum(record.method == method for record in emulator.requests)


def test_a_dropped_request_is_never_carried_out_and_a_dropped_answer_is(
    emulator: SpotEmulator, states: RobotStateClient
) -> None:
    for kind, expected in ((TroubleKind.DROP_REQUEST, 0), (TroubleKind.DROP_ANSWER, 1)):
        emulator.requests.clear()
        emulator.trouble(Trouble(kind=kind, method="GetRobotState"))
        with pytest.raises(RpcError):
            states.get_robot_state(timeout=0.4)
        assert carried_out(emulator, "GetRobotState") == expected
        ask(states)
        assert carried_out(emulator, "GetRobotState") == expected + 1


def test_a_held_request_is_carried_out_after_a_later_one(
    emulator: SpotEmulator, states: RobotStateClient
) -> None:
    emulator.requests.clear()
    emulator.trouble(Trouble(kind=TroubleKind.REORDER, method="GetRobotState", seconds=20.0))
    done: list[str] = []

    def first() -> None:
        states.get_robot_state(timeout=20.0)
        done.append("first")

    waiting = threading.Thread(target=first)
    waiting.start()
    time.sleep(0.3)
    assert carried_out(emulator, "GetRobotState") == 0
    ask(states)
    done.append("second")
    waiting.join(20.0)
    assert sorted(done) == ["first", "second"]
    first_at, second_at = (record.request.header for record in emulator.requests)
    # The header says when it was sent: what came first was carried out last.
    assert first_at.request_timestamp.ToNanoseconds() > second_at.request_timestamp.ToNanoseconds()


def test_the_same_seed_drops_the_same_calls() -> None:
    trouble = Trouble(kind=TroubleKind.DROP_REQUEST, method="GetRobotState", count=100, share=0.5)
    patterns = []
    for seed in (3, 3, 4):
        owed = CallFaults(seed)
        owed.add(trouble)
        assert owed.before("Stand") is None
        patterns.append([owed.before("GetRobotState") is not None for _ in range(12)])
    assert patterns[0] == patterns[1] != patterns[2]
    assert {*patterns[0]} == {True, False}


def test_a_script_stalls_the_link_when_it_says() -> None:
    bosdyn.util.set_clock_source(time.time)
    opened = open_world(default_house(), "", 7, 1)
    stall = Trouble(kind=TroubleKind.LINK_STALL, seconds=30.0)
    script = FaultScript(link=LinkFaults(round_trip_s=0.02), troubles=(stall,))
    with SpotEmulator(WallClock(), script=script) as made:
        made.load(opened.house, opened.episode, opened.seed)
        assert link_of(made).faults.round_trip_s == 0.02
        made.advance()
        time.sleep(0.1)
        made.advance()
        assert link_of(made).faults.stalled


def test_without_a_link_there_are_no_troubles_of_it() -> None:
    opened = open_world(default_house(), "", 7, 1)
    with SpotEmulator(WallClock()) as made:
        made.load(opened.house, opened.episode, opened.seed)
        with pytest.raises(PlannerError, match="has no link"):
            made.trouble(Trouble(kind=TroubleKind.LINK_CUT))


def test_the_command_takes_the_link_from_its_options_over_the_file(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    words = ["--round-trip", "0.2", "--seed", "9", "--stall", "3:5", "--stall", "20:1.5"]
    file = tmp_path / "troubles.yaml"
    file.write_text("link: {loss: 0.1, round_trip_s: 1}\ntroubles: [{kind: reboot, at_s: 7}]\n")
    script = script_of(parser.parse_args([*words, "--troubles", str(file)]))
    assert script.link == LinkFaults(round_trip_s=0.2, loss=0.1, seed=9)
    assert [(each.kind, each.at_s, each.seconds) for each in script.troubles] == [
        (TroubleKind.REBOOT, 7.0, 0.0),
        (TroubleKind.LINK_STALL, 3.0, 5.0),
        (TroubleKind.LINK_STALL, 20.0, 1.5),
    ]
    for wrong in (["--stall", "soon"], ["--loss", "2"]):
        with pytest.raises(PlannerError, match="options"):
            script_of(parser.parse_args(wrong))
