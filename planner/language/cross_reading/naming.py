"""Which things: nouns of the goal that no word names, and nouns of commands that the goal lacks."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.cross_reading.chunks import Chunk
from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.closed_words import DEFINITE, POSSESSIVE, STATE_WORDS, word_set
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import chunks_for, kinds_match
from planner.language.cross_reading.meanings import is_room, meaning
from planner.language.cross_reading.occurrences import GoalFacts
from planner.language.goal_form import Make, Never, Prepare
from planner.language.lexicon import default_lexicon
from planner.language.plurals import plural_of
from planner.language.reading import AskReason
from planner.language.words import GENERIC_KINDS

_ANYTHING = word_set(
    "everything anything whatever something all any things thing stuff what whichever those "
    "these nothing items objects item object belongings clutter mess rest empty clear unload "
    "it them"
)
_BIN_WORDS = word_set(
    "throw throwing away bin trash garbage rid toss chuck discard dispose dump rubbish ditch out"
)


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """Nouns of the goal against those of the text, and the other way round."""
    yield from _unsaid(text, goal)
    yield from _unsaid_states(text, goal)
    yield from _dropped(text, goal)
    yield from _owned(text, goal)


def _unsaid(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    for occurrence in goal.occurrences:
        kind = occurrence.description.kind
        if not _is_said(text, kind) and not _has_unknown_noun(text):
            yield Contradiction(Subject.THING, (text.text.strip(),), AskReason.WHAT)


def _is_said(text: TextFacts, kind: str) -> bool:
    if kind in GENERIC_KINDS:
        words = _ANYTHING if kind != "floor" else frozenset({"floor", "ground", "floors"})
        return kind in text.vocabulary or not words.isdisjoint(text.vocabulary)
    if chunks_for(text, kind) or text.has(kind) or text.has(plural_of(kind)):
        return True
    if kind == "trash can":
        return not _BIN_WORDS.isdisjoint(text.vocabulary)
    spoken = {word for chunk in text.chunks for name in chunk.kinds for word in name.split()}
    return set(kind.split()) <= spoken | text.vocabulary | {
        plural.removesuffix("s") for plural in text.vocabulary
    } or _same_class(text, kind)


def _has_unknown_noun(text: TextFacts) -> bool:
    """Whether some noun is not in the catalogue, so that it may be what is meant ("telly")."""
    inside = {i for chunk in text.chunks for i in range(chunk.start, chunk.end)}
    return any(
        word in DEFINITE | POSSESSIVE
        and i not in inside
        and text.words[i + 1 : i + 2] != ("other",)
        for i, word in enumerate(text.words)
        if word not in ("this", "that", "these", "those", "her")
    )


def _same_class(text: TextFacts, kind: str) -> bool:
    meant = meaning(kind)
    if meant is None:
        return False
    for chunk in text.chunks:
        for name in chunk.kinds:
            found = meaning(name)
            if found is not None and (found.objects | found.furniture) & (
                meant.objects | meant.furniture
            ):
                return True
    return False


def _unsaid_states(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """A state that is to be reached, and no word that means it."""
    for i, (_, item) in enumerate(goal.requests):
        states = item.states if isinstance(item, Make | Never) else ()
        for state in states:
            base = "filled" if state.startswith("filled with") else state
            words = STATE_WORDS.get(base)
            if base != state and text.vocabulary & {"pour", "put", "some", "brew", "make", "give"}:
                continue
            if words is None or not words.isdisjoint(text.vocabulary):
                named = state.removeprefix("filled with ")
                if base == state or named in text.vocabulary or state == "filled with water":
                    continue
                if any(named in chunk.kinds for chunk in text.chunks) or named + "s" in state:
                    continue
            found = tuple(
                text.quoted(c) for o in goal.things(i) for c in chunks_for(text, o.description.kind)
            )
            yield Contradiction(Subject.STATE, found or (text.text.strip(),), AskReason.DONE)


def _dropped(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """A noun directly behind a verb of command that is nowhere in the goal."""
    if text.has_correction:
        return
    used = [o.description for o in goal.occurrences]
    for chunk in text.chunks:
        clause = text.clause(chunk.start)
        if not (chunk.is_marked and clause.verb and clause.verb_at < chunk.start):
            continue
        if clause.subordinator or clause.negated or clause.verb in _PASSING:
            continue
        if clause.subject == "i" or _STATING & set(text.words[clause.start : clause.end]):
            continue
        if chunk.preposition and chunk.preposition[0] in _LOOSE:
            continue
        if any(kinds_match(chunk, it.kind) or _covers(chunk, it.kind) for it in used):
            continue
        if any(isinstance(item, Prepare) for _, item in goal.requests):
            continue
        if _is_idiom(text, goal, chunk):
            continue
        yield Contradiction(Subject.THING, (text.quoted(chunk),), AskReason.DONE)


_PASSING = word_set("help let remember forget make have try tell say use want need go")
_STATING = word_set("is are was were must 's has")
_LOOSE = word_set("of for with without about than like as until during")
_IDIOMS = word_set(
    "favour favor wash wipe clean water light hand dust power drink scrub rinse laundry"
)


def _covers(chunk: Chunk, kind: str) -> bool:
    """Whether a kind of the goal is another word for a noun, or has it as a part."""
    meant = meaning(kind)
    for name in chunk.kinds:
        if set(name.split()) & set(kind.split()):
            return True
        found = meaning(name)
        if (
            found
            and meant
            and (found.objects | found.furniture | found.rooms)
            & (meant.objects | meant.furniture | meant.rooms)
        ):
            return True
    return False


def _is_idiom(text: TextFacts, goal: GoalFacts, chunk: Chunk) -> bool:
    """Whether a noun says what is done, not to what: "some milk", "into slices"."""
    states = {
        word
        for _, item in goal.requests
        for state in (item.states if isinstance(item, Make | Never) else ())
        for word in (*state.split(), *STATE_WORDS.get(state, ()))
    }
    words = {*text.words[chunk.head : chunk.end], *(w for k in chunk.kinds for w in k.split())}
    return bool(words & (states | _IDIOMS))


def _owned(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "The dog's bowl" is a dog bowl, if there are such things."""
    for chunk in text.chunks:
        if (
            text.words[chunk.start] != "'s"
            or not chunk.start
            or is_room(text.words[chunk.start - 1])
        ):
            continue
        name = f"{text.words[chunk.start - 1]} {' '.join(text.words[chunk.head : chunk.end])}"
        if default_lexicon().at(name.split(), 0) is None or not _is_kind(name):
            continue
        if not any(o.description.kind == name for o in goal.occurrences):
            yield Contradiction(Subject.THING, (text.quoted(chunk),), AskReason.WHICH)


def _is_kind(name: str) -> bool:
    match = default_lexicon().at(name.split(), 0)
    return match is not None and match.length == len(name.split())
