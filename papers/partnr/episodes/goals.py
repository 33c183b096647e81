"""Derives goals of PARTNR's instructions from their wording and initial state."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise

from pydantic import JsonValue

from papers.partnr.episodes.goal_checks import checked
from papers.partnr.episodes.goal_conventions import as_partnr_means
from papers.partnr.episodes.goal_propositions import UnclearError
from planner.episodes.lint.goal import task_types
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import asked_open, asked_word
from planner.grounding.grounder import Binder
from planner.grounding.scene import Scene
from planner.language.goal_form import Goal
from planner.language.interpretation import interpret
from planner.language.lexicon import Part, default_lexicon
from planner.language.reading import (
    STOPS,
    AlreadyTrue,
    Ask,
    AskReason,
    Impossible,
    NotUnderstood,
    Reading,
    Token,
    tokens_of,
)
from planner.language.remarks import known
from planner.language.verbs import Form, verb_words, verbs_at
from planner.world.catalogue import default_catalogue
from planner.world.vocabulary import EntityKind

# The wording of PARTNR's instructions, before it is read as English: slips, and what they mean.

_BESIDE = re.compile(r"^(?:right )?next to .+ and (?P<article>the|an|a) ", re.IGNORECASE)
_ROOM_FIRST = re.compile(r"^in the (?P<place>[a-z ]+)$", re.IGNORECASE)
_REMARKS = ("i am", "they were", "it was", "what a", "anywhere is fine")
# Even if things are named: the speaker's thoughts, which no request depends on.
_THOUGHTS = ("i am pretty sure", "i am sure", "i want to learn", "i want to know")
_COUNTED = re.compile(r"there should be \w+ of (?:them|these|those)[.!]?\s*", re.IGNORECASE)
# What something is for, and what goes on by itself: "for chilled water", "while the tea brews".
_ASIDES = re.compile(
    r" for (?!(?:the|a|an|my|our|me|us|you)\b)(?:[a-z]+ )?[a-z]+(?= on | in |[.?!])"
    r"| while the [a-z]+ [a-z]+s(?=[.?!])"
)
# What is only said to announce what the next sentences ask for.
_ANNOUNCED = re.compile(
    r"(?:^|(?<=[.?!] )|(?<=[.?!]  ))(?:first, )?(?:can you )?help me move "
    r"(?:these|those|some|my) (?:objects|items|things|toys)(?: and an? [a-z]+)?"
    r"(?: around| from [^.?!:,]*?(?= to |[.?!])| to the (?P<place>[a-z ]+))*[.?!] +(?=\w)",
    re.IGNORECASE,
)
_TIDY = r"(?:set|tidy|clean|organi[sz]e|prepare|create)"
# What the rest is about: "prepare the dining table. Put the tray on the table".
_PREPARED = re.compile(
    rf"^(?:help me )?(?:{_TIDY}|tidy up|set up|clean up) the (?P<which>[a-z ]+) "
    r"(?P<noun>table|desk|counter|bench|couch)(?: for [a-z ]+)?\. +",
    re.IGNORECASE,
)
# What would be read otherwise than it is meant: near is said twice.
_TWICE_NEAR = re.compile(r"\b(next to (?:it|them)) close by\b", re.IGNORECASE)
# Other ways of these instructions to say something, and how it is read.
_REWORDED = tuple(
    (re.compile(pattern, re.IGNORECASE), plainly)
    for pattern, plainly in (
        (r"\\(?=,)|```", ""),
        (r"\bpieces? of (?=bread\b)", ""),
        (r"\bmud room\b", "mudroom"),
        (r"\bnight stand\b", "nightstand"),
        (r"\bwasherdryer\b|\bwasher/dryer\b", "washing machine"),
        (r"\bset(s?) of drawers\b", r"chest\1 of drawers"),
        (
            r"(?<!toy )(?<!storage )(?<!blanket )(?<!drawer )\bchest(s?)\b(?! of)",
            r"chest\1 of drawers",
        ),
        (r"\bto (?:the )?top of the drawers\b", "onto the chest of drawers"),
        (r"\bbedroom drawers?\b", "bedroom chest of drawers"),
        # The scene's tables are not those of the house that is made to fit.
        (r"\b(?:white|glass|wooden|large oak|oak|round) (?=tables?\b)", ""),
        (r"\bworkout/gym/exercise(?: room)?\b", "gym"),
        (r"\boffice room (?=table)", "office "),
        (r"\blet's start by (?:moving|putting) ", "move "),
        (r"\bhelp me clean my (?:workstation|home office)\. +", ""),
        (r"\borgani[sz]e the (?:[a-z]+ )*(?:desk|table)\. +", ""),
        (r"\bworkout (?=tables?\b|bench|chairs?\b)", "gym "),
        (r"\bbring me (?=[^.?!]* to the )", "bring "),
        (r"\b(?:neatly|together) (?=next to each other|in (?:a|the) )", ""),
        (r"(?<=drawers) together\b|(?<=bedroom) together\b", ""),
        (r"\bto inside (?:of )?the\b", "into the"),
        (
            r"\borgani[sz]e (?=the (?:[a-z]+room|office|kitchen|entryway|hallway|closet|garage)\b)",
            "tidy up ",
        ),
        (r"^tidy up ", "help me tidy up "),
        (rf"^first, (?=(?:help me )?{_TIDY}\b)", ""),
        (r"\bby (putting|placing|moving) ", r". \1 "),
        (r"\b(plac|putt)ing (it|them) by (?=the )", r"\1ing \2 next to "),
        (r"\b(place|put) (it|them) by (?=the )", r"\1 \2 next to "),
        (r"\b(place|put) (the [a-z ]+?) close by(?=[.?!])", r"\1 \2 next to them"),
        (r",? close by(?=[.?!]| on the )", " next to each other"),
        (r"\b(move|bring|take) (it|them) in (?=the )", r"\1 \2 to "),
        (r"\bfrom (cabinet|table|shelf) \d+\b", r"from the \1"),
        (r" at each setting(?= on the table)", ""),
        (
            (
                r"\bset the table (?:for +people )?in the ([a-z ]+?) with +"
                r"([a-z]+, +[a-z]+, +and +[a-z]+) at each setting\b"
            ),
            r"place \2 on the table in the \1",
        ),
        (r"\ball the table settings\b", "all of them"),
        # A bowl next to a spoon, a fork next to a plate on the table: all of it is there.
        (
            (
                r"\b(place|put) (an? [a-z]+ next to an? [a-z]+), (an? [a-z]+ next to an? [a-z]+) "
                r"(on the table)\b"
            ),
            r"\1 \2 \4 and put \3 \4",
        ),
        (
            r"\b((?:place|put) [^.?!]+?) (on [^.?!]*next to each other)\. include ([^.?!]+)\.",
            r"\1, and \3 \2.",
        ),
        (r"\b(place +[a-z]+, +[a-z]+, and +[a-z]+) at each setting\b", r"\1 on the table"),
        (r" out of the way(?= in | on )", ""),
        (r"^things in the [a-z ]+ need to be put away\. +", ""),
        (r"^move (the [a-z ]+?) on (the (?:(?! to )[a-z ])+\.)$", r"put \1 on \2"),
        (r"\bmove ([^.?!]*?) in (?=a new |another |the other )", r"put \1 in "),
        (r"\b(wash|rinse) (them|it) (?:in the sink|under the tap)", r"\1 \2"),
        (r"\bscrub (them|it) clean\b", r"scrub \1"),
        (r"\bhave them all (?=next to each other on )", "place them all "),
        (
            r"\b(move|take|bring) these (?:items|objects|things)( from [^:.?!]*): ([^.?!]+)",
            r"\1 \3\2",
        ),
    )
)
# "First, move ..." without anything after it.
_ONLY_FIRST = re.compile(
    r"^first, (?!.*\b(?:then|next,|finally|lastly|after|afterwards|now|once)\b)", re.IGNORECASE
)
_ROBOTS_GERUNDS = {". putting ": ". Put ", ". placing ": ". Place ", ". moving ": ". Move "}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def plain(instruction: str, scene: Scene, *, reworded: bool = False) -> str:
    """The text without slips of the pen and without sentences that ask for nothing.

    A word twice in a row is one, a capital verb begins a sentence, two names of the scene's things
    without a comma are two things, and an unknown word is the one word of the scene, or the one
    verb at the beginning of a sentence, that differs in one letter. `reworded`: also without
    announcements, and in the words that are read.
    """
    instruction = _which_furniture(_TWICE_NEAR.sub(r"\1", instruction))
    if reworded:
        instruction = _reworded(instruction)
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


def _reworded(text: str) -> str:
    """The text without announcements, in the words that are read."""
    announced = _ANNOUNCED.search(text)
    if announced and _goes_on(text[announced.end() :].lower(), announced["place"]):
        text = text[: announced.start()] + text[announced.end() :]
    for pattern, plainly in _REWORDED:
        text = pattern.sub(plainly, text)
    text = _ONLY_FIRST.sub("", text)
    for said, plainly in _ROBOTS_GERUNDS.items():
        text = text.replace(f" {said}", plainly)
    return text


def _which_furniture(text: str) -> str:
    """The text where "the table" is the dining table that is to be prepared."""
    about = _PREPARED.match(text)
    if about is None:
        return text
    again = re.compile(rf"\bthe (?={about['noun']}\b(?! in\b| of\b))", re.IGNORECASE)
    rest = again.sub(f"the {about['which'].lower()} ", text[about.end() :])
    return text[: about.end()] + rest


def _goes_on(rest: str, place: str | None) -> bool:
    """Whether what follows is about the room that was announced, or names none."""
    known = default_catalogue().rooms.values()
    rooms = {word.replace("_", " ") for cls in known for word in (cls.name, *cls.aliases)}
    if place is None or place.lower() in rest:
        return True
    return place.lower() in rooms and not any(
        re.search(rf"\b{re.escape(room)}\b", rest) for room in rooms
    )


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
            return re.sub(
                rf"({re.escape(words)}) (on the [a-z]+(?: of [a-z]+)?)\b", r"\2 \1", instruction
            )
        if reading.reason is AskReason.WHAT and words == "it":
            return re.sub(r"\bit\b", "them", instruction, count=1)
    return instruction


Evaluation = dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Derivation:
    """The evaluation of an instruction, or the reason why there is none."""

    evaluation: Evaluation | None
    reason: str
    task_types: tuple[str, ...] = ()


def derive(instruction: str, scene: Scene) -> Derivation:
    """The goal of an instruction in a scene, if its words determine it, as they are or reworded."""
    found = _derived(plain(instruction, scene), scene)
    if found.evaluation is None:
        again = _derived(plain(instruction, scene, reworded=True), scene)
        found = again if again.evaluation is not None else found
    return found


def _derived(instruction: str, scene: Scene) -> Derivation:
    reading = interpret(instruction)
    if (other := other_wording(instruction, reading)) != instruction:
        again = interpret(other)
        if isinstance(again, Goal):
            instruction, reading = other, again
    if not isinstance(reading, Goal):
        return Derivation(None, _why(reading))
    try:
        words = [token.word for token in tokens_of(instruction)]
        goal = as_partnr_means(reading, scene, words)
        found = Binder(goal, settle=True, tied=True).update(scene)
        for unbound in found.unbound:
            raise UnclearError(unbound.text)
        if found.evaluation is None or found.criteria is not None:
            raise UnclearError("nothing that an evaluation can say")
        asked = read_evaluation(dict(found.evaluation), "the derived goal").propositions
        for word in (asked_word(p.predicate) for p in asked if asked_open(p.predicate) is not None):
            raise UnclearError(f"PARTNR's goals do not say whether things are {word}.")
        evaluation = checked(goal, found, scene, words)
    except UnclearError as refusal:
        return Derivation(None, str(refusal))
    types = task_types(read_evaluation(evaluation, "the derived goal"))
    return Derivation(evaluation, "", types)


def _why(reading: Reading) -> str:
    """Why a text has no goal."""
    match reading:
        case Ask():
            return f"{reading.reason} is not clear: {_quoted(reading.words)}"
        case NotUnderstood():
            return f"not understood: {_quoted(reading.words)}"
        case AlreadyTrue():
            return f"it is so already: {_quoted(reading.words)}"
        case Impossible():
            return f"{reading.reason}: {_quoted(reading.words)}"
        case _:
            return "nothing is to be done"


def _quoted(words: tuple[str, ...]) -> str:
    return ", ".join(f'"{word}"' for word in words)
