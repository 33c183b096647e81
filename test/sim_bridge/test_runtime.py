"""The bridge without ROS: cameras that fail, of simulators and of robots."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from walker import EPISODE, HOUSE, ROBOT, Walker, no_approval

from planner.world.errors import PlannerError
from planner.world.observation import Observation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.one_robot import Command
from sim_bridge.runtime import CAMERA_RETRY_S, Runtime


class Prompt(Walker):
    """A robot whose threads say when it has an answer."""

    def __init__(self) -> None:
        super().__init__()
        self.on_answer: Callable[[], None] = lambda: None

    def notify(self, on_answer: Callable[[], None]) -> None:
        self.on_answer = on_answer


def test_an_answer_is_taken_up_before_the_next_step_where_the_robot_notifies() -> None:
    robot = Prompt()
    runtime = Runtime(robot, no_approval())
    woken: list[bool] = []
    runtime.notify(lambda: woken.append(True))
    runtime.load(HOUSE, EPISODE, 0)
    robot.slow = {Command.CLAIM}
    order = runtime.order(ROBOT, Command.CLAIM)
    runtime.follow_orders()
    assert order.outcome is None
    robot.gets_there = True
    robot.on_answer()
    assert woken == [True]
    runtime.follow_orders()
    assert order.outcome is not None
    assert order.outcome.success


class Blinking(Walker):
    """A robot whose pictures do not come while `shut`."""

    def __init__(self) -> None:
        super().__init__()
        self.shut, self.sees, self.looks = True, True, 0

    def observe(self, agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        self.looks += bool(cameras)
        if cameras and self.shut:
            raise PlannerError("no pictures: it answers too slowly; check the network")
        return super().observe(agent, cameras)


def test_a_robots_pictures_are_asked_for_again_and_come_back_without_a_restart() -> None:
    robot = Blinking()
    runtime = Runtime(robot, no_approval())
    runtime.load(HOUSE, EPISODE, 0)
    assert runtime.sense(ROBOT, ("hand",)).cameras == {}
    assert "check the network" in runtime.picture_fault
    robot.shut = False
    runtime.sense(ROBOT, ("hand",))
    assert robot.looks == 1, "not with every tick: each may take a second of a dead link"
    runtime.step(CAMERA_RETRY_S)
    assert "hand" in runtime.sense(ROBOT, ("hand",)).cameras
    assert runtime.picture_fault == ""


def test_a_simulator_that_cannot_draw_is_asked_once_an_episode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = EmbeddedBackend()
    runtime = Runtime(backend)
    runtime.load(HOUSE, EPISODE, 0)
    observe, looks = backend.observe, []

    def fails(agent: str, cameras: Sequence[str] = ("hand",)) -> Observation:
        if cameras:
            looks.append(agent)
            raise PlannerError("no renderer")
        return observe(agent, cameras)

    monkeypatch.setattr(backend, "observe", fails)
    for _ in range(3):
        runtime.sense(ROBOT, ("hand",))
        runtime.step(2 * CAMERA_RETRY_S)
    assert looks == [ROBOT]
    assert runtime.picture_fault == "no renderer"
    runtime.close()
