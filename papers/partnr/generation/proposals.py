"""Proposes tasks for a house without a model: a recipe grammar."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from papers.partnr.generation.clauses import Clause, Phrase, Sentences
from papers.partnr.generation.things import (
    ONE,
    PAIR,
    TRIES,
    Amount,
    NoProposalError,
    TaskDraw,
    TaskType,
)
from planner.episodes.recipes.file import GoalSpec, Recipe
from planner.episodes.spots import Spot
from planner.world.catalogue import ObjectClass, default_catalogue
from planner.world.house import House
from planner.world.vocabulary import Relation

_CONTEXT_SHARE = 0.6
# Of tasks with two clauses: the robot does one and the speaker the other, which is no goal.
_SHARED_SHARE = 0.35
_BESIDE = (
    " next to each other",
    ", next to each other",
    " side by side",
    " right next to each other",
)
_NEXT_TO = ("next to", "next to", "beside", "right next to")
# The state to reach and the one at the start, by what has it.
_STATES = {
    "is_clean": ("cleanable", {"clean": False}),
    "is_filled": ("fillable", {"filled": False}),
    "is_powered_on": ("powerable", {"powered_on": False}),
    "is_powered_off": ("powerable", {"powered_on": True}),
}


def propose(house: House, kind: TaskType, name: str, seed: int) -> Recipe:
    """A task for a house; equal arguments give equal tasks.

    Args:
        house: the furnished house; its own things are ignored.
        kind: what the task is made for.
        name: the episode's.
        seed: of all choices.

    Raises:
        NoProposalError: if the house has too little for what was drawn.
    """
    return _Proposal(house, name, np.random.default_rng(seed), seed).made(kind)


class _Proposal(TaskDraw):
    def __init__(self, house: House, name: str, rng: np.random.Generator, seed: int) -> None:
        super().__init__(house, rng)
        self._house, self._name, self._seed = house.name, name, seed
        self._sentences = Sentences(rng)

    def made(self, kind: TaskType) -> Recipe:
        text, goal, steps = _MAKERS[kind](self)
        return Recipe(
            name=self._name,
            house=self._house,
            instruction=self._sentences.context(_CONTEXT_SHARE, self._topics()) + text,
            seed=self._seed,
            things=self.things.things,
            places=self.places,
            goal=goal,
            steps=steps,
        )

    def _topics(self) -> set[str]:
        """What the task is about, as lead-ins name it."""
        known = default_catalogue().objects
        groups = {
            group for item in self.things.things.values() for group in known[item.class_name].groups
        }
        places = self.places.values()
        return groups | {name for p in places for name in (p.furniture, p.room) if name}

    def rearrange(self) -> _Made:
        clauses = [self._any_move() for _ in range(2 + self.chance(0.6))]
        return self._shared(clauses) or self._unordered(clauses)

    def spatial(self) -> _Made:
        makers: list[Callable[[], Clause]] = [
            self._together,
            self._beside_moved,
            self._beside_lying,
        ]
        clauses = [self.pick_maker(makers)()]
        clauses += [self._any_move() for _ in range(1 + self.chance(0.35))]
        if shared := self._shared(clauses):
            return shared
        self.rng.shuffle(clauses)
        return self._unordered(clauses)

    def temporal(self) -> _Made:
        draw = self.rng.random()
        if draw < 0.15:
            clauses = self._two_moves()
        elif draw < 0.35:
            clauses = self._same_place()
        elif draw < 0.45:
            clauses = [self._together(), self._move()]
        else:
            clauses = [self._move(), self._move()]
        clauses += [self._move()] if self.chance(0.4) else []
        return self._ordered(clauses)

    def heterogeneous(self) -> _Made:
        draw = self.rng.random()
        if draw < 0.25:
            return self._ordered([*self._state_then_move(), *self.maybe(0.5, self._move)])
        if draw < 0.4:
            return self._ordered([self._move(), self._state()])
        state, moves = self._state(), [self._move() for _ in range(1 + self.chance(0.4))]
        clauses = [*moves, state, *self.maybe(0.3, self._state)]
        self.rng.shuffle(clauses)
        return self._unordered(clauses)

    def _unordered(self, clauses: Sequence[Clause]) -> _Made:
        goal = tuple(spec for clause in clauses for spec in clause.goals)
        return self._sentences.unordered(clauses), goal, ()

    def _shared(self, clauses: Sequence[Clause]) -> _Made | None:
        """The first of two clauses for the robot, and the other for the speaker; in some cases."""
        if len(clauses) != 2 or not self.chance(_SHARED_SHARE):
            return None
        return self._sentences.shared(*clauses), clauses[0].goals, ()

    def _ordered(self, clauses: Sequence[Clause]) -> _Made:
        return self._sentences.ordered(clauses), (), tuple(clause.goals for clause in clauses)

    def _any_move(self) -> Clause:
        return self._each_own() if self.chance(0.04) else self._move()

    def _move(self) -> Clause:
        """One to three kinds of things to one place."""
        count = 1 + self.chance(0.45) + self.chance(0.15)
        first = self.any_class()
        spot = self.destination(first)
        mates = [c for c in self.things.classes() if c is not first and _fits(c, spot)]
        self.rng.shuffle(mates)
        phrases = self.phrases([first, *mates[: count - 1]], [spot])
        return self.clauses.move(phrases, spot, self.label(spot))

    def _two_moves(self) -> list[Clause]:
        """Things to a place, and later to another one."""
        cls = self.any_class()
        spot, other = self.destination(cls), self.destination(cls)
        if spot.place.furniture == other.place.furniture or None in (spot.relation, other.relation):
            raise NoProposalError
        (phrase,) = self.phrases([cls], [spot, other], ONE if self.chance(0.7) else PAIR)
        first = self.clauses.move([phrase], spot, self.label(spot))
        again = Phrase(phrase.labels, phrase.again, phrase.again, phrase.plural)
        second = self.clauses.move([again], other, self.label(other))
        return [first, Clause(second.command, "", (), "", second.goals)]

    def _same_place(self) -> list[Clause]:
        """Things to any place of a kind, and later others to the very same."""
        for _ in range(TRIES):
            cls = self.any_class()
            spot = self.destination(cls)
            if spot.choices > 1 and spot.relation is not None and spot.place.furniture:
                break
        else:
            raise NoProposalError
        label, tie = self.label(spot), self.clauses.tie()
        noun = spot.words.split(" in the ")[0].removeprefix("one of the ").split(" ", 1)[-1]
        if spot.words.startswith("one of"):
            raise NoProposalError
        mates = [c for c in self.things.classes() if c is not cls and _fits(c, spot)]
        if not mates:
            raise NoProposalError
        mate = mates[int(self.rng.integers(len(mates)))]
        first = self.clauses.move(self.phrases([cls], [spot]), spot, label, tie=tie)
        same = Spot(spot.place, f"the same {noun}", spot.relation, 1, plain=spot.plain)
        second = self.clauses.move(self.phrases([mate], [spot]), same, label, tie=tie)
        return [first, second]

    def _together(self) -> Clause:
        """Two things next to each other at one place."""
        cls = self.any_class()
        spot = self.destination(cls, Relation.ON)
        if self.chance(0.3):
            phrases = self.phrases([cls], [spot], PAIR)
            labels = (phrases[0].labels, phrases[0].labels)
        else:
            mates = [c for c in self.things.classes() if c is not cls and _fits(c, spot)]
            if not mates:
                raise NoProposalError
            mate = mates[int(self.rng.integers(len(mates)))]
            phrases = self.phrases([cls, mate], [spot], ONE)
            labels = (phrases[0].labels, phrases[1].labels)
        beside = self.pick(_BESIDE)
        clause = self.clauses.move(phrases, spot, self.label(spot), beside=beside)
        near = GoalSpec(predicate="is_next_to", things=labels[0], at=labels[1])
        return _with(clause, clause.command, [near])

    def _beside_moved(self) -> Clause:
        """A thing to a place, and another next to it."""
        cls = self.any_class()
        spot = self.destination(cls, Relation.ON)
        (one,) = self.phrases([cls], [spot], ONE)
        (other,) = self.phrases([self.any_class()], [spot], ONE)
        clause = self.clauses.move([one], spot, self.label(spot))
        verb, near = self.pick(("", "put ", "place ")), self.pick(_NEXT_TO)
        command = f"{clause.command} and {verb}{other.words} {near} it"
        goal = GoalSpec(predicate="is_next_to", things=other.labels, at=one.labels)
        return _with(clause, command, [goal])

    def _beside_lying(self) -> Clause:
        """Things next to one that stays where it is."""
        cls = self.any_class()
        spot = self.single()
        (mover,) = self.phrases([self.any_class()], [spot], ONE)
        stays = self.things.phrase(cls, (), amount=ONE, silent=True)
        if stays is None:
            raise NoProposalError
        label = stays.labels[0]
        start = self.things.things[label]
        moved = {"on_top": spot.place.furniture, "inside": None, "room": spot.place.room}
        self.things.things[label] = start.model_copy(update=moved)
        where = f"{stays.words} on {spot.words}" if self.chance(0.6) else stays.words
        verb = self.pick(("put", "place", "set"))
        command = f"{verb} {mover.words} {self.pick(_NEXT_TO)} {where}"
        goal = GoalSpec(predicate="is_next_to", things=mover.labels, at=(label,))
        return Clause(command, "", (), "", (goal,))

    def _each_own(self) -> Clause:
        """Each of several things to a place of its own."""
        for _ in range(TRIES):
            cls = self.any_class()
            spot = self.destination(cls, Relation.ON)
            if spot.choices > 1 and spot.words.startswith(("a ", "an ")):
                break
        else:
            raise NoProposalError
        amount = Amount(2 + self.chance(0.3 if spot.choices > 2 else 0.0), None)
        (phrase,) = self.phrases([cls], [spot], amount)
        noun = spot.words.split(" ", 1)[1]
        words = self.pick((f"a different {noun}", f"a {noun} of its own"))
        clause = self.clauses.move([phrase], spot, self.label(spot))
        goals = tuple(
            spec.model_copy(update={"same_place": None, "other_place": self.clauses.tie()})
            for spec in clause.goals
        )
        command = f"{self.pick(('put', 'place', 'set'))} each of {_the(phrase.words)} on {words}"
        return Clause(command, "", (), "", goals)

    def _state(self) -> Clause:
        """Things or furniture into a state."""
        predicate = self.pick(tuple(_STATES))
        affordance, states = _STATES[predicate]
        if self.chance(0.35) and affordance != "fillable":
            return self._furniture_state(predicate)
        pool, count = self.things.classes(affordance), 1 + self.chance(0.35)
        self.rng.shuffle(pool)
        phrases = [
            phrase
            for cls in pool[:count]
            if (phrase := self._stateful(cls, predicate, states, silent=count > 1))
        ]
        if not phrases:
            raise NoProposalError
        return self.clauses.make(phrases, predicate)

    def _stateful(
        self, cls: ObjectClass, predicate: str, states: dict[str, bool], *, silent: bool
    ) -> Phrase | None:
        adjective = "dirty" if predicate == "is_clean" and self.chance(0.3) else ""
        amount = PAIR if self.chance(0.2) else ONE
        return self.things.phrase(
            cls, (), amount=amount, states=states, adjective=adjective, silent=silent
        )

    def _furniture_state(self, predicate: str) -> Clause:
        affordance, states = _STATES[predicate]
        known = default_catalogue().furniture
        pool = [c for c in sorted(self.spots.classes) if affordance in known[c].affordances]
        if not pool:
            raise NoProposalError
        spot = self.spots.furniture(self.pick(pool), None, one=True)
        if spot is None:
            raise NoProposalError
        label = self.label(
            Spot(spot.place.model_copy(update={"states": states}), "", None, 1, True)
        )
        return self.clauses.make([Phrase((label,), spot.words, "it", plural=False)], predicate)

    def _state_then_move(self) -> list[Clause]:
        """Things into a state, and then to a place."""
        predicate = self.pick(("is_clean", "is_clean", "is_filled"))
        affordance, states = _STATES[predicate]
        pool = self.things.classes(affordance)
        if not pool:
            raise NoProposalError
        cls = pool[int(self.rng.integers(len(pool)))]
        spot = self.destination(cls)
        amount = PAIR if self.chance(0.4) else ONE
        phrase = self.things.phrase(cls, [spot], amount=amount, states=states)
        if phrase is None:
            raise NoProposalError
        again = Phrase(phrase.labels, phrase.again, phrase.again, phrase.plural)
        move = self.clauses.move([again], spot, self.label(spot))
        return [
            self.clauses.make([phrase], predicate),
            Clause(move.command, "", (), "", move.goals),
        ]


_Made = tuple[str, tuple[GoalSpec, ...], tuple[tuple[GoalSpec, ...], ...]]
_MAKERS: dict[TaskType, Callable[[_Proposal], _Made]] = {
    TaskType.REARRANGE: _Proposal.rearrange,
    TaskType.SPATIAL: _Proposal.spatial,
    TaskType.TEMPORAL: _Proposal.temporal,
    TaskType.HETEROGENEOUS: _Proposal.heterogeneous,
}


def _fits(cls: ObjectClass, spot: Spot) -> bool:
    """Whether things of a class are likely at a spot; in a room anything is."""
    return spot.relation is None or any(
        (place.furniture, place.relation) == (spot.place.furniture, spot.relation)
        for place in cls.places
    )


def _with(clause: Clause, command: str, goals: Sequence[GoalSpec]) -> Clause:
    keep = command == clause.command
    return Clause(
        command,
        clause.doing if keep else "",
        clause.wishes if keep else (),
        "",
        (*clause.goals, *goals),
    )


def _the(words: str) -> str:
    """`the cups` for "both cups", "all three cups" and the like."""
    for prefix in ("both ", "all the ", "all two ", "all three ", "all "):
        words = words.removeprefix(prefix)
    return words if words.startswith("the ") else f"the {words}"
