"""A reader of the little Python that PARTNR's evaluations are written in; nothing is run.

PARTNR shows and stores evaluation functions as Python text: assignments of lists, strings,
numbers and calls such as `is_on_top(["cup_0"], ["table_1"], number=1)`. This is a parser of
just that: names, literals, lists, tuples and calls with literal arguments. It has no operators,
no attributes, no subscripts and no way to look a name up; what it returns are plain records.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

MAX_CHARACTERS = 200_000
MAX_DEPTH = 12
MAX_DIGITS = 15

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f]+|\#[^\n]*|\\\n)
      | (?P<newline>\n)
      | (?P<text>\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}(?:[^\\]|\\.)*?'{3}
          |\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')
      | (?P<number>[+-]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*)
      | (?P<sign>[\[\](),=])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPES = {"n": "\n", "t": "\t", "\n": ""}
_WORDS: dict[str, bool | None] = {"True": True, "False": False, "None": None}
_CLOSING = {"[": "]", "(": ")"}


class PythonTextError(ValueError):
    """Text that is not of this small language; says the line and what is wrong."""


@dataclass(frozen=True, slots=True)
class Call:
    """`name(*arguments, **named)`, as it is written."""

    name: str
    arguments: tuple[Value, ...]
    named: dict[str, Value]
    line: int


Value: TypeAlias = "str | int | float | bool | list[Value] | Call | None"


def read_call(text: str) -> Call:
    """Reads one call and nothing else.

    Raises:
        PythonTextError: where it is something else.
    """
    parser = _Parser(text)
    value = parser.value()
    parser.end()
    if not isinstance(value, Call):
        raise PythonTextError("line 1: is not a call such as is_on_top([...], [...])")
    return value


def read_assignments(text: str) -> dict[str, Value]:
    """Reads lines of `name = value`.

    Raises:
        PythonTextError: where it is something else, or a name is assigned twice.
    """
    parser = _Parser(text)
    found: dict[str, Value] = {}
    while not parser.at_end():
        name = parser.name()
        if name in found:
            raise parser.error(f"{name} is assigned twice")
        parser.sign("=")
        found[name] = parser.value()
        parser.end_of_line()
    return found


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    line: int


class _Parser:
    """Recursive descent, as deep as `MAX_DEPTH`."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise PythonTextError(f"is longer than {MAX_CHARACTERS} characters")
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def error(self, reason: str) -> PythonTextError:
        return PythonTextError(f"line {self._peek().line}: {reason}")

    def at_end(self) -> bool:
        self._skip_lines()
        return self._peek().kind == "end"

    def end(self) -> None:
        if not self.at_end():
            raise self.error(f"{self._peek().text[:40]!r} is one thing too many")

    def end_of_line(self) -> None:
        if self._peek().kind not in ("newline", "end"):
            raise self.error(f"{self._peek().text[:40]!r} is one thing too many")

    def name(self) -> str:
        token = self._take()
        if token.kind != "name" or token.text in _WORDS:
            raise PythonTextError(f"line {token.line}: {token.text[:40]!r} is no name")
        return token.text

    def sign(self, wanted: str) -> None:
        token = self._take()
        if token.kind != "sign" or token.text != wanted:
            raise PythonTextError(
                f"line {token.line}: {token.text[:40]!r} where {wanted!r} belongs"
            )

    def value(self) -> Value:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error("is nested too deeply")
        try:
            return self._value()
        finally:
            self._depth -= 1

    def _value(self) -> Value:
        token = self._take()
        if token.kind == "text":
            return _unquoted(token.text)
        if token.kind == "number":
            return _number(token)
        if token.kind == "name":
            if token.text in _WORDS:
                return _WORDS[token.text]
            self.sign("(")
            return self._call(token)
        if token.kind == "sign" and token.text in _CLOSING:
            return self._list(_CLOSING[token.text])
        raise PythonTextError(f"line {token.line}: {token.text[:40]!r} is no value")

    def _list(self, closing: str) -> list[Value]:
        found: list[Value] = []
        while True:
            self._skip_lines()
            if self._accept(closing):
                return found
            found.append(self.value())
            self._skip_lines()
            if not self._accept(","):
                self.sign(closing)
                return found

    def _call(self, token: _Token) -> Call:
        arguments: list[Value] = []
        named: dict[str, Value] = {}
        while True:
            self._skip_lines()
            if self._accept(")"):
                break
            if self._peek().kind == "name" and self._peek(1).text == "=":
                name = self.name()
                self.sign("=")
                if name in named:
                    raise self.error(f"{name} is given twice")
                named[name] = self.value()
            elif named:
                raise self.error("an argument without a name follows one with a name")
            else:
                arguments.append(self.value())
            self._skip_lines()
            if not self._accept(","):
                self.sign(")")
                break
        return Call(token.text, tuple(arguments), named, token.line)

    def _peek(self, ahead: int = 0) -> _Token:
        return self._tokens[min(self._at + ahead, len(self._tokens) - 1)]

    def _take(self) -> _Token:
        token = self._peek()
        self._at += 1
        return token

    def _accept(self, sign: str) -> bool:
        token = self._peek()
        if token.kind == "sign" and token.text == sign:
            self._at += 1
            return True
        return False

    def _skip_lines(self) -> None:
        while self._peek().kind == "newline":
            self._at += 1


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    at, line = 0, 1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise PythonTextError(f"line {line}: {text[at : at + 20]!r} is not understood")
        kind = match.lastgroup or ""
        if kind != "space":
            found.append(_Token(kind, match[0], line))
        line += match[0].count("\n")
        at = match.end()
    found.append(_Token("end", "the end", line))
    return found


def _unquoted(text: str) -> str:
    quote = text[:3] if text[:3] in ('"""', "'''") and len(text) >= 6 else text[0]
    inner = text[len(quote) : -len(quote)]
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), inner, flags=re.DOTALL)


def _number(token: _Token) -> int | float:
    if len(token.text) > MAX_DIGITS:
        raise PythonTextError(f"line {token.line}: a number of {len(token.text)} characters")
    if re.fullmatch(r"[+-]?\d+", token.text):
        return int(token.text)
    number = float(token.text)
    if number in (float("inf"), float("-inf")):
        raise PythonTextError(f"line {token.line}: {token.text} is beyond all numbers")
    return number
