"""Scripts from runs: replies for a scripted model that repeats what a planner did."""

from __future__ import annotations

from pathlib import Path

from planner.bench.runs.manifest import TRACES_NAME
from planner.episodes.episode_file import write_text
from planner.evaluation.trace import EpisodeTrace, read_traces
from planner.models.replies.turn import END_OF_TURN

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
