"""Conditions, exceptions, prohibitions, alternatives and occasions."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.cross_reading.chunks import Chunk
from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.closed_words import (
    CONDITIONS,
    NEGATIVE,
    NUMBERS,
    ORIGINS,
    RELATIONS,
    word_set,
)
from planner.language.cross_reading.consistency import plain
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import chunks_for, kinds_match, words_of
from planner.language.cross_reading.occurrences import GoalFacts, Role
from planner.language.goal_form import Leave, Never, Prepare
from planner.language.reading import AskReason

_ALTERNATIVE = word_set("or either whichever otherwise alternatively else")
_EXCEPTING = (
    ("except",), ("except", "for"), ("apart", "from"), ("aside", "from"), ("other", "than"),
    ("excluding",), ("besides",), ("save", "for"), ("but", "not"), ("everything", "but"),
)  # fmt: skip
_SPARING = word_set(
    "but except apart aside other besides without exception save instead bar excluding minus"
)
_PRONOUNS = word_set(
    "it they them one ones that so any there those these some not yes necessary needed"
)
_SINGLE_PEOPLE = word_set("me myself alone us both couple")
_HARMLESS = word_set(
    "forget mind worry hesitate matter bother care you we i know think need want rush"
)


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """What restricts the requests."""
    yield from _conditions(text, goal)
    yield from _exceptions(text, goal)
    yield from _prohibitions(text, goal)
    yield from _alternatives(text, goal)
    yield from _occasions(text, goal)
    yield from _left(text, goal)


def _whole(text: TextFacts, subject: Subject, reason: AskReason) -> Contradiction:
    return Contradiction(subject, (text.text.strip(),), reason)


def _conditions(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    conditional = [item for _, item in goal.requests if item.only_if or item.unless]
    if conditional and text.vocabulary.isdisjoint(CONDITIONS):
        yield _whole(text, Subject.CONDITION, AskReason.DONE)
    for occurrence in goal.occurrences:
        if occurrence.role is not Role.CONDITION:
            continue
        found = chunks_for(text, occurrence.description.kind)
        if found and not any(_is_conditional(text, chunk) for chunk in found):
            words = tuple(text.quoted(chunk) for chunk in found)
            yield Contradiction(Subject.CONDITION, words, AskReason.DONE)
    for clause in text.clauses:
        if clause.subordinator not in ("if", "unless") or conditional:
            continue
        things = [c for c in text.chunks if clause.start <= c.start < clause.end]
        words = text.words[clause.start : clause.end]
        stated = {"is", "are", "has", "have", "there"} & set(words)
        if things and things[0].start - clause.start <= 2 and stated and "'s" not in words:
            yield Contradiction(Subject.CONDITION, (text.quoted(things[0]),), AskReason.DONE)


def _is_conditional(text: TextFacts, chunk: Chunk) -> bool:
    clause = text.clause(chunk.start)
    words = set(text.words[clause.start : clause.end])
    if words & (CONDITIONS | {"same", "goes", "also"}):
        return True
    # "Wash the cup if it is dirty", "Is my jacket there? If so, bring it".
    return any(
        word in ("if", "unless", "when", "whenever", "otherwise")
        and _PRONOUNS & set(text.words[i + 1 : i + 3])
        for i, word in enumerate(text.words)
    )


def _exceptions(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    spared = [
        o for o in goal.occurrences
        if o.role is Role.EXCEPTION or isinstance(goal.requests[o.request][1], Leave | Never)
    ]  # fmt: skip
    things = [plain(o.description) for o in goal.occurrences if o.role is Role.THING]
    # What another request is about is left out without a word for it.
    excepted = [
        o for o in spared if o.role is Role.EXCEPTION and plain(o.description) not in things
    ]
    if excepted and text.vocabulary.isdisjoint(_SPARING | NEGATIVE):
        words = tuple(w for o in excepted for w in words_of(text, o.description))
        yield Contradiction(Subject.EXCEPTION, words, AskReason.WHICH)
    for at in range(len(text.words)):
        for phrase in _EXCEPTING:
            if text.words[at : at + len(phrase)] != phrase:
                continue
            behind = [c for c in text.chunks if at + len(phrase) <= c.start <= at + len(phrase) + 1]
            if not behind or text.has_correction:
                continue
            if text.clause(at).subject == "i" or text.words[0] == "i":
                continue  # "I'm all packed apart from the brush" asks for nothing.
            if not any(kinds_match(behind[0], o.description.kind) for o in spared):
                words = (text.quoted(behind[0]),)
                yield Contradiction(Subject.EXCEPTION, words, AskReason.WHICH)
    yield from _places_of_exceptions(text, goal)


def _places_of_exceptions(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "All lamps but the desk lamp in the hall": whose place is it?"""
    for occurrence in goal.occurrences:
        if occurrence.role is not Role.EXCEPTION or occurrence.owner is None:
            continue
        for chunk in chunks_for(text, occurrence.description.kind):
            at = text.chunks.index(chunk) + 1
            place = text.chunks[at] if at < len(text.chunks) else None
            if place is None or place.preposition not in RELATIONS or place.preposition in ORIGINS:
                continue
            if place.start - len(place.preposition) != chunk.end:
                continue
            owned = any(
                o.owner is occurrence.owner and o.role is Role.WHERE
                and o.description.kind in place.kinds for o in goal.occurrences
            )  # fmt: skip
            earlier = [c for c in text.chunks[:at] if c.preposition == place.preposition]
            if owned and not earlier and not occurrence.description.where:
                words = (text.quoted(place, with_place=True),)
                yield Contradiction(Subject.ATTACHMENT, words, AskReason.WHICH)


def _prohibitions(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    forbidding = [i for i, (_, item) in enumerate(goal.requests) if isinstance(item, Never | Leave)]
    if forbidding and text.vocabulary.isdisjoint(NEGATIVE):
        yield _whole(text, Subject.EXCEPTION, AskReason.DONE)
    for at, word in enumerate(text.words):
        if word not in ("not", "never") or text.has_correction:
            continue
        if word == "not" and text.words[at - 1 : at] != ("do",):
            continue
        verb = text.words[at + 1] if at + 1 < len(text.words) else ""
        if verb in _HARMLESS or text.words[at - 2 : at - 1] in (
            ("why",),
            ("i",),
            ("we",),
            ("you",),
        ):
            continue
        behind = [c for c in text.chunks if at + 2 <= c.start <= at + 3]
        if not behind or not behind[0].is_marked:
            continue
        spared = [o for i in forbidding for o in goal.occurrences if o.request == i]
        spared += [o for o in goal.occurrences if o.role in (Role.EXCEPTION, Role.CONDITION)]
        if not any(kinds_match(behind[0], o.description.kind) for o in spared) and not _is_later(
            text
        ):
            words = (text.quoted(behind[0]),)
            yield Contradiction(Subject.EXCEPTION, words, AskReason.DONE)


def _is_later(text: TextFacts) -> bool:
    return not {"until", "till", "before", "unless", "yet", "on", "running", "open"}.isdisjoint(
        text.vocabulary
    )


def _alternatives(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    either = [o for o in goal.occurrences if o.alternative]
    told = _ALTERNATIVE | {"if", "failing", "close", "nearby", "from"}
    if either and text.vocabulary.isdisjoint(told):
        words = tuple(w for o in either for w in words_of(text, o.description))
        yield Contradiction(Subject.ALTERNATIVE, words, AskReason.WHICH)
    if either or text.has_correction or not text.vocabulary.isdisjoint(NEGATIVE | CONDITIONS):
        return
    for first, second in zip(text.chunks, text.chunks[1:], strict=False):
        if text.words[first.end : second.start] == ("or",) and first.is_marked:
            named = [
                o for o in goal.occurrences if {o.description.kind} & (first.kinds | second.kinds)
            ]
            if len({o.description.kind for o in named}) > 1:
                words = (text.quoted(first), text.quoted(second))
                yield Contradiction(Subject.ALTERNATIVE, words, AskReason.WHICH)


def _occasions(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    spoken = {NUMBERS.get(word, int(word[:4]) if word.isdecimal() else 0) for word in text.words}
    for _, item in goal.requests:
        if not isinstance(item, Prepare):
            continue
        if item.people is None:
            for at, word in enumerate(text.words[:-1]):
                number = text.words[at + 1]
                if word == "for" and (number in NUMBERS or number.isdecimal()):
                    words = (text.quote(at, at + 2),)
                    yield Contradiction(Subject.OCCASION, words, AskReason.DONE)
        elif item.people not in spoken and text.vocabulary.isdisjoint(_SINGLE_PEOPLE):
            yield _whole(text, Subject.OCCASION, AskReason.DONE)


def _left(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "Leave two cups on the table and take the others": those two are not to be moved."""
    if any(isinstance(item, Leave | Never) for _, item in goal.requests):
        return
    if any(o.role is Role.EXCEPTION for o in goal.occurrences):
        return
    for clause in text.clauses:
        if clause.verb == "leave" and {"others", "rest", "other"} & text.vocabulary:
            words = (text.quote(clause.verb_at, clause.end),)
            yield Contradiction(Subject.EXCEPTION, words, AskReason.DONE)
