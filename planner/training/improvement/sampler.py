"""Which task is tried next, and by which policy: from the outcomes of all tries so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from planner.world.errors import PlannerError
from planner.world.files import FileModel

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class FailureRates:
    """The failure rate of each task, (tasks,) in [0, 1] (EPM-2.8, eq. 2).

    Attributes:
        first: after the first pass, in which every task was tried by the first policy.
        at_start: when this iteration began.
        now: with the outcomes of this iteration.
    """

    first: Floats
    at_start: Floats
    now: Floats


class Sampler(Protocol):
    """One algorithm."""

    @property
    def name(self) -> str:
        """Of the algorithm."""

    @property
    def tries_first_policy(self) -> bool:
        """Whether all traces are the first policy's, rather than the iteration's."""

    def probabilities(self, rates: FailureRates) -> Floats:
        """The probability of each task to be tried next, (tasks,); sums to one."""


def normalised(weights: Floats) -> Floats:
    """Weights as probabilities; equal ones if all weights are zero."""
    total = float(weights.sum())
    if total <= 0:
        return np.full(weights.shape, 1 / len(weights))
    return np.asarray(weights / total, np.float64)


# The set of traces that policy improvement collects: outcomes of tasks, and failure rates.


@dataclass(frozen=True, slots=True)
class Draw:
    """A task, and how often it was tried before: together they name a roll-out."""

    task: str
    number: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A roll-out that ended.

    Attributes:
        success: None if nothing could be judged, such as after a crash.
        trace: common start of the names of its files; "" = none.
    """

    draw: Draw
    success: bool | None
    trace: Path | None = None


class Tally:
    """How often each task was tried, and how often it failed."""

    def __init__(self, tasks: Sequence[str]) -> None:
        """Starts empty; `tasks` are in the order of all arrays."""
        self.tasks = tuple(tasks)
        self._place = {task: i for i, task in enumerate(self.tasks)}
        self._tried = np.zeros(len(self.tasks), np.int64)
        self._failed = np.zeros(len(self.tasks), np.int64)

    def copy(self) -> Tally:
        """An independent copy."""
        made = Tally(self.tasks)
        made._tried[:], made._failed[:] = self._tried, self._failed
        return made

    def add(self, ended: Ended) -> None:
        """Counts a roll-out; one without a verdict counts nowhere."""
        if ended.success is None:
            return
        place = self._place[ended.draw.task]
        self._tried[place] += 1
        self._failed[place] += not ended.success

    def without_verdict(self) -> tuple[str, ...]:
        """The tasks that no roll-out was judged of."""
        return tuple(task for task, n in zip(self.tasks, self._tried, strict=True) if not n)

    def only(self, tasks: Sequence[str]) -> Tally:
        """The counts of some of the tasks."""
        made = Tally(tasks)
        for i, task in enumerate(made.tasks):
            made._tried[i] = self._tried[self._place[task]]
            made._failed[i] = self._failed[self._place[task]]
        return made

    def failure_rates(self) -> Floats:
        """Failed / all of each task, (tasks,) (EPM-2.8, eq. 2).

        A task that was never judged has 1: nothing is known to solve it.
        """
        rates = np.ones(len(self.tasks))
        np.divide(self._failed, self._tried, out=rates, where=self._tried > 0)
        return rates


# Which roll-outs are made: a fixed list, or drawn one by one from the outcomes so far.


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
        self.total = total
        self._drawn: list[Draw] = []
        self._counted = 0
        self._ended: dict[Draw, Ended] = {}

    def next(self) -> Draw | None:
        """Draws the next one, once the outcomes that it depends on are known."""
        place = len(self._drawn)
        if place == self.total:
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


# DDAFT: a softmax over failure rates, which every outcome changes (EPM-2.8, eq. 3).

DDAFT = "ddaft"


class SoftmaxMode(StrEnum):
    """How a divides: exp(a f), which prefers what fails, or exp(f / a), almost uniform."""

    INVERSE_TEMPERATURE = "inverse_temperature"
    TEMPERATURE = "temperature"


@dataclass(frozen=True, slots=True)
class Ddaft:
    """Prefers the tasks that fail now.

    Attributes:
        alpha: a of the softmax, above 0; the paper's is 3.
        mode: the paper's words fit both, its aim the first.
    """

    alpha: float = 3.0
    mode: SoftmaxMode = SoftmaxMode.INVERSE_TEMPERATURE
    name: str = DDAFT
    tries_first_policy: bool = False

    def probabilities(self, rates: FailureRates) -> Floats:
        """softmax(a f) or softmax(f / a) of the rates of now (EPM-C38)."""
        inverse = self.mode is SoftmaxMode.INVERSE_TEMPERATURE
        raised = rates.now * self.alpha if inverse else rates.now / self.alpha
        weights = np.exp(raised - raised.max())
        return np.asarray(weights / weights.sum(), np.float64)


# Online-RFT: all tasks alike; only the policy changes (EPM-2.8).

ONLINE_RFT = "online-rft"


@dataclass(frozen=True, slots=True)
class OnlineRft:
    """Knows nothing of difficulty."""

    name: str = ONLINE_RFT
    tries_first_policy: bool = False

    def probabilities(self, rates: FailureRates) -> Floats:
        """Equal ones."""
        return np.full(rates.now.shape, 1 / len(rates.now))


# DART-Math: frequencies linear in a difficulty that is estimated once (EPM-2.8).

DART_MATH = "dart-math"


@dataclass(frozen=True, slots=True)
class DartMath:
    """A fixed distribution, and a set of traces that are all the first policy's."""

    name: str = DART_MATH
    tries_first_policy: bool = True

    def probabilities(self, rates: FailureRates) -> Floats:
        """Proportional to the failure rates of the first pass; uniform if nothing failed there."""
        return normalised(rates.first)


# DAST: a fixed map from failure rate to frequency, looked up once an iteration (EPM-2.8).

DAST = "dast"
# The paper does not print the map: up to which rate a task is tried how often. Ours.
DAST_FREQUENCIES = ((0.25, 1.0), (0.5, 2.0), (0.75, 3.0), (1.0, 4.0))


@dataclass(frozen=True, slots=True)
class Dast:
    """Difficulty is as old as the iteration.

    Attributes:
        frequencies: highest failure rate and frequency of each class of tasks, in rising order.
    """

    frequencies: tuple[tuple[float, float], ...] = DAST_FREQUENCIES
    name: str = DAST
    tries_first_policy: bool = False

    def probabilities(self, rates: FailureRates) -> Floats:
        """Proportional to the frequencies of the tasks' classes when the iteration began."""
        bounds = np.array([bound for bound, _ in self.frequencies])
        counts = np.array([count for _, count in self.frequencies])
        places = np.searchsorted(bounds, rates.at_start, side="left")
        return normalised(counts[np.minimum(places, len(counts) - 1)])


# The numbers of policy improvement (EPM-2.8, EPM-T8).

Count = Annotated[int, Field(ge=1)]


class ImprovementRecipe(FileModel):
    """One run of one algorithm; EPM-T8's numbers, and what it leaves out, which is ours.

    Attributes:
        algorithm: one of `ALGORITHMS`.
        iterations: each fits a policy and tries tasks with it.
        samples: roll-outs of an iteration.
        first_rounds: how often each task is tried in the first pass; 0 = the algorithm's own:
            once for DDAFT and Online-RFT, five times for those that estimate difficulty there.
        alpha, softmax_mode: of DDAFT.
        in_flight: roll-outs drawn before their outcomes are known, at most. Ours.
        evaluation_rounds: how often each held-out task is tried with each policy. Ours.
        seed: of the draws. Ours.
    """

    algorithm: str = DDAFT
    iterations: Count = 5
    samples: Count = 2000
    first_rounds: Annotated[int, Field(ge=0)] = 0
    alpha: Annotated[float, Field(gt=0)] = 3.0
    softmax_mode: SoftmaxMode = SoftmaxMode.INVERSE_TEMPERATURE
    in_flight: Count = 8
    evaluation_rounds: Count = 1
    seed: Annotated[int, Field(ge=0)] = 1

    @property
    def sampler(self) -> Sampler:
        """The algorithm.

        Raises:
            PlannerError: if there is none of this name.
        """
        make = ALGORITHMS.get(self.algorithm)
        if make is None:
            raise PlannerError(
                f"there is no algorithm {self.algorithm!r}: name {', '.join(ALGORITHMS)}"
            )
        return make(self)

    @property
    def rounds(self) -> int:
        """How often each task is tried in the first pass."""
        return self.first_rounds or _ROUNDS.get(self.algorithm, 1)


ALGORITHMS: Mapping[str, Callable[[ImprovementRecipe], Sampler]] = {
    DDAFT: lambda recipe: Ddaft(recipe.alpha, recipe.softmax_mode),
    ONLINE_RFT: lambda _: OnlineRft(),
    DART_MATH: lambda _: DartMath(),
    DAST: lambda _: Dast(),
}
# 10,000 roll-outs of 2,000 tasks.
_ROUNDS: Mapping[str, int] = {DART_MATH: 5, DAST: 5}
