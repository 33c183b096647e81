"""A generation that is interrupted goes on, and ends with the same bytes."""

import io
import json
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from papers.partnr.generation import generating
from papers.partnr.generation.generating import PartialFile, _Maker
from planner.cli import main
from planner.episodes.episode_file import read_pack
from planner.episodes.partial_file import Progress, partial_path
from planner.world.errors import FileError

COUNT = 4
COMMAND = ["episodes", "generate", "partnr", "--house", "new:2", "--type", "all"]
COMMAND += ["--count", str(COUNT), "--seed", "5", "--split", "test"]


def _generate(output: Path, *extra: str) -> int:
    return main([*COMMAND, "-o", str(output), *extra])


@pytest.fixture(scope="module", autouse=True)
def _houses_are_made_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generating, "generate_house", cache(generating.generate_house))
        yield


@pytest.fixture(scope="module")
def whole(
    _houses_are_made_once: None, tmp_path_factory: pytest.TempPathFactory
) -> tuple[bytes, bytes]:
    """The pack and the last state of the partial file of a run that nothing interrupts."""
    pack = tmp_path_factory.mktemp("whole") / "own.json.gz"
    kept: list[bytes] = []
    remove = PartialFile.remove
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            PartialFile,
            "remove",
            lambda self: (kept.append(self.path.read_bytes()), remove(self)),
        )
        assert _generate(pack) == 0
    return pack.read_bytes(), kept[0]


def _killed_at(output: Path, number: int, *extra: str) -> None:
    """Runs the command in a process that is killed when it begins the episode of a number."""

    def run() -> None:
        made = _Maker.made

        def killed(self: _Maker, current: int) -> object:
            if current == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return made(self, current)

        _Maker.made = killed  # type: ignore[method-assign, assignment]
        _generate(output, *extra)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(
    whole: tuple[bytes, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = tmp_path / "own.json.gz"
    # In the second house: the first one's two are done, and one of this.
    _killed_at(pack, 3)
    assert not pack.exists()
    assert len(partial_path(pack).read_bytes().splitlines()) == 1 + 3
    capsys.readouterr()
    assert _generate(pack) == 0
    said = capsys.readouterr()
    assert f"going on: 3 of {COUNT} episodes are done in {partial_path(pack)}" in said.err
    assert f"{COUNT} of {COUNT} episodes, " in said.err
    assert f"wrote {COUNT} episodes" in said.out
    assert pack.read_bytes() == whole[0]
    assert [path.name for path in tmp_path.iterdir()] == [pack.name]


@pytest.mark.slow
def test_an_interruption_after_any_episode_changes_nothing(
    whole: tuple[bytes, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = whole[1].splitlines(keepends=True)
    assert len(lines) == 1 + COUNT
    calls: Counter[int] = Counter()
    monkeypatch.setattr(_Maker, "made", _counting(calls))
    for kept in range(len(lines) + 1):
        # The next line is half written.
        half = lines[kept][: len(lines[kept]) // 2] if kept < len(lines) else b""
        pack = tmp_path / f"{kept}.json.gz"
        partial_path(pack).write_bytes(b"".join(lines[:kept]) + half)
        calls.clear()
        assert _generate(pack) == 0
        assert pack.read_bytes() == whole[0]
        assert calls.total() == COUNT - max(0, kept - 1)
        assert not partial_path(pack).exists()


def _counting(calls: Counter[int]) -> Callable[[_Maker, int], object]:
    made = _Maker.made

    def counted(self: _Maker, number: int) -> object:
        calls[number] += 1
        return made(self, number)

    return counted


@pytest.mark.slow
@pytest.mark.parametrize("cut", [1, 2, 40, -1])
def test_a_line_cut_anywhere_is_dropped(
    cut: int, whole: tuple[bytes, bytes], tmp_path: Path
) -> None:
    lines = whole[1].splitlines(keepends=True)
    pack = tmp_path / "own.json.gz"
    partial_path(pack).write_bytes(b"".join(lines[:-1]) + lines[-1][:cut])
    assert _generate(pack) == 0
    assert pack.read_bytes() == whole[0]


@pytest.mark.slow
def test_several_processes_and_an_interruption_change_nothing(
    whole: tuple[bytes, bytes], tmp_path: Path
) -> None:
    pack = tmp_path / "own.json.gz"
    partial_path(pack).write_bytes(b"".join(whole[1].splitlines(keepends=True)[:3]))
    assert _generate(pack, "--jobs", "2") == 0
    assert pack.read_bytes() == whole[0]


@pytest.mark.slow
def test_a_process_that_dies_is_one_line_and_the_rest_is_kept(
    whole: tuple[bytes, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pack = tmp_path / "own.json.gz"
    lines = whole[1].splitlines(keepends=True)
    partial_path(pack).write_bytes(b"".join(lines[:-1]))
    with monkeypatch.context() as patch:
        patch.setattr(_Maker, "made", lambda _self, _number: os.kill(os.getpid(), signal.SIGKILL))
        assert _generate(pack, "--jobs", "2") == 2
    assert capsys.readouterr().err.endswith("error: a process died; the same command goes on\n")
    assert partial_path(pack).read_bytes() == b"".join(lines[:-1])
    assert _generate(pack) == 0
    assert pack.read_bytes() == whole[0]


@pytest.mark.slow
def test_a_folder_is_completed_too(whole: tuple[bytes, bytes], tmp_path: Path) -> None:
    folder = tmp_path / "some" / "own"
    _killed_at(folder, 2)
    assert not folder.exists()
    assert _generate(folder) == 0
    pack = tmp_path / "own.json.gz"
    pack.write_bytes(whole[0])
    expected = {episode.episode_id for episode in read_pack(pack).episodes}
    assert {path.stem for path in folder.glob("*.json")} == expected
    assert not partial_path(folder).exists()


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        (["--seed", "6"], "seed: 5 there, 6 in this command"),
        (["--count", "7"], "count: 4 there, 7 in this command"),
        (["--split", "val"], "split: test there, val in this command"),
        (["--house", "heldout_0"], "house: new:2 there, new:2 heldout_0 in this command"),
        (["--solve"], "solve: False there, True in this command"),
    ],
)
def test_other_arguments_are_refused(
    extra: list[str],
    field: str,
    whole: tuple[bytes, bytes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pack = tmp_path / "own.json.gz"
    partial_path(pack).write_bytes(whole[1])
    assert _generate(pack, *extra) == 2
    remedy = "go on with the same arguments, choose another --output, or delete this file"
    assert capsys.readouterr().err == f"error: {partial_path(pack)}: {field}; {remedy}\n"
    assert partial_path(pack).read_bytes() == whole[1]
    assert not pack.exists()


def test_changed_houses_are_refused(
    whole: tuple[bytes, bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, _, rest = whole[1].partition(b"\n")
    asked = json.loads(head)
    asked["houses"]["home_5_1"] = "0" * 64
    pack = tmp_path / "own.json.gz"
    partial_path(pack).write_bytes(json.dumps(asked).encode() + b"\n" + rest)
    assert _generate(pack) == 2
    assert "houses: the houses have changed since" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "where"),
    [
        (b"{}\n", "line 6.number: Field required"),
        (b"no\n", "line 6: Invalid JSON"),
        (b'{"number": 0, "rejected": {}, "episode": null}\n', "line 6.number: 0 is there twice"),
        (b'{"number": 4, "rejected": {}, "episode": null}\n', "not below 4"),
    ],
)
def test_an_invalid_line_is_refused(
    line: bytes,
    where: str,
    whole: tuple[bytes, bytes],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    pack = tmp_path / "own.json.gz"
    partial_path(pack).write_bytes(whole[1] + line)
    assert _generate(pack) == 2
    said = capsys.readouterr().err
    assert where in said
    assert "delete this file" in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_two_processes_do_not_write_the_same_file(tmp_path: Path) -> None:
    pack = tmp_path / "own.json.gz"
    context = multiprocessing.get_context("fork")
    ready, end = context.Event(), context.Event()

    def hold(_order: object, *_rest: object) -> list[object]:
        ready.set()
        end.wait(60)
        return []

    def run() -> None:
        generating.generate = hold  # type: ignore[assignment]
        _generate(pack)

    process = context.Process(target=run)
    process.start()
    try:
        assert ready.wait(60)
        assert _generate(pack) == 2
        assert partial_path(pack).exists()
    finally:
        end.set()
        process.join(60)
    assert _generate(pack) == 0


def test_a_failed_write_keeps_what_is_done(
    whole: tuple[bytes, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = tmp_path / "own.json.gz"
    partial_path(pack).write_bytes(whole[1])
    pack.mkdir()
    assert _generate(pack) == 2
    assert partial_path(pack).read_bytes() == whole[1]
    pack.rmdir()
    assert _generate(pack) == 0
    assert pack.read_bytes() == whole[0]


def test_ctrl_c_says_what_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pack = tmp_path / "own.json.gz"
    append = PartialFile.append

    def interrupted(self: PartialFile, done: object) -> None:
        append(self, done)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(PartialFile, "append", interrupted)
    assert _generate(pack) == 130
    assert f"stopped: 1 of {COUNT} episodes are done" in capsys.readouterr().err


def test_where_the_partial_file_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert partial_path(Path("own.json.gz")) == Path("own.json.gz.partial.jsonl")
    beside = tmp_path.with_name(f"{tmp_path.name}.partial.jsonl")
    assert partial_path(Path()) == beside
    with pytest.raises(FileError, match="not a place for episodes"):
        partial_path(Path("/"))


def test_progress_is_a_line_every_ten_seconds() -> None:
    stream, times = io.StringIO(), iter([0.0, 4.0, 12.0, 14.0, 30.0])
    progress = Progress(100, 20, stream, lambda: next(times))
    progress.update(21, 0)
    progress.update(24, 3)
    progress.update(25, 3)
    progress.update(26, 4, last=True)
    assert stream.getvalue().splitlines() == [
        "24 of 100 episodes, 3 candidates rejected, 20 a minute",
        "26 of 100 episodes, 4 candidates rejected, 12 a minute",
    ]
