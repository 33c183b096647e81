"""What one agent knows and what follows from it for a decision: shared by its choices' parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

import numpy as np

from planner.planning.learned.matches import Array
from planner.planning.learned.network import Reading
from planner.planning.learned.progress import Progress
from planner.planning.learned.search import looks_of
from planner.planning.learned.situation import Situation
from planner.planning.learned.tokens import Token
from planner.world.skill import SkillName

HALF = 0.5


class Standing:
    """One agent's situation, compared with the instruction.

    Attributes:
        now, progress: what it knows, and what that means for the instruction.
        verbs: what its body can do.
        team: number of agents.
        waited: its last turn was to wait.
        places, things: index by number.
        where: of every entity, the furniture that it is or is on.
        lying: indices of the things by the furniture they are on.
        free_to_open: whether a hand is free to open what is closed.
        others: what other agents are going to.
        distances_m: from the agent, by number, in a straight line.
        act: (E,): there is something to do with it now.
        looks: where looking is worth how much.
        in_order: whether what waits for something else is left alone.
    """

    def __init__(
        self,
        tokens: tuple[Token, ...],
        reading: Reading,
        situation: Situation,
        progress: Progress,
        verbs: Collection[str],
        team: int,
        *,
        waited: bool,
    ) -> None:
        """As of `ChoiceMaker`."""
        self.now, self.progress = situation, progress
        self.verbs, self.team, self.waited = verbs, team, waited
        self.places = {number: i for i, number in enumerate(progress.pieces)}
        self.things = {number: i for i, number in enumerate(progress.things)}
        self.where = {n: situation.place_of(n) for n in (*progress.things, *progress.pieces)}
        self.lying: defaultdict[int | None, list[int]] = defaultdict(list)
        for n, i in self.things.items():
            self.lying[self.where[n]].append(i)
        # Bodies with two hands carry one thing, so that a hand is free to open what is closed.
        self.free_to_open = SkillName.CLEAN in verbs or not situation.held
        self.others = situation.targets_of_others
        self.act = self._acts()
        self.distances_m = self._all_distances()
        self.looks = looks_of(
            tokens,
            reading,
            situation,
            progress,
            np.array([self.distances_m.get(n, np.nan) for n in progress.pieces], np.float32),
            can_open=self.free_to_open,
            taken=self.others & self.places.keys(),
        )
        # Where everything waits for something else the order was misread, and binds no longer.
        self.in_order = bool(
            (progress.blocked <= HALF)[self._open_ends() > HALF].any()
            or progress.missing.max(initial=0) > HALF
        )

    def place_of(self, number: int) -> int | None:
        """The furniture that an entity is or is on, as `Situation.place_of`."""
        return self.where[number] if number in self.where else self.now.place_of(number)

    def is_near(self, number: int) -> bool:
        """Whether the agent is at an entity, or at what it is on."""
        near = self.now.near
        if near is None:
            return False
        return near == number or self.place_of(near) == self.place_of(number) is not None

    def index(self, number: int) -> int:
        """Its place in arrays over all entities."""
        if number in self.things:
            return self.things[number]
        return len(self.things) + self.places[number]

    def _acts(self) -> Array:
        """(E,): there is something to do with it now."""
        p = self.progress
        move = np.concatenate([p.move * (1 - p.first_state), np.zeros(len(p.pieces), np.float32)])
        if SkillName.CLEAN in self.verbs:
            move = np.maximum(move, p.state.max(1, initial=0))
        free = np.array(
            [not (self.now.things[n].picked and n not in self.now.held) for n in p.things]
            + [True] * len(p.pieces),
            np.float32,
        )
        found: Array = move * np.clip(p.need, 0, 1) * (1 - p.blocked) * free
        return found

    def _open_ends(self) -> Array:
        """(E,): there is something left to do with it, now or later."""
        p = self.progress
        move = np.concatenate([p.move, np.zeros(len(p.pieces), np.float32)])
        found: Array = np.maximum(move, p.state.max(1, initial=0)) * np.clip(p.need, 0, 1)
        return found

    def _all_distances(self) -> dict[int, float]:
        here = self.now.position_m
        if here is None:
            return {}
        found = {}
        for n in (*self.progress.things, *self.progress.pieces):
            place = self.place_of(n)
            if place is not None:
                x, y = self.now.pieces[place].position_m
                found[n] = float(np.hypot(x - here[0], y - here[1]))
        return found
