"""`planner console BAG`: the page of a recording, each page with its own time."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from headless_browser import Browser, find_browser
from made_bags import Recording, jpeg, new
from PIL import Image
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from test_server import Page
from websockets.sync.client import connect

from planner import cli
from planner.console.access import access_to
from planner.console.bag_console import BagShow
from planner.console.bag_console import Recording as Bag
from planner.console.connection import Hub
from planner.console.facts import Json, Table
from planner.console.server import Server
from planner.console.view import View
from planner.replay.bag import RawMessage
from planner.world.errors import PlannerError
from planner.world.house import House

SECONDS = 20
HOSTILE = "<img src=x onerror=document.title='taken'>"


def recorded(folder: Path, house: House, close: bool = True) -> Path:
    """A cup that moves 0.1 m a second, remembered where it was at the beginning."""
    bag = Recording(folder)
    agents = {"agents": ["agent_0"], "bodies": ["robot"], "house": house.name}
    text = house.model_dump_json(by_alias=True)
    bag.say("/world/info", "planner_msgs/msg/WorldInfo", 0.0, house_json=text, **agents)
    for second in range(SECONDS + 1):
        cup = new(
            "planner_msgs/msg/EntityState", kind=2, name="cup_0", class_name="cup", relation="on"
        )
        cup.pose.position.x = 1.0 + second / 10
        more = {"keyframe": second == 0, "sequence": second + 1, "entities": [cup]}
        bag.say("/world/state", "planner_msgs/msg/WorldState", float(second), **more)
    said = {"instruction": HOSTILE, "state": 1, "planner": "words"}
    bag.say("/instruct/status", "planner_msgs/msg/InstructStatus", 5.0, **said)
    picture = {"format": "jpeg", "data": np.frombuffer(jpeg(), np.uint8)}
    kind = "sensor_msgs/msg/CompressedImage"
    bag.say("/agent_0/camera/hand/image/compressed", kind, 6.0, **picture)
    if close:
        return bag.close()
    bag.writer.flush()
    return bag.folder


@pytest.fixture
def address(tmp_path: Path, small_house: House) -> Iterator[str]:
    """Of the page of a bag."""
    bag, hub = Bag(recorded(tmp_path / "evening", small_house)), Hub()
    access = access_to("127.0.0.1", 0, "", read_only=False)
    server = Server(access, hub, lambda hello, *, may_order: BagShow(bag, hub))
    server.start()
    yield server.address
    server.stop()


def at(page: Page, t_s: float) -> Page:
    while page.shown.get("bag", {}).get("now", {}).get("t") != t_s:
        page.receive("all", "patch")
    return page


def cup(page: Page) -> float:
    return float(page.shown["truth"]["cup_0"]["x"])


@pytest.mark.slow
def test_each_page_has_its_own_time(address: str) -> None:
    with (
        connect(address.replace("http", "ws") + "ws") as one,
        connect(address.replace("http", "ws") + "ws") as two,
    ):
        pages = [Page(one), Page(two)]
        for page in pages:
            page.send(type="hello", version=1, token="", session="aaaaaaaa")
            welcome = page.receive("welcome")
            assert (welcome["mode"], welcome["bag"]) == ("bag", "evening")
            assert welcome["duration"] == SECONDS
        pages[0].send(type="seek", at=10.0)
        pages[1].send(type="seek", at=2.0)
        assert cup(at(pages[0], 10.0)) == pytest.approx(2.0)
        assert cup(at(pages[1], 2.0)) == pytest.approx(1.2)
        assert pages[0].shown["instruct"]["now"]["instruction"] == HOSTILE
        assert "instruct" not in pages[1].shown
        pages[0].send(type="seek", at=3.0)
        assert cup(at(pages[0], 3.0)) == pytest.approx(1.3)
        pages[0].send(type="instruct", order=1, words="Tidy.")
        assert pages[0].receive("done")["text"].startswith("a recording takes no orders")


class Counted(Bag):
    """Counts the messages that were read."""

    count = 0

    def messages(self, after_s: float, until_s: float) -> Iterator[tuple[str, RawMessage]]:
        for found in super().messages(after_s, until_s):
            self.count += 1
            yield found


@pytest.mark.parametrize("back_s", [19.5, 12.0, 10.0, 4.0, 0.5])
def test_a_way_back_is_short_and_shows_what_a_way_from_the_beginning_does(
    tmp_path: Path, small_house: House, back_s: float
) -> None:
    async def state(*ways_s: float) -> tuple[dict[str, dict[str, Json]], int]:
        show = BagShow(bag, Hub())
        for way_s in ways_s:
            bag.count = 0
            show._go(way_s)
        show.close()
        sections = ("world", "truth", "instruct")
        return {name: show.table.section(name) for name in sections}, bag.count

    bag = Counted(recorded(tmp_path / "evening", small_house))
    direct, _ = asyncio.run(state(back_s))
    there_and_back, count = asyncio.run(state(float(SECONDS), back_s))
    assert there_and_back == direct
    # Messages of 5 s at most, not of all the seconds before.
    assert count <= 6
    # And forth again over what was seen.
    forth, count = asyncio.run(state(float(SECONDS), 1.0, 17.0))
    assert forth == asyncio.run(state(17.0))[0]
    assert count <= 6


@pytest.mark.slow
def test_it_plays_to_the_end_and_stops(address: str) -> None:
    with connect(address.replace("http", "ws") + "ws") as socket:
        page = Page(socket)
        page.send(type="hello", version=1, token="", session="aaaaaaaa")
        page.send(type="seek", at=15.0)
        at(page, 15.0)
        page.send(type="play", on=True, rate=50.0)
        at(page, float(SECONDS))
        while page.shown["bag"]["now"]["playing"]:
            page.receive("patch")
        assert cup(page) == pytest.approx(3.0)


@pytest.mark.slow
def test_a_link_leads_to_a_moment_and_no_text_becomes_markup(
    address: str, browser: Browser
) -> None:
    browser.visit(f"{address}#t=6.5")
    browser.wait("document.querySelector('#time-text').textContent.startsWith('00:06.5')")
    browser.wait("document.querySelectorAll('#map .thing').length === 1")
    browser.wait("document.querySelectorAll('#pictures img').length === 1")
    assert browser.run("document.querySelector('.quote').textContent") == f"“{HOSTILE}”"
    assert browser.run("document.title") == "planner console"
    assert browser.run("document.querySelectorAll('#map .piece').length") == 6
    browser.run("document.querySelector('#forth').click()")
    browser.wait("document.querySelector('#time-text').textContent.startsWith('00:07.5')")
    browser.press("ArrowLeft")
    browser.wait("document.querySelector('#time-text').textContent.startsWith('00:06.5')")
    browser.press(" ")
    browser.wait("document.querySelector('#play').textContent.includes('Pause')")
    browser.press(" ")
    browser.wait("document.querySelector('#play').textContent.includes('Play')")
    assert browser.complaints == []


@pytest.mark.slow
def test_the_command_serves_a_bag_until_it_is_stopped(tmp_path: Path, small_house: House) -> None:
    bag = recorded(tmp_path / "evening", small_house, close=False)
    process = subprocess.Popen(
        [sys.executable, "-m", "planner.cli", "console", str(bag), "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.fullmatch(r"console: (http://127\.0\.0\.1:\d+/)\n", line)
        assert address, line
        with connect(address[1].replace("http", "ws") + "ws") as socket:
            page = Page(socket)
            page.send(type="hello", version=1, token="", session="aaaaaaaa")
            assert page.receive("welcome")["note"]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(60.0) == 0


@pytest.mark.parametrize("kind", ["empty", "foreign", "missing", "text", "newer", "no beginning"])
def test_a_bag_that_cannot_be_shown_is_refused_in_one_line(
    tmp_path: Path, small_house: House, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "bag"
    if kind in ("empty", "foreign"):
        made = Recording(folder)
        if kind == "foreign":
            made.say("/chatter", "std_msgs/msg/String", 0.0, data="hello")
        made.close()
    elif kind == "text":
        folder.mkdir()
        (folder / "bag_0.mcap").write_text("no bag at all")
    elif kind == "newer":
        # Of a future rosbag2; ours are read without this file.
        types = get_typestore(Stores.ROS2_HUMBLE)
        with Writer(folder, version=9, storage_plugin=StoragePlugin.SQLITE3) as writer:
            writer.add_connection("/map", "nav_msgs/msg/OccupancyGrid", typestore=types)
        description = folder / "metadata.yaml"
        description.write_text(description.read_text().replace("version: 9", "version: 99"))
    elif kind == "no beginning":
        (file,) = recorded(folder, small_house).glob("*.mcap")
        file.write_bytes(file.read_bytes()[100:])
    with pytest.raises(PlannerError) as refused:
        Bag(folder)
    assert str(folder) in str(refused.value)
    assert "\n" not in str(refused.value)
    if kind == "newer":
        assert "99 is not supported; the newest known is 9" in str(refused.value)
    assert cli.main(["console", str(folder), "--port", "0"]) != 0
    assert capsys.readouterr() == ("", f"error: {refused.value}\n")


def test_a_bag_without_its_end_is_shown_up_to_its_last_complete_record(
    tmp_path: Path, small_house: House
) -> None:
    (file,) = recorded(tmp_path / "bag", small_house).glob("*.mcap")
    whole = file.read_bytes()
    file.write_bytes(whole[:-40])
    opened = Bag(tmp_path / "bag")
    assert opened.note.startswith("missing: its end: the bag was cut short")
    view = View(Table())
    for topic, message in opened.messages(-1.0, opened.duration_s):
        view.take(topic, message.content())
    assert view.agents == ("agent_0",)
    assert view.table.get("health", "console") is None
    # Its only chunk of messages is not complete.
    file.write_bytes(whole[: len(whole) // 4])
    with pytest.raises(PlannerError, match="has no messages that the console shows"):
        Bag(tmp_path / "bag")


def test_a_message_of_another_layout_is_counted(tmp_path: Path, small_house: House) -> None:
    bag = Recording(tmp_path / "bag")
    bag.say("/world/state", "std_msgs/msg/String", 0.0, data="no state")
    more: dict[str, Any] = {"house": small_house.name, "agents": ["agent_0"]}
    bag.say("/world/info", "planner_msgs/msg/WorldInfo", 1.0, **more)
    opened = Bag(bag.close())
    view = View(Table())
    for topic, message in opened.messages(-1.0, opened.duration_s):
        view.take(topic, message.content())
    assert view.agents == ("agent_0",)
    report = view.table.get("health", "console")
    assert isinstance(report, dict)
    assert report["message"].startswith("1 messages could not be read")


@pytest.mark.slow
def test_the_page_over_a_recording_becomes_a_picture_that_moves(
    tmp_path: Path, small_house: House
) -> None:
    if find_browser() is None:
        pytest.skip("Chromium is not installed")
    bag, made = recorded(tmp_path / "bag", small_house), tmp_path / "console.webp"
    script = Path(__file__).parents[3] / "scripts" / "console_movie.py"
    command = [sys.executable, str(script), str(bag), "-o", str(made), "--frames", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{made}: 4 frames")
    with Image.open(made) as picture:
        assert picture.size == (960, 600)
        assert picture.n_frames == 4
