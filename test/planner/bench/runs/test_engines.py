"""Engines: the same rows from each; what dies costs one episode; what is stopped goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_scripts import write_scripts

from planner.app.run_options import RunOptions
from planner.bench.runs import worker
from planner.bench.runs.engines import Engine, JobQueue, JobSource, OneProcess, ProcessPool, Take
from planner.bench.runs.manifest import Job, find_suite, jobs_of, new_manifest
from planner.bench.runs.models import Models, trace_path
from planner.bench.runs.rows import ROWS_NAME, Fault, Row, newest_rows, read_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.bench.runs.worker import EpisodeWorker, Outcome, acting_agents
from planner.evaluation.trace import read_traces
from planner.models.chat import ModelUnavailableError
from planner.models.recorded import dialogue_path
from planner.world.errors import PlannerError
from planner.world.house_checks import load_episode

BASELINE = RunSettings(planner="heuristic_expert", memory=MemoryKind.FULL, agents=1)
SUITE = find_suite("desk_tidy_0")


def _ran(
    folder: Path, settings: RunSettings, engine: Engine, episodes: int = 1, **more: bool
) -> dict[tuple[str, int], Row]:
    jobs = jobs_of(SUITE, episodes, 0)
    manifest = new_manifest("desk_tidy_0", SUITE, episodes, settings)
    run_jobs(folder, manifest, jobs, engine, lambda row, count, of: None, **more)
    return newest_rows(folder / ROWS_NAME)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of two episodes with the privileged baseline."""
    folder = tmp_path_factory.mktemp("runs") / "baseline"
    _ran(folder, BASELINE, OneProcess(BASELINE), 2)
    return folder


@pytest.fixture(scope="module")
def scripted(baseline: Path) -> RunSettings:
    """Settings of a model that says again what the baseline did."""
    write_scripts(baseline, baseline.parent / "scripts")
    return RunSettings(
        planner="partnr_react",
        model=f"scripted:{baseline.parent / 'scripts'}",
        memory=MemoryKind.FULL,
        agents=1,
        reply_price=1e6,
    )


def _facts(row: Row) -> Row:
    return row.model_copy(update={"wall_s": 0.0, "cpu_s": 0.0})


@pytest.mark.slow
def test_a_row_says_what_was_done(baseline: Path) -> None:
    for row in read_rows(baseline / ROWS_NAME):
        assert row.verdict is not None
        assert row.verdict.success
        assert row.agents == ("agent_1",), "one alone is the person (PARTNR-D1)"
        assert row.metrics["success"] == 1.0
        part, whole = row.portions["weighted_success"]
        assert 0 < part <= whole
        assert row.left_out["planning_cycles"] == "no model decided"
        assert (row.axes.control, row.axes.observability) == ("single", "full")
        (trace,) = read_traces(trace_path(baseline, row.trace))
        assert trace.end.sim_steps == row.verdict.sim_steps
        assert trace.episode.seed == row.seed
        assert not dialogue_path(baseline, row.trace).exists()


@pytest.mark.needs("papers")
@pytest.mark.slow
def test_a_model_leaves_its_dialogue_and_can_be_replayed(
    baseline: Path, scripted: RunSettings, tmp_path: Path
) -> None:
    rows = _ran(tmp_path / "scripted", scripted, OneProcess(scripted), 2)
    for key, row in newest_rows(baseline / ROWS_NAME).items():
        said = rows[key]
        assert said.verdict is not None
        assert row.verdict is not None
        assert said.verdict.sim_steps == row.verdict.sim_steps
        assert said.metrics["planning_cycles"] == said.cost.calls > 3
        assert said.cost.money == said.cost.reply_tokens > 0
        assert said.axes.privilege == "perception"
    again = scripted.model_copy(update={"model": f"recorded:{tmp_path / 'scripted'}"})
    replayed = _ran(tmp_path / "replayed", again, OneProcess(again), 2)
    for key, row in rows.items():
        assert replayed[key].verdict == row.verdict
        assert replayed[key].metrics == row.metrics
        texts = [
            dialogue_path(tmp_path / run, row.trace).read_text(encoding="utf-8")
            for run in ("scripted", "replayed")
        ]
        assert texts[0] == texts[1]


@pytest.mark.needs("papers")
@pytest.mark.slow
def test_a_replay_stops_at_the_first_prompt_that_differs(
    scripted: RunSettings, tmp_path: Path
) -> None:
    _ran(tmp_path / "scripted", scripted, OneProcess(scripted))
    other = scripted.model_copy(
        update={"model": f"recorded:{tmp_path / 'scripted'}", "show_states": True}
    )
    (row,) = _ran(tmp_path / "replayed", other, OneProcess(other)).values()
    assert row.verdict is not None
    assert row.verdict.end == "model_fault"
    assert "is not what was recorded" in row.verdict.reason


@pytest.mark.needs("papers")
@pytest.mark.slow
def test_a_script_that_ends_is_the_models_fault_and_judged(
    scripted: RunSettings, tmp_path: Path
) -> None:
    (tmp_path / "short.txt").write_text("Thought: So.\nWait[]\nAssigned!\n", encoding="utf-8")
    settings = scripted.model_copy(update={"model": f"scripted:{tmp_path / 'short.txt'}"})
    (row,) = _ran(tmp_path / "run", settings, OneProcess(settings)).values()
    assert row.verdict is not None
    assert (row.verdict.end, row.verdict.success) == ("model_fault", False)
    assert row.cost.failed_calls == 1
    text = dialogue_path(tmp_path / "run", row.trace).read_text(encoding="utf-8")
    assert "the script has 1 replies" in text


@pytest.mark.needs("papers")
@pytest.mark.slow
def test_several_episodes_in_turns_leave_the_same_rows(
    scripted: RunSettings, tmp_path: Path
) -> None:
    one = _ran(tmp_path / "one", scripted, OneProcess(scripted), 3)
    turns = _ran(tmp_path / "turns", scripted, OneProcess(scripted, at_once=2), 3)
    assert {k: _facts(r) for k, r in one.items()} == {k: _facts(r) for k, r in turns.items()}


@pytest.mark.slow
def test_a_pool_leaves_the_same_rows(baseline: Path, tmp_path: Path) -> None:
    pool = _ran(tmp_path / "pool", BASELINE, ProcessPool(BASELINE, 2), 2)
    alone = newest_rows(baseline / ROWS_NAME)
    assert {k: _facts(r) for k, r in pool.items()} == {k: _facts(r) for k, r in alone.items()}


@pytest.mark.slow
def test_a_crash_is_a_row_and_the_run_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = jobs_of(SUITE, 2, 0)[0]
    real: Callable[..., object] = worker.prepare_run

    def breaking(*args: object) -> object:
        options = args[-1]
        assert isinstance(options, RunOptions)
        if options.seed == first.seed:
            raise ZeroDivisionError("a defect")
        return real(*args)

    monkeypatch.setattr(worker, "prepare_run", breaking)
    rows = _ran(tmp_path / "run", BASELINE, OneProcess(BASELINE), 2)
    broken = rows.pop(first.key)
    assert broken.error is not None
    assert broken.error.fault is Fault.CRASH
    assert broken.error.text.startswith("ZeroDivisionError: a defect (test_engines.py:")
    assert all(row.verdict is not None for row in rows.values())
    monkeypatch.undo()
    left = _ran(tmp_path / "run", BASELINE, OneProcess(BASELINE), 2)
    assert left[first.key].error is not None, "without --retry-errors it is left"
    mended = _ran(tmp_path / "run", BASELINE, OneProcess(BASELINE), 2, retry_errors=True)
    assert mended[first.key].verdict is not None


def test_an_episode_that_cannot_be_loaded_is_refused_in_its_row(tmp_path: Path) -> None:
    gone = replace(jobs_of(SUITE, 1, 0)[0], path=tmp_path / "gone.json")
    manifest = new_manifest("desk_tidy_0", SUITE, 1, BASELINE)
    run_jobs(tmp_path / "run", manifest, [gone], OneProcess(BASELINE), lambda row, count, of: None)
    (row,) = read_rows(tmp_path / "run" / ROWS_NAME)
    assert row.error is not None
    assert row.error.fault is Fault.REFUSED
    assert "gone.json: cannot be read" in row.error.text


def test_a_model_that_is_away_stops_the_run_and_spoils_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(self: EpisodeWorker, job: Job) -> Outcome:
        raise ModelUnavailableError("nobody listens on port 8000")

    monkeypatch.setattr(EpisodeWorker, "_play", away)
    with pytest.raises(PlannerError, match=r"nobody listens.*0 of 2 episodes are done"):
        _ran(tmp_path / "run", BASELINE, OneProcess(BASELINE), 2)
    assert not list(read_rows(tmp_path / "run" / ROWS_NAME))


class Interrupted:
    """An engine in which somebody presses Ctrl-C after the first episode."""

    def run(self, jobs: JobSource, take: Take) -> None:
        def take_one(outcome: Outcome) -> None:
            take(outcome)
            os.kill(os.getpid(), signal.SIGINT)

        OneProcess(BASELINE).run(jobs, take_one)


@pytest.mark.slow
def test_ctrl_c_stops_between_episodes_and_the_run_continues(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        _ran(tmp_path / "run", BASELINE, Interrupted(), 3)
    (first,) = read_rows(tmp_path / "run" / ROWS_NAME)
    rows = _ran(tmp_path / "run", BASELINE, OneProcess(BASELINE), 3)
    assert len(rows) == 3
    assert rows[first.key] == first, "what was done is not done again"


def _started(out: Path, *more: str) -> subprocess.Popen[bytes]:
    words = ["bench", "desk_tidy_0", "--planner", "heuristic_expert", "--memory", "full"]
    words += ["--episodes", "40", "--out", str(out), *more]
    return subprocess.Popen([sys.executable, "-m", "planner.cli", *words])


def _wait_for_rows(path: Path, count: int) -> None:
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        time.sleep(0.05)


@pytest.mark.slow
def test_a_run_that_is_killed_continues(tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = _started(run)
    _wait_for_rows(run / ROWS_NAME, 2)
    process.kill()
    process.wait()
    kept = list(read_rows(run / ROWS_NAME))
    with (run / ROWS_NAME).open("ab") as stream:
        stream.write(b'{"version":1,"episode_')
    settings = BASELINE.model_copy(update={"agents": 0})
    jobs = jobs_of(SUITE, 40, 0)
    manifest = new_manifest("desk_tidy_0", SUITE, 40, settings)

    class Few:
        """Three of what is left."""

        def run(self, jobs: JobSource, take: Take) -> None:
            three = [job for job in (jobs.next() for _ in range(3)) if job is not None]
            OneProcess(settings).run(JobQueue(three), take)

    done = run_jobs(run, manifest, jobs, Few(), lambda row, count, of: None)
    rows = list(read_rows(run / ROWS_NAME))
    assert (done.found, done.added) == (len(kept), 3)
    assert rows[: len(kept)] == kept
    assert len({row.key for row in rows}) == len(rows) == len(kept) + 3


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_one_episode(tmp_path: Path) -> None:
    killed: list[int] = []

    def kill_one(row: Row, count: int, of: int) -> None:
        if not killed:
            children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text()
            for pid in map(int, children.split()):
                if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)

    jobs = jobs_of(SUITE, 4, 0)
    manifest = new_manifest("desk_tidy_0", SUITE, 4, BASELINE)
    run_jobs(tmp_path / "run", manifest, jobs, ProcessPool(BASELINE, 1), kill_one)
    rows = newest_rows(tmp_path / "run" / ROWS_NAME)
    faults = [row.error for row in rows.values() if row.error is not None]
    assert len(rows) == 4
    assert len(killed) == len(faults) == 1
    assert faults[0].fault is Fault.DIED
    assert "SIGKILL" in faults[0].text


@pytest.mark.slow
def test_a_pool_whose_model_cannot_be_used_says_so(tmp_path: Path) -> None:
    settings = BASELINE.model_copy(
        update={
            "planner": "react",
            "model": "nobody",
            "model_url": "nonsense",
            "memory": MemoryKind.RAYS,
        }
    )
    with pytest.raises(PlannerError, match="nonsense"):
        _ran(tmp_path / "run", settings, ProcessPool(settings, 2), 2)


def test_an_agent_that_acts_alone_can_do_everything() -> None:
    """PARTNR-D1: the single agent is the person."""
    episode, _ = load_episode(SUITE[0].path)
    assert acting_agents(episode, 1) == ("agent_1",)
    assert acting_agents(episode, 0) == acting_agents(episode, 2) == ("agent_0", "agent_1")


def test_a_run_to_be_replayed_must_be_one(tmp_path: Path) -> None:
    settings = RunSettings(planner="react", model=f"recorded:{tmp_path}")
    with pytest.raises(PlannerError, match="is not a run with dialogues to replay"):
        Models(settings)


def _jobs(*houses: str) -> list[Job]:
    return [Job(Path("x"), f"e{i}", house, i) for i, house in enumerate(houses)]


def test_a_worker_stays_in_its_house_and_helps_only_where_none_is_fresh() -> None:
    queue = JobQueue(_jobs("a", "a", "a", "b", "c", "c"))
    assert len(queue) == 6

    def taken(house: str) -> str:
        job = queue.next(house)
        assert job is not None
        return job.house

    # Two workers in turns; the second has done with its house first.
    assert [taken(""), taken("")] == ["a", "b"]
    assert [taken("a"), taken("b")] == ["a", "c"]
    assert taken("c") == "c"
    assert taken("c") == "a", "no house is fresh"
    assert queue.next("a") is None
    assert not queue


@given(st.lists(st.sampled_from("abcd"), max_size=20))
def test_each_job_is_given_once(houses: list[str]) -> None:
    jobs = _jobs(*houses)
    queue = JobQueue(jobs)
    last = ["", "", ""]
    found = []
    while True:
        who = len(found) % 3
        job = queue.next(last[who])
        if job is None:
            break
        last[who] = job.house
        found.append(job)
    assert sorted(found, key=lambda job: job.seed) == jobs
    for house in "abcd":
        seeds = [job.seed for job in found if job.house == house]
        assert seeds == sorted(seeds), "the jobs of a house keep their order"
