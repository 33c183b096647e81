"""How many: determiners, numbers and plurals of the text against those of the goal."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.cross_reading.chunks import Amounts, Chunk
from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.closed_words import NUMBERS, word_set
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import chunks_for
from planner.language.cross_reading.meanings import meaning
from planner.language.cross_reading.occurrences import GoalFacts, Occurrence, Role
from planner.language.description import Description
from planner.language.reading import AskReason
from planner.language.words import Amount
from planner.world.catalogue import default_catalogue

_ROLES = (Role.THING, Role.TARGET, Role.WHERE)
_PRESENTED = word_set(
    "there found bought left find got saw put is are made dropped spotted noticed"
)
_WISHED = word_set("need want like should must love if not no")
_TAKEN_UP = word_set("it them those that these both")
_UNCOUNTED = word_set(
    "mail bread cheese butter milk rice cereal salt sugar soap detergent paper toast juice water "
    "coffee tea popcorn pasta flour honey jam ketchup mustard bleach chicken salmon"
)
_ONES = word_set("one ones other others another rest remaining same")


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """Each description of a thing against the nouns that could be it."""
    if text.has_correction:
        return
    for occurrence in goal.occurrences:
        it = occurrence.description
        if occurrence.role not in _ROLES or it.other_than or it.elsewhere:
            continue
        found = chunks_for(text, it.kind)
        if not found:
            continue
        looks = {str(look) for look in (it.color, it.material, it.size) if look}
        if all(looks and chunk.looks and not looks & chunk.looks for chunk in found):
            continue  # "The red and the blue cup".
        fitting = [chunk for chunk in found if _fits(text, chunk, it, occurrence)]
        if not fitting and not _has_pronominal_one(text):
            words = tuple(text.quoted(chunk) for chunk in found)
            yield Contradiction(Subject.AMOUNT, words, AskReason.WHICH)


def _has_pronominal_one(text: TextFacts) -> bool:
    """Whether "the red one" or "the others" may stand for the noun."""
    inside = {i for chunk in text.chunks for i in range(chunk.start, chunk.end)}
    return any(word in _ONES and i not in inside for i, word in enumerate(text.words))


def _fits(text: TextFacts, chunk: Chunk, it: Description, occurrence: Occurrence) -> bool:
    looks = {str(look) for look in (it.color, it.material, it.size) if look}
    if looks and chunk.looks and not looks & chunk.looks:
        return False
    thing = occurrence.role is Role.THING
    number = it.count if isinstance(it.count, int) else 0
    if it.each or (it.pick and chunk.plural):
        return True
    if _is_introduced(text, chunk) and thing and not it.definite:
        return it.count is Amount.ALL
    match chunk.amount:
        case Amounts.NUMBER:
            return (
                number == chunk.number
                or _counted_elsewhere(text, chunk)
                or _stands_alone(text, number)
            )
        case Amounts.BOTH:
            return number == 2 or not chunk.plural
        case Amounts.VAGUE:
            return _fits_vague(text, chunk, it)
        case Amounts.EVERY:
            return it.count is Amount.ALL or number > 1 or bool(chunk.number)
        case Amounts.ONE:
            if it.count is Amount.ALL:
                free = (
                    "any" in text.vocabulary and "one" not in text.words[chunk.start : chunk.head]
                )
                return free or (chunk.singular and _is_group(it.kind))
            return number == 1 and not (it.definite and thing and _commanded(text, chunk))
        case Amounts.THE:
            if chunk.number:
                return number in (chunk.number, 0) or _said_again(text, it)
            return _fits_the(text, chunk, it, thing=thing)
        case Amounts.BARE:
            if not chunk.singular and thing and not _named_in_plural(it.kind):
                return it.count is Amount.ALL or number > 1 or chunk.joined
            counted = it.definite or chunk.joined or _named_in_plural(it.kind)
            if thing and number == 1 and not counted:
                return bool({"a", "an", "one", "any", "another"} & text.vocabulary)
            return number <= 1 or _number_elsewhere(text, number)


def _fits_the(text: TextFacts, chunk: Chunk, it: Description, *, thing: bool) -> bool:
    """As in "The cup" is one; "the cups" are all."""
    if chunk.singular and not chunk.plural and it.count is Amount.ALL:
        return _is_group(it.kind) or it.kind in _UNCOUNTED or _all_said(text)
    if chunk.plural and not chunk.singular and thing and not _named_in_plural(it.kind):
        return (
            it.count is Amount.ALL
            or (isinstance(it.count, int) and it.count > 1)
            or bool({"one", "each", "any"} & text.vocabulary)
        )
    if isinstance(it.count, int) and it.count > 1:
        return _number_elsewhere(text, it.count)
    return it.definite or it.count is Amount.ALL or _said_again(text, it)


def _fits_vague(text: TextFacts, chunk: Chunk, it: Description) -> bool:
    words = text.words[chunk.start : chunk.head]
    if "one" in words and "any" in words:
        return it.count == 1
    if chunk.number and chunk.plural and not chunk.singular:
        return it.count == chunk.number or _is_pair(it.kind)
    if "whichever" in words:
        return chunk.singular or it.count is Amount.ALL or it.count != 1
    if "few" in words or "several" in words:
        return it.count is Amount.FEW
    if "some" in words:
        return it.count is not Amount.FEW
    return True


def _is_pair(kind: str) -> bool:
    return kind.endswith("s")


def _named_in_plural(kind: str) -> bool:
    """Whether one thing of a class is said in the plural: "my keys", "the gloves"."""
    catalogue = default_catalogue()
    name = catalogue.object_name(kind) or ""
    names = (name, *catalogue.objects[name].aliases) if name else ()
    if catalogue.furniture_name(kind) is not None:
        names = (kind,)
    return any(word.endswith("s") and not word.endswith("ss") for word in names)


def _is_introduced(text: TextFacts, chunk: Chunk) -> bool:
    """Whether a statement says that something exists, and a pronoun then takes it up."""
    clause = text.clause(chunk.start)
    before = set(text.words[clause.start : chunk.start])
    promised = clause.verb == "find" and "will" in before
    if (clause.verb and not promised) or not (
        _PRESENTED & (before | set(text.words[chunk.end : chunk.end + 1]))
    ):
        return False
    if before & _WISHED or chunk.amount not in (Amounts.ONE, Amounts.NUMBER):
        return False
    return bool(_TAKEN_UP & set(text.words[clause.end :]))


def _commanded(text: TextFacts, chunk: Chunk) -> bool:
    """Whether nothing says that "a cup" exists already: "bring a cup", not "there is a cup"."""
    clause = text.clause(chunk.start)
    if clause.verb_at < 0 or clause.subject == "i" or clause.verb in ("find", "see"):
        return False
    return (
        chunk.amount is Amounts.ONE
        and clause.verb_at < chunk.start
        and "one" not in (text.words[chunk.start : chunk.head])
    )


def _counted_elsewhere(text: TextFacts, chunk: Chunk) -> bool:
    """As in "One of the three cups": the number is how many there are."""
    return "of" in text.words[max(0, chunk.start - 1) : chunk.head]


def _number_elsewhere(text: TextFacts, number: int) -> bool:
    spoken = {word for word, value in NUMBERS.items() if value == number} | {str(number)}
    if number == 2:
        spoken |= {"both", "couple", "pair", "either", "neither"}
    if number == 6:
        spoken |= {"half"}
    return not spoken.isdisjoint(text.vocabulary)


def _stands_alone(text: TextFacts, number: int) -> bool:
    """Whether a number is said without a noun: "there are three cups, bring me two"."""
    inside = {i for c in text.chunks for i in range(c.start, c.end)}
    free = [word for i, word in enumerate(text.words) if i not in inside]
    return number > 0 and any(NUMBERS.get(word) == number or word == str(number) for word in free)


def _said_again(text: TextFacts, it: Description) -> bool:
    return sum(it.kind in chunk.kinds for chunk in text.chunks) > 1


def _all_said(text: TextFacts) -> bool:
    return not {"all", "every", "everything", "any"}.isdisjoint(text.vocabulary)


def _is_group(kind: str) -> bool:
    """Whether a singular word means several classes: "the fruit"."""
    found = meaning(kind)
    return found is None or len(found.objects) > 1
