"""In which order two things are brought to one place: the shortest walk that is possible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from planner.world.errors import PlannerError
from planner.world.skill import SkillName


class Order(StrEnum):
    """The orders that are compared (ETPLAN-2.3).

    ONE_ARM: one thing after the other. TWO_ARMS: both are fetched, then both are put; PUT_DOWN:
    the same, and one is put down before the place is opened; OPEN_FIRST: the same, and the place
    is opened before both hands are full.
    """

    ONE_ARM = "one_arm"
    TWO_ARMS = "two_arms"
    PUT_DOWN = "put_down"
    OPEN_FIRST = "open_first"


def shortest(walks_m: Mapping[Order, float | None]) -> Order:
    """The order with the shortest walk; None is one that is not possible.

    Raises:
        PlannerError: if none is possible.
    """
    possible = [(length_m, order) for order, length_m in walks_m.items() if length_m is not None]
    if not possible:
        raise PlannerError("two things: no order is possible")
    return min(possible, key=lambda one: one[0])[1]


def order_of(plan: Sequence[str]) -> Order:
    """The order of a plan that brings two things to one place."""
    verbs = [call.partition("[")[0] for call in plan]
    picks = [index for index, verb in enumerate(verbs) if verb == SkillName.PICK]
    if len(picks) > 2:
        return Order.PUT_DOWN
    if SkillName.PLACE in verbs[picks[0] : picks[-1]]:
        return Order.ONE_ARM
    place = plan[-1].split(", ")[2]
    return Order.OPEN_FIRST if f"{SkillName.OPEN}[{place}]" in plan else Order.TWO_ARMS
