"""Resources of a process: NumPy's threads, and what happens to freed memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
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


# Freed memory of processes that handle megabytes at a time: kept for the next use, or returned.

# <malloc.h> of glibc.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_KEPT_BYTES = 32 << 20


def keep_freed_memory() -> None:
    """Makes the C library keep the memory that pictures and chunks free.

    By default it returns blocks of that size to the system, which zeroes them for the next use: a
        third of the work of recording pictures or decompressing states.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def return_freed_memory() -> None:
    """Gives back to the system what lies free between used blocks, as after a queue was long.

    A process that keeps freed memory would stay as large as it ever was.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(_KEPT_BYTES))
