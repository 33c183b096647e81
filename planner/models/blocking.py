"""Asking a model from code that is not asynchronous, such as a memory updater."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from threading import Thread
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


class BlockingLoop:
    """An event loop in a thread of its own, which starts with the first use.

    It works whether or not the caller's thread runs a loop of its own.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Waits for a coroutine; what it raises comes out."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            Thread(target=self._loop.run_forever, name="models", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def close(self) -> None:
        """Ends the thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None
