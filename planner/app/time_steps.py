"""How time passes in a run in this process: step by step, or with steps taken as one.

`Steps` takes every step. `Foresight` knows for how long nothing happens that anybody looks at, and
leaves nothing out: the judge is shown every step in which something moves, but for things in hands
where it is certain that nothing comes of it. Calls, results, times and verdict are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from planner.evaluation.evaluator import Evaluator
from planner.memory.memory import Memory
from planner.world.geometry import Box
from sim_bridge.backend import Backend

STEP_S = 1 / 30
# So far ahead is reckoned what agents will do.
FORESIGHT_S = 4.0
# Cameras expose ten times a second, from the world's beginning on, as the bridge has it.
EXPOSURE_STEPS = 3
# PARTNR-1.4.
MAX_STEPS = 20_000


class Leaper(Protocol):
    """A backend that knows for how long nothing will happen."""

    def foresee(self, seconds: float) -> None:
        """Says that no step of this episode will be longer."""

    def steady_steps(self, dt_s: float, working: Collection[str]) -> int:
        """How many steps of `dt_s` come to the same as one long one, at least 1."""

    def moves_things(self) -> bool:
        """Whether a thing is on its way in somebody's hand, or something opens or closes."""

    def reach(self, dt_s: float, steps: int) -> Mapping[str, Box]:
        """The boxes that what moves stays in for so many steps that may be taken as one."""

    @property
    def revision(self) -> int:
        """Grows with every change of things and furniture, which is all that is judged."""

    @property
    def handled_revision(self) -> int:
        """The same, but for things that only go along with who holds them."""

    def leap(self, dt_s: float, steps: int) -> None:
        """Takes so many steps in one go."""


class Observer(Protocol):
    """The agents' cameras, with the memory behind them."""

    def look(self, agent: str) -> None:
        """Shows the memory what an agent senses now."""

    def redundant_frames(self, seconds: Sequence[float]) -> int:
        """How many of looks, so many seconds from now each, tell nothing before one may.

        That is, as agents go on with what they do.
        """

    def pass_over(self, seconds: float) -> None:
        """Tells the memory that all looked then, and from where."""


@dataclass(slots=True)
class Steps:
    """Every step by itself.

    Attributes:
        backend: with the episode loaded.
        memory: says when agents look.
        evaluator: is shown each state.
        eyes: what agents look with; None = nobody looks.
        on_advance: gets the seconds of each step before it is taken.
    """

    backend: Backend
    memory: Memory
    evaluator: Evaluator
    observer: Observer | None
    on_advance: Callable[[float], None] | None = None

    def begin(self) -> None:
        """Takes the first look."""
        self.look()

    def advance(self, working: Collection[str], max_steps: int) -> int:
        """Lets time pass until something may happen, or a look is due.

        Args:
            working: the agents with a call under way.
            max_steps: at least 1.

        Returns:
            How many steps that were.
        """
        del working, max_steps
        if self.on_advance is not None:
            self.on_advance(STEP_S)
        self.backend.step(STEP_S)
        self.judge()
        return 1

    def look(self) -> None:
        """Looks through the cameras that expose now, where the memory wants a picture."""
        now_s = self.backend.now_s()
        if self.observer is None or round(now_s / STEP_S) % EXPOSURE_STEPS:
            return
        for agent in self.backend.agents:
            if self.memory.due(agent, now_s):
                self.observer.look(agent)

    def judge(self) -> None:
        """Shows the judge the present state."""
        state = self.backend.world_state()
        if state is not None:
            self.evaluator.update(state)


@dataclass(slots=True, kw_only=True)
class Foresight(Steps):
    """Steps in which nothing happens are taken as one.

    Attributes:
        leaper: the backend.
    """

    leaper: Leaper
    _judged: int = -1
    _kept: int = MAX_STEPS

    def begin(self) -> None:
        """Takes the first look."""
        if self.observer is not None:
            self.leaper.foresee(FORESIGHT_S)
        self.look()

    def advance(self, working: Collection[str], max_steps: int) -> int:
        """As `Steps`."""
        leaper = self.leaper
        steady = leaper.steady_steps(STEP_S, working)
        count = self._until_look(max(1, min(steady, max_steps)))
        if leaper.moves_things():
            self._carry(count)
        else:
            self._leap(count)
            self._judge_changes()
        return count

    def _carry(self, left: int) -> None:
        """Takes steps in which only things move, in as few goes as are judged the same."""
        leaper = self.leaper
        while left > 0:
            # What could not be told for a long way just now can hardly be told for it again.
            tried = count = min(left, 2 * self._kept)
            while count > 1 and not self.evaluator.keeps(leaper.reach(STEP_S, count)):
                count //= 2
            self._kept = count if count < tried else max(self._kept, count)
            handled = leaper.handled_revision
            self._leap(count)
            if count == 1 or leaper.handled_revision != handled:
                self._judge_changes()
            left -= count

    def _leap(self, steps: int) -> None:
        if self.on_advance is not None:
            self.on_advance(STEP_S * steps)
        self.leaper.leap(STEP_S, steps)

    def _until_look(self, steady: int) -> int:
        """Of so many steps that may be taken as one, those until a look that may tell something."""
        if self.observer is None:
            return steady
        now_s = self.backend.now_s()
        step = round(now_s / STEP_S)
        last, look = step + steady, self._first_look(step, now_s)
        looks: list[float] = []
        # In the last step something may happen.
        while look < last:
            looks.append((look - step) * STEP_S)
            look = self._look_after(look, now_s + looks[-1])
        if not looks:
            return steady
        redundant = self.observer.redundant_frames(looks)
        if redundant < len(looks):
            return round(looks[redundant] / STEP_S)
        if look > last:
            self.observer.pass_over(looks[-1])
        return steady

    def _first_look(self, step: int, now_s: float) -> int:
        """The next step, after this one, at which a look is due."""
        if any(self.memory.due(agent, now_s) for agent in self.backend.agents):
            # At the first exposure, but not at the present one again.
            return -(-(step + 1) // EXPOSURE_STEPS) * EXPOSURE_STEPS
        return self._look_after(step, now_s)

    def _look_after(self, step: int, now_s: float) -> int:
        """The first step at which the one is due that comes after a look at a step."""
        left = math.ceil(self.memory.next_look_s(now_s) / STEP_S - 1e-6)
        return -(-max(step + left, step + 1) // EXPOSURE_STEPS) * EXPOSURE_STEPS

    def _judge_changes(self) -> None:
        if self.leaper.revision != self._judged:
            self._judged = self.leaper.revision
            self.judge()
