"""Resources of a process: NumPy's threads, Python's collector, what happens to freed memory."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
from collections.abc import Callable, Iterator
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


@cache
def _libraries() -> ThreadpoolController:
    """Those that are loaded at the first call; NumPy is."""
    return ThreadpoolController()


def single_blas_thread(function: Callable[P, R]) -> Callable[P, R]:
    """The function, with linear algebra on the calling thread alone."""

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _libraries().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """No garbage is collected within: for work that makes a million objects and no cycles.

    A collection goes through all of them, again and again as they become more, and no other thread
    of the process runs meanwhile, such as one that stops a robot.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# Freed memory of processes that handle megabytes at a time: kept for the next use, or returned.

# <malloc.h> of glibc; other C libraries have no `mallopt`, and nothing to set.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_KEPT_BYTES = 32 << 20
# Pictures are smaller.
_LARGE_BYTES = 1 << 20


def settle_memory() -> None:
    """Keeps a process that runs for hours from growing by holes between used blocks.

    Its threads share the heaps that there are, as `MALLOC_ARENA_MAX=2` does: by default nearly each
    of the middleware's twenty threads gets one of its own. And what is large, as when a world is
    loaded, is always mapped and returned: by default the first large block that is freed takes the
    next ones into the heap, where small ones settle between them. A fork has read the environment
    before, so this is asked of the library; `MALLOC_ARENA_MAX` in it takes precedence.
    """
    if "MALLOC_ARENA_MAX" not in os.environ:
        _mallopt(_M_ARENA_MAX, 2)
        _mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        _mallopt(_M_TRIM_THRESHOLD, 2 * _LARGE_BYTES)


def keep_freed_memory(most_bytes: int = _KEPT_BYTES) -> None:
    """Makes the C library keep the memory that pictures and chunks free.

    By default it returns blocks of that size to the system, which zeroes them for the next use: a
        third of the work of recording pictures or decompressing states.

    Args:
        most_bytes: each heap keeps at its end. What is above is returned; what is below never is,
            so a process that runs for hours grows by it as ever longer queues come by.
    """
    _mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
    _mallopt(_M_TRIM_THRESHOLD, most_bytes)


def _mallopt(what: int, value: int) -> None:
    with contextlib.suppress(AttributeError):
        ctypes.CDLL(None).mallopt(what, value)


def return_freed_memory() -> None:
    """Gives back to the system what lies free between used blocks, as after a queue was long.

    The library itself looks only at the end of a heap.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))
