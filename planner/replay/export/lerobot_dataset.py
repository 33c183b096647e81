"""`--to lerobot`: bags as a LeRobot data set, version 3.0, with one episode per bag and agent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from planner.replay.export.frames import Span, frames, instants, spans
from planner.replay.export.lerobot_language import (
    EVENTS,
    PERSISTENT,
    Language,
    column,
    language_of,
)
from planner.replay.export.lerobot_layout import (
    ACTION,
    CALL,
    DONE,
    RESULT,
    STATE,
    EpisodeEntry,
    Plan,
    data_file,
    picture_key,
    video_file,
    write_meta,
)
from planner.replay.export.lerobot_motion import Body, actions, read_body
from planner.replay.export.lerobot_stats import (
    Stats,
    picture_stats,
    sampled,
    thinned,
    vector_stats,
)
from planner.replay.export.source import Camera, Source
from planner.replay.export.timeline import read_story
from planner.replay.export.video_file import AV1, VideoFile
from planner.world.errors import FileError, PlannerError
from planner.world.observation import RgbImage

FPS, CAMERA, AGENT = 10, "hand", "agent_0"
MAX_FRAMES = 1_000_000


@dataclass(frozen=True, slots=True)
class DatasetOptions:
    """What is exported.

    Attributes:
        agents: each becomes an episode of every bag.
        camera: name of their camera.
        fps: frames per second of the world's time.
        language: whether the language columns are written, which LeRobot supports since 0.6.
    """

    agents: Sequence[str] = (AGENT,)
    camera: str = CAMERA
    fps: int = FPS
    language: bool = True


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """What was written; `without_instruction` counts episodes without a known instruction."""

    episodes: int
    frames: int
    without_instruction: int


@dataclass(frozen=True, slots=True)
class _Draft:
    """One episode before it is written."""

    source: Source
    agent: str
    camera: Camera
    span: Span
    body: Body
    times_s: list[float]


def write_dataset(
    sources: Sequence[Source], folder: Path, options: DatasetOptions
) -> DatasetSummary:
    """Writes the data set.

    Raises:
        FileError: if a bag lacks what an episode needs, or differs from the first one in body or
            pictures.
        PlannerError: if FFmpeg lacks the encoder.
        OSError: if the file system refuses.
    """
    writer: _Writer | None = None
    for draft in _drafts(sources, options):
        writer = writer or _Writer(folder, _plan(draft, options))
        _check_compatible(writer.plan, draft)
        writer.add(draft)
    if writer is None:
        raise PlannerError("no bag or no agent was named")
    return writer.finish()


def _drafts(sources: Sequence[Source], options: DatasetOptions) -> Iterator[_Draft]:
    for source in sources:
        for agent in dict.fromkeys(options.agents):
            camera = source.camera(agent, options.camera)
            span = spans(source, [camera]).get(camera)
            if span is None:
                raise FileError(source.folder, camera.rgb, "has no picture")
            body = read_body(source, agent)
            first_s = max(span.first_s, body.first_s)
            if (body.last_s - first_s) * options.fps > MAX_FRAMES:
                reason = f"motion spans {body.last_s - first_s:.0f} s: too many frames"
                raise FileError(source.folder, f"/{agent}/odometry", reason)
            times_s = instants(first_s, body.last_s, 1 / options.fps)
            if not times_s:
                reason = "pictures begin after the last odometry: no time at which both are known"
                raise FileError(source.folder, camera.rgb, reason)
            yield _Draft(source, agent, camera, span, body, times_s)


def _plan(draft: _Draft, options: DatasetOptions) -> Plan:
    info = draft.source.bag.world_info
    bodies = dict(zip(info.agents, info.bodies, strict=False)) if info else {}
    robot = bodies.get(draft.agent, "") or "unknown"
    size = (draft.span.size_px[0] // 2 * 2, draft.span.size_px[1] // 2 * 2)
    return Plan(options.fps, draft.body.names, options.camera, size, robot, options.language)


def _check_compatible(plan: Plan, draft: _Draft) -> None:
    if draft.body.names != plan.names:
        reason = f"has {draft.body.names.state}, the episodes before {plan.names.state}"
        raise FileError(draft.source.folder, f"/{draft.agent}/joint_states", reason)
    size = (draft.span.size_px[0] // 2 * 2, draft.span.size_px[1] // 2 * 2)
    if size != plan.size_px:
        reason = f"has pictures of {size}, the episodes before of {plan.size_px} pixels"
        raise FileError(draft.source.folder, draft.camera.rgb, reason)


class _Writer:
    """Writes one episode after another, then the metadata of all."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.plan = plan
        self._folder = folder
        self._tasks: list[str] = []
        self._entries: list[EpisodeEntry] = []
        self._frames = self._without_instruction = 0

    def add(self, draft: _Draft) -> None:
        """Writes an episode's table and video."""
        index, count, plan = len(self._entries), len(draft.times_s), self.plan
        story = read_story(draft.source)
        language = language_of(story, draft.agent, draft.times_s)
        tasks = tuple(dict.fromkeys(language.tasks))
        self._tasks += [task for task in tasks if task not in self._tasks]
        numbers = self._numbers(draft, language)
        self._write_table(data_file(self._folder, index), numbers, language)
        stats: dict[str, Stats] = {name: vector_stats(values) for name, values in numbers.items()}
        samples = _write_video(video_file(self._folder, plan.camera, index), plan, draft)
        stats[picture_key(plan.camera)] = picture_stats(samples, count)
        bag = draft.source.folder.resolve().name
        verdict = "unknown" if story.verdict is None else "success" if story.verdict else "failure"
        self._entries.append(
            EpisodeEntry(index, self._frames, count, tasks, bag, draft.agent, verdict, stats)
        )
        self._frames += count
        self._without_instruction += not any(tasks)

    def finish(self) -> DatasetSummary:
        """Writes `meta/`."""
        write_meta(self._folder, self.plan, self._entries, self._tasks)
        return DatasetSummary(len(self._entries), self._frames, self._without_instruction)

    def _numbers(self, draft: _Draft, language: Language) -> dict[str, NDArray[np.generic]]:
        count = len(draft.times_s)
        states = draft.body.states(draft.times_s)
        return {
            STATE: states,
            ACTION: actions(states, self.plan.fps),
            DONE: np.arange(count) == count - 1,
            # Computed as LeRobot does, in double precision first.
            "timestamp": (np.arange(count) / self.plan.fps).astype(np.float32),
            "frame_index": np.arange(count),
            "episode_index": np.full(count, len(self._entries)),
            "index": np.arange(self._frames, self._frames + count),
            "task_index": np.array([self._tasks.index(task) for task in language.tasks]),
        }

    def _write_table(
        self, path: Path, numbers: Mapping[str, NDArray[np.generic]], language: Language
    ) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {name: _column(values) for name, values in numbers.items()}
        columns[CALL] = pa.array(language.calls, pa.string())
        columns[RESULT] = pa.array(language.results, pa.string())
        if self.plan.language:
            count = len(language.calls)
            columns[PERSISTENT] = column([language.persistent] * count, timed=True)
            columns[EVENTS] = column(language.events, timed=False)
        table = pa.table({name: columns[name] for name in self.plan.features if name in columns})
        pq.write_table(table, path, compression="snappy")


def _write_video(path: Path, plan: Plan, draft: _Draft) -> list[RgbImage]:
    """Writes an episode's pictures; returns a sample for the statistics."""
    chosen, samples = sampled(len(draft.times_s)), []
    with VideoFile(path, plan.size_px, plan.fps, AV1) as video:
        shown = frames(draft.source, [draft.camera], draft.times_s)
        for number, frame in enumerate(shown):
            picture = frame.pictures[draft.camera]
            video.add(picture)
            if number in chosen:
                samples.append(thinned(picture))
    return samples


def _column(values: NDArray[np.generic]) -> object:
    import pyarrow as pa

    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), values.shape[1])
