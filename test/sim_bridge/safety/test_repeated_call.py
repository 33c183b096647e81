"""A call that is sent again while its answer is awaited."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from sim_bridge.safety.order_executor import first_answer

LONG_S = 30.0


class Calls:
    """Answers the n-th call as scripted, on whichever thread it comes."""

    def __init__(self, *answers: Callable[[], str]) -> None:
        self._answers = list(answers)
        self._lock = threading.Lock()
        self.made = 0

    def __call__(self) -> str:
        with self._lock:
            answer = self._answers[self.made]
            self.made += 1
        return answer()


def test_a_good_answer_ends_it_at_once() -> None:
    calls = Calls(lambda: "")
    assert first_answer(calls, 4, LONG_S) == ""
    assert calls.made == 1


def test_what_fails_is_called_again_at_once_and_the_last_reason_is_reported() -> None:
    calls = Calls(lambda: "first", lambda: "second", lambda: "third")
    assert first_answer(calls, 3, LONG_S) == "third"
    assert calls.made == 3


def test_an_early_call_answers_although_a_later_one_was_sent() -> None:
    late, never = threading.Event(), threading.Event()

    def early() -> str:
        late.wait(LONG_S)
        return ""

    def second() -> str:
        late.set()
        never.wait(LONG_S)
        return "too late"

    assert first_answer(Calls(early, second), 2, 0.01) == ""
    never.set()


def test_a_late_failure_leaves_the_next_call_its_time() -> None:
    begun = threading.Event()

    def slow() -> str:
        begun.wait(LONG_S)
        return "slow"

    def good() -> str:
        begun.set()
        return ""

    assert first_answer(Calls(slow, good), 2, 0.01) == ""


def test_what_a_call_raises_is_raised_here() -> None:
    def broken() -> str:
        raise ValueError("a defect")

    with pytest.raises(ValueError, match="a defect"):
        first_answer(Calls(broken), 1, LONG_S)
