"""Which roll-outs are made: a fixed list, or drawn one by one from the outcomes so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from planner.training.improvement.outcomes import Draw, Ended, Tally
from planner.training.improvement.sampler import FailureRates, Sampler


class Source(Protocol):
    """Gives out roll-outs; the next one may depend on how others ended."""

    @property
    def total(self) -> int:
        """How many there will be."""

    def next(self) -> Draw | None:
        """The next roll-out; None = nothing until another one has ended, or ever."""

    def note(self, ended: Ended) -> None:
        """Reports the end of one that was given out; in any order."""

    def ended(self) -> list[Ended]:
        """Those that ended, in the order in which they were given out."""


class FixedDraws:
    """A list of roll-outs."""

    def __init__(self, draws: Sequence[Draw]) -> None:
        """They are given out in this order."""
        self._draws = tuple(draws)
        self._given = 0
        self._ended: dict[Draw, Ended] = {}

    @property
    def total(self) -> int:
        """How many there are."""
        return len(self._draws)

    def next(self) -> Draw | None:
        """The next one of the list."""
        if self._given == len(self._draws):
            return None
        self._given += 1
        return self._draws[self._given - 1]

    def note(self, ended: Ended) -> None:
        """Keeps it."""
        self._ended[ended.draw] = ended

    def ended(self) -> list[Ended]:
        """In the order of the list."""
        return [self._ended[draw] for draw in self._draws if draw in self._ended]


class SampledDraws:
    """One iteration of an algorithm.

    Roll-out j is drawn from the outcomes of all before it except the last `in_flight - 1`, which
    may still be running. So what is drawn depends neither on the number of workers nor on their
    speed, and a run that was killed draws the same again.
    """

    def __init__(
        self,
        sampler: Sampler,
        first: Tally,
        so_far: Tally,
        tried: dict[str, int],
        total: int,
        in_flight: int,
        seed: Sequence[int],
    ) -> None:
        """Begins an iteration.

        Args:
            sampler: the algorithm.
            first: outcomes of the first pass.
            so_far: outcomes before this iteration, of the same tasks.
            tried: how often each task was given out before; not changed.
            total: roll-outs of this iteration.
            in_flight: how many may be under way at once; 1 = each knows all outcomes before it.
            seed: of the draws.
        """
        self._sampler, self._in_flight, self._seed = sampler, in_flight, tuple(seed)
        self._first = first.failure_rates()
        self._at_start = so_far.failure_rates()
        self._now = so_far.copy()
        self._tried = dict(tried)
        self._total = total
        self._drawn: list[Draw] = []
        self._counted = 0
        self._ended: dict[Draw, Ended] = {}

    @property
    def total(self) -> int:
        """Roll-outs of this iteration."""
        return self._total

    def next(self) -> Draw | None:
        """Draws the next one, once the outcomes that it depends on are known."""
        place = len(self._drawn)
        if place == self._total:
            return None
        while self._counted <= place - self._in_flight:
            ended = self._ended.get(self._drawn[self._counted])
            if ended is None:
                return None
            self._now.add(ended)
            self._counted += 1
        rates = FailureRates(self._first, self._at_start, self._now.failure_rates())
        sums = np.cumsum(self._sampler.probabilities(rates))
        at = np.random.default_rng([*self._seed, place]).random() * sums[-1]
        task = self._now.tasks[min(int(np.searchsorted(sums, at, side="right")), len(sums) - 1)]
        draw = Draw(task, self._tried.get(task, 0))
        self._tried[task] = draw.number + 1
        self._drawn.append(draw)
        return draw

    def note(self, ended: Ended) -> None:
        """Keeps it until it is its turn to count."""
        self._ended[ended.draw] = ended

    def ended(self) -> list[Ended]:
        """In the order in which they were drawn."""
        return [self._ended[draw] for draw in self._drawn if draw in self._ended]
