"""Parses GBNF grammars and checks whether a text matches.

The same grammar text goes to the model's server and here checks the reply, so both must read it
alike. Supported is the subset of GBNF that every engine agrees on: literals, character classes,
references, groups, `|`, `?`, `*`, `+` and `{m,n}`. Left recursion is rejected.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from planner.world.errors import PlannerError

ROOT = "root"
_CACHED = 256
_TOKEN = re.compile(
    r"""(?P<space>[ \t\n]+)|(?P<name>[a-z][a-z0-9]*)(?P<define>[ \t]*::=)?"""
    r"""|(?P<literal>"(?:[^"\\\n]|\\.)*")|(?P<chars>\[\^?(?:[^\]\\\n]|\\.)+\])"""
    r"""|(?P<bounds>\{\d+,\d+\})|(?P<sign>[()|?*+])"""
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "]": "]", "[": "[", "^": "^"}
_MANY = 1_000_000
# llama.cpp takes a higher bound for none. It makes a rule of each repetition that may be left out,
# and refuses to copy more of these.
MAX_BOUND = 2_000


class GrammarError(PlannerError):
    """A text that is not a grammar of the supported subset."""


@dataclass(frozen=True, slots=True)
class Word:
    """One of several literals, grouped by length."""

    by_length: Mapping[int, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Chars:
    """`min_count` to `max_count` characters of a class; `run` matches the longest run of them."""

    run: re.Pattern[str]
    min_count: int = 1
    max_count: int = 1


@dataclass(frozen=True, slots=True)
class Rule:
    """A reference to another rule."""

    name: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts one after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part repeated `min_count` to `max_count` times."""

    part: Part
    min_count: int
    max_count: int


Part = Word | Chars | Rule | Sequence | Choice | Repeat


@dataclass(frozen=True, slots=True)
class Match:
    """Whether a text matches, and the furthest position that a match reached."""

    fits: bool
    furthest: int


class Grammar:
    """The rules of one grammar text."""

    def __init__(self, rules: Mapping[str, Part]) -> None:
        """Takes the rules by name; see `read_grammar`."""
        self.rules = rules

    def match(self, text: str, rule: str = ROOT) -> Match:
        """Whether the whole text matches a rule.

        Raises:
            GrammarError: if there is no such rule.
        """
        if rule not in self.rules:
            raise GrammarError(f"the grammar has no rule {rule}")
        walk = _Walk(text, self.rules)
        ends = walk.ends(Rule(rule), 0)
        return Match(len(text) in ends, walk.furthest)

    def accepts(self, text: str, rule: str = ROOT) -> bool:
        """Whether the whole text matches a rule."""
        return self.match(text, rule).fits


class _Walk:
    """Matches one text: for a start position, all positions at which a part can end."""

    def __init__(self, text: str, rules: Mapping[str, Part]) -> None:
        self._text, self._rules = text, rules
        self.furthest = 0

    def ends(self, part: Part, at: int) -> set[int]:
        """Positions at which the part can end if it starts `at`."""
        if isinstance(part, Rule):
            return self.ends(self._rules[part.name], at)
        if isinstance(part, Word):
            return self._words(part, at)
        if isinstance(part, Chars):
            return self._chars(part, at)
        if isinstance(part, Choice):
            return set().union(*(self.ends(choice, at) for choice in part.parts))
        if isinstance(part, Repeat):
            return self._repeated(part, at)
        places = {at}
        for following in part.parts:
            places = set().union(*(self.ends(following, place) for place in places))
            if not places:
                break
        return places

    def _words(self, part: Word, at: int) -> set[int]:
        text = self._text
        found = {at + n for n, words in part.by_length.items() if text[at : at + n] in words}
        return self._note(found)

    def _chars(self, part: Chars, at: int) -> set[int]:
        run = part.run.match(self._text, at)
        count = min(run.end() - at, part.max_count) if run is not None else 0
        return self._note(set(range(at + part.min_count, at + count + 1)))

    def _repeated(self, part: Repeat, at: int) -> set[int]:
        reached = {at} if part.min_count == 0 else set()
        places, count = {at}, 0
        while places and count < part.max_count:
            count += 1
            places = set().union(*(self.ends(part.part, place) for place in places)) - reached
            if count >= part.min_count:
                reached |= places
        return reached

    def _note(self, places: set[int]) -> set[int]:
        if places:
            self.furthest = max(self.furthest, *places)
        return places


@lru_cache(maxsize=_CACHED)
def read_grammar(text: str) -> Grammar:
    """Reads a grammar; recent ones are cached.

    Raises:
        GrammarError: naming what is invalid, undefined or recursive.
    """
    rules: dict[str, Part] = {}
    tokens = _tokens(text)
    while tokens:
        kind, name = tokens.pop()
        if kind != "define":
            raise GrammarError(f"a rule was expected, not {name[:40]!r}")
        if name in rules:
            raise GrammarError(f"the rule {name} is defined twice")
        rules[name] = _choice(tokens)
    if ROOT not in rules:
        raise GrammarError(f"the grammar has no rule {ROOT}")
    _check(rules)
    return Grammar(rules)


def quoted(word: str) -> str:
    """A word as a GBNF literal."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + plain.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r") + '"'


def _tokens(text: str) -> list[tuple[str, str]]:
    """Kind and text of each token, then an end token."""
    found: list[tuple[str, str]] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise GrammarError(f"not understood: {text[at : at + 40]!r}")
        at = match.end()
        if match["space"]:
            continue
        if match["name"]:
            found.append(("define" if match["define"] else "name", match["name"]))
        else:
            found.append((match.lastgroup or "", match[0]))
    return found[::-1]


def _choice(tokens: list[tuple[str, str]]) -> Part:
    parts = [_sequence(tokens)]
    while tokens and tokens[-1] == ("sign", "|"):
        tokens.pop()
        parts.append(_sequence(tokens))
    words = [part for part in parts if isinstance(part, Word)]
    others: list[Part] = [part for part in parts if not isinstance(part, Word)]
    if words:
        lengths = {n for word in words for n in word.by_length}
        none: frozenset[str] = frozenset()
        merged = {n: none.union(*(word.by_length.get(n, none) for word in words)) for n in lengths}
        others.append(Word(merged))
    return others[0] if len(others) == 1 else Choice(tuple(others))


def _sequence(tokens: list[tuple[str, str]]) -> Part:
    parts: list[Part] = []
    while tokens and tokens[-1][0] != "define" and tokens[-1] not in (("sign", "|"), ("sign", ")")):
        parts.append(_repeat(_item(tokens), tokens))
    if not parts:
        raise GrammarError("an alternative is empty")
    return parts[0] if len(parts) == 1 else Sequence(tuple(parts))


def _item(tokens: list[tuple[str, str]]) -> Part:
    kind, word = tokens.pop()
    if kind == "name":
        return Rule(word)
    if kind == "literal":
        literal = _unescaped(word[1:-1])
        return Word({len(literal): frozenset({literal})})
    if kind == "chars":
        return Chars(re.compile(word + "*"))
    if (kind, word) == ("sign", "("):
        inside = _choice(tokens)
        if not tokens or tokens.pop() != ("sign", ")"):
            raise GrammarError("a group is not closed")
        return inside
    raise GrammarError(f"{word[:40]!r} stands where nothing can be repeated")


def _repeat(part: Part, tokens: list[tuple[str, str]]) -> Part:
    if not tokens or not (tokens[-1][0] == "bounds" or tokens[-1][1] in ("?", "*", "+")):
        return part
    kind, word = tokens.pop()
    if kind == "bounds":
        min_count, max_count = (int(number) for number in word[1:-1].split(","))
        if max_count > MAX_BOUND:
            raise GrammarError(f"{word}: a bound above {MAX_BOUND} is none in llama.cpp")
        if _optional(part) * max_count > MAX_BOUND:
            raise GrammarError(
                f"what is repeated up to {max_count} times has bounds that llama.cpp does not "
                f"multiply to more than {MAX_BOUND}: make it a rule of its own"
            )
    else:
        min_count, max_count = {"?": (0, 1), "*": (0, _MANY), "+": (1, _MANY)}[word]
    if isinstance(part, Chars):
        return Chars(part.run, min_count, max_count)
    return Repeat(part, min_count, max_count)


def _optional(part: Part) -> int:
    """How many repetitions inside of a part may be left out; those of other rules do not count."""
    if isinstance(part, Chars | Repeat):
        inside = _optional(part.part) if isinstance(part, Repeat) else 0
        return inside + (part.max_count - part.min_count if part.max_count < _MANY else 1)
    if isinstance(part, Sequence | Choice):
        return sum(map(_optional, part.parts))
    return 0


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        if match[1] not in _ESCAPES:
            raise GrammarError(f"unknown escape {match[0]!r}")
        return _ESCAPES[match[1]]

    return re.sub(r"\\(.)", one, text)


def _check(rules: Mapping[str, Part]) -> None:
    """Checks that every reference has its rule and that no rule refers to itself.

    Without recursion, matching always ends.

    Raises:
        GrammarError: naming the rule.
    """
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise GrammarError(f"the rule {name} refers to itself")
        if name not in rules:
            raise GrammarError(f"the rule {name} is not defined")
        if name not in done:
            for other in _references(rules[name]):
                visit(other, (*path, name))
            done.add(name)

    for name in rules:
        visit(name, ())


def _references(part: Part) -> set[str]:
    if isinstance(part, Rule):
        return {part.name}
    if isinstance(part, Repeat):
        return _references(part.part)
    if isinstance(part, Sequence | Choice):
        return set().union(*(_references(inside) for inside in part.parts))
    return set()
