"""The loop beside the executor: whether it still answers."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

import pytest

from planner.ros.loop_thread import LoopThread, set_from_thread


def until(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30.0
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_loop_that_waits_answers_and_one_that_is_delayed_does_not() -> None:
    loop, held = LoopThread("loop", print), threading.Event()
    try:
        waits = loop.submit(asyncio.sleep(60))
        assert loop.is_responsive()
        until(loop.is_responsive)
        loop.call(held.wait)
        until(lambda: not loop.is_responsive())
        assert not any(loop.is_responsive() for _ in range(5))
        held.set()
        until(loop.is_responsive)
        waits.cancel()
    finally:
        held.set()
        loop.stop()


def test_a_loop_that_has_ended_does_not_answer() -> None:
    loop = LoopThread("loop", print)
    assert loop.is_responsive()
    until(loop.is_responsive)
    loop.stop()
    with pytest.raises(RuntimeError):
        # The loop is closed: whoever asks then is a defect.
        [loop.is_responsive() for _ in range(2)]


def test_what_a_function_raises_in_the_loop_is_reported() -> None:
    errors: list[Exception] = []
    loop = LoopThread("loop", errors.append)
    try:
        loop.call(lambda: 1 / 0)
        until(lambda: bool(errors))
        assert isinstance(errors[0], ZeroDivisionError)
        assert loop.submit(asyncio.sleep(0, "goes on")).result(30.0) == "goes on"
    finally:
        loop.stop()


def test_an_answer_that_comes_after_its_timeout_is_dropped() -> None:
    loop = LoopThread("loop", print)
    problems: list[dict[str, object]] = []

    async def ask() -> tuple[str, str]:
        running = asyncio.get_running_loop()
        running.set_exception_handler(lambda _, context: problems.append(context))
        given_up: asyncio.Future[str] = running.create_future()
        in_time: asyncio.Future[str] = running.create_future()
        given_up.cancel()
        set_from_thread(running, given_up, "late")
        set_from_thread(running, in_time, "first")
        set_from_thread(running, in_time, "second")
        first = await in_time
        await asyncio.sleep(0)
        return str(given_up.cancelled()), first

    try:
        assert loop.submit(ask()).result(30.0) == ("True", "first")
        assert not problems
    finally:
        loop.stop()
