"""Fault scripts as data, and a relay that makes the network between clients and robot bad."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
import time
from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from planner.world.errors import PlannerError
from planner.world.files import FileModel
from planner.world.sqlite_file import ClosedOnExit


class LinkFaults(FileModel):
    """Faults of the network, applied to the bytes of every connection; by default none."""

    # Half of it in each direction.
    round_trip_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    # Maximum additional delay in each direction, uniformly distributed; bytes stay in order, as in
    # TCP.
    jitter_s: Annotated[float, Field(ge=0, le=10)] = 0.0
    # The share of lost packets. TCP retransmits them and delays what follows.
    loss: Annotated[float, Field(ge=0, le=0.9)] = 0.0
    # Nothing passes either way; connections stay open.
    stalled: bool = False
    seed: int = 0


class TroubleKind(StrEnum):
    """Kinds of faults."""

    FAIL = "fail"  # the next `count` calls of `method` end with the gRPC status `code`
    HANG = "hang"  # the next `count` calls of `method` take `seconds` of wall time
    # The next `count` calls of `method` are neither executed nor answered.
    DROP_REQUEST = "drop_request"
    # They are executed but not answered.
    DROP_ANSWER = "drop_answer"
    # They are executed after a later call of `method`, or after `seconds` without one.
    REORDER = "reorder"
    DROP_TOKEN = "drop_token"  # noqa: S105 - a name
    TAKE_LEASE = "take_lease"  # by the client `name`
    RETURN_LEASE = "return_lease"
    REBOOT = "reboot"  # new epoch, motors off, sitting
    BEHAVIOR_FAULT = "behavior_fault"  # with the cause `name`
    BATTERY = "battery"  # at `value` percent
    CLOCK_SKEW = "clock_skew"  # the robot's clock runs `value` seconds ahead
    ESTOP = "estop"  # by a person; value 0 releases it
    GRASPS_SLIP = "grasps_slip"  # the next `count` grasps
    PLACES_STICK = "places_stick"  # the next `count` times the gripper opens around something
    NO_SERVICE = "no_service"  # the directory does not know the service `name`
    OVERLOOK = "overlook"  # perception misses the thing `name` for `seconds`; 0 = for good
    # The link in front of the emulator: `seconds` of silence, another round-trip time or packet
    # loss (`value`), and a reset of every connection.
    LINK_STALL = "link_stall"
    LINK_ROUND_TRIP = "link_round_trip"
    LINK_LOSS = "link_loss"
    LINK_CUT = "link_cut"


LINK_KINDS = frozenset(
    {
        TroubleKind.LINK_STALL,
        TroubleKind.LINK_ROUND_TRIP,
        TroubleKind.LINK_LOSS,
        TroubleKind.LINK_CUT,
    }
)


class Trouble(FileModel):
    """One fault, `at_s` seconds after the emulator's start."""

    kind: TroubleKind
    at_s: Annotated[float, Field(ge=0)] = 0.0
    method: str = ""
    code: str = "UNAVAILABLE"
    count: Annotated[int, Field(ge=1)] = 1
    # For call faults: the probability that a call is one of the `count`.
    share: Annotated[float, Field(gt=0, le=1)] = 1.0
    seconds: Annotated[float, Field(ge=0, le=600)] = 0.0
    name: str = ""
    value: float = 0.0


class FaultScript(FileModel):
    """All faults of one run; `seed` determines those with a `share` below 1."""

    version: Literal[1] = 1
    seed: int = 0
    link: LinkFaults = LinkFaults()
    troubles: tuple[Trouble, ...] = ()


# A bad network between clients and the emulator: a relay that delays, loses, stalls and resets.

# Payload of a packet in a typical network.
PACKET_BYTES = 1448
# TCP retransmits a packet after its round trip plus this time, then after twice as long, and so on.
RETRANSMISSION_S = 0.2
MAX_RETRANSMISSION_S = 10.0
_CHUNK_BYTES = 1 << 16
# Buffer limit of one direction; above it no more is read from the sender, as with TCP.
_HELD_BYTES = 8 << 20
_START_S = 10.0


class LinkRelay(ClosedOnExit):
    """Forwards every TCP connection from `port` to `target_port`, with the faults of `faults`.

    Bytes are delayed without limiting the bandwidth. TLS is not touched. The relay runs in a thread
    of its own; every method may be called from any thread.
    """

    def __init__(
        self,
        target_port: int,
        faults: LinkFaults | None = None,
        *,
        port: int = 0,
        address: str = "127.0.0.1",
        target_address: str = "127.0.0.1",
    ) -> None:
        """Binds the port (0: any free one).

        Raises:
            PlannerError: if the port cannot be used.
        """
        self.target = (target_address, target_port)
        self._faults = faults or LinkFaults()
        self._lanes: set[_Lane] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._made = 0
        self._closed = False
        self._lock = threading.RLock()
        self._stalls = 0
        # When a byte last reached the target, on `time.monotonic`.
        self.reached_target_s = -float("inf")
        try:
            self._listener = socket.create_server((address, port), backlog=128)
        except OSError as error:
            raise PlannerError(f"the link's port {port} cannot be used ({error})") from None
        self.port: int = self._listener.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="link relay", daemon=True)
        ready = threading.Event()
        self._loop.call_soon(ready.set)
        self._thread.start()
        ready.wait(_START_S)

    @property
    def faults(self) -> LinkFaults:
        """The current faults."""
        return self._faults

    @faults.setter
    def faults(self, faults: LinkFaults) -> None:
        self._faults = faults
        self._soon(self._wake)

    def change(self, **fields: float | bool) -> None:
        """Changes some of the faults, by the names of `LinkFaults`."""
        with self._lock:
            merged = {**self._faults.model_dump(), **fields}
            self.faults = LinkFaults.model_validate(merged)

    def stall(self, seconds: float) -> None:
        """Blocks all traffic for this time; returns at once."""
        with self._lock:
            self._stalls += 1
            self.change(stalled=True)
        self._soon(lambda: self._loop.call_later(seconds, self._flow_again))

    def _flow_again(self) -> None:
        with self._lock:
            self._stalls -= 1
            if not self._stalls:
                self.change(stalled=False)

    def cut(self) -> None:
        """Resets every connection; new ones are accepted."""
        self._soon(self._reset_all)

    @property
    def connections(self) -> int:
        """Number of open connections."""
        return len(self._lanes) // 2

    def close(self) -> None:
        """Resets all connections and frees the port; safe to call twice."""
        if self._closed:
            return
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_START_S)

    def _soon(self, call: Callable[[], object]) -> None:
        if not self._closed:
            self._loop.call_soon_threadsafe(call)

    # The relay's thread

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        serving = asyncio.start_server(self._accept, sock=self._listener)
        server = self._loop.run_until_complete(serving)
        self._loop.run_forever()
        server.close()
        self._reset_all()
        for task in self._tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*self._tasks, return_exceptions=True))
        self._loop.close()

    def _wake(self) -> None:
        for lane in self._lanes:
            lane.changed.set()

    def _reset_all(self) -> None:
        for lane in list(self._lanes):
            lane.reset()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        number, self._made = self._made, self._made + 1
        try:
            there = await asyncio.open_connection(*self.target)
        except OSError:
            _reset(writer)
            return
        # A client would notice its connection after a round trip, here at once: the first bytes are
        # delayed instead.
        open_s = self._loop.time() + self._faults.round_trip_s
        up = _Lane(self, reader, there[1], f"{number} up", open_s)
        down = _Lane(self, there[0], writer, f"{number} down", open_s)
        self._lanes |= {up, down}
        try:
            await asyncio.gather(up.run(), down.run())
        except OSError:
            # If one end resets the connection, so does the other.
            up.reset()
            down.reset()
        except asyncio.CancelledError:
            # Only at the relay's end; asyncio's own server would print it.
            return
        finally:
            self._lanes -= {up, down}
            for each in (writer, there[1]):
                each.close()


class _Lane:
    """One direction of one connection."""

    def __init__(
        self,
        relay: LinkRelay,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        name: str,
        open_s: float,
    ) -> None:
        self.changed = asyncio.Event()
        self._relay, self._reader, self._writer = relay, reader, writer
        self._upward = name.endswith("up")
        self._random = random.Random(f"{relay.faults.seed} {name}")
        # Bytes and their arrival times; None marks the end of the stream.
        self._held: deque[tuple[float, bytes]] = deque()
        self._held_bytes = 0
        self._last_s = self._open_s = open_s
        self._loop = asyncio.get_running_loop()
        self._reset_by_sender = self._over = False

    async def run(self) -> None:
        """Forwards bytes until the sender ends.

        Raises:
            OSError: if either end reset the connection.
        """
        reading = asyncio.ensure_future(self._read())
        try:
            await self._write()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    def reset(self) -> None:
        """Resets the connection at once, and tells the reader."""
        _reset(self._writer)
        self._over = True
        self.changed.set()

    async def _read(self) -> None:
        while True:
            while self._held_bytes > _HELD_BYTES:
                await self._until_changed(None)
            try:
                data = await self._reader.read(_CHUNK_BYTES)
            except OSError:
                data, self._reset_by_sender = b"", True
            self._held.append((self._arrival_s(len(data)), data))
            self._held_bytes += len(data)
            self.changed.set()
            if not data:
                return

    async def _write(self) -> None:
        while not self._over:
            if not self._held or self._relay.faults.stalled:
                await self._until_changed(None)
                continue
            arrives_s, data = self._held[0]
            wait_s = arrives_s - self._loop.time()
            if wait_s > 0:
                await self._until_changed(wait_s)
                continue
            self._held.popleft()
            self._held_bytes -= len(data)
            self.changed.set()
            if not data:
                self._end()
                return
            self._writer.write(data)
            if self._upward:
                self._relay.reached_target_s = time.monotonic()
            await self._writer.drain()

    def _end(self) -> None:
        if self._reset_by_sender:
            raise ConnectionResetError
        if self._writer.can_write_eof() and not self._writer.is_closing():
            self._writer.write_eof()

    async def _until_changed(self, wait_s: float | None) -> None:
        self.changed.clear()
        try:
            await asyncio.wait_for(self.changed.wait(), wait_s)
        except TimeoutError:
            return

    def _arrival_s(self, size: int) -> float:
        """Arrival time of bytes sent now: after the delay, and after all bytes sent before."""
        faults = self._relay.faults
        way_s = faults.round_trip_s / 2 + faults.jitter_s * self._random.random()
        lost = self._lost(max(1, -(-size // PACKET_BYTES)))
        retransmit_s = faults.round_trip_s + RETRANSMISSION_S
        while lost:
            way_s += retransmit_s
            retransmit_s = min(2 * retransmit_s, MAX_RETRANSMISSION_S)
            lost = self._lost(lost)
        self._last_s = max(self._last_s, max(self._loop.time(), self._open_s) + way_s)
        return self._last_s

    def _lost(self, packets: int) -> int:
        loss = self._relay.faults.loss
        return sum(self._random.random() < loss for _ in range(packets)) if loss else 0


def _reset(writer: asyncio.StreamWriter) -> None:
    """Closes with a reset instead of a regular end."""
    found: socket.socket | None = writer.get_extra_info("socket")
    if found is not None and not writer.is_closing():
        # Lingering for 0 s makes the operating system send a reset.
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
