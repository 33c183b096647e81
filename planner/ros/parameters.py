"""Parameters declared with type, description, range and choices; read once, so read-only.

A node reads each of them once, at its start. They are therefore declared read-only: a later
`ros2 param set` is refused with a reason, instead of being accepted without effect. Values given
at start (`-p`, `--params-file`) are checked here and named in the error.
"""

import sys
from collections.abc import Sequence
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node

from planner.world.errors import PlannerError

# A range has two ends: these stand for an end that is open.
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1
_MIN_FLOAT, _MAX_FLOAT = -sys.float_info.max, sys.float_info.max


class ParameterError(PlannerError):
    """A ROS parameter that cannot be used."""

    def __init__(self, node: Node, name: str, reason: str) -> None:
        super().__init__(f"{node.get_name()}: parameter {name}: {reason}")


def text(
    node: Node, name: str, default: str, description: str, *, choices: Sequence[str] = ()
) -> str:
    """Declare a string parameter and return its value.

    Raises:
        ParameterError: if it is not a string, or none of `choices`.
    """
    descriptor = _descriptor(description)
    if choices:
        descriptor.additional_constraints = f"one of {', '.join(choices)}"
    try:
        value = str(node.declare_parameter(name, default, descriptor).value)
    except InvalidParameterTypeException as error:
        raise ParameterError(node, name, str(error)) from error
    if choices and value not in choices:
        raise ParameterError(node, name, f"{value!r} is not one of {', '.join(choices)}")
    return value


def flag(node: Node, name: str, default: bool, description: str) -> bool:
    """Declare a boolean parameter and return its value.

    Raises:
        ParameterError: if it is not a boolean.
    """
    try:
        return bool(node.declare_parameter(name, default, _descriptor(description)).value)
    except InvalidParameterTypeException as error:
        raise ParameterError(node, name, str(error)) from error


def whole(
    node: Node,
    name: str,
    default: int,
    description: str,
    *,
    min_value: int | None = None,
    max_value: int | None = None,
) -> int:
    """Declare an integer parameter and return its value; bounds are inclusive.

    Raises:
        ParameterError: if it is not an integer or out of bounds.
    """
    descriptor = _descriptor(description)
    if min_value is not None or max_value is not None:
        descriptor.integer_range = [
            IntegerRange(
                from_value=_MIN_INTEGER if min_value is None else min_value,
                to_value=_MAX_INTEGER if max_value is None else max_value,
            )
        ]
    try:
        return int(node.declare_parameter(name, default, descriptor).value)
    except InvalidParameterTypeException as error:
        raise ParameterError(node, name, str(error)) from error
    except InvalidParameterValueException as error:
        _check_bounds(node, name, _given(node, name, default), min_value, max_value)
        raise ParameterError(node, name, str(error)) from error


def number(
    node: Node,
    name: str,
    default: float,
    description: str,
    *,
    min_value: float | None = None,
    max_value: float | None = None,
) -> float:
    """Declare a floating-point parameter and return its value; bounds are inclusive.

    Raises:
        ParameterError: if it is not a number, not finite, or out of bounds.
    """
    descriptor = _descriptor(description)
    if min_value is not None or max_value is not None:
        descriptor.floating_point_range = [
            FloatingPointRange(
                from_value=_MIN_FLOAT if min_value is None else float(min_value),
                to_value=_MAX_FLOAT if max_value is None else float(max_value),
            )
        ]
    try:
        value: Any = node.declare_parameter(name, float(default), descriptor).value
        _check_number(node, name, value, min_value, max_value)
    except (InvalidParameterTypeException, InvalidParameterValueException):
        value = _given(node, name, default)
        _check_number(node, name, value, min_value, max_value)
        # `p:=1` arrives as an integer even where 1.0 is meant. Declaring the type as dynamic
        # would take it too, but then rclpy takes any type and applies no range.
        node.declare_parameter(name, float(value), descriptor, ignore_override=True)
    return float(value)


def _descriptor(description: str) -> ParameterDescriptor:
    return ParameterDescriptor(description=description, read_only=True)


def _given(node: Node, name: str, default: float) -> Any:
    """The value that was given at start and that the strict declaration refused."""
    dynamic = ParameterDescriptor(dynamic_typing=True)
    value: Any = node.declare_parameter(name, default, dynamic).value
    node.undeclare_parameter(name)
    return value


def _check_number(
    node: Node, name: str, value: Any, min_value: float | None, max_value: float | None
) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(node, name, f"{value!r} is not a number")
    # Written so that NaN fails.
    if not abs(value) < float("inf"):
        raise ParameterError(node, name, f"{value} is not finite")
    _check_bounds(node, name, value, min_value, max_value)


def _check_bounds(
    node: Node, name: str, value: float, min_value: float | None, max_value: float | None
) -> None:
    if min_value is not None and value < min_value:
        raise ParameterError(node, name, f"{value} is less than {min_value}")
    if max_value is not None and value > max_value:
        raise ParameterError(node, name, f"{value} is greater than {max_value}")
