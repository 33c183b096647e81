"""Replies as one dictionary with fixed keys."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from planner.models.gbnf import MAX_BOUND, quoted
from planner.models.replies.form import ReplyError

# Longer replies are refused without reading them.
MAX_CHARACTERS = 400_000
# Openings of a dictionary that are tried before the reply counts as having none.
_MAX_TRIES = 8
# Of a Python literal, which is searched for its end letter by letter.
_MAX_LITERAL = 100_000
_NO_TEXT = {"none", "null"}
_NUMBER = re.compile(r"[0-9]{1,6}\b")
_SHOWN = 60

Value: TypeAlias = str | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class TextKey:
    """A key whose value is one text.

    Attributes:
        key: as the model has to write it.
        is_optional: whether it may be null.
        words: the texts that the grammar allows; empty = any. Others are read all the same.
        max_characters: longer ones are cut.
    """

    key: str
    is_optional: bool = False
    words: tuple[str, ...] = ()
    max_characters: int = 400


@dataclass(frozen=True, slots=True)
class TextsKey:
    """A key whose value is a list of texts; repeated, empty and surplus ones are dropped."""

    key: str
    max_items: int = 32
    max_characters: int = 200


@dataclass(frozen=True, slots=True)
class ChoiceKey:
    """A key whose value is the number of one of `items`, from 1; its words are read as well.

    The value that is read is the item.
    """

    key: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A key whose value is a dictionary; its keys are unlike all others of the reply."""

    key: str
    keys: tuple[TextKey, ...]


Key: TypeAlias = TextKey | TextsKey | ChoiceKey | GroupKey


@dataclass(frozen=True, slots=True)
class Entries:
    """A reply's values by key, those of groups among them, and what was dropped, in words."""

    values: Mapping[str, Value]
    dropped: tuple[str, ...] = ()

    def text(self, key: str) -> str:
        """The text of a key; "" for null."""
        value = self.values[key]
        return value if isinstance(value, str) else ""

    def texts(self, key: str) -> tuple[str, ...]:
        """The list of a key."""
        value = self.values[key]
        return value if isinstance(value, tuple) else ()


_CHARACTER = r'([^"\\\n] | "\\" ["\\/nt])'
_PART = 1_000


@dataclass(frozen=True)
class DictionaryReply:
    """The form of one dictionary; a `planner.models.replies.form.ReplyForm`."""

    keys: tuple[Key, ...]
    max_tokens: int = 1024
    stop: tuple[str, ...] = field(default=())

    @cached_property
    def grammar(self) -> str:
        """GBNF of the dictionary as JSON, its keys in order."""
        rules: dict[str, str] = {}
        parts = [self._rule(f"value{n}", key, rules) for n, key in enumerate(self.keys)]
        body = ' "," '.join(parts)
        lines = [f'root ::= "{{" {body} "}}"', *(f"{n} ::= {b}" for n, b in rules.items())]
        return "\n".join(lines) + "\n"

    def _rule(self, name: str, key: Key, rules: dict[str, str]) -> str:
        match key:
            case TextKey():
                rules[name] = _text_rule(key, f"{name}part")
                if not key.words and key.max_characters > MAX_BOUND:
                    rules[f"{name}part"] = f"{_CHARACTER}{{{_PART},{_PART}}}"
            case TextsKey():
                more = max(key.max_items - 1, 0)
                item = _any_text(key.max_characters)
                rules[f"{name}item"] = item
                rules[name] = f'"[" ({name}item ("," {name}item){{0,{more}}})? "]"'
            case ChoiceKey():
                rules[name] = " | ".join(f'"{n}"' for n in range(1, len(key.items) + 1))
            case GroupKey():
                inner = [
                    self._rule(f"{name}of{n}", inside, rules) for n, inside in enumerate(key.keys)
                ]
                rules[name] = '"{" ' + ' "," '.join(inner) + ' "}"'
        return f"{quoted(json.dumps(key.key) + ':')} {name}"

    def read(self, text: str, *, ended: bool) -> Entries:
        """Reads the first dictionary in the reply that has the keys.

        Raises:
            ReplyError: for a text without a dictionary, or naming the key that is missing or has
                another kind of value.
        """
        if len(text) > MAX_CHARACTERS:
            raise ReplyError(f"the reply has {len(text)} characters, at most {MAX_CHARACTERS}")
        problem: ReplyError | None = None
        for found in _dictionaries(text):
            try:
                return self._entries(found)
            except ReplyError as error:
                problem = problem or error
        why = "" if ended else "; it was cut off"
        raise problem or ReplyError(f"the reply has no dictionary{why}")

    def _entries(self, found: Mapping[str, object]) -> Entries:
        values: dict[str, Value] = {}
        dropped: list[str] = []
        _take(self.keys, found, values, dropped)
        return Entries(values, tuple(dropped))


def _any_text(max_characters: int, part: str = "") -> str:
    """A text; what is longer than a bound may be begins with some of the rule `part`."""
    parts = -(min(0, MAX_BOUND - max_characters) // _PART)
    head = f"{part}{{0,{parts}}} " if parts else ""
    return rf'"\"" {head}{_CHARACTER}{{0,{max_characters - parts * _PART}}} "\""'


def _text_rule(key: TextKey, part: str) -> str:
    choices = [quoted(json.dumps(word, ensure_ascii=False)) for word in key.words]
    choices = choices or [_any_text(key.max_characters, part)]
    return " | ".join([*choices, '"null"'] if key.is_optional else choices)


def _dictionaries(text: str) -> Iterator[Mapping[str, object]]:
    """The dictionaries in a text, outermost first; those that cannot be read are passed over."""
    decoder = json.JSONDecoder(strict=False)
    begin, tries = text.find("{"), 0
    while begin >= 0 and tries < _MAX_TRIES:
        tries += 1
        found: object = None
        try:
            found, _ = decoder.raw_decode(text, begin)
        except (ValueError, RecursionError):
            found = _literal(text, begin)
        if isinstance(found, dict):
            yield {str(name): value for name, value in found.items()}
        begin = text.find("{", begin + 1)


def _literal(text: str, begin: int) -> object:
    """A Python literal from `begin` to its closing brace; None if there is none."""
    end = _closing(text, begin)
    if end < 0:
        return None
    try:
        return ast.literal_eval(text[begin : end + 1])
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _closing(text: str, begin: int) -> int:
    """Where the dictionary that opens at `begin` closes; -1 if it does not."""
    depth, quote, escaped = 0, "", False
    for at in range(begin, min(len(text), begin + _MAX_LITERAL)):
        letter = text[at]
        if escaped:
            escaped = False
        elif quote:
            escaped = letter == "\\"
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "{}":
            depth += 1 if letter == "{" else -1
            if depth == 0:
                return at
    return -1


def _take(
    keys: Sequence[Key], found: Mapping[str, object], values: dict[str, Value], dropped: list[str]
) -> None:
    by_name = {_folded(name): name for name in reversed(list(found))}
    used: set[str] = set()
    for key in keys:
        name = key.key if key.key in found else by_name.get(_folded(key.key))
        if name is None:
            raise ReplyError(f"the reply has no {json.dumps(key.key)}")
        used.add(name)
        match key:
            case TextKey():
                values[key.key] = _text(key, found[name], dropped)
            case TextsKey():
                values[key.key] = _texts(key, found[name], dropped)
            case ChoiceKey():
                values[key.key] = _item(key, found[name])
            case GroupKey():
                inside = found[name]
                if not isinstance(inside, dict):
                    raise ReplyError(f"{json.dumps(key.key)}: expected a dictionary")
                named = {str(inner): value for inner, value in inside.items()}
                _take(key.keys, named, values, dropped)
    surplus = [name for name in found if name not in used]
    if surplus:
        dropped.append(f"keys {_shown(surplus)}")


def _folded(name: str) -> str:
    return name.strip().replace("\u2019", "'").casefold()


def _text(key: TextKey, value: object, dropped: list[str]) -> str | None:
    if value is None or (isinstance(value, str) and value.strip().casefold() in _NO_TEXT):
        if key.is_optional:
            return None
        value = "None"
    if not isinstance(value, str):
        raise ReplyError(f"{json.dumps(key.key)}: expected a text, got {str(value)[:_SHOWN]!r}")
    return _cut(value, key.max_characters, key.key, dropped)


def _texts(key: TextsKey, value: object, dropped: list[str]) -> tuple[str, ...]:
    if value is None or (isinstance(value, str) and value.strip().casefold() in _NO_TEXT):
        return ()
    if not isinstance(value, list | tuple):
        raise ReplyError(f"{json.dumps(key.key)}: expected a list, got {str(value)[:_SHOWN]!r}")
    wrong = next((item for item in value if not isinstance(item, str)), None)
    if wrong is not None:
        raise ReplyError(f"{json.dumps(key.key)}: expected texts, got {str(wrong)[:_SHOWN]!r}")
    # A text is one line of the prompts that repeat it.
    items = list(dict.fromkeys(line for item in value if (line := " ".join(item.split()))))
    if len(items) > key.max_items:
        dropped.append(f"{len(items) - key.max_items} of {len(items)} items of {key.key!r}")
    kept = items[: key.max_items]
    return tuple(_cut(item, key.max_characters, key.key, dropped) for item in kept)


def _item(key: ChoiceKey, value: object) -> str:
    """An item by its number, "12", "12. its words", or its words alone."""
    text = str(value).strip() if isinstance(value, str | int) else ""
    for item in key.items:
        if item.casefold() == text.casefold():
            return item
    number = _NUMBER.match(text)
    if number is not None and 1 <= int(number[0]) <= len(key.items):
        return key.items[int(number[0]) - 1]
    shown = str(value)[:_SHOWN]
    raise ReplyError(
        f"{json.dumps(key.key)}: expected a number from 1 to {len(key.items)}, got {shown!r}"
    )


def _cut(text: str, max_characters: int, key: str, dropped: list[str]) -> str:
    if len(text) <= max_characters:
        return text
    dropped.append(f"{len(text) - max_characters} characters of {key!r}")
    return text[:max_characters]


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(repr(name[:_SHOWN]) for name in names[:3]) + more
