"""Primitives of real robots as generators: each step does a little, none waits for the robot."""

from __future__ import annotations

from collections.abc import Generator

from planner.world.geometry import Vec3
from planner.world.primitive import PrimitiveCode, PrimitiveResult

# Phase and progress.
Stage = tuple[str, float]
Routine = Generator[Stage, None, PrimitiveResult]
Motion = Generator[Stage, None, None]
Check = Generator[Stage, None, bool]


class Ended(Exception):  # noqa: N818 - an end, not always an error
    """Ends a routine with a result."""

    def __init__(self, code: PrimitiveCode, text: str, **evidence: str) -> None:
        super().__init__(text)
        self.result = PrimitiveResult(code, text, evidence)


def success(text: str, position_m: Vec3 | None = None, /, **evidence: str) -> PrimitiveResult:
    """The result of a successful routine."""
    return PrimitiveResult(PrimitiveCode.SUCCESS, text, evidence, position_m)
