"""A robot that asks before its hand does something, in a real browser: see, approve, refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from console_page import ENDED, IN_CONTROL, command, press, say, wait
from headless_browser import Browser

from planner.world.house import House, write_house

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SHOWN = "document.querySelector('#approvals img')"
PICTURE = f"{SHOWN}?.naturalWidth > 0"
# Who answers before the page has the next question would answer the one before twice.
ASKS = "!document.querySelector('#approvals').hidden"

# The list of calls keeps what failed and why; the agent's line shows its last call, which is the
# next one before the page is told.
REFUSED = (
    "[...document.querySelectorAll('#agents .calls li.bad')].some("
    "li => li.textContent.includes(' Place[') && li.textContent.includes('is not allowed to move'))"
)


def asks(page: Browser, what: str) -> None:
    """Waits for a question and its picture."""
    text = f"document.querySelector('#approvals').textContent.includes({json.dumps(what)})"
    wait(page, f"{ASKS} && {text} && {PICTURE}")


def test_what_a_hand_does_is_approved_and_refused_by_its_picture(
    tmp_path: Path, small_house: House, browser: Browser
) -> None:
    house, safety = tmp_path / "small.json", tmp_path / "safety.yaml"
    write_house(small_house, house)
    # As before a robot: the shipped rules ask only there.
    safety.write_text("version: 1\napproval: {where: always, timeout_s: 300.0}\n")
    words = [f"house:={house}", "planner:=words", "agents:=1", "console:=true", "console_port:=0"]
    more = [f"safety_config:={safety}", "pace:=3.0", "cameras:=hand", "camera_hz:=1.0"]
    record = f"record:={tmp_path / 'run'}"
    with command(tmp_path / "up.log", "up", *words, *more, record) as stack:
        page = browser
        page.visit(stack.address(), width=1440, height=1000)
        wait(page, IN_CONTROL)
        wait(page, "document.querySelectorAll('#map .agent').length === 1")
        say(page, "Put the cup on the couch.")
        asks(page, "may I pick cup?")
        page.picture(tmp_path / "asks.png")
        page.resize(390, 844)
        page.picture(tmp_path / "asks_on_a_telephone.png")
        assert page.run("document.documentElement.scrollWidth") <= 390
        page.resize(1440, 1000)
        press(page, "Approve (Alt+Y)", "#approvals")
        asks(page, "may I place")
        press(page, "Refuse (Alt+N)", "#approvals")
        wait(page, REFUSED)
        # In this task nobody is asked again about what was refused.
        wait(page, ENDED)
        assert not page.run("!!document.querySelector('#instruction .done')")
        wait(page, "document.querySelector('#approvals').hidden")
    lines = [json.loads(each) for each in (tmp_path / "run/console.jsonl").read_text().splitlines()]
    answers = [line["order"]["answer"] for line in lines if line["what"] == "approve"]
    assert answers == ["yes", "no"]
    assert page.complaints == []
