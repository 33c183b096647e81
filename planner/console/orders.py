"""What a page can ask of the robots, and driving one body as long as somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

from planner.console.protocol import Correct
from planner.world.primitive import (
    Drive,
    DriveLimits,
    Primitive,
    PrimitiveCode,
    PrimitiveName,
    PrimitiveStatus,
)

# Gets whether it was done, and the outcome in words; from any thread, once.
Done: TypeAlias = Callable[[bool, str], None]


class Orders(Protocol):
    """Each order ends with one call of `done`, none waits for its end."""

    def instruct(
        self, words: str, agents: Sequence[str], dialogue: Sequence[str], done: Done
    ) -> None:
        """Gives an instruction to these agents; `done` gets its result."""

    def again(self, words: str, agents: Sequence[str], done: Done) -> None:
        """Begins the world anew, then gives the instruction, "" = none; `done` gets the result."""

    def finish(self, done: Done) -> None:
        """Has the judge give its verdict now; `done` gets it."""

    def load(self, episode: str, done: Done) -> None:
        """Puts the world into the beginning of an episode."""

    def answer(self, words: str, done: Done) -> None:
        """Answers the question of the running instruction."""

    def cancel(self, done: Done) -> None:
        """Ends the running instruction, whoever gave it here."""

    def stop(self, agents: Sequence[str], done: Done) -> None:
        """Ends everything that was begun here and stops these agents at once."""

    def skill(self, agent: str, call: str, done: Done) -> None:
        """Starts one call of an agent; `done` gets its result."""

    def abort(self, agent: str) -> None:
        """Ends the running call of an agent, and its driving."""

    def drive(self, agent: str, body: str, forward: float, turn: float, done: Done) -> None:
        """Drives an agent for a moment; see `planner.console.orders.Driver.steer`.

        Args:
            agent: its name.
            body: its kind of body.
            forward: share of the greatest velocity, -1 to 1.
            turn: the same to the left.
            done: gets the outcome.
        """

    def approve(
        self, agent: str, question: str, answer: Literal["yes", "no", "kind"], done: Done
    ) -> None:
        """Answers an agent's question to its operator."""

    def correct(self, correction: Correct, author: str, done: Done) -> None:
        """Corrects the memory."""

    def show_pictures(self, *, on: bool) -> None:
        """Subscribes to the cameras of all agents, also of those to come, or to none."""


# Drives one body as long as somebody keeps asking for it; knows no ROS.

# Seconds of the world for which one primitive drives; wall seconds after which a wish is over.
PIECE_S, WISH_S = 0.4, 0.5


class DrivenBody(Protocol):
    """What takes primitives; `planner.ros.primitives.PrimitiveClient` is one."""

    def start(self, primitive: Primitive) -> int:
        """Requests a primitive."""

    def poll(self, handle: int) -> PrimitiveStatus:
        """Its state."""

    def cancel(self, handle: int) -> None:
        """Requests its end."""


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
