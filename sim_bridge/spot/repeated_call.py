"""A call that is repeated while its answer is awaited: the first good answer counts."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue


def first_answer(call: Callable[[], str], tries: int, again_s: float) -> str:
    """Calls up to `tries` times, `again_s` apart or at once after a failure.

    An earlier call is not dropped for a later one: on a slow link its answer may be the first.

    Args:
        call: returns why it failed, or nothing; each runs in a thread of its own and ends by
            itself.
        tries: maximum number of calls.
        again_s: seconds after which the next one starts.

    Returns:
        Nothing as soon as one call succeeded, else why the last one failed.

    Raises:
        BaseException: what a call raised.
    """
    answers: SimpleQueue[str | BaseException] = SimpleQueue()

    def run() -> None:
        try:
            answers.put(call())
        except BaseException as error:
            answers.put(error)

    why, waiting = "", 0
    for left in reversed(range(tries)):
        threading.Thread(target=run, name="spot-stop-call", daemon=True).start()
        waiting += 1
        until_s = time.monotonic() + again_s
        while waiting:
            try:
                answer = answers.get(timeout=max(0.0, until_s - time.monotonic()) if left else None)
            except Empty:
                break
            if isinstance(answer, BaseException):
                raise answer
            if not answer:
                return ""
            why, waiting = answer, waiting - 1
    return why
