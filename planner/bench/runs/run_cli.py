"""`planner bench SUITE`: runs or resumes a suite; and what can be learned from solved episodes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.bench.runs.engines import add_engine_flags, make_engine
from planner.bench.runs.manifest import SuiteEpisode, find_suite, jobs_of, naming, new_manifest
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import (
    AnsweredBy,
    RunSettings,
    add_setting_flags,
    read_setting_flags,
)
from planner.bench.runs.table import summarise, summary_lines
from planner.evaluation.progress import MODES
from planner.models.recorded import dialogue_path, read_dialogue
from planner.planning.planner_model import Control, MemorySource
from planner.planning.solved_tasks import TraceStore
from planner.training.chat_tuning import Chat, chats_of
from planner.world.errors import PlannerError
from planner.world.topics import one_line

# What can be learned from solved episodes, and from which not: those of an evaluation.

# The shipped suite for evaluation.
HELDOUT = "heldout"
# The planner whose dialogues have EPM's format.
NUMBERED = "react"


@dataclass(frozen=True, slots=True)
class Evaluated:
    """The instructions of the suites used for evaluation."""

    instructions: tuple[str, ...]
    _keys: frozenset[str]

    @classmethod
    def of(cls, suites: Iterable[str]) -> Evaluated:
        """The instructions of some suites and of the shipped `heldout`.

        Raises:
            PlannerError: for an unknown suite.
        """
        names = dict.fromkeys([HELDOUT, *suites])
        instructions = tuple(entry.instruction for name in names for entry in find_suite(name))
        return cls(instructions, frozenset(map(one_line, instructions)))

    def __contains__(self, instruction: str) -> bool:
        return one_line(instruction) in self._keys


@dataclass(slots=True)
class Collected:
    """What was collected from runs, and the number of skipped episodes by cause."""

    count: int = 0
    left_out: dict[str, int] = field(default_factory=dict)

    def skip(self, cause: str) -> None:
        """Counts a skipped episode."""
        self.left_out[cause] = self.left_out.get(cause, 0) + 1

    def __str__(self) -> str:
        causes = "".join(f"; {count} {cause}" for cause, count in self.left_out.items())
        return f"{self.count}{causes}"


def chats_in(run: Path, evaluated: Evaluated, collected: Collected) -> Iterator[Chat]:
    """The dialogues of a run's solved episodes in EPM's format, one for each agent (EPM-2.7).

    Raises:
        PlannerError: if the run's planner has no dialogues of that format.
        FileError: for a file of the run that cannot be read.
    """
    for row in judged_rows(run, evaluated, collected):
        if row.planner != NUMBERED:
            raise PlannerError(
                f"{run}: its planner {row.planner} has other dialogues than {NUMBERED}"
            )
        if row.verdict is None or not row.verdict.success:
            collected.skip("not solved")
            continue
        made = chats_of(read_dialogue(dialogue_path(run, row.trace)), f"{run} {row.trace}")
        collected.count += len(made)
        yield from made


def judged_rows(run: Path, evaluated: Evaluated, collected: Collected) -> Iterator[Row]:
    """The judged rows of a run whose instructions are not used for evaluation.

    Raises:
        PlannerError: if the run used no model.
        FileError: for a row that cannot be read.
    """
    for row in newest_rows(run / ROWS_NAME).values():
        if row.verdict is None:
            collected.skip("without a verdict")
        elif row.instruction in evaluated:
            collected.skip("with an instruction of an evaluation")
        elif not row.cost.calls:
            raise PlannerError(f"{run}: its planner {row.planner} used no model")
        else:
            yield row


def check_store(settings: RunSettings, suite: Sequence[SuiteEpisode]) -> None:
    """Refuses to evaluate on instructions whose solutions are in the store.

    Raises:
        PlannerError: naming the first such instruction.
        FileError: for a store that cannot be read.
    """
    traces = str(settings.options.get("traces", ""))
    if not traces:
        return
    with TraceStore.existing(Path(traces)) as store:
        known = store.holding(entry.instruction for entry in suite)
    if known:
        raise PlannerError(
            f"{traces}: holds the solutions of {len(known)} instructions of this suite, "
            f"such as {known[0][:80]!r}; name the suite with --keep-out when filling the store"
        )


def add_runs(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments common to commands that learn from runs."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="runs' directories")
    parser.add_argument(
        "--keep-out",
        action="append",
        default=[],
        metavar="SUITE",
        help=f"whose instructions are for evaluation only, beside {HELDOUT}; repeatable",
    )


def add_arguments(parser: argparse.ArgumentParser, count_flag: str = "--episodes") -> None:
    """Declares the arguments: what to run, then how; `count_flag` is how many episodes."""
    add_setting_flags(
        parser,
        "what is run, kept in the manifest",
        "; for scripted and recorded, a folder with a file for each episode",
    )
    usual = RunSettings()
    what = parser.add_argument_group("how episodes are run and judged, kept in the manifest")
    what.add_argument("--control", choices=[c.value for c in Control], default=usual.control)
    what.add_argument(
        "--memory-source",
        choices=[source.value for source in MemorySource],
        default=usual.memory_source,
        help="how a planner reads the memory",
    )
    what.add_argument(
        "--answered-by",
        choices=[*AnsweredBy],
        default=usual.answered_by,
        help="who answers questions; simulated: says what is not as the episode's goal wants it",
    )
    what.add_argument("--mode", choices=list(MODES), default=usual.mode, help="evaluation rules")
    what.add_argument(
        count_flag, dest="episodes", type=int, default=0, metavar="K", help="0 = each once"
    )
    what.add_argument(
        "--seeds",
        type=int,
        default=0,
        metavar="N",
        help="each of the K episodes with N seeds in turn",
    )
    what.add_argument(
        "--about",
        action="append",
        default=[],
        metavar="CLASS",
        help="only episodes whose instruction names things of this class; repeatable",
    )
    what.add_argument("--seed", type=int, default=usual.seed, help="added to each episode's")
    what.add_argument(
        "--max-cycles", type=int, default=usual.most_cycles, help="0 = the planner's default"
    )
    what.add_argument("--show-states", action="store_true", help="summaries include object states")
    what.add_argument("--keep-traces", action="store_true", help="all calls, for planner train hd")
    what.add_argument(
        "--model-wait",
        type=float,
        default=usual.model_wait_s,
        help="seconds to wait for its server",
    )
    for part in ("prompt", "cached", "reply"):
        what.add_argument(f"--price-{part}", type=float, default=0.0, help="per million tokens")
    how = parser.add_argument_group("how it is run, free to change when resuming")
    how.add_argument("--out", type=Path, required=True, metavar="DIR", help="the run's directory")
    add_engine_flags(how)
    how.add_argument(
        "--retry-errors", action="store_true", help="repeat episodes without a verdict"
    )
    how.add_argument("--quiet", action="store_true", help="do not print a line per episode")


def run(args: argparse.Namespace) -> int:
    """0 if every episode has a verdict, 1 if not, 130 after Ctrl-C."""
    for name, least in (
        ("agents", 0),
        ("episodes", 0),
        ("seeds", 0),
        ("workers", 1),
        ("at_once", 1),
    ):
        if getattr(args, name) < least:
            raise PlannerError(
                f"--{name.replace('_', '-')} is {getattr(args, name)}, below {least}"
            )
    settings = _settings(args)
    settings.check()
    suite = find_suite(args.suite)
    if args.about:
        suite = naming(suite, args.about)
    check_store(settings, suite)
    if args.seeds:
        tried = suite[: args.episodes or len(suite)]
        jobs = jobs_of(tried, args.seeds * len(tried), args.seed)
    else:
        jobs = jobs_of(suite, args.episodes, args.seed)
    manifest = new_manifest(args.suite, suite, len(jobs), settings)
    on_row = _ignore_row if args.quiet else _print_row
    try:
        done = run_jobs(
            args.out,
            manifest,
            jobs,
            make_engine(args, settings),
            on_row,
            retry_errors=args.retry_errors,
        )
    except KeyboardInterrupt:
        kept = len(newest_rows(args.out / ROWS_NAME))
        print(
            f"\nstopped with {kept} of {len(jobs)} episodes done; the same command goes on",
            file=sys.stderr,
        )
        return 130
    if done.found:
        print(f"{done.found} episodes were done before")
    rows = newest_rows(args.out / ROWS_NAME).values()
    print("\n".join(summary_lines(summarise(rows))))
    return 1 if any(row.error is not None for row in rows) else 0


def _settings(args: argparse.Namespace) -> RunSettings:
    try:
        return RunSettings(
            **read_setting_flags(args),
            control=Control(args.control),
            memory_source=MemorySource(args.memory_source),
            mode=MODES[args.mode],
            answered_by=AnsweredBy(args.answered_by),
            seed=args.seed,
            most_cycles=args.max_cycles,
            show_states=args.show_states,
            keeps_traces=args.keep_traces,
            model_wait_s=args.model_wait,
            prompt_price=args.price_prompt,
            cached_price=args.price_cached,
            reply_price=args.price_reply,
        )
    except ValueError as error:
        raise PlannerError(f"a setting is out of its range: {error}") from None


def _print_row(row: Row, count: int, of: int) -> None:
    if row.error is not None:
        came = f"{row.error.fault.value}: {row.error.text}"
    elif row.verdict is not None:
        share = f"{100 * row.verdict.percent_complete:.0f} %"
        came = f"{share:>5}  {row.verdict.end.value}  {row.verdict.sim_steps} steps"
    print(f"{count}/{of}  {row.episode_id} {row.seed}  {came}  {row.wall_s:.1f} s", flush=True)


def _ignore_row(_row: Row, _count: int, _of: int) -> None:
    pass
