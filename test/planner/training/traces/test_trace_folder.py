"""The format of traces: the chat they give, and folders that are written, continued and refused."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from trace_toys import make

from planner.models.chat import Speaker
from planner.training.traces.folder import (
    MANIFEST_FILE,
    TraceFolder,
    read_manifest,
    read_traces,
    shard_file,
)
from planner.training.traces.record import (
    Provenance,
    TraceTurn,
    learned_calls,
    messages_of,
)
from planner.world.errors import FileError
from planner.world.skill import SUCCESS_TEXT

RECIPE: dict[str, str | int | float | bool] = {"seed": 1, "memory": "privileged"}


def test_the_chat_is_the_dialogue_of_react() -> None:
    messages = messages_of(make())
    assert [m.speaker for m in messages] == [
        Speaker.SYSTEM,
        Speaker.USER,
        Speaker.ASSISTANT,
        Speaker.USER,
        Speaker.ASSISTANT,
        Speaker.USER,
        Speaker.ASSISTANT,
    ]
    assert messages[1].text.startswith("Task: Bring the cup to the table.\n")
    assert "Object.100: table in kitchen_0\n" in messages[1].text
    assert messages[2].text == "ExploreFurniture[Object.100]\nAssigned!"
    assert messages[3].text.split("\n") == [
        f"Result: {SUCCESS_TEXT}",
        "The following objects were updated:",
        "Add Object.101: cup with the Object.100",
    ]
    assert messages[5].text.endswith("\nNo object updates.")


def test_only_calls_to_be_learned_are_targets() -> None:
    trace = make()
    messages = messages_of(trace)
    found = list(learned_calls(trace))
    assert [call for _, call in found] == ["Pick[Object.101]", "Done[]"]
    assert all(messages[index].text.startswith(call) for index, call in found)


def test_a_turn_knows_whether_it_succeeded() -> None:
    assert [turn.succeeded for turn in make().turns] == [True, False, False]


def test_a_folder_gives_back_what_was_written(tmp_path: Path) -> None:
    folder = TraceFolder(tmp_path / "traces", RECIPE, 2)
    folder.write(0, [make(0, instruction="One\u2028line"), make(1)])
    assert folder.missing() == [1]
    # Another process goes on with the same recipe.
    folder = TraceFolder(tmp_path / "traces", RECIPE, 2)
    assert folder.missing() == [1]
    folder.write(1, [])
    manifest = folder.finish()
    assert (manifest.traces, manifest.turns, manifest.counts["solved"]) == (2, 6, 2)
    assert read_manifest(folder.path) == manifest
    found = list(read_traces(folder.path))
    assert found == [make(0, instruction="One\u2028line"), make(1)]


def test_a_half_written_folder_is_refused_and_says_how_to_go_on(tmp_path: Path) -> None:
    folder = TraceFolder(tmp_path, RECIPE, 3)
    folder.write(0, [make()])
    with pytest.raises(FileError, match="has 1 of 3 shards: the same command goes on"):
        list(read_traces(tmp_path))


def test_a_folder_of_another_recipe_is_refused(tmp_path: Path) -> None:
    TraceFolder(tmp_path, RECIPE, 3)
    with pytest.raises(FileError, match="is of other traces"):
        TraceFolder(tmp_path, {**RECIPE, "seed": 2}, 3)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"turns": [{"call": "Fly[Object.1]"}]}, r"line 1.turns.0.call: there is no skill 'Fly'"),
        ({"turns": [{"call": "Pick"}]}, r"line 1.turns.0.call: .* is not of the form"),
        (
            {"turns": [{"call": "Done[]", "shown": "Fly[Object.1]"}]},
            r"line 1.turns.0.shown: there is no skill 'Fly'",
        ),
        ({"reward": 2}, r"line 1.reward"),
        ({"version": 2}, r"line 1.version"),
        ({"agent": "agent_7"}, r"line 1: 'agent_7' is not in the team agent_0"),
        ({"extra": 1}, r"line 1.extra"),
    ],
)
def test_a_line_that_is_no_trace_is_named(
    tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    folder = TraceFolder(tmp_path, RECIPE, 1)
    folder.write(0, [])
    document = {**json.loads(make().model_dump_json()), **change}
    shard_file(tmp_path, 0).write_text(json.dumps(document) + "\n")
    with pytest.raises(FileError, match=reason):
        folder.finish()


def test_a_broken_line_is_named(tmp_path: Path) -> None:
    folder = TraceFolder(tmp_path, RECIPE, 1)
    shard_file(tmp_path, 0).write_text(f'{make().model_dump_json()}\n{{"version": 1,\n')
    with pytest.raises(FileError, match="line 2: is not well formed"):
        folder.finish()


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        TraceFolder(tmp_path / "file" / "traces", RECIPE, 1)


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    """Shards without a manifest are of nobody knows what, and would pass for done."""
    folder = TraceFolder(tmp_path / "traces", RECIPE, 1)
    folder.write(0, [make()])
    manifest = tmp_path / "traces" / MANIFEST_FILE
    # A kill before the manifest was whole leaves this, and nothing else.
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / f"{MANIFEST_FILE}.part").write_text("{")
    assert TraceFolder(tmp_path / "new", RECIPE, 1).missing() == [0]
    manifest.unlink()
    with pytest.raises(FileError, match=r"has files but no manifest\.json: name an empty folder"):
        TraceFolder(tmp_path / "traces", RECIPE, 1)


def test_a_full_disk_is_an_error_and_leaves_no_half_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = TraceFolder(tmp_path, RECIPE, 1)

    def full(_path: Path, _text: str, **_more: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(FileError, match="cannot be written: No space left on device"):
        folder.write(0, [make()])
    assert folder.missing() == [0]


def test_parts_have_plain_defaults() -> None:
    turn = TraceTurn(call="Done[]")
    assert (turn.learned, turn.gain, turn.deltas) == (True, 0.0, ())
    origin = Provenance(source="person", run="a", episode_id="", house="")
    assert (origin.explored, origin.invented, origin.dropped) == (0, 0, 0)
