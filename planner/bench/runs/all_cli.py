"""`planner bench table all`: every planner on the same held-out episodes."""

from __future__ import annotations

import argparse
import math
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from planner.app.part_flags import absolute_file
from planner.bench.runs.engines import add_engine_flags, make_engine
from planner.bench.runs.manifest import SuiteEpisode, drawn, find_suite, jobs_of, new_manifest
from planner.bench.runs.rows import ROWS_NAME, Row, RowVerdict, newest_rows
from planner.bench.runs.runner import run_jobs
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.bench.runs.table import TASK_TYPES
from planner.command_line import add_backend_flags, add_url_flag, aligned
from planner.episodes.episode_file import write_text
from planner.evaluation.statistics import wilson
from planner.models.chat import MODELS, ModelPart
from planner.models.model_choice import absolute, model_part
from planner.parts.option import Option, OptionValue, named_values, read_options
from planner.planning.part import PLANNERS, PlannerPart
from planner.planning.planner_model import Privilege
from planner.world.errors import PlannerError, did_you_mean
from sim_bridge.backend import BACKENDS

# What `planner bench table all` compares: every planner, with each model that can answer it.

# The option by which a privileged model errs.
_FAULTS = "fault_rate"


@dataclass(frozen=True, slots=True)
class Contestant:
    """A planner with its settings; `name` is also that of its run's directory."""

    name: str
    settings: RunSettings


@dataclass(frozen=True, slots=True)
class Field:
    """Who runs; a line for each of the others says why it does not."""

    contestants: tuple[Contestant, ...]
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Asked:
    """What is compared.

    Attributes:
        planners: their names; empty = all.
        fault_rates: of the privileged model that stands for flawless ones, one run for each.
        models: further models, each with every planner that can use one.
        model_url: of their server.
        agents: how many act; 0 = all of the episode.
        backend: the simulator in which all run; "" = that of the house.
        backend_config: its settings file; "" = the shipped one.
        options: by name, as text; each goes to the planners and models that have it.
    """

    planners: Sequence[str] = ()
    fault_rates: Sequence[float] = (0.0,)
    models: Sequence[str] = ()
    model_url: str = ""
    agents: int = 1
    backend: str = ""
    backend_config: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


def field_of(asked: Asked) -> Field:
    """The runs that the planners' records allow, in order of their names.

    A planner runs without a model if it can, with the privileged model at each fault rate if it
    tells what right replies are, and with each named model if it uses models.

    Raises:
        PlannerError: for an unknown planner or model, or if nothing can be run.
    """
    for name in asked.planners:
        PLANNERS.get(name)
    _check_options(asked.options)
    found: list[Contestant] = []
    left_out = list(PLANNERS.problems())
    for name, part in PLANNERS.usable().items():
        if asked.planners and name not in asked.planners:
            continue
        if lacking := part.lacking(_own(part.options, asked.options)):
            left_out.append(f"{name}: needs the option {lacking}: --option {lacking}=VALUE")
            continue
        runs = list(_runs(name, part, asked))
        if not runs:
            other = ", or a --fault-rate" if part.asks.tells_replies else ""
            left_out.append(f"{name}: needs a language model: name one with --model{other}")
        for run in runs:
            try:
                run.settings.check()
            except PlannerError as error:
                left_out.append(f"{run.name}: {error}")
            else:
                found.append(run)
    if not found:
        raise PlannerError(f"no planner can be run: {'; '.join(left_out)}")
    return Field(tuple(found), tuple(left_out))


def _runs(name: str, part: PlannerPart, asked: Asked) -> Iterator[Contestant]:
    options = _own(part.options, asked.options)
    full = part.needs_full_memory(read_options(part.options, options))
    plain = RunSettings(
        planner=name,
        agents=asked.agents,
        backend=asked.backend,
        backend_config=asked.backend_config,
        memory=(MemoryKind.FULL if full else MemoryKind.RAYS).value,
        options=options,
    )
    if not part.needs.model:
        yield Contestant(name, plain)
    if part.asks.tells_replies:
        for model, errs in _privileged().items():
            own = _own(errs.options, asked.options)
            for rate in asked.fault_rates:
                given = {"model": model, "model_options": {**own, _FAULTS: rate}}
                yield Contestant(f"{name}-{model}-{rate:g}", _with(plain, given))
    if part.needs.model or part.asks.model:
        for model in asked.models:
            kind = model_part(model)
            given = {
                "model": absolute(model),
                "model_url": asked.model_url,
                "model_options": _own(MODELS.get(kind).options if kind else (), asked.options),
            }
            yield Contestant(f"{name}-{_plain_name(model)}", _with(plain, given))


def _own(declared: Iterable[Option], given: Mapping[str, str]) -> dict[str, OptionValue]:
    """The given values of declared options.

    Raises:
        OptionError: for an invalid value.
    """
    return {
        option.name: option.read(given[option.name]) for option in declared if option.name in given
    }


def _check_options(given: Mapping[str, str]) -> None:
    declared = [part.options for part in PLANNERS.usable().values()]
    declared += [part.options for part in MODELS.usable().values()]
    known = {option.name for options in declared for option in options}
    unknown = [name for name in given if name not in known]
    if unknown:
        near = did_you_mean(unknown[0], sorted(known))
        raise PlannerError(f"no planner and no model has an option {unknown[0]!r}{near}")


def _privileged() -> Mapping[str, ModelPart]:
    """Models that read the goal, and err at a given rate."""
    return {
        name: part
        for name, part in MODELS.usable().items()
        if part.reads_goal and any(option.name == _FAULTS for option in part.options)
    }


def _with(settings: RunSettings, given: Mapping[str, object]) -> RunSettings:
    try:
        return RunSettings.model_validate({**settings.model_dump(), **given})
    except ValueError as error:
        raise PlannerError(f"a setting is out of its range: {error}") from None


def _plain_name(model: str) -> str:
    """A model's name as that of a folder."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", model).strip("._") or "model"


# One table of all planners on the same episodes, as text and as Markdown.

_COLUMNS = (
    "PLANNER",
    "KNOWS",
    "SOLVED",
    "LOW",
    "HIGH",
    "COMPLETE",
    *(kind.upper().replace("_", " ") for kind in TASK_TYPES),
    "DECISIONS",
    "CALLS",
    "SECONDS",
    "N",
    "CANNOT",
)
_MOST_REASONS = 3
_SOLVED = (
    "SOLVED: share of all N episodes with Wilson's interval of 95 %; an episode that a planner "
    "CANNOT do is not solved."
)
_COMPLETE = (
    "COMPLETE: mean share of the goal that holds at the end. The four types: share solved of "
    "their episodes, of which one may have several types."
)
_MEANS = (
    "DECISIONS, CALLS and SECONDS of processor time: mean of an episode that could be run; the "
    "time is that of everything, also of the simulation."
)
NOTES = (_SOLVED, _COMPLETE, _MEANS)


@dataclass(frozen=True, slots=True)
class Result:
    """A contestant's rows, the newest of each episode."""

    contestant: Contestant
    rows: Sequence[Row]

    @property
    def judged(self) -> list[tuple[Row, RowVerdict]]:
        """The rows with a verdict."""
        return [(row, row.verdict) for row in self.rows if row.verdict is not None]


def text_lines(results: Sequence[Result], left_out: Iterable[str]) -> list[str]:
    """The table, what did not run, and how episodes ended."""
    rows = [_COLUMNS, *map(_cells, _best_first(results))]
    return [*aligned(rows), "", *NOTES, "", *_ends(results, left_out)]


def markdown_lines(results: Sequence[Result], left_out: Iterable[str]) -> list[str]:
    """The same for a page."""
    rows = list(map(_cells, _best_first(results)))
    head = [word.lower() for word in _COLUMNS]
    lines = [_row(head), _row(["---"] * len(head)), *map(_row, rows), ""]
    lines += [f"- {note}" for note in NOTES]
    return [*lines, "", *(f"- {line}" for line in _ends(results, left_out))]


def _best_first(results: Sequence[Result]) -> list[Result]:
    return sorted(results, key=lambda result: (-_solved(result), result.contestant.name))


def _solved(result: Result) -> int:
    return sum(verdict.success for _, verdict in result.judged)


def _cells(result: Result) -> tuple[str, ...]:
    judged, rows = result.judged, result.rows
    rate = wilson(_solved(result), len(rows))
    return (
        result.contestant.name,
        _knows(result),
        *map(_share, (rate.value, rate.low, rate.high)),
        _share(_mean([verdict.percent_complete for _, verdict in judged])),
        *(_of_type(judged, kind) for kind in TASK_TYPES),
        _number(_mean([verdict.decisions for _, verdict in judged])),
        _number(_mean([verdict.skill_calls for _, verdict in judged])),
        _number(_mean([row.cpu_s for row, _ in judged])),
        str(len(rows)),
        str(len(rows) - len(judged)),
    )


def _knows(result: Result) -> str:
    """What it reads beyond the instruction and what was seen."""
    settings = result.contestant.settings
    goal = settings.axes(settings.agents).privilege is Privilege.GOAL
    words = ["goal"] * goal + ["everything"] * settings.knows_all
    return " and ".join(words) or "words"


def _of_type(judged: Iterable[tuple[Row, RowVerdict]], kind: str) -> str:
    some = [verdict.success for row, verdict in judged if kind in row.task_types]
    return f"{_share(_mean(some))} of {len(some)}" if some else "-"


def _ends(results: Sequence[Result], left_out: Iterable[str]) -> list[str]:
    ended = [f"{result.contestant.name}: {_end_words(result)}" for result in results]
    return [*ended, *(f"not run: {line}" for line in left_out)]


def _end_words(result: Result) -> str:
    ends = Counter(verdict.end.value for _, verdict in result.judged)
    parts = ["ended " + ", ".join(f"{name} {n}" for name, n in ends.most_common())] if ends else []
    failed = Counter(
        f"{row.error.fault.value}: {row.error.text}" for row in result.rows if row.error is not None
    )
    parts += [f"cannot, {n} times {why}" for why, n in failed.most_common(_MOST_REASONS)]
    others = sum(n for _, n in failed.most_common()[_MOST_REASONS:])
    reasons = Counter(
        verdict.reason for _, verdict in result.judged if not verdict.success and verdict.reason
    ).most_common(1)
    parts += [f"cannot, {others} times for other reasons"] if others else []
    parts += [f"most often not solved with: {why} ({n})" for why, n in reasons]
    return "; ".join(parts) or "no episode"


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


ALL, SUITE = "all", "partnr_test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments of `all` beside those of papers."""
    group = parser.add_argument_group(f"of {ALL}, which runs every planner before it prints")
    group.add_argument("--out", type=Path, metavar="DIR", help="a run for each; resumes there")
    group.add_argument(
        "--episodes-of", default=SUITE, metavar="SUITE", help=f"what they run; default {SUITE}"
    )
    group.add_argument(
        "--count", type=int, default=0, help="episodes, drawn at random; default: all"
    )
    group.add_argument("--seed", type=int, default=0, help="of this drawing")
    group.add_argument("--agents", type=int, default=1, help="acting agents; 0 = all")
    add_backend_flags(group, BACKENDS.names(), "a simulator; default: by the house")
    group.add_argument(
        "--planner", action="append", default=[], choices=PLANNERS.names(), help="default: all"
    )
    group.add_argument(
        "--fault-rate",
        action="append",
        type=float,
        default=[],
        help="rows of the privileged model that stands for real ones, repeatable; default: none",
    )
    group.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="M",
        help="with each planner that uses models, repeatable",
    )
    add_url_flag(group)
    group.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for all planners and models that have it, repeatable",
    )
    group.add_argument("--markdown", type=Path, metavar="FILE", help="the table for a page")
    group.add_argument(
        "--so-far",
        action="store_true",
        help="run nothing: the table of the episodes that all have done whose runs were begun",
    )
    group.add_argument("--quiet", action="store_true", help="do not print a line per episode")
    add_engine_flags(group)


def run(args: argparse.Namespace) -> int:
    """0 if every episode has a verdict, 1 if not, 130 after Ctrl-C."""
    if args.out is None:
        raise PlannerError(f"{ALL} needs --out, the folder of its runs")
    for name in ("count", "agents"):
        if getattr(args, name) < 0:
            raise PlannerError(f"--{name} is {getattr(args, name)}, below 0")
    field = field_of(
        Asked(
            args.planner,
            args.fault_rate,
            args.model,
            args.model_url,
            args.agents,
            args.backend,
            absolute_file(args.backend_config),
            named_values(args.option),
        )
    )
    episodes = drawn(find_suite(args.episodes_of), args.count, args.seed)
    if args.so_far:
        found, left_out = _so_far(args.out, field)
        return _tell(args, found, left_out, len(found[0].rows), len(episodes))
    results = []
    for contestant in field.contestants:
        try:
            results.append(_result(args, contestant, episodes))
        except KeyboardInterrupt:
            print(f"\nstopped in {contestant.name}; the same command goes on", file=sys.stderr)
            return 130
    return _tell(args, results, field.left_out, len(episodes), len(episodes))


def _tell(
    args: argparse.Namespace,
    results: Sequence[Result],
    left_out: Sequence[str],
    count: int,
    asked: int,
) -> int:
    """Prints the table, and writes the page; the command's exit status."""
    head = _head(args, count, asked)
    print("\n".join([*head, *text_lines(results, left_out)]))
    if args.markdown is not None:
        page = [*head, "", *_said(args), *markdown_lines(results, left_out)]
        write_text(args.markdown, "\n".join(page) + "\n")
    return 1 if any(row.error is not None for result in results for row in result.rows) else 0


def _so_far(folder: Path, field: Field) -> tuple[list[Result], list[str]]:
    """The runs that were begun, with the episodes that each of them has done; and the others."""
    begun = {c.name: c for c in field.contestants if (folder / c.name / ROWS_NAME).is_file()}
    rows = {name: newest_rows(folder / name / ROWS_NAME) for name in begun}
    common = set.intersection(*(set(found) for found in rows.values())) if rows else set()
    if not common:
        raise PlannerError(f"{folder}: there is no episode that every begun run has done")
    missing = [c.name for c in field.contestants if c.name not in begun]
    left_out = [*field.left_out, *([f"{', '.join(missing)}: not begun"] if missing else [])]
    found = [
        Result(begun[name], tuple(row for key, row in of.items() if key in common))
        for name, of in rows.items()
    ]
    return found, left_out


def _result(
    args: argparse.Namespace, contestant: Contestant, episodes: Sequence[SuiteEpisode]
) -> Result:
    """Runs what a contestant has not done yet."""
    settings, folder = contestant.settings, args.out / contestant.name
    jobs = jobs_of(episodes, 0, 0)

    def tell(row: Row, count: int, of: int) -> None:
        if not args.quiet:
            print(f"{contestant.name}  {count}/{of}  {row.episode_id}  {_came(row)}", flush=True)

    manifest = new_manifest(args.episodes_of, episodes, len(jobs), settings)
    run_jobs(folder, manifest, jobs, make_engine(args, settings), tell)
    return Result(contestant, tuple(newest_rows(folder / ROWS_NAME).values()))


def _came(row: Row) -> str:
    if row.error is not None:
        return f"{row.error.fault.value}: {row.error.text}"
    return "solved" if row.verdict is not None and row.verdict.success else "not solved"


def _head(args: argparse.Namespace, count: int, asked: int) -> list[str]:
    agents = f"{args.agents} acting" if args.agents else "all agents acting"
    of = "" if count == asked else f" so far, of {asked} to do, the first by house: no fair sample"
    where = f", {args.backend}" if args.backend else ""
    return [f"{count} episodes of {args.episodes_of}{of}, {agents}{where}; strict rules"]


def _said(args: argparse.Namespace) -> list[str]:
    """The command and the day, for a page."""
    words = [
        "planner bench table all",
        *(["--episodes-of", args.episodes_of] if args.episodes_of != SUITE else []),
        *(["--count", str(args.count), "--seed", str(args.seed)] if args.count else []),
        *(["--agents", str(args.agents)] if args.agents != 1 else []),
        *(["--backend", args.backend] if args.backend else []),
        *(["--backend-config", "FILE"] if args.backend_config else []),
        *(word for name in args.planner for word in ("--planner", name)),
        *(word for rate in args.fault_rate for word in ("--fault-rate", f"{rate:g}")),
        *(word for option in args.option for word in ("--option", shlex.quote(option))),
        *(word for model in args.model for word in ("--model", shlex.quote(model))),
        *(["--model-url", args.model_url] if args.model_url else []),
        "--out DIR",
        *(["--so-far"] if args.so_far else []),
    ]
    date = datetime.now(UTC).strftime("%-d %B %Y")
    return ["```console", f"$ {' '.join(words)}", "```", f"{date}:", ""]
