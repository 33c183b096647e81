"""Replies as lists: one item per line, from a fixed set of words or as free text."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from planner.models.gbnf import quoted
from planner.models.replies.form import ReplyError, check_length

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
