"""A test double of learning: families of tasks of different difficulty, and practice that helps.

The policy is log-linear: the log odds of solving a task of a family are those of the family, and
rise with the logarithm of the number of its successful traces. No episode is run: an engine decides
by a hash of task, seed and policy. It shows that the loop works, not that an algorithm is good.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import signal
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from planner.app.run import End
from planner.bench.runs.engines import JobSource, Take
from planner.bench.runs.manifest import Job, SuiteEpisode
from planner.bench.runs.rows import Fault, RowVerdict
from planner.bench.runs.runner import BenchRollouts
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.worker import Outcome, failed_row
from planner.training.improvement.journal import Curve
from planner.training.improvement.loop import Field, improve
from planner.training.improvement.sampler import ImprovementRecipe

# Log odds of an unpractised policy.
FAMILIES: Mapping[str, float] = {"fetch": 1.5, "tidy": -0.5, "order": -2.0, "two_rooms": -3.0}
SKILL = "skill.json"


def family_of(task: str) -> str:
    return task.partition("-")[0].rpartition("_")[0]


def suite_of(each: int, prefix: str = "") -> tuple[SuiteEpisode, ...]:
    names = [f"{family}_{prefix}{n}" for family in FAMILIES for n in range(each)]
    return tuple(
        SuiteEpisode(Path(f"{name}.json"), name, f"house_{i % 3}", 100 * i, name, "0")
        for i, name in enumerate(names)
    )


class PracticeLearner:
    """Counts successful traces by family."""

    def __init__(self, die_in_fit: int = 0) -> None:
        """`die_in_fit`: the fit during which the process is killed; 0 = none."""
        self._fits, self._die_in_fit = 0, die_in_fit

    name = "practice"
    identity: Mapping[str, object] = {"learner": "practice"}

    def fit(self, traces: Sequence[Path], folder: Path) -> None:
        self._fits += 1
        counts = Counter(family_of(trace.name) for trace in traces)
        skill = {f: odds + 0.5 * math.log1p(counts[f]) for f, odds in FAMILIES.items()}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "half").write_text("half")
        if self._fits == self._die_in_fit:
            os.kill(os.getpid(), signal.SIGKILL)
        (folder / "half").unlink()
        (folder / SKILL).write_text(json.dumps(skill))


class PretendEngine:
    """Ends jobs in an order of its own, several at once."""

    def __init__(self, settings: RunSettings, at_once: int) -> None:
        self._settings, self._at_once = settings, at_once
        folder = Path(settings.model.removeprefix("scripted:"))
        path = folder / SKILL
        self._skill = json.loads(path.read_text()) if path.exists() else FAMILIES

    def run(self, jobs: JobSource, take: Take) -> None:
        running: list[Job] = []
        while True:
            while len(running) < self._at_once and (job := jobs.next("house_1")) is not None:
                running.append(job)
            if not running:
                return
            # The last one that began ends first.
            outcome = self._play(running.pop())
            jobs.note(outcome.row)
            take(outcome)

    def _play(self, job: Job) -> Outcome:
        row = failed_row(self._settings, job, Fault.CRASH, "a crash")
        if "crash" in job.episode_id:
            return Outcome(row)
        chance = 1 / (1 + math.exp(-self._skill[family_of(job.episode_id)]))
        words = f"{job.episode_id} {job.seed}".encode()
        won = int.from_bytes(hashlib.sha256(words).digest()[:6], "big") / 2**48 < chance
        verdict = RowVerdict(
            success=won,
            percent_complete=float(won),
            satisfied=(won,),
            sim_steps=10,
            end=End.DONE,
            reason="done",
            decisions=1,
            skill_calls=1,
            failed_skills=0,
        )
        stem = f"{job.episode_id}-{job.seed}"
        return Outcome(row.model_copy(update={"verdict": verdict, "error": None, "trace": stem}))


def practise(
    folder: Path,
    recipe: ImprovementRecipe,
    *,
    at_once: int = 1,
    die_after_rows: int = 0,
    die_in_fit: int = 0,
    tell: Callable[[str], None] = lambda line: None,
    suite: Sequence[SuiteEpisode] = suite_of(5),
) -> Curve:
    """One run of an algorithm; kills its own process where told."""
    rows = 0

    def on_row(*_: object) -> None:
        nonlocal rows
        rows += 1
        if rows == die_after_rows:
            os.kill(os.getpid(), signal.SIGKILL)

    def settings_of(policy: Path | None) -> RunSettings:
        # The name of the folder, so that runs in other folders are the same to the byte.
        source = folder if policy is None else policy
        return RunSettings(planner="react", model=f"scripted:{source}")

    def rollouts(entries: Sequence[SuiteEpisode]) -> Field:
        bench = BenchRollouts(
            "pretend", entries, settings_of, lambda s: PretendEngine(s, at_once), on_row
        )
        return Field(bench.tasks, bench)

    train, held_out = rollouts(suite), rollouts(suite_of(4, "held"))
    return improve(recipe, train, held_out, PracticeLearner(die_in_fit), folder, tell)
