"""`planner episodes generate llamar`: builds our tasks in their houses."""

from __future__ import annotations

import argparse

from planner.episodes.llamar.tasks import read_tasks, task_file
from planner.episodes.pack import write_set


def run_generate_tasks(args: argparse.Namespace) -> int:
    """Builds all before writing, so that a bad task changes nothing.

    Raises:
        PlannerError: for the first task that cannot be built.
    """
    tasks = read_tasks(args.tasks or task_file())
    episodes = sorted(tasks.episodes(), key=lambda episode: episode.episode_id)
    used = {episode.house for episode in episodes}
    made = [house for name, house in tasks.made.items() if name in used]
    write_set(args.output, episodes, made)
    print(f"wrote {len(episodes)} episodes to {args.output}")
    return 0
