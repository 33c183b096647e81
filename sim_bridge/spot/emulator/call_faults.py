"""Faults of calls: failing, hanging, lost or reordered ones."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import grpc

from sim_bridge.spot.emulator.faults import Trouble, TroubleKind

CALL_KINDS = frozenset(
    {
        TroubleKind.FAIL,
        TroubleKind.HANG,
        TroubleKind.DROP_REQUEST,
        TroubleKind.DROP_ANSWER,
        TroubleKind.REORDER,
    }
)
# A call without a client deadline would wait forever.
_MAX_SILENCE_S = 600.0
_MAX_HOLD_S = 10.0


class Refusal(Exception):  # noqa: N818 - not an error of the emulator
    """A call that ends with a gRPC status."""

    def __init__(self, status: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class CallFault:
    """The fault of one call; `seconds` is how long a held one waits for a later one."""

    kind: TroubleKind
    seconds: float


class CallFaults:
    """Pending call faults; the same seed and calls give the same faults."""

    def __init__(self, seed: int = 0) -> None:
        self._owed: list[tuple[Trouble, int]] = []
        self._random = random.Random(seed)
        self._lock = threading.Lock()

    def add(self, trouble: Trouble) -> None:
        """Adds pending faults."""
        with self._lock:
            self._owed.append((trouble, trouble.count))

    def clear(self) -> None:
        """Removes all pending faults."""
        with self._lock:
            self._owed.clear()

    def before(self, method: str) -> CallFault | None:
        """The fault of an incoming call; a hanging call waits in here.

        Raises:
            Refusal: if it fails.
        """
        trouble = self._due(method)
        if trouble is None:
            return None
        if trouble.kind is TroubleKind.HANG:
            time.sleep(trouble.seconds)
            return None
        if trouble.kind is TroubleKind.FAIL:
            raise Refusal(grpc.StatusCode[trouble.code], f"{method} fails as the script says")
        return CallFault(trouble.kind, trouble.seconds or _MAX_HOLD_S)

    def _due(self, method: str) -> Trouble | None:
        with self._lock:
            for index, (trouble, left) in enumerate(self._owed):
                if trouble.method not in ("", method):
                    continue
                if trouble.share < 1 and self._random.random() >= trouble.share:
                    continue
                if left > 1:
                    self._owed[index] = (trouble, left - 1)
                else:
                    self._owed.pop(index)
                return trouble
        return None


class CallOrder:
    """Lets a call wait until a later one of its method was executed."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._done: Counter[str] = Counter()

    def carried_out(self, method: str) -> None:
        """A call of the method was executed."""
        with self._changed:
            self._done[method] += 1
            self._changed.notify_all()

    def let_pass(self, method: str, within_s: float) -> None:
        """Returns after the next call of the method was executed, or after `within_s`."""
        with self._changed:
            before = self._done[method]
            self._changed.wait_for(lambda: self._done[method] > before, within_s)


def stay_silent(context: Any) -> Refusal:
    """Waits until the client has given up the call; returns a status that nobody receives."""
    given_up = threading.Event()
    if context.add_callback(given_up.set):
        given_up.wait(_MAX_SILENCE_S)
    return Refusal(grpc.StatusCode.DEADLINE_EXCEEDED, "lost as the script says")
