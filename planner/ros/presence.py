"""Whether the clients of a motion, or their server, are still alive.

DDS reports a process that shuts down at once, but a killed one only when its participant's lease
expires: 20 s by default, in which a robot walks 15 m. On the same machine the kernel knows at
once. Fast DDS writes the low 16 bits of the process id into bytes 4 and 5 of every GUID and the
machine's id into bytes 2 and 3 (measured; used only if the bridge's own GUID passes
`is_of_process`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

_HOST = slice(0, 4)
_PROCESS = slice(4, 6)
# Endpoints of one participant share this prefix.
_PARTICIPANT = slice(0, 12)

# The initial pid namespace, which sees every process; the kernel's PROC_PID_INIT_INO.
_WHOLE_MACHINE = "pid:[4026531836]"

Processes = Callable[[int], frozenset[tuple[int, str]]]


def running_processes(low_bits: int, proc: Path = Path("/proc")) -> frozenset[tuple[int, str]]:
    """(pid, start time) of the running processes whose pid has these low 16 bits.

    Zombies do not count.
    """
    found = set()
    for pid in range(low_bits or 0x10000, _highest_pid(proc) + 1, 0x10000):
        try:
            text = (proc / str(pid) / "stat").read_text()
        except OSError:
            continue
        # The command name, in parentheses, may contain blanks and parentheses.
        fields = text.rpartition(")")[2].split()
        if fields[0] not in ("Z", "X"):
            found.add((pid, fields[19]))
    return frozenset(found)


def surely_gone(low_bits: int, proc: Path = Path("/proc")) -> bool:
    """Whether no process of this machine, in no container, has a pid with these low 16 bits.

    False if unknown: a container does not see all processes.
    """
    try:
        if str((proc / "self/ns/pid").readlink()) != _WHOLE_MACHINE:
            return False
        return not any(_has_pid(status, low_bits) for status in proc.glob("[0-9]*/status"))
    except OSError:
        return False


def _has_pid(status: Path, low_bits: int) -> bool:
    """Whether a running process has such a pid in any of its namespaces."""
    try:
        fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    except (OSError, ValueError):
        return False  # it ended meanwhile
    if fields["State"].split()[0] in ("Z", "X"):
        return False
    return any(int(pid) & 0xFFFF == low_bits for pid in fields.get("NSpid", "").split())


def _highest_pid(proc: Path) -> int:
    try:
        return int((proc / "sys/kernel/pid_max").read_text())
    except (OSError, ValueError):
        return 0x3FFFFF


def is_of_process(gid: bytes, pid: int) -> bool:
    """Whether a GUID carries the id of this process."""
    return int.from_bytes(gid[_PROCESS], "little") == pid & 0xFFFF


def same_host(gid: bytes, other: bytes) -> bool:
    """Whether two GUIDs are of one machine."""
    return gid[_HOST] == other[_HOST]


class Peers:
    """The possible clients or servers of a goal.

    rclpy does not report who sent a goal or who accepted it. With several candidates the loss of
    any one counts: a needless stop is safer than walking on.
    """

    def __init__(
        self,
        gids: Collection[bytes],
        own_gid: bytes | None,
        processes: Processes = running_processes,
        what: str = "client",
        *,
        endpoints: bool = False,
        gone: Callable[[int], bool] = lambda _low_bits: False,
    ) -> None:
        """Records the peers.

        Args:
            gids: of the peers.
            own_gid: None where GUIDs carry no process ids.
            processes: as `running_processes`.
            what: "client" or "server", for messages.
            endpoints: whether another endpoint of the same process is another peer, such as a
                recreated server.
            gone: as `surely_gone`, if each peer is known to have taken part: one that is dead
                already counts as lost.
        """
        self._what = what
        self._mark = slice(None) if endpoints else _PARTICIPANT
        self._gids = frozenset(gid[self._mark] for gid in gids)
        self._unseen: set[bytes] = set()
        self._processes = processes
        self._dead = False
        self._running: dict[int, frozenset[tuple[int, str]]] = {}
        for gid in self._gids:
            if own_gid is not None and same_host(gid, own_gid):
                low_bits = int.from_bytes(gid[_PROCESS], "little")
                running = processes(low_bits)
                # None: it runs in another pid namespace, or it was killed and is still listed.
                if running:
                    self._running[low_bits] = running
                else:
                    self._unseen.add(gid)
                    self._dead = self._dead or gone(low_bits)

    @property
    def doubtful(self) -> bool:
        """Whether a peer may be dead, so that messages to it may be lost."""
        return bool(self._unseen)

    def settle(self) -> None:
        """One of them has answered: drops those that may be dead if others run."""
        if self._running:
            self._gids -= self._unseen

    def lost(self, gids: Collection[bytes], count: int) -> str:
        """Why one counts as lost; "" if none is.

        Args:
            gids: of the current peers.
            count: of current peers, for middlewares that do not report GUIDs.
        """
        if not self._gids and count == 0:
            return f"no {self._what} of this action is left"
        if not self._gids <= {gid[self._mark] for gid in gids}:
            return f"a {self._what} of this action has left"
        if self._dead or any(
            not before & self._processes(low_bits) for low_bits, before in self._running.items()
        ):
            return f"the process of a {self._what} of this action has died"
        return ""
