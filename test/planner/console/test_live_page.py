"""The page of a running stack in a real browser, over a server whose robots only note orders."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator

import pytest
from console_messages import (
    believed,
    entity,
    graph,
    header,
    info,
    instruction,
    judgement,
    question,
    skill_report,
    state,
)
from headless_browser import Browser, button, find_browser
from PIL import Image as Picture
from test_server import TIMEOUT_S, Site

from planner.console.access import access_to
from planner.console.facts import asked_picture
from planner.world.house_checks import load_house

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


# Names of rooms and furniture that they lie over, as drawn by this browser with its letters.
NAMES_OVER_FURNITURE = """
[...document.querySelectorAll('#map .names text')].flatMap((name) => {
  const a = name.getBoundingClientRect();
  return [...document.querySelectorAll('#map .furniture .outline')].filter((outline) => {
    const b = outline.getBoundingClientRect();
    return Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  }).map((outline) => name.textContent + ' over ' + outline.parentNode.textContent);
})
"""


def choose(page: Browser, name: str) -> None:
    """Clicks a thing on the plan."""
    page.run(
        f"document.querySelector('#map [data-name={name}]')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )


def press(page: Browser, words: str, within: str = "body") -> None:
    """Presses a button by what is on it."""
    found = button(words, within)
    page.wait(f"!!{found}")
    page.run(f"{found}.click()")


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


def text_of(page: Browser, place: str) -> str:
    return str(page.run(f"document.querySelector('{place}').innerText"))


@pytest.mark.slow
def test_the_page_says_why_a_task_failed_and_offers_it_again(site: Site, page: Browser) -> None:
    page.run(
        "document.querySelector('#words').value = 'Tidy <b>up</b>.';"
        "document.querySelector('#instruct-form').requestSubmit(); 1"
    )
    until(lambda: any(what[0] == "instruct" for what in site.robots.asked))
    site.view.take("/instruct/status", instruction(1, "agent_0"))
    cup, book = "cup_0__on__top__of__table_1", "book_0__clean"
    site.view.take("/evaluation", judgement(1.0, 0, **{cup: False, book: False}))
    text = "The object is <i>too far</i>."
    site.view.take("/skills/results", skill_report(2.0, "agent_1", "Pick[cup_0]", 4, text))
    site.view.take("/skills/results", skill_report(3.0, "agent_0", "Clean[book_0]"))
    assert page.run("document.querySelector('#why').hidden")
    site.view.take("/evaluation/result", judgement(4.0, 2, **{cup: False, book: True}))
    site.view.take("/instruct/status", instruction(4, "agent_0"))
    page.wait("!document.querySelector('#why').hidden")
    why = text_of(page, "#why")
    assert "1 of 2 parts is open" in why
    assert f"{cup} is open." in why
    assert f"agent_1 could not pick up cup_0: {text}" in why
    assert "agent_0 could not" not in why
    assert "Try 1: 50" in text_of(page, "#tries")
    press(page, "Try again (2 of 3)")
    until(lambda: ("again", "Tidy <b>up</b>.", ()) in site.robots.asked)
    site.view.take("/instruct/status", instruction(1, "agent_0"))
    page.wait("document.querySelector('#why').hidden")
    site.view.take("/evaluation", judgement(1.0, 0, **{cup: False, book: False}))
    site.view.take("/evaluation/result", judgement(4.0, 1, **{cup: True, book: True}))
    site.view.take("/instruct/status", instruction(3, "agent_0"))
    page.wait("document.querySelector('#tries').innerText.includes('Try 2: 100')")
    assert page.run("document.querySelectorAll('#tries .badge').length") == 1
    assert "the task has succeeded" in text_of(page, "#tries")
    # The page's own record has who did what; the cup of this world was nobody's call.
    assert "agent_0 1" in text_of(page, "#work")
    assert page.complaints == []


@pytest.mark.slow
def test_a_first_task_with_its_steps(site: Site, page: Browser) -> None:
    table, desk = (entity(f"{name}_0", 4.0, 2.0, kind=1) for name in ("table", "desk"))
    book = entity("book_0", 4.0, 2.0, parent="desk_0")
    site.view.take("/world/state", state(2, table, desk, book))
    page.wait("document.querySelectorAll('#map [data-name=book_0]').length > 0")
    press(page, "First task")
    page.wait("document.querySelectorAll('#tutorial li').length === 6")
    assert "bring book_0 to table_0" in text_of(page, "#tutorial")
    done = "document.querySelectorAll('#tutorial li.good').length"
    assert page.run(done) == 0
    press(page, "Be agent_1")
    page.wait(f"{done} === 1")
    choose(page, "book_0")
    page.wait(f"{done} === 2")
    calls = ["Navigate[book_0]", "Pick[book_0]", "Navigate[table_0]"]
    for number, call in enumerate(calls, 3):
        # Another agent's call, or one that failed, is not a step.
        site.view.take("/skills/results", skill_report(1.0, "agent_0", call))
        site.view.take("/skills/results", skill_report(1.0, "agent_1", call, 3, "failed"))
        site.view.take("/skills/results", skill_report(2.0, "agent_1", call))
        page.wait(f"{done} === {number}")
    placed = "Place[book_0, on, table_0, None, None]"
    site.view.take("/skills/results", skill_report(3.0, "agent_1", placed))
    site.view.take("/world/state", state(3, entity("book_0", 4.0, 2.0, parent="table_0")))
    page.wait(f"{done} === 6")
    assert "Done." in text_of(page, "#tutorial")
    press(page, "Close", "#tutorial")
    page.wait("!!document.querySelector('#tutorial button').textContent.includes('First task')")


def jpeg() -> bytes:
    made = io.BytesIO()
    Picture.new("RGB", (64, 48), (200, 40, 40)).save(made, "JPEG")
    return made.getvalue()


@pytest.mark.slow
def test_a_question_to_the_operator_comes_with_its_picture(site: Site, page: Browser) -> None:
    """Also where no cameras are shown; the picture of another question is not shown with it."""
    page.run("document.querySelector('#show-pictures').click()")
    site.pictures.put_asked("agent_0", "agent_0/asks/3.000000000", jpeg())
    site.view.take("/agent_0/safety/question", question("agent_0", 5.5))
    site.view.take("/world/state", state(56, keyframe=True))
    page.wait("!document.querySelector('#approvals').hidden")
    page.wait("document.querySelector('#approvals').innerText.includes('60 s left')")
    words = text_of(page, "#approvals")
    assert "agent_0 asks: may I pick cup?" in words
    assert "its picture has not come yet" in words
    assert page.run("document.querySelectorAll('#approvals img').length") == 0
    site.pictures.put_asked("agent_0", asked_picture("agent_0", header(5.5).stamp), jpeg())
    site.hub.changed()
    page.wait("document.querySelector('#approvals img')?.naturalWidth === 64")
    assert "red cross marks where" in page.run("document.querySelector('#approvals img').alt")
    assert "does not show the place" not in text_of(page, "#approvals")
    site.view.take("/agent_0/safety/question", question("agent_0", 5.5, has_pixel=False))
    page.wait("document.querySelector('#approvals').innerText.includes('not show the place')")
    assert "cross" not in page.run("document.querySelector('#approvals img').alt")
    assert page.run("document.querySelectorAll('#pictures img').length") == 0
    # The time that is left goes on without drawing the buttons anew.
    page.run("document.querySelector('[data-approve=yes]').focus(); 1")
    page.run("window.button = document.activeElement; 1")
    site.view.take("/world/state", state(157, keyframe=True))
    page.wait("document.querySelector('#approvals').innerText.includes('50 s left')")
    assert page.run("window.button === document.querySelector('[data-approve=yes]')")
    page.run(
        "document.dispatchEvent(new KeyboardEvent('keydown', {code: 'KeyN', altKey: true})); 1"
    )
    until(lambda: ("approve", "agent_0", "q1", "no") in site.robots.asked)
    site.view.take("/agent_0/safety/question", question("agent_0", 0.0, question_id=""))
    page.wait("document.querySelector('#approvals').hidden")
    assert page.complaints == []


@pytest.mark.slow
def test_two_browsers_are_paired(site: Site, page: Browser) -> None:
    path = find_browser()
    assert path is not None
    press(page, "Wait for a second person")
    seats = "document.querySelector('#seats').innerText"
    page.wait(f"{seats}.includes('waiting for a second person')")
    with Browser(path) as other:
        # As a telephone shows it.
        other.visit(site.server.address, width=390, height=844)
        press(other, "Join who waits")
        other.wait(f"{seats}.includes('Stop being agent_1')")
        page.wait(f"{seats}.includes('Stop being agent_0')")
        page.wait(f"{seats}.includes('agent_1 is a person')")
        assert not page.run(f"{seats}.includes('waiting')")
        assert other.run("document.documentElement.scrollWidth") <= 390
        # The first agent is told what to do as any partner's, and not by the other page.
        choose(page, "cup_0")
        press(page, "Pick up", "#details")
        until(lambda: ("skill", "agent_0", "Pick[cup_0]") in site.robots.asked)
        choose(other, "cup_0")
        press(other, "Pick up", "#details")
        until(lambda: ("skill", "agent_1", "Pick[cup_0]") in site.robots.asked)
        assert other.complaints == []
    assert page.complaints == []


CONTROLS = frozenset(
    ("button", "textbox", "checkbox", "combobox", "slider", "link", "searchbox", "spinbutton")
)


A_RECOGNISER = """
window.SpeechRecognition = class extends EventTarget {
  static available({processLocally}) {
    return Promise.resolve(processLocally && %s ? 'available' : 'unavailable');
  }
  start() { window.heard = this; }
  stop() {
    window.heard.ended = true;
  }
  hear(words, isFinal) {
    const results = [Object.assign([{transcript: words}], {isFinal})];
    this.dispatchEvent(Object.assign(new Event('result'), {results}));
  }
};
"""
HIDDEN = "document.querySelector('#talk').hidden"


def said(site: Site) -> list[object]:
    return [what[1] for what in [*site.robots.asked] if what[0] == "instruct"]


def hold(page: Browser, kind: str) -> None:
    page.run(f"document.querySelector('#talk').dispatchEvent(new PointerEvent('pointer{kind}'))")


def test_a_person_talks_by_the_browsers_recognition_on_this_device(
    site: Site, page: Browser
) -> None:
    """The recognition is a stand-in: the browser of the tests has none."""
    assert page.run(HIDDEN)
    page.devtools("Page.enable")
    for here in ("false", "true"):
        made = page.devtools("Page.addScriptToEvaluateOnNewDocument", source=A_RECOGNISER % here)
        page.visit(site.server.address)
        page.wait(IN_CONTROL)
        # What sends sound elsewhere is not offered.
        page.wait(f"{HIDDEN} === {'true' if here == 'false' else 'false'}")
        if here == "false":
            identifier = made["identifier"]
            page.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=identifier)
    hold(page, "down")
    assert page.run("window.heard.processLocally")
    page.run("window.heard.hear('bring me the', false)")
    page.run("window.heard.hear('bring me the cup', true)")
    hold(page, "up")
    assert page.run("window.heard.ended")
    hold(page, "down")
    # As soon as it is guessed; what else is heard of the same breath is no task.
    page.run("window.heard.hear('robot stop', false)")
    page.run("window.heard.hear('robot stop the cup', true)")
    hold(page, "up")
    until(lambda: len(said(site)) == 2)
    assert said(site) == ["bring me the cup", "stop"]
    page.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=made["identifier"])


@pytest.mark.slow
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_every_control_has_a_name_and_nothing_is_cut_off(
    site: Site, page: Browser, width: int, dark: bool
) -> None:
    page.visit(site.server.address, width=width, height=900, dark=dark)
    page.wait("document.querySelectorAll('#map .agent').length === 2")
    choose(page, "cup_0")
    page.wait("!!document.querySelector('#correction')")
    page.devtools("Accessibility.enable")
    nodes = page.devtools("Accessibility.getFullAXTree")["nodes"]
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored") and node.get("role", {}).get("value") in CONTROLS
    ]
    assert len(found) > 10
    assert [each for each in found if not each[1].strip()] == []
    roles = {node["role"]["value"] for node in nodes if not node.get("ignored")}
    assert {"main", "banner", "heading"} <= roles
    # By Tab the first stop is the way to the instruction.
    assert page.run("document.querySelector('a, button, input').className") == "skip"
    assert page.run("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.slow
@pytest.mark.parametrize("house", ["train_0", "train_3", "heldout_0"])
def test_names_of_rooms_lie_beside_furniture(site: Site, page: Browser, house: str) -> None:
    drawn = load_house(house)
    site.view.take("/world/info", info("agent_0", house_json=drawn.model_dump_json()))
    page.wait(f"document.querySelectorAll('#map .names text').length === {len(drawn.rooms)}")
    assert page.run(NAMES_OVER_FURNITURE) == []
