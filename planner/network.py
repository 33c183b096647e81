"""How far ROS reaches, and which sockets of a process other machines can reach."""

from __future__ import annotations

import contextlib
import fcntl
import ipaddress
import re
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from enum import StrEnum
from pathlib import Path

from planner.security.policy import is_enforced
from planner.world.errors import PlannerError
from planner.world.share import config_dir

SETTING = "PLANNER_NETWORK"
TOKEN = "PLANNER_NETWORK_TOKEN"  # noqa: S105 - the name of a variable
PROFILES = "FASTDDS_DEFAULT_PROFILES_FILE"
# Without it rmw_fastrtps replaces what a profile says of a queue's memory by a choice of its own.
QOS_FROM_PROFILES = "RMW_FASTRTPS_USE_QOS_FROM_XML"
RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
RMW = "RMW_IMPLEMENTATION"

_MIN_TOKEN = 12
_LOOPBACK, _LOOPBACK_LARGE = "fastdds_loopback.xml", "fastdds_bridge_loopback.xml"
_OPEN_LARGE = "fastdds_bridge.xml"
_OURS = (_LOOPBACK, _LOOPBACK_LARGE, _OPEN_LARGE)


class Network(StrEnum):
    """The values of `PLANNER_NETWORK`."""

    LOOPBACK = "loopback"
    OPEN = "open"


def requested_network(environment: Mapping[str, str]) -> Network:
    """Return the network the environment requests; the loopback by default.

    Raises:
        PlannerError: if it requests anything else.
    """
    text = environment.get(SETTING, "").strip().lower() or Network.LOOPBACK
    try:
        return Network(text)
    except ValueError:
        raise PlannerError(f"{SETTING}: expected loopback or open, got {text!r}") from None


def token_of(environment: Mapping[str, str]) -> str:
    """The token of programs that may command robots; "" where none is needed.

    One is needed on an open network, unless SROS 2 excludes programs without keys.

    Raises:
        PlannerError: if one is needed and there is none that can be used.
    """
    if requested_network(environment) is Network.LOOPBACK or is_enforced(environment):
        return ""
    token = environment.get(TOKEN, "")
    if not token:
        raise PlannerError(
            f"{SETTING}=open without SROS 2 lets every machine command the robots: set {TOKEN} to "
            "the same secret for all programs, or use keys (docs/setup.md)"
        )
    if len(token) < _MIN_TOKEN or not token.isascii() or not token.isprintable():
        raise PlannerError(
            f"{TOKEN}: expected at least {_MIN_TOKEN} visible ASCII characters, got {len(token)}"
        )
    return token


def confine(environment: MutableMapping[str, str], *, large_messages: bool = False) -> None:
    """Restrict ROS to the loopback, unless `environment` requests the network.

    A Fast DDS profile of the user's own takes precedence. Other middlewares than Fast DDS are not
    covered: only their discovery is limited to this machine. Idempotent.

    Args:
        environment: of a process that has not joined ROS yet; changed in place.
        large_messages: whether the process sends pictures, which need more shared memory.

    Raises:
        PlannerError: if the setting has another value, or a profile file is missing.
    """
    network = requested_network(environment)
    made_by_us = _is_ours(environment.get(PROFILES, ""))
    if environment.get(PROFILES) and not made_by_us:
        _default(environment, RANGE, "SUBNET" if network is Network.OPEN else "LOCALHOST")
        return
    environment.pop(PROFILES, None)
    if made_by_us:
        environment.pop(QOS_FROM_PROFILES, None)
    if network is Network.OPEN:
        if made_by_us:
            environment.pop(RANGE, None)
        _default(environment, RANGE, "SUBNET")
        if large_messages:
            environment[PROFILES] = _profile(_OPEN_LARGE)
            environment[QOS_FROM_PROFILES] = "1"
    elif not uses_fast_dds(environment):
        _default(environment, RANGE, "LOCALHOST")
    else:
        environment[PROFILES] = _profile(_LOOPBACK_LARGE if large_messages else _LOOPBACK)
        environment[QOS_FROM_PROFILES] = "1"
        # LOCALHOST would add a transport bound to every address; OFF adds none.
        if environment.get(RANGE, "").upper() != "OFF":
            environment[RANGE] = "SYSTEM_DEFAULT"


# What Fast DDS makes for each participant: a segment, of 35 MB for one that sends pictures, and
# a file that its process keeps locked.
_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where it makes them
_SEGMENT_LOCK = re.compile(r"(fastdds_[0-9a-f]{16})_el")
# Its process locks the file right after making it.
_YOUNG_S = 10.0


def unused_segments() -> list[Path]:
    """Segments of Fast DDS whose process was killed, and its peers too, which would remove it."""
    found = []
    for lock in _SHARED_MEMORY.glob("fastdds_*_el"):
        named = _SEGMENT_LOCK.fullmatch(lock.name)
        with contextlib.suppress(OSError):
            if named and time.time() - lock.stat().st_mtime > _YOUNG_S and not _is_locked(lock):
                found.append(lock.with_name(named[1]))
    return found


def free_shared_memory(segments: Iterable[Path] | None = None) -> None:
    """Removes segments of Fast DDS that no living process owns; None = `unused_segments`.

    A container has 64 MB of shared memory by default, which two killed runs would fill.
    """
    for segment in unused_segments() if segments is None else segments:
        lock = segment.with_name(f"{segment.name}_el")
        with contextlib.suppress(OSError):
            if not lock.exists() or not _is_locked(lock):
                segment.unlink(missing_ok=True)
                lock.unlink(missing_ok=True)


def _is_locked(file: Path) -> bool:
    with file.open("rb") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def is_loopback_only(environment: Mapping[str, str]) -> bool:
    """Whether a process with an environment from `confine` discovers peers on this machine only."""
    if Path(environment.get(PROFILES, "")).name in (_LOOPBACK, _LOOPBACK_LARGE):
        return True
    return environment.get(RANGE, "").upper() in ("LOCALHOST", "OFF")


def uses_fast_dds(environment: Mapping[str, str]) -> bool:
    """Whether the middleware is Fast DDS, which is the default."""
    middleware = environment.get(RMW, "")
    return not middleware or middleware.startswith("rmw_fastrtps")


def _is_ours(profiles: str) -> bool:
    # By name: a workspace has copies of the source tree's files.
    return Path(profiles).name in _OURS


def _default(environment: MutableMapping[str, str], name: str, value: str) -> None:
    # An empty variable counts as unset, as it does for ROS.
    if not environment.get(name):
        environment[name] = value


def _profile(name: str) -> str:
    path = config_dir() / "dds" / name
    if not path.is_file():
        # Fast DDS would run without it, open to the network.
        raise PlannerError(f"{path} is missing: install the package's whole config folder")
    return str(path)


# The sockets of a process that can be reached from other machines.

_TABLES = ("udp", "udp6", "udplite", "udplite6", "tcp", "tcp6", "raw", "raw6")
_LISTENING = "0A"


def reachable_sockets(pid: int | str = "self", proc: Path = Path("/proc")) -> tuple[str, ...]:
    """Return the process's sockets that receive packets from beyond the loopback, sorted.

    Each is written as protocol and local address, such as "udp 0.0.0.0:7410". Sockets bound to
    every address count, even those only used for sending: packets reach them. TCP sockets count if
    they listen; UDP sockets also if they are connected.

    Args:
        pid: of a process in any network namespace; its files in /proc must be readable.
        proc: where procfs is mounted.

    Raises:
        OSError: if there is no such process, or its files are not readable.
    """
    folder = proc / str(pid)
    own = frozenset(_inodes(folder / "fd"))
    return tuple(sorted(found for inode, found in _bound(folder / "net") if inode in own))


def _inodes(descriptors: Path) -> Iterator[str]:
    for descriptor in descriptors.iterdir():
        try:
            target = str(descriptor.readlink())
        except FileNotFoundError:
            continue  # closed meanwhile
        if target.startswith("socket:["):
            yield target[len("socket:[") : -1]


def _bound(tables: Path) -> Iterator[tuple[str, str]]:
    for name in _TABLES:
        try:
            lines = (tables / name).read_text().splitlines()[1:]
        except FileNotFoundError:
            continue  # a kernel without that protocol
        for line in lines:
            fields = line.split()
            if name.startswith("tcp") and fields[3] != _LISTENING:
                continue
            digits, _, port = fields[1].partition(":")
            address = _address(digits)
            if not address.is_loopback:
                yield fields[9], f"{name} {address}:{int(port, 16)}"


def _address(digits: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The kernel prints each 32-bit word of an address in the machine's own byte order."""
    words = [int(digits[at : at + 8], 16) for at in range(0, len(digits), 8)]
    address = ipaddress.ip_address(struct.pack(f"={len(words)}I", *words))
    mapped = getattr(address, "ipv4_mapped", None)
    return mapped if isinstance(mapped, ipaddress.IPv4Address) else address
