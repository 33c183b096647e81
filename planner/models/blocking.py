"""Calls a model from synchronous code, such as a memory updater."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

ResultT = TypeVar("ResultT")


class BlockingLoop:
    """An event loop in its own thread, started at first use.

    It works whether or not the caller's thread runs a loop of its own.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, work: Coroutine[Any, Any, ResultT]) -> ResultT:
        """Runs a coroutine, waits for its result, and passes on its exceptions."""
        return self.start(work).result()

    def start(self, work: Coroutine[Any, Any, ResultT]) -> Future[ResultT]:
        """Starts a coroutine and returns at once."""
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            Thread(target=self._loop.run_forever, name="models", daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """Ends the thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._loop = None
