"""Why a backend cannot begin a primitive at all: the same codes and words from every one."""

from __future__ import annotations

import math
from collections.abc import Collection

from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult


def refusal_of(
    agent: str, kind: str, able: Collection[PrimitiveName], primitive: Primitive, *, busy: bool
) -> PrimitiveResult | None:
    """The result that refuses a primitive of a known agent, None where it may begin.

    Args:
        agent: whose primitive it is.
        kind: of body, as the text names it.
        able: what such a body can do.
        primitive: what was asked for.
        busy: whether the agent does something else.
    """
    if primitive.name not in set(PrimitiveName):
        text = f"there is no primitive {primitive.name!r}"
        return PrimitiveResult(PrimitiveCode.UNKNOWN_PRIMITIVE, text)
    if primitive.name not in able:
        return PrimitiveResult(PrimitiveCode.NOT_ABLE, f"a {kind} cannot {primitive.name}")
    if primitive.frame not in ("map", f"{agent}/odom", f"{agent}/base_link"):
        text = f"frame {primitive.frame!r} is none of map, {agent}/odom, {agent}/base_link"
        return PrimitiveResult(PrimitiveCode.BAD_FRAME, text)
    problem = _bad_numbers(primitive)
    if problem:
        return PrimitiveResult(PrimitiveCode.BAD_TARGET, problem)
    if busy:
        return PrimitiveResult(PrimitiveCode.BUSY, f"{agent} is doing something else")
    return None


def _bad_numbers(primitive: Primitive) -> str:
    """What is wrong with the numbers of a primitive; empty when nothing is."""
    looks_around = primitive.name is PrimitiveName.LOOK and primitive.views_rad
    if not looks_around and not all(map(math.isfinite, primitive.target_m)):
        return f"the target {primitive.target_m} is not a finite point"
    if primitive.reference_m is not None and not all(map(math.isfinite, primitive.reference_m)):
        return f"the reference {primitive.reference_m} is not a finite point"
    if not all(math.isfinite(v) for view in primitive.views_rad for v in view):
        return "a view is not finite"
    if math.isinf(primitive.heading_rad) or math.isinf(primitive.standoff_m):
        return "heading and standoff are finite or NaN"
    if not math.isfinite(primitive.timeout_s) or primitive.timeout_s < 0:
        return f"the timeout {primitive.timeout_s} is not a finite time of 0 or more"
    if not math.isfinite(primitive.tolerance_m) or primitive.tolerance_m < 0:
        return f"the tolerance {primitive.tolerance_m} is not a finite distance of 0 or more"
    return ""
