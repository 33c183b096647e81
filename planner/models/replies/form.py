"""The interface of reply forms, and replies as lists and as programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol, TypeVar

from planner.models.gbnf import quoted
from planner.world.errors import PlannerError

ValueT_co = TypeVar("ValueT_co", covariant=True)
# Longer replies are rejected without a search: no requested form is that long.
MAX_CHARACTERS = 20_000


class ReplyError(PlannerError):
    """A reply that does not have the requested form; the text can be shown to the model."""


class ReplyForm(Protocol[ValueT_co]):
    """One form of reply: turns, JSON, lists or programs."""

    @property
    def grammar(self) -> str:
        """GBNF, in the subset that `planner.models.gbnf` reads."""

    @property
    def stop(self) -> tuple[str, ...]:
        """Strings at which the reply ends."""

    @property
    def max_tokens(self) -> int:
        """Enough for the longest reply that the grammar allows."""

    def read(self, text: str, *, ended: bool) -> ValueT_co:
        """Parses a reply.

        Args:
            text: as the model gave it.
            ended: whether it ended by itself or at a stop string, rather than for lack of tokens or
                time.

        Raises:
            ReplyError: saying why it does not have the form.
            CallError: likewise, for a skill call.
        """


def check_length(text: str) -> None:
    """Rejects a text that is too long to be searched.

    Raises:
        ReplyError: if it is.
    """
    if len(text) > MAX_CHARACTERS:
        raise ReplyError(f"the reply has {len(text)} characters, at most {MAX_CHARACTERS}")


# Replies as lists: one item per line, from a fixed set of words or as free text.

MAX_ITEM = 120
_BULLET = re.compile(r"\s*(?:[-*\u2022]|\(?\d{1,3}[.):])\s+")
_LITERAL = re.compile(r"\[[^\[\]]*\]")


@dataclass(frozen=True)
class ListReply:
    """The form of one list; a `planner.models.replies.form.ReplyForm`.

    Attributes:
        words: the allowed items; empty = any line of text.
        min_items, max_items: limits of their number.
    """

    words: tuple[str, ...] = ()
    min_items: int = 1
    max_items: int = 16
    max_tokens: int = 512
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Checks the bounds."""
        if not 0 <= self.min_items <= self.max_items or self.max_items < 1:
            raise ValueError(f"a list of {self.min_items} to {self.max_items} items")

    @cached_property
    def grammar(self) -> str:
        """GBNF of lines `- item`; an empty list is `none`."""
        item = " | ".join(quoted(w) for w in self.words) or f"[^ \\n] [^\\n]{{0,{MAX_ITEM - 1}}}"
        max_more = self.max_items - 1
        min_more = max(self.min_items - 1, 0)
        lines = f'line ("\\n" line){{{min_more},{max_more}}}' if max_more else "line"
        root = lines if self.min_items else f'{lines} | "none"'
        return f'root ::= {root}\nline ::= "- " item\nitem ::= {item}\n'

    def read(self, text: str, *, ended: bool) -> tuple[str, ...]:
        """The items; bullets, numbers and Python list literals are accepted too.

        Raises:
            ReplyError: for too few or too many items, or an item that is not allowed.
        """
        check_length(text)
        items = _literal(text)
        if items is None:
            items = _lines(text if ended else text.rpartition("\n")[0])
        if self.words:
            usual = {word.casefold(): word for word in self.words}
            unknown = next((item for item in items if item.casefold() not in usual), None)
            if unknown is not None:
                raise ReplyError(f"{unknown[:MAX_ITEM]!r} is not one of the possible items")
            items = [usual[item.casefold()] for item in items]
        if not self.min_items <= len(items) <= self.max_items:
            raise ReplyError(
                f"expected {self.min_items} to {self.max_items} items, got {len(items)}"
            )
        return tuple(items)


def _literal(text: str) -> list[str] | None:
    """The items of `['a', 'b']`, as some papers' models reply; None if it is not such a literal."""
    found = _LITERAL.search(text)
    if found is None:
        return None
    try:
        value = ast.literal_eval(found[0])
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if all(isinstance(item, str) for item in value) else None


def _lines(text: str) -> list[str]:
    lines: Sequence[str] = [line for line in text.splitlines() if line.strip()]
    # Models tend to put explanations around a bulleted list.
    marked = [line for line in lines if _BULLET.match(line)]
    items = [_BULLET.sub("", line, count=1).strip() for line in marked or lines]
    return [] if [item.casefold() for item in items] == ["none"] else items


# Replies as programs: straight-line Python with known functions, parsed as a syntax tree.
#
# Nothing of a program is executed here. A statement is a call whose result may be assigned to a
# name: `mug = InteractionObject("Mug")`, `mug.go_to()`. Anything else is rejected, naming the
# line.

Argument = str | int | float | bool | None
_FENCE = re.compile(r"```(?:python)?\n(.*?)(?:```|\Z)", re.DOTALL)
_NAME = "[a-z] [a-z0-9_]{0,30}"
_TEXT = '"\\"" [^"\\\\\\n]{1,80} "\\""'


@dataclass(frozen=True, slots=True)
class Name:
    """A name bound by an earlier statement."""

    name: str


@dataclass(frozen=True, slots=True)
class Statement:
    """One call.

    Attributes:
        function: its name.
        arguments: texts, numbers, or names of earlier results.
        receiver: the name before the dot; "" = a plain function.
        target: the name that the result is assigned to; "" = none.
    """

    function: str
    arguments: tuple[Argument | Name, ...] = ()
    receiver: str = ""
    target: str = ""
    line: int = 1


@dataclass(frozen=True)
class ProgramReply:
    """The form of one program; a `planner.models.replies.form.ReplyForm`.

    Attributes:
        functions: the number of arguments of each.
        methods: likewise, of results.
        max_statements: limit for a program.
        known: names that are bound before the first line.
    """

    functions: Mapping[str, int]
    methods: Mapping[str, int] = field(default_factory=dict)
    max_statements: int = 32
    known: tuple[str, ...] = ()
    max_tokens: int = 1024
    stop: tuple[str, ...] = ()

    @cached_property
    def grammar(self) -> str:
        """GBNF of lines of calls; only the parser checks that names are bound before use."""
        calls = [_call(name, count) for name, count in self.functions.items()]
        rules = [
            f'root ::= line ("\\n" line){{0,{self.max_statements - 1}}}',
            f"name ::= {_NAME}",
            f'argument ::= {_TEXT} | "-"? [0-9]{{1,6}} | name',
            f"function ::= {' | '.join(calls)}",
        ]
        line = '(name " = ")? function'
        if self.methods:
            methods = [_call(name, count) for name, count in self.methods.items()]
            rules.append(f"method ::= {' | '.join(methods)}")
            line = '(name " = ")? (function | name "." method)'
        return "\n".join([rules[0], f"line ::= {line}", *rules[1:]]) + "\n"

    def read(self, text: str, *, ended: bool) -> tuple[Statement, ...]:
        """Parses the statements; a Markdown code fence around them is removed.

        Raises:
            ReplyError: naming the first invalid line.
        """
        check_length(text)
        fenced = _FENCE.search(text)
        source = (fenced[1] if fenced else text).strip()
        if not ended and not fenced:
            source = source.rpartition("\n")[0]
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise ReplyError(f"the reply is not a program: {error}") from None
        if not tree.body:
            raise ReplyError("the reply has no statement")
        if len(tree.body) > self.max_statements:
            raise ReplyError(
                f"the program has {len(tree.body)} statements, at most {self.max_statements}"
            )
        bound = set(self.known)
        statements = []
        for node in tree.body:
            statement = self._statement(node, bound)
            if statement.target:
                bound.add(statement.target)
            statements.append(statement)
        return tuple(statements)

    def _statement(self, node: ast.stmt, bound: set[str]) -> Statement:
        target = ""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            (left,) = node.targets
            if not isinstance(left, ast.Name):
                raise _refused(node, "a result can be kept in a name only")
            target, value = left.id, node.value
        elif isinstance(node, ast.Expr):
            value = node.value
        else:
            raise _refused(node, f"{type(node).__name__} is not allowed, only calls are")
        if not isinstance(value, ast.Call) or value.keywords:
            raise _refused(node, "expected a call without keywords")
        receiver, function, known = self._called(value.func, bound)
        if function not in known:
            raise _refused(node, f"there is no {function}")
        if len(value.args) != known[function]:
            count = known[function]
            raise _refused(node, f"{function} takes {count} arguments, got {len(value.args)}")
        arguments = tuple(_argument(argument, bound) for argument in value.args)
        return Statement(function, arguments, receiver, target, node.lineno)

    def _called(self, func: ast.expr, bound: set[str]) -> tuple[str, str, Mapping[str, int]]:
        if isinstance(func, ast.Name):
            return "", func.id, self.functions
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name):
            if func.value.id not in bound:
                raise _refused(func, f"{func.value.id} is not defined")
            return func.value.id, func.attr, self.methods
        raise _refused(func, "expected a known function or a method of a name")


def _call(name: str, count: int) -> str:
    arguments = ' ", " '.join(["argument"] * count)
    return f'{quoted(name + "(")} {arguments} ")"' if count else quoted(f"{name}()")


def _argument(node: ast.expr, bound: set[str]) -> Argument | Name:
    if isinstance(node, ast.Name):
        if node.id not in bound:
            raise _refused(node, f"{node.id} is not defined")
        return Name(node.id)
    try:
        value = ast.literal_eval(node)
    except (ValueError, SyntaxError, RecursionError):
        raise _refused(node, "an argument must be a text, a number or a name") from None
    if not isinstance(value, str | int | float | bool | None):
        raise _refused(node, "an argument must be a text, a number or a name")
    return value


def _refused(node: ast.stmt | ast.expr, reason: str) -> ReplyError:
    return ReplyError(f"line {node.lineno}: {reason}")
