"""The phrases of instructions that the catalogue knows, and what each can be in a goal."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from planner.language.plurals import plural_of
from planner.language.words import GENERIC_KINDS, JOINT_STATES, Size
from planner.world.catalogue import word_key
from planner.world.look import Color, Material
from planner.world.state_skills import default_state_skills
from planner.world.states import default_states
from planner.world.word_meanings import Meaning, WordMeanings, default_word_meanings

_COLORS: dict[str, Color] = {"grey": Color.GRAY, "violet": Color.PURPLE, "golden": Color.GOLD}
_MATERIALS: dict[str, Material] = {
    "wooden": Material.WOOD,
    "cloth": Material.FABRIC,
    "metallic": Material.METAL,
    "porcelain": Material.CERAMIC,
    "cardboard": Material.PAPER,
}
_SIZES: dict[str, Size] = {
    "large": Size.BIG,
    "huge": Size.BIG,
    "little": Size.SMALL,
    "tiny": Size.SMALL,
    "high": Size.TALL,
}
MAX_NEAR = 3
_MIN_SIMILARITY = 0.75


class Part(StrEnum):
    """What a word can be in a goal; ACTION is a skill that changes states, by its primitive."""

    KIND = "kind"
    STATE = "state"
    COLOR = "color"
    MATERIAL = "material"
    SIZE = "size"
    ACTION = "action"


@dataclass(frozen=True, slots=True)
class Sense:
    """One sense of a phrase: the word that the form has for it, and whether it is a plural."""

    part: Part
    word: str
    plural: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """The longest phrase known at some place, `length` words of it, with all of its senses."""

    length: int
    senses: frozenset[Sense]


class Lexicon:
    """Finds phrases in a sequence of lower-case words."""

    def __init__(self, meanings: WordMeanings) -> None:
        """Adds the catalogue's phrases in singular and plural, its states and its skills."""
        self._senses: defaultdict[tuple[str, ...], set[Sense]] = defaultdict(set)
        self._add_kinds(meanings.phrases)
        for state, meant in _states(meanings.phrases):
            self._add(state, Sense(Part.STATE, meant))
        for part, words in (
            (Part.COLOR, {color.value: color for color in Color} | _COLORS),
            (Part.MATERIAL, {material.value: material for material in Material} | _MATERIALS),
            (Part.SIZE, {size.value: size for size in Size} | _SIZES),
        ):
            for word, value in words.items():
                self._add(word, Sense(part, value.value))
        for primitive in default_state_skills():
            self._add(primitive, Sense(Part.ACTION, primitive))
        self._matches = {
            phrase: Match(len(phrase), frozenset(senses)) for phrase, senses in self._senses.items()
        }
        lengths: defaultdict[str, set[int]] = defaultdict(set)
        for phrase in self._senses:
            lengths[phrase[0]].add(len(phrase))
        self._lengths = {word: tuple(sorted(some)[::-1]) for word, some in lengths.items()}
        self.words = frozenset(word for phrase in self._senses for word in phrase)
        self._vocabulary = sorted(self.words)

    def at(self, words: Sequence[str], start: int) -> Match | None:
        """The longest phrase that begins at a word; None if there is none."""
        for length in self._lengths.get(words[start], ()) if 0 <= start < len(words) else ():
            if found := self._matches.get(tuple(words[start : start + length])):
                return found
        return None

    def near(self, word: str) -> tuple[str, ...]:
        """Up to `MAX_NEAR` known words that are spelled similarly, the nearest first."""
        found = difflib.get_close_matches(word, self._vocabulary, MAX_NEAR, _MIN_SIMILARITY)
        return tuple(found)

    def _add(self, phrase: str, sense: Sense) -> None:
        self._senses[tuple(word_key(phrase).split())].add(sense)

    def _add_kinds(self, phrases: Mapping[str, Meaning]) -> None:
        kinds = {word for word, found in phrases.items() if _is_kind(found)} | GENERIC_KINDS
        plurals = {plural_of(word): word for word in sorted(kinds)}
        for plural, word in plurals.items():
            self._add(plural, Sense(Part.KIND, word, plural=True))
        # "Toys" is the plural of "toy", not a group of its own.
        for word in kinds - {p for p, w in plurals.items() if phrases.get(p) == phrases.get(w)}:
            self._add(word, Sense(Part.KIND, word))


def _is_kind(meaning: Meaning) -> bool:
    return bool(meaning.objects or meaning.furniture or meaning.rooms)


def _states(phrases: Mapping[str, Meaning]) -> Iterator[tuple[str, str]]:
    """Each phrase that means a state, with the form's word for that."""
    table = default_states()
    yield from ((word, word) for word in JOINT_STATES)
    for phrase, meaning in phrases.items():
        for state, value in meaning.states:
            yield phrase, table.word(state, value=value)


@lru_cache(maxsize=1)
def default_lexicon() -> Lexicon:
    """The lexicon of the shipped catalogue, made once."""
    return Lexicon(default_word_meanings())
