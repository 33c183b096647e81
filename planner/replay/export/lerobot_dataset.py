"""`--to lerobot`: bags as a LeRobot data set, version 3.0, with one episode per bag and agent."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from planner.replay.export.lerobot_frames import (
    EVENTS,
    PERSISTENT,
    Body,
    BodyNames,
    Language,
    actions,
    column,
    language_of,
    read_body,
    tools,
)
from planner.replay.export.source import Camera, Source, read_story
from planner.replay.export.video import AV1, Span, VideoFile, frames, instants, spans
from planner.world.errors import FileError, PlannerError
from planner.world.observation import RgbImage

if TYPE_CHECKING:
    import pyarrow as pa


# Statistics with which LeRobot normalises: of each episode, and of the whole data set.

Stats: TypeAlias = Mapping[str, NDArray[np.float64]]
_QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
# As in LeRobot: a sample of an episode's pictures, each downsampled.
MAX_PICTURES, _MAX_PX = 100, 150


def vector_stats(values: NDArray[np.generic]) -> Stats:
    """Statistics of (n,) or (n, k) numbers, per column."""
    columns = np.asarray(values, np.float64).reshape(len(values), -1)
    return _stats(columns, len(values))


def picture_stats(samples: Sequence[RgbImage], frames: int) -> Stats:
    """Statistics of sampled pictures by channel (3, 1, 1), 0 to 1; `frames` is the count."""
    pixels = np.concatenate([sample.reshape(-1, 3) for sample in samples]).astype(np.float64) / 255
    made = _stats(pixels, frames)
    return {
        name: value if name == "count" else value.reshape(3, 1, 1) for name, value in made.items()
    }


def thinned(picture: RgbImage) -> RgbImage:
    """A downsampled picture."""
    step = max(max(picture.shape[:2]) // _MAX_PX, 1)
    return picture[::step, ::step].copy()


def sampled(count: int) -> frozenset[int]:
    """Evenly spaced indices of the sampled frames."""
    return frozenset(
        np.linspace(0, count - 1, min(count, MAX_PICTURES)).round().astype(int).tolist()
    )


def combined(parts: Sequence[Stats]) -> Stats:
    """Statistics of all episodes together; quantiles are means weighted by frames, as LeRobot's."""
    weights = np.array([float(part["count"][0]) for part in parts])
    total = weights.sum()

    def mean(values: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = np.tensordot(weights, np.stack(values), axes=1) / total
        return found

    mean_of_all = mean([part["mean"] for part in parts])
    variance = mean([part["std"] ** 2 + (part["mean"] - mean_of_all) ** 2 for part in parts])
    return {
        "min": np.min([part["min"] for part in parts], axis=0),
        "max": np.max([part["max"] for part in parts], axis=0),
        "mean": mean_of_all,
        "std": np.sqrt(variance),
        "count": np.array([total]),
        **{name: mean([part[name] for part in parts]) for name in _QUANTILES},
    }


def _stats(columns: NDArray[np.float64], count: int) -> Stats:
    found = np.quantile(columns, list(_QUANTILES.values()), axis=0)
    return {
        "min": columns.min(axis=0),
        "max": columns.max(axis=0),
        "mean": columns.mean(axis=0),
        "std": columns.std(axis=0),
        "count": np.array([float(count)]),
        **dict(zip(_QUANTILES, found, strict=True)),
    }


# The layout of a LeRobot data set, version 3.0: files, features and metadata.

VERSION = "v3.0"
INFO, STATS, TASKS = "meta/info.json", "meta/stats.json", "meta/tasks.parquet"
EPISODES = "meta/episodes/chunk-000/file-000.parquet"
DATA_PATH = "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet"
VIDEO_PATH = "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"
STATE, ACTION, DONE = "observation.state", "action", "next.done"
CALL, RESULT = "skill_call", "skill_result"
_FILES_A_CHUNK = 1000
_COUNTERS = ("frame_index", "episode_index", "index", "task_index")


def picture_key(camera: str) -> str:
    """The feature name of a camera's pictures."""
    return f"observation.images.{camera}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What all episodes of a data set have in common.

    Attributes:
        size_px: width and height of the pictures.
        language: whether the language columns are written, which LeRobot supports since 0.6.
    """

    fps: int
    names: BodyNames
    camera: str
    size_px: tuple[int, int]
    robot_type: str
    language: bool

    @property
    def features(self) -> dict[str, dict[str, object]]:
        """The features as in `info.json`, in the order of the columns."""
        width, height = self.size_px
        video = {
            "video.height": height,
            "video.width": width,
            "video.codec": "av1",
            "video.pix_fmt": "yuv420p",
            "video.fps": self.fps,
            "video.channels": 3,
            "has_audio": False,
            "is_depth_map": False,
        }
        pictures: dict[str, object] = {
            "dtype": "video",
            "shape": [height, width, 3],
            "names": ["height", "width", "channels"],
            "info": video,
        }
        found = {
            STATE: _feature("float32", self.names.state),
            ACTION: _feature("float32", self.names.action),
            picture_key(self.camera): pictures,
            CALL: _feature("string"),
            RESULT: _feature("string"),
            DONE: _feature("bool"),
        }
        if self.language:
            found.update({name: _feature("language") for name in (PERSISTENT, EVENTS)})
        counters = {name: _feature("int64") for name in _COUNTERS}
        return {**found, "timestamp": _feature("float32"), **counters}


@dataclass(frozen=True, slots=True)
class EpisodeEntry:
    """One row of the list of episodes.

    Attributes:
        bag: name of the bag's folder.
        verdict: the evaluator's: success, failure or unknown.
    """

    index: int
    first_frame: int
    length: int
    tasks: tuple[str, ...]
    bag: str
    agent: str
    verdict: str
    stats: Mapping[str, Stats] = field(default_factory=dict)


def place(index: int) -> dict[str, int]:
    """Chunk and file index of an episode's data and video: each episode has its own files."""
    return {"chunk_index": index // _FILES_A_CHUNK, "file_index": index % _FILES_A_CHUNK}


def data_file(folder: Path, index: int) -> Path:
    """Path of an episode's table; creates its folder."""
    return _made(folder / DATA_PATH.format(**place(index)))


def video_file(folder: Path, camera: str, index: int) -> Path:
    """Path of an episode's video; creates its folder."""
    return _made(folder / VIDEO_PATH.format(video_key=picture_key(camera), **place(index)))


def write_meta(
    folder: Path, plan: Plan, episodes: Sequence[EpisodeEntry], tasks: Sequence[str]
) -> None:
    """Writes `meta/`: info, statistics, tasks and episodes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    info = {
        "codebase_version": VERSION,
        "robot_type": plan.robot_type,
        "total_episodes": len(episodes),
        "total_frames": sum(episode.length for episode in episodes),
        "total_tasks": len(tasks),
        "chunks_size": _FILES_A_CHUNK,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "fps": plan.fps,
        "splits": {"train": f"0:{len(episodes)}"},
        "data_path": DATA_PATH,
        "video_path": VIDEO_PATH,
        "features": plan.features,
        **({"tools": tools()} if plan.language else {}),
    }
    _write_json(_made(folder / INFO), info)
    stats = {
        name: {key: value.tolist() for key, value in _all(episodes, name).items()}
        for name in episodes[0].stats
    }
    _write_json(_made(folder / STATS), stats)
    pq.write_table(tasks_table(tasks), _made(folder / TASKS))
    rows = [_row(plan, episode) for episode in episodes]
    pq.write_table(pa.Table.from_pylist(rows), _made(folder / EPISODES))


def tasks_table(tasks: Sequence[str]) -> pa.Table:
    """The tasks with their numbers, as the index that LeRobot expects in pandas."""
    import pyarrow as pa

    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()), "task": list(tasks)})
    described = [
        {"name": name, "field_name": name, "pandas_type": kind, "numpy_type": of, "metadata": None}
        for name, kind, of in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    pandas = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": described,
        "pandas_version": "2.0.0",
    }
    return table.replace_schema_metadata({"pandas": json.dumps(pandas)})


def _row(plan: Plan, episode: EpisodeEntry) -> dict[str, object]:
    where, video = place(episode.index), f"videos/{picture_key(plan.camera)}"
    row: dict[str, object] = {
        "episode_index": episode.index,
        "tasks": list(episode.tasks),
        "length": episode.length,
        "dataset_from_index": episode.first_frame,
        "dataset_to_index": episode.first_frame + episode.length,
        "data/chunk_index": where["chunk_index"],
        "data/file_index": where["file_index"],
        f"{video}/chunk_index": where["chunk_index"],
        f"{video}/file_index": where["file_index"],
        f"{video}/from_timestamp": 0.0,
        f"{video}/to_timestamp": episode.length / plan.fps,
        "meta/episodes/chunk_index": 0,
        "meta/episodes/file_index": 0,
        "bag": episode.bag,
        "agent": episode.agent,
        "verdict": episode.verdict,
    }
    for name, stats in episode.stats.items():
        row.update({f"stats/{name}/{key}": value.tolist() for key, value in stats.items()})
    return row


def _all(episodes: Sequence[EpisodeEntry], name: str) -> Stats:
    return combined([episode.stats[name] for episode in episodes])


def _feature(dtype: str, names: Sequence[str] = ()) -> dict[str, object]:
    shape = [len(names)] if names else [1]
    return {"dtype": dtype, "shape": shape, "names": list(names) or None}


def _made(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write_json(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, indent=4, ensure_ascii=True) + "\n", encoding="utf-8")


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
