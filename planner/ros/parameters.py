"""Declared parameters with a type, a default and a check; a wrong one is told by its name."""

from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.node import Node

from planner.world.errors import PlannerError


class ParameterError(PlannerError):
    """A ROS parameter that cannot be used."""

    def __init__(self, node: Node, name: str, reason: str) -> None:
        super().__init__(f"{node.get_name()}: parameter {name}: {reason}")


def text(
    node: Node, name: str, default: str, description: str, *, choices: Sequence[str] = ()
) -> str:
    """Declare a text parameter and return its value.

    Raises:
        ParameterError: where it is no text, or none of `choices`.
    """
    value = str(_declare(node, name, default, description))
    if choices and value not in choices:
        raise ParameterError(node, name, f"{value!r} is not one of {', '.join(choices)}")
    return value


def flag(node: Node, name: str, default: bool, description: str) -> bool:
    """Declare a true-or-false parameter and return its value.

    Raises:
        ParameterError: where it is neither.
    """
    return bool(_declare(node, name, default, description))


def whole(
    node: Node,
    name: str,
    default: int,
    description: str,
    *,
    least: int | None = None,
    most: int | None = None,
) -> int:
    """Declare a whole number and return its value.

    Raises:
        ParameterError: where it is no whole number, or out of bounds (which are allowed).
    """
    value = int(_declare(node, name, default, description))
    _check_bounds(node, name, value, least, most)
    return value


def number(
    node: Node,
    name: str,
    default: float,
    description: str,
    *,
    least: float | None = None,
    most: float | None = None,
) -> float:
    """Declare a number, whole or not, and return its value; the description says its unit.

    Raises:
        ParameterError: where it is no number, not finite, or out of bounds (which are allowed).
    """
    value = _declare(node, name, float(default), description, whole_allowed=True)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(node, name, f"{value!r} is not a number")
    # Written so that NaN fails.
    if not abs(value) < float("inf"):
        raise ParameterError(node, name, f"{value} is not finite")
    _check_bounds(node, name, value, least, most)
    return float(value)


def _declare(
    node: Node,
    name: str,
    default: str | bool | int | float,
    description: str,
    *,
    whole_allowed: bool = False,
) -> Any:
    # `p:=1` arrives as a whole number even where 1.0 is meant, which a strictly typed
    # parameter would refuse.
    descriptor = ParameterDescriptor(description=description, dynamic_typing=whole_allowed)
    try:
        return node.declare_parameter(name, default, descriptor).value
    except InvalidParameterTypeException as error:
        raise ParameterError(node, name, str(error)) from error


def _check_bounds(
    node: Node, name: str, value: float, least: float | None, most: float | None
) -> None:
    if least is not None and value < least:
        raise ParameterError(node, name, f"{value} is less than {least}")
    if most is not None and value > most:
        raise ParameterError(node, name, f"{value} is greater than {most}")
