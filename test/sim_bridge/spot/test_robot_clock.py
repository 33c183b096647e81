"""The robot's clock as the bridge knows it, for answers that are slow, overtaken or belied."""

from __future__ import annotations

import pytest

pytest.importorskip("bosdyn.client", reason="the extra `spot` is not installed")

from google.protobuf.duration_pb2 import Duration

from sim_bridge.spot.permit import RobotClock


class Endpoint:
    """An SDK endpoint whose estimate a test sets."""

    clock_identifier = "spot"

    def __init__(self, skew_s: float) -> None:
        self.skew_s = self.next_s = skew_s

    @property
    def clock_skew(self) -> Duration:
        return Duration(nanos=round(self.skew_s * 1e9) % 10**9, seconds=int(self.skew_s // 1))

    def get_new_estimate(self) -> bool:
        self.skew_s = self.next_s
        return True


def robot_s(clock: RobotClock, local_s: float) -> float:
    stamp = clock.robot_timestamp_from_local_secs(local_s)
    return float(stamp.seconds) + float(stamp.nanos) / 1e9


@pytest.mark.parametrize("skew_s", [0.0, 2.5, -2.5])
def test_an_answer_that_the_estimate_allows_moves_nothing(skew_s: float) -> None:
    clock = RobotClock(Endpoint(skew_s))
    assert clock.skew_s == pytest.approx(skew_s)
    assert clock.check(100.2 + skew_s, 100.0, 100.3) == 0.0
    assert robot_s(clock, 200.0) == pytest.approx(200.0 + skew_s)


@pytest.mark.parametrize("step_s", [-4.8, -0.5, 0.5, 4.8])
def test_a_step_is_known_with_the_next_answer(step_s: float) -> None:
    clock = RobotClock(Endpoint(1.0))
    assert clock.check(101.1 + step_s, 100.0, 100.2) == pytest.approx(step_s)
    assert robot_s(clock, 200.0) == pytest.approx(201.0 + step_s)
    assert clock.check(102.1 + step_s, 101.0, 101.2) == 0.0, "and noticed once"


def test_a_slow_answer_tells_only_what_it_can() -> None:
    clock = RobotClock(Endpoint(0.0))
    assert clock.check(100.0 - 0.3, 100.0, 100.5) != 0.0, "taken before it was asked for"
    clock = RobotClock(Endpoint(0.0))
    assert clock.check(100.4 - 0.3, 100.0, 100.5) == 0.0, "or on the way at a good hour"


def test_an_answer_that_was_overtaken_moves_nothing_back() -> None:
    clock = RobotClock(Endpoint(0.0))
    assert clock.check(101.05 - 2.0, 101.0, 101.1) == pytest.approx(-2.0)
    assert clock.check(100.9, 100.8, 101.2) == 0.0
    assert clock.skew_s == pytest.approx(-2.0)


def test_an_estimate_from_before_a_step_is_not_taken() -> None:
    endpoint = Endpoint(0.0)
    clock = RobotClock(endpoint)
    clock.check(100.05 - 2.0, 100.0, 100.1)
    clock.compare()
    assert clock.skew_s == pytest.approx(-2.0)
    endpoint.next_s = -2.01
    clock.compare()
    assert clock.skew_s == pytest.approx(-2.01)
