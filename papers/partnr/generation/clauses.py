"""Clauses of instructions and what they require, and the sentences made of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.episodes.recipes.file import GoalSpec
from planner.episodes.spots import Spot
from planner.world.vocabulary import Relation

_GERUNDS: Mapping[str, str] = {
    "put": "putting", "place": "placing", "set": "setting", "move": "moving", "bring": "bringing",
    "take": "taking", "carry": "carrying", "get": "getting", "store": "storing",
    "wash": "washing", "clean": "cleaning", "fill": "filling", "turn": "turning",
    "switch": "switching", "power": "powering",
}  # fmt: skip
_PARTICIPLES: Mapping[str, str] = {
    "put": "put",
    "place": "placed",
    "set": "set",
    "move": "moved",
    "bring": "brought",
    "take": "taken",
    "carry": "carried",
}
_ONTO = (("put", "on"), ("place", "on"), ("set", "on"), ("get", "onto"), ("put", "onto"))
_INTO = (("put", "in"), ("place", "in"), ("put", "into"), ("put", "inside"), ("move", "into"))
_INTO_OFTEN = (*_INTO, ("store", "in"), ("place", "inside"))
_TO = (("move", "to"), ("bring", "to"), ("take", "to"), ("carry", "to"))


@dataclass(frozen=True, slots=True)
class Phrase:
    """Things, as a clause names them.

    Attributes:
        labels: of the recipe's things.
        words: "the two cups", "a plate from the kitchen".
        again: the same things in a later clause: "it", "them".
        plural: whether the verb after it is plural.
        number: how many of them are enough; None: all.
        source: where they start ("the couch"), if that is said by a verb of taking.
        definite: whether a later clause may speak of the same things.
    """

    labels: tuple[str, ...]
    words: str
    again: str
    plural: bool
    number: int | None = None
    source: str = ""
    definite: bool = True


@dataclass(frozen=True, slots=True)
class Clause:
    """One part of an instruction.

    Attributes:
        command: "put the cup on the table".
        doing: "putting the cup on the table"; "" if there is no such form.
        wishes: whole sentences that ask for the same: "The cup should be on the table".
        done: "the cup is on the table"; "" if there is no such form.
        goals: what it requires.
    """

    command: str
    doing: str
    wishes: tuple[str, ...]
    done: str
    goals: tuple[GoalSpec, ...]


class Clauses:
    """Words clauses; ties between places get labels of their own."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._ties = 0

    def move(
        self,
        phrases: Sequence[Phrase],
        spot: Spot,
        label: str,
        *,
        beside: str = "",
        tie: str | None = None,
    ) -> Clause:
        """Things to a spot; `label` is the recipe's place.

        Args:
            phrases: of the things.
            spot: where to.
            label: of the spot's place.
            beside: words after the spot such as ", next to each other".
            tie: a tie with earlier clauses ("the same table"); None: one of its own if needed.
        """
        things = joined([phrase.words for phrase in phrases])
        many = len(phrases) > 1 or phrases[0].plural
        if tie is None and spot.choices > 1 and many:
            tie = self.tie()
        predicate = _PREDICATE[spot.relation]
        goals = tuple(
            GoalSpec(
                predicate=predicate,
                things=phrase.labels,
                at=(label,),
                number=phrase.number,
                same_place=tie,
            )
            for phrase in phrases
        )
        source = phrases[0].source if len(phrases) == 1 else ""
        be, need = ("are", "need") if many else ("is", "needs")
        where = f"{spot.preposition} {spot.words}{beside}"
        verb, particle = self._verb(spot)
        to = f"{particle} {spot.words}{beside}"
        if source:
            again = phrases[0].again
            taking = f"{self._pick(('take', 'get', 'grab'))} {things} from {source}"
            command = f"{taking} and {verb} {again} {to}"
            return Clause(command, "", (), "", goals)
        wishes = [
            f"{things} should be {where}",
            f"I want {things} {where}",
            f"I'd like {things} {where}",
            f"I would like {things} to be {where}",
            f"I need {things} {where}",
            f"make sure that {things} {be} {where}",
            f"{things} {'belong' if many else 'belongs'} {where}",
        ]
        if verb in _PARTICIPLES:
            wishes += 3 * [f"{things} should be {_PARTICIPLES[verb]} {to}"]
            wishes += 3 * [f"{things} {need} to be {_PARTICIPLES[verb]} {to}"]
        done = f"{things} {be} {where}" if phrases[0].definite and not beside else ""
        return Clause(
            f"{verb} {things} {to}", f"{_GERUNDS[verb]} {things} {to}", tuple(wishes), done, goals
        )

    def make(self, phrases: Sequence[Phrase], predicate: str) -> Clause:
        """Things, or the furniture of places, into a state.

        Args:
            phrases: of the things, or of furniture, with the labels of places.
            predicate: `is_clean`, `is_filled`, `is_powered_on` or `is_powered_off`.
        """
        things = joined([phrase.words for phrase in phrases])
        many = len(phrases) > 1 or phrases[0].plural
        be, need = ("are", "need") if many else ("is", "needs")
        state, passive, verbs = _STATES[predicate]
        verb = self._pick(verbs)
        first, _, particle = verb.partition(" ")
        said = f"{first} {particle} {things}".replace("  ", " ")
        if particle and self._rng.random() < 0.35 and " " not in particle:
            said = f"{first} {things} {particle}"
        doing = said.replace(first, _GERUNDS[first], 1)
        wishes = (
            f"{things} should be {state}",
            f"make sure that {things} {be} {state}",
            f"{things} {need} to be {passive}",
            f"I'd like {things} {passive}",
            f"I want {things} to be {state}",
        )
        goals = tuple(
            GoalSpec(predicate=predicate, things=phrase.labels, number=phrase.number)
            for phrase in phrases
        )
        return Clause(said, doing, wishes, f"{things} {be} {state}", goals)

    def tie(self) -> str:
        """A new label of a tie."""
        self._ties += 1
        return f"tie_{self._ties}"

    def _verb(self, spot: Spot) -> tuple[str, str]:
        if spot.relation is None:
            forms = [*_TO, ("put", "in")]
        elif spot.relation is Relation.ON:
            forms = [*_ONTO, *(_TO if spot.plain else ())]
        else:
            forms = [*_INTO_OFTEN]
        return forms[int(self._rng.integers(len(forms)))]

    def _pick(self, words: Sequence[str]) -> str:
        return words[int(self._rng.integers(len(words)))]


_PREDICATE = {Relation.ON: "is_on_top", Relation.WITHIN: "is_inside", None: "is_in_room"}
# The state, its passive and its verbs, by predicate.
_STATES: Mapping[str, tuple[str, str, tuple[str, ...]]] = {
    "is_clean": ("clean", "cleaned", ("wash", "clean", "wash", "clean")),
    "is_filled": ("filled", "filled", ("fill", "fill", "fill up")),
    "is_powered_on": ("on", "turned on", ("turn on", "switch on", "power on")),
    "is_powered_off": ("off", "turned off", ("turn off", "switch off", "power off")),
}


def joined(words: Sequence[str]) -> str:
    """Words as a list: `a, b and c`."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


# Joins clauses to instructions: in any order, or with the words that order them.

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
    ("{}", 10.0), ("please {}", 2.0), ("{}, please", 1.0), ("could you {}?", 1.5),
    ("can you {}?", 1.0), ("could you please {}?", 0.7), ("would you {}?", 0.4),
    ("I need you to {}", 1.0), ("I'd like you to {}", 0.8), ("I want you to {}", 0.6),
    ("help me {}", 0.8),
)  # fmt: skip
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
