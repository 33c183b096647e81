"""NumPy on one thread, for matrices so small that threads wait longer than they work.

The limit is that of the process, for as long as the function runs.
"""

from __future__ import annotations

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
