"""The page of a running stack in a real browser, over a server whose robots only note orders."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from console_messages import believed, entity, graph, info, state
from headless_browser import Browser
from test_server import Site

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
