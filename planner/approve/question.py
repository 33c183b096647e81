"""A question to the operator as `planner approve` shows it, and what may be answered. No ROS."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from planner.world.geometry import Vec3

UNKNOWN_CLASS = "unknown to perception"


@dataclass(frozen=True, slots=True)
class Shown:
    """What is asked of an agent's operator.

    Attributes:
        question_id: that the answer names.
        agent: whose hand it is.
        primitive: what shall be done, such as pick.
        thing_class: what perception takes the thing of a pick for; empty where unknown.
        why: it is asked.
        target_m: in the map.
        pixel: column and row of the target in the picture; None where it is not in it.
        has_picture: whether there is one.
        issued_s: on the world's clock.
        expires_s: when an answer is too late, on the world's clock.
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
        """What a person reads; `now_s` is of the world's clock, None where nobody tells it."""
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


class Say(Enum):
    """What the operator says to a question, by the key that is typed."""

    YES = "y"
    NO = "n"
    KIND = "k"

    @property
    def approves(self) -> bool:
        """Whether it may be done."""
        return self is not Say.NO


@dataclass(frozen=True, slots=True)
class Place:
    """Another place than the one that is asked about: a point of the map, or a pixel."""

    target_m: Vec3 | None = None
    pixel: tuple[int, int] | None = None


def typed(line: str) -> Say | None:
    """What a typed line means; None where it is none of the keys."""
    key = line.strip().lower()
    return next((say for say in Say if key in (say.value, say.name.lower())), None)
