"""Joins clauses to instructions: in any order, or with the words that order them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from planner.episodes.generation.clauses import Clause

_MEALS = frozenset({"dishes", "food", "kitchenware", "kitchen", "dining_room"})
_NIGHT = frozenset({"bedroom", "bed", "nightstand", "linens"})
# Before the request; none of them asks for anything. With what a task has to be about, if not
# anything will do: groups of things, furniture or rooms.
CONTEXTS: Mapping[str, frozenset[str]] = {
    "Guests are coming over tonight.": frozenset(),
    "I'm expecting guests.": frozenset(),
    "It's bedtime.": _NIGHT,
    "It's time for bed.": _NIGHT,
    "Dinner is almost ready.": _MEALS,
    "It is getting late.": frozenset(),
    "The house is a mess.": frozenset(),
    "My parents are visiting this weekend.": frozenset(),
    "We are having friends over for dinner.": _MEALS,
    "We are going to watch a movie.": frozenset({"living_room", "couch", "tv", "tv_stand"}),
    "I am going to work from home today.": frozenset({"office", "desk", "office_supplies"}),
    "I have a busy day tomorrow.": frozenset(),
    "The weekend is here.": frozenset(),
    "I'm cooking tonight.": _MEALS,
    "I just got home.": frozenset(),
    "I'm about to leave for work.": frozenset({"entryway", "bags", "clothes", "shoe_rack"}),
    "The kids are coming home soon.": frozenset({"toys", "playroom", "toy_box"}),
    "We have a lot to do today.": frozenset(),
    "I could use a hand.": frozenset(),
}
_POLITE = (
    ("{}", 10.0),
    ("please {}", 2.0),
    ("{}, please", 1.0),
    ("could you {}?", 1.5),
    ("can you {}?", 1.0),
    ("could you please {}?", 0.7),
    ("would you {}?", 0.4),
    ("I need you to {}", 1.0),
    ("I'd like you to {}", 0.8),
    ("I want you to {}", 0.6),
    ("help me {}", 0.8),
)
_SPLITS = (
    "You {} while I {}.",
    "You {}, and I'll {}.",
    "I'll {1}. You {0}.",
    "You {} and I will {}.",
)


class Sentences:
    """Words whole instructions."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def unordered(self, clauses: Sequence[Clause]) -> str:
        """Clauses in any order."""
        sentences: list[str] = []
        waiting = list(clauses)
        while waiting:
            clause = waiting.pop(0)
            if clause.wishes and self._chance(0.35):
                sentences.append(sentence(self._pick(clause.wishes)))
                continue
            command = clause.command
            if waiting and self._chance(0.4):
                command += f"{self._pick((', and', ' and'))} {waiting.pop(0).command}"
            if sentences and self._chance(0.25):
                sentences.append(sentence(f"also, {command}"))
            else:
                sentences.append(self.polite(command))
        return " ".join(sentences)

    def shared(self, robots: Clause, speakers: Clause) -> str:
        """What the robot does, and what the speaker does at the same time."""
        return self._pick(_SPLITS).format(robots.command, speakers.command)

    def ordered(self, steps: Sequence[Clause]) -> str:
        """Clauses, each before the next."""
        if len(steps) == 2 and self._chance(0.55):
            return self._pair(*steps)
        first, *rest = steps
        sentences = [sentence(self._pick((f"first, {first.command}", f"first {first.command}")))]
        if first.doing and self._chance(0.2):
            sentences = [sentence(f"start by {first.doing}")]
        for clause in rest[:-1]:
            sentences.append(
                sentence(f"{self._pick(('then', 'next,', 'after that,'))} {clause.command}")
            )
        last = ("then", "after that,", "finally,", "afterwards,", "when that's done,")
        word = self._pick(last if len(rest) == 1 else ("finally,", "lastly,", "after that,"))
        sentences.append(sentence(f"{word} {rest[-1].command}"))
        return " ".join(sentences)

    def context(self, share: float, topics: Collection[str]) -> str:
        """A sentence that says why, and a space; or nothing.

        Args:
            share: of the cases that have one.
            topics: the groups of things, furniture and rooms that the task is about.
        """
        fitting = [text for text, about in CONTEXTS.items() if not about or about & set(topics)]
        return f"{self._pick(fitting)} " if self._chance(share) else ""

    def polite(self, command: str) -> str:
        """A command as a sentence, as people ask."""
        weights = np.array([weight for _, weight in _POLITE])
        form = _POLITE[int(self._rng.choice(len(_POLITE), p=weights / weights.sum()))][0]
        return sentence(form.format(command))

    def _pair(self, one: Clause, other: Clause) -> str:
        forms = [
            f"{one.command}, then {other.command}",
            f"{one.command} and then {other.command}",
            f"{one.command}. Then {other.command}",
            f"{one.command}. After that, {other.command}",
            f"{one.command} first. Then {other.command}",
            f"first {one.command}, then {other.command}",
            f"{one.command}, and after that, {other.command}",
        ]
        if one.doing:
            forms += [f"after {one.doing}, {other.command}", f"{other.command} after {one.doing}"]
        if other.doing:
            forms += [f"{one.command} before {other.doing}", f"before {other.doing}, {one.command}"]
        if one.done:
            forms += [f"once {one.done}, {other.command}", f"after {one.done}, {other.command}"]
        return sentence(self._pick(forms))

    def _chance(self, share: float) -> bool:
        return bool(self._rng.random() < share)

    def _pick(self, words: Sequence[str]) -> str:
        return words[int(self._rng.integers(len(words)))]


def sentence(text: str) -> str:
    """Text with a capital and a full stop."""
    return text[0].upper() + text[1:] + ("" if text[-1] in ".?!" else ".")
