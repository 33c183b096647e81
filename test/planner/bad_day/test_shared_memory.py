"""What killed processes leave in shared memory is taken away, and nothing that is in use."""

from __future__ import annotations

import mmap
import os
import secrets
from pathlib import Path

from planner.bad_day.shared_memory import segments_of, unlink_unused


def test_only_what_nobody_has_mapped_is_unlinked() -> None:
    used, unused = (Path(f"/dev/shm/fastdds_{secrets.token_hex(8)}") for _ in range(2))
    lock = unused.with_name(f"{unused.name}_el")
    for path in (used, unused, lock):
        path.write_bytes(bytes(4096))
    try:
        with used.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
            assert used in segments_of(os.getpid())
            assert unused not in segments_of(os.getpid())
            unlink_unused([used, unused])
            assert used.exists()
            assert not unused.exists()
            assert not lock.exists()
        unlink_unused([used])
        assert not used.exists()
    finally:
        for path in (used, unused, lock):
            path.unlink(missing_ok=True)


def test_a_process_that_is_gone_has_mapped_nothing() -> None:
    assert segments_of(2**22 + 1) == set()
