"""What a run takes of its machine: processes, ROS domains, shared memory, a disk, a link."""

from __future__ import annotations

import fcntl
import heapq
import itertools
import multiprocessing
import os
import random
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from planner.ros.domain_lock import DomainLock
from planner.warm_start import become
from planner.world.errors import PlannerError
from planner.world.sqlite_file import ClosedOnExit

# Shared-memory segments of the middleware that killed processes leave behind, a megabyte each.
#
# Nothing else unlinks them, so a thousand runs would fill the memory.

_SEGMENT = re.compile(r"/dev/shm/fastdds_[0-9a-f]{16}\b")  # noqa: S108 - where it makes them


def segments_of(pid: int) -> set[Path]:
    """The segments that a process has mapped, its own and those of its peers."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return set()
    return {Path(found) for found in _SEGMENT.findall(maps)}


# Reserves ROS domains that no other run on this machine uses.

# Higher domains collide with the ephemeral ports of Linux.
_DOMAINS = range(1, 102)
# Least recently used first, so that peers have forgotten participants killed there.
_NEXT = itertools.count(os.getpid())


@contextmanager
def reserve_domain() -> Iterator[int]:
    """Reserves a domain for the `with` block; integration tests use the same locks.

    Raises:
        PlannerError: if all are reserved.
    """
    folder = Path(tempfile.gettempdir()) / "planner-ros-domains"
    folder.mkdir(mode=0o777, exist_ok=True)
    for _ in _DOMAINS:
        number = _DOMAINS[next(_NEXT) % len(_DOMAINS)]
        with (folder / str(number)).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A bridge started without such a lock may be running in it.
                DomainLock(number).close()
            except (BlockingIOError, PlannerError):
                continue
            yield number
            return
    raise PlannerError(f"all ROS domains are in use; see {folder}")


# A small disk for the output of a run, which can be filled up.

_SIZE_MB = 400
_BLOCK = b"\0" * (1 << 20)


class SmallDisk:
    """A tmpfs at a folder."""

    def __init__(self, folder: Path) -> None:
        """Mounts it.

        Raises:
            PlannerError: if this machine does not allow it.
        """
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        words = ["mount", "-t", "tmpfs", "-o", f"size={_SIZE_MB}m", "bad-day", str(folder)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise PlannerError(f"cannot mount a small disk: {done.stderr.strip()}")
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Fills it to the last byte."""
        with suppress(OSError), self._ballast.open("wb", buffering=0) as file:
            while file.write(_BLOCK):
                pass

    def empty(self) -> None:
        """Frees the space again."""
        self._ballast.unlink(missing_ok=True)

    def close(self) -> None:
        """Unmounts it, with everything on it."""
        subprocess.run(["umount", "-l", str(self.folder)], capture_output=True, check=False)


# Two network namespaces joined by a link that delays, loses and reorders Ethernet frames.
#
# Each end is a TAP device; a thread of this process forwards frames between them. It carries real
# UDP, TCP and DDS without the kernel's netem, which many kernels lack. It needs root, /dev/net/tun
# and the program `ip`.

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

    def __init__(self, seed: int = 0) -> None:
        """Makes both namespaces.

        Raises:
            PlannerError: if this machine does not allow it, and why.
        """
        if shutil.which("ip") is None:
            raise PlannerError("cannot create a packet link: `ip` is missing (apt: iproute2)")
        self.faults = PacketFaults()
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


# How often a throttled process is stopped and continued.
_PERIOD_S = 0.1
_POLL_S = 0.05
# Shared-memory segments of programs that this process killed.
LEFTOVER_SEGMENTS: set[Path] = set()


@dataclass(frozen=True, slots=True)
class ProgramSpec:
    """A program to fork; its output goes to `log`."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    log: Path


class Spawner:
    """Starts programs for a multi-threaded process through a single-threaded one."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()

    def start(self, spec: ProgramSpec) -> Program:
        """Starts a program."""
        pid = self._ask("start", spec)
        return Program(spec.name, int(pid), self, spec.log)

    def status(self, pid: int) -> int | None:
        """Exit status of a program, None while it runs, minus the number if a signal killed it."""
        found: int | None = self._ask("status", pid)
        return found

    def _ask(self, word: str, value: object) -> Any:
        with self._lock:
            self._connection.send((word, value))
            return self._connection.recv()


def serve_spawner(connection: Connection, child: BaseProcess) -> None:
    """Serves a `Spawner` from the single-threaded process until its client `child` has ended."""
    made: dict[int, BaseProcess] = {}
    while child.exitcode is None:
        try:
            if not connection.poll(_POLL_S):
                continue
            word, value = connection.recv()
        except EOFError:
            break
        if word == "status":
            connection.send(made[value].exitcode)
            continue
        process = _fork(value)
        made[process.pid or 0] = process
        connection.send(process.pid)
    for process in made.values():
        if process.exitcode is None:
            process.kill()
            process.join()


def _fork(spec: ProgramSpec) -> BaseProcess:
    with spec.log.open("ab") as log:
        words = ("python", *spec.arguments)
        arguments = (spec.name, words, dict(spec.environment), log.fileno(), os.getpid())
        process = multiprocessing.get_context("fork").Process(target=become, args=arguments)
        process.start()
    return process


class Program:
    """A process that can be frozen, throttled and killed; `log` has its output, if known."""

    def __init__(self, name: str, pid: int, spawner: Spawner | None, log: Path | None) -> None:
        self.name, self.pid, self.log = name, pid, log
        self._spawner = spawner
        # Freezes not yet undone by `thaw`.
        self._frozen = 0
        self._throttle: threading.Event | None = None

    @property
    def status(self) -> int | None:
        """Exit status, None while it runs; 0 if it is not a child of ours and gone."""
        if self._spawner is not None:
            return self._spawner.status(self.pid)
        try:
            state = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return 0
        return 0 if state == "Z" else None

    def output(self) -> str:
        """Everything it has printed."""
        if self.log is None or not self.log.exists():
            return ""
        return self.log.read_text("utf-8", "replace")

    def wait(self, seconds: float) -> int | None:
        """Exit status, None if it is still running after the timeout."""
        until_s = time.monotonic() + seconds
        while (status := self.status) is None and time.monotonic() < until_s:
            time.sleep(_POLL_S)
        return status

    def send(self, number: int) -> None:
        """Sends a signal, unless it has ended."""
        if self.status is None:
            if number == signal.SIGKILL:
                LEFTOVER_SEGMENTS.update(segments_of(self.pid))
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def freeze(self) -> None:
        """Suspends it (SIGSTOP)."""
        self._frozen += 1
        self.send(signal.SIGSTOP)

    def thaw(self, *, at_once: bool = False) -> bool:
        """Resumes it once every freeze is undone, or `at_once`; whether it was resumed."""
        self._frozen = 0 if at_once else max(0, self._frozen - 1)
        if not self._frozen:
            self.send(signal.SIGCONT)
        return not self._frozen

    def throttle(self, share: float) -> None:
        """Lets it run for this share of the time only, 1 = unthrottled.

        It is suspended for the rest of each 0.1 s, as a CPU quota does with a busy process.
        """
        if self._throttle is not None:
            self._throttle.set()
            self._throttle = None
        if share < 1:
            self._throttle = threading.Event()
            threading.Thread(
                target=self._alternate, args=(share, self._throttle), daemon=True
            ).start()

    def _alternate(self, share: float, stopped: threading.Event) -> None:
        while not stopped.is_set() and self.status is None:
            if not self._frozen:
                self._kill(signal.SIGSTOP)
            if stopped.wait(_PERIOD_S * (1 - share)):
                break
            if not self._frozen:
                self._kill(signal.SIGCONT)
            stopped.wait(_PERIOD_S * share)
        if not self._frozen:
            self._kill(signal.SIGCONT)

    def _kill(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class CpuLoad:
    """Busy processes that compete for CPU time."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []

    def set(self, count: int) -> None:
        """Sets how many of them run."""
        while len(self._running) > count:
            process = self._running.pop()
            process.kill()
            process.wait()
        command: Sequence[str] = (sys.executable, "-S", "-c", "while True: pass")
        while len(self._running) < count:
            self._running.append(subprocess.Popen(command))
