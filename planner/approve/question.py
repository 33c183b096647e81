"""A question to the operator as `planner approve` shows it, and its possible answers. No ROS."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from planner.world.geometry import Vec3

UNKNOWN_CLASS = "unknown to perception"


@dataclass(frozen=True, slots=True)
class Question:
    """A question to an agent's operator.

    Attributes:
        question_id: the id that the answer refers to.
        agent: the agent that asks.
        primitive: what it wants to do, such as pick.
        thing_class: perceived class of the thing to pick; empty if unknown.
        why: the reason for asking.
        target_m: in the map frame.
        pixel: column and row of the target in the picture; None if it is not visible.
        has_picture: whether there is a picture.
        issued_s: in the world's time.
        expires_s: when the question expires, in the world's time.
    """

    question_id: str
    agent: str
    primitive: str
    thing_class: str
    why: str
    target_m: Vec3
    pixel: tuple[int, int] | None
    has_picture: bool
    issued_s: float
    expires_s: float

    def lines(self, now_s: float | None) -> list[str]:
        """The text shown; `now_s` is in the world's time, None if unknown."""
        left = "unknown" if now_s is None else f"{max(0.0, self.expires_s - now_s):.0f} s"
        x, y, z = self.target_m
        seen = "no picture" if not self.has_picture else "not in the picture"
        if self.pixel is not None:
            seen = "pixel {}, {} of the picture".format(*self.pixel)
        found = [
            f"{self.agent} asks: {self.primitive}",
            f"  why    {self.why}",
            f"  target {x:.2f}, {y:.2f}, {z:.2f} m in the map; {seen}",
            f"  left   {left}",
            f"  id     {self.question_id}",
        ]
        if self.primitive == "pick":
            found.insert(1, f"  class  {self.thing_class or UNKNOWN_CLASS}")
        return [line if line.isprintable() else ascii(line) for line in found]


class Answer(Enum):
    """The operator's answers, by the key typed."""

    YES = "y"
    NO = "n"
    KIND = "k"

    @property
    def approves(self) -> bool:
        """Whether it approves the action."""
        return self is not Answer.NO


@dataclass(frozen=True, slots=True)
class Place:
    """Another target than the one asked about: a point on the map, or a pixel."""

    target_m: Vec3 | None = None
    pixel: tuple[int, int] | None = None


def parse_answer(line: str) -> Answer | None:
    """The answer that a typed line stands for; None if none."""
    key = line.strip().lower()
    return next((answer for answer in Answer if key in (answer.value, answer.name.lower())), None)
