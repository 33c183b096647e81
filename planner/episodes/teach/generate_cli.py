"""`planner episodes generate teach` and `routines`: builds our dialogues in their houses."""

from __future__ import annotations

import argparse

from planner.episodes.pack import write_set
from planner.episodes.teach.middle import FindMiddle
from planner.episodes.teach.routines import read_routines, routine_file
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


def run_generate_routines(args: argparse.Namespace) -> int:
    """As `run_generate_dialogues`, for routines.

    Raises:
        PlannerError: for the first request that cannot be built.
    """
    routines = read_routines(args.tasks or routine_file())
    episodes = [episode for routine in routines for episode in routine.episodes()]
    write_set(args.output, sorted(episodes, key=lambda episode: episode.episode_id))
    print(f"wrote {len(episodes)} episodes to {args.output}")
    return 0
