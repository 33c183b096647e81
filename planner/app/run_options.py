"""What may differ from one in-process run to another, and how time passes in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from planner.evaluation.progress import Mode, Progress, Verdict
from planner.evaluation.trace_builder import TraceBuilder
from planner.memory.memory import Memory
from planner.memory.updater import MemoryUpdater
from planner.planning.session import Event
from planner.world.geometry import Box
from planner.world.observation import Observation
from planner.world.state import WorldState
from sim_bridge.backend import Backend

# How time passes in a run in this process: step by step, or with several steps taken as one.
#
# `Steps` takes every step. `Foresight` computes for how long nothing relevant will happen and
# skips no information: the evaluator gets every step in which something moves, except things in
# hands when they cannot affect the verdict. Calls, results, times and verdict are the same.

STEP_S = 1 / 30
# How far ahead agents' motions are predicted.
FORESIGHT_S = 4.0
# Cameras expose ten times a second from the start of the world, as over the bridge.
EXPOSURE_STEPS = 3
# PARTNR-1.4.
MAX_STEPS = 20_000


class Leaper(Protocol):
    """A backend that can predict for how long nothing will happen."""

    def foresee(self, seconds: float) -> None:
        """Announces that no step of this episode will be longer."""

    def steady_steps(self, dt_s: float, working: Collection[str]) -> int:
        """How many steps of `dt_s` equal one long step, at least 1."""

    def moves_things(self) -> bool:
        """Whether something is being carried, opened or closed."""

    def moves_agents(self) -> bool:
        """Whether agents are judged and one is walking or turning."""

    def reach(self, dt_s: float, steps: int) -> Mapping[str, Box]:
        """Bounding boxes of everything that moves and is judged during these steps."""

    @property
    def revision(self) -> int:
        """Increases with every change of things and furniture, which is all that is judged."""

    @property
    def handled_revision(self) -> int:
        """The same, except for things that just move with their holder."""

    def leap(self, dt_s: float, steps: int) -> None:
        """Takes all of these steps at once."""


class Judge(Protocol):
    """What judges a run; see `planner.evaluation.evaluator.Evaluator`."""

    @property
    def progress(self) -> Progress:
        """The progress after the last state."""

    def update(self, state: WorldState) -> object:
        """Processes the next state."""

    def keeps(self, reach: Mapping[str, Box]) -> bool:
        """Whether the judgement is unaffected while things move inside known boxes."""

    def finish(self) -> Verdict:
        """The verdict."""


class Observer(Protocol):
    """The agents' cameras and the memory that they feed."""

    def look(self, agent: str) -> None:
        """Updates the memory with what the agent senses now."""

    def redundant_frames(self, seconds: Sequence[float]) -> int:
        """The number of coming frames that certainly will not change the memory.

        `seconds` are the frames' times from now, if agents continue what they are doing.
        """

    def pass_over(self, seconds: float) -> None:
        """Tells the memory that all agents looked `seconds` from now, and from where."""


@dataclass(slots=True)
class Steps:
    """Takes every step by itself.

    Attributes:
        backend: with the episode loaded.
        memory: decides when frames are due.
        evaluator: receives each state.
        eyes: the agents' cameras; None = no cameras.
        on_advance: called with the seconds of each step before it is taken.
    """

    backend: Backend
    memory: Memory
    evaluator: Judge
    observer: Observer | None
    on_advance: Callable[[float], None] | None = None

    def begin(self) -> None:
        """Takes the first frame."""
        self.look()

    def advance(self, working: Collection[str], max_steps: int) -> int:
        """Advances time until something may happen, or a frame is due.

        Args:
            working: the agents with a running call.
            max_steps: at least 1.

        Returns:
            The number of steps taken.
        """
        del working, max_steps
        if self.on_advance is not None:
            self.on_advance(STEP_S)
        self.backend.step(STEP_S)
        self.judge()
        return 1

    def look(self) -> None:
        """Takes the frames that are exposed now and due for the memory."""
        now_s = self.backend.now_s()
        if self.observer is None or round(now_s / STEP_S) % EXPOSURE_STEPS:
            return
        for agent in self.backend.agents:
            if self.memory.due(agent, now_s):
                self.observer.look(agent)

    def judge(self) -> None:
        """Passes the current state to the evaluator."""
        state = self.backend.world_state()
        if state is not None:
            self.evaluator.update(state)


@dataclass(slots=True, kw_only=True)
class Foresight(Steps):
    """Takes steps in which nothing happens as one.

    Attributes:
        leaper: the backend.
    """

    leaper: Leaper
    _judged: int = -1
    _kept: int = MAX_STEPS

    def begin(self) -> None:
        """Takes the first frame."""
        if self.observer is not None:
            self.leaper.foresee(FORESIGHT_S)
        self.look()

    def advance(self, working: Collection[str], max_steps: int) -> int:
        """See `Steps`."""
        leaper = self.leaper
        steady = leaper.steady_steps(STEP_S, working)
        count = self._until_look(max(1, min(steady, max_steps)))
        if leaper.moves_things():
            self._carry(count)
        elif leaper.moves_agents():
            self._walk(count)
        else:
            self._leap(count)
            self._judge_changes()
        return count

    def _carry(self, left: int) -> None:
        """Takes steps in which things only move, in as few leaps as give the same verdict."""
        leaper = self.leaper
        while left > 0:
            # What was just too uncertain over a long distance will hardly be certain now.
            tried = count = min(left, 2 * self._kept)
            while count > 1 and not self.evaluator.keeps(leaper.reach(STEP_S, count)):
                count //= 2
            self._kept = count if count < tried else max(self._kept, count)
            handled = leaper.handled_revision
            self._leap(count)
            if count == 1 or leaper.handled_revision != handled:
                self._judge_changes()
            left -= count

    def _walk(self, left: int) -> None:
        """Takes steps in which agents move; the judge sees every frame that may matter to it."""
        leaper = self.leaper
        while left > 0:
            step = round(self.backend.now_s() / STEP_S)
            count, frame = left, min(left, self._frame_after(step) - step)
            while count > frame and not self.evaluator.keeps(leaper.reach(STEP_S, count)):
                count = max(frame, count // 2)
            self._leap(count)
            left -= count
            if count <= frame or left == 0:
                self._judge_changes()

    def _frame_after(self, step: int) -> int:
        """The first step after a given one in which a frame is due if every one is taken."""
        period = self.memory.period_s / STEP_S
        slot = math.floor(step / period + 1e-6)
        frames = (
            -(-math.ceil(each * period - 1e-6) // EXPOSURE_STEPS) * EXPOSURE_STEPS
            for each in (slot, slot + 1, slot + 2)
        )
        return next(frame for frame in frames if frame > step)

    def _leap(self, steps: int) -> None:
        if self.on_advance is not None:
            self.on_advance(STEP_S * steps)
        self.leaper.leap(STEP_S, steps)

    def _until_look(self, steady: int) -> int:
        """Of the steps that may be taken as one, those until a frame that may not be redundant."""
        if self.observer is None:
            return steady
        now_s = self.backend.now_s()
        step = round(now_s / STEP_S)
        last, look = step + steady, self._first_look(step, now_s)
        looks: list[float] = []
        # Something may happen in the last step.
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
        """The next step, after this one, in which a frame is due."""
        if any(self.memory.due(agent, now_s) for agent in self.backend.agents):
            # The next exposure after the current one.
            return -(-(step + 1) // EXPOSURE_STEPS) * EXPOSURE_STEPS
        return self._look_after(step, now_s)

    def _look_after(self, step: int, now_s: float) -> int:
        """The first step in which the frame after one taken at a given step is due."""
        left = math.ceil(self.memory.next_look_s(now_s) / STEP_S - 1e-6)
        return -(-max(step + left, step + 1) // EXPOSURE_STEPS) * EXPOSURE_STEPS

    def _judge_changes(self) -> None:
        if self.leaper.revision != self._judged:
            self._judged = self.leaper.revision
            self.judge()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of a run, the same for every world.

    Attributes:
        acting: the agents that act; empty = all of the episode.
        seed: replaces the episode's.
        images: whether the memory uses rendered images; otherwise visibility is computed by rays,
            where the simulator can. A world without pictures has none, and one that knows what is
            visible only by drawing it always has them.
        leaps: whether steps in which nothing is decided are taken as one. Calls, results, their
            times and the verdict are the same without, only slower; in the graph world the judge
            sees agents where a look or a part of a motion ends.
        on_event: called with each event as it happens.
        trace: receives each state and its progress.
        updater: replaces the privileged one of the memory.
        watch: called with each observation, and the memory before its update; not in worlds
            without pictures.
        mode: the evaluator's rules, strict or published.
        all_known: whether planners and skills get ground truth instead of the memory's belief:
            full observability (PARTNR-1.3).
    """

    acting: Sequence[str] = ()
    seed: int | None = None
    images: bool = True
    leaps: bool = True
    on_event: Callable[[Event], None] | None = None
    trace: TraceBuilder | None = None
    updater: MemoryUpdater | None = None
    watch: Callable[[Observation, Memory], None] | None = None
    mode: Mode = Mode.STRICT
    all_known: bool = False


# As they are where nothing is said.
USUAL = RunOptions()
