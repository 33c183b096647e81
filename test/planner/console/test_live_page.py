"""The page of a running stack in a real browser, over a server whose robots only note orders."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest
from console_messages import believed, entity, graph, info, state
from headless_browser import Browser
from test_server import TIMEOUT_S, Site

from planner.console.access import access_to

IN_CONTROL = "document.querySelector('#seats').textContent.includes('in control')"


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site(access_to("127.0.0.1", 0, "", read_only=False))
    made.view.take("/world/info", info("agent_0", "agent_1"))
    agents = [entity(f"agent_{i}", 1.0 + i, 1.0, kind=3, hands=["", ""]) for i in (0, 1)]
    made.view.take("/world/state", state(1, entity("cup_0", 2.0, 2.0), *agents, keyframe=True))
    made.view.take("/world_graph", graph(1.0, believed("cup_0", 0.0, 2.0)))
    yield made
    made.server.stop()


@pytest.fixture
def page(site: Site, browser: Browser) -> Iterator[Browser]:
    browser.visit(site.server.address, width=1280, height=1000)
    browser.wait(IN_CONTROL)
    browser.wait("document.querySelectorAll('#map .agent').length === 2")
    yield browser
    # Else it would look for the server of this test during the next one.
    browser.visit("about:blank")


def choose(page: Browser, name: str) -> None:
    """Clicks a thing on the plan."""
    page.run(
        f"document.querySelector('#map [data-name={name}]')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )


def press(page: Browser, words: str, within: str = "body") -> None:
    """Presses a button by what is on it."""
    buttons = f"[...document.querySelectorAll('{within} button')]"
    found = f"{buttons}.find(b => !b.disabled && b.textContent.startsWith({json.dumps(words)}))"
    page.wait(f"!!{found}")
    page.run(f"{found}.click()")


def test_typed_text_outlives_a_redraw_without_focus(site: Site, page: Browser) -> None:
    choose(page, "cup_0")
    page.wait("!!document.querySelector('#correction')")
    page.run(
        "document.querySelector('#details details').open = true;"
        "document.querySelector('#correction').focus();"
        "document.querySelector('#correction').value = 'blue mug';"
        "document.activeElement.blur(); 1"
    )
    site.view.take("/world_graph", graph(2.0, believed("cup_0", 0.0, 2.25)))
    page.wait("document.querySelector('#details dd').textContent.includes('2.25')")
    assert page.run("document.querySelector('#correction').value") == "blue mug"
    assert page.run("document.querySelector('#details details').open") is True
    press(page, "It is a", "#details")
    page.wait("document.querySelector('#correction').value === ''")
    assert ("correct", "rename", site.robots.asked[-1][2]) == site.robots.asked[-1]
    assert page.complaints == []


def key(page: Browser, kind: str, code: str) -> None:
    page.run(f"document.dispatchEvent(new KeyboardEvent('{kind}', {{code: '{code}'}})); 1")


def driven(site: Site) -> list[tuple[object, ...]]:
    """What was asked for by driving, without repetitions: forward, turn."""
    asked = [what[3:] for what in [*site.robots.asked] if what[0] == "drive"]
    return [what for i, what in enumerate(asked) if i == 0 or what != asked[i - 1]]


def until(test: Callable[[], bool]) -> None:
    """Waits for something outside the browser."""
    ends_s = time.monotonic() + TIMEOUT_S
    while not test():
        assert time.monotonic() < ends_s
        time.sleep(0.02)


def test_a_partner_drives_by_keys_only_with_the_switch_on(site: Site, page: Browser) -> None:
    assert page.run("document.querySelector('#driving').hidden")
    press(page, "Be agent_1")
    page.wait("!document.querySelector('#driving').hidden")
    key(page, "keydown", "KeyW")
    page.run("document.querySelector('#drive').click()")
    page.wait("document.querySelector('#drive').checked")
    assert driven(site) == []
    key(page, "keydown", "ArrowUp")
    key(page, "keydown", "KeyA")
    until(lambda: len(driven(site)) == 2)
    # Held keys are repeated, as a wish expires.
    count = len(site.robots.asked)
    until(lambda: len(site.robots.asked) > count + 2)
    key(page, "keyup", "ArrowUp")
    key(page, "keyup", "KeyA")
    until(lambda: len(driven(site)) == 4)
    assert driven(site) == [(1.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.0, 0.0)]
    # A window that is left lets go of all keys.
    key(page, "keydown", "KeyD")
    page.run("window.dispatchEvent(new Event('blur')); 1")
    until(lambda: driven(site)[4:] == [(0.0, -1.0), (0.0, 0.0)])
    # Whoever types does not drive.
    page.run(
        "document.querySelector('#words').dispatchEvent("
        "new KeyboardEvent('keydown', {code: 'KeyW', bubbles: true})); 1"
    )
    key(page, "keydown", "KeyS")
    until(lambda: driven(site)[-1] == (-1.0, 0.0))
    page.press("Escape")
    page.wait("!document.querySelector('#drive').checked")
    until(lambda: ("stop", ("agent_0", "agent_1")) in site.robots.asked)
    assert driven(site)[6:] == [(-1.0, 0.0), (0.0, 0.0)]
    assert page.complaints == []


def test_a_body_that_cannot_be_driven_switches_the_keys_off(site: Site, page: Browser) -> None:
    statues = info("agent_0", "agent_1")
    statues.bodies = ["statue", "statue"]
    site.view.take("/world/info", statues)
    press(page, "Be agent_1")
    page.wait("!document.querySelector('#driving').hidden")
    page.run("document.querySelector('#drive').click()")
    key(page, "keydown", "KeyW")
    page.wait("!document.querySelector('#drive').checked")
    page.wait("document.querySelector('#toasts').textContent.includes('it cannot be driven')")


def test_typed_text_does_not_move_to_another_thing(site: Site, page: Browser) -> None:
    things = [believed("cup_0", 0.0, 2.0), believed("book_0", 0.0, 3.0)]
    site.view.take("/world_graph", graph(2.0, *things))
    choose(page, "cup_0")
    page.wait("!!document.querySelector('#correction')")
    page.run("document.querySelector('#correction').value = 'blue mug'; 1")
    page.wait("!!document.querySelector('#map [data-name=book_0]')")
    choose(page, "book_0")
    page.wait("document.querySelector('#details h3').textContent.startsWith('book_0')")
    assert page.run("document.querySelector('#correction').value") == ""
