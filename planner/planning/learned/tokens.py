"""An instruction as the network reads it: nouns without their identity, all other words as words.

A noun is a phrase that the catalogue knows, or a word that neither it nor training knew. The
network sees only what kind of noun it is; which known entities it may mean is a matter of matching
words. So nouns that no training instruction had are read like any other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from planner.language.english import NUMBERS, THE
from planner.language.lexicon import Part, default_lexicon, plural_of
from planner.language.reading import tokens_of
from planner.world.catalogue import default_catalogue, default_word_meanings, word_key
from planner.world.errors import PlannerError

MAX_TOKENS = 192
# What the speaker will do, but not "I will need", which asks for something.
_I_WILL = r"(?:I'll|I will|I shall|I'm going to|I am going to) (?!need|want|like|love|be |have )"
# Up to the end of the sentence, or to what the robot shall do: ", and you".
_REST = r"[^.?!]*?(?:[,;]? (?:and |while )?(?=you\b)|(?=[.?!])|$)"
_SPEAKERS_PART = re.compile(
    rf"(?:(?:^|(?<=[.?!] )){_I_WILL}"
    rf"|(?:^|[,;]? )(?:and {_I_WILL}|while (?:{_I_WILL}|I (?!am |have ))))"
    rf"{_REST}",
    re.IGNORECASE,
)
_EMPTY_SENTENCE = re.compile(r"(?:^|(?<=[.?!])) *[.?!]")
UNKNOWN = "<unknown>"
NOUN = "<noun>"
# Also nouns of the catalogue, but in requests nearly always other parts of speech.
_HOMOGRAPHS = frozenset(
    {"can", "cleaning", "cooking", "laundry", "light", "set", "store"}
    | {"thing", "things", "watch", "while"}
)


class InstructionError(PlannerError):
    """An instruction that the network cannot read."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a mark, or a noun phrase.

    Attributes:
        text: in lower case.
        word: what the network is told: the word, or `NOUN`.
        objects, furniture, rooms: the classes that a noun may mean.
        plural: whether a noun is in the plural.
        open: a noun that no list knows; it means whatever is called the same.
        count: the number said right before a noun in the plural; 0 = none.
    """

    text: str
    word: str
    objects: frozenset[str] = frozenset()
    furniture: frozenset[str] = frozenset()
    rooms: frozenset[str] = frozenset()
    plural: bool = False
    open: bool = False
    count: int = 0

    @property
    def is_noun(self) -> bool:
        """Whether it may mean an entity."""
        return bool(self.objects or self.furniture or self.rooms or self.open)

    def means(self, class_name: str) -> bool:
        """Whether it may mean things or furniture of a class."""
        if class_name in self.objects or class_name in self.furniture:
            return True
        return self.open and _same_words(self.text, class_name)

    def means_room(self, room_class: str) -> bool:
        """Whether it may mean rooms of a class."""
        return room_class in self.rooms or (self.open and _same_words(self.text, room_class))


def read_tokens(text: str, vocabulary: Collection[str] = ()) -> tuple[Token, ...]:
    """The tokens of an instruction, without what the speaker says that they will do themselves.

    Args:
        text: in English.
        vocabulary: the words of training; empty = all words are known.

    Raises:
        InstructionError: for a text without words, one that is too long, or one in which the words
            of training hardly occur, as in another language.
    """
    found = split_tokens(text, vocabulary)
    _check(found)
    return found


def split_tokens(text: str, vocabulary: Collection[str] = ()) -> tuple[Token, ...]:
    """As `read_tokens`, of any text."""
    words = [token.word for token in tokens_of(_asked(text))]
    found: list[Token] = []
    at = 0
    while at < len(words):
        token, length = _noun_at(words, at)
        if token is None:
            token, length = _other_at(words, at, vocabulary)
        if token.plural:
            token = replace(token, count=_count_before(words, at))
        found.append(token)
        at += length
    return tuple(found)


def _asked(text: str) -> str:
    """The text without clauses such as "and I'll wash the cup", if something is left."""
    asked = _SPEAKERS_PART.sub("", text)
    if asked != text:
        asked = _EMPTY_SENTENCE.sub("", asked).strip()
    return asked if any(character.isalpha() for character in asked) else text


def names_any(tokens: Sequence[Token], classes: Collection[str]) -> bool:
    """Whether a noun of an instruction may mean things of any of the classes."""
    return any(token.objects & set(classes) for token in tokens)


def check_classes(classes: Iterable[str]) -> None:
    """Refuses what `names_any` would never find.

    Raises:
        PlannerError: for a class that the catalogue does not have.
    """
    unknown = next((name for name in classes if name not in default_catalogue().objects), None)
    if unknown is not None:
        raise PlannerError(f"the catalogue has no class of things {unknown!r}")


def _count_before(words: Sequence[str], at: int) -> int:
    """The number in "three cups" and "three of the cups"; 0 = none."""
    before = list(words[max(0, at - 3) : at])
    if len(before) > 2 and before[-2] == "of" and before[-1] in THE:
        before = before[:-2]
    word = before[-1] if before else ""
    # Nobody has more digits than these of anything.
    return int(word[:3]) if word.isdecimal() else NUMBERS.get(word, 0)


def _noun_at(words: Sequence[str], at: int) -> tuple[Token | None, int]:
    match = default_lexicon().at(words, at)
    if match is None:
        return None, 1
    if (room := _room_before_furniture(words, at, match.length)) is not None:
        return room, len(room.text.split())
    senses = [sense for sense in match.senses if sense.part is Part.KIND]
    if not senses:
        return None, 1
    text = " ".join(words[at : at + match.length])
    meanings = [default_word_meanings().find(sense.word) for sense in senses]
    known = [meaning for meaning in meanings if meaning is not None]
    objects = frozenset().union(*(m.objects for m in known))
    furniture = frozenset().union(*(m.furniture for m in known))
    rooms = frozenset().union(*(m.rooms for m in known))
    if not (objects or furniture or rooms):
        return None, 1
    word = text if text in _HOMOGRAPHS or len(senses) < len(match.senses) else NOUN
    plural = all(sense.plural for sense in senses)
    return Token(text, word, objects, furniture, rooms, plural), match.length


def _room_before_furniture(words: Sequence[str], at: int, length: int) -> Token | None:
    """The room of "kitchen table": such a name says where the furniture is."""
    for split in range(at + 1, at + length):
        first = default_lexicon().at(words[at:split], 0)
        rest = default_lexicon().at(words[split : at + length], 0)
        if first is None or rest is None:
            continue
        if first.length != split - at or rest.length != at + length - split:
            continue
        room, piece = _noun_at(words[at:split], 0)[0], _noun_at(words[split : at + length], 0)[0]
        is_room = room is not None and room.rooms and not room.objects and not room.furniture
        if is_room and piece is not None and piece.furniture and not piece.objects:
            return room
    return None


def _other_at(words: Sequence[str], at: int, vocabulary: Collection[str]) -> tuple[Token, int]:
    def is_open(word: str) -> bool:
        return bool(vocabulary) and word not in vocabulary and word.isalpha()

    word = words[at]
    if not is_open(word):
        return Token(word, word), 1
    end = at + 1
    while end < len(words) and is_open(words[end]) and _noun_at(words, end)[0] is None:
        end += 1
    text = " ".join(words[at:end])
    return Token(text, UNKNOWN, plural=text.endswith("s"), open=True), end - at


def _check(tokens: Sequence[Token]) -> None:
    words = " ".join(token.text for token in tokens if token.text[0].isalnum()).split()
    if not words:
        raise InstructionError("the instruction has no words")
    if len(tokens) > MAX_TOKENS:
        raise InstructionError(
            f"the instruction has {len(tokens)} words and marks, and the planner `learned` reads "
            f"up to {MAX_TOKENS}: give it in parts"
        )
    strange = " ".join(token.text for token in tokens if token.open).split()
    if len(strange) * 2 > len(words):
        raise InstructionError(
            "the instruction does not seem to be English: the planner `learned` does not know "
            f"{', '.join(repr(word) for word in strange[:5])}"
        )


@lru_cache(maxsize=16384)
def _same_words(text: str, class_name: str) -> bool:
    name = word_key(class_name)
    return text in (name, plural_of(name)) or text.endswith((f" {name}", f" {plural_of(name)}"))
