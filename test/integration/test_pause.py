"""Sleeping in a coroutine: for its time, or until what it waits for is done."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from bridge_harness import Client
from rclpy.task import Future

from planner.ros.clients import pause


@pytest.fixture
def client() -> Iterator[Client]:
    made = Client()
    yield made
    made.close()


def test_a_sleep_ends_after_its_time_and_leaves_no_timer(client: Client) -> None:
    timers = len(list(client.node.timers))
    begun_s = time.monotonic()
    over = client.executor.create_task(pause, client.node, 0.2)
    client.wait(over.done, "the end")
    assert time.monotonic() - begun_s >= 0.2
    assert len(list(client.node.timers)) == timers


def test_a_sleep_ends_once_what_it_waits_for_is_done(client: Client) -> None:
    answer: Future[str] = Future()
    over = client.executor.create_task(pause, client.node, 600.0, answer)
    client.idle(0.2)
    assert not over.done()
    answer.set_result("here")
    client.wait(over.done, "the end")


def test_a_sleep_that_is_over_leaves_nothing_with_what_it_waited_for(client: Client) -> None:
    answer: Future[str] = Future()
    over = client.executor.create_task(pause, client.node, 0.05, answer)
    client.wait(over.done, "the end")
    assert not answer._callbacks
