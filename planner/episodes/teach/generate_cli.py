"""`planner episodes generate teach`: builds our tasks with dialogues in their houses."""

from __future__ import annotations

import argparse

from planner.episodes.pack import write_set
from planner.episodes.teach.middle import FindMiddle
from planner.episodes.teach.tasks import read_tasks, task_file


def run_generate_dialogues(args: argparse.Namespace, find_middle: FindMiddle) -> int:
    """Builds all before writing, so that a bad task changes nothing.

    Raises:
        PlannerError: for the first task that cannot be built.
    """
    tasks = read_tasks(args.tasks or task_file())
    episodes = sorted(tasks.episodes(find_middle), key=lambda episode: episode.episode_id)
    write_set(args.output, episodes)
    print(f"wrote {len(episodes)} episodes to {args.output}")
    return 0
