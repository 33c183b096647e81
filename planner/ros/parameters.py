"""Parameters of nodes: declared once, with type and range; those of parts and of other nodes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.client import Client
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.task import Future

from planner.parts.option import Option, OptionValue
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


# The options of a part as parameters of the node that uses it.


def declare_options(node: Node, options: Sequence[Option]) -> dict[str, OptionValue]:
    """Declares a parameter for each option and returns their values; see `declare`."""
    return {option.name: declare(node, option) for option in options}


def declare(node: Node, option: Option) -> Any:
    """Declares the parameter of an option and returns its value, of the default's type.

    Raises:
        ParameterError: for a value of the wrong type, or one that is not allowed.
    """
    name, default, meaning = option.name, option.default, option.help
    if isinstance(default, bool):
        return flag(node, name, default, meaning)
    if isinstance(default, str):
        return text(node, name, default, meaning, choices=option.choices)
    if isinstance(default, float):
        bounds = {"min_value": option.min_value, "max_value": option.max_value}
        return number(node, name, default, meaning, **bounds)
    low, high = (None if b is None else int(b) for b in (option.min_value, option.max_value))
    return whole(node, name, default, meaning, min_value=low, max_value=high)


# The parameter `map`, which several nodes have.
MAP = Option(
    "map",
    "given",
    "given = the floor of the layout; built = the robots explore it by depth images",
    choices=("given", "built"),
)


def builds_map(node: Any) -> bool:
    """Declares the parameter `map` and says whether the robots build their map themselves."""
    return bool(declare(node, MAP) == "built")


# Collects the parameters of all nodes in a namespace, once per node.

ParameterValues = Mapping[str, object]
# Attempts before a node is given up: it may have no parameter services.
MAX_TRIES = 20


class _ParameterRequest:
    """Requests one node's parameter names, then their values."""

    def __init__(self, node: Node, name: str, on_answer: Callable[[ParameterValues], None]) -> None:
        self._node, self._on_answer = node, on_answer
        self._list: Client[Any, Any] = node.create_client(ListParameters, f"{name}/list_parameters")
        self._get: Client[Any, Any] = node.create_client(GetParameters, f"{name}/get_parameters")
        self.tries = 0
        self._asked = False

    def ask(self) -> None:
        """Sends the request once the node's services are available."""
        self.tries += 1
        if not self._asked and self._list.service_is_ready() and self._get.service_is_ready():
            self._asked = True
            self._list.call_async(ListParameters.Request()).add_done_callback(self._on_names)

    def close(self) -> None:
        """Removes the clients."""
        self._node.destroy_client(self._list)
        self._node.destroy_client(self._get)

    def _on_names(self, listed: Future[Any]) -> None:
        answer = listed.result()
        names = sorted(answer.result.names) if answer is not None else []
        asked = self._get.call_async(GetParameters.Request(names=names))
        asked.add_done_callback(lambda got: self._on_values(names, got))

    def _on_values(self, names: list[str], got: Future[Any]) -> None:
        answer = got.result()
        values = [parameter_value_to_python(v) for v in answer.values] if answer is not None else []
        self._on_answer(dict(zip(names, values, strict=False)))


class ParameterCollector:
    """Collects parameters of nodes as they appear.

    Attributes:
        found: parameters by the nodes' full names.
    """

    def __init__(self, node: Node) -> None:
        """Sends no requests yet.

        Args:
            node: sends the requests; its own parameters are known at once.
        """
        self._node = node
        self._requests: dict[str, _ParameterRequest] = {}
        own = node.get_parameters_by_prefix("")
        self.found: dict[str, ParameterValues] = {
            node.get_fully_qualified_name(): {name: own[name].value for name in sorted(own)}
        }

    def look(self) -> None:
        """Requests parameters of new nodes; to be called periodically."""
        own = self._node.get_namespace().rstrip("/")
        for name, namespace in self._node.get_node_names_and_namespaces():
            if not f"{namespace.rstrip('/')}/".startswith(f"{own}/"):
                continue
            full = f"{namespace.rstrip('/')}/{name}"
            if name.startswith("_") or full in self.found or full in self._requests:
                continue
            self._requests[full] = _ParameterRequest(self._node, full, self._collector(full))
        for full, request in list(self._requests.items()):
            if full in self.found or request.tries >= MAX_TRIES:
                self.found.setdefault(full, {})
                del self._requests[full]
                request.close()
            else:
                request.ask()

    @property
    def settled(self) -> bool:
        """Whether no request is pending."""
        return not self._requests

    def _collector(self, full: str) -> Callable[[ParameterValues], None]:
        def keep(values: ParameterValues) -> None:
            self.found[full] = values

        return keep
