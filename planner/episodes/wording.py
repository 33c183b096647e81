"""Tokenises instructions and finds the catalogue's nouns in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from planner.language.english import NUMBERS
from planner.language.lexicon import plural_of
from planner.world.catalogue import Catalogue

# Hyphens and apostrophes belong to words (c-clamp, let's); other marks are tokens.
_TOKEN = re.compile(r"[a-z0-9]+(?:['\u2019-][a-z0-9]+)*|[.,?!;:()/]")

# Misspellings that occur in the data, each with only one possible meaning.
SPELLING = {
    "laundary": "laundry",
    "cusion": "cushion",
    "cusions": "cushions",
    "talke": "take",
    "livingroom": "living room",
    "mousepad": "mouse pad",
    "firetruck": "fire truck",
}

# Everyday words for classes, in addition to the catalogue's aliases; a word may mean several
# classes, of which those in the catalogue and the episode are kept.
OBJECT_WORDS: Mapping[str, tuple[str, ...]] = {
    "plant": ("plant_container", "potted_plant"),
    "phone": ("cellphone",),
    "picture": ("picture_frame",),
    "towel": ("bath_towel", "hand_towel"),
    "toy car": ("toy_vehicle",),
    "electric cable": ("electronic_cable",),
    "fire truck": ("toy_fire_truck",),
    "baseball bat": ("baseballbat",),
    "mug": ("cup",),
    "dish": ("plate", "bowl", "cup"),
    "glasses": ("spectacles", "glass"),
    "teddy bear": ("stuffed_toy",),
}

# Furniture named by its use: the class, and the room that the use implies.
FURNITURE_WORDS: Mapping[str, tuple[str, str | None]] = {
    "coffee table": ("table", "living_room"),
    "dining table": ("table", "dining_room"),
    "dinner table": ("table", "dining_room"),
}

ROOM_WORDS: Mapping[str, tuple[str, ...]] = {
    "laundry room": ("laundry_room",),
    "entryway / foyer / lobby": ("entryway",),
}

# Nouns without a countable singular: "the bread" is all of it.
MASS_NOUNS = frozenset({"toy food", "bread", "toy fruits", "spectacles", "food"})
PLURAL_ONLY = frozenset({"shelves", "spectacles", "scissors", "toy fruits"})

NUMBER_WORDS = {word: number for word, number in NUMBERS.items() if number <= 10}


class NounKind(StrEnum):
    """The part of the catalogue that a noun comes from."""

    OBJECT = "object"
    FURNITURE = "furniture"
    ROOM = "room"


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun of the catalogue in the text.

    Attributes:
        classes: every class that the word may mean.
        plural: whether it is in the plural.
        mass: whether its singular may mean any amount.
        room_hint: the room class that a furniture word implies, as "coffee table" does.
    """

    kind: NounKind
    text: str
    classes: frozenset[str]
    plural: bool = False
    mass: bool = False
    room_hint: str | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """Any other word, or a punctuation mark."""

    text: str


Item = Noun | Word


def tokens(text: str) -> list[str]:
    """Lower-case words and punctuation marks, with known misspellings corrected."""
    found: list[str] = []
    for token in _TOKEN.findall(text.lower().replace("\u2019", "'").replace("_", " ")):
        found += SPELLING.get(token, token).split()
    return found


@dataclass
class Lexicon:
    """Finds nouns by the longest match of their words."""

    _phrases: dict[tuple[str, ...], Noun] = field(default_factory=dict)
    _longest: int = 1

    def items(self, text: str) -> list[Item]:
        """The text as nouns and words, in order."""
        return list(self._scan(tokens(text)))

    def _scan(self, words: list[str]) -> Iterator[Item]:
        at = 0
        while at < len(words):
            for length in range(min(self._longest, len(words) - at), 0, -1):
                noun = self._phrases.get(tuple(words[at : at + length]))
                if noun is not None:
                    yield noun
                    at += length
                    break
            else:
                yield Word(words[at])
                at += 1

    def add(
        self, kind: NounKind, phrase: str, classes: Iterable[str], hint: str | None = None
    ) -> None:
        """Adds a phrase in singular and plural; a repeated phrase gains the classes."""
        spelled = " ".join(tokens(phrase))
        mass = spelled in MASS_NOUNS
        forms = [(spelled, spelled in PLURAL_ONLY)]
        if spelled not in PLURAL_ONLY:
            forms.append((plural_of(spelled), True))
        for form, plural in forms:
            key = tuple(form.split())
            known = self._phrases.get(key)
            if known is not None and known.kind is not kind:
                continue  # the first kind wins: rooms, then furniture, then objects
            both = frozenset(classes) | (known.classes if known is not None else frozenset())
            self._phrases[key] = Noun(kind, form, both, plural, mass, hint)
            self._longest = max(self._longest, len(key))


def build_lexicon(catalogue: Catalogue) -> Lexicon:
    """Every name, alias and group of the catalogue, and the everyday words above."""
    lexicon = Lexicon()
    _add_rooms(lexicon, catalogue)
    _add_furniture(lexicon, catalogue)
    _add_objects(lexicon, catalogue)
    return lexicon


def _add_rooms(lexicon: Lexicon, catalogue: Catalogue) -> None:
    for room in catalogue.rooms.values():
        for phrase in (room.name, *room.aliases):
            lexicon.add(NounKind.ROOM, phrase, (room.name,))
    for phrase, meanings in ROOM_WORDS.items():
        names = {catalogue.room_name(word) for word in meanings} - {None}
        if names:
            lexicon.add(NounKind.ROOM, phrase, (name for name in names if name is not None))


def _add_furniture(lexicon: Lexicon, catalogue: Catalogue) -> None:
    for phrase, (name, hint) in FURNITURE_WORDS.items():
        found = catalogue.furniture_name(phrase) or catalogue.furniture_name(name)
        if found is not None:
            lexicon.add(NounKind.FURNITURE, phrase, (found,), catalogue.room_name(hint or ""))
    for piece in catalogue.furniture.values():
        for phrase in (piece.name, *piece.aliases):
            spelled = " ".join(tokens(phrase))
            if spelled not in FURNITURE_WORDS and not _says_room(spelled, piece.name, catalogue):
                lexicon.add(NounKind.FURNITURE, phrase, (piece.name,))


def _says_room(phrase: str, furniture: str, catalogue: Catalogue) -> bool:
    """Whether a phrase is a room plus a plainer word; then "kitchen counter" keeps its room."""
    words = phrase.split()
    return any(
        catalogue.room_name(" ".join(words[:cut])) is not None
        and catalogue.furniture_name(" ".join(words[cut:])) == furniture
        for cut in range(1, len(words))
    )


def _add_objects(lexicon: Lexicon, catalogue: Catalogue) -> None:
    groups: dict[str, set[str]] = {}
    for item in catalogue.objects.values():
        for phrase in (item.name, *item.aliases):
            lexicon.add(NounKind.OBJECT, phrase, (item.name,))
        for group in item.groups:
            groups.setdefault(group, set()).add(item.name)
    for phrase, meanings in OBJECT_WORDS.items():
        names = {catalogue.object_name(word) for word in meanings} - {None}
        if names:
            lexicon.add(NounKind.OBJECT, phrase, (name for name in names if name is not None))
    for group, members in groups.items():
        # Groups usually have plural names (toys, dishes), some do not (food).
        lexicon.add(NounKind.OBJECT, _singular(group), members)


def _singular(word: str) -> str:
    known = {"dishes": "dish", "clothes": "clothes", "groceries": "grocery"}
    if word in known:
        return known[word]
    return word.removesuffix("s") if not word.endswith("ss") else word
