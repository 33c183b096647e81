"""Where: what is moved and where to, which relation, and what a place is said of."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.cross_reading.chunks import Chunk
from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.closed_words import RELATIONS, TARGETS, Words, word_set
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import chunks_for
from planner.language.cross_reading.occurrences import GoalFacts, Occurrence, Role
from planner.language.reading import AskReason
from planner.language.tokens import STOPS
from planner.language.words import Relation

# "Turn on the lamp", "take out the trash": not a place.
_PARTICLES = word_set("on off in up down out over to by")
_BEFORE_PARTICLE = word_set(
    "turn turned turning switch switched switching put putting power powered flick flip bring "
    "leave set get keep take took pick start shut dust drop wipe wash hand heat light finish hands "
    "top"
)
_RELATIVE = word_set(
    "where that which who whose there here it them one ones its other others same else this "
    "those these between back inside"
)
_BESIDE = frozenset({Relation.LEFT_OF, Relation.RIGHT_OF})
_SIDES = frozenset({Relation.LEFT_OF, Relation.RIGHT_OF, Relation.BEHIND, Relation.IN_FRONT_OF})
_STATIVE = frozenset({Role.TARGET, Role.WHERE})

_LOOSE_VERBS = word_set("look go see check do wait help start take pour add give make")


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """Prepositions of the text against roles and relations of the goal."""
    if text.has_correction:
        return
    yield from _wrong_roles(text, goal)
    yield from _wrong_relations(text, goal)
    yield from _wrong_owners(text, goal)


def place_word(text: TextFacts, chunk: Chunk) -> Words:
    """The preposition that makes a noun a place, its own or that of the list it is in."""
    at = text.chunks.index(chunk)
    while at >= 0:
        found = text.chunks[at]
        if found.preposition:
            if found.preposition not in RELATIONS:
                return ()
            return () if _is_particle(text, found) else found.preposition
        if not found.joined:
            return ()
        at -= 1
    return ()


def _is_particle(text: TextFacts, chunk: Chunk) -> bool:
    """Whether what looks like a preposition belongs to the verb: "switch off the lamps"."""
    if len(chunk.preposition) != 1 or chunk.preposition[0] not in _PARTICLES:
        return False
    before = text.words[chunk.start - 2] if chunk.start >= 2 else ""
    return before in _BEFORE_PARTICLE


def _wrong_roles(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """What stands behind a preposition is a place; what stands directly behind a verb is not."""
    for occurrence in goal.occurrences:
        found = chunks_for(text, occurrence.description.kind)
        if not found or occurrence.mentioned or occurrence.alternative:
            continue
        if occurrence.role is Role.THING and all(
            _is_surely_place(text, c) for c in (*found, *_short_for(text, occurrence))
        ):
            words = tuple(text.quoted(c, with_place=True) for c in found)
            yield Contradiction(Subject.PLACE, words, AskReason.WHERE)
        if occurrence.role is Role.TARGET and (
            all(_is_surely_thing(text, c) for c in found)
            or (occurrence.relation in _SIDES and _is_sided(text, found))
        ):
            words = tuple(text.quoted(c) for c in found)
            yield Contradiction(Subject.PLACE, words, AskReason.WHERE)


def _short_for(text: TextFacts, occurrence: Occurrence) -> list[Chunk]:
    """Nouns that may stand for the same thing: "the table" after "the dining table"."""
    kind = occurrence.description.kind
    return [c for c in text.chunks if any(kind.endswith(f" {name}") for name in c.kinds)]


def _is_sided(text: TextFacts, found: tuple[Chunk, ...]) -> bool:
    """Whether "right of it" follows "left of the plate", and something else was taken for "it"."""
    sided = [
        c for c in text.chunks
        if c.preposition in RELATIONS and RELATIONS[c.preposition] & _SIDES and c not in found
    ]  # fmt: skip
    return bool(sided) and "it" in text.vocabulary and all(not c.preposition for c in found)


def _is_surely_place(text: TextFacts, chunk: Chunk) -> bool:
    """Whether a noun behind a preposition cannot be what is moved or changed."""
    if not chunk.preposition or chunk.preposition not in RELATIONS or _is_particle(text, chunk):
        return False
    clause = text.clause(chunk.start)
    rest = text.words[chunk.end :]
    if not clause.verb or clause.verb_at > chunk.start:
        return False
    # "Go to the fridge and close it": taken up again.
    return not {"it", "them", "that", "those", "one", "ones", "both", "which"} & set(rest) and (
        clause.verb not in _LOOSE_VERBS
    )


def _is_surely_thing(text: TextFacts, chunk: Chunk) -> bool:
    """Whether a noun is directly behind a verb of moving."""
    clause = text.clause(chunk.start)
    if not clause.verb or clause.verb in _FILLING or clause.subordinator:
        return False
    at = clause.verb_at + 1
    while at < chunk.start and text.words[at] in ("down", "up", "out", "me", "over", "away"):
        at += 1
    rest = set(text.words[chunk.end :])
    return at == chunk.start and not chunk.preposition and not rest & _RELATIVE


_FILLING = word_set(
    "load fill pack clear empty unload reach leave enter tidy set lay stack use find want "
    "need have visit make line decorate furnish stock let give hand show"
)


def _wrong_relations(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "Under the table" is not on it."""
    for occurrence in goal.occurrences:
        if occurrence.role not in _STATIVE or occurrence.relation is None or occurrence.mentioned:
            continue
        found = chunks_for(text, occurrence.description.kind)
        words = [place_word(text, chunk) for chunk in found]
        if not found or not all(words):
            continue
        if any(_relation_fits(occurrence, word) for word in words):
            continue
        if _is_said_of_pronoun(text, occurrence.relation):
            continue
        quotes = tuple(text.quoted(chunk, with_place=True) for chunk in found)
        yield Contradiction(Subject.PLACE, quotes, AskReason.WHERE)


def _relation_fits(occurrence: Occurrence, word: Words) -> bool:
    relation = occurrence.relation
    if relation in RELATIONS[word]:
        return occurrence.role is not Role.WHERE or word not in TARGETS or word == ("to",)
    # "In the shelf" and "on the fridge" are loose speech; "at" leaves it open.
    loose = {Relation.ON_TOP, Relation.IN, Relation.AT}
    return (
        relation in loose
        and bool(loose & RELATIONS[word])
        and len(word) == 1
        and (word[0] in ("to", "from", "at", "off"))
    )


def _is_said_of_pronoun(text: TextFacts, relation: Relation) -> bool:
    """As in "The fork left of the plate, the knife to its right"."""
    if relation in _BESIDE and {"left", "right"} <= text.vocabulary:
        return True  # "On the right of the plate, and the fork on the left".
    if not {"it", "its", "them", "their", "there"} & text.vocabulary:
        return False
    return any(
        phrase[-1 if phrase[-1] not in ("of", "to") else 0] in text.vocabulary
        for phrase, meant in RELATIONS.items()
        if relation in meant
    )


def _wrong_owners(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """A place is said of the noun before it, in the same clause."""
    for occurrence in goal.occurrences:
        owner = occurrence.owner
        if occurrence.role is not Role.WHERE or owner is None or occurrence.mentioned:
            continue
        places = chunks_for(text, occurrence.description.kind)
        owners = chunks_for(text, owner.kind)
        if not places or not owners:
            continue
        if any(_may_own(text, o, p) for o in owners for p in places):
            continue
        words = tuple(text.quoted(chunk) for chunk in (*owners, *places))
        yield Contradiction(Subject.ATTACHMENT, words, AskReason.WHICH)


def _may_own(text: TextFacts, owner: Chunk, place: Chunk) -> bool:
    """Whether a place may be said of a noun: behind it, or first in the sentence."""
    if owner is place or (owner.room and owner.room in place.kinds):
        return True
    gap = " ".join(text.words[min(owner.end, place.end) : max(owner.start, place.start)])
    between = gap.replace("after that", "then").split()
    if set(between) & _RELATIVE_BETWEEN or not text.vocabulary.isdisjoint(_TAKING_UP):
        return True
    if text.clause(place.start).verb == "help" or {"too", "also", "well"} & text.vocabulary:
        return True
    if ":" in between or _ONES & set(text.words[max(0, place.start - 2) : place.end + 1]):
        return True
    if place.start < owner.start and _SENTENCE & set(between) and not _is_of_other(text, place):
        return True  # "Help me in the hall. Put the cup on the table."
    clause = text.clause(place.start)
    if place.start > owner.start:
        same = text.clause_index(owner.start) == text.clause_index(place.start)
        return same or not clause.verb or clause.verb_at > place.start
    # "In the kitchen there is a cup": the place comes first.
    return place.start - len(place.preposition) <= clause.start + 2 or clause.verb in ("go",)


def _is_of_other(text: TextFacts, place: Chunk) -> bool:
    """Whether a room is said of the noun before it: "the box in the office"."""
    at = text.chunks.index(place)
    before = text.chunks[at - 1] if at else None
    return (
        before is not None
        and before.end == place.start - len(place.preposition)
        and place.preposition == ("in",)
    )


_TAKING_UP = word_set("there here it them which where they")
_SENTENCE = STOPS - {"-", "--", "(", ")", ":"}
_ONES = frozenset({"one", "ones", "other"})
_RELATIVE_BETWEEN = _RELATIVE - {"one", "other", "others"}
