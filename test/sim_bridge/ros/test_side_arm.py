"""A robot whose arm reaches to one side, and that moves its base to bring things before the arm."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest
import side_arm
from scripted_port import ScriptedPort, map_of

from planner.world.geometry import Pose, wrap_angle_rad
from planner.world.house_checks import load_house
from planner.world.primitive import Primitive, PrimitiveCode
from sim_bridge.one_robot import Ended
from sim_bridge.opening import bare_episode
from sim_bridge.ros.backend import RosBackend
from sim_bridge.ros.driving import aside
from sim_bridge.ros.grasps import towards
from sim_bridge.ros.model import Model
from sim_bridge.ros.options import Controller
from sim_bridge.ros.port import Errand, Interface, Waypoint
from sim_bridge.safety.options import KeepOut, SafetyOptions, Zone

HOUSE = load_house("train_0")
TABLE = next(piece for piece in HOUSE.furniture if piece.class_name == "table")
OPTIONS, ARM = side_arm.OPTIONS, side_arm.OPTIONS.arm
MODEL = Model(side_arm.URDF, OPTIONS)
DOWN, ACROSS = (0.0, 0.0, -1.0), (1.0, 0.0, 0.0)


class SlidingPort(ScriptedPort):
    """Its driver moves the base by the joint `base_ahead`, from where it stands."""

    def follow(self, controller: Controller, way: Sequence[Waypoint]) -> Errand:
        if controller.joints == ("base_ahead",):
            self.base = self.base.compose(Pose.planar(way[-1][0]["base_ahead"], 0.0))
            return self._send(Interface.TRAJECTORY, way, lambda: None)
        return super().follow(controller, way)


def started(safety: SafetyOptions | None = None) -> tuple[RosBackend, SlidingPort]:
    port = SlidingPort(OPTIONS, side_arm.URDF)
    port.base = Pose.planar(1.0, 1.0)
    port.tell(map=map_of(HOUSE))
    backend = RosBackend(port, OPTIONS, safety)
    backend.reset(HOUSE, bare_episode(HOUSE, 1), 1)
    backend.step(0.03)
    return backend, port


def through(steps: Generator[Any, None, Any], backend: RosBackend, port: ScriptedPort) -> Any:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value
        port.time_s += 0.03
        backend.senses.look()


def test_a_joint_that_stands_for_several_has_the_sum_of_their_ranges() -> None:
    assert MODEL.bounds("extension") == pytest.approx((0.0, 0.5))
    level = {**ARM.carry, "pitch": 0.0, "extension": 0.4}
    x, y, z = MODEL.tool(level).position_m
    assert (x, y, z) == pytest.approx((0.0, -0.2 - 0.4 - side_arm.HAND_M, side_arm.LOWEST_M + 0.5))


def test_how_far_the_base_has_to_slide() -> None:
    beside = towards((0.0, -0.5, 0.6), DOWN, ACROSS)
    assert MODEL.aside([beside], ARM.carry) == 0.0
    ahead = towards((0.2, -0.5, 0.6), DOWN, ACROSS)
    assert MODEL.solve(ahead, ARM.carry) is None
    way_m = MODEL.aside([ahead], ARM.carry)
    assert way_m is not None
    assert way_m == pytest.approx(0.2, abs=0.02)
    moved = towards((0.2 - way_m, -0.5, 0.6), DOWN, ACROSS)
    assert MODEL.solve(moved, ARM.carry) is not None
    assert MODEL.aside([towards((0.6, -0.5, 0.6), DOWN, ACROSS)], ARM.carry) is None
    # Of several poses one is enough.
    assert MODEL.aside([ahead, beside], ARM.carry) == 0.0


def test_it_stands_with_its_arm_towards_the_target() -> None:
    backend, port = started()
    steps = backend.start("agent_0", Primitive("navigate", (*TABLE.box.center_m[:2], 0.5)))
    while backend.poll(steps).result is None:
        port.time_s += 0.03
        backend.step(0.03)
    done = backend.poll(steps).result
    assert done is not None
    assert done.succeeded, done.text
    x, y, _ = port.base.inverse().apply(TABLE.box.center_m)
    assert math.atan2(y, x) == pytest.approx(-math.pi / 2, abs=0.01)


def test_it_turns_its_arm_to_a_thing_before_it_looks_for_a_grasp() -> None:
    backend, port = started()
    port.base = Pose.planar(*TABLE.box.center_m[:2])
    x, y, _ = port.base.position_m
    backend.step(0.03)
    handle = backend.start("agent_0", Primitive("pick", (x + 0.5, y, 0.75)))
    for _ in range(200):
        port.time_s += 0.03
        backend.step(0.03)
    goals = [what for kind, what in port.sent if kind is Interface.NAVIGATE]
    assert isinstance(goals[0], Pose)
    assert wrap_angle_rad(goals[0].yaw_rad) == pytest.approx(math.pi / 2)
    result = backend.poll(handle).result
    assert result is not None
    assert "no pictures yet" in result.text


def test_the_base_moves_until_the_arm_gets_there() -> None:
    backend, port = started()
    ahead = towards((0.2, -0.5, 0.6), DOWN, ACROSS)
    assert through(aside(backend, [ahead]), backend, port) is True
    assert port.base.position_m[0] == pytest.approx(1.2, abs=0.02)
    assert port.base.position_m[1] == pytest.approx(1.0)
    # Now it is there, so nothing more is sent.
    count = len(port.sent)
    left = towards((0.0, -0.5, 0.6), DOWN, ACROSS)
    assert through(aside(backend, [left]), backend, port) is False
    assert len(port.sent) == count


def test_the_base_does_not_move_into_a_keep_out_zone() -> None:
    zone = Zone(name="stairs", polygon_m=((1.1, 0.0), (3.0, 0.0), (3.0, 3.0), (1.1, 3.0)))
    backend, port = started(SafetyOptions(keep_out=KeepOut(zones=(zone,))))
    ahead = towards((0.2, -0.5, 0.6), DOWN, ACROSS)
    with pytest.raises(Ended) as caught:
        through(aside(backend, [ahead]), backend, port)
    assert caught.value.result.code is PrimitiveCode.UNREACHABLE
    assert "into the keep-out zone stairs" in caught.value.result.text
    assert port.sent == []


def test_a_finger_that_is_only_drawn_is_no_reason_for_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    # MuJoCo writes warnings to the terminal and into a file of the folder.
    monkeypatch.chdir(tmp_path)
    Model(side_arm.URDF, OPTIONS)
    said = capfd.readouterr()
    assert said.out + said.err == ""
    assert list(tmp_path.iterdir()) == []
