"""The console's page: latency from the world to the drawing, processor time, many pages.

Repeat with: python benchmarks/bench_console.py [--stack]

Without a stack the news are made here: 150 things, of which 20 move at 10 Hz, and an agent; a page
in headless Chromium notes when it has drawn the agent's new place. With `--stack` the console runs
beside a demo in the house train_3 with one page that shows cameras, then with 50 more pages that
look: the robot's loop is how far the world's clock goes in a second.
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
from pathlib import Path
from types import SimpleNamespace as Message

import numpy as np
from machine import print_table
from websockets.asyncio.client import connect

sys.path[:0] = [str(Path(__file__).parents[1] / "test" / name) for name in (".", "planner/console")]
from console_messages import entity, info, state  # noqa: E402
from headless_browser import Browser, find_browser  # noqa: E402

from planner.console.access import Access  # noqa: E402
from planner.console.connection import Hub  # noqa: E402
from planner.console.dispatcher import OrderDispatcher  # noqa: E402
from planner.console.protocol import Hello  # noqa: E402
from planner.console.server import Server  # noqa: E402
from planner.console.session_record import SessionRecord  # noqa: E402
from planner.console.show import LiveShow, Pictures  # noqa: E402
from planner.console.table import Table  # noqa: E402
from planner.console.view import View  # noqa: E402
from planner.console.visitor import Visitor  # noqa: E402

THINGS, MOVING, PERIOD_S, STEPS, PAGES = 150, 20, 0.1, 200, 50
STACK_S = 40.0
# When the agent was drawn where, by the page's clock, which is the machine's.
WATCH = """
window.drawn = [];
const agent = document.querySelector('#map .agent');
new MutationObserver(() => {
  const where = agent.getAttribute('transform');
  requestAnimationFrame(() => window.drawn.push([where, Date.now() / 1000]));
}).observe(agent, {attributes: true, attributeFilter: ['transform']}); 1
"""
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

    def run(self, steps: int) -> dict[str, float]:
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
            time.sleep(max(0.0, begun_s + step * PERIOD_S - time.monotonic()))
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


async def many(address: str, seconds: float, pages: int = PAGES) -> list[tuple[int, float]]:
    """How many news each page got, and seconds of the world's clock in each second of the wall."""

    async def page(number: int) -> tuple[int, float]:
        count = 0
        clocks: list[tuple[float, float]] = []
        async with connect(address, max_size=None) as socket:
            hello = {"type": "hello", "version": 1, "token": "", "session": f"page{number:06d}"}
            await socket.send(json.dumps(hello))
            try:
                async with asyncio.timeout(seconds):
                    while True:
                        news = json.loads(await socket.recv())
                        if news["type"] in ("all", "patch"):
                            count += 1
                            clock = news["set"].get("world", {}).get("clock")
                            if clock is not None:
                                clocks.append((time.monotonic(), clock))
                            drawn = {"type": "drawn", "version": news["version"]}
                            await socket.send(json.dumps(drawn))
            except TimeoutError:
                # The first one is as old as the page's first look.
                if len(clocks) < 3:
                    return count, 0.0
                (begun_s, first), (ended_s, last) = clocks[1], clocks[-1]
                return count, (last - first) / (ended_s - begun_s)

    return list(await asyncio.gather(*(page(number) for number in range(pages))))


def in_a_process(address: str, seconds: float, pages: int = PAGES) -> list[tuple[int, float]]:
    """As `many`, in a process of its own."""
    socket = address.replace("http", "ws") + "ws"
    code = "import asyncio, bench_console as b;"
    code += f"print(b.json.dumps(asyncio.run(b.many({socket!r}, {seconds}, {pages}))))"
    out = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return [(int(count), float(rate)) for count, rate in json.loads(out.stdout)]


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
    found: list[list[tuple[int, float]]] = []
    seconds = STEPS * PERIOD_S

    def visit() -> None:
        found.append(in_a_process(address, seconds + 3))

    thread = threading.Thread(target=visit)
    thread.start()
    while world.hub.pages <= PAGES:
        time.sleep(0.1)
    begun_s = time.process_time()
    crowd = latencies(world, browser)
    used_crowd = (time.process_time() - begun_s) / seconds
    thread.join()
    world.server.stop()
    rate = min(count for count, _ in found[0]) / seconds

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
    ]


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
            # One more that looks, then 50.
            ((alone, loop),) = in_a_process(address[1], STACK_S, 1)
            crowd = in_a_process(address[1], STACK_S)
            slowest = min(count for count, _ in crowd) / alone
            kept = float(np.median([rate for _, rate in crowd])) / loop
        finally:
            up.terminate()
            up.wait(60)
    return [
        ("beside a task, one page with cameras", f"{100 * used:.1f} % of a core", "under 10 %"),
        ("its resident memory", f"{memory:.0f} MB", "under 200 MB"),
        ("its share of that, other nodes have the rest", f"{share:.0f} MB", ""),
        (f"news to the slowest of {PAGES} pages, of those to one", f"{slowest:.2f}", "kept"),
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
