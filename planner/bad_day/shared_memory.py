"""Shared-memory segments of the middleware that killed processes leave behind, a megabyte each.

Nothing else unlinks them, so a thousand runs would fill the memory.
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
    """Unlinks segments that no process maps any more, with their lock files."""
    left = set(segments)
    for name in os.listdir("/proc"):  # noqa: PTH208 - only names are needed
        if left and name.isdigit():
            left -= segments_of(int(name))
    for segment in left:
        for path in (segment, segment.with_name(f"{segment.name}_el")):
            with suppress(OSError):
                path.unlink()
