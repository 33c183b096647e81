"""Parses the Python subset in which PARTNR's evaluations are written; nothing is executed.

PARTNR stores evaluation functions as Python text: assignments of lists, strings, numbers and calls
such as `is_on_top(["cup_0"], ["table_1"], number=1)`. The text is parsed to a syntax tree, of which
only literals, lists, tuples and calls with such arguments are accepted.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass
from typing import TypeAlias

MAX_CHARACTERS = 200_000
MAX_DEPTH = 12
MAX_NUMBER = 1e15


class PythonTextError(ValueError):
    """Text outside of this subset; gives the line and the reason."""


@dataclass(frozen=True, slots=True)
class Call:
    """`name(*arguments, **named)`, as it is written."""

    name: str
    arguments: tuple[Value, ...]
    named: dict[str, Value]


Value: TypeAlias = "str | int | float | bool | list[Value] | Call | None"


def read_call(text: str) -> Call:
    """Parses exactly one call.

    Raises:
        PythonTextError: if it is something else.
    """
    match _statements(text.strip()):
        case [ast.Expr(value=ast.Call() as node)]:
            return _call(node, 1)
    raise PythonTextError("line 1: expected one call such as is_on_top([...], [...])")


def read_assignments(text: str) -> dict[str, Value]:
    """Parses lines of `name = value`.

    Raises:
        PythonTextError: if it is something else, or a name is assigned twice.
    """
    found: dict[str, Value] = {}
    for statement in _statements(text):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=node):
                if name in found:
                    raise _error(statement, f"{name} is assigned twice")
                found[name] = _value(node, 1)
            case _:
                raise _error(statement, "expected name = value")
    return found


def _statements(text: str) -> list[ast.stmt]:
    if len(text) > MAX_CHARACTERS:
        raise PythonTextError(f"is longer than {MAX_CHARACTERS} characters")
    try:
        with warnings.catch_warnings():
            # Invalid escapes such as "\d" are taken literally, without Python's warning.
            warnings.simplefilter("ignore")
            return ast.parse(text).body
    except SyntaxError as error:
        raise PythonTextError(f"line {error.lineno or 1}: {error.msg}") from None
    except (ValueError, MemoryError, RecursionError) as error:
        raise PythonTextError(f"line 1: cannot be parsed: {error}") from None


def _value(node: ast.expr, depth: int) -> Value:
    if depth > MAX_DEPTH:
        raise _error(node, "is nested too deeply")
    match node:
        case ast.Constant(value=str() | bool() | None as value):
            return value
        case ast.Constant(value=int() | float() as number):
            return _number(node, number)
        case ast.UnaryOp(op=sign, operand=ast.Constant(value=int() | float() as number)):
            if isinstance(sign, ast.UAdd | ast.USub) and not isinstance(number, bool):
                return _number(node, -number if isinstance(sign, ast.USub) else number)
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, depth + 1) for item in items]
        case ast.Call():
            return _call(node, depth)
    raise _error(node, "expected a literal, a list or a call")


def _call(node: ast.Call, depth: int) -> Call:
    if not isinstance(node.func, ast.Name):
        raise _error(node, "expected a call of a plain name")
    arguments = tuple(_value(argument, depth + 1) for argument in node.args)
    named: dict[str, Value] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise _error(node, "** is not allowed")
        if keyword.arg in named:
            raise _error(node, f"{keyword.arg} is given twice")
        named[keyword.arg] = _value(keyword.value, depth + 1)
    return Call(node.func.id, arguments, named)


def _number(node: ast.expr, number: float) -> float:
    # Written so that NaN is refused.
    if not abs(number) < MAX_NUMBER:
        raise _error(node, f"a number is not below {MAX_NUMBER:g}")
    return number


def _error(node: ast.stmt | ast.expr, reason: str) -> PythonTextError:
    return PythonTextError(f"line {node.lineno}: {reason}")
