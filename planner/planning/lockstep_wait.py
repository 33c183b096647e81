"""Waits until a world in lockstep hears its planner."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

# A planner that has just started may not be connected to the world yet.
MAX_WAIT_S = 3.0
PERIOD_S = 0.02
# As the bridge says them in WorldInfo: such a world waits for planners.
LOCKSTEP_TIME = ("fast", "hold")


async def is_soon(is_in_step: Callable[[], bool], max_wait_s: float = MAX_WAIT_S) -> bool:
    """Whether it holds within a time, wall seconds.

    A world in lockstep would not wait for the calls of agents of which it has not heard.
    """
    for _ in range(round(max_wait_s / PERIOD_S)):
        if is_in_step():
            return True
        await asyncio.sleep(PERIOD_S)
    return is_in_step()
