"""The page of a bag: each page has its own time."""

from __future__ import annotations

import asyncio
import bisect
import time
from pathlib import Path

from planner.console.access import Access
from planner.console.connection import Hub
from planner.console.orders import Done
from planner.console.protocol import Hello, Order, Play, Seek
from planner.console.recording import Recording
from planner.console.server import Server
from planner.console.show import Pictures
from planner.console.table import Json, Table
from planner.console.view import Snapshot, View
from planner.exit_status import EXIT_OK
from planner.interrupts import termination_requested
from planner.models.price_table import PriceTable

# Wall seconds between two steps while it plays, between two pictures.
STEP_S, PICTURE_PERIOD_S = 0.1, 0.5
# Of the bag: at most so many snapshots, and no two nearer than so many seconds.
_MAX_SNAPSHOTS, _SNAPSHOT_S = 200, 5.0


class BagShow:
    """One page's state of a bag."""

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

    @property
    def importance(self) -> int:
        """All pages only look."""
        return 0

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
            "bag",
            "now",
            {"t": round(self._at_s, 3), "playing": self._playing, "rate": self._rate},
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
