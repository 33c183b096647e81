"""Instructions with their goals, for a language model that reads them (docs/training.md).

A goal is annotated, or it is what the rules of English read in a plain wording; the model gets
other wordings of the same, so that it can learn what the rules do not know.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.lexicon import Relation, can_be, default_lexicon, plural_of, resting_relations
from planner.language.reading import read_instructions
from planner.planning.understanding import NOTHING, short_question, written
from planner.world.catalogue import (
    FurnitureClass,
    ObjectClass,
    RoomClass,
    default_catalogue,
    default_word_meanings,
    word_key,
)
from planner.world.files import FileModel, read_lines, read_model, writing
from planner.world.share import config_dir

# Of all texts: with a misspelling; with politeness around; two requests; no request; the plain one.
_MISSPELLED, _AROUND, _CHAINED, _NOTHING, _PLAIN = 0.1, 0.3, 0.3, 0.12, 0.15
_SLOT = re.compile(r"\{(\w+)\}")
_PREPOSITIONS = {Relation.ON_TOP: ("on", "on", "on top of"), Relation.IN: ("in", "in", "inside")}
_LOOKS = ("red", "blue", "green", "white", "black", "small", "big", "wooden", "clean", "dirty")
_NUMBERS = ("two", "three", "four", "2", "3")
_MOST_TRIES = 100


class _Frame(FileModel):
    """A plain wording, and others that mean the same.

    Attributes:
        can: the state that its things must be able to have; "" = any thing.
    """

    says: str
    can: str = ""
    others: tuple[str, ...] = Field(alias="as")


class _Paraphrases(FileModel):
    """Of config/paraphrases.yaml, which says what each is for."""

    version: Literal[1]
    frames: tuple[_Frame, ...]
    chains: tuple[_Frame, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    nothing: tuple[str, ...]
    strange: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sentence:
    """What somebody says, and the goal that is meant; None if nothing is asked for."""

    text: str
    goal: Goal | None

    def chat(self) -> str:
        """A line of a file of chats, as `planner train hd` reads it."""
        turns = [(m.speaker.value, m.text) for m in short_question(self.text)]
        turns.append(("assistant", NOTHING if self.goal is None else written(self.goal)))
        return json.dumps({"messages": [{"role": r, "content": c} for r, c in turns]})


def annotated(files: Iterable[Path]) -> Iterator[Sentence]:
    """Annotated instructions, as those of test/data/everyday.

    Raises:
        FileError: with file, field and reason.
    """
    for path in files:
        for entry in read_instructions(path):
            yield Sentence(entry.text, entry.goal)


def read_by_rules(texts: Iterable[str]) -> Iterator[Sentence]:
    """Sentences that the rules read; others are left out, as nobody says what they mean."""
    for text in texts:
        if isinstance(goal := interpret(text), Goal):
            yield Sentence(text, goal)


class Paraphraser:
    """Draws sentences in wordings that the rules need not know, with the goals of plain ones."""

    def __init__(self, seed: int) -> None:
        """Each seed has its own sequence."""
        self._rng = random.Random(seed)
        self._words = read_model(config_dir() / "paraphrases.yaml", _Paraphrases)

    def draw(self) -> Sentence:
        """The next sentence."""
        rng = self._rng
        if rng.random() < _NOTHING:
            return self._nothing()
        frames = [rng.choice(self._words.frames)]
        plain, other, goal = self._request(frames[0])
        if rng.random() < _CHAINED:
            also = self._request(rng.choice(self._words.frames))
            chain = rng.choice(self._words.chains)
            both = interpret(chain.says.format(plain, also[0]))
            if isinstance(both, Goal):
                said = rng.choice((chain.says, *chain.others))
                goal, other = both, said.format(_sentence(other), also[1])
        return Sentence(self.disguised(other), goal)

    def disguised(self, text: str) -> str:
        """A text with politeness around it, or a misspelling, or as it is."""
        rng, words = self._rng, self._words
        if rng.random() < _AROUND:
            text = rng.choice(words.before) + text[:1].lower() + text[1:]
        if rng.random() < _AROUND:
            text += rng.choice(words.after)
        if rng.random() < _MISSPELLED:
            text = self._misspelled(text)
        return text if rng.random() < 0.5 else text.rstrip(".").lower()

    def _request(self, frame: _Frame) -> tuple[str, str, Goal]:
        """A plain wording, another one, and what both mean."""
        for _ in range(_MOST_TRIES):
            fills: dict[str, str] = {}
            plain = self._filled(frame.says, fills, frame.can)
            if isinstance(goal := interpret(plain), Goal):
                other = plain if self._rng.random() < _PLAIN else self._rng.choice(frame.others)
                return plain, self._filled(other, fills), goal
        raise AssertionError(f"the rules read no sentence of the frame {frame.says!r}")

    def _nothing(self) -> Sentence:
        for _ in range(_MOST_TRIES):
            text = self._filled(self._rng.choice(self._words.nothing), {})
            if not isinstance(interpret(text), Goal):
                break
        return Sentence(self.disguised(text), None)

    def _filled(self, frame: str, fills: dict[str, str], can: str = "") -> str:
        """A frame with something in each slot, the same in each wording."""

        def fill(match: re.Match[str]) -> str:
            slot = match[1]
            if slot not in fills:
                fills[slot] = self._fill(slot, can)
            return fills[slot]

        text = _SLOT.sub(fill, frame)
        return text[:1].upper() + text[1:]

    def _fill(self, slot: str, can: str) -> str:
        rng = self._rng
        things = _kinds("objects", can)
        match slot:
            case "x" | "y":
                return self._thing(things)
            case "xs":
                plural = plural_of(rng.choice(things))
                return f"{rng.choice(('all', 'the', 'all the', 'all of the'))} {plural}"
            case "n" | "ns":
                kind = rng.choice(things)
                return kind if slot == "n" else plural_of(kind)
            case "on":
                return self._place()
            case "at":
                return self._piece(_kinds("furniture"))
            case "lamp":
                return rng.choice(("the lamp", "the desk lamp", "the floor lamp", "a lamp"))
            case "in":
                return rng.choice(_kinds("rooms"))
            case "who":
                return rng.choice(self._words.names)
            case _:
                return rng.choice(self._words.strange)

    def _thing(self, things: Sequence[str]) -> str:
        rng = self._rng
        kind = rng.choice(things)
        look = f"{rng.choice(_LOOKS)} " if rng.random() < 0.25 else ""
        if rng.random() < 0.08:
            return f"{rng.choice(_NUMBERS)} {look}{plural_of(kind)}"
        article = rng.choice(("the", "the", "the", "the", "a", "my"))
        if article == "a" and (look or kind)[0] in "aeiou":
            article = "an"
        where = f" that is {self._place()}" if rng.random() < 0.08 else ""
        return f"{article} {look}{kind}{where}"

    def _place(self) -> str:
        """A preposition and what is there."""
        rng = self._rng
        kinds = _kinds("furniture") if rng.random() < 0.8 else _kinds("objects")
        while True:
            kind = rng.choice(kinds)
            if relations := sorted(resting_relations(kind)):
                break
        if rng.random() < 0.08:
            return f"next to {self._piece((kind,))}"
        return f"{rng.choice(_PREPOSITIONS[rng.choice(relations)])} {self._piece((kind,))}"

    def _piece(self, kinds: Sequence[str]) -> str:
        rng = self._rng
        where = f" in the {rng.choice(_kinds('rooms'))}" if rng.random() < 0.15 else ""
        return f"the {rng.choice(kinds)}{where}"

    def _misspelled(self, text: str) -> str:
        """One long word with two letters swapped, one missing or one doubled."""
        words = text.split(" ")
        long = [at for at, word in enumerate(words) if len(word) > 4 and word.isalpha()]
        if not long:
            return text
        at, rng = self._rng.choice(long), self._rng
        word = words[at]
        cut = rng.randrange(1, len(word) - 1)
        swapped = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
        words[at] = rng.choice(
            (swapped, word[:cut] + word[cut + 1 :], word[:cut] + word[cut] + word[cut:])
        )
        return " ".join(words)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


@cache
def _kinds(sort: str, can: str = "") -> tuple[str, ...]:
    """The words for kinds of `objects`, `furniture` or `rooms` alone, in the singular.

    Names count as often as all of their other words together: they are what is mostly said.
    """
    catalogue = default_catalogue()
    classes: Mapping[str, ObjectClass | FurnitureClass | RoomClass] = getattr(catalogue, sort)
    found: list[str] = []
    for item in classes.values():
        words = [word for word in map(word_key, (item.name, *item.aliases)) if _is_of(word, sort)]
        words = [word for word in words if not can or can_be(word, can)]
        found += [*words, *words[:1] * max(0, len(words) - 2)]
    return tuple(found)


def _is_of(word: str, sort: str) -> bool:
    meaning = default_word_meanings().find(word)
    sorts = {other for other in ("objects", "furniture", "rooms") if getattr(meaning, other, ())}
    return sorts == {sort} and _is_singular(word) and word.replace(" ", "").isalpha()


def _is_singular(word: str) -> bool:
    match = default_lexicon().at(word.split(), 0)
    return match is not None and any(
        not sense.plural and sense.word == word for sense in match.senses
    )


# `planner train sentences`.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `planner train sentences`."""
    parser.add_argument("output", type=Path, help="file of chats (.jsonl) for planner train hd")
    parser.add_argument(
        "--annotated", type=Path, nargs="*", default=[], metavar="FILE", help="instructions (.yaml)"
    )
    parser.add_argument(
        "--sentences",
        type=Path,
        nargs="*",
        default=[],
        metavar="FILE",
        help="a sentence a line; those that the rules read",
    )
    parser.add_argument("--repeats", type=int, default=1, help="of annotated ones, disguised")
    parser.add_argument("--count", type=int, default=1000, help="drawn ones, with paraphrases")
    parser.add_argument("--seed", type=int, default=1)


def run(args: argparse.Namespace) -> int:
    """Writes sentences with their goals."""
    paraphraser = Paraphraser(args.seed)
    given = list(annotated(args.annotated))
    texts = (line.decode().strip() for path in args.sentences for line in read_lines(path))
    read = list(read_by_rules(filter(None, texts)))
    again = [
        Sentence(paraphraser.disguised(s.text), s.goal) for _ in range(args.repeats) for s in given
    ]
    drawn = [paraphraser.draw() for _ in range(args.count)]
    with writing(args.output):
        lines = (f"{sentence.chat()}\n" for sentence in (*again, *read, *drawn))
        args.output.write_text("".join(lines), "utf-8")
    print(f"{args.output}: {len(again)} annotated, {len(read)} read by rules, {len(drawn)} drawn")
    return 0
