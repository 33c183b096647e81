"""Evaluates recordings, bags of runs and state logs, with the same evaluator as live runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from planner.evaluation.perceived import PerceivedWorld, task_steps
from planner.evaluation.predicates import Variant
from planner.evaluation.progress import PropositionProgress, Verdict, criteria_word
from planner.evaluation.trace import EpisodeTrace
from planner.recorder.topic_counts import Gap
from planner.replay.bag import SUFFIXES, Bag, files_of
from planner.replay.live import (
    InstructionOutcome,
    Judgement,
    RecordedGoal,
    add_calls,
    goal_at,
    instruction_outcomes,
    live_verdicts,
    recorded_goals,
    task_start_s,
)
from planner.replay.runs import Request, Run, StateGap, StateSample, house_of, runs, task_of
from planner.replay.states import STATES, read_changes, recorded_states
from planner.replay.storage import SequenceGaps, fields_of
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import open_regular, reading
from planner.world.house import House
from planner.world.house_checks import load_episode, load_shipped_episode
from planner.world.state import WorldState
from planner.world.wire import graph_record

GRAPH = "/world_graph"
# Percent complete is a float32 in the message.
_SINGLE = 1e-6


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict on one episode of a recording.

    Attributes:
        source: the bag or the log.
        live: the live verdict, if recorded.
        cut_short: whether the recording has no end, so the length of the run is unknown.
        gaps: missing states within the run.
        lacks: what is missing of the whole recording (`Bag.lacks`).
        trace: if requested.
    """

    source: Path
    verdict: Verdict
    live: Judgement | None = None
    cut_short: bool = False
    gaps: tuple[StateGap, ...] = ()
    trace: EpisodeTrace | None = None
    lacks: tuple[str, ...] = ()

    @property
    def final(self) -> bool:
        """Whether the whole run was evaluated."""
        return not self.cut_short and not self.gaps

    @property
    def agrees(self) -> bool | None:
        """Whether both verdicts are equal; None without a live one by the same rules."""
        live, now = self.live, self.verdict
        if live is None or live.mode != now.mode:
            return None
        return (
            live.success == now.success
            and abs(live.percent_complete - now.percent_complete) < _SINGLE
            and live.sim_steps == now.sim_steps
            and live.criteria == criteria_word(now.criteria)
            and [(p.satisfied, p.first_step, p.reason) for p in live.propositions]
            == [(p.satisfied, _first(p), str(p.reason or "")) for p in now.propositions]
        )


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A run without a goal to evaluate, such as one of an instruction in free text.

    Attributes:
        episode_id: "" = no episode.
        instructions: the instructions and their outcomes as the planner reported them.
    """

    source: Path
    house: str
    episode_id: str
    instructions: tuple[InstructionOutcome, ...]
    lacks: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = f"episode {self.episode_id} has no goal" if self.episode_id else "it had no episode"
        return f"{self.source}: there is no goal to judge the run by: {what}"


def recordings(path: Path) -> list[Path]:
    """The bags and state logs at a path: the path itself, or everything in the folder.

    Raises:
        FileError: if there is none.
    """
    with reading(path):
        if path.name.endswith(SUFFIXES) and path.is_file():
            return [path.parent]
        if path.is_file() or _is_bag(path):
            return [path]
        if not path.is_dir():
            raise FileError(path, "", "no such file or folder")
        found = {f.parent for suffix in SUFFIXES for f in path.rglob(f"*{suffix}") if f.is_file()}
        found |= {f for f in path.rglob("*.jsonl") if f.is_file() and is_state_log(f)}
    if not found:
        raise FileError(path, "", "has no bag and no state log")
    return sorted(found)


def _is_bag(path: Path) -> bool:
    return path.is_dir() and ((path / "metadata.yaml").is_file() or bool(files_of(path)))


def is_state_log(path: Path) -> bool:
    """Whether a file starts as a state log does."""
    with open_regular(path) as stream:
        return b'"record":"world"' in stream.read(2000).replace(b" ", b"")


def judge(path: Path, request: Request) -> Iterator[Judged | Unjudged | PlannerError]:
    """The verdicts on a recording: on the last episode of a bag, on every one of a log.

    An episode that cannot be evaluated is an error in its place.
    """
    try:
        if path.is_dir():
            bag = Bag(path)
            yield replace(judge_bag(bag, request), lacks=bag.lacks())
        else:
            yield from _judge_log(path, request)
    except PlannerError as error:
        yield error


def _judge_log(path: Path, request: Request) -> Iterator[Judged | Unjudged | PlannerError]:
    def find_task(state: WorldState) -> tuple[Episode, House] | None:
        if request.episode:
            return load_episode(request.episode)
        return load_shipped_episode(state.episode_id) if state.episode_id else None

    found = False
    for run in runs(
        path, (StateSample(0, *seen) for seen in read_changes(path)), request, (), find_task
    ):
        found = True
        yield _ended(run)
    if not found:
        raise FileError(path, "", "has no states of the world, so nothing can be judged")


def judge_bag(bag: Bag, request: Request) -> Judged | Unjudged:
    """The verdict on the last episode of a bag.

    Raises:
        PlannerError: if it cannot be evaluated.
    """
    path = bag.folder
    verdicts = live_verdicts(bag)

    def find_task(state: WorldState) -> tuple[Episode, House] | None:
        if request.episode:
            return load_episode(request.episode)
        if not state.episode_id:
            return None
        return task_of(bag, state.episode_id, state.house)

    goals = recorded_goals(bag)

    def find_words(
        state: WorldState, live: Judgement | None
    ) -> tuple[RecordedGoal, Episode | None, House] | None:
        said = goal_at(goals, None if live is None else live.received_ns)
        if said is None or request.episode:
            return None
        if not state.episode_id:
            return said, None, house_of(bag, state.house)
        return said, *task_of(bag, state.episode_id, state.house)

    topic = STATES
    states = (StateSample(*found) for found in recorded_states(bag))
    last: Run | Unjudged | None = _last(
        runs(path, states, request, verdicts, find_task, find_words=find_words)
    )
    if last is None:
        topic = GRAPH
        last = _last_perceived(bag, request, verdicts)
    if isinstance(last, Unjudged):
        return last
    if last is None:
        reason = f"has no states of the world, nor perceived ones on {GRAPH}: nothing is judged"
        raise FileError(path, STATES, reason)
    last.judge_words()
    if last.error is None and last.evaluator is None:
        return Unjudged(path, last.first.house, last.episode_id, instruction_outcomes(bag))
    cut_short = bag.cut_short and last.live is None
    if cut_short and not request.partial:
        what = "is still being written" if bag.is_open else "was cut short"
        where = f"{topic}, episode {last.episode_id}"
        reason = f"the recording {what} at step {last.last.step}; --partial judges it that far"
        raise FileError(path, where, reason)
    if last.evaluator is not None and topic == STATES:
        last.evaluator.start_step = _start_step(bag, last)
    if last.builder is not None:
        add_calls(last.builder, bag, last.first.stamp_s, last.last.stamp_s)
    gaps = bag.recorded_gaps(topic)
    if topic == STATES and (at_end := last.gap_at_end()) is not None:
        gaps = (*gaps, at_end)
    judged = _ended(last, cut_short=cut_short, recorded_gaps=gaps)
    if isinstance(judged, PlannerError):
        raise judged
    return judged


def _start_step(bag: Bag, run: Run) -> int:
    """Simulation step from which the steps of a run's verdict count."""
    if run.live is not None:
        # The live evaluator may have missed the instruction; bags of before know no start.
        return run.live.step - run.live.sim_steps
    if run.words is not None:
        return run.last.step - task_steps(run.last.step, run.last.stamp_s, run.words.start_s)
    # A recorder that joined late receives the instructions, latched, before the first state.
    start_s = task_start_s(bag, run.received[0] if run.first.step == 0 else 0)
    return run.last.step - task_steps(run.last.step, run.last.stamp_s, start_s)


def _ended(
    run: Run, *, cut_short: bool = False, recorded_gaps: Sequence[Gap] = ()
) -> Judged | Unjudged | PlannerError:
    if run.error is not None:
        return run.error
    if run.evaluator is None:
        return Unjudged(run.source, run.first.house, run.episode_id, ())
    verdict = run.evaluator.finish()
    trace = run.builder.finish(run.task, verdict) if run.builder and run.task else None
    gaps = run.gaps(recorded_gaps)
    return Judged(run.source, verdict, run.live, cut_short, gaps, trace)


def _last_perceived(
    bag: Bag, request: Request, verdicts: Sequence[Judgement]
) -> Run | Unjudged | None:
    """The run as the robots perceived it, without ground truth."""
    if not bag.topics.get(GRAPH):
        return None
    name = request.episode or (verdicts[-1].episode_id if verdicts else "")
    info = bag.world_info
    if not name and info is not None:
        name = info.episode_id
    if not name:
        instructions = instruction_outcomes(bag)
        if info is not None or instructions:
            return Unjudged(bag.folder, info.house if info else "", "", instructions)
        reason = "does not name its episode: name it by --episode"
        raise FileError(bag.folder, GRAPH, reason)
    if request.episode:
        task, house = load_episode(name)
    else:
        task, house = task_of(bag, name, info.house if info else "")
    start_s = verdicts[-1].start_s if verdicts else None
    states = _perceived_states(bag, PerceivedWorld(task, house.name, start_s))
    return _last(
        runs(bag.folder, states, request, verdicts, lambda _: (task, house), Variant.PERCEIVED)
    )


def _last(found: Iterable[Run]) -> Run | None:
    """The last one; evaluates all on the way."""
    last = None
    for run in found:
        last = run
    return last


def _perceived_states(bag: Bag, world: PerceivedWorld) -> Iterator[StateSample]:
    jumps = SequenceGaps(GRAPH) if bag.is_numbered(GRAPH) else None
    missing: list[Gap] = []
    for number, raw in enumerate(bag.raw((GRAPH,))):
        with fields_of(bag.folder, f"{GRAPH}, message {number}"):
            belief = graph_record(raw.content())
        gap = jumps.take(raw.sequence, raw.received_ns) if jumps is not None else None
        missing += [gap] if gap is not None else []
        state = world.state(belief)
        if state is None:
            continue
        yield StateSample(raw.received_ns, state, None, _together(missing))
        missing.clear()


def _together(gaps: Sequence[Gap]) -> Gap | None:
    """The gaps before a state, including beliefs before it that were not states."""
    if not gaps:
        return None
    missing = sum(gap.missing for gap in gaps)
    return Gap(GRAPH, gaps[0].from_ns, gaps[-1].to_ns, missing)


# Compares the live verdict of a run with the verdict of its own bag.


@dataclass(frozen=True, slots=True)
class BagCheck:
    """The result of evaluating a run's bag.

    Attributes:
        agrees: whether the bag's verdict is final and equals the live one, step by step.
        text: the bag's verdict and any differences, for people.
        judged: the verdict; None if there is none.
    """

    agrees: bool
    text: str
    judged: Judged | None = None

    def say_lacks(self) -> None:
        """Prints what is missing in the bag: said before a verdict of it is."""
        for line in self.judged.lacks if self.judged is not None else ():
            print(f"missing in the bag: {line}", flush=True)


def check_bag(folder: Path, request: Request | None = None) -> BagCheck:
    """Evaluates the only bag of a run.

    Args:
        folder: of the run; a recorder that died leaves more than one bag in it.
        request: how to evaluate; default: as `planner evaluate` does.
    """
    try:
        bags = [path for path in recordings(folder) if path.is_dir()]
        if len(bags) != 1:
            names = ", ".join(path.name for path in bags)
            raise PlannerError(
                f"the recorder was restarted, the run is in {len(bags)} bags: {names}"
            )
        (found,) = judge(bags[0], request or Request())
    except PlannerError as error:
        return BagCheck(False, f"none: {error}")
    if not isinstance(found, Judged):
        return BagCheck(False, f"none: {found}")
    word = "success" if found.verdict.success else "failure"
    if found.agrees and found.final:
        return BagCheck(True, word, found)
    why = [] if found.final else [_lack(found)]
    why += [] if found.agrees else [_difference(found)]
    return BagCheck(False, ", ".join((word, *why)), found)


def _lack(judged: Judged) -> str:
    missing = sum(gap.missing for gap in judged.gaps)
    return f"NOT FINAL: {missing} states missing" if missing else "NOT FINAL: its end is missing"


def _first(made: PropositionProgress) -> int:
    return -1 if made.first_step is None else made.first_step


def _difference(judged: Judged) -> str:
    live, now = judged.live, judged.verdict
    if live is None:
        return "and the bag has no live verdict"
    if live.mode != now.mode:
        return f"by the rules {now.mode}, the live one by {live.mode}"
    if (live.success, live.sim_steps) == (now.success, now.sim_steps):
        pairs = zip(live.propositions, now.propositions, strict=False)
        differ = [
            f"part {number} at step {_first(again)}, live {recorded.first_step}"
            for number, (recorded, again) in enumerate(pairs)
            if recorded.first_step != _first(again)
        ]
        if differ:
            return f"DIFFERENT from live: {', '.join(differ)}"
    return (
        f"DIFFERENT from live: {now.percent_complete:.2f} complete after {now.sim_steps} steps, "
        f"live {live.percent_complete:.2f} after {live.sim_steps}"
    )
