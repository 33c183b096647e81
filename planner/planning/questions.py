"""Questions to the person, and their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from planner.world.instruct import one_line

MAX_CHARACTERS = 1000


class Questions:
    """One open question at a time; runs in the planner's event loop."""

    def __init__(self, limit_s: float) -> None:
        """`limit_s`: wall seconds to wait for each answer."""
        self._limit_s = limit_s
        self._open: asyncio.Future[str] | None = None

    async def ask(self, question: str, show: Callable[[str], None]) -> str | None:
        """Shows a question and waits; None if no answer came in time."""
        self._open = asyncio.get_running_loop().create_future()
        show(f"question: {question}")
        try:
            async with asyncio.timeout(self._limit_s):
                return await self._open
        except TimeoutError:
            return None
        finally:
            self._open = None

    def answer(self, text: str) -> bool:
        """Accepts an answer; False if there is no open question, or the text is empty."""
        words = one_line(text[:MAX_CHARACTERS])
        if self._open is None or self._open.done() or not words:
            return False
        self._open.set_result(words)
        return True
