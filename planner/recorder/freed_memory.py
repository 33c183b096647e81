"""Keeping freed memory, for processes that handle megabytes at a time."""

from __future__ import annotations

import ctypes

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
