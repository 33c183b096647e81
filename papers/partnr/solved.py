"""Solved episodes as examples for `partnr_rag`, and as samples for `partnr_finetuned`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from papers.partnr.prompts import ACTIONS, TEAM_ACTIONS
from papers.partnr.react import NAME as FINETUNED
from planner.bench.runs.models import trace_path
from planner.bench.runs.rows import Row
from planner.bench.runs.run_cli import Collected, Evaluated, add_runs, judged_rows
from planner.episodes.episode_file import write_text
from planner.evaluation.trace import EpisodeTrace, read_traces
from planner.models.chat import Speaker
from planner.models.recorded import Dialogue, dialogue_path, read_dialogue
from planner.models.replies.turn import END_OF_TURN
from planner.parts.calls import parse_call
from planner.planning.planner_model import world_of
from planner.planning.solved_tasks import Sample, SolvedTask, TraceStep, TraceStore, samples_of
from planner.world.embedding import load_encoder
from planner.world.errors import FileError, PlannerError

# Planners whose dialogues have the format of those in which examples are shown.
_ALIKE = ("partnr_react", "partnr_summary", "partnr_tools", "partnr_rag")


def examples_of(run: Path, evaluated: Evaluated, collected: Collected) -> Iterator[SolvedTask]:
    """The solved episodes of a run as examples for `partnr_rag`.

    Raises:
        PlannerError: if the run's planner has no dialogues of that format.
        FileError: for a file of the run that cannot be read.
    """
    for row in judged_rows(run, evaluated, collected):
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
    for row in judged_rows(run, evaluated, collected):
        (trace,) = read_traces(trace_path(run, row.trace))
        made = samples_of(row.instruction, _world(run, row), _steps(trace), row.agents[0])
        if not made:
            collected.skip("never solved")
        collected.count += len(made)
        for sample in made:
            yield row, sample


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
        opening = next(m.text for m in first.messages if m.speaker is Speaker.USER)
        return _without_actions(opening).partition("\n")[2]
    raise PlannerError(
        f"{run}: the prompts of its planner {row.planner} describe no house by names; "
        f"those of {', '.join((*_ALIKE, FINETUNED))} do"
    )


# `planner bench examples RUN... --store FILE`: solved episodes as examples for `partnr_rag`.


def add_examples(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_runs(parser)
    parser.add_argument(
        "--store", type=Path, required=True, metavar="FILE", help="made or added to"
    )
    parser.add_argument("--encoder", type=Path, help="sentence transformer that finds them")


def run_examples(args: argparse.Namespace) -> int:
    """Adds examples that the store lacks, and removes those that are used for evaluation."""
    evaluated, collected = Evaluated.of(args.keep_out), Collected()
    tasks = [task for run in args.runs for task in examples_of(run, evaluated, collected)]
    encoder = load_encoder(args.encoder) if args.encoder else None
    with TraceStore(args.store, encoder) as store:
        removed = store.keep_out(evaluated.instructions)
        added = store.add(tasks)
        print(f"solved episodes: {collected}")
        note = f", {removed} of an evaluation removed" if removed else ""
        print(f"{args.store}: {added} added{note}, {len(store)} examples now")
    return 0


# `planner bench samples RUN... --out FILE`: training samples for PARTNR's fine-tuned planner.


def add_samples(parser: argparse.ArgumentParser) -> None:
    """Declares the arguments."""
    add_runs(parser)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="JSON lines")


def run_samples(args: argparse.Namespace) -> int:
    """Writes one sample per line: the prompt, and the target, which alone has a loss."""
    evaluated, collected = Evaluated.of(args.keep_out), Collected()
    lines = [
        json.dumps(
            {
                "episode_id": row.episode_id,
                "seed": row.seed,
                "agent": row.agents[0],
                "prompt": sample.prompt,
                "target": sample.target,
            },
            ensure_ascii=False,
        )
        for run in args.runs
        for row, sample in samples_in(run, evaluated, collected)
    ]
    write_text(args.out, "".join(f"{line}\n" for line in lines))
    print(f"{args.out}: samples: {collected}")
    return 0
