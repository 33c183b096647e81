"""LeRobot data sets: their files, and what is in them. Loaders are in test_lerobot_loaders.py."""

from __future__ import annotations

import json

import numpy as np
import pytest

from planner.replay.export.lerobot_dataset import (
    DatasetOptions,
    combined,
    picture_stats,
    vector_stats,
    write_dataset,
)
from planner.replay.export.lerobot_frames import tool_call_of, tools
from planner.replay.export.source import Source
from planner.world.errors import FileError

av = pytest.importorskip("av")
pq = pytest.importorskip("pyarrow.parquet")
DATA = "data/chunk-000/file-{:03d}.parquet"
VIDEO = "videos/observation.images.hand/chunk-000/file-{:03d}.mp4"


@pytest.fixture
def dataset(tapes, tmp_path):
    """Two bags of one agent each."""
    sources = [Source(tapes.run("one")), Source(tapes.run("two", end_s=3.0))]
    made = write_dataset(sources, tmp_path, DatasetOptions())
    assert (made.episodes, made.frames, made.without_instruction) == (2, 41 + 31, 0)
    return tmp_path


def rows(path):
    return pq.read_table(path).to_pylist()


@pytest.mark.slow
def test_frames_are_at_a_constant_rate_and_counted_over_all_episodes(dataset) -> None:
    first, second = rows(dataset / DATA.format(0)), rows(dataset / DATA.format(1))
    assert (len(first), len(second)) == (41, 31)
    assert [row["index"] for row in first + second] == list(range(72))
    for number, episode in enumerate((first, second)):
        assert {row["episode_index"] for row in episode} == {number}
        assert [row["frame_index"] for row in episode] == list(range(len(episode)))
        stamps = [row["timestamp"] for row in episode]
        assert stamps == [np.float32(n / 10) for n in range(len(episode))]
        assert [row["next.done"] for row in episode] == [False] * (len(episode) - 1) + [True]


@pytest.mark.slow
def test_info_describes_the_files(dataset) -> None:
    info = json.loads((dataset / "meta/info.json").read_text())
    assert (info["codebase_version"], info["fps"]) == ("v3.0", 10)
    assert (info["total_episodes"], info["total_frames"], info["total_tasks"]) == (2, 72, 1)
    assert info["splits"] == {"train": "0:2"}
    columns = [n for n, f in info["features"].items() if f["dtype"] != "video"]
    assert pq.read_schema(dataset / DATA.format(0)).names == columns
    state = info["features"]["observation.state"]
    assert state["shape"] == [8] == [len(state["names"])]
    assert info["features"]["observation.images.hand"]["shape"] == [48, 64, 3]
    for number, episode in enumerate(rows(dataset / "meta/episodes/chunk-000/file-000.parquet")):
        where = {
            "chunk_index": episode["data/chunk_index"],
            "file_index": episode["data/file_index"],
        }
        table = pq.read_table(dataset / info["data_path"].format(**where))
        assert episode["dataset_to_index"] - episode["dataset_from_index"] == table.num_rows
        assert episode["length"] == table.num_rows
        assert (dataset / VIDEO.format(number)).is_file()
        assert (episode["bag"], episode["agent"]) == (("one", "two")[number], "agent_0")
        assert episode["verdict"] == "unknown"


@pytest.mark.slow
def test_the_instruction_is_the_task(dataset, tapes) -> None:
    tasks = pq.read_table(dataset / "meta/tasks.parquet")
    assert tasks.to_pylist() == [{"task_index": 0, "task": tapes.instruction}]
    # With which pandas, and so LeRobot, takes the text as index.
    assert json.loads(tasks.schema.metadata[b"pandas"])["index_columns"] == ["task"]
    assert {row["task_index"] for row in rows(dataset / DATA.format(0))} == {0}


def test_calls_and_results_are_texts_of_each_frame(dataset) -> None:
    frames = rows(dataset / DATA.format(0))
    at = {number / 10: frames[number] for number in range(41)}
    assert (at[0.3]["skill_call"], at[0.3]["skill_result"]) == ("", "")
    assert at[1.0]["skill_call"] == "Navigate[table_1]"
    assert (at[2.1]["skill_call"], at[2.1]["skill_result"]) == ("", "Successful execution!")
    assert at[2.5]["skill_call"] == "Pick[cup_0]"
    assert at[4.0]["skill_call"] == "Navigate[cup_0]"
    assert at[4.0]["skill_result"] == "Unexpected failure! - Too far."


def test_language_columns_have_what_holds_and_what_began(dataset) -> None:
    frames = rows(dataset / DATA.format(0))
    persistent = frames[0]["language_persistent"]
    assert all(frame["language_persistent"] == persistent for frame in frames)
    told = [(round(r["timestamp"], 3), r["style"], r["content"]) for r in persistent]
    assert told == [
        (0.1, "plan", "go"),
        (0.5, "subtask", "Navigate[table_1]"),
        (2.0, "memory", "Navigate[table_1]: Successful execution!"),
        (2.2, "subtask", "Pick[cup_0]"),
        (3.0, "memory", "Pick[cup_0]: Unexpected failure! - Too far."),
        (3.2, "subtask", "Navigate[cup_0]"),
    ]
    # LeRobot looks for exactly the frames' stamps.
    stamps = {frame["timestamp"] for frame in frames}
    assert all(row["timestamp"] in stamps for row in persistent)
    events = {n: f["language_events"] for n, f in enumerate(frames) if f["language_events"]}
    assert events.keys() == {5, 22, 32}
    (row,) = events[22]
    assert (row["role"], row["content"], row["style"]) == ("assistant", None, None)
    (call,) = row["tool_calls"]
    assert json.loads(call)["function"] == {"name": "Pick", "arguments": {"object": "cup_0"}}


def test_language_columns_can_be_left_out(tapes, tmp_path) -> None:
    write_dataset([Source(tapes.run())], tmp_path / "made", DatasetOptions(language=False))
    info = json.loads((tmp_path / "made/meta/info.json").read_text())
    assert not any("language" in name for name in info["features"])
    assert "tools" not in info


@pytest.mark.slow
def test_the_video_has_a_frame_a_row(dataset, tapes) -> None:
    with av.open(str(dataset / VIDEO.format(0))) as container:
        stream = container.streams.video[0]
        frames = list(container.decode(stream))
        times = [float(frame.pts * stream.time_base) for frame in frames]
    assert times == pytest.approx([number / 10 for number in range(41)])
    assert stream.codec.canonical_name == "av1"
    for number in (0, 20, 40):
        shown = frames[number].to_ndarray(format="rgb24").mean()
        assert shown == pytest.approx(tapes.shade(number // 2 / 5), abs=4)


@pytest.mark.slow
def test_statistics_are_those_of_the_columns(dataset) -> None:
    stats = json.loads((dataset / "meta/stats.json").read_text())
    states = np.array(
        [row["observation.state"] for n in (0, 1) for row in rows(dataset / DATA.format(n))]
    )
    made = stats["observation.state"]
    assert made["count"] == [72]
    assert made["mean"] == pytest.approx(states.mean(axis=0).tolist(), abs=1e-6)
    assert made["std"] == pytest.approx(states.std(axis=0).tolist(), abs=1e-6)
    assert made["max"] == pytest.approx(states.max(axis=0).tolist(), abs=1e-6)
    shown = np.array(stats["observation.images.hand"]["mean"])
    assert shown.shape == (3, 1, 1)
    assert 40 / 255 < shown.mean() < 120 / 255
    assert "skill_call" not in stats


def test_statistics_of_parts_are_those_of_the_whole() -> None:
    values = np.arange(50.0).reshape(25, 2) ** 1.5
    parts = combined([vector_stats(values[:10]), vector_stats(values[10:])])
    whole = vector_stats(values)
    for name in ("min", "max", "mean", "std", "count"):
        assert parts[name] == pytest.approx(whole[name])
    picture = np.full((4, 4, 3), 51, np.uint8)
    assert picture_stats([picture], 7)["mean"].ravel() == pytest.approx([0.2] * 3)


@pytest.mark.slow
def test_several_agents_are_episodes_and_a_bag_of_another_body_is_refused(tapes, tmp_path) -> None:
    two = Source(tapes.run("two", agents=("agent_0", "agent_1")))
    made = write_dataset([two], tmp_path / "a", DatasetOptions(agents=("agent_0", "agent_1")))
    assert made.episodes == 2
    tape = tapes.tape("other")
    for time_s in (0.0, 0.1, 0.2):
        tapes.body(tape, time_s)
        tape.picture("agent_0", time_s)
    with pytest.raises(FileError, match=r"other: /agent_0/joint_states: has .*'hand_tilt.pos'\), "):
        write_dataset([two, Source(tape.close())], tmp_path / "b", DatasetOptions())


def test_an_instruction_that_changes_is_another_task_from_then_on(tapes, tmp_path) -> None:
    tape = tapes.tape()
    for number in range(10):
        tapes.body(tape, number / 10)
        tape.picture("agent_0", number / 10)
    tapes.status(tape, 0.2, "First.")
    tapes.status(tape, 0.5, "Second.")
    write_dataset([Source(tape.close())], tmp_path / "made", DatasetOptions())
    frames = rows(tmp_path / "made" / DATA.format(0))
    assert [frame["task_index"] for frame in frames] == [0] * 5 + [1] * 5
    (episode,) = rows(tmp_path / "made/meta/episodes/chunk-000/file-000.parquet")
    assert episode["tasks"] == ["First.", "Second."]


def test_an_unknown_instruction_is_counted(tapes, tmp_path) -> None:
    tape = tapes.tape()
    tapes.body(tape, 0.0)
    tape.picture("agent_0", 0.0)
    made = write_dataset([Source(tape.close())], tmp_path / "made", DatasetOptions())
    assert (made.frames, made.without_instruction) == (1, 1)


def test_a_call_is_a_tool_call_and_a_strange_text_is_none() -> None:
    text = tool_call_of("Place[cup_1, on, table_2, None, None]")
    assert text is not None
    assert json.loads(text) == {
        "type": "function",
        "function": {
            "name": "Place",
            "arguments": {"object": "cup_1", "relation": "on", "furniture": "table_2"},
        },
    }
    assert tool_call_of("rm -rf /") is None
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools()}
    assert schemas["Place"]["required"] == ["object", "relation", "furniture"]
