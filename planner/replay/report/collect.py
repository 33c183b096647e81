"""Makes the report of one bag."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path as FilePath

from planner.evaluation.trace import EpisodeTrace
from planner.replay.bag import Bag
from planner.replay.report import calls as skill_calls
from planner.replay.report import document as d
from planner.replay.report import faults, memory, verdicts
from planner.replay.report.about import facts_of, instructions_of, notices_of, subtasks_of
from planner.replay.report.clock import WorldClock
from planner.replay.report.floor_plan import floor_plan_of
from planner.replay.report.frames import PathPoint, thinned
from planner.replay.report.messages import Answer, Judgement, MemoryEdits, MemoryState, SkillEnd
from planner.replay.report.pictures import pictures_of
from planner.replay.report.scan import Scanned, scan
from planner.replay.report.sources import Sources, agents_of
from planner.replay.report.task_settings import find_task, settings_of
from planner.replay.report.topics import missed_messages, topics_of
from planner.replay.report.work import work_of
from planner.world.errors import FileError

# Bags with more messages than this are evaluated in a process of its own, in parallel.
_LONG = 100_000
# Points of one agent's path.
_MAX_POINTS = 6000


@dataclass(frozen=True, slots=True)
class Collected:
    """A bag's report, its pictures in the report's order, and its trace for the metrics."""

    report: d.BagReport
    jpegs: tuple[bytes, ...]
    trace: EpisodeTrace | None


def collect(
    folder: FilePath,
    name: str,
    picture_bytes: int,
    progress: Callable[[float], None] = lambda _: None,
) -> Collected:
    """Reads a bag and reports what happened.

    Args:
        folder: of the bag.
        name: the bag's name in the report.
        picture_bytes: limit for all pictures.
        progress: called with the completed share from time to time.

    Raises:
        FileError: if the folder is not a readable bag.
    """
    bag = Bag(folder)
    sources = Sources.of(bag, picture_bytes)
    plan = sources.plan(bag)
    length_ns = max(bag.end_ns - bag.start_ns, 1)

    def scanned(share: float) -> Scanned:
        return scan(bag, plan, lambda at_ns: progress(share * (at_ns - bag.start_ns) / length_ns))

    if bag.message_count < _LONG:
        found = scanned(0.6)
        rejudged = verdicts.rejudged(folder)
    else:
        # Evaluation takes about as long as all the rest.
        with ProcessPoolExecutor(1) as beside:
            judging = beside.submit(verdicts.rejudged, folder)
            found = scanned(0.9)
            try:
                rejudged = judging.result()
            except BrokenProcessPool:
                reason = "the process that judged it was killed, perhaps for lack of memory"
                raise FileError(folder, "", reason) from None
    progress(1.0)
    return _assembled(name, bag, sources, found, rejudged, picture_bytes)


def _assembled(
    name: str,
    bag: Bag,
    sources: Sources,
    found: Scanned,
    rejudged: verdicts.Rejudged,
    picture_bytes: int,
) -> Collected:
    clock, clock_name = sources.clock(bag.start_ns, found)
    world, missed, settings = sources.world, missed_messages(bag, found), settings_of(bag)
    results = found.of(verdicts.RESULT, Judgement)
    progress = found.of(verdicts.PROGRESS, Judgement)
    steps = verdicts.step_times(world.steps if world else (), [*progress, *results], clock)
    judged = verdicts.verdicts_of(rejudged, results, steps, clock)
    decided = found.of(skill_calls.DECISIONS, Answer)
    calls = skill_calls.calls_of(found.of(skill_calls.RESULTS, SkillEnd), decided, clock)
    facts = facts_of(found, world, settings)
    task = find_task(bag, facts.episode_id, facts.house)
    paths = _paths(sources, clock)
    agents = tuple(sorted({*agents_of(bag.topics), *facts.agents, *(c.agent for c in calls)}))
    best = judged.bag or judged.live
    shots = pictures_of(sources.cameras, clock, picture_bytes)
    about = d.About(
        instruction=facts.instruction or (task.episode.instruction if task.episode else ""),
        house=facts.house,
        episode_id=facts.episode_id,
        planner=facts.planner,
        model=facts.model,
        backend=facts.backend,
        body=facts.body,
        version=facts.version,
        seed=facts.seed,
        agents=agents,
        duration_s=clock.at_receipt(bag.end_ns),
        recorded_s=round((bag.end_ns - bag.start_ns) * 1e-9, 3),
        messages=sum(map(len, found.received_ns.values())),
        clock=clock_name,
        cut_short=bag.cut_short,
        settings=settings,
    )
    report = d.BagReport(
        name=name,
        notices=notices_of(bag, judged, found, missed, task),
        about=about,
        verdicts=judged,
        progress=verdicts.progress_of(rejudged, progress, steps, clock),
        instructions=instructions_of(found, clock),
        subtasks=subtasks_of(found, clock),
        calls=tuple(calls),
        decisions=tuple(skill_calls.decisions_of(decided, calls, clock)),
        work=work_of(agents, calls, best.propositions if best else (), paths),
        plan=floor_plan_of(task.house) if task.house else None,
        paths=paths,
        things=world.things(clock) if world else (),
        memory=memory.memory_of(
            found.of(memory.SNAPSHOTS, MemoryState),
            found.of(memory.UPDATES, MemoryEdits),
            found.of(faults.DIAGNOSTICS, tuple),
            world,
            clock,
        ),
        model_calls=tuple(skill_calls.model_calls_of(decided, clock)),
        topics=topics_of(bag, found, missed),
        faults=faults.faults_of(found, clock),
        pictures=tuple(picture for picture, _ in shots),
    )
    return Collected(report, tuple(jpeg for _, jpeg in shots), rejudged.trace)


def _paths(sources: Sources, clock: WorldClock) -> tuple[d.Path, ...]:
    """From /tf if it is connected to the map, else from the true world."""
    true = sources.world.paths if sources.world else {}
    found = []
    for agent in sorted({*sources.frames.paths, *true}):
        by_frames = sources.frames.paths.get(agent)
        points = by_frames or true[agent]
        rows = tuple(_row(point, clock) for point in thinned(points, _MAX_POINTS))
        found.append(d.Path(agent, "tf" if by_frames else "world_state", rows))
    return tuple(found)


def _row(point: PathPoint, clock: WorldClock) -> tuple[float, float, float, float]:
    t_s = clock.at(point.stamp_s, point.received_ns)
    return (round(t_s, 2), round(point.x_m, 3), round(point.y_m, 3), round(point.yaw_rad, 2))
