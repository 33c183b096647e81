"""Judging recordings again: bags of runs and logs of states, by the evaluator that judged live."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from planner.evaluation.asked import evaluation_of
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.perceived import PerceivedWorld
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import Mode, Verdict, criteria_word
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import TraceBuilder, TracedEvaluator
from planner.replay.bag import Bag
from planner.replay.deeds import tell_deeds
from planner.replay.state_layout import difference
from planner.replay.state_log import read_changes
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house_checks import load_episode
from planner.world.state import WorldState
from planner.world.wire import graph_record
from planner.world.world_bytes import WorldBytes

STATES = "/world/state"
GRAPH = "/world_graph"
RESULT = "/evaluation/result"
# The message has percent complete in single precision.
_SINGLE = 1e-6
# Stamps go through nanoseconds and back.
_STAMP_S = 1e-6


@dataclass(frozen=True, slots=True)
class LiveVerdict:
    """What the evaluator node said when the run was recorded.

    `propositions`: satisfied, first step (-1 = never) and reason ("" = satisfied) of each;
    `start_s`: when the task began, where steps are counted from there (a perceived world).
    `criteria`: "met" or "not met"; "" where the episode has none.
    """

    mode: str
    success: bool
    percent_complete: float
    sim_steps: int
    propositions: tuple[tuple[bool, int, str], ...]
    start_s: float | None = None
    criteria: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one episode of a recording.

    Attributes:
        source: the bag or the log.
        live: the verdict of the run itself, where the recording has it.
        cut_short: how long the run went on is not known: the recorder was killed before its end.
        trace: where it was asked for.
    """

    source: Path
    verdict: Verdict
    live: LiveVerdict | None = None
    cut_short: bool = False
    trace: EpisodeTrace | None = None

    @property
    def agrees(self) -> bool | None:
        """Whether both verdicts are the same; None without a live one by the same rules."""
        live, now = self.live, self.verdict
        if live is None or live.mode != now.mode:
            return None
        return (
            live.success == now.success
            and abs(live.percent_complete - now.percent_complete) < _SINGLE
            and live.sim_steps == now.sim_steps
            and live.criteria == criteria_word(now.criteria)
            and live.propositions
            == tuple(
                (p.satisfied, -1 if p.first_step is None else p.first_step, str(p.reason or ""))
                for p in now.propositions
            )
        )


@dataclass(frozen=True, slots=True)
class Request:
    """How recordings are judged.

    Attributes:
        mode: by whose rules.
        episode: name or file of what was asked; "" = as the states say.
        partial: whether a recording that was cut short is judged up to there.
        traced: whether traces are made.
    """

    mode: Mode = Mode.STRICT
    episode: str = ""
    partial: bool = False
    traced: bool = False


def recordings(path: Path) -> list[Path]:
    """The bags and state logs that a path names: itself, or all that is in a folder.

    Raises:
        FileError: where there is none.
    """
    if path.suffix == ".mcap" and path.is_file():
        return [path.parent]
    if path.is_file() or _is_bag(path):
        return [path]
    if not path.is_dir():
        raise FileError(path, "", "there is no such file or folder")
    found = {file.parent for file in path.rglob("*.mcap")}
    found |= {file for file in path.rglob("*.jsonl") if is_state_log(file)}
    if not found:
        raise FileError(path, "", "holds no bag and no state log")
    return sorted(found)


def _is_bag(path: Path) -> bool:
    return path.is_dir() and ((path / "metadata.yaml").is_file() or any(path.glob("*.mcap")))


def is_state_log(path: Path) -> bool:
    """Whether a file begins as a state log does."""
    with path.open("rb") as stream:
        return b'"record":"world"' in stream.read(2000).replace(b" ", b"")


def judge(path: Path, request: Request) -> Iterator[Judged | PlannerError]:
    """The verdicts on a recording: on the last episode of a bag, on every one of a log.

    An episode that cannot be judged is an error in its place.
    """
    try:
        if path.is_dir():
            yield _judge_bag(path, request)
        else:
            yield from _judge_log(path, request)
    except PlannerError as error:
        yield error


def _judge_log(path: Path, request: Request) -> Iterator[Judged | PlannerError]:
    found = False
    for run in _runs(path, (_Seen(0, *seen) for seen in read_changes(path)), request, ()):
        found = True
        yield run.ended()
    if not found:
        raise FileError(path, "", "holds no state of the world, so nothing can be judged")


def _judge_bag(path: Path, request: Request) -> Judged:
    bag = Bag(path)
    verdicts = [(m.received_ns, m.content) for m in bag.messages((RESULT,))]
    last = None
    for run in _runs(path, _bag_states(bag), request, verdicts):
        last = run
    if last is None:
        perceived = _perceived_states(bag, request, verdicts)
        for run in _runs(path, perceived, request, verdicts, Variant.PERCEIVED):
            last = run
    if last is None:
        reason = f"holds no state of the world, nor is one perceived on {GRAPH}: nothing is judged"
        raise FileError(path, STATES, reason)
    cut_short = bag.cut_short and last.live is None
    if cut_short and not request.partial:
        where = f"{STATES}, episode {last.episode_id}"
        reason = f"the recording was cut short at step {last.last.step}; --partial judges it so far"
        raise FileError(path, where, reason)
    if last.builder is not None:
        tell_deeds(last.builder, bag, last.first.stamp_s, last.last.stamp_s)
    judged = last.ended(cut_short=cut_short)
    if isinstance(judged, PlannerError):
        raise judged
    return judged


class _Seen(NamedTuple):
    """A state, when it was received, and which entities changed, where that is known."""

    received_ns: int
    state: WorldState
    changed: Collection[str] | None = None


def _bag_states(bag: Bag) -> Iterator[_Seen]:
    recorded = bag.type_of(STATES)
    if recorded is not None and (reason := difference(*recorded)):
        raise FileError(bag.folder, STATES, reason)
    reader = WorldBytes()
    for number, (received_ns, data) in enumerate(bag.data(STATES)):
        try:
            yield _Seen(received_ns, reader.read(data), reader.changed)
        except PlannerError as error:
            raise FileError(bag.folder, f"{STATES}, message {number}", str(error)) from None


def _perceived_states(
    bag: Bag, request: Request, verdicts: Sequence[tuple[int, Any]]
) -> Iterator[_Seen]:
    """What the robots believed, where nobody knew the true world."""
    live = _live(verdicts[-1][1]) if verdicts else None
    name = request.episode or (verdicts[-1][1].episode_id if verdicts else "")
    start_s = live.start_s if live else None
    world: PerceivedWorld | None = None
    for number, message in enumerate(bag.messages((GRAPH,))):
        where = f"{GRAPH}, message {number}"
        if not name:
            raise FileError(
                bag.folder, where, "does not say which episode it is of: name it by --episode"
            )
        task, house = load_episode(name)
        try:
            belief = graph_record(message.content)
        except (KeyError, IndexError, ValueError) as error:
            raise FileError(bag.folder, where, f"is no graph: {error}") from None
        start_s = belief.stamp_s if start_s is None else start_s
        # What was believed before the live judge began is not part of the run.
        if belief.stamp_s >= start_s - _STAMP_S:
            world = world or PerceivedWorld(task, house.name)
            yield _Seen(message.received_ns, world.state(belief, start_s))


@dataclass(slots=True)
class _Run:
    """One episode of a recording while its states come in."""

    source: Path
    first: WorldState
    last: WorldState
    live: LiveVerdict | None
    builder: TraceBuilder | None
    task: Episode | None = None
    evaluator: Evaluator | None = None
    error: PlannerError | None = None

    @property
    def episode_id(self) -> str:
        return self.first.episode_id

    def take(self, state: WorldState, changed: Collection[str] | None) -> None:
        # What happened after the live verdict is not part of the run.
        if self.live is not None and state.step > self.live.sim_steps:
            return
        self.last = state
        if self.evaluator is None or self.error is not None:
            return
        try:
            self.evaluator.update(state, changed)
        except PlannerError as error:
            self.error = _at(self.source, state, error)

    def ended(self, *, cut_short: bool = False) -> Judged | PlannerError:
        if self.error is not None or self.evaluator is None or self.task is None:
            return self.error or PlannerError(f"{self.source}: nothing was judged")
        verdict = self.evaluator.finish()
        trace = self.builder.finish(self.task, verdict) if self.builder else None
        return Judged(self.source, verdict, self.live, cut_short, trace)


def _runs(
    source: Path,
    states: Iterable[_Seen],
    request: Request,
    verdicts: Sequence[tuple[int, Any]],
    variant: Variant = Variant.BOXES,
) -> Iterator[_Run]:
    """The episodes one after another, each when its last state was taken up."""
    run: _Run | None = None
    for received_ns, state, changed in states:
        if run is not None and not _is_another(run.last, state):
            run.take(state, changed)
            continue
        if run is not None:
            yield run
        live = next(
            (
                _live(content)
                for stamp_ns, content in verdicts
                if stamp_ns >= received_ns and content.episode_id == state.episode_id
            ),
            None,
        )
        run = _begun(source, state, request, live, variant)
    if run is not None:
        yield run


def _is_another(last: WorldState, state: WorldState) -> bool:
    return state.episode_id != last.episode_id or state.step < last.step


def _begun(
    source: Path, state: WorldState, request: Request, live: LiveVerdict | None, variant: Variant
) -> _Run:
    run = _Run(source, state, state, live, TraceBuilder() if request.traced else None)
    try:
        run.task, house = load_episode(request.episode or state.episode_id)
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
        run.error = _at(source, state, error)
    return run


def _at(source: Path, state: WorldState, error: PlannerError) -> FileError:
    episode = state.episode_id or "(none)"
    return FileError(source, f"episode {episode}, step {state.step}", str(error))


def _live(content: Any) -> LiveVerdict:
    return LiveVerdict(
        mode=str(content.scoring),
        success=int(content.status) == int(content.SUCCEEDED),
        percent_complete=float(content.percent_complete),
        sim_steps=int(content.sim_step),
        propositions=tuple(
            (bool(p.satisfied), int(p.first_step), str(p.reason)) for p in content.propositions
        ),
        start_s=next((float(m.value) for m in content.metrics if m.key == "start_s"), None),
        criteria=next((str(m.value) for m in content.metrics if m.key == "criteria"), ""),
    )
