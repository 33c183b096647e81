"""A console of real nodes in a real browser: commands, and what a person does at the page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from headless_browser import Browser, button

TIMEOUT_S = 240.0
# The words of the page that says who it is, and of a state.
IN_CONTROL = "document.querySelector('#seats').textContent.includes('in control')"
IS_PARTNER = "document.querySelector('#seats').textContent.includes('Stop being agent_1')"
ENDED = "['done', 'failed', 'canceled'].some(s => document.querySelector('#instruction .' + s))"
POLL_S = 0.1


def wait(browser: Browser, script: str) -> None:
    """As `Browser.wait`, for what robots take their time for; ends with what the page says."""
    until_s = time.monotonic() + TIMEOUT_S
    while not browser.run(f"!!({script})"):
        if time.monotonic() > until_s:
            # Whole: an assertion would shorten it.
            pytest.fail(
                f"not within {TIMEOUT_S:g} s: {script}\n{browser.run('document.body.innerText')}"
            )
        time.sleep(POLL_S)


class Command:
    """A command of ours with its output in a file."""

    def __init__(self, log: Path, *words: str) -> None:
        self.log = log
        with log.open("w") as file:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "planner.cli", *words],
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def address(self) -> str:
        """Of its page."""
        until_s = time.monotonic() + TIMEOUT_S
        while not (found := re.search(r"console: (http://\S+)", self.log.read_text())):
            assert time.monotonic() < until_s, self.log.read_text()
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(POLL_S)
        return found[1]

    def end(self) -> int:
        self.process.terminate()
        return self.process.wait(TIMEOUT_S)


@contextmanager
def command(log: Path, *words: str) -> Iterator[Command]:
    made = Command(log, *words)
    try:
        yield made
    finally:
        made.end()
        print(log.read_text())


def say(page: Browser, words: str) -> None:
    """Types into the box and sends it."""
    wait(page, "!document.querySelector('#words').disabled")
    page.run(
        f"document.querySelector('#words').value = {json.dumps(words)};"
        "document.querySelector('#instruct-form').requestSubmit(); 1"
    )


def press(page: Browser, words: str, within: str = "body") -> None:
    """Presses a button by what is on it."""
    found = button(words, within)
    wait(page, found)
    page.run(f"{found}.click()")


def act(page: Browser, name: str, words: str) -> str:
    """Chooses something on the plan, or else in the memory, and does something with it.

    Returns the outcome.
    """
    # Other lines may come meanwhile.
    lines = (
        f"[...document.querySelectorAll('#log li')].filter(li => li.textContent.includes('{name}'))"
    )
    before = page.run(f"{lines}.length")
    if page.run(f"!!document.querySelector('#map [data-name={name}]')"):
        page.run(
            f"document.querySelector('#map [data-name={name}]')"
            ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
        )
    else:
        press(page, name, "#memory")
    press(page, words, "#details")
    wait(page, f"{lines}.length > {before}")
    return str(page.run(f"{lines}[0].textContent"))
