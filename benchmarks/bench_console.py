"""The console's page: latency from the world to the drawing, processor time, many pages.

Repeat with: python benchmarks/bench_console.py [--stack]

Without a stack the news are made here: 150 things, of which 20 move at 10 Hz, and an agent; a page
in headless Chromium notes when it has drawn the agent's new place. Then 50 pages look, also at a
world of 67 states a second, which is faster than pages get news. With `--stack` the console runs
beside a demo in the house train_3 with one page that shows cameras; then one page and 50 look by
turns, and what the world published meanwhile is heard without the console. Pages in a crowd are
clients in a process of their own, which need processors, too: on a busy machine they are late.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import astuple, dataclass
from pathlib import Path
from types import SimpleNamespace as Message
from typing import Any, TypeVar

import numpy as np
from machine import print_table
from websockets.asyncio.client import connect

sys.path[:0] = [str(Path(__file__).parents[1] / "test" / name) for name in (".", "planner/console")]
from console_messages import entity, info, state  # noqa: E402
from headless_browser import Browser, find_browser  # noqa: E402

from planner.console.access import (  # noqa: E402
    Access,
    LiveShow,
    Pictures,
)
from planner.console.connection import Hub  # noqa: E402
from planner.console.dispatcher import OrderDispatcher, SessionRecord  # noqa: E402
from planner.console.facts import Table  # noqa: E402
from planner.console.protocol import Hello  # noqa: E402
from planner.console.rights import Visitor  # noqa: E402
from planner.console.server import Server  # noqa: E402
from planner.console.view import View  # noqa: E402
from planner.world.memory_wire import stamp_seconds  # noqa: E402

THINGS, MOVING, PERIOD_S, STEPS, PAGES = 150, 20, 0.1, 200, 50
# A world that is faster than pages draw.
FAST_PERIOD_S, FAST_S = 0.015, 10.0
STACK_S = 40.0
# One page and many by turns, so that both see the same task.
TURNS, TURN_S = 3, 15.0
_NEWS = re.compile(r'\{"type":"(?:all|patch)","version":(\d+),')
# When the agent was drawn where, by the page's clock, which is the machine's.
WATCH = """
window.drawn = [];
const agent = document.querySelector('#map .agent');
new MutationObserver(() => {
  const where = agent.getAttribute('transform');
  requestAnimationFrame(() => window.drawn.push([where, Date.now() / 1000]));
}).observe(agent, {attributes: true, attributeFilter: ['transform']}); 1
"""
_Found = TypeVar("_Found")
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


class World:
    """A server whose world moves at 10 Hz."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.view = View(Table(self.hub.changed))
        robots = Message(show_pictures=lambda **_: None, abort=lambda _: None)
        dispatcher = OrderDispatcher(self.view, robots, SessionRecord(""), time.monotonic)  # type: ignore[arg-type]

        def make(hello: Hello, *, may_order: bool) -> LiveShow:
            return LiveShow(dispatcher, Visitor(hello.session, may_order), Pictures())

        self.server = Server(Access(port=0, read_only=True), self.hub, make)
        self.view.take("/world/info", info("agent_0"))
        things = [entity(f"cup_{i}", i % 15, i // 15) for i in range(THINGS)]
        self.view.take("/world/state", state(1, self._agent(0.0), *things, keyframe=True))
        self.server.start()
        self.sequence = 1

    def run(self, steps: int, period_s: float = PERIOD_S) -> dict[str, float]:
        """Moves; returns when each place of the agent was news, by its transform on the page."""
        sent: dict[str, float] = {}
        begun_s = time.monotonic()
        for step in range(1, steps + 1):
            self.sequence += 1
            x = round(self.sequence * 0.01, 3)
            moved = [
                entity(f"cup_{i}", i % 15 + x % 0.5, i // 15)
                for i in range(step % 7, THINGS, THINGS // MOVING)
            ]
            sent[f"translate({x:.3f} 0.000)"] = time.time()
            self.view.take("/world/state", state(self.sequence, self._agent(x), *moved))
            time.sleep(max(0.0, begun_s + step * period_s - time.monotonic()))
        return sent

    @staticmethod
    def _agent(x: float) -> Message:
        return entity("agent_0", x, 0.0, kind=3, parent="", relation="")


def latencies(world: World, browser: Browser) -> list[float]:
    """Seconds from the news to the drawing."""
    browser.run("window.drawn.length = 0; 1")
    sent = world.run(STEPS)
    time.sleep(1.0)
    drawn = {where.replace("-0.000", "0.000"): at for where, at in browser.run("window.drawn")}
    return [drawn[where] - at for where, at in sent.items() if where in drawn]


@dataclass(frozen=True, slots=True)
class Seen:
    """What one page got.

    Attributes:
        begun_s: when it had everything, by the machine's monotonic clock.
        ended_s: when it left.
        news: all that it got in between.
        moves: those with a changed true world.
    """

    begun_s: float
    ended_s: float
    news: int
    moves: int


async def many(address: str, seconds: float, pages: int = PAGES) -> list[Seen]:
    """Pages that look for some seconds.

    They take what is needed from a message without parsing all of it: fifty browsers have as many
    processors, this process has a part of one.
    """

    async def page(number: int) -> Seen:
        news = moves = 0
        async with connect(address, max_size=None, compression=None) as socket:
            hello = {"type": "hello", "version": 1, "token": "", "session": f"page{number:06d}"}
            await socket.send(json.dumps(hello))
            begun_s = 0.0
            try:
                async with asyncio.timeout(seconds):
                    while True:
                        message = str(await socket.recv())
                        if (found := _NEWS.match(message)) is None:
                            continue
                        if begun_s:
                            news += 1
                            moves += '"truth":{' in message
                        else:
                            begun_s = time.monotonic()
                        await socket.send(f'{{"type":"drawn","version":{found[1]}}}')
            except TimeoutError:
                return Seen(begun_s, time.monotonic(), news, moves)

    return list(await asyncio.gather(*(page(number) for number in range(pages))))


def look(address: str, seconds: float, pages: int) -> None:
    """Prints what `many` returns."""
    print(json.dumps([astuple(seen) for seen in asyncio.run(many(address, seconds, pages))]))


def in_a_process(address: str, seconds: float, pages: int = PAGES) -> list[Seen]:
    """As `many`, in a process of its own."""
    socket = address.replace("http", "ws") + "ws"
    code = f"import bench_console; bench_console.look({socket!r}, {seconds}, {pages})"
    out = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return [Seen(*seen) for seen in json.loads(out.stdout)]


def cpu_s(process: int) -> float:
    """Processor time of a process, seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def rss_mb(process: int) -> float:
    """Resident memory of a process."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def pss_mb(process: int) -> float:
    """Memory of a process; of pages that others have, too, its share."""
    found = re.search(r"Pss:\s+(\d+)", Path(f"/proc/{process}/smaps_rollup").read_text())
    return int(found[1]) / 1024 if found else 0.0


def beside(
    world: World, pages: int, seconds: float, move: Callable[[], _Found]
) -> tuple[float, _Found, float]:
    """Moves for some seconds while more pages look.

    Returns:
        News a second to the slowest of these pages, what was found, processor time in each second.
    """
    seen: list[Seen] = []
    thread = threading.Thread(
        target=lambda: seen.extend(in_a_process(world.server.address, seconds + 3, pages))
    )
    before = world.hub.pages
    thread.start()
    while world.hub.pages < before + pages:
        time.sleep(0.1)
    begun_s = time.process_time()
    found = move()
    used = (time.process_time() - begun_s) / seconds
    thread.join()
    return min(page.news for page in seen) / seconds, found, used


def without_stack(browser: Browser) -> list[tuple[str, str, str]]:
    """Latency, first paint and many pages over a server in this process."""
    world = World()
    address = world.server.address
    browser.visit(address)
    paint_ms = browser.run(PAINT)
    browser.wait("document.querySelectorAll('#map .thing').length === 150")
    browser.run(WATCH)
    begun_s = time.process_time()
    one = latencies(world, browser)
    used = (time.process_time() - begun_s) / (STEPS * PERIOD_S)
    seconds = STEPS * PERIOD_S
    rate, crowd, used_crowd = beside(world, PAGES, seconds, lambda: latencies(world, browser))

    def race() -> dict[str, float]:
        return world.run(round(FAST_S / FAST_PERIOD_S), FAST_PERIOD_S)

    few, *_ = beside(world, 1, FAST_S, race)
    fast, _, used_fast = beside(world, PAGES, FAST_S, race)
    world.server.stop()

    def words(seen: list[float]) -> str:
        p50, p95 = np.percentile(seen, [50, 95]) * 1000
        return f"p50 {p50:.0f} ms, p95 {p95:.0f} ms ({len(seen)} of {STEPS} drawn one by one)"

    return [
        ("first contentful paint", f"{paint_ms:.0f} ms", "under 1000 ms"),
        ("news to drawing, one page", words(one), "p95 under 100 ms"),
        ("processor time of server and made world", f"{100 * used:.1f} % of a core", ""),
        (f"news to drawing beside {PAGES} more pages", words(crowd), ""),
        (f"slowest of {PAGES} pages", f"{rate:.1f} news a second", "10"),
        (f"processor time with {PAGES} pages", f"{100 * used_crowd:.1f} % of a core", ""),
        (f"one page, {1 / FAST_PERIOD_S:.0f} states a second", f"{few:.1f} news a second", ""),
        (f"slowest of {PAGES} pages, of that", f"{fast / few:.2f}", "kept"),
        (f"processor time with these {PAGES} pages", f"{100 * used_fast:.1f} % of a core", ""),
    ]


class Truth:
    """What the world published, heard without the console."""

    def __init__(self) -> None:
        """Listens until `close`."""
        import rclpy
        from planner_msgs.msg import WorldState
        from rclpy.executors import SingleThreadedExecutor

        from planner.ros import qos
        from planner.world import topics

        # When each state came, its time on the world's clock, and whether anything was new in it.
        self._states: list[tuple[float, float, bool]] = []
        self._context = rclpy.Context()
        self._context.init()
        self._node = rclpy.create_node("bench_console", context=self._context)
        self._node.create_subscription(WorldState, topics.WORLD_STATE, self._hear, qos.TRUTH)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)
        self._thread.start()

    def _hear(self, message: Any) -> None:
        changed = bool(message.entities) and not message.keyframe
        self._states.append((time.monotonic(), stamp_seconds(message.header.stamp), changed))

    def between(self, begun_s: float, ended_s: float) -> tuple[float, float]:
        """States with changes a second, and how far the world's clock went in a second."""
        found = [state for state in list(self._states) if begun_s <= state[0] <= ended_s]
        passed_s = found[-1][0] - found[0][0]
        changes = sum(changed for *_, changed in found)
        return changes / (ended_s - begun_s), (found[-1][1] - found[0][1]) / passed_s

    def close(self) -> None:
        """Ends it."""
        self._executor.shutdown()
        self._context.shutdown()
        self._thread.join(5.0)


@dataclass(frozen=True, slots=True)
class Turn:
    """What some pages got at the same time.

    Attributes:
        pages: how many they were.
        slowest: news of the true world a second, of the page that got fewest.
        states: with changes that the world published a second.
        loop: seconds of the world's clock in each of the wall's.
    """

    pages: int
    slowest: float
    states: float
    loop: float


def by_turns(address: str) -> list[Turn]:
    """One more page that looks and many, by turns."""
    truth = Truth()
    turns: list[Turn] = []
    try:
        for pages in (1, PAGES) * TURNS:
            seen = in_a_process(address, TURN_S, pages)
            begun_s, ended_s = max(s.begun_s for s in seen), min(s.ended_s for s in seen)
            slowest = min(s.moves / (s.ended_s - s.begun_s) for s in seen)
            turns.append(Turn(pages, slowest, *truth.between(begun_s, ended_s)))
            print(turns[-1], file=sys.stderr)
    finally:
        truth.close()
    return turns


def beside_a_stack(browser: Browser) -> list[tuple[str, str, str]]:
    """The console node's processor time and memory with one page."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "up.log"
        words = ["up", "planner:=words", "house:=train_3", "agents:=2"]
        words += ["console:=true", "console_port:=0"]
        with log.open("w") as file:
            up = subprocess.Popen([sys.executable, "-m", "planner.cli", *words], stdout=file)
        try:
            while not (address := re.search(r"console: (http://\S+)", log.read_text())):
                time.sleep(0.2)
            process = int(re.findall(r"console started, process (\d+)", log.read_text())[0])
            browser.visit(address[1])
            browser.wait("document.querySelectorAll('#map .agent').length === 2")
            browser.wait("!document.querySelector('#words').disabled")
            browser.run(
                "document.querySelector('#words').value = 'Bring all books to the kitchen table.';"
                "document.querySelector('#instruct-form').requestSubmit(); 1"
            )
            browser.wait("!!document.querySelector('#agents .call')")
            before_s, begun_s = cpu_s(process), time.monotonic()
            time.sleep(STACK_S)
            used = (cpu_s(process) - before_s) / (time.monotonic() - begun_s)
            memory, share = rss_mb(process), pss_mb(process)
            turns = by_turns(address[1])
        finally:
            up.terminate()
            up.wait(60)
    one, slowest = (
        float(np.mean([turn.slowest for turn in turns if turn.pages == pages]))
        for pages in (1, PAGES)
    )
    alone, beside = (
        float(np.median([turn.loop for turn in turns if turn.pages == pages]))
        for pages in (1, PAGES)
    )
    kept = beside / alone
    return [
        ("beside a task, one page with cameras", f"{100 * used:.1f} % of a core", "under 10 %"),
        ("its resident memory", f"{memory:.0f} MB", "under 200 MB"),
        ("its share of that, other nodes have the rest", f"{share:.0f} MB", ""),
        (
            "states of the world that change, a second",
            f"{np.mean([turn.states for turn in turns]):.1f}",
            "",
        ),
        ("news of them a second to one page", f"{one:.1f}", ""),
        (f"to the slowest of {PAGES} pages, of those to one", f"{slowest / one:.2f}", "kept"),
        (f"robot's loop beside {PAGES} pages, of that beside one", f"{kept:.2f}", "0.95 or more"),
    ]


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stack", action="store_true", help="beside a running demo instead")
    args = parser.parse_args()
    path = find_browser()
    if path is None:
        print("no Chromium here: apt-get install chromium", file=sys.stderr)
        return 1
    with Browser(path) as browser:
        rows = beside_a_stack(browser) if args.stack else without_stack(browser)
    print_table("The console's page", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
