"""NumPy's threads, Python's collector, and what a process keeps of the memory that it freed."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from planner.world.files import parse_yaml
from planner.world.process_resources import single_blas_thread, uncollected

Threads = set[int]


def threads() -> Threads:
    return {int(each["num_threads"]) for each in threadpool_info() if each["user_api"] == "blas"}


@single_blas_thread
def within(sizes: tuple[int, int], *, fails: bool = False) -> tuple[Threads, float]:
    if fails:
        raise ValueError("as it was")
    return threads(), float((np.ones(sizes) @ np.ones(sizes[::-1])).sum())


def test_the_limit_holds_within_the_function_only() -> None:
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        assert within((2, 3)) == ({1}, 12.0)
        assert threads() == {2}
        with pytest.raises(ValueError, match="as it was"):
            within((2, 3), fails=True)
        assert threads() == {2}


def test_other_threads_wait_for_no_collection_while_a_large_text_is_read() -> None:
    seen = list[int]()

    def count(phase: str, info: dict[str, int]) -> None:
        # Those of the newest objects alone take no time.
        if phase == "start" and info["generation"]:
            seen.append(info["generation"])

    gc.callbacks.append(count)
    try:
        assert parse_yaml("[" + "[1]," * 50_000 + "[1]]", "text") == [[1]] * 50_001
    finally:
        gc.callbacks.remove(count)
    assert len(seen) <= 1  # Of the result, afterwards.
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with uncollected():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()


# As pictures pass through a recorder: another thread receives some, small blocks settle between
# them, and after a while all are copied, one by one, and freed. Prints how many MB this added.
# Arguments: whether the small blocks stay, and the bytes that each heap may keep.
QUEUES = """
import ctypes, sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from planner.world.process_resources import keep_freed_memory, return_freed_memory, settle_memory

STAYS, KEPT = sys.argv[1] == "True", [int(word) for word in sys.argv[2:]]
PICTURE, C = 900_000, ctypes.CDLL(None)
C.malloc.restype, C.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]

def own_mb():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024

def receive(count):
    for _ in range(count):
        picture = C.malloc(PICTURE)
        ctypes.memset(picture, 1, PICTURE)
        yield picture, C.malloc(600)

def pass_on(count):
    pictures, small = zip(*middleware.submit(lambda: [*receive(count)]).result())
    taken = []
    for picture in pictures:
        taken.append(ctypes.string_at(picture, PICTURE))
        C.free(picture)
    for block in [] if STAYS else small:
        C.free(block)

settle_memory()
keep_freed_memory(*KEPT)
middleware = ThreadPoolExecutor(1)
pass_on(2)
before_mb = own_mb()
pass_on(28)
return_freed_memory()
print(own_mb() - before_mb)
"""


def added_mb(*kept_bytes: int, stays: bool = False) -> float:
    command = [sys.executable, "-c", QUEUES, str(stays), *map(str, kept_bytes)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_a_long_queue_leaves_no_more_than_what_each_heap_may_keep() -> None:
    assert added_mb(8 << 20) < 8
    assert added_mb(8 << 20, stays=True) < 8
    # This measures something: by default most of the queue's 25 MB stay.
    assert added_mb() > 16
