"""The moving picture: its frames, what is on them, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from planner.cli import main
from planner.houses.marks import Move, agent_style
from planner.replay.export.animation_page import RunMoments
from planner.replay.report.collect import collect
from planner.replay.report.document import Path, Place, Thing


@pytest.fixture
def bag(film):
    film.solved()
    return film.everything("bag").close()


def frames(path):
    with Image.open(path) as picture:
        found = []
        for number in range(picture.n_frames):
            picture.seek(number)
            found.append(np.asarray(picture.convert("RGB")).astype(int))
        return found


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".webp", ".gif"])
def test_a_run_becomes_a_picture_that_moves(bag, tmp_path, capsys, suffix) -> None:
    path = tmp_path / f"run{suffix}"
    duration_s = collect(bag, "bag", 0).report.about.duration_s
    speed = f"{max(duration_s / 2, 0.1):.3f}"
    status = main(
        ["export", str(bag), "--to", "animation", "-o", str(path), "--fps", "4", "--speed", speed]
    )
    told = capsys.readouterr()
    assert status == 0, told.err
    assert "frames" in told.out
    shown = frames(path)
    assert 1 < len(shown) <= 10
    assert shown[0].shape == shown[-1].shape
    assert np.abs(shown[0] - shown[-1]).max() > 60
    near = np.abs(shown[-1] - agent_style(0).rgb).sum(axis=2) < 90
    assert near.sum() > 20


@pytest.mark.slow
def test_ways_and_things_are_those_of_the_time(bag) -> None:
    report = collect(bag, "bag", 0).report
    places = (
        Place(0.0, 1.0, 1.0, "table_0", ""),
        Place(2.0, 0.0, 0.0, "", "agent_0"),
        Place(6.0, 3.0, 1.0, "table_1", ""),
    )
    still = (Place(0.0, 5.0, 5.0, "table_0", ""), Place(8.0, 5.02, 5.0, "table_0", ""))
    moments = RunMoments(
        replace(
            report,
            paths=(Path("agent_0", "tf", ((0.0, 0.0, 0.0, 0.0), (4.0, 4.0, 0.0, 1.0))),),
            things=(Thing("cup_0", "cup", places), Thing("jug_0", "jug", still)),
        )
    )
    middle, end = moments.marks(3.0), moments.marks(7.0)
    assert middle.ways_m[0] == ((0.0, 0.0), (3.0, 0.0))
    assert middle.bodies[0].at_m == (3.0, 0.0)
    # In the hand it goes along with the agent.
    assert (middle.carried_m, middle.things_m, middle.moves) == (((3.0, 0.0),), ((5.0, 5.0),), ())
    assert end.ways_m[0] == ((0.0, 0.0), (4.0, 0.0))
    assert end.moves == (Move("cup_0", (1.0, 1.0), (3.0, 1.0)),)
    assert (end.carried_m, end.things_m) == ((), ((3.0, 1.0), (5.0, 5.0)))
    assert moments.all_marks.moves == end.moves


def test_calls_and_progress_are_those_of_the_time(bag) -> None:
    report = collect(bag, "bag", 1_000_000).report
    moments = RunMoments(report)
    end_s = report.about.duration_s
    assert moments.progress(end_s) == report.progress[-1].percent_complete
    called = report.calls[0]
    middle_s = (called.start_s + called.end_s) / 2
    assert moments.running(called.agent, middle_s) == called
    assert moments.running(called.agent, end_s + 1) is None
    assert moments.ended(called.agent, called.end_s) is not None
    assert moments.ended(called.agent, -1.0) is None
    assert moments.picture("nobody", 0.0) is None


def test_other_names_and_endless_pictures_are_refused(bag, tmp_path, capsys) -> None:
    for arguments, reason in (
        (["-o", str(tmp_path / "run.png")], "ends in .webp or .gif"),
        (["-o", str(tmp_path / "run.gif"), "--fps", "120", "--speed", "0.01"], "--speed"),
        (["--agent", "agent_0"], "not an option of --to animation"),
    ):
        assert main(["export", str(bag), "--to", "animation", *arguments]) != 0
        assert reason in capsys.readouterr().err
    assert list(tmp_path.glob("run.*")) == []


def test_without_a_house_there_is_no_plan(tapes, tmp_path, capsys) -> None:
    path = tmp_path / "run.gif"
    assert main(["export", str(tapes.run()), "--to", "animation", "-o", str(path)]) != 0
    assert "does not name a house" in capsys.readouterr().err
