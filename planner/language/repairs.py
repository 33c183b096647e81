"""What speakers take back or hesitate over: "the paper, no, I mean the folder"."""

from __future__ import annotations

import re
from dataclasses import replace

from planner.language.drafts import Noun, Way, Where
from planner.language.english import (
    DOING,
    FIRST,
    NUMBERS,
    PREPOSITION_WORDS,
    SHALL_BE,
    THE,
    THEN,
    TO_DO,
    phrases,
    table,
)
from planner.language.lexicon import Part
from planner.language.modifiers import Modified
from planner.language.reading import STOPS, AskReason, Refused, Source, Token
from planner.language.verbs import Form, verbs_at

_HESITATION = re.compile(r"u+h*m+|u+h+|e+r+m*|h+m+|m+h*m+|a+h+m*|e+h+")
_STRONG = phrases(table("corrections"))
"""After these what was said last is replaced."""
_WEAK = phrases("no|wait|sorry|rather|actually|hang on|hold on|well no|or no")
"""These do so only between marks: "the vase, sorry, the candle,"."""
_BREAKS = frozenset({",", "...", "…", "-", "--", ".", ";", "(", "!"})
_OPEN = THE | frozenset({"a", "an", "to", "into", "onto", "of", "on", "in", "with", "and", "some"})
"""After these something has to follow."""
_PRONOUNS = frozenset({"it", "them", "that", "one", "ones", "there"})
_OPENING = FIRST | THEN | TO_DO | SHALL_BE | DOING
_PAUSES = frozenset({",", "-", "--"})
_KEPT_BACK = 3
"""How many edits one text may have."""


def without_hesitation(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The words without "um" and "er", and without what is said again after one.

    "On the um on the bench" says "on the" once; "three books um four books" corrects itself and
    keeps a mark between both.
    """
    kept: list[Token] = []
    at = 0
    while at < len(tokens):
        token, at = tokens[at], at + 1
        if not _HESITATION.fullmatch(token.word):
            kept.append(token)
            continue
        begins = at + (at < len(tokens) and tokens[at].word == ",")
        after = [other.word for other in tokens[begins : begins + 3]]
        pause = [kept.pop()] if kept and kept[-1].word == "," else []
        repeats = next(
            (n for n in (3, 2, 1) if after[:n] == [other.word for other in kept[-n:]]), 0
        )
        if repeats and kept[-1].is_word:
            del kept[-repeats:]
            at = begins
        elif kept and kept[-1].word in _OPEN:
            at = begins
        else:
            kept += [*pause, replace(token, word="um")]
    return _unmarked(kept)


def _unmarked(tokens: list[Token]) -> tuple[Token, ...]:
    """Drops each "um" with the commas around it, except between two phrases."""
    found: list[Token] = []
    for at, token in enumerate(tokens):
        if token.word == "um":
            ends = at + 1 >= len(tokens) or tokens[at + 1].word in _BREAKS
            paused = bool(found) and found[-1].word == ","
            if found and (paused if ends and tokens[at + 1 :] else found[-1].is_word):
                found.append(token)
            elif paused:
                found.pop()
            continue
        if token.word in (",", ".", "...", "…") and not found:
            continue
        found.append(token)
    return tuple(found)


def repaired(source: Source) -> Source:
    """The words without what is taken back; unchanged where it is not clear what is replaced."""
    for _ in range(_KEPT_BACK):
        better = _Repair(source).once()
        if better is None:
            break
        source = better
    words: list[Token] = []
    for token in source.tokens:
        if token.word == "um":
            paused = bool(words) and words[-1].word == ","
            del words[len(words) - paused :]
        else:
            words.append(token)
    return Source(source.text, words, source.lexicon) if len(words) < source.size else source


class _Repair:
    """Finds one correction, and what it replaces."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._reader = Modified(source)

    def once(self) -> Source | None:
        """The words without the first thing that is taken back; None if there is none."""
        source = self._source
        for at in range(1, source.size):
            if not (end := self._edit(at)):
                continue
            stop = at
            while stop and (source.word(stop - 1) == "um" or not source.tokens[stop - 1].is_word):
                stop -= 1
            correct = self._again if source.word(at) == "um" else self._corrected
            if kept := correct(stop, end):
                return Source(source.text, kept, source.lexicon)
        return None

    def _edit(self, at: int) -> int:
        """The position after words that take something back."""
        source = self._source
        marked = source.word(at - 1) in _BREAKS
        if source.word(at) == "um":
            return at + 1 + (source.word(at + 1) == ",")
        end = source.longest(at, _STRONG)
        if end and (marked or source.word(at) not in ("make", "oh", "not", "correction")):
            pass
        elif marked:
            end = source.longest(at, _WEAK)
            weak = source.word(end) in (",", "-", "--", "...", "…") or source.word(at) == "no"
            end = end if weak else 0
        else:
            return 0
        while end and source.word(end) in (",", "-", "--", "...", "…", "!"):
            end += 1
        return end if end < source.size else 0

    def _corrected(self, stop: int, start: int) -> tuple[Token, ...] | None:
        """The words with what stands before an edit replaced by what follows it."""
        return (
            self._number(stop, start) or self._place(stop, start) or self._clause(stop, start)
            or self._thing(stop, start)
        )  # fmt: skip

    def _again(self, stop: int, start: int) -> tuple[Token, ...] | None:
        """Reads "three books um four books": only a thing of the same kind is a correction.

        Raises:
            Refused: asks where "the cup, um, the glass" may name one thing or two.
        """
        source, new = self._source, self._noun_at(start)
        for k in range(max(0, stop - 5), stop):
            if not (old := self._noun_at(k)) or not new or old[1] != stop:
                continue
            if old[0].kind == new[0].kind:
                return self._joined(k, start, new[1])
            goes_on = source.word(new[1]) in (",", "and") or source.word(k - 1) in (",", "and")
            if source.word(stop) == "," and not goes_on:
                raise source.ask(AskReason.WHICH, k, new[1])
            break
        return None

    def _joined(self, begin: int, start: int, end: int) -> tuple[Token, ...]:
        """The words up to one, then the correction, then the rest."""
        tokens = self._source.tokens
        comma = self._source.word(end) in _PAUSES and (
            self._source.word(end + 1) not in ("and", "then")
        )
        return (*tokens[:begin], *tokens[start:end], *tokens[end + comma :])

    def _number(self, stop: int, start: int) -> tuple[Token, ...] | None:
        """Reads "six cans, make that eight, in the pantry"."""
        source = self._source
        word = source.word(start)
        if _is_number(word) and _is_number(source.word(stop - 1)):
            # "Two, no, three plates".
            return (*source.tokens[: stop - 1], *source.tokens[start:])
        alone = source.word(start + 1) in STOPS | {",", "", "and", "of"} or (
            source.longest(start + 1, PREPOSITION_WORDS) > 0
        )
        if not _is_number(word) or not alone:
            return None
        for k in range(stop - 1, max(-1, stop - 7), -1):
            if _is_number(source.word(k)):
                begin = k
                if source.word(k) == "dozen":
                    begin -= source.word(k - 1) in ("a", "half", "two")
                    begin -= source.word(begin - 1) == "half"
                after = k + 1 + (source.word(k + 1) == "a") * (source.word(k) == "half")
                if source.word(k) == "dozen" and source.word(begin) == "half":
                    after = k + 1
                tokens = source.tokens
                comma = source.word(start + 1) in _PAUSES
                return (
                    *tokens[:begin], tokens[start], *tokens[after:stop],
                    *tokens[start + 1 + comma :],
                )  # fmt: skip
        return None

    def _place(self, stop: int, start: int) -> tuple[Token, ...] | None:
        """Reads "on the desk no wait on the coffee table"."""
        if (wheres := self._place_at(start)) is None:
            return None
        where, end = wheres
        for k in range(stop - 1, max(-1, stop - 8), -1):
            old = self._place_at(k)
            if old is None or old[1] != stop or self._source.word(k) in ("one", "ones"):
                continue
            before = self._place_at(k - 1) if k else None
            if before is not None and before[1] == stop:
                # "Back in the drawer" begins one word earlier.
                continue
            if (old[0].way is Way.FROM) is (where.way is Way.FROM):
                return self._joined(k, start, end)
        return None

    def _place_at(self, at: int) -> tuple[Where, int] | None:
        try:
            found, end = self._reader.located(at)
            if not found:
                one = self._reader.place(at)
                found, end = one if one else ([], at)
        except Refused:
            return None
        return (found[0], end) if found else None

    def _clause(self, stop: int, start: int) -> tuple[Token, ...] | None:
        """Reads "wash the pan, no, wash the plates": a whole command is replaced."""
        source = self._source
        i = start
        while end := source.longest(i, _OPENING):
            i = end
            if source.word(i) == ",":
                i += 1
        if not self._is_verb(i) or self._noun_at(start):
            return None
        end = self._end_of(i)
        begin = stop - 1
        while begin and source.word(begin - 1) not in STOPS:
            begin -= 1
        verbs = [
            k for k in range(begin, stop)
            if self._is_verb(k) and (k == begin or not self._inside_noun(begin, k))
        ]  # fmt: skip
        if not verbs:
            return None
        tokens = source.tokens
        known = tokens[:begin] if len(verbs) == 1 else tokens[: verbs[-1]]
        said = _PRONOUNS & set(source.words[i:end])
        if source.words[stop:start] == (",", "wait", ",") and (
            source.word(i) != source.word(verbs[-1])
        ):
            # "Start the microwave, wait, pick up the glass".
            raise source.unknown(stop + 1, stop + 2)
        if not said:
            return (*known, *tokens[start:])
        # "Put the milk in the fridge. No, put it on the table": what "it" is has been taken back.
        at = next(k for k in range(i, end) if source.word(k) in said)
        about = next(
            (n for k in range(verbs[-1] + 1, stop) if (n := self._noun_at(k)) and n[0].kind), None
        )
        if about is None or source.word(at) not in ("it", "them") or at > i + 3:
            return None
        whole = tokens[about[0].start : about[1]]
        return (*known, *tokens[start:at], *whole, *tokens[at + 1 :])

    def _end_of(self, at: int) -> int:
        while at < self._source.size and self._source.word(at) not in STOPS:
            at += 1
        return at

    def _is_verb(self, at: int) -> bool:
        return any(
            Form.BASE in found.forms and self._source.word(at) not in ("can", "water", "light")
            for found in verbs_at(self._source.words, at)
        )

    def _inside_noun(self, begin: int, at: int) -> bool:
        return any((n := self._noun_at(k)) is not None and k < at < n[1] for k in range(begin, at))

    def _noun_at(self, at: int) -> tuple[Noun, int] | None:
        try:
            return self._reader.noun(at)
        except Refused:
            return None

    def _thing(self, stop: int, start: int) -> tuple[Token, ...] | None:
        """Reads "the paper, no, I mean the folder"."""
        source = self._source
        if (correct := self._noun_at(start)) is None:
            return None
        near = range(max(0, stop - 7), stop)
        begin = next((k for k in near if (n := self._noun_at(k)) and n[1] == stop), None)
        if begin is None or source.word(begin) not in THE | {"a", "an"}:
            begin = next((k for k in reversed(near) if source.word(k) in THE | {"a", "an"}), begin)
        if begin is None:
            return None
        new, end = correct
        placed = self._place_at(end)
        if new.kind == "" and source.word(end - 1) in ("one", "ones"):
            # "The red cup, no, the blue one" is the blue cup.
            if (head := self._head(begin, stop)) is None:
                return None
            tokens = source.tokens
            comma = source.word(end) in _PAUSES
            return (
                *tokens[:begin], *tokens[start : end - 1], *tokens[head:stop],
                *tokens[end + comma :],
            )  # fmt: skip
        old = self._noun_at(begin)
        within = old[1] if old else stop
        if placed and within < stop and self._place_at(within) is not None:
            # "The cup on the table, no, the mug on the shelf".
            return self._joined(begin, start, placed[1])
        return self._joined(begin, start, end)

    def _head(self, begin: int, stop: int) -> int | None:
        """Where the noun of a noun phrase begins."""
        k = begin
        while k < stop:
            match = self._source.match(k)
            if match and any(sense.part is Part.KIND for sense in match.senses):
                if k + match.length == stop:
                    return k
                return k if match.length > 1 else None
            k += match.length if match else 1
        return None


def _is_number(word: str) -> bool:
    return word in NUMBERS or word.isdecimal()
