"""Suites and their jobs, and the directory that a run claims."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from planner.bench.runs.manifest import (
    Manifest,
    find_suite,
    jobs_of,
    naming,
    new_manifest,
    open_run,
)
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.bench.suite import SUITES
from planner.planning.planner_model import Control, MemorySource, Observability, Privilege
from planner.world.errors import FileError, PlannerError
from planner.world.share import config_dir

HELDOUT = config_dir() / "episodes" / "heldout"


def test_suites_are_folders_files_and_names() -> None:
    everything, train = find_suite("all"), find_suite("train")
    assert {e.episode_id for e in train} < {e.episode_id for e in everything}
    assert find_suite(str(HELDOUT)) == find_suite("heldout")
    (one,) = find_suite("fruit_0")
    assert one.episode_id == "fruit_0"


def test_an_unknown_suite_names_the_known_ones() -> None:
    assert {"all", "heldout", "train"} <= set(SUITES.names())
    with pytest.raises(PlannerError, match=f"name {', '.join(SUITES.names())}, a shipped episode"):
        find_suite("nothing")


def test_an_episode_without_evaluation_is_refused(tmp_path: Path) -> None:
    text = (HELDOUT / "scrub_0.json").read_text(encoding="utf-8")
    head, _, rest = text.partition('"evaluation":')
    (tmp_path / "bare.json").write_text(head + '"evaluation": null }', encoding="utf-8")
    assert rest
    with pytest.raises(PlannerError, match=r"bare.json: has no evaluation"):
        find_suite(str(tmp_path))


def test_more_episodes_than_the_suite_has_come_with_other_seeds() -> None:
    suite = find_suite("heldout")
    jobs = jobs_of(suite, 2 * len(suite) + 3, seed=5)
    assert len({job.key for job in jobs}) == len(jobs) == 2 * len(suite) + 3
    assert {job.seed for job in jobs if job.episode_id == suite[0].episode_id} == {
        suite[0].seed + 5 + n for n in range(3)
    }
    assert [job.house for job in jobs] == sorted(job.house for job in jobs)
    assert len(jobs_of(suite, 2, seed=0)) == 2


def _manifest(**settings: object) -> Manifest:
    suite = find_suite("fruit_0")
    return new_manifest("fruit_0", suite, 1, RunSettings.model_validate(settings))


def test_a_run_is_resumed_with_the_same_settings_only(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with open_run(run, _manifest()) as resumed:
        assert not resumed
    with open_run(run, _manifest()) as resumed:
        assert resumed
    with (
        pytest.raises(FileError, match=r"settings.planner: is 'expert', not 'react': resume with"),
        open_run(run, _manifest(planner="react")),
    ):
        pass
    changed = _manifest().model_copy(update={"digest": "other"})
    with (
        pytest.raises(FileError, match="the suite's episodes have changed"),
        open_run(run, changed),
    ):
        pass


def test_one_process_at_a_time_writes_a_run(tmp_path: Path) -> None:
    with (
        open_run(tmp_path / "run", _manifest()),
        pytest.raises(PlannerError, match="another process is running it"),
        open_run(tmp_path / "run", _manifest()),
    ):
        pass


def test_a_folder_of_something_else_is_not_written(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(FileError, match="is not a run"), open_run(tmp_path, _manifest()):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_manifest_that_is_broken_is_named(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with open_run(run, _manifest()):
        pass
    text = (run / "manifest.json").read_text(encoding="utf-8")
    (run / "manifest.json").write_text(text.replace('"version": 1', '"version": 9'))
    with pytest.raises(FileError, match="version 9 is not supported"), open_run(run, _manifest()):
        pass


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"planner": "nobody"}, "there is no planner 'nobody'"),
        ({"planner": "react"}, "needs a language model"),
        ({"planner": "expert", "model": "x"}, "uses no model"),
        ({"planner": "heuristic_expert"}, "--memory full"),
        ({"planner": "react", "model": "x", "memory": "full"}, "--memory full has not"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings: dict[str, str], words: str) -> None:
    with pytest.raises(PlannerError, match=words):
        RunSettings.model_validate(settings).check()


def test_axes_say_what_a_run_was_given() -> None:
    """PARTNR-1.3: every run is one cell."""
    partial = RunSettings(planner="react", model="m").axes(2)
    assert (partial.control, partial.observability) == (
        Control.DECENTRALIZED,
        Observability.PARTIAL,
    )
    alone = RunSettings(planner="react", model="m", memory="learned").axes(1)
    assert (alone.control, alone.observability) == (Control.SINGLE, Observability.CONCEPTGRAPH)
    assert alone.privilege is Privilege.NONE
    expert = RunSettings(planner="heuristic_expert", memory=MemoryKind.FULL).axes(2)
    assert (expert.control, expert.privilege) == (Control.CENTRALIZED, Privilege.GOAL)
    assert (expert.observability, expert.memory_source) == (
        Observability.FULL,
        MemorySource.BELIEF,
    )


def test_only_what_an_instruction_names_is_kept() -> None:
    suite = find_suite("train")
    about = naming(suite, ["cup"])
    assert 0 < len(about) < len(suite)
    assert all(re.search(r"\b(cup|mug)s?\b", entry.instruction) for entry in about)
    with pytest.raises(PlannerError, match="no class of things 'spaceship'"):
        naming(suite, ["spaceship"])
    others = naming(suite, ["cup"], named=False)
    assert set(others) == set(suite) - set(about)
    assert naming(suite, [], named=False) == suite
    with pytest.raises(PlannerError, match="no class of things 'spaceship'"):
        naming(suite, ["spaceship"], named=False)
    with pytest.raises(PlannerError, match="all instructions of the suite name cup"):
        naming(about, ["cup"], named=False)
    with pytest.raises(PlannerError, match="no instruction of the suite names hanger"):
        naming(find_suite("fruit_0"), ["hanger"])


def test_a_run_keeps_the_version_of_its_suite() -> None:
    assert new_manifest("train", (), 0, RunSettings()).suite_version == 1
    assert new_manifest("some/folder", (), 0, RunSettings()).suite_version == 0
