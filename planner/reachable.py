"""The sockets of a process that can be reached from other machines."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterator
from pathlib import Path

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
