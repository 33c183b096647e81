"""How instructions name the classes of a house so that each name means one class only."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from planner.language.lexicon import Part, default_lexicon
from planner.language.plurals import plural_of
from planner.world.catalogue import default_catalogue, word_key
from planner.world.word_meanings import default_word_meanings

_COUNTS = ("no", "one", "two", "three", "four", "five", "six")
# What nobody writes, though it may be read.
_UNSAID = frozenset({"baseballbat", "bathtowel", "laundryroom", "tshirt", "wc", "e reader"})
# "The milk", but neither "a milk" nor "two milks".
_MASS = frozenset(
    {
        *(
            "bleach",
            "bread",
            "butter",
            "cereal",
            "cheese",
            "chocolate",
            "cleaner",
            "cologne",
            "cream",
        ),
        *("detergent", "dish soap", "dishwashing liquid", "face cream", "hand soap", "juice"),
        *("laundry detergent", "lego", "liquid soap", "mail", "milk", "orange juice", "paint"),
        *("pepper", "perfume", "salmon", "salt", "scotch tape", "shampoo", "sliced apple"),
        *("sliced bread", "sliced lettuce", "sliced potato", "sliced tomato", "soap", "soda"),
        *("spray", "sticky tape", "tape", "toilet paper", "toothpaste", "washing up liquid"),
        *("whipped cream", "yoghurt", "yogurt", "lettuce", "chicken", "roast chicken"),
    }
)
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


def plural(word: str) -> str:
    """The plural of a name."""
    return plural_of(word)


def count_word(number: int) -> str:
    """A number in words."""
    return _COUNTS[number]


def with_article(word: str) -> str:
    """A name after "a" or "an"."""
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"
