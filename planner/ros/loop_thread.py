"""An asyncio loop in a thread of its own, for work too slow for a callback."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from rclpy.node import Node

from planner.ros.guard import guard_of

T = TypeVar("T")
STOP_TIMEOUT_S = 5.0
# Tasks are canceled several times, as one may swallow the first cancellation.
_CANCELS, _CANCEL_S = 3, 0.2


class LoopThread:
    """A thread that runs one asyncio loop."""

    def __init__(self, name: str, on_error: Callable[[Exception], None]) -> None:
        """Starts the thread; `on_error` gets, in it, what a function or a lost task raised."""
        self._loop = asyncio.new_event_loop()
        self._responded = True

        def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
            error = context.get("exception")
            if isinstance(error, Exception):
                on_error(error)
            else:
                loop.default_exception_handler(context)

        self._loop.set_exception_handler(report)
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    def submit(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        """Runs a coroutine in the loop; cancelling the result cancels it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, function: Callable[[], object]) -> None:
        """Schedules a function in the loop's thread."""
        self._loop.call_soon_threadsafe(function)

    def pass_on(self, take: Callable[[Any], object]) -> Callable[[Any], None]:
        """A function for any thread that passes what it gets on to one in the loop's."""
        return lambda value: self.call(lambda: take(value))

    def is_responsive(self) -> bool:
        """Whether the loop has run since the last call.

        False means that a task blocks it, not that a task awaits something.
        """
        responded = self._responded
        if responded:
            self._responded = False
            self.call(self._respond)
        return responded

    def _respond(self) -> None:
        self._responded = True

    def stop(self) -> None:
        """Cancels all tasks and stops the loop and its thread."""
        self.submit(self._shut_down())
        self._thread.join(STOP_TIMEOUT_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _shut_down(self) -> None:
        for _ in range(_CANCELS):
            running = asyncio.all_tasks() - {asyncio.current_task()}
            if not running:
                break
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=_CANCEL_S)
        self._loop.call_soon(self._loop.stop)


def set_from_thread(loop: asyncio.AbstractEventLoop, future: asyncio.Future[T], value: T) -> None:
    """Sets the result of a loop's future from another thread, unless it is done already."""

    def set_result() -> None:
        if not future.done():
            future.set_result(value)

    loop.call_soon_threadsafe(set_result)


class ExecutorQueue:
    """Functions that other threads post to the node's executor, run in order."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._work: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._wake = node.create_guard_condition(self._run_posted)

    def post(self, function: Callable[[], object]) -> None:
        """Schedules a function in the executor's thread; callable from any thread."""
        self._work.put(function)
        self._wake.trigger()

    def _run_posted(self) -> None:
        while True:
            try:
                function = self._work.get_nowait()
            except Empty:
                return
            try:
                function()
            except Exception as error:
                # Those after it are of others.
                guard_of(self._node).contain(error, "work of another thread")
