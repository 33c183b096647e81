"""Shared memory that killed processes leave: the middleware's segments, a megabyte each.

Nobody unlinks those of a process that was killed, so a thousand runs would fill the memory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_SEGMENT = re.compile(r"/dev/shm/fastdds_[0-9a-f]{16}\b")  # noqa: S108 - where it makes them


def segments_of(pid: int) -> set[Path]:
    """The segments that a process has mapped, its own and those of its peers."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return set()
    return {Path(found) for found in _SEGMENT.findall(maps)}


def unlink_unused(segments: Iterable[Path]) -> None:
    """Unlinks those of them that no process has mapped any more, with their lock files."""
    left = set(segments)
    for name in os.listdir("/proc"):  # noqa: PTH208 - a name is all that is needed
        if left and name.isdigit():
            left -= segments_of(int(name))
    for segment in left:
        for path in (segment, segment.with_name(f"{segment.name}_el")):
            with suppress(OSError):
                path.unlink()
