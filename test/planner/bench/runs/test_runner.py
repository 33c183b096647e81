"""The loop of DDAFT and its rivals over a run's rows, with a test double of learning."""

from __future__ import annotations

import json
import multiprocessing
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from pretend_practice import practise, suite_of

from planner.bench.runs.engines import Engine, OneProcess, ProcessPool
from planner.bench.runs.manifest import find_suite
from planner.bench.runs.rows import ROWS_NAME, newest_rows
from planner.bench.runs.runner import BenchRollouts
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.training.improvement.journal import CURVE, JOURNAL, read_curve
from planner.training.improvement.loop import Field, improve
from planner.training.improvement.sampler import ALGORITHMS, ImprovementRecipe
from planner.world.errors import FileError, PlannerError

SMALL = ImprovementRecipe(iterations=2, samples=30, in_flight=4, first_rounds=2)


def _dies(folder: Path, recipe: ImprovementRecipe, **where: int) -> None:
    """Runs in a process of its own, which kills itself by kill -9."""
    process = multiprocessing.get_context("fork").Process(
        target=practise, args=(folder, recipe), kwargs=where
    )
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def _files(folder: Path) -> dict[str, bytes]:
    """Everything but the manifests, in which the policy's folder is named."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in ("manifest.json", ".lock"):
            found[str(path.relative_to(folder))] = path.read_bytes().replace(
                str(folder).encode(), b"FOLDER"
            )
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm",
    ["ddaft", *(pytest.param(name, marks=pytest.mark.slow) for name in [*ALGORITHMS][1:])],
)
def test_killed_anywhere_it_ends_with_the_same_bytes(algorithm: str, tmp_path: Path) -> None:
    recipe = SMALL.model_copy(update={"algorithm": algorithm})
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    practise(whole, recipe)
    # In the first pass, in a fit, in an evaluation, in an iteration's roll-outs.
    _dies(killed, recipe, die_after_rows=7)
    _dies(killed, recipe, die_in_fit=1)
    _dies(killed, recipe, die_after_rows=45)
    _dies(killed, recipe, die_after_rows=3)
    with (killed / JOURNAL).open("ab") as stream:
        stream.write(b'{"version":1,"stage":"fit')
    _dies(killed, recipe, die_after_rows=20)
    _dies(killed, recipe, die_in_fit=1)
    practise(killed, recipe)
    files = _files(whole)
    assert {JOURNAL, CURVE, f"iteration_2/rollouts/{ROWS_NAME}"} <= files.keys()
    assert _files(killed) == files


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing_but_the_order_of_rows(tmp_path: Path) -> None:
    for at_once in (1, 4):
        practise(tmp_path / str(at_once), SMALL, at_once=at_once)
    first, second = _files(tmp_path / "1"), _files(tmp_path / "4")
    for name in (JOURNAL, CURVE):
        assert first[name] == second[name]
    rows = [newest_rows(tmp_path / n / "iteration_2/rollouts" / ROWS_NAME) for n in "14"]
    assert rows[0].keys() == rows[1].keys()
    assert [*rows[0]] != [*rows[1]]


def test_each_task_is_tried_first_and_then_as_many_samples_as_asked(tmp_path: Path) -> None:
    """EPM-C39: |T| + iterations x samples; batches are of successful traces only."""
    recipe = ImprovementRecipe(iterations=2, samples=30)
    curve = practise(tmp_path, recipe)
    assert [point.samples for point in curve.points] == [0, 20, 50, 80]
    assert read_curve(tmp_path) == curve
    judged = successes = 0
    for point in curve.points:
        assert point.traces == (successes if point.iteration else 0)
        path = tmp_path / f"iteration_{point.iteration}/rollouts/{ROWS_NAME}"
        if path.exists():
            rows = newest_rows(path).values()
            judged += len(rows)
            successes += sum(row.verdict is not None and row.verdict.success for row in rows)
    assert judged == 20 + 2 * 30
    assert curve.points[-1].successes > curve.points[0].successes


@pytest.mark.slow
def test_rivals_try_with_the_policy_that_is_theirs(tmp_path: Path) -> None:
    for algorithm, own in (("ddaft", "iteration_1"), ("dart-math", "")):
        folder = tmp_path / algorithm
        recipe = SMALL.model_copy(update={"algorithm": algorithm, "iterations": 1})
        practise(folder, recipe)
        manifest = json.loads((folder / "iteration_1/rollouts/manifest.json").read_text())
        policy = folder / own / "policy" if own else folder
        assert manifest["settings"]["model"] == f"scripted:{policy}"


@pytest.mark.slow
def test_a_task_that_cannot_be_judged_is_left_out_and_told(tmp_path: Path) -> None:
    told: list[str] = []
    suite = [*suite_of(5), *suite_of(1, "crash")]
    practise(tmp_path, SMALL, tell=told.append, suite=suite)
    assert "4 tasks could not be judged, left out" in told
    rows = newest_rows(tmp_path / "iteration_1/rollouts" / ROWS_NAME)
    assert not any("crash" in task for task, _ in rows)


@pytest.mark.slow
def test_bad_input_is_one_clear_error(tmp_path: Path) -> None:
    practise(tmp_path, SMALL)
    other = SMALL.model_copy(update={"samples": 31})
    with pytest.raises(FileError, match=r"journal.jsonl: recipe: .*resume with the same settings"):
        practise(tmp_path, other)
    text = (tmp_path / JOURNAL).read_text()
    (tmp_path / JOURNAL).write_text(text.replace('"fitted"', '"fit"', 1))
    with pytest.raises(FileError, match=r"line 4\.stage"):
        practise(tmp_path, SMALL)
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        practise(tmp_path / "file" / "run", SMALL)
    (tmp_path / JOURNAL).write_text("{}\n")
    with pytest.raises(FileError, match="does not say what the run is"):
        practise(tmp_path, SMALL)
    with pytest.raises(PlannerError, match="no roll-out of the first pass could be judged"):
        practise(tmp_path / "crash", SMALL, suite=suite_of(1, "crash"))
    with pytest.raises(PlannerError, match="there is no algorithm 'rft': name ddaft"):
        practise(tmp_path / "rft", SMALL.model_copy(update={"algorithm": "rft"}))
    hard = [entry for entry in suite_of(2) if entry.episode_id.startswith("two_rooms")]
    with pytest.raises(PlannerError, match="none of 4 roll-outs solved its task"):
        practise(tmp_path / "hard", SMALL, suite=hard)


class _Fits:
    """A learner that writes the names of the traces that it was given."""

    name = "names"
    identity: Mapping[str, object] = {"learner": "names"}

    def fit(self, traces: Sequence[Path], folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for trace in traces:
            assert trace.with_name(f"{trace.name}.trace.jsonl").is_file()
        (folder / "names").write_text(" ".join(trace.name for trace in traces))


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_real_episodes_are_the_same_in_one_process_and_in_a_pool(tmp_path: Path) -> None:
    suite = tuple(find_suite(name)[0] for name in ("desk_tidy_0", "night_light_0"))
    settings = RunSettings(planner="heuristic_expert", memory=MemoryKind.FULL, agents=1)
    engines: dict[str, Engine] = {
        "one": OneProcess(settings),
        "pool": ProcessPool(settings, workers=2),
    }
    files = []
    for name, engine in engines.items():
        rollouts = BenchRollouts(
            "two", suite, lambda policy: settings, lambda s, e=engine: e, lambda *row: None
        )
        recipe = ImprovementRecipe(iterations=1, samples=6, in_flight=3)
        field = Field(rollouts.tasks, rollouts)
        curve = improve(recipe, field, field, _Fits(), tmp_path / name, lambda line: None)
        assert [(point.samples, point.successes) for point in curve.points] == [
            (0, 2),
            (2, 2),
            (8, 2),
        ]
        names = (tmp_path / name / "iteration_2/policy/names").read_bytes()
        files.append((names, (tmp_path / name / JOURNAL).read_bytes()))
        assert len(names.split()) == 8
    assert files[0] == files[1]
