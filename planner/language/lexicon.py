"""The words and phrases that the catalogue knows, and what can be done with their kinds."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, lru_cache
from typing import Annotated

from pydantic import AfterValidator

from planner.world.catalogue import (
    Meaning,
    ObjectClass,
    WordMeanings,
    default_catalogue,
    default_word_meanings,
    word_key,
)
from planner.world.person import Garment as GarmentKind
from planner.world.person import Gesture, Posture
from planner.world.shapes import Color, Material
from planner.world.states import default_state_skills, default_states

# The closed word classes of the form of a goal, and which words of the catalogue it accepts.

# The kind of people, who are no class of the catalogue.
PERSON = "person"
POSTURES = tuple(posture.value for posture in Posture)
GESTURES = tuple(gesture.value.replace("_", " ") for gesture in Gesture)
GARMENTS = tuple(garment.value for garment in GarmentKind)
# Nouns that stand for no class: any object, any furniture, any room, the floor of a room.
GENERIC_KINDS = frozenset({"thing", "furniture", "room", "floor"})
# Not a state of the catalogue, but of whatever has a door, drawer or lid.
JOINT_STATES = ("open", "closed")


class Amount(StrEnum):
    """A count that is not a number: every one, more than none, at least three."""

    ALL = "all"
    SOME = "some"
    FEW = "few"


class Bound(StrEnum):
    """How a count is meant."""

    EXACTLY = "exactly"
    AT_LEAST = "at_least"
    AT_MOST = "at_most"


class Relation(StrEnum):
    """Where something is relative to an anchor; AT leaves it to the kind of anchor."""

    ON_TOP = "on_top"
    IN = "in"
    AT = "at"
    NEXT_TO = "next_to"
    UNDER = "under"
    BEHIND = "behind"
    IN_FRONT_OF = "in_front_of"
    LEFT_OF = "left_of"
    RIGHT_OF = "right_of"


class Spot(StrEnum):
    """Places that are not described.

    ME is the speaker, HERE where the speaker is, BACK where the things were before the
    instruction, USUAL where such things belong, ELSEWHERE anywhere but where they are.
    """

    ME = "me"
    HERE = "here"
    BACK = "back"
    USUAL = "usual"
    ELSEWHERE = "elsewhere"


class Size(StrEnum):
    """Sizes, relative to others of the kind."""

    BIG = "big"
    SMALL = "small"
    TALL = "tall"
    SHORT = "short"


class Pick(StrEnum):
    """Which one of several, by comparison; distances are from the speaker or a given anchor.

    HIGHEST, MIDDLE and LOWEST are of furniture that stands above each other.
    """

    NEAREST = "nearest"
    FARTHEST = "farthest"
    BIGGEST = "biggest"
    SMALLEST = "smallest"
    HEAVIEST = "heaviest"
    LIGHTEST = "lightest"
    THINNEST = "thinnest"
    LEFTMOST = "leftmost"
    RIGHTMOST = "rightmost"
    HIGHEST = "highest"
    MIDDLE = "middle"
    LOWEST = "lowest"


BY_HEIGHT = frozenset({Pick.HIGHEST, Pick.MIDDLE, Pick.LOWEST})
BY_SIDE = frozenset({Pick.LEFTMOST, Pick.RIGHTMOST})

_STACKED = frozenset({"drawer", "drawers", "shelf", "rack", "cabinet", "cupboard"})


def is_stacked(kind: str) -> bool:
    """Whether furniture of a kind may stand above other such furniture, or be a part of some."""
    return bool(_STACKED.intersection(kind.split()[-1:]))


class Arrangement(StrEnum):
    """How things of one request are placed relative to each other."""

    TOGETHER = "together"
    APART = "apart"
    STACKED = "stacked"


class Actor(StrEnum):
    """Who shall do it."""

    ROBOT = "robot"
    SPEAKER = "speaker"


class Occasion(StrEnum):
    """A purpose that stands for several requests."""

    SET_TABLE = "set_table"
    TIDY = "tidy"
    MAKE_COFFEE = "make_coffee"
    MAKE_TEA = "make_tea"


class Topic(StrEnum):
    """What somebody is told.

    Of a person NAME, POSTURE, GESTURE; of things COUNT (of people, too), WHICH they are, COLOR,
    MATERIAL; ANSWER is to what the person then asks; the others are the robot's to know.
    """

    ANSWER = "answer"
    NAME = "name"
    POSTURE = "posture"
    GESTURE = "gesture"
    COUNT = "count"
    WHICH = "which"
    COLOR = "color"
    MATERIAL = "material"
    YOURSELF = "yourself"
    JOKE = "joke"
    TIME = "time"
    DAY = "day"
    TOMORROW = "tomorrow"
    WEEKDAY = "weekday"
    DAY_OF_MONTH = "day_of_month"
    TEAM_NAME = "team_name"
    TEAM_COUNTRY = "team_country"
    TEAM_AFFILIATION = "team_affiliation"


# What is told of somebody or something.
TOPICS_OF = (
    Topic.NAME, Topic.POSTURE, Topic.GESTURE, Topic.COUNT, Topic.WHICH, Topic.COLOR, Topic.MATERIAL,
)  # fmt: skip


@cache
def _known_kind(word: str) -> str:
    if word in GENERIC_KINDS or word == PERSON:
        return word
    found = default_word_meanings().find(word) if default_word_meanings().knows(word) else None
    if word != word_key(word) or found is None:
        raise ValueError(f"unknown kind {word!r}; expected a singular word of the catalogue")
    if not (found.objects or found.furniture or found.rooms):
        raise ValueError(f"{word!r} is not a kind of object, furniture or room")
    if room := room_before(word):
        raise ValueError(f"{word!r}: expected the room {room!r} as a place of its own (in)")
    return word


@lru_cache(maxsize=1024)
def room_before(word: str) -> str:
    """The room of a piece of furniture that is named after it: `kitchen` in "kitchen counter".

    A laundry hamper is for laundry, and a lounge chair no chair.
    """
    meanings = default_word_meanings()
    whole = meanings.find(word) or Meaning()
    for cut, letter in enumerate(word):
        room = meanings.find(word[:cut]) if letter == " " else None
        piece = meanings.find(word[cut + 1 :])
        if room and room.rooms and not room.objects and piece and piece.furniture:
            return word[:cut] if whole.furniture <= piece.furniture else ""
    return ""


def _known_state(word: str) -> str:
    known = (*default_states().by_word(), *JOINT_STATES, *POSTURES, *GESTURES)
    if word not in known:
        raise ValueError(f"unknown state {word!r}; expected one of {', '.join(known)}")
    return word


Kind = Annotated[str, AfterValidator(_known_kind)]
"""A noun in the singular: a name, alias or group of the catalogue, a word of words.yaml for
classes, or a generic kind. The noun stays as said ("sofa", "mug"): what it covers is the
catalogue's answer."""
StateWord = Annotated[str, AfterValidator(_known_state)]
"""A word of states.yaml ("dirty", "powered on", "filled with water"), "open" or "closed"; of people
a posture or gesture."""


def _known_garment(worn: str) -> str:
    color, _, garment = worn.rpartition(" ")
    if garment not in GARMENTS or (color and color not in set(Color)):
        expected = f"a color and one of {', '.join(GARMENTS)}"
        raise ValueError(f"unknown garment {worn!r}; expected {expected}")
    return worn


Garment = Annotated[str, AfterValidator(_known_garment)]
"""What a person wears: a garment, its color before it ("red t-shirt")."""


# Plurals of English nouns.

_IRREGULAR = (("mouse", "mice"), ("shelf", "shelves"), ("knife", "knives"), ("loaf", "loaves"))


def plural_of(phrase: str) -> str:
    """The English plural of a phrase's head: its last word, or the one before "of"."""
    head, of, tail = phrase.partition(" of ")
    for singular, plural in _IRREGULAR:
        if head.endswith(singular):
            return head.removesuffix(singular) + plural + of + tail
    if head.endswith(("s", "x", "z", "ch", "sh", "ato", "ero")):
        return head + "es" + of + tail
    if head.endswith("y") and head[-2:-1] not in "aeiou":
        return head[:-1] + "ies" + of + tail
    return head + "s" + of + tail


_COLORS: dict[str, Color] = {"grey": Color.GRAY, "violet": Color.PURPLE, "golden": Color.GOLD}
_MATERIALS: dict[str, Material] = {
    "wooden": Material.WOOD, "cloth": Material.FABRIC, "metallic": Material.METAL,
    "porcelain": Material.CERAMIC, "cardboard": Material.PAPER,
}  # fmt: skip
_SIZES: dict[str, Size] = {
    "large": Size.BIG, "huge": Size.BIG, "little": Size.SMALL, "tiny": Size.SMALL,
    "high": Size.TALL,
}  # fmt: skip
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

    def covers(self, words: tuple[str, ...]) -> bool:
        """Whether words are one phrase."""
        return words in self._matches

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
            if phrases.get(plural, phrases.get(word)) != phrases.get(word):
                # "The drawers" are one piece of furniture.
                continue
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


# What the catalogue says of kinds: what can be done with them, and how big they are.

# Groups of things that have lids or flaps, which the catalogue does not model.
_LIDDED = frozenset({"bags", "books", "containers", "electronics", "games"})
_CLOTH = frozenset({"clothes", "linens"})
# Groups of things that one puts things into, although the catalogue has no hollow for them.
_HOLDERS = frozenset({"bags", "containers", "drinkware"})
# They have a top, but what is brought to them goes inside.
_APPLIANCES = frozenset({"dishwasher", "washer_dryer", "oven", "microwave"})
# So does what is brought to these, unlike what is brought to a sideboard.
_CUPBOARDS = frozenset({"cupboard", "cabinet", "kitchen cabinet", "filing cabinet"})
# Of these the top is meant, though the piece has an oven.
COOKTOPS = frozenset({"stove", "range", "stove top", "stovetop", "cooktop", "burner", "hob"})
_BASINS = frozenset({"sink", "bathtub"})
_ANY = frozenset({"", "thing", "furniture", "room", "floor"})


@cache
def affords(kind: str, affordance: str) -> bool:
    """Whether some class that a word covers has an affordance; true of words for anything."""
    found = default_word_meanings().find(kind)
    if kind in _ANY or found is None:
        return True
    catalogue = default_catalogue()
    classes: list[ObjectClass] = [catalogue.objects[name] for name in found.objects]
    pieces = [catalogue.furniture[name] for name in found.furniture]
    if affordance == "openable":
        return any(piece.joints for piece in pieces) or any(
            affordance in item.affordances or not _LIDDED.isdisjoint(item.groups)
            for item in classes
        )
    # "Toast the bread": what it is cut into can be toasted.
    classes += [catalogue.objects[item.slices.class_name] for item in classes if item.slices]
    known = [item.affordances for item in classes] + [item.affordances for item in pieces]
    return any(affordance in affordances for affordances in known) or not (known or found.rooms)


@cache
def affordance_of(state: str) -> str:
    """What a thing must afford to have a state, by the form's word for the state."""
    if state in ("open", "closed"):
        return "openable"
    table = default_states()
    return table.affordance_of[table.by_word()[state][0]]


def can_be(kind: str, state: str) -> bool:
    """Whether something of a kind can have a state; anything can be cleaned or dusted."""
    affordance = affordance_of(state)
    return affordance in ("cleanable", "dustable") or affords(kind, affordance)


@cache
def whole_of(kind: str) -> str:
    """What is cut into things of a kind: bread for "slice of bread"; empty if nothing is."""
    found = default_word_meanings().find(kind)
    names = found.objects if found and len(found.objects) == 1 else frozenset()
    wholes = [item.name for item in default_catalogue().objects.values()
              if item.slices and item.slices.class_name in names]  # fmt: skip
    return wholes[0].replace("_", " ") if wholes else ""


@cache
def is_hollow(kind: str) -> bool:
    """Whether what is put into furniture of a kind is said to be in it, not on it."""
    if (found := default_word_meanings().find(kind)) is None or not found.furniture:
        return False
    pieces = [default_catalogue().furniture[name] for name in found.furniture]
    return all(piece.name in _BASINS or not piece.surfaces for piece in pieces)


@cache
def goes_inside(kind: str) -> bool:
    """Whether what goes to furniture of a kind goes into it: "the plates to the dishwasher"."""
    found = default_word_meanings().find(kind)
    return kind in _CUPBOARDS or (
        found is not None
        and not found.objects
        and bool(found.furniture)
        and (found.furniture <= _APPLIANCES)
        and kind not in COOKTOPS
    )


@cache
def built_in(kind: str) -> bool:
    """Whether nobody would carry anything of a kind: furniture with doors, or a basin."""
    found = default_word_meanings().find(kind)
    if found is None or not found.furniture or found.objects:
        return False
    pieces = [default_catalogue().furniture[name] for name in found.furniture]
    return all(piece.joints or piece.name in _BASINS for piece in pieces)


@cache
def resting_relations(kind: str) -> frozenset[Relation]:
    """Whether things are put on or into everything of a kind, by its classes; empty if they differ.

    A basin is both: what is at or on a sink is in it.
    """
    found = default_word_meanings().find(kind)
    if kind == "floor":
        return frozenset({Relation.ON_TOP})
    if found is None or bool(found.objects) + bool(found.furniture) + bool(found.rooms) != 1:
        return frozenset()
    if found.rooms or is_hollow(kind):
        return frozenset({Relation.IN})
    pieces = [default_catalogue().furniture[name] for name in found.furniture]
    things = [default_catalogue().objects[name] for name in found.objects]
    tops = {bool(piece.surfaces) for piece in pieces} | {bool(thing.top) for thing in things}
    hollows = {bool(piece.interiors) for piece in pieces} | {bool(t.hollow) for t in things}
    if len(tops) > 1 or len(hollows) > 1:
        return frozenset()
    return frozenset(
        relation
        for relation, possible in ((Relation.ON_TOP, tops), (Relation.IN, hollows))
        if True in possible
    )


@cache
def can_hold(kind: str, relation: Relation) -> bool:
    """Whether one would put things on or in a thing of a kind; true of all other relations."""
    found = default_word_meanings().find(kind)
    if relation not in (Relation.ON_TOP, Relation.IN) or found is None or not found.objects:
        return True
    things = [default_catalogue().objects[name] for name in found.objects]
    if relation is Relation.IN:
        return any(
            thing.hollow or "fillable" in thing.affordances or not _HOLDERS.isdisjoint(thing.groups)
            for thing in things
        )
    return any(thing.top for thing in things)


@cache
def drapes(kind: str) -> bool:
    """Whether things of a kind are laid over others, such as towels and clothes."""
    found = default_word_meanings().find(kind)
    objects = [default_catalogue().objects[name] for name in found.objects] if found else []
    return bool(objects) and all(not _CLOTH.isdisjoint(item.groups) for item in objects)


@cache
def includes(kind: str, other: str) -> bool:
    """Whether everything of another kind is also of this one."""
    if kind == "thing" or kind == other:
        return True
    outer, inner = default_word_meanings().find(kind), default_word_meanings().find(other)
    if outer is None or inner is None:
        return False
    return (
        inner.objects <= outer.objects
        and inner.furniture <= outer.furniture
        and inner.rooms <= outer.rooms
        and inner != Meaning()
    )


@cache
def too_big(kind: str, container: str, *, inside: bool) -> bool:
    """Whether nothing of a kind can be in or on anything of another: "the bathtub in the teacup".

    Furniture is in nothing but rooms, and on nothing but the floor and furniture.
    """
    inner, outer = default_word_meanings().find(kind), default_word_meanings().find(container)
    if inner is None or outer is None or outer.rooms:
        return False
    if inner.furniture and not inner.objects:
        return True
    if not inside or outer.furniture or not outer.objects or not inner.objects or inner.rooms:
        return False
    catalogue = default_catalogue()
    smallest = min(sorted(catalogue.objects[name].size_m)[1] for name in inner.objects)
    largest = max(max(catalogue.objects[name].size_m) for name in outer.objects)
    return smallest > 1.5 * largest
