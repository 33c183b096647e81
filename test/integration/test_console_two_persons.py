"""Two persons at two browsers do an episode over real nodes, are judged and recorded."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bridge_harness import write_world
from console_page import IN_CONTROL, act, command, press, wait
from headless_browser import Browser, find_browser

from planner.training.traces.folder import read_traces
from planner.world.episode import Episode
from planner.world.house import House

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
SEATS = "document.querySelector('#seats').textContent"
DONE = "Successful execution!"


def is_on_top(thing: str, piece: str) -> dict[str, object]:
    args = {"objects": [thing], "receptacles": [piece]}
    return {"function_name": "is_on_top", "args": args}


def bring(page: Browser, room: str, thing: str, piece: str) -> list[str]:
    """What a person's calls came to."""
    steps = [
        (room, "Look around there"),
        (thing, "Go there"),
        (thing, "Pick up"),
        (piece, "Go there"),
        (piece, f"Put {thing} on it"),
    ]
    return [act(page, name, words) for name, words in steps]


def planner(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "planner.cli", *words],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_two_persons_finish_an_episode(
    tmp_path: Path, small_house: House, small_episode: Episode, browser: Browser
) -> None:
    both = [is_on_top("cup_0", "couch_0"), is_on_top("book_0", "table_0")]
    task = "Put the cup on the couch, and the book on the table in the kitchen."
    asked = small_episode.model_copy(
        update={"instruction": task, "evaluation": {"propositions": both}}
    )
    episode = write_world(tmp_path, small_house, asked)
    words = [f"episode:={episode}", "planner:=words", "agents:=2", "console:=true"]
    more = ["console_port:=0", "pace:=3.0", "cameras:=hand", "camera_hz:=1.0"]
    path, run = find_browser(), tmp_path / "run"
    assert path is not None
    with (
        command(tmp_path / "up.log", "up", *words, *more, f"record:={run}") as stack,
        Browser(path) as second,
    ):
        first, address = browser, stack.address()
        first.visit(address, width=1440, height=1000)
        second.visit(address, width=390, height=844)
        wait(first, IN_CONTROL)
        for page in (first, second):
            wait(page, "document.querySelectorAll('#map .agent').length === 2")
            page.run("document.querySelector('#consent').click()")
        press(first, "Wait for a second person")
        wait(first, f"{SEATS}.includes('waiting for a second person')")
        first.picture(tmp_path / "lobby.png")
        press(second, "Join who waits")
        wait(first, f"{SEATS}.includes('Stop being agent_0')")
        wait(second, f"{SEATS}.includes('Stop being agent_1')")
        wait(second, f"document.querySelector('#instruction').textContent.includes('{task}')")
        with ThreadPoolExecutor(2) as persons:
            cup = persons.submit(bring, first, "kitchen_0", "cup_0", "couch_0")
            book = persons.submit(bring, second, "living_room_0", "book_0", "table_0")
            done = cup.result() + book.result()
        assert all(DONE in line for line in done), done
        for page in (first, second):
            # All is done, so it ends by itself.
            wait(page, "document.querySelector('#judge .succeeded')")
            wait(page, "document.querySelector('#tries').textContent.includes('Try 1: 100')")
            wait(
                page, "document.querySelector('#work').textContent.includes('agent_0 1, agent_1 1')"
            )
        first.picture(tmp_path / "first.png")
        second.picture(tmp_path / "second.png", whole=True)
        assert second.run("document.documentElement.scrollWidth") <= 390
        assert first.complaints == second.complaints == []
    lines = [json.loads(each) for each in (run / "console.jsonl").read_text().splitlines()]
    calls = {(line["seat"], line["who"]) for line in lines if line["what"] == "skill"}
    assert {seat for seat, _ in calls} == {"agent_0", "agent_1"}
    assert len({who for _, who in calls}) == len(calls) == 2
    (end,) = [line for line in lines if line["what"] == "try ended"]
    assert (end["try"], end["state"], end["percent"], end["task"]) == (1, "succeeded", 1.0, task)
    # The bag has the same verdict, and what both did are demonstrations.
    assert "success" in planner("evaluate", str(run / "bag"))
    planner("train", "traces", str(tmp_path / "traces"), "--from-session", str(run))
    traces = list(read_traces(tmp_path / "traces"))
    assert [(trace.agent, trace.reward) for trace in traces] == [("agent_0", 1), ("agent_1", 1)]
    assert {trace.provenance.source for trace in traces} == {"person"}
