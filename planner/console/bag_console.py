"""The page of a bag: each page has its own time."""

from __future__ import annotations

import asyncio
import bisect
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from planner.command_line import EXIT_OK, termination_requested
from planner.console.access import Access, Pictures
from planner.console.connection import Hub
from planner.console.facts import Json, Table
from planner.console.orders import Done
from planner.console.protocol import Hello, Order, Play, Seek
from planner.console.server import Server
from planner.console.view import AGENT_TOPICS, SHARED_TOPICS, Snapshot, View
from planner.models.ledger import PriceTable
from planner.replay.bag import Bag, RawMessage
from planner.replay.report.pictures import small_picture
from planner.world import topics
from planner.world.errors import FileError

# A bag as the page shows it: the messages of a span of time, the pictures of a moment.

# Seconds of the bag before a moment in which a picture is searched.
PICTURE_S = 3.0
_IMAGE = topics.colour_image("hand")
_IMAGES = (f"{_IMAGE}/compressed", _IMAGE)
_NS = 1_000_000_000


class Recording:
    """An open bag; several pages may read it.

    Attributes:
        name: of its folder.
        duration_s: from its first to its last message.
        note: what is wrong with it, in words; "" = nothing.
    """

    def __init__(self, folder: Path) -> None:
        """Opens it.

        Raises:
            FileError: if it cannot be read, or has nothing that the page shows.
        """
        self._bag = Bag(folder)
        self._lock = threading.Lock()
        self._prefix = self._namespace()
        shown = {self._prefix + name for name in SHARED_TOPICS}
        shown.add("/" + topics.DIAGNOSTICS.lstrip("/"))
        endings = tuple(f"/{name}" for name in AGENT_TOPICS)
        self._names = [name for name in self._bag.topics if name in shown or name.endswith(endings)]
        count = sum(self._bag.topics[name].count for name in self._names)
        if not self._names or not count:
            raise FileError(folder, "", "has no messages that the console shows")
        self._cameras = {
            agent: name for name in self._bag.topics if (agent := self._agent_of(name))
        }
        self.name = folder.resolve().name
        self.duration_s = (self._bag.end_ns - self._bag.start_ns) / _NS
        self.note = "; ".join(f"missing: {line}" for line in self._bag.lacks())

    def messages(self, after_s: float, until_s: float) -> Iterator[tuple[str, RawMessage]]:
        """Topic, relative to the namespace, and message of those after a time until another one.

        Args:
            after_s: seconds since the bag's beginning, exclusive; negative = from the beginning.
            until_s: the same, inclusive.
        """
        span = self._span(after_s, until_s)
        with self._lock:
            found = list(self._bag.raw(self._names, start_ns=span[0], end_ns=span[1]))
        for message in found:
            yield message.topic.removeprefix(self._prefix), message

    def pictures(self, at_s: float) -> dict[str, bytes]:
        """The newest JPEG of each agent's camera at a time."""
        start_ns, end_ns = self._span(at_s - PICTURE_S, at_s)
        newest: dict[str, RawMessage] = {}
        with self._lock:
            names = [*self._cameras.values()]
            for message in self._bag.raw(names, start_ns=start_ns, end_ns=end_ns) if names else ():
                newest[message.topic] = message
        found = {}
        for agent, name in self._cameras.items():
            if name in newest and (jpeg := _jpeg(newest[name])):
                found[agent] = jpeg
        return found

    def _span(self, after_s: float, until_s: float) -> tuple[int, int]:
        start_ns = self._bag.start_ns
        first = start_ns if after_s < 0 else start_ns + round(after_s * _NS) + 1
        return first, start_ns + round(until_s * _NS) + 1

    def _namespace(self) -> str:
        ends = [f"/{name}" for name in (topics.WORLD_INFO, topics.WORLD_STATE, topics.WORLD_GRAPH)]
        for name in self._bag.topics:
            for end in ends:
                if name.endswith(end):
                    return name.removesuffix(end) + "/"
        return "/"

    def _agent_of(self, topic: str) -> str:
        name = topic.removeprefix(self._prefix)
        for image in _IMAGES:
            if name.endswith(f"/{image}"):
                return name.removesuffix(f"/{image}")
        return ""


def _jpeg(message: RawMessage) -> bytes | None:
    try:
        return small_picture(message.content())[2]
    except (ValueError, AttributeError):
        # No picture: the others are shown.
        return None


# Wall seconds between two steps while it plays, between two pictures.
STEP_S, PICTURE_PERIOD_S = 0.1, 0.5
# Of the bag: at most so many snapshots, and no two nearer than so many seconds.
_MAX_SNAPSHOTS, _SNAPSHOT_S = 200, 5.0


class BagShow:
    """One page's state of a bag."""

    importance = 0
    mode = "bag"

    def __init__(self, recording: Recording, hub: Hub, prices: PriceTable | None = None) -> None:
        """At the bag's beginning; runs in the server's loop."""
        self._recording, self._hub = recording, hub
        self.table = Table(hub.changed)
        self._view = View(self.table, prices)
        # By their times, ascending; a way that was gone before begins at the last one before it.
        self._snapshots: list[tuple[float, Snapshot]] = [(-1.0, self._view.snapshot())]
        self._snapshot_s = max(_SNAPSHOT_S, recording.duration_s / _MAX_SNAPSHOTS)
        self._pictures = Pictures()
        self._shows_pictures = False
        self._pictured_s = 0.0
        # The time that is shown, and the one that is wanted.
        self._at_s, self._target_s = -1.0, 0.0
        self._rate, self._playing = 1.0, False
        self._moved = asyncio.Event()
        self._moved.set()
        self._task = asyncio.get_running_loop().create_task(self._run())

    def about(self) -> dict[str, Json]:
        """Name, length and state of the bag."""
        return {
            "bag": self._recording.name,
            "duration": self._recording.duration_s,
            "note": self._recording.note,
        }

    async def order(self, order: Order, done: Done) -> None:
        """Nothing moves in a recording."""
        done(False, f"a recording takes no orders ({order.type})")

    async def control(self, message: Seek | Play) -> None:
        """Goes to a time, plays or pauses."""
        if isinstance(message, Seek):
            self._target_s = min(message.at, self._recording.duration_s)
        else:
            if message.on and self._target_s >= self._recording.duration_s:
                self._target_s = 0.0
            self._playing, self._rate = message.on, message.rate
        self._moved.set()

    def trace(self, key: str) -> dict[str, Json] | None:
        """As in the view."""
        return self._view.trace(key)

    def want_pictures(self, on: bool) -> None:
        """Reads pictures from now on, or no longer."""
        self._shows_pictures, self._pictured_s = on, 0.0
        self._moved.set()

    def pictures(self, since: int, *, cameras: bool) -> list[tuple[int, str, bytes]]:
        """The newest of each agent."""
        return self._pictures.newer(since, cameras=cameras)

    def close(self) -> None:
        """Ends the playing."""
        self._task.cancel()

    async def _run(self) -> None:
        stepped_s = time.monotonic()
        while True:
            if not self._playing:
                await self._moved.wait()
                stepped_s = time.monotonic()
            self._moved.clear()
            target_s = self._target_s
            await asyncio.to_thread(self._go, target_s)
            self._show_position()
            if not self._playing:
                continue
            await asyncio.sleep(STEP_S)
            now_s = time.monotonic()
            if self._target_s == target_s:
                self._target_s += (now_s - stepped_s) * self._rate
            stepped_s = now_s
            if self._target_s >= self._recording.duration_s:
                self._target_s, self._playing = self._recording.duration_s, False
                self._moved.set()

    def _go(self, target_s: float) -> None:
        """Shows a time; in another thread, as a long way takes a moment."""
        self._rest_at_snapshot(target_s)
        while self._at_s < target_s:
            next_s = min(target_s, self._snapshots[-1][0] + self._snapshot_s)
            until_s = next_s if next_s > self._at_s else target_s
            self._read(until_s)
            if until_s >= self._snapshots[-1][0] + self._snapshot_s:
                self._snapshots.append((until_s, self._view.snapshot()))
        now_s = time.monotonic()
        if self._shows_pictures and now_s - self._pictured_s >= PICTURE_PERIOD_S:
            self._pictured_s = now_s if self._playing else 0.0
            for agent, jpeg in self._recording.pictures(target_s).items():
                self._pictures.put(agent, jpeg)
            self._hub.changed()

    def _rest_at_snapshot(self, target_s: float) -> None:
        """Goes to the last snapshot before a time, unless the way from here is shorter."""
        index = bisect.bisect_right(self._snapshots, target_s, key=lambda each: each[0]) - 1
        at_s, snapshot = self._snapshots[index]
        if not at_s <= self._at_s <= target_s:
            self._view.restore(snapshot)
            self._at_s = at_s

    def _read(self, until_s: float) -> None:
        for topic, message in self._recording.messages(self._at_s, until_s):
            try:
                content = message.content()
            except ValueError:
                # Of a type that cannot be read: the view counts it.
                content = None
            self._view.take(topic, content)
        self._at_s = until_s

    def _show_position(self) -> None:
        self.table.set(
            "bag", "now", {"t": round(self._at_s, 3), "playing": self._playing, "rate": self._rate}
        )


def serve_bag(folder: Path, access: Access, prices: PriceTable | None = None) -> int:
    """Serves the page of a bag until Ctrl-C or SIGTERM; returns the exit status.

    Raises:
        PlannerError: if the bag or the address cannot be used.
    """
    recording = Recording(folder)
    hub = Hub()

    def make(hello: Hello, *, may_order: bool) -> BagShow:
        _ = hello, may_order
        return BagShow(recording, hub, prices)

    server = Server(access, hub, make)
    with termination_requested() as ends:
        server.start()
        for address in server.addresses():
            print(f"console: {address}", flush=True)
        server.wait(ends)
        server.stop()
    return EXIT_OK
