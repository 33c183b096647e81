"""Sentences as people say them to robots, for a recogniser's language model."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Literal

from pydantic import Field

from planner.conversation.utterances import GO_ONS, STOPS
from planner.language.english import NUMBERS, table
from planner.language.lexicon import plural_of
from planner.world.catalogue import default_word_meanings
from planner.world.errors import PlannerError
from planner.world.files import FileModel, read_model
from planner.world.shapes import Color
from planner.world.share import config_dir

# Drawn for the language model; with twice as many no more words are heard rightly.
SENTENCES = 12_000
_INNERMOST = re.compile(r"\{([^{}]*)\}|<(\w+)>")
_WORD = re.compile(r"[a-z]+(?:['-][a-z]+)*")
# A pattern whose slots fill one another without an end is refused.
_MAX_FILLED = 200


class _Pattern(FileModel):
    say: str
    weight: Annotated[float, Field(gt=0)]


class SpokenFile(FileModel):
    """`config/spoken.yaml`: what is said, and how often."""

    version: Literal[1]
    patterns: Annotated[tuple[_Pattern, ...], Field(min_length=1)]
    stops: Annotated[float, Field(gt=0)]
    slots: Mapping[str, Annotated[tuple[str, ...], Field(min_length=1)]]


def words_of(text: str) -> tuple[str, ...]:
    """The words of a text as they are spoken, in small letters, without marks."""
    return tuple(_WORD.findall(text.lower().replace("\u2019", "'")))


@cache
def _spoken() -> SpokenFile:
    return read_model(config_dir() / "spoken.yaml", SpokenFile)


@cache
def _slots() -> Mapping[str, Sequence[str]]:
    meanings = default_word_meanings().phrases
    things = sorted(phrase for phrase, meant in meanings.items() if meant.objects)
    return {
        "thing": things,
        "things": sorted({plural_of(thing) for thing in things}),
        "furniture": sorted(phrase for phrase, meant in meanings.items() if meant.furniture),
        "room": sorted(phrase for phrase, meant in meanings.items() if meant.rooms),
        "color": sorted(color.value for color in Color),
        "number": sorted(word for word, number in NUMBERS.items() if number <= 10),
        "name": sorted(table("given names").split()),
        **_spoken().slots,
    }


def draw_sentences(count: int, seed: int = 0) -> Iterator[tuple[str, ...]]:
    """Draws sentences, each as its words; the same ones for the same seed.

    Raises:
        PlannerError: for a pattern with a slot that does not exist or never ends.
    """
    draw, spoken = random.Random(seed), _spoken()
    stops = sorted(" ".join(words) for words in STOPS)
    goes = sorted(" ".join(words) for words in GO_ONS)
    patterns = [*(pattern.say for pattern in spoken.patterns), "stop"]
    weights = [*(pattern.weight for pattern in spoken.patterns), spoken.stops]
    for pattern in draw.choices(patterns, weights, k=count):
        said = pattern
        if pattern == "stop":
            said = draw.choice(("stop", "please stop", "stop please", "robot stop", *stops, *goes))
        yield words_of(_filled(said, draw))


def every_word() -> frozenset[str]:
    """Each word that a slot may be filled with, also one that is never drawn."""
    texts = (text for texts in _slots().values() for text in texts)
    return frozenset(word for text in texts for word in words_of(_INNERMOST.sub(" ", text)))


def _filled(pattern: str, draw: random.Random) -> str:
    for _ in range(_MAX_FILLED):
        found = _INNERMOST.search(pattern)
        if found is None:
            return pattern
        options, slot = found.groups()
        if slot is None:
            word = draw.choice(options.split("|"))
        elif slot in _slots():
            word = draw.choice(_slots()[slot])
        else:
            raise PlannerError(f"config/spoken.yaml: slots: there is no {slot!r}")
        pattern = pattern[: found.start()] + word + pattern[found.end() :]
    raise PlannerError(f"config/spoken.yaml: patterns: {pattern[:60]!r} never ends")
