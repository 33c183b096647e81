"""What can be learned from solved episodes: examples, samples, dialogues and scripts."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.bench.runs.manifest import TRACES_NAME, SuiteEpisode, find_suite
from planner.bench.runs.models import trace_path
from planner.bench.runs.rows import ROWS_NAME, Row, newest_rows
from planner.bench.runs.settings import RunSettings
from planner.episodes.episode_file import write_text
from planner.evaluation.trace import EpisodeTrace, read_traces
from planner.models.chat import Speaker
from planner.models.recorded import Dialogue, Turn, dialogue_path, read_dialogue
from planner.models.replies.turn import END_OF_TURN
from planner.parts.calls import parse_call
from planner.planning.partnr.prompts import ACTIONS, TEAM_ACTIONS
from planner.planning.partnr.react import NAME as FINETUNED
from planner.planning.planner_model import world_of
from planner.planning.solved_tasks import Sample, SolvedTask, TraceStep, TraceStore, samples_of
from planner.training.chat_tuning import Chat, chats_of
from planner.world.embedding import SentenceEncoder
from planner.world.errors import FileError, PlannerError
from planner.world.topics import one_line

# Scripts from runs: replies for a scripted model that repeats what a planner did.

_THOUGHT = "Thought: This is the next step."


def script_of(trace: EpisodeTrace) -> str:
    """The calls of an episode as replies in PARTNR's ReAct format, separated by blank lines.

    Ordered as agents were asked: by time, then in the episode's order of agents.
    """
    order = {agent.uid: number for number, agent in enumerate(trace.episode.agents)}
    calls = sorted(trace.calls, key=lambda call: (call.started_step, order[call.agent]))
    return "\n\n".join(f"{_THOUGHT}\n{call.call}\n{END_OF_TURN}" for call in calls) + "\n"


def write_scripts(run: Path, folder: Path) -> int:
    """Writes EPISODE.txt for each episode of a run into a folder; returns how many.

    Raises:
        FileError: if the run's traces cannot be read, or the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for path in sorted((run / TRACES_NAME).glob("*.trace.jsonl")):
        for trace in read_traces(path):
            write_text(folder / f"{trace.episode.episode_id}.txt", script_of(trace))
            count += 1
    return count


# The shipped suite for evaluation.
HELDOUT = "heldout"
# The planner whose dialogues have EPM's format.
EPM = "react"
# Planners whose dialogues have the format of those in which examples are shown.
_ALIKE = ("partnr_react", "partnr_summary", "partnr_tools", "partnr_rag")


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


def examples_of(run: Path, evaluated: Evaluated, collected: Collected) -> Iterator[SolvedTask]:
    """The solved episodes of a run as examples for `partnr_rag`.

    Raises:
        PlannerError: if the run's planner has no dialogues of that format.
        FileError: for a file of the run that cannot be read.
    """
    for row in _rows(run, evaluated, collected):
        if row.planner not in _ALIKE:
            raise PlannerError(
                f"{run}: the dialogues of its planner {row.planner} are no examples for "
                f"partnr_rag; those of {', '.join(_ALIKE)} are"
            )
        if row.verdict is None or not row.verdict.success:
            collected.skip("not solved")
            continue
        dialogue = read_dialogue(dialogue_path(run, row.trace))
        collected.count += 1
        yield SolvedTask(row.instruction, transcript_of(dialogue), f"{run.resolve()} {row.trace}")


def transcript_of(dialogue: Dialogue) -> str:
    """The dialogue of the first agent, or of the team, without the list of actions.

    Taken from the last prompt, so what was dropped for a full context stays dropped.
    """
    first = dialogue.head.agents[0]
    last = [turn for turn in dialogue.turns if first in turn.line.agents][-1]
    lines = [
        _without_actions(message.text)
        for message in last.messages
        if message.speaker is not Speaker.SYSTEM
    ]
    return "\n".join(
        [*lines, f"{last.line.reply.partition(END_OF_TURN)[0].strip()}\n{END_OF_TURN}"]
    )


def _without_actions(text: str) -> str:
    for heading in (ACTIONS, TEAM_ACTIONS):
        text = text.partition(f"\n{heading}\n")[0]
    return text


def samples_in(
    run: Path, evaluated: Evaluated, collected: Collected
) -> Iterator[tuple[Row, Sample]]:
    """Fine-tuning samples from a run's episodes that were solved at some step (PARTNR-7.7).

    They are of the first agent's actions: the robot's if several agents act.

    Raises:
        PlannerError: if the run's dialogues do not describe the house as text.
        FileError: for a file of the run that cannot be read.
    """
    for row in _rows(run, evaluated, collected):
        trace = _trace(run, row)
        made = samples_of(row.instruction, _world(run, row), _steps(trace), row.agents[0])
        if not made:
            collected.skip("never solved")
        collected.count += len(made)
        for sample in made:
            yield row, sample


def chats_in(run: Path, evaluated: Evaluated, collected: Collected) -> Iterator[Chat]:
    """The dialogues of a run's solved episodes in EPM's format, one for each agent (EPM-2.7).

    Raises:
        PlannerError: if the run's planner has no dialogues of that format.
        FileError: for a file of the run that cannot be read.
    """
    for row in _rows(run, evaluated, collected):
        if row.planner != EPM:
            raise PlannerError(
                f"{run}: the dialogues of its planner {row.planner} are not EPM's; those of "
                f"{EPM} are"
            )
        if row.verdict is None or not row.verdict.success:
            collected.skip("not solved")
            continue
        made = chats_of(read_dialogue(dialogue_path(run, row.trace)), f"{run} {row.trace}")
        collected.count += len(made)
        yield from made


def _steps(trace: EpisodeTrace) -> list[TraceStep]:
    calls = sorted(trace.calls, key=lambda call: call.ended_step)
    return [
        TraceStep(
            call.agent,
            parse_call(call.call),
            call.succeeded,
            call.text,
            trace.percent_at(call.ended_step) == 1.0,
        )
        for call in calls
    ]


def _world(run: Path, row: Row) -> str:
    """The house and the initial knowledge, as in the first prompt."""
    turns = read_dialogue(dialogue_path(run, row.trace)).turns
    first = next((turn for turn in turns if row.agents[0] in turn.line.agents), None)
    if first is None:
        raise FileError(dialogue_path(run, row.trace), "", f"{row.agents[0]} was never asked")
    if row.planner == FINETUNED:
        return world_of(first.messages[-1].text)
    if row.planner in _ALIKE:
        return _without_actions(_opening(first)).partition("\n")[2]
    raise PlannerError(
        f"{run}: the prompts of its planner {row.planner} describe no house by names; "
        f"those of {', '.join((*_ALIKE, FINETUNED))} do"
    )


def _opening(turn: Turn) -> str:
    return next(m.text for m in turn.messages if m.speaker is Speaker.USER)


def _trace(run: Path, row: Row) -> EpisodeTrace:
    (trace,) = read_traces(trace_path(run, row.trace))
    return trace


def _rows(run: Path, evaluated: Evaluated, collected: Collected) -> Iterator[Row]:
    """The judged rows whose instructions are not used for evaluation."""
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


# `planner bench examples RUN... --store FILE`: solved episodes as examples for `partnr_rag`.


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_runs(parser)
    parser.add_argument(
        "--store", type=Path, required=True, metavar="FILE", help="made or added to"
    )
    parser.add_argument("--encoder", type=Path, help="sentence transformer that finds them")


def run(args: argparse.Namespace) -> int:
    """Adds examples that the store lacks, and removes those that are used for evaluation."""
    evaluated, collected = Evaluated.of(args.keep_out), Collected()
    tasks = [task for run in args.runs for task in examples_of(run, evaluated, collected)]
    encoder = SentenceEncoder(args.encoder) if args.encoder else None
    with TraceStore(args.store, encoder) as store:
        removed = store.keep_out(evaluated.instructions)
        added = store.add(tasks)
        print(f"solved episodes: {collected}")
        note = f", {removed} of an evaluation removed" if removed else ""
        print(f"{args.store}: {added} added{note}, {len(store)} examples now")
    return 0
