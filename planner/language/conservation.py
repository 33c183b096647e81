"""What holds of every right reading, however its sentence is built.

A rule that reads a new construction wrongly seldom leaves a word without a trace, which is what
`accounting.py` looks for. More often an order word orders nothing, or one thing has two places.
"""

from __future__ import annotations

from planner.language.drafts import Act, Do, Noun, Way, nouns_within
from planner.language.english import FILLERS
from planner.language.ordering import Order
from planner.language.place_words import BY_SIDE
from planner.language.reading import AskReason
from planner.language.sentence import Source
from planner.language.tokens import STOPS

_ORDER = frozenset({
    "then", "after", "afterwards", "once", "when", "before", "finally", "last", "lastly", "later",
    "first", "until", "next",
})  # fmt: skip
# "The first", "next to", "once more", "after all".
_NOT_BEHIND = {"last": "the one", "first": "the one", "next": "the one", "before": "was were"}
_NOT_AHEAD = {"next": "to", "once": "more again", "after": "all"}
_WAITING = frozenset({"have", "get", "are", "can", "find", "come"})
_AGAIN = _ORDER | {"back", "return", "again"}


def conserve(source: Source, order: Order, passed: frozenset[int]) -> None:
    """Checks what the words must have become, whichever rules read them.

    Args:
        source: the words.
        order: what they were read as.
        passed: positions of words that ask for nothing.

    Raises:
        Refused: naming an order word that orders nothing, or asking where or which.
    """
    requests = sorted(order.requests, key=lambda do: do.start)
    _ordered(source, order, requests, passed)
    _one_place(source, requests)
    for do in requests:
        _listed(source, do)


def _ordered(source: Source, order: Order, requests: list[Do], passed: frozenset[int]) -> None:
    """An order word stands between, before or behind requests of different steps."""
    if len(requests) < 2:
        return
    for at in range(source.size):
        if source.word(at) not in _ORDER or at in passed or not _says_when(source, at):
            continue
        if any(noun.start <= at < noun.end for do in requests for noun in _nouns(do)):
            # "Whichever mug you find first".
            continue
        if len(near := _near(requests, at, source.word(at))) > 1 and (
            len({order.step_of(do) for do in near}) < 2
        ):
            raise source.unknown(at, at + 1)


def _near(requests: list[Do], at: int, word: str) -> list[Do]:
    """The requests that an order word can order: around it, or all after "first"."""
    ahead = [do for do in requests if do.start >= at]
    around = [do for do in requests if do.start < at <= do.end]
    behind = [do for do in requests if do.end < at]
    if around or not ahead:
        return [*behind[-1 if around else -2 :], *around, *ahead[:1]]
    return [*behind[-1:], *(ahead if word == "first" else ahead[:2])]


def _says_when(source: Source, at: int) -> bool:
    word = source.word(at)
    if source.longest(at, FILLERS):
        return False
    if word == "when" and source.word(at + 1) == "you" and source.word(at + 2) in _WAITING:
        # "When you have a second".
        return False
    return (
        source.word(at - 1) not in _NOT_BEHIND.get(word, "").split()
        and source.word(at + 1) not in _NOT_AHEAD.get(word, "").split()
    )


def _nouns(do: Do) -> list[Noun]:
    return [noun for thing in do.things for noun in nouns_within(thing)]


def _one_place(source: Source, requests: list[Do]) -> None:
    """A thing is not moved again, or given a state again, unless a word says so."""
    placed: dict[int, Do] = {}
    made: dict[tuple[int, str], Do] = {}
    for do in requests:
        for thing in do.things:
            if do.act is Act.MOVE and do.who is None and _supported(do):
                if _unexplained(source, placed.get(id(thing)), do):
                    raise source.ask(AskReason.WHERE, do.start, do.end)
                placed[id(thing)] = do
            if do.act is not Act.MAKE:
                continue
            # "Take it to the sink, wash it, and put it on the shelf".
            placed.pop(id(thing), None)
            for state in do.states:
                if _unexplained(source, made.get((id(thing), state)), do):
                    raise source.ask(AskReason.WHICH, do.start, do.end)
                made[id(thing), state] = do


def _supported(do: Do) -> bool:
    """Whether a request says what a thing is in or on, and not only what it is next to."""
    return any(where.relation not in BY_SIDE for where in do.to)


def _unexplained(source: Source, first: Do | None, again: Do) -> bool:
    if first is None or again.arrangement is not None:
        # "Bring them to the table and stack them on the counter".
        return False
    end = again.end
    while source.word(end) and source.word(end) not in STOPS:
        end += 1
    if _AGAIN & set(source.words[first.start : end]):
        return False
    rooms = [where.anchor for where in first.to]
    if all(any(to.anchor is room for room in rooms) for to in again.to):
        # Said twice.
        return False
    within = [where.anchor for to in again.to if isinstance(to.anchor, Noun)
              for where in to.anchor.where]  # fmt: skip
    # "Bring them to the office and put the cups on the table": on the one in the office.
    return not (rooms and all(any(room is one for one in within) for room in rooms))


def _listed(source: Source, do: Do) -> None:
    """Of "the puzzle and the game on the table", moved elsewhere: which are on the table?"""
    nouns = [thing for thing in do.things if isinstance(thing, Noun)]
    if do.act is not Act.MOVE or not do.to or len(nouns) < 2:
        return
    last = nouns[-1]
    if any(noun.where for noun in nouns[:-1]):
        return
    for where in last.where:
        behind = where.way is Way.STATIC and where.start >= last.end
        if behind and any(to.start >= where.end and to.way is Way.STATIC for to in do.to):
            raise source.ask(AskReason.WHICH, where.start, where.end)
