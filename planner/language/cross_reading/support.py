"""Special parts of a goal, such as spots and bounds, for which the text must have a word."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.cross_reading.clauses import TextFacts
from planner.language.cross_reading.closed_words import word_set
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import words_of
from planner.language.cross_reading.occurrences import GoalFacts, Role
from planner.language.goal_form import Find, Go, Move, Never
from planner.language.reading import AskReason
from planner.language.words import Amount, Arrangement, Bound, Spot

_SPOTS = {
    Spot.ME: word_set(
        "me us i my we our bring fetch get hand give pass grab deliver serve need want find please "
        "fetching bringing getting handing"
    ),
    Spot.HERE: word_set("here me come us this room"),
    Spot.BACK: word_set("back return again were was came found original previous returned where"),
    Spot.USUAL: word_set(
        "away belong belongs usual back place places home proper right spot return tidy lives live "
        "goes go where normal normally keep kept"
    ),
    Spot.ELSEWHERE: word_set(
        "off out away clear cleared clearing elsewhere somewhere other remove removed take taken "
        "empty unload nothing no not get another different cleaned rid down from none current"
    ),
}
_ARRANGED = {
    Arrangement.TOGETHER: word_set(
        "together each other side group gather another one beside collect up same next adjacent "
        "row line close"
    ),
    Arrangement.APART: word_set("apart separate separated away distance far separately spread not"),
    Arrangement.STACKED: word_set("stack stacked pile piled heap other up top tower"),
}
_BOUNDS = {
    Bound.AT_LEAST: word_set("least minimum more fewer less enough plus"),
    Bound.AT_MOST: word_set("most more maximum up than max over exceed many"),
}
_AMOUNTS = {
    Amount.SOME: word_set("some couple few several multiple"),
    Amount.FEW: word_set("few several handful some couple"),
}
_FINDING = word_set(
    "find look where locate search see check seen lost missing seek vanished misplaced spot hunt "
    "figure looking finding track disappeared know"
)
_GOING = word_set(
    "go come head walk drive move wait stay be return follow meet going stand went run"
)
_OTHERS = word_set(
    "other others rest remaining another else one second third different both same ones more next"
)
_OTHER_PLACE = word_set("another other different new else elsewhere from current")
_ONE_EACH = word_set("each every own apiece per different separate both respectively")
# Nouns that are verbs: of these only "something to read" is a thing.
_DEEDS = word_set("eat read write play wear sit sleep cook drink exercise repair store work bathe")


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """Each special part of the goal against the words that can mean it."""
    yield from _requests(text, goal)
    yield from _spots(text, goal)
    yield from _descriptions(text, goal)


def _lacks(text: TextFacts, words: frozenset[str]) -> bool:
    return text.vocabulary.isdisjoint(words)


def _requests(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    for i, (_, item) in enumerate(goal.requests):
        about = tuple(w for o in goal.things(i) for w in words_of(text, o.description))
        words = about or (text.text.strip(),)
        if isinstance(item, Find) and _lacks(text, _FINDING):
            yield Contradiction(Subject.STATE, words, AskReason.DONE)
        if isinstance(item, Go) and _lacks(text, _GOING):
            yield Contradiction(Subject.PLACE, words, AskReason.DONE)
        arrangement = item.arrangement if isinstance(item, Move) else None
        if arrangement and _lacks(text, _ARRANGED[arrangement]):
            yield Contradiction(Subject.PLACE, words, AskReason.DONE)


def _spots(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    moved = [i for i, (_, item) in enumerate(goal.requests) if isinstance(item, Move)]
    for i, (_, item) in enumerate(goal.requests):
        if not isinstance(item, Move | Never):
            continue
        words = tuple(w for o in goal.things(i) for w in words_of(text, o.description))
        for place in item.to:
            if not isinstance(place.anchor, Spot):
                continue
            if _lacks(text, _SPOTS[place.anchor]):
                yield Contradiction(Subject.PLACE, words, AskReason.WHERE)
            elif place.anchor is Spot.USUAL and text.has("its place") and len(moved) > 1:
                # "Bring the vase and put the orchid in its place": in the vase's?
                yield Contradiction(Subject.PLACE, ("its place",), AskReason.WHERE)


def _descriptions(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    for occurrence in goal.occurrences:
        it = occurrence.description
        wrong = (
            (it.bound is not Bound.EXACTLY and _lacks(text, _BOUNDS[it.bound]))
            or (
                isinstance(it.count, Amount)
                and _lacks(text, _AMOUNTS.get(it.count, text.vocabulary))
            )
            or (it.other_than and _lacks(text, _OTHERS))
            or (it.elsewhere and _lacks(text, _OTHER_PLACE))
            or (it.each and _lacks(text, _ONE_EACH))
        )
        if wrong:
            yield Contradiction(Subject.AMOUNT, words_of(text, it), AskReason.WHICH)
        if it.kind in _DEEDS and it.definite and occurrence.role is Role.THING:
            yield Contradiction(Subject.THING, words_of(text, it), AskReason.WHAT)
