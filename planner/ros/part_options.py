"""The options of a part as parameters of the node that uses it."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.node import Node

from planner.parts.option import Option, OptionValue
from planner.ros import parameters


def declare_options(node: Node, options: Sequence[Option]) -> dict[str, OptionValue]:
    """Declares a parameter for each option and returns their values.

    Raises:
        ParameterError: for a value of the wrong type, or one that is not allowed.
    """
    return {option.name: _declare(node, option) for option in options}


def _declare(node: Node, option: Option) -> OptionValue:
    name, default, text = option.name, option.default, option.help
    if isinstance(default, bool):
        return parameters.flag(node, name, default, text)
    if isinstance(default, str):
        return parameters.text(node, name, default, text, choices=option.choices)
    if isinstance(default, float):
        bounds = {"min_value": option.min_value, "max_value": option.max_value}
        return parameters.number(node, name, default, text, **bounds)
    low, high = (None if b is None else int(b) for b in (option.min_value, option.max_value))
    return parameters.whole(node, name, default, text, min_value=low, max_value=high)
