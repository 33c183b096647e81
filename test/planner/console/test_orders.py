"""Driving by repeated wishes: bounded, one primitive at a time, and over when nobody wishes."""

from __future__ import annotations

import pytest

from planner.console.orders import PIECE_S, WISH_S, Driver
from planner.world.primitive import (
    MAX_DRIVE_S,
    DriveLimits,
    Primitive,
    PrimitiveCode,
    PrimitiveResult,
    PrimitiveStatus,
)

LIMITS = DriveLimits(0.5, 2.0, 1.0)


class Body:
    """Takes primitives and ends them when the test says so."""

    def __init__(self) -> None:
        self.started: list[Primitive] = []
        self.canceled: list[int] = []
        self.result: PrimitiveResult | None = None

    def start(self, primitive: Primitive) -> int:
        self.started.append(primitive)
        self.result = None
        return len(self.started)

    def poll(self, handle: int) -> PrimitiveStatus:
        assert handle == len(self.started)
        return PrimitiveStatus("driving", 0.0, self.result)

    def cancel(self, handle: int) -> None:
        self.canceled.append(handle)


class Trial:
    """A driver, its body, and a clock that only the test moves."""

    def __init__(self) -> None:
        self.body, self.now_s = Body(), 0.0
        self.driver = Driver(self.body, LIMITS, lambda: self.now_s)
        self.outcomes: list[tuple[bool, str]] = []

    def steer(self, forward: float, turn: float = 0.0) -> None:
        self.driver.steer(forward, turn, lambda good, text: self.outcomes.append((good, text)))

    def end(self, code: PrimitiveCode = PrimitiveCode.SUCCESS, text: str = "") -> None:
        self.body.result = PrimitiveResult(code, text)
        self.driver.watch()


@pytest.fixture
def trial() -> Trial:
    return Trial()


def test_a_wish_becomes_bounded_velocities_for_a_moment(trial: Trial) -> None:
    trial.steer(-0.5, 1.0)
    (primitive,) = trial.body.started
    drive = primitive.drive
    assert primitive.name == "drive"
    assert drive is not None
    assert (drive.forward_m_s, drive.turn_rad_s) == (-0.25, 2.0)
    assert drive.duration_s == PIECE_S <= MAX_DRIVE_S
    assert not drive.moves_arm


def test_one_primitive_follows_the_other_while_it_is_wished(trial: Trial) -> None:
    for _ in range(3):
        trial.steer(1.0)
        trial.now_s += 0.1
    assert len(trial.body.started) == 1
    trial.end()
    assert len(trial.body.started) == 2
    assert sorted(trial.outcomes) == [(True, "drives"), (True, "drives"), (True, "drove")]


def test_nobody_who_stopped_wishing_moves_anything(trial: Trial) -> None:
    trial.steer(1.0)
    trial.now_s = WISH_S + 0.01
    trial.driver.watch()
    assert trial.body.canceled == [1]
    trial.end(PrimitiveCode.CANCELED, "canceled")
    trial.driver.watch()
    assert len(trial.body.started) == 1
    assert not trial.driver.is_busy


def test_letting_go_and_stopping_end_it_at_once(trial: Trial) -> None:
    trial.steer(1.0)
    trial.steer(0.0)
    assert trial.body.canceled == [1]
    trial.end(PrimitiveCode.CANCELED, "canceled")
    assert len(trial.body.started) == 1
    trial.steer(1.0)
    trial.driver.stop()
    trial.end(PrimitiveCode.CANCELED, "canceled")
    assert len(trial.body.started) == 2
    assert all(good for good, _ in trial.outcomes)


def test_another_direction_takes_the_place_of_the_one_before(trial: Trial) -> None:
    trial.steer(1.0)
    trial.steer(0.0, 1.0)
    assert trial.body.canceled == [1]
    trial.end(PrimitiveCode.CANCELED, "canceled")
    drive = trial.body.started[-1].drive
    assert drive is not None
    assert (drive.forward_m_s, drive.turn_rad_s) == (0.0, 2.0)


def test_a_refusal_ends_the_wish_and_is_told_once(trial: Trial) -> None:
    trial.steer(1.0)
    trial.steer(1.0)
    trial.end(PrimitiveCode.NOT_ABLE, "the body cannot")
    assert trial.outcomes == [(True, "drives"), (False, "the body cannot")]
    assert not trial.driver.is_busy
    # In a later piece, when the wish that began the first one has its outcome already.
    trial.steer(1.0)
    trial.end()
    trial.end(PrimitiveCode.NOT_ALLOWED, "no longer")
    trial.steer(1.0)
    assert trial.outcomes[-1] == (False, "no longer")
    assert not trial.driver.is_busy
    trial.steer(1.0)
    assert trial.driver.is_busy
