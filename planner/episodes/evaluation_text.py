"""Evaluations as Python text, as PARTNR stores them: parsed, never executed, and translated."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import JsonValue

from planner.evaluation.task import Predicate
from planner.world.states import default_states

# Parses the Python subset in which PARTNR's evaluations are written; nothing is executed.
#
# PARTNR stores evaluation functions as Python text: assignments of lists, strings, numbers and
# calls such as `is_on_top(["cup_0"], ["table_1"], number=1)`. The text is parsed to a syntax tree,
# of which only literals, lists, tuples and calls with such arguments are accepted.

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


# From PARTNR's argument names to ours; ours are accepted too.
_ARGUMENTS = {
    "object_handles": "objects", "receptacle_handles": "receptacles", "room_ids": "rooms",
    "entity_handles_a": "entities_a", "entity_handles_b": "entities_b", "*args": "entities",
    "is_same_receptacle": "is_same_b", "is_same_room": "is_same_b", "arg_match": "is_same_b",
}  # fmt: skip
_ORDER: dict[str, tuple[str, ...]] = {
    Predicate.IS_ON_TOP: ("objects", "receptacles", "number", "is_same_b"),
    Predicate.IS_INSIDE: ("objects", "receptacles", "number", "is_same_b"),
    Predicate.IS_IN_ROOM: ("objects", "rooms", "number", "is_same_b"),
    Predicate.IS_NEXT_TO: ("entities_a", "entities_b", "number", "is_same_b", "l2_threshold"),
    Predicate.IS_ON_FLOOR: ("objects", "number"),
}
_LISTS = frozenset({"objects", "receptacles", "rooms", "entities_a", "entities_b"})
_DEPENDENCIES = frozenset({"PropositionDependency", "EvaluationPropositionDependency"})
_SHORT_DEPENDENCIES = {
    "WhileSatisfied": "while_satisfied",
    "AfterSatisfied": "after_satisfied",
    "AfterUnsatisfied": "after_unsatisfied",
}
_DEPENDENCY_FIELDS = ("proposition_indices", "depends_on", "relation_type", "dependency_mode")
_CONSTRAINT_FIELDS: dict[str, tuple[str, ...]] = {
    "TemporalConstraint": ("dag_edges", "n_propositions"),
    "SameArgConstraint": ("proposition_indices", "arg_names", "n_propositions"),
    "DifferentArgConstraint": ("proposition_indices", "arg_names", "n_propositions"),
    "TerminalSatisfactionConstraint": ("proposition_indices", "n_propositions"),
}
_MAX_DEPTH = 3
_EDGES = frozenset({"dag_edges", "graph_edges", "edges"})
_ARG_NAMES = frozenset({"arg_names", "arg_indices", "arg_index"})

# (the file's word, our argument) to names in the house; raises FieldError if unknown.
Resolve = Callable[[str, str], Sequence[str]]


def _arguments(predicate: str) -> tuple[str, ...]:
    return _ORDER.get(predicate, ("objects", "number"))


class FieldError(ValueError):
    """The content of a field cannot be expressed in our language."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def translated(
    propositions: object, dependencies: object, constraints: object, resolve: Resolve
) -> dict[str, JsonValue]:
    """The evaluation document of an episode file.

    Raises:
        FieldError: with the first field that has no counterpart, in the data set's terms.
    """
    goals = [
        _proposition(item, f"evaluation_propositions.{i}", resolve)
        for i, item in enumerate(_items(propositions, "evaluation_propositions"))
    ]
    document: dict[str, JsonValue] = {"propositions": goals}
    field = "evaluation_proposition_dependencies"
    gates = [_dependency(d, f"{field}.{i}") for i, d in enumerate(_items(dependencies, field))]
    field = "evaluation_constraints"
    found = [
        constraint
        for i, item in enumerate(_items(constraints, field))
        for constraint in _constraint(item, f"{field}.{i}", len(goals))
    ]
    if gates:
        document["dependencies"] = gates
    if found:
        document["constraints"] = found
    return document


def corrected(text: str) -> tuple[dict[str, object], str]:
    """The parts of a correction file, as `translated` takes them.

    Returns:
        `instruction`, `propositions`, `dependencies` and `constraints`, only if the text has an
        instruction or propositions; and why the episode is to be skipped ("" if it is not).

    Raises:
        FieldError: if the text has another form.
    """
    try:
        found = read_assignments(text)
    except PythonTextError as error:
        raise FieldError("corrections", str(error)) from None
    parts: dict[str, object] = {}
    known = {
        *("instruction", "propositions", "temporal_groups", "proposition_order"),
        *("tie_constraints", "dependencies", "exclude_final_constraint"),
        *("skip_episode", "reason"),
    }
    for name in found:
        if name not in known:
            raise FieldError(f"corrections.{name}", "is not part of an evaluation")
    if isinstance(found.get("instruction"), str):
        parts["instruction"] = " ".join(str(found["instruction"]).split())
    if "propositions" in found:
        # Dependencies and constraints of the file refer to its own propositions by index.
        parts["propositions"] = found["propositions"]
        parts["dependencies"] = found.get("dependencies")
        parts["constraints"] = [
            *_items(found.get("tie_constraints"), "corrections.tie_constraints"),
            *_order_and_end(found),
        ]
    skipped = found.get("skip_episode") is True
    return parts, (str(found.get("reason") or "its annotators skip it") if skipped else "")


def _order_and_end(found: Mapping[str, Value]) -> list[object]:
    """Converts groups and exclusions to constraints (PARTNR-D21, PARTNR-3.4)."""
    made: list[object] = []
    groups = found.get("temporal_groups", found.get("proposition_order"))
    if groups:
        made.append({"type": "TemporalConstraint", "args": {"temporal_groups": groups}})
    excluded = found.get("exclude_final_constraint")
    if excluded:
        goals = _items(found.get("propositions"), "corrections.propositions")
        out = _items(excluded, "corrections.exclude_final_constraint")
        rest = [i for i in range(len(goals)) if i not in out]
        args = {"proposition_indices": rest}
        made.append({"type": "TerminalSatisfactionConstraint", "args": args})
    return made


def _items(value: object, field: str) -> list[object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise FieldError(field, "is not a list")
    return list(value)


def _proposition(item: object, field: str, resolve: Resolve) -> JsonValue:
    name, given = _named(item, field, "function_name")
    if name == "is_close_to":
        name = Predicate.IS_NEXT_TO.value
    if name not in {*Predicate, *default_states().predicates}:
        raise FieldError(field, f"{str(name)[:60]!r} is not one of the twelve predicates")
    if name == Predicate.IS_CLUSTERED:
        return {"function_name": name, "args": _cluster(given, field, resolve)}
    args: dict[str, JsonValue] = {}
    for word, value in _by_name(given, _arguments(name), field).items():
        argument = _ARGUMENTS.get(word, word)
        where = f"{field}.args.{word}"
        if argument not in _arguments(name):
            raise FieldError(where, f"{name} has no such argument")
        if argument in args:
            raise FieldError(where, "is given twice")
        if argument in _LISTS:
            args[argument] = list(_names(value, argument, where, resolve))
        elif value is not None:
            args[argument] = _plain(value, where)
    return {"function_name": name, "args": args}


def _cluster(given: _Given, field: str, resolve: Resolve) -> JsonValue:
    positional, named = given
    lists = list(positional)
    args: dict[str, JsonValue] = {}
    for word, value in named.items():
        where = f"{field}.args.{word}"
        if word in ("*args", "entities"):
            lists += _items(value, where)
        elif word == "number":
            numbers = _items(value, where) if isinstance(value, list) else [value]
            if any(number not in (None, 1) for number in numbers):
                raise FieldError(where, "more than one of a list is not in our language")
        elif word == "l2_threshold":
            args[word] = _plain(value, where)
        else:
            raise FieldError(where, "is_clustered has no such argument")
    args["entities"] = [
        list(_names(names, "entities", f"{field}.args.*args.{k}", resolve))
        for k, names in enumerate(lists)
    ]
    return args


def _names(value: object, argument: str, field: str, resolve: Resolve) -> list[str]:
    """A list, or a phrase such as "cup_0 or cup_1" (PARTNR-4.4), as names of the house."""
    if isinstance(value, str):
        value = value.split(" or ")
    found: list[str] = []
    for k, word in enumerate(_items(value, field)):
        if not isinstance(word, str):
            raise FieldError(f"{field}.{k}", "is not a name")
        try:
            names = resolve(word.strip(), argument)
        except FieldError as error:
            raise FieldError(f"{field}.{k}", error.reason) from None
        found += [name for name in names if name not in found]
    return found


def _dependency(item: object, field: str) -> JsonValue:
    name, given = _named(item, field, None)
    if name in _SHORT_DEPENDENCIES:
        given = (given[0], {**given[1], "relation_type": _SHORT_DEPENDENCIES[name]})
    elif name and name not in _DEPENDENCIES:
        raise FieldError(field, f"{name[:60]!r} is not a dependency")
    args: dict[str, JsonValue] = {}
    for word, value in _by_name(given, _DEPENDENCY_FIELDS, field).items():
        if word not in _DEPENDENCY_FIELDS:
            raise FieldError(f"{field}.{word}", "a dependency has no such field")
        plain = _plain(value, f"{field}.{word}")
        indices = word in ("proposition_indices", "depends_on")
        args[word] = [plain] if indices and isinstance(plain, int) else plain
    if args.get("relation_type") == "before_satisfied":
        raise FieldError(f"{field}.relation_type", "before_satisfied is not in the paper, nor ours")
    return args


def _constraint(item: object, field: str, count: int) -> list[JsonValue]:
    name, given = _named(item, field, "type")
    if name not in _CONSTRAINT_FIELDS:
        raise FieldError(field, f"{name[:60]!r} is not a constraint")
    made: dict[str, JsonValue] = {"type": name}
    for word, value in _by_name(given, _CONSTRAINT_FIELDS[name], field).items():
        plain = _plain(value, f"{field}.args.{word}")
        if word == "n_propositions":
            if plain not in (None, count):
                reason = f"says {str(plain)[:20]} propositions; there are {count}"
                raise FieldError(f"{field}.args.{word}", reason)
        elif word in _EDGES:
            made["edges"] = plain
        elif word in _ARG_NAMES:
            made["arg_indices"] = _argument_names(plain)
        elif word in ("proposition_indices", "temporal_groups"):
            made["groups" if word == "temporal_groups" else word] = plain
        else:
            raise FieldError(f"{field}.args.{word}", f"{name} has no such argument")
    if made.get("edges") == [] or made.get("groups") == []:
        return []  # PARTNR writes an empty constraint if nothing is ordered.
    return [made]


def _argument_names(value: JsonValue) -> JsonValue:
    if not isinstance(value, list):
        return value
    return [_ARGUMENTS.get(word, word) if isinstance(word, str) else word for word in value]


_Given = tuple[Sequence[object], Mapping[str, object]]


def _named(item: object, field: str, key: str | None) -> tuple[str, _Given]:
    """The function name and arguments of an object or of Python text.

    `key`: the object's field with the name; None if the object is only the arguments.
    """
    if isinstance(item, str):
        try:
            item = read_call(item)
        except PythonTextError as error:
            raise FieldError(field, str(error)) from None
    if isinstance(item, Call):
        return item.name, (item.arguments, item.named)
    if not isinstance(item, dict):
        raise FieldError(field, "is neither an object nor a call")
    if key is None:
        return "", ((), item)
    name, args = item.get(key), item.get("args", {})
    extra = next((word for word in item if word not in (key, "args")), None)
    if extra is not None:
        raise FieldError(f"{field}.{str(extra)[:60]}", "is not known")
    if not isinstance(name, str):
        raise FieldError(f"{field}.{key}", "is not a name")
    if not isinstance(args, dict):
        raise FieldError(f"{field}.args", "is not an object")
    return name, ((), args)


def _by_name(given: _Given, order: Sequence[str], field: str) -> dict[str, object]:
    positional, named = given
    if len(positional) > len(order):
        raise FieldError(field, f"{len(positional)} arguments are too many")
    found: dict[str, object] = dict(zip(order, positional, strict=False))
    for word, value in named.items():
        if word in found:
            raise FieldError(f"{field}.{word}", "is given twice")
        found[word] = value
    return found


def _plain(value: object, field: str, depth: int = 0) -> JsonValue:
    """Plain JSON, without calls, no deeper than our language allows."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list) and depth < _MAX_DEPTH:
        return [_plain(item, field, depth + 1) for item in value]
    raise FieldError(field, "is neither a number, a word nor a list of these")
