"""The layout of a LeRobot data set, version 3.0: files, features and metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from planner.replay.export.lerobot_language import EVENTS, PERSISTENT, tools
from planner.replay.export.lerobot_motion import BodyNames
from planner.replay.export.lerobot_stats import Stats, combined

if TYPE_CHECKING:
    import pyarrow as pa

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
