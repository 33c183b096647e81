"""Whether the clients that can have asked for a motion are still there.

DDS tells of a client that leaves in order at once, but of one that was killed
only when its participant's lease runs out: 20 s by default, in which a robot
walks 15 m. On this machine the kernel knows at once. Fast DDS writes the low
16 bits of the process id into bytes 4 and 5 of every GUID and the machine's
id into bytes 2 and 3 (measured; `same_scheme` checks it on the bridge's own
GUID before it is relied on).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

_HOST = slice(0, 4)
_PROCESS = slice(4, 6)
# Endpoints of one participant share this prefix.
_PARTICIPANT = slice(0, 12)

Processes = Callable[[int], frozenset[tuple[int, str]]]


def running_processes(low_bits: int, proc: Path = Path("/proc")) -> frozenset[tuple[int, str]]:
    """(pid, start time) of the running processes whose pid has these low 16 bits.

    A killed process that its parent has not yet asked about does not count.
    """
    found = set()
    for pid in range(low_bits or 0x10000, _highest_pid(proc) + 1, 0x10000):
        try:
            text = (proc / str(pid) / "stat").read_text()
        except OSError:
            continue
        # The command's name, in parentheses, may itself hold blanks and parentheses.
        fields = text.rpartition(")")[2].split()
        if fields[0] not in ("Z", "X"):
            found.add((pid, fields[19]))
    return frozenset(found)


def _highest_pid(proc: Path) -> int:
    try:
        return int((proc / "sys/kernel/pid_max").read_text())
    except (OSError, ValueError):
        return 0x3FFFFF


def same_scheme(own_gid: bytes, own_pid: int) -> bool:
    """Whether GUIDs carry process ids here, judged by the bridge's own."""
    return int.from_bytes(own_gid[_PROCESS], "little") == own_pid & 0xFFFF


class Clients:
    """The clients that were there when a goal came; any of them may have sent it.

    rclpy does not tell who sent a goal. Where several clients could have, the
    loss of any one counts, because stopping in vain is safer than walking on.
    """

    def __init__(
        self,
        gids: Collection[bytes],
        own_gid: bytes | None,
        processes: Processes = running_processes,
    ) -> None:
        """Remembers the clients; `own_gid` is None where GUIDs carry no process ids."""
        self._gids = frozenset(gid[_PARTICIPANT] for gid in gids)
        self._processes = processes
        self._running: dict[int, frozenset[tuple[int, str]]] = {}
        for gid in self._gids:
            if own_gid is not None and gid[_HOST] == own_gid[_HOST]:
                low_bits = int.from_bytes(gid[_PROCESS], "little")
                running = processes(low_bits)
                # None: it lives in a process namespace that cannot be seen from here.
                if running:
                    self._running[low_bits] = running

    @property
    def known(self) -> bool:
        """Whether discovery had found any client at all."""
        return bool(self._gids)

    def lost(self, gids: Collection[bytes]) -> str:
        """Why a client counts as lost, given the clients there are now; "" when none is."""
        if not self._gids <= {gid[_PARTICIPANT] for gid in gids}:
            return "a client of this action has left"
        for low_bits, before in self._running.items():
            if not before & self._processes(low_bits):
                return "the process of a client of this action has died"
        return ""
