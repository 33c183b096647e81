"""The report's time: seconds of the world's clock since the run began.

Messages are stamped with the world's clock, which a simulator runs at its own pace; some have only
a time of receipt. Both are mapped to one axis that never goes back: if a world is loaded again and
its clock restarts, the axis continues from where it was.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Stamps of several publishers are out of order by less than this.
_RESTART_S = 1.0
# A stamp this long before the beginning or after the end is of another clock.
_OFF_S = 60.0
_STAMP = struct.Struct("<iI").unpack_from
_CDR_LITTLE_ENDIAN = b"\x00\x01"
# Anchors closer together than this, on both clocks, add nothing.
_ANCHOR_NS, _ANCHOR_S = 50_000_000, 0.05


class ClockAnchors:
    """Pairs of receipt and stamp from one topic whose messages start with a stamp."""

    def __init__(self, offset: int = 4) -> None:
        """Takes the number of bytes before the stamp, including 4 of encapsulation."""
        self._offset = offset
        self.received_ns: list[int] = []
        self.stamps_s: list[float] = []

    def take(self, received_ns: int, data: memoryview) -> None:
        """Keeps a message's stamp, unless it is close to the last one on both clocks.

        Raises:
            ValueError: if the bytes are no message that starts with a stamp.
        """
        stamp_s = stamp_in(data, self._offset)
        if (
            self.received_ns
            and received_ns - self.received_ns[-1] < _ANCHOR_NS
            and abs(stamp_s - self.stamps_s[-1]) < _ANCHOR_S
        ):
            return
        self.received_ns.append(received_ns)
        self.stamps_s.append(stamp_s)


def stamp_in(data: memoryview, offset: int = 4) -> float:
    """The stamp at an offset of a serialised message, in seconds.

    Raises:
        ValueError: if there is none.
    """
    if data[:2] != _CDR_LITTLE_ENDIAN:
        raise ValueError("not little-endian CDR")
    try:
        seconds, nanoseconds = _STAMP(data, offset)
    except struct.error as error:
        raise ValueError(str(error)) from None
    return float(seconds + nanoseconds * 1e-9)


@dataclass(frozen=True, slots=True)
class Restart:
    """The world's clock went back: when on the report's axis, and from where to where."""

    t_s: float
    from_stamp_s: float
    to_stamp_s: float


class WorldClock:
    """Maps receipts and stamps to seconds since the run began."""

    def __init__(
        self, start_ns: int, received_ns: Sequence[int] = (), stamps_s: Sequence[float] = ()
    ) -> None:
        """Takes the bag's start and pairs of receipt and stamp; without any, receipts count."""
        self._start_ns = start_ns
        self._received = np.asarray(received_ns, np.float64) - start_ns
        stamps = np.asarray(stamps_s, np.float64)
        order = np.argsort(self._received, kind="stable")
        self._received, self._stamps = self._received[order], stamps[order]
        steps = np.diff(self._stamps, prepend=self._stamps[:1])
        back = steps < -_RESTART_S
        self._times: NDArray[np.float64] = np.cumsum(np.where(back, 0.0, np.maximum(steps, 0.0)))
        self._zero_s = float(self._stamps[0]) if len(self._stamps) else 0.0
        self.restarts = tuple(
            Restart(
                round(float(self._times[i]), 3),
                round(float(self._stamps[i - 1]), 3),
                round(float(self._stamps[i]), 3),
            )
            for i in np.flatnonzero(back)
        )

    @staticmethod
    def extended(
        start_ns: int, anchors: ClockAnchors, later: Sequence[tuple[int, float]]
    ) -> WorldClock:
        """A clock that continues with other messages' receipts and stamps if its own end early."""
        received_ns, stamps_s = list(anchors.received_ns), list(anchors.stamps_s)
        for at_ns, stamp_s in sorted(later):
            if at_ns > received_ns[-1] and 0 < stamp_s - stamps_s[-1] < _OFF_S:
                received_ns.append(at_ns)
                stamps_s.append(stamp_s)
        return WorldClock(start_ns, received_ns, stamps_s)

    @property
    def from_stamps(self) -> bool:
        """Whether there is a clock of the world, or only times of receipt."""
        return len(self._stamps) > 0

    def at_receipt(self, received_ns: int) -> float:
        """The report's time of a receipt."""
        since = float(received_ns - self._start_ns)
        if not self.from_stamps:
            return round(max(since * 1e-9, 0.0), 3)
        return round(float(np.interp(since, self._received, self._times)), 3)

    def at(self, stamp_s: float | None, received_ns: int) -> float:
        """The report's time of a stamp; of the receipt for no stamp or one of another clock."""
        received_s = self.at_receipt(received_ns)
        if stamp_s is None or not self.from_stamps or self.restarts:
            return received_s
        t_s = stamp_s - self._zero_s
        length_s = float(self._times[-1])
        if not -_OFF_S < t_s < 2 * length_s + _OFF_S:
            return received_s
        return round(max(t_s, 0.0), 3)
