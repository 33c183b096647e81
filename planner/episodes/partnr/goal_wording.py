"""The wording of PARTNR's instructions, before it is read as English: slips, and what they mean."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

from planner.grounding.scene import Scene
from planner.language.lexicon import Part, default_lexicon
from planner.language.reading import Ask, AskReason, Reading
from planner.language.screening import known
from planner.language.tokens import STOPS, Token, tokens_of
from planner.language.verbs import Form, verb_words, verbs_at
from planner.world.vocabulary import EntityKind

_BESIDE = re.compile(r"^(?:right )?next to .+ and (?P<article>the|an|a) ", re.IGNORECASE)
_ROOM_FIRST = re.compile(r"^in the (?P<room>[a-z ]+)$", re.IGNORECASE)
_REMARKS = ("i am", "they were", "it was", "what a", "anywhere is fine")
# Even if things are named: the speaker's thoughts, which no request depends on.
_THOUGHTS = ("i am pretty sure", "i am sure", "i want to learn", "i want to know")
_COUNTED = re.compile(r"there should be \w+ of (?:them|these|those)[.!]?\s*", re.IGNORECASE)
# What something is for, and what goes on by itself: "for chilled water", "while the tea brews".
_ASIDES = re.compile(
    r" for (?!(?:the|a|an|my|our|me|us|you)\b)(?:[a-z]+ )?[a-z]+(?= on | in |[.?!])"
    r"| while the [a-z]+ [a-z]+s(?=[.?!])"
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def plain(instruction: str, scene: Scene) -> str:
    """The text without slips of the pen and without sentences that ask for nothing.

    A word twice in a row is one, a capital verb begins a sentence, two names of the scene's things
    without a comma are two things, and an unknown word is the one word of the scene, or the one
    verb at the beginning of a sentence, that differs in one letter.
    """
    found = _ASIDES.sub("", _respelled(instruction, scene))
    found = "".join(part for part in _sentences(found) if not _asks_nothing(part))
    objects = [thing for thing in scene.things.values() if thing.kind is EntityKind.OBJECT]
    names = {tuple(thing.class_name.split("_")) for thing in objects}
    words = [token for token in tokens_of(found) if token.is_word]
    for at, (one, other) in reversed(list(enumerate(pairwise(words)))):
        between = found[one.end : other.start]
        if between.strip() or not between:
            continue
        if one.word == other.word and one.word.isalpha():
            found = found[: one.end] + found[other.end :]
        elif _begins(found[other.start :]) and found[one.start].islower():
            found = f"{found[: one.end]}.{between}{found[other.start :]}"
        elif _side_by_side([token.word for token in words], at + 1, names):
            found = f"{found[: one.end]},{between}{found[other.start :]}"
    return found


def _begins(text: str) -> bool:
    """Whether a text begins with a verb in capitals: "... counter Place them ..."."""
    first = tuple(token.word for token in tokens_of(text)[:3])
    commands = any(Form.BASE in found.forms for found in verbs_at(first, 0))
    return text[0].isupper() and commands


def _side_by_side(words: list[str], at: int, names: Collection[tuple[str, ...]]) -> bool:
    """Whether the name of a thing ends before a word, and another begins there."""
    before = {length for length in (1, 2, 3) if tuple(words[max(0, at - length) : at]) in names}
    after = {length for length in (1, 2, 3) if tuple(words[at : at + length]) in names}
    joint = any(
        tuple(words[at - one : at + other]) in names
        or (
            (match := default_lexicon().at(tuple(words), at - one)) is not None
            and match.length > one
        )
        for one in before
        for other in after
    )
    return bool(before and after) and not joint and max((*before, *after)) > 1


def _sentences(text: str) -> Iterator[str]:
    """The sentences, with their marks; together they are the text."""
    start = 0
    tokens = tokens_of(text)
    for token, following in pairwise(tokens):
        if token.word in STOPS and following.word not in STOPS:
            yield text[start : following.start]
            start = following.start
    yield text[start:]


def _asks_nothing(sentence: str) -> bool:
    """Whether it only says how somebody or something is, and names no thing."""
    words = tuple(token.word for token in tokens_of(sentence))
    if _starts(words, _THOUGHTS) or _COUNTED.fullmatch(sentence):
        return True
    if not _starts(words, _REMARKS):
        return False
    matches = [default_lexicon().at(words, k) for k in range(len(words))]
    return not any(s.part is Part.KIND for match in matches if match for s in match.senses)


def _starts(words: tuple[str, ...], phrases: tuple[str, ...]) -> bool:
    return any(words[: len(phrase.split())] == tuple(phrase.split()) for phrase in phrases)


def _respelled(text: str, scene: Scene) -> str:
    """The text with unknown words as the only similar word of the scene, or verb."""
    of_scene = {word for thing in scene.things.values() for word in thing.class_name.split("_")}
    tokens = tokens_of(text)
    for k, token in reversed(list(enumerate(tokens))):
        if not token.word.isalpha() or known(token.word):
            continue
        begins = k == 0 or tokens[k - 1].word in STOPS
        near = _near(token, _bases() if begins else of_scene)
        if len(near) == 1:
            text = text[: token.start] + near.pop() + text[token.end :]
    return text


def _bases() -> frozenset[str]:
    """The verbs that a command can begin with."""
    return frozenset(
        word for word in verb_words() if any(Form.BASE in f.forms for f in verbs_at((word,), 0))
    )


def _near(token: Token, words: Collection[str]) -> set[str]:
    """Those words that have one letter more or less."""
    word = token.word
    fewer = {word[:k] + word[k + 1 :] for k in range(len(word))}
    more = {word[:k] + letter + word[k:] for k in range(len(word) + 1) for letter in _LETTERS}
    return (fewer | more) & set(words)


def other_wording(instruction: str, reading: Reading) -> str:
    """The text said in another way that answers what is asked; the text itself if there is none.

    "Next to the clamp and the candle on the table" may mean next to the clamp, and the candle on
    the table; PARTNR's instructions go on with all of them at one place. "The toy in the hall on
    the chair" goes to a chair in the hall, and "it" stands for several things.
    """
    if not isinstance(reading, Ask):
        return instruction
    for words in reading.words:
        if reading.reason is AskReason.WHICH and (match := _BESIDE.match(words)):
            start, end = match.span("article")
            return instruction.replace(words, words[:start] + words[end + 1 :], 1)
        if reading.reason is AskReason.WHICH and _ROOM_FIRST.match(words):
            return re.sub(rf"({re.escape(words)}) (on the [a-z]+)\b", r"\2 \1", instruction)
        if reading.reason is AskReason.WHAT and words == "it":
            return re.sub(r"\bit\b", "them", instruction, count=1)
    return instruction
