"""Two network namespaces joined by a link that delays, loses and reorders Ethernet frames.

Each end is a TAP device; a thread of this process forwards frames between them. It carries real
UDP, TCP and DDS without the kernel's netem, which many kernels lack. It needs root, /dev/net/tun
and the program `ip`.
"""

from __future__ import annotations

import fcntl
import heapq
import itertools
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from planner.world.closing import ClosedOnExit
from planner.world.errors import PlannerError

_TUN = Path("/dev/net/tun")
# TUNSETIFF, IFF_TAP and IFF_NO_PI of linux/if_tun.h: whole Ethernet frames without a header.
_TUNSETIFF = 0x400454CA
_IFF_TAP, _IFF_NO_PI = 0x0002, 0x1000
_FRAME_BYTES = 1 << 16
_FAR_AHEAD_S = 0.2
# Frames beyond this are dropped, as on a real link that is slower than the sender.
_MAX_QUEUED_FRAMES = 20_000
_COUNTER = itertools.count()


@dataclass(frozen=True, slots=True)
class PacketFaults:
    """Faults of the link, the same in both directions."""

    round_trip_s: float = 0.0
    # Uniformly distributed and independent for each frame, so frames overtake one another.
    jitter_s: float = 0.0
    # Fractions of frames.
    loss: float = 0.0
    reordered: float = 0.0
    # Additional delay of a reordered frame.
    reordered_by_s: float = 0.05
    stalled: bool = False


class End:
    """One end: a namespace of its own with one interface and the loopback."""

    def __init__(self, namespace: str, device: str, address: str) -> None:
        self.namespace, self.device, self.address = namespace, device, address

    def inside(self, *words: str) -> list[str]:
        """A command line that runs `words` at this end."""
        return ["ip", "netns", "exec", self.namespace, *words]

    def set_up(self) -> int:
        """Makes the namespace and its interface; returns the descriptor of its frames.

        Raises:
            PlannerError: if this machine does not allow it.
        """
        _ip("netns", "add", self.namespace)
        try:
            frames = os.open(_TUN, os.O_RDWR | os.O_NONBLOCK)
        except OSError as error:
            raise PlannerError(f"cannot create a packet link: {_TUN}: {error}") from None
        try:
            request = struct.pack("16sH22x", self.device.encode(), _IFF_TAP | _IFF_NO_PI)
            fcntl.ioctl(frames, _TUNSETIFF, request)
        except OSError as error:
            os.close(frames)
            raise PlannerError(f"cannot create a packet link: {error}") from None
        _ip("link", "set", self.device, "netns", self.namespace)
        for words in (
            ("address", "add", f"{self.address}/24", "dev", self.device),
            ("link", "set", self.device, "up"),
            ("link", "set", "lo", "up"),
            # Discovery is multicast.
            ("route", "add", "224.0.0.0/4", "dev", self.device),
        ):
            _ip("-n", self.namespace, *words)
        return frames


class PacketLink(ClosedOnExit):
    """Two ends and the faulty link between them; `faults` may be changed while it runs."""

    def __init__(self, faults: PacketFaults | None = None, seed: int = 0) -> None:
        """Makes both namespaces.

        Raises:
            PlannerError: if this machine does not allow it, and why.
        """
        if shutil.which("ip") is None:
            raise PlannerError("cannot create a packet link: `ip` is missing (apt: iproute2)")
        self.faults = faults or PacketFaults()
        self.counts: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._held: list[tuple[float, int, int, bytes]] = []
        self._numbers = itertools.count()
        # Interface names have at most 15 characters; 198.18.0.0/15 is reserved for network tests.
        number = f"{os.getpid() % 0x100000:x}-{next(_COUNTER)}"
        base = f"198.19.{os.getpid() % 256}"
        self.near = End(f"bad-near-{number}", f"badN{number}", f"{base}.1")
        self.far = End(f"bad-far-{number}", f"badF{number}", f"{base}.2")
        self._frames: list[int] = []
        self._wake, self._waker = os.pipe()
        self._thread = threading.Thread(target=self._forward, name="packet link", daemon=True)
        try:
            for end in (self.near, self.far):
                self._frames.append(end.set_up())
        except PlannerError:
            self._take_down()
            raise
        self._thread.start()

    def close(self) -> None:
        """Removes the link and both namespaces; no process may be running in them."""
        os.write(self._waker, b"x")
        self._thread.join(5.0)
        self._take_down()

    def _take_down(self) -> None:
        for each in (*self._frames, self._wake, self._waker):
            os.close(each)
        for end in (self.near, self.far):
            words = ["ip", "netns", "delete", end.namespace]
            subprocess.run(words, capture_output=True, check=False)

    # In a thread of its own

    def _forward(self) -> None:
        others = {self._frames[0]: self._frames[1], self._frames[1]: self._frames[0]}
        while True:
            ready, _, _ = select.select([*self._frames, self._wake], [], [], self._wait_s())
            if self._wake in ready:
                return
            for each in ready:
                self._receive(each, others[each])
            self._deliver()

    def _wait_s(self) -> float:
        if not self._held or self.faults.stalled:
            return _FAR_AHEAD_S
        return min(max(0.0, self._held[0][0] - time.monotonic()), _FAR_AHEAD_S)

    def _receive(self, source: int, target: int) -> None:
        faults, rng = self.faults, self._random
        while True:
            try:
                frame = os.read(source, _FRAME_BYTES)
            except BlockingIOError:
                return
            self.counts["sent"] += 1
            if rng.random() < faults.loss or len(self._held) >= _MAX_QUEUED_FRAMES:
                self.counts["lost"] += 1
                continue
            wait_s = faults.round_trip_s / 2 + faults.jitter_s * rng.random()
            if rng.random() < faults.reordered:
                self.counts["reordered"] += 1
                wait_s += faults.reordered_by_s
            due = (time.monotonic() + wait_s, next(self._numbers), target, frame)
            heapq.heappush(self._held, due)

    def _deliver(self) -> None:
        now_s = time.monotonic()
        while self._held and not self.faults.stalled and self._held[0][0] <= now_s:
            _, _, target, frame = heapq.heappop(self._held)
            try:
                os.write(target, frame)
            except OSError:
                # An interface that is full or down drops frames.
                self.counts["lost"] += 1


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PlannerError(
            f"cannot create a packet link: ip {' '.join(words)}: {done.stderr.strip()}"
        )
