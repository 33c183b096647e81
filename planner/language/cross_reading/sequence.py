"""Order: "then", "before", "after", "first" and "last" against the steps of the goal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from planner.language.cross_reading.clauses import Clause, TextFacts
from planner.language.cross_reading.closed_words import ORDER_WORDS, SEQUENCE
from planner.language.cross_reading.consistency import same_things
from planner.language.cross_reading.findings import Contradiction, Subject
from planner.language.cross_reading.matching import chunks_for
from planner.language.cross_reading.occurrences import GoalFacts, Role
from planner.language.cross_reading.requests_of import requests_in
from planner.language.goal_form import Make, Move
from planner.language.reading import AskReason
from planner.language.tokens import STOPS

_SENTENCE = STOPS - {"-", "--", ":", "(", ")"}
_DONE = frozenset({"done", "finished", "ready", "complete", "over"})
_LATER = frozenset({"before", "until", "till"})
_EARLIER = frozenset({"after", "once"})


def check(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """Order words against steps."""
    if text.has_correction:
        return
    yield from _sequences(text, goal)
    yield from _subordinate(text, goal)
    yield from _all_done(text, goal)
    yield from _ends(text, goal)
    yield from _unordered(text, goal)


def _wrong(goal: GoalFacts, earlier: int, later: int) -> bool:
    """Whether two requests are certainly not in that order."""
    first, second = goal.requests[earlier][0], goal.requests[later][0]
    return earlier != later and first >= 0 and second >= 0 and first >= second


def _report(text: TextFacts, at: int) -> Contradiction:
    return Contradiction(Subject.ORDER, (text.quote(at, at + 1),), AskReason.DONE)


def _sequences(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    for at, word in enumerate(text.words):
        if word not in SEQUENCE or text.words[at - 1 : at] == ("the",):
            continue
        if word == "next" and text.words[at + 1 : at + 2] == ("to",):
            continue
        if word in ("afterwards", "afterward", "later", "finally", "lastly", "eventually") and (
            at + 1 >= len(text.words) or text.words[at + 1] in STOPS
        ):
            continue  # At the end of what comes later.
        before = requests_in(text, goal, _sentences_back(text, at), at)
        after = requests_in(text, goal, at, len(text.words))
        if not before or not after:
            continue
        (_, earlier), (_, later) = before[-1], after[0]
        if earlier == later or _wrong(goal, earlier, later):
            yield _report(text, at)


def _all_done(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """As in "when all that's finished, X": X is later than all that is named before."""
    for clause in text.clauses:
        words = text.words[clause.start : clause.end]
        if clause.subordinator not in ("when", "once", "after") or not _DONE & set(words):
            continue
        if any(clause.start <= c.start < clause.end for c in text.chunks):
            continue
        after = requests_in(text, goal, clause.end, len(text.words))
        named = {c for c in text.chunks if c.start < clause.start}
        before = [
            o.request
            for o in goal.occurrences
            if o.role is Role.THING and set(chunks_for(text, o.description.kind)) <= named
        ]
        if after and any(_wrong(goal, index, after[0][1]) for index in before):
            yield _report(text, clause.start)


def _sentences_back(text: TextFacts, at: int) -> int:
    """Where the sentence before this one begins."""
    stops = [i for i in range(at) if text.words[i] in _SENTENCE]
    return stops[-2] + 1 if len(stops) > 1 else 0


def _subordinate(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    for index, clause in enumerate(text.clauses):
        if clause.subordinator not in _LATER | _EARLIER:
            continue
        at = next(
            i for i in range(clause.start, clause.end) if text.words[i] == clause.subordinator
        )
        if at + 1 < len(text.words) and text.words[at + 1] in (
            "that",
            "which",
            ",",
            "all",
            "anything",
        ):
            continue
        inner = requests_in(text, goal, at, clause.end)
        main = _main(text, index)
        outer = requests_in(text, goal, *main) if main else []
        if not inner or not outer:
            continue
        pair = (outer[0][1], inner[0][1])
        if clause.subordinator in _EARLIER:
            pair = pair[::-1]
        if clause.negated or (clause.subordinator != "after" and "wait" in text.vocabulary):
            continue
        if _wrong(goal, *pair):
            yield _report(text, at)


def _main(text: TextFacts, index: int) -> tuple[int, int] | None:
    """The tokens of the clause that a subordinate one belongs to."""
    clause = text.clauses[index]
    begins = clause.start == 0 or text.words[clause.start - 1] in _SENTENCE
    if begins:
        if index + 1 < len(text.clauses):
            return text.clauses[index + 1].start, text.clauses[index + 1].end
        comma = next((i for i in range(clause.start, clause.end) if text.words[i] == ","), -1)
        return None if comma < 0 else (comma, clause.end)
    before: Clause = text.clauses[index - 1]
    return before.start, before.end


def _ends(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """What is said to be first or last, is."""
    steps = [step for step, item in goal.requests if step >= 0]
    if len(steps) < 2:
        return
    for at, word in enumerate(text.words):
        if word not in ("first", "last", "lastly", "firstly"):
            continue
        before = text.words[at - 1] if at else ""
        if before in ("the", "every", "a", "my", "this", "find", "each", "come", "at"):
            continue
        if any(chunk.start <= at < chunk.end for chunk in text.chunks):
            continue
        clause = text.clause(at)
        found = {index for _, index in requests_in(text, goal, clause.start, clause.end)}
        if len(found) != 1:
            continue
        (here,) = found
        step = goal.requests[here][0]
        if step < 0:
            continue
        others = [s for i, (s, _) in enumerate(goal.requests) if i != here and s >= 0]
        late = word in ("last", "lastly")
        if others and (step <= max(others) if late else step >= max(others)):
            yield _report(text, at)


def _unordered(text: TextFacts, goal: GoalFacts) -> Iterator[Contradiction]:
    """What has an order without a word for it, and what has none although it is needed."""
    for (i, (first, one)), (j, (second, other)) in combinations(enumerate(goal.requests), 2):
        if first < 0 or first != second or one.who != other.who:
            continue
        if one.only_if or one.unless:
            continue
        if not (isinstance(one, Make) and isinstance(other, Move)):
            continue
        for a in goal.things(i):
            for b in goal.things(j):
                same = same_things(a, b) or (
                    a.description.kind == b.description.kind
                    and b.description.pick is not None
                    and not a.description.pick
                )
                if same:
                    yield Contradiction(Subject.ORDER, (text.text.strip(),), AskReason.DONE)
    steps = {step for step, _ in goal.requests if step >= 0}
    told = ORDER_WORDS | {"with", "it", "them", ")"}
    if len(steps) > 1 and text.vocabulary.isdisjoint(told) and not _dependent(goal):
        yield Contradiction(Subject.ORDER, (text.text.strip(),), AskReason.DONE)


def _dependent(goal: GoalFacts) -> bool:
    """Whether two requests share a thing or place, which gives them an order."""
    for i, j in combinations(range(len(goal.requests)), 2):
        first = [o for o in goal.occurrences if o.request == i]
        second = [o for o in goal.occurrences if o.request == j]
        if any(a.description.kind == b.description.kind for a in first for b in second):
            return True
    return False
