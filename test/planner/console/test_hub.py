"""When pages are woken: together, at most once in each span, and no news are lost."""

from __future__ import annotations

import asyncio
import json
import time

import pytest
from console_messages import entity, info, state
from test_server import TIMEOUT_S, Site

from planner.console.access import access_to
from planner.console.connection import NEWS_S, Hub, span, until_next
from planner.console.facts import Patch


class Waiting:
    """A page that nobody asks to leave."""

    importance = 0

    def __init__(self) -> None:
        self.wake = asyncio.Event()

    def leave(self, reason: str) -> None:
        raise AssertionError(reason)


@pytest.mark.parametrize("at_s", [0.0, 0.049, 0.05, 1.0, 123.4567, 98765.43219])
def test_waiting_for_the_next_span_ends_in_it(at_s: float) -> None:
    assert span(at_s + until_next(at_s)) == span(at_s) + 1


@pytest.mark.slow
def test_pages_are_woken_together_and_once_in_a_span() -> None:
    woken: list[list[float]] = [[], []]

    async def page(hub: Hub, at: list[float]) -> None:
        guest = Waiting()
        hub.join(guest)
        while True:
            await guest.wake.wait()
            guest.wake.clear()
            at.append(time.monotonic())

    async def run() -> None:
        hub = Hub()
        hub.begin(asyncio.get_running_loop())
        pages = [asyncio.create_task(page(hub, at)) for at in woken]
        ends_s = time.monotonic() + 10 * NEWS_S
        while time.monotonic() < ends_s:
            hub.changed()
            # As a world does that is faster than pages draw; from another thread, too.
            await asyncio.to_thread(hub.changed)
            await asyncio.sleep(0.003)
        for task in pages:
            task.cancel()

    asyncio.run(run())
    first, second = ([span(at_s) for at_s in at] for at in woken)
    assert len(first) == len(second) > 1
    assert len(set(first)) == len(first)


@pytest.mark.slow
def test_what_happens_while_a_page_draws_comes_once_it_has_drawn() -> None:
    site = Site(access_to("127.0.0.1", 0, "", read_only=False))
    try:
        site.view.take("/world/info", info("agent_0"))
        with site.page() as page:
            page.receive("welcome")
            first = json.loads(page.socket.recv(TIMEOUT_S))
            site.view.take("/world/state", state(1, entity("cup_0", 2.0), keyframe=True))
            time.sleep(4 * NEWS_S)
            page.send(type="drawn", version=first["version"])
            assert json.loads(page.socket.recv(TIMEOUT_S))["set"]["truth"]["cup_0"]["x"] == 2.0
    finally:
        site.server.stop()


@pytest.mark.slow
def test_pages_that_have_the_same_get_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site(access_to("127.0.0.1", 0, "", read_only=False))
    table = site.view.table
    made: list[int] = []
    make = table._patch

    def counted(begin: int, whole: bool) -> Patch:
        made.append(begin)
        return make(begin, whole)

    monkeypatch.setattr(table, "_patch", counted)
    try:
        site.view.take("/world/info", info("agent_0"))
        with site.page("aaaaaaaa") as one, site.page("bbbbbbbb") as other:
            # Who has come is news, too.
            for page in (other, one):
                version = page.receive("all")["version"]
                while version != table.version:
                    version = page.receive("patch")["version"]
                # Answered once the server knows that the page has drawn.
                page.send(type="trace", key="1")
                page.receive("trace")
            made.clear()
            site.view.take("/world/state", state(1, entity("cup_0", 2.0), keyframe=True))
            for page in (one, other):
                assert page.until("truth", "cup_0")["x"] == 2.0
    finally:
        site.server.stop()
    assert len(made) == 1
