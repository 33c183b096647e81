"""Drives one body as long as somebody keeps asking for it; knows no ROS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from planner.console.orders import Done
from planner.world.primitive import (
    Drive,
    DriveLimits,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveStatus,
)

# Seconds of the world for which one primitive drives; wall seconds after which a wish is over.
PIECE_S, WISH_S = 0.4, 0.5


class DrivenBody(Protocol):
    """What takes primitives; `planner.ros.primitive_client.PrimitiveClient` is one."""

    def start(self, primitive: Primitive) -> int:
        """Requests a primitive."""
        ...

    def poll(self, handle: int) -> PrimitiveStatus:
        """Its state."""
        ...

    def cancel(self, handle: int) -> None:
        """Requests its end."""
        ...


class Driver:
    """Turns wishes, repeated a few times a second, into bounded primitives one after the other.

    Whoever stops wishing moves nothing: a wish is over after `WISH_S`, a primitive after `PIECE_S`.
    """

    def __init__(self, body: DrivenBody, limits: DriveLimits, now_s: Callable[[], float]) -> None:
        """The body stands.

        Args:
            body: that is driven.
            limits: its greatest velocities.
            now_s: steady clock, seconds.
        """
        self._body, self._limits, self._now_s = body, limits, now_s
        self._wish, self._until_s = (0.0, 0.0), 0.0
        self._handle: int | None = None
        # Of the wish that began the running primitive; why an earlier one failed, "" = it did not.
        self._done: Done | None = None
        self._problem = ""

    @property
    def is_busy(self) -> bool:
        """Whether the body was asked to move and has not ended."""
        return self._handle is not None

    def steer(self, forward: float, turn: float, done: Done) -> None:
        """Wishes a velocity from now on, for `WISH_S`; both 0 = stand at once.

        Args:
            forward: share of the greatest velocity, -1 to 1; negative = backwards.
            turn: the same to the left.
            done: gets the outcome of the primitive that the wish began, or at once that it goes on.
        """
        problem, self._problem = self._problem, ""
        if problem:
            self.stop()
            done(False, problem)
        elif forward == turn == 0.0:
            self.stop()
            done(True, "stands")
        else:
            changed = (forward, turn) != self._wish
            self._wish, self._until_s = (forward, turn), self._now_s() + WISH_S
            if self._handle is None:
                self._done = done
                self._begin()
                return
            if changed:
                self._body.cancel(self._handle)
            done(True, "drives")

    def stop(self) -> None:
        """Ends the wish and what moves."""
        self._until_s = 0.0
        if self._handle is not None:
            self._body.cancel(self._handle)

    def watch(self) -> None:
        """Begins the next primitive when one has ended; to be called often."""
        if self._handle is None:
            return
        result = self._body.poll(self._handle).result
        if result is None:
            if self._now_s() > self._until_s:
                self._body.cancel(self._handle)
            return
        self._handle = None
        done, self._done = self._done, None
        good = result.succeeded or result.code is PrimitiveCode.CANCELED
        if not good:
            self._until_s = 0.0
            if done is None:
                self._problem = result.text
        if done is not None:
            done(good, result.text if not good else "drove")
        if self._now_s() < self._until_s:
            self._begin()

    def _begin(self) -> None:
        forward, turn = self._wish
        drive = Drive(
            PIECE_S,
            forward_m_s=forward * self._limits.forward_m_s,
            turn_rad_s=turn * self._limits.turn_rad_s,
        )
        self._handle = self._body.start(Primitive(PrimitiveName.DRIVE, drive=drive))
