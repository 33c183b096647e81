"""What is wrong with a robot or the way to it: one line that says what to do, and no motion.

The robot is an emulator in real time, reached as a real one is.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")
pytest.importorskip("cryptography", reason="the extra `spot` is not installed")

from spot_trial import ROBOT

from planner.cli import main
from planner.world.errors import PlannerError
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from sim_bridge.backend import make_backend
from sim_bridge.one_robot import Command
from sim_bridge.opening import Opened, default_house, open_world
from sim_bridge.safety.gate import SafetyGate
from sim_bridge.safety.guard import Mode
from sim_bridge.safety.options import default_safety
from sim_bridge.spot.backend import SpotBackend
from sim_bridge.spot.emulator.faults import Trouble, TroubleKind
from sim_bridge.spot.emulator.machine import WallClock
from sim_bridge.spot.emulator.server import SpotEmulator

MOVING = {"RobotCommand", "ManipulationApi", "NavigateTo", "PowerCommand", "TakeLease"}


@pytest.fixture(scope="module")
def opened() -> Opened:
    return open_world(default_house(), "", 0, 1)


@pytest.fixture
def emulator(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> Iterator[SpotEmulator]:
    with SpotEmulator(WallClock()) as made:
        made.load(opened.house, opened.episode, 0)
        monkeypatch.setenv("SPOT_IP", made.address)
        monkeypatch.setenv("SPOT_PORT", str(made.port))
        monkeypatch.setenv("SPOT_CERTIFICATE", str(made.authority))
        monkeypatch.setenv("BOSDYN_CLIENT_USERNAME", made.user)
        monkeypatch.setenv("BOSDYN_CLIENT_PASSWORD", made.password)
        yield made
        moved = {record.method for record in made.requests} & MOVING
        assert not moved, "what is wrong must never move the robot"
        assert made.machine.motors.value == "off"


def trouble(emulator: SpotEmulator, kind: TroubleKind, **more: object) -> None:
    emulator.trouble(Trouble.model_validate({"kind": kind, **more}))


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def not_a_spot(monkeypatch: pytest.MonkeyPatch, **values: str | None) -> None:
    for name, value in values.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)


def hang(emulator: SpotEmulator) -> None:
    trouble(emulator, TroubleKind.HANG, method="GetAuthToken", seconds=4.0)


def boot(emulator: SpotEmulator) -> None:
    trouble(emulator, TroubleKind.FAIL, method="GetAuthToken", count=9)


def half_boot(emulator: SpotEmulator) -> None:
    trouble(emulator, TroubleKind.NO_SERVICE, name="robot-command")


def slow_clock(emulator: SpotEmulator) -> None:
    trouble(emulator, TroubleKind.FAIL, method="TimeSyncUpdate", count=60)


def ahead(emulator: SpotEmulator) -> None:
    trouble(emulator, TroubleKind.CLOCK_SKEW, value=300.0)


def behind(emulator: SpotEmulator) -> None:
    trouble(emulator, TroubleKind.CLOCK_SKEW, value=-300.0)


@pytest.mark.parametrize(
    ("values", "spoil", "words"),
    [
        ({"SPOT_IP": None}, None, "no address; set SPOT_IP"),
        ({"BOSDYN_CLIENT_PASSWORD": None}, None, "no account; set BOSDYN_CLIENT_USERNAME"),
        ({"BOSDYN_CLIENT_PASSWORD": "wrong"}, None, "name or password is wrong; set BOSDYN"),
        ({"SPOT_CERTIFICATE": None}, None, "certificate is not one of.*set SPOT_CERTIFICATE"),
        ({"SPOT_CERTIFICATE": "/nowhere.pem"}, None, "certificate.*cannot be read; set SPOT_CERT"),
        ({"SPOT_IP": "no-such-robot.invalid"}, None, "is not known; check SPOT_IP"),
        ({"SPOT_PORT": "free"}, None, "nothing answers at port.*check SPOT_PORT"),
        ({"SPOT_PORT": "many"}, None, "'many' is not a port"),
        ({}, hang, "answers too slowly; check the network"),
        ({}, boot, "wait until it has booted"),
        ({}, half_boot, "wait until it has booted"),
        ({}, slow_clock, "clock cannot be compared; wait until it has booted"),
        ({}, ahead, "300 s ahead of this computer's.*set both clocks"),
        ({}, behind, "300 s behind this computer's.*set both clocks"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_is_wrong_with_the_connection_is_one_line_that_says_what_to_do(
    opened: Opened,
    emulator: SpotEmulator,
    monkeypatch: pytest.MonkeyPatch,
    values: dict[str, str | None],
    spoil: Callable[[SpotEmulator], None] | None,
    words: str,
) -> None:
    given = {name: free_port() if text == "free" else text for name, text in values.items()}
    not_a_spot(monkeypatch, **given)
    if spoil is not None:
        spoil(emulator)
    backend = SpotBackend()
    with pytest.raises(PlannerError, match=words) as caught:
        backend.reset(opened.house, opened.episode, 7)
    assert "\n" not in str(caught.value)
    assert backend.agents == ()
    backend.close()


def test_a_robot_that_is_switched_off_says_so(
    opened: Opened, emulator: SpotEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 192.0.2.0/24 is for documentation: nobody is there.
    monkeypatch.setenv("SPOT_IP", "192.0.2.1")
    monkeypatch.setattr("sim_bridge.spot.connection.PROBE_S", 0.2)
    safety = default_safety()
    brief = safety.timeouts.model_copy(update={"login_s": 0.5})
    backend = SpotBackend(safety=safety.model_copy(update={"timeouts": brief}))
    with pytest.raises(PlannerError, match=r"answer|slowly") as caught:
        backend.reset(opened.house, opened.episode, 7)
    assert "check" in str(caught.value)
    backend.close()


def claimed(opened: Opened) -> SafetyGate:
    gate = SafetyGate(SpotBackend())
    gate.reset(opened.house, opened.episode, 0)
    return gate


def test_a_lease_that_the_tablet_holds_is_named_and_left_alone(
    opened: Opened, emulator: SpotEmulator
) -> None:
    """Rule 5."""
    trouble(emulator, TroubleKind.TAKE_LEASE, name="tablet-7")
    gate = claimed(opened)
    refused = gate.command(ROBOT, Command.CLAIM)
    assert not refused.success
    assert "tablet-7 holds the lease; have it released there" in refused.message
    gate.step(0.1)
    assert gate.mode(ROBOT) is Mode.LOST
    walk = gate.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, (1.0, 1.0, 0.0)))
    assert gate.poll(walk).result is not None
    gate.close()
    assert emulator.machine.lease.owner == "tablet-7"


def test_an_empty_battery_and_a_pressed_stop_are_reported_before_anything_moves(
    opened: Opened, emulator: SpotEmulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rules 4 and 15."""
    trouble(emulator, TroubleKind.BATTERY, value=12.0)
    trouble(emulator, TroubleKind.ESTOP, value=1.0)
    gate = claimed(opened)
    assert gate.command(ROBOT, Command.CLAIM).success
    gate.step(0.1)
    told = " ".join(gate.obstacles(ROBOT))
    assert "the battery has 12%" in told
    assert "emergency stop is engaged on the robot; release it where it was pressed" in told
    refused = gate.command(ROBOT, Command.POWER_ON)
    assert "emergency stop is engaged; release it" in refused.message
    assert emulator.machine.motors.value == "off"
    emulator.requests.clear()
    gate.close()
    emulator.requests.clear()


def test_a_wrong_frame_and_a_layout_with_unknown_furniture_are_reported(
    opened: Opened, emulator: SpotEmulator, tmp_path: Path
) -> None:
    backend = SpotBackend()
    backend.reset(opened.house, opened.episode, 0)
    for frame in ("", "odom", "agent_1/odom", "spot/body"):
        walk = backend.start(ROBOT, Primitive(PrimitiveName.NAVIGATE, (1.0, 1.0, 0.0), frame))
        result = backend.poll(walk).result
        assert result is not None
        assert result.code is PrimitiveCode.BAD_FRAME
        assert "agent_0/base_link" in result.text
    backend.close()
    layout, settings = tmp_path / "flat.yaml", tmp_path / "spot.yaml"
    layout.write_text(
        "version: 1\nname: flat\n"
        "rooms: [{name: hall_0, class_name: hallway, polygon_m: [[0,0],[5,0],[5,5],[0,5]]}]\n"
        "furniture: [{name: coach_0, class_name: coach, room: hall_0, x_m: 1, y_m: 1, "
        "size_m: [1,1,1]}]\n"
    )
    settings.write_text(f"version: 1\nlayout: {layout}\n")
    with pytest.raises(PlannerError, match=r"furniture\.0\.class_name: .*couch"):
        make_backend("spot", str(settings))


def test_spot_look_tells_how_the_robot_is_and_moves_nothing(
    emulator: SpotEmulator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["spot-look"]) == 0
    said = capsys.readouterr().out
    assert "battery         88%" in said
    assert "markers seen    500" in said
    trouble(emulator, TroubleKind.TAKE_LEASE, name="tablet-7")
    trouble(emulator, TroubleKind.ESTOP, value=1.0)
    assert main(["spot-look"]) == 1
    said = capsys.readouterr().out
    assert "tablet-7 has it; have it released there" in said
    assert "release it where it was pressed" in said
    assert not {"AcquireLease"} & {record.method for record in emulator.requests}
    monkeypatch.setenv("BOSDYN_CLIENT_PASSWORD", "wrong")
    assert main(["spot-look"]) == 2
    assert "name or password is wrong" in capsys.readouterr().err
