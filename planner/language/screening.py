"""Texts that are no instruction in English, and the spelling of those that are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from planner.language import (
    circumstance_words,
    clause_words,
    english,
    frames,
    modifiers,
    occasion_frames,
    place_words,
    places,
    repairs,
    text_words,
)
from planner.language.lexicon import default_lexicon
from planner.language.plurals import plural_of
from planner.language.reading import NoCommand, NoCommandReason, NotUnderstood, Reading
from planner.language.tokens import Token
from planner.language.verbs import verb_words
from planner.world.word_meanings import default_word_meanings

MAX_LETTERS = 4000
_RULES = (
    circumstance_words,
    clause_words,
    english,
    frames,
    modifiers,
    occasion_frames,
    place_words,
    places,
    repairs,
    text_words,
)
_CODE = re.compile(
    r"[\[\]{}<>=\\|`$*^]|\w\(|\w_\w|;\s*$|#!|//"
    r"|\b(?:drop table|select \* from|rm -|sudo|import \w+$|def \w+|https?)",
    re.IGNORECASE,
)
_FOREIGN = english.words(
    "der die das und bitte den dem ein eine einen ist nicht auf mit ich bring du le la les une "
    "des et dans sur s'il vous "
    "plaît plait je est moi mets mettez donne el los las un una en por favor con que pon poner "
    "puedes il lo gli nel nella "
    "sul per di del della metti prendi portami de het een op naar zet graag alsjeblieft os na "
    "mesa cozinha coloque ponha "
    "og det til på och att jag skål proszę na stół weź räum stell leg räume schalte mach licht "
    "tisch"
)
_STOP = english.products(
    "please|now|robot|hey|",
    "stop|halt|freeze|wait|pause|hold on|stop it|stop that|abort|cancel|"
    "stop moving|do not move|stop everything|stop right there|stand still|stop what you are doing|"
    "cancel that|stop working|stop now|wait a minute|wait a moment|never mind|forget it",
    "please|now|robot|at once|immediately|",
)
_STOPPING = english.words("stop halt freeze abort cancel enough quit")
_BESIDE_STOP = english.words(
    "whoa woah hey robot please now right there it that this is no wait just what you are doing "
    "everything at once immediately oh god ok i said moving"
)
_ENGLISH = english.words(
    "the a an my and to on in it is of for with them you i from all that please put"
)
_OTHER_WORDS = english.words(
    "me us him her i you he she we they it the a an and or but not no nor to of for with as if "
    "when while before after "
    "until once unless because since so than too very is are was were be been being am do does "
    "did done has have had "
    "having will would shall should can could may might must ought need needs want wants like "
    "love let any every each both "
    "all some few several many much more most less least other another same such what which "
    "who whom whose where why how "
    "there here then now again still just also only even ever never always first second third "
    "last next later soon yes "
    "prior own side place way time sure see get got hungry thirsty tired cold hot dark late "
    "early ready going gone nice "
    "thing whatever whichever everybody everyone somebody nobody people house home room rooms "
    "else goes go come comes "
    "today tonight tomorrow yesterday morning evening afternoon night minute moment hand hands "
    "one ones couple pair "
    "dozen half single least most either neither except excluding apart without instead "
    "already currently rest "
    "former latter others mine ours yours fewer maximum minimum precisely part plenty plus safe "
    "splash stays thorough thousand warm wherever fully completely requires dry brunch "
    "oclock "
    "everything anything something nothing whoever ones "
    "up down over out off away back around along together"
)


def no_command(text: str, tokens: tuple[Token, ...]) -> Reading | None:
    """The outcome for a text that is empty, code, another language or noise; None for others."""
    words = [token.word for token in tokens if token.is_word]
    if not words:
        return NoCommand(
            reason=NoCommandReason.EMPTY if not text.strip() else NoCommandReason.NOISE
        )
    if tuple(words) in _STOP or _only_stops(words):
        return NoCommand(reason=NoCommandReason.STOP)
    if _CODE.search(text):
        return NoCommand(reason=NoCommandReason.CODE)
    if len(text) > MAX_LETTERS:
        return NotUnderstood(words=(text.strip()[:60].strip(),))
    unknown = [word for word in words if not known(word)]
    foreign = sum(word in _FOREIGN and word not in _ENGLISH for word in words)
    accented = any(not letter.isascii() and letter.isalpha() for letter in text)
    english_words = sum(word in _ENGLISH for word in words)
    if (foreign >= 2 and foreign > english_words) or (
        accented and len(unknown) >= 2 and unknown and foreign
    ):
        return NoCommand(reason=NoCommandReason.LANGUAGE)
    if accented and len(unknown) * 2 >= len(words):
        return NoCommand(reason=NoCommandReason.LANGUAGE)
    if len(unknown) == len(words) < 3 and all(map(_pronounceable, unknown)):
        return None
    if len(unknown) == len(words) or (len(unknown) * 3 > len(words) * 2 and len(words) > 3):
        return NoCommand(reason=NoCommandReason.NOISE)
    return None


def _only_stops(words: list[str]) -> bool:
    """Whether a text is made of nothing but words that end things: "whoa, stop, that's enough!"."""
    return bool(_STOPPING & set(words)) and set(words) <= _STOPPING | _BESIDE_STOP


def _pronounceable(word: str) -> bool:
    """Whether letters could be a word: with vowels and consonants, no letter three times."""
    vowels = sum(letter in "aeiouy" for letter in word)
    return 0 < vowels < len(word) and not re.search(r"(.)\1\1", word)


@lru_cache(maxsize=1)
def vocabulary() -> frozenset[str]:
    """Every word that some rule knows."""
    found = set(function_words() | verb_words())
    for phrase in default_word_meanings().phrases:
        found |= set(phrase.split()) | set(plural_of(phrase).split())
    return frozenset(found)


@lru_cache(maxsize=1)
def function_words() -> frozenset[str]:
    """The words of the tables of the rules, without the catalogue's."""
    found = set(_OTHER_WORDS)
    for module in _RULES:
        for value in vars(module).values():
            found |= set(_words_in(value))
    return frozenset(found)


def _words_in(value: object) -> Iterator[str]:
    """The words in the tables of a module."""
    if isinstance(value, str) and value.islower():
        yield from value.split()
    elif isinstance(value, tuple | frozenset | dict):
        for item in value:
            yield from _words_in(item)


@cache
def _lexical(word: str) -> bool:
    return default_lexicon().at((word,), 0) is not None


def known(word: str) -> bool:
    """Whether some rule knows a word."""
    return word in vocabulary() or word[0].isdigit() or word == "'s" or _lexical(word)


@lru_cache(maxsize=4096)
def respelled(word: str) -> str:
    """The known word that a misspelled one must be: two letters swapped, or one too many or few.

    The word itself if it is known, short or nothing else is near, or several words are.
    """
    if known(word) or len(word) < 3 or not word.isascii():
        return word
    swapped = {word[:k] + word[k + 1] + word[k] + word[k + 2 :] for k in range(len(word) - 1)}
    found = {other for other in swapped if other in vocabulary() or _lexical(other)}
    if not found and len(word) >= 6:
        # The first letter is hardly ever wrong: "asleep" is not "sleep".
        shorter = {word[:k] + word[k + 1 :] for k in range(1, len(word))}
        longer = {
            word[:k] + c + word[k:]
            for k in range(1, len(word) + 1)
            for c in "abcdefghijklmnopqrstuvwxyz"
        }
        found = {other for other in shorter | longer if other in vocabulary()}
    return found.pop() if len(found) == 1 else word
