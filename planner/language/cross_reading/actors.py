"""Who does it: "I will" and "you" against the actors of the goal."""

from __future__ import annotations

from collections.abc import Iterator

from planner.language.cross_reading.clauses import Clause, TextFacts
from planner.language.cross_reading.closed_words import word_set
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import words_of
from planner.language.cross_reading.occurrences import GoalFacts
from planner.language.cross_reading.requests_of import request_of
from planner.language.goal_form import Move
from planner.language.reading import AskReason
from planner.language.words import Actor, Spot

_SPEAKERS = word_set("i we me my let us myself")
_NO_DEED = word_set("need want have be know see not like love appreciate never require go")


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """What the speaker does, is not the robot's, and the other way round."""
    for _, item in goal.requests:
        if item.who is Actor.SPEAKER and text.vocabulary.isdisjoint(_SPEAKERS):
            yield Contradiction(Subject.ACTOR, (text.text.strip(),), AskReason.WHICH)
    yield from _brought_to_speaker(text, goal)
    for chunk in text.chunks:
        index = request_of(text, goal, chunk)
        if index is None:
            continue
        clause = text.clause(chunk.start)
        who = goal.requests[index][1].who
        if _is_speakers(text, clause) and who is not Actor.SPEAKER:
            yield Contradiction(Subject.ACTOR, (text.quoted(chunk),), AskReason.DONE)
        if clause.verb and clause.subject == "you" and who is Actor.SPEAKER:
            yield Contradiction(Subject.ACTOR, (text.quoted(chunk),), AskReason.DONE)


def _is_speakers(text: TextFacts, clause: Clause) -> bool:
    """Whether a clause says what the speaker will do: "I'll bring the cups"."""
    words = text.words[clause.start : clause.end]
    for phrase in (("i", "will"), ("i", "shall"), ("let", "me")):
        for i in range(len(words) - 2):
            if words[i : i + 2] == phrase:
                return words[i + 2] not in _NO_DEED
    return False


def _brought_to_speaker(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "I'll bring the cups to the table, you bring the plates": hardly to the speaker."""
    moves = [item for _, item in goal.requests if isinstance(item, Move)]
    led = any(
        item.who is Actor.SPEAKER and any(place.anchor is not Spot.ME for place in item.to)
        for item in moves
    )
    mine = {"me", "us", "here"} & text.vocabulary
    for i, (_, item) in enumerate(goal.requests):
        if not isinstance(item, Move) or not led or mine or item.who is Actor.SPEAKER:
            continue
        if any(place.anchor is Spot.ME for place in item.to):
            words = tuple(w for o in goal.things(i) for w in words_of(text, o.description))
            yield Contradiction(Subject.ACTOR, words, AskReason.WHERE)
