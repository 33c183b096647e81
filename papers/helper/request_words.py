"""What people say: dialogues, a text encoder for them, and what requests say of things."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

import numpy as np

from papers.helper.programs.program import ProgramVocabulary, default_vocabulary
from planner.language.english import NUMBERS, phrases, words
from planner.language.lexicon import default_lexicon
from planner.world.embedding import Vectors
from planner.world.topics import one_line

# A text encoder without a model, for dialogues and names of routines (HELPER-D26).
#
# It compares words only: content words by their stem, function words hardly, and words that the
# catalogue does not know, such as the name of a routine, most.

DIMENSIONS = 512
_TAG = re.compile(r"<\w+>")
_WORD = re.compile(r"[a-z]+|\d+")
FUNCTION_WORDS = words(
    """
    a about again all also am an and another any are as at back be because been before both but
    by can could d did do does done each eight else every everything few first five for four from
    get give go good got had has have he hello help her here hey hi him his how i if in inside
    into is it its just let like ll m make many may me more my near need next nine no not now of
    ok okay on one only onto or other our out over please put re ready robot s see seven shall she
    should six so some sure t take task ten than thank thanks that the their them then there these
    they thing things this those three to today too two up us ve very want was we well were what
    when where which while who will with without would yes you your
    """
)
_FUNCTION_WEIGHT, _KNOWN_WEIGHT, _NAME_WEIGHT, _TRIPLE_WEIGHT = 0.1, 1.0, 1.5, 0.15


class DialogueWords:
    """Hashed words and letter triples, each word of a text once, weighted by how much it says."""

    @property
    def embedder_id(self) -> str:
        """Its name, version and size; another weighting is another version."""
        return f"dialogue-words-1-{DIMENSIONS}"

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a text, (n, 512) float32, each of length one (zeros without words)."""
        rows = np.zeros((len(texts), DIMENSIONS), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in dict.fromkeys(_WORD.findall(_TAG.sub(" ", text.lower()))):
                places, values = _of_word(word)
                np.add.at(row, places, values)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: Vectors = (rows / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)
        return unit


@lru_cache(maxsize=20_000)
def _of_word(word: str) -> tuple[list[int], Vectors]:
    stem = stem_of(word)
    weight = _weight(word, stem)
    parts = [(stem, weight)]
    if weight > _FUNCTION_WEIGHT:
        padded = f"^{stem}$"
        triples = [padded[at : at + 3] for at in range(len(padded) - 2)]
        parts += [(triple, weight * _TRIPLE_WEIGHT) for triple in triples]
    places, values = [], []
    for part, size in parts:
        digest = int.from_bytes(hashlib.blake2b(part.encode(), digest_size=8).digest(), "little")
        places.append(digest % DIMENSIONS)
        values.append(size if digest >> 63 else -size)
    return places, np.array(values, np.float32)


def stem_of(word: str) -> str:
    """A word without the ending of a plural."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("oes", "ches", "shes", "sses", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        return word[:-1]
    return word


def _weight(word: str, stem: str) -> float:
    if word in FUNCTION_WORDS or word.isdecimal():
        return _FUNCTION_WEIGHT
    return _KNOWN_WEIGHT if {word, stem} & _known_words() else _NAME_WEIGHT


@lru_cache(maxsize=1)
def _known_words() -> frozenset[str]:
    return default_lexicon().words


COFFEE = "coffee"
"""A mug of coffee, in place of a class."""
SLICED = "Sliced"

_TURN = re.compile(r"<(\w+)>([^<]*)")
_TOKEN = re.compile(r"[a-z']+|\d+|[.,;:!?]")
_OWNERS = re.compile(r"'s?\b(?=\s|$)")
_STOPS = frozenset(".;:!?")
_LONGEST = 3
_NO = phrases(
    "no | not | without | without any | leave out | leave off | leave away | skip | omit | drop"
    " | hold | forget | forget about | except | except for | minus | remove | neither"
)
_REFUSING = phrases("don't | dont | do not")
_SWAPPING = words("replace swap exchange substitute replacing swapping")
_INSTEAD = phrases("instead of | rather than | in place of")
_ADD = phrases(
    "add | adding | plus | also | extra | an extra | additional | an additional | another"
    " | one more | include | bring | as well as | in addition | along with | and also"
    " | together with"
)
_ONE_MORE = words("another extra additional more")
_RESET = words("but with use make put place clean wash bring add plus then want like only just")
_SWITCHING = words("switch switching turn turning")
_PLACES = words("on onto in into at upon to inside")
_ALL = words("everything all them it those these both")
_ONLY = words("only just")
_ARTICLES = words("a an single")
_DETERMINERS = words("the my your some any this that its our of and or with all")
_DIRECTLY = words("directly straight")
# What a number may count that is not a thing of the task.
_NO_THINGS = words(
    "people person persons guest guests favour favor bit minute minutes time times day"
)
_PIECES = words("slice slices piece pieces")
_BEFORE_VERBS = words("you please to then and")
_AFTER_VERBS = words("the my all this that these those some a an me us away up down out")
_LOOKS = words(
    "clean washed cooked boiled toasted warm fresh sliced cut dirty whole new other same"
)
_CLEAN, _COOKED = words("clean washed"), words("cooked boiled fried heated")


class Role(StrEnum):
    """How a request names something."""

    THING = "thing"
    PLACE = "place"
    ABSENT = "absent"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Mention:
    """A thing that a request names.

    Attributes:
        name: a class of programs, or `COFFEE`.
        role: a place follows "on", "in", "to"; what is replaced follows "instead of".
        count: as said; 0 = no number, and "a" counts 1.
        adds: whether so many are wanted beside what there is.
        only: whether nothing else of its kind is wanted.
        sliced: whether slices are meant.
        clean: whether it is called clean, or is to be washed.
        cooked: whether it is called cooked.
        toasted: whether it is called toast.
        water: whether it is wanted with water in it.
        clause: which part of the sentence it is in.
        swapped: of what is replaced, whether what comes instead follows, as after "replace".
        everything: of a place, whether all things go there.
        directly: of a place, whether without a plate or bowl.
    """

    name: str
    role: Role = Role.THING
    count: int = 0
    adds: bool = False
    only: bool = False
    sliced: bool = False
    clean: bool = False
    cooked: bool = False
    toasted: bool = False
    water: bool = False
    clause: int = 0
    swapped: bool = False
    everything: bool = False
    directly: bool = False


def said_by_the_person(dialogue: str) -> str:
    """What the Commander says; all of it where nobody is named."""
    turns = _TURN.findall(dialogue)
    if not turns:
        return dialogue
    return " . ".join(words for speaker, words in turns if speaker.casefold() == "commander")


class Reader:
    """Reads one request.

    Attributes:
        mentions: what it names, in order.
        unknown: nouns after a number, "a", "no" or "add" that no program knows.
    """

    def __init__(self, text: str, vocabulary: ProgramVocabulary | None = None) -> None:
        """Reads it.

        Args:
            text: a dialogue or an instruction.
            vocabulary: None = the shipped one.
        """
        self._vocabulary = vocabulary or default_vocabulary()
        said = said_by_the_person(text).lower().replace("\u2019", "'")
        self._tokens: list[str] = _TOKEN.findall(_OWNERS.sub("", said))
        self.mentions: list[Mention] = []
        self.unknown: list[str] = []
        self._clause = 0
        self._clear()
        place = 0
        while place < len(self._tokens):
            place += self._step(place)

    @property
    def words(self) -> frozenset[str]:
        """The stems of all words."""
        return frozenset(stem_of(token) for token in self._tokens)

    def _clear(self) -> None:
        """Forgets what was said before the next thing."""
        self._role, self._count, self._adds, self._only = Role.THING, 0, False, False
        self._looks: set[str] = set()
        self._swaps = False
        self._pieces = self._everything = self._directly = self._expects = False

    def _step(self, place: int) -> int:
        """Reads the words at a place; returns how many."""
        word = self._tokens[place]
        if word in _STOPS or word == ",":
            self._clause += word != ","
            keeps = word == "," and self._role is Role.ABSENT
            self._clear()
            self._role = Role.ABSENT if keeps else Role.THING
            return 1
        if self._tokens[place : place + 2] == ["no", ","]:
            return 1
        if length := self._length(place, _REFUSING):
            wanted = self._tokens[place + length : place + length + 1] == ["forget"]
            self._begin(Role.THING if wanted else Role.ABSENT)
            self._adds = wanted
            return length + 1
        if word in _SWAPPING:
            self._begin(Role.REPLACED)
            self._swaps = True
            return 1
        for group, role in ((_INSTEAD, Role.REPLACED), (_NO, Role.ABSENT)):
            if length := self._length(place, group):
                self._begin(role)
                self._expects = word == "no"
                return length
        if length := self._length(place, _ADD):
            self._begin(Role.THING)
            self._adds = True
            if self._tokens[place + length - 1] in _ONE_MORE:
                self._count, self._expects = 1, True
            return length
        if word in ("on", "in") and place and self._tokens[place - 1] in _SWITCHING:
            return 1
        return self._raised(place) or self._noun(place) or self._word(word)

    def _raised(self, place: int) -> int:
        """Reads "to four slices" after a thing, as in "raise the lettuce to four slices"."""
        to, number, *rest = [*self._tokens[place : place + 3], "", ""]
        if to != "to" or not self.mentions or not (number in NUMBERS or number.isdecimal()):
            return 0
        count, pieces = NUMBERS.get(number) or int(number[:6]), rest[0] in _PIECES
        last = self.mentions[-1]
        self.mentions[-1] = replace(last, count=count, sliced=last.sliced or pieces)
        return 2 + pieces

    def _begin(self, role: Role) -> None:
        self._clear()
        self._role = role

    def _word(self, word: str) -> int:
        """A word that is not a thing."""
        if word in NUMBERS or word.isdecimal():
            if self._role in (Role.ABSENT, Role.PLACE):
                self._begin(Role.THING)
            self._count, self._expects = NUMBERS.get(word) or int(word[:6]), True
        elif word in _ARTICLES:
            if self._role is Role.ABSENT and not self._expects:
                self._begin(Role.THING)
            self._count, self._expects = self._count or 1, True
        elif word in _PLACES:
            self._place(word)
        elif word in _RESET:
            self._begin(Role.THING)
            self._only = word in _ONLY
            self._adds = word == "bring"
            self._looks |= {"clean"} if word in ("clean", "wash") else set()
        elif word == "more":
            self._adds = True
        elif word in _ALL:
            self._everything = True
        elif word in _PIECES:
            self._pieces = True
        elif word in _LOOKS:
            self._looks.add(word)
        elif word in _DIRECTLY:
            self._directly = True
        elif word not in _DETERMINERS:
            if self._expects and word.isalpha() and word not in _NO_THINGS:
                self.unknown.append(word)
            self._expects = False
            self._count *= word not in _NO_THINGS
        return 1

    def _place(self, word: str) -> None:
        everything, directly = self._everything, self._directly
        if word == "to" and self.mentions and self.mentions[-1].clause != self._clause:
            return
        role = self._role if self._role is Role.REPLACED else Role.PLACE
        self._clear()
        self._role, self._everything, self._directly = role, everything, directly

    def _noun(self, place: int) -> int:
        """Notes the longest known noun at a place; returns how many words it has, 0 = none."""
        before = self._tokens[place - 1] if place else "."
        if (
            before in _STOPS | _BEFORE_VERBS
            and set(self._tokens[place + 1 : place + 2]) & _AFTER_VERBS
        ):
            return 0
        if self._tokens[place] in _LOOKS | _RESET | _PLACES | _DETERMINERS | _ARTICLES:
            return 0
        for length in range(min(_LONGEST, len(self._tokens) - place), 0, -1):
            name = self._named(self._tokens[place : place + length])
            if name is not None:
                said = self._tokens[place : place + length]
                self._note(name, said, self._tokens[place + length : place + length + 5])
                return length
        return 0

    def _named(self, tokens: Sequence[str]) -> str | None:
        if any(not word.isalpha() for word in tokens) or tokens == ["can"]:
            return None
        said = " ".join(stem_of(word) for word in tokens)
        if said in (COFFEE, f"cup of {COFFEE}", f"mug of {COFFEE}"):
            return COFFEE
        # A sandwich is made of things, as a salad is.
        if said in ("water", "sandwich"):
            return None
        return self._vocabulary.nearest(said) or self._vocabulary.nearest(" ".join(tokens))

    def _note(self, name: str, said: Sequence[str], after: Sequence[str]) -> None:
        sliced = self._pieces or name.endswith(SLICED) or bool(set(after[:1]) & _PIECES)
        water = "water" in after[:4] and after[0] in ("of", "filled", "with", "full")
        self.mentions.append(
            Mention(
                name,
                self._role,
                self._count,
                adds=self._adds,
                only=self._only,
                sliced=sliced,
                clean=bool(self._looks & _CLEAN),
                cooked=bool(self._looks & _COOKED),
                toasted="toast" in map(stem_of, said),
                water=water,
                swapped=self._swaps,
                clause=self._clause,
                everything=self._everything,
                directly=self._directly,
            )
        )
        role, adds = self._role, self._adds
        self._clear()
        if role is Role.ABSENT:
            self._role = role
        self._adds = adds

    def _length(self, place: int, group: frozenset[tuple[str, ...]]) -> int:
        following = tuple(self._tokens[place : place + _LONGEST])
        for length in range(len(following), 0, -1):
            if following[:length] in group:
                return length
        return 0


def family(name: str) -> str:
    """What slices and the whole have in common: `Tomato` of `TomatoSliced`."""
    return name.removesuffix(SLICED)


def as_slices(mention: Mention) -> Mention:
    """The mention of a class that exists: the slices where it means slices."""
    name = family(mention.name) + SLICED
    known = default_vocabulary().by_name
    return replace(mention, name=name) if mention.sliced and name in known else mention


# What people say: dialogues in the form of the paper, and answers to the question at the end.

COMMANDER, DRIVER = "<Commander>", "<Driver>"
# Longer ones are cut: what a person says at the end fits, and a prompt stays readable by a model.
MAX_CHARACTERS = 6000
QUESTION = "I have finished. Are you satisfied, or did I miss something?"
_DIALOGUE_TURN = re.compile(r"\n(?=(?:Question|Answer): )")
_DIALOGUE_TAG = re.compile(r"<(Commander|Driver)>", re.IGNORECASE)
_MARKS = re.compile(r"[^\w\s']")
# The whole answer is one or two of these.
_DONE = frozenset(
    {
        "done", "all done", "yes", "yes done", "yes thanks", "yes thank you", "yes satisfied",
        "satisfied", "i am satisfied", "i'm satisfied", "thanks", "thank you", "perfect", "great",
        "good", "good job", "well done", "nothing", "nothing missing", "nothing else", "no nothing",
        "that is all", "that's all", "that is it", "all good", "fine", "yes all done", "looks good",
        "everything is done", "you are done", "you're done", "task is done", "the task is done",
    }
)  # fmt: skip


def as_dialogue(instruction: str) -> str:
    """An instruction as a dialogue on one line: `<Commander> ... <Driver> ...` (HELPER-D41).

    An instruction alone stays as it is. The questions and answers that `/instruct` appends are
    turns of both, after one of the Commander. It is cut at `MAX_CHARACTERS`.
    """
    first, *more = _DIALOGUE_TURN.split(instruction)
    text = one_line(first)
    if more and not _DIALOGUE_TAG.match(text):
        text = f"{COMMANDER} {text}"
    text = _DIALOGUE_TAG.sub(lambda tag: f"<{tag[1].capitalize()}>", text)
    for turn in more:
        kind, _, words = turn.partition(": ")
        text += f" {DRIVER if kind == 'Question' else COMMANDER} {_without_tags(words)}"
    return text[:MAX_CHARACTERS]


def answered_before(instruction: str) -> str | None:
    """The answer to the question at the end, where `/instruct` was given it; None if it was not.

    Without somebody to ask during a task, a client sends it again with question and answer.
    """
    *_, asked, said = ("", "", *_DIALOGUE_TURN.split(instruction))
    if asked != f"Question: {QUESTION}":
        return None
    return said.removeprefix("Answer: ")


def as_feedback(question: str, answer: str) -> str:
    """The answer to the question at the end, as a new input of the planner (HELPER-2.4)."""
    return f"{DRIVER} {_without_tags(question)} {COMMANDER} {_without_tags(answer)}"[
        :MAX_CHARACTERS
    ]


def is_done(answer: str) -> bool:
    """Whether an answer says that nothing is missing; anything else says what is."""
    clauses = re.split(r"[.,;!]+", one_line(answer).casefold())
    words = [" ".join(_MARKS.sub(" ", clause).split()) for clause in clauses]
    said = [clause for clause in words if clause]
    return bool(said) and all(clause in _DONE for clause in said)


def _without_tags(words: str) -> str:
    """Words of one turn: they cannot begin another."""
    return one_line(_DIALOGUE_TAG.sub(" ", words))
