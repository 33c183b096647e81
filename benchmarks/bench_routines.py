"""The personal routines, taught and asked for again: right plans and right results by changes.

Repeat with: python benchmarks/bench_routines.py [--taught teacher|plans] [-v]

Each lesson is carried out by `helper` with the flawless teacher as its model, and a simulated
person confirms it at the end, or else nothing is kept; `plans` puts the right plan of each lesson
into the memory. The requests are then carried out one by one by `helper_retrieval` with what was
kept, in one process and without pictures. Intervals are of 95 % (Clopper and Pearson).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from machine import print_table

from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import ProgramRecord, RecordKind
from papers.helper.programs.parsing import parse_program
from papers.helper.programs.program import program_text
from papers.helper.routine_plans import right_plan, score_plan
from papers.helper.teach.tasks import Routine, read_routines, routine_file
from planner.app.embedded_run import prepare_embedded
from planner.app.run import RunResult, attended
from planner.app.run_options import RunOptions
from planner.evaluation.statistics import rate
from planner.models.model_choice import ModelChoice, make_model
from planner.parts.option import OptionValue
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Planner, Task
from planner.world.episode import Episode
from planner.world.house_checks import load_house
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options

CHANGES = range(4)
RETRIEVAL = "helper_retrieval"


@dataclass(frozen=True, slots=True)
class Asked:
    """How one request came out."""

    name: str
    changes: int
    plan_is_right: bool
    is_done: bool
    reason: str


def run(episode: Episode, planner: str, **options: OptionValue) -> RunResult:
    def make(task: Task) -> Planner:
        chat = None if planner == RETRIEVAL else make_model(ModelChoice("teacher", "", {}))
        return make_planner(PlannerChoice(planner, options=options), task, chat)

    settings = default_options().model_copy(update={"renderer": "none"})
    with closing(EmbeddedBackend(settings)) as backend:
        house = load_house(episode.house)
        prepared = prepare_embedded(backend, house, episode, make, RunOptions(images=False))
        if options.get("feedback_rounds"):
            attended(prepared)
        return prepared.run()


def teach(routine: Routine, lesson: Episode, memory: str, *, by_plan: bool) -> bool:
    """Whether the routine was kept."""
    if by_plan:
        program = program_text(right_plan(routine.wanted(0)))
        said = routine.lesson.text
        with ProgramMemory.open(Path(memory)) as kept:
            kept.add(ProgramRecord(0, RecordKind.PLAN, said, program, confirmed=True))
        return True
    options: dict[str, OptionValue] = {"feedback_rounds": 2, "confirmed_by": "judge"}
    result = run(lesson, "helper", program_memory=memory, **options)
    return result.evidence.get("learned") == "yes"


def ask(routine: Routine, requests: list[Episode], memory: str) -> Iterator[Asked]:
    for changes, episode in enumerate(requests):
        result = run(episode, RETRIEVAL, program_memory=memory)
        program = result.evidence.get("program", "")
        # Without a program there is no plan.
        right = (
            bool(program) and score_plan(parse_program(program), routine.wanted(changes)).is_right
        )
        why = "" if result.verdict.success else f"{result.reason} {result.verdict.explanation}"
        yield Asked(episode.episode_id, changes, right, result.verdict.success, why)


def share(done: Sequence[bool]) -> str:
    found = rate(sum(done), len(done))
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--taught", choices=("teacher", "plans"), default="teacher")
    parser.add_argument("-v", "--verbose", action="store_true", help="name what went wrong")
    args = parser.parse_args()
    routines = read_routines(routine_file())
    episodes = [list(routine.episodes()) for routine in routines]
    with tempfile.TemporaryDirectory(prefix="planner-bench-") as folder:
        memory = str(Path(folder) / "programs.sqlite")
        by_plan = args.taught == "plans"
        kept = [
            teach(routine, lesson, memory, by_plan=by_plan)
            for routine, (lesson, *_) in zip(routines, episodes, strict=True)
        ]
        asked = [
            one
            for routine, (_, *requests) in zip(routines, episodes, strict=True)
            for one in ask(routine, requests, memory)
        ]
    rows = [("lessons kept", f"{sum(kept)} of {len(kept)}", "all")]
    for changes in CHANGES:
        of = [one for one in asked if one.changes == changes]
        wanted = "all" if changes == 0 else ""
        rows.append((f"{changes} changes, plan", share([one.plan_is_right for one in of]), ""))
        rows.append((f"{changes} changes, result", share([one.is_done for one in of]), wanted))
    print_table(f"routines, taught by {args.taught}, asked of {RETRIEVAL}", rows)
    for one in asked if args.verbose else ():
        if not (one.plan_is_right and one.is_done):
            print(f"{one.name}: plan right {one.plan_is_right}, done {one.is_done}: {one.reason}")


if __name__ == "__main__":
    main()
