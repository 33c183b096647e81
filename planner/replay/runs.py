"""The episode and house of a bag: the embedded copies, else the shipped ones."""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, TypeAlias

from planner.evaluation.as_understood import judged
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import evaluation_of
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode
from planner.evaluation.trace_builder import TraceBuilder, TracedEvaluator
from planner.recorder.topic_counts import Gap
from planner.replay.bag import WORLD_INFO, Bag, WorldInfo
from planner.replay.live import Judgement, RecordedGoal
from planner.replay.states import STATES, recorded_states
from planner.replay.storage import StoredMessage, TopicInfo, merged
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.house_checks import (
    episode_from_json,
    house_from_json,
    load_shipped_episode,
    load_shipped_house,
)
from planner.world.state import WorldState

# The episode and house of a bag: the embedded copies, else the shipped ones.

HOUSE_FILE, EPISODE_FILE = "house.json", "episode.json"


def load_task(bag: Bag) -> tuple[Episode | None, House]:
    """The episode and house of a bag's last run; no episode if it ran none.

    Args:
        bag: has both as texts, or only their names.

    Raises:
        PlannerError: if the bag does not name them, or names something that is not shipped.
    """
    info = bag.world_info
    episode_id, house = (info.episode_id, info.house) if info else _world_of(bag)
    return task_of(bag, episode_id, house) if episode_id else (None, house_of(bag, house))


def house_of(bag: Bag, house: str) -> House:
    """The house of a run without an episode.

    Raises:
        PlannerError: if there is no such house, or it is invalid.
    """
    for house_text, _, source in _carried(bag, "", house):
        carried = house_from_json(house_text, source)
        if carried.name == house:
            return carried
    return load_shipped_house(house)


def task_of(bag: Bag, episode_id: str, house: str) -> tuple[Episode, House]:
    """The episode and house of one of a bag's runs.

    Names in a bag are looked up among shipped files and never used as paths.

    Args:
        bag: has both as texts, or only their names.
        episode_id: as in the run's states.
        house: as in the run's states.

    Raises:
        PlannerError: if there is no such episode or house, or it is invalid.
    """
    if not episode_id:
        raise PlannerError("there is no goal to judge by: the run had no episode")
    for house_text, episode_text, source in _carried(bag, episode_id, house):
        if episode_text:
            episode, carried = episode_from_json(episode_text, house_text, source)
            if (episode.episode_id, carried.name) == (episode_id, house):
                return episode, carried
    try:
        return load_shipped_episode(episode_id)
    except FileError:
        raise
    except PlannerError as error:
        raise PlannerError(f"{error}, and the bag has only its name") from None


def _carried(bag: Bag, episode_id: str, house: str) -> Iterator[tuple[str, str, str]]:
    """Texts of house and episode ("" = none), and where they were found."""
    for info in reversed(bag.world_infos):
        if (info.episode_id, info.house) == (episode_id, house) and info.house_json:
            yield info.house_json, info.episode_json, f"{bag.folder}: {WORLD_INFO}"
    attached = bag.attachments()
    if HOUSE_FILE in attached:
        files = (attached[HOUSE_FILE], attached.get(EPISODE_FILE, b""))
        try:
            house_text, episode_text = (data.decode() for data in files)
        except UnicodeDecodeError as error:
            raise FileError(bag.folder, "attachments", f"are not UTF-8: {error}") from None
        yield house_text, episode_text, f"{bag.folder}: attachments"


def _world_of(bag: Bag) -> tuple[str, str]:
    """Episode and house of the last state of the world."""
    if bag.type_of(STATES) is None:
        raise FileError(bag.folder, "", f"has neither {WORLD_INFO} nor {STATES}: of no known house")
    last = next(iter(deque(recorded_states(bag), maxlen=1)), None)
    if last is None:
        raise FileError(bag.folder, STATES, "has no complete state, so the house is unknown")
    return last.state.episode_id, last.state.house


# Tolerance for stamps, which are converted to nanoseconds and back.
_STAMP_S = 1e-6


@dataclass(frozen=True, slots=True)
class Request:
    """How to evaluate recordings.

    Attributes:
        mode: scoring rules.
        episode: name or file of the episode; "" = as recorded.
        partial: whether an incomplete recording is evaluated as far as it goes.
        traced: whether traces are made.
    """

    mode: Mode = Mode.STRICT
    episode: str = ""
    partial: bool = False
    traced: bool = False


class StateSample(NamedTuple):
    """A state, its time of receipt, and the changed entities, if known.

    Attributes:
        gap: missing states before it.
    """

    received_ns: int
    state: WorldState
    changed: Collection[str] | None = None
    gap: Gap | None = None


@dataclass(frozen=True, slots=True)
class StateGap:
    """Missing states of a run.

    Attributes:
        from_ns: receipt of the last state before it, or start of the loss; 0 = none.
        to_ns: receipt of the first one after it, or when the loss was noticed.
        from_s: stamp of the last state before it, world's time; None without one.
        to_s: stamp of the first state after it.
        missing: how many states; 0 = unknown.
    """

    from_ns: int
    to_ns: int
    from_s: float | None
    to_s: float | None
    missing: int


# Finds the episode and the house of a state; None if the world ran no episode.
FindTask: TypeAlias = Callable[[WorldState], tuple[Episode, House] | None]
# Finds the goal as understood from words that a run is judged by, with the episode, if any, and the
# house; None if it is judged by its episode's goal.
FindWords: TypeAlias = Callable[
    [WorldState, Judgement | None], tuple[RecordedGoal, Episode | None, House] | None
]


@dataclass(slots=True)
class Run:
    """One episode of a recording during evaluation.

    Attributes:
        evaluator: None if nothing can be evaluated: see `error`, or there is no goal.
        words: the goal as understood from words, judged from the state of its instruction on.
        house: of a run that is judged by words.
    """

    source: Path
    first: WorldState
    last: WorldState
    live: Judgement | None
    builder: TraceBuilder | None
    mode: Mode = Mode.STRICT
    task: Episode | None = None
    evaluator: Evaluator | None = None
    error: PlannerError | None = None
    words: RecordedGoal | None = None
    house: House | None = None
    # Time of receipt and stamp of each state.
    received: list[int] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)
    missing: list[Gap] = field(default_factory=list)
    # Receipt of the state at which the live verdict was given.
    until_ns: int | None = None

    @property
    def episode_id(self) -> str:
        """As in the states; "" = the world ran no episode."""
        return self.first.episode_id

    def take(self, seen: StateSample) -> None:
        """Evaluates the next state."""
        state = seen.state
        # Events after the live verdict are not part of the run.
        is_after = self.live is not None and state.step > self.live.step
        if self.until_ns is None:
            self.note(seen, seen.gap)
        if is_after:
            return
        if self.words is not None and state.stamp_s > self.words.start_s + _STAMP_S:
            self.judge_words()
        self.last = state
        if self.evaluator is None or self.error is not None:
            return
        try:
            self.evaluator.update(state, seen.changed)
        except PlannerError as error:
            self.error = error_at_state(self.source, state, error)

    def judge_words(self) -> None:
        """Begins to evaluate what was understood from words, with the last state."""
        if self.words is None or self.words.goal is None or self.house is None:
            return
        if self.evaluator is not None or self.error is not None:
            return
        robot = self.task.agents[0].uid if self.task is not None else "agent_0"
        try:
            self.evaluator = judged(
                self.words.goal, (self.last,), self.words.start_s, self.house, self.mode, robot
            )
        except PlannerError as error:
            self.error = error_at_state(self.source, self.last, error)

    def note(self, seen: StateSample, gap: Gap | None) -> None:
        """Records a state's time and the gap before it."""
        self.received.append(seen.received_ns)
        self.stamps.append(seen.state.stamp_s)
        if gap is not None:
            self.missing.append(gap)
        if self.live is not None and seen.state.step >= self.live.step:
            self.until_ns = seen.received_ns

    def gaps(self, recorded: Sequence[Gap]) -> tuple[StateGap, ...]:
        """Missing states within the run.

        Args:
            recorded: all losses of states that the recorder noted.
        """
        begin = self.received[0]
        end = self.until_ns
        if end is None and self.live is not None:
            end = self.live.received_ns
        # A loss right before its first state belongs to this run only if it had started by then.
        starts_late = self.first.step > 0
        within = [
            gap
            for gap in recorded
            if (gap.to_ns > begin or (gap.to_ns == begin and starts_late))
            and (end is None or gap.from_ns < end)
        ]
        return tuple(self._state_gap(gap) for gap in merged([*self.missing, *within]))

    def gap_at_end(self) -> Gap | None:
        """What lies between the last state and the live verdict's own, if that is missing.

        No jump in the numbers shows it: nothing follows.
        """
        live = self.live
        if live is None or self.until_ns is not None or self.last.step >= live.step:
            return None
        return Gap(STATES, self.received[-1], max(live.received_ns, self.received[-1] + 1), 0)

    def _state_gap(self, gap: Gap) -> StateGap:
        before = bisect.bisect_right(self.received, gap.from_ns) - 1
        after = bisect.bisect_left(self.received, gap.to_ns)
        return StateGap(
            gap.from_ns,
            gap.to_ns,
            self.stamps[before] if before >= 0 else None,
            self.stamps[after] if after < len(self.stamps) else None,
            gap.missing,
        )


def runs(
    source: Path,
    states: Iterable[StateSample],
    request: Request,
    verdicts: Sequence[Judgement],
    find_task: FindTask,
    variant: Variant = Variant.BOXES,
    find_words: FindWords = lambda *_: None,
) -> Iterator[Run]:
    """The episodes in order, each yielded after its last state."""
    run: Run | None = None
    for seen in states:
        state = seen.state
        if run is not None and not is_another(run.last, state):
            run.take(seen)
            continue
        if run is not None:
            yield run
        live = next(
            (
                verdict
                for verdict in verdicts
                if verdict.received_ns >= seen.received_ns
                and verdict.episode_id == state.episode_id
            ),
            None,
        )
        run = _begun(source, state, request, live, find_task, find_words, variant)
        # At step 0 nothing of this run is missing: the loss belongs to the run before.
        run.note(seen, seen.gap if state.step > 0 else None)
    if run is not None:
        yield run


def is_another(last: WorldState, state: WorldState) -> bool:
    """Whether a state is of another world than the one before, or of one that began anew."""
    names = (state.house, state.episode_id)
    return names != (last.house, last.episode_id) or state.step < last.step


def _begun(
    source: Path,
    state: WorldState,
    request: Request,
    live: Judgement | None,
    find_task: FindTask,
    find_words: FindWords,
    variant: Variant,
) -> Run:
    builder = TraceBuilder() if request.traced else None
    run = Run(source, state, state, live, builder, request.mode)
    try:
        if (said := find_words(state, live)) is not None:
            # Traces and their metrics are about tasks of episodes.
            run.builder = None
            run.words, run.task, run.house = said
            return run
        found = find_task(state)
        if found is None:
            return run
        run.task, house = found
        asks = run.task.evaluation is not None or run.task.criteria is not None
        # An explicitly named episode without a goal is an error.
        if not asks and not request.episode:
            return run
        evaluation = evaluation_of(run.task)
        if house.name != state.house:
            raise PlannerError(
                f"episode {run.task.episode_id} is of house {house.name}, "
                f"the recording of {state.house}"
            )
        mode, builder = request.mode, run.builder
        criteria, robot = run.task.criteria, run.task.agents[0].uid
        if builder is None:
            run.evaluator = Evaluator(
                evaluation, house, state, mode, variant=variant, criteria=criteria, robot=robot
            )
        else:
            run.evaluator = TracedEvaluator(
                evaluation,
                house,
                state,
                mode,
                builder=builder,
                variant=variant,
                criteria=criteria,
                robot=robot,
            )
    except PlannerError as error:
        run.error = error_at_state(source, state, error)
    return run


def error_at_state(source: Path, state: WorldState, error: PlannerError) -> FileError:
    """An error that names episode and step of a state."""
    episode = state.episode_id or "(none)"
    return FileError(source, f"episode {episode}, step {state.step}", str(error))


# The worlds of a bag one by one: a task that was tried several times, other episodes.

# Later than any receipt.
_END_NS = 2**63 - 1


class BagPart(Bag):
    """A bag from the beginning of one world to that of the next.

    What was published before the part began is not in it, but for the worlds that were loaded.

    Attributes:
        number: of the part, 1 = the first.
        count: of the bag's parts.
    """

    def __init__(self, whole: Bag, number: int, begins_ns: Sequence[int]) -> None:
        """Opens the bag again.

        Args:
            whole: the bag.
            number: of the part.
            begins_ns: receipt of the beginning of each world.

        Raises:
            FileError: if there is no readable bag.
        """
        super().__init__(whole.folder)
        self.number, self.count = number, len(begins_ns)
        # The first one has what came before its first state, too.
        self._from_ns = begins_ns[number - 1] if number > 1 else 0
        self._until_ns = begins_ns[number] if number < self.count else _END_NS
        self._worlds = whole.world_infos
        self.start_ns = max(self.start_ns, self._from_ns)
        self.end_ns = min(self.end_ns, self._until_ns)
        # Only the last one has no end where the bag has none.
        self.cut_short &= number == self.count
        self.is_open &= number == self.count

    @property
    def world_infos(self) -> tuple[WorldInfo, ...]:
        """Those of the whole bag: a world may begin anew without being announced again."""
        return self._worlds

    def every(self) -> Iterator[tuple[str, StoredMessage]]:
        """As of a bag."""
        for name, message in super().every():
            if self._from_ns <= message.received_ns < self._until_ns:
                yield name, message

    def recorded_gaps(self, topic: str) -> tuple[Gap, ...]:
        """As of a bag; those that touch the part."""
        every = super().recorded_gaps(topic)
        return tuple(g for g in every if g.to_ns > self._from_ns and g.from_ns < self._until_ns)

    def _read(
        self, topics: Sequence[str], start_ns: int | None, end_ns: int | None
    ) -> Iterator[tuple[TopicInfo, StoredMessage]]:
        first_ns = max(start_ns or 0, self._from_ns)
        last_ns = self._until_ns if end_ns is None else min(end_ns, self._until_ns)
        return super()._read(topics, first_ns, last_ns)


def parts_of(bag: Bag) -> list[Bag]:
    """Each world of a bag in turn; the bag itself where it has one or no state.

    Raises:
        FileError: if the states cannot be read.
    """
    if bag.type_of(STATES) is None:
        return [bag]
    told_ns = [message.received_ns for message in bag.raw((WORLD_INFO,))]
    begins_ns: list[int] = []
    last, last_ns = None, 0
    for seen in recorded_states(bag):
        if last is None or is_another(last, seen.state):
            # A bridge announces a world, then its first state; others may hear the former first.
            before = [at_ns for at_ns in told_ns if last_ns < at_ns < seen.received_ns]
            begins_ns.append(before[-1] if before else seen.received_ns)
        last, last_ns = seen.state, seen.received_ns
    if len(begins_ns) < 2:
        return [bag]
    return [BagPart(bag, number, begins_ns) for number in range(1, len(begins_ns) + 1)]
