"""Small matrices are multiplied on one thread, and others as before."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from planner.world.process_resources import single_blas_thread

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
