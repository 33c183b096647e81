"""How instructions name classes, and the places of a house that an instruction can name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner.episodes.recipes.file import Place
from planner.language.lexicon import Part, default_lexicon, plural_of
from planner.world.catalogue import default_catalogue, default_word_meanings, word_key
from planner.world.house import Furniture, House
from planner.world.vocabulary import Relation

# How instructions name the classes of a house so that each name means one class only.

_COUNTS = ("no", "one", "two", "three", "four", "five", "six")
# What nobody writes, though it may be read.
_UNSAID = frozenset({"baseballbat", "bathtowel", "laundryroom", "tshirt", "wc", "e reader"})
# "The milk", but neither "a milk" nor "two milks".
_MASS = frozenset({
    "bleach", "bread", "butter", "cereal", "cheese", "chocolate", "cleaner", "cologne", "cream",
    "detergent", "dish soap", "dishwashing liquid", "face cream", "hand soap", "juice",
    "laundry detergent", "lego", "liquid soap", "mail", "milk", "orange juice", "paint",
    "pepper", "perfume", "salmon", "salt", "scotch tape", "shampoo", "sliced apple",
    "sliced bread", "sliced lettuce", "sliced potato", "sliced tomato", "soap", "soda",
    "spray", "sticky tape", "tape", "toilet paper", "toothpaste", "washing up liquid",
    "whipped cream", "yoghurt", "yogurt", "lettuce", "chicken", "roast chicken",
})  # fmt: skip
# Names of furniture for what is on it, not in it.
_TOPS = frozenset({"countertop", "kitchen countertop", "worktop", "stove top", "stovetop"})
# Singular in spite of their ending; other words in -s are left out: "the jeans" may be one or more.
_SINGULAR = ("ss", "us", "thermos", "kleenex")


def names_of(class_name: str, others: Iterable[str]) -> tuple[str, ...]:
    """The names of a class, singular, that mean none of the others.

    Args:
        class_name: of objects, furniture or rooms.
        others: all classes that an episode may have.
    """
    return tuple(
        word for word in _names(class_name) if not covered(word) & (set(others) - {class_name})
    )


def is_countable(word: str) -> bool:
    """Whether there may be one or several of it."""
    return word not in _MASS


def holds_inside(word: str) -> bool:
    """Whether something may be in what has this name, not only on it."""
    return word not in _TOPS


@lru_cache(maxsize=512)
def covered(word: str) -> frozenset[str]:
    """Every class that a word may mean."""
    meaning = default_word_meanings().find(word)
    return meaning.objects | meaning.furniture | meaning.rooms if meaning else frozenset()


@lru_cache(maxsize=512)
def _names(class_name: str) -> tuple[str, ...]:
    catalogue = default_catalogue()
    known = (catalogue.objects, catalogue.furniture, catalogue.rooms)
    aliases = next(table[class_name].aliases for table in known if class_name in table)
    words = dict.fromkeys(word_key(word) for word in (class_name, *aliases))
    return tuple(word for word in words if _is_plain(word))


def _is_plain(word: str) -> bool:
    """Whether a word is one noun to readers: neither a plural nor another part of speech."""
    found = default_lexicon().at(word.split(), 0)
    return (
        found is not None
        and found.length == len(word.split())
        and {sense.part for sense in found.senses} == {Part.KIND}
        and not any(sense.plural for sense in found.senses)
        and (not word.split(" of ")[0].endswith("s") or word.endswith(_SINGULAR))
        and not word.endswith("food")
        and word not in _UNSAID
        and "/" not in word
    )


def count_word(number: int) -> str:
    """A number in words."""
    return _COUNTS[number]


def with_article(word: str) -> str:
    """A name after "a" or "an"."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


# Where people put anything; on other furniture only what is likely there.
_USUAL = frozenset(
    {
        *("table", "counter", "desk", "shelves", "chest_of_drawers", "cabinet", "nightstand"),
        *("couch", "armchair", "chair", "bed", "bench", "tv_stand", "filing_cabinet"),
    }
)


@dataclass(frozen=True, slots=True)
class Spot:
    """A piece of furniture, several of a class, or rooms, as an instruction names them.

    Attributes:
        place: for the recipe.
        words: "the table in the kitchen", "a bedroom".
        relation: on or within the furniture; None for a room.
        choices: how many pieces or rooms it means.
        plain: whether "to the ..." leaves no doubt about the relation.
    """

    place: Place
    words: str
    relation: Relation | None
    choices: int
    plain: bool

    @property
    def preposition(self) -> str:
        """Before `words` where something is at the spot."""
        return "on" if self.relation is Relation.ON else "in"


class HouseSpots:
    """Draws spots of one house."""

    def __init__(self, house: House, rng: np.random.Generator) -> None:
        self._rng = rng
        self._room_class = {room.name: room.class_name for room in house.rooms}
        self._rooms = Counter(self._room_class.values())
        self._pieces: dict[str, list[Furniture]] = {}
        self._said: dict[str, str] = {}
        for piece in house.furniture:
            self._pieces.setdefault(piece.class_name, []).append(piece)

    @property
    def classes(self) -> frozenset[str]:
        """The classes of furniture in the house."""
        return frozenset(self._pieces)

    @property
    def rooms(self) -> tuple[str, ...]:
        """The classes of rooms that can be named."""
        return tuple(sorted(room for room in self._rooms if names_of(room, self._rooms)))

    @property
    def usual(self) -> tuple[str, ...]:
        """The classes of furniture on which people put anything."""
        return tuple(sorted(_USUAL & self.classes))

    def furniture(self, cls: str, relation: Relation | None, *, one: bool = False) -> Spot | None:
        """Furniture of a class, in the whole house or in a room.

        Args:
            cls: the class.
            relation: on or within it; None: the furniture itself.
            one: whether it must be a single piece.

        Returns:
            None if it cannot be named, or things cannot be there.
        """
        words = [w for w in names_of(cls, self.classes) if not _subtype(w, cls)]
        if relation is Relation.WITHIN:
            words = [word for word in words if holds_inside(word)]
        if not words or (relation is not None and not self._holds(cls, relation)):
            return None
        pieces = self._pieces[cls]
        rooms = self.rooms_with(cls)
        narrow = len(pieces) > 1 and (one or self._rng.random() < 0.8)
        room = None
        if narrow or self._rng.random() < 0.5:
            counts = {r: self._count(cls, r) for r in rooms}
            fitting = [r for r in rooms if counts[r] == 1] if one else rooms
            room = str(self._rng.choice(fitting)) if fitting else None
        choices = self._count(cls, room) if room else len(pieces)
        if one and choices > 1:
            return None
        word = str(self._rng.choice(words))
        return Spot(
            Place(furniture=cls, room=room),
            self._piece_words(word, room, choices),
            relation,
            choices,
            not (pieces[0].surfaces and pieces[0].interiors),
        )

    def room(self, *, one: bool = False) -> Spot | None:
        """A room, or any of a class; a single one if `one`."""
        known = self._named_rooms() if one else self.rooms
        if not known:
            return None
        room = str(self._rng.choice(known))
        word = self._room_name(room)
        choices = self._rooms[room]
        forms = (
            [f"the {word}"]
            if choices == 1
            else [with_article(word), f"one of the {plural_of(word)}"]
        )
        return Spot(Place(room=room), str(self._rng.choice(forms)), None, choices, plain=True)

    def rooms_with(self, cls: str) -> list[str]:
        """The rooms, one of its class each, that have furniture of a class."""
        return [room for room in self._named_rooms() if self._count(cls, room)]

    def room_words(self, room: str) -> str:
        """The name of a room that is one of its class."""
        return f"the {self._room_name(room)}"

    def _room_name(self, room: str) -> str:
        """The name of a class of rooms, the same in the whole task."""
        if room not in self._said:
            self._said[room] = str(self._rng.choice(names_of(room, self._rooms)))
        return self._said[room]

    def _named_rooms(self) -> list[str]:
        return [room for room in self.rooms if self._rooms[room] == 1]

    def _count(self, cls: str, room: str) -> int:
        return sum(self._room_class[piece.room] == room for piece in self._pieces[cls])

    def _holds(self, cls: str, relation: Relation) -> bool:
        pieces = self._pieces.get(cls, ())
        return bool(pieces) and all(
            p.surfaces if relation is Relation.ON else p.interiors for p in pieces
        )

    def _piece_words(self, word: str, room: str | None, choices: int) -> str:
        said = self._room_name(room) if room else ""
        if choices == 1:
            if said and self._rng.random() < 0.25 and said in ("kitchen", "bedroom", "office"):
                return f"the {said} {word}"
            return f"the {word} in the {said}" if said else f"the {word}"
        forms = [with_article(word), f"one of the {plural_of(word)}", f"any {word}"]
        chosen = str(self._rng.choice(forms, p=[0.7, 0.2, 0.1]))
        return f"{chosen} in the {said}" if said else chosen


def _subtype(word: str, cls: str) -> bool:
    """Whether a name means fewer than the class to most people: "coffee table", "kitchen chair"."""
    words = word.split()
    return (
        len(words) > 1
        and word != cls.replace("_", " ")
        and (cls in words or any(covered(part) for part in words[:-1]))
    )
